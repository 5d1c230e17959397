"""The worked examples of the book: the numbers that its pages print, or should have printed."""

from __future__ import annotations

import csv
import math
from collections import Counter
from pathlib import Path

import pytest

from understudy import Ledger
from understudy.mechanisms import (
    Exponential,
    Geometric,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    RandomisedResponse,
    TwoCoinResponse,
    compose,
    compose_disjoint,
    for_group,
)
from understudy.privacy.mechanisms import SeededNoise

VOTES = {"football": 49, "volleyball": 25, "basketball": 6, "swimming": 2}
TRAINING_ROWS = 32_561


def test_votes_choose_football() -> None:
    chances = Exponential(epsilon=1.0).probabilities(VOTES)
    assert round(chances["football"], 6) == 0.999994
    weights = {sport: math.exp((votes - 49) / 2) for sport, votes in VOTES.items()}
    for sport, chance in chances.items():
        assert chance == pytest.approx(weights[sport] / sum(weights.values()), rel=1e-4)


def test_other_choices_are_no_worse() -> None:
    exponential = Exponential(epsilon=1.0).probabilities(VOTES)["football"]
    assert PermuteAndFlip(epsilon=1.0).probabilities(VOTES)["football"] > exponential
    assert Exponential(epsilon=1.0, monotone=True).probabilities(VOTES)["football"] > exponential
    assert NoisyMax(epsilon=1.0, monotone=True).probabilities(VOTES)["football"] > exponential


@pytest.mark.parametrize(("heads", "factor"), [("1/2", 3), ("4/5", 21), (0.8, 21)])
def test_two_coins_cost_ln_3_and_ln_21(heads: str | float, factor: int) -> None:
    assert TwoCoinResponse.of_coin(heads).epsilon == pytest.approx(math.log(factor), abs=1e-13)


def test_two_fair_coins_tell_the_truth_three_times_in_four() -> None:
    assert TwoCoinResponse.of_coin("1/2").probabilities().tolist() == [[0.75, 0.25], [0.25, 0.75]]


def test_symmetric_response_is_better_at_the_same_price() -> None:
    coins = TwoCoinResponse.of_coin("4/5")
    symmetric = RandomisedResponse(epsilon=coins.epsilon)
    assert symmetric.probabilities().trace() > coins.probabilities().trace()


def test_geometric_noise_varies_by_1_84_and_laplace_noise_by_2() -> None:
    assert round(Geometric(epsilon=1.0).variance, 2) == 1.84
    assert Laplace(epsilon=1.0).variance == pytest.approx(2.0, rel=1e-5)


def test_groups_and_sums() -> None:
    assert for_group(0.1, 0.0, 10).epsilon == 1.0
    assert compose([(0.1, 0.0), (0.2, 0.0), (0.3, 0.0)]) == (0.6, 0.0)
    assert compose_disjoint([(0.1, 0.0), (0.3, 0.0)]) == (0.3, 0.0)


@pytest.fixture(scope="module")
def adult() -> list[dict[str, str]]:
    path = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult.csv"
    if not path.is_file():
        pytest.skip(f"the real tables are not at {path.parent}")
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.data
def test_ages_of_adult(adult: list[dict[str, str]]) -> None:
    ages = [int(row["age"]) for row in adult[:TRAINING_ROWS]]
    over_fifty, middle = sum(age > 50 for age in ages), sum(44 <= age < 55 for age in ages)
    assert (over_fifty, middle) == (6460, 6577)
    for epsilon, error in ((0.1, 14.1), (0.001, 1414)):
        mechanism = Geometric(epsilon=epsilon)
        assert mechanism.deviation == pytest.approx(error, rel=0.005)
        noisy = mechanism.release(over_fifty, Ledger(epsilon), "over fifty", noise=SeededNoise(1))
        assert abs(noisy - over_fifty) < 20 * mechanism.deviation
    # Eleven cells of a histogram at epsilon 1.
    assert math.sqrt(11 * Laplace(epsilon=1.0).variance) == pytest.approx(4.69, abs=0.005)


@pytest.mark.data
def test_randomised_response_on_adult(adult: list[dict[str, str]]) -> None:
    """The book's estimate of those over fifty at ln 3 has a standard error of 156."""
    coin = RandomisedResponse(epsilon=math.log(3))
    assert math.sqrt(coin.count_variance(TRAINING_ROWS, 6460 / TRAINING_ROWS)) == pytest.approx(
        156, abs=0.5
    )


@pytest.mark.data
def test_commonest_marital_status_at_the_true_sensitivity(adult: list[dict[str, str]]) -> None:
    """Counts of 48,842 people: at sensitivity 1 the commonest is certain. The listing divides them
    by 1,000 and keeps the sensitivity: its 9,577 in 10,000 is what epsilon 0.001 buys.
    """
    counts = Counter(row["marital_status"] for row in adult)
    assert counts.most_common(3) == [
        ("Married-civ-spouse", 22379),
        ("Never-married", 16117),
        ("Divorced", 6633),
    ]
    certain = Exponential(epsilon=1.0).probabilities(counts)
    assert certain["Married-civ-spouse"] == 1.0
    listing = Exponential(epsilon=0.001).probabilities(counts)
    assert [round(10_000 * listing[name]) for name, _ in counts.most_common(3)] == [9577, 418, 4]
