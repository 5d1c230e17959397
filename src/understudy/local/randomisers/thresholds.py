"""Probabilities as whole numbers of words out of 2^64.

A randomiser gives a report that fits the true value ``high`` of the words and any other one
``low``. If the promise is kept depends on these whole numbers alone, so they are chosen such that
high / low <= e^epsilon holds exactly: what is rounded is rounded against the truth.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from understudy.errors import InputError
from understudy.local.randomisers.words import WHOLE
from understudy.privacy.budget import check_epsilon, exact
from understudy.privacy.exact_numbers import exp_minus

MIN_LOCAL_EPSILON = 1e-6
MAX_LOCAL_EPSILON = 30.0

PRECISION = 192
"""Bits to which e^epsilon is known."""


@lru_cache(maxsize=1 << 10)
def exp_below(exponent: Fraction) -> Fraction:
    """A number that is at most e^exponent, and less by a share of 2^-100 at most.

    Examples
    --------
    >>> float(exp_below(Fraction(1)))
    2.718281828459045
    """
    _, high = exp_minus(exponent, PRECISION)
    return Fraction(1 << PRECISION, high)


def exp_of(epsilon: float) -> Fraction:
    """A number that is at most e^epsilon, epsilon being the decimal number that is written."""
    return exp_below(exact(epsilon))


def share_words(matching: int, others: int, ratio: Fraction) -> tuple[int, int]:
    """How many words each of ``matching`` reports gets, and each of ``others``, at most ``ratio``
    times fewer.

    With low = ceil(2^64 / (matching ratio + others)), rounded up, the rest of the words is matching
    high <= 2^64 - others low <= 2^64 ratio matching / (matching ratio + others) <= matching ratio
    low, so high <= ratio low. Where ``matching`` does not divide the rest, fewer words than it are
    left over; a sampler throws them away and reads on.
    """
    low = -(-WHOLE // (matching * ratio + others))
    high = (WHOLE - others * low) // matching
    if low < 1 or high <= low:
        raise InputError("epsilon is too small for this many values; ask for fewer, or raise it.")
    return high, low


def check_local_epsilon(epsilon: Any) -> float:
    """Return epsilon if reports can be randomised at it."""
    epsilon = check_epsilon(epsilon)
    if not MIN_LOCAL_EPSILON <= epsilon <= MAX_LOCAL_EPSILON:
        raise InputError(
            f"A report is randomised at an epsilon from {MIN_LOCAL_EPSILON:g} to "
            f"{MAX_LOCAL_EPSILON:g}, not {epsilon:g}."
        )
    return epsilon


def check_whole(number: Any, name: str, lowest: int, highest: int) -> int:
    """Return a whole number if it lies in a range."""
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not whole or not lowest <= number <= highest:
        raise InputError(
            f"{name} must be a whole number from {lowest:,} to {highest:,}, not {number!r}."
        )
    return int(number)
