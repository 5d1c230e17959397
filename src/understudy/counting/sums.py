"""Exact sums of whole numbers that every row has: the numbers, their products, by groups of rows.

What a row adds is a function of that row and of public values alone: each *term* is a number of
whole steps, read off one cell. All of it is whole numbers below 2^53, worked out in floating point
or not: so the order of addition does not matter, and rows in an engine have the same sums as rows
in memory. Exact sums are private: only a curator may hold them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.counting.directions import Directions
from understudy.data.cells import CellEncoder, CodeColumn
from understudy.data.marginals import Marginal
from understudy.data.schema import Attribute, Schema
from understudy.data.tables import Table
from understudy.data.value_classes import GridValues
from understudy.errors import InputError

Moments = Literal["none", "squares", "products"]

MAX_STEPS = 1 << 15
"""What a row adds to one sum is at most this many steps. Products are then below 2^30 and, of 2^31
rows, sums below 2^61.
"""

ROWS_PER_PRODUCT = 1 << 16
"""Sums of this many products are below 2^46: exact in floating point."""


@dataclass(frozen=True, kw_only=True)
class Term:
    """A whole number that each row has, read off the cell of one column.

    Parameters
    ----------
    attribute
        How the cell is coded.
    offset
        Of a number on a grid (:class:`~understudy.data.value_classes.GridValues`): what is added to
        its code.
    values
        Of any other attribute: the number for each code, ``None`` where the cell counts as missing.
    """

    attribute: Attribute
    offset: int = 0
    values: tuple[int | None, ...] = ()

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest number of a row that counts."""
        if isinstance(self.attribute, GridValues):
            return self.offset, self.offset + self.attribute.values_size - 1
        known = [value for value in self.values if value is not None]
        return min(known, default=0), max(known, default=0)


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """Groups of rows by which of some public points is nearest to them, the first of equals.

    Parameters
    ----------
    points
        Of each point its place in each term, in steps.
    weights
        What a step of each term counts in the distance, which is Euclidean.
    """

    points: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]

    def place(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of the nearest point, row by row; terms are added in their order."""
        found = np.zeros(len(values), dtype=np.int64)
        best = np.full(len(values), math.inf)
        for place, point in enumerate(self.points):
            distance = np.zeros(len(values))
            for column, (centre, weight) in enumerate(zip(point, self.weights, strict=True)):
                part = (values[:, column] - centre) * weight
                distance += part * part
            closer = distance < best
            found[closer] = place
            best = np.where(closer, distance, best)
        return found


@dataclass(frozen=True, kw_only=True)
class Summation:
    """What is to be summed over the rows.

    Parameters
    ----------
    terms
        What each row adds.
    moments
        Which products of terms are summed, too.
    by
        The attributes whose cells are summed by themselves.
    nearest
        Points whose neighbourhoods are, within each such cell.
    centres
        For each group and each term a whole number of steps that is taken off.
    radius
        A row whose terms, as a vector, are longer than this is shortened to it.
    complete
        Whether a row counts only where no term is missing; else a missing term counts as 0.
    directions
        What is summed are the components of a row along these, before it is shortened; else its
        terms.
    pooled
        Whether groups serve to find their centres alone, and all rows are summed together.
    """

    terms: tuple[Term, ...]
    moments: Moments = "none"
    by: Marginal = ()
    nearest: Nearest | None = None
    centres: tuple[tuple[int, ...], ...] = ()
    radius: int | None = None
    complete: bool = True
    directions: Directions | None = None
    pooled: bool = False

    @property
    def width(self) -> int:
        """How many numbers a row adds."""
        if self.directions is None:
            return len(self.terms)
        return len(self.directions.lines)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The least and the greatest number that a row adds, term by term, before it is shortened;
        a row that does not count adds 0.
        """
        centres: Sequence[tuple[int, ...]] = [(0,)] * len(self.terms)
        if self.centres:
            centres = list(zip(*self.centres, strict=True))
        return [
            (min(term.range[0] - max(taken), 0), max(term.range[1] - min(taken), 0))
            for term, taken in zip(self.terms, centres, strict=True)
        ]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The places of the terms whose products are summed."""
        places = range(self.width)
        if self.moments == "none":
            return []
        if self.moments == "squares":
            return [(place, place) for place in places]
        return [(first, second) for first in places for second in places[first:]]

    @property
    def shrink(self) -> float:
        """The radius, less what rounding may add on the way to a shortened row.

        A row of squared length S above R^2 has its terms multiplied by shrink / sqrt(S) and rounded
        towards 0. S is a whole number below 2^53 and exact; the root, the quotient and the product
        are each rounded to the nearest double, so each is at most 1 + 2^-53 of what it should be,
        and (1 - 2^-50) (1 + 2^-53)^3 < 1. So a term is at most R / sqrt(S) of what it was, and the
        row no longer than R.
        """
        assert self.radius is not None
        return self.radius * (1 - 2.0**-50)


@dataclass(frozen=True)
class ExactSums:
    """Sums over rows: as private as these."""

    counts: NDArray[np.int64]
    """How many rows count, for each group."""
    sums: NDArray[np.int64]
    """A line for each group, a column for each term."""
    moments: NDArray[np.int64]
    """A line for each group, a column for each pair."""

    def __add__(self, other: ExactSums) -> ExactSums:
        return ExactSums(
            self.counts + other.counts, self.sums + other.sums, self.moments + other.moments
        )


class Summer(Protocol):
    """Whatever can sum over rows: a table in memory, or an engine that holds them."""

    def check(self, summation: Summation) -> None:
        """Refuse what cannot be summed here; by public facts alone, before anything is paid."""

    def sum(self, summation: Summation) -> ExactSums:
        """Exact sums."""


class MemorySummer:
    """Sums over rows in memory.

    Parameters
    ----------
    schema, codes
        The coded rows, of which groups are made and categories summed.
    table
        The same rows as they are, of which numbers are read; ``None`` where only codes are known.
    """

    def __init__(
        self, schema: Schema, codes: Mapping[str, CodeColumn], table: Table | None
    ) -> None:
        self._schema = schema
        self._codes = codes
        self._table = table
        self._read: dict[GridValues, CodeColumn] = {}

    def check(self, summation: Summation) -> None:
        """Numbers need the rows as they are."""
        for term in summation.terms:
            if self._table is None and isinstance(term.attribute, GridValues):
                raise InputError(
                    f"Of {term.attribute.name!r} only codes are known here, which have no sum; "
                    "ask a curator of the rows themselves."
                )

    def sum(self, summation: Summation) -> ExactSums:
        """Exact sums."""
        shape = [self._schema[axis.attribute].sizes_by_level()[axis.level] for axis in summation.by]
        work = _RunningSums(summation, shape)
        columns = [self._column(term) for term in summation.terms]
        groups = [self._codes[axis.attribute] for axis in summation.by]
        levels = [_level(self._schema[axis.attribute], axis.level) for axis in summation.by]
        used = {term.attribute for term in summation.terms}
        self._read = {grid: codes for grid, codes in self._read.items() if grid in used}
        for rows in _some_rows(len(columns[0])):
            work.add(
                [codes[rows] for codes in columns],
                [level[codes[rows]] for level, codes in zip(levels, groups, strict=True)],
            )
        return work.found

    def _column(self, term: Term) -> CodeColumn:
        """The codes of a term's cells; those of numbers are kept for the next question."""
        attribute = term.attribute
        if not isinstance(attribute, GridValues):
            return self._codes[attribute.name]
        if attribute not in self._read:
            assert self._table is not None
            column = self._table.columns[attribute.name]
            self._read[attribute] = CellEncoder(attribute, column).codes()
        return self._read[attribute]


class _RunningSums:
    """Sums that grow by some rows at a time."""

    def __init__(self, summation: Summation, shape: Sequence[int]) -> None:
        self.summation = summation
        self._shape = tuple(shape)
        groups = math.prod(self._shape)
        if summation.nearest is not None:
            groups *= len(summation.nearest.points)
        if summation.pooled:
            groups = 1
        terms = summation.width
        self.found = ExactSums(
            np.zeros(groups, dtype=np.int64),
            np.zeros((groups, terms), dtype=np.int64),
            np.zeros((groups, len(summation.pairs)), dtype=np.int64),
        )

    def add(self, codes: Sequence[CodeColumn], cells: Sequence[NDArray[Any]]) -> None:
        """Add some rows, given by their codes and by the cells of the attributes to group by."""
        values, missing = self._values(codes)
        groups = self._groups(cells, values)
        if self.summation.centres:
            values -= np.array(self.summation.centres)[groups]
            values[missing] = 0
        if self.summation.complete:
            whole = ~missing.any(axis=1)
            values, groups = values[whole], groups[whole]
        if self.summation.directions is not None:
            values = self.summation.directions.along(values)
        if self.summation.pooled:
            groups = np.zeros_like(groups)
        if self.summation.radius is not None:
            values = shorten(values, self.summation)
        counts = np.bincount(groups, minlength=len(self.found.counts))
        self.found.counts[:] += counts
        if len(counts) > 1:
            values = values[np.argsort(groups, kind="stable")]
        ends = np.cumsum(counts)
        for group in np.flatnonzero(counts):
            mine = values[ends[group] - counts[group] : ends[group]]
            self.found.sums[group] += mine.sum(axis=0).astype(np.int64)
            self.found.moments[group] += self._moments(mine)

    def _values(self, codes: Sequence[CodeColumn]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The terms of each row, 0 where they are missing, and where that is."""
        values = np.empty((len(codes[0]), len(codes)))
        missing = np.zeros(values.shape, dtype=bool)
        for place, (term, column) in enumerate(zip(self.summation.terms, codes, strict=True)):
            if isinstance(term.attribute, GridValues):
                missing[:, place] = column == term.attribute.values_size
                values[:, place] = column.astype(np.int64) + term.offset
            else:
                known = np.array([value is not None for value in term.values])
                missing[:, place] = ~known[column]
                values[:, place] = np.array([value or 0 for value in term.values])[column]
        values[missing] = 0
        return values, missing

    def _groups(
        self, cells: Sequence[NDArray[Any]], values: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        groups = np.zeros(len(values), dtype=np.int64)
        for size, cell in zip(self._shape, cells, strict=True):
            groups = groups * size + cell
        nearest = self.summation.nearest
        if nearest is not None:
            groups = groups * len(nearest.points) + nearest.place(values)
        return groups

    def _moments(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        if self.summation.moments == "products":
            square = values.T @ values
            return square[np.triu_indices(len(square))].astype(np.int64)
        if self.summation.moments == "squares":
            return (values * values).sum(axis=0).astype(np.int64)
        return np.zeros(0, dtype=np.int64)


def shorten(values: NDArray[np.float64], summation: Summation) -> NDArray[np.float64]:
    """Rows that are no longer than the radius, see :attr:`Summation.shrink`."""
    assert summation.radius is not None
    squares = (values * values).sum(axis=1)
    long = squares > summation.radius**2
    factors = summation.shrink / np.sqrt(squares[long])
    shortened = values.copy()
    shortened[long] = np.trunc(values[long] * factors[:, None])
    return shortened


def _level(attribute: Attribute, level: int) -> NDArray[np.int64]:
    """What codes become at a level."""
    if level == 0:
        return np.arange(attribute.size)
    return attribute.generalisations[level - 1].astype(np.int64)


def _some_rows(rows: int) -> Iterator[slice]:
    for first in range(0, rows, ROWS_PER_PRODUCT):
        yield slice(first, min(first + ROWS_PER_PRODUCT, rows))
