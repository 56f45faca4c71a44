"""A forced run: the same world, with a copy of the candidate in which some tests are decided.

The copy exists for one episode only. Its digest is its own, so that no layer and no recorded command of the
package is ever mixed up with it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from conjunct.errors import WorldError
from conjunct.model import EpisodeSpec, Skill
from conjunct.plan.forced import ForcedCopy, forced_copy
from conjunct.reach.forcing_package import forced_content
from conjunct.run.shared import SharedContext


@contextlib.contextmanager
def as_forced(spec: EpisodeSpec, shared: SharedContext) -> Iterator[SharedContext]:
    """The context of an episode, with the forced copy installed where the episode asks for one.

    Raises `WorldError` where the copy cannot be made: the package changed since the run was planned.
    """
    copy = forced_copy(spec.variant)
    if copy is None:
        yield shared
        return
    with tempfile.TemporaryDirectory(prefix="conjunct-forced-") as folder:
        packages = tuple(
            _forced(skill, copy, spec.variant, Path(folder)) if skill.id == spec.candidate else skill
            for skill in shared.installed
        )
        # What a forced run covers tells whether the line was reached.
        world = replace(shared.world, installed=packages, coverage=True)
        yield SharedContext(shared.installed, world, shared.runtime)


def last_step(spec: EpisodeSpec) -> int | None:
    """The command, from 0, with whose end a forced run ends; `None` for every other run."""
    copy = forced_copy(spec.variant)
    return copy.step if copy is not None else None


def _forced(skill: Skill, copy: ForcedCopy, variant: str, folder: Path) -> Skill:
    """The package with some of its files replaced, below `folder`."""
    root = folder / "package"
    try:
        contents = forced_content(skill, copy.edits)
        shutil.copytree(skill.root, root, symlinks=True, copy_function=_link_or_copy)
        for file, content in contents:
            (root / file).unlink()
            (root / file).write_bytes(content)
    except (OSError, KeyError) as error:
        raise WorldError(
            f"{skill.path}: a forced copy cannot be made ({error}): the staged package changed; vet it again"
        ) from error
    digest = hashlib.sha256(f"{skill.digest}\0{variant}".encode("utf-8", "backslashreplace")).hexdigest()
    return replace(skill, root=root, digest=digest)


def _link_or_copy(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target
