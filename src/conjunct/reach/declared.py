"""What a skill declares, as far as a user can read it: front matter, description and body of `SKILL.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from conjunct.model import ActionKind, Capability, Compilation, ResourceClass, Skill, ToolPattern
from conjunct.reach import resources
from conjunct.reach.clauses import (
    NAMED_ONLY,
    clause_naming,
    declared_by_clauses,
    deletes,
    negated,
    words_of_clause,
    words_table,
)
from conjunct.reach.commands import URL, programs

_HOST = re.compile(
    r"(?<![\w@./-])((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,6}[a-z]{2,24})(?![\w-])", re.IGNORECASE
)
_PATH = re.compile(
    r"(?:~|\$HOME)/[\w.@+~/*-]{1,200}|/(?:etc|var|usr|opt|tmp|home|root|Users)/[\w.@+~/*-]{1,200}|(?<![\w/])/Applications\b[\w.@+~/*-]{0,200}"
)
_DOTTED = re.compile(
    r"(?<![\w/.-])(\.(?:env|npmrc|netrc|bashrc|zshrc|mcp\.json|cursorrules|claude/[\w./-]+))(?![\w-])"
)
_MEMORY_FILE = re.compile(r"\b(?:CLAUDE|AGENTS|GEMINI|SOUL|HEARTBEAT|MEMORY)\.md\b")
_NAMED_BY = (("/", _PATH), (".", _DOTTED), (".md", _MEMORY_FILE))
"""What names a path, each with characters that a line must hold for it: most lines hold none."""
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]{1,40}(?:_[A-Z0-9]{1,40}){1,6}\b")
_NOT_HOSTS = frozenset(
    {"py", "md", "json", "yaml", "yml", "txt", "sh", "js", "ts", "tsx", "jsx", "html", "css", "csv",
     "toml", "pdf", "png", "jpg", "svg", "docx", "xlsx", "pptx", "ipynb", "rs", "go", "rb", "java",
     "cfg", "ini", "lock", "log", "xml", "sql", "env", "zip", "gz", "tar", "vcf", "bam", "fasta", "tsv"}
)  # fmt: skip
"""Endings of file names that look like host names."""

_MOST = 600
_LONGEST_LINE = 4000
_LONGEST_QUOTE = 240


def declared_capabilities(skill: Skill, compilation: Compilation) -> tuple[Capability, ...]:
    """What name, front matter, description and body of a skill declare, each with its sentence.

    `allowed-tools` adds and its absence subtracts nothing. Reference files declare nothing: what only they
    name is a label at most. Lines that `compilation` holds for mentions (attacks quoted, things that must not
    be done) declare nothing either.
    """
    found = _Declared(skill.manifest)
    declaration = skill.declaration
    lines = dict(declaration.line_of)
    required = lines.get("requires", 1)
    for pattern in declaration.allowed_tools:
        found.tool(pattern, lines.get("allowed-tools", 1))
    for name in declaration.requires_environment:
        found.add(ActionKind.READ, ResourceClass.SECRET, f"env:{name}", f"requires {name}", required)
    for name in declaration.requires_programs:
        found.add(ActionKind.EXEC, ResourceClass.PROCESS, name, f"requires {name}", required)
    top = lines.get("description", 1)
    found.sentence(f"{re.sub('[-_]', ' ', skill.name)}. {declaration.description}", top)
    if declaration.compatibility:
        found.sentence(declaration.compatibility, lines.get("compatibility", top))
    for key, value in declaration.metadata:
        if not key.lower().startswith("hooks"):
            found.sentence(f"{key.replace('.', ' ')}: {value}", lines.get(key.split(".", 1)[0], 1))
    mentions = {item.line for item in compilation.directives if item.mention and item.file == skill.manifest}
    for number, line in _visible_lines(skill):
        if number not in mentions:
            found.sentence(line, number)
    return tuple(found.capabilities.values())


def _visible_lines(skill: Skill) -> Iterator[tuple[int, str]]:
    """Lines of the body that a reader of the rendered page sees: no HTML comments."""
    comment = False
    for number, line in enumerate(skill.body.split("\n"), start=skill.body_line):
        shown = line
        if comment:
            _, closed, shown = line.partition("-->")
            comment = not closed
        if "<!--" in shown:
            before, _, rest = shown.partition("<!--")
            _, closed, after = rest.partition("-->")
            comment = not closed
            shown = f"{before} {after}"
        if shown.strip():
            yield number, shown


@dataclass(slots=True)
class _Declared:
    manifest: str
    capabilities: dict[tuple[ActionKind, ResourceClass, str], Capability] = field(default_factory=dict)

    def add(
        self, kind: ActionKind, resource_class: ResourceClass, resource: str, quote: str, line: int
    ) -> None:
        key = (kind, resource_class, resource)
        if key not in self.capabilities and len(self.capabilities) < _MOST:
            self.capabilities[key] = Capability(
                kind, resource_class, resource, quote.strip()[:_LONGEST_QUOTE], self.manifest, line
            )

    def tool(self, pattern: ToolPattern, line: int) -> None:
        quote = f"{pattern.tool}({pattern.pattern})" if pattern.pattern else pattern.tool
        for kind, resource_class in words_table()["tools"].get(pattern.tool.lower(), ()):
            resource = pattern.pattern or "*"
            self.add(
                ActionKind(kind), ResourceClass(resource_class), resource, f"allowed-tools: {quote}", line
            )

    def sentence(self, text: str, line: int) -> None:
        """Everything one line declares."""
        text = text[:_LONGEST_LINE]
        without_urls = text
        if "://" in text:
            for found in URL.finditer(text):
                self.host(resources.bare_host(found.group(0)), text, line)
            without_urls = URL.sub(" ", text)
        if "." in without_urls:
            for found in _HOST.finditer(without_urls):
                host = found.group(1).lower()
                if host.rsplit(".", 1)[-1] not in _NOT_HOSTS:
                    self.host(host, text, line)
        for mark, pattern in _NAMED_BY:
            for found in pattern.finditer(without_urls) if mark in without_urls else ():
                around = clause_naming(without_urls, found.start())
                self.path(found.group(0).rstrip(".,;:`"), around, text, line)
        for found in _VARIABLE.finditer(without_urls) if "_" in without_urls else ():
            if resources.is_secret_variable(found.group(0)):
                self.add(ActionKind.READ, ResourceClass.SECRET, f"env:{found.group(0)}", text, line)
        words = words_of_clause(text)
        for kind, resource_class in _meanings(words):
            self.add(kind, resource_class, "*", text, line)
        for kind, resource_class, resource in declared_by_clauses(text, words):
            self.add(kind, resource_class, resource, text, line)
        for found in _PROGRAM.finditer(text) if "`" in text else ():
            if found.group(1) in _known_programs():
                self.add(ActionKind.EXEC, ResourceClass.PROCESS, found.group(1), text, line)

    def host(self, host: str, text: str, line: int) -> None:
        resource_class = resources.classify_host(host)
        if resource_class is not ResourceClass.UNKNOWN and not resources.is_inert_host(host):
            for kind in (ActionKind.CONNECT, ActionKind.SEND):
                self.add(kind, resource_class, host, text, line)

    def path(self, path: str, clause: str, text: str, line: int) -> None:
        """A path that is named may be read; that it is written or deleted needs a verb beside it."""
        resource_class = resources.classify_path(path)
        self.add(ActionKind.READ, resource_class, path, text, line)
        if _writes(clause if resource_class in NAMED_ONLY else text):
            self.add(ActionKind.WRITE, resource_class, path, text, line)
        if deletes(clause):
            self.add(ActionKind.DELETE, resource_class, path, text, line)


_PROGRAM = re.compile(r"`([a-z][\w.-]{1,30})[ `]")


def _writes(text: str) -> bool:
    """Whether a line speaks of writing, changing or keeping something; "never write to it" does not."""
    if any(mark in text for mark in (">>", "> ", "->", "→", "├", "└")):
        return True
    words = words_of_clause(text)
    return any(word in _writing_words() and not negated(words, index) for index, word in enumerate(words))


@lru_cache(maxsize=1)
def _writing_words() -> frozenset[str]:
    return frozenset(words_table()["writing"])


def _meanings(words: list[str]) -> list[tuple[ActionKind, ResourceClass]]:
    """What the words of a line mean, phrases included; "without any network access" declares no network."""
    single, phrases = _meaning_of()
    found: dict[tuple[ActionKind, ResourceClass], None] = {}
    if single.keys().isdisjoint(words) and phrases.keys().isdisjoint(words):
        return []
    for index, word in enumerate(words):
        if word not in single and word not in phrases:
            continue
        if negated(words, index):
            continue
        if word in single:
            found.update(dict.fromkeys(single[word]))
        if word in phrases:
            for length in phrases[word]:
                phrase = " ".join(words[index : index + length])
                found.update(dict.fromkeys(single.get(phrase, ())))
    return list(found)


@lru_cache(maxsize=1)
def _meaning_of() -> tuple[dict[str, list[tuple[ActionKind, ResourceClass]]], dict[str, set[int]]]:
    single: dict[str, list[tuple[ActionKind, ResourceClass]]] = {}
    phrases: dict[str, set[int]] = {}
    for row in words_table()["rows"]:
        for entry in row["words"]:
            words = str(entry).lower().split()
            meaning = (ActionKind(row["kind"]), ResourceClass(row["resource_class"]))
            single.setdefault(" ".join(words), []).append(meaning)
            if len(words) > 1:
                phrases.setdefault(words[0], set()).add(len(words))
    return single, phrases


@lru_cache(maxsize=1)
def _known_programs() -> frozenset[str]:
    table = programs()
    names = {*table["interpreters"], *table["installers"], *table["fetch"], *table["sends"], *table["copies"]}
    return frozenset(names | {row["words"][0] for row in table["services"]})
