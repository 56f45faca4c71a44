"""Sensitive reach against the declaration: one rule per kind of effect."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from conjunct.model import (
    ActionKind,
    Finding,
    Layer,
    ReachableAction,
    ResourceClass,
    Severity,
)
from conjunct.provenance.checked import PERSONAL, SURE, Checked, severity_of
from conjunct.provenance.declared import is_network
from conjunct.provenance.destinations import (
    body_destination_findings,
    denied_findings,
    network_findings,
    payee_findings,
)
from conjunct.provenance.ownership import is_own_folder, is_own_installation, removes_its_own
from conjunct.reach.credentials import audience_of
from conjunct.reach.resources import (
    bare_host,
    host_matches,
    is_registry,
    repository_of,
)

_SHOWN = 12
"""Findings of one code per skill: the first ones by file and line; a count stands for the rest."""

_SAMPLE_OWNER = re.compile(r"(?:user|username|owner|org|organization|your[\w-]*|my[\w-]*|\*)/", re.IGNORECASE)

_BECOMES_CODE = (
    "dynamic:exec",
    "dynamic:eval",
    "dynamic:getattr",
    "dynamic:namespace",
    "dynamic:code-object",
    "data:shell",
    "native:",
)
"""Opaque actions by which text, data or machine code acts, whatever its source says."""

_CHANGES = (ActionKind.WRITE, ActionKind.DELETE)
_STANDING = {
    ResourceClass.AGENT_CONFIGURATION: ("claims.agent-configuration", "the agent's configuration"),
    ResourceClass.AGENT_MEMORY: ("claims.agent-memory", "the agent's standing instructions"),
    ResourceClass.OTHER_SKILL: ("claims.other-skill", "another skill"),
    ResourceClass.SCHEDULE: ("claims.schedule", "a schedule"),
    ResourceClass.SHELL_STARTUP: ("claims.shell-startup", "start-up files"),
}
_KEPT_FROM_DELETION = (
    ResourceClass.PRIVATE,
    ResourceClass.SYSTEM,
    ResourceClass.HISTORY,
    ResourceClass.SECRET,
)


def sensitive_findings(checked: Checked) -> list[Finding]:
    """All findings about sensitive reach, at most a dozen per code."""
    found: list[Finding] = []
    for rule in _RULES:
        made = list(rule(checked))
        found.extend(made[:_SHOWN])
        if len(made) > _SHOWN:
            last = made[_SHOWN - 1]
            found.append(
                Finding(
                    last.skill,
                    Layer.CLAIMS,
                    last.code,
                    f"and {len(made) - _SHOWN} more like this",
                    Severity.NOTE,
                    last.file,
                )
            )
    return found


# ---- rules


def _remote_code(checked: Checked) -> Iterator[Finding]:
    for action in checked.actions:
        if action.kind is ActionKind.REMOTE_CODE and action.confidence >= 0.5:
            repository = repository_of(action.resource)
            named = repository and (checked.declared.describes(repository) or _SAMPLE_OWNER.match(repository))
            if named and action.resource.startswith("git+"):
                yield checked.finding(
                    "claims.install",
                    f"builds or installs a repository that its description names: {repository}",
                    action,
                    Severity.NOTE,
                )
                continue
            host = bare_host(action.resource)
            where = host if host and host != "*" else "an address that the source does not fix"
            yield checked.finding(
                "claims.remote-code",
                f"runs what it fetches from {action.resource}",
                action,
                Severity.REVIEW,
                f"May it run code from {where}?",
            )


def _secret_flow(checked: Checked) -> Iterator[Finding]:
    """A credential is read and a host is reached whose business it is not, and no sentence says so."""
    secrets = [item for item in checked.actions if item.resource_class is ResourceClass.SECRET]
    reads = [item for item in secrets if item.kind in (ActionKind.READ, ActionKind.SEND)]
    network = [item for item in checked.actions if is_network(item)]
    for secret in reads:
        audience = audience_of(secret.resource)
        foreign = [
            item
            for item in network
            if not (audience and host_matches(item.resource, audience))
            and not is_registry(item.resource)
            and checked.declared.host(item.resource) is None
            and (item.kind is ActionKind.SEND or secret.file == item.file)
            and (not _needs_destination(secret) or _is_destination(item, checked))
        ]
        named = checked.declared.covers(ActionKind.READ, ResourceClass.SECRET, secret.resource)
        if foreign and _is_someone_elses(secret) and (named is None or _everything(secret)):
            target = foreign[0]
            place = (
                "an address that the source does not fix"
                if "*" in bare_host(target.resource)
                else target.resource
            )
            yield checked.finding(
                "claims.secret-flow",
                f"reads {secret.resource} and reaches {place}, neither of which the text names",
                secret,
                Severity.REVIEW if min(secret.confidence, target.confidence) >= SURE else Severity.NOTE,
                f"May it read {secret.resource} and reach {place}?",
            )
        elif named is None and not (_by_word(secret) and secret.file == checked.skill.manifest):
            yield checked.finding(
                "claims.undeclared-secret",
                f"reads {secret.resource}, which the text does not speak of",
                secret,
                Severity.NOTE,
            )


def _is_someone_elses(secret: ReachableAction) -> bool:
    """A credential that is not the skill's own: a file, a well-known variable, the whole environment."""
    resource = secret.resource
    if not resource.startswith("env:"):
        return resource not in (".env", ".env.local") and not resource.startswith("<package>")
    return resource == "env:*"


