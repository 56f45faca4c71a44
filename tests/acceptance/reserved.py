"""Hosts in text that are not reserved for examples and tests (RFC 2606, RFC 6761)."""

from __future__ import annotations

import re

_RESERVED = re.compile(
    r"(?:^|\.)(?:example(?:\.(?:com|net|org))?|test|invalid|localhost)$|^(?:127\.|\[?::1|0\.0\.0\.0|$)"
)
_LINK = re.compile(r"\b(?:https?|wss?|ftp|smtps?|ssh|git)://(?:[^\s/@\"'`]{0,80}@)?([^\s/:\"'`)\]>]{1,253})")
_MAIL = re.compile(r"[\w.+-]{1,64}@((?:[a-z0-9-]{1,63}\.)+[a-z]{2,24})\b", re.IGNORECASE)
_NAME = re.compile(
    r"(?<![\w./@-])((?:[a-z0-9-]{1,63}\.)+(?:com|net|org|io|dev|ai|app|cloud|info|biz|co|eu|de|uk|us|cn|ru|xyz))"
    r"(?![\w-])",
    re.IGNORECASE,
)


def foreign_hosts(text: str) -> set[str]:
    """Every host that `text` names in a link, an address or by itself, and that somebody may own."""
    found = {match[1].lower() for pattern in (_LINK, _MAIL, _NAME) for match in pattern.finditer(text)}
    return {host for host in found if not _RESERVED.search(host.rstrip("."))}
