"""Front matter: forgiving about form, and every forgiveness is a finding with its line."""

from __future__ import annotations

import time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.model import Declaration, Severity
from conjunct.skills.declaration import declare, safe_name
from conjunct.skills.front_matter import FrontMatter, decode, parse_front_matter
from conjunct.skills.notes import Notes, printable
from conjunct.skills.yaml_subset import YamlTrouble, parse_mapping


def _read(text: str | bytes) -> tuple[FrontMatter, dict[str, int | None], Notes]:
    notes = Notes()
    data = text if isinstance(text, bytes) else text.encode()
    front = parse_front_matter(decode(data, "SKILL.md", notes), "SKILL.md", notes)
    return front, {finding.code: finding.line for finding in notes.made}, notes


def _declare(text: str | bytes, folder: str = "say") -> tuple[Declaration, dict[str, int | None]]:
    front, _, notes = _read(text)
    declaration = declare(front, folder, "SKILL.md", notes)
    return declaration, {finding.code: finding.line for finding in notes.made}


def test_a_plain_manifest_has_no_finding() -> None:
    declaration, codes = _declare("---\nname: say\ndescription: Says one word.\n---\n\n# Use\n")
    assert codes == {}
    assert (declaration.name, declaration.description) == ("say", "Says one word.")
    assert declaration.line_of == (("name", 2), ("description", 3))


def test_the_body_keeps_its_line_numbers() -> None:
    front, _, _ = _read("---\nname: say\n---\nfirst\nsecond\n")
    assert (front.body, front.body_line) == ("first\nsecond\n", 4)


def test_line_ends_and_marks_are_forgiven_and_noted() -> None:
    front, codes, _ = _read(b"\xef\xbb\xbf---\r\nname: say\r\ndescription: One.\r\n---\r\nBody\r\n")
    assert front.values == {"name": "say", "description": "One."}
    assert front.body == "Body\n"
    assert codes == {"encoding.bom": 1, "encoding.crlf": 1}


def test_utf_16_is_read_and_noted() -> None:
    front, codes, _ = _read("\ufeff---\nname: say\n---\n".encode("utf-16-le"))
    assert front.values == {"name": "say"}
    assert "encoding.utf-16" in codes


def test_an_invalid_byte_is_noted_on_its_line() -> None:
    _, codes, _ = _read(b"---\nname: say\ndescription: sch\xf6n\n---\n")
    assert codes == {"encoding.invalid-utf-8": 3}


def test_an_unquoted_colon_recovers_the_field_and_keeps_the_others() -> None:
    declaration, codes = _declare(
        "---\nname: say\ndescription: Says one word: loud. Use when: asked\nlicense: MIT\n"
        "metadata:\n  version: '1'\n---\n"
    )
    assert declaration.description == "Says one word: loud. Use when: asked"
    assert declaration.license == "MIT"
    assert declaration.metadata == (("metadata.version", "1"),)
    assert codes == {"front-matter.invalid-yaml": 3, "front-matter.recovered": 3}


def test_a_quoted_colon_is_no_finding() -> None:
    declaration, codes = _declare('---\nname: say\ndescription: "Says one word: loud."\n---\n')
    assert declaration.description == "Says one word: loud."
    assert codes == {}


def test_a_bracket_in_a_field_makes_nothing_vanish() -> None:
    declaration, codes = _declare("---\nname: say\ndescription: [beta] Says one word.\nlicense: MIT\n---\n")
    assert declaration.description == "[beta] Says one word."
    assert declaration.license == "MIT"
    assert codes["front-matter.recovered"] == 3


def test_a_description_that_is_a_list_is_taken_as_written() -> None:
    declaration, _ = _declare("---\nname: say\ndescription: [one, two]\n---\n")
    assert declaration.description == "[one, two]"


def test_values_are_text_as_written() -> None:
    declaration, _ = _declare("---\nname: say\ndescription: yes\nversion: 1.10\ndate: 2026-01-01\n---\n")
    assert declaration.description == "yes"
    assert dict(declaration.metadata) == {"version": "1.10", "date": "2026-01-01"}


