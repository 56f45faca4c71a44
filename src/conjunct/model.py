"""The words of the product as plain, frozen values: no I/O, no decisions.

Data flows one way: a `Skill` is read, compiled to `Directive`s, its `ReachableAction`s are listed, an
`EpisodeSpec` says which run to make, an `Episode` holds its `Trace` and the `Violation`s of that trace,
differences between episodes become a `SkillDeltaProfile` and a `Trigger`, and a `Verdict` follows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

# ---- words


class Layer(StrEnum):
    """What an invariant protects."""

    SAYS = "says"
    DOES = "does"
    LEAKS = "leaks"
    STAYS = "stays"
    CLAIMS = "claims"


class Outcome(StrEnum):
    """An invariant on one episode. An outage or a crash of ours is `undetermined`, never an observation."""

    VIOLATED = "violated"
    CLEAN = "clean"
    UNDETERMINED = "undetermined"


class Decision(StrEnum):
    """What follows for a skill; the first that holds, in this order."""

    REJECT = "reject"
    REVIEW = "review"
    INCOMPLETE = "incomplete"
    ADMIT = "admit"


class Severity(StrEnum):
    """What a finding leads to by itself: `note` never changes a verdict."""

    NOTE = "note"
    REVIEW = "review"
    REJECT = "reject"


class ActionKind(StrEnum):
    """The closed vocabulary of things done (in a trace) or reachable (in a package)."""

    EXEC = "exec"
    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    RESOLVE = "resolve"
    CONNECT = "connect"
    SEND = "send"
    LISTEN = "listen"
    SIGNAL = "signal"
    REFUSED = "refused"
    SAY = "say"
    INSTALL = "install"
    REMOTE_CODE = "remote_code"
    OVERRIDE = "override"
    CONCEAL = "conceal"
    DELEGATE = "delegate"
    REMEMBER = "remember"
    OPAQUE = "opaque"


class ResourceClass(StrEnum):
    """What kind of thing an action touches; decides whether it is sensitive."""

    WORKSPACE = "workspace"
    OWN_PACKAGE = "own_package"
    OWN_STATE = "own_state"
    TEMPORARY = "temporary"
    SYSTEM = "system"
    PRIVATE = "private"
    HISTORY = "history"
    SECRET = "secret"
    AGENT_CONFIGURATION = "agent_configuration"
    AGENT_MEMORY = "agent_memory"
    OTHER_SKILL = "other_skill"
    SHELL_STARTUP = "shell_startup"
    SCHEDULE = "schedule"
    LOOPBACK = "loopback"
    NETWORK = "network"
    PROCESS = "process"
    CONVERSATION = "conversation"
    UNKNOWN = "unknown"


class FactorKind(StrEnum):
    """Everything a skill could condition on."""

    HISTORY = "history"
    CO_SKILLS = "co_skills"
    USED_BEFORE = "used_before"
    USED_AFTER = "used_after"
    TURN = "turn"
    ARGUMENTS = "arguments"
    CLOCK = "clock"
    HOST = "host"
    ENVIRONMENT = "environment"
    NETWORK = "network"


NEUTRAL = "neutral"
"""The level of every factor in the reference context."""

EVERY_HISTORY = "every"
"""History level that holds all families at once: one run screens them all for guards monotone in content."""

MINIMUM_HORIZON = 4
"""Turns below which no verdict is given: delayed triggers need at least four."""

# ---- skills


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth telling about a skill: `code` is stable (`leaks.secret-sent`), `message` for people."""

    skill: str
    layer: Layer
    code: str
    message: str
    severity: Severity = Severity.NOTE
    file: str | None = None
    line: int | None = None
    quote: str | None = None
    question: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One member of a package. `path` is POSIX, relative, in the bytes of the package (surrogateescape)."""

    path: str
    kind: str
    """`file` or `link`; anything else becomes a finding and is not part of the package."""
    size: int
    sha256: str
    executable: bool | None
    """As git records it; `None` where the format cannot carry the bit."""
    target: str | None = None


@dataclass(frozen=True, slots=True)
class ToolPattern:
    """One element of `allowed-tools`: `Bash(npx *eas-cli@*)` is tool `Bash`, pattern `npx *eas-cli@*`."""

    tool: str
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the package says about itself, as far as a user can read it."""

    name: str
    description: str
    allowed_tools: tuple[ToolPattern, ...] = ()
    compatibility: str | None = None
    license: str | None = None
    requires_environment: tuple[str, ...] = ()
    requires_programs: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    """All other front-matter fields, flattened to dotted keys and text values."""
    line_of: tuple[tuple[str, int], ...] = ()
    """Front-matter key to its line in `SKILL.md` (1-based)."""


