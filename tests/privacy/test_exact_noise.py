"""Exact noise has its distribution, to the last bit: by test at large, by enumeration and forced
ties at small.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from understudy.privacy import exact_noise, exact_numbers
from understudy.privacy.exact_noise import (
    BASE,
    CELLS_PER_BLOCK,
    WORD,
    gaussian,
    geometric,
    laplace,
    polya,
)
from understudy.privacy.mechanisms import opendp_gaussian, opendp_laplace

FALSE_ALARM = 1e-9
DRAWS = 200_000


class Words:
    """A source of given words; after the last, it has none."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def __call__(self, size: int) -> Any:
        taken, self.left = self.left[:size], self.left[size:]
        assert len(taken) == size, "more words were drawn than expected"
        return np.array(taken, dtype=np.uint32)


def misfit(observed: Any, chances: Any) -> bool:
    """Whether counts are not from the given chances. Cells of low chance are joined with their
    neighbours.
    """
    expected = np.asarray(chances, dtype=float) * np.sum(observed) / np.sum(chances)
    enough = max((expected.sum() - expected.max()) / 60, 30.0)
    joined: list[list[float]] = [[0.0, 0.0]]
    for o, e in zip(observed, expected, strict=True):
        if joined[-1][1] >= enough:
            joined.append([0.0, 0.0])
        joined[-1][0] += o
        joined[-1][1] += e
    if joined[-1][1] < 30:
        last = joined.pop()
        joined[-1] = [joined[-1][0] + last[0], joined[-1][1] + last[1]]
    return sum((o - e) ** 2 / e for o, e in joined) > stats.chi2.isf(FALSE_ALARM, len(joined) - 1)


def dependent(first: Any, second: Any) -> bool:
    """Whether two rows of draws depend on each other, cut into five classes each."""
    cut = [
        np.searchsorted(np.quantile(values, (0.2, 0.4, 0.6, 0.8)), values)
        for values in (first, second)
    ]
    table = np.bincount(cut[0] * 5 + cut[1], minlength=25).reshape(5, 5)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return bool(stats.chi2_contingency(table).pvalue < FALSE_ALARM)


def upper_tails(kind: str, scale: float, edges: Any) -> Any:
    """P(k >= edge), or for Gaussians of a large scale that of the continuous one."""
    if kind == "geometric":
        return np.exp(-np.maximum(edges, 0) / scale)
    if kind == "laplace":
        above = np.exp(-np.abs(edges) / scale) / (1 + math.exp(-1 / scale))
        below = 1 - np.exp(-np.abs(edges - 1) / scale) / (1 + math.exp(-1 / scale))
        return np.where(edges > 0, above, below)
    if scale > 1e4:
        return stats.norm.sf((edges - 0.5) / scale)
    reach = math.ceil(40 * scale) + 2
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * scale**2))
    tails = np.cumsum(weights[::-1])[::-1] / weights.sum()
    return tails[edges.astype(int) + reach]


def wrong(kind: str, drawn: Any, scale: float) -> bool:
    reach = 12 if kind != "gaussian" else 5
    edges = np.unique(np.rint(np.linspace(-reach * scale, reach * scale, 241)))
    counts = np.histogram(drawn, [-math.inf, *edges, math.inf])[0]
    tails = np.array([1.0, *upper_tails(kind, scale, edges), 0.0])
    return misfit(counts, tails[:-1] - tails[1:])


DRAW = {"geometric": geometric, "laplace": laplace, "gaussian": gaussian}


# ----------------------------------------- the distributions, at large


@pytest.mark.parametrize("kind", DRAW)
@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 40.0, 63.9, 64.1, 700.0, 3e4, 5e6, 1e12])
def test_draws_have_their_distribution_and_a_scale_that_is_5_percent_off_would_show(
    kind: str, scale: float
) -> None:
    drawn = DRAW[kind](DRAWS, scale)
    assert drawn.dtype == np.int64
    assert not wrong(kind, drawn, scale)
    assert wrong(kind, drawn, scale * 1.05)
    assert wrong(kind, drawn, scale / 1.05)


