"""The word lists: checked when loaded, plain text throughout, usable with every rule."""

from __future__ import annotations

import pytest

from conjunct.directives.vocabulary import Phrases, vocabulary
from conjunct.errors import UsageError


def test_words_that_yaml_reads_as_booleans_stay_words() -> None:
    assert "no" in vocabulary()["postures.override.openers"].single
    assert "on" in vocabulary()["languages.english"].single


def test_every_act_has_a_verb_in_each_form() -> None:
    for act in vocabulary().acts:
        assert act.base.single, act.name
        assert act.to, act.name


def test_phrases_find_the_longest_match_and_nothing_behind_the_end() -> None:
    phrases = Phrases(["api", "api key"])
    assert phrases.at(["the", "api", "key"], 1) == 2
    assert phrases.at(["the", "api"], 1) == 1
    assert phrases.at(["the", "api"], 2) == 0
    assert phrases.find(["a", "b"]) == -1


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("acts: [send]", "must be a mapping"),
        (
            "acts: {send: {base: [send], participle: [sent], gerund: [sending], to: [to], needs: nothing}}",
            "needs",
        ),
        ("acts: {send: {base: [send]}}", "has no"),
        ("acts: {send: {base: send, participle: [], gerund: [], to: [], needs: url}}", "must be a list"),
        ("acts: [", "not valid YAML"),
    ],
)
def test_a_broken_data_file_says_where_and_what(
    monkeypatch: pytest.MonkeyPatch, text: str, part: str
) -> None:
    from conjunct.directives import vocabulary as module

    monkeypatch.setattr(module, "_read", lambda name: text if name == "verbs" else _original(name))
    with pytest.raises(UsageError, match=part) as caught:
        module.vocabulary.__wrapped__()
    assert "directives/data" in str(caught.value)


def _original(name: str) -> str:
    from importlib import resources

    return resources.files("conjunct.directives").joinpath("data", f"{name}.yaml").read_text(encoding="utf-8")
