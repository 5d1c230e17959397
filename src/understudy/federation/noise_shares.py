"""Noise in shares: each holder adds a little, and the sum of what H of them add is enough for the
whole guarantee.

Who sees the sum may know some of the shares (those of colluding holders) and some may be missing
(those of holders that dropped out). So shares are sized for H holders: as many as are certain to be
honest and present. Whatever the others add on top is independent of it, and adding something
independent to a private answer is post-processing.

**Laplace: the shares are differences of Polya variables, and H of them are exactly discrete Laplace
noise.** A discrete Laplace variable of scale s is the difference of two geometric ones, P(k) = (1 -
q) q^k with q = exp(-1 / s), whose generating function is (1 - q) / (1 - q z). A Polya variable with
share 1/H has that function to the power 1/H (the negative binomial series), so H independent ones
add up to a geometric variable, and so do their differences.

**Gaussian: H discrete Gaussian shares add up to almost a discrete Gaussian, and how nearly is paid
for.** Let P be the law of the sum of H shares of scale r, Q the discrete Gaussian of scale r
sqrt(H).

1. For two discrete Gaussians of scales a, b: P(X + Y = z) is proportional to exp(-z^2 / (2 (a^2 +
   b^2))) times the sum over whole x of exp(-(x - c)^2 / (2 s^2)) with 1/s^2 = 1/a^2 + 1/b^2 and
   some c that depends on z. By Poisson's summation that sum is s sqrt(2 pi) (1 + 2 sum over k >= 1
   of u^(k^2) cos(2 pi k c)), u = exp(-2 pi^2 s^2). Where u is at most 1e-3, it lies between 1 -
   2.01 u and 1 + 2.01 u of its mean, for every z; so does the ratio of the two laws, up to a
   constant that lies in the same range, since both sum to 1: log(P/Q) is at most 5 u, either way.
2. Adding one share after the other (as Kairouz, Liu and Steinke 2021 do), s^2 = r^2 k / (k + 1) at
   the k-th; a pointwise bound on the ratio of two laws stays one when the same independent variable
   is added to both. So the log-ratio is at most eta = 5 sum over k < H of exp(-2 pi^2 r^2 k / (k +
   1)).
3. Let a neighbour move d counts, by the L2 distance D; counts that do not move tell nothing. Laws
   with a log-ratio of at most eta are eta^2/2-zCDP apart, d of them d eta^2/2; Q and Q moved by D
   are D^2 / (2 r^2 H) apart (Canonne, Kamath and Steinke 2020). From P to Q, to Q moved, to P
   moved, roots of rho add up (Bun and Steinke 2016): the sum of shares costs (1/2) (D / (r sqrt(H))
   + 2 eta sqrt(d))^2. Whole counts that move at all move by 1 at least, so d <= D^2, and this is at
   most D^2/2 (1 / (r sqrt(H)) + 2 eta)^2.
4. Noise of scale s in one piece costs D^2 / (2 s^2). So shares with 1 / (r sqrt(H)) + 2 eta <= 1 /
   s cost no more, whatever D is. Shares have a scale of 2 at least, where 2 eta is below 1e-16 H.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.privacy import exact_noise
from understudy.privacy.budget import Budget, Currency, Neighbours
from understudy.privacy.mechanisms import (
    ChoiceRule,
    ExactCounts,
    Noise,
    gaussian_scale,
    laplace_scale,
)
from understudy.privacy.scores import score_named

SMALLEST_SHARE = 2.0
"""The smallest scale of a share of Gaussian noise."""

SMALLEST_SCALE = 1 / 32
"""Less Laplace noise than that, which is 0 but once in 10^13 times, takes long to be drawn
exactly.
"""

MAX_SHARE_SCALE = 1 << 36
"""Noise that is larger than any number of rows tells nothing of them."""

MIN_SHARES_PER_DRAW = 1 << 13
"""Shares are drawn this many at a time, at least: tables are many and small, and each draw takes
its time to begin.
"""

_forks = 0
"""How often this process, or one that it comes from, was forked off another."""


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class ShareNoise:
    """One holder's share of the noise: exact, or repeatable where the holder's own noise is.

    Parameters
    ----------
    enough
        How many shares make the whole noise.
    own
        The holder's own noise, for answers that need no other holder's.
    """

    def __init__(self, enough: int, own: Noise) -> None:
        self.enough = enough
        self.own = own
        self.private = own.private
        # Repeatable noise begets repeatable shares.
        seed = None
        if not own.private:
            seed = np.abs(own.laplace(np.zeros(4, dtype=np.int64), 2.0**40))
        if seed is None:
            self._rng = None
        else:
            self._rng = np.random.default_rng(seed)
        self._spare: dict[tuple[int, float], ExactCounts] = {}
        """Shares drawn with others and not used yet, of the process and the scale that were last.

        After a fork parent and child have the same: noise that is used twice can be taken off
        again.
        """

    def laplace(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """Add a share of discrete Laplace noise."""
        return counts + (self._polya(counts.size, scale) - self._polya(counts.size, scale)).reshape(
            counts.shape
        )

    def gaussian(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """Add a share of discrete Gaussian noise."""
        share = gaussian_share(scale, self.enough)
        if self._rng is not None:
            return counts + np.rint(self._rng.normal(0.0, share, counts.shape)).astype(np.int64)
        return counts + _draw_noise(exact_noise.gaussian, counts.size, share).reshape(counts.shape)

    def rounded_gaussian(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """There are no shares of rounded noise: what holders add up is counted in rho."""
        raise TypeError("shares of noise are not rounded")

    def geometric(self, scores: ExactCounts, scale: float) -> ExactCounts:
        """Add a share of geometric noise: what the largest of many is found with, see
        :func:`top_scale`.
        """
        return scores + self._polya(scores.size, scale)

    def choose(self, scores: NDArray[np.float64], scale: float, rule: ChoiceRule) -> int:
        """A choice of the holder's own."""
        return self.own.choose(scores, scale, rule)

    def draw(self, counts: ExactCounts, draws: int, smoothing: Fraction) -> ExactCounts:
        """Draws cannot be shared out."""
        raise InputError(
            "Rows cannot be drawn from the tables of several holders; use a method that measures "
            "tables."
        )

    def sample(self, rows: int, rate: Fraction) -> NDArray[np.int64]:
        """Each holder samples its own rows."""
        return self.own.sample(rows, rate)

    def _polya(self, size: int, scale: float) -> ExactCounts:
        scale = max(scale, SMALLEST_SCALE)
        if self._rng is not None:
            return self._rng.negative_binomial(1 / self.enough, -math.expm1(-1 / scale), size)
        kept = _forks, scale
        spare = self._spare.get(kept, np.empty(0, dtype=np.int64))
        if spare.size < size:
            spare = _draw_noise(self._exact_polya, max(size, MIN_SHARES_PER_DRAW), scale)
        self._spare = {kept: spare[size:]}
        return spare[:size]

    def _exact_polya(self, size: int, scale: float) -> ExactCounts:
        return exact_noise.polya(size, scale, Fraction(1, self.enough))


