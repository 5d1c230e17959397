"""Sums, means and variances of clipped numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.asking.answers import Answer, Expected
from understudy.asking.functions import LinearFunction, per_rows, share_error, share_of, show_size
from understudy.asking.intervals import RISK, KnownNoise, variance_interval
from understudy.privacy.linear import LinearQueries, QueryMatrix
from understudy.privacy.mechanisms import distribution_of

ROWS_RISK = 0.002
"""Of the risk of a sum, what goes to the number of rows whose rounding it holds."""

ROWS_PER_LARGEST = 50
"""A row adds this part of the largest number to the count of rows: 2 % more noise."""


class SumOfNumbers(LinearFunction):
    """The sum of clipped numbers.

    Where numbers are rounded to a grid, each of n rows may be off by half a step, so the interval
    is wider by n half steps. How many rows there are is asked along with the sum: a small public
    weight per row, paid for as part of the same question.
    """

    needs_grid = True

    @cached_property
    def _row_weight(self) -> int:
        """What a row adds to the count of rows; 0 where nothing is rounded."""
        if self.asked_grid.exact:
            return 0
        largest = max(abs(self.asked_grid.first), abs(self.asked_grid.last))
        return math.ceil(largest / ROWS_PER_LARGEST)

    @cached_property
    def _question(self) -> LinearQueries:
        weights = [np.maximum(self.layout.points(), 0) + self.asked_grid.first]
        if self._row_weight:
            weights.append(np.full_like(weights[0], self._row_weight))
        return self.linear(QueryMatrix.weighing(self.classes, len(self.labels), np.stack(weights)))

    def expect(self) -> Expected:
        """The noise, and the rounding of each row."""
        error = self._reach(self.noise_of(self._question)) * self.asked_grid.step
        rounding = ""
        if self._row_weight:
            rounding = f", and {self.asked_grid.rounding:g} per row{self._whose} by rounding,"
        return Expected(
            question=self.priced.text,
            mechanism=self.describe(self._question),
            error=error,
            sentence=f"off by at most {show_size(error)}{rounding} in 95 of 100 runs",
        )

    def _reach(self, noise: KnownNoise) -> float:
        if self._row_weight:
            return noise.reach(RISK - ROWS_RISK)
        return noise.reach()

    def read(self, answers: Sequence[Any]) -> list[Answer]:
        """Sums in the unit of the column."""
        [(numbers, scale)] = answers
        noise = KnownNoise(distribution_of(self.priced.budget.currency), scale)
        return [
            self._read_one(label, line, noise)
            for label, line in zip(
                self.labels, numbers.reshape(len(self.labels), -1).tolist(), strict=True
            )
        ]

    def _read_one(self, label: tuple[str, ...], line: list[float], noise: KnownNoise) -> Answer:
        grid, number = self.asked_grid, line[0]
        off = self._reach(noise) * grid.step
        if self._row_weight:
            off += self._max_rows(line[1], noise) * grid.rounding
        low, high = number * grid.step - off, number * grid.step + off
        if grid.first >= 0:
            low, high = max(low, 0.0), max(high, 0.0)
        if grid.last <= 0:
            low, high = min(low, 0.0), min(high, 0.0)
        value = min(max(number * grid.step, low), high)
        error = noise.deviation * grid.step
        return Answer(group=label, value=value, error=error, low=low, high=high)

    def _max_rows(self, weighed: float, noise: KnownNoise) -> float:
        """No more rows than this are in a sum, but for a probability of ROWS_RISK."""
        rows = (weighed + noise.reach(2 * ROWS_RISK)) / self._row_weight
        if self.priced.rows is not None:
            rows = min(rows, self.priced.rows)
        return max(rows, 0.0)


class Mean(LinearFunction):
    """The mean of clipped numbers.

    With u = (x - low) / (high - low), a row adds u to one number and 1 - u to another, so both
    together move by 1 and get noise for the whole price; the mean is the first over their sum.
    """

    needs_grid = True

    @cached_property
    def _question(self) -> LinearQueries:
        steps = np.maximum(self.layout.points(), 0)
        weights = np.stack([steps, self.asked_grid.steps - steps])
        return self.linear(QueryMatrix.weighing(self.classes, len(self.labels), weights))

    def expect(self) -> Expected:
        """In proportion to the width of the bounds over the rows."""
        error = self._shares.worst() * self.asked_grid.step
        return Expected(
            question=self.priced.text,
            mechanism=self.describe(self._question),
            error_times_rows=error,
            sentence=per_rows(error, self._whose),
        )

    def read(self, answers: Sequence[Any]) -> list[Answer]:
        """Means, with the intervals of shares, stretched to the bounds."""
        [(numbers, scale)] = answers
        noise = KnownNoise(distribution_of(self.priced.budget.currency), scale)
        grid, found = self.asked_grid, []
        width = self.asked_grid.steps * grid.step
        for label, (up, down) in zip(self.labels, numbers.reshape(-1, 2).tolist(), strict=True):
            low, high = self._shares.interval(up, down)
            share = share_of(up, down, low, high)
            error = share_error(noise, share, up + down) * width
            ends = grid.low + width * low - grid.rounding, grid.low + width * high + grid.rounding
            found.append(
                Answer(
                    group=label,
                    value=grid.low + width * share,
                    error=error,
                    low=max(ends[0], grid.low),
                    high=min(ends[1], grid.low + width),
                )
            )
        return found


class Variance(LinearFunction):
    """The variance of clipped numbers, over the rows (not one less), or its root.

    With u as for a mean, a row adds (1 - u)^2, 2 u (1 - u) and u^2 to three numbers: together 1.
    """

    needs_grid = True

    @cached_property
    def _question(self) -> LinearQueries:
        up = np.maximum(self.layout.points(), 0)
        down = self.asked_grid.steps - up
        weights = np.stack([down**2, 2 * up * down, up**2])
        return self.linear(QueryMatrix.weighing(self.classes, len(self.labels), weights))

    def expect(self) -> Expected:
        """In proportion to the squared width of the bounds over the rows."""
        noise = self.noise_of(self._question)
        step = self.asked_grid.step
        weights = np.array([[m * m, m * m - m, (1 - m) ** 2] for m in (0.0, 0.5, 1.0)])
        error = float(noise.bound(weights, RISK).max()) * step**2
        said = per_rows(error, self._whose)
        if self.query.kind == "std":
            said = f"its square, the variance, {said}"
        return Expected(
            question=self.priced.text,
            mechanism=self.describe(self._question),
            error_times_rows=error,
            sentence=said,
        )

    def read(self, answers: Sequence[Any]) -> list[Answer]:
        """Variances or standard deviations."""
        [(numbers, scale)] = answers
        noise = KnownNoise(distribution_of(self.priced.budget.currency), scale)
        return [
            self._read_one(label, line.astype(np.float64), noise)
            for label, line in zip(self.labels, numbers.reshape(-1, 3), strict=True)
        ]

    def _read_one(
        self, label: tuple[str, ...], numbers: NDArray[np.float64], noise: KnownNoise
    ) -> Answer:
        low, high = variance_interval(numbers, noise)
        rows, mean = float(numbers.sum()), 0.5
        variance = (low + high) / 2
        if rows > 0:
            mean = float((numbers[1] / 2 + numbers[2]) / rows)
            variance = float(numbers[2] / rows) - mean**2
        variance = min(max(variance, low), high)
        slopes = [mean**2 - variance, mean**2 - variance - mean, (1 - mean) ** 2 - variance]
        error = (
            noise.deviation
            * float(np.linalg.norm(slopes))
            / max(rows, float(self.asked_grid.steps**2))
        )
        width, rounding = self.asked_grid.steps * self.asked_grid.step, self.asked_grid.rounding
        ends = [math.sqrt(end) * width for end in (low, variance, high)]
        ends = [max(ends[0] - rounding, 0.0), ends[1], min(ends[2] + rounding, width / 2)]
        error = min(error, 1.0) * width**2
        if self.query.kind == "std":
            error = min(error / max(2 * ends[1], 1e-300), width)
        else:
            ends = [end**2 for end in ends]
        return Answer(group=label, value=ends[1], error=error, low=ends[0], high=ends[2])
