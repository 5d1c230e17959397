"""Choosing one of several candidates: exponential, permute-and-flip, noisy maximum."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.mechanisms.base import (
    Mechanism,
    check_monotone,
    check_scale,
    check_sensitivity,
    check_whole_sensitivity,
    choose_noise,
)
from understudy.mechanisms.distributions import (
    choice_log_probabilities,
    discrete_laplace_cdf,
    discrete_laplace_log_pmf,
)
from understudy.mechanisms.grid import check_counts
from understudy.privacy.budget import exact, round_up
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import (
    ChoiceRule,
    Noise,
    choice_scale,
    laplace_scale,
    round_to_grid,
)

Candidate = TypeVar("Candidate")

MAX_SCORE = 2.0**50
"""Scores farther from 0 than this many steps of the grid are moved there."""


@dataclass(frozen=True, kw_only=True)
class ChoiceMechanism(Mechanism):
    """Chooses a candidate by its score, high ones more often.

    Parameters
    ----------
    epsilon
        What one choice costs.
    sensitivity
        By how much each score can differ between neighbours of the ledger.
    monotone
        Whether a row that is added lowers no score (counts are like that), under neighbours
        add_remove. Then half the noise is enough.
    """

    sensitivity: float = 1.0
    monotone: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sensitivity(self.sensitivity)

    def check_ledger(self, ledger: Ledger) -> None:
        """Refuse neighbours under which no score is monotone."""
        if self.monotone:
            check_monotone(ledger)

    @property
    @abstractmethod
    def rule(self) -> ChoiceRule:
        """How a candidate is chosen."""

    @cached_property
    def scale(self) -> float:
        """The scale of the choice, in steps of the scores' grid."""
        return choice_scale(self.epsilon, "epsilon", monotone=self.monotone)

    def probabilities(self, scores: Mapping[Candidate, float]) -> dict[Candidate, float]:
        """How likely each candidate is, exactly."""
        logs = choice_log_probabilities(self._on_grid(scores), self.scale, self.rule)
        return dict(zip(scores, np.exp(logs).tolist(), strict=True))

    def _on_grid(self, scores: Mapping[Any, float]) -> NDArray[np.float64]:
        if not isinstance(scores, Mapping) or not scores:
            raise InputError("A choice needs candidates with their scores: {candidate: score}.")
        numbers = np.array(list(scores.values()))
        if numbers.dtype.kind not in "iuf" or not np.isfinite(numbers.astype(np.float64)).all():
            raise InputError("A score is not a finite number, so it has no sensitivity.")
        gridded = round_to_grid(numbers.astype(np.float64), self.sensitivity)
        return np.clip(gridded, -MAX_SCORE, MAX_SCORE)

    def describe(self) -> str:
        """As it stands in a ledger."""
        kind = "monotone scores, " if self.monotone else ""
        name = self.rule.replace("_", "-")
        return f"{name}, {kind}sensitivity {self.sensitivity:.6g}"

    def choose(
        self,
        scores: Mapping[Candidate, float],
        ledger: Ledger,
        question: str,
        *,
        noise: Noise | None = None,
    ) -> Candidate:
        """One of the candidates.

        Parameters
        ----------
        scores
            Each candidate's exact score; which candidates there are is public.
        ledger
            What is debited first.
        question
            What was asked, in a few words.
        noise
            Where chance comes from; anything but the default is for tests and studies.
        """
        gridded = self._on_grid(scores)
        self.debit(ledger, question)
        place = choose_noise(noise, ledger).choose(gridded, self.scale, self.rule)
        return list(scores)[place]


@dataclass(frozen=True, kw_only=True)
class Exponential(ChoiceMechanism):
    """The exponential mechanism: P(candidate) is proportional to exp(epsilon score / (2
    sensitivity)).

    Scores are put on a grid of sensitivity / 2^20, so that the last digits of a floating-point
    score tell nothing; the choice is made in log space, so that no score is too large. For monotone
    scores the 2 falls away. In zCDP a choice costs epsilon^2 / 8 (Cesar and Rogers 2021).

    Examples
    --------
    >>> votes = {"football": 49, "volleyball": 25, "basketball": 6, "swimming": 2}
    >>> sport = Exponential(epsilon=1.0)
    >>> round(sport.probabilities(votes)["football"], 6)
    0.999994
    """

    @property
    def rule(self) -> ChoiceRule:
        """How a candidate is chosen."""
        return "exponential"

    @property
    def rho(self) -> float:
        """What a choice costs in zCDP."""
        return round_up(exact(self.epsilon) ** 2 / 8)


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(ChoiceMechanism):
    """Permute-and-flip: never worse than the exponential mechanism (McKenna and Sheldon 2020).

    The candidates are gone through in random order; each is taken with probability exp(epsilon
    (score - best) / (2 sensitivity)). In zCDP a choice costs epsilon^2 / 2: it has not the bounded
    range that makes the exponential mechanism cheap there.

    Examples
    --------
    >>> votes = {"football": 49, "volleyball": 25, "basketball": 6, "swimming": 2}
    >>> round(PermuteAndFlip(epsilon=1.0).probabilities(votes)["football"], 6)
    0.999997
    """

    @property
    def rule(self) -> ChoiceRule:
        """How a candidate is chosen."""
        return "permute_and_flip"


