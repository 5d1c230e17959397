"""Real numbers in whole numbers that are proved to lie on either side of them, at any precision."""

from __future__ import annotations

import math
from fractions import Fraction

Bounds = tuple[int, int]
"""A real number x, known at a precision of this many bits: the first <= x * 2^bits <= the "
"second."""

GUARD = 128
"""Bits beyond those asked for: what sums, products and quotients of bounds lose is far less."""


def exp_minus(x: Fraction, bits: int) -> Bounds:
    """Bounds of exp(-x), for x >= 0.

    The series of exp(-y) alternates and its terms fall where y < 1, so what is left out is less
    than the last term. Larger x are halved until they are below 1, and the result is squared as
    often.
    """
    if x >= bits:
        return 0, 1  # exp(-x) < 2^-x
    halvings = math.floor(x).bit_length()
    precise = bits + 2 * halvings + 32
    one = 1 << precise
    y_low = (x.numerator << (precise - halvings)) // x.denominator
    y_high = y_low + 1
    low = high = one
    term_low = term_high = one
    order = 0
    while term_high > 1:
        order += 1
        term_low = (term_low * y_low >> precise) // order
        term_high = -((-term_high * y_high >> precise) // order)
        if order % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    low, high = max(low - term_high, 0), min(high + term_high, one)
    for _ in range(halvings):
        low, high = low * low >> precise, -(-high * high >> precise)
    return low >> (precise - bits), -(-high >> (precise - bits))


def quotient(part: Bounds, whole: Bounds, bits: int) -> Bounds:
    """Bounds, at a precision of this many bits, of a quotient of two positive numbers of one
    precision.
    """
    return (part[0] << bits) // whole[1], -(-(part[1] << bits) // whole[0])