def check_scale(noise: Noise, scale: float, currency: Currency) -> None:
    """Refuse noise that is too large to be drawn, before anything is debited for it."""
    polya = currency == "epsilon" and isinstance(noise, ShareNoise)
    if scale > (exact_noise.MAX_SHARED_SCALE if polya else MAX_SHARE_SCALE):
        raise InputError(_TOO_LARGE)


_TOO_LARGE = "So small a budget needs more noise than holders can draw; raise epsilon."


def _draw_noise(draw: Callable[[int, float], ExactCounts], size: int, scale: float) -> ExactCounts:
    try:
        return draw(size, scale)
    except OverflowError:
        raise InputError(_TOO_LARGE) from None


# --------------------------------------------------------------------------- sizes


@lru_cache(maxsize=1024)
def gaussian_share(scale: float, enough: int) -> float:
    """The scale of shares, ``enough`` of which cost no more than Gaussian noise of ``scale`` in one
    piece.
    """
    if enough == 1:
        return scale
    share = max(scale / math.sqrt(enough), SMALLEST_SHARE)
    while 1 / (share * math.sqrt(enough)) + 2 * _unlikeness(share, enough) > (1 - 1e-14) / scale:
        share *= 1 + 1e-14
    return share


def _unlikeness(share: float, enough: int) -> float:
    """How far, in log-ratio, the sum of shares is from a discrete Gaussian at most: eta, above."""
    steps = (math.exp(-2 * math.pi**2 * share**2 * k / (k + 1)) for k in range(1, enough))
    return 5 * sum(steps) * (1 + 1e-9)