def test_folded_and_literal_blocks() -> None:
    declaration, _ = _declare(
        "---\nname: say\ndescription: >-\n  Says\n  one word.\nnotes: |\n  a\n  b\n---\n"
    )
    assert declaration.description == "Says one word."
    assert dict(declaration.metadata) == {"notes": "a\nb\n"}


def test_capitalised_and_other_spellings_of_keys_are_read() -> None:
    declaration, codes = _declare(
        "---\nName: say\nDescription: One.\nallowedTools: Read\nLicence: MIT\n---\n"
    )
    assert declaration.description == "One."
    assert [tool.tool for tool in declaration.allowed_tools] == ["Read"]
    assert declaration.license == "MIT"
    assert codes == {"front-matter.key-spelling": 5}


def test_a_second_spelling_of_a_key_does_not_win() -> None:
    declaration, codes = _declare("---\nname: say\ndescription: One.\nDescription: Two.\n---\n")
    assert declaration.description == "One."
    assert "front-matter.duplicate-key" in codes


def test_a_missing_description_is_taken_from_the_body() -> None:
    declaration, codes = _declare("---\nname: say\n---\n# Title\n\nSays one\nword.\n\nMore.\n")
    assert declaration.description == "Says one word."
    assert "front-matter.no-description" in codes


def test_the_folder_gives_the_name_where_none_is_declared() -> None:
    declaration, codes = _declare("---\ndescription: One.\n---\n", folder="the-folder")
    assert declaration.name == "the-folder"
    assert "front-matter.no-name" in codes


def test_composed_and_decomposed_names_are_the_same_name() -> None:
    _, codes = _declare("---\nname: caf\u00e9\ndescription: One.\n---\n", folder="cafe\u0301")
    assert "front-matter.name-unlike-folder" not in codes
    _, codes = _declare("---\nname: cafe\ndescription: One.\n---\n", folder="caf\u00e9")
    assert codes["front-matter.name-unlike-folder"] == 2


def test_names_stay_single_safe_components() -> None:
    assert safe_name("../../etc/passwd") == "_.._etc_passwd"
    assert safe_name("a\x1b[2Jb") == "a_[2Jb"
    assert safe_name("..") == "unnamed"
    assert safe_name("caf\u00e9 bar") == "caf\u00e9 bar"
    assert safe_name("victim~0123abcd") == "victim_0123abcd"


def test_long_blank_starts_are_a_question_and_short_ones_a_note() -> None:
    for blank, severity in ((2, Severity.NOTE), (500, Severity.REVIEW)):
        front, _, notes = _read("\n" * blank + "---\nname: say\n---\nBody\n")
        assert front.values == {"name": "say"}
        assert front.body_line == blank + 4
        assert [finding.severity for finding in notes.made] == [severity]


def test_dashes_in_the_body_do_not_close_anything() -> None:
    front, codes, _ = _read("---\nname: say\n---\nOne\n\n---\n\nTwo\n")
    assert front.body == "One\n\n---\n\nTwo\n"
    assert codes == {}


def test_deep_and_self_referring_values_cost_nothing_and_lose_nothing() -> None:
    declaration, codes = _declare("---\nname: say\ndescription: One.\nx: " + "[" * 9_000 + "\n---\n")
    assert declaration.description == "One."
    assert "front-matter.invalid-yaml" in codes
    declaration, codes = _declare("---\nname: say\ndescription: One.\nx: &x [*x]\n---\n")
    assert declaration.description == "One."
    assert codes == {"front-matter.alias": 4}


def test_an_alias_of_a_text_is_expanded() -> None:
    declaration, codes = _declare("---\nname: &n say\ndescription: *n\n---\n")
    assert declaration.description == "say"
    assert codes == {}


def test_an_object_tag_is_a_question_and_a_plain_one_is_not() -> None:
    _, _, notes = _read("---\nname: !!python/name:os.system x\n---\n")
    assert [(finding.code, finding.severity) for finding in notes.made] == [
        ("front-matter.tag", Severity.REVIEW)
    ]
    _, codes, _ = _read("---\nname: !!str 12\n---\n")
    assert codes == {}


