"""Arguments of scripts as read from their source."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.agent.usage import Usage, read_usage_text, usage_lines, usage_of_help
from conjunct.agent.usage_python import read_python
from conjunct.agent.usage_script import read_javascript, read_shell


def python(source: str) -> Usage:
    return read_python(textwrap.dedent(source))


def names(usage: Usage, *, required: bool | None = None) -> list[str]:
    return [item.name for item in usage.parameters if required is None or item.required == required]


def test_argparse_positionals_options_types_and_choices_are_read() -> None:
    usage = python(
        """
        import argparse
        FORMATS = ["json", "table"]
        def main():
            p = argparse.ArgumentParser()
            p.add_argument("input_csv", help="rows to count")
            p.add_argument("extra", nargs="?")
            p.add_argument("-f", "--format", choices=FORMATS, default="json")
            p.add_argument("--limit", type=int, required=True)
            p.add_argument("--output", required=True)
            p.add_argument("--verbose", action="store_true")
        if __name__ == "__main__":
            main()
        """
    )
    by_name = {item.name: item for item in usage.parameters}
    assert names(usage, required=True) == ["input_csv", "limit", "output"]
    assert by_name["input_csv"].kind == "csv"
    assert by_name["format"].choices == ("json", "table")
    assert by_name["limit"].kind == "integer"
    assert by_name["output"].output and not by_name["input_csv"].output
    assert not by_name["verbose"].takes_value
    assert usage.entry


def test_argparse_subcommands_parents_and_groups_are_followed() -> None:
    usage = python(
        """
        import argparse
        common = argparse.ArgumentParser(add_help=False)
        common.add_argument("--token", required=True)
        parser = argparse.ArgumentParser()
        sub = parser.add_subparsers(dest="cmd", required=True)
        add = sub.add_parser("add", parents=[common])
        group = add.add_mutually_exclusive_group(required=True)
        group.add_argument("--file")
        group.add_argument("--url")
        sub.add_parser("list")
        """
    )
    assert [name for name, _ in usage.subcommands] == ["add", "list"]
    added = usage.subcommand("add")
    assert added is not None and names(added) == ["token", "file", "url"]
    assert {item.group for item in added.parameters if item.name in ("file", "url")} == {"group-1"}
    assert usage.subcommand_required


def test_click_options_and_arguments_are_read() -> None:
    usage = python(
        """
        import click
        @click.command()
        @click.argument("source", type=click.Path(exists=True))
        @click.option("--mode", type=click.Choice(["fast", "slow"]), required=True)
        @click.option("--dry-run", is_flag=True)
        def main(source, mode, dry_run): ...
        main()
        """
    )
    assert names(usage, required=True) == ["source", "mode"]
    assert usage.option("--mode").choices == ("fast", "slow")  # type: ignore[union-attr]
    assert not usage.option("--dry-run").takes_value  # type: ignore[union-attr]


def test_a_usage_line_beats_counting_of_argv() -> None:
    usage = python(
        "import sys\nif len(sys.argv) < 3:\n"
        '    print("Usage: python conv.py <in.pdf> <out_dir> [dpi]")\nrun(sys.argv[1])'
    )
    assert names(usage) == ["in.pdf", "out_dir", "dpi"]
    assert [item.required for item in usage.parameters] == [True, True, False]


def test_argv_without_usage_takes_names_from_assignments() -> None:
    usage = python("import sys\nsource_json = sys.argv[1]\ncount = int(sys.argv[2])\n")
    assert [item.kind for item in usage.positionals()] == ["json", "integer"]


def test_a_module_of_functions_only_has_no_entry() -> None:
    assert not python("import os\nX = 1\ndef total(rows): return sum(rows)\n").entry
    assert python("def total(rows): return sum(rows)\nprint(total([1]))\n").entry


def test_what_is_not_python_gives_an_empty_usage() -> None:
    assert read_python("print 'two'").parameters == ()
    assert read_python("(" * 100_000).parameters == ()


def test_terminal_questions_and_standard_input_are_seen() -> None:
    usage = python("import sys, json\nname = input('Name: ')\nevent = json.load(sys.stdin)\n")
    assert usage.prompts == ("Name: ",)
    assert usage.reads_stdin == "json"


def test_shell_positions_and_case_options() -> None:
    usage = read_shell('#!/bin/bash\nINPUT_CSV="$1"\nMODE=${2:-fast}\necho "$INPUT_CSV"\n')
    assert [(item.name, item.required) for item in usage.parameters] == [("input_csv", True), ("mode", False)]
    options = read_shell(
        'while [ $# -gt 0 ]; do case "$1" in\n'
        '  --out|-o) OUT="$2"; shift 2;;\n  --force) F=1; shift;;\nesac; done'
    )
    assert [(item.flag, item.takes_value) for item in options.parameters] == [
        ("--out", True),
        ("--force", False),
    ]


def test_shell_arguments_of_functions_are_not_the_scripts() -> None:
    assert read_shell('log() {\n  echo "$1"\n}\nlog hello\n').parameters == ()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "program.requiredOption('-i, --input <file>', 'input csv').option('--dry', 'no write')",
            ["input", "dry"],
        ),
        ("const inputPath = process.argv[2]; const n = process.argv[3];", ["inputpath", "n"]),
        ("const [src, dest] = process.argv.slice(2);", ["src", "dest"]),
        ("yargs.option('url', { demandOption: true, type: 'string' })", ["url"]),
        ("console.log('hello')", []),
    ],
)
def test_javascript_arguments(source: str, expected: list[str]) -> None:
    assert names(read_javascript(source)) == expected


def test_usage_text_of_argparse() -> None:
    usage = read_usage_text("tool.py [-h] --input INPUT [--format {csv,json}] FILE [FILE ...]")
    assert names(usage, required=True) == ["input", "file"]
    assert usage.option("--format").choices == ("csv", "json")  # type: ignore[union-attr]


def test_help_text_is_read_over_several_lines() -> None:
    text = "usage: x.py [-h] --input INPUT\n            --rate RATE\n\noptions:\n  -h, --help  show\n"
    assert names(usage_of_help(text), required=True) == ["input", "rate"]
    assert usage_of_help("All good.\n") == Usage()


def test_the_scripts_own_check_makes_bracketed_arguments_required() -> None:
    check = 'import sys\nif len(sys.argv) != 2:\n    print("Usage: x.py [fields.json] [out.txt]")\n'
    assert [item.required for item in python(check).parameters] == [True, False]
    assert [item.required for item in python(check.replace("!= 2", "> 9")).parameters] == [False, False]


def test_usage_lines_need_the_word_usage() -> None:
    assert list(usage_lines("Usage: a.py FILE\n")) == ["a.py FILE"]
    assert list(usage_lines("Useful: a.py FILE\n")) == []


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400))
def test_no_source_makes_the_readers_fail(source: str) -> None:
    for read in (read_python, read_shell, read_javascript, read_usage_text):
        assert isinstance(read(source), Usage)
