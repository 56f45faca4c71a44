"""Everything that all episodes of one vetting share, prepared once before the workers start."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from conjunct.agent.protocol import Agent
from conjunct.model import Battery, Compilation, EpisodeSpec, Probe, ReachSet, Registry, Skill
from conjunct.provenance import Neighbourhood
from conjunct.reach.resources import is_secret_variable
from conjunct.world.spec import Layout, Limits

if TYPE_CHECKING:
    from conjunct.world.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Setting:
    """The frozen surroundings of all episodes of one vetting."""

    registry: Registry
    battery: Battery
    compilations: Mapping[str, Compilation]
    reach: Mapping[str, ReachSet]
    tasks: Mapping[str, str]
    """Skill id to the one request generated from its own description."""
    stubs: Mapping[str, Skill]
    neighbourhood: Neighbourhood
    """The registry indexed for comparing claims."""
    modules: Mapping[str, tuple[str, ...]]
    """Skill id to the foreign modules that its Python files import."""
    runtime: Runtime
    agent: Callable[[EpisodeSpec], Agent]
    agent_name: str
    agent_version: str
    deterministic: bool = True
    """Whether equal specs give equal runs, so that traces settle contexts."""
    store: Path | None = None
    """Where the command memo is kept; `None` runs every command for real."""
    salt: str = ""
    seed: int = 0
    battery_folder: Path | None = None
    layout: Layout = field(default_factory=Layout)
    limits: Limits = field(default_factory=Limits)
    skills_by_id: Mapping[str, Skill] = field(default_factory=dict)
    probes_by_id: Mapping[str, Probe] = field(default_factory=dict)
    prose_digests: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Skill id to the digest of its compilation, filled as they are needed."""

    def package_key(self, spec: EpisodeSpec) -> str:
        """Digest of the packages that an episode installs: other content makes it another episode."""
        ids = sorted({spec.candidate, *spec.context.co_skills})
        digests = [self.skills_by_id[skill].digest for skill in ids]
        # What the prose of the skills in use says to the agent: another compiler makes other episodes.
        used = (spec.candidate, *spec.context.used_before, *spec.context.used_after)
        digests += [self._prose(skill) for skill in used]
        return hashlib.sha256(":".join(digests).encode("utf-8", "backslashreplace")).hexdigest()[:16]

    def _prose(self, skill: str) -> str:
        known = self.prose_digests.get(skill)
        if known is None:
            text = repr(self.compilations[skill])
            known = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
            self.prose_digests[skill] = known
        return known

    def credential_variables(self, skill: str) -> frozenset[str]:
        """Names of variables that look like credentials and that the skill declares or reads."""
        declared = self.skills_by_id[skill].declaration.requires_environment
        return frozenset(
            name for name in (*declared, *self.reach[skill].environment) if is_secret_variable(name)
        )

    def plain_variables(self, skill: str) -> frozenset[str]:
        """Other variables that the skill reads."""
        return frozenset(self.reach[skill].environment) - self.credential_variables(skill)

    def baseline(self) -> tuple[tuple[str, str], ...]:
        """What makes the baseline, by name: results are compared only where all of it is the same."""
        return (
            ("agent", self.agent_name),
            ("version of the agent", self.agent_version),
            ("battery", self.battery.digest),
            ("world", self.runtime.digest),
            ("layout of the world", repr(self.layout)),
            ("limits of the world", repr(self.limits)),
            ("salt", self.salt),
        )

    def fingerprint(self) -> str:
        """Digest of the baseline: agent, battery, world, salt. Different ones are never compared."""
        parts = [value for _, value in self.baseline()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
