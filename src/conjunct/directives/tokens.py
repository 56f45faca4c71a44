"""Prose as tokens and statements: splitting that survives code, links, hosts and abbreviations.

One pass of a regular expression without nested repetition; every later decision looks at tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from conjunct.directives.vocabulary import vocabulary

MAXIMUM_TOKENS: Final = 160
"""Longest statement; longer text without a full stop is cut into several."""

_MASTER = re.compile(
    r"(?P<ticks>`{1,3})(?!`)(?P<code>[^`]{1,1000})(?P=ticks)(?!`)"
    r"|\]\((?P<link><?[^()\s]{1,500}>?)(?:\s+[\"'][^\"'\n]{0,200}[\"'])?\)"
    r"|(?P<chunk>[^\s`\]]+)"
    r"|(?P<other>[`\]])"
)
_LEADING: Final = "([{\"'“‘«*_<|~"
_TRAILING: Final = ".,;:!?)]}\"'”’»*_>|~…"
_OPENING: Final = "\"“«'"
"""Marks that open a quotation."""
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_HOST = re.compile(r"(?:[a-z0-9_-]{1,63}\.){1,8}([a-z]{2,20})(?::\d{1,5})?(?:/\S{0,400})?", re.IGNORECASE)
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?:/\S{0,400})?")
_URL = re.compile(r"[a-z][a-z0-9+.-]{1,15}://\S+", re.IGNORECASE)
_PATH_START = re.compile(
    r"(?:~|\.{1,2}|\$\{?[A-Za-z_]\w{0,60}\}?|%[A-Z]{2,20}%|[A-Za-z]:)?[\\/]|~$|\{[A-Za-z_-]{1,40}\}/|<[a-z_-]{1,40}>/"
)
_CURLY = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "‑": "-", "–": "-"})

WORD, CODE, PATH, URL, HOST, EMAIL, PUNCTUATION, LINK = (
    "word",
    "code",
    "path",
    "url",
    "host",
    "email",
    "punctuation",
    "link",
)
CONCRETE: Final = frozenset({PATH, URL, HOST, EMAIL})


@dataclass(slots=True)
class Token:
    """One word, mark, code span or resource. `start` and `end` are offsets in the block's text."""

    kind: str
    text: str
    low: str
    start: int
    end: int
    code: bool = False
    quoted: bool = False


@dataclass(slots=True)
class Statement:
    """One sentence: its tokens, their lower-case words, its text and its line in the file."""

    tokens: list[Token]
    words: list[str]
    text: str
    line: int


def statements(text: str, line: int) -> list[Statement]:
    """The sentences of one block of prose that starts on `line`."""
    result: list[Statement] = []
    quotes = any(mark in text for mark in _OPENING)
    dashes = "-" in text
    reached = 0
    for group in _split(tokenize(text)):
        start = group[0].start
        line += text.count("\n", reached, start)
        reached = start
        if quotes:
            _mark_quotes(group, text)
        words = [token.low for token in group]
        if dashes:
            _bare_verbs(group, words)
        result.append(Statement(group, words, text[start : group[-1].end], line))
    return result


def _bare_verbs(tokens: list[Token], words: list[str]) -> None:
    """`Base64-encode the file`: a verb that opens a clause counts without its prefix."""
    lexicon = vocabulary()
    for index, token in enumerate(tokens):
        prefix, dash, verb = token.low.partition("-")
        if not dash or token.kind != WORD or prefix not in lexicon["verbs.prefixes"].single:
            continue
        opens = (
            not index or tokens[index - 1].kind == PUNCTUATION or words[index - 1] in ("and", "then", "to")
        )
        if opens and verb in lexicon.imperative and token.low not in lexicon.imperative:
            words[index] = verb


def tokenize(text: str) -> list[Token]:
    """All tokens of `text`, in order."""
    tokens: list[Token] = []
    for match in _MASTER.finditer(text):
        if match.lastgroup == "chunk":
            chunk, start = match[0], match.start()
            if chunk.isalpha():
                tokens.append(Token(WORD, chunk, chunk.lower(), start, match.end()))
            elif chunk[-1] in ".,;:" and (word := chunk[:-1]).isalpha():
                end = match.end() - 1
                tokens.append(Token(WORD, word, word.lower(), start, end))
                tokens.append(Token(PUNCTUATION, chunk[-1], chunk[-1], end, end + 1))
            else:
                _chunk(chunk, start, tokens)
        elif (code := match["code"]) is not None:
            inner = " ".join(code.split())
            kind = CODE if " " in inner or not inner else classify(inner)
            kind = CODE if kind == WORD else kind
            tokens.append(Token(kind, inner, inner.lower(), match.start(), match.end(), code=True))
        elif (link := match["link"]) is not None:
            _link(link.strip("<>"), match, tokens)
    return tokens


def _link(target: str, match: re.Match[str], tokens: list[Token]) -> None:
    """A link's target: a path or an address like one in the text; its label, if it names the same, goes."""
    if target.startswith("#"):
        tokens.append(Token(LINK, target, "", match.start(), match.end()))
        return
    target = target.partition("#")[0]
    kind = classify(target)
    kind = kind if kind in CONCRETE else PATH if "/" in target else LINK
    label = tokens[-1] if tokens and tokens[-1].end >= match.start() - 2 else None
    if label is not None and label.kind in CONCRETE and label.text.rstrip("/").rpartition("/")[2] in target:
        tokens.pop()
        label = Token(kind, target, target.lower(), label.start, match.end(), quoted=label.quoted)
        tokens.append(label)
        return
    tokens.append(Token(kind, target, target.lower() if kind != LINK else "", match.start(), match.end()))