def test_requirements_of_the_common_registries_are_read() -> None:
    declaration, _ = _declare(
        "---\nname: say\ndescription: One.\n"
        'metadata: {"openclaw": {"requires": {"env": ["SAY_TOKEN"], "bins": ["gh", "jq"], "anyBins": ["fd"]},'
        ' "primaryEnv": "SAY_KEY"}}\n'
        "requires:\n  env:\n    - name: SAY_HOME\n      description: where it lives\n  bins: curl, git\n"
        "compatibility: Needs git and SAY_URL\n---\n"
    )
    assert declaration.requires_environment == ("SAY_TOKEN", "SAY_KEY", "SAY_HOME", "SAY_URL")
    assert declaration.requires_programs == ("gh", "jq", "fd", "curl", "git")
    assert declaration.compatibility == "Needs git and SAY_URL"


def test_clawdbot_requirements_in_block_form() -> None:
    declaration, _ = _declare(
        "---\nname: say\ndescription: One.\nmetadata:\n  clawdbot:\n    requires:\n"
        "      env:\n        SAY_TOKEN: a token\n      bins:\n      - gh\n    emoji: x\n---\n"
    )
    assert declaration.requires_environment == ("SAY_TOKEN",)
    assert declaration.requires_programs == ("gh",)


def test_other_fields_require_nothing() -> None:
    declaration, _ = _declare(
        "---\nname: say\ndescription: Uses SAY_TOKEN.\n"
        "metadata:\n  author: ENV\n  inputs:\n  - name: input\n---\n"
    )
    assert declaration.requires_environment == ()
    assert declaration.requires_programs == ()


def test_hooks_are_told() -> None:
    _, codes = _declare("---\nname: say\ndescription: One.\nhooks:\n  Stop:\n  - command: ./x.sh\n---\n")
    assert codes == {"declares.hooks": 4}


@given(st.text(max_size=300))
@settings(max_examples=150, deadline=None)
def test_any_text_gives_a_front_matter_and_a_name(text: str) -> None:
    declaration, _ = _declare(f"---\n{text}\n---\nBody\n".encode("utf-8", "surrogatepass"))
    assert declaration.name
    assert "/" not in declaration.name
    assert printable(declaration.name) == declaration.name


_PLAIN = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=12)


@given(
    st.dictionaries(
        _PLAIN.map(lambda key: "k" + key),
        st.recursive(
            _PLAIN,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_PLAIN, inner, max_size=3),
            max_leaves=6,
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=80, deadline=None)
def test_what_yaml_wrote_is_read_back(values: dict[str, object]) -> None:
    text = yaml.safe_dump(values, allow_unicode=True, default_style='"')
    assert parse_mapping(text).values == values


@given(st.text(alphabet="{}[]:,-&*! \n\"'|>#ab", max_size=120))
@settings(max_examples=150, deadline=None)
def test_yaml_is_read_or_refused_but_never_crashes(text: str) -> None:
    try:
        parse_mapping(text)
    except YamlTrouble as trouble:
        assert trouble.line >= 1


@pytest.mark.parametrize(
    "block",
    [
        "x: " + "[" * 60_000,
        "x: " + "- " * 30_000,
        "? " * 30_000,
        "x: {" + "a: b, " * 9_000 + "}",
        "a: b: c\n" * 7_000,
        "x: '" + "''" * 29_000,
        "e." * 10_000 + "requires.env: v",
        "allowed-tools: " + "a(b " * 15_000,
        "description: " + "\u200b" * 20_000,
        "x:" + " " * 60_000,
        "\t" * 60_000,
    ],
    ids=lambda block: block[:8],
)
def test_no_text_takes_long(block: str) -> None:
    began = time.process_time()
    _declare(f"---\nname: say\n{block}\n---\nBody\n")
    assert time.process_time() - began < 25