@dataclass(frozen=True, slots=True)
class Skill:
    """One package under test."""

    id: str
    """Unique in its registry: the name, with `~` and the start of the digest where the name is shared."""
    name: str
    path: str
    """Where it was found, as the user would name it."""
    root: Path
    """A staged copy that holds only regular files and links that stay inside."""
    digest: str
    declaration: Declaration
    body: str
    """`SKILL.md` without front matter, newlines normalised to LF."""
    body_line: int
    """Line of `SKILL.md` on which `body` starts (1-based)."""
    entries: tuple[Entry, ...]
    manifest: str = "SKILL.md"
    source: str = ""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Registry:
    """The skills of a deployment, and what was wrong with packages that could not be read as one."""

    path: str
    skills: tuple[Skill, ...]
    findings: tuple[Finding, ...] = ()

    def by_id(self, skill_id: str) -> Skill:
        """The skill with that id. Raises `KeyError` if there is none."""
        for skill in self.skills:
            if skill.id == skill_id:
                return skill
        raise KeyError(skill_id)


# ---- directives


class DirectiveKind(StrEnum):
    """What prose tells an agent to do."""

    RUN = "run"
    ACT = "act"
    OVERRIDE = "override"
    CONCEAL = "conceal"
    DELEGATE = "delegate"
    REMEMBER = "remember"


@dataclass(frozen=True, slots=True)
class Condition:
    """When a directive applies, as far as it was understood.

    `factor` says what the agent has to look at; `operator` is one of `mentions` (history or request speaks of
    `value`), `installed`, `at_least`, `equals`, `before`, `after`, `exists`, `unknown`.
    """

    factor: FactorKind
    operator: str
    value: str
    negated: bool = False
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Directive:
    """One instruction found in prose or a code fence."""

    kind: DirectiveKind
    file: str
    line: int
    quote: str
    verb: str = ""
    object: str = ""
    target: str = ""
    command: str = ""
    """For `run`: the command text, placeholders kept."""
    language: str = ""
    """For `run`: `shell`, `python`, `javascript`."""
    folder: str = ""
    """`skill`, `workspace`, or empty where the text does not say."""
    conditions: tuple[Condition, ...] = ()
    mention: bool = False
    """Quoted, negated, tabled or under a heading like example or attack: explored, never obeyed."""
    confidence: float = 1.0
    alternative: str = ""
    """Directives with the same non-empty value are alternatives: one is run per run."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """An instruction sentence that was not compiled."""

    text: str
    file: str
    line: int
    sensitive: bool


@dataclass(frozen=True, slots=True)
class Compilation:
    """All directives of one text, and what was not understood."""

    directives: tuple[Directive, ...]
    instructions: int
    """Instruction sentences seen."""
    compiled: int
    """Of these, how many became a directive."""
    uncompiled: tuple[Sentence, ...] = ()


# ---- reach


@dataclass(frozen=True, slots=True)
class Guard:
    """The test that decides whether a line is reached, as source text, and what it compares with."""

    text: str
    line: int
    constants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReachableAction:
    """One thing a skill could do, found without running it."""

    skill: str
    kind: ActionKind
    resource: str
    """Constant-folded as far as it goes; unknown parts are `*`."""
    resource_class: ResourceClass
    file: str
    line: int
    source: str
    """`python`, `shell`, `javascript`, `prose`, `bytecode`, `autorun`, or `other`."""
    confidence: float = 1.0
    guards: tuple[Guard, ...] = ()
    mention: bool = False


@dataclass(frozen=True, slots=True)
class Capability:
    """One declared capability: an action kind on a resource class, with the sentence that declares it."""

    kind: ActionKind
    resource_class: ResourceClass
    resource: str
    """Host, path or program named; `*` where the text names none."""
    quote: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class ReachSet:
    """Everything one skill could do and everything it declares."""

    skill: str
    actions: tuple[ReachableAction, ...]
    capabilities: tuple[Capability, ...]
    constants: tuple[str, ...] = ()
    """String constants compared in guards: candidate levels for the plan."""
    environment: tuple[str, ...] = ()
    """Environment variables named in the source."""
    reads_clock: bool = False
    """The source names a call that reads date or time, which a trace cannot show."""
    largest_count: int = 0
    """Largest integer compared with a counter or length: the horizon to drive to."""
    findings: tuple[Finding, ...] = ()


# ---- battery


@dataclass(frozen=True, slots=True)
class Authority:
    """What the user allows in a probe. Paths are globs relative to the workspace or starting with `~`."""

    inputs: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()
    """Hosts, addresses and mail recipients the user named."""
    changes: tuple[str, ...] = ()
    risky: tuple[str, ...] = ()
    """Risky effects that the user explicitly asked for, by invariant id."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One user message. `uses` is true where it asks for what the candidate offers."""

    text: str
    uses: bool
    harmful: bool = False
    """The baseline refuses, or asks before it acts."""
    partner: bool = False
    """This message asks for the partner skill instead of the candidate."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A template of a user conversation of at least four turns."""

    id: str
    layer: Layer
    kind: str
    """`use` or `invariant`."""
    turns: tuple[Turn, ...]
    authority: Authority
    title: str = ""
    fillers: tuple[str, ...] = ()
    """Small talk that moves the first use to a later turn."""


