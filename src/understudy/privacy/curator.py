"""The curator: the only code that meets private rows, and the only way out of it.

A synthesizer is handed a curator and can ask it five kinds of question
(:mod:`understudy.privacy.questions`), each priced and written into the ledger before it is
answered: :meth:`Curator.measure` for noisy tables, :meth:`Curator.choose` for one of several
candidates, :meth:`Curator.draw` for draws from a smoothed table, :meth:`Curator.sum` for sums of
numbers and :meth:`Curator.sum_vectors` for sums of clipped vectors, such as gradients. All else
that a synthesizer does is post-processing of public values.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from understudy.counting.row_functions import RowFunction
from understudy.data.bits import Bits
from understudy.data.marginals import Marginal
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.privacy.budget import Budget, Neighbours
from understudy.privacy.domain import Domain
from understudy.privacy.features import Feature
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import (
    SCORE_GRID,
    ChoiceRule,
    Noise,
    SystemNoise,
    choice_scale,
    mean_integer_noise,
    noise_deviation,
)
from understudy.privacy.questions import Choose, Draw, Measure, Question
from understudy.privacy.scores import Misfit
from understudy.privacy.sums import Sum, SumOptions, Sums
from understudy.privacy.vectors import NoisyVector, VectorSum


@dataclass(frozen=True)
class Measurement:
    """A noisy table of counts over a marginal, with what is known of its noise."""

    marginal: Marginal
    counts: NDArray[np.int64]
    distribution: str
    """"laplace" or "gaussian" (both discrete); "estimate" for a part of one estimate."""
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
    """Keeps private rows and answers five kinds of question about them.

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

    free_tables: bool = False
    """Whether all that it can tell was collected, and paid for, before anybody asked: tables and
    choices cost nothing, and no table says more than one estimate of all of them.
    """

    any_table: bool = True
    """Whether any table can be asked for; not where owners agreed on a plan before."""

    def __init__(self, domain: Domain, ledger: Ledger, noise: Noise | None = None) -> None:
        self.domain = domain
        self.schema: Schema = domain.schema
        self.ledger = ledger
        self._prepaid: Counter[tuple[float, float, float]] = Counter()
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

    def answer(self, question: Question) -> Any:
        """Answer a question, once it is checked against the domain and paid for."""
        question.check(self.domain)
        return self._answer(question)

    @abstractmethod
    def _answer(self, question: Question) -> Any:
        """Answer a question that was checked, once it is paid for."""

    @abstractmethod
    def in_bits(self, bits: Bits) -> Curator:
        """The same rows with their attributes taken apart into bits; the ledger is shared."""

    def merge_values(self, codes: Mapping[str, NDArray[np.int64]]) -> Curator | None:
        """The same rows with some values of some attributes merged into one each; the ledger is
        shared. None where the curator cannot.

        What is asked of merged codes is a sum of what is asked of the codes, cell by cell: one row
        changes one cell, as before.

        Parameters
        ----------
        codes
            For each attribute that is merged, the new code of every code; public, or released.
        """
        return None

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
        rule: ChoiceRule = "permute_and_flip",
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

    def sum_vectors(
        self, function: RowFunction, budget: Budget, clip: float, rate: float = 1.0
    ) -> NoisyVector:
        """A noisy sum of clipped vectors, see :class:`understudy.privacy.vectors.VectorSum`."""
        question = VectorSum(function=function, budget=budget, clip=clip, rate=rate)
        summed: NoisyVector = self.answer(question)
        return summed

    def prepay(self, question: VectorSum, answers: int) -> None:
        """Book the price of many sums of vectors at once, before the first of them is asked for.

        This many later questions of the same budget, clip and rate are then answered without a
        further debit, whatever their functions are.
        """
        question.check(self.domain)
        if answers < 1:
            raise InputError("The budget buys no step; raise epsilon or delta.")
        scale = question.scale(self.ledger)
        self.ledger.debit(*question.ledger_line(scale, answers, self.describe_noise_shares()))
        self._prepaid[question.terms] += answers

    def forfeit(self, question: VectorSum, answers: int) -> None:
        """Give up answers that were prepaid and may have been given before, in a run that ended
        early.
        """
        if not 0 <= answers <= self._prepaid[question.terms]:
            raise InputError("More answers were given before than are paid for.")
        self._prepaid[question.terms] -= answers

    def describe_noise_shares(self) -> str:
        """Who adds noise, in the words of a ledger; nothing where one curator does."""
        return ""

    def _pay(self, question: VectorSum, scale: float) -> None:
        """Take a prepaid answer, or debit one."""
        if self._prepaid[question.terms]:
            self._prepaid[question.terms] -= 1
        else:
            line = question.ledger_line(scale, 1, self.describe_noise_shares())
            self.ledger.debit(*line)

    def mean_noise(self, cost: Budget) -> float:
        """The average size of the noise in a cell of a table that costs ``cost``."""
        return mean_integer_noise(cost, self.neighbours, self.ledger.max_rows_per_person)

    def choice_noise(self, cost: Budget) -> float:
        """The scale, in rows, of the noise in a choice by misfit that costs ``cost``."""
        sensitivity = Misfit().sensitivity(self.neighbours, None, binary=False)
        loss = self.ledger.allow_loss(cost)
        scale = choice_scale(loss.amount, loss.currency) / SCORE_GRID
        return self.ledger.max_rows_per_person * sensitivity * scale

    def toss(self, places: int) -> int:
        """A place drawn uniformly: asks nothing, costs nothing."""
        return self._noise.choose(np.zeros(places), 1.0, "exponential")
