"""Vets that several tests look at; each is made once for a test run, whatever the number of workers."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

from acceptance.reskin import reskin
from acceptance.vetting import DATA, EXAMPLES, Vetted, copy_of, copy_of_store, once, skills_in, vet


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Vetted:
    """The example registry."""
    return once(tmp_path_factory, "examples", lambda folder: vet(EXAMPLES, folder / "runs.sqlite"))


@pytest.fixture(scope="session")
def twins(tmp_path_factory: pytest.TempPathFactory, examples: Vetted) -> Vetted:
    """The example registry with the benign twin in the place of each adversary.

    As in a deployment, what the store knows of unchanged packages is not run again.
    """

    def make(folder: Path) -> Vetted:
        registry = copy_of(skills_in(EXAMPLES), folder / "registry")
        copy_of(skills_in(DATA / "twins"), registry, source=DATA / "twins")
        return vet(registry, copy_of_store(examples.store, folder / "runs.sqlite"))

    return once(tmp_path_factory, "twins", make)


@pytest.fixture(scope="session")
def ungated(tmp_path_factory: pytest.TempPathFactory) -> Vetted:
    """The payloads of the adversaries without their guards."""
    return once(tmp_path_factory, "ungated", lambda folder: vet(DATA / "ungated", folder / "runs.sqlite"))


@pytest.fixture(scope="session")
def reskinned(tmp_path_factory: pytest.TempPathFactory) -> Vetted:
    """A re-skinned copy of the example registry, from `CONJUNCT_SEED` or else from a fresh seed."""

    def make(folder: Path) -> Vetted:
        seed = int(os.environ.get("CONJUNCT_SEED") or secrets.randbelow(1 << 31))
        (folder / "seed").write_text(f"{seed}\n", encoding="utf-8")
        return vet(reskin(seed, folder).path, folder / "runs.sqlite")

    return once(tmp_path_factory, "reskinned", make)


@pytest.fixture(scope="session")
def reskin_seed(reskinned: Vetted) -> int:
    """The seed that `reskinned` was made from."""
    return int((reskinned.store.parent / "seed").read_text(encoding="utf-8"))


SMALL = ("plain-style", "meeting-notes", "report-mailer")
"""An adversary, its partner and a script: a registry small enough to vet several times."""


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Vetted:
    """A registry of three skills, vetted once."""

    def make(folder: Path) -> Vetted:
        return vet(copy_of(SMALL, folder / "registry"), folder / "runs.sqlite")

    return once(tmp_path_factory, "small", make)