def classify(chunk: str) -> str:
    """Kind of one run of characters without white space."""
    if chunk.isalpha():
        return WORD
    words = vocabulary()
    if "://" in chunk:
        return URL if _URL.fullmatch(chunk) else WORD
    if "@" in chunk and _EMAIL.fullmatch(chunk.removeprefix("mailto:")):
        return EMAIL
    extension = chunk.rsplit(".", 1)[-1].lower() if "." in chunk else ""
    known = extension in words["resources.extensions"].single
    if _PATH_START.match(chunk):
        segments = [segment for segment in re.split(r"[\\/]", chunk) if segment]
        if chunk[0] == "/" and (
            not segments
            or (
                len(segments) == 1
                and "." not in chunk
                and segments[0].lower() not in words["resources.root_folders"].single
            )
        ):
            return WORD  # a slash command, or a lone slash
        return PATH
    if chunk[0] == "." and len(chunk) > 2:
        return PATH if extension in {"env", "npmrc", "netrc"} or not known else WORD
    if "/" in chunk or "\\" in chunk:
        first, _, rest = chunk.partition("/")
        if (
            rest
            and (found := _HOST.fullmatch(first))
            and found[1].lower() in words["resources.top_domains"].single
        ):
            return HOST
        if _ADDRESS.fullmatch(chunk):
            return HOST
        return PATH if known or chunk.endswith("/") or "*" in chunk or first.startswith(".") else WORD
    if "." in chunk:
        stem = chunk.rsplit(".", 1)[0].lower()
        if known and stem and not (extension == "js" and stem in words["resources.library_names"].single):
            return PATH
        if _ADDRESS.fullmatch(chunk):
            return HOST
        found = _HOST.fullmatch(chunk)
        if found and found[1].lower() in words["resources.top_domains"].single and found[1].islower():
            return HOST
    return WORD


def _chunk(chunk: str, start: int, tokens: list[Token]) -> None:
    """Split marks off the ends of a run of characters and add what is found."""
    body = chunk.translate(_CURLY) if not chunk.isascii() else chunk
    left = 0
    while (
        left < len(body)
        and body[left] in _LEADING
        and not (body[left] == "~" and body[left : left + 2] == "~/")
    ):
        if body[left] == "<" and re.match(r"<[a-z_-]{1,40}>/", body[left : left + 44]):
            break
        if body[left] == "{" and re.match(r"\{[A-Za-z_-]{1,40}\}/", body[left : left + 44]):
            break
        if body[left] in "(":
            tokens.append(Token(PUNCTUATION, "(", "(", start + left, start + left + 1))
        left += 1
    right = len(body)
    marks: list[Token] = []
    while right > left and body[right - 1] in _TRAILING:
        right -= 1
        if body[right] in ".,;:!?)":
            marks.append(Token(PUNCTUATION, body[right], body[right], start + right, start + right + 1))
    core = body[left:right]
    if core:
        if core in {"-", "--", "—", "→", "=>", "->", "+", "&", "=", "•"} or not any(map(str.isalnum, core)):
            low = "and" if core == "&" else core
            kind = WORD if core == "&" else PUNCTUATION
            tokens.append(Token(kind, core, low, start + left, start + right))
        else:
            for piece, offset in _dashes(core):
                kind = classify(piece)
                tokens.append(
                    Token(
                        kind, piece, piece.lower(), start + left + offset, start + left + offset + len(piece)
                    )
                )
    tokens.extend(reversed(marks))


def _dashes(core: str) -> list[tuple[str, int]]:
    """`file—then` is two words around a dash."""
    if "—" not in core:
        return [(core, 0)]
    pieces: list[tuple[str, int]] = []
    offset = 0
    for index, piece in enumerate(core.split("—")):
        if index:
            pieces.append(("—", offset - 1))
        if piece:
            pieces.append((piece, offset))
        offset += len(piece) + 1
    return pieces


def _split(tokens: list[Token]) -> list[list[Token]]:
    groups: list[list[Token]] = []
    current: list[Token] = []
    last = len(tokens) - 1
    for index, token in enumerate(tokens):
        current.append(token)
        if (
            index == last
            or len(current) >= MAXIMUM_TOKENS
            or (token.kind == PUNCTUATION and _ends(token, current, tokens[index + 1]))
        ):
            groups.append(current)
            current = []
    return groups


def _ends(token: Token, current: list[Token], following: Token) -> bool:
    if token.kind != PUNCTUATION or token.low not in {".", "!", "?"} or following.start == token.end:
        return False
    if (
        len(current) > 1
        and current[-2].low in vocabulary()["resources.abbreviations"].single
        and current[-2].end == token.start
    ):
        return False
    first = following.text[:1]
    return not first.islower() or following.kind != WORD


def _mark_quotes(tokens: list[Token], text: str) -> None:
    """Set `quoted` on tokens between a pair of quotation marks of one statement."""
    opened: int | None = None
    for index, token in enumerate(tokens):
        before = text[token.start - 1] if token.start else " "
        after = text[token.end] if token.end < len(text) else " "
        if before in '"“«' or (before == "'" and (token.start < 2 or not text[token.start - 2].isalnum())):
            opened = index if opened is None else opened
        if (opened is not None and after in "\"”»'") or (
            opened is not None
            and token.kind == PUNCTUATION
            and token.end < len(text)
            and text[token.end] in '"”»'
        ):
            for inner in tokens[opened : index + 1]:
                inner.quoted = True
            opened = None
        if opened is not None and index - opened > 60:
            opened = None
