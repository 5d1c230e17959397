"""Noise that is added to a number: Laplace, geometric and staircase."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
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
    grid_step,
    put_on_grid,
    steps_moved,
    take_off_grid,
)
from understudy.privacy import exact_noise
from understudy.privacy.budget import exact
from understudy.privacy.exact_noise import Source, system_words
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SCORE_GRID, Noise, laplace_scale

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
        """The log-probability that the noise in a number is so many steps of the grid."""

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
        return steps_moved(self.size)

    @cached_property
    def scale(self) -> float:
        """The scale of the noise, in steps of the grid, as OpenDP vouches for it."""
        return laplace_scale(self.reach, self.epsilon)

    def log_pmf(self, steps: NDArray[Any]) -> Floats:
        """The log-probability of noise of so many steps."""
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


@dataclass(frozen=True, kw_only=True)
class Staircase(AdditiveMechanism):
    """Noise in stairs, for one number: less of it than Laplace where epsilon is large (Geng and
    Viswanath 2014).

    The probability falls in steps: it is constant for noise of less than ``width`` * sensitivity,
    and then falls by a factor of exp(-epsilon) every sensitivity. On the grid, with D steps to the
    sensitivity and r of them to the first stair, noise of k steps stands on stair
    floor((|k| + D - r) / D). Moving k by at most D steps moves |k| by at most D, and so the stair
    by at most one: the release is epsilon-DP, exactly. The grid and what it allows for rounding
    are those of :class:`Laplace`.

    It is for one number only: two numbers that change by half of the sensitivity each may both go
    down a stair, which costs 2 epsilon.

    Parameters
    ----------
    epsilon
        What one release costs.
    sensitivity
        By how much the number can differ between neighbours of the ledger.
    width
        The share of the first stair; by default 1 / (1 + exp(epsilon / 2)), which makes the
        expected size of the noise the smallest that any epsilon-DP noise can have.

    Examples
    --------
    >>> stairs = Staircase(epsilon=5.0)
    >>> round(stairs.deviation, 2), round(Laplace(epsilon=5.0).deviation, 2)
    (0.19, 0.28)
    """

    sensitivity: float = 1.0
    width: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sensitivity(self.sensitivity)
        check_scale(self.reach / self.epsilon, self.epsilon)
        if self.width is not None and not 0 < self.width <= 1:
            raise InputError(f"width must lie above 0 and be 1 at most, not {self.width!r}.")

    @cached_property
    def step(self) -> Fraction:
        """The step of the grid."""
        return grid_step(self.sensitivity)

    @property
    def reach(self) -> int:
        """How many steps neighbours can lie apart, rounding included: the length of a stair."""
        return SCORE_GRID + 2

    @cached_property
    def first_stair(self) -> int:
        """How many steps the first stair has on either side, 0 among them."""
        width = self.width
        if width is None:
            width = 1 / (1 + math.exp(min(self.epsilon / 2, 500.0)))
        return min(max(round(width * self.reach), 1), self.reach)

    def stairs(self, steps: NDArray[Any]) -> NDArray[Any]:
        """Which stair noise of so many steps stands on."""
        return np.floor((np.abs(steps) + (self.reach - self.first_stair)) / self.reach)

    def log_pmf(self, steps: NDArray[Any]) -> Floats:
        """The log-probability of noise of so many steps."""
        fall = math.exp(-self.epsilon)
        # The first stair is there once, every other one on both sides.
        whole = 2 * self.first_stair - 1 + 2 * self.reach * fall / -math.expm1(-self.epsilon)
        stairs = self.stairs(np.asarray(steps, dtype=np.float64))
        return np.asarray(-self.epsilon * stairs - math.log(whole), dtype=np.float64)

    @cached_property
    def variance(self) -> float:
        """Of the noise: the sum over stairs of the squares on each, which are those of
        consecutive whole numbers.
        """
        fall, length, first = math.exp(-self.epsilon), self.reach, self.first_stair
        weight = math.exp(float(self.log_pmf(np.zeros(1))[0]))
        found = 2 * weight * _squares_below(first)
        stair, last = 1, math.inf
        while last > 1e-17 * found:
            start = first + (stair - 1) * length
            squares = _squares_below(start + length) - _squares_below(start)
            last = 2 * weight * fall**stair * squares
            found += last
            stair += 1
        return found * float(self.step) ** 2

    def describe(self) -> str:
        """As it stands in a ledger."""
        width = self.first_stair / self.reach
        return (
            f"staircase, sensitivity {self.sensitivity:.6g}, first stair {width:.6g}, on a grid of "
            f"{float(self.step):.6g}"
        )

    def release(self, value: float, ledger: Ledger, question: str) -> float:
        """A number with noise.

        Parameters
        ----------
        value
            The exact number.
        ledger
            What is debited first.
        question
            What was asked, in a few words.
        """
        [steps] = put_on_grid(value, self.step)
        self.debit(ledger, question)
        return float((int(steps) + self.draw_steps()) * self.step)

    def draw_steps(self, words: Source = system_words) -> int:
        """Noise, in steps of the grid, drawn exactly from whole numbers.

        Stair j is drawn with P(j) proportional to exp(-epsilon j), and a place among 2 reach. On
        stair 0 there are only 2 first_stair - 1 places: another one means to begin again. So stair
        0 has weight 2 first_stair - 1 and stair j > 0 has 2 reach exp(-epsilon j), and all places
        of a stair are equally likely.
        """
        fall = 1 / exact(self.epsilon)
        while True:
            stair = int(exact_noise.geometric(1, fall, _words=words)[0])
            place = number_below(2 * self.reach, words)
            if stair == 0 and place >= 2 * self.first_stair - 1:
                continue
            if stair == 0:
                return place - (self.first_stair - 1)
            side, along = divmod(place, self.reach)
            size = (stair - 1) * self.reach + self.first_stair + along
            return (1 - 2 * side) * size


def _squares_below(end: int) -> float:
    """The sum of the squares of 0 ... end - 1."""
    return (end - 1) * end * (2 * end - 1) / 6


def laplace_variance(scale: float) -> float:
    """Of discrete Laplace noise: 2a / (1 - a)^2 with a = exp(-1 / scale)."""
    return 0.5 / math.sinh(min(0.5 / scale, 300.0)) ** 2


def one_or_all(numbers: Floats, value: Any) -> Any:
    """One number where one was given, else the array."""
    if np.ndim(value) == 0:
        return float(numbers[0])
    return numbers


def number_below(bound: int, words: Source = system_words) -> int:
    """A whole number from 0 to ``bound - 1``, uniform: the first of the right length in range."""
    length = bound.bit_length()
    count = -(-length // exact_noise.WORD)
    while True:
        number = 0
        for word in words(count):
            number = number << exact_noise.WORD | int(word)
        number >>= count * exact_noise.WORD - length
        if number < bound:
            return number
