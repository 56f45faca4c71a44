"""The stage of one episode: an unprivileged user, namespaces, and the tree of files on a small disk.

Called in the process that becomes the supervisor, in the order of this module. Everything that shows in a
mount table has the same name in every episode, whatever layers it uses.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conjunct.errors import WorldError
from conjunct.world import kernel
from conjunct.world.spec import Limits
from conjunct.world.standins import RECORDS
from conjunct.world.system import CRONTABS, HOST_LINKS, SYSTEM_FOLDERS, WRITABLE_FOLDERS

FALLBACK_ID = 64777
"""User and group that root becomes where there is no system user `conjunct`."""
SETTINGS = Path("/proc/sys")
_STICKY = 0o1777


def unprivileged_identity() -> tuple[int, int] | None:
    """(uid, gid) that the world has to take, or `None` where the caller is an ordinary user already."""
    if os.geteuid() != 0:
        return None
    import pwd

    try:
        entry = pwd.getpwnam("conjunct")
    except KeyError:
        return FALLBACK_ID, FALLBACK_ID
    return entry.pw_uid, entry.pw_gid


def drop_privileges(identity: tuple[int, int] | None) -> None:
    """Become `identity` for good, without groups.

    Process limits do not bind root, and bubblewrap started as root keeps capabilities.
    """
    if identity is None:
        return
    uid, gid = identity
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    # A change of user makes /proc/self belong to root, and then the id maps cannot be written.
    kernel.set_process_flag(kernel.PR_SET_DUMPABLE, 1)


def enter_namespaces() -> None:
    """New user, mount, network, IPC and pid namespaces; the next child is PID 1 of the last.

    Raises `WorldError` with the remedy where the host refuses.
    """
    uid, gid = os.geteuid(), os.getegid()
    flags = kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS | kernel.CLONE_NEWNET
    try:
        kernel.unshare(flags | kernel.CLONE_NEWIPC | kernel.CLONE_NEWPID)
        Path("/proc/self/setgroups").write_text("deny", "ascii")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1", "ascii")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1", "ascii")
    except OSError as error:
        raise WorldError(
            f"an unprivileged user namespace was refused ({error}): {namespace_remedy()}"
        ) from error


def namespace_remedy() -> str:
    """What to do on this host so that unprivileged user namespaces work."""

    def value(name: str) -> str:
        try:
            return (SETTINGS / name).read_text("ascii").strip()
        except OSError:
            return ""

    if value("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            "AppArmor restricts them (Ubuntu 23.10 and later): sudo sysctl -w "
            "kernel.apparmor_restrict_unprivileged_userns=0, or give the Python interpreter and bwrap a "
            "profile with `userns,`"
        )
    if value("kernel/unprivileged_userns_clone") == "0":
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if value("user/max_user_namespaces") == "0":
        return "sudo sysctl -w user.max_user_namespaces=10000"
    return (
        "inside a container start it with --security-opt seccomp=unconfined "
        "--security-opt apparmor=unconfined --security-opt systempaths=unconfined (Docker, Podman), "
        "or run on a virtual machine (CI runners)"
    )


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the parts of one episode's file tree are, as the supervisor sees them."""

    root: Path
    """The tree that the world's processes see."""
    upper: Path | None
    """Changes to the home folder; `None` where overlays are refused and the home is a copy."""
    trace: Path
    """File for the tracer's lines, on a disk of its own."""
    binds: tuple[tuple[str, str], ...] = ()
    """(source as the supervisor sees it, destination in the world) of what else is provided."""


