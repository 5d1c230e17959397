"""Noise, choice and draws: the only randomness between private counts and the world.

Counts are integers and get integer noise (discrete Laplace, discrete or rounded Gaussian), drawn
exactly from the operating system's random bytes (:mod:`understudy.privacy.exact_noise`); there is
no floating-point noise and no seed. Choices are as exact
(:mod:`understudy.privacy.exact_choice`), and OpenDP vouches for the scale of noise. Draws from a
smoothed table are made with whole numbers from the operating system. :class:`SeededNoise` is for
tests and studies: it draws from NumPy, is repeatable, and marks every ledger and model that it
touches as not private.
"""

from __future__ import annotations

import math
import os
import sys
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.privacy import exact_noise
from understudy.privacy.budget import Budget, Currency, Neighbours, exact, opendp
from understudy.privacy.exact_choice import ChoiceRule as ChoiceRule
from understudy.privacy.exact_choice import choose_exactly
from understudy.privacy.gaussian_privacy import lone_loss
from understudy.privacy.rounded_noise import rounded_gaussian

ExactCounts = NDArray[np.int64]


class Noise(Protocol):
    """Where noise comes from."""

    private: bool

    def laplace(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """Add discrete Laplace noise: P(k) is proportional to exp(-|k| / scale)."""

    def gaussian(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """Add discrete Gaussian noise: P(k) is proportional to exp(-k^2 / (2 scale^2))."""

    def rounded_gaussian(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """Add normal noise of deviation ``scale``, rounded to whole numbers."""

    def choose(self, scores: NDArray[np.float64], scale: float, rule: ChoiceRule) -> int:
        """Choose a place at random, high scores more often.

        "exponential": P(i) is proportional to exp(scores[i] / scale). "permute_and_flip": go
        through the places in random order and stop at each with probability exp((scores[i] - best)
        / scale).
        """

    def draw(self, counts: ExactCounts, draws: int, smoothing: Fraction) -> ExactCounts:
        """How often each cell comes up in draws with P(cell) proportional to its count plus
        ``smoothing``.
        """

    def sample(self, rows: int, rate: Fraction) -> NDArray[np.int64]:
        """The places of the rows in a Poisson sample: each row is in it with probability ``rate``,
        a multiple of 2^-32, by itself.
        """


def distribution_of(currency: Currency) -> Literal["laplace", "gaussian"]:
    """What noise in a table is drawn from, by what it is paid in."""
    if currency == "epsilon":
        return "laplace"
    return "gaussian"


def describe_noise(currency: Currency, scale: float | None = None) -> str:
    """How noise in a table is written into ledgers."""
    kind = "discrete"
    if currency == "gdp":
        kind = "rounded"
    name = f"{kind} {distribution_of(currency).capitalize()}"
    if scale is None:
        return name
    return f"{name}, scale {scale:.6g}"


def noise_deviation(distribution: str, scale: float) -> float:
    """The standard deviation of noise."""
    if distribution == "gaussian":
        return scale
    # Discrete Laplace with p = exp(-1 / scale): variance 2 p / (1 - p)^2.
    return math.sqrt(2 * math.exp(-1 / scale)) / -math.expm1(-1 / scale)


def add_noise(noise: Noise, counts: ExactCounts, currency: Currency, scale: float) -> ExactCounts:
    """A table with noise in every cell."""
    if distribution_of(currency) == "laplace":
        return noise.laplace(counts, scale)
    if currency == "gdp":
        return noise.rounded_gaussian(counts, scale)
    return noise.gaussian(counts, scale)


class SystemNoise:
    """Exact noise and choices, from the operating system's randomness."""

    private = True

    def laplace(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """Add discrete Laplace noise."""
        return counts + exact_noise.laplace(counts.size, scale).reshape(counts.shape)

    def gaussian(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """Add discrete Gaussian noise."""
        return counts + exact_noise.gaussian(counts.size, scale).reshape(counts.shape)

    def rounded_gaussian(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """Add rounded Gaussian noise."""
        return counts + rounded_gaussian(counts.size, scale).reshape(counts.shape)

    def choose(self, scores: NDArray[np.float64], scale: float, rule: ChoiceRule) -> int:
        """Choose a place at random."""
        if not np.isfinite(scores).all():
            raise ValueError("scores must be finite")
        return choose_exactly(np.asarray(scores, dtype=np.float64), scale, rule)

    def draw(self, counts: ExactCounts, draws: int, smoothing: Fraction) -> ExactCounts:
        """How often each cell comes up.

        With the smoothing as a fraction, a cell of count c has c * denominator + numerator lots,
        and every draw takes one of all lots. Those of the counts are numbered first, row by row,
        then the added ones, cell by cell.
        """
        ends = np.cumsum(counts.ravel())
        of_rows, added = int(ends[-1]) * smoothing.denominator, smoothing.numerator
        lots = _numbers_below(of_rows + counts.size * added, draws)
        rows = [lot // smoothing.denominator for lot in lots if lot < of_rows]
        cells = [(lot - of_rows) // added for lot in lots if lot >= of_rows]
        by_row = np.searchsorted(ends, np.array(rows, dtype=np.int64), side="right")
        drawn = np.bincount(by_row, minlength=counts.size) + np.bincount(
            np.array(cells, dtype=np.int64), minlength=counts.size
        )
        return drawn.astype(np.int64).reshape(counts.shape)

    def sample(self, rows: int, rate: Fraction) -> ExactCounts:
        """The places of a Poisson sample."""
        return np.flatnonzero(exact_noise.system_words(rows) < _words_below(rate))


class SeededNoise:
    """Repeatable noise of the same distributions, for tests and studies. It protects nobody."""

    private = False

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def laplace(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """Add discrete Laplace noise."""
        success = -math.expm1(-1 / scale)
        draws = self._rng.geometric(success, (2, *counts.shape))
        return counts + draws[0] - draws[1]

    def gaussian(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """Add a rounded Gaussian: close enough to the discrete one for a study."""
        return counts + np.rint(self._rng.normal(0.0, scale, counts.shape)).astype(np.int64)

    def rounded_gaussian(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """Add rounded Gaussian noise."""
        return self.gaussian(counts, scale)

    def choose(self, scores: NDArray[np.float64], scale: float, rule: ChoiceRule) -> int:
        """Choose a place at random."""
        if rule == "exponential":
            return int(np.argmax(scores / scale + self._rng.gumbel(size=len(scores))))
        # Permute-and-flip is the maximum of scores with exponential noise.
        return int(np.argmax(scores / scale + self._rng.exponential(size=len(scores))))

    def draw(self, counts: ExactCounts, draws: int, smoothing: Fraction) -> ExactCounts:
        """How often each cell comes up."""
        weights = counts.ravel() + float(smoothing)
        return (
            self._rng.multinomial(draws, weights / weights.sum())
            .astype(np.int64)
            .reshape(counts.shape)
        )

    def sample(self, rows: int, rate: Fraction) -> ExactCounts:
        """The places of a Poisson sample."""
        words = self._rng.integers(0, 1 << exact_noise.WORD, rows, dtype=np.uint32)
        return np.flatnonzero(words < _words_below(rate))


def _words_below(rate: Fraction) -> np.uint64:
    """How many of all 2^32 words mean that a row is sampled."""
    below = rate * (1 << exact_noise.WORD)
    if below.denominator != 1 or not 1 <= below <= 1 << exact_noise.WORD:
        raise ValueError("a sampling rate is a multiple of 2^-32 above 0, up to 1")
    return np.uint64(int(below))


# --------------------------------------------------------------------------- calibration


@lru_cache(maxsize=1024)
def laplace_scale(sensitivity: int, epsilon: float) -> float:
    """The smallest scale at which OpenDP vouches for epsilon-DP at the given L1 sensitivity."""
    # The price is the decimal number that it is written as; a float may lie a little above it.
    price = exact(epsilon)
    return _smallest(
        sensitivity / epsilon,
        lambda scale: Fraction(opendp_laplace(scale).map(sensitivity)) <= price,
    )


@lru_cache(maxsize=1024)
def gaussian_scale(sensitivity: float, rho: float) -> float:
    """The smallest scale at which OpenDP vouches for rho-zCDP at the given L2 sensitivity.

    Rounded Gaussian noise of this scale is mu-GDP with mu^2 / 2 = rho: both are sensitivity^2 / (2
    scale^2).
    """
    start = sensitivity / math.sqrt(2 * rho)
    price = exact(rho)
    return _smallest(
        start, lambda scale: Fraction(opendp_gaussian(scale).map(sensitivity)) <= price
    )


def count_touched_cells(neighbours: Neighbours) -> int:
    """How many counts of a table one row changes, each by one: its own cell, and under replace also
    the one it left.
    """
    if neighbours == "add_remove":
        return 1
    return 2


def table_scale(cost: Budget, neighbours: Neighbours, max_rows_per_person: int = 1) -> float:
    """The scale of the noise in each cell of a table that costs ``cost``: Laplace for epsilon,
    Gaussian for rho.

    Where a person has up to M rows, a table is as far from its neighbour as M single rows carry it.
    All of them may lie in one cell, so both the L1 and the L2 distance are M times those of one
    row.
    """
    if cost.amount < MIN_TABLE_PRICE:
        raise InputError(
            f"A table for {cost.amount:g} of {cost.currency} would be noise alone; give it more "
            "budget."
        )
    cells = count_touched_cells(neighbours)
    if cost.currency == "epsilon":
        scale = laplace_scale(max_rows_per_person * cells, cost.amount)
    else:
        if cells == 1:
            one_row = 1.0
        else:
            one_row = math.nextafter(math.sqrt(cells), math.inf)
        scale = gaussian_scale(max_rows_per_person * one_row, cost.amount)
    if scale > MAX_CHOICE_SCALE:
        raise InputError(
            f"A table for {cost.amount:g} of {cost.currency} would have noise of {scale:.2g} rows "
            "in every cell, which "
            f"teaches nothing; give it more budget."
        )
    return scale


def mean_noise(cost: Budget, neighbours: Neighbours, max_rows_per_person: int = 1) -> float:
    """The average size of the noise in each cell of a table that costs ``cost``, as if it were in
    real numbers: what the formulas of papers count with.
    """
    scale = table_scale(cost, neighbours, max_rows_per_person)
    if cost.currency == "epsilon":
        return scale
    return scale * math.sqrt(2 / math.pi)


def mean_integer_noise(cost: Budget, neighbours: Neighbours, max_rows_per_person: int = 1) -> float:
    """The same for noise as it is, in whole numbers: where its scale is small it leaves most cells
    as they are.
    """
    scale = table_scale(cost, neighbours, max_rows_per_person)
    if scale >= LARGE_SCALE:
        return mean_noise(cost, neighbours, max_rows_per_person)
    sizes = np.arange(1, 50)
    if cost.currency == "epsilon":
        weights = np.exp(-sizes / scale)
    else:
        weights = np.exp(-0.5 * (sizes / scale) ** 2)
    mean = float((sizes * weights).sum() / (0.5 + weights.sum()))
    return max(mean, sys.float_info.min)


LARGE_SCALE = 4.0
"""From here on noise in whole numbers is about as large as noise in real ones."""

MIN_TABLE_PRICE = 1e-250
"""For less, scales overflow on their way to being refused."""

MAX_CHOICE_SCALE = 2.0**50
"""More noise than this is not drawn."""

SCORE_GRID = 1 << 20
"""Scores are rounded to this fraction of their sensitivity before a choice, see "
":func:`round_to_grid`."""


def round_to_grid(
    scores: NDArray[np.float64], sensitivity: float, offsets: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Scores, with public offsets added, as whole multiples of sensitivity / SCORE_GRID.

    A score is computed in floating point, so its last digits may break the bound that was proved
    for real numbers. Rounding to a grid that is coarse against those digits and fine against the
    sensitivity gives integers that differ by at most SCORE_GRID + 2 between neighbours: SCORE_GRID
    for the score itself, one for the rounding, and one for errors of the computation. Offsets are
    rounded by themselves and bounded, so that the sum is exact.
    """
    whole = np.rint(scores * (SCORE_GRID / sensitivity))
    if offsets is None:
        return whole
    return whole + np.clip(np.rint(offsets * (SCORE_GRID / sensitivity)), -(2.0**51), 2.0**51)


def choice_scale(amount: float, currency: Currency, *, monotone: bool = False) -> float:
    """The scale, for gridded scores, at which a choice costs ``amount``.

    The exponential mechanism at exp(score / scale) is epsilon-DP with epsilon = 2 sensitivity /
    scale, and epsilon^2 / 8-zCDP (Cesar and Rogers 2021); permute-and-flip is epsilon-DP at the
    same scale (McKenna and Sheldon 2020).

    In GDP a choice costs more if nothing is left afterwards, which is taken for granted here; a
    ledger knows better (:meth:`understudy.privacy.ledger.Ledger.allow_loss`).

    Scores are *monotone* where a row that is added lowers none of them. Then the log-ratios of the
    outcomes lie within a range of one sensitivity / scale, not of two, and half the scale will do,
    for both mechanisms and both currencies.
    """
    if currency == "epsilon":
        epsilon = amount
    elif currency == "gdp":
        epsilon = math.sqrt(8 * lone_loss(amount))
    else:
        epsilon = math.sqrt(8 * amount)
    factor = 2
    if monotone:
        factor = 1
    scale = math.inf
    if epsilon > 0:
        scale = math.nextafter(factor * (SCORE_GRID + 2) / epsilon * (1 + 1e-12), math.inf)
    if scale == math.inf:
        raise InputError(
            f"A choice for {amount:g} of {currency} would be a toss; give it more budget."
        )
    return scale


SMOOTHING_GRID = 1 << 32
"""What is added to each cell before draws is a multiple of one over this, so that draws need whole
numbers only.
"""


def draw_smoothing(
    cost: Budget, draws: int, neighbours: Neighbours, max_rows_per_person: int = 1
) -> Fraction:
    """How much is to be added to each cell of a table so that ``draws`` draws from it cost
    ``cost``.

    Let a be what is added, m the cells, T = n + m a the total, and let a person have up to M rows.

    **epsilon = draws * log(1 + M / a)**, under both relations. *replace* (M = 1): T stays, one cell
    gains a row, one loses it. A cell with c other rows has (c + 1 + a) / T against (c + a) / T: a
    ratio of at most 1 + 1 / a, attained at c = 0. *add_remove*: the cells gain up to M rows in all,
    T grows by as many. A cell's probability grows by at most (c + M + a) / (c + a) <= 1 + M / a,
    and shrinks by at most (T + M) / T <= 1 + M / (m a) <= 1 + M / a, since T is at least m a. Draws
    are independent, so ratios multiply, and the worst outcome has all draws in one cell. Neither n
    nor m appears: a table of unknown size is smoothed by a known number of rows.

    **rho**: the log-ratios of a draw's outcomes lie within a range of log(1 + M / a) under
    add_remove: from that of the cells that gain nothing to that of the one that gains most. So a
    draw is log(1 + M / a)^2 / 8-zCDP (Cesar and Rogers 2021, for mechanisms of bounded range).
    Under replace one cell gains and another loses: the range is twice as wide, and a draw is log(1
    + 1 / a)^2 / 2-zCDP. Draws add up.

    What is computed is rounded up, which is on the safe side: more is added.
    """
    if cost.currency == "epsilon":
        step = cost.amount / draws
    else:
        loss = cost.amount / draws
        if cost.currency == "gdp":
            loss = lone_loss(loss)
        step = math.sqrt((8 if neighbours == "add_remove" else 2) * loss)
    enough = max_rows_per_person / math.expm1(min(step, 500.0)) * (1 + 1e-12)
    return Fraction(max(math.ceil(Fraction(enough) * SMOOTHING_GRID), 1), SMOOTHING_GRID)


def _smallest(start: float, enough: Any) -> float:
    scale = start
    step = math.ulp(start)
    while not enough(scale):
        scale += step
        step *= 2
    return scale


# --------------------------------------------------------------------------- the operating system


def _numbers_below(bound: int, size: int) -> list[int]:
    """Whole numbers from 0 to ``bound - 1``, uniform and independent: those of the right length
    that are in range.
    """
    width, spare = divmod(bound.bit_length() + 7, 8)
    found: list[int] = []
    while len(found) < size:
        # At least half of the numbers of this many bits are below the bound.
        data = os.urandom(2 * width * (size - len(found)))
        numbers = (
            int.from_bytes(data[i : i + width]) >> (7 - spare) for i in range(0, len(data), width)
        )
        found += [number for number in numbers if number < bound]
    return found[:size]


# --------------------------------------------------------------------------- OpenDP


@lru_cache(maxsize=256)
def opendp_laplace(scale: float) -> Any:
    """OpenDP's discrete Laplace measurement of a vector of counts: the authority on what a scale
    costs.
    """
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return space >> dp.m.then_laplace(scale=scale)


@lru_cache(maxsize=256)
def opendp_gaussian(scale: float) -> Any:
    """OpenDP's discrete Gaussian measurement of a vector of counts: the authority on what a scale
    costs.
    """
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    return space >> dp.m.then_gaussian(scale=scale)
