"""Dates, hours, weekdays and months that a source names, as starts of episodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

MOST_MOMENTS = 10
"""Starts beyond the battery's own clock levels; each is one run of every screen."""

_PARTS = (
    ("weekday", re.compile(r"(?<!iso)weekday\(\)|tm_wday"), 0),
    ("weekday", re.compile(r"isoweekday\(\)|%u\b"), -1),
    ("weekday", re.compile(r"get(?:UTC)?Day\(\)|%w\b"), 6),
    ("month", re.compile(r"get(?:UTC)?Month\(\)"), 1),
    ("month", re.compile(r"\.month\b|tm_mon\b|%m\b|\bmonth\b"), 0),
    ("hour", re.compile(r"\.hour\b|get(?:UTC)?Hours\(\)|tm_hour|%-?[Hk]\b|\bhour\b"), 0),
    ("year", re.compile(r"\.year\b|getFullYear\(\)|tm_year|%Y\b|\byear\b"), 0),
    ("day", re.compile(r"\.day\b|get(?:UTC)?Date\(\)|tm_mday|%-?d\b|\bday\b"), 0),
    ("weekday", re.compile(r"\b(?:dow|wday|day_of_week|weekday)\b"), 0),
    ("epoch", re.compile(r"time\(\)|timestamp|Date\.now|getTime|%s\b|\bnow\b|epoch"), 0),
)
"""(part of a date, how an expression names it, what to add to reach Monday = 0, January = 1)."""
_RANGES = {"weekday": (0, 6), "month": (1, 12), "hour": (0, 23), "year": (2020, 2040), "day": (1, 31)}
_DATE = re.compile(r"\b(20[2-4]\d)-(\d\d?)(?:-(\d\d?)(?:[T ](\d\d):(\d\d))?)?(?!\d)")
_CALL = re.compile(r"\b(?:date|datetime|Date)\(\s*(20[2-4]\d)\s*,\s*(\d{1,2})\s*,\s*(\d{1,2})")
_MONTH_DAY = re.compile(r"(\d\d)-?(\d\d)")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_COMPARED = re.compile(
    r"(?:===?|!==?|>=|<=|>|<|-(?:ge|gt|eq|ne|le|lt)\s|\bin\s*[\[({])\s*[\"']?([\d, ]{1,40})"
)


def date_numbers(line: str) -> list[tuple[str, int]]:
    """(part, number) for every number that a part of a date is compared with on this line.

    `date(2026, 7, 4)` gives its three parts under `date` as one ordinal number.
    """
    found: list[tuple[str, int]] = []
    for year, month, day in _CALL.findall(line):
        javascript = "new Date(" in line
        moment = _day(int(year), int(month) + javascript, int(day))
        if moment is not None:
            found.append(("date", moment.toordinal()))
    match = _COMPARED.search(line)
    if match is None:
        return found
    before = line[max(0, match.start() - 60) : match.start()]
    numbers = [int(one) for one in re.findall(r"\d{1,13}", match[1])]
    for part, names, shift in _PARTS:
        if not names.search(before):
            continue
        for number in numbers:
            if part == "epoch":
                seconds = number // 1000 if number > 10**11 else number
                if 1_500_000_000 < seconds < 2_400_000_000:
                    found.append(("epoch", seconds))
            elif _RANGES[part][0] <= (value := _shifted(part, number, shift)) <= _RANGES[part][1]:
                found.append((part, value))
        break
    return found


def _shifted(part: str, number: int, shift: int) -> int:
    return (number + shift) % 7 if part == "weekday" else number + shift


def _day(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def moments_of(texts: Iterable[str], parts: Mapping[str, set[int]], neutral: str) -> tuple[str, ...]:
    """ISO 8601 starts at which a guard on these texts and numbers could change its mind.

    For a date: that day, and the day before where the neutral start lies behind it. For an hour: it and its
    neighbours. Parts that are compared together are combined as far as `MOST_MOMENTS` allows.
    """
    base = datetime.fromisoformat(neutral)
    texts = tuple(texts)
    months, days, weekdays = _named(texts, parts)
    dates = list(dict.fromkeys(_dates(texts, parts, base, months, days, weekdays)))
    hours = sorted(
        {(hour + step) % 24 for hour in parts.get("hour", ()) for step in (0, 1, -1)},
        key=lambda hour: (hour not in parts["hour"], hour),
    )
    starts = [day.replace(hour=hour, minute=30) for day in dates for hour in hours]
    starts += [day if day.hour else day.replace(hour=10) for day in dates]
    starts += [base.replace(hour=hour, minute=30) for hour in hours]
    return tuple(dict.fromkeys(one.isoformat() for one in starts if one != base))[:MOST_MOMENTS]


def _named(texts: Iterable[str], parts: Mapping[str, set[int]]) -> tuple[set[int], set[int], set[int]]:
    months, days = set(parts.get("month", ())), set(parts.get("day", ()))
    weekdays = set(parts.get("weekday", ()))
    for text in texts:
        word = text.strip().casefold()
        if len(word) >= 3 and word.isalpha():
            weekdays |= {n for n, name in enumerate(_WEEKDAYS) if word in (name, name[:3])}
            months |= {n for n, name in enumerate(_MONTHS, 1) if word in (name, name[:3])}
    return months, days, weekdays


def _dates(
    texts: Iterable[str],
    parts: Mapping[str, set[int]],
    base: datetime,
    months: set[int],
    days: set[int],
    weekdays: set[int],
) -> Iterable[datetime]:
    for text in texts:
        for year, month, day, hour, minute in _DATE.findall(text):
            moment = _day(int(year), int(month), int(day or 15))
            if moment is not None:
                yield from _around(
                    moment.replace(hour=int(hour or 0) % 24, minute=int(minute or 0) % 60), base
                )
        match = _MONTH_DAY.fullmatch(text)
        if match and (parts.keys() & {"month", "day"} or "-" in text):
            moment = _day(base.year, int(match[1]), int(match[2]))
            if moment is not None:
                yield moment
    for ordinal in sorted(parts.get("date", ())):
        yield from _around(datetime.fromordinal(ordinal).replace(tzinfo=UTC), base)
    for seconds in sorted(parts.get("epoch", ())):
        yield datetime.fromtimestamp(seconds, UTC) + timedelta(hours=1)
    years = sorted(parts.get("year", ())) or [base.year]
    for year in years:
        for month in sorted(months) or ([base.month] if days or "year" in parts else []):
            for day_number in sorted(days) or [15]:
                moment = _day(year, month, day_number)
                if moment is not None:
                    yield moment
    for weekday in sorted(weekdays):
        yield (base + timedelta(days=(weekday - base.weekday()) % 7)).replace(hour=0, minute=0)


def _around(moment: datetime, base: datetime) -> Iterable[datetime]:
    yield moment
    if moment <= base:
        yield moment - timedelta(days=1)
