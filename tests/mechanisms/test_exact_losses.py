"""Every mechanism loses what it says, and no more: over all outcomes, on values as far apart as
neighbours can be, with rounding included; and what it draws has the distribution that it states.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from chance import fits, seeded_words
from hypothesis import given
from hypothesis import strategies as st

from understudy import InputError, Ledger
from understudy.mechanisms import (
    Exponential,
    GaussianMechanism,
    Geometric,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    RandomisedResponse,
    Staircase,
    TwoCoinResponse,
    Vector,
    gaussian_multiplier,
)
from understudy.mechanisms.additive import AdditiveMechanism
from understudy.mechanisms.gaussian import continuous_delta
from understudy.mechanisms.grid import count_moved_steps, put_on_grid
from understudy.mechanisms.uniform import number_below
from understudy.privacy.exact_noise import WORD
from understudy.privacy.mechanisms import SCORE_GRID, SeededNoise

EPSILONS = (0.1, 1.0, 5.0)
SLACK = 1e-9


def largest_loss(mechanism: AdditiveMechanism, moved: int) -> float:
    """Over noise near, at and far beyond both values."""
    near = np.arange(-40, 41)
    stairs = np.concatenate([near + place * SCORE_GRID for place in range(-6, 7)])
    far = np.linspace(-30 * mechanism.reach, 30 * mechanism.reach, 4001).astype(np.int64)
    steps = np.unique(np.concatenate([near, stairs, stairs + mechanism.reach, far]))
    return float(np.abs(mechanism.log_pmf(steps) - mechanism.log_pmf(steps - moved)).max())


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", [Geometric, Laplace, Staircase])
def test_added_noise_loses_epsilon_and_no_more(
    kind: type[Geometric] | type[Laplace] | type[Staircase], epsilon: float
) -> None:
    mechanism = kind(epsilon=epsilon)
    losses = [
        largest_loss(mechanism, moved)
        for moved in {1, mechanism.reach // 2 or 1, mechanism.reach - 1, mechanism.reach}
    ]
    assert max(losses) <= epsilon * (1 + SLACK)
    assert max(losses) >= 0.999 * epsilon


@pytest.mark.parametrize("kind", [Laplace, Staircase, Geometric])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_probabilities_add_up_and_have_the_stated_variance(
    kind: Callable[..., AdditiveMechanism], epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a coarse grid, where all outcomes can be summed."""
    for module in ("staircase", "grid"):
        monkeypatch.setattr(f"understudy.mechanisms.{module}.SCORE_GRID", 8)
    mechanism = kind(epsilon=epsilon)
    steps = np.arange(-20_000, 20_001)
    chances = np.exp(mechanism.log_pmf(steps))
    assert chances.sum() == pytest.approx(1.0, abs=1e-12)
    variance = float((chances * steps**2).sum()) * float(mechanism.step) ** 2
    assert mechanism.variance == pytest.approx(variance, rel=1e-9)


def test_a_staircase_over_one_step_is_geometric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.mechanisms.staircase.SCORE_GRID", -1)
    steps = np.arange(-30, 31)
    stairs = Staircase(epsilon=0.7)
    assert stairs.reach == stairs.first_stair == 1
    assert stairs.log_pmf(steps) == pytest.approx(Geometric(epsilon=0.7).log_pmf(steps), rel=1e-9)


def test_stairs_are_better_than_laplace_noise_where_epsilon_is_large() -> None:
    for epsilon in EPSILONS:
        assert Staircase(epsilon=epsilon).variance <= Laplace(epsilon=epsilon).variance * 1.001
    assert Staircase(epsilon=5.0).variance < 0.5 * Laplace(epsilon=5.0).variance


def test_stairs_are_drawn_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.mechanisms.staircase.SCORE_GRID", 3)  # stairs of five
    stairs, words = Staircase(epsilon=0.8, width=0.4), seeded_words(1)
    assert (stairs.reach, stairs.first_stair) == (5, 2)
    drawn = np.clip([stairs.draw_steps(words) for _ in range(5000)], -11, 11)
    steps = np.arange(-11, 12)
    chances = np.exp(stairs.log_pmf(steps))
    chances[0] = chances[-1] = (1 - chances[1:-1].sum()) / 2
    assert fits(np.bincount(drawn + 11, minlength=23), chances)


