"""Intervals from noise that is known exactly.

An answer is a value computed from noisy numbers x + N, of which N's distribution is public. A
*linear* statement w . x = 0 about the exact numbers is kept while |w . (x + N)| is no larger than
the noise w . N is with the wanted probability; all values for which it is kept are the interval
(Fieller's argument). So the interval holds the exact value with that probability, however few rows
there are, and however nonlinear the value is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

RISK = 0.05

_APART = 1.001
"""Formulas divide by differences of weights: equal ones are moved apart, the larger ones up."""

_MEAN_RISK = 0.005
"""Of the risk of a variance, what goes to the mean that it is taken about."""

_STEPS = 28
_SHARES = 1025
_MEANS = 13


@dataclass(frozen=True)
class KnownNoise:
    """Independent discrete noise of one scale.

    Attributes
    ----------
    distribution
        "laplace" or "gaussian".
    scale
        In steps of the numbers that it is added to.
    """

    distribution: str
    scale: float

    @property
    def deviation(self) -> float:
        """One standard deviation."""
        if self.distribution == "gaussian":
            return self.scale
        # Discrete Laplace with p = exp(-1 / scale): variance 2 p / (1 - p)^2.
        return math.sqrt(2 * math.exp(-1 / self.scale)) / -math.expm1(-1 / self.scale)

    def reach(self, risk: float = RISK) -> float:
        """The smallest whole number that the noise exceeds, in size, with at most this
        probability.
        """
        if self.distribution == "gaussian":
            return math.ceil(float(self.bound(np.ones((1, 1)), risk)[0]) - 0.5)
        # P(|N| > t) = 2 p^(t + 1) / (1 + p).
        p = math.exp(-1 / self.scale)
        least = math.log(risk * (1 + p) / 2) / math.log(p) - 1 if p > 0 else 0.0
        return max(math.ceil(least - 1e-12), 0)

    def bound(self, weights: NDArray[np.float64], risk: float = RISK) -> NDArray[np.float64]:
        """For each line of weights w, what |w . N| exceeds with at most this probability.

        Continuous noise of the same scale, rounded, is no more peaked than the discrete noise, and
        rounding moves it by at most a half: hence the half of each weight on top.
        """
        sizes = np.abs(np.atleast_2d(weights))
        rounding = sizes.sum(axis=-1) / 2
        if self.distribution == "gaussian":
            factor = NormalDist().inv_cdf(1 - risk / 2)
            return factor * self.scale * np.sqrt((sizes**2).sum(axis=-1)) + rounding
        return self.scale * _laplace_bound(sizes, risk) + rounding

    def allows(
        self, weights: NDArray[np.float64], sums: NDArray[np.float64], risk: float
    ) -> NDArray[np.bool_]:
        """For each line of weights w, whether |w . N| may be that large: it is no more than its
        bound.
        """
        if self.distribution == "gaussian":
            return np.abs(sums) <= self.bound(weights, risk)
        sizes = np.abs(weights)
        beyond = np.maximum(np.abs(sums) - sizes.sum(axis=-1) / 2, 0.0)
        return _LaplaceTails(sizes)(beyond / self.scale) >= risk


def _laplace_bound(sizes: NDArray[np.float64], risk: float) -> NDArray[np.float64]:
    """The same for continuous Laplace noise of scale 1, by halving."""
    tails = _LaplaceTails(sizes)
    low = np.zeros(sizes.shape[:-1])
    high = np.full(sizes.shape[:-1], 4 * sizes.shape[-1] * (1 - math.log(risk)))
    high = high * sizes.max(axis=-1)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        above = tails(middle) > risk
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return high


class _LaplaceTails:
    """P(|sum of a_i L_i| > t) for continuous Laplace noise L_i of scale 1, line by line.

    With distinct sizes a_i it is the sum of c_i exp(-t / a_i) where c_i is the product of a_i^2 /
    (a_i^2 - a_j^2) over all others (partial fractions of the characteristic function).
    """

    def __init__(self, sizes: NDArray[np.float64]) -> None:
        apart = np.sort(sizes, axis=-1)
        self._largest = np.maximum(apart[..., -1:], 1e-300)
        apart = np.maximum(apart / self._largest, 1e-6)
        for place in range(1, apart.shape[-1]):
            apart[..., place] = np.maximum(apart[..., place], _APART * apart[..., place - 1])
        self._apart = apart
        squares = apart**2
        self._factors = np.ones_like(apart)
        for place in range(apart.shape[-1]):
            for other in range(apart.shape[-1]):
                if other != place:
                    differences = squares[..., place] - squares[..., other]
                    self._factors[..., place] *= squares[..., place] / differences

    def __call__(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probabilities."""
        by_size = t[..., None] / self._largest / self._apart
        found: NDArray[np.float64] = (self._factors * np.exp(-by_size)).sum(axis=-1)
        return found


# --------------------------------------------------------------------------- shares


