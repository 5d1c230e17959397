"""The vector mechanism: noise of a random direction, for numbers that are bounded by their
Euclidean length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.mechanisms.base import (
    Mechanism,
    check_sensitivity,
    check_size,
    sensitivity_as_fraction,
)
from understudy.mechanisms.exact_reals import (
    Interval,
    Real,
    fraction_interval,
    norm,
    normals,
    round_exactly,
)
from understudy.mechanisms.grid import check_numbers
from understudy.privacy.budget import exact
from understudy.privacy.exact_noise import WordSource, system_words
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SCORE_GRID

MAX_VECTOR_SIZE = 10_000
"""Each number takes a fraction of a millisecond."""


@dataclass(frozen=True, kw_only=True)
class Vector(Mechanism):
    """Noise with density proportional to exp(-epsilon |b| / sensitivity), |b| being its Euclidean
    length: uniform direction, Gamma-distributed length (Chaudhuri, Monteleoni and Sarwate 2011).

    By the triangle inequality the density at an answer differs between neighbours by a factor of at
    most exp(epsilon). Independent Laplace noise for an L2 sensitivity would cost up to sqrt(size)
    times epsilon.

    The noise is drawn as a real vector, exactly (:mod:`understudy.mechanisms.exact_reals`), added
    to the value, and the sum is rounded to a grid of sensitivity / 2^20. What is done to an answer
    costs nothing, so the release is epsilon-DP with rounding included. Errors of the caller's
    floating-point sums are allowed for up to a millionth of the sensitivity.

    How it is drawn: with G a vector of ``size`` and H one of ``size`` + 1 independent standard
    normal numbers, |H| G has density proportional to exp(-|b|). For exp(-|b|) is a mixture of
    normal densities: the integral over u of exp(-b^2 / (4 u)) exp(-u) / sqrt(pi u), so that given
    u the vector is normal with variance 2 u, and u, with the weight (4 pi u)^(size / 2) of that
    normal density, is Gamma((size + 1) / 2): half of a chi-squared number of size + 1 degrees.

    Parameters
    ----------
    epsilon
        What one release costs.
    sensitivity
        The L2 sensitivity: how far apart (Euclidean distance) the vectors of neighbours can be.
    size
        How many numbers the vector has.

    Examples
    --------
    >>> weights = Vector(epsilon=1.0, sensitivity=0.01, size=9)
    >>> round(weights.mean_norm, 4)
    0.09
    """

    sensitivity: float = 1.0
    size: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sensitivity(self.sensitivity)
        if check_size(self.size) > MAX_VECTOR_SIZE:
            raise InputError(
                f"A vector of {self.size:,} numbers is too long for this noise, which would be "
                f"{self.size:,} sensitivities / epsilon; Gaussian noise takes longer ones."
            )

    @cached_property
    def scale(self) -> Fraction:
        """Sensitivity / epsilon, with a margin for the caller's rounding errors."""
        allowed = sensitivity_as_fraction(self.sensitivity) * Fraction(SCORE_GRID + 1, SCORE_GRID)
        return allowed / exact(self.epsilon)

    @property
    def step(self) -> Fraction:
        """The step of the grid that answers lie on."""
        return sensitivity_as_fraction(self.sensitivity) / SCORE_GRID

    @property
    def mean_norm(self) -> float:
        """The expected length of the noise."""
        return self.size * float(self.scale)

    @property
    def variance(self) -> float:
        """Of the noise in each number: E|b|^2 / size = (size + 1) scale^2."""
        return (self.size + 1) * float(self.scale) ** 2

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in each number."""
        return math.sqrt(self.variance)

    def log_density(self, noise: NDArray[Any]) -> NDArray[np.float64]:
        """The log-density of noise vectors, one per line."""
        lengths = np.linalg.norm(np.asarray(noise, dtype=np.float64), axis=-1)
        half = self.size / 2
        ball = half * math.log(math.pi) - math.lgamma(half + 1)  # the log-volume of the unit ball
        whole = ball + math.lgamma(self.size + 1) + self.size * math.log(self.scale)
        return np.asarray(-lengths / float(self.scale) - whole, dtype=np.float64)

    def describe(self) -> str:
        """As it stands in a ledger."""
        return (
            f"vector, L2 sensitivity {self.sensitivity:.6g}, scale {float(self.scale):.6g}, on a "
            f"grid of {float(self.step):.6g}"
        )

    def release(self, value: Any, ledger: Ledger, question: str) -> NDArray[np.float64]:
        """A vector with noise.

        Parameters
        ----------
        value
            The exact numbers, ``size`` of them.
        ledger
            What is debited first.
        question
            What was asked, in a few words.
        """
        numbers = check_numbers(value, self.size)
        self.debit(ledger, question)
        return np.array([float(steps * self.step) for steps in self.draw_steps(numbers)])

    def draw_steps(self, numbers: list[Fraction], words: WordSource = system_words) -> list[int]:
        """The numbers with noise, in steps of the grid, each rounded to the nearest."""
        length = norm(normals(self.size + 1, words))
        directions = normals(self.size, words)
        in_steps = self.scale / self.step

        def noisy(number: Fraction, direction: Real) -> Real:
            def at(bits: int) -> Interval:
                noise = length(bits).times(direction(bits)).times(fraction_interval(in_steps, bits))
                return noise.plus(fraction_interval(number / self.step, bits))

            return at

        return [
            round_exactly(noisy(number, direction))
            for number, direction in zip(numbers, directions, strict=True)
        ]
