r"""The text that strace 6 writes with `-f -yy`: lines to calls, arguments, descriptors, paths, addresses.

Names in a trace are chosen by the traced program. strace escapes `"` and `\` inside strings and `<`, `>`
inside decoded descriptors, so a line is read strictly from the left: nothing is searched for from the right.
All patterns use possessive quantifiers; the time for a line is linear in its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

STRING = r'"(?:[^"\\]++|\\.)*+"(?:\.\.\.)?'
_PATH = r"/(?:[^<>\\]++|\\.)*+(?:<(?:char|block) \d++:\d++>)?"
_SOCKET = rf"[A-Za-z_](?:[^<>\"\\-]++|->|-|\\.|{STRING})*+"
ANGLE = rf"<(?:{_PATH}|{_SOCKET})>"

_TOKEN = re.compile(rf'{STRING}|{ANGLE}|[(\[{{]|[)\]}}]|,|[^"<>()\[\]{{}},]++|<|>', re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+\(")
_RESULT = re.compile(r"\s*+= (\?|0x[0-9a-f]{1,16}+|-?\d{1,20}+)(.*+)\Z", re.DOTALL)
_ERROR = re.compile(r" (E[A-Z0-9_]++)\b")
_RESUMED = re.compile(r"<\.\.\. ([A-Za-z_][A-Za-z0-9_]*+) resumed>")
_DESCRIPTOR = re.compile(rf"\s*+(AT_FDCWD|-?\d++)(?:({ANGLE})(\(deleted\))?)?", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-f]{2}|.)", re.DOTALL)
_DEVICE = re.compile(r"<(?:char|block) \d+:\d+>\Z")
_TRANSLATED = re.compile(r"(-?\d++) /\* (-?\d++) in strace's PID NS \*/")
_PORT = re.compile(r"sin6?_port=htons\((\d++)\)")
_ADDRESS = re.compile(r'sin_addr=inet_addr\("([0-9.]++)"\)|inet_pton\(AF_INET6, "([0-9a-fA-F:.%]++)"')
_FAMILY = re.compile(r"\{sa_family=AF_([A-Z0-9_]++)")
_SUN_PATH = re.compile(rf", sun_path=(@?)({STRING})", re.DOTALL)
_PAYLOAD = re.compile(rf"iov_base={STRING}", re.DOTALL)
_MESSAGE_NAME = re.compile(r"\bmsg_name=\{")
_ENDPOINTS = re.compile(r"\[(.*)\]\Z", re.DOTALL)
_PLAIN = {"n": 10, "t": 9, "v": 11, "f": 12, "r": 13, "a": 7, "b": 8, "e": 27, "0": 0}

UNFINISHED = " <unfinished ...>"


class UnparsedLineError(ValueError):
    """A line that is not what strace writes."""


@dataclass(slots=True)
class Call:
    """One completed system call. Arguments are the raw texts between the commas."""

    name: str
    arguments: list[str]
    value: int | None
    """`None` where strace prints `?`: the call never returned."""
    error: str
    """`ENOENT` and so on; empty where it succeeded."""
    rest: str
    """What follows the value: a decoded descriptor, a translated pid, `(INJECTED)`."""

    @property
    def succeeded(self) -> bool:
        """Whether the call returned without an error."""
        return self.value is not None and not self.error

    def argument(self, index: int) -> str:
        """The raw text of an argument; empty where there are fewer."""
        return self.arguments[index].strip() if index < len(self.arguments) else ""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A decoded file descriptor."""

    number: int
    """-100 for `AT_FDCWD`."""
    path: str
    """Absolute path of a file, folder, device or fifo with a name; empty for everything else."""
    other: str
    """What it is if it has no path: `TCP:[…]`, `pipe:[…]`, `anon_inode:[…]`, `pid:12`."""
    deleted: bool


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The socket in a decoded descriptor."""

    protocol: str
    """`tcp`, `udp`, `unix`, `netlink`, `raw`, … in lower case."""
    inode: int
    source: str
    destination: str
    """`address:port` of the other side; for unix sockets the name it is bound to, abstract ones with `@`."""


def split_line(line: str) -> tuple[int, str]:
    """The pid column and what follows. Raises `UnparsedLineError`."""
    column, _, rest = line.partition(" ")
    if not (column.isascii() and column.isdigit() and len(column) < 12):
        raise UnparsedLineError(line[:200])
    return int(column), rest.lstrip(" ")


def resumed(text: str) -> tuple[str, str] | None:
    """(call name, remaining text) of a `<... name resumed>` line, else `None`."""
    match = _RESUMED.match(text)
    return (match.group(1), text[match.end() :]) if match else None


def parse_call(text: str) -> Call:
    """Read `name(arguments) = result`. Raises `UnparsedLineError`."""
    start = _NAME.match(text)
    if start is None:
        raise UnparsedLineError(text[:200])
    arguments: list[str] = []
    depth, position, begin, end = 1, start.end(), start.end(), len(text)
    while position < end:
        token = _TOKEN.match(text, position)
        if token is None:
            raise UnparsedLineError(text[:200])
        character = text[position]
        position = token.end()
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0:
                break
        elif character == "," and depth == 1:
            arguments.append(text[begin : position - 1])
            begin = position
    if depth:
        raise UnparsedLineError(text[:200])
    last = text[begin : position - 1]
    if last.strip() or arguments:
        arguments.append(last)
    return _with_result(text[: start.end() - 1], arguments, text, position)


def _with_result(name: str, arguments: list[str], text: str, position: int) -> Call:
    result = _RESULT.match(text, position)
    if result is None:
        raise UnparsedLineError(text[:200])
    shown, rest = result.groups()
    error = _ERROR.match(rest) if shown in ("-1", "?") else None
    value = None if shown == "?" else int(shown, 0)
    failure = error.group(1) if error else "EUNKNOWN" if rest.startswith(" (errno ") else ""
    return Call(name, arguments, value, failure, rest)


def unescape(text: str) -> str:
    """Undo strace's escapes; bytes that are not UTF-8 become surrogates."""
    if "\\" not in text:
        return text
    raw = bytearray()
    position = 0
    for match in _ESCAPE.finditer(text):
        raw += text[position : match.start()].encode("utf-8", "surrogateescape")
        position = match.end()
        code = match.group(1)
        if code[0] in "01234567":
            raw.append(int(code, 8) & 255)
        elif code[0] == "x" and len(code) == 3:
            raw.append(int(code[1:], 16))
        elif code in _PLAIN:
            raw.append(_PLAIN[code])
        else:
            raw += code.encode("utf-8", "surrogateescape")
    raw += text[position:].encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "surrogateescape")


