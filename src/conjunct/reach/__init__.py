"""What a skill could do: scripts and directives to reachable actions, with file and line. No execution."""

from conjunct.reach.credentials import audience_of
from conjunct.reach.declared import declared_capabilities
from conjunct.reach.reachable import reachable_actions
from conjunct.reach.resources import classify_host, classify_path, is_secret_variable

__all__ = [
    "audience_of",
    "classify_host",
    "classify_path",
    "declared_capabilities",
    "is_secret_variable",
    "reachable_actions",
]
