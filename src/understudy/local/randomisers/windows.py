"""A window that slides with the number: what is reported lies inside it more often than outside.

The Piecewise mechanism and the square wave are both of this form; they differ in the width of the
window, and in what is estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.local.randomisers.base import Floats, Integers
from understudy.local.randomisers.numeric import NUMBER_STEPS
from understudy.local.randomisers.thresholds import exp_below, share_words
from understudy.local.randomisers.words import UInts
from understudy.privacy.budget import exact


@dataclass(frozen=True)
class Window:
    """Reports from 0 to NUMBER_STEPS + width - 1. Where the number is at step i, each report from i
    to i + width - 1 gets ``inside`` words and each other one ``outside``.

    The ratio of two probabilities is at most inside / outside <= e^epsilon. The mean of the report
    is a + b i exactly, so (report - a) / b has no bias.
    """

    width: int
    epsilon: Fraction

    @cached_property
    def shares(self) -> tuple[int, int]:
        """How many words a report gets, inside the window and outside."""
        return share_words(self.width, NUMBER_STEPS, exp_below(self.epsilon))

    @property
    def inside(self) -> int:
        """Words of a report inside the window."""
        return self.shares[0]

    @property
    def outside(self) -> int:
        """Words of a report outside the window."""
        return self.shares[1]

    @property
    def reports(self) -> int:
        """How many reports there are."""
        return NUMBER_STEPS + self.width

    @property
    def total(self) -> int:
        """How many words are used: fewer than ``width`` are left over, and are thrown away."""
        return self.width * self.inside + NUMBER_STEPS * self.outside

    @property
    def ratio(self) -> Fraction:
        """The ratio inside / outside."""
        return Fraction(*self.shares)

    def draw(self, steps: Integers, words: UInts) -> Integers:
        """The reports of numbers at these steps, by words below ``total``.

        With w below width inside: i + w // inside. Else j = (w - width inside) // outside is one of
        the others in order: j where that is below i, and j + width where it is not.
        """
        edge = np.uint64(self.width * self.inside)
        near = steps + (words // np.uint64(self.inside)).astype(np.int64)
        others = ((words - edge) // np.uint64(self.outside)).astype(np.int64)
        far = np.where(others < steps, others, others + self.width)
        return np.where(words < edge, near, far)

    def probability(self, report: int, step: int) -> Fraction:
        """The probability of a report, exactly."""
        words = self.shares[not step <= report < step + self.width]
        return Fraction(words, self.total)

    @cached_property
    def line(self) -> tuple[Fraction, Fraction]:
        """The mean of the report at step i is a + b i."""
        width, more = self.width, self.inside - self.outside
        everywhere = self.outside * (self.reports - 1) * self.reports // 2
        at_start = Fraction(2 * everywhere + more * width * (width - 1), 2 * self.total)
        return at_start, Fraction(more * width, self.total)

    def estimate_steps(self, reports: NDArray[Any]) -> Floats:
        """What reports say of the step, without bias."""
        start, slope = self.line
        return (reports.astype(np.float64) - float(start)) / float(slope)

    def step_variance(self, steps: Floats) -> Floats:
        """The variance of what a report says of the step, where it is this one.

        The mean of the squares of reports is that of all of them at ``outside`` words each, and of
        those in the window at the rest of its words; what remains is a quadratic function of the
        step, whose three coefficients are computed exactly.
        """
        width, more, count = self.width, self.inside - self.outside, self.reports
        start, slope = self.line
        squares = self.outside * (count - 1) * count * (2 * count - 1) // 6
        squares += more * (width - 1) * width * (2 * width - 1) // 6
        constant = Fraction(squares, self.total) - start**2
        linear = Fraction(more * width * (width - 1), self.total) - 2 * start * slope
        square = slope - slope**2
        scale = slope**2
        return (
            float(constant / scale)
            + float(linear / scale) * steps
            + float(square / scale) * steps * steps
        )


@lru_cache(maxsize=256)
def piecewise_window(epsilon: Fraction) -> Window:
    """The window of the Piecewise mechanism: e^(-epsilon / 2) of the range."""
    return Window(max(1, round(NUMBER_STEPS / exp_below(epsilon / 2))), epsilon)


@lru_cache(maxsize=256)
def square_wave_window(epsilon: float) -> Window:
    """The window of the square wave: (epsilon e^epsilon - e^epsilon + 1) / (e^epsilon (e^epsilon -
    1 - epsilon)) of the range, where the report tells most about the number (Li et al. 2020).
    """
    amount = exact(epsilon)
    power = exp_below(amount)
    share = (amount * power - power + 1) / (power * (power - 1 - amount))
    return Window(max(1, round(NUMBER_STEPS * share)), amount)
