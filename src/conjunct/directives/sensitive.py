"""Whether an instruction that was not understood names something worth a look."""

from __future__ import annotations

from conjunct.directives.tokens import EMAIL, HOST, PATH, URL, Statement
from conjunct.directives.vocabulary import vocabulary

_SECRET_ENDINGS = frozenset({"KEY", "TOKEN", "SECRET", "PASSWORD", "PASS", "PAT", "CREDENTIALS"})
_CATEGORIES = ("credentials", "configuration", "skills", "payment", "posture", "network")


def is_sensitive(statement: Statement) -> bool:
    """Whether a statement names credentials, hosts, configuration, other skills, deletion or payment."""
    lexicon = vocabulary()
    words = statement.words
    for token in statement.tokens:
        if token.kind in (URL, HOST, EMAIL):
            return True
        if token.text.isupper() and token.text.rpartition("_")[2] in _SECRET_ENDINGS and "_" in token.text:
            return True
        if token.kind == PATH:
            parts = token.low.split("/")
            if any(
                part in lexicon["resources.credential_paths"].single
                or part in lexicon["resources.agent_folders"].single
                or part in lexicon["resources.shell_startup"].single
                for part in parts
            ):
                return True
    if any(lexicon[f"sensitive.words.{category}"].within(words) for category in _CATEGORIES):
        return True
    return any(first.within(words) and second.within(words) for first, second in lexicon.pairs)
