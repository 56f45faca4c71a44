"""What a text declares: by a verb and its object for what stays and what is private, by name for a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from conjunct.directives import compile_skill
from conjunct.model import ActionKind, ResourceClass
from conjunct.reach import declared_capabilities
from conjunct.reach.clauses import declared_by_clauses, deletes, words_table
from conjunct.skills import read_registry

DELETE, READ, WRITE = ActionKind.DELETE, ActionKind.READ, ActionKind.WRITE
PRIVATE, SECRET, MEMORY = ResourceClass.PRIVATE, ResourceClass.SECRET, ResourceClass.AGENT_MEMORY
CONFIGURATION, SKILL = ResourceClass.AGENT_CONFIGURATION, ResourceClass.OTHER_SKILL


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("Cleans up your Downloads folder.", (DELETE, PRIVATE, "~/Downloads")),
        ("Organising files in the documents folder.", (DELETE, PRIVATE, "~/Documents")),
        ("Deletes personal files that are old.", (DELETE, PRIVATE, "*")),
        ("Your files are deleted after a week.", (DELETE, PRIVATE, "*")),
        ("Remembers your preferences across sessions.", (WRITE, MEMORY, "*")),
        ("Saves decisions to long-term memory.", (WRITE, MEMORY, "*")),
        ("Requires an API key.", (READ, SECRET, "*")),
        ("Your passwords are read once.", (READ, SECRET, "*")),
        ("Installs a PreToolUse hook.", (WRITE, CONFIGURATION, "*")),
        ("Creates and improves agent skills.", (WRITE, SKILL, "*")),
        ("Reads session transcripts.", (READ, ResourceClass.HISTORY, "*")),
        ("Runs every morning.", (WRITE, ResourceClass.SCHEDULE, "*")),
        (
            "Packs the letters, the photos of all the years, the old plans and the SSH configuration.",
            (READ, SECRET, "*"),
        ),
        ("Summarises your inbox.", (READ, PRIVATE, "*")),
    ],
)
def test_a_verb_and_its_object_declare(text: str, meaning: tuple[ActionKind, ResourceClass, str]) -> None:
    assert meaning in declared_by_clauses(text)


@pytest.mark.parametrize(
    "text",
    [
        "A cleaner. Cleans CSV files and removes duplicate rows.",
        "Removes stop words and cleans up white space.",
        "If the agent remembers one, it is used.",
        "Stores all values in memory.",
        "Counts the tokens of a text.",
        "Creates a report with this skill.",
        "Adds React hooks to a component.",
        "Never deletes your files.",
        "Personal files are never deleted.",
        "Deletes nothing in your home directory.",
        "Deletes rows. Keeps your files.",
        "Resets counters and rotates images.",
        "Talks about daily life and history.",
        "Plans meetings on a schedule.",
    ],
)
def test_a_word_alone_or_with_another_object_declares_nothing(text: str) -> None:
    assert declared_by_clauses(text) == []


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("deletes old backups in ~/backups", True),
        ("old backups are removed", True),
        ("cleaning up ~/tmp", True),
        ("never deletes backups in ~/backups", False),
        ("writes backups to ~/backups", False),
        ("a clear view of ~/backups", False),
    ],
)
def test_deletion_is_said_by_a_verb_that_is_not_negated(clause: str, expected: bool) -> None:
    assert deletes(clause) is expected


def _declared(folder: Path, description: str, body: str = "") -> set[tuple[ActionKind, str]]:
    skill = folder / "in" / "csv-cleaner"
    skill.mkdir(parents=True)
    text = f"---\nname: csv-cleaner\ndescription: {description}\n---\n\n# Tables\n\n{body}\n"
    (skill / "SKILL.md").write_text(text)
    found = read_registry(folder / "in", staging=folder / "staged").skills[0]
    capabilities = declared_capabilities(found, compile_skill(found))
    return {(one.kind, one.resource) for one in capabilities if one.resource_class is PRIVATE}


def test_a_path_is_declared_for_deletion_where_a_clause_says_so(tmp_path: Path) -> None:
    found = _declared(tmp_path, "Deletes old backups in ~/backups. Reads ~/tables and writes a report.")
    assert found == {(READ, "~/backups"), (WRITE, "~/backups"), (DELETE, "~/backups"), (READ, "~/tables")} | {
        (WRITE, "~/tables")
    }


def test_a_cleaner_of_tables_declares_nothing_private(tmp_path: Path) -> None:
    assert _declared(tmp_path, "Cleans CSV files.", "If the agent remembers one, clean it again.") == set()


def test_deletion_reaches_less_far_than_reading() -> None:
    text = "Deletes or reads rows that a table of many columns in the project shares with your files."
    assert declared_by_clauses(text) == [(READ, PRIVATE, "*")]


def test_every_clause_row_has_verbs_and_objects_of_known_kinds() -> None:
    for row in words_table()["clauses"]:
        assert row["verbs"], row
        assert row["objects"], row
        assert ActionKind(row["kind"]), row
        assert ResourceClass(row["resource_class"]), row
