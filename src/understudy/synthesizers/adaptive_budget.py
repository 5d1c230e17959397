"""How `adaptive` divides its budget, from what is public and what was released: rows, with noise,
the domain, and the budget itself.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from understudy.models.graphical import Group
from understudy.models.graphical.learner import LARGE_DOMAIN, GraphicalLearner
from understudy.privacy.budget import Budget

LEAST_CELLS, MOST_CELLS = 250_000, 4_000_000
CELLS_PER_SIGNAL = 12.0
"""By default the cliques have this many cells for each time that the noise of a table goes into the
rows, within these bounds."""

CLEAR_NOISE = 0.04
MAX_CLEAR_SHARE = 0.3
"""Before any table of several attributes, single ones get at most this share of the budget until
noise moves no more than that share of the rows: which values are rare, and what is worth a look,
depends on them."""

VISIBLE_SHARE = 0.5
"""The most that a table of several attributes is taken to bring, as a share of the rows that the
model puts elsewhere; where that is not worth its price, none is looked for."""

DEPENDENTS_WORTH = 4.0
"""How much more than to itself a table is worth to all: others depend on it."""

MEAN_OF_DEVIATION = math.sqrt(2 / math.pi)
"""How large noise is on average, in units of its deviation."""

LEAST_NOISE = 1e-9
"""Rows: less noise counts as so much, where precisions are its square's reciprocal."""

HALVINGS = 50
"""How often the range is halved in which a share is looked for."""


