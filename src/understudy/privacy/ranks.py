"""Quantiles, as choices: one of some public candidates, preferred by how close its rank is to the
one that is asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
    SCORE_GRID,
    ChoiceRule,
    Noise,
    choice_scale,
    round_to_grid,
)
from understudy.privacy.questions import LedgerLine, Question

RESERVE = 0.01
"""How often a choice that may say nothing does so where it need not."""


@dataclass(frozen=True, kw_only=True)
class ChooseRank(Question):
    """For each group of rows, the candidate whose rank is close to ``level`` times the rows, or
    ``shift`` rows beyond that.

    Candidates lie in order. With b rows in candidates below one, a rows above and n rows in all,
    the candidate holds the rank r = level n + shift if b <= r and a <= n - r, and its score is

        - max(0, b - level n - shift, a - (1 - level) n + shift).

    **add_remove**: a row that comes changes b - level n by 1 - level (below) or - level, and
    a - (1 - level) n by level (above) or level - 1: by at most max(level, 1 - level) in size. The
    maximum of numbers that each move by at most s moves by at most s. **replace**: n stays, and a
    and b change by at most 1. A person's M rows move the score M times as far.

    Groups are disjoint. Under add_remove a row is in one of them, so the choices of all groups cost
    what one does (parallel composition); under replace a row may leave one group for another, and
    they cost twice that. A person may have rows in several groups; then each row counts once, in
    one group, and M rows move the scores of all groups by M times the sensitivity together, which
    is what the price of one choice at M times the sensitivity pays for.

    Where ``no_claim`` is given there is one more candidate, after all others, with that public
    number for a score: whoever needs a rank that few rows may not have can then say nothing.

    Parameters
    ----------
    axes
        Whose table is asked.
    places, candidates
        For each cell of the table the place of the candidate that its rows belong to, or -1; and
        how many candidates there are.
    groups, groups_size
        For each cell the group, or -1, and how many groups there are.
    level, shift
        Which rank is asked for.
    no_claim
        The score of the candidate that says nothing, if there is to be one.
    text
        What the ledger says.
    """

    axes: Marginal
    places: NDArray[np.int64]
    candidates: int
    groups: NDArray[np.int64]
    groups_size: int
    level: float
    shift: float
    budget: Budget
    text: str
    no_claim: float | None = None

    def check(self, domain: Domain) -> None:
        """Refuse what is no table, and what does not go with it."""
        domain.check([self.axes])
        cells = domain.cells(self.axes)
        if self.places.size != cells or self.groups.size != cells:
            raise InputError("There must be a candidate and a group for each cell of the table.")
        if self.candidates < 1 or not 0 <= self.level <= 1 or not math.isfinite(self.shift):
            raise InputError("A quantile needs candidates and a level from 0 to 1.")
        if not self.budget.amount > 0:
            raise InputError("A quantile cannot be chosen for nothing; give it a budget.")

    @property
    def rule(self) -> ChoiceRule:
        """Permute-and-flip is never worse than the exponential mechanism, but its price in rho is
        not known.
        """
        if self.budget.currency == "epsilon":
            return "permute_and_flip"
        return "exponential"

    def sensitivity(self, neighbours: Neighbours, max_rows_per_person: int) -> float:
        """How far a person's rows move a score."""
        return max_rows_per_person * rank_sensitivity(self.level, neighbours)

    def scale(self, ledger: Ledger) -> float:
        """The scale of each group's choice, for scores on the grid."""
        scale = rank_scale(self.budget, ledger.neighbours, self.groups_size)
        if scale > MAX_CHOICE_SCALE * SCORE_GRID:
            raise InputError("The budget is too little to choose a quantile; give it more.")
        return scale

    def ledger_line(self) -> LedgerLine:
        """The line of the choices of all groups."""
        mechanism = f"{self.rule.replace('_', ' ')}, by rank"
        return self.text, self.budget, mechanism

    def scores(self, table: NDArray[np.int64]) -> NDArray[np.float64]:
        """The exact scores, a line per group: as private as the table."""
        counts = np.zeros((self.groups_size, self.candidates), dtype=np.int64)
        inside = (self.groups.ravel() >= 0) & (self.places.ravel() >= 0)
        cells = np.flatnonzero(inside)
        places = self.groups.ravel()[cells], self.places.ravel()[cells]
        np.add.at(counts, places, table.ravel()[cells])
        up_to = np.cumsum(counts, axis=1)
        rows = up_to[:, -1:].astype(np.float64)
        below = (up_to - counts).astype(np.float64)
        above = rows - up_to
        lacks_below = below - self.level * rows - self.shift
        lacks_above = above - (1 - self.level) * rows + self.shift
        scores = -np.maximum(0.0, np.maximum(lacks_below, lacks_above))
        if self.no_claim is None:
            return scores
        return np.column_stack([scores, np.full(self.groups_size, self.no_claim)])

    def grid_scores(self, scores: NDArray[np.float64], ledger: Ledger) -> NDArray[np.float64]:
        """Scores as whole numbers."""
        return round_to_grid(
            scores, self.sensitivity(ledger.neighbours, ledger.max_rows_per_person)
        )


def rank_sensitivity(level: float, neighbours: Neighbours) -> float:
    """How far one row moves the score of a rank."""
    if neighbours == "replace":
        return 1.0
    return max(level, 1 - level)


def rank_scale(budget: Budget, neighbours: Neighbours, groups: int) -> float:
    """The scale, for scores on the grid, of the choices in disjoint groups.

    Under replace a row may leave one group for another. In epsilon the two choices add up to twice
    one. In rho the losses of two independent choices add up as well.
    """
    amount = budget.amount
    if neighbours == "replace" and groups > 1:
        amount /= 2
    return choice_scale(amount, budget.currency)


@dataclass(frozen=True)
class Margin:
    """How many ranks to keep away from a rank that must not be passed.

    Attributes
    ----------
    ranks
        The distance.
    no_claim
        The score of the candidate that says nothing.
    """

    ranks: float
    no_claim: float


def find_margin(
    budget: Budget, level: float, groups: int, candidates: int, ledger: Ledger, risk: float
) -> Margin:
    """The margin at which a choice passes the rank with probability at most ``risk``.

    Let u be the scale of the choice in units of the score. Asked for ``ranks`` before a rank, a
    candidate that passes it has a score of at most -ranks. Where rows are enough, some candidate
    has score 0; in any case the one that says nothing has score -u ln(1 / RESERVE). A candidate
    whose score lies t below the best is chosen with probability at most exp(-t / u) (the
    exponential mechanism; permute-and-flip makes errors no larger). So all candidates that pass
    together are chosen with probability at most candidates * exp(-(ranks - u ln(1 / RESERVE)) / u),
    which is ``risk``. Where rows are enough, nothing is said with probability at most RESERVE.
    """
    scale = rank_scale(budget, ledger.neighbours, groups)
    sensitivity = ledger.max_rows_per_person * rank_sensitivity(level, ledger.neighbours)
    unit = scale / SCORE_GRID * sensitivity
    reserve = unit * math.log(1 / RESERVE)
    ranks = unit * math.log(candidates / risk) + reserve
    return Margin(ranks * (1 + 1e-9), -reserve)


def answer_rank(question: ChooseRank, counter: Counter, ledger: Ledger, noise: Noise) -> list[int]:
    """The chosen place for each group, once they are paid for."""
    scale = question.scale(ledger)
    ledger.debit(*question.ledger_line())
    [table] = counter.count([question.axes])
    scores = question.grid_scores(question.scores(table), ledger)
    return [noise.choose(line, scale, question.rule) for line in scores]
