"""What the world provides to programs: locked Python and Node packages, certificates, stand-ins.

Built once at set-up, outside any world, and mounted read-only into every one. The name of its folder is the
digest of everything it is made of, so a finished runtime never changes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from conjunct.world.clock import system_files as clock_files
from conjunct.world.package_index import PackageIndex
from conjunct.world.runtime_build import build_once, runtime_digest
from conjunct.world.sinkhole_tls import Authority, load_authority
from conjunct.world.spec import Layout

WORLD_NODE_MODULES = "/node_modules"
"""Node looks for packages in every parent folder, so the root serves every script without a variable."""
WORLD_PROGRAMS = "/usr/local/bin"
"""Before the system's programs on the path: `pip`, and programs that work on the world's own files."""
WORLD_STAND_INS = "/usr/local/games"
"""After the system's programs on the path: what the system does not have. Debian has it there for users."""
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
"""The search path of programs in the world, without the user's own folder."""
_HOST_PACKAGES = ("/usr/lib/python3/dist-packages",)


# Debian closes the system's packages to pip; in a world it may install into the user's folder. Where a world
# has no network, trying again only spends the time limit.
_PIP = b"[global]\nbreak-system-packages = true\ndisable-pip-version-check = true\nretries = 0\n"
SYSTEM_FOLDER = Path("/var/lib/conjunct/runtime")


@dataclass(frozen=True, slots=True)
class Runtime:
    """A finished runtime; made by `ensure_runtime`."""

    digest: str
    root: Path
    python_target: str
    """Folder of the world in which Python looks for the packages; empty where `PYTHONPATH` is needed."""
    missing: tuple[str, ...] = ()
    """Packages of the locks that could not be installed, as `name==version: reason`."""

    @property
    def python(self) -> Path:
        """Folder of the Python packages."""
        return self.root / "python"

    @property
    def node(self) -> Path:
        """Folder of the Node packages."""
        return self.root / "node_modules"

    def binds(self) -> tuple[tuple[str, str], ...]:
        """(folder on this machine, folder in the world) to be mounted read-only."""
        # The host's own Python packages are hidden: what a program finds must not depend on the host.
        hidden = [(str(self.root / "empty"), folder) for folder in _HOST_PACKAGES if Path(folder).is_dir()]
        return (
            *hidden,
            (str(self.python), self.python_target or "/opt/python"),
            (str(self.node), WORLD_NODE_MODULES),
            (str(self.root / "programs"), WORLD_PROGRAMS),
            (str(self.root / "stand-ins"), WORLD_STAND_INS),
        )

    @property
    def has_clock(self) -> bool:
        """Whether worlds can have another clock than the host's."""
        return (self.root / "stand-ins" / ".clock.so").exists()

    def environment(self, layout: Layout | None = None) -> tuple[tuple[str, str], ...]:
        """Variables that every command of a world needs; the user's own programs come last on the path."""
        path = f"{PATH}:{(layout or Layout()).home}/.local/bin"
        values = [("PATH", path), ("NODE_EXTRA_CA_CERTS", "/etc/ssl/certs/ca-certificates.crt")]
        if not self.python_target:
            values.append(("PYTHONPATH", "/opt/python"))
        return tuple(values)

    def system_files(self) -> tuple[tuple[str, bytes], ...]:
        """(path relative to the world's root, content) of system files that belong to the runtime."""
        return (
            ("etc/ssl/certs/ca-certificates.crt", self.certificates()),
            ("etc/pip.conf", _PIP),
            *clock_files(available=self.has_clock),
        )

    def certificates(self) -> bytes:
        """The trust store of the world: the usual authorities and the world's own."""
        return (self.root / "authority" / "bundle.pem").read_bytes()

    def authority(self) -> Authority:
        """The certificate authority with which the sinkhole answers."""
        return load_authority(self.root / "authority")

    def index(self) -> PackageIndex:
        """The package index that offers exactly what is installed here."""
        return PackageIndex(wheels=self.root / "wheels", node_modules=self.node)


def ensure_runtime(progress: Callable[[str], None] | None = None, *, folder: Path | None = None) -> Runtime:
    """The runtime of this version of conjunct, built now if this machine does not have it.

    `folder`: where runtimes are kept, by default the system's folder for root and the user's own else (one
    that root has built already is used by everybody). May
    be interrupted and started twice at once; a folder with the digest's name is always whole. Raises
    `WorldError` if there is no Python to build with; packages that cannot be had are listed in `missing`.
    """
    digest = runtime_digest()
    base = folder or default_folder()
    root = base / digest[:24]
    shared = SYSTEM_FOLDER / digest[:24]
    if not (root / "runtime.json").exists() and folder is None and _made_by_root(shared):
        root = shared
    if not (root / "runtime.json").exists():
        build_once(base, digest, progress or (lambda line: None))
    facts = json.loads((root / "runtime.json").read_text("utf-8"))
    return Runtime(digest, root, facts["python_target"], tuple(facts["missing"]))


def default_folder() -> Path:
    """Where runtimes are kept: readable for the user that a world started by root becomes."""
    if os.geteuid() == 0:
        return SYSTEM_FOLDER
    return Path(platformdirs.user_data_dir("conjunct")) / "runtime"


def _made_by_root(place: Path) -> bool:
    """Whether there is a whole runtime that only root can change."""
    try:
        return (place / "runtime.json").is_file() and place.parent.stat().st_uid == place.stat().st_uid == 0
    except OSError:
        return False
