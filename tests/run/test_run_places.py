"""An effect is told with the line that does it, where the source says so."""

from __future__ import annotations

from conjunct.model import (
    ActionKind,
    Layer,
    ReachableAction,
    ReachSet,
    ResourceClass,
    Severity,
    Violation,
)
from conjunct.run.places import located


def reachable(kind: ActionKind, resource: str, line: int, file: str = "scripts/a.py") -> ReachableAction:
    return ReachableAction("one", kind, resource, ResourceClass.NETWORK, file, line, "python")


def violation(line: int | None = None) -> Violation:
    return Violation(
        "leaks.secret-sent",
        Layer.LEAKS,
        Severity.REJECT,
        "sends",
        "drop.example:443",
        1,
        ("one",),
        file="scripts/a.py",
        line=line,
    )


SET = ReachSet(
    "one",
    (
        reachable(ActionKind.SEND, "https://other.example/x", 3),
        reachable(ActionKind.SEND, "https://drop.example/x", 8),
        reachable(ActionKind.SEND, "https://drop.example/x", 2, file="scripts/b.py"),
    ),
    (),
)


def test_the_line_that_names_the_destination_is_told() -> None:
    assert located(violation(), {"one": SET}).line == 8


def test_a_line_that_is_known_already_is_kept() -> None:
    assert located(violation(5), {"one": SET}).line == 5


def test_a_file_without_fitting_lines_stays_without_line() -> None:
    assert located(violation(), {"one": ReachSet("one", (), ())}).line is None