class OneWayWorth:
    """What a part of the budget is worth to single attributes, against tables of several.

    Errors of different sources add up by their squares. Let K be the number of rows that noise
    moves in the table of one attribute. It counts in every table of three attributes, three times.
    A pair that the model has wrong by D rows counts in those that hold it, 6 / (d (d - 1)) of all,
    and in those that depend on it (``DEPENDENTS_WORTH``). So both gain alike where D^2 is d (d - 1)
    / 2 times what the mean of K^2 falls by. How far it falls follows from precisions (one over the
    variance of noise), which add up: from p to p + x, K^2 falls to p / (p + x) of what it was. A
    table of several attributes tells of each one, too, but only of values as they are merged in it:
    with 1 / b of its precision where b cells are summed. All of it follows from prices, and from
    rows and noise as released.

    A part of the budget goes to single attributes such that the sum of all K^2 falls most: K is the
    number of values that have rows at all, times the noise in each, and precision grows with a
    power of a price, so each attribute gets what is in proportion to K, or to K^(2/3) in epsilon.

    Parameters
    ----------
    learner
        What is known.
    """

    def __init__(self, learner: GraphicalLearner) -> None:
        columns = len(learner.sizes)
        self.learner = learner
        self.tables = columns * (columns - 1) / 2 / DEPENDENTS_WORTH
        self.sizes = np.fromiter(learner.sizes.values(), np.float64)
        self.refresh()

    def refresh(self) -> None:
        """Look at what is known of single attributes by now."""
        learner = self.learner
        self.squares = np.array([learner.one_way_noise(name) for name in learner.sizes]) ** 2
        self.merged_squares = np.array([learner.merged_noise(name) for name in learner.sizes]) ** 2
        deviations = np.array([learner.pool.deviation((name,)) for name in learner.sizes])
        self.known = 1 / np.maximum(deviations, LEAST_NOISE) ** 2

    def rows(self, cost: Budget) -> float:
        """By how many rows the model must have a table wrong that is worth as much as single
        attributes are for a price.
        """
        return float(gap_worth(self._squares_worth(cost), _other_squares(self.squares.mean())))

    def doubles(self, cost: Budget) -> bool:
        """Whether a price at least doubles the precision of half of the attributes."""
        return float(np.median(self._precisions(cost) / self.known)) >= 1

    def rows_beside(
        self, cost: Budget, members: NDArray[np.int64], cells: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The same for each of some tables, less what it tells of its attributes by itself.

        Parameters
        ----------
        cost
            The price of each.
        members
            The numbers of each table's attributes; -1 for none.
        cells
            How many cells each table has.
        """
        summed = cells[:, None] / np.append(self.sizes, 1.0)[members]
        squares, known = np.append(self.merged_squares, 0.0), np.append(self.known, 1.0)
        told = self._precision(cost) / summed
        falls = (squares[members] * told / (known[members] + told)).sum(axis=1) / len(self.sizes)
        beside = np.maximum(self._squares_worth(cost) - self.tables * falls, 0.0)
        return gap_worth(beside, _other_squares(self.squares.mean()))

    def first_share(self, budget: Budget, spent: float, rounds: float) -> float:
        """The share of a budget that single attributes have before tables of several are looked
        for, by what a share told that was spent.
        """
        balanced = self.balance_share(budget, spent, rounds)
        return max(balanced, min(self.clear_share(budget, spent), MAX_CLEAR_SHARE))

    def clear_share(self, budget: Budget, spent: float) -> float:
        """The share with which noise moves ``CLEAR_NOISE`` of the rows of a single attribute."""
        noise = math.sqrt(float(self.squares.mean())) / (CLEAR_NOISE * self.learner.rows)
        return float(spent * noise ** (2 / _power(budget)))

    def balance_share(self, budget: Budget, spent: float, rounds: float) -> float:
        """The share with which another table can be worth its price.

        Where they have a share f, and a round costs s, K^2 falls by K^2 s / (f + s) in rho, and K^2
        is in proportion to 1 / f; in epsilon both are squared. The larger f is, the smaller the gap
        that is worth a round: f is found by halving.
        """
        power = _power(budget)
        step = (1 / max(rounds * len(self.sizes), 1.0)) ** power
        largest = VISIBLE_SHARE * self.learner.rows
        at_whole = float(self.squares.mean()) * spent**power
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            share = (low + high) / 2
            squares = at_whole / share**power
            worth = self.tables * squares * step / (share**power + step)
            if gap_worth(worth, _other_squares(squares)) > largest:
                low = share
            else:
                high = share
        return high

    def measure(self, cost: Budget) -> None:
        """Measure single attributes for a price; the model changes with the next fit."""
        groups: list[Group] = [(name,) for name in self.learner.sizes]
        self.learner.measure(groups, cost.split(*self._shares(cost).tolist()))

    def _shares(self, cost: Budget) -> NDArray[np.float64]:
        """The part of a price that each attribute gets.

        In a large domain it is mostly noise that makes counts differ from 0, and would ask for
        all: it counts like the average of the others.
        """
        squares = np.maximum(self.squares, 1e-9)
        small = self.sizes < LARGE_DOMAIN
        squares[~small] = squares[small].mean() if small.any() else 1.0
        weights = squares ** (1 / (_power(cost) + 1))
        return np.asarray(weights / weights.sum())

    def _squares_worth(self, cost: Budget) -> float:
        """What a price is worth to single attributes, as the square of a small gap."""
        return self.tables * float(self._falls(cost).mean())

    def _falls(self, cost: Budget) -> NDArray[np.float64]:
        """By how much K^2 of each attribute falls."""
        added = self._precisions(cost)
        return np.asarray(self.squares * added / (self.known + added))

    def _precisions(self, cost: Budget) -> NDArray[np.float64]:
        """The precision that a price adds to each attribute."""
        return np.asarray(self._precision(cost) * self._shares(cost) ** _power(cost))

    def _precision(self, cost: Budget) -> float:
        noise = self.learner.curator.mean_noise(cost) / MEAN_OF_DEVIATION
        if noise <= 0:  # reports, which were paid for before: asking again tells nothing
            return 0.0
        return 1 / max(noise, LEAST_NOISE) ** 2


def gap_worth(squares: NDArray[np.float64] | float, other_squares: float) -> NDArray[np.float64]:
    """How many rows a table must have wrong for it to be worth that much.

    A gap D beside other errors S brings sqrt(S^2 + D^2) - S, and a small one D^2 / 2 S. So it is
    worth as much as a small one of squares Q would be where D^2 is Q + Q^2 / 4 S^2.

    Parameters
    ----------
    squares
        The square of a small gap that is worth as much.
    other_squares
        The square of what tables have wrong beside it.
    """
    return np.asarray(np.sqrt(squares + np.square(squares) / (4 * other_squares)))


def _other_squares(square: float) -> float:
    """The square of what a table of three attributes has wrong by their noise, which is that of
    each.
    """
    return max(3 * square, LEAST_NOISE)


def _power(budget: Budget) -> int:
    """With which power of a price precision grows."""
    if budget.currency == "epsilon":
        return 2
    return 1


def find_max_cells(learner: GraphicalLearner, budget: Budget) -> float:
    """How many cells the cliques may have: as many as the rows, as released, are worth against the
    noise of one table that had all of the budget.
    """
    noise = learner.curator.mean_noise(budget)
    if noise <= 0:  # reports, which were paid for before
        return LEAST_CELLS
    return min(max(CELLS_PER_SIGNAL * learner.rows / noise, LEAST_CELLS), MOST_CELLS)