class ShareIntervals:
    """Intervals of x / (x + y), where both have noise of one scale."""

    def __init__(self, noise: KnownNoise, risk: float = RISK) -> None:
        self._shares = np.linspace(0.0, 1.0, _SHARES)
        weights = np.column_stack([1 - self._shares, self._shares])
        bounds = noise.bound(weights, risk)
        # Between two of these the bound is below the larger of theirs.
        self._bounds = np.maximum(bounds, np.maximum(np.roll(bounds, 1), np.roll(bounds, -1)))

    def worst(self) -> float:
        """The largest bound: over the number of rows, about half the width of an interval."""
        return float(self._bounds.max())

    def interval(self, x: float, y: float) -> tuple[float, float]:
        """All shares s for which (1 - s) x = s y may hold of the exact numbers; any share where
        there seem to be no rows.
        """
        if x + y <= 0:
            return 0.0, 1.0
        # For a given s, (1 - s) x - s y is linear in s: between grid points it can be solved.
        kept = np.abs((1 - self._shares) * x - self._shares * y) <= self._bounds
        if not kept.any():
            return self._between(x, y)
        places = np.flatnonzero(kept)
        first, last = int(places[0]), int(places[-1])
        low, high = self._shares[first], self._shares[last]
        if first:
            low = self._edge(first - 1, x, y, upwards=True)
        if last < _SHARES - 1:
            high = self._edge(last + 1, x, y, upwards=False)
        return float(low), float(high)

    def _between(self, x: float, y: float) -> tuple[float, float]:
        """Where all that is kept lies between two grid points: by the bound of the larger."""
        total = x + y
        share = min(max(x / total, 0.0), 1.0)
        near = round(share * (_SHARES - 1))
        half = float(self._bounds[near]) / total
        return max(share - half, 0.0), min(share + half, 1.0)

    def _edge(self, place: int, x: float, y: float, *, upwards: bool) -> float:
        """Where the interval begins (or ends), between a grid point outside of it and the next."""
        outside = float(self._shares[place])
        inside = float(self._shares[place + 1 if upwards else place - 1])
        bound = max(
            float(self._bounds[place]), float(self._bounds[place + 1 if upwards else place - 1])
        )
        for _ in range(_STEPS):
            middle = (outside + inside) / 2
            if abs((1 - middle) * x - middle * y) <= bound:
                inside = middle
            else:
                outside = middle
        return outside


# --------------------------------------------------------------------------- variances


def variance_interval(numbers: NDArray[np.float64], noise: KnownNoise) -> tuple[float, float]:
    """An interval of the variance of values between 0 and 1, from noisy sums of (1 - u)^2,
    2 u (1 - u) and u^2.

    About the exact mean m the variance v has sum((u - m)^2 - v) = 0, which is linear in the three
    numbers for a given m and v. The mean is in its own interval but for _MEAN_RISK; the interval of
    v is that of all these means together.
    """
    zeros, ones = numbers[0] + numbers[1] / 2, numbers[1] / 2 + numbers[2]
    means = _mean_interval(numbers, noise)
    centre = ones / max(zeros + ones, 1e-9)
    tried = np.unique(np.clip([*np.linspace(*means, _MEANS), centre], 0.0, 1.0))
    lows, highs = _variances(numbers, noise, tried)
    found = ~np.isnan(lows)
    if not found.any():
        return 0.0, 0.25
    return float(max(lows[found].min(), 0.0)), float(min(highs[found].max(), 0.25))


def _mean_interval(numbers: NDArray[np.float64], noise: KnownNoise) -> tuple[float, float]:
    """Of the mean m: sum(u - m) = 0."""
    shares = np.linspace(0.0, 1.0, _SHARES)
    weights = np.column_stack([-shares, 0.5 - shares, 1 - shares])
    kept = np.flatnonzero(noise.allows(weights, weights @ numbers, _MEAN_RISK))
    if not len(kept):
        total = float(numbers.sum())
        if total <= 0:
            return 0.0, 1.0
        near = float(np.clip((numbers[1] / 2 + numbers[2]) / total, 0.0, 1.0))
        return max(near - 1 / _SHARES, 0.0), min(near + 1 / _SHARES, 1.0)
    step = 1 / (_SHARES - 1)
    return max(shares[kept[0]] - step, 0.0), min(shares[kept[-1]] + step, 1.0)


def _variances(
    numbers: NDArray[np.float64], noise: KnownNoise, means: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each mean the lowest and highest variance that are kept; NaN where none is."""

    def keeps(variances: NDArray[np.float64]) -> NDArray[np.bool_]:
        squares = means**2 - variances
        weights = np.column_stack([squares, squares - means, squares - 2 * means + 1])
        return noise.allows(weights, weights @ numbers, RISK - _MEAN_RISK)

    total = float(numbers.sum())
    if total <= 0:
        return np.zeros_like(means), np.full_like(means, 0.25)
    second = numbers[2] - 2 * means * (numbers[1] / 2 + numbers[2]) + means**2 * total
    middle = np.clip(second / total, 0.0, 0.25)
    none = ~keeps(middle)
    ends = []
    for end in (0.0, 0.25):
        inside, outside = middle.copy(), np.full_like(middle, end)
        reached = keeps(outside)
        for _ in range(_STEPS):
            between = (inside + outside) / 2
            kept = keeps(between)
            inside, outside = np.where(kept, between, inside), np.where(kept, outside, between)
        ends.append(np.where(none, np.nan, np.where(reached, end, outside)))
    return ends[0], ends[1]
