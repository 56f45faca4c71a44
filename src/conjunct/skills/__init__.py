"""What is vetted: folders, archives and registries read into `Skill`, with digest and declaration."""

from conjunct.skills.allowed_tools import parse_allowed_tools
from conjunct.skills.bounds import Bounds
from conjunct.skills.changed import changed_skills
from conjunct.skills.digest import package_digest
from conjunct.skills.discover import Follow
from conjunct.skills.front_matter import FrontMatter, parse_front_matter
from conjunct.skills.naming import combined
from conjunct.skills.reader import default_staging, read_registry
from conjunct.skills.scripts import language_of, scripts_of
from conjunct.skills.stand_ins import placebo_for, stub_of

__all__ = [
    "Bounds",
    "Follow",
    "FrontMatter",
    "changed_skills",
    "combined",
    "default_staging",
    "language_of",
    "package_digest",
    "parse_allowed_tools",
    "parse_front_matter",
    "placebo_for",
    "read_registry",
    "scripts_of",
    "stub_of",
]
