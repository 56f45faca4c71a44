"""What is known while one text is compiled, and how a directive is added to it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from conjunct.directives.context import Context
from conjunct.directives.package import Package
from conjunct.directives.sensitive import is_sensitive
from conjunct.directives.tokens import Statement
from conjunct.model import Condition, Directive, DirectiveKind, Sentence

QUOTE_LENGTH: Final = 300
MENTION_CONFIDENCE: Final = 0.3
_VAGUE: Final = 0.5
"""Up to this confidence something done silently names nothing: in a list of abilities it describes."""
_ANTECEDENT_STATEMENTS: Final = 2
"""How many statements later "it" may still mean a resource."""


@dataclass(slots=True)
class Output:
    """Directives and counts of one text, and the little memory that prose needs."""

    file: str
    package: Package
    derived: bool
    depth: int = 0
    last_line: int = 1
    directives: list[Directive] = field(default_factory=list)
    uncompiled: list[Sentence] = field(default_factory=list)
    instructions: int = 0
    compiled: int = 0
    folder: str = ""
    conditions: tuple[Condition, ...] = ()
    """Conditions of the sentence before, for "in that case" and "otherwise"."""
    groups: int = 0
    _antecedent: str = ""
    _age: int = 0

    @property
    def antecedent(self) -> str:
        """The resource that "it" means here, or an empty string."""
        return self._antecedent if self._age <= _ANTECEDENT_STATEMENTS else ""

    def refer(self, resource: str) -> None:
        """Make `resource` what "it" means from here on."""
        self._antecedent, self._age = resource, 0

    def next_statement(self) -> None:
        """Age what "it" means by one statement."""
        self._age += 1

    def emit(self, context: Context, directive: Directive, *, definite: bool = False) -> None:
        """Add a directive with what its surroundings say about it.

        `definite` acts name their object ("the reference file"): they are orders in descriptions too.
        """
        vague = directive.kind is DirectiveKind.ACT and directive.confidence < 1.0 and not definite
        vague = vague or (directive.kind is DirectiveKind.CONCEAL and directive.confidence <= _VAGUE)
        shown = context.mention and not (context.routing and directive.kind is DirectiveKind.DELEGATE)
        mention = directive.mention or shown or (context.descriptive and vague)
        confidence = min(directive.confidence, MENTION_CONFIDENCE) if mention else directive.confidence
        if context.quoted:
            confidence *= 0.7
        if self.derived:
            confidence *= 0.5
        self.directives.append(
            replace(
                directive,
                line=max(1, min(directive.line, self.last_line)),
                mention=mention,
                confidence=round(confidence, 3),
                conditions=tuple(dict.fromkeys((*context.conditions, *directive.conditions))),
                alternative=directive.alternative
                or (context.alternative if directive.kind in (DirectiveKind.RUN, DirectiveKind.ACT) else ""),
            )
        )

    def count(self, context: Context, compiled: bool, statement: Statement) -> None:
        """Count an instruction sentence; one that was not understood is kept. Mentions do not count."""
        if context.mention:
            return
        self.instructions += 1
        if compiled:
            self.compiled += 1
            return
        text = " ".join(statement.text.split())[:QUOTE_LENGTH]
        line = min(statement.line, self.last_line)
        self.uncompiled.append(Sentence(text, self.file, line, is_sensitive(statement)))

    def too_long(self, line: int, what: str) -> None:
        """Report something over a limit as an instruction that was not compiled, and worth a look."""
        self.instructions += 1
        self.uncompiled.append(Sentence(what, self.file, min(line, self.last_line), sensitive=True))

    def group(self, line: int) -> str:
        """A new name for a group of alternatives."""
        self.groups += 1
        return f"{self.file}:{line}:{self.groups}"


def quote(statement: Statement) -> str:
    """The text of a statement on one line, cut."""
    return " ".join(statement.text.split())[:QUOTE_LENGTH]