def test_two_numbers_on_stairs_would_cost_twice() -> None:
    """Why a staircase is for one number: half of the sensitivity each, and both go down a stair."""
    stairs = Staircase(epsilon=1.0)
    half, edge = stairs.reach // 2, np.array([stairs.first_stair - 1])
    loss = stairs.log_pmf(edge) - stairs.log_pmf(edge + half)
    assert 2 * float(loss[0]) == pytest.approx(2.0)
    with pytest.raises(InputError, match="given 2 whole numbers"):
        stairs.release([1, 2], Ledger(1.0), "two numbers")  # type: ignore[arg-type]


# --------------------------------------------------------------------------- rounding


@given(
    value=st.floats(-1e6, 1e6),
    share=st.floats(-1.0, 1.0),
    sensitivity=st.floats(1e-3, 1e3),
)
def test_rounding_moves_neighbours_no_farther_than_is_paid_for(
    value: float, share: float, sensitivity: float
) -> None:
    step = Laplace(epsilon=1.0, sensitivity=sensitivity).step
    other = value + share * sensitivity  # computed in floating point, with its own error
    [here], [there] = put_on_grid(value, step), put_on_grid(other, step)
    assert abs(int(here) - int(there)) <= count_moved_steps()


@given(st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4), st.floats(-100, 100))
def test_rounding_of_several_numbers_is_paid_for(moves: list[float], start: float) -> None:
    laplace = Laplace(epsilon=1.0, sensitivity=1.0, size=4)
    gaussian = GaussianMechanism(epsilon=1.0, delta=1e-6, sensitivity=1.0, size=4)
    values = np.full(4, start)
    for mechanism, length in ((laplace, np.abs(moves).sum()), (gaussian, np.linalg.norm(moves))):
        other = values + np.array(moves) / max(float(length), 1e-9)
        apart = put_on_grid(values, mechanism.step, 4) - put_on_grid(other, mechanism.step, 4)
        order = 1 if mechanism is laplace else 2
        assert np.linalg.norm(apart.astype(np.float64), order) <= mechanism.reach


def test_numbers_beyond_all_bounds_are_moved_in() -> None:
    assert put_on_grid(1e300, Fraction(1, 1 << 20))[0] == 1 << 60
    noisy = Laplace(epsilon=1.0).release(1e300, Ledger(1.0), "a huge sum")
    assert math.isfinite(noisy)


# --------------------------------------------------------------------------- Gaussian


