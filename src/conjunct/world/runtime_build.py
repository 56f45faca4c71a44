"""Building the runtime: downloads what the locks name, installs it without running it, and seals it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path

from conjunct.errors import WorldError
from conjunct.world import standins
from conjunct.world.caches import make_caches
from conjunct.world.clock import compile_library
from conjunct.world.sinkhole_tls import make_authority

FORMAT = "3"
"""Raised whenever the same locks would give another runtime."""
WORLD_PYTHON = "/usr/bin/python3"
SECONDS = 1200.0
"""Time that one download or installation may take."""
_TIME = 1735689600
"""Modification time of every file: 2025-01-01, before any level of the clock."""

Progress = Callable[[str], None]


def runtime_digest() -> str:
    """Digest of everything a runtime is made of: locks, stand-ins, format, Python, kind of machine."""
    digest = hashlib.sha256()
    parts = [FORMAT, _python_version(), platform.machine(), _data("runtime-python.lock")]
    parts += [_data("runtime-node.lock.json"), _data("clock.c.txt"), standins.digest()]
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()


def build_once(base: Path, digest: str, progress: Progress) -> None:
    """Build the runtime `digest` below `base`, unless somebody else has meanwhile. Raises `WorldError`."""
    try:
        base.mkdir(parents=True, exist_ok=True, mode=0o755)
        lock = (base / ".lock").open("w")
    except OSError as error:
        raise WorldError(f"the runtime cannot be built in {base}: {error}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            progress("another process builds the runtime; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        if (base / digest[:24] / "runtime.json").exists():
            return
        for stale in base.glob(".building-*"):  # the lock is ours: nobody works there any more
            shutil.rmtree(stale, ignore_errors=True)
        place = Path(tempfile.mkdtemp(prefix=".building-", dir=base))
        try:
            _build(place, digest, progress)
            if (base / digest[:24]).exists():  # left without its last file by a crash of the machine
                shutil.rmtree(base / digest[:24])
            place.rename(base / digest[:24])
        except OSError as error:
            raise WorldError(f"the runtime cannot be built in {base}: {error}") from error
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _build(place: Path, digest: str, progress: Progress) -> None:
    place.chmod(0o755)
    for name in ("python", "node_modules", "wheels", "authority"):
        (place / name).mkdir(mode=0o755)
    missing = _python_packages(place, progress)
    missing += _node_packages(place, progress)
    progress("runtime: certificates and stand-ins")
    _certificates(place)
    standins.install(place)
    reason = compile_library(place / "stand-ins" / ".clock.so")
    if reason:
        missing.append(f"clock: {reason}")
    (place / "empty").mkdir()
    progress("runtime: compiling")
    compile_all = ["-m", "compileall", "-q", "-j", "2", "--invalidation-mode", "unchecked-hash"]
    _run([WORLD_PYTHON, "-I", *compile_all, str(place / "python")])
    _seal(place)
    from conjunct.world.runtime import Runtime

    target = _python_target()
    progress("runtime: first start of programs that keep caches")
    reason = make_caches(Runtime(digest, place, target))
    if reason:
        progress(f"runtime: no caches are provided: {reason}")
    facts = {"digest": digest, "python_target": target, "missing": sorted(missing)}
    (place / "runtime.json").write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
    _seal(place)


# ---- Python


def _python_packages(place: Path, progress: Progress) -> list[str]:
    pip = _pip()
    if pip is None:
        return ["all Python packages: no pip found (Debian, Ubuntu: apt-get install python3-pip)"]
    lock = place / "lock.txt"
    lock.write_text(_data("runtime-python.lock"), "utf-8")
    wheels = place / "wheels"
    fetch = [*pip, "download", "--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    fetch += ["--dest", str(wheels), *_target_flags(pip[0])]
    progress("runtime: downloading Python packages")
    missing: list[str] = []
    if _run([*fetch, "-r", str(lock)]):
        missing = _one_by_one(fetch, lock, progress)
    lock.unlink()
    progress("runtime: installing Python packages")
    install = [
        *pip,
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-compile",
        "--no-warn-script-location",
    ]
    install += ["--target", str(place / "python"), *_target_flags(pip[0], installing=True)]
    if _run([*install, *map(str, sorted(wheels.iterdir()))]):
        for wheel in sorted(wheels.iterdir()):
            reason = _run([*install, "--upgrade", str(wheel)])
            if reason:
                missing.append(f"{wheel.name}: {reason}")
                wheel.unlink()
    _prune(place / "python", r"(?:^|/)tests?$|(?:^|/)__pycache__$")
    return missing


def _one_by_one(fetch: Sequence[str], lock: Path, progress: Progress) -> list[str]:
    """Download every package by itself, so that one that cannot be had does not cost the others."""
    missing: list[str] = []
    blocks = re.split(r"\n(?=[A-Za-z0-9])", lock.read_text("utf-8"))
    for block in blocks:
        name = block.split()[0]
        if "==" not in name:
            continue
        lock.write_text(block + "\n", "utf-8")
        reason = _run([*fetch, "-r", str(lock)])
        if reason:
            progress(f"runtime: {name} is not available: {reason}")
            missing.append(f"{name}: {reason}")
    return missing


def _pip() -> list[str] | None:
    for interpreter in (WORLD_PYTHON, sys.executable):
        if not _run([interpreter, "-m", "pip", "--version"]):
            return [interpreter, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    return None


def _target_flags(interpreter: str, *, installing: bool = False) -> list[str]:
    """Flags for a pip that runs under another Python than the world's."""
    if interpreter == WORLD_PYTHON or sys.version_info[:2] == tuple(map(int, _python_version().split("."))):
        return []
    flags = ["--implementation", "cp", "--python-version", _python_version()]
    return [*flags, "--only-binary", ":all:"] if installing else flags


