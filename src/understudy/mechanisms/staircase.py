"""Noise that falls in stairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.mechanisms.additive import AdditiveMechanism
from understudy.mechanisms.base import check_scale, check_sensitivity
from understudy.mechanisms.grid import grid_step, put_on_grid
from understudy.mechanisms.uniform import number_below
from understudy.privacy import exact_noise
from understudy.privacy.budget import exact
from understudy.privacy.exact_noise import WordSource, system_words
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SCORE_GRID

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Staircase(AdditiveMechanism):
    """Noise in stairs, for one number: less of it than Laplace where epsilon is large (Geng and
    Viswanath 2014).

    The probability falls in steps: it is constant for noise of less than ``width`` * sensitivity,
    and then falls by a factor of exp(-epsilon) every sensitivity. On the grid, with D steps to the
    sensitivity and r of them to the first stair, noise of k steps stands on stair
    floor((|k| + D - r) / D). Moving k by at most D steps moves |k| by at most D, and so the stair
    by at most one: the release is epsilon-DP, exactly. The grid and what it allows for rounding
    are those of :class:`~understudy.mechanisms.Laplace`.

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
    >>> from understudy.mechanisms import Laplace
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
        """Which stair noise of this many steps stands on."""
        return np.floor((np.abs(steps) + (self.reach - self.first_stair)) / self.reach)

    def log_pmf(self, steps: NDArray[Any]) -> Floats:
        """The log-probability of noise of this many steps."""
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

    def draw_steps(self, words: WordSource = system_words) -> int:
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
