"""Counting rows that lie elsewhere: an engine groups them, memory counts the groups.

An engine is asked for *cuboids*: the distinct combinations of codes of some attributes, and how
many rows have each. All tables over these attributes, at any level, are then summed from the cuboid
in memory, where the kernels of :mod:`understudy.counting.memory` do it some thousand times faster
than a query each. So the passes over the rows are few: one, where all attributes together fit; see
:mod:`understudy.counting.planning` for which cuboids are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.counting import Counter
from understudy.counting.memory import MAX_COUNTED_CELLS, MemoryCounter
from understudy.counting.planning import GroupingPlan, plan_groupings
from understudy.counting.rollups import RollUps, Room
from understudy.counting.sums import Summer
from understudy.data.bits import Bits
from understudy.data.marginals import Axis, Marginal, describe
from understudy.data.schema import Attribute, Schema
from understudy.errors import InputError


@dataclass(frozen=True)
class Cuboid:
    """The distinct combinations of codes of some attributes, and how many rows have each: as
    private as the rows.
    """

    codes: Mapping[str, NDArray[Any]]
    weights: NDArray[Any]


class CodedRows(Protocol):
    """Coded rows that can be grouped, wherever they are."""

    @property
    def schema(self) -> Schema:
        """What is public about the rows."""

    @property
    def rows(self) -> int:
        """How many there are."""

    @property
    def most_groups(self) -> int:
        """How many distinct combinations at most are worth fetching at once."""

    @property
    def distinct(self) -> int:
        """How many distinct rows there are, at most."""

    def group(self, sets: Sequence[tuple[str, ...]]) -> list[Cuboid]:
        """A cuboid for each set of attributes, in one pass over the rows."""

    def missing_cells(self) -> NDArray[np.int64]:
        """How many rows have 0, 1, 2, ... missing cells."""

    def summer(self) -> Summer:
        """What sums over the rows."""

    def explain(self) -> list[str]:
        """How the rows were coded, in sentences for the owner."""


@dataclass(frozen=True, eq=False)
class MergedValues:
    """Attributes of which some values are merged.

    Attributes
    ----------
    schema
        The attributes as they are then.
    codes
        For each attribute with merged values, the new code of every code.
    """

    schema: Schema
    codes: Mapping[str, NDArray[np.int64]]

    def merge(self, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Columns of codes, as new codes."""
        merged = dict(columns)
        for name, codes in self.codes.items():
            if name in columns:
                merged[name] = codes.astype(np.min_scalar_type(int(codes.max())))[columns[name]]
        return merged


