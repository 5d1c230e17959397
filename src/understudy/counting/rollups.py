"""Counting from fewer rows: collapsed rows collapse further once attributes that a table does not
need are left out.

Ten million distinct rows of fifteen attributes may be a hundred thousand of eight. A search that
asks for thousands of tables over different attributes gains much from that, a single question
nothing. So rows are rolled up only after tables that it would have served have cost as much as
rolling up does: at worst that doubles the work.

Attributes are left out one at a time, in one fixed order, those first whose absence joins most
rows. Tables that lack the same leading attributes of the order so share their rolled-up rows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from understudy.counting import Counter
from understudy.counting.memory import MemoryCounter
from understudy.data.marginals import Axis, Marginal

ROLL_UP_PRICE = 50
"""Rolling up is taken to cost as much as counting this many tables: a round figure; if it is wrong,
it costs time.
"""

MIN_ROLLUP_ROWS = 1 << 16
"""Fewer rows than this are not rolled up further."""

WORKING_BYTES = 20
"""What rolling up takes for each row, for a while: keys, numbers, and a hash table."""

ROOM = 1 << 29
"""Bytes that collapsed rows may take up, rolled-up ones among them: 512 MiB."""

ROOM_BESIDE_TABLE = 3 << 27
"""The same where the table itself is in memory, too: 384 MiB, enough for 10^7 rows of 15 columns.
"""


@dataclass
class Room:
    """Bytes that are left for collapsed rows, shared by all who hold some."""

    left: int = ROOM


class RollUps(Counter):
    """A counter over collapsed rows that keeps rolled-up ones at hand.

    Parameters
    ----------
    counter
        Who counts; where its rows are not collapsed, or few, it counts everything itself.
    room
        How much memory there is for its rows and rolled-up ones.
    """

    def __init__(self, counter: MemoryCounter, room: Room | None = None) -> None:
        self._counter = counter
        self._room = room or Room()
        self._room.left -= counter.nbytes
        self._root = _Node(counter, frozenset(counter.attributes))
        self._order: list[str] | None = None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self._counter.rows

    @property
    def distinct_rows(self) -> int | None:
        """How many rows are left after equal ones were collapsed; None if they were not."""
        return self._counter.distinct_rows

    def size(self, axis: Axis) -> int:
        """How many values an attribute has at a level."""
        return self._counter.size(axis)

    def count_flat(
        self, marginals: Sequence[Marginal]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same tables one after the other in one buffer, and where each of them starts (and the
        last one ends).
        """
        if self._root.entries <= MIN_ROLLUP_ROWS:
            return self._counter.count_flat(marginals)
        if self._order is None:
            self._order = self._counter.joining_order()
        homes = list(
            self._homes(
                self._root,
                [frozenset(a for a, _ in axes) for axes in marginals],
                range(len(marginals)),
            )
        )
        if len(homes) == 1:
            return homes[0][0].count_flat(marginals)
        sizes = {axis: self.size(axis) for axis in set(chain.from_iterable(marginals))}
        cells = [math.prod(sizes[axis] for axis in axes) for axes in marginals]
        offsets = np.zeros(len(marginals) + 1, np.int64)
        np.cumsum(cells, out=offsets[1:])
        flat = np.zeros(int(offsets[-1]), np.int64)
        for counter, places in homes:
            counter.count_into([marginals[place] for place in places], flat, offsets[places])
        return flat, offsets

    def _homes(
        self, node: _Node, wanted: Sequence[frozenset[str]], places: Sequence[int]
    ) -> list[tuple[MemoryCounter, list[int]]]:
        """Who counts which of the marginals at these places: a node, or those further up that it
        rolls up to.
        """
        homes: list[tuple[MemoryCounter, list[int]]] = []
        staying: list[int] = []
        leaving: defaultdict[str, list[int]] = defaultdict(list)
        for place in places:
            spare = self._spare(node, wanted[place])
            (staying if spare is None else leaving[spare]).append(place)
        for name, those in leaving.items():
            node.asked[name] += len(those)
            if name not in node.above and node.asked[name] >= ROLL_UP_PRICE:
                node.above[name] = self._without(node, name)
            above = node.above.get(name)
            if above is not None:
                homes += self._homes(above, wanted, those)
            else:
                staying += those
        if staying:
            return [(node.counter, sorted(staying)), *homes]
        return homes

    def _spare(self, node: _Node, wanted: frozenset[str]) -> str | None:
        """The next attribute in the order that can be left out."""
        assert self._order is not None
        if node.entries <= MIN_ROLLUP_ROWS:
            return None
        return next(
            (name for name in self._order if name in node.attributes and name not in wanted), None
        )

    def _without(self, node: _Node, name: str) -> _Node | None:
        """Rows rolled up further, if there is room for the work and for them."""
        if node.entries * WORKING_BYTES > self._room.left:
            return None
        kept = node.attributes - {name}
        counter = node.counter.roll_up(kept, self._room.left)
        if counter is None:
            return None
        self._room.left -= counter.nbytes
        return _Node(counter, kept)

    def leave(self) -> None:
        """Give back the room, when this counter is not needed any more."""
        self._room.left += sum(node.counter.nbytes for node in self._root.all())


class _Node:
    """Rows collapsed over some attributes."""

    def __init__(self, counter: MemoryCounter, attributes: frozenset[str]) -> None:
        self.counter = counter
        self.attributes = attributes
        self.entries = counter.distinct_rows or 0
        self.asked: defaultdict[str, int] = defaultdict(int)
        """For each attribute, how many tables were asked for that could do without it."""
        self.above: dict[str, _Node | None] = {}
        """The same rows without an attribute, if there was room for them."""

    def all(self) -> Iterator[_Node]:
        """The node itself and all that it was rolled up to."""
        yield self
        for above in self.above.values():
            if above is not None:
                yield from above.all()
