"""Bounds hold as often as they say, and exact losses are those of the distributions."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.auditing.blackbox import black_box, tell_apart
from understudy.auditing.bounds import (
    clopper_pearson,
    draw_log_probabilities,
    epsilon_bound,
    gaussian_rho,
    laplace_loss,
    mu_bound,
    renyi_rho,
)
from understudy.mechanisms.distributions import (
    choice_log_probabilities,
    discrete_gaussian_log_pmf,
    discrete_laplace_log_pmf,
    gaussian_tail,
    laplace_tail,
)


@pytest.mark.parametrize(
    ("hits", "runs", "low", "high"),
    # Clopper-Pearson intervals of 95 % on both sides, from published tables.
    [(0, 10, 0.0, 0.3085), (1, 10, 0.0025, 0.4450), (5, 10, 0.1871, 0.8129), (10, 10, 0.6915, 1.0)],
)
def test_clopper_pearson_is_as_in_the_tables(hits: int, runs: int, low: float, high: float) -> None:
    assert clopper_pearson(hits, runs, 0.975) == pytest.approx((low, high), abs=6e-5)


def test_clopper_pearson_covers() -> None:
    rng = np.random.default_rng(1)
    for p in (0.01, 0.3, 0.97):
        bounds = [clopper_pearson(int(hits), 200, 0.95) for hits in rng.binomial(200, p, 4000)]
        assert np.mean([low <= p for low, _ in bounds]) >= 0.945
        assert np.mean([high >= p for _, high in bounds]) >= 0.945


@pytest.mark.parametrize("arguments", [(-1, 10), (11, 10), (0, 0)])
def test_impossible_counts_are_refused(arguments: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="no more hits than runs"):
        clopper_pearson(*arguments, 0.9)


def test_a_bound_on_epsilon_is_rarely_too_large() -> None:
    """Randomised response at epsilon 1: at 90 % confidence at most one bound in ten may be
    above 1.
    """
    rng = np.random.default_rng(2)
    share = math.e / (1 + math.e)
    hits, others = rng.binomial(400, share, 3000), rng.binomial(400, 1 - share, 3000)
    bounds = [
        epsilon_bound(int(a), 400, int(b), 400, 0.9) for a, b in zip(hits, others, strict=True)
    ]
    assert np.mean(np.array(bounds) > 1) <= 0.1
    assert np.median(bounds) > 0.6


def test_a_bound_on_epsilon_leaves_delta_out() -> None:
    assert epsilon_bound(30, 1000, 0, 1000) > 0.5
    assert epsilon_bound(30, 1000, 0, 1000, delta=0.05) == 0


def test_a_bound_on_mu_is_close_and_rarely_too_large() -> None:
    rng = np.random.default_rng(3)
    bounds = []
    for _ in range(200):
        a, b = rng.normal(0, 1, 1000) > 0.5, rng.normal(1, 1, 1000) > 0.5
        bounds.append(mu_bound(int(a.sum()), 1000, int(b.sum()), 1000, 0.9))
    assert np.mean(np.array(bounds) > 1) <= 0.1
    assert 0.75 < np.median(bounds) < 1


def test_noise_probabilities_sum_to_one_and_their_ratios_are_the_loss() -> None:
    values = np.arange(-400, 401)
    for log_pmf, scale in ((discrete_laplace_log_pmf, 3.0), (discrete_gaussian_log_pmf, 5.0)):
        assert np.exp(log_pmf(values, scale)).sum() == pytest.approx(1)
    ratio = discrete_laplace_log_pmf(values, 3.0) - discrete_laplace_log_pmf(values - 2, 3.0)
    assert np.abs(ratio).max() == pytest.approx(laplace_loss(np.array([7]), np.array([9]), 3.0))
    near = np.arange(-60, 61)
    p, q = discrete_gaussian_log_pmf(near, 5.0), discrete_gaussian_log_pmf(near - 2, 5.0)
    divergence = np.log(np.exp(2 * p - q).sum())  # of order 2
    assert divergence / 2 == pytest.approx(gaussian_rho(np.array([7]), np.array([9]), 5.0))


@pytest.mark.parametrize(
    ("tail", "log_pmf"),
    [(laplace_tail, discrete_laplace_log_pmf), (gaussian_tail, discrete_gaussian_log_pmf)],
)
def test_tails_are_sums_of_probabilities(tail: Any, log_pmf: Any) -> None:
    values = np.arange(-500, 501)
    for reach in (1, 4, 15):
        assert tail(reach, 3.0) == pytest.approx(
            np.exp(log_pmf(values, 3.0))[values >= reach].sum()
        )


def test_draws_are_in_proportion_to_counts_and_what_is_added() -> None:
    assert np.exp(draw_log_probabilities(np.array([0.0, 3.0]), 0.5)) == pytest.approx(
        [0.125, 0.875]
    )


@pytest.mark.parametrize(("scale", "more"), [(1.0, 0.05), (3.0, 0.006), (20.0, 0.0002)])
def test_the_mu_of_a_discrete_gaussian_is_nearly_that_of_a_gaussian(
    scale: float, more: float
) -> None:
    """The best threshold tells two counts apart as mu = distance / scale says, and a little better
    at small scales.
    """
    normal = NormalDist()
    tails = [
        (gaussian_tail(cut, scale), gaussian_tail(cut - 1, scale))
        for cut in range(1, math.ceil(2 * scale) + 1)
    ]
    best = max(normal.inv_cdf(1 - false) - normal.inv_cdf(1 - true) for false, true in tails)
    assert 1 <= best * scale <= 1 + more


def test_permute_and_flip_is_what_going_through_all_orders_gives() -> None:
    scores, scale = np.array([0.0, 4.0, 6.0, 7.0, 7.0]), 2.0
    stop = np.exp((scores - scores.max()) / scale)
    chances = np.zeros(5)
    for order in itertools.permutations(range(5)):
        going = 1 / math.factorial(5)
        for place in order:
            chances[place] += going * stop[place]
            going *= 1 - stop[place]
    assert np.exp(choice_log_probabilities(scores, scale, "permute_and_flip")) == pytest.approx(
        chances, rel=1e-12
    )


@pytest.mark.parametrize("rule", ["exponential", "permute_and_flip"])
def test_choice_probabilities_sum_to_one_for_many_and_far_candidates(rule: str) -> None:
    scores = np.concatenate([np.linspace(0, 5, 800), [-2000.0]])
    logs = choice_log_probabilities(scores, 1.0, rule)  # type: ignore[arg-type]
    assert np.exp(logs).sum() == pytest.approx(1)
    assert math.isfinite(logs[-1])


def test_the_rho_of_a_gaussian_is_found() -> None:
    values = np.arange(-200, 202)
    found = renyi_rho(
        discrete_gaussian_log_pmf(values, 10.0), discrete_gaussian_log_pmf(values - 1, 10.0)
    )
    assert found == pytest.approx(1 / 200, rel=1e-3)


@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=30),
    st.sampled_from([0.01, 1.0, 700.0]),
    st.integers(0, 2**32 - 1),
)
def test_the_rho_of_a_choice_is_that_of_the_sum_over_all_candidates(
    differences: list[int], scale: float, seed: int
) -> None:
    scores = np.random.default_rng(seed).integers(0, 2000, len(differences)) / scale
    log_p, log_q = (
        choice_log_probabilities(values, 1.0, "exponential")
        for values in (scores, scores + np.array(differences) / scale)
    )
    orders = 1 + np.geomspace(1e-4, 1e3, 400)[:, None]
    both = [
        np.logaddexp.reduce(orders * p + (1 - orders) * q, axis=1) / (orders - 1)[:, 0]
        for p, q in ((log_p, log_q), (log_q, log_p))
    ]
    expected = max(0.0, *((each / orders[:, 0]).max() for each in both))
    assert renyi_rho(log_p, log_q) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_a_black_box_finds_most_of_the_loss_and_no_more() -> None:
    rng = np.random.default_rng(4)
    found = tell_apart(*(rng.laplace(count, 1, 20_000).round(3) for count in (0, 1)))
    assert 0.8 < found.epsilon <= 1
    gaussian = tell_apart(*(rng.normal(count, 1, 20_000).round(3) for count in (0, 1)))
    assert 0.6 < gaussian.mu <= 1


def test_a_black_box_learns_what_no_feature_shows_alone() -> None:
    """Two noisy values whose difference tells: each by itself is drowned in noise that they
    share.
    """
    rng = np.random.default_rng(6)
    shared, apart = rng.normal(0, 50, (2, 6000, 1)), rng.normal(0, 1, (2, 6000, 2))
    here, there = shared + apart
    assert (
        tell_apart(here, there + np.array([0.0, 3.0])).epsilon
        > tell_apart(here, there).epsilon + 0.5
    )


def test_a_black_box_looks_at_the_last_digits() -> None:
    """A value that is 1 and noise has no digits that noise alone may have; where both are rounded
    nothing shows.
    """
    rng = np.random.default_rng(6)
    here, there = rng.laplace(size=6000), 1 + rng.laplace(size=6000)
    assert tell_apart(here, there).epsilon > 3
    assert tell_apart(here.round(3), there.round(3)).epsilon < 1


def test_a_black_box_takes_turns() -> None:
    """A counter grows from run to run, whatever the table is; it does not tell the tables apart."""
    seen: list[str] = []

    def counter(table: str) -> int:
        seen.append(table)
        return len(seen)

    assert black_box(counter, "a", "b", runs=200).epsilon < 0.3
    assert seen == ["a", "b"] * 200


@pytest.mark.parametrize("runs", [10, 60, 600])
def test_no_test_can_show_more_than_the_limit(runs: int) -> None:
    perfect = black_box(float, 0, 1, runs=runs)
    assert (perfect.epsilon, perfect.mu) == (perfect.epsilon_limit, perfect.mu_limit)
    assert perfect.epsilon_limit == epsilon_bound(perfect.runs, perfect.runs, 0, perfect.runs)
    assert (perfect.epsilon_limit > 1) == (runs >= 60)


def test_a_black_box_sees_that_the_number_of_features_differs() -> None:
    found = black_box(lambda categories: np.zeros(categories), 3, 4, runs=1000)
    assert found.epsilon > 4


def test_a_black_box_finds_nothing_where_there_is_nothing() -> None:
    rng = np.random.default_rng(5)
    assert tell_apart(rng.normal(size=(2000, 4)), rng.normal(size=(2000, 4))).epsilon < 0.3
    assert black_box(lambda table: 1.0, 0, 1, runs=100).epsilon < 0.3
    with pytest.raises(ValueError, match="at least two runs"):
        tell_apart(np.zeros(1), np.zeros(1))