def set_stage(
    place: Path,
    *,
    home: str,
    layers: Sequence[Path],
    system: Path,
    fresh: Sequence[tuple[str, bytes]],
    provided: Sequence[tuple[str, str]],
    printed: Sequence[tuple[str, bytes]],
    limits: Limits,
) -> Stage:
    """Mount the tree of one episode at `place`, visible to this mount namespace only.

    `layers`: read-only folders with the parts of `home`, uppermost first. `system`: the folder that holds
    `etc` and the like; `fresh`: (path in the world, content) of system files that are this episode's own.
    `provided`: (folder of the host, folder in the world) to be shown read-only. `printed`: (path in the
    world, content) in place of files of the kernel. Raises `WorldError`.
    """
    try:
        kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV)
        _bound_shared_memory(limits)
        options = f"size={limits.disk_bytes},nr_inodes=16384,mode=0755"
        kernel.mount("tmpfs", place, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
        os.chdir(place)
        record = Path("record")
        record.mkdir()
        trace_size = limits.trace_bytes + (1 << 20)
        kernel.mount(
            "tmpfs", record, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, f"size={trace_size},mode=0700"
        )
        root = Path("root")
        Path("none").mkdir()
        for name in (*SYSTEM_FOLDERS, *WRITABLE_FOLDERS, home.lstrip("/"), "usr", "proc"):
            (root / name).mkdir(parents=True, exist_ok=True)
        _mount_system(root, system, fresh)
        (root / RECORDS.lstrip("/")).mkdir()
        for name in WRITABLE_FOLDERS:
            (root / name).chmod(0o755 if name == "run" else _STICKY)
        upper = _mount_home(root / home.lstrip("/"), layers)
        binds = [*_mount_provided(provided), *_write_printed(printed)]
    except OSError as error:
        raise WorldError(
            f"cannot build the file tree of the world: {error}; run `conjunct doctor`"
        ) from error
    here = place.absolute()
    return Stage(
        root=here / root,
        upper=here / upper if upper else None,
        trace=here / record / "trace",
        binds=tuple((str(here / name), destination) for name, destination in binds),
    )


def _bound_shared_memory(limits: Limits) -> None:
    """System V segments outlive their processes, so no process limit holds them; their namespace's does."""
    with contextlib.suppress(OSError):
        Path("/proc/sys/kernel/shmall").write_text(str(limits.memory_bytes // 8 // 4096), "ascii")
        Path("/proc/sys/kernel/msgmni").write_text("64", "ascii")


def _mount_system(root: Path, system: Path, fresh: Sequence[tuple[str, bytes]]) -> None:
    _veil("/usr", root / "usr")
    for name in HOST_LINKS:
        host = Path("/") / name
        if host.is_symlink():
            (root / name).symlink_to(host.readlink())
    for name in ("sys", "vartmp", "crontabs", "e"):
        Path(name).mkdir()
    Path("y").symlink_to(system)
    try:
        _write_fresh(Path("e"), fresh, system)
        kernel.mount("overlay", "sys", "overlay", kernel.MS_RDONLY, "lowerdir=e:y:none,userxattr")
    except OSError:
        shutil.copytree(system, "sys", symlinks=True, dirs_exist_ok=True)
        _write_fresh(Path("sys"), fresh, system)
    for name in SYSTEM_FOLDERS:
        kernel.mount(f"sys/{name}", root / name, "", kernel.MS_BIND)
    kernel.mount("vartmp", root / "var/tmp", "", kernel.MS_BIND)
    kernel.mount("crontabs", root / CRONTABS, "", kernel.MS_BIND)


def _write_fresh(folder: Path, fresh: Sequence[tuple[str, bytes]], system: Path) -> None:
    """Write files of this episode with the times that everything of the system has."""
    places = [folder]
    for path, content in fresh:
        place = folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        places += [place.parent, place]
    moment = system.stat().st_mtime_ns
    for place in places:
        os.utime(place, ns=(moment, moment))


def _write_printed(printed: Sequence[tuple[str, bytes]]) -> list[tuple[str, str]]:
    binds = []
    for number, (destination, content) in enumerate(printed):
        place = Path(f"k{number}")
        place.write_bytes(content)
        place.chmod(0o444)
        binds.append((place.name, destination))
    return binds


def _mount_provided(provided: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    binds = []
    for number, (source, destination) in enumerate(provided):
        name = f"p{number}"
        Path(name).mkdir()
        # A colon or a comma in the path of the host would end the option.
        Path(f"q{number}").symlink_to(source)
        _veil(f"q{number}", Path(name))
        binds.append((name, destination))
    return binds


def _veil(source: str, target: Path) -> None:
    """Show a folder of the host without its disk: free space there changes from one look to the next."""
    try:
        kernel.mount("overlay", target, "overlay", kernel.MS_RDONLY, f"lowerdir=none:{source},userxattr")
    except OSError:
        kernel.mount(source, target, "", kernel.MS_BIND | kernel.MS_REC)


def _mount_home(home: Path, layers: Sequence[Path]) -> Path | None:
    names = [f"l{number}" for number in range(len(layers))]
    for name, layer in zip(names, layers, strict=True):
        Path(name).symlink_to(layer)
    upper, work = Path("u"), Path("k")
    upper.mkdir()
    work.mkdir()
    look = layers[0].stat() if layers else home.stat()
    try:
        # Without user attributes on the upper disk (tmpfs before Linux 6.6) deleting and making a folder
        # again fails.
        os.setxattr(upper, "user.overlay.probe", b"y")
        os.removexattr(upper, "user.overlay.probe")
        lower = ":".join([*names, "none"])
        kernel.mount(
            "overlay", home, "overlay", kernel.MS_NOSUID, f"lowerdir={lower},upperdir=u,workdir=k,userxattr"
        )
    except OSError:
        for layer in reversed(layers):
            shutil.copytree(layer, home, symlinks=True, dirs_exist_ok=True)
        upper_used = None
    else:
        upper_used = upper
    os.utime(upper_used or home, ns=(look.st_mtime_ns, look.st_mtime_ns))
    return upper_used
