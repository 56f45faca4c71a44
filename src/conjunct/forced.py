"""Forced branches of one vetting: which lines are forced, from what, and when it is worth it."""

from __future__ import annotations

from collections.abc import Callable

from conjunct.conclude import Results, exercised_places
from conjunct.model import Layer, Severity, Skill
from conjunct.plan.explore import COVERAGE
from conjunct.plan.forced import Asking, Forced, Forcer
from conjunct.plan.forced_effects import known_effects
from conjunct.provenance.declared import declared_of
from conjunct.provenance.dormant import dormant_lines, is_undeclared, network_lines
from conjunct.reach.forcing_package import PackageSources
from conjunct.run.setting import Setting

_LASTING = frozenset({Layer.LEAKS, Layer.STAYS})


def forced_plan(setting: Setting, skill: Skill, results: Callable[[], Results], into: Forced) -> Asking:
    """The runs that force the sensitive lines which no run of a skill reached.

    `results` gives what its runs showed, and is asked only if there is a line that could be dormant. A skill
    that is rejected for what it did by itself is not forced: that would lead to a question at most.
    """
    reach = setting.reach[skill.id]
    if not dormant_lines(skill, reach, ()):
        return
    found = (known := results()).found
    if any(
        trigger.reproduced
        and trigger.violation.layer in _LASTING
        and trigger.violation.severity is Severity.REJECT
        for trigger in found.triggers
    ):
        return
    wanted = dormant_lines(skill, reach, exercised_places(setting, known))
    if not wanted:
        return
    declared = declared_of(skill, reach)
    normal = [*found.episodes, *found.covered]
    forcer = Forcer(
        candidate=skill.id,
        name=skill.name,
        skills_folder=setting.layout.skills,
        sources=PackageSources(skill),
        known=known_effects(skill.id, normal),
        undeclared=lambda kind, host: is_undeclared(declared, kind, host),
    )
    covered = [
        episode
        for episode in normal
        if not episode.trace.undetermined
        and not episode.spec.without
        and (episode.spec.variant == COVERAGE or any(c.lines_run for c in episode.trace.commands))
    ]
    yield from forcer.run(wanted, network_lines(reach), covered, into)
