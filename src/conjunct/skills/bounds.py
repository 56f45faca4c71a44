"""How much of a hostile package is read: every limit of the room in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of intake. What lies beyond one becomes a finding; what lies within is still read."""

    manifest_bytes: int = 1 << 20
    """`SKILL.md` is read up to here."""
    front_matter_bytes: int = 64 << 10
    yaml_events: int = 20_000
    yaml_depth: int = 32
    file_bytes: int = 64 << 20
    """Larger files are listed with their size but neither hashed nor staged."""
    package_bytes: int = 512 << 20
    package_files: int = 20_000
    depth: int = 48
    """Folders below the root, of a package as of a registry."""
    path_bytes: int = 1024
    registry_folders: int = 200_000
    registry_skills: int = 20_000
    registry_archives: int = 2_000
    """Archives in a registry folder that are opened."""
    nested_skills: int = 3
    """Skills within skills: each level is staged once more as part of those above it."""
    archive_bytes: int = 1 << 30
    """Unpacked size of an archive."""
    archive_members: int = 100_000
    archive_ratio: int = 200
    """Unpacked over packed size, looked at once `archive_ratio_from` bytes have come out."""
    archive_ratio_from: int = 32 << 20
    bytecode_bytes: int = 4 << 20
    bytecode_files: int = 200
    """Compiled files compared with their source per package; the rest are reported as not compared."""
    compile_seconds: float = 20.0


DEFAULT_BOUNDS = Bounds()
