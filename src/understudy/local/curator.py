"""The local curator: answers from reports that persons randomised themselves.

Reports are collected once, and each has paid for itself before it left a person's device. So every
answer is a function of public values: tables cost nothing, and the best candidate is chosen without
noise. All tables come from one estimate (:mod:`understudy.local.tables`), so that they agree; how
sure they are is said for each cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.counting import Counter
from understudy.counting.remembered import Remembered
from understudy.data.bits import Bits
from understudy.data.marginals import Axis, Marginal
from understudy.errors import InputError
from understudy.local.collected import Collected
from understudy.local.tables import JointEstimate, parts_of
from understudy.models.parameters import project_counts
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator, Measurement
from understudy.privacy.domain import Domain
from understudy.privacy.ledger import Ledger
from understudy.privacy.questions import Choose, Measure, Question
from understudy.privacy.scores import Misfit

Table = NDArray[np.float64]


class LocalCurator(Curator):
    """Answers from what was collected.

    Parameters
    ----------
    collected
        The reports, added up.
    ledger
        The ledger in which the reports stand already; answers add nothing to it.
    estimate
        The estimate of all tables; by default it is made here.
    """

    def __init__(
        self, collected: Collected, ledger: Ledger, estimate: JointEstimate | None = None
    ) -> None:
        super().__init__(Domain(collected.plan.schema), ledger)
        if not collected.reports:
            raise InputError("The tables hold no reports; collect some first.")
        self.collected = collected
        self.estimate = estimate or JointEstimate(collected)
        self._counter = Remembered(EstimatedCounts(self.domain, self.estimate, self.rows))

    @property
    def rows(self) -> int:
        """The number of reports, which is public."""
        return self.collected.reports

    def answer(self, question: Question) -> Any:
        """Answer a question about tables; nothing is debited, as every report is public."""
        question.check(self.domain)
        match question:
            case Measure():
                return [self._measure(axes) for axes in question.marginals]
            case Choose():
                return self._choose(question)
        raise InputError(
            f"Reports tell tables and what follows from them; they cannot answer a question of "
            f"the kind {type(question).__name__.lower()}."
        )

    def in_bits(self, bits: Bits) -> Curator:
        """Not from reports: an answer about one bit would take all codes of its column."""
        raise InputError(
            "Reports are about columns as they are, not about their bits; use the encoding vanilla "
            "or hierarchical."
        )

    def mean_noise(self, cost: Budget) -> float:
        """None that more budget would lower: what reports leave open is shrunk already."""
        return 0.0

    def choice_noise(self, cost: Budget) -> float:
        """None: what is chosen from is public."""
        return 0.0

    def _measure(self, axes: Marginal) -> Measurement:
        rows = self.rows
        counts = rows * estimated_shares(self.domain, self.estimate, axes)
        finest = [axis.attribute for axis in axes if axis.level == 0]
        variances = None
        if len(finest) == len(axes):
            told = [name for name in finest if name in self.estimate.sizes]
            variances = {part: rows**2 * self.estimate.variance(part) for part in parts_of(told)}
            variances[()] = ROUNDING
        deviation = rows * self.estimate.deviation([axis.attribute for axis in axes])
        return Measurement(
            axes,
            np.rint(counts).astype(np.int64),
            "reports",
            deviation,
            deviations=self._cell_deviations(counts, deviation),
            effect_variances=variances,
        )

    def _cell_deviations(self, counts: Table, deviation: float) -> Table:
        """The deviation of each cell.

        Noise is the same in all cells; that only some persons are asked counts most where most of
        them are.
        """
        part = self.estimate.sampling_part
        likely = np.clip(counts / self.rows, 0.0, 1.0)
        sampling = likely * (1 - likely)
        mean = float(sampling.mean())
        if mean <= 0:
            return np.full(counts.shape, deviation)
        return np.asarray(deviation * np.sqrt(1 - part + part * sampling / mean))

    def _choose(self, question: Choose) -> int:
        """The candidate with the highest score, the first of several."""
        score = question.named_score
        if isinstance(score, Misfit):
            scores = score.evaluate(
                self._counter, question.candidates, self.neighbours, question.estimates
            )
        else:
            scores = score.evaluate(self._counter, question.candidates, self.neighbours)
        if question.offsets is not None:
            scores = scores + question.offsets
        return int(np.argmax(scores))


ROUNDING = 1 / 12
"""The variance of the total, in rows: that of rounding."""


class EstimatedCounts(Counter):
    """Estimated tables as whole numbers at or above 0, for scores.

    Parameters
    ----------
    domain
        What tables there are.
    estimate
        The estimate of all tables.
    rows
        How many rows a table adds up to.
    """

    def __init__(self, domain: Domain, estimate: JointEstimate, rows: int) -> None:
        self._domain = domain
        self._estimate = estimate
        self._rows = rows

    @property
    def rows(self) -> int:
        """How many reports there are."""
        return self._rows

    def size(self, axis: Axis) -> int:
        """How many values an attribute has at a level."""
        return self._domain.sizes[axis]

    def count_flat(
        self, marginals: Sequence[Marginal]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The tables one after the other, and where each of them starts (and the last one ends)."""
        tables = [self._count(axes) for axes in marginals]
        offsets = np.zeros(len(tables) + 1, np.int64)
        np.cumsum([table.size for table in tables], out=offsets[1:])
        return np.concatenate(tables), offsets

    def _count(self, axes: Marginal) -> NDArray[np.int64]:
        counts = self._rows * estimated_shares(self._domain, self._estimate, axes)
        nearest = project_counts(counts, float(self._rows)).ravel()
        whole = np.floor(nearest).astype(np.int64)
        # The largest remainders are rounded up, so that the table adds up to all rows.
        lacking = self._rows - int(whole.sum())
        up = np.argsort(whole - nearest, kind="stable")[: max(lacking, 0)]
        whole[up] += 1
        return whole


def estimated_shares(domain: Domain, estimate: JointEstimate, axes: Marginal) -> Table:
    """The estimated shares of a table, at the levels that its axes name."""
    table = estimate.table([axis.attribute for axis in axes])
    for place, axis in enumerate(axes):
        if axis.level:
            coarse = domain.schema[axis.attribute].generalisations[axis.level - 1]
            table = _join_codes(table, place, np.asarray(coarse), domain.sizes[axis])
    return table


def _join_codes(table: Table, place: int, coarse: NDArray[Any], size: int) -> Table:
    moved = np.moveaxis(table, place, 0)
    joined = np.zeros((size, *moved.shape[1:]))
    np.add.at(joined, coarse, moved)
    return np.moveaxis(joined, 0, place)
