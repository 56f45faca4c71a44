"""What programs keep in a home folder after their first start: made once at set-up, the same in every world.

Without it the first script of every episode that draws a picture would spend seconds on the list of fonts and
leave a file that the next one reads: skills that have nothing to do with each other would seem to meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from conjunct.errors import WorldError
from conjunct.world.layers import LayerEntry
from conjunct.world.spec import Command, CommandResult, EffectKind, Limits, WorldSpec

if TYPE_CHECKING:
    from conjunct.world.runtime import Runtime

FOLDER = "home"
"""Below the root of a runtime: the files, by their paths in a home folder."""
_FIRST_START = (
    "import matplotlib; matplotlib.use('Agg'); from matplotlib import pyplot; pyplot.plot([1]); "
    "pyplot.title('a'); pyplot.savefig('/tmp/first.png'); pyplot.savefig('/tmp/first.pdf')"
)
_KEPT = (".cache/", ".config/")
_SECONDS = 120.0


def make_caches(runtime: Runtime) -> str:
    """Start such programs in a world and keep what they leave below the runtime's `home`.

    Gives the reason where that cannot be done, and then worlds are slower but the same.
    """
    from conjunct.world.world import open_world

    try:
        limits = Limits(command_seconds=_SECONDS, episode_seconds=_SECONDS)
        with open_world(
            WorldSpec(environment=runtime.environment(), limits=limits), runtime=runtime
        ) as world:
            command = Command(("python3", "-c", _FIRST_START), world.layout.workspace, turn=1, step=0)
            result = world.run(command)
            return _keep(result, world.layout.home, runtime.root / FOLDER)
    except (WorldError, OSError) as error:
        return f"no world can be started yet: {error}"


def _keep(result: CommandResult, home: str, place: Path) -> str:
    if result.record.status != 0:
        return f"matplotlib does not start: {result.stderr.decode('utf-8', 'replace').strip()[-200:]}"
    for effect in result.effects:
        path = effect.path.removeprefix(f"{home}/")
        if path == effect.path or not path.startswith(_KEPT):
            continue
        if effect.kind is EffectKind.FOLDER:
            (place / path).mkdir(parents=True, exist_ok=True)
        elif effect.kind is EffectKind.WRITTEN:
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_bytes(effect.content)
    return ""


def cache_entries(runtime: Runtime) -> Iterator[LayerEntry]:
    """The kept files as parts of a home folder."""
    place = runtime.root / FOLDER
    for path in sorted(place.rglob("*")):
        name = str(path.relative_to(place))
        yield LayerEntry(name, folder=True) if path.is_dir() else LayerEntry(name, path.read_bytes())
