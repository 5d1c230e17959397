"""Limits of mechanisms: the last value that is allowed is taken, and the next one is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import log_ndtr

from limits import above, assert_limits, below
from understudy import InputError, Ledger
from understudy.mechanisms import (
    Exponential,
    GaussianMechanism,
    Geometric,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    RandomisedResponse,
    SparseVector,
    Staircase,
    TwoCoinResponse,
    Vector,
    compose,
    compose_disjoint,
    compose_zcdp,
)
from understudy.mechanisms.base import (
    check_scale,
    check_sensitivity,
    check_size,
    check_whole_sensitivity,
    sensitivity_as_fraction,
)
from understudy.mechanisms.gaussian import log_normal_cdf
from understudy.mechanisms.grid import check_numbers, count_moved_steps, put_on_grid, take_off_grid
from understudy.mechanisms.responses import two_coin_epsilon

LIMITS = {
    "sensitivity": (
        check_sensitivity,
        [1e-100, 1, 1e100],
        [0, -1.0, below(1e-100), above(1e100), math.inf, math.nan, True, "1"],
    ),
    "whole sensitivity": (check_whole_sensitivity, [1, 1 << 40], [0, (1 << 40) + 1, 1.0, True]),
    "size": (check_size, [1, 10**6], [0, 10**6 + 1, 1.0, True]),
    "scale": (lambda scale: check_scale(scale, 1.0), [2.0**50], [above(2.0**50)]),
    "size of a vector": (
        lambda size: Vector(epsilon=1.0, size=size),
        [1, 10_000],
        [0, 10_001],
    ),
    "threshold": (
        lambda threshold: SparseVector(epsilon=1.0, threshold=threshold),
        [1 << 60, -(1 << 60), 0],
        [(1 << 60) + 1, -(1 << 60) - 1, 0.0, True],
    ),
    "answers above": (
        lambda number: SparseVector(epsilon=1.0, threshold=0, max_above=number),
        [1, 10_000],
        [0, 10_001, 1.0, True],
    ),
    "epsilon of randomised response": (
        lambda epsilon: RandomisedResponse(epsilon=epsilon),
        [100.0],
        [above(100.0)],
    ),
    "answers of randomised response": (
        lambda answers: RandomisedResponse(epsilon=1.0, answers=answers),
        [range(2), range(10_000)],
        [(), (1,), range(10_001), (1, 1), (1, 2, 1)],
    ),
    "heads": (
        TwoCoinResponse.of_coin,
        [Fraction(1, 10**6), 1 - Fraction(1, 10**6)],
        [Fraction(1, 10**6 + 1), 1 - Fraction(1, 10**6 + 1), 0, 1, "x", "1/0"],
    ),
    "price of a coin": (
        lambda epsilon: TwoCoinResponse(epsilon=epsilon, heads=Fraction(1, 2)),
        [two_coin_epsilon(Fraction(1, 2)), 2.0],
        [below(two_coin_epsilon(Fraction(1, 2)))],
    ),
    "first stair": (
        lambda width: Staircase(epsilon=1.0, width=width),
        [1e-9, 1, None],
        [0.0, -0.5, above(1.0), math.nan],
    ),
    "rho": (
        lambda rho: GaussianMechanism.for_rho(rho, delta=1e-12),
        [1e-15, 100.0],
        [below(1e-15), above(1e6), 0.0, math.nan, True],
    ),
    "rhos that add up": (
        lambda rho: compose_zcdp([0.1, rho], 1e-6),
        [0, 0.1],
        [-0.1, math.inf, math.nan, True, "1"],
    ),
    "delta of zCDP": (lambda delta: compose_zcdp([0.1], delta), [1e-6], [0.0]),
    "delta of Gaussian noise": (
        lambda delta: GaussianMechanism(epsilon=1.0, delta=delta),
        [1e-6],
        [0.0],
    ),
    "one number": (check_numbers, [1, [1], 2.5], [[1, 2], [[1]], "1", True, math.nan, math.inf]),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_the_last_value_is_taken_and_the_next_is_not(name: str) -> None:
    assert_limits(*LIMITS[name])


def test_noise_too_wide_to_be_drawn_is_refused_by_every_mechanism() -> None:
    for make in (
        lambda: Laplace(epsilon=1e-12, size=10**6),
        lambda: GaussianMechanism(epsilon=1e-12, delta=1e-12, size=10**6),
        lambda: SparseVector(epsilon=1e-12, threshold=0, max_above=10_000),
        lambda: Staircase(epsilon=1e-12),
    ):
        assert_limits(lambda make: make(), [], [make])


def test_a_sensitivity_is_the_larger_of_what_is_written_and_what_is_stored() -> None:
    assert sensitivity_as_fraction(0.1) == Fraction(0.1) > Fraction(1, 10)
    assert sensitivity_as_fraction(0.3) == Fraction(3, 10) > Fraction(0.3)


def test_numbers_are_put_on_the_nearest_step_and_moved_in_from_far_away() -> None:
    step = Fraction(1, 4)
    assert put_on_grid([0.3, 0.125, -0.125, 1e30, -1e30], step, 5).tolist() == [
        1, 1, 0, 1 << 60, -(1 << 60),
    ]  # fmt: skip
    assert take_off_grid(np.array([3, -2]), step).tolist() == [0.75, -0.5]
    assert count_moved_steps() == (1 << 20) + 2
    assert count_moved_steps(3) == 3 * ((1 << 20) + 2)


def test_scores_are_moved_in_from_beyond_what_floats_hold_exactly() -> None:
    choice = Exponential(epsilon=1.0, sensitivity=1.0)
    assert choice.probabilities({"a": 1e20, "b": 0.0})["a"] == pytest.approx(1.0)
    assert choice.probabilities({"a": 1e20, "b": 1e21}) == {"a": 0.5, "b": 0.5}


def test_counts_too_far_apart_have_no_exact_probabilities() -> None:
    largest = NoisyMax(epsilon=1.0)
    apart = (1 << 22) - 1 - 2 * (math.ceil(45 * largest.scale) + 2)
    assert_limits(lambda gap: largest.probabilities({"a": 0, "b": gap}), [], [apart + 1])


@pytest.mark.parametrize(
    ("kind", "facts", "wrong"),
    [
        (Geometric, {}, [("sensitivity", 0), ("sensitivity", 1.5)]),
        (Laplace, {}, [("sensitivity", 0.0), ("size", 0)]),
        (GaussianMechanism, {"delta": 1e-6}, [("sensitivity", 0.0), ("size", 0), ("delta", 1.0)]),
        (Staircase, {}, [("sensitivity", 0.0)]),
        (Vector, {}, [("sensitivity", 0.0), ("size", 0)]),
        (Exponential, {}, [("sensitivity", 0.0)]),
        (PermuteAndFlip, {}, [("sensitivity", 0.0)]),
        (NoisyMax, {}, [("sensitivity", 0), ("sensitivity", 1.5)]),
        (SparseVector, {"threshold": 1}, [("sensitivity", 0), ("sensitivity", 1.5)]),
        (RandomisedResponse, {}, []),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_every_mechanism_checks_what_it_is_given(kind: Any, facts: Any, wrong: Any) -> None:
    kind(epsilon=1.0, **facts)
    for name, value in [("epsilon", 0.0), ("epsilon", math.nan), *wrong]:
        with pytest.raises(InputError):
            kind(**({"epsilon": 1.0} | facts | {name: value}))


@pytest.mark.parametrize("compose_prices", [compose, compose_disjoint])
def test_prices_that_are_composed_are_checked(compose_prices: Any) -> None:
    assert_limits(
        compose_prices,
        [[(0.1, 0.0), (0.2, 0.5)]],
        [[], [(0.1, 0.0), (-0.1, 0.0)], [(0.1, 1.0)], [(math.nan, 0.0)]],
    )


@pytest.mark.parametrize(
    "mechanism",
    [
        Exponential(epsilon=1.0, monotone=True),
        PermuteAndFlip(epsilon=1.0, monotone=True),
        NoisyMax(epsilon=1.0, monotone=True),
        SparseVector(epsilon=1.0, threshold=1, monotone=True),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_monotone_scores_go_with_rows_that_come_or_go(mechanism: Any) -> None:
    mechanism.check_ledger(Ledger(1.0))
    with pytest.raises(InputError):
        mechanism.check_ledger(Ledger(1.0, neighbours="replace"))


@pytest.mark.parametrize("x", [-19.9, -20.0, -20.1, -25.0, -37.0, -40.0, -100.0, -1e4])
def test_logarithms_of_far_tails_are_right_to_nearly_all_digits(x: float) -> None:
    """Below -20 by a series, where the tail itself would soon be 0."""
    assert log_normal_cdf(x) == pytest.approx(float(log_ndtr(x)), rel=1e-14, abs=0)
