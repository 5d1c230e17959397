"""Whole-number noise, exactly distributed, many cells at a time, from the operating system's random
bytes.

Every decision here is the same one: does a uniform number U in [0, 1) lie below a probability p? U
is a stream of random bits of which only as many are drawn as the decision needs: a word of 32 bits
is compared with the first 32 bits of p, and only where they are equal are more bits of both found.
The bits of p come from whole numbers that are proved to lie on either side of it (:data:`Bounds`),
at any precision that is asked for. So no probability is rounded and no floating-point number takes
part; a scale that is given as a float means exactly the rational number that it is.

How it is made fast. The digits of a geometric variable are independent: with q = exp(-1 / scale)
and k = sum of d_j 256^j, q^k is the product of q^(d_j 256^j), one factor for each digit. (In base 2
the digits are the coins with P(bit i) = 1 / (1 + exp(2^i / scale)).) A digit takes one word and a
search among its 255 cumulative probabilities. Everything else is made of geometric variables.

The whole argument is in ``docs/decisions/018-exact-vectorised-noise.md``. All functions refuse
(OverflowError) what would not fit: a scale above 2^52, and a value beyond 2^62, which even at the
largest scale has probability exp(-1024).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.machine.plain_first import PlainFirst
from understudy.privacy.exact_numbers import GUARD, Bounds, exp_minus, quotient

Integers = NDArray[np.int64]
WordSource = Callable[[int], NDArray[np.uint32]]
"""Gives this many fresh, uniform, independent words."""

WORD = 32  # bits of randomness with which a comparison begins
BASE = 256  # of the digits
GUIDE = 12  # bits of a word by which its place among probabilities is looked up, all but exactly
CELLS_PER_BLOCK = 1 << 15  # cells at a time: what they need stays in the cache
MAX_NOISE_SCALE = 1 << 52
MAX_SHARED_SCALE = 1 << 24
LARGEST = 1 << 62


def system_words(size: int) -> NDArray[np.uint32]:
    """Fresh words from the operating system."""
    return np.frombuffer(os.urandom(size * WORD // 8), dtype=np.uint32)


# --------------------------------------------------------------------------- the distributions


def geometric(size: int, scale: float | Fraction, *, _words: WordSource = system_words) -> Integers:
    """Draw k >= 0 with P(k) proportional to exp(-k / scale).

    Parameters
    ----------
    size
        How many.
    scale
        Any positive number up to 2^52, taken as the exact rational number that it is.
    """
    return _in_blocks(size, exact_scale(scale), _geometric, _words)


def laplace(size: int, scale: float | Fraction, *, _words: WordSource = system_words) -> Integers:
    """Draw k with P(k) proportional to exp(-|k| / scale).

    It is the difference of two geometric variables: with q = exp(-1 / scale), P(k) is the sum over
    j >= 0 of (1 - q) q^j (1 - q) q^(j + |k|) = (1 - q)^2 q^|k| / (1 - q^2).

    Parameters
    ----------
    size
        How many.
    scale
        Any positive number up to 2^52, taken as the exact rational number that it is.
    """
    return _in_blocks(size, exact_scale(scale), _laplace, _words)


def gaussian(size: int, scale: float | Fraction, *, _words: WordSource = system_words) -> Integers:
    """Draw k with P(k) proportional to exp(-k^2 / (2 scale^2)).

    Parameters
    ----------
    size
        How many.
    scale
        Any positive number up to 2^50, taken as the exact rational number that it is.
    """
    exact = exact_gaussian_scale(scale)
    return repeat_until_accepted(
        size, Fraction(3, 2), lambda block: gaussian_trials(block, exact * exact, _words)
    )


def polya(
    size: int, scale: float | Fraction, share: Fraction, *, _words: WordSource = system_words
) -> Integers:
    """Draw a share of a geometric variable: k >= 0 with P(k) proportional to exp(-k / scale)
    (share)_k / k!.

    (share)_k is share (share + 1) ... (share + k - 1): a negative binomial with a broken number of
    successes. Its generating function is that of the geometric variable to the power of ``share``,
    so that independent ones whose shares add up to 1 have a geometric variable as their sum.

    Parameters
    ----------
    size
        How many.
    scale
        The scale of the geometric variable, up to 2^24.
    share
        Above 0, up to 1.
    """
    exact = exact_scale(scale)
    if not 0 < share <= 1:
        raise ValueError("share must lie above 0 and be 1 at most")
    if exact > MAX_SHARED_SCALE:
        raise OverflowError(f"A share of noise of scale {float(scale):g} is too large to be drawn.")
    return repeat_until_accepted(
        size, Fraction(2), lambda block: _polya_trials(block, exact, share, _words)
    )


def exact_scale(scale: float | Fraction) -> Fraction:
    """The exact number that a scale is; refuses what is none."""
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError("scale must be a positive number")
    if scale > MAX_NOISE_SCALE:
        raise OverflowError(f"Noise of scale {float(scale):g} is too large to be drawn.")
    return Fraction(scale)


def exact_gaussian_scale(scale: float | Fraction) -> Fraction:
    """The same for Gaussian noise, whose trials reach further."""
    exact = exact_scale(scale)
    if exact > MAX_NOISE_SCALE // 4:
        raise OverflowError(f"Gaussian noise of scale {float(scale):g} is too large to be drawn.")
    return exact


def _in_blocks(
    size: int,
    scale: Fraction,
    draw: Callable[[int, Fraction, WordSource], Integers],
    source: WordSource,
) -> Integers:
    drawn = np.empty(size, dtype=np.int64)
    for start in range(0, size, CELLS_PER_BLOCK):
        block = drawn[start : start + CELLS_PER_BLOCK]
        block[:] = draw(len(block), scale, source)
    return drawn


def repeat_until_accepted(
    size: int, surplus: Fraction, trials: Callable[[int], Integers]
) -> Integers:
    """The first ``size`` that are accepted of independent trials; ``surplus`` are made for each
    that is wanted.
    """
    found = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        accepted = trials(min(CELLS_PER_BLOCK, math.ceil((size - done) * surplus) + 8))[
            : size - done
        ]
        found[done : done + len(accepted)] = accepted
        done += len(accepted)
    return found


# ----------------------------------------------- geometric and Laplace


def _geometric(size: int, scale: Fraction, source: WordSource) -> Integers:
    """The digits, each from its law.

    What stands above the lower digits is geometric itself, and not bounded: a top digit of BASE - 1
    means "or more". A geometric variable has no memory: what comes on top of that is one like
    itself, drawn again.
    """
    *lower, highest = _digit_laws(scale)
    drawn = highest.draw(size, source)
    open_ended = np.flatnonzero(drawn == BASE - 1)
    while open_ended.size:
        more = highest.draw(open_ended.size, source)
        drawn[open_ended] += more
        open_ended = open_ended[more == BASE - 1]
        if drawn.max() >= LARGEST // BASE ** len(lower):
            raise OverflowError("Noise beyond 2^62 cannot be added to a count.")
    for law in reversed(lower):
        drawn *= BASE
        drawn += law.draw(size, source)
    return drawn


def _laplace(size: int, scale: Fraction, source: WordSource) -> Integers:
    drawn = _geometric(size, scale, source)
    drawn -= _geometric(size, scale, source)
    return drawn


@lru_cache(maxsize=256)
def _digit_laws(scale: Fraction) -> tuple[_Law, ...]:
    """The laws of the digits, lowest first: bounded ones, and as the last that of all that stands
    above them.
    """
    units = [1]
    while units[-1] * BASE < 4 * scale:
        units.append(units[-1] * BASE)
    bounded = [_Law(_bound_digit(unit / scale)) for unit in units[:-1]]
    return *bounded, _Law(_open_digit(units[-1] / scale))


def _open_digit(rate: Fraction) -> Cumulative:
    """P(digit < d) = 1 - exp(-d rate), for d up to BASE - 1."""

    def cumulative(bits: int) -> list[Bounds]:
        one = 1 << bits
        return [(one - high, one - low) for low, high in _exp_powers(rate, BASE - 1, bits)]

    return cumulative


def _bound_digit(rate: Fraction) -> Cumulative:
    """P(digit < d) = (1 - exp(-d rate)) / (1 - exp(-BASE rate)), for d up to BASE - 1."""

    def cumulative(bits: int) -> list[Bounds]:
        one = 1 << (bits + GUARD)
        *parts, whole = [
            (one - high, one - low) for low, high in _exp_powers(rate, BASE, bits + GUARD)
        ]
        return [quotient(part, whole, bits) for part in parts]

    return cumulative


# --------------------------------------------------------------------------- Gaussian


def gaussian_trials(size: int, variance: Fraction, source: WordSource) -> Integers:
    """Rejection from discrete Laplace noise (Canonne, Kamath and Steinke 2020), with exponents in
    whole numbers.

    Let c = p / q be any positive rational number. A discrete Laplace variable of scale^2 / c that
    is accepted with probability exp(-(|k| - c)^2 / (2 scale^2)) has P(k) proportional to exp(-|k| c
    / scale^2 - (|k| - c)^2 / (2 scale^2)) = exp(-k^2 / (2 scale^2)) exp(-c^2 / (2 scale^2)). The
    exponent of the acceptance is the whole number (q |k| - p)^2 times 1 / (2 q^2 scale^2). It is
    best to have c near the scale.
    """
    q = 1
    while q * q * variance < 1:
        q *= 2
    p = math.isqrt(math.floor(q * q * variance))
    drawn = _laplace(size, variance * q / p, source)
    sizes = np.abs(drawn)
    if int(sizes.max()) * q + p >= LARGEST:
        raise OverflowError("Noise beyond 2^62 cannot be added to a count.")
    # Where q itself does not fit, all sizes are 0.
    distances = np.abs(sizes * min(q, LARGEST) - p)
    return drawn[_accept_squares(distances, 1 / (2 * q * q * variance), source)]


def _accept_squares(distances: Integers, rate: Fraction, source: WordSource) -> Integers:
    """The places that are accepted where each is so with probability exp(-distance^2 rate).

    A square may have up to 124 bits: with distance = a 2^31 + b it is a^2 2^62 + 2 a b 2^31 + b^2.
    An exponential of a sum is a product of exponentials: all of several independent coins, one for
    each digit of each summand.
    """
    left = np.arange(len(distances))
    high, low = distances >> 31, distances & ((1 << 31) - 1)
    for shift, summand in ((62, high * high), (32, high * low), (0, low * low)):
        for place in reversed(range((int(summand.max(initial=0)).bit_length() + 7) // 8)):
            digits = (summand[left] >> (8 * place)) & (BASE - 1)
            left = left[_coins(rate * (1 << (shift + 8 * place))).toss(digits, source)]
    return left


@lru_cache(maxsize=1024)
def _coins(rate: Fraction) -> _Coins:
    return _Coins(lambda bits: _exp_powers(rate, BASE - 1, bits))


# --------------------------------------------------------------------------- Pólya


def _polya_trials(size: int, scale: Fraction, share: Fraction, source: WordSource) -> Integers:
    """Rejection from geometric variables, block by block of values.

    With a(k) = (share)_k / k!, which falls, and q = exp(-1 / scale), the values 0; 1; 2, 3; 4 ...
    7; and so on up to all those from 2^m >= scale on form blocks. The block that begins at b has
    the weight a(b) q^k at its k: a block is chosen, within it a value with P(k) proportional to
    q^k, and that is accepted with probability a(k) / a(b). Within a block of 2^i values, k - b is
    the lower i bits of a geometric variable, as its bits are independent.
    """
    blocks = _block_law(scale, share).draw(size, source)
    starts = np.where(blocks == 0, 0, 1 << np.maximum(blocks - 1, 0))
    bounded = blocks <= _last_block(scale)
    offsets = _in_blocks(size, scale, _geometric, source)
    values = starts + np.where(bounded, offsets & np.maximum(starts - 1, 0), offsets)
    return values[_survives(starts, values, share, source)]


def _last_block(scale: Fraction) -> int:
    """How many blocks of 1, 2, 4 ... values there are below the first power of two that is no less
    than scale.
    """
    return (math.ceil(scale) - 1).bit_length()


@lru_cache(maxsize=256)
def _block_law(scale: Fraction, share: Fraction) -> _Law:
    """The block: with weights 1 for the value 0, a(b) q^b (1 - q^b) / (1 - q) for b = 1, 2, 4 ...,
    and for the last one a(b) q^b / (1 - q). What is summed is 1 - q times those.
    """
    last = _last_block(scale)

    def cumulative(bits: int) -> list[Bounds]:
        precise = bits + GUARD
        one = 1 << precise
        low, high = exp_minus(1 / scale, precise)
        weights = [(one - high, one - low)]
        for block, (a_low, a_high) in enumerate(_falls(share, last, precise)):
            low, high = exp_minus((1 << block) / scale, precise)
            if block < last:
                low, high = low * (one - high) >> precise, -(-high * (one - low) >> precise)
            weights.append((low * a_low >> precise, -(-high * a_high >> precise)))
        lows = [sum(low for low, _ in weights[: place + 1]) for place in range(len(weights))]
        highs = [sum(high for _, high in weights[: place + 1]) for place in range(len(weights))]
        whole = (lows[-1], highs[-1])
        return [quotient(part, whole, bits) for part in zip(lows[:-1], highs[:-1], strict=True)]

    return _Law(cumulative)


@lru_cache(maxsize=16)
def _falls(share: Fraction, last: int, bits: int) -> list[Bounds]:
    """Bounds of a(1), a(2), a(4) ... a(2^last).

    a(k) = a(k - 1) (k - 1 + share) / k; up to 64 of these factors are multiplied with a bound at
    once.
    """
    top, bottom = share.numerator, share.denominator
    low = high = 1 << bits
    found = []
    k = 0
    for block in range(last + 1):
        while k < 1 << block:
            end = min(k + 64, 1 << block)
            above = math.prod(range(k * bottom + top, (end - 1) * bottom + top + 1, bottom))
            below = math.prod(range(k + 1, end + 1)) * bottom ** (end - k)
            low, high = low * above // below, -(-high * above // below)
            k = end
        found.append((low, high))
    return found


def _survives(
    starts: Integers, values: Integers, share: Fraction, source: WordSource
) -> NDArray[np.bool_]:
    """Whether each is accepted, which it is with probability a(value) / a(start).

    That is the product of 1 - (1 - share) / i over start < i <= value: the probability that none of
    independent events happens, of which number i has probability (1 - share) / i. Such events are
    made in two steps: number i happens with probability 1 / i, and if it does, it counts with
    probability 1 - share. After ``at``, none happens up to x with probability (at / (at + 1)) ...
    ((x - 1) / x) = at / x, so the next is the first x with U >= at / x.
    """
    survives = np.ones(len(values), dtype=bool)
    counts = _share_law(share)
    left = np.flatnonzero(values > starts)
    at = starts[left]
    while left.size:
        at = _next_event(at, source)
        happened = at <= values[left]
        left, at = left[happened], at[happened]
        counted = counts.draw(left.size, source) == 0
        survives[left[counted]] = False
        left, at = left[~counted], at[~counted]
    return survives


@lru_cache(maxsize=256)
def _share_law(share: Fraction) -> _Law:
    """0 with probability 1 - share, else 1."""
    top, bottom = share.denominator - share.numerator, share.denominator
    return _Law(lambda bits: [quotient((top, top), (bottom, bottom), bits)])


def _next_event(at: Integers, source: WordSource) -> Integers:
    """The first x above ``at`` with U >= at / x: at / U, rounded up, where ``at`` is positive.

    U begins with a word w, so at / U lies above at 2^32 / (w + 1) and at most at at 2^32 / w.
    """
    words = source(len(at)).astype(np.int64)
    small = at < 1 << 30  # the products below fit
    shifted = np.where(small, at, 0) << WORD
    following = shifted // (words + 1) + 1
    unsure = (-(-shifted // np.maximum(words, 1)) != following) | (words == 0) | ~small
    for place in np.flatnonzero(unsure):
        start, number, bits = int(at[place]), int(words[place]), WORD
        while number == 0 or -(-(start << bits) // number) != (start << bits) // (number + 1) + 1:
            number, bits = lengthen(number, bits, source)
        following[place] = min(-(-(start << bits) // number), LARGEST)
    return following


# --------------------------------------------------------------------------- comparing


Cumulative = Callable[[int], list[Bounds]]
"""Bounds of rising or falling probabilities, at any number of bits."""


class _Law:
    """A choice among 0 ... n by the probabilities, known at any precision, of being below 1
    ... n.
    """

    def __init__(self, cumulative: Cumulative) -> None:
        self._cumulative = cumulative
        self._firsts = np.array(first_words(cumulative), dtype=np.uint32)
        beginnings = np.arange(1 << GUIDE, dtype=np.uint32) << np.uint32(WORD - GUIDE)
        self._guide = np.searchsorted(self._firsts, beginnings).astype(np.uint8)

    def draw(self, size: int, source: WordSource) -> Integers:
        words = source(size)
        drawn = np.empty(size, dtype=np.int64)
        if search(words, self._firsts, self._guide, drawn):
            for place in np.flatnonzero(drawn == TIE):
                drawn[place] = settle(int(words[place]), self._cumulative, source)
        return drawn


class _Coins:
    """Coins number 1 ... n by their probabilities of success, known at any precision; coin 0 never
    fails.
    """

    def __init__(self, probabilities: Cumulative) -> None:
        self._probabilities = probabilities
        self._firsts = np.array([(1 << WORD) - 1, *first_words(probabilities)], dtype=np.uint32)

    def toss(self, coins: Integers, source: WordSource) -> NDArray[np.bool_]:
        """Toss each of these coins once, and tell which succeed."""
        success = np.ones(len(coins), dtype=bool)
        tossed = np.flatnonzero(coins)
        words, firsts = source(len(tossed)), self._firsts[coins[tossed]]
        success[tossed] = words < firsts
        for tie in np.flatnonzero(words == firsts):
            place = tossed[tie]
            number = int(coins[place]) - 1

            def tail(bits: int, number: int = number) -> list[tuple[int, int]]:
                return [self._probabilities(bits)[number]]

            failed = settle(int(words[tie]), tail, source)
            success[place] = not failed
        return success


TIE = -1


def search(
    words: NDArray[np.uint32], firsts: NDArray[np.uint32], guide: NDArray[np.uint8], found: Integers
) -> int:
    """How many of `firsts` (rising) lie below each word, or TIE if one equals it; returns how many
    ties there are.

    Which version searches is decided by the number of words, which is that of public cells.
    """
    kernels = _KERNELS.kernels_for(7e-6 + 25e-9 * len(words))
    if kernels is not None:
        return int(kernels.search(words, firsts, guide, found))
    found[:] = np.searchsorted(firsts, words)
    ties = np.append(firsts, 0)[found] == words
    ties &= found < len(firsts)
    found[ties] = TIE
    return int(np.count_nonzero(ties))


def _load_kernels() -> Any:
    from understudy.privacy import noise_kernels

    return noise_kernels


_KERNELS = PlainFirst(_load_kernels, Path(__file__).with_name("noise_kernels.py"), compiling=0.6)


def settle(number: int, cumulative: Cumulative, source: WordSource) -> int:
    """How many of the probabilities are no larger than a uniform number that begins with the word
    `number`.

    Bits are added until every probability lies on a known side: U lies between number and number +
    1, in 2^-bits.
    """
    bits = WORD
    while True:
        number, bits = lengthen(number, bits, source)
        bounds = cumulative(bits)
        if all(high <= number or low > number for low, high in bounds):
            return sum(high <= number for _, high in bounds)


def lengthen(number: int, bits: int, source: WordSource) -> tuple[int, int]:
    """A uniform number with two more words at its end, and how many bits it has then."""
    for word in source(2):
        number = number << WORD | int(word)
    return number, bits + 2 * WORD


def first_words(probabilities: Cumulative) -> list[int]:
    """The first word of each probability: that of its lower bound, where all that lie below the
    upper one have it too.

    A probability that is not known exactly is less than its upper bound: it is either irrational,
    or no whole number of 2^-bits.
    """
    bits = WORD
    while True:
        bits += 64
        bounds = [
            (low >> (bits - WORD), max(low, high - 1) >> (bits - WORD))
            for low, high in probabilities(bits)
        ]
        if all(low == high for low, high in bounds):
            return [low for low, _ in bounds]


# --------------------------------------------------------------------------- bounds


def _exp_powers(rate: Fraction, count: int, bits: int) -> list[Bounds]:
    """Bounds of exp(-rate), exp(-2 rate) ... exp(-count rate)."""
    precise = bits + GUARD
    low, high = exp_minus(rate, precise)
    powers = [(low, high)]
    for _ in range(count - 1):
        last = powers[-1]
        powers.append((last[0] * low >> precise, -(-last[1] * high >> precise)))
    return [(low >> GUARD, -(-high >> GUARD)) for low, high in powers]
