"""What follows: conditions of validity, admission policy, verdict."""

from conjunct.gate.decide import Evidence, decide
from conjunct.gate.policy import Policy, Suppression, load_policy
from conjunct.gate.validity import validity_failures

__all__ = ["Evidence", "Policy", "Suppression", "decide", "load_policy", "validity_failures"]
