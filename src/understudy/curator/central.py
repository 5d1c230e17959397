"""The central curator: one trusted place holds all rows and adds noise once."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.counting import Counter
from understudy.counting.cuboids import CuboidCounter
from understudy.counting.memory import MAX_CELLS, MemoryCounter
from understudy.counting.remembered import Remembered
from understudy.counting.rollups import RollUps
from understudy.curator import Measurement
from understudy.curator.budget import Budget, Neighbours
from understudy.curator.ledger import Ledger
from understudy.curator.mechanisms import (
    Noise,
    Rule,
    SystemNoise,
    choice_scale,
    draw_smoothing,
    gridded,
    table_scale,
)
from understudy.curator.scores import Misfit, Score, check_rows, score_named
from understudy.encoding import Coded
from understudy.errors import InputError
from understudy.marginals import Axis, Marginal, describe
from understudy.networks.bits import Bits
from understudy.schema import Schema


class CentralCurator:
    """Answers from exact counts, with exact noise.

    Parameters
    ----------
    coded
        The private rows: in memory, or what counts them inside an engine.
    ledger
        What may be spent.
    noise
        Where noise comes from; anything but the default is for tests and studies.
    """

    def __init__(
        self, coded: Coded | CuboidCounter, ledger: Ledger, noise: Noise | None = None
    ) -> None:
        check_rows(coded.rows)
        self.schema: Schema = coded.schema
        self.ledger = ledger
        self._noise = noise if noise is not None else SystemNoise()
        if not self._noise.private:
            ledger.private = False
        self._rows = coded.rows
        self._coded = coded
        self._sizes = {
            Axis(attribute.name, level): size
            for attribute in coded.schema.modelled
            for level, size in enumerate(attribute.sizes_by_level())
        }
        self._known: defaultdict[str, dict[Marginal, float]] = defaultdict(dict)
        self._counter: Counter = self._count(coded) if isinstance(coded, Coded) else coded
        self._remembered = Remembered(self._counter)

    def _count(self, coded: Coded) -> Counter:
        """Who counts rows that are in memory."""
        return RollUps(memory_counter(coded))

    @property
    def neighbours(self) -> Neighbours:
        """Which tables count as neighbours."""
        return self.ledger.neighbours

    @property
    def rows(self) -> int | None:
        """The number of rows where it is public (neighbours: replace), else ``None``."""
        return self._rows if self.neighbours == "replace" else None

    def measure(
        self, marginals: Sequence[Marginal], budget: Budget, weights: Sequence[float] | None = None
    ) -> list[Measurement]:
        """Noisy tables of the marginals; the budget is split over them by the weights, or evenly."""
        if not marginals:
            return []
        self._check(marginals)
        costs = budget.equally(len(marginals)) if weights is None else budget.split(*weights)
        scales = [self._scale(cost) for cost in costs]
        self.ledger.debit_all(
            (f"table of {describe(axes)}", cost, f"{self._distribution(cost)}, scale {scale:.6g}")
            for axes, cost, scale in zip(marginals, costs, scales, strict=True)
        )
        tables = self._counter.count(marginals)
        return [
            Measurement(
                axes,
                self._noisy(table, cost, scale),
                self._distribution(cost).split()[-1].lower(),
                scale,
            )
            for axes, table, cost, scale in zip(marginals, tables, costs, scales, strict=True)
        ]

    def choose(
        self,
        candidates: Sequence[Marginal],
        score: str,
        budget: Budget,
        offsets: NDArray[np.float64] | None = None,
        rule: Rule = "permute_and_flip",
        estimates: Sequence[NDArray[np.float64]] | None = None,
    ) -> int:
        """The place of one candidate, chosen at random with a preference for high scores."""
        named = score_named(score)
        if not candidates or not all(candidates):
            raise InputError("There is nothing to choose from.")
        self._check([axes for axes in candidates if axes not in self._known[named.name]])
        children = {self._sizes[child] for child in {axes[0] for axes in candidates}}
        named.check(children)
        if isinstance(named, Misfit) != (estimates is not None):
            raise InputError("Estimates go with the score misfit, and it needs them.")
        if isinstance(named, Misfit) and estimates is not None:
            named.check_estimates(self._counter, candidates, estimates)
        if not budget.amount > 0:
            raise InputError("A choice cannot be made for nothing; give it a share of the budget.")
        if len(candidates) == 1:
            return 0  # nothing to choose: the answer is known without asking
        if offsets is not None and (
            np.shape(offsets) != (len(candidates),) or not np.isfinite(offsets).all()
        ):
            raise InputError("Offsets must be finite numbers, one a candidate.")
        # A person's rows come or go one after the other: by the triangle inequality each adds one row's sensitivity.
        sensitivity = self.ledger.rows_per_person * named.sensitivity(
            self.neighbours, self.rows, max(children) <= 2
        )
        if budget.currency == "rho":
            rule = "exponential"  # its price in rho is known to be a quarter of what pure DP alone would give
        scale = choice_scale(budget.amount, budget.currency)
        question = f"choice among {len(candidates)} candidates by score {score}"
        self.ledger.debit(question, budget, rule.replace("_", " "))
        scores = self._scores(named, candidates, estimates)
        return self._noise.choose(gridded(scores, sensitivity, offsets), scale, rule)

    def draw(self, axes: Marginal, draws: int, budget: Budget) -> NDArray[np.int64]:
        """How often each cell of a marginal comes up in ``draws`` independent draws from its smoothed table."""
        self._check([axes])
        if draws < 1:
            raise InputError(f"The number of draws must be at least 1, not {draws!r}.")
        if not budget.amount > 0:
            raise InputError("Rows cannot be drawn for nothing; give them a share of the budget.")
        smoothing = draw_smoothing(budget, draws, self.neighbours, self.ledger.rows_per_person)
        question = f"{draws:,} draws from the table of {describe(axes)}"
        self.ledger.debit(
            question, budget, f"smoothed histogram, {float(smoothing):.6g} added to each cell"
        )
        return self._noise.draw(self._counter.count([axes])[0], draws, smoothing)

    def in_bits(self, bits: Bits) -> CentralCurator:
        """The same rows with their attributes taken apart into bits; the ledger is shared."""
        coded = self._coded
        if isinstance(coded, Coded):
            return CentralCurator(
                Coded(bits.schema, bits.split(coded.codes), self._rows, ()),
                self.ledger,
                self._noise,
            )
        return CentralCurator(coded.in_bits(bits), self.ledger, self._noise)

    def toss(self, places: int) -> int:
        """A place drawn uniformly: asks nothing, costs nothing."""
        return self._noise.choose(np.zeros(places), 1.0, "exponential")

    def _scores(
        self,
        score: Score,
        candidates: Sequence[Marginal],
        estimates: Sequence[NDArray[np.float64]] | None = None,
    ) -> NDArray[np.float64]:
        """Exact scores; a candidate that comes up again in a later question is not counted again."""
        if isinstance(score, Misfit):
            return score.evaluate(self._remembered, candidates, self.neighbours, estimates)
        known = self._known[score.name]
        new = [axes for axes in candidates if axes not in known]
        if new:
            known.update(
                zip(new, score.evaluate(self._counter, new, self.neighbours).tolist(), strict=True)
            )
        return np.fromiter((known[axes] for axes in candidates), np.float64, len(candidates))

    def _check(self, marginals: Sequence[Marginal]) -> None:
        """Refuse questions that cannot be answered before anything is debited."""
        for axis in set(itertools.chain.from_iterable(marginals)):
            if axis not in self._sizes:
                raise self._unknown(axis)
        for axes in marginals:
            if len({axis.attribute for axis in axes}) < len(axes):
                raise InputError(f"The table of {describe(axes)} names an attribute twice.")
            if math.prod([self._sizes[axis] for axis in axes]) > MAX_CELLS:
                raise InputError(
                    f"The table of {describe(axes)} has more than {MAX_CELLS:,} cells; take fewer attributes."
                )

    def _unknown(self, axis: Axis) -> InputError:
        attribute = self.schema[axis.attribute]  # says itself when there is none
        if not attribute.modelled:
            return InputError(f"{axis.attribute!r} is of kind {attribute.kind}: it is never read.")
        return InputError(f"{axis.attribute!r} has no generalisation level {axis.level!r}.")

    @staticmethod
    def _distribution(cost: Budget) -> str:
        return "discrete Laplace" if cost.currency == "epsilon" else "discrete Gaussian"

    def _scale(self, cost: Budget) -> float:
        if not cost.amount > 0:
            raise InputError(
                "A table cannot be measured for nothing; give it a share of the budget."
            )
        return table_scale(cost, self.neighbours, self.ledger.rows_per_person)

    def _noisy(self, table: NDArray[np.int64], cost: Budget, scale: float) -> NDArray[np.int64]:
        if cost.currency == "epsilon":
            return self._noise.laplace(table, scale)
        return self._noise.gaussian(table, scale)


def memory_counter(coded: Coded, *, collapse: bool | None = None) -> MemoryCounter:
    """A counter over all levels of coded rows; equal rows are collapsed where it pays, or as told."""
    attributes = coded.schema.modelled
    return MemoryCounter(
        coded.codes,
        {attribute.name: attribute.generalisations for attribute in attributes},
        {attribute.name: attribute.size for attribute in attributes},
        collapse=collapse,
    )
