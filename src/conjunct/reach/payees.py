"""Accounts and wallets that a text gives as the one to pay: who follows it sends money there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conjunct.model import ActionKind, Compilation, ResourceClass, Skill
from conjunct.reach.found import Place, Sightings

PAYEE = "payee:"
"""Start of the resource of such an action."""

_MONEY = re.compile(
    r"\b(?:pay|pays|paid|paying|payee|payment|payments|payable|transfer\w*|wire\w*|deposit\w*|donat\w*|tip|tips|"
    r"send|beneficiary|iban|wallet|invoice\w*|bank account|fee|fees|eth|btc|usdc|usdt|bitcoin|ether|"
    r"refund\w*|remit\w*)\b",
    re.IGNORECASE,
)
_CANDIDATE = re.compile(
    r"\b(?:[A-Z]{2}\d{2} ?[A-Z0-9]{4}|0x[0-9a-fA-F]{40}|bc1[02-9a-z]{25}|[13T][1-9A-HJ-NP-Za-km-z]{25})"
)
"""What no ordinary text holds: looked for first, since most texts hold none."""

_IBAN = re.compile(r"\b([A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)\b")
_CHAIN = re.compile(
    r"\b(0x[0-9a-fA-F]{40}|bc1[02-9ac-hj-np-z]{25,71}|[13][1-9A-HJ-NP-Za-km-z]{25,34}|T[1-9A-HJ-NP-Za-km-z]{33})\b"
)
_LONGEST_LINE = 2_000
_MOST = 40


def payees_in(text: str) -> tuple[str, ...]:
    """IBANs with a right check number, and addresses of the common chains, in a text that speaks of money."""
    text = text[:_LONGEST_LINE]
    if not _CANDIDATE.search(text) or not _MONEY.search(text):
        return ()
    accounts = [found.replace(" ", "") for found in _IBAN.findall(text)]
    chain = [found for found in _CHAIN.findall(text) if _varied(found)]
    return tuple(dict.fromkeys([*filter(_is_iban, accounts), *chain]))


def read_payees(skill: Skill, compilation: Compilation, seen: Sightings) -> None:
    """What instructions name is an order to pay; what the body merely states is told with low confidence."""
    told: set[tuple[str, int]] = set()
    shown = {(item.file, item.line) for item in compilation.directives if item.mention}
    for file, line, text in _instructions(compilation):
        for payee in payees_in(text):
            told.add((file, line))
            seen.add(Place(file, line, "prose"), ActionKind.SEND, PAYEE + payee, ResourceClass.UNKNOWN)
    if not _CANDIDATE.search(skill.body):
        return
    for number, text in enumerate(skill.body.split("\n"), start=skill.body_line):
        place = (skill.manifest, number)
        if place in told or place in shown or len(told) >= _MOST:
            continue
        for payee in payees_in(text):
            told.add(place)
            seen.add(Place(*place, "prose"), ActionKind.SEND, PAYEE + payee, ResourceClass.UNKNOWN, 0.5)


def _instructions(compilation: Compilation) -> Iterator[tuple[str, int, str]]:
    for directive in compilation.directives:
        if not directive.mention and not directive.command:
            yield directive.file, directive.line, directive.quote
    for sentence in compilation.uncompiled:
        yield sentence.file, sentence.line, sentence.text


def _is_iban(text: str) -> bool:
    """Whether the check number is right (ISO 13616: the rearranged digits leave 1 modulo 97)."""
    if not 15 <= len(text) <= 34:
        return False
    return int("".join(str(int(character, 36)) for character in text[4:] + text[:4])) % 97 == 1


def _varied(address: str) -> bool:
    """Whether an address is no filler such as `0x0000…` or `1111…`."""
    return len(set(address[2:].lower())) >= 8
