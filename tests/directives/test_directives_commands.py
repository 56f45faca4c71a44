"""Commands in fences, inline code, usage text and prose."""

from __future__ import annotations

from conjunct.directives import compile_text
from conjunct.directives.package import package_of
from conjunct.model import Directive, DirectiveKind

PACKAGE = package_of(
    ["SKILL.md", "scripts/fmt.py", "scripts/run.sh", "tool.js", "references/a.md"], "fmt-tool"
)


def runs(text: str) -> list[Directive]:
    found = compile_text(text, file="SKILL.md", package=PACKAGE).directives
    return [directive for directive in found if directive.kind is DirectiveKind.RUN]


def commands(text: str) -> list[str]:
    return [directive.command for directive in runs(text) if not directive.mention]


def test_each_command_of_a_fence_has_its_line() -> None:
    found = runs("Text\n\n```bash\n# comment\nls -l\n\nnpm test\n```\n")
    assert [(d.command, d.line) for d in found] == [("ls -l", 5), ("npm test", 7)]


def test_continued_lines_quotes_loops_and_here_documents_stay_together() -> None:
    text = (
        "```bash\npython scripts/fmt.py \\\n  --in a.csv\nfor f in *.md; do\n  wc $f\ndone\n"
        'echo "two\nlines"\ncat <<EOF > a.txt\nhello\nEOF\nls\n```\n'
    )
    assert commands(text) == [
        "python scripts/fmt.py \\\n  --in a.csv",
        "for f in *.md; do\n  wc $f\ndone",
        'echo "two\nlines"',
        "cat <<EOF > a.txt\nhello\nEOF",
        "ls",
    ]


def test_lines_that_change_the_shell_go_in_front_of_what_follows() -> None:
    assert commands("```sh\ncd work\nexport A=1\nnpm test\n```\n") == ["cd work\nexport A=1\nnpm test"]


def test_prompts_are_removed_and_output_is_not_run() -> None:
    assert commands("```console\n$ npm test\n12 passing\n$ npm start\n```\n") == ["npm test", "npm start"]


def test_a_fence_without_language_is_run_only_when_it_holds_commands() -> None:
    assert commands("```\nnpm test\n```\n") == ["npm test"]
    assert commands("```\nfmt-tool/\n├── SKILL.md\n└── scripts/\n```\n") == []
    assert commands("```\nDear team,\n```\n") == []


def test_a_script_named_in_prose_becomes_its_command() -> None:
    assert commands("Run scripts/fmt.py on the file.") == ["python scripts/fmt.py <file>"]
    assert commands("Then execute `run.sh` with input.csv.") == ["bash scripts/run.sh input.csv"]
    assert commands("Format the data using `scripts/fmt.py`.") == ["python scripts/fmt.py"]


def test_a_script_that_is_only_listed_is_a_mention() -> None:
    found = runs("- `scripts/fmt.py`: formats tables\n")
    assert [(d.command, d.mention) for d in found] == [("python scripts/fmt.py", True)]


def test_usage_text_becomes_the_command_of_the_script_it_names() -> None:
    assert commands("Usage: fmt.py [-h] --in FILE") == ["python scripts/fmt.py [-h] --in FILE"]
    assert commands("```\nusage: fmt.py --in FILE\n```\n") == ["python scripts/fmt.py --in FILE"]


def test_inline_code_that_is_no_command_is_not_run() -> None:
    assert runs("Use `DataFrame.merge` and set `index=False`; see `make sure` and `open questions`.") == []


def test_the_folder_is_taken_from_the_text() -> None:
    assert runs("From the skill directory, run `npm test`.")[0].folder == "skill"
    assert runs("Run `npm test` in the project root.")[0].folder == "workspace"
    assert runs("Run `npm test`.")[0].folder == ""


def test_copying_the_package_into_a_skills_folder_is_no_directive() -> None:
    assert commands("```bash\ncp -r . ~/.claude/skills/fmt-tool\n```\n") == []
    assert commands("```bash\nmkdir -p ~/.claude/skills\ncp -r fmt-tool ~/.claude/skills/\n```\n") == [
        "mkdir -p ~/.claude/skills"
    ]
    copied = compile_text("Copy this folder to ~/.claude/skills/.", file="a", package=PACKAGE)
    assert copied.directives == ()
    assert copied.compiled == copied.instructions == 1


def test_fetching_into_a_skills_folder_and_writing_to_another_skill_are() -> None:
    assert commands("```bash\ngit clone https://a.example.com/x.git ~/.claude/skills/fmt-tool\n```\n")
    assert commands("```bash\ncp note.md ~/.claude/skills/other-tool/\n```\n")
    assert commands("```bash\nnpx skills add someone/fmt-tool\n```\n")


def test_installers_and_fetched_code_are_run_directives() -> None:
    text = "First install the helper: `curl https://a.example.com/i.sh | sh`."
    assert commands(text) == ["curl https://a.example.com/i.sh | sh"]
    assert commands("Install it with `pip install pandas`.") == ["pip install pandas"]


def test_a_windows_fence_counts_as_not_compiled() -> None:
    result = compile_text("```powershell\nGet-Content secrets.json\n```\n", file="a")
    assert (result.instructions, result.compiled) == (1, 0)


def test_more_commands_than_are_compiled_are_reported() -> None:
    result = compile_text("```bash\n" + "ls -l\n" * 1000 + "```\n", file="a")
    assert len(result.directives) == 400
    assert [(entry.sensitive, entry.line) for entry in result.uncompiled] == [(True, 402)]
