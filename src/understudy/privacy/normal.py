"""The normal distribution in whole numbers that are proved to lie on either side of it.

For noise that must be exactly distributed, and for prices that must not be too low, a tail in
floating point will not do. Here it is found as :data:`understudy.privacy.exact_numbers.Bounds`, at
any precision.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from understudy.privacy.exact_numbers import GUARD, Bounds, exp_minus


def normal_tail(x: Fraction, bits: int) -> Bounds:
    """Bounds of Q(x) = P(Z >= x) for a standard normal Z.

    1/2 - Q(x) = exp(-x^2 / 2) / sqrt(2 pi) times the sum of x^(2k + 1) / (1 3 5 ... (2k + 1)), all
    of whose terms are positive. Once the quotient of two terms is below a half, all that follow are
    less than the last one.
    """
    if x < 0:
        low, high = normal_tail(-x, bits)
        return (1 << bits) - high, (1 << bits) - low
    square = x * x
    if square >= 2 * bits:
        return 0, 1  # Q(x) <= exp(-x^2 / 2) / 2 < 2^-bits
    # The sum may be as large as exp(x^2 / 2) sqrt(pi / 2).
    precise = bits + GUARD + math.ceil(square * 3 / 4)
    term_low = (x.numerator << precise) // x.denominator
    term_high = term_low + 1
    low, high = term_low, term_high
    top, bottom = square.numerator, square.denominator
    odd = 1
    while term_high > 1 or 2 * top >= (odd + 2) * bottom:
        odd += 2
        term_low = term_low * top // (bottom * odd)
        term_high = -(-term_high * top // (bottom * odd))
        low, high = low + term_low, high + term_high
    high += term_high
    fall_low, fall_high = exp_minus(square / 2, precise)
    root_low, root_high = root_of_two_pi(precise)
    inner_low = low * fall_low // root_high
    inner_high = -(-high * fall_high // root_low)
    half = 1 << (precise - 1)
    shift = precise - bits
    return max((half - inner_high) >> shift, 0), max(-((inner_low - half) >> shift), 1)


@lru_cache(maxsize=64)
def root_of_two_pi(bits: int) -> Bounds:
    """Bounds of sqrt(2 pi)."""
    low, high = _pi(2 * bits + 1)
    return math.isqrt(low), math.isqrt(high) + 1


def _pi(bits: int) -> Bounds:
    """Bounds of pi = 16 arctan(1 / 5) - 4 arctan(1 / 239) (Machin)."""
    precise = bits + 32
    found = 16 * _arctan(5, precise) - 4 * _arctan(239, precise)
    # Each of fewer than `precise` terms is rounded by one, and is multiplied by 16 at most.
    error = 20 * (precise + 1)
    return (found - error) >> 32, ((found + error) >> 32) + 1


def _arctan(inverse: int, bits: int) -> int:
    """About arctan(1 / inverse), each term rounded down."""
    power = (1 << bits) // inverse
    found, odd, sign = power, 1, 1
    while power:
        power //= inverse * inverse
        odd += 2
        sign = -sign
        found += sign * (power // odd)
    return found