def _needs_destination(secret: ReachableAction) -> bool:
    """What is a flow only with a send to a host the source fixes.

    Prose that speaks of "credentials" or "environment variables" in general reads nothing in particular, and
    the `.env` of a checkout is where its programs keep ports and addresses too.
    """
    return _by_word(secret) or (
        secret.resource.rsplit("/", 1)[-1] in (".env", ".env.local")
        and not secret.resource.startswith(("~", "/"))
    )


def _by_word(action: ReachableAction) -> bool:
    """Whether prose names a credential by a general word alone ("API keys", "environment variables")."""
    return action.source == "prose" and (
        action.resource.startswith("keychain:") or action.resource == "env:*"
    )


def _is_destination(action: ReachableAction, checked: Checked) -> bool:
    return (
        action.kind is ActionKind.SEND
        and _is_fixed(action)
        and not checked.declared.describes_host(action.resource)
    )


def _is_fixed(action: ReachableAction) -> bool:
    host = bare_host(action.resource)
    return "." in host and not re.search(r"[*<>${}]", host)


def _everything(secret: ReachableAction) -> bool:
    return secret.resource == "env:*"


def _private_flow(checked: Checked) -> Iterator[Finding]:
    reads = [
        item
        for item in checked.actions
        if item.kind is ActionKind.READ and item.resource_class in PERSONAL and item.confidence >= SURE
    ]
    sends = [
        item
        for item in checked.actions
        if item.kind is ActionKind.SEND and is_network(item) and checked.declared.host(item.resource) is None
    ]
    for read in reads:
        send = next((item for item in sends if _may_carry(item, read)), None)
        if send is None or is_own_folder(read, checked):
            continue
        if checked.declared.covers(ActionKind.READ, read.resource_class, read.resource) is None:
            yield checked.finding(
                "claims.private-flow",
                f"reads {read.resource} and sends to {send.resource}, neither of which the text names",
                read,
                Severity.REVIEW,
                f"May it read {read.resource} and send to {bare_host(send.resource)}?",
            )


_NEAR = 10
"""Lines of a text within which a command that talks to its own service may be about what was read."""


def _may_carry(send: ReachableAction, read: ReachableAction) -> bool:
    """Whether what was read may leave by a send: to a fixed host, or from the same file.

    In prose, `git push` or `gh` far from the read is another piece of advice, not the second half of a flow.
    """
    if send.source == read.source == "prose" and "://" not in send.resource:
        return send.file == read.file and abs(send.line - read.line) <= _NEAR
    return _is_fixed(send) or send.file == read.file


