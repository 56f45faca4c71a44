"""What changed: episodes with and without the skill to deltas, profile and shape."""

from conjunct.delta.profile import delta_profile
from conjunct.delta.published import classify_skill, sparsity_conjunction_score

__all__ = ["classify_skill", "delta_profile", "sparsity_conjunction_score"]
