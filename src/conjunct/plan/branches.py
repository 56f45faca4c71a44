"""From one run to its neighbours: the contexts that it could have told apart from its own.

A factor is varied in full where it is asked for first: each history, each pattern of the names looked up,
each date. Where a run away from the neutral context asks for it again, one *screen* stands for its levels:
all histories together with all words of the source, all neighbours. What fires in a screen is taken apart by
localisation. So two factors cost the sum of their levels and not the product; what that leaves out (guards
that need one level of a factor and the absence of another, in two factors at once) is `assumed`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

from conjunct.model import EVERY_HISTORY, NEUTRAL, Context, Episode, FactorKind, TouchMode
from conjunct.plan import folder, levels
from conjunct.plan.carriers import EVERYTHING, Question
from conjunct.plan.scope import ALL_PHRASINGS, Scope, order

CONJUNCTIVE = frozenset({FactorKind.HISTORY, FactorKind.CO_SKILLS})
"""Factors that are varied under every argument set, and not only under the neutral one."""
MOST_EXACT = 3
"""Missing files without a suffix are also tried with this many words of the source as their whole content."""
MOST_GATES = 2
"""Histories behind which a folder listing is explored by itself; beyond, in the screen of all histories."""
DEEPEST = 4
"""Rounds in which new missing paths, found because earlier ones exist, are answered too."""


class Branches:
    """Remembers which context came from which, and what was asked where."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.words = scope.clues.words
        self.parents: dict[Context, Context] = {}
        self.asked: dict[Context, frozenset[Question]] = {}
        self.sampled: set[Context] = set()
        self.varied: frozenset[FactorKind] = frozenset()
        """Factors, histories and neighbours apart, that have been varied in full somewhere."""
        self.truncated = False
        self.rows: list[frozenset[str]] = []
        """The presence array of the neutral context, where its run listed the folder."""
        self.generator = random.Random(f"{scope.seed}:{scope.candidate}")

    def of(self, episode: Episode, asked: frozenset[Question], *, fired: bool = False) -> list[Context]:
        """Neighbouring contexts that this run could have told apart, new ones only.

        Where the effect was seen already (`fired`), only histories and neighbours are varied further: dates,
        answers and variables that an attack looks at on its way tell nothing about when it starts.
        """
        context = episode.spec.context
        fresh = self._not_yet_varied(context, asked)
        before = self._before(context)
        # Of partners that act, what they leave each other is the question; each has been varied by itself.
        settled = (fired and order(context) > 0) or bool(context.used_before or context.used_after)
        found = [] if settled else self._answers(context, fresh, episode, before)
        if order(context) < self.scope.strength:
            found = [
                *self._histories(context, fresh, before),
                *self._installed_sets(context, fresh, before),
                *([] if settled else self._other_levels(context, fresh, before)),
                *found,
            ]
        for child in found:
            self.parents.setdefault(child, context)
        return found

    # ---- what was asked before

    def _not_yet_varied(self, context: Context, asked: frozenset[Question]) -> frozenset[Question]:
        """Questions that no other probe or argument set has asked in this context: not varied yet."""
        known = self.asked.get(context, frozenset())
        self.asked[context] = known | asked
        if context.horizon != self.scope.horizon:
            known |= self.asked.get(replace(context, horizon=self.scope.horizon), frozenset())
        if context.input_words:
            known |= self.asked.get(replace(context, input_words=()), frozenset())
        if context.arguments != NEUTRAL:
            # What a request is about may be part of a conjunction with history and neighbours; the other
            # factors are varied under the neutral arguments only.
            elsewhere = self.asked.get(replace(context, arguments=NEUTRAL), frozenset())
            known |= frozenset(question for question in elsewhere if question.factor not in CONJUNCTIVE)
        return asked - known

    def _before(self, context: Context) -> frozenset[Question]:
        """Everything asked on the way from the neutral context to this one, where it was varied in full."""
        found: frozenset[Question] = frozenset()
        for ancestor in self._ancestors(context):
            found |= self.asked.get(ancestor, frozenset())
        if context.arguments != NEUTRAL:
            found |= self.asked.get(replace(context, arguments=NEUTRAL), frozenset())
        return found

    def _ancestors(self, context: Context) -> Iterable[Context]:
        parent = self.parents.get(context)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    # ---- histories

    def every(self, context: Context) -> Context:
        """The screen over histories: all families and all words of the source at once."""
        return replace(context, history=EVERY_HISTORY, phrasing=ALL_PHRASINGS, mentions=self.words)

    def _histories(
        self, context: Context, fresh: frozenset[Question], before: frozenset[Question]
    ) -> list[Context]:
        history = Question(FactorKind.HISTORY)
        if context.history != NEUTRAL or context.mentions or history not in fresh:
            return []
        screen = [self.every(context)]
        if context.arguments != NEUTRAL or history in before or context in self.sampled:
            return screen
        families = [replace(context, history=n, phrasing=ALL_PHRASINGS) for n in self.scope.histories]
        if self.scope.clues.negated:
            # Present, a word may suppress what another triggers: each pair of words is also told apart.
            rows = folder.presence_array(self.words)
            screen += [replace(context, mentions=tuple(w for w in self.words if w in row)) for row in rows]
        return [*families, *screen]

    # ---- installed sets

    def _installed_sets(
        self, context: Context, fresh: frozenset[Question], before: frozenset[Question]
    ) -> list[Context]:
        scope, present = self.scope, frozenset(context.co_skills)
        details = {q.detail for q in fresh if q.factor is FactorKind.CO_SKILLS}
        known = {q.detail for q in before if q.factor is FactorKind.CO_SKILLS}
        ids = {detail: scope.table.ids_by_folder.get(detail) for detail in details}
        absent = frozenset(scope.neighbours) - present
        named = frozenset(skill for skill in ids.values() if skill is not None) & absent
        first = {detail for detail in details - known if ids.get(detail) in named}
        screen = context.history == EVERY_HISTORY and context.arguments == NEUTRAL
        sets: list[frozenset[str]] = []
        if named:
            sets.append(named)
            sets += [frozenset({skill}) for skill in sorted(named)[:8]]
        if named and (first or screen):
            sets += self._combinations(named)
        drawn: list[frozenset[str]] = []
        if EVERYTHING in details:
            sets.append(absent)
            if self._lists_in_full(context, first=EVERYTHING not in known):
                sets += self._combinations(self._hinted(absent)) if not named else []
                drawn = self._drawn(context, absent)
        children = self._with_sets(context, sets)
        sampled = [child for child in self._with_sets(context, drawn) if child not in children]
        self.sampled.update(child for child in sampled if len(child.co_skills) < len(scope.neighbours))
        return [*children, *sampled]

    def _drawn(self, context: Context, absent: frozenset[str]) -> list[frozenset[str]]:
        """Sets for a listed folder beside nothing and everything: presence array, sizes as deployed."""
        shuffled = sorted(absent)
        self.generator.shuffle(shuffled)
        rows = folder.presence_array(shuffled)
        if context == Context(horizon=self.scope.horizon):
            self.rows = rows
        return [*rows, *folder.sizes_as_deployed(shuffled)]

    def _lists_in_full(self, context: Context, *, first: bool) -> bool:
        """Whether the sets of a listed folder are tried here, and not only nothing and everything.

        Where the listing comes first, or first behind a history; with many such histories in their screen.
        """
        if context in self.sampled or context.arguments != NEUTRAL:
            return first and context not in self.sampled
        if context.history == NEUTRAL:
            return first
        listing = Question(FactorKind.CO_SKILLS)
        plain = replace(context, mentions=())
        listed = sum(
            listing in self.asked.get(replace(plain, history=name, phrasing=ALL_PHRASINGS), frozenset())
            for name in self.scope.histories
        )
        if context.history == EVERY_HISTORY:
            return not 0 < listed <= MOST_GATES
        return first and listed <= MOST_GATES

    def _with_sets(self, context: Context, sets: Iterable[frozenset[str]]) -> list[Context]:
        present = frozenset(context.co_skills)
        chosen = dict.fromkeys(tuple(sorted(present | one)) for one in sets)
        return [replace(context, co_skills=one) for one in chosen if one != context.co_skills]

    def _combinations(self, names: Iterable[str]) -> list[frozenset[str]]:
        found, whole = folder.combinations(names, self.scope.strength)
        self.truncated = self.truncated or not whole
        return found

    def _hinted(self, absent: frozenset[str]) -> frozenset[str]:
        """Neighbours whose names the source compares something with: listed, they are as good as named."""
        ids = self.scope.table.ids_by_folder
        names = folder.hinted(self.words, (name for name in sorted(ids) if ids[name] in absent))
        return frozenset(ids[name] for name in names[:4])

    # ---- what a trace cannot show, and the network

    def _other_levels(
        self, context: Context, fresh: frozenset[Question], before: frozenset[Question]
    ) -> list[Context]:
        """Levels of the clock, the network and the variables where they are asked for first."""
        found: list[Context] = []
        factors = {q.factor for q in fresh} - {q.factor for q in before} - self.varied
        first = frozenset(question for question in fresh if question.factor in factors)
        if context.arguments == NEUTRAL:
            self.varied |= factors - CONJUNCTIVE
        if context.clock == NEUTRAL and FactorKind.CLOCK in factors:
            found += [replace(context, clock=level) for level in self.clocks()]
        if context.network == NEUTRAL and FactorKind.NETWORK in factors:
            found += [replace(context, network=level) for level in self.scope.networks if level != NEUTRAL]
        if not context.environment and FactorKind.ENVIRONMENT in factors:
            found += [replace(context, environment=pairs) for pairs in self.environments(first)]
        return found

    def clocks(self) -> list[str]:
        """Clock levels other than the neutral one: the battery's, then those that the source names."""
        return [*(level for level in self.scope.clocks if level != NEUTRAL), *self.scope.clues.moments]

    def environments(self, asked: Iterable[Question]) -> list[levels.Pairs]:
        """Assignments to try for the variables among `asked`."""
        names = {q.detail for q in asked if q.factor is FactorKind.ENVIRONMENT}
        return levels.environments(names, self.scope.clues)

    # ---- missing paths

    def _answers(
        self, context: Context, fresh: frozenset[Question], episode: Episode, before: frozenset[Question]
    ) -> list[Context]:
        """Contexts in which what was looked up and not found exists."""
        missing = sorted(q.detail for q in fresh - before if q.factor is FactorKind.HOST)
        rounds = 1 + sum(bool(one.answers) for one in (context, *self._ancestors(context)))
        if not missing or rounds > DEEPEST or (order(context) >= self.scope.strength and not context.answers):
            return self._contents(context, episode)
        listed = {t.path for t in episode.trace.touches if t.mode is TouchMode.LIST and not t.found}
        known = tuple(one for one in context.answers if not any(p.startswith(one[0] + "/") for p in missing))
        sets = [missing]
        named = levels.named_in(missing, self.scope.clues.paths)
        if len(missing) > 1 and len(named) <= levels.MOST_NAMED:
            sets += [[path] for path in named]
        made = [replace(context, answers=(*known, *levels.answers(one, folders=listed))) for one in sets]
        return [*made, *self._contents(context, episode)]

    def _contents(self, context: Context, episode: Episode) -> list[Context]:
        """A file that exists now was read: it also gets the words that the source compares with."""
        plain = {path: levels.content_of(path) for path, _ in context.answers}
        read = {t.path for t in episode.trace.touches if t.mode is TouchMode.READ and t.found} & plain.keys()
        if not self.words or not read or any(text != plain[path] for path, text in context.answers):
            return []
        contents = [{path: levels.content_of(path, self.words) for path in read}]
        bare = [path for path in sorted(read) if "." not in path.rpartition("/")[2].lstrip(".")]
        contents += [dict.fromkeys(bare, word) for word in self.words[:MOST_EXACT] if bare]
        return [
            replace(context, answers=tuple((path, one.get(path, text)) for path, text in context.answers))
            for one in contents
        ]
