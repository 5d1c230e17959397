"""Full-domain generalisation: one level of its hierarchy for each quasi-identifier, the same for
all rows.

The levels form a lattice. A node is good if the rows in groups that break the requirement are at
most a given share, and are suppressed. The search looks for the good node with the least loss.
Small lattices are searched whole, from the cheapest node on. Large ones (twenty columns with six
levels have 10^15 nodes) are climbed: raise the column that brings most rows into good groups for
what it costs, until the node is good, then lower every column that can be lowered; the result
cannot be improved by lowering any column, but a better one may exist elsewhere.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.classes import EquivalenceClasses, find_classes
from understudy.anonymity.microdata import Microdata
from understudy.anonymity.requirement import Judge
from understudy.errors import InputError

MAX_NODES = 4_000
"""Nodes of a lattice that is searched whole."""

LatticeNode = tuple[int, ...]
"""The level of each quasi-identifier."""


@dataclass(frozen=True)
class Generalised:
    """A node of the lattice, tried: who falls into which group, and who must go."""

    levels: dict[str, int]
    classes: EquivalenceClasses
    kept: NDArray[np.bool_]
    exact: bool
    """Whether the whole lattice was searched, so that no node costs less."""

    @property
    def suppressed(self) -> int:
        """How many rows must go."""
        return int((~self.kept).sum())


def search_levels(
    table: Microdata, names: Sequence[str], judge: Judge, max_suppressed: float
) -> Generalised:
    """The good node with the least loss.

    Parameters
    ----------
    table
        The rows, with a hierarchy for each quasi-identifier.
    names
        The quasi-identifiers.
    judge
        Says which groups are good enough.
    max_suppressed
        The share of rows that may be suppressed.
    """
    if not 0 <= max_suppressed < 1:
        raise InputError(
            f"The share of rows to suppress must be from 0 to below 1, not {max_suppressed!r}."
        )
    lattice = _Lattice(table, names, judge, max_suppressed)
    if lattice.size <= MAX_NODES:
        node, exact = lattice.search_whole(), True
    else:
        node, exact = lattice.climb(), False
    if node is None:
        raise InputError(
            f"Not even the whole table as one group fulfils {judge.requirement}; ask for less."
        )
    kept = lattice.find_kept_rows(node)
    classes = lattice.classes(node, np.flatnonzero(kept))
    return Generalised(dict(zip(names, node, strict=True)), classes, kept, exact)


class _Lattice:
    def __init__(
        self, table: Microdata, names: Sequence[str], judge: Judge, max_suppressed: float
    ) -> None:
        self.table, self.judge = table, judge
        self.columns = [table[name] for name in names]
        self.tops = tuple(len(values.hierarchy) - 1 for values in self.columns)
        self.allowed = int(max_suppressed * table.rows)
        self._costs = [
            [float(values.shares @ losses) for losses in values.hierarchy.losses]
            for values in self.columns
        ]
        self._broken: dict[LatticeNode, int] = {}

    @property
    def size(self) -> float:
        return float(np.prod([float(top + 1) for top in self.tops]))

    @cached_property
    def bottom(self) -> LatticeNode:
        return (0,) * len(self.columns)

    def cost(self, node: LatticeNode) -> float:
        """The mean loss of a cell if nothing were suppressed: it grows with every level."""
        return sum(costs[level] for costs, level in zip(self._costs, node, strict=True))

    def classes(
        self, node: LatticeNode, rows: NDArray[np.int64] | None = None
    ) -> EquivalenceClasses:
        """The groups of a node, of all rows or of some."""
        columns, sizes = [], []
        for values, height in zip(self.columns, node, strict=True):
            level = values.hierarchy.levels[height]
            codes = values.codes
            if rows is not None:
                codes = codes[rows]
            columns.append(level.places[codes])
            sizes.append(len(level.labels))
        return find_classes(columns, sizes)

    def find_kept_rows(self, node: LatticeNode) -> NDArray[np.bool_]:
        """Which rows are in good groups."""
        classes = self.classes(node)
        good: NDArray[np.bool_] = self.judge.find_fulfilled(classes)[classes.of_row]
        return good

    def count_broken_rows(self, node: LatticeNode) -> int:
        """How many rows are in groups that break the requirement."""
        if node not in self._broken:
            self._broken[node] = int((~self.find_kept_rows(node)).sum())
        return self._broken[node]

    def is_good(self, node: LatticeNode) -> bool:
        return self.count_broken_rows(node) <= self.allowed

    def list_above(self, node: LatticeNode) -> list[LatticeNode]:
        """The nodes one level above."""
        return [
            (*node[:place], level + 1, *node[place + 1 :])
            for place, level in enumerate(node)
            if level < self.tops[place]
        ]

    def list_below(self, node: LatticeNode) -> list[LatticeNode]:
        """The nodes one level below."""
        return [
            (*node[:place], level - 1, *node[place + 1 :])
            for place, level in enumerate(node)
            if level > 0
        ]

    def search_whole(self) -> LatticeNode | None:
        """From the cheapest node on: the first good one has the least loss."""
        waiting, seen = [(self.cost(self.bottom), self.bottom)], {self.bottom}
        while waiting:
            _, node = heapq.heappop(waiting)
            if self.is_good(node):
                return node
            for above in self.list_above(node):
                if above not in seen:
                    seen.add(above)
                    heapq.heappush(waiting, (self.cost(above), above))
        return None

    def climb(self) -> LatticeNode | None:
        """Up by the best step until the node is good, then down wherever it stays good."""
        node = self.bottom
        while not self.is_good(node):
            steps = self.list_above(node)
            if not steps:
                return None
            here, cost = self.count_broken_rows(node), self.cost(node)
            node = max(
                steps,
                key=lambda step: (
                    (here - self.count_broken_rows(step) + 1) / max(self.cost(step) - cost, 1e-12),
                    step,
                ),
            )
        improved = True
        while improved:
            improved = False
            for below in sorted(self.list_below(node), key=self.cost):
                if self.is_good(below):
                    node, improved = below, True
                    break
        return node
