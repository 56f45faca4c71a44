"""Where a skill comes from and whether its claims hold."""

from conjunct.provenance.claims import check_claims, is_sensitive
from conjunct.provenance.codes import Code, codes, codes_table
from conjunct.provenance.laundering import Neighbourhood, neighbourhood_of

__all__ = [
    "Code",
    "Neighbourhood",
    "check_claims",
    "codes",
    "codes_table",
    "is_sensitive",
    "neighbourhood_of",
]
