"""Laplace noise, added on the person's device: to a number, or to each entry of a histogram."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.local.randomisers.base import (
    CategoricalRandomiser,
    Floats,
    Integers,
    Reports,
    check_persons,
    check_reports,
    check_tally,
)
from understudy.local.randomisers.numeric import (
    NUMBER_STEPS,
    MeanRandomiser,
    check_sums,
    divide_sums,
)
from understudy.local.randomisers.words import Words
from understudy.mechanisms.additive import laplace_variance
from understudy.mechanisms.distributions import discrete_laplace_log_pmf
from understudy.privacy.budget import exact
from understudy.privacy.exact_noise import laplace

MAX_REPORT_STEPS = 1 << 50
"""No report is farther from 0 than this many steps: what is drawn beyond is moved there."""


def add_laplace(numbers: Integers, scale: Fraction, words: Words) -> Integers:
    """Whole numbers with exact discrete Laplace noise of this scale."""
    noise = laplace(numbers.size, scale, _words=words.take_32).reshape(numbers.shape)
    return np.clip(numbers + noise, -MAX_REPORT_STEPS, MAX_REPORT_STEPS)


def is_near(reports: Reports) -> NDArray[np.bool_]:
    """For each line, whether no number is farther from 0 than any report."""
    return np.abs(reports.astype(np.float64)).max(axis=1, initial=0) <= MAX_REPORT_STEPS


@dataclass(frozen=True, kw_only=True)
class SummedHistogram(CategoricalRandomiser):
    """Summation with histogram encoding (SHE): Laplace noise of scale 2 / epsilon in each number of
    a one-hot vector. The sums of reports are the estimates. It is the least accurate way to count
    values, kept for comparison.

    A report is ``size`` whole numbers, in steps of 1 / 1,024. Its noise is drawn as
    :func:`understudy.privacy.exact_noise.laplace` does, from 32-bit words: of each 64-bit word the
    lower half first. Changing the value moves two numbers by 1, so the loss is epsilon exactly.

    Examples
    --------
    >>> age = SummedHistogram(size=91, epsilon=5.0)
    >>> round(age.variance(32561)[0] ** 0.5)
    102
    """

    kind: ClassVar[str] = "summed histogram"
    max_size: ClassVar[int] = 1 << 12
    unit: ClassVar[int] = 1 << 10

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in steps."""
        return 2 * self.unit / exact(self.epsilon)

    @property
    def loss(self) -> float:
        """Two numbers move by 1: exactly epsilon."""
        return float(2 * self.unit / self.scale)

    def thresholds(self) -> dict[str, int]:
        """The scale of the noise in steps, as a fraction."""
        return {"numerator": self.scale.numerator, "denominator": self.scale.denominator}

    @property
    def width(self) -> int:
        """A number for each value."""
        return self.size

    def _draw(self, codes: Integers, words: Words) -> Reports:
        vectors = np.zeros((len(codes), self.size), dtype=np.int64)
        vectors[np.arange(len(codes)), codes] = self.unit
        return add_laplace(vectors, self.scale, words)

    def is_possible(self, reports: Any) -> NDArray[np.bool_]:
        """For each line, whether its numbers can be drawn."""
        return is_near(check_reports(reports, self.size))

    def tally(self, reports: Any) -> Integers:
        """The sum of the reports, in steps."""
        lines = check_reports(reports, self.size)
        if not self.is_possible(lines).all():
            raise InputError("A report has a number that cannot be drawn; leave it out.")
        return lines.sum(axis=0, dtype=np.int64)

    def estimate(self, tally: Any, persons: int) -> Floats:
        """How many persons have each value, without bias; estimates may be negative."""
        check_persons(persons)
        return check_tally(tally, self.size) / self.unit

    def variance(self, persons: int, counts: Any = None) -> Floats:
        """The variance of each estimated count: whoever has which value.

        Parameters
        ----------
        persons
            How many report.
        counts
            Not needed here.
        """
        self._check_counts(persons, counts)
        each = laplace_variance(float(self.scale)) / self.unit**2
        return np.full(self.size, persons * each)

    def log_probability(self, report: Any, code: int) -> float:
        """The logarithm of the probability of a report where this is the true value."""
        moved = np.asarray(report, dtype=np.float64)
        moved[code] -= self.unit
        return float(discrete_laplace_log_pmf(moved, float(self.scale)).sum())


@dataclass(frozen=True, kw_only=True)
class LocalLaplace(MeanRandomiser):
    """Laplace noise of scale dimensions x (high - low) / epsilon in each number, on a grid.

    A report is a whole number of steps for each number. The noise is drawn as
    :func:`understudy.privacy.exact_noise.laplace` does, from 32-bit words: of each 64-bit word the
    lower half first.

    Examples
    --------
    >>> height = LocalLaplace(epsilon=2.0, low=100, high=250)
    >>> round(float(height.variance(10_000)[0]) ** 0.5, 2)
    1.06
    """

    kind: ClassVar[str] = "laplace"

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in steps."""
        return self.dimensions * NUMBER_STEPS / exact(self.epsilon)

    @property
    def loss(self) -> float:
        """All numbers move from one end to the other: exactly epsilon."""
        return float(self.dimensions * NUMBER_STEPS / self.scale)

    def thresholds(self) -> dict[str, int]:
        """The scale of the noise in steps, as a fraction."""
        return {"numerator": self.scale.numerator, "denominator": self.scale.denominator}

    @property
    def width(self) -> int:
        """As many as there are numbers."""
        return self.dimensions

    def _draw(self, codes: Integers, words: Words) -> Reports:
        return add_laplace(codes, self.scale, words)

    def is_possible(self, reports: Any) -> NDArray[np.bool_]:
        """For each line, whether its numbers can be drawn."""
        return is_near(check_reports(reports, self.width))

    def tally(self, reports: Any) -> Integers:
        """For each dimension how many reports there are, and their sum in steps."""
        lines = check_reports(reports, self.width)
        if not self.is_possible(lines).all():
            raise InputError("A report has a number that cannot be drawn; leave it out.")
        counts = np.full(self.dimensions, len(lines))
        return np.stack([counts, lines.sum(axis=0, dtype=np.int64)])

    def estimate(self, tally: Any, persons: int) -> Floats:
        """The mean of each number, without bias."""
        check_persons(persons)
        counts, sums = check_sums(tally, self.dimensions)
        return self._take_off_grid(divide_sums(sums.astype(np.float64), counts))

    def decode(self, reports: Any) -> Floats:
        """What each report says of each number, without bias."""
        return self._take_off_grid(check_reports(reports, self.width))

    def noise_variance(self, values: Any) -> Floats:
        """The variance of the noise, the same for all numbers."""
        unit = (self.high - self.low) / NUMBER_STEPS
        each = laplace_variance(float(self.scale)) * unit**2
        return np.full(self.encode(values).shape, each)

    def log_probability(self, report: Any, code: Any) -> float:
        """The logarithm of the probability of a report where these are the true steps."""
        moved = np.asarray(report, dtype=np.float64) - np.asarray(code, dtype=np.float64)
        return float(discrete_laplace_log_pmf(moved, float(self.scale)).sum())
