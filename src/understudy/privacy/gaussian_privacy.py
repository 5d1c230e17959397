"""Gaussian differential privacy (GDP): the exact price of Gaussian noise.

A mechanism is mu-GDP if telling two neighbours apart by it is never easier than telling N(0, 1)
from N(mu, 1) (Dong, Roth and Su 2022). Amounts are counted as mu^2 / 2: that is what zCDP calls the
rho of the same Gaussian noise, and like rho it adds up, whatever was chosen by earlier answers. It
turns into (epsilon, delta) without loss, by the formula of Balle and Wang (2018); zCDP's conversion
gives away 5 to 12 % of it. As mu-GDP implies mu^2 / 2-zCDP, the same amount read as rho is sound
too, and a little more expensive.

What is not Gaussian has a price as well, see :func:`smooth_loss` and :func:`lone_loss`. The
proofs are in ``docs/decisions/040-accounting.md``. Every number here is rounded to the safe side.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, lru_cache

from understudy.privacy.budget import epsilon_of, exact, rho_of, round_down
from understudy.privacy.exact_numbers import exp_minus, quotient
from understudy.privacy.normal import normal_tail

MAX_EXACT_EPSILON = 150.0
"""Above it, exact conversion would take long, and zCDP's, which is sound too, is used."""

MAX_SMOOTHED = Fraction(6)
"""Up to this amount the price of a smoothed loss is proved."""

CONVERSION_PRECISION = 1e-12
"""How closely a conversion is found."""

ROOT_UNIT = 1 << 200
"""Roots are whole multiples of one over this."""


@cache
def gdp_of(epsilon: float, delta: float) -> float:
    """The largest mu^2 / 2 (to 12 digits) for which mu-GDP implies (epsilon, delta)-DP."""
    if epsilon > MAX_EXACT_EPSILON:
        return rho_of(epsilon, delta)
    weight = -math.log(delta)
    low, high = 0.0, math.sqrt(2) * (math.sqrt(weight + epsilon) - math.sqrt(weight))
    while _delta_above(Fraction(high), exact(epsilon), delta) <= exact(delta):
        low, high = high, high * 2
    while high - low > CONVERSION_PRECISION * high:
        middle = (low + high) / 2
        if _delta_above(Fraction(middle), exact(epsilon), delta) <= exact(delta):
            low = middle
        else:
            high = middle
    return round_down(Fraction(low) ** 2 / 2)


@lru_cache(maxsize=1024)
def gdp_epsilon_of(amount: float, delta: float) -> float:
    """The smallest epsilon (to 12 digits) for which mu-GDP implies (epsilon, delta)-DP, where
    mu^2 / 2 is ``amount``.
    """
    mu = _root_above(2 * exact(amount))
    if mu == 0 or _delta_above(mu, Fraction(0), delta) <= exact(delta):
        return 0.0
    low, high = 0.0, 1.0
    while _delta_above(mu, exact(high), delta) > exact(delta):
        low, high = high, high * 2
        if high > MAX_EXACT_EPSILON:
            return epsilon_of(amount, delta)
    while high - low > CONVERSION_PRECISION * high:
        middle = (low + high) / 2
        if _delta_above(mu, exact(middle), delta) <= exact(delta):
            high = middle
        else:
            low = middle
    return high


def _delta_above(mu: Fraction, epsilon: Fraction, least: float) -> Fraction:
    """A number just above the delta of mu-GDP at an epsilon, if it is about ``least`` or more.

    It is Q(epsilon / mu - mu / 2) - exp(epsilon) Q(epsilon / mu + mu / 2), Q being the tail of the
    standard normal distribution.
    """
    bits = 64 + math.ceil(-math.log2(least)) + 4 * math.ceil(epsilon)
    near = normal_tail(epsilon / mu - mu / 2, bits)
    far = normal_tail(epsilon / mu + mu / 2, bits)
    one = 1 << bits
    growth = quotient((one, one), exp_minus(epsilon, bits), bits)
    return Fraction((near[1] << bits) - far[0] * growth[0], 1 << (2 * bits))


def _root_above(number: Fraction) -> Fraction:
    """A fraction that is not below the root, nor far above it."""
    if not number:
        return number
    return Fraction(math.isqrt(math.ceil(number * ROOT_UNIT**2)) + 1, ROOT_UNIT)


# --------------------------------------------------------------------------- what is not Gaussian


def smooth_loss(amount: Fraction, left: Fraction) -> Fraction:
    """How much a question may lose, as rho, if it costs ``amount`` of what is ``left``.

    What may still be asked afterwards smooths the loss of this question, whether it is asked or
    not: a question that is rho-zCDP at all orders above 0, before a rest r, is covered by an amount
    c with 1 / c = 1 / rho - 1 / r.
    """
    rest = left - amount
    if amount <= 0 or rest <= 0:
        return Fraction(0)
    amount = min(amount, MAX_SMOOTHED)
    return amount * rest / (amount + rest)


@lru_cache(maxsize=1024)
def lone_loss(amount: float) -> float:
    """How much a choice may lose, as rho, if it costs ``amount`` and nothing is left.

    A mechanism whose losses lie in a range of length epsilon, which is epsilon^2 / 8-zCDP, is
    mu-GDP with Phi(mu / 2) = 1 / (1 + exp(-epsilon / 2)): for a small epsilon that costs pi / 2
    times its rho.
    """
    if amount <= 0:
        return 0.0
    bits = 256
    half = _root_above(2 * exact(amount)) / 2 - Fraction(1, ROOT_UNIT)
    tail = normal_tail(max(half, Fraction(0)), bits)[1]
    odds = Fraction(tail, (1 << bits) - tail)  # exp(-epsilon / 2) must not be below
    epsilon, step = -2 * _log(odds), 1e-15
    while exp_minus(Fraction(epsilon) / 2, bits)[0] < odds * (1 << bits):
        epsilon, step = max(epsilon * (1 - step), 0.0), 2 * step
    return round_down(Fraction(epsilon) ** 2 / 8)


def _log(odds: Fraction) -> float:
    """A logarithm, to nearly all digits both near 0 and near 1."""
    if odds > Fraction(1, 2):
        return math.log1p(float(odds - 1))
    return math.log(float(odds))
