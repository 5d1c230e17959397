"""What choices are made from where exact scores cannot be had: noisy scores, or noisy tables.

Owners upload n R of each pair of columns by their own rows, R being the distance between the table
of a pair and what independent columns would have. The sum over owners, with noise, tells how many
rows lie in other cells than in independent columns: one number per pair, and far less noise than in
the cells of all tables. Everything here is post-processing of what was told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis, Marginal, sum_onto
from understudy.encrypted.plans import EncryptionPlan
from understudy.federation.known_tables import TablesCounter
from understudy.models.parameters import estimate_rows
from understudy.privacy.curator import Measurement
from understudy.privacy.domain import Domain
from understudy.privacy.mechanisms import noise_deviation
from understudy.privacy.questions import Choose
from understudy.privacy.scores import Misfit

Floats = NDArray[np.float64]

IMPOSSIBLE = -math.inf
"""The score of a table that is not in the plan."""


class SurveyedScores:
    """Choices from noisy scores of pairs.

    Parameters
    ----------
    plan
        Whose pairs they are.
    scores
        n R of each pair, summed over owners, with noise; in rows.
    deviation
        That of the noise.
    """

    def __init__(self, plan: EncryptionPlan, scores: Floats, deviation: float) -> None:
        self.deviation = deviation
        self._owners = len(plan.owners)
        self._scores = {
            frozenset(axes): float(score)
            for axes, score in zip(plan.pairs, scores.tolist(), strict=True)
        }

    def score(self, question: Choose) -> Floats:
        """A score for each candidate, in rows."""
        estimates: Sequence[Floats | None] = [None] * len(question.candidates)
        if isinstance(question.named_score, Misfit) and question.estimates is not None:
            estimates = question.estimates
        found = [
            self._score(axes, estimate)
            for axes, estimate in zip(question.candidates, estimates, strict=True)
        ]
        return np.array(found)

    def _score(self, axes: Marginal, estimate: Floats | None) -> float:
        if len(axes) < 2:
            return 0.0  # a column by itself depends on nothing
        score = self._scores.get(frozenset(axes))
        if score is None:
            return IMPOSSIBLE
        if estimate is None:
            return score
        # Rows in wrong cells if the estimate has less dependence than there is; a cell that has a
        # row too many goes with one that has a row too few.
        by_chance, modelled = expect_by_chance(estimate, self._owners), dependence_of(estimate)
        there = math.sqrt(max(score, 0.0) ** 2 - min(by_chance, max(score, 0.0)) ** 2)
        return 2 * max(there - modelled, 0.0)


def dependence_of(table: Floats) -> float:
    """N R of a table of two columns."""
    rows = max(float(table.sum()), 1e-9)
    apart = table - np.outer(table.sum(axis=1), table.sum(axis=0)) / rows
    return 0.5 * float(np.abs(apart).sum())


def expect_by_chance(table: Floats, owners: int) -> float:
    """About what owners' scores add up to if the two columns do not depend on each other: rows are
    few at each owner, and tables differ from their expectation by chance.
    """
    rows = max(float(table.sum()), 1e-9)
    first, second = (np.clip(table.sum(axis=side) / rows, 0.0, 1.0) for side in (1, 0))
    variances = np.outer(first * (1 - first), second * (1 - second)) * rows
    return 0.5 * math.sqrt(2 / math.pi * owners) * float(np.sqrt(variances).sum())


class SurveyedTables:
    """Choices from noisy tables, where the plan has no scores.

    Parameters
    ----------
    plan
        Whose tables they are.
    tables
        What was measured.
    """

    def __init__(self, plan: EncryptionPlan, tables: Sequence[Measurement]) -> None:
        self._plan = plan
        self._domain = plan.domain
        self._tables = {frozenset(table.marginal): table for table in tables}

    def score(self, question: Choose) -> Floats:
        """A score for each candidate; IMPOSSIBLE where it lies in no table."""
        found = np.full(len(question.candidates), IMPOSSIBLE)
        homes = [self._home(axes) for axes in question.candidates]
        known = [place for place, home in enumerate(homes) if home is not None]
        if isinstance(question.named_score, Misfit) and question.estimates is not None:
            for place in known:
                home = homes[place]
                assert home is not None
                axes = question.candidates[place]
                found[place] = self._misfit(axes, home, question.estimates[place])
        elif known:
            candidates = [question.candidates[place] for place in known]
            found[known] = question.named_score.evaluate(self._counter(), candidates)
        return found

    def _home(self, axes: Marginal) -> Measurement | None:
        holding = [
            table
            for table in self._tables.values()
            if all(holds_axis(table.marginal, axis) for axis in axes)
        ]
        return min(holding, key=lambda table: table.counts.size, default=None)

    def _misfit(self, axes: Marginal, home: Measurement, estimate: Floats) -> float:
        """About how many rows an estimate has in wrong cells.

        The sum of absolute differences would mostly be noise. That of squares is, but its mean is
        known and taken off; differences are then taken to be normal.
        """
        table = roll_up(self._domain, axes, home)
        squares = float(((table.counts - estimate) ** 2).sum())
        noise = noise_deviation(table.distribution, table.scale) ** 2 * table.counts.size
        return math.sqrt(2 / math.pi * max(squares - noise, 0.0) * table.counts.size)

    def _counter(self) -> TablesCounter:
        tables = {
            held: table
            for held, table in self._tables.items()
            if all(axis.level == 0 for axis in held)
        }
        sizes = {attribute.name: attribute.size for attribute in self._plan.schema.modelled}
        rows = min(max(estimate_rows(list(tables.values())), 1.0), float(self._plan.max_rows))
        return TablesCounter(tables, sizes, rows)


# --------------------------------------------------------------------------- tables within tables


def holds_axis(table: Marginal, axis: Axis) -> bool:
    """Whether a table has an axis, or the finest level of the same attribute."""
    return axis in table or Axis(axis.attribute) in table


def roll_up(domain: Domain, axes: Marginal, home: Measurement) -> Measurement:
    """A table that lies in a measured one."""
    if home.marginal == tuple(axes):
        return home
    measured = {axis.attribute: axis for axis in home.marginal}
    levels = tuple(measured[axis.attribute] for axis in axes)
    counts, summed = sum_onto(home.counts, home.marginal, levels)
    for place, axis in enumerate(axes):
        if axis != levels[place]:
            before = counts.shape[place]
            counts = _coarsen(domain, counts, place, axis)
            summed = math.ceil(summed * before / counts.shape[place])
    return Measurement(axes, counts, "gaussian", home.deviation * math.sqrt(summed))


def _coarsen(
    domain: Domain, counts: NDArray[np.int64], place: int, axis: Axis
) -> NDArray[np.int64]:
    coarse = np.asarray(domain.schema[axis.attribute].generalisations[axis.level - 1])
    moved = np.moveaxis(counts, place, 0)
    joined = np.zeros((domain.sizes[axis], *moved.shape[1:]), dtype=np.int64)
    np.add.at(joined, coarse, moved)
    return np.moveaxis(joined, 0, place)
