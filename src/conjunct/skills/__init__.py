"""What is vetted: folders, archives and registries read into `Skill`, with digest and declaration."""

from conjunct.skills.allowed_tools import parse_allowed_tools
from conjunct.skills.bounds import Bounds
from conjunct.skills.digest import package_digest
from conjunct.skills.discover import Follow
from conjunct.skills.front_matter import FrontMatter, parse_front_matter
from conjunct.skills.reader import default_staging, read_registry

__all__ = [
    "Bounds",
    "Follow",
    "FrontMatter",
    "default_staging",
    "package_digest",
    "parse_allowed_tools",
    "parse_front_matter",
    "read_registry",
]
