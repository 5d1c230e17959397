"""Rényi accounting at one order: what sampled noise costs, and how it adds up with all else.

Under zCDP a question that costs rho has a Rényi divergence of at most rho * order at *every* order.
Noise on a random sample of the rows has no such rho: its divergence grows faster than the order. A
ledger that is to hold both fixes one order beforehand and counts in divergence / order, which for
zCDP questions is rho. Divergences of one order add up, however adaptively the questions are asked,
and turn into (epsilon, delta) once, at that order (Canonne, Kamath and Steinke 2020, proposition
12):

    epsilon = rho * order + log(1 - 1 / order) - log(delta * order) / (order - 1).

Orders are whole numbers, at which divergences of *discrete* noise are exact, see
:func:`bound_sampled_divergence`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from understudy.errors import InputError
from understudy.privacy.budget import round_down

MIN_ORDER = 2
MAX_ORDER = 512

RATE_GRID = 1 << 32
"""Rows are sampled with a probability that is a multiple of one over this: one comparison of a
random word is then exact.
"""

SAFETY = 1e-9
"""Relative: divergences are rounded up by this, which covers the rounding of logarithms and
sums.
"""

MAX_MULTIPLIER = 1e6

MAX_EXPONENT = 600.0
"""Exponentials of more may not fit a float."""


def orders() -> Iterator[int]:
    """The orders that are tried: all small ones, then every eighth of a doubling."""
    order = MIN_ORDER
    while order <= MAX_ORDER:
        yield order
        order = max(order + 1, math.floor(order * 2**0.125))


def epsilon_at(order: int, rho: float, delta: float) -> float:
    """The epsilon that a divergence of ``rho * order`` at an order implies."""
    epsilon = rho * order + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)
    return max(epsilon + SAFETY * abs(epsilon), 0.0)


@lru_cache(maxsize=1024)
def rho_at(order: int, epsilon: float, delta: float) -> float:
    """The largest divergence / order that implies (epsilon, delta) at an order; 0 if none does."""
    check_order(order)
    spare = epsilon * (1 - SAFETY) - math.log1p(-1 / order) + math.log(delta * order) / (order - 1)
    rho = spare / order * (1 - SAFETY)
    if rho <= 0 or epsilon_at(order, rho, delta) > epsilon:
        return 0.0
    return round_down(Fraction(rho))


def check_order(order: int) -> int:
    """Return the order if it can be one."""
    whole = isinstance(order, int) and not isinstance(order, bool)
    if not whole or not MIN_ORDER <= order <= MAX_ORDER:
        raise InputError(
            f"The order must be a whole number from {MIN_ORDER} to {MAX_ORDER}, not {order!r}."
        )
    return order


def round_rate(rate: float) -> Fraction:
    """The probability with which a row is really sampled: the multiple of one over
    ``RATE_GRID`` below ``rate``.
    """
    if not 1 / RATE_GRID <= rate <= 1:
        raise InputError(f"The sampling rate must lie above 0 and be 1 at most, not {rate!r}.")
    return Fraction(math.floor(Fraction(rate) * RATE_GRID), RATE_GRID)


@lru_cache(maxsize=4096)
def bound_sampled_divergence(order: int, rate: float, multiplier: float) -> float:
    """The Rényi divergence of a noisy sum over a Poisson sample, for one row more or less.

    Every row is sampled with probability ``rate`` by itself and adds a vector of whole numbers
    whose length is at most R; the sum gets discrete Gaussian noise of scale s = R * multiplier in
    every cell. With one row more, of vector v, the answer is distributed as (1 - q) P(x) + q P(x -
    v), with one less as P(x). With L = P(x - v) / P(x) the divergence of order a is

        log E_P [((1 - q) + q L)^a] / (a - 1),
        E_P [L^k] = exp(k (k - 1) |v|^2 / (2 s^2)),

    for whole k, and the binomial theorem gives the rest. The moments are those of continuous noise
    and they are exact for discrete noise: E_P [L^k] is that exponential times the sum of P(x - k v)
    over all whole x, which is 1, since k v is whole. They grow with |v|, so |v| = R is the worst
    case; and the other rows only shift both distributions alike.

    The divergence the other way round is no larger: x -> v - x maps the whole numbers onto
    themselves and swaps P(x) with P(x - v), which is all that the proof for continuous noise uses
    (Mironov, Talwar and Zhang 2019, theorem 5).

    Parameters
    ----------
    order
        A whole number from 2.
    rate
        q, the probability with which a row is sampled.
    multiplier
        The scale of the noise by the largest length of a row's vector.
    """
    if rate == 1:
        exact = order / (2 * multiplier**2)
        return exact * (1 + SAFETY)
    log_q, log_rest = math.log(rate), math.log1p(-rate)
    weights = [
        _log_binomial(order, k) + k * log_q + (order - k) * log_rest for k in range(order + 1)
    ]
    moments = [k * (k - 1) / (2 * multiplier**2) for k in range(order + 1)]
    if moments[-1] < MAX_EXPONENT:
        # The weights add up to 1, so the sum is 1 and what the moments add to it: no digits are
        # lost where that is little.
        pairs = zip(weights, moments, strict=True)
        excess = math.fsum(math.exp(weight) * math.expm1(moment) for weight, moment in pairs)
        divergence = math.log1p(excess) / (order - 1)
    else:
        terms = [weight + moment for weight, moment in zip(weights, moments, strict=True)]
        total = math.fsum(math.exp(term - max(terms)) for term in terms)
        divergence = (max(terms) + math.log(total)) / (order - 1)
    return divergence * (1 + SAFETY)


def _log_binomial(order: int, k: int) -> float:
    return math.lgamma(order + 1) - math.lgamma(k + 1) - math.lgamma(order - k + 1)


@lru_cache(maxsize=1024)
def find_multiplier(order: int, rate: float, rho: float) -> float:
    """The smallest multiplier (to six digits) at which one answer costs at most ``rho``; refuses
    what no noise is large enough for.
    """
    if not rho > 0 or bound_sampled_divergence(order, rate, MAX_MULTIPLIER) > rho * order:
        raise InputError(
            "The budget buys no step: even the most noise would cost more; raise epsilon or delta, "
            "or take fewer steps."
        )
    low, high = 1e-3, MAX_MULTIPLIER
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        if bound_sampled_divergence(order, rate, middle) > rho * order:
            low = middle
        else:
            high = middle
    return high


@lru_cache(maxsize=256)
def best_order(epsilon: float, delta: float, rate: float, steps: int, share: float) -> int:
    """The order at which ``steps`` answers for a share of a whole budget need the least noise.

    All that goes into it is public.
    """
    found = {}
    for order in orders():
        whole = rho_at(order, epsilon, delta)
        try:
            found[order] = find_multiplier(order, rate, whole * share / steps)
        except InputError:
            continue
    if not found:
        raise InputError(
            f"The budget buys no step: {steps:,} of them need more than epsilon {epsilon:g} with "
            f"delta {delta:g}; raise epsilon or delta, or take fewer steps."
        )
    return min(found, key=lambda order: found[order])
