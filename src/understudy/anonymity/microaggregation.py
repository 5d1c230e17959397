"""Micro-aggregation: groups of at least k similar rows, each replaced by the mean of its group.

MDAV (Domingo-Ferrer and Torra 2005): the row farthest from the centre and its k - 1 nearest form a
group, then the row farthest from that one and its k - 1 nearest, and again, while enough rows are
left. Columns are brought to a common scale first. Exact means of k people are published; this is
not differential privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.suppression import check_names
from understudy.data.columns import Column, Table
from understudy.data.frames import Frame, as_table
from understudy.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def microaggregate(table: Frame, names: Sequence[str], k: int) -> tuple[Table, Ints]:
    """Replace each row's numbers by the mean of its group; gives the table and each row's group.

    Parameters
    ----------
    table
        A table, a frame or the path of a file.
    names
        Columns of numbers, without missing cells.
    k
        The least number of rows in a group.
    """
    read, _ = as_table(table)
    check_names(read, names)
    if not names:
        raise InputError("Name the columns of numbers that are to be grouped.")
    numbers = np.stack([_numbers(read, name) for name in names], axis=1)
    groups = group_by_mdav(numbers, k)
    sizes = np.bincount(groups)
    columns = dict(read.columns)
    for place, name in enumerate(names):
        means = np.bincount(groups, weights=numbers[:, place]) / sizes
        columns[name] = Column("real", means[groups])
    return replace(read, columns=columns), groups


def group_by_mdav(numbers: Floats, k: int) -> Ints:
    """The group of each row: k rows each, the last one up to 2k - 1."""
    rows = len(numbers)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"k must be a whole number from 1 on, not {k!r}.")
    if k > rows:
        raise InputError(f"The table has {rows:,} rows, so no group of them can have k = {k:,}.")
    deviations = numbers.std(axis=0)
    points = (numbers - numbers.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
    grouping = _Grouping(points, k)
    while grouping.left >= 3 * k:
        first = grouping.take_around(grouping.find_farthest(grouping.centre()))
        grouping.take_around(grouping.find_farthest(first))
    if grouping.left >= 2 * k:
        grouping.take_around(grouping.find_farthest(grouping.centre()))
    grouping.take_rest()
    return grouping.groups


class _Grouping:
    """Rows that wait for a group, kept together in memory: what is taken is replaced by rows from
    the end.
    """

    def __init__(self, points: Floats, k: int) -> None:
        self.points = np.ascontiguousarray(points.T)
        self.rows = np.arange(points.shape[0])
        self.k, self.left, self.count = k, len(self.rows), 0
        self.groups = np.empty(len(self.rows), dtype=np.int64)
        self.total = self.points.sum(axis=1)

    def centre(self) -> Floats:
        return self.total / self.left

    def find_farthest(self, point: Floats) -> int:
        return int(self._distances(point).argmax())

    def take_around(self, place: int) -> Floats:
        """Make a group of a row and its nearest; gives where the row lies."""
        point = self.points[:, place].copy()
        away = self._distances(point)
        away[place] = -1.0  # itself first, whatever else lies at the same point
        nearest = np.argpartition(away, self.k - 1)[: self.k]
        self._take(nearest)
        return point

    def take_rest(self) -> None:
        self._take(np.arange(self.left))

    def _distances(self, point: Floats) -> Floats:
        away = np.zeros(self.left)
        for column, value in zip(self.points, point, strict=True):
            apart = column[: self.left] - value
            away += apart * apart
        return away

    def _take(self, places: Ints) -> None:
        self.groups[self.rows[places]] = self.count
        self.count += 1
        self.total -= self.points[:, places].sum(axis=1)
        end = self.left - len(places)
        holes = places[places < end]
        staying = np.setdiff1d(np.arange(end, self.left), places, assume_unique=True)
        self.points[:, holes] = self.points[:, staying]
        self.rows[holes] = self.rows[staying]
        self.left = end


def _numbers(table: Table, name: str) -> Floats:
    column = table.columns[name]
    if column.kind not in ("integer", "real"):
        raise InputError(f"The column {name!r} holds no numbers, so it has no means.")
    numbers = column.values.astype(np.float64)
    if (column.missing is not None and column.missing.any()) or not np.isfinite(numbers).all():
        raise InputError(f"The column {name!r} has missing cells; leave out these rows first.")
    return numbers
