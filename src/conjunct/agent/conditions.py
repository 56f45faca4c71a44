"""Whether the condition of a directive holds; asks the view, and so records a look-up, only where it must."""

from __future__ import annotations

import re
from dataclasses import replace

from conjunct.agent.intent import content_words
from conjunct.agent.protocol import Tools, View
from conjunct.directives import ALTERNATIVES
from conjunct.model import Condition, Directive, FactorKind, Skill
from conjunct.world.spec import Command

_COUNTS_USES = re.compile(
    r"\b(?:used|invoked|called|run|activated|triggered|executed|loaded|uses?|calls?|runs?|invocations?)\b"
)


def holds(condition: Condition, skill: Skill, view: View, tools: Tools) -> bool | None:
    """Truth of one condition; `None` where it was not understood and cannot be looked up."""
    answers: list[bool | None] = []
    for value in condition.value.split(ALTERNATIVES):
        answers.append(_answer(replace(condition, value=value), skill, view, tools))
        if answers[-1]:
            break
    answer = True if True in answers else None if None in answers else False
    return answer if answer is None else answer != condition.negated


def all_hold(
    directive_conditions: tuple[Condition, ...], skill: Skill, view: View, tools: Tools
) -> tuple[bool, bool]:
    """(whether a directive applies, whether that had to be guessed).

    An obedient agent that did not understand a condition may act on it: unknown conditions count as met,
    and the act as guessed. One that stands alone counts as met where the request has its words; beside
    conditions that are understood it never keeps from exploring what they decide. Evaluation stops at the
    first that does not hold, so that nothing more is looked at.
    """
    guessed = False
    joined = any(condition.operator != "unknown" for condition in directive_conditions)
    for condition in directive_conditions:
        answer = holds(condition, skill, view, tools)
        if answer is False and joined and condition.operator == "unknown" and not condition.negated:
            answer = None
        if answer is False:
            return False, guessed
        guessed = guessed or answer is None
    return True, guessed


def is_standing(directive: Directive) -> bool:
    """Whether a directive stays in force on turns that do not ask for its skill: it waits for something."""
    return any(condition.operator != "unknown" for condition in directive.conditions)


def _answer(condition: Condition, skill: Skill, view: View, tools: Tools) -> bool | None:
    value = condition.value.strip()
    match condition.factor:
        case FactorKind.HISTORY:
            return view.conversation_mentions(value) if value else None
        case FactorKind.CO_SKILLS:
            return view.is_installed(value) if value else None
        case FactorKind.USED_BEFORE | FactorKind.USED_AFTER:
            other = view.find(value) if value else None
            return None if not value else other is not None and view.uses(other) > 0
        case FactorKind.TURN:
            return _turn(condition, value, skill, view)
        case FactorKind.ARGUMENTS:
            if not value:
                return None
            return _in_request(value, view, tools)
        case FactorKind.CLOCK:
            return _clock(condition.operator, value, skill, tools)
        case FactorKind.ENVIRONMENT:
            return _environment(condition.operator, value, skill, tools)
        case FactorKind.HOST:
            if condition.operator == "exists" and _is_path(value):
                return tools.exists(_absolute(value, tools))
            if condition.operator == "exists":
                return _program(value, skill, tools)
            seen = _ask(("uname", "-sn"), skill, tools).lower()
            return value.lower().replace("macos", "darwin") in seen if value else None
        case _:
            if condition.operator == "exists" and _is_path(value):
                return tools.exists(_absolute(value, tools))
            return None


def _in_request(value: str, view: View, tools: Tools) -> bool:
    """Whether the present request, and nothing said before, speaks of a value or names an input of that name.

    "wants to convert a table to a chart" holds for a request that has these words in another order too.
    """
    request = view.request.text
    if value.lower() in request.lower():
        return True
    wanted = content_words(value)
    if len(wanted) > 1 and wanted <= content_words(request):
        return True
    return any(value.lower() in path.rpartition("/")[2].lower() for path in tools.inputs())


def _turn(condition: Condition, value: str, skill: Skill, view: View) -> bool | None:
    number = _number(value)
    if number is None:
        return None
    if _COUNTS_USES.search(condition.quote.lower()):
        return _compare_count(view.uses(skill), condition.operator, number)
    match condition.operator:
        case "at_least":
            return view.turn_at_least(number)
        case "after":
            return view.turn_at_least(number + 1)
        case "before":
            return not view.turn_at_least(number)
        case "equals":
            return view.turn_at_least(number) and not view.turn_at_least(number + 1)
        case _:
            return None


def _compare_count(count: int, operator: str, number: int) -> bool | None:
    table = {
        "at_least": count >= number,
        "after": count > number,
        "before": count < number,
        "equals": count == number,
    }
    return table.get(operator)


def _number(value: str) -> int | None:
    found = re.search(r"\d{1,6}", value)
    return int(found[0]) if found else None


def _clock(operator: str, value: str, skill: Skill, tools: Tools) -> bool | None:
    """Compare the world's date: ISO dates and times as far as they go, weekdays and months by name."""
    now = _ask(("date", "+%Y-%m-%dT%H:%M %A %B"), skill, tools)
    stamp, _, names = now.partition(" ")
    found = re.search(r"\d{4}(?:-\d{2}(?:-\d{2}(?:T\d{2}:\d{2})?)?)?", value)
    if found is None:
        hour = re.fullmatch(r"(\d{1,2}):(\d{2})", value)
        if hour is None:
            words = {word.lower() for word in names.split()}
            asked = value.lower()
            if asked in ("weekend", "weekends", "the weekend"):
                return bool(words & {"saturday", "sunday"})
            return asked in words if operator == "equals" or asked in words else None
        found_text, stamp = f"{int(hour[1]):02d}:{hour[2]}", stamp.partition("T")[2]
    else:
        found_text = found[0]
    part = stamp[: len(found_text)]
    table = {
        "after": part > found_text,
        "before": part < found_text,
        "at_least": part >= found_text,
        "equals": part == found_text,
    }
    return table.get(operator)


def _environment(operator: str, value: str, skill: Skill, tools: Tools) -> bool | None:
    name, has_value, wanted = value.partition("=")
    name = name.strip().lstrip("$")
    if not re.fullmatch(r"[A-Za-z_]\w{0,80}", name):
        return None
    answer = _ask(("printenv", name), skill, tools)
    if has_value and operator != "exists":
        return answer == wanted.strip()
    return bool(answer)


def _is_path(value: str) -> bool:
    return value.startswith(("/", "~", ".")) or "/" in value


def _program(name: str, skill: Skill, tools: Tools) -> bool | None:
    """Whether a program of that name can be started: "if pandoc is installed"."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.+-]{0,60}", name):
        return None
    if "." in name and tools.exists(_absolute(name, tools)):
        return True  # "if report.csv is present"
    return bool(_ask(("sh", "-c", 'command -v -- "$1"', "sh", name), skill, tools))


def _ask(argv: tuple[str, ...], skill: Skill, tools: Tools) -> str:
    command = Command(argv, tools.layout.workspace, turn=0, step=0, skill=skill.id, file=skill.manifest)
    return tools.run(command).stdout.decode("utf-8", "replace").strip()


def _absolute(path: str, tools: Tools) -> str:
    if path.startswith("~"):
        return path.replace("~", tools.layout.home, 1)
    return path if path.startswith("/") else f"{tools.layout.workspace}/{path.removeprefix('./')}"
