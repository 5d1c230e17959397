"""Noise that is added to numbers: geometric and Laplace."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from understudy.mechanisms.base import (
    Mechanism,
    check_scale,
    check_sensitivity,
    check_size,
    check_whole_sensitivity,
    choose_noise,
)
from understudy.mechanisms.distributions import discrete_laplace_log_pmf
from understudy.mechanisms.grid import (
    check_counts,
    count_moved_steps,
    grid_step,
    put_on_grid,
    take_off_grid,
)
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise, laplace_scale

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class AdditiveMechanism(Mechanism):
    """Noise on a grid, added to a value on the same grid."""

    @property
    @abstractmethod
    def step(self) -> Fraction:
        """The step of the grid that answers lie on."""

    @property
    @abstractmethod
    def reach(self) -> int:
        """How many steps of the grid neighbours can lie apart, rounding included."""

    @abstractmethod
    def log_pmf(self, steps: NDArray[Any]) -> Floats:
        """The log-probability that the noise in a number is this many steps of the grid."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Of the noise in each number."""

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in each number."""
        return math.sqrt(self.variance)

    def density(self, noise: NDArray[Any]) -> Floats:
        """Probability per unit of the value, at noise of this size: what a picture shows."""
        steps = np.rint(np.asarray(noise, dtype=np.float64) / float(self.step))
        return np.exp(self.log_pmf(steps)) / float(self.step)

    def loss(self, noise: NDArray[Any], moved: float) -> Floats:
        """The privacy loss of answers: the log-ratio of their probabilities where the true value is
        0, and where it is ``moved``.
        """
        steps = np.rint(np.asarray(noise, dtype=np.float64) / float(self.step))
        return self.log_pmf(steps) - self.log_pmf(steps - round(moved / float(self.step)))


@dataclass(frozen=True, kw_only=True)
class Geometric(AdditiveMechanism):
    """Whole-number noise for counts: P(k) is proportional to exp(-epsilon |k| / sensitivity).

    Neighbouring counts differ by at most ``sensitivity`` in all (L1), so any outcome's two
    probabilities differ by a factor of at most exp(epsilon). The variance is 2a / (1 - a)^2 with
    a = exp(-epsilon / sensitivity). For counts this is better than Laplace noise, and the answer is
    a whole number.

    Parameters
    ----------
    epsilon
        What one release costs.
    sensitivity
        By how much all counts of a release together can differ between neighbours of the ledger:
        1 for a histogram where a row is added or removed, 2 where one is replaced.

    Examples
    --------
    >>> from understudy import Ledger
    >>> ledger = Ledger(epsilon=1.0)
    >>> Geometric(epsilon=0.1).release(6460, ledger, "people over fifty")   # doctest: +SKIP
    6472
    >>> round(Geometric(epsilon=1.0).variance, 2)
    1.84
    """

    sensitivity: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole_sensitivity(self.sensitivity)
        check_scale(self.scale, self.epsilon)

    @cached_property
    def scale(self) -> float:
        """The scale of the noise, as OpenDP vouches for it."""
        return laplace_scale(self.sensitivity, self.epsilon)

    @property
    def step(self) -> Fraction:
        """The step of the grid: 1."""
        return Fraction(1)

    @property
    def reach(self) -> int:
        """How many steps neighbours can lie apart: the sensitivity."""
        return self.sensitivity

    def log_pmf(self, steps: NDArray[Any]) -> Floats:
        """The log-probability of noise of this size."""
        return discrete_laplace_log_pmf(steps, self.scale)

    @property
    def variance(self) -> float:
        """Of the noise in each count: 2a / (1 - a)^2."""
        return laplace_variance(self.scale)

    def describe(self) -> str:
        """As it stands in a ledger."""
        return f"geometric, sensitivity {self.sensitivity}, scale {self.scale:.6g}"

    @overload
    def release(
        self, value: int, ledger: Ledger, question: str, *, noise: Noise | None = None
    ) -> int: ...

    @overload
    def release(
        self, value: Any, ledger: Ledger, question: str, *, noise: Noise | None = None
    ) -> Any: ...

    def release(
        self, value: Any, ledger: Ledger, question: str, *, noise: Noise | None = None
    ) -> Any:
        """A count, or an array of them, with noise in each.

        Parameters
        ----------
        value
            The exact count or counts.
        ledger
            What is debited first.
        question
            What was asked, in a few words.
        noise
            Where noise comes from; anything but the default is for tests and studies.
        """
        counts = check_counts(value)
        self.debit(ledger, question)
        noisy = choose_noise(noise, ledger).laplace(counts, self.scale)
        if noisy.ndim == 0:
            return int(noisy)
        return noisy


@dataclass(frozen=True, kw_only=True)
class Laplace(AdditiveMechanism):
    """Laplace noise for numbers of any kind, on a fine grid.

    The grid's step is the sensitivity / 2^20 (divided by ``size`` where there are several numbers).
    A value is put on the grid exactly, in rational arithmetic, and gets discrete Laplace noise in
    steps. Rounding, and errors of the caller's floating-point sums below half a step, move each
    number by at most two steps more, and the scale allows for that: so the release is epsilon-DP
    with rounding included, at noise that is wider by two millionths.

    Parameters
    ----------
    epsilon
        What one release costs.
    sensitivity
        The L1 sensitivity: by how much all numbers of a release together can differ between
        neighbours of the ledger. It must come from public bounds, never from the data.
    size
        How many numbers are released at once.

    Examples
    --------
    >>> from understudy import Ledger
    >>> ledger = Ledger(epsilon=1.0)
    >>> mean_age = Laplace(epsilon=0.5, sensitivity=120 / 1000)  # ages 0 to 120, 1,000 people
    >>> mean_age.release(38.6, ledger, "mean age")   # doctest: +SKIP
    38.71
    >>> round(mean_age.deviation, 4)
    0.3394
    """

    sensitivity: float = 1.0
    size: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sensitivity(self.sensitivity)
        check_size(self.size)
        check_scale(self.reach / self.epsilon, self.epsilon)

    @cached_property
    def step(self) -> Fraction:
        """The step of the grid."""
        return grid_step(self.sensitivity, self.size)

    @property
    def reach(self) -> int:
        """How many steps neighbours can lie apart, rounding included."""
        return count_moved_steps(self.size)

    @cached_property
    def scale(self) -> float:
        """The scale of the noise, in steps of the grid, as OpenDP vouches for it."""
        return laplace_scale(self.reach, self.epsilon)

    def log_pmf(self, steps: NDArray[Any]) -> Floats:
        """The log-probability of noise of this many steps."""
        return discrete_laplace_log_pmf(steps, self.scale)

    @property
    def variance(self) -> float:
        """Of the noise in each number: 2 (sensitivity / epsilon)^2, all but exactly."""
        return laplace_variance(self.scale) * float(self.step) ** 2

    def describe(self) -> str:
        """As it stands in a ledger."""
        scale = self.scale * float(self.step)
        return (
            f"Laplace, sensitivity {self.sensitivity:.6g}, scale {scale:.6g}, on a grid of "
            f"{float(self.step):.6g}"
        )

    def release(
        self, value: Any, ledger: Ledger, question: str, *, noise: Noise | None = None
    ) -> Any:
        """A number, or an array of ``size`` of them, with noise in each.

        Parameters
        ----------
        value
            The exact number or numbers.
        ledger
            What is debited first.
        question
            What was asked, in a few words.
        noise
            Where noise comes from; anything but the default is for tests and studies.
        """
        steps = put_on_grid(value, self.step, self.size)
        self.debit(ledger, question)
        noisy = choose_noise(noise, ledger).laplace(steps, self.scale)
        return one_or_all(take_off_grid(noisy, self.step), value)


def laplace_variance(scale: float) -> float:
    """Of discrete Laplace noise: 2a / (1 - a)^2 with a = exp(-1 / scale)."""
    return 0.5 / math.sinh(min(0.5 / scale, 300.0)) ** 2


def one_or_all(numbers: Floats, value: Any) -> Any:
    """One number where one was given, else the array."""
    if np.ndim(value) == 0:
        return float(numbers[0])
    return numbers
