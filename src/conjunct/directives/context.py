"""What surrounds a block says about it: shown or ordered, conditional, one of several alternatives."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from conjunct.directives.structure import CELL, FENCE, Block
from conjunct.directives.vocabulary import Phrases, vocabulary
from conjunct.model import Condition

_WORD = re.compile(r"[A-Za-z][\w'.-]*|[^\w\s]")
_OPTION = re.compile(
    r"^(?:option|alternative|method|approach|variant|choice|path)\s+(?:[a-h]|\d{1,2}|one|two|three|four)\b",
    re.IGNORECASE,
)

_PROCEDURE = re.compile(r"^(?:phase|step|stage|workflow)\s{0,3}\d", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Context:
    """How far the text of a block is meant as an order."""

    mention: bool = False
    descriptive: bool = False
    ordered: bool = False
    """The text that leads here asks for what follows to be run or followed."""
    conditions: tuple[Condition, ...] = ()
    alternative: str = ""
    quoted: bool = False
    """In a block quotation that is not an utterance (a call-out)."""
    routing: bool = False
    """Under a heading like "When not to use": only handing over to other skills is ordered here."""
    followed: bool = False
    """The lead-in asks for the words of a block to be carried out, not to be written somewhere."""
    prohibits: bool = False
    """The lead-in says only that what follows must not be done ("Don't:")."""
    verb: str = ""
    """The verb of the lead-in, for items that have none ("Save as follows: totals → `a.md`")."""


@dataclass(frozen=True, slots=True)
class _Heading:
    """What one heading says about its section; every block below it asks again."""

    kind: str
    routes: bool
    prohibits: bool
    option: bool


@dataclass(slots=True)
class Surroundings:
    """Contexts of the blocks of one text, computed once per heading and lead."""

    blocks: list[Block]
    file: str
    conditions: dict[int, tuple[Condition, ...]] = field(default_factory=dict)
    """Block index to the conditions that hold for everything it leads to."""
    _headings: dict[str, _Heading] = field(default_factory=dict)
    _lead_cache: dict[tuple[int, bool], tuple[bool, bool, bool]] = field(default_factory=dict)
    _heading_conditions: dict[str, tuple[Condition, ...]] = field(default_factory=dict)

    def set_heading(self, text: str, conditions: tuple[Condition, ...]) -> None:
        """Record what a heading says about when its section applies."""
        self._heading_conditions[text] = conditions

    def of(self, index: int) -> Context:
        """The context of block `index`; the blocks before it must have been compiled."""
        block = self.blocks[index]
        kind = ""
        alternative = ""
        routing = prohibits = elsewhere = False
        conditions: list[Condition] = []
        for level, heading in enumerate(block.headings, start=1):
            conditions.extend(self._heading_conditions.get(heading, ()))
            read = self._heading(heading)
            if level == len(block.headings) and read.prohibits:
                prohibits, elsewhere = True, kind == "mention"
            kind = _within(kind, read.kind, block, level == len(block.headings))
            routing = (routing or read.routes) and kind == "mention"
            if read.option:
                alternative = f"{self.file}:{'/'.join(block.headings[:-1])}"
        mention = kind == "mention" or block.kind == CELL
        routing = routing and block.kind != CELL
        verb = ""
        descriptive = kind == "descriptive"
        ordered = followed = False
        elsewhere = elsewhere or (mention and not prohibits)
        lead = block.lead
        for _ in range(12):
            if lead < 0:
                break
            shown, describes, asks = self._leads(lead, block.kind == FENCE)
            bare = shown and _bare_prohibition(self.blocks[lead].text)
            prohibits, elsewhere = prohibits or bare, elsewhere or (shown and not bare)
            mention = mention or shown
            descriptive = descriptive or describes
            ordered = ordered or asks
            followed = followed or (asks and _asks_to_follow(self.blocks[lead].text))
            routing = routing and not shown
            verb = verb or self._lead_verb(lead)
            conditions.extend(self.conditions.get(lead, ()))
            lead = self.blocks[lead].lead
        if block.quoted and _is_quotation(block.text):
            mention = True
        sign = polarity(block.text)
        if block.kind != FENCE and sign < 0:
            mention, routing = True, False
        if block.item >= 0 and not alternative and _is_option(block.text):
            alternative = f"{self.file}:list:{block.item}"
        return Context(
            mention=mention,
            descriptive=descriptive and not mention,
            ordered=ordered and not mention,
            conditions=tuple(dict.fromkeys(conditions)),
            alternative=alternative,
            quoted=block.quoted and not mention,
            routing=routing,
            followed=followed and not mention,
            prohibits=prohibits and not elsewhere and sign == 0,
            verb=verb,
        )

    def _lead_verb(self, index: int) -> str:
        """The imperative that a lead-in opens with: "Lift signals upward:" is `lift`."""
        block = self.blocks[index]
        words = [word for word in _words(block.text[:200]) if word[0].isalpha()]
        colon = block.text.rstrip().rstrip("*_").endswith((":", "："))
        return words[0] if words and colon and words[0] in vocabulary().imperative else ""

    def _leads(self, index: int, to_fence: bool) -> tuple[bool, bool, bool]:
        key = (index, to_fence)
        if key not in self._lead_cache:
            self._lead_cache[key] = _lead(self.blocks[index].text, to_fence)
        return self._lead_cache[key]

    def _heading(self, text: str) -> _Heading:
        if text not in self._headings:
            self._headings[text] = _Heading(
                heading_kind(text),
                routes=vocabulary()["headings.routing"].at(_words(text), 0) > 0,
                prohibits=_bare_prohibition(text),
                option=bool(_OPTION.match(text.strip("*# "))) or _is_platform(text),
            )
        return self._headings[text]


def heading_kind(text: str) -> str:
    """`mention`, `attack` (a mention outside of a procedure), `loose`, `usage`, `descriptive`, or nothing."""
    words = [word for word in _words(text) if word[0].isalpha()]
    lexicon = vocabulary()
    if any(mark in text for mark in "❌🚫⛔✗✘"):
        return "mention"
    if not words:
        return ""
    if lexicon["headings.first"].at(words, 0):
        return "mention"
    if lexicon["headings.usage"].within(words):
        return "usage"
    if _at_edge(lexicon["headings.mention"], words) or lexicon["headings.exact"].at(words, 0) == len(words):
        if not _at_edge(lexicon["headings.attacking"], words):
            return "mention"
        return "usage" if _PROCEDURE.match(text.strip("*# ")) else "attack"
    if lexicon["headings.loose"].at(words, 0) == len(words) or (
        len(words) > 2 and lexicon["headings.loose"].at(words, len(words) - 2) == 2
    ):
        return "loose"
    return "descriptive" if lexicon["headings.descriptive"].within(words) else ""


def _within(outer: str, found: str, block: Block, innermost: bool) -> str:
    """The kind of a section of kind `found` inside one of kind `outer`."""
    if found == "attack":
        return "usage" if outer == "usage" else "mention"
    if found == "loose":
        shown = innermost and (block.kind != FENCE or not _is_shell(block))
        return "mention" if shown else outer
    if found == "usage" and outer == "mention":
        return outer
    return found or outer


def _is_shell(block: Block) -> bool:
    return block.language in vocabulary()["resources.shell_languages"].single


def polarity(text: str) -> int:
    """-1 when a mark or label at the start says "not like this", 1 for "like this", else 0."""
    head = text.lstrip("*_[ \t->").lstrip()[:60]
    if not head:
        return 0
    if head[0] in "❌🚫⛔✗✘👎":
        return -1
    if head[0] in "✅✓✔👍":
        return 1
    label, found, _ = head.partition(":")
    if not found and not text.lstrip().startswith("**"):
        return 0
    if not found and len(head) == 60:
        return 0
    words = [word for word in _words(label) if word[0].isalnum()]
    lexicon = vocabulary()
    if found and words and words[-1] in ("not", "never") and "if" not in words[-5:]:
        return -1
    if not words or len(words) > 4:
        return 0
    if lexicon["headings.polarity_good"].at(words, 0):
        return 1
    if not found and _prohibits(words):
        return 0  # "**Don't ask questions**" is an order not to, and read as one
    exact = lexicon["headings.polarity_bad_exact"].at(words, 0) == len(words)
    return -1 if exact or lexicon["headings.polarity_bad"].at(words, 0) else 0


def _prohibits(words: list[str]) -> bool:
    """`don't ask …`: a prohibition with its verb."""
    length = vocabulary()["headings.prohibiting"].at(words, 0)
    return 0 < length < len(words) and words[length] in vocabulary().imperative


def _asks_to_follow(text: str) -> bool:
    """`Do the following:`; "Write a plan like this:" and "Use this template:" ask for words."""
    lexicon = vocabulary()
    words = [word for word in _words(text[-400:]) if word[0].isalnum()]
    shown = lexicon["headings.lead_template"].within(words)
    return lexicon["headings.lead_order"].within(words) and not shown


def _bare_prohibition(text: str) -> bool:
    """`Don't:`, `You must never:`: a lead-in that is a prohibition and nothing else."""
    words = [word for word in _words(text) if word[0].isalnum()]
    lexicon = vocabulary()
    return 0 < len(words) <= 4 and len(words) in (
        lexicon["headings.lead_prohibited"].at(words, 0),
        lexicon["headings.prohibition"].at(words, 0),
    )


def _lead(text: str, to_fence: bool) -> tuple[bool, bool, bool]:
    """Whether a lead-in makes what follows a mention, a description, or an order."""
    last = text.rstrip().rsplit("\n", 1)[-1]
    sentence = re.split(r"(?<=[.!?])\s", last[-400:])[-1]
    words = [word for word in _words(sentence) if word[0].isalnum()]
    if not words:
        return False, False, False
    lexicon = vocabulary()
    if mark := polarity(sentence):
        return mark < 0, False, mark > 0
    colon = sentence.rstrip().rstrip("*_").endswith((":", "："))
    if not colon and not to_fence:
        return False, False, False
    # "… and stop if it does not:" prohibits nothing
    if colon and "if" not in words[-5:] and _at_edge(lexicon["headings.lead_prohibited"], words):
        return True, False, False
    if lexicon["headings.lead_order"].within(words):
        return False, False, True
    if colon and _at_edge(lexicon["headings.lead_shown"], words):
        return True, False, False
    if colon and not to_fence and lexicon["headings.lead_listed"].within(words):
        return True, False, False
    if colon and not to_fence and lexicon["headings.lead_descriptive"].within(words):
        return False, True, False
    return False, False, words[0] in lexicon.imperative


def _at_edge(phrases: Phrases, words: list[str]) -> bool:
    """Whether a phrase opens or closes a list of words."""
    if phrases.at(words, 0):
        return True
    return any(
        phrases.at(words, index) == len(words) - index for index in range(max(0, len(words) - 4), len(words))
    )


def _words(text: str) -> list[str]:
    found = _WORD.findall(text[:400].replace("’", "'"))
    return [word.rstrip(".").lower() or word for word in found]


def _is_platform(heading: str) -> bool:
    words = _words(heading)
    platforms = vocabulary()["headings.platforms"]
    return bool(words) and len(words) <= 3 and platforms.at(words, 0) == len(words)


def _is_option(text: str) -> bool:
    """Whether a list item is labelled as one of several: "**macOS**: …", "Option A: …"."""
    label, found, _ = text[:60].partition(":")
    label = label.strip("*_ `")
    return bool(found) and (bool(_OPTION.match(label)) or _is_platform(label))


def _is_quotation(text: str) -> bool:
    return text.lstrip("*_ ")[:1] in ('"', "“", "'", "«", "‘")
