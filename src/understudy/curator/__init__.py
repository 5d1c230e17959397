"""The curator: the only code that meets private rows, and the only way out of it.

A synthesizer is handed a curator and can ask it three kinds of question, each priced and written into the ledger before
it is answered: :meth:`Curator.measure` for noisy tables, :meth:`Curator.choose` for one of several candidates and
:meth:`Curator.draw` for draws from a smoothed table. All else that a synthesizer does is post-processing of public
values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.curator.budget import Budget, Neighbours
from understudy.curator.ledger import Ledger
from understudy.curator.mechanisms import Rule
from understudy.marginals import Marginal
from understudy.networks.bits import Bits
from understudy.schema import Schema


@dataclass(frozen=True)
class Measurement:
    """A noisy table of counts over a marginal, with what is known of its noise."""

    marginal: Marginal
    counts: NDArray[np.int64]
    distribution: str
    """"laplace" or "gaussian" (both discrete)."""
    scale: float

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in a cell."""
        if self.distribution == "gaussian":
            return self.scale
        # Discrete Laplace with p = exp(-1 / scale): variance 2 p / (1 - p)^2.
        return math.sqrt(2 * math.exp(-1 / self.scale)) / -math.expm1(-1 / self.scale)


class Curator(Protocol):
    """Keeps private rows and answers three kinds of question about them."""

    @property
    def schema(self) -> Schema:
        """What is public about the rows."""

    @property
    def ledger(self) -> Ledger:
        """What was spent so far."""

    @property
    def neighbours(self) -> Neighbours:
        """Which tables count as neighbours."""

    @property
    def rows(self) -> int | None:
        """The number of rows where it is public (neighbours: replace), else ``None``."""

    def measure(
        self, marginals: Sequence[Marginal], budget: Budget, weights: Sequence[float] | None = None
    ) -> list[Measurement]:
        """Noisy tables of the marginals; the budget is split over them by the weights, or evenly."""

    def choose(
        self,
        candidates: Sequence[Marginal],
        score: str,
        budget: Budget,
        offsets: NDArray[np.float64] | None = None,
        rule: Rule = "permute_and_flip",
        estimates: Sequence[NDArray[np.float64]] | None = None,
    ) -> int:
        """The place of one candidate, chosen at random with a preference for high scores.

        A score is named (see :mod:`understudy.curator.scores`) and has a proved sensitivity; ``offsets`` are public
        numbers added to the scores, ``estimates`` public tables that the score "misfit" compares the exact ones with.
        """

    def draw(self, axes: Marginal, draws: int, budget: Budget) -> NDArray[np.int64]:
        """How often each cell of a marginal comes up in ``draws`` independent draws from its smoothed table.

        As many rows as the budget asks for are added to every cell first, see
        :func:`understudy.curator.mechanisms.draw_smoothing`.
        """

    def toss(self, places: int) -> int:
        """A place drawn uniformly: asks nothing, costs nothing."""

    def in_bits(self, bits: Bits) -> Curator:
        """The same rows with their attributes taken apart into bits; the ledger is shared."""
