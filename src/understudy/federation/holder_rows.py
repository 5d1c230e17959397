"""A holder's rows, behind the doors of a curator: what is counted, with which noise, at which price."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.counting import Counter
from understudy.curator.budget import Budget
from understudy.curator.central import CentralCurator, memory_counter
from understudy.curator.scores import Misfit, score_named
from understudy.encoding import Coded
from understudy.errors import InputError
from understudy.federation.noise_shares import (
    ShareNoise,
    check_scale,
    score_sensitivity,
    scores_scale,
    shared_grid,
)
from understudy.marginals import Marginal

MOST_ROWS = 1 << 31


class HolderRows(CentralCurator):
    """The holder's rows behind the doors of a central curator, and two more doors for sums with other holders."""

    def _count(self, coded: Coded) -> Counter:
        """Rows as they are.

        Whether equal rows are collapsed depends on how many differ, and at the limit one row makes
        the first answer several times as long: an owner gains by it, a stranger with a clock too.
        """
        return memory_counter(coded, collapse=False)

    def _scale(self, cost: Budget) -> float:
        """The scale of the noise in a table; refuses what cannot be drawn before anything is debited."""
        scale = super()._scale(cost)
        check_scale(self._noise, scale, cost.currency)
        return scale

    def size(self, budget: Budget) -> int:
        """The number of rows, with noise of the holder's own."""
        scale = self._scale(budget)
        self.ledger.debit(
            "number of rows of this holder",
            budget,
            f"{self._distribution(budget)}, scale {scale:.6g}",
        )
        own = self._noise.own if isinstance(self._noise, ShareNoise) else self._noise
        counts = np.array([self._rows], dtype=np.int64)
        return int(
            (own.laplace if budget.currency == "epsilon" else own.gaussian)(counts, scale)[0]
        )

    def shape(self, axes: Marginal) -> list[int]:
        """The shape of a table (public)."""
        return [self._sizes[axis] for axis in axes]

    def cells(self, marginals: Sequence[Marginal]) -> list[int]:
        """How many cells tables have (public); refuses what are no tables."""
        self._check(marginals)
        return [math.prod([self._sizes[axis] for axis in axes]) for axes in marginals]

    def scores(
        self,
        candidates: Sequence[Marginal],
        score: str,
        budget: Budget,
        most_rows: int | None,
        estimates: Sequence[NDArray[np.float64]] | None,
        top: bool,
    ) -> NDArray[np.int64]:
        """Scores on a grid, with shares of noise.

        Their sums are priced as so many numbers; where ``top``, as a choice: the place of one of them is all that
        anybody but a delegate learns.
        """
        named = score_named(score)
        if not all(candidates):
            raise InputError("There is nothing to choose from.")
        self._check(candidates)
        children = {self._sizes[axes[0]] for axes in candidates}
        named.check(children)
        if isinstance(named, Misfit) != (estimates is not None):
            raise InputError("Estimates go with the score misfit, and it needs them.")
        if isinstance(named, Misfit) and estimates is not None:
            named.check_estimates(self._counter, candidates, estimates)
        if self.neighbours == "replace" and (type(most_rows) is not int or most_rows < self._rows):
            raise InputError("The question takes this holder to have fewer rows than it has told.")
        if not budget.amount > 0:
            raise InputError("A choice cannot be made for nothing; give it a share of the budget.")
        assert isinstance(self._noise, ShareNoise)
        rows = most_rows if self.neighbours == "replace" else None
        sensitivity = score_sensitivity(score, self.neighbours, rows, max(children) <= 2, top)
        scale = scores_scale(budget, len(candidates), top)
        check_scale(self._noise, scale, budget.currency)
        geometric = top and budget.currency == "epsilon"
        mechanism = f"{'geometric' if geometric else self._distribution(budget)} noise in shares"
        if top:
            mechanism = f"{'largest' if geometric else 'exponential'}, by a delegate, of sums with {mechanism}"
        told = "one" if top else "all"
        self.ledger.debit(f"{told} of {len(candidates)} sums of scores {score}", budget, mechanism)
        found = shared_grid(self._scores(named, candidates, estimates), sensitivity)
        return (
            self._noise.geometric(found, scale) if geometric else self._noisy(found, budget, scale)
        )
