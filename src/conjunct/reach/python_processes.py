"""Python calls that start programs: argument lists, shell text, and where both come from."""

from __future__ import annotations

import ast

from conjunct.model import ActionKind, ResourceClass
from conjunct.reach.commands import list_command, program_name, programs, remote_code, unwrap
from conjunct.reach.found import UNKNOWN, Place
from conjunct.reach.python_modules import Site
from conjunct.reach.python_reading import Reading, keyword_of
from conjunct.reach.python_values import fold, texts


def start_process(reading: Reading, site: Site) -> None:
    """`subprocess.run(…)` and its like: a list of words, or text for a shell."""
    first = site.call.args[0] if site.call.args else keyword_of(site.call, "args")
    if first is None:
        reading.seen.add(reading.place(site), ActionKind.EXEC, UNKNOWN, ResourceClass.PROCESS)
        return
    shell = keyword_of(site.call, "shell")
    values = fold(first, site.scope)
    is_text = all(isinstance(value, str) for value in values)
    if is_text and isinstance(shell, ast.Constant) and shell.value is True:
        run_shell_text(reading, site, [first])
    elif is_text and all(isinstance(value, str) and " " not in value.strip() for value in values):
        rest = site.call.args[1:] if not isinstance(first, ast.List | ast.Tuple) else []
        run_words(reading, site, [first, *rest])
    elif is_text:
        run_shell_text(reading, site, [first])
    else:
        for value in values:
            if isinstance(value, tuple):
                _run(reading, site, [item if isinstance(item, str) else UNKNOWN for item in value], first)


def run_words(reading: Reading, site: Site, arguments: list[ast.expr]) -> None:
    """`os.execvp(file, args)`: the folded words of the arguments."""
    words: list[str] = []
    for item in arguments[:32]:
        for value in fold(item, site.scope)[:1]:
            words.extend(texts(value) if isinstance(value, tuple) else texts((value,)))
    _run(reading, site, words, *arguments[:1])


def run_shell_text(reading: Reading, site: Site, arguments: list[ast.expr]) -> None:
    """`os.system(text)`."""
    place = reading.place(site)
    for argument in arguments:
        for text in texts(fold(argument, site.scope)):
            if text.strip(" *"):
                reading.seen.snippet("shell", text, place)
            elif not _came_from_elsewhere(reading, site, argument, place, "data:shell"):
                reading.seen.add(place, ActionKind.EXEC, UNKNOWN, ResourceClass.PROCESS)
                reading.seen.opaque(place, "dynamic:shell", 0.6)


def _run(reading: Reading, site: Site, words: list[str], *whole: ast.expr) -> None:
    if not words:
        return
    place = reading.place(site)
    if words[0] == UNKNOWN:
        for argument in whole:
            _came_from_elsewhere(reading, site, _first_word(argument), place, "data:command")
        words = ["python3", *words[1:]] if len(words) > 1 else words
        reading.seen.add(place, ActionKind.EXEC, UNKNOWN, ResourceClass.PROCESS, 0.7)
        if words == [UNKNOWN]:
            return
    plain = unwrap(words)
    name = program_name(plain[0]) if plain else ""
    language = programs()["interpreters"].get(name)
    if language and any(flag in plain[1:3] for flag in ("-c", "-e", "-lc", "-ic")):
        reading.seen.add(place, ActionKind.EXEC, name, ResourceClass.PROCESS)
        reading.seen.snippet(language, plain[-1], place)
        return
    list_command(words, place, reading.seen, reading.downloads)


def _first_word(argument: ast.expr) -> ast.expr:
    """The program in `[program, *rest]`; the whole expression where it is no list."""
    if isinstance(argument, ast.List | ast.Tuple) and argument.elts:
        return argument.elts[0]
    return argument


def _came_from_elsewhere(reading: Reading, site: Site, argument: ast.expr, place: Place, what: str) -> bool:
    """Record a command that no source fixes because a host or a file (`what`) holds it."""
    if reading.is_fetched(argument, site.scope):
        remote_code(reading.origin(argument, site.scope), place, reading.seen)
    elif reading.is_data(argument, site.scope):
        reading.seen.add(place, ActionKind.EXEC, UNKNOWN, ResourceClass.PROCESS)
        reading.seen.opaque(place, what)
    else:
        return False
    return True