@pytest.mark.parametrize("scale", [0.7, 20.0, 300.0])
@pytest.mark.parametrize(
    ("kind", "reference"), [("laplace", opendp_laplace), ("gaussian", opendp_gaussian)]
)
def test_opendp_draws_from_the_same_distribution(kind: str, reference: Any, scale: float) -> None:
    ours = DRAW[kind](20_000, scale)
    theirs = np.array(reference(scale)([0] * 20_000))
    edges = np.unique(np.quantile(np.concatenate([ours, theirs]), np.linspace(0, 1, 30)))
    table = np.array([np.histogram(drawn, [*edges[:-1], math.inf])[0] for drawn in (ours, theirs)])
    assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", [3.0, 90.0, 1e5, 1e12])
def test_binary_digits_are_independent_coins_of_the_known_probability(scale: float) -> None:
    drawn = geometric(DRAWS, scale)
    bits = [(drawn >> i) & 1 for i in range(math.ceil(math.log2(scale)) + 3)]
    for i, bit in enumerate(bits):
        chance = 1 / (1 + math.exp(2**i / scale))
        assert not misfit(np.bincount(bit, minlength=2), [1 - chance, chance])
    for one, other in itertools.combinations(bits, 2):
        table = np.bincount(2 * one + other, minlength=4).reshape(2, 2)
        if stats.contingency.expected_freq(table).min() > 20:
            assert stats.chi2_contingency(table).pvalue > FALSE_ALARM / 1000


