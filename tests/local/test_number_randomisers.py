"""Local randomisers of numbers: Duchi, Piecewise, Laplace, the square wave; and bins."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest

from understudy.errors import InputError
from understudy.local.randomisers import (
    Bins,
    Duchi,
    FiniteRandomiser,
    LocalLaplace,
    Piecewise,
    Randomiser,
    SquareWave,
    Words,
    equal_frequency_bins,
    equal_width_bins,
)
from understudy.local.randomisers.duchi import agreeing_signs
from understudy.local.randomisers.numeric import NUMBER_STEPS
from understudy.local.randomisers.thresholds import exp_of
from understudy.local.randomisers.windows import piecewise_window, square_wave_window
from understudy.local.randomisers.words import WHOLE
from understudy.machine import plain_first

MEANS: tuple[Any, ...] = (Duchi, Piecewise, LocalLaplace)
FAR = 6.5
"""Standard errors: a normal variable is farther off once in 10^10 times."""


def words_of(*numbers: int) -> Words:
    return Words.of_bytes(b"".join(number.to_bytes(8, "little") for number in numbers))


# --------------------------------------------------------------------------- the promise


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 5.0, 12.0, 30.0])
def test_the_exact_loss_is_at_most_epsilon_and_nearly_that(epsilon: float) -> None:
    randomisers: list[Randomiser] = [SquareWave(epsilon=epsilon)]
    for dimensions in (1, 2, 3, 4, 7, 64):
        randomisers += [kind(epsilon=epsilon, dimensions=dimensions) for kind in MEANS]
    for randomiser in randomisers:
        if isinstance(randomiser, FiniteRandomiser):
            assert randomiser.ratio <= exp_of(epsilon) * (1 + Fraction(1, 2**100))
        assert epsilon * (1 - 1e-3) <= randomiser.loss <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
def test_signs_keep_the_ratio_and_have_no_bias_exactly(dimensions: int) -> None:
    """All reports under all corners, and estimates at numbers inside: nothing is drawn."""
    randomiser = Duchi(epsilon=1.0, dimensions=dimensions)
    reports = list(randomiser.possible_reports())
    corners = list(itertools.product((0, NUMBER_STEPS), repeat=dimensions))
    lines = [[randomiser.probability(report, corner) for report in reports] for corner in corners]
    assert all(sum(line) == 1 for line in lines)
    ratios = [max(column) / min(column) for column in zip(*lines, strict=True)]
    assert max(ratios) == randomiser.ratio
    steps = [NUMBER_STEPS * place // 9 for place in range(dimensions)]
    chances = np.array([float(randomiser.probability(report, steps)) for report in reports])
    said = randomiser.decode(np.array(reports))
    truth = np.array(steps) / NUMBER_STEPS * 2 - 1
    assert chances @ said == pytest.approx(truth, abs=1e-12)
    spread = chances @ (said - truth) ** 2
    assert spread == pytest.approx(randomiser.noise_variance([truth])[0], rel=1e-9)


@pytest.mark.parametrize("dimensions", [2, 4, 6])
def test_even_dimensions_are_those_of_the_repaired_sampler(dimensions: int) -> None:
    """Nguyen et al. 2016: the size of the report, by their formula."""
    power, many = math.e, agreeing_signs(dimensions)
    size = (2**dimensions + many * (power - 1)) / (
        comb(dimensions - 1, dimensions // 2) * (power - 1)
    )
    assert 1 / float(Duchi(epsilon=1.0, dimensions=dimensions).slope) == pytest.approx(size)


def test_one_dimension_is_duchis_formula() -> None:
    one = Duchi(epsilon=1.0)
    assert 1 / float(one.slope) == pytest.approx((math.e + 1) / (math.e - 1))
    plus = float(one.probability([1], NUMBER_STEPS * 3 // 4))  # at 0.5
    assert plus == pytest.approx((math.e - 1) / (2 * math.e + 2) * 0.5 + 0.5)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_the_square_wave_is_as_wide_as_tells_most(epsilon: float) -> None:
    """In units of its height above the rest, as its authors write it: 2 b of the range."""
    power = math.exp(epsilon)
    half = (epsilon * power - power + 1) / (2 * power * (power - 1 - epsilon))
    assert square_wave_window(epsilon).width == pytest.approx(2 * half * NUMBER_STEPS, abs=1)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_a_window_has_the_stated_mean_and_variance_exactly(epsilon: float) -> None:
    """Over all of the million reports and more, at several steps."""
    for window in (piecewise_window(Fraction(str(epsilon))), square_wave_window(epsilon)):
        places = np.arange(window.reports, dtype=np.float64)
        for step in (0, NUMBER_STEPS // 3, NUMBER_STEPS):
            words = np.full(window.reports, float(window.outside))
            words[step : step + window.width] = window.inside
            assert words.sum() == pytest.approx(window.total, rel=1e-9)
            chances = words / words.sum()
            unbiased = window.estimate_steps(places)
            assert chances @ unbiased == pytest.approx(step, abs=1e-3)
            spread = chances @ (unbiased - step) ** 2
            assert spread == pytest.approx(
                window.step_variance(np.array([float(step)]))[0], rel=1e-6
            )


def test_the_piecewise_mechanism_is_that_of_its_authors() -> None:
    """Its variance: t^2 / (e^(eps / 2) - 1) + (e^(eps / 2) + 3) / (3 (e^(eps / 2) - 1)^2)."""
    for epsilon in (0.5, 1.0, 4.0):
        half = math.exp(epsilon / 2)
        for number in (-1.0, 0.0, 0.6):
            expected = number**2 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
            found = Piecewise(epsilon=epsilon).noise_variance([number])[0, 0]
            assert found == pytest.approx(expected, rel=1e-4)
    window = Piecewise(epsilon=1.0).window
    inside = window.width * window.inside / window.total
    assert inside == pytest.approx(math.exp(0.5) / (math.exp(0.5) + 1), rel=1e-5)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_a_window_gives_each_report_as_many_words_as_it_says(epsilon: float) -> None:
    window = piecewise_window(Fraction(str(epsilon)))
    edge = window.width * window.inside
    assert WHOLE - window.total < window.width
    for step in (0, 5, NUMBER_STEPS):
        for run in (0, 1, window.width - 1):
            words = np.array([run * window.inside, (run + 1) * window.inside - 1], dtype=np.uint64)
            assert window.draw(np.array([step, step]), words).tolist() == [step + run] * 2
        for run in (0, max(step - 1, 0), min(step, NUMBER_STEPS - 1), NUMBER_STEPS - 1):
            start = edge + run * window.outside
            words = np.array([start, start + window.outside - 1], dtype=np.uint64)
            expected = run if run < step else run + window.width
            assert window.draw(np.array([step, step]), words).tolist() == [expected] * 2


def test_dimensions_are_drawn_without_replacement() -> None:
    randomiser = Piecewise(epsilon=13.0, dimensions=5)
    assert randomiser.sampled == 5
    reports = randomiser.perturb(np.zeros((500, 5)))
    assert (np.sort(reports[:, ::2], axis=1) == np.arange(5)).all()
    with_repeats = reports.copy()
    with_repeats[:, 2] = with_repeats[:, 0]
    assert not randomiser.is_possible(with_repeats).any()
    assert Piecewise(epsilon=1.0, dimensions=5).sampled == 1
    assert Piecewise(epsilon=100 / 20, dimensions=5).sampled == 2


def test_a_word_that_is_left_over_is_thrown_away() -> None:
    randomiser = Piecewise(epsilon=8.0, dimensions=3)
    last = WHOLE - 1
    assert randomiser.window.total < WHOLE
    report = randomiser.perturb([[0.0, 0.5, 1.0]], words_of(last, 0, last, 5, 1, 6, 2, 7))
    again = randomiser.perturb([[0.0, 0.5, 1.0]], words_of(0, 5, 1, 6, 2, 7))
    assert (report == again).all()
    wave = SquareWave(epsilon=1.0)
    assert (wave.perturb([0.5], words_of(last, 9)) == wave.perturb([0.5], words_of(9))).all()


# --------------------------------------------------------------------------- estimates


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 8.0])
@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", MEANS)
def test_means_are_as_accurate_as_they_say(kind: Any, dimensions: int, epsilon: float) -> None:
    """With the operating system's randomness: 90 means, each off by more than 6.5 standard errors
    once in 10^10 times.
    """
    randomiser = kind(epsilon=epsilon, dimensions=dimensions, low=-2.0, high=6.0)
    values = np.linspace(-2, 6, 3000 * dimensions).reshape(3000, dimensions) ** 2 / 6
    reports = randomiser.perturb(values)
    assert randomiser.is_possible(reports).all()
    estimate = randomiser.estimate(randomiser.tally(reports), 3000)
    # Who reports which number is drawn, too: at most so far from the average number of reports.
    error = np.sqrt(randomiser.variance(3000, values) * 1.3)
    assert (np.abs(estimate - values.mean(axis=0)) < FAR * error).all()
    said = randomiser.decode(reports)
    assert np.nanmean(said, axis=0) == pytest.approx(estimate)


def test_the_spread_of_estimated_means_is_the_stated_variance() -> None:
    """A repeatable stream: 300 estimates of three means; the mean of their squares has a standard
    error of about sqrt(2 / 900) = 0.05.
    """
    randomiser = Piecewise(epsilon=4.0, dimensions=3)
    values, words = np.linspace(-1, 1, 600).reshape(200, 3), Words.of_seed(2)
    squares = []
    for _ in range(300):
        estimate = randomiser.estimate(randomiser.tally(randomiser.perturb(values, words)), 200)
        squares.append((estimate - values.mean(axis=0)) ** 2)
    assert np.mean(squares / randomiser.variance(200, values)) == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize("kind", MEANS)
def test_reports_depend_on_the_stream_alone(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    randomiser = kind(epsilon=6.0, dimensions=4)
    values = np.linspace(-1, 1, 400).reshape(100, 4)
    together = randomiser.perturb(values, Words.of_seed(3))
    monkeypatch.setattr(plain_first, "WORTH_SECONDS", 0.0)
    assert (randomiser.perturb(values, Words.of_seed(3)) == together).all()
    if kind is LocalLaplace:
        return  # its noise is drawn for all numbers of a call at once
    words = Words.of_seed(3)
    alone = [randomiser.perturb(values[place : place + 1], words)[0] for place in range(100)]
    assert (np.array(alone) == together).all()


def test_the_square_wave_estimates_a_distribution() -> None:
    """A repeatable stream of 20,000 reports at epsilon 2."""
    rng = np.random.default_rng(1)
    values = rng.beta(2, 5, 20_000) * 100
    wave = SquareWave(epsilon=2.0, low=0.0, high=100.0, bins=32)
    tally = wave.tally(wave.perturb(values, Words.of_seed(5)))
    true = np.histogram(values, 32, (0, 100))[0]
    assert wave.transitions.sum(axis=1) == pytest.approx(np.ones(32))
    expected = true @ wave.transitions
    assert ((tally - expected) ** 2 / expected).mean() < 2
    for smooth in (True, False):
        estimate = wave.estimate(tally, 20_000, smooth=smooth)
        assert estimate.min() >= 0
        assert estimate.sum() == pytest.approx(20_000)
        assert np.abs(estimate - true).sum() / 2 / 20_000 < 0.1
    flat = np.abs(true - true.mean()).sum() / 2 / 20_000
    assert flat > 0.3
    assert (wave.variance(20_000, true) > 0).all()
    assert wave.estimate(np.zeros_like(tally), 0).tolist() == [0.0] * 32


def test_transitions_are_sums_of_exact_probabilities() -> None:
    wave = SquareWave(epsilon=1.0, bins=1000)
    cells = wave._cells
    step = math.ceil(NUMBER_STEPS / 1000) - 1  # the last one of the first bin
    window = wave.window
    for cell in (0, 1, len(cells) - 2):
        total = sum(
            max(0, min(int(cells[cell + 1]), i + window.width) - max(int(cells[cell]), i))
            for i in range(step + 1)
        )
        chance = (
            window.outside * int(cells[cell + 1] - cells[cell])
            + (window.inside - window.outside) * total / (step + 1)
        ) / window.total
        assert wave.transitions[0, cell] == pytest.approx(chance, rel=1e-9)


# --------------------------------------------------------------------------- bins


def test_the_books_bins() -> None:
    numbers = [0, 4, 12, 16, 16, 18, 24, 26, 28]
    frequency = equal_frequency_bins(numbers, 3)
    assert frequency.encode(numbers).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    width = equal_width_bins(0, 28, 3)
    assert width.encode(numbers).tolist() == [0, 0, 1, 1, 1, 1, 2, 2, 2]
    assert width.size == 3
    assert width.middles == pytest.approx([14 / 3, 14, 70 / 3])


def test_bins_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="each above the one before"):
        Bins((1.0, 1.0))
    with pytest.raises(InputError, match="low bound must be below"):
        equal_width_bins(3, 3, 2)
    with pytest.raises(InputError, match="bins must be a whole number"):
        equal_width_bins(0, 1, 0)
    with pytest.raises(InputError, match="4 different numbers"):
        equal_frequency_bins([1, 1, 2], 4)
    with pytest.raises(InputError, match="outside the announced range 0 to 1"):
        equal_width_bins(0, 1, 2).encode([1.5])
    with pytest.raises(InputError, match="not finite"):
        equal_width_bins(0, 1, 2).encode([math.nan])


# --------------------------------------------------------------------------- files and refusals


def test_randomisers_are_written_and_read() -> None:
    for randomiser in (
        *(kind(epsilon=1.5, dimensions=3, low=0, high=7.5) for kind in MEANS),
        SquareWave(epsilon=1.5, low=0, high=7.5, bins=9),
    ):
        assert Randomiser.from_dict(randomiser.to_dict()) == randomiser


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.01], "outside the announced range -1 to 1"),
        ([-2], "outside the announced range -1 to 1"),
        ([math.nan], "not finite"),
        ([math.inf], "not finite"),
        ([True], "Only numbers"),
        (["a"], "Only numbers"),
        ([[0.0, 0.0]], "must have"),
        ([[0.0], [0.0, 0.0]], "lines of one length"),
        ([None], "Only numbers"),
    ],
)
def test_numbers_that_cannot_be_reported_are_refused(values: Any, message: str) -> None:
    for randomiser in (*(kind(epsilon=1.0) for kind in MEANS), SquareWave(epsilon=1.0)):
        with pytest.raises(InputError, match=message):
            randomiser.perturb(values)


def test_ranges_and_dimensions_that_make_no_sense_are_refused() -> None:
    for kind in MEANS:
        for low, high in ((1, 1), (2, 1), (math.nan, 1), (0, math.inf), (True, 2), ("0", 1)):
            with pytest.raises(InputError):
                kind(epsilon=1.0, low=low, high=high)
        for dimensions in (0, 65, 1.0, True):
            with pytest.raises(InputError, match="dimensions must be a whole number"):
                kind(epsilon=1.0, dimensions=dimensions)
    with pytest.raises(InputError, match="bins must be a whole number"):
        SquareWave(epsilon=1.0, bins=1)


def test_impossible_reports_are_told_and_not_counted() -> None:
    for randomiser, reports in (
        (Duchi(epsilon=1.0, dimensions=3), [[7], [8], [-1]]),
        (Piecewise(epsilon=1.0), [[0, 5], [1, 5], [0, 1 << 22]]),
        (SquareWave(epsilon=1.0), [[5], [-1], [1 << 22]]),
        (LocalLaplace(epsilon=1.0), [[5], [1 << 60], [-(1 << 60)]]),
    ):
        assert randomiser.is_possible(reports).tolist() == [True, False, False]
        with pytest.raises(InputError, match="leave it out"):
            randomiser.tally(reports)