def _standing(checked: Checked) -> Iterator[Finding]:
    """What stays behind: configuration, memory, other skills, schedules, start-up files."""
    for action in checked.actions:
        if action.kind not in _CHANGES or action.resource_class not in _STANDING:
            continue
        if is_own_installation(action, checked) or removes_its_own(action, checked):
            continue
        code, what = _STANDING[action.resource_class]
        declared = checked.declared.covers(ActionKind.WRITE, action.resource_class, action.resource)
        if declared is not None:
            continue
        yield checked.finding(
            code,
            f"changes {what} ({action.resource}), which the text does not speak of",
            action,
            severity_of(action),
            f"May it change {action.resource}?",
        )


def _deletion(checked: Checked) -> Iterator[Finding]:
    for action in checked.actions:
        if action.kind is not ActionKind.DELETE or action.resource_class not in _KEPT_FROM_DELETION:
            continue
        if action.resource.startswith("/dev/"):
            continue  # the place of a temporary file that could not be made
        wide = re.fullmatch(r"(?:~|/|/\*|~/\*|/home/?\*?|~/?)", action.resource) is not None
        declared = checked.declared.covers(ActionKind.DELETE, action.resource_class, action.resource)
        named = checked.declared.resources.get((ActionKind.WRITE, action.resource))
        if (declared or named or is_own_folder(action, checked)) and not wide:
            continue
        yield checked.finding(
            "claims.deletion",
            f"deletes {action.resource}, outside workspace and own files",
            action,
            Severity.NOTE if _no_file_of_the_user(action) else severity_of(action),
            f"May it delete {action.resource}?",
        )


_ROOT_FOLDERS = re.compile(
    r"/(?:bin|boot|data|dev|etc|home|lib\w*|media|mnt|nix|opt|proc|root|run|s?bin|snap|srv|sys|tmp|usr|var|backups?|"
    r"users|volumes|applications|library|system|private|network|[a-z]:)?(?:/|\*|$)",
    re.IGNORECASE,
)
"""What absolute paths of a user's machine begin with."""


def _no_file_of_the_user(action: ReachableAction) -> bool:
    """Words that name no file: "remove default credentials", "drop `/api/v1/health` from the list"."""
    if action.source != "prose":
        return False
    return _by_word(action) or (
        action.resource.startswith("/") and _ROOT_FOLDERS.match(action.resource) is None
    )


def _opaque(checked: Checked) -> Iterator[Finding]:
    for action in checked.actions:
        if action.kind is not ActionKind.OPAQUE:
            continue
        what = action.resource
        if what.startswith("encoded:"):
            yield checked.finding(
                "claims.opaque-executed",
                "runs an encoded or encrypted blob of the package",
                action,
                Severity.REVIEW,
                "May it run code that cannot be read?",
            )
        elif what.startswith("unpickle:"):
            yield checked.finding(
                "claims.unsafe-deserialisation", f"unpickles data ({what[9:]})", action, Severity.NOTE
            )
        elif action.guards and what.startswith(_BECOMES_CODE):
            # Text that becomes code, or machine code, under a condition no run met: neither read nor seen.
            yield checked.finding(
                "claims.opaque",
                "under a condition, runs code that is not in its source",
                action,
                Severity.REVIEW,
                "May it run code that cannot be read and that no run reached?",
            )
        elif not what.startswith("uncompiled:"):
            yield checked.finding("claims.opaque", f"cannot be read ({what})", action, Severity.NOTE)


def _autorun(checked: Checked) -> Iterator[Finding]:
    for action in checked.actions:
        whole = action.resource_class is ResourceClass.OWN_PACKAGE or " " in action.resource
        if action.source == "autorun" and action.kind is ActionKind.EXEC and whole:
            yield checked.finding(
                "claims.autorun", f"runs by itself: {action.resource}", action, Severity.NOTE
            )


def _install(checked: Checked) -> Iterator[Finding]:
    told: set[str] = set()
    for action in checked.actions:
        if action.kind is ActionKind.INSTALL and action.resource not in told:
            told.add(action.resource)
            yield checked.finding(
                "claims.install",
                f"installs {action.resource}: reach of unknown extent",
                action,
                Severity.NOTE,
            )


_RULES: tuple[Callable[[Checked], Iterator[Finding]], ...] = (
    _remote_code,
    _secret_flow,
    _private_flow,
    denied_findings,
    network_findings,
    body_destination_findings,
    payee_findings,
    _standing,
    _deletion,
    _opaque,
    _autorun,
    _install,
)
