"""Episodes of one candidate: in memory while its plan is under way, then in the store alone.

A thousand candidates make tens of thousands of episodes; what a conclusion needs of them is read again when
it is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence
from typing import overload

from conjunct.model import Episode
from conjunct.run.store import Store

_AT_ONCE = 64
"""Episodes read from the store in one go."""


class KeptEpisodes(MutableSequence[Episode]):
    """A list of recorded episodes. `spill` leaves only their keys in memory; reading brings them back."""

    def __init__(self, store: Store) -> None:
        """`store`: where every episode of this list has been recorded before it is spilled."""
        self._store = store
        self._items: list[Episode | str] = []

    def spill(self) -> None:
        """Let go of the episodes themselves."""
        self._items = [
            item if isinstance(item, str) else self._store.key_of(item.spec) for item in self._items
        ]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Episode]:
        for start in range(0, len(self._items), _AT_ONCE):
            part = self._items[start : start + _AT_ONCE]
            read = self._store.episodes_at([item for item in part if isinstance(item, str)])
            for item in part:
                yield item if isinstance(item, Episode) else read[item]

    @overload
    def __getitem__(self, index: int) -> Episode: ...
    @overload
    def __getitem__(self, index: slice) -> MutableSequence[Episode]: ...
    def __getitem__(self, index: int | slice) -> Episode | MutableSequence[Episode]:
        if isinstance(index, slice):
            return list(self)[index]
        item = self._items[index]
        return item if isinstance(item, Episode) else self._store.episodes_at([item])[item]

    @overload
    def __setitem__(self, index: int, value: Episode) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[Episode]) -> None: ...
    def __setitem__(self, index: int | slice, value: Episode | Iterable[Episode]) -> None:
        if isinstance(index, slice):
            assert not isinstance(value, Episode)
            self._items[index] = list(value)
        else:
            assert isinstance(value, Episode)
            self._items[index] = value

    def __delitem__(self, index: int | slice) -> None:
        del self._items[index]

    def insert(self, index: int, value: Episode) -> None:
        """Put an episode before the one at `index`."""
        self._items.insert(index, value)