def string(argument: str) -> str | None:
    """The content of a quoted argument (cut where strace cut it); `None` for `NULL` or an address."""
    text = argument.strip()
    if not text.startswith('"'):
        return None
    closing = text.rfind('"')
    return unescape(text[1:closing]) if closing else None


def strings(argument: str) -> tuple[str, ...]:
    """The strings of an argument like `["sh", "-c", "ls"...]`."""
    return tuple(string(found.removesuffix("...")) or "" for found in re.findall(STRING, argument, re.DOTALL))


@lru_cache(maxsize=4096)
def descriptor(argument: str) -> Descriptor | None:
    """The decoded descriptor at the start of an argument or result; `None` if there is none."""
    match = _DESCRIPTOR.match(argument)
    if match is None:
        return None
    shown, inner, deleted = match.groups()
    number = -100 if shown == "AT_FDCWD" else int(shown)
    content = inner[1:-1] if inner else ""
    if not content.startswith("/"):
        return Descriptor(number, "", content, bool(deleted))
    if content.endswith(">"):
        content = _DEVICE.sub("", content)
    return Descriptor(number, unescape(content), "", bool(deleted))


def descriptors(argument: str) -> tuple[Descriptor, ...]:
    """All decoded descriptors anywhere in an argument (`cmsg_data=[3</path>, …]`)."""
    found = (descriptor(match.group()) for match in re.finditer(rf"\d++{ANGLE}", argument, re.DOTALL))
    return tuple(item for item in found if item is not None)


def endpoint(other: str) -> Endpoint | None:
    """Read `TCP:[1.2.3.4:5->6.7.8.9:443]`, `UDPv6:[123]`, `UNIX-STREAM:[12->13,"/path"]`."""
    protocol, colon, rest = other.partition(":")
    bracket = _ENDPOINTS.match(rest) if colon else None
    if bracket is None or not protocol or protocol in ("pipe", "anon_inode"):
        return None
    name = protocol.lower().split("-", 1)[0].removesuffix("v6")
    inside = bracket.group(1)
    inode, _, path = inside.partition(",")
    if inode.split("->", 1)[0].isdigit():
        shown = string(path.removeprefix("@"))
        bound = "" if shown is None else f"@{shown}" if path.startswith("@") else shown
        return Endpoint(name, int(inode.split("->", 1)[0]), "", bound)
    source, _, destination = inside.partition("->")
    return Endpoint(name, 0, source, destination)


def address(argument: str) -> tuple[str, str] | None:
    """(family, `address:port` or path) of a printed `sockaddr`; `None` if there is none to read.

    Families are `inet`, `unix`, `abstract` and `other`.
    """
    # The first family counts: a unix path may contain text that looks like another address.
    family = _FAMILY.search(argument)
    if family is None:
        return None
    if family.group(1) in ("INET", "INET6"):
        port, host = _PORT.search(argument, family.end()), _ADDRESS.search(argument, family.end())
        if port is None or host is None:
            return None
        name = host.group(1) or f"[{host.group(2)}]"
        return "inet", f"{name}:{port.group(1)}"
    if family.group(1) == "UNIX":
        path = _SUN_PATH.match(argument, family.end())
        if path is None:
            return None
        return ("abstract" if path.group(1) else "unix"), string(path.group(2)) or ""
    return "other", family.group(1).lower()


def message_addresses(argument: str) -> tuple[tuple[str, str], ...]:
    """The destinations of the messages in a `sendmsg` or `sendmmsg` argument, each once."""
    text = _PAYLOAD.sub("", argument)
    found = (address(text[match.end() - 1 :]) for match in _MESSAGE_NAME.finditer(text))
    return tuple(dict.fromkeys(item for item in found if item is not None))


def passed_descriptors(argument: str) -> tuple[Descriptor, ...]:
    """The descriptors that a `sendmsg` argument hands to the other side."""
    if "SCM_RIGHTS" not in argument:
        return ()
    return descriptors(_PAYLOAD.sub("", argument))


def translated_pid(text: str) -> tuple[int, int]:
    """(pid as the process sees it, pid as the tracer sees it) of `3 /* 7794 in strace's PID NS */`.

    Both are the same where strace adds no translation; (0, 0) where there is no number.
    """
    match = _TRANSLATED.match(text.strip())
    if match:
        return int(match.group(1)), int(match.group(2))
    plain = re.match(r"-?\d+", text.strip())
    return (int(plain.group()), int(plain.group())) if plain else (0, 0)
