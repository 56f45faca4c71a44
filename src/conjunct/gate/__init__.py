"""What follows: conditions of validity, admission policy, verdict."""

from conjunct.gate.decide import Evidence, decide
from conjunct.gate.policy import Policy, Thresholds, load_policy
from conjunct.gate.rules import Answer, Suppression, answer_rule
from conjunct.gate.validity import validity_failures

__all__ = [
    "Answer",
    "Evidence",
    "Policy",
    "Suppression",
    "Thresholds",
    "answer_rule",
    "decide",
    "load_policy",
    "validity_failures",
]
