"""The doctor tries each promise in a real episode, and says what to do where the host refuses."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from conjunct.errors import WorldError
from conjunct.world import doctor, sandbox, stage


@pytest.mark.world
def test_every_promise_is_kept_on_a_host_that_can_run_worlds() -> None:
    checks = doctor.examine()
    assert [check for check in checks if not check.ok] == []
    assert len(checks) > 25
    assert all(not check.remedy for check in checks)


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sandbox, "_SEARCH", ())
    checks = doctor.examine()
    missing = [check for check in checks if not check.ok]
    assert [check.promise.split()[0] for check in missing] == ["bwrap", "strace", "nft", "ip"]
    assert all("apt-get install bubblewrap strace nftables" in check.remedy for check in missing)
    with pytest.raises(WorldError, match="apt-get install iproute2"):
        sandbox.program("ip")


def test_a_program_is_found_without_sbin_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert sandbox.program("python3") == "/usr/bin/python3"


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "user.max_user_namespaces="),
        ("none", "", "--security-opt seccomp=unconfined"),
    ],
)
def test_refused_namespaces_have_a_remedy(
    name: str, value: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(value)
    monkeypatch.setattr(stage, "SETTINGS", tmp_path)
    assert remedy in stage.namespace_remedy()


@pytest.mark.world
def test_a_promise_that_is_broken_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = dataclasses.replace(doctor._END, source="print('broken')")
    monkeypatch.setattr(doctor, "_TRIALS", (broken,))
    monkeypatch.setattr(doctor, "_UNTRACED_TRIALS", ())
    failed = [check for check in doctor.examine() if not check.ok]
    assert [(check.promise, check.detail) for check in failed] == [(broken.promise, "broken; exit 0")]
    assert failed[0].remedy
