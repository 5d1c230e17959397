"""Noisy answers to linear queries over one contingency table: counts of classes of rows, and sums
of a public whole number for each row.

A row is in one cell of the table, and the cell says what the row adds to each answer: a column of
the query matrix. So the sensitivity is the length of the longest column (add_remove) or the largest
distance between two columns (replace), and it is worked out from the matrix itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.counting import Counter
from understudy.data.marginals import Marginal
from understudy.errors import InputError
from understudy.privacy.budget import Budget, Neighbours
from understudy.privacy.domain import Domain
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import (
    MAX_CHOICE_SCALE,
    ExactCounts,
    Noise,
    add_noise,
    describe_noise,
    gaussian_scale,
    laplace_scale,
)
from understudy.privacy.questions import LedgerLine, Question

MAX_COMPARED = 512
"""Columns of a query matrix that are compared two by two under replace; beyond, a bound serves."""

MAX_REACH = 1 << 30
"""What a row adds to all answers together, at most. The squares of what a replaced row moves, and
sums over 2^31 rows, are then below 2^63: whole numbers do not wrap around.
"""


@dataclass(frozen=True)
class QueryMatrix:
    """A matrix of whole numbers, one row per query and one column per cell of a table, of which
    only the entries other than 0 are kept.

    Parameters
    ----------
    queries, cells
        How many rows and columns there are.
    rows, columns, values
        The entries; each place occurs once.
    """

    queries: int
    cells: int
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.int64]

    def __post_init__(self) -> None:
        # In floating point, which does not wrap around where whole numbers would.
        sizes = np.bincount(self.columns, np.abs(self.values.astype(np.float64)))
        if sizes.max(initial=0) > MAX_REACH:
            raise InputError(
                f"A row would add more than {MAX_REACH:,} steps to an answer; ask for a difference "
                "from a public number, or take bounds nearer to 0."
            )

    @classmethod
    def counting(cls, classes: NDArray[np.int64], number: int) -> QueryMatrix:
        """One query per class: how many rows are in it. A cell of class -1 is in none."""
        cells = np.flatnonzero(classes.ravel() >= 0)
        owners = classes.ravel()[cells]
        return cls(number, classes.size, owners, cells, np.ones(len(cells), dtype=np.int64))

    @classmethod
    def weighing(
        cls, classes: NDArray[np.int64], number: int, weights: NDArray[np.int64]
    ) -> QueryMatrix:
        """For each class one query per row of ``weights``, which says what each cell adds to it."""
        cells = np.flatnonzero(classes.ravel() >= 0)
        owners = classes.ravel()[cells]
        kinds = len(weights)
        rows = np.concatenate([owners * kinds + kind for kind in range(kinds)])
        values = np.concatenate([row.ravel()[cells] for row in weights])
        columns = np.tile(cells, kinds)
        kept = values != 0
        return cls(number * kinds, classes.size, rows[kept], columns[kept], values[kept])

    def apply(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """The exact answers: as private as the table."""
        answers = np.zeros(self.queries, dtype=np.int64)
        np.add.at(answers, self.rows, self.values * table.ravel()[self.columns])
        return answers

    @cached_property
    def _norms(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of each column the sum of sizes, and of squares."""
        sizes = np.zeros(self.cells, dtype=np.int64)
        squares = np.zeros(self.cells, dtype=np.int64)
        np.add.at(sizes, self.columns, np.abs(self.values))
        np.add.at(squares, self.columns, self.values**2)
        return sizes, squares

    def distances(self, neighbours: Neighbours) -> tuple[int, int]:
        """How far one row carries the answers: the L1 distance, and the square of the L2 distance.

        **add_remove**: a row that comes or goes changes the answers by the column of its cell.
        **replace**: a row that moves changes them by the difference of two columns. Where the
        distinct columns are many, by the triangle inequality no two are farther apart than twice
        the longest; and if no entry is negative, |a - b|^2 <= |a|^2 + |b|^2 in L2.
        """
        sizes, squares = self._norms
        if self.cells == 0 or len(self.values) == 0:
            return 0, 0
        if neighbours == "add_remove":
            return int(sizes.max()), int(squares.max())
        columns = self._distinct_columns()
        if columns is None:
            factor = 4
            if (self.values >= 0).all():
                factor = 2
            return 2 * int(sizes.max()), factor * int(squares.max())
        apart = columns[:, None, :] - columns[None, :, :]
        return int(np.abs(apart).sum(axis=2).max()), int((apart**2).sum(axis=2).max())

    def _distinct_columns(self) -> NDArray[np.int64] | None:
        """The distinct columns, if they are few and short enough to be compared."""
        if self.queries > MAX_COMPARED or self.queries * self.cells > 1 << 22:
            return None
        dense = np.zeros((self.cells, self.queries), dtype=np.int64)
        dense[self.columns, self.rows] = self.values
        distinct = np.unique(dense, axis=0)
        if len(distinct) ** 2 * self.queries > MAX_COMPARED**2 * 8:
            return None
        return distinct


@dataclass(frozen=True, kw_only=True)
class LinearQueries(Question):
    """Noisy answers to linear queries over the table of a marginal, which are paid for together.

    ``text`` says in the ledger what was asked.
    """

    axes: Marginal
    matrix: QueryMatrix
    budget: Budget
    text: str

    def check(self, domain: Domain) -> None:
        """Refuse what is no table, and a matrix that does not go with it."""
        domain.check([self.axes])
        matrix = self.matrix
        if matrix.cells != domain.cells(self.axes):
            raise InputError("The query matrix does not have a column per cell of the table.")
        if not self.budget.amount > 0:
            raise InputError("A question cannot be answered for nothing; give it a budget.")

    def scale(self, ledger: Ledger) -> float:
        """The scale of the noise in each answer.

        A person with up to M rows carries the answers at most M times as far as one row does, by
        the triangle inequality.
        """
        l1, l2_squared = self.matrix.distances(ledger.neighbours)
        most = ledger.max_rows_per_person
        if self.budget.currency == "epsilon":
            scale = laplace_scale(max(most * l1, 1), self.budget.amount)
        else:
            distance = max(math.sqrt(l2_squared), 1.0)
            if distance != int(distance):
                distance = math.nextafter(distance, math.inf)
            scale = gaussian_scale(most * distance, self.budget.amount)
        if scale > MAX_CHOICE_SCALE:
            raise InputError(
                f"An answer for {self.budget.amount:g} of {self.budget.currency} would have noise "
                f"of {scale:.2g}, which teaches nothing; give it more budget."
            )
        return scale

    def ledger_line(self, scale: float) -> LedgerLine:
        """The line of all answers."""
        return self.text, self.budget, describe_noise(self.budget.currency, scale)


def answer_linear(
    question: LinearQueries, counter: Counter, ledger: Ledger, noise: Noise
) -> tuple[ExactCounts, float]:
    """Noisy answers and the scale of their noise, once they are paid for."""
    scale = question.scale(ledger)
    ledger.debit(*question.ledger_line(scale))
    [table] = counter.count([question.axes])
    answers = question.matrix.apply(table)
    return add_noise(noise, answers, question.budget.currency, scale), scale
