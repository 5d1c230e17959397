"""Noise and choice have the distributions that the proofs assume, at the scales that the budget
buys.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import coded, every_kind_schema, every_kind_table
from understudy import Independent, InputError, Ledger
from understudy.privacy.budget import Budget, Currency, opendp
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import (
    SCORE_GRID,
    ChoiceRule,
    Noise,
    SeededNoise,
    SystemNoise,
    choice_scale,
    gaussian_scale,
    laplace_scale,
    mean_integer_noise,
    opendp_gaussian,
    opendp_laplace,
    round_to_grid,
    table_scale,
)

FALSE_ALARM = 1e-9
DRAWS = 28_000


def chi_squared(observed: Any, probabilities: Any) -> tuple[float, float]:
    """The statistic, and a limit that it exceeds with at most FALSE_ALARM where the probabilities
    are right.

    Neighbouring cells are joined until each expects a twentieth of the draws, or 50 of them where
    there are few cells: a cell that expects next to nothing would raise false alarms. The limit is
    Laurent and Massart's (2000, lemma 1).
    """
    expected = np.asarray(probabilities) * np.sum(observed)
    enough = max(expected.sum() / 20, 50.0) if len(expected) > 20 else 50.0
    cells, gathered = np.zeros(len(expected), dtype=int), 0.0
    for place, weight in enumerate(expected):
        # The rest must be enough for a cell of its own, too.
        begin = gathered >= enough and expected[place:].sum() >= enough
        cells[place] = (cells[place - 1] if place else 0) + begin
        gathered = weight + (0.0 if begin else gathered)
    o, e = np.bincount(cells, observed), np.bincount(cells, expected)
    freedom, x = len(e) - 1, math.log(1 / FALSE_ALARM)
    return float(((o - e) ** 2 / e).sum()), freedom + 2 * math.sqrt(freedom * x) + 2 * x


def discrete(kind: str, scale: float, reach: int) -> Any:
    """Probabilities of -reach ... reach, the outermost with all that lies beyond."""
    wide = np.arange(-50 * reach, 50 * reach + 1)
    weights = (
        np.exp(-np.abs(wide) / scale)
        if kind == "laplace"
        else np.exp(-(wide.astype(float) ** 2) / (2 * scale**2))
    )
    return np.bincount(np.clip(wide, -reach, reach) + reach, weights / weights.sum())


def noise_counts(noise: Noise, kind: str, scale: float, reach: int) -> Any:
    """How often each noise value came, with the table on its own base count so that an offset would
    show.
    """
    table = np.full((DRAWS // 8, 8), 1000)
    drawn = getattr(noise, kind)(table, scale) - 1000
    assert drawn.shape == table.shape
    assert drawn.dtype == np.int64
    return np.bincount(np.clip(drawn, -reach, reach).ravel() + reach, minlength=2 * reach + 1)


@pytest.mark.parametrize(
    ("make", "kind", "scale"),
    [
        (SystemNoise, "laplace", 0.7),
        (SystemNoise, "laplace", 40.0),
        (SystemNoise, "gaussian", 0.9),
        (SystemNoise, "gaussian", 60.0),
        (lambda: SeededNoise(1), "laplace", 3.0),
        (lambda: SeededNoise(2), "gaussian", 60.0),
    ],
)
def test_noise_has_its_distribution_and_a_scale_that_is_a_tenth_off_would_show(
    make: Any, kind: str, scale: float
) -> None:
    reach = math.ceil(5 * scale)
    counts = noise_counts(make(), kind, scale, reach)
    statistic, limit = chi_squared(counts, discrete(kind, scale, reach))
    assert statistic < limit
    for wrong in (scale / 1.1, scale * 1.1):
        statistic, limit = chi_squared(counts, discrete(kind, wrong, reach))
        assert statistic > limit


def test_system_noise_is_fresh_every_time() -> None:
    table = np.zeros(1000, dtype=np.int64)
    first, second = SystemNoise().laplace(table, 50.0), SystemNoise().laplace(table, 50.0)
    assert (first != second).any()


# --------------------------------------------------------------------------- choice

SCORES = np.array([0.0, 4.0, 6.0, 7.0])
SCALE = 2.0


def exponential(scores: Any, scale: float) -> Any:
    weights = np.exp(scores / scale)
    return weights / weights.sum()


def permute_and_flip(scores: Any, scale: float) -> Any:
    stop = np.exp((scores - scores.max()) / scale)
    chances = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        going = 1.0 / len(orders)
        for place in order:
            chances[place] += going * stop[place]
            going *= 1 - stop[place]
    assert chances.sum() == pytest.approx(1)
    return chances


@pytest.mark.parametrize(
    ("rule", "theory"), [("exponential", exponential), ("permute_and_flip", permute_and_flip)]
)
@pytest.mark.parametrize("make", [SystemNoise, lambda: SeededNoise(3)])
def test_choices_have_their_exact_probabilities(rule: ChoiceRule, theory: Any, make: Any) -> None:
    noise = make()
    chosen = np.bincount([noise.choose(SCORES, SCALE, rule) for _ in range(4000)], minlength=4)
    statistic, limit = chi_squared(chosen, theory(SCORES, SCALE))
    assert statistic < limit
    for wrong in (theory(SCORES, SCALE / 1.5), theory(SCORES, SCALE * 1.5), np.full(4, 0.25)):
        statistic, limit = chi_squared(chosen, wrong)
        assert statistic > limit


def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism() -> None:
    assert permute_and_flip(SCORES, SCALE) @ SCORES > exponential(SCORES, SCALE) @ SCORES


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        SystemNoise().choose(np.array([0.0, bad]), 1.0, "permute_and_flip")


# --------------------------------------------------------------------------- calibration


@settings(max_examples=30)
@given(sensitivity=st.integers(1, 50), epsilon=st.floats(1e-6, 50))
def test_the_laplace_scale_is_the_smallest_that_opendp_vouches_for(
    sensitivity: int, epsilon: float
) -> None:
    scale = laplace_scale(sensitivity, epsilon)
    assert opendp_laplace(scale).map(sensitivity) <= epsilon
    assert scale == pytest.approx(sensitivity / epsilon, rel=1e-12)


@settings(max_examples=30)
@given(sensitivity=st.floats(0.5, 50), rho=st.floats(1e-9, 50))
def test_the_gaussian_scale_is_the_smallest_that_opendp_vouches_for(
    sensitivity: float, rho: float
) -> None:
    scale = gaussian_scale(sensitivity, rho)
    assert opendp_gaussian(scale).map(sensitivity) <= rho
    assert scale == pytest.approx(sensitivity / math.sqrt(2 * rho), rel=1e-12)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_the_noise_of_a_table_covers_the_cells_that_one_row_touches(
    neighbours: Any, currency: Any
) -> None:
    cost = Budget(0.3, currency)
    cells = {"add_remove": 1, "replace": 2}[neighbours]
    scale = table_scale(cost, neighbours)
    if currency == "epsilon":
        assert opendp_laplace(scale).map(cells) <= 0.3
        assert scale == pytest.approx(cells / 0.3)
    else:
        assert opendp_gaussian(scale).map(math.nextafter(math.sqrt(cells), math.inf)) <= 0.3 * (
            1 + 1e-12
        )
        assert scale == pytest.approx(math.sqrt(cells / 0.6))


@given(amount=st.floats(1e-6, 20))
def test_the_scale_of_a_choice_satisfies_opendp_for_both_rules(amount: float) -> None:
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.linf_distance(T="f64")

    def price(measure: Any, scale: float) -> float:
        choice = dp.m.make_noisy_max(*space, measure, scale=scale)
        return float(choice.map(float(SCORE_GRID + 2)))

    assert price(dp.max_divergence(), choice_scale(amount, "epsilon")) <= amount
    assert price(dp.zero_concentrated_divergence(), choice_scale(amount, "rho")) <= amount
    assert choice_scale(amount, "epsilon") == pytest.approx(2 * SCORE_GRID / amount, rel=1e-5)


@given(
    scores=st.lists(st.floats(0, 1e6), min_size=1, max_size=8),
    moves=st.lists(st.floats(-1, 1), min_size=8, max_size=8),
    sensitivity=st.floats(0.1, 60),
)
def test_gridded_scores_of_neighbours_differ_by_at_most_the_grid_and_two(
    scores: list[float], moves: list[float], sensitivity: float
) -> None:
    here = np.array(scores)
    there = here + np.array(moves[: len(scores)]) * sensitivity
    gap = np.abs(round_to_grid(here, sensitivity) - round_to_grid(there, sensitivity)).max()
    assert gap <= SCORE_GRID + 2
    assert (round_to_grid(here, sensitivity) == np.rint(round_to_grid(here, sensitivity))).all()


def test_a_score_that_moves_by_its_whole_sensitivity_moves_by_the_whole_grid() -> None:
    moved = round_to_grid(np.array([10.0, 12.0]), 2.0)
    assert moved[1] - moved[0] == SCORE_GRID


# --------------------------------------------------------------------------- seeds


def test_seeded_noise_is_repeatable() -> None:
    table = np.arange(100)

    def everything(seed: int) -> list[Any]:
        noise = SeededNoise(seed)
        return [
            noise.laplace(table, 3.0).tolist(),
            noise.gaussian(table, 3.0).tolist(),
            [noise.choose(SCORES, SCALE, "exponential") for _ in range(20)],
            [noise.choose(SCORES, SCALE, "permute_and_flip") for _ in range(20)],
        ]

    assert everything(7) == everything(7)
    assert everything(7) != everything(8)


def test_a_seeded_curator_marks_its_ledger_as_not_private() -> None:
    ledger = Ledger(1.0)
    CentralCurator(coded(10), ledger, SeededNoise(0))
    assert ledger.private is False
    assert ledger.to_dict()["private"] is False


def test_a_seeded_model_says_everywhere_that_it_is_not_private() -> None:
    method = Independent(epsilon=1.0)
    model = method.fit(
        every_kind_table(), every_kind_schema(), noise=SeededNoise(0), notify=lambda _: None
    )
    assert model.to_dict()["ledger"]["private"] is False
    assert "NOT PRIVATE" in model._repr_html_()
    honest = method.fit(every_kind_table(), every_kind_schema(), notify=lambda _: None)
    assert honest.to_dict()["ledger"]["private"] is True


@pytest.mark.parametrize("amount", [0.05, 1.0, 10.0, 1e6])
@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_mean_integer_noise_is_that_of_whole_numbers(currency: Any, amount: float) -> None:
    cost = Budget(amount, currency)
    scale = table_scale(cost, "add_remove", 1)
    sizes = np.arange(-2000, 2001)
    weights = np.exp(-np.abs(sizes) / scale)
    if currency == "rho":
        weights = np.exp(-0.5 * (sizes / scale) ** 2)
    expected = float((np.abs(sizes) * weights).sum() / weights.sum())
    assert mean_integer_noise(cost, "add_remove") == pytest.approx(expected, rel=0.02, abs=1e-300)
    assert mean_integer_noise(cost, "add_remove") > 0


@pytest.mark.parametrize("currency", ["epsilon", "rho", "gdp"])
@pytest.mark.parametrize("amount", [0.0, 5e-324])
def test_what_is_asked_for_next_to_nothing_is_refused_in_a_sentence(
    currency: Currency, amount: float
) -> None:
    """An error of arithmetic would close a holder, and leave an owner with a traceback."""
    with pytest.raises(InputError, match="more budget"):
        table_scale(Budget(amount, currency), "add_remove")
    if amount == 0 or currency == "epsilon":
        with pytest.raises(InputError, match="more budget"):
            choice_scale(amount, currency)
