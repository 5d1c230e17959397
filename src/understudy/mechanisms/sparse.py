"""Sparse vector: which of very many counts exceed a threshold; only those that do are paid for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BudgetError, InputError
from understudy.mechanisms.base import (
    Mechanism,
    check_monotone,
    check_scale,
    check_whole_sensitivity,
    choose_noise,
)
from understudy.mechanisms.distributions import discrete_laplace_cdf, discrete_laplace_log_pmf
from understudy.mechanisms.grid import FARTHEST_POINT, check_counts
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise, laplace_scale

MAX_ABOVE = 10_000


@dataclass(frozen=True, kw_only=True)
class SparseVector(Mechanism):
    """Above threshold: counts are asked one after another, and each is said to be above a public
    threshold or not, until ``max_above`` of them were.

    It is algorithm 1 of Lyu, Su and Li (2017), with whole-number noise. The threshold gets noise
    once; each count gets noise of its own. Whole-number noise of scale s loses exp(-m / s) when it
    is shifted by m, as Laplace noise does, and counts and thresholds are whole, so their proof
    holds word by word: with share e1 of epsilon for the threshold (scale sensitivity / e1) and the
    rest e2 for counts (scale 2 max_above sensitivity / e2, half of that for monotone counts).

    What broke other versions: noise that does not grow with ``max_above``, no noise in the counts,
    new noise for the threshold at no price, and the noisy count itself as an answer. Here the
    answer is one bit, and the session ends.

    Parameters
    ----------
    epsilon
        What a whole session costs, debited when it begins.
    threshold
        A public whole number.
    max_above
        After this many counts above the threshold the session ends.
    sensitivity
        By how much each count can differ between neighbours of the ledger.
    monotone
        Whether a row that is added lowers no count, under neighbours add_remove.

    Examples
    --------
    >>> from understudy import Ledger
    >>> alarms = SparseVector(epsilon=1.0, threshold=500)
    >>> session = alarms.start(Ledger(epsilon=1.0), "days with more than 500 patients")
    >>> [session.is_above(count) for count in (20, 31, 900)]
    [False, False, True]
    >>> session.ended
    True
    """

    threshold: int
    max_above: int = 1
    sensitivity: int = 1
    monotone: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole_sensitivity(self.sensitivity)
        whole = not isinstance(self.threshold, bool) and isinstance(self.threshold, int)
        if not whole or abs(self.threshold) > FARTHEST_POINT:
            raise InputError(
                f"The threshold is a public whole number, up to 2^60, not {self.threshold!r}."
            )
        whole = not isinstance(self.max_above, bool) and isinstance(self.max_above, int)
        if not whole or not 1 <= self.max_above <= MAX_ABOVE:
            raise InputError(
                f"max_above must be a whole number from 1 to {MAX_ABOVE:,}, not {self.max_above!r}."
            )
        check_scale(self.count_scale, self.epsilon)

    def check_ledger(self, ledger: Ledger) -> None:
        """Refuse neighbours under which no score is monotone."""
        if self.monotone:
            check_monotone(ledger)

    @property
    def count_moves(self) -> int:
        """By how much a count and the threshold can move against each other, for all that are
        above together.
        """
        moves = self.max_above * self.sensitivity
        if not self.monotone:
            moves *= 2
        return moves

    @cached_property
    def shares(self) -> tuple[float, float]:
        """Epsilon for the threshold and for the counts: 1 to (moves)^(2/3) makes the noise of both
        together the least.
        """
        weight = (self.count_moves / self.sensitivity) ** (2 / 3)
        for_threshold, for_counts = Budget(self.epsilon).split(1.0, weight)
        return for_threshold.amount, for_counts.amount

    @cached_property
    def threshold_scale(self) -> float:
        """The scale of the threshold's noise."""
        return laplace_scale(self.sensitivity, self.shares[0])

    @cached_property
    def count_scale(self) -> float:
        """The scale of the noise in each count."""
        return laplace_scale(self.count_moves, self.shares[1])

    def describe(self) -> str:
        """As it stands in a ledger."""
        return (
            f"sparse vector, threshold {self.threshold}, up to {self.max_above} above, scales "
            f"{self.threshold_scale:.6g} and {self.count_scale:.6g}"
        )

    def start(self, ledger: Ledger, question: str, *, noise: Noise | None = None) -> SparseSession:
        """Begin a session; it is debited now, in full.

        Parameters
        ----------
        ledger
            What is debited first.
        question
            What is asked of all counts, in a few words.
        noise
            Where noise comes from; anything but the default is for tests and studies.
        """
        self.debit(ledger, question)
        return SparseSession(self, choose_noise(noise, ledger))

    def log_probability(self, counts: NDArray[Any], answers: NDArray[Any]) -> float:
        """The log-probability that a session says these answers of these counts, exactly: the sum
        over the threshold's noise.
        """
        reach = math.ceil(45 * self.threshold_scale) + 2
        noise = np.arange(-reach, reach + 1)
        weights = discrete_laplace_log_pmf(noise, self.threshold_scale)
        margins = self.threshold + noise - np.asarray(counts)[:, None]
        # A count is below if its noise is at most margin - 1.
        below = discrete_laplace_cdf(margins - 1.0, self.count_scale)
        above = discrete_laplace_cdf(-margins.astype(np.float64), self.count_scale)
        chances = np.where(np.asarray(answers, dtype=bool)[:, None], above, below)
        return float(np.logaddexp.reduce(weights + np.log(chances).sum(axis=0)))


class SparseSession:
    """A running sparse vector: ask it of one count after another."""

    def __init__(self, mechanism: SparseVector, noise: Noise) -> None:
        self._mechanism, self._noise = mechanism, noise
        self._left = mechanism.max_above
        threshold = np.array([mechanism.threshold], dtype=np.int64)
        self._noisy_threshold = int(noise.laplace(threshold, mechanism.threshold_scale)[0])

    @property
    def ended(self) -> bool:
        """Whether as many counts were above the threshold as were paid for."""
        return self._left == 0

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise InputError(
            "A session of a sparse vector cannot be copied or sent to another process, where it "
            "would say more than was paid for; start another one."
        )

    def is_above(self, count: int) -> bool:
        """Whether a count is above the threshold, or at it, give or take both noises."""
        if self.ended:
            raise BudgetError(
                "The session has said as often as was paid for that a count is above the "
                "threshold; start another one."
            )
        exact_count = check_counts(count)
        if exact_count.size != 1:
            raise InputError("A session is asked of one count after another, not of several.")
        exact_count = exact_count.reshape(1)
        noisy = int(self._noise.laplace(exact_count, self._mechanism.count_scale)[0])
        above = noisy >= self._noisy_threshold
        self._left -= above
        return above
