"""The text strace writes is read as it was meant, whatever the traced program chose as names."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjunct.world import strace_syntax as syntax


def escaped(raw: bytes, also: bytes = b"") -> str:
    """What strace prints for a name: octal for what is not printable, and the shortest form it allows."""
    out = []
    for index, byte in enumerate(raw):
        follows = raw[index + 1 : index + 2]
        if byte in also:
            out.append(f"\\{byte:03o}" if follows.isdigit() else f"\\{byte:o}")
        elif byte in b'"\\':
            out.append("\\" + chr(byte))
        elif 32 <= byte < 127:
            out.append(chr(byte))
        elif bytes([byte]) in b"\n\t\v\f\r":
            out.append({10: "\\n", 9: "\\t", 11: "\\v", 12: "\\f", 13: "\\r"}[byte])
        else:
            out.append(f"\\{byte:03o}" if follows.isdigit() else f"\\{byte:o}")
    return "".join(out)


names = st.binary(min_size=1, max_size=60).filter(lambda raw: b"\0" not in raw and b"/" not in raw)


@settings(max_examples=150)
@given(names)
def test_any_name_survives_the_way_through_strace(raw: bytes) -> None:
    text = f'openat(AT_FDCWD</>, "/t/{escaped(raw)}", O_RDONLY) = 3</t/{escaped(raw, b"<>")}>'
    call = syntax.parse_call(text)
    wanted = "/t/" + raw.decode("utf-8", "surrogateescape")
    assert syntax.string(call.argument(1)) == wanted
    opened = syntax.descriptor(f"{call.value}{call.rest}")
    assert opened is not None and opened.path == wanted and not opened.deleted


@settings(max_examples=200)
@given(st.text(alphabet=st.characters(codec="latin-1"), max_size=200))
def test_arbitrary_text_is_read_or_refused(text: str) -> None:
    try:
        tid, rest = syntax.split_line(text)
        call = syntax.parse_call(rest)
    except syntax.UnparsedLineError:
        return
    assert tid >= 0 and call.name


@settings(max_examples=200)
@given(st.text(alphabet='"\\<>[](){},-=/ aT:1.', max_size=120))
def test_hostile_punctuation_never_breaks_a_reader(text: str) -> None:
    for read in (syntax.descriptor, syntax.descriptors, syntax.endpoint, syntax.address, syntax.string):
        read(text)
    syntax.strings(text)
    syntax.translated_pid(text)


@pytest.mark.parametrize(
    "unit",
    ['"', '"\\', "<", '<"', "\\", "-", "->", "</-", "[", "{(", ",", '",', "1<", "a<b", '@"', "</<char 1:3>>"],
)
def test_time_is_linear_in_the_length_of_a_line(unit: str) -> None:
    text = "open(" + unit * (400_000 // len(unit))
    start = time.process_time()
    with contextlib.suppress(syntax.UnparsedLineError):
        syntax.parse_call(text)
    for read in (syntax.descriptor, syntax.endpoint, syntax.address, syntax.string, syntax.unescape):
        read(unit * (400_000 // len(unit)))
    assert time.process_time() - start < 10.0


@pytest.mark.parametrize(
    ("text", "path", "other", "deleted"),
    [
        ("3</tmp/a b>", "/tmp/a b", "", False),
        ("AT_FDCWD</home/sam>", "/home/sam", "", False),
        ("4</tmp/del>(deleted)", "/tmp/del", "", True),
        ("4</tmp/x (deleted)>", "/tmp/x (deleted)", "", False),
        ("3</tmp/x->", "/tmp/x-", "", False),
        ("3</tmp/a\\74b\\76>", "/tmp/a<b>", "", False),
        ("10</dev/null<char 1:3>>", "/dev/null", "", False),
        ("6<TCP:[127.0.0.1:1->10.0.0.1:443]>", "", "TCP:[127.0.0.1:1->10.0.0.1:443]", False),
        ("17<pipe:[27444]>", "", "pipe:[27444]", False),
        ("13<pid:8470>", "", "pid:8470", False),
        ("5", "", "", False),
    ],
)
def test_descriptors(text: str, path: str, other: str, deleted: bool) -> None:
    found = syntax.descriptor(text)
    assert found is not None
    assert (found.path, found.other, found.deleted) == (path, other, deleted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("TCP:[27267]", ("tcp", 27267, "", "")),
        ("TCP:[127.0.0.1:41075]", ("tcp", 0, "127.0.0.1:41075", "")),
        ("TCPv6:[[::1]:5->[2001:db8::1]:443]", ("tcp", 0, "[::1]:5", "[2001:db8::1]:443")),
        ("UDP:[0.0.0.0:4]", ("udp", 0, "0.0.0.0:4", "")),
        ('UNIX-STREAM:[27301,"/tmp/w/so<c>k"]', ("unix", 27301, "", "/tmp/w/so<c>k")),
        ('UNIX-STREAM:[27301,@"name"]', ("unix", 27301, "", "@name")),
        ("UNIX-DGRAM:[12->13]", ("unix", 12, "", "")),
    ],
)
def test_sockets(text: str, wanted: tuple[str, int, str, str]) -> None:
    found = syntax.endpoint(text)
    assert found is not None
    assert (found.protocol, found.inode, found.source, found.destination) == wanted


@pytest.mark.parametrize("text", ["pipe:[12]", "anon_inode:[eventfd]", "pid:12", "", "x"])
def test_what_is_no_socket(text: str) -> None:
    assert syntax.endpoint(text) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            '{sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("203.0.113.9")}',
            ("inet", "203.0.113.9:443"),
        ),
        (
            "{sa_family=AF_INET6, sin6_port=htons(53), sin6_flowinfo=htonl(0), "
            'inet_pton(AF_INET6, "2001:db8::1", &sin6_addr), sin6_scope_id=0}',
            ("inet", "[2001:db8::1]:53"),
        ),
        ('{sa_family=AF_UNIX, sun_path="/run/x\\"y"}', ("unix", '/run/x"y')),
        ('{sa_family=AF_UNIX, sun_path=@"abs"}', ("abstract", "abs")),
        ("{sa_family=AF_NETLINK, nl_pid=0, nl_groups=00000000}", ("other", "netlink")),
        ("NULL", None),
        ("0x7ffe", None),
    ],
)
def test_addresses(text: str, wanted: tuple[str, str] | None) -> None:
    assert syntax.address(text) == wanted


@pytest.mark.parametrize(
    ("text", "value", "error"),
    [
        ("close(3)        = 0", 0, ""),
        ('unlink("a = -1 ENOENT (x)") = -1 EPERM (Operation not permitted)', -1, "EPERM"),
        ("io_uring_setup(8, {}) = -1 ENOSYS (Function not implemented) (INJECTED)", -1, "ENOSYS"),
        ("exit_group(0)                     = ?", None, ""),
        ("wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL) = 4", 4, ""),
        ("mmap(NULL, 10, PROT_READ, MAP_SHARED, 4</a>, 0) = 0x7f378abda000", 0x7F378ABDA000, ""),
        ("poll([{fd=3}], 1, -1) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)", None, "ERESTARTSYS"),
    ],
)
def test_results(text: str, value: int | None, error: str) -> None:
    call = syntax.parse_call(text)
    assert (call.value, call.error) == (value, error)


@pytest.mark.parametrize(
    "text", ["", "open", "open(", 'open("x', "open() ", "open(]) = 0x", "= 3", "open{} = 1"]
)
def test_what_strace_never_writes_is_refused(text: str) -> None:
    with pytest.raises(syntax.UnparsedLineError):
        syntax.parse_call(text)


def test_arguments_are_split_at_their_own_commas_only() -> None:
    call = syntax.parse_call('execve("/a,b", ["x", "y,(z"], 0x7ff /* 39 vars */) = 0')
    assert len(call.arguments) == 3
    assert syntax.strings(call.argument(1)) == ("x", "y,(z")


def test_pids_are_translated() -> None:
    assert syntax.translated_pid("3 /* 7794 in strace's PID NS */") == (3, 7794)
    assert syntax.translated_pid("-1") == (-1, -1)
    assert syntax.translated_pid("x") == (0, 0)
