"""Mondrian: groups of similar rows, by cutting the table in two again and again (LeFevre et al.
2006).

A group is cut along the quasi-identifier in which it is widest, at the median, if both halves
fulfil the requirement; else along the next widest; a group that cannot be cut is done. All groups
are cut side by side in whole-array steps, so a million rows take seconds.

*Strict*: rows with the same value stay together, so the regions of groups do not overlap. Of the
two cuts beside the median value the more even one is tried first, then the other: with many equal
values one of them may leave nothing on one side. *Relaxed*: the cut is exactly in the middle, and
rows that have the median value go to either side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.classes import EquivalenceClasses
from understudy.anonymity.microdata import ColumnValues, Microdata
from understudy.anonymity.requirement import Judge
from understudy.errors import InputError

MAX_HELD = 1 << 26
"""Flags of groups by values that are held at a time."""

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def partition_rows(
    table: Microdata, names: Sequence[str], judge: Judge, *, relaxed: bool = False
) -> EquivalenceClasses:
    """Put each row into a group; every group fulfils the judge's requirement.

    Parameters
    ----------
    table
        The rows.
    names
        The quasi-identifiers.
    judge
        Says which groups are good enough.
    relaxed
        Whether rows with the same value may go to different groups.
    """
    whole = EquivalenceClasses(np.zeros(table.rows, dtype=np.int64), 1)
    if not judge.find_fulfilled(whole).all():
        raise InputError(
            f"Not even the whole table as one group fulfils {judge.requirement}; ask for less."
        )
    return _Mondrian(table, names, judge, relaxed).run()


@dataclass
class _Groups:
    """Groups that may still be cut: their rows one after another."""

    rows: Ints
    sizes: Ints
    spans: NDArray[np.float64]
    """One line per group, one place per quasi-identifier; 0 where no cut is left to try."""

    @property
    def starts(self) -> Ints:
        return np.cumsum(self.sizes) - self.sizes

    def of_row(self) -> Ints:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def keep(self, groups: Flags) -> _Groups:
        return _Groups(
            self.rows[np.repeat(groups, self.sizes)], self.sizes[groups], self.spans[groups]
        )


def _place_values(values: ColumnValues) -> NDArray[np.float64] | None:
    """Where values lie; nothing for categories without an order, of which groups hold a share."""
    if values.ordered:
        return values.positions
    return None


class _Mondrian:
    def __init__(self, table: Microdata, names: Sequence[str], judge: Judge, relaxed: bool) -> None:
        self.codes = np.stack([table[name].codes for name in names]).astype(np.int64)
        self.positions = [_place_values(table[name]) for name in names]
        self.sizes = [table[name].size for name in names]
        self.size = max(self.sizes)
        self.judge = judge
        self.relaxed = relaxed
        self.finished = np.zeros(table.rows, dtype=np.int64)
        self.count = 0

    def run(self) -> EquivalenceClasses:
        rows = np.arange(self.codes.shape[1])
        groups = self._measure(rows, np.array([len(rows)]))
        while len(groups.sizes):
            # Too small to be cut, or nothing left to cut along.
            done = (groups.sizes < 2 * self.judge.requirement.k) | (groups.spans.max(axis=1) <= 0)
            self._finish(groups.keep(done))
            groups = self._cut(groups.keep(~done))
        return EquivalenceClasses(self.finished, self.count)

    def _finish(self, groups: _Groups) -> None:
        self.finished[groups.rows] = self.count + groups.of_row()
        self.count += len(groups.sizes)

    def _measure(self, rows: Ints, sizes: Ints) -> _Groups:
        starts = np.cumsum(sizes) - sizes
        spans = np.zeros((len(sizes), len(self.positions)))
        of_row = np.repeat(np.arange(len(sizes)), sizes)
        for place, positions in enumerate(self.positions):
            codes = self.codes[place][rows]
            if positions is None:
                spans[:, place] = self._count_others(of_row, codes, place, len(sizes))
                continue
            highest = np.maximum.reduceat(codes, starts)
            lowest = np.minimum.reduceat(codes, starts)
            # A value may lie where another does (missing beside the largest): still a cut.
            wide = np.maximum(positions[highest] - positions[lowest], 1e-9)
            spans[:, place] = np.where(highest > lowest, wide, 0.0)
        return _Groups(rows, sizes, spans)

    def _count_others(
        self, of_row: Ints, codes: Ints, place: int, groups: int
    ) -> NDArray[np.float64]:
        """The share of a category's other values that each group holds."""
        size = self.sizes[place]
        if groups * size > MAX_HELD:
            pairs = np.unique(of_row * size + codes)
            distinct = np.bincount(pairs // size, minlength=groups)
            return (distinct - 1) / max(size - 1, 1)
        held = np.zeros(groups * size, dtype=bool)
        held[of_row * size + codes] = True
        return (held.reshape(groups, size).sum(axis=1) - 1) / max(size - 1, 1)

    def _cut(self, groups: _Groups) -> _Groups:
        """Try the widest cut of each group: halves where it is good, else one cut less to try."""
        if not len(groups.sizes):
            return groups
        along = groups.spans.argmax(axis=1)
        of_row = groups.of_row()
        keys = of_row * self.size + self.codes[along[of_row], groups.rows]
        order = np.argsort(keys, kind="stable")
        groups = _Groups(groups.rows[order], groups.sizes, groups.spans)
        cuts = self._choose_cuts(groups, keys[order])
        good = cuts > 0
        failed = groups.keep(~good)
        failed.spans[np.arange(len(failed.sizes)), along[~good]] = 0.0
        split = groups.keep(good)
        halves = np.stack([cuts[good], split.sizes - cuts[good]], axis=1).ravel()
        if not len(halves):
            return failed
        fresh = self._measure(split.rows, halves)
        return _Groups(
            np.concatenate([failed.rows, fresh.rows]),
            np.concatenate([failed.sizes, fresh.sizes]),
            np.concatenate([failed.spans, fresh.spans]),
        )

    def _choose_cuts(self, groups: _Groups, keys: Ints) -> Ints:
        """How many rows each group's first half has; 0 where no cut is good."""
        middle = groups.sizes // 2
        if self.relaxed:
            return np.where(self._are_good(groups, middle), middle, 0)
        median = keys[groups.starts + middle]
        below = np.searchsorted(keys, median, side="left") - groups.starts
        upto = np.searchsorted(keys, median, side="right") - groups.starts
        uneven = np.abs(2 * np.stack([below, upto]) - groups.sizes)
        nearer, other = np.where(uneven[0] <= uneven[1], (below, upto), (upto, below))
        cuts = np.where(self._are_good(groups, nearer), nearer, 0)
        again = cuts == 0
        if again.any():
            cuts[again] = np.where(
                self._are_good(groups.keep(again), other[again]), other[again], 0
            )
        return cuts

    def _are_good(self, groups: _Groups, cuts: Ints) -> Flags:
        """Whether both sides of each cut fulfil the requirement."""
        good = np.minimum(cuts, groups.sizes - cuts) >= self.judge.requirement.k
        if not self.judge.requirement.about_sensitive or not good.any():
            return good
        tried = groups.keep(good)
        halves = np.stack([cuts[good], tried.sizes - cuts[good]], axis=1).ravel()
        classes = EquivalenceClasses(np.repeat(np.arange(len(halves)), halves), len(halves))
        fulfilled = self.judge.find_fulfilled(classes, tried.rows)
        good[good] = fulfilled.reshape(-1, 2).all(axis=1)
        return good
