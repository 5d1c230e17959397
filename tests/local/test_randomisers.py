"""Local randomisers of values: exact probabilities, estimates without bias, and what is drawn."""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.local.randomisers import (
    BinaryResponse,
    CategoricalRandomiser,
    DirectEncoding,
    FiniteRandomiser,
    HadamardResponse,
    OptimalHashing,
    OptimalUnary,
    Randomiser,
    SubsetSelection,
    SummedHistogram,
    SymmetricUnary,
    ThresholdHistogram,
    Words,
    best_randomiser,
    hashing,
    unary,
)
from understudy.local.randomisers.hadamard import hadamard_shape, walsh_hadamard
from understudy.local.randomisers.thresholds import exp_of, share_words
from understudy.local.randomisers.unary import best_theta
from understudy.local.randomisers.words import MANY_BYTES, WHOLE, system_bytes
from understudy.machine import plain_first

LISTED: tuple[Any, ...] = (
    DirectEncoding,
    SymmetricUnary,
    OptimalUnary,
    ThresholdHistogram,
    SubsetSelection,
    HadamardResponse,
)
ALL = (*LISTED, OptimalHashing, SummedHistogram)
SETTINGS = [(2, 1.0), (3, 0.1), (5, 1.0), (6, 3.0), (7, 8.0)]

PERSONS = 20_000
FAR = 6.5
"""Standard errors: a normal variable is farther off once in 10^10 times."""


def words_of(*numbers: int) -> Words:
    return Words.of_bytes(b"".join(number.to_bytes(8, "little") for number in numbers))


# --------------------------------------------------------------------------- the promise


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, math.log(3), 5.0, 12.0, 30.0])
@pytest.mark.parametrize("kind", ALL)
def test_the_exact_loss_is_at_most_epsilon_and_nearly_that(kind: Any, epsilon: float) -> None:
    for size in (2, 3, 14, 1000):
        randomiser = kind(size=size, epsilon=epsilon)
        if isinstance(randomiser, FiniteRandomiser):
            # A lower bound of e^epsilon to 2^-100: no floating point takes part.
            assert randomiser.ratio <= exp_of(epsilon) * (1 + Fraction(1, 2**100))
        assert randomiser.loss <= epsilon * (1 + 1e-12)
        if kind is not ThresholdHistogram:
            assert randomiser.loss >= epsilon * (1 - 1e-3)


@pytest.mark.parametrize(("size", "epsilon"), SETTINGS)
@pytest.mark.parametrize("kind", LISTED)
def test_probabilities_add_up_and_keep_the_stated_ratio(
    kind: Any, size: int, epsilon: float
) -> None:
    randomiser = kind(size=size, epsilon=epsilon)
    reports = list(randomiser.possible_reports())
    assert randomiser.is_possible(np.array(reports)).all()
    for code in range(size):
        assert sum(randomiser.probability(report, code) for report in reports) == 1
    ratios = [
        max(chances) / min(chances)
        for report in reports
        for chances in [[randomiser.probability(report, code) for code in range(size)]]
    ]
    assert max(ratios) == randomiser.ratio


@pytest.mark.parametrize(("size", "epsilon"), SETTINGS)
@pytest.mark.parametrize("kind", LISTED)
def test_estimates_have_no_bias_and_the_stated_variance_exactly(
    kind: Any, size: int, epsilon: float
) -> None:
    """Over all reports, weighted by their probabilities: nothing is drawn."""
    randomiser = kind(size=size, epsilon=epsilon)
    reports = list(randomiser.possible_reports())
    estimates = np.array([randomiser.estimate(randomiser.tally([report]), 1) for report in reports])
    for code in range(size):
        truth = np.eye(size)[code]
        chances = np.array([float(randomiser.probability(report, code)) for report in reports])
        mean = chances @ estimates
        assert mean == pytest.approx(truth, abs=1e-9)
        spread = chances @ (estimates - mean) ** 2
        assert spread == pytest.approx(randomiser.variance(1, truth), rel=1e-9, abs=1e-9)