class CuboidCounter(Counter):
    """Exact tables of counts of rows that an engine holds.

    Parameters
    ----------
    source
        The rows.
    bits
        If given, the attributes are the bits of the rows' attributes.
    merged
        If given, some values of the rows' attributes are merged.
    """

    def __init__(
        self, source: CodedRows, bits: Bits | None = None, merged: MergedValues | None = None
    ) -> None:
        self._source = source
        self._bits = bits
        self._merged = merged
        self.schema = source.schema
        if bits is not None:
            self.schema = bits.schema
        elif merged is not None:
            self.schema = merged.schema
        whole = source.schema.modelled
        if bits is None:
            self._base = {attribute.name: attribute.name for attribute in whole}
        else:
            self._base = {
                name: attribute.name for attribute in whole for name in bits.names(attribute)
            }
        self._base_sizes = {attribute.name: attribute.size for attribute in whole}
        self._sizes = {
            Axis(attribute.name, level): size
            for attribute in self.schema.modelled
            for level, size in enumerate(attribute.sizes_by_level())
        }
        self._held: dict[tuple[Counter, frozenset[str]], RollUps] = {}
        self._room = Room()
        self._most = min(source.most_groups, self._room.left // (2 * self._bytes_a_row()))
        self.plans: list[GroupingPlan] = []
        """What was asked of the engine so far."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self._source.rows

    def missing_cells(self) -> NDArray[np.int64]:
        """How many rows have 0, 1, 2, ... missing cells."""
        return self._source.missing_cells()

    def summer(self) -> Summer:
        """What sums over the rows."""
        self._check_plain("sums")
        return self._source.summer()

    def in_bits(self, bits: Bits) -> CuboidCounter:
        """The same rows, their attributes taken apart into bits."""
        self._check_plain("bits")
        return CuboidCounter(self._source, bits)

    def merge_values(self, merged: MergedValues) -> CuboidCounter:
        """The same rows, some of their values merged; both share the room for cuboids."""
        self._check_plain("values to be merged")
        other = CuboidCounter(self._source, merged=merged)
        other._room, other._held, other.plans = self._room, self._held, self.plans
        return other

    def _check_plain(self, what: str) -> None:
        if self._bits is not None or self._merged is not None:
            raise InputError(
                f"Rows in bits, or with merged values, have no {what}; ask a curator of the rows "
                "themselves."
            )

    def size(self, axis: Axis) -> int:
        """How many values an attribute has at a level."""
        try:
            return self._sizes[axis]
        except KeyError:
            raise InputError(f"There is no attribute {axis} to count; check the schema.") from None

    def count_flat(
        self, marginals: Sequence[Marginal]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same tables one after the other in one buffer, and where each of them starts (and the
        last one ends).
        """
        offsets = np.zeros(len(marginals) + 1, np.int64)
        np.cumsum([self._cells(axes) for axes in marginals], out=offsets[1:])
        # As it stays where a table has no axes.
        flat = np.full(int(offsets[-1]), self.rows, np.int64)
        waiting = {
            place: frozenset(self._base[axis.attribute] for axis in axes)
            for place, axes in enumerate(marginals)
            if axes
        }

        def count_held() -> None:
            for counter, places in self._homes(waiting):
                counted, starts = counter.count_flat([marginals[place] for place in places])
                for place, (begin, end) in zip(places, pairwise(starts.tolist()), strict=True):
                    flat[offsets[place] : offsets[place + 1]] = counted[begin:end]
                    del waiting[place]

        count_held()
        if waiting:
            plan = plan_groupings(
                set(waiting.values()), self._base_sizes, self._source.distinct, self._most
            )
            self.plans.append(plan)
            for (
                sets
            ) in plan.queries:  # each is counted before the next is asked, which may need its room
                self._fetch(sets)
                count_held()
        return flat, offsets

    def _cells(self, axes: Marginal) -> int:
        if len({axis.attribute for axis in axes}) < len(axes):
            raise InputError(
                f"The marginal {describe(axes)} has an attribute twice; name each once."
            )
        cells = 1
        for axis in axes:
            cells *= self.size(axis)
        if cells > MAX_COUNTED_CELLS:
            raise InputError(
                f"The table of {describe(axes)} has more than {MAX_COUNTED_CELLS:,} cells; "
                "take fewer attributes."
            )
        return cells

    def explain(self) -> list[str]:
        """How the rows were counted, in sentences: for the owner, since it depends on how many rows
        there are.
        """
        return [*self._source.explain(), *(plan.explain() for plan in self.plans)]

    # ---- cuboids

    def _homes(self, waiting: Mapping[int, frozenset[str]]) -> list[tuple[RollUps, list[int]]]:
        """Cuboids that are held, each with the places of the marginals that it serves."""
        served: dict[int, tuple[RollUps, list[int]]] = {}
        for place, need in waiting.items():
            home = self._home(need)
            if home is not None:
                served.setdefault(id(home), (home, []))[1].append(place)
        return list(served.values())

    def _home(self, need: frozenset[str]) -> RollUps | None:
        """The smallest cuboid that holds these attributes."""
        held = [
            counter
            for (owner, attributes), counter in self._held.items()
            if owner is self and need <= attributes
        ]
        return min(held, key=lambda counter: counter.distinct_rows or 0, default=None)

    def _fetch(self, sets: Sequence[frozenset[str]]) -> None:
        """Ask the engine for cuboids, and let go of the oldest ones while there are too many."""
        ordered = [
            tuple(name for name in self._base_sizes if name in attributes) for attributes in sets
        ]
        for names, cuboid in zip(ordered, self._source.group(ordered), strict=True):
            self._held[self, frozenset(names)] = RollUps(self._counter(names, cuboid), self._room)
        for owner, attributes in list(self._held):
            if self._room.left >= 0 or (owner is self and attributes in sets):
                break
            self._held.pop((owner, attributes)).leave()

    def _bytes_a_row(self) -> int:
        """What a row of all attributes takes up in memory, with its weight."""
        sizes = [attribute.size for attribute in self.schema.modelled]
        return (
            sum(np.min_scalar_type(size - 1).itemsize for size in sizes)
            + np.dtype(np.uint32).itemsize
        )

    def _counter(self, names: tuple[str, ...], cuboid: Cuboid) -> MemoryCounter:
        whole = [self._source.schema[name] for name in names]
        codes: Mapping[str, NDArray[Any]] = cuboid.codes
        attributes: Sequence[Attribute] = whole
        if self._bits is not None:
            bits = Bits(Schema(tuple(whole)), self._bits.gray)
            codes, attributes = (
                bits.split(codes),
                [self.schema[name] for a in whole for name in bits.names(a)],
            )
        elif self._merged is not None:
            codes = self._merged.merge(codes)
            attributes = [self.schema[name] for name in names]
        counter = MemoryCounter(
            codes,
            {attribute.name: attribute.generalisations for attribute in attributes},
            {attribute.name: attribute.size for attribute in attributes},
            weights=cuboid.weights,
        )
        if self._merged is None or counter.rows == 0:
            return counter
        return counter.roll_up(names) or counter  # rows that differed in merged values are equal
