"""Intervals that hold what they say: the noise is known exactly, so this can be counted."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from asked_people import SCHEMA, Repeatedly, function_of, people

from understudy import Ledger
from understudy.asking.intervals import KnownNoise, ShareIntervals, variance_interval
from understudy.privacy import exact_noise

RUNS = 400
ENOUGH = 354
"""Of 400 runs, 380 hold at 95 %; fewer than 354 have a probability below 1e-7."""

FEW, MANY = people(60), people(1500)


def exact(text: str, frame: Any) -> float:
    ages = frame.age.clip(0, 99)
    return float(
        {
            "count where age > 50": (frame.age > 50).sum(),
            "share where age > 50": (frame.age > 50).mean(),
            "sum age": ages.sum(),
            "mean age": ages.mean(),
            "mean age where sex = 'f'": ages[frame.sex == "f"].mean(),
            "variance age": ages.var(ddof=0),
            "std age": ages.std(ddof=0),
            "median age": np.median(ages),
            "quantile 0.9 age": np.sort(ages)[math.ceil(0.9 * len(ages)) - 1],
            "max age": ages.max(),
            "min age": ages.min(),
        }[text]
    )


QUESTIONS = (
    "count where age > 50",
    "share where age > 50",
    "sum age",
    "mean age",
    "mean age where sex = 'f'",
    "variance age",
    "std age",
    "median age",
    "quantile 0.9 age",
    "max age",
    "min age",
)
"""The first seven have noise added to them; the others are choices."""

LEDGERS: dict[str, Any] = {
    "epsilon": {"epsilon": 0.7},
    "replace": {"epsilon": 0.7, "neighbours": "replace"},
    "delta": {"epsilon": 0.7, "delta": 1e-6, "currency": "rho"},
    "large epsilon": {"epsilon": 6.0},
}


MOMENTS = ("variance age", "std age")
"""These take longest."""

TABLES = {"few": FEW, "many": MANY}


@cache
def answers_to(text: str, table: str, guarantee: str) -> list[Any]:
    """The answers of all runs."""
    ledger = Ledger(**LEDGERS[guarantee])
    return [one for [one] in Repeatedly(TABLES[table], text, ledger, SCHEMA).answers(RUNS)]


def held(text: str, table: str, guarantee: str) -> int:
    """In how many runs the interval held the exact answer; values lie in their intervals."""
    truth, count = exact(text, TABLES[table]), 0
    for answer in answers_to(text, table, guarantee):
        assert answer.low <= answer.high
        assert answer.value is None or answer.low <= answer.value <= answer.high
        count += answer.low - 1e-9 <= truth <= answer.high + 1e-9
    return count


@pytest.mark.thorough
@pytest.mark.parametrize("text", [text for text in QUESTIONS if text != "variance age"])
def test_an_interval_holds_the_truth(text: str) -> None:
    assert held(text, "many", "epsilon") >= ENOUGH


@pytest.mark.thorough
@pytest.mark.parametrize("text", [text for text in QUESTIONS if text not in MOMENTS])
def test_an_interval_holds_the_truth_of_few_rows(text: str) -> None:
    assert held(text, "few", "epsilon") >= ENOUGH


FURTHER = [(text, name) for name in LEDGERS for text in QUESTIONS if name != "epsilon"]
FURTHER += [(text, "epsilon") for text in MOMENTS]


@pytest.mark.thorough
@pytest.mark.parametrize(("text", "guarantee"), FURTHER)
def test_an_interval_holds_the_truth_under_every_guarantee(text: str, guarantee: str) -> None:
    assert held(text, "few", guarantee) >= ENOUGH


@pytest.mark.thorough
@pytest.mark.parametrize("guarantee", LEDGERS)
@pytest.mark.parametrize("bounds", ["0 to 100", "-100 to 100"])
def test_the_interval_of_a_sum_holds_what_is_rounded_off(guarantee: str, bounds: str) -> None:
    """All rows lie just below the middle of two points of the grid, and count as the lower one."""
    frame = pd.DataFrame({"x": np.full(30_000, 0.024)})
    repeated = Repeatedly(frame, f"sum x from {bounds}", Ledger(**LEDGERS[guarantee]))
    count = 0
    for [answer] in repeated.answers(RUNS):
        count += answer.low <= frame.x.sum() <= answer.high
    assert count >= ENOUGH


def test_a_sum_of_whole_numbers_pays_for_no_rounding() -> None:
    [exactly, rounded] = [
        function_of("sum age from 0 to 99", Ledger(1.0), schema) for schema in (SCHEMA, None)
    ]
    assert exactly.expect().error == 297  # 2.99.. times the largest number
    assert 297 < rounded.expect().error < 1.06 * 297
    assert "per row by rounding" in rounded.expect().sentence


def test_a_count_lies_in_its_interval_where_there_are_no_rows() -> None:
    answers = Repeatedly(FEW, "count where age > 500", Ledger(0.1)).answers(50)
    assert all(0 <= answer.low <= answer.value <= answer.high for [answer] in answers)


NOISY = [text for text in QUESTIONS[:7] if text != "variance age"]


@pytest.mark.thorough
@pytest.mark.parametrize("text", NOISY)
def test_an_interval_is_not_wider_than_it_need_be(text: str) -> None:
    """Noise of deviation s is below 2.12 s (Laplace) with a probability of 95 %: at most 1.3 times
    that, and half a row.
    """
    answers = answers_to(text, "many", "epsilon")
    spread = np.std([answer.value for answer in answers])
    width = np.mean([answer.high - answer.low for answer in answers])
    assert width <= 2 * (1.3 * 2.12 + 0.25) * spread


@pytest.mark.thorough
@pytest.mark.parametrize("text", NOISY)
def test_the_error_is_the_deviation(text: str) -> None:
    answers = answers_to(text, "many", "epsilon")
    spread = np.std([answer.value for answer in answers])
    # The deviation of 400 Laplace draws is off by 5.6 %, and a quarter too small once in 500,000
    # times.
    assert answers[0].error == pytest.approx(spread, rel=0.45)


def test_a_count_has_noise_of_the_textbook() -> None:
    """At epsilon 1 the noise is discrete Laplace of scale 1: variance 2 p / (1 - p)^2 = 1.84."""
    repeated = Repeatedly(MANY, "count where age >= 44 and age < 55", Ledger(1.0))
    [answer] = repeated.answers(1)[0]
    theory = math.sqrt(2 * math.exp(-1)) / (1 - math.exp(-1))
    assert answer.error == pytest.approx(theory)
    assert theory**2 == pytest.approx(1.84, abs=0.005)
    drawn = exact_noise.laplace(400_000, 1.0)  # its deviation is off by 0.18 %
    assert float(np.std(drawn)) == pytest.approx(theory, rel=0.01)


# --------------------------------------------------------------------------- the parts


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
@pytest.mark.parametrize("weights", [[1.0], [0.5, 0.5], [0.9, 0.1], [0.3, -0.2, 1.0], [1, 1, 1]])
def test_a_bound_is_exceeded_as_often_as_it_says(distribution: str, weights: Any) -> None:
    noise = KnownNoise(distribution, 30.0)
    rng = np.random.default_rng(3)
    shape = (100_000, len(weights))
    drawn = rng.laplace(0, 30.0, shape) if distribution == "laplace" else rng.normal(0, 30.0, shape)
    bound = noise.bound(np.array([weights]), 0.05)[0]
    # 5,000 are expected, give or take 69; the bound is larger by half of the weights.
    assert 4_200 < int((np.abs(np.rint(drawn) @ weights) > bound).sum()) < 5_350


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
def test_the_reach_is_the_smallest_that_holds(distribution: str, scale: float) -> None:
    reach = KnownNoise(distribution, scale).reach(0.05)
    places = np.arange(-400, 401)
    weights = np.exp(-np.abs(places) / scale)
    if distribution == "gaussian":
        weights = np.exp(-(places**2) / (2 * scale**2))
    chances = weights / weights.sum()
    assert chances[np.abs(places) > reach].sum() <= 0.05
    if reach and distribution == "laplace":
        assert chances[np.abs(places) > reach - 1].sum() > 0.05


def test_nothing_is_known_of_no_rows() -> None:
    shares = ShareIntervals(KnownNoise("laplace", 1.0))
    assert shares.interval(0, 0) == (0.0, 1.0)
    assert shares.interval(-5, -9) == (0.0, 1.0)
    low, high = shares.interval(1e9, 0)
    assert low > 1 - 1e-6
    assert high == 1.0
    narrow = shares.interval(3e9, 1e9)
    assert narrow == pytest.approx((0.75, 0.75), abs=1e-6)
    assert narrow[0] < 0.75 < narrow[1]


def test_a_variance_of_no_rows_is_anything() -> None:
    noise = KnownNoise("laplace", 1.0)
    assert variance_interval(np.array([-1.0, 0.0, -2.0]), noise) == (0.0, 0.25)
    low, high = variance_interval(np.array([5e8, 0.0, 5e8]), noise)
    assert (low, high) == pytest.approx((0.25, 0.25), abs=1e-6)