def test_hashes_of_two_values_are_independent_and_uniform() -> None:
    """Over all factors and summands of a smaller modulus, by the same argument: 8 bits, values
    below 2^4, places in the upper 5 bits.
    """
    factors, summands = np.meshgrid(np.arange(256), np.arange(256))
    for one, other in [(0, 1), (0, 8), (3, 11), (5, 14), (7, 15)]:
        places = [((factors * v + summands) % 256 >> 3).ravel() for v in (one, other)]
        pairs = np.bincount(places[0] * 32 + places[1], minlength=32 * 32)
        assert (pairs == 256 * 256 // 32**2).all()


def test_hashing_estimates_have_no_bias_by_the_exact_collision_rate() -> None:
    randomiser = OptimalHashing(size=10, epsilon=1.0)
    edges = hashing.bucket_edges(randomiser.buckets)
    widths = [end - start for start, end in pairwise(edges)]
    assert sum(widths) == 1 << 17
    same = sum(Fraction(width, 1 << 17) ** 2 for width in widths)
    lie = Fraction(randomiser.thresholds()["other"], WHOLE)
    assert randomiser.q == same * randomiser.p + (1 - same) * lie
    assert float(randomiser.q) == pytest.approx(1 / randomiser.buckets, abs=1e-9)


# --------------------------------------------------------------------------- what is drawn


@pytest.mark.parametrize(("size", "epsilon"), [(2, 1.0), (14, 5.0), (1000, 0.1)])
def test_direct_encoding_gives_each_report_as_many_words_as_it_says(
    size: int, epsilon: float
) -> None:
    """Words are in runs, one for each report: their ends are tried."""
    randomiser = DirectEncoding(size=size, epsilon=epsilon)
    keep, other = randomiser.thresholds().values()
    assert keep + (size - 1) * other == WHOLE
    for code in {0, 1, size - 1}:
        seen = []
        for run in range(min(size, 20)):
            start = 0 if run == 0 else keep + (run - 1) * other
            length = keep if run == 0 else other
            words = words_of(start, start + length - 1)
            reports = randomiser.perturb([code, code], words)
            assert reports[0] == reports[1]
            assert randomiser.probability(reports[0], code) == Fraction(length, WHOLE)
            seen.append(int(reports[0, 0]))
        assert len(set(seen)) == len(seen)


@pytest.mark.parametrize(("size", "epsilon"), [(2, 1.0), (9, 0.1), (40, 3.0), (40, 6.0)])
def test_hadamard_response_gives_each_report_as_many_words_as_it_says(
    size: int, epsilon: float
) -> None:
    randomiser = HadamardResponse(size=size, epsilon=epsilon)
    blocks, length, high, low = randomiser.thresholds().values()
    half = length // 2
    assert half * high + (blocks * length - half) * low == WHOLE
    for code in {0, 1, size - 1}:
        seen = []
        for run in range(blocks * length):
            share = high if run < half else low
            start = run * high if run < half else half * high + (run - half) * low
            reports = randomiser.perturb([code, code], words_of(start, start + share - 1))
            assert reports[0] == reports[1]
            assert randomiser.probability(reports[0], code) == Fraction(share, WHOLE)
            seen.append(int(reports[0, 0]))
        assert sorted(seen) == list(range(blocks * length))


@given(
    st.integers(1, 130).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1))),
    st.integers(1, WHOLE - 1),
    st.integers(1, WHOLE - 1),
    st.integers(0, 2**64 - 1),
)
def test_a_bit_is_set_where_its_uniform_number_is_below_the_threshold(
    case: tuple[int, int], on_true: int, on_other: int, seed: int
) -> None:
    size, code = case
    rng = np.random.default_rng(seed)
    blocks = -(-size // 64)
    uniform = rng.integers(0, 2**64, (blocks, 64), dtype=np.uint64)
    uniform[0, :3] = [on_other, max(on_other - 1, 0), on_true]  # ties are not below
    expected = [
        int(uniform[value // 64, value % 64]) < (on_true if value == code else on_other)
        for value in range(size)
    ]
    line = []
    for block in range(blocks):
        # Digit by digit, the highest first: bit j of a word is the digit of number j.
        planes = [
            sum((int(number) >> digit & 1) << j for j, number in enumerate(uniform[block]))
            for digit in reversed(range(64))
        ]
        shown = min(size - 64 * block, 64)
        own = code - 64 * block
        if not 0 <= own < shown:
            own = -1
        one_block = unary._draw_line(own, shown, on_true, on_other, words_of(*planes))
        line += [bool(one_block[0] >> j & 1) for j in range(shown)]
    assert line == expected


@pytest.mark.parametrize("size", [2, 64, 65, 130])
@pytest.mark.parametrize("kind", [OptimalUnary, SubsetSelection, OptimalHashing])
def test_compiled_and_plain_code_agree(
    kind: Any, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    randomiser = kind(size=size, epsilon=1.0)
    codes = np.arange(300) % size
    found = []
    for worth in (1e9, 0.0):
        monkeypatch.setattr(plain_first, "WORTH_SECONDS", worth)
        words = Words.of_seed(7)
        reports = randomiser.perturb(codes, words)
        found.append((reports.tolist(), randomiser.tally(reports).tolist(), words.used))
    assert found[0] == found[1]


def test_a_child_process_does_not_repeat_the_bytes_of_its_parent() -> None:
    """Two reports from the same bytes would tell both persons' answers."""
    assert Words().private
    assert not Words.of_seed(0).private
    count = 2 * MANY_BYTES
    system_bytes(count)  # the generator has a state that a child inherits
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, system_bytes(count)[:64])
        os._exit(0)
    os.waitpid(child, 0)
    streams = {os.read(reader, 64), system_bytes(count)[:64], system_bytes(count)[:64]}
    assert {len(stream) for stream in streams} == {64}
    assert len(streams) == 3


@pytest.mark.parametrize("many", ["openssl", "system"])
def test_many_bytes_come_from_openssl_if_there_is_one_and_few_from_the_operating_system(
    monkeypatch: pytest.MonkeyPatch, many: str
) -> None:
    asked: list[tuple[str, int]] = []

    def give(source: str, count: int) -> bytes:
        asked.append((source, count))
        return bytes(count)

    monkeypatch.setattr("ssl.RAND_bytes", partial(give, "openssl"))
    monkeypatch.setattr("os.urandom", partial(give, "system"))
    if many == "system":  # Python was built without OpenSSL
        monkeypatch.setitem(sys.modules, "ssl", None)
    for count in (8, MANY_BYTES - 1, MANY_BYTES):
        assert len(system_bytes(count)) == count
    assert asked == [("system", 8), ("system", MANY_BYTES - 1), (many, MANY_BYTES)]


@pytest.mark.parametrize("kind", ALL)
def test_reports_depend_on_the_stream_alone_not_on_how_persons_are_grouped(kind: Any) -> None:
    randomiser = kind(size=70, epsilon=1.0)
    codes = np.arange(70)
    if kind is SummedHistogram:
        return  # its noise is drawn for all numbers of a call at once
    together = randomiser.perturb(codes, Words.of_seed(3))
    words = Words.of_seed(3)
    alone = [randomiser.perturb(codes[place : place + 1], words)[0] for place in range(70)]
    assert (np.array(alone) == together).all()


@pytest.mark.parametrize(("size", "epsilon"), [(3, 1.0), (40, 1.0), (40, 4.0)])
@pytest.mark.parametrize("kind", ALL)
def test_estimates_are_as_accurate_as_they_say(kind: Any, size: int, epsilon: float) -> None:
    """With the operating system's randomness: a count is more than 6.5 standard errors off less
    than once in 10^9 times (the rarest report is expected 200 times), and there are 660 of them.
    """
    randomiser = kind(size=size, epsilon=epsilon)
    codes = np.arange(PERSONS) ** 2 // 7 % size
    true = np.bincount(codes, minlength=size)
    estimate = randomiser.estimate(randomiser.tally(randomiser.perturb(codes)), PERSONS)
    off = (estimate - true) / np.sqrt(randomiser.variance(PERSONS, true))
    assert np.abs(off).max() < FAR


@pytest.mark.parametrize("kind", [OptimalHashing, SubsetSelection])
def test_the_spread_of_drawn_estimates_is_the_stated_variance(kind: Any) -> None:
    """A repeatable stream: 400 estimates of 20 counts; the mean of their squares has a standard
    error of about sqrt(2 / 8000) = 0.016.
    """
    randomiser = kind(size=20, epsilon=1.0)
    words, codes = Words.of_seed(11), np.arange(200) % 20
    true = np.bincount(codes, minlength=20)
    squares = []
    for _ in range(400):
        estimate = randomiser.estimate(randomiser.tally(randomiser.perturb(codes, words)), 200)
        squares.append((estimate - true) ** 2 / randomiser.variance(200, true))
    assert np.mean(squares) == pytest.approx(1.0, abs=0.1)


def test_subsets_are_uniform() -> None:
    """All words of a small stream of choices, by counting: Floyd's method over 5 others."""
    share = WHOLE // 5
    seen: Counter[tuple[int, ...]] = Counter()
    randomiser = SubsetSelection(size=6, epsilon=0.5)
    assert randomiser.chosen == 2
    keep = randomiser.thresholds()["keep"]
    for first in range(20):
        for second in range(20):
            # The true value is not put in: two of the five others are drawn, below 4 and below 5.
            words = words_of(keep, first * WHOLE // 20, second * WHOLE // 20 + 1)
            seen[tuple(randomiser.perturb([2], words)[0])] += 1
    assert share * 5 < WHOLE
    assert len(seen) == 10
    assert set(seen.values()) == {40}


def test_tallies_of_batches_add_up() -> None:
    for kind in ALL:
        randomiser = kind(size=9, epsilon=1.0)
        reports = randomiser.perturb(np.arange(50) % 9)
        parts = randomiser.tally(reports[:20]) + randomiser.tally(reports[20:])
        assert (parts == randomiser.tally(reports)).all()
        assert (randomiser.tally(reports[:0]) == 0).all()


# --------------------------------------------------------------------------- the book's figures


BOOK_PERTURBED = [3637, 157, 3911, 3931, 1106, 1419, 2030, 3259, 285, 4011, 741, 3559, 1021, 1651]
BOOK_ESTIMATED = [3774, 1, 4074, 4095, 1002, 1345, 2014, 3360, 103, 4183, 602, 3688, 909, 1599]


def test_table_4_1_gives_table_4_2() -> None:
    """With the book's truncation, and its floor of 1."""
    occupation = DirectEncoding(size=14, epsilon=5.0)
    assert round(float(occupation.p), 4) == 0.9195
    assert round(float(occupation.q), 4) == 0.0062
    persons = sum(BOOK_PERTURBED)
    assert persons == 30_718
    estimates = occupation.estimate(np.array(BOOK_PERTURBED), persons)
    assert [max(1, int(estimate)) for estimate in estimates] == BOOK_ESTIMATED
    assert estimates.sum() == pytest.approx(persons)
    assert round(estimates[3]) == 4096  # what rounding gives where the book has 4095


def test_the_standard_errors_of_the_book() -> None:
    persons = 32_561
    coins = BinaryResponse(epsilon=math.log(3))
    assert round(math.sqrt(coins.variance(persons, [persons - 6460, 6460])[1])) == 156
    rare = [persons, 0, 0, 0, 0]
    assert round(math.sqrt(SymmetricUnary(size=5, epsilon=5.0).variance(persons, rare)[1])) == 56
    assert round(math.sqrt(OptimalUnary(size=5, epsilon=5.0).variance(persons, rare)[1])) == 30
    assert round(math.sqrt(SummedHistogram(size=91, epsilon=5.0).variance(persons)[0])) == 102
    assert round(math.sqrt(SummedHistogram(size=91, epsilon=1.0).variance(persons)[0])) == 510
    small = DirectEncoding(size=14, epsilon=0.1)
    assert (round(float(small.p), 3), round(float(small.q), 3)) == (0.078, 0.071)


def test_thresholds_have_the_right_sign_and_the_best_one_is_found() -> None:
    histogram = ThresholdHistogram(size=14, epsilon=5.0, theta=0.25)
    assert float(histogram.p) == pytest.approx(1 - 0.5 * math.exp((0.25 - 1) * 2.5))
    assert float(histogram.q) == pytest.approx(0.5 * math.exp(-0.25 * 2.5))
    for epsilon in (0.5, 1.0, 5.0):
        best = ThresholdHistogram(size=14, epsilon=epsilon)
        assert best.theta == best_theta(epsilon)
        zero = [0] * 14
        for theta in np.linspace(0.0, 1.0, 101):
            other = ThresholdHistogram(size=14, epsilon=epsilon, theta=float(theta))
            assert best.variance(100, zero)[0] <= other.variance(100, zero)[0] * (1 + 1e-6)


# --------------------------------------------------------------------------- the choice


def test_the_best_randomiser_has_the_smallest_variance() -> None:
    for size in (2, 3, 5, 14, 40, 300):
        for epsilon in (0.1, 1.0, 3.0, 6.0):
            best = best_randomiser(size, epsilon)
            for kind in ALL:
                rival = kind(size=size, epsilon=epsilon)
                assert best.total_variance <= rival.total_variance * 1.0101


def test_direct_encoding_is_best_for_few_values() -> None:
    """The rule of thumb size < 3 e^epsilon + 2 is that of direct and optimal unary encoding."""
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        border = 3 * math.exp(epsilon) + 2
        rare_of = {
            kind: [
                kind(size=size, epsilon=epsilon).variance(1, [0] * size)[0]
                for size in (math.floor(border), math.ceil(border))
            ]
            for kind in (DirectEncoding, OptimalUnary)
        }
        assert rare_of[DirectEncoding][0] <= rare_of[OptimalUnary][0] * (1 + 1e-9)
        assert rare_of[DirectEncoding][1] >= rare_of[OptimalUnary][1] * (1 - 1e-9)


def test_very_many_values_have_a_randomiser() -> None:
    assert best_randomiser(1 << 20, 1.0).kind == "hadamard"
    assert hadamard_shape(1 << 20, 1.0)[0] * hadamard_shape(1 << 20, 1.0)[1] >= 1 << 20
    with pytest.raises(InputError, match="size must be a whole number from 2 to 1,048,576"):
        best_randomiser((1 << 20) + 1, 1.0)


def test_the_transform_is_the_product_with_the_matrix() -> None:
    counts = np.random.default_rng(1).integers(0, 100, (3, 16))
    matrix = np.array([[(-1) ** (r & z).bit_count() for z in range(16)] for r in range(16)])
    assert (walsh_hadamard(counts) == counts @ matrix).all()


# --------------------------------------------------------------------------- files and refusals


@pytest.mark.parametrize("kind", ALL)
def test_a_randomiser_is_written_and_read(kind: Any) -> None:
    randomiser = kind(size=12, epsilon=1.5)
    document = randomiser.to_dict()
    assert Randomiser.from_dict(document) == randomiser
    assert all(isinstance(text, str) for text in document["thresholds"].values())
    [first, *_] = document["thresholds"]
    forged = {**document["thresholds"], first: "1"}
    with pytest.raises(InputError, match="are not those of its epsilon"):
        Randomiser.from_dict({**document, "thresholds": forged})


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"kind": []},
        {"kind": "gan"},
        {"kind": "direct"},
        {"kind": "direct", "size": 3},
        {"kind": "direct", "size": "3", "epsilon": 1.0},
        {"kind": "direct", "size": 3, "epsilon": []},
        {"kind": "direct", "size": 3, "epsilon": 1.0, "thresholds": 7},
        {"kind": "threshold histogram", "size": 3, "epsilon": 1.0, "theta": "x"},
        {"kind": "piecewise", "epsilon": 1.0, "low": [], "high": 1, "dimensions": 1},
    ],
)
def test_what_is_no_randomiser_is_refused(document: Any) -> None:
    with pytest.raises(InputError):
        Randomiser.from_dict(document)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.0, 1.0], "these are decimal numbers"),
        ([True, False], "these are truth values"),
        (["a"], "these are text or other objects"),
        ([-1], "outside 0 to 4"),
        ([5], "outside 0 to 4"),
        ([math.nan], "these are decimal numbers"),
        ([[0], [1]], "one per person"),
        (3, "one per person"),
        ([[0], [0, 1]], "lines of one length"),
        ([2**70], "text or other objects"),
        ([None], "text or other objects"),
        (np.array([2**63], dtype=np.uint64), "outside 0 to 4"),
    ],
)
def test_values_that_have_no_code_are_refused(values: Any, message: str) -> None:
    for kind in ALL:
        with pytest.raises(InputError, match=message):
            kind(size=5, epsilon=1.0).perturb(values)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, True, "1", 31, 1e-7])
