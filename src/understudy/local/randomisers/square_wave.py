"""The square wave: a number is reported near itself, and the whole distribution is estimated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.local.randomisers.base import (
    FiniteRandomiser,
    Floats,
    Integers,
    Reports,
    check_persons,
    check_reports,
    check_tally,
    in_range,
    to_array,
)
from understudy.local.randomisers.numeric import NUMBER_STEPS, RangeRandomiser
from understudy.local.randomisers.thresholds import check_whole
from understudy.local.randomisers.windows import Window, square_wave_window
from understudy.local.randomisers.words import Words

MAX_WAVE_BINS = 1024
MAX_EM_ROUNDS = 10_000
SMOOTH_GAIN, ROUGH_GAIN = 1e-3, 1e-2
"""Rounds end when they make the reports more likely by less: the logarithm gains so much. Without
smoothing, going on would fit the noise.
"""


@dataclass(frozen=True, kw_only=True)
class SquareWave(RangeRandomiser, FiniteRandomiser):
    """The square wave (Li et al. 2020): a report lies in a window around the number more often than
    outside. From all reports together the distribution over ``bins`` equal bins is estimated by
    expectation maximisation.

    A report is one number, a place on the grid. One word is read, as
    :meth:`~understudy.local.randomisers.windows.Window.draw` says; a word that is left over is
    thrown away and the next one is read.

    Parameters
    ----------
    bins
        How many bins the estimated histogram has.

    Examples
    --------
    >>> income = SquareWave(epsilon=1.0, low=0, high=100_000, bins=20)
    >>> reports = income.perturb([20_000, 35_000.5, 99_999])
    >>> round(float(income.estimate(income.tally(reports), 3).sum()), 6)
    3.0
    """

    kind: ClassVar[str] = "square wave"
    bins: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self.bins, "bins", 2, MAX_WAVE_BINS)

    @property
    def window(self) -> Window:
        """The window around a number."""
        return square_wave_window(self.epsilon)

    @property
    def ratio(self) -> Fraction:
        """That of the window."""
        return self.window.ratio

    def thresholds(self) -> dict[str, int]:
        """The width of the window, and the words inside and outside of it."""
        window = self.window
        return {"width": window.width, "inside": window.inside, "outside": window.outside}

    @property
    def width(self) -> int:
        """A report is one number."""
        return 1

    def encode(self, values: Any) -> Integers:
        """The steps of the grid."""
        array = to_array(values)
        if array.ndim != 1:
            raise InputError("Each person must have one number.")
        return self._put_on_grid(array)

    def _draw(self, codes: Integers, words: Words) -> Reports:
        found = words.take(len(codes))
        last = np.uint64(self.window.total - 1)
        while (found > last).any():  # fewer than one word in 2^43 is left over
            found = found[found <= last]
            found = np.concatenate([found, words.take(len(codes) - len(found))])
        return self.window.draw(codes, found)[:, None]

    def is_possible(self, reports: Any) -> NDArray[np.bool_]:
        """For each line, whether it is a place."""
        return in_range(check_reports(reports, 1), self.window.reports)

    @cached_property
    def _cells(self) -> Integers:
        """Where the cells begin that reports are counted in, as wide as bins; and where all end."""
        count = -(-self.window.reports * self.bins // NUMBER_STEPS)
        edges = [
            min(cell * NUMBER_STEPS // self.bins, self.window.reports) for cell in range(count + 1)
        ]
        return np.array(edges, dtype=np.int64)

    def tally(self, reports: Any) -> Integers:
        """How many reports lie in each cell, as wide as a bin."""
        lines = check_reports(reports, 1)
        if not self.is_possible(lines).all():
            raise InputError("A report is no place on the grid; leave it out.")
        cells = np.searchsorted(self._cells, lines[:, 0], side="right") - 1
        return np.bincount(cells, minlength=len(self._cells) - 1)

    @cached_property
    def transitions(self) -> Floats:
        """P(cell | bin), a line for each bin, where all steps of a bin are equally likely.

        A cell from a to b is reported from step i with ``outside`` words for each of its places,
        and with inside - outside more for each that lies in the window: clip(b - i) - clip(a - i)
        of them, cut off at 0 and at the width. Sums over steps of what is cut off are quadratic.
        """
        window = self.window
        starts = np.array([-(-bin * NUMBER_STEPS // self.bins) for bin in range(self.bins + 1)])
        starts[-1] = NUMBER_STEPS + 1  # the highest number belongs to the last bin
        begins, ends = starts[:-1, None], starts[1:, None]
        below = np.diff(
            _sum_clipped(self._cells - begins, window.width)
            - _sum_clipped(self._cells - ends, window.width),
            axis=1,
        )
        steps = (ends - begins).astype(np.float64)
        more = float(Fraction(window.inside - window.outside, window.total))
        everywhere = float(Fraction(window.outside, window.total))
        return np.diff(self._cells) * everywhere + below / steps * more

    def estimate(self, tally: Any, persons: int, *, smooth: bool = True) -> Floats:
        """How many persons are in each bin: never negative, and all of them in sum.

        Expectation maximisation finds the distribution that makes the reports most likely, starting
        from a flat one. As it would fit their noise in the end, each round is smoothed over
        neighbouring bins with weights 1, 2, 1, as its authors advise. That flattens narrow peaks:
        without it, rounds end earlier instead.

        Parameters
        ----------
        tally
            From :meth:`tally`.
        persons
            How many reported.
        smooth
            Whether to smooth.
        """
        counts = check_tally(tally, len(self._cells) - 1).astype(np.float64)
        check_persons(persons)
        shares = np.full(self.bins, 1 / self.bins)
        if not counts.sum():
            return shares * persons
        last = -np.inf
        least = (ROUGH_GAIN, SMOOTH_GAIN)[smooth]
        for _ in range(MAX_EM_ROUNDS):
            expected = shares @ self.transitions
            shares = shares * (self.transitions @ (counts / expected))
            if smooth:
                shares = _smooth(shares)
            shares = shares / shares.sum()
            likelihood = float(counts @ np.log(shares @ self.transitions))
            if likelihood - last < least:
                break
            last = likelihood
        return shares * persons

    def variance(self, persons: int, counts: Any = None) -> Floats:
        """The variance of each bin's count as far as it is known: that of the most accurate
        unbiased estimate (Cramér and Rao). Expectation maximisation, which keeps counts above 0
        and smooths them, errs less than that and is biased for it.

        Parameters
        ----------
        persons
            How many report.
        counts
            How many are in each bin, or an estimate of that; by default equally many.
        """
        check_persons(persons)
        if counts is None:
            counts = np.full(self.bins, persons / self.bins)
        shares = np.maximum(np.asarray(counts, dtype=np.float64), 0) / max(persons, 1)
        expected = np.maximum(shares @ self.transitions, 1e-300)
        information = (self.transitions / expected) @ self.transitions.T
        bound: Floats = persons * np.diag(np.linalg.pinv(information)) - persons * shares**2
        return np.maximum(bound, 0.0)

    def probability(self, report: Sequence[int], code: Any) -> Fraction:
        """The probability of a report where this is the true step, exactly."""
        return self.window.probability(int(report[0]), int(code))

    def possible_reports(self) -> Iterator[tuple[int, ...]]:
        """Every place."""
        return ((place,) for place in range(self.window.reports))


def _sum_clipped(ends: Integers, width: int) -> Floats:
    """The sum of all whole numbers up to each end, below 0 taken as 0 and above ``width`` as
    ``width``.
    """
    low = np.clip(ends, 0, width).astype(np.float64)
    return low * (low + 1) / 2 + np.maximum(ends - width, 0) * float(width)


def _smooth(shares: Floats) -> Floats:
    padded = np.concatenate([shares[:1], shares, shares[-1:]])
    return (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