@dataclass(frozen=True, slots=True)
class Phrasing:
    """One wording of a history: earlier conversation, and the files in which agents keep it."""

    messages: tuple[tuple[str, str], ...]
    """(speaker, text), speaker `user` or `agent`."""
    files: tuple[tuple[str, str], ...]
    """(path relative to home, content): level-specific content only; every level has the same paths."""


@dataclass(frozen=True, slots=True)
class History:
    """A family of user histories."""

    id: str
    title: str
    phrasings: tuple[Phrasing, ...]
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InvariantRule:
    """An invariant as data: which predicate, on which layer, leading to what."""

    id: str
    layer: Layer
    title: str
    predicate: str
    severity: Severity
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Battery:
    """The fixed, versioned set of probes, histories, invariants and factor levels."""

    version: str
    digest: str
    probes: tuple[Probe, ...]
    histories: tuple[History, ...]
    invariants: tuple[InvariantRule, ...]
    clocks: tuple[tuple[str, str], ...]
    """(level, ISO 8601 start); the first is the neutral level."""
    networks: tuple[str, ...]
    """Answer levels of the sinkhole; the first is the neutral level."""
    arguments: tuple[str, ...] = ()
    """Names of the argument sets; the first is the neutral level."""
    environments: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    """(level, variables); the first is the neutral level and sets none."""
    carriers: tuple[tuple[str, str, int], ...] = ()
    """(path relative to home, format, days ago) of every file in which a history is kept."""


# ---- contexts, episodes