def _python_version() -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = _output([WORLD_PYTHON, "-I", "-S", "-c", code])
    if not done:
        raise WorldError(f"{WORLD_PYTHON} does not run; install it (Debian, Ubuntu: apt-get install python3)")
    return done


def _python_target() -> str:
    """A folder below /usr/local in which the world's Python looks by itself; empty if there is none."""
    found = _output([WORLD_PYTHON, "-I", "-c", "import site; print('\\n'.join(site.getsitepackages()))"])
    for line in found.splitlines():
        if line.startswith("/usr/local/") and Path(line).is_dir():
            return line
    return ""


# ---- Node


def _node_packages(place: Path, progress: Progress) -> list[str]:
    npm = shutil.which("npm")
    if npm is None:
        return ["all Node packages: no npm found (Debian, Ubuntu: apt-get install npm)"]
    progress("runtime: downloading and installing Node packages")
    work = place / "node"
    work.mkdir()
    for name, document in json.loads(_data("runtime-node.lock.json")).items():
        (work / name).write_text(json.dumps(document), "utf-8")
    reason = _run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=work)
    if not reason:
        (place / "node_modules").rmdir()
        (work / "node_modules").rename(place / "node_modules")
        _prune(place / "node_modules", r"\.map$|/\.package-lock\.json$")
    shutil.rmtree(work)
    return [f"all Node packages: {reason}"] if reason else []


# ---- certificates, sealing


def _certificates(place: Path) -> None:
    authority = make_authority()
    folder = place / "authority"
    (folder / "ca.pem").write_bytes(authority.certificate)
    (folder / "ca.key").write_bytes(authority.key)
    usual = b""
    for store in (
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/cert.pem",
    ):
        if Path(store).is_file():
            usual = Path(store).read_bytes()
            break
    (folder / "bundle.pem").write_bytes(usual.rstrip() + b"\n" + authority.certificate)
    # Packages that bring their own store: certifi, and those who carry a copy of it.
    for own in (place / "python").rglob("cacert.pem"):
        own.write_bytes(own.read_bytes().rstrip() + b"\n" + authority.certificate)


def _prune(folder: Path, pattern: str) -> None:
    """Remove what no program needs: a quarter of the space."""
    for path in sorted(folder.rglob("*")):
        if re.search(pattern, path.as_posix()) and not path.is_symlink():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _seal(place: Path) -> None:
    """Readable for everyone, writable for nobody else, the same times for all."""
    for path in _everything(place):
        if not path.is_symlink():
            executable = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if executable else 0o644)
        os.utime(path, (_TIME, _TIME), follow_symlinks=False)


def _everything(place: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(place, topdown=False):
        for name in (*files, *folders):
            yield Path(folder) / name
    yield place


# ---- programs


def _data(name: str) -> str:
    return resources.files("conjunct.world").joinpath("data", name).read_text("utf-8")


def _output(argv: Sequence[str]) -> str:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(argv, capture_output=True, timeout=60, check=False)
        if done.returncode == 0:
            return done.stdout.decode().strip()
    return ""


def _run(argv: Sequence[str], cwd: Path | None = None) -> str:
    """Run a program; why it failed, or an empty string."""
    try:
        done = subprocess.run(
            argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = [line.strip() for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()] or lines
    return (errors[-1] if errors else f"exit {done.returncode}")[:300]
