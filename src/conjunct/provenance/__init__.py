"""Where a skill comes from and whether its claims hold."""

from conjunct.provenance.alerts import Answer, Answered, answer_alerts
from conjunct.provenance.claims import check_claims, is_sensitive
from conjunct.provenance.codes import Code, codes, codes_table
from conjunct.provenance.laundering import Neighbourhood, neighbourhood_of
from conjunct.provenance.ledger import Ledger
from conjunct.provenance.origin import Origin, origin_of
from conjunct.provenance.sarif import Alert, read_sarif
from conjunct.provenance.signatures import check_signature, signature_findings
from conjunct.provenance.trust import Trust, load_trust

__all__ = [
    "Alert",
    "Answer",
    "Answered",
    "Code",
    "Ledger",
    "Neighbourhood",
    "Origin",
    "Trust",
    "answer_alerts",
    "check_claims",
    "check_signature",
    "codes",
    "codes_table",
    "is_sensitive",
    "load_trust",
    "neighbourhood_of",
    "origin_of",
    "read_sarif",
    "signature_findings",
]