def test_an_epsilon_that_makes_no_sense_is_refused(epsilon: Any) -> None:
    with pytest.raises(InputError):
        DirectEncoding(size=3, epsilon=epsilon)
    with pytest.raises(InputError):
        best_randomiser(3, epsilon)


@pytest.mark.parametrize("size", [0, 1, True, 2.0, "3", -5])
def test_a_size_that_makes_no_sense_is_refused(size: Any) -> None:
    for kind in ALL:
        with pytest.raises(InputError, match="size must be a whole number"):
            kind(size=size, epsilon=1.0)


def test_impossible_reports_are_told_and_not_counted() -> None:
    cases: list[tuple[CategoricalRandomiser, Any]] = [
        (DirectEncoding(size=5, epsilon=1.0), [[0], [5], [-1]]),
        (OptimalUnary(size=5, epsilon=1.0), [[31], [32], [-1]]),
        (SubsetSelection(size=9, epsilon=0.5), [[0b111], [0b11], [1 << 9 | 3]]),
        (OptimalHashing(size=5, epsilon=1.0), [[1, 2, 3], [1 << 32, 0, 0], [0, 0, 4]]),
        (HadamardResponse(size=5, epsilon=1.0), [[7], [1 << 20], [-2]]),
        (SummedHistogram(size=2, epsilon=1.0), [[0, 0], [1 << 60, 0], [0, -(1 << 60)]]),
    ]
    for randomiser, reports in cases:
        assert randomiser.is_possible(reports).tolist() == [True, False, False]
        with pytest.raises(InputError, match="leave it out"):
            randomiser.tally(reports)
        for junk in (
            [["a"] * randomiser.width],
            [[0.5] * randomiser.width],
            [[0] * 99],
            [[0], [0] * 99],
            [[2**70] * randomiser.width],
        ):
            with pytest.raises(InputError, match="lines of"):
                randomiser.is_possible(junk)
        for counts in (["a"], [1.0], [math.nan] * randomiser.size):
            with pytest.raises(InputError, match="finite numbers"):
                randomiser.variance(10, counts)


