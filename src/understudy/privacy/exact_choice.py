"""Exact choices by scores, many candidates at a time, from the operating system's random bytes.

Both mechanisms are made of coins that succeed with probability exp(-gap / scale), where gap is how
far a score lies below the largest:

- **exponential**: propose a candidate uniformly and toss its coin, until one succeeds. A candidate
  is then chosen with probability proportional to exp(score / scale), by rejection.
- **permute_and_flip** (McKenna and Sheldon 2020): toss candidates' coins in random order until one
  succeeds. The order does not depend on the coins, so the first success in it is any success with
  the same probability: toss all coins, and take one of those that succeeded uniformly.

A coin compares a uniform number U with p = exp(-gap / scale), as in
:mod:`understudy.privacy.exact_noise`: a word of 32 bits decides unless it lies so close to p that
it cannot. Here p is first computed in floating point, with a relative error of less than
:data:`ROUNDING_MARGIN`; whatever lies within that of p is settled by more bits of U and by whole
numbers that are proved to lie on either side of p. So no probability is rounded: scores and scale
mean exactly the rational numbers that they are.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.exact_noise import WORD, WordSource, settle, system_words
from understudy.privacy.exact_numbers import Bounds, exp_minus

ChoiceRule = Literal["exponential", "permute_and_flip"]

ROUNDING_MARGIN = 2.0**-30
"""More than the relative error of a probability in floating point.

The difference of two scores and its quotient by the scale have relative errors of 2^-53 each, so
that the exponent, below 746 where the result is not 0, is off by less than 2^-42, and so is the
result but for the few units in the last place that the exponential function may add.
"""

FIRST_BLOCK, MAX_BLOCK = 1 << 8, 1 << 15
"""Proposals at a time: twice as many each time."""


def choose_exactly(
    scores: NDArray[np.float64],
    scale: float,
    rule: ChoiceRule,
    *,
    _words: WordSource = system_words,
) -> int:
    """The place of one candidate.

    Parameters
    ----------
    scores
        Finite numbers.
    scale
        By how much a score must grow for exp(score / scale) to grow by a factor of e.
    rule
        "exponential" or "permute_and_flip".
    """
    coins = _CandidateCoins(scores, scale)
    if rule == "permute_and_flip":
        heads = np.flatnonzero(coins.toss(np.arange(len(scores)), _words))
        return int(heads[_draw_below(len(heads), 1, _words)[0]])
    block = FIRST_BLOCK
    while True:
        proposed = _draw_below(len(scores), block, _words)
        heads = np.flatnonzero(coins.toss(proposed, _words))
        if len(heads):
            return int(proposed[heads[0]])
        block = min(2 * block, MAX_BLOCK)


class _CandidateCoins:
    """A coin per candidate."""

    def __init__(self, scores: NDArray[np.float64], scale: float) -> None:
        self._scores = scores
        self._scale = Fraction(scale)
        self._top = scores.max()
        with np.errstate(over="ignore", under="ignore"):
            exponents = (scores - self._top) / scale
            # A gap may lie beyond all floating-point numbers; half of it does not.
            beyond = np.isinf(exponents)
            exponents[beyond] = (scores[beyond] / 2 - self._top / 2) / scale * 2
            self._firsts = np.exp(exponents) * 2.0**WORD

    def toss(self, candidates: NDArray[np.intp], source: WordSource) -> NDArray[np.bool_]:
        """Toss the coins of these candidates, and tell which succeed."""
        firsts = self._firsts[candidates]
        words = source(len(candidates)).astype(np.float64)
        success = words + 1 <= firsts * (1 - ROUNDING_MARGIN)
        failure = words >= firsts * (1 + ROUNDING_MARGIN) + ROUNDING_MARGIN
        for place in np.flatnonzero(~success & ~failure):
            success[place] = self._toss_one(int(candidates[place]), int(words[place]), source)
        return success

    def _toss_one(self, candidate: int, word: int, source: WordSource) -> bool:
        """Toss a coin, of whose uniform number the first word is known."""
        gap = Fraction(float(self._top)) - Fraction(float(self._scores[candidate]))
        if gap == 0:
            return True

        def probability(bits: int) -> list[Bounds]:
            return [exp_minus(gap / self._scale, bits)]

        return settle(word, probability, source) == 0


def _draw_below(bound: int, size: int, source: WordSource) -> NDArray[np.intp]:
    """Whole numbers from 0 to ``bound - 1``, uniform and independent: those of the right length
    that are in range, which at least half are.
    """
    mask = np.uint32((1 << (bound - 1).bit_length()) - 1)
    found = np.empty(0, dtype=np.intp)
    while len(found) < size:
        numbers = source(2 * (size - len(found)) + 8) & mask
        found = np.append(found, numbers[numbers < bound].astype(np.intp))
    return found[:size]