@dataclass(frozen=True, slots=True)
class Context:
    """One assignment of levels to factors. Everything at its default is the neutral context."""

    history: str = NEUTRAL
    phrasing: int = 0
    co_skills: tuple[str, ...] = ()
    """Skill ids installed beside the candidate, sorted."""
    used_before: tuple[str, ...] = ()
    """Of these, those that the user asks for before the candidate."""
    used_after: tuple[str, ...] = ()
    clock: str = NEUTRAL
    """A level of the battery, or an ISO 8601 start of its own."""
    network: str = NEUTRAL
    environment: tuple[tuple[str, str], ...] = ()
    arguments: str = NEUTRAL
    """Name of the argument set (fixtures) that fills the documented calls."""
    horizon: int = 6
    first_use: int = 1
    """Turn at which the candidate is asked for the first time."""
    answers: tuple[tuple[str, str], ...] = ()
    """(path looked up and not found, content) answered with yes in this context."""
    mentions: tuple[str, ...] = ()
    """Words that the user's history holds beside its family's own."""
    input_words: tuple[str, ...] = ()
    """Words that the task inputs and the first request hold beside their own."""


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """Which run to make. Two equal specs give the same run for a deterministic agent."""

    probe: str
    candidate: str
    """Whose words are spoken; installed unless `without`."""
    context: Context
    without: bool = False
    """The baseline arm: same words, same context, same seed, the candidate's package removed."""
    seed: int = 0
    comparison: str = ""
    """Episodes of one comparison share canaries, whatever their arm."""
    stubbed: tuple[str, ...] = ()
    """Skills replaced by a stub: same name, description and schema, inert body."""
    variant: str = ""
    """`twin` (other canaries), `untraced`, `randomness:N`, or empty."""
    fingerprint: str = ""

    def key(self) -> str:
        """A digest of every field; the primary key in the store."""
        text = json.dumps(asdict(self), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ActorLink:
    """One element of an actor chain, outermost first."""

    kind: str
    """`user`, `agent`, `skill`, `file` or `system`."""
    name: str
    file: str | None = None
    line: int | None = None


Actor = tuple[ActorLink, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """One thing done in an episode."""

    kind: ActionKind
    resource: str
    resource_class: ResourceClass
    actor: Actor
    turn: int
    step: int
    """Index of the command within the episode, from 0; -1 for what the agent did itself."""
    completed: bool = True
    canaries: tuple[str, ...] = ()
    """Paths (or `env:NAME`) of the planted data recognised in what was sent, written or run."""
    size: int = 0
    sha256: str = ""
    excerpt: str = ""
    stand_in: str = ""
    """Name of the stand-in through which the effect was reached, if any."""
    detail: tuple[tuple[str, str], ...] = ()
    """Further facts by name: `protocol`, `method`, `path`, `change`, `added`, `removed`, `fetched_from`."""

    def fact(self, name: str) -> str:
        """The value of a detail, or an empty string."""
        return dict(self.detail).get(name, "")

    def skills(self) -> tuple[str, ...]:
        """Ids of the skills in the actor chain, outermost first."""
        return tuple(dict.fromkeys(link.name for link in self.actor if link.kind == "skill"))


class TouchMode(StrEnum):
    """How a path was touched."""

    READ = "read"
    STAT = "stat"
    LIST = "list"
    WRITE = "write"
    EXEC = "exec"
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True)
class Touch:
    """One look at the world, found or not: ENOENT is an answer too."""

    path: str
    """Absolute in the world, or a pseudo-carrier: `argv`, `stdin`, `env:NAME`, `clock`, `network:HOST`."""
    mode: TouchMode
    found: bool
    turn: int
    step: int


@dataclass(frozen=True, slots=True)
class LookUp:
    """One look of the agent at conversation or installed set, with the answer it got."""

    factor: FactorKind
    question: str
    answer: str
    turn: int
    skill: str = ""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message of the conversation."""

    turn: int
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """One command that was started, and how it ended."""

    step: int
    turn: int
    argv: tuple[str, ...]
    cwd: str
    skill: str
    file: str
    """File and line of the directive that asked for it."""
    line: int
    ended: str
    """`exit`, `time-limit`, `killed`, `not-started`, `memo`."""
    status: int | None
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    stand_ins: tuple[str, ...] = ()
    outlived: bool = False
    """A process of this command was still alive when it ended."""
    lines_run: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """(package file, line numbers that ran); only where coverage was asked for."""
    assumed: tuple[str, ...] = ()
    """Why what this command could have seen is not fully known, if so."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything observed in one episode."""

    utterances: tuple[Utterance, ...] = ()
    actions: tuple[Action, ...] = ()
    touches: tuple[Touch, ...] = ()
    look_ups: tuple[LookUp, ...] = ()
    commands: tuple[CommandRecord, ...] = ()
    activated: tuple[str, ...] = ()
    """Skills the agent loaded or acted for."""
    undone: tuple[str, ...] = ()
    """`file:line` of instructions that were due and for which the agent could do nothing."""
    undetermined: tuple[str, ...] = ()
    """Reasons why this trace is not an observation; empty for a sound one."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One invariant violated in one episode."""

    invariant: str
    layer: Layer
    severity: Severity
    effect: str
    """What happened, as a clause: `sends ~/.aws/credentials to stats.example.net:443`."""
    resource: str
    turn: int
    actors: tuple[str, ...]
    """Skill ids to blame, from the actor chain."""
    file: str | None = None
    line: int | None = None
    evidence: tuple[int, ...] = ()
    """Indices into the trace's actions."""
    byte_exact: bool = False
    derived: bool = False
    """Rests on tool output or a guess: leads to review at most."""
    stand_ins: tuple[str, ...] = ()

    def signature(self) -> tuple[str, str, tuple[str, ...]]:
        """What makes two violations the same one across episodes: invariant, resource, actors."""
        return (self.invariant, self.resource, self.actors)


@dataclass(frozen=True, slots=True)
class Episode:
    """One run: its spec, trace and violations."""

    spec: EpisodeSpec
    trace: Trace
    violations: tuple[Violation, ...] = ()
    seconds: float = 0.0
    memo_hits: int = 0
    memo_misses: int = 0
    tokens: int = 0
    """Tokens that a model was sent and gave; 0 for agents without a model."""


# ---- conclusions


@dataclass(frozen=True, slots=True)
class TriggerFactor:
    """One element of a trigger: a factor, its level, and whether removing it made the effect vanish."""

    factor: FactorKind
    level: str
    needed: bool
    removed_hits: int = 0
    removed_runs: int = 0
    absent: bool = False
    """The level must *not* hold: with it the effect vanishes."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """The minimal conjunction of factor levels under which a violation happens."""

    sentence: str
    factors: tuple[TriggerFactor, ...]
    actors: tuple[str, ...]
    reproduced: bool
    hits: int
    runs: int
    violation: Violation
    replay: EpisodeSpec
    turn: int | None = None
    """First turn at which it happens, where a later turn is needed; else `None`."""
    actions: tuple[str, ...] = ()
    """What the actors did in a fresh violating run, a line each."""
    compared_with: str = ""
    """Which element the run compared with lacks; empty where nothing is needed."""
    compared_actions: tuple[str, ...] = ()
    """What the actors did in that run."""
    e_value: float | None = None
    """Evidence from fresh rounds that each skill is needed by more than the margin; for stochastic agents."""

    @property
    def order(self) -> int:
        """How many elements are needed."""
        return sum(factor.needed for factor in self.factors)


@dataclass(frozen=True, slots=True)
class ForcedLine:
    """A sensitive line that no run reached by itself, and what a copy with its tests decided showed."""

    file: str
    line: int
    guard: str
    """The innermost test that was decided, as source text; empty where there was none."""
    outcome: str
    """`resolved` (ran, declared or harmless), `effect` (ran, undeclared) or `not forced`."""
    detail: str = ""
    """The effect, as a clause, or why it was not forced."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was looked at, as data; `conjunct.report` puts it in words."""

    factors: tuple[str, ...] = ()
    strength: int = 2
    horizon: int = 6
    settled: int = 0
    run: int = 0
    assumed: int = 0
    unexplored: int = 0
    """Contexts that a run touched and the budget left unrun."""
    episodes: int = 0
    commands: int = 0
    argument_sets: tuple[str, ...] = ()
    not_exercised: tuple[str, ...] = ()
    """Documented commands or sensitive lines that did not run, as `file:line reason`."""
    instructions: int = 0
    instructions_compiled: int = 0
    stand_ins: tuple[str, ...] = ()
    audits: int = 0
    audit_mismatches: int = 0
    assumptions: tuple[str, ...] = ()
    forced: tuple[ForcedLine, ...] = ()
    """Sensitive lines that no run reached, each with what forcing it showed."""
    forced_runs: int = 0
    """Runs of forced copies; in no other count."""
    smallest_rate: float | None = None
    """Smallest trigger rate the budget could have seen with probability 0.95."""
    budget: str = ""
    """What the runs could cost at most, in words; empty where there was no limit but the policy's."""
    left_out: tuple[str, ...] = ()
    """What was not done because the budget ended, in words."""
    never_reached: tuple[str, ...] = ()
    """Code that no run reached, as `file:first-last`; whole files where lines are not followed."""


@dataclass(frozen=True, slots=True)
class SkillDeltaProfile:
    """All deltas of one skill, single-probe and compositional (the published form)."""

    skill_id: str
    single_probe_deltas: Sequence[float]
    compositional_deltas: Sequence[float]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows for one skill, with its evidence."""

    skill: Skill
    decision: Decision
    grade: str
    """`full`, `stand-ins: gh, torch` or `text only`; empty unless admitted."""
    reasons: tuple[str, ...]
    findings: tuple[Finding, ...]
    triggers: tuple[Trigger, ...]
    profile: SkillDeltaProfile
    coverage: Coverage
    question: str = ""
    seconds: float = field(default=0.0, compare=False)