@dataclass(frozen=True, kw_only=True)
class NoisyMax(Mechanism):
    """Report noisy max: each count gets whole-number noise, and only the name of the largest is
    released.

    *Proof.* Hold the noise of all others fixed: candidate i wins if its noise is at least some
    whole number t (ties go to the first in order). Between neighbours t moves by at most 2
    sensitivity: its own count by one sensitivity, the others by another. The tail of geometric
    noise loses a factor of at most exp(-m / scale) over m steps. So a scale of 2 sensitivity /
    epsilon is enough. Monotone counts move the same way: t moves by one sensitivity at most, and
    half of the scale will do.

    Parameters
    ----------
    epsilon
        What one choice costs, however many candidates there are.
    sensitivity
        By how much each count can differ between neighbours of the ledger.
    monotone
        Whether a row that is added lowers no count, under neighbours add_remove.

    Examples
    --------
    >>> votes = {"football": 49, "volleyball": 25, "basketball": 6, "swimming": 2}
    >>> round(NoisyMax(epsilon=1.0, monotone=True).probabilities(votes)["football"], 6)
    1.0
    """

    sensitivity: int = 1
    monotone: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole_sensitivity(self.sensitivity)
        check_scale(self.scale, self.epsilon)

    def check_ledger(self, ledger: Ledger) -> None:
        """Refuse neighbours under which no score is monotone."""
        if self.monotone:
            check_monotone(ledger)

    @cached_property
    def scale(self) -> float:
        """The scale of the noise in each count, as OpenDP vouches for it."""
        moves = self.sensitivity
        if not self.monotone:
            moves *= 2
        return laplace_scale(moves, self.epsilon)

    def probabilities(self, counts: Mapping[Candidate, int]) -> dict[Candidate, float]:
        """How likely each candidate is: the sum over all values of its noise of the probability
        that the others stay below.
        """
        exact_counts = check_counts(list(counts.values())).astype(np.float64)
        best = exact_counts.max()
        reach = math.ceil(45 * self.scale) + 2
        lowest = int(exact_counts.min() - reach)
        values = np.arange(lowest, int(best) + reach + 1, dtype=np.float64)
        if len(values) > 1 << 22:
            raise InputError("The counts lie too far apart for exact probabilities.")
        apart = values - exact_counts[:, None]
        # Ties go to the first in order: those before a candidate must stay below it.
        before = np.log(discrete_laplace_cdf(apart - 1, self.scale)).cumsum(axis=0)
        after = np.log(discrete_laplace_cdf(apart, self.scale))[::-1].cumsum(axis=0)[::-1]
        chances = discrete_laplace_log_pmf(apart, self.scale)
        chances[1:] += before[:-1]
        chances[:-1] += after[1:]
        found = np.exp(chances).sum(axis=1).tolist()
        return dict(zip(counts, found, strict=True))

    def describe(self) -> str:
        """As it stands in a ledger."""
        kind = "monotone counts, " if self.monotone else ""
        return f"noisy max, {kind}sensitivity {self.sensitivity}, scale {self.scale:.6g}"

    def choose(
        self,
        counts: Mapping[Candidate, int],
        ledger: Ledger,
        question: str,
        *,
        noise: Noise | None = None,
    ) -> Candidate:
        """The candidate whose noisy count is the largest.

        Parameters
        ----------
        counts
            Each candidate's exact count; which candidates there are is public.
        ledger
            What is debited first.
        question
            What was asked, in a few words.
        noise
            Where noise comes from; anything but the default is for tests and studies.
        """
        if not isinstance(counts, Mapping) or not counts:
            raise InputError("A choice needs candidates with their counts: {candidate: count}.")
        whole = check_counts(list(counts.values()))
        self.debit(ledger, question)
        noisy = choose_noise(noise, ledger).laplace(whole, self.scale)
        return list(counts)[int(np.argmax(noisy))]
