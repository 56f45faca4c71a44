"""Behavioural admission testing for agent skills.

The public names are loaded on first use, so that `import conjunct` stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "AdversarialSkillInjectionError": "conjunct.errors",
    "BatteryError": "conjunct.errors",
    "ConjunctError": "conjunct.errors",
    "IntakeError": "conjunct.errors",
    "PolicyError": "conjunct.errors",
    "StaticManifestError": "conjunct.errors",
    "StoreError": "conjunct.errors",
    "UsageError": "conjunct.errors",
    "WorldError": "conjunct.errors",
    "Decision": "conjunct.model",
    "Finding": "conjunct.model",
    "Registry": "conjunct.model",
    "Skill": "conjunct.model",
    "SkillDeltaProfile": "conjunct.model",
    "Trigger": "conjunct.model",
    "Verdict": "conjunct.model",
    "classify_skill": "conjunct.delta",
    "load_battery": "conjunct.battery",
    "load_policy": "conjunct.gate",
    "read_registry": "conjunct.skills",
    "sparsity_conjunction_score": "conjunct.delta",
    "Report": "conjunct.report.summary",
    "VetOptions": "conjunct.vet",
    "vet_registry": "conjunct.vet",
}

__all__ = sorted([*_HOMES, "__version__"])

if TYPE_CHECKING:
    from conjunct.battery import load_battery as load_battery
    from conjunct.delta import classify_skill as classify_skill
    from conjunct.delta import sparsity_conjunction_score as sparsity_conjunction_score
    from conjunct.errors import AdversarialSkillInjectionError as AdversarialSkillInjectionError
    from conjunct.errors import BatteryError as BatteryError
    from conjunct.errors import ConjunctError as ConjunctError
    from conjunct.errors import IntakeError as IntakeError
    from conjunct.errors import PolicyError as PolicyError
    from conjunct.errors import StaticManifestError as StaticManifestError
    from conjunct.errors import StoreError as StoreError
    from conjunct.errors import UsageError as UsageError
    from conjunct.errors import WorldError as WorldError
    from conjunct.gate import load_policy as load_policy
    from conjunct.model import Decision as Decision
    from conjunct.model import Finding as Finding
    from conjunct.model import Registry as Registry
    from conjunct.model import Skill as Skill
    from conjunct.model import SkillDeltaProfile as SkillDeltaProfile
    from conjunct.model import Trigger as Trigger
    from conjunct.model import Verdict as Verdict
    from conjunct.report.summary import Report as Report
    from conjunct.skills import read_registry as read_registry
    from conjunct.vet import VetOptions as VetOptions
    from conjunct.vet import vet_registry as vet_registry


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'conjunct' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
