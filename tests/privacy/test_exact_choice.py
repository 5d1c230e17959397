"""Choices are exact: no coin is rounded, whatever words the operating system gives."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.privacy.exact_choice import (
    ROUNDING_MARGIN,
    ChoiceRule,
    _CandidateCoins,
    _draw_below,
    choose_exactly,
)
from understudy.privacy.exact_noise import WORD, exp_minus


class Words:
    """Given words first, then others."""

    def __init__(self, given: Iterable[int], seed: int = 0) -> None:
        self._given = list(given)
        self._rng = np.random.default_rng(seed)
        self.drawn: list[int] = []

    def __call__(self, size: int) -> Any:
        fresh = self._rng.integers(0, 1 << WORD, size=size, dtype=np.uint32).tolist()
        taken = (self._given + fresh)[:size]
        self._given = self._given[size:]
        self.drawn += taken
        return np.array(taken, dtype=np.uint32)


scores = st.one_of(
    st.integers(-(2**40), 0).map(float), st.floats(-1e4, 0), st.sampled_from([0.0, -1e300, -5e-324])
)


@given(score=scores, scale=st.floats(1e-3, 1e7), near=st.integers(-3, 3), seed=st.integers(0, 99))
def test_a_coin_succeeds_if_and_only_if_its_bits_lie_below_the_exact_probability(
    score: float, scale: float, near: int, seed: int
) -> None:
    """Also where the first word is that of the probability, or next to it."""
    first = math.floor(math.exp(score / scale) * 2.0**WORD) + near
    words = Words([min(max(first, 0), 2**WORD - 1)], seed)
    success = _CandidateCoins(np.array([0.0, score]), scale).toss(np.array([1]), words)[0]
    if score == 0:
        assert success
        return
    number, bits = 0, WORD * len(words.drawn)
    for word in words.drawn:
        number = number << WORD | word
    # What follows the bits that were drawn cannot change the answer.
    low, high = exp_minus(-Fraction(score) / Fraction(scale), bits + 64)
    if success:
        assert (number + 1) << 64 <= high
    else:
        assert number << 64 >= low


def test_floating_point_stays_within_the_margin_that_is_taken_as_undecided() -> None:
    scores = -np.random.default_rng(1).uniform(0, 700, 200) * 3.7e5
    firsts = _CandidateCoins(np.append(scores, 0.0), 3.7e5)._firsts[:-1]
    for score, first in zip(scores.tolist(), firsts.tolist(), strict=True):
        low, high = exp_minus(-Fraction(score) / Fraction(3.7e5), 1200)
        assert Fraction(first) * Fraction(1 - ROUNDING_MARGIN / 64) <= Fraction(
            high, 1 << 1200 - WORD
        )
        assert Fraction(first) * Fraction(1 + ROUNDING_MARGIN / 64) >= Fraction(
            low, 1 << 1200 - WORD
        )


def test_a_word_that_does_not_decide_is_followed_by_more() -> None:
    probability = Fraction(exp_minus(Fraction(1), 64)[0], 1 << 64)
    tie = math.floor(probability * 2**WORD)
    coins = _CandidateCoins(np.array([0.0, -1.0]), 1.0)
    tail = math.floor(probability * 2 ** (3 * WORD)) % 2 ** (2 * WORD)
    for more, success in ((-(2**60), True), (2**60, False)):
        high, low = divmod(tail + more, 2**WORD)
        words = Words([tie, high, low])
        assert coins.toss(np.array([1]), words)[0] == success
        assert len(words.drawn) == 3


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 8, 1000, 2**31 + 1])
def test_numbers_below_a_bound_are_those_words_that_are_in_range(bound: int) -> None:
    words = Words([])
    found = _draw_below(bound, 50, words).tolist()
    mask = (1 << (bound - 1).bit_length()) - 1
    assert found == [word & mask for word in words.drawn if word & mask < bound][:50]


@pytest.mark.parametrize("rule", ["exponential", "permute_and_flip"])
def test_of_candidates_that_are_as_good_each_is_chosen_as_often(rule: ChoiceRule) -> None:
    chosen = Counter(choose_exactly(np.full(3, 7.0), 2.0, rule) for _ in range(3000))
    assert sorted(chosen) == [0, 1, 2]
    # Six deviations: a false alarm in a billion runs.
    assert max(abs(count - 1000) for count in chosen.values()) < 6 * math.sqrt(3000 * 2 / 9)


@pytest.mark.parametrize("rule", ["exponential", "permute_and_flip"])
@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ((1.7e308, -1.7e308, 0.0), 1e308),  # a gap beyond all floating-point numbers
        ((5e-324, 0.0, 1.5e-323), 1e-323),
        ((1e16, 1e16 + 2, 1e16 - 4), 3.0),
        ((0.0, -0.0, -1.0, -1.0, -3.0), 1.0),
        ((4.0,), 5e-324),
    ],
)
def test_extreme_scores_are_chosen_as_often_as_exact_probabilities_say(
    scores: tuple[float, ...], scale: float, rule: ChoiceRule
) -> None:
    runs = 4000
    coins = [
        math.exp(-(Fraction(max(scores)) - Fraction(score)) / Fraction(scale)) for score in scores
    ]
    wanted = np.zeros(len(scores))
    if rule == "exponential":
        wanted += np.array(coins) / sum(coins)
    else:
        for heads in itertools.product((False, True), repeat=len(coins)):
            chances = (coin if head else 1 - coin for coin, head in zip(coins, heads, strict=True))
            wanted += math.prod(chances) * np.array(heads) / max(sum(heads), 1)
    given = np.array(scores)
    chosen = np.bincount(
        [choose_exactly(given, scale, rule) for _ in range(runs)], minlength=len(scores)
    )
    # Seven deviations: a false alarm in less than one of 10^9 runs.
    assert (np.abs(chosen - runs * wanted) <= 7 * np.sqrt(runs * wanted * (1 - wanted))).all()
    assert given.tolist() == list(scores)


@pytest.mark.parametrize("rule", ["exponential", "permute_and_flip"])
def test_one_good_candidate_among_many_is_found(rule: ChoiceRule) -> None:
    many = np.full(30_000, -1e9)
    many[12_345] = 0.0
    assert choose_exactly(many, 1e6, rule) == 12_345


def test_permute_and_flip_is_any_of_the_coins_that_succeed() -> None:
    """The first success in a random order is any success with the same probability: exhaustively,
    for each set of successes among four.
    """
    for heads in itertools.product((False, True), repeat=4):
        firsts = Counter(
            next(place for place in order if heads[place])
            for order in itertools.permutations(range(4))
            if any(heads)
        )
        assert len(set(firsts.values())) <= 1
