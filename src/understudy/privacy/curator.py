"""The curator: the only code that meets private rows, and the only way out of it.

A synthesizer is handed a curator and can ask it four kinds of question
(:mod:`understudy.privacy.questions`), each priced and written into the ledger before it is
answered: :meth:`Curator.measure` for noisy tables, :meth:`Curator.choose` for one of several
candidates, :meth:`Curator.draw` for draws from a smoothed table and :meth:`Curator.sum` for sums of
numbers. All else that a synthesizer does is post-processing of public values.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from understudy.data.bits import Bits
from understudy.data.marginals import Marginal
from understudy.data.schema import Schema
from understudy.privacy.budget import Budget, Neighbours
from understudy.privacy.domain import Domain
from understudy.privacy.features import Feature
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise, Rule, SystemNoise, mean_noise, noise_deviation
from understudy.privacy.questions import Choose, Draw, Measure, Question
from understudy.privacy.sums import Sum, SumOptions, Sums


@dataclass(frozen=True)
class Measurement:
    """A noisy table of counts over a marginal, with what is known of its noise."""

    marginal: Marginal
    counts: NDArray[np.int64]
    distribution: str
    """"laplace" or "gaussian" (both discrete); "reports" for what was estimated from reports."""
    scale: float
    deviations: NDArray[np.float64] | None = None
    """Of each cell, where they differ."""
    effect_variances: Mapping[tuple[str, ...], float] | None = None
    """Where tables are parts of one estimate, so that they agree and none says more than the
    others: for each group of attributes the variance of its effect, in each direction.
    """

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in a cell; of all cells, where they differ."""
        if self.deviations is not None:
            return math.sqrt(float(np.mean(self.deviations**2)))
        return noise_deviation(self.distribution, self.scale)


class Curator(ABC):
    """Keeps private rows and answers four kinds of question about them.

    Parameters
    ----------
    domain
        Which tables can be asked for.
    ledger
        What may be spent.
    noise
        What tosses are made with, and noise where the curator adds it itself.
    """

    adaptive_sums: bool = True
    """Whether sums can be asked for about centres that were released before; not where they were
    taken before anybody asked.
    """

    def __init__(self, domain: Domain, ledger: Ledger, noise: Noise | None = None) -> None:
        self.domain = domain
        self.schema: Schema = domain.schema
        self.ledger = ledger
        if noise is None:
            self._noise: Noise = SystemNoise()
        else:
            self._noise = noise

    @property
    def neighbours(self) -> Neighbours:
        """Which tables count as neighbours."""
        return self.ledger.neighbours

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """The number of rows where it is public (neighbours: replace), else ``None``."""

    @abstractmethod
    def answer(self, question: Question) -> Any:
        """Answer a question that is checked against the domain first, then debited."""

    @abstractmethod
    def in_bits(self, bits: Bits) -> Curator:
        """The same rows with their attributes taken apart into bits; the ledger is shared."""

    def measure(
        self, marginals: Sequence[Marginal], budget: Budget, weights: Sequence[float] | None = None
    ) -> list[Measurement]:
        """Noisy tables of the marginals, see :class:`understudy.privacy.questions.Measure`."""
        if not marginals:
            return []
        question = Measure(marginals=marginals, budget=budget, weights=weights)
        measured: list[Measurement] = self.answer(question)
        return measured

    def choose(
        self,
        candidates: Sequence[Marginal],
        score: str,
        budget: Budget,
        offsets: NDArray[np.float64] | None = None,
        rule: Rule = "permute_and_flip",
        estimates: Sequence[NDArray[np.float64]] | None = None,
    ) -> int:
        """The place of one candidate, see :class:`understudy.privacy.questions.Choose`."""
        question = Choose(
            candidates=candidates,
            score=score,
            budget=budget,
            offsets=offsets,
            rule=rule,
            estimates=estimates,
        )
        place: int = self.answer(question)
        return place

    def draw(self, axes: Marginal, draws: int, budget: Budget) -> NDArray[np.int64]:
        """Draws from a smoothed table, see :class:`understudy.privacy.questions.Draw`."""
        drawn: NDArray[np.int64] = self.answer(Draw(axes=axes, draws=draws, budget=budget))
        return drawn

    def sum(
        self, features: Sequence[Feature], budget: Budget, **options: Unpack[SumOptions]
    ) -> Sums:
        """Noisy sums of features, see :class:`understudy.privacy.sums.Sum` for the options."""
        summed: Sums = self.answer(Sum(features=features, budget=budget, **options))
        return summed

    def mean_noise(self, cost: Budget) -> float:
        """The average size of the noise in a cell of a table that costs ``cost``."""
        return mean_noise(cost, self.neighbours, self.ledger.rows_per_person)

    def toss(self, places: int) -> int:
        """A place drawn uniformly: asks nothing, costs nothing."""
        return self._noise.choose(np.zeros(places), 1.0, "exponential")
