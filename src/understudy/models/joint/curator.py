"""A curator of tables that were collected before: answers from one estimate of all of them.

What was collected is public, or released: so every answer is a function of public values. Tables
cost nothing, and the best candidate is chosen without noise. All tables come from one estimate
(:mod:`understudy.models.joint.tables`), so that they agree; how sure they are is said for each
cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.counting import Counter
from understudy.counting.remembered import Remembered
from understudy.data.bits import Bits
from understudy.data.marginals import Axis, Marginal
from understudy.errors import InputError
from understudy.models.joint.classes import load_minimizer
from understudy.models.joint.effects import WHOLE_ROWS_VARIANCE, effects_of_measurements
from understudy.models.joint.tables import JointEstimate, parts_of
from understudy.models.parameters import estimate_rows, project_counts, round_to_total
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator, Measurement
from understudy.privacy.domain import Domain
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise
from understudy.privacy.questions import Choose, Measure, Question
from understudy.privacy.scores import Misfit

Floats = NDArray[np.float64]


class EstimatedCurator(Curator):
    """Answers from one estimate.

    Parameters
    ----------
    domain
        Which tables can be asked for.
    ledger
        The ledger in which all that was collected stands already; answers add nothing to it.
    estimate
        The estimate of all tables.
    rows
        How many rows there are: public, or released.
    noise
        What tosses are made with; anything but the default is for studies.
    """

    free_tables = True

    def __init__(
        self,
        domain: Domain,
        ledger: Ledger,
        estimate: JointEstimate,
        rows: int,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(domain, ledger, noise)
        self.estimate = estimate
        self._rows = rows
        self._counter = Remembered(EstimatedCounts(domain, estimate, rows))

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self._rows

    def _answer(self, question: Question) -> Any:
        """Answer a question about tables; nothing is debited, as all that was collected is
        public.
        """
        match question:
            case Measure():
                return [self._measure(axes) for axes in question.marginals]
            case Choose():
                return self._choose(question)
        raise InputError(
            f"Collected tables tell what follows from them; they cannot answer a question of the "
            f"kind {type(question).__name__.lower()}."
        )

    def in_bits(self, bits: Bits) -> Curator:
        """Not from tables: an answer about one bit would take all codes of its column."""
        raise InputError(
            "Collected tables are about columns as they are, not about their bits; use the "
            "encoding vanilla or hierarchical."
        )

    def mean_noise(self, cost: Budget) -> float:
        """None that more budget would lower: what is left open is shrunk already."""
        return 0.0

    def choice_noise(self, cost: Budget) -> float:
        """None: what is chosen from is public."""
        return 0.0

    def _measure(self, axes: Marginal) -> Measurement:
        rows = self.rows
        counts = rows * estimate_shares(self.domain, self.estimate, axes)
        finest = [axis.attribute for axis in axes if axis.level == 0]
        variances = None
        if len(finest) == len(axes):
            told = [name for name in finest if name in self.estimate.sizes]
            variances = {part: rows**2 * self.estimate.variance(part) for part in parts_of(told)}
            variances[()] = WHOLE_ROWS_VARIANCE
        deviation = rows * self.estimate.deviation([axis.attribute for axis in axes])
        return Measurement(
            axes,
            np.rint(counts).astype(np.int64),
            "estimate",
            deviation,
            deviations=self._cell_deviations(counts, deviation),
            effect_variances=variances,
        )

    def _cell_deviations(self, counts: Floats, deviation: float) -> Floats:
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


def estimate_tables(
    curator: Curator,
    tables: Sequence[Marginal],
    budget: Budget,
    max_rows: float = math.inf,
    noise: Noise | None = None,
) -> EstimatedCurator:
    """Ask for many tables at once: a curator of one estimate of all of them, which answers
    everything else at no further cost.

    Parameters
    ----------
    curator
        Whom to ask.
    tables
        At the finest level, such that every column is in some.
    budget
        What they cost together.
    max_rows
        No more rows than that are believed.
    noise
        What tosses are made with afterwards; anything but the default is for studies.
    """
    load_minimizer()
    measured = curator.measure(tables, budget)
    rows = min(max(estimate_rows(measured), 1.0), max_rows)
    sizes = {a.name: a.size for a in curator.schema.modelled if a.size > 1}
    estimate = JointEstimate(sizes, effects_of_measurements(measured, rows, list(sizes)))
    return EstimatedCurator(curator.domain, curator.ledger, estimate, round(rows), noise)


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
        """How many rows there are."""
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
        counts = self._rows * estimate_shares(self._domain, self._estimate, axes)
        return round_to_total(project_counts(counts, float(self._rows))).ravel()


def estimate_shares(domain: Domain, estimate: JointEstimate, axes: Marginal) -> Floats:
    """The estimated shares of a table, at the levels that its axes name."""
    table = estimate.table([axis.attribute for axis in axes])
    for place, axis in enumerate(axes):
        if axis.level:
            coarse = domain.schema[axis.attribute].generalisations[axis.level - 1]
            table = _join_codes(table, place, np.asarray(coarse), domain.sizes[axis])
    return table


def _join_codes(table: Floats, place: int, coarse: NDArray[Any], size: int) -> Floats:
    moved = np.moveaxis(table, place, 0)
    joined = np.zeros((size, *moved.shape[1:]))
    np.add.at(joined, coarse, moved)
    return np.moveaxis(joined, 0, place)
