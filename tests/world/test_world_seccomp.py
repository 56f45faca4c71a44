"""The table of system calls is closed, and the filter does what the table says: run here instruction by
instruction.
"""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest

from conjunct.world.seccomp import (
    REFUSED_BY_KERNEL,
    call_table,
    filter_program,
    refusal_expressions,
    trace_expression,
)

X86_64, I386 = 0xC000003E, 0x40000003
ALLOW, TRAP, ERROR = 0x7FFF0000, 0x00030000, 0x00050000
HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")


def decide(program: bytes, number: int, arguments: tuple[int, ...] = (), architecture: int = X86_64) -> int:
    """What the kernel would do: an interpreter of the few instructions the filter uses."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, architecture, 0, *padded)
    instructions = [struct.unpack_from("<HBBI", program, offset) for offset in range(0, len(program), 8)]
    position, register = 0, 0
    while True:
        code, if_true, if_false, value = instructions[position]
        position += 1
        if code == 0x20:
            register = struct.unpack_from("<I", data, value)[0]
        elif code == 0x06:
            return value
        else:
            holds = {0x15: register == value, 0x35: register >= value, 0x45: bool(register & value)}[code]
            position += if_true if holds else if_false


def test_every_call_is_in_exactly_one_list() -> None:
    table = call_table()
    names = [*table.traced, *table.refused, *table.reviewed]
    assert len(names) == len(set(names))
    numbers = sorted(table.number(name) for name in names)
    assert len(numbers) == len(set(numbers))
    assert numbers == [*range(335), *range(424, table.highest + 1)], "a number is missing or unknown"


@pytest.mark.skipif(not HEADER.exists(), reason="the kernel's headers are not installed")
def test_every_call_of_the_kernel_headers_is_classified_or_above_the_table() -> None:
    table = call_table()
    for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)", HEADER.read_text("ascii")):
        assert int(number) > table.highest or table.number(name) == int(number), name


def test_each_entry_has_a_reason() -> None:
    table = call_table()
    for calls in (table.traced, table.refused, table.reviewed):
        assert all(row[-1] for row in calls.values())
    assert all(hasattr(errno, row[1]) for row in table.refused.values())


def test_without_a_tracer_the_filter_refuses_everything_refused() -> None:
    table, program = call_table(), filter_program(traced=False)
    for name, (number, error, _reason) in table.refused.items():
        assert decide(program, number) == ERROR | getattr(errno, error), name


def test_with_a_tracer_the_filter_leaves_refusals_to_it() -> None:
    table, program = call_table(), filter_program(traced=True)
    for name, (number, _error, _reason) in table.refused.items():
        assert decide(program, number) == (ERROR | errno.ENOSYS if name == "clone3" else ALLOW), name


@pytest.mark.parametrize("traced", [True, False])
def test_everything_else_passes(traced: bool) -> None:
    table, program = call_table(), filter_program(traced=traced)
    for calls in (table.traced, table.reviewed):
        for name, row in calls.items():
            assert decide(program, int(row[0])) == ALLOW, name


@pytest.mark.parametrize("traced", [True, False])
def test_unknown_numbers_and_foreign_tables_never_pass(traced: bool) -> None:
    table, program = call_table(), filter_program(traced=traced)
    for number in (table.highest + 1, 452, 470, 999, 0x3FFFFFFF):
        assert decide(program, number) == ERROR | errno.ENOSYS
    assert decide(program, 0x40000000 | 39) == TRAP
    assert decide(program, 0xFFFFFFFF) == TRAP
    assert decide(program, 20, architecture=I386) == TRAP


@pytest.mark.parametrize(
    ("name", "arguments", "near_miss"),
    [
        ("kill", (1, 19), (1, 9)),
        ("kill", (1, 19), (2, 19)),
        ("tkill", (1, 19), (1, 15)),
        ("tgkill", (1, 1, 19), (7, 1, 19)),
        ("rt_sigqueueinfo", (1, 19), (1, 10)),
        ("prlimit64", (1, 7), (0, 7)),
        ("sched_setaffinity", (1, 8), (0, 8)),
        ("setpriority", (0, 1, 19), (0, 0, 19)),
        ("clone", (0x00800011,), (0x01200011,)),
    ],
)
def test_what_is_aimed_at_pid_1_or_hides_ends_the_process(
    name: str, arguments: tuple[int, ...], near_miss: tuple[int, ...]
) -> None:
    number, program = call_table().number(name), filter_program(traced=True)
    assert decide(program, number, arguments) == TRAP
    assert decide(program, number, near_miss) == ALLOW


def test_the_tracer_is_told_of_every_traced_and_refused_call() -> None:
    table = call_table()
    told = {name.lstrip("?") for name in trace_expression().split(",")}
    assert told == {*table.traced, *table.refused} - {"clone3"}
    injected = {
        name.lstrip("?") for text in refusal_expressions() for name in text.rsplit(":", 1)[0].split(",")
    }
    assert injected == set(table.refused) - {"clone3"} - REFUSED_BY_KERNEL