def test_a_size_may_come_from_numpy() -> None:
    made = DirectEncoding(size=np.int64(3), epsilon=1.0)  # type: ignore[arg-type]
    assert made == DirectEncoding(size=3, epsilon=1.0)
    assert type(made.size) is int


def test_a_stream_that_ends_is_refused() -> None:
    with pytest.raises(InputError, match="needs more than the 8 bytes"):
        DirectEncoding(size=3, epsilon=1.0).perturb([0, 1], Words.of_bytes(bytes(8)))


def test_words_left_over_are_thrown_away() -> None:
    assert words_of(2**64 - 1, 2**64 - 2).below(3) == 2
    assert words_of(2**64 - 1).below(1) == 0
    high, low = share_words(3, 4, Fraction(5))
    assert 3 * high + 4 * low <= WHOLE
    assert WHOLE - (3 * high + 4 * low) < 3
    assert high <= 5 * low


def test_only_the_operating_system_is_private() -> None:
    assert Words().private
    assert not Words.of_seed(1).private
    assert not Words.of_bytes(bytes(8)).private


@pytest.mark.parametrize("kind", ALL)
def test_tallies_of_reports_are_possible_and_others_are_told(kind: Any) -> None:
    randomiser = kind(size=6, epsilon=1.0)
    tally = randomiser.tally(randomiser.perturb(np.arange(600) % 6))
    assert randomiser.is_possible_tally(tally, 600)
    assert not randomiser.is_possible_tally(tally[1:], 600)
    if kind is SummedHistogram:  # its sums may be anything
        return
    beyond = tally.copy()
    beyond[0] = 601
    assert not randomiser.is_possible_tally(beyond, 600)
    if kind is not HadamardResponse:
        assert not randomiser.is_possible_tally(tally - 601, 600)
    if kind in (DirectEncoding, SubsetSelection):
        moved = tally.copy()
        moved[0] -= 1
        assert not randomiser.is_possible_tally(moved, 600)