def sum_scale(distribution: str, scale: float, enough: int, added: int) -> float:
    """The scale that noise in one piece would have, were it as large as ``added`` shares are
    together.
    """
    if distribution == "gaussian":
        return gaussian_share(scale, enough) * math.sqrt(added)
    scale = max(scale, SMALLEST_SCALE)
    if added == enough:
        return scale
    q = math.exp(-1 / scale)
    variance = added / enough * 2 * q / (1 - q) ** 2
    # The discrete Laplace variable of that variance: 2 p / (1 - p)^2 = variance. Of the two p,
    # whose product is 1, the one above 1 is a sum, and exact however small the variance is.
    return 1 / math.log((variance + 1 + math.sqrt(2 * variance + 1)) / variance)


# --------------------------------------------------------------------------- scores

SHARED_GRID = 1 << 10
"""Scores are rounded to this fraction of their sensitivity before shares of noise are added."""


def round_to_shared_grid(scores: NDArray[np.float64], sensitivity: float) -> ExactCounts:
    """Scores as whole numbers that differ by at most SHARED_GRID + 2 between neighbours.

    SHARED_GRID for the score itself, one for the rounding, and one for errors of the computation.
    """
    return np.rint(scores * (SHARED_GRID / sensitivity)).astype(np.int64)


def score_sensitivity(
    score: str, neighbours: Neighbours, rows: int | None, binary: bool, top: bool
) -> float:
    """By how much one row moves a score at most; to find the largest, half of the range in which it
    moves scores.
    """
    half_range = score_named(score).sensitivity(neighbours, rows, binary)
    # Scores that move by the same amount either way are moved by that half; score F falls by 1 and
    # rises by 1/2.
    if top or score != "F":
        return half_range
    return 1.0


def scores_scale(budget: Budget, candidates: int, top: bool) -> float:
    """The scale of the noise in each gridded score: of all that are told, or where ``top`` of one
    whose place is.
    """
    if top:
        if budget.currency == "epsilon":
            return top_scale(budget.amount)
        return VEIL * delegate_scale(budget.amount)
    step = SHARED_GRID + 2
    if budget.currency == "epsilon":
        return laplace_scale(candidates * step, budget.amount)
    return gaussian_scale(float(np.nextafter(np.sqrt(candidates) * step, np.inf)), budget.amount)


def top_scale(epsilon: float) -> float:
    """The scale of geometric noise at which the place of the largest sum of gridded scores costs
    ``epsilon``.

    **Proof.** Fix the noise of all candidates but i, and whatever is added beyond one geometric
    variable each. Candidate i comes out on top (of equal ones the first does) exactly where its
    noise is at least some whole number k. Between neighbours its own score falls by at most g =
    SHARED_GRID + 2 and the others rise by at most g (or half of the range in which scores can move
    is within g, which is the same to a difference): k grows by at most 2 g. A geometric variable
    has no memory: P(noise >= k + 2 g) >= exp(-2 g / scale) P(noise >= k), for every whole k. So
    with scale 2 g / epsilon the probability of i falls by a factor of exp(-epsilon) at most.
    """
    return math.nextafter(2 * (SHARED_GRID + 2) / epsilon * (1 + 1e-12), math.inf)


VEIL = 1 / 4
"""In rho, the scale of the Gaussian noise on sums that a delegate sees, against that of the choice
it makes.
"""


def delegate_scale(rho: float) -> float:
    """The scale at which the exponential mechanism, run by a delegate on sums of gridded scores,
    costs ``rho``.

    What would be found by noise in the sums at epsilon costs epsilon^2 / 2 in rho, and four times
    less by the exponential mechanism (Cesar and Rogers 2021), whose noise has no shares. So in rho
    the delegate makes the choice, and sees sums with less noise, VEIL times this scale. That noise
    takes part in the price neither way: whatever it is, it is added to both of two neighbours'
    scores alike.
    """
    return top_scale(math.sqrt(8 * rho))