@pytest.mark.parametrize("kind", DRAW)
@pytest.mark.parametrize("scale", [5.0, 2000.0])
def test_cells_and_calls_are_independent(kind: str, scale: float) -> None:
    drawn = DRAW[kind](4 * CELLS_PER_BLOCK, scale)
    for distance in (1, 2, CELLS_PER_BLOCK - 1, CELLS_PER_BLOCK, CELLS_PER_BLOCK + 1):
        assert not dependent(drawn[distance:], drawn[:-distance])
    again = DRAW[kind](4 * CELLS_PER_BLOCK, scale)
    assert not dependent(drawn, again)
    assert dependent(drawn, drawn + again // 4)


def test_each_random_byte_is_used_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    system = exact_noise.os.urandom
    monkeypatch.setattr(exact_noise.os, "urandom", lambda size: asked.append(size) or system(size))
    drawn = geometric(3 * CELLS_PER_BLOCK, 1.0)
    assert drawn.max() < BASE - 1
    # Ties, which are rare, ask for two words each.
    assert sum(size for size in asked if size != 2 * WORD // 8) == 3 * CELLS_PER_BLOCK * WORD // 8


# --------------------------------------------------------------------------- extremes


@pytest.mark.parametrize("kind", DRAW)
@pytest.mark.parametrize("scale", [1e-3, 1e-30, 5e-324])
def test_a_tiny_scale_gives_no_noise(kind: str, scale: float) -> None:
    assert not DRAW[kind](1000, scale).any()


def test_the_smallest_words_are_still_drawn_exactly_at_a_tiny_scale() -> None:
    # P(k > 0) = exp(-1000) is about 2^-1442.7. With 1440 bits of ones, U lies on either side of 1
    # less that.
    ones = [(1 << WORD) - 1] * 45
    assert geometric(1, 1e-3, _words=Words(*ones, 0, 0)).tolist() == [0]
    assert geometric(1, 1e-3, _words=Words(*ones, ones[0], 0)).tolist() == [1]


@pytest.mark.parametrize("draw", [geometric, laplace, gaussian])
@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_a_scale_must_be_a_positive_number(draw: Any, scale: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        draw(1, scale)


def test_what_would_not_fit_is_refused() -> None:
    assert np.abs(laplace(1000, 2.0**52)).max() < 1 << 62
    assert np.abs(gaussian(1000, 2.0**50)).max() < 1 << 62
    for job in (
        lambda: laplace(1, 2.0**52 * 1.01),
        lambda: gaussian(1, 2.0**50 * 1.01),
        lambda: polya(1, 2.0**24 * 1.01, Fraction(1, 2)),
        lambda: geometric(
            1, 2.0**52, _words=lambda size: np.full(size, 2**32 - 2, dtype=np.uint32)
        ),
    ):
        with pytest.raises(OverflowError):
            job()


@pytest.mark.parametrize("draw", [geometric, laplace, gaussian])
def test_no_cells_need_no_randomness(draw: Any) -> None:
    assert draw(0, 3.0, _words=Words()).shape == (0,)


def test_fractions_and_floats_of_one_value_are_one_scale() -> None:
    words = np.arange(0, 1 << 32, 1 << 22, dtype=np.uint32).tolist()
    by_float = geometric(len(words), 0.1, _words=Words(*words))
    assert by_float.tolist() == geometric(len(words), Fraction(0.1), _words=Words(*words)).tolist()
    assert Fraction(0.1) != Fraction(1, 10)


# --------------------------------------------------------------------------- bounds and ties


def exact_exp_minus(x: Fraction, digits: int) -> Fraction:
    """exp(-x) to this many digits, by another road: the decimal module rounds it correctly."""
    with localcontext() as context:
        context.prec = digits
        context.Emin = -(10**6)
        return Fraction((-(Decimal(x.numerator) / Decimal(x.denominator))).exp())


def test_bounds_of_a_quotient_hold_for_all_that_lies_between_the_bounds() -> None:
    low, high = exact_numbers.quotient((1, 2), (3, 4), 10)
    assert (low, high) == (1024 // 4, math.ceil(Fraction(2 * 1024, 3)))


@settings(max_examples=200, deadline=None)
@given(x=st.fractions(0, 300), bits=st.integers(8, 400))
def test_bounds_of_the_exponential_hold_and_are_tight(x: Fraction, bits: int) -> None:
    low, high = exact_numbers.exp_minus(x, bits)
    truth, error = exact_exp_minus(x, 200) * 2**bits, Fraction(2**bits, 10**190)
    assert low <= truth + error
    assert high >= truth - error
    assert high - low <= 2


@settings(max_examples=60, deadline=None)
@given(scale=st.fractions(Fraction(1, 50), 60))
def test_cumulative_probabilities_are_bounded_tightly(scale: Fraction) -> None:
    for cumulative, whole in ((exact_noise._open_digit, 1), (exact_noise._bound_digit, None)):
        bounds = cumulative(1 / scale)(96)
        for d in (1, 2, 17, BASE - 1):
            below = 1 - exact_exp_minus(d / scale, 100)
            truth = below / (whole or 1 - exact_exp_minus(BASE / scale, 100))
            low, high = bounds[d - 1]
            assert low - 1 <= truth * 2**96 <= high + 1
            assert high - low <= 2


@pytest.mark.parametrize("scale", [1.3, 50.0, 1e4])
def test_every_65536th_word_gives_the_digit_that_it_must(scale: float) -> None:
    words = np.arange(0, 1 << WORD, 1 << 16, dtype=np.uint32)
    for law in exact_noise._digit_laws(Fraction(scale)):
        drawn = law.draw(len(words), Words(*words.tolist(), *[0] * 10))
        for d, (low, high) in enumerate(law._cumulative(WORD + 96), start=1):
            # This many of these words lie below the probability of a digit below d: exactly so many
            # gave one.
            assert low >> (96 + 16) == max(low, high - 1) >> (96 + 16)
            assert np.count_nonzero(drawn < d) == (low >> (96 + 16)) + 1


def first_words(low: int, high: int, bits: int, words: int) -> list[int]:
    assert low >> (bits - words * WORD) == high >> (bits - words * WORD)
    return [(low >> (bits - (i + 1) * WORD)) & ((1 << WORD) - 1) for i in range(words)]


@pytest.mark.parametrize("ties", [1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("digit", [1, 2, 30, 200])
@pytest.mark.parametrize("scale", [40.0, 1000.0])
def test_a_tie_is_settled_by_more_bits_of_both(scale: float, digit: int, ties: int) -> None:
    """U agrees with a cumulative probability in 32, 64, 96 ... bits, and differs by one in the next
    word.
    """
    law = exact_noise._digit_laws(Fraction(scale))[0]
    low, high = law._cumulative(12 * WORD)[digit - 1]
    words = first_words(low, high, 12 * WORD, ties + 1)
    assert 0 < words[-1] < (1 << WORD) - 1
    # Words come one, then two by two.
    rest = [0] * ((ties + 1) % 2 == 0)
    for step, expected in ((-1, digit - 1), (1, digit)):
        source = Words(*words[:-1], words[-1] + step, *rest)
        assert law.draw(1, source).tolist() == [expected]
        assert not source.left


@pytest.mark.parametrize("ties", [1, 2, 3, 4])
def test_a_tied_coin_is_settled_by_more_bits_of_both(ties: int) -> None:
    rate = Fraction(1, 90)
    low, high = exact_noise._exp_powers(rate, BASE - 1, 8 * WORD)[41]
    words = first_words(low, high, 8 * WORD, ties + 1)
    rest = [0] * ((ties + 1) % 2 == 0)
    for step, expected in ((-1, True), (1, False)):
        source = Words(*words[:-1], words[-1] + step, *rest)
        assert exact_noise._coins(rate).toss(np.array([0, 42, 0]), source).tolist() == [
            True,
            expected,
            True,
        ]
        assert not source.left


def test_words_that_tie_do_occur_and_leave_the_distribution_right() -> None:
    """With words of only a few values, all but the random extension is forced, and it decides
    rightly.
    """
    law = exact_noise._digit_laws(Fraction(2))[0]
    low, _ = law._cumulative(96)[0]
    tie, chance = low >> 64, (low & ((1 << 64) - 1)) / 2**64
    rng = np.random.default_rng(1)
    calls = iter(range(10**6))

    def source(size: int) -> Any:
        if next(calls) == 0:
            return np.full(size, tie, dtype=np.uint32)
        return rng.integers(0, 1 << 32, size, dtype=np.uint32)

    drawn = law.draw(1000, source)
    assert set(drawn.tolist()) == {0, 1}
    assert not misfit(np.bincount(drawn, minlength=2), [chance, 1 - chance])


def test_a_top_digit_that_is_full_goes_on_from_there() -> None:
    full = (1 << WORD) - 2
    assert geometric(2, 40.0, _words=Words(full, 0, full, 0)).tolist() == [2 * (BASE - 1), 0]


@pytest.mark.parametrize(
    "distance", [0, 1, 3, 255, 256, 70_000, (1 << 31) + 12_345, (1 << 40) + (1 << 33) + 7]
)
def test_the_coins_of_a_square_multiply_to_its_exponential(distance: int) -> None:
    rate = Fraction(7, 10) / max(distance, 1) ** 2
    left = exact_noise._accept_squares(np.full(20_000, distance), rate, exact_noise.system_words)
    chance = math.exp(-distance * distance * float(rate))
    assert abs(len(left) - 20_000 * chance) <= 6.2 * math.sqrt(20_000 * chance * (1 - chance))


# --------------------------------------------------------------------------- shares


def share_chances(scale: float, share: Fraction, upto: int) -> Any:
    return stats.nbinom.pmf(np.arange(upto), float(share), -math.expm1(-1 / scale))


@pytest.mark.parametrize("share", [Fraction(1, 50), Fraction(1, 3), Fraction(9, 10), Fraction(1)])
@pytest.mark.parametrize("scale", [0.4, 1.0, 6.0, 100.0, 5000.0])
def test_a_share_is_negative_binomial_and_another_share_or_scale_would_show(
    share: Fraction, scale: float
) -> None:
    upto = math.ceil(20 * scale) + 10
    counts = np.bincount(np.minimum(polya(DRAWS, scale, share), upto - 1), minlength=upto)
    assert not misfit(counts, share_chances(scale, share, upto))
    more = Fraction(3, 2) if share > Fraction(1, 10) else 2  # of a small share few draws tell
    assert misfit(counts, share_chances(scale, share * more, upto))
    assert misfit(counts, share_chances(scale * 1.5, share, upto))


@pytest.mark.parametrize("holders", [2, 5, 20])
@pytest.mark.parametrize("scale", [2.0, 3000.0, 1e6])
def test_shares_add_up_to_a_geometric_variable(holders: int, scale: float) -> None:
    whole = sum(polya(50_000, scale, Fraction(1, holders)) for _ in range(holders))
    assert not wrong("geometric", whole, scale)
    assert wrong("geometric", whole, scale * 1.1)


@pytest.mark.parametrize("share", [Fraction(0), Fraction(-1, 2), Fraction(3, 2)])
def test_a_share_lies_above_0_and_is_at_most_1(share: Fraction) -> None:
    with pytest.raises(ValueError, match="share"):
        polya(1, 1.0, share)


def test_the_bounds_of_the_falling_factors_hold() -> None:
    share = Fraction(2, 7)
    exact = [
        math.prod(Fraction(i - 1) / i + share / i for i in range(1, b + 1))
        for b in (1, 2, 4, 8, 16, 32)
    ]
    for truth, (low, high) in zip(exact, exact_noise._falls(share, 5, 80), strict=True):
        assert low <= truth * 2**80 <= high
        assert high - low <= 64


@pytest.mark.parametrize("start", [1, 2, 100, (1 << 30) - 1, 1 << 30, 1 << 40])
def test_the_next_event_is_the_first_that_the_uniform_number_allows(start: int) -> None:
    words = np.linspace(1 << 16, (1 << WORD) - 1, 400).astype(np.uint32).tolist()
    for word in words:
        # All further words are half full, which settles every one.
        uniform = Fraction(word, 1 << WORD) + Fraction(1 << 31, 1 << 64)
        drawn = exact_noise._next_event(np.array([start]), Words(word, 1 << 31, 0, *[0] * 20))
        x = int(drawn[0])
        assert uniform >= Fraction(start, x)
        assert uniform < Fraction(start, x - 1)


@pytest.mark.parametrize("start", [1, 100, 1 << 40])
def test_a_uniform_number_that_begins_with_zeros_is_drawn_on(start: int) -> None:
    """One word in four thousand million is 0, and a number may begin with several."""
    for words, uniform in [
        ((0, 1 << 31, 0), Fraction(1 << 31, 1 << 64)),
        ((0, 0, 0, 1 << 31), Fraction(1 << 31, 1 << 128)),
    ]:
        [x] = exact_noise._next_event(np.array([start]), Words(*words, *[0] * 20)).tolist()
        assert x == min(-(-Fraction(start) // uniform), exact_noise.LARGEST)


@pytest.mark.parametrize(
    ("start", "value"), [(1, 2), (1, 9), (16, 31), (1000, 1900), (4096, 30_000)]
)
def test_values_survive_as_often_as_they_should(start: int, value: int) -> None:
    share = Fraction(2, 5)
    chance = math.prod(1 - 0.6 / i for i in range(start + 1, value + 1))
    tries = 40_000
    survives = exact_noise._survives(
        np.full(tries, start), np.full(tries, value), share, exact_noise.system_words
    )
    assert abs(np.count_nonzero(survives) - tries * chance) < 6.2 * math.sqrt(
        tries * chance * (1 - chance)
    )
