"""One SMTP conversation of the sinkhole: accepts every message and records it whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from conjunct.world.destinations import Stream

MAXIMUM_MESSAGE = 16 << 20
_MAXIMUM_LINE = 1 << 16


@dataclass(frozen=True, slots=True)
class Mail:
    """One message, or the commands of a conversation without one."""

    sender: str
    recipients: tuple[str, ...]
    data: bytes


class _Lines:
    """Lines of a socket, of bounded length."""

    def __init__(self, connection: Stream) -> None:
        self._connection = connection
        self._buffer = bytearray()

    def next(self) -> bytes | None:
        """The next line with its end, at most `_MAXIMUM_LINE` bytes; `None` at the end."""
        while b"\n" not in self._buffer and len(self._buffer) < _MAXIMUM_LINE:
            data = self._connection.recv(1 << 16)
            if not data:
                return None
            self._buffer += data
        end = self._buffer.find(b"\n", 0, _MAXIMUM_LINE)
        end = _MAXIMUM_LINE if end < 0 else end + 1
        line = bytes(self._buffer[:end])
        del self._buffer[:end]
        return line


def converse(
    connection: Stream,
    name: str,
    on_mail: Callable[[Mail], None],
    *,
    start_tls: Callable[[Stream], Stream] | None,
    greet: bool = True,
) -> None:
    """Serve one connection as the mail server `name`. Raises `OSError` when the connection breaks.

    `start_tls` turns the connection into an encrypted one; `None` where it is one already.
    """
    if greet:
        _say(connection, f"220 {name} ESMTP Postfix")
    lines = _Lines(connection)
    sender, log, sent = "", bytearray(), False
    recipients: list[str] = []
    while (line := lines.next()) is not None:
        log += line[: max(0, (1 << 18) - len(log))]
        command = line.strip()
        verb = command[:4].upper()
        if verb == b"EHLO":
            features = [name, "PIPELINING", "SIZE 35882577", "AUTH PLAIN LOGIN", "8BITMIME", "SMTPUTF8"]
            features += ["STARTTLS"] if start_tls else []
            _say(connection, "\r\n".join(f"250-{f}" for f in features[:-1]) + f"\r\n250 {features[-1]}")
        elif verb == b"STAR" and start_tls:
            _say(connection, "220 2.0.0 Ready to start TLS")
            encrypted = start_tls(connection)
            converse(encrypted, name, on_mail, start_tls=None, greet=False)
            return
        elif verb == b"AUTH":
            log += _authenticate(connection, lines, command)
        elif verb == b"MAIL":
            sender, recipients = _address(command), []
            _say(connection, "250 2.1.0 Ok")
        elif verb == b"RCPT":
            if len(recipients) < 1000:
                recipients.append(_address(command))
            _say(connection, "250 2.1.5 Ok")
        elif verb == b"DATA":
            _say(connection, "354 End data with <CR><LF>.<CR><LF>")
            on_mail(Mail(sender, tuple(recipients), bytes(log) + _message(lines)))
            log, recipients, sent = bytearray(), [], True
            _say(connection, "250 2.0.0 Ok: queued")
        elif verb == b"QUIT":
            _say(connection, "221 2.0.0 Bye")
            break
        elif verb in (b"HELO", b"RSET", b"NOOP", b"VRFY"):
            _say(connection, "250 2.0.0 Ok")
        else:
            _say(connection, "502 5.5.2 Error: command not recognized")
    if not sent or recipients:
        on_mail(Mail(sender, tuple(recipients), bytes(log)))


def _authenticate(connection: Stream, lines: _Lines, command: bytes) -> bytes:
    """The credentials, as sent."""
    heard = b""
    if b" LOGIN" in command.upper():
        prompts = ["334 VXNlcm5hbWU6", "334 UGFzc3dvcmQ6"][1 if command.count(b" ") > 1 else 0 :]
    else:
        prompts = [] if command.count(b" ") > 1 else ["334 "]
    for prompt in prompts:
        _say(connection, prompt)
        heard += lines.next() or b""
    _say(connection, "235 2.7.0 Authentication successful")
    return heard


def _message(lines: _Lines) -> bytes:
    message = bytearray()
    while (line := lines.next()) is not None and line.rstrip(b"\r\n") != b".":
        if len(message) < MAXIMUM_MESSAGE:
            message += line[1:] if line.startswith(b"..") else line
    return bytes(message)


def _address(command: bytes) -> str:
    match = re.search(rb"<([^<>]{0,320})>", command)
    return (match[1] if match else command.partition(b":")[2][:320]).decode("utf-8", "replace").strip()


def _say(connection: Stream, text: str) -> None:
    connection.sendall(text.encode() + b"\r\n")
