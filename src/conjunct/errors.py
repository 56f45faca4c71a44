"""The exception tree.

    ConjunctError                     everything conjunct raises on purpose
    ├── UsageError (ValueError)       the caller passed something that cannot work
    │   ├── PolicyError               conjunct.toml is not a valid admission policy
    │   └── BatteryError              a battery folder is not valid
    ├── IntakeError (ValueError)      a path holds nothing that can be vetted
    │   └── StaticManifestError       a pre-compiled tool manifest without packages
    ├── WorldError (RuntimeError)     the world cannot isolate, or broke: never an observation about a skill
    ├── StoreError (RuntimeError)     the run store cannot be read or written
    └── AdversarialSkillInjectionError (RuntimeError)   the published shape rule fired

Every message says what was found, where, and what to do next.
"""

from __future__ import annotations


class ConjunctError(Exception):
    """Base of all errors that conjunct raises on purpose."""


class UsageError(ConjunctError, ValueError):
    """The caller passed something that cannot work."""


class PolicyError(UsageError):
    """An admission policy file is not valid."""


class BatteryError(UsageError):
    """A battery folder is not valid."""


class IntakeError(ConjunctError, ValueError):
    """A path holds nothing that can be vetted."""


class StaticManifestError(IntakeError):
    """A pre-compiled tool manifest without packages: there is nothing to run, hence nothing to vet."""


class WorldError(ConjunctError, RuntimeError):
    """The world cannot isolate or broke while it ran; never an observation about a skill."""


class StoreError(ConjunctError, RuntimeError):
    """The run store cannot be read or written."""


class AdversarialSkillInjectionError(ConjunctError, RuntimeError):
    """The published shape rule (S below the threshold) fired for a skill."""
