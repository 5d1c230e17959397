"""The rounded Gaussian: normal noise, rounded to whole numbers, exactly distributed.

A whole number c plus normal noise N, rounded, is c plus N rounded. So counts with this noise tell
nothing that counts with N itself would not: the mechanism is exactly as private as the continuous
Gaussian one, and needs no bound of its own (see ``docs/decisions/040-accounting.md``).

As in :mod:`understudy.privacy.exact_noise`, every decision compares a stream of random bits with a
probability that is known at any precision, and no floating-point number takes part.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.exact_noise import (
    GUIDE,
    TIE,
    WORD,
    Integers,
    WordSource,
    exact_gaussian_scale,
    first_words,
    gaussian_trials,
    lengthen,
    repeat_until_accepted,
    search,
    system_words,
)
from understudy.privacy.exact_numbers import Bounds, exp_minus, quotient
from understudy.privacy.normal import normal_tail, root_of_two_pi

TABLE_SCALE = 16
"""Below this scale sizes are looked up in a table; above, discrete Gaussians are thinned."""

TABLE_DEVIATIONS = 7
"""How far the table goes; what lies beyond, once in 10^11 draws, is found without it."""

QUICK_DEVIATIONS = 8
QUICK_DIVISOR = 14
"""From TABLE_SCALE on, what lies within 8 deviations is kept with a probability of at least 1 - 1 /
(14 scale^2) (:func:`_keep_trials`)."""


def rounded_gaussian(
    size: int, scale: float | Fraction, *, _words: WordSource = system_words
) -> Integers:
    """Draw k with the probability that a normal number of this deviation rounds to it.

    Parameters
    ----------
    size
        How many.
    scale
        Any positive number up to 2^50, taken as the exact rational number that it is.
    """
    exact = exact_gaussian_scale(scale)
    if exact < TABLE_SCALE:
        return _with_signs(_draw_sizes(size, exact, _words), _words)
    return repeat_until_accepted(
        size, Fraction(3, 2), lambda block: _keep_trials(block, exact, _words)
    )


# --------------------------------------------------------------------------- small scales


def _draw_sizes(size: int, scale: Fraction, source: WordSource) -> Integers:
    firsts, guide = _size_table(scale)
    words = source(size)
    drawn = np.empty(size, dtype=np.int64)
    search(words, firsts, guide, drawn)
    for place in np.flatnonzero((drawn == TIE) | (drawn == len(firsts))):
        drawn[place] = _settle_size(int(words[place]), scale, source)
    return drawn


@lru_cache(maxsize=256)
def _size_table(scale: Fraction) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """The first words of P(size < 1), P(size < 2) ..., and where words begin among them."""
    count = math.ceil(TABLE_DEVIATIONS * scale) + 1
    firsts = np.array(
        first_words(lambda bits: [_below(size, scale, bits) for size in range(1, count + 1)]),
        dtype=np.uint32,
    )
    beginnings = np.arange(1 << GUIDE, dtype=np.uint32) << np.uint32(WORD - GUIDE)
    return firsts, np.searchsorted(firsts, beginnings).astype(np.uint8)


def _below(size: int, scale: Fraction, bits: int) -> Bounds:
    """Bounds of P(|k| < size) = 1 - 2 Q((size - 1/2) / scale)."""
    low, high = normal_tail(Fraction(2 * size - 1, 2) / scale, bits + 1)
    one = 1 << bits
    return one - high, one - low


def _settle_size(number: int, scale: Fraction, source: WordSource) -> int:
    """The size whose stretch of [0, 1) holds the uniform number that begins with this word."""
    bits, size = WORD, 0
    while True:
        low, high = _below(size + 1, scale, bits)
        if number + 1 <= low:
            return size
        if number >= high:
            size += 1
        else:
            number, bits = lengthen(number, bits, source)


def _with_signs(sizes: Integers, source: WordSource) -> Integers:
    words = source(-(-len(sizes) // WORD))
    negative = np.unpackbits(words.view(np.uint8))[: len(sizes)].astype(np.bool_)
    return np.where(negative, -sizes, sizes)


# --------------------------------------------------------------------------- large scales


def _keep_trials(size: int, scale: Fraction, source: WordSource) -> Integers:
    """Thin discrete Gaussians.

    Write s for the scale and A(k) for the integral of cosh(k u / s^2) exp(-u^2 / (2 s^2)) over u
    from -1/2 to 1/2: the probability of k is exp(-k^2 / (2 s^2)) A(k), but for a constant. As A(k)
    <= sinh(x) / x <= exp(x^2 / 6) at x = k / (2 s^2), it is at most exp(-k^2 / (2 v)) with 1 / v =
    1 / s^2 - 1 / (12 s^4). So a discrete Gaussian of variance v is kept with the probability
    exp(-y) A(k), y = k^2 / (24 s^4).

    That is nearly 1: cosh and exp are at least the beginnings of their series, so A(k) >= 1 + y - 1
    / (24 s^2) - 3 y / (40 s^2), and exp(-y) >= 1 - y. Together they are at least 1 - 1 / (24 s^2) -
    y^2 - 3 y / (40 s^2). For k up to 8 s, y is at most 8 / (3 s^2), and from s = 16 on this is more
    than 1 - 1 / (14 s^2). Only the others are looked at one by one.
    """
    square = scale * scale
    variance = square * 12 * square / (12 * square - 1)
    drawn = gaussian_trials(size, variance, source)
    words = source(len(drawn))
    surely = (1 << WORD) - math.ceil((1 << WORD) / (QUICK_DIVISOR * square))
    near = math.floor(QUICK_DEVIATIONS * scale)
    keep = (words < surely) & (np.abs(drawn) <= near)
    for place in np.flatnonzero(~keep):
        keep[place] = _is_kept(abs(int(drawn[place])), int(words[place]), scale, variance, source)
    return drawn[keep]


def _is_kept(
    size: int, number: int, scale: Fraction, variance: Fraction, source: WordSource
) -> bool:
    """Whether the uniform number that begins with this word lies below the probability."""
    bits = WORD
    while True:
        number, bits = lengthen(number, bits, source)
        low, high = _bound_kept(size, scale, variance, bits)
        if number + 1 <= low:
            return True
        if number >= high:
            return False


def _bound_kept(size: int, scale: Fraction, variance: Fraction, bits: int) -> Bounds:
    """Bounds of s sqrt(2 pi) P(k) exp(k^2 / (2 v)), with P(k) as a difference of tails."""
    exponent = size * size / (2 * variance)
    # The difference is about exp(-exponent) / scale, and is to be known to `bits` bits.
    precise = bits + 64 + math.ceil(2 * exponent) + 2 * math.ceil(scale).bit_length()
    near = normal_tail(Fraction(2 * size - 1, 2) / scale, precise)
    far = normal_tail(Fraction(2 * size + 1, 2) / scale, precise)
    root_low, root_high = root_of_two_pi(precise)
    part = (max(near[0] - far[1], 0), near[1] - far[0])
    low, high = quotient(part, exp_minus(exponent, precise), precise)
    low = math.floor(low * root_low * scale) >> (2 * precise - bits)
    high = -(-math.ceil(high * root_high * scale) >> (2 * precise - bits))
    return low, high