@pytest.mark.parametrize(
    ("epsilon", "delta", "width"),
    # The root of Balle and Wang's equation by another program (SciPy's norm.cdf and brentq).
    [(1.0, 1e-5, 3.730632), (0.1, 1e-5, 30.749569), (5.0, 1e-5, 0.891868), (10.0, 1e-9, 0.650247)],
)
def test_the_width_is_that_of_the_analytic_calibration(
    epsilon: float, delta: float, width: float
) -> None:
    assert gaussian_multiplier(epsilon, delta) == pytest.approx(width, rel=2e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
def test_discrete_noise_keeps_delta(
    epsilon: float, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exact delta of the discrete noise, summed over all outcomes, on grids coarse enough for
    that; and it is nearly all of delta on the finer one.
    """
    used = []
    for grid in (4, 64):
        monkeypatch.setattr("understudy.mechanisms.gaussian.SCORE_GRID", grid)
        multiplier = gaussian_multiplier.__wrapped__(epsilon, delta)
        scale = multiplier * grid
        steps = np.arange(-math.ceil(40 * scale) - 1000, math.ceil(40 * scale) + 1001)
        logs = -(steps**2) / (2 * scale**2)
        logs -= np.logaddexp.reduce(logs)
        moved = logs[:-grid] - logs[grid:]  # grid steps: as far as neighbours can be
        ends = np.exp(logs[-grid:]).sum()
        lost = float((np.exp(logs[:-grid]) * -np.expm1(np.minimum(epsilon - moved, 0.0))).sum())
        used.append((lost + float(ends)) / delta)
        assert used[-1] <= 1
    assert used[1] > (0.9 if epsilon > 0.01 else 0.5)


@given(st.floats(1e-6, 100.0), st.floats(0.01, 100.0))
def test_the_delta_of_continuous_noise_is_that_of_its_integral(
    epsilon: float, multiplier: float
) -> None:
    """Against the trapezium rule, in units of the first term."""
    edge = epsilon * multiplier - 0.5 / multiplier
    if not -8 < edge < 8:
        return
    x = np.linspace(edge, max(edge, 0.0) + 12, 200_001)
    lost = np.exp(-(x**2) / 2) * -np.expm1(np.minimum((edge - x) / multiplier, 0.0))
    total = float(np.trapezoid(lost, x)) / math.sqrt(2 * math.pi)
    assert continuous_delta(multiplier, epsilon) == pytest.approx(total, rel=1e-4, abs=1e-13)


def test_a_ledger_in_rho_is_debited_rho() -> None:
    ledger = Ledger(1.0, 1e-6, currency="rho")
    rho = ledger.budget.split(1, 3)[0].amount
    GaussianMechanism.for_rho(rho, 1e-6, size=3).release([1.0, 2.0, 3.0], ledger, "three means")
    assert ledger.entries[0].amount <= rho
    assert ledger.entries[0].amount == pytest.approx(rho, rel=1e-12)


# --------------------------------------------------------------------------- choices

SCORES = [0, 1, 2, 5]


def losses(
    mechanism: Exponential | PermuteAndFlip | NoisyMax, monotone: bool
) -> list[tuple[float, float]]:
    """For every small table of counts and every neighbour the largest and smallest log-ratio."""
    moves = (0, 1) if monotone else (-1, 0, 1)
    found = []
    for counts in itertools.combinations_with_replacement(SCORES, 3):
        for move in itertools.product(moves, repeat=3):
            here, there = (
                mechanism.probabilities({place: int(count) for place, count in enumerate(table)})
                for table in (counts, np.add(counts, move))
            )
            ratios = [math.log(here[place] / there[place]) for place in here]
            found.append((max(ratios), min(ratios)))
    return found


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip, NoisyMax])
def test_choices_lose_no_more_than_epsilon_on_any_small_table(kind: Any, monotone: bool) -> None:
    found = losses(kind(epsilon=1.0, monotone=monotone), monotone)
    largest = max(max(most, -least) for most, least in found)
    assert 0.4 <= largest <= 1 + SLACK


def test_a_noisy_maximum_loses_nearly_all_of_epsilon_among_many() -> None:
    mechanism = NoisyMax(epsilon=1.0)
    here, there = ({**dict.fromkeys(range(60), count), 0: 1 - count} for count in (1, 0))
    ratio = mechanism.probabilities(there)[0] / mechanism.probabilities(here)[0]
    assert 0.8 <= math.log(ratio) <= 1 + SLACK


def test_a_choice_between_scores_of_any_size() -> None:
    chances = Exponential(epsilon=1.0).probabilities({"a": 1e300, "b": -1e300, "c": 0.0})
    assert chances["a"] == 1.0
    assert Exponential(epsilon=1.0).choose({"a": 5000, "b": 0}, Ledger(1.0), "a choice") == "a"


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip, NoisyMax])
def test_choices_are_made_as_they_say(kind: Any) -> None:
    mechanism = kind(epsilon=1.0)
    scores: Mapping[str, int] = {"a": 3, "b": 2, "c": 0}
    noise = SeededNoise(3)
    chosen = [mechanism.choose(scores, Ledger(1.0), "which?", noise=noise) for _ in range(3000)]
    observed = np.array([chosen.count(name) for name in scores])
    assert fits(observed, np.array(list(mechanism.probabilities(scores).values())))


def test_monotone_choices_need_rows_that_come_and_go() -> None:
    for kind in (Exponential, NoisyMax):
        ledger = Ledger(1.0, neighbours="replace")
        with pytest.raises(InputError, match="leave monotone out"):
            kind(epsilon=1.0, monotone=True).choose({"a": 1, "b": 2}, ledger, "which?")
        assert not ledger.entries


# --------------------------------------------------------------------------- responses


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, math.log(3), 5.0, 100.0])
@pytest.mark.parametrize("answers", [(True, False), tuple("abcdefgh")])
def test_responses_lose_no_more_than_epsilon(epsilon: float, answers: tuple[Any, ...]) -> None:
    mechanism = RandomisedResponse(epsilon=epsilon, answers=answers)
    ratio = Fraction(mechanism.lots[0][0], mechanism.lots[0][1])
    assert math.log(ratio.numerator) - math.log(ratio.denominator) <= epsilon * (1 + 1e-15) + 1e-15
    assert math.log(ratio) >= epsilon - 1e-11
    assert len({sum(line) for line in mechanism.lots}) == 1


@given(st.integers(1, 99))
def test_two_coins_lose_what_they_say(percent: int) -> None:
    mechanism = TwoCoinResponse.of_coin(Fraction(percent, 100))
    (yes, no), (lie, truth) = mechanism.lots
    assert yes + no == lie + truth
    worst = max(math.log(Fraction(yes, lie)), math.log(Fraction(truth, no)))
    assert worst <= mechanism.epsilon <= worst + 1e-12


def test_responses_are_drawn_and_estimated_without_bias() -> None:
    mechanism, words = RandomisedResponse(epsilon=1.0, answers=tuple("abc")), seeded_words(2)
    drawn = np.bincount([mechanism.draw_place(1, words) for _ in range(5000)], minlength=3)
    assert fits(drawn, mechanism.probabilities()[1])
    exact = {"a": 600, "b": 300, "c": 100}
    expected = mechanism.probabilities().T @ np.array(list(exact.values()))
    reports = [
        name for name, count in zip("abc", expected, strict=True) for _ in range(round(count))
    ]
    assert mechanism.estimate(reports) == pytest.approx(exact, abs=3)


def test_reports_of_many_people_cost_epsilon_once() -> None:
    ledger = Ledger(1.0, neighbours="replace")
    reports = RandomisedResponse(epsilon=1.0).report_all([True] * 50, ledger, "do you smoke?")
    assert len(reports) == 50
    assert ledger.left.amount == 0
    with pytest.raises(InputError, match="neighbours replace"):
        RandomisedResponse(epsilon=1.0).report(True, Ledger(1.0), "do you smoke?")


def test_whole_numbers_below_a_bound_are_uniform() -> None:
    words = seeded_words(4)
    drawn = np.bincount([number_below(5, words) for _ in range(5000)], minlength=5)
    assert fits(drawn, np.full(5, 0.2))
    huge = [number_below(3 << (2 * WORD), words) for _ in range(300)]
    assert max(huge) < 3 << (2 * WORD)
    assert len({number >> (2 * WORD) for number in huge}) == 3


# --------------------------------------------------------------------------- vectors


@given(st.lists(st.floats(-50, 50), min_size=6, max_size=6))
def test_the_density_of_a_vector_changes_by_no_more_than_epsilon(numbers: list[float]) -> None:
    mechanism = Vector(epsilon=1.5, sensitivity=2.0, size=3)
    noise, direction = np.array(numbers[:3]), np.array(numbers[3:])
    length = np.linalg.norm(direction)
    if length:
        direction = direction / length
    loss = mechanism.log_density(noise) - mechanism.log_density(noise + 2.0 * direction)
    assert abs(float(loss)) <= 1.5 * (1 + SLACK)


def test_the_density_of_a_vector_adds_up() -> None:
    mechanism = Vector(epsilon=1.0, size=2)
    line = np.linspace(-40, 40, 1601)
    grid = np.stack(np.meshgrid(line, line), axis=-1)
    assert np.exp(mechanism.log_density(grid)).sum() * 0.05**2 == pytest.approx(1.0, abs=2e-3)


def test_vectors_have_gamma_lengths_and_any_direction() -> None:
    mechanism, words = Vector(epsilon=1.0, sensitivity=1.0, size=3), seeded_words(5)
    zero = [Fraction(0)] * 3
    drawn = np.array([mechanism.draw_steps(zero, words) for _ in range(300)]) * float(
        mechanism.step
    )
    lengths = np.linalg.norm(drawn, axis=1)
    # P(length <= x) of Gamma(3, 1) is 1 - exp(-x) (1 + x + x^2 / 2).
    shares = -np.expm1(-lengths) - np.exp(-lengths) * (lengths + lengths**2 / 2)
    assert fits(np.bincount((shares * 5).astype(int), minlength=5), np.full(5, 0.2))
    # In three dimensions every coordinate of a random direction is uniform.
    for coordinate in (drawn / lengths[:, None]).T:
        places = np.floor((coordinate + 1) / 2 * 5).astype(int)
        assert fits(np.bincount(places, minlength=5), np.full(5, 0.2))
