"""The Piecewise mechanism, for one number and for several."""

from __future__ import annotations

import math
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
)
from understudy.local.randomisers.numeric import (
    NUMBER_STEPS,
    MeanRandomiser,
    check_sums,
    divide_sums,
)
from understudy.local.randomisers.windows import Window, piecewise_window
from understudy.local.randomisers.words import WHOLE, UInts, Words
from understudy.privacy.budget import exact


@dataclass(frozen=True, kw_only=True)
class Piecewise(MeanRandomiser, FiniteRandomiser):
    """The Piecewise mechanism (Wang et al. 2019): what is reported lies in a window around the
    number with probability e^(epsilon / 2) / (e^(epsilon / 2) + 1), and else anywhere outside it,
    evenly.

    Of several numbers, k = max(1, min(dimensions, floor(epsilon / 2.5))) different ones are drawn,
    and each is reported at epsilon / k.

    A report is k pairs of a dimension and a place on the grid, in the order in which they were
    drawn. For each pair a word is read for the dimension, if there are several: the numbers not yet
    drawn are in order, and each is equally likely. Then a word is read for the place, as
    :meth:`~understudy.local.randomisers.windows.Window.draw` says. A word that is left over is
    thrown away and the next one is read.

    Examples
    --------
    >>> height = Piecewise(epsilon=2.0, low=100, high=250)
    >>> reports = height.perturb([171, 183.5])
    >>> height.estimate(height.tally(reports), 2).shape
    (1,)
    """

    kind: ClassVar[str] = "piecewise"

    @property
    def sampled(self) -> int:
        """How many of the numbers a person reports."""
        return max(1, min(self.dimensions, math.floor(exact(self.epsilon) / Fraction(5, 2))))

    @cached_property
    def window(self) -> Window:
        """The window of each number."""
        return piecewise_window(exact(self.epsilon) / self.sampled)

    @property
    def ratio(self) -> Fraction:
        """That of one number, as often as numbers are reported."""
        return self.window.ratio**self.sampled

    def thresholds(self) -> dict[str, int]:
        """How many numbers are reported, the width of the window, and the words inside and outside
        of it.
        """
        window = self.window
        return {
            "sampled": self.sampled,
            "width": window.width,
            "inside": window.inside,
            "outside": window.outside,
        }

    @property
    def width(self) -> int:
        """A dimension and a place for each number that is reported."""
        return 2 * self.sampled

    # ------------------------------------------------------------------- drawing

    def _draw(self, codes: Integers, words: Words) -> Reports:
        taken = words.take(len(codes) * self._words_each)
        usable = self._usable(taken.reshape(len(codes), self._words_each))
        if usable.all():
            return self._draw_all(codes, taken.reshape(len(codes), self._words_each))
        words.give_back(taken)
        lines = [self._draw_one(line, words) for line in codes]
        return np.array(lines, dtype=np.int64).reshape(len(codes), self.width)

    @property
    def _words_each(self) -> int:
        if self.dimensions == 1:
            return 1
        return 2 * self.sampled

    def _bounds(self) -> list[int]:
        """For each word of a report, below what it must lie."""
        if self.dimensions == 1:
            return [self.window.total]
        bounds = []
        for taken in range(self.sampled):
            left = self.dimensions - taken
            bounds += [WHOLE // left * left, self.window.total]
        return bounds

    def _usable(self, words: UInts) -> NDArray[np.bool_]:
        """Whether no word of any report is left over: all but always so."""
        return words <= np.array([bound - 1 for bound in self._bounds()], dtype=np.uint64)

    def _draw_all(self, codes: Integers, words: UInts) -> Reports:
        lines = np.zeros((len(codes), self.width), dtype=np.int64)
        if self.dimensions == 1:
            lines[:, 1] = self.window.draw(codes[:, 0], words[:, 0])
            return lines
        left = np.tile(np.arange(self.dimensions), (len(codes), 1))
        persons = np.arange(len(codes))
        for pair in range(self.sampled):
            share = np.uint64(WHOLE // (self.dimensions - pair) - (pair + 1 == self.dimensions))
            drawn = np.minimum(
                words[:, 2 * pair] // share, np.uint64(self.dimensions - pair - 1)
            ).astype(np.int64)
            dimension = left[persons, drawn]
            following = np.arange(self.dimensions - pair - 1)
            following = following + (following >= drawn[:, None])
            left = np.take_along_axis(left, following, axis=1)
            lines[:, 2 * pair] = dimension
            lines[:, 2 * pair + 1] = self.window.draw(
                codes[persons, dimension], words[:, 2 * pair + 1]
            )
        return lines

    def _draw_one(self, steps: Integers, words: Words) -> list[int]:
        """One person's report, word by word."""
        left = list(range(self.dimensions))
        line = []
        for _ in range(self.sampled):
            dimension = left[0]
            if self.dimensions > 1:
                dimension = left.pop(words.below(len(left)))
            word = words.next()
            while word >= self.window.total:
                word = words.next()
            place = self.window.draw(steps[[dimension]], np.array([word], dtype=np.uint64))
            line += [dimension, int(place[0])]
        return line

    # ------------------------------------------------------------------- collecting

    def is_possible(self, reports: Any) -> NDArray[np.bool_]:
        """For each line, whether it is pairs of different dimensions and places."""
        lines = check_reports(reports, self.width)
        dimensions, places = lines[:, ::2], lines[:, 1::2]
        possible = ((dimensions >= 0) & (dimensions < self.dimensions)).all(axis=1)
        possible &= ((places >= 0) & (places < self.window.reports)).all(axis=1)
        ordered = np.sort(dimensions, axis=1)
        return possible & (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)

    def tally(self, reports: Any) -> Integers:
        """For each dimension how many reports there are, and the sum of their places."""
        lines = check_reports(reports, self.width)
        if not self.is_possible(lines).all():
            raise InputError("A report has a dimension or a place that cannot be; leave it out.")
        dimensions, places = lines[:, ::2].ravel().astype(np.int64), lines[:, 1::2].ravel()
        tally = np.zeros((2, self.dimensions), dtype=np.int64)
        tally[0] = np.bincount(dimensions, minlength=self.dimensions)
        np.add.at(tally[1], dimensions, places.astype(np.int64))
        return tally

    def estimate(self, tally: Any, persons: int) -> Floats:
        """The mean of each number, without bias, from those who reported it."""
        check_persons(persons)
        counts, sums = check_sums(tally, self.dimensions)
        means = divide_sums(sums.astype(np.float64), counts)
        return self._take_off_grid(self.window.estimate_steps(means))

    def decode(self, reports: Any) -> Floats:
        """What each report says of each number, without bias; what is not reported is not a
        number.
        """
        lines = check_reports(reports, self.width)
        said = np.full((len(lines), self.dimensions), np.nan)
        for pair in range(0, self.width, 2):
            steps = self.window.estimate_steps(lines[:, pair + 1])
            said[np.arange(len(lines)), lines[:, pair]] = self._take_off_grid(steps)
        return said

    def noise_variance(self, values: Any) -> Floats:
        """The variance of what a report says of a number that is reported."""
        unit = (self.high - self.low) / NUMBER_STEPS
        return self.window.step_variance(self.encode(values).astype(np.float64)) * unit**2

    def variance(self, persons: int, values: Any = None) -> Floats:
        """The variance of each estimated mean where as many persons report a number as do on
        average: that of the noise, and that of which persons these are.

        Parameters
        ----------
        persons
            How many report.
        values
            The persons' numbers, or some that stand for them; by default the worst case.
        """
        spread = np.full(self.dimensions, (self.high - self.low) ** 2 / 4)
        if values is not None:
            spread = self._take_off_grid(self.encode(values)).var(axis=0)
        each = self.dimensions / self.sampled
        return super().variance(persons, values) * each + spread * (each - 1) / max(persons, 1)

    # ------------------------------------------------------------------- the promise

    def probability(self, report: Sequence[int], code: Any) -> Fraction:
        """The probability of a report where these are the true steps, exactly."""
        steps = np.atleast_1d(code)
        chance = Fraction(1)
        for pair in range(self.sampled):
            dimension, place = int(report[2 * pair]), int(report[2 * pair + 1])
            chance *= self.window.probability(place, int(steps[dimension]))
            chance /= self.dimensions - pair
        return chance

    def possible_reports(self) -> Iterator[tuple[int, ...]]:
        """Of one number, every place."""
        if self.dimensions > 1:
            raise InputError("The reports of several numbers are too many to be listed.")
        return ((0, place) for place in range(self.window.reports))
