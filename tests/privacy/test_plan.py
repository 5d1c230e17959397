"""What a budget buys, told beforehand and borne out afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from examples import every_kind_schema, schema_of, small_schema
from understudy import Adaptive, Independent, InputError
from understudy.data.tables import Column, Table
from understudy.privacy import plan as plans
from understudy.privacy.budget import Budget
from understudy.privacy.discovery_budget import RARE_SHARE
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.plan import noise_of, plan, plan_discovery, sampling_error


def test_every_attribute_with_more_than_one_value_is_planned_for() -> None:
    planned = plan(every_kind_schema(), 1000, 1.0)
    assert [(t.attribute, t.cells) for t in planned.tables] == [
        ("age", 16),
        ("height", 12),
        ("smoker", 3),
        ("ward", 5),
        ("grade", 3),
        ("born", 11),
        ("seen", 12),
    ]
    assert planned.budget == Budget(1.0)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_planned_noise_is_the_noise_of_the_release(neighbours: Any, delta: float) -> None:
    planned = plan(small_schema(), 500, 0.7, delta, neighbours)
    rng = np.random.default_rng(0)
    table = Table(
        {
            "a": Column("boolean", rng.random(500) < 0.5),
            "b": Column("integer", rng.integers(0, 3, 500)),
            "c": Column("integer", rng.integers(0, 8, 500)),
        }
    )
    method = Independent(epsilon=0.7, delta=delta, neighbours=neighbours)
    model = method.fit(table, small_schema(), noise=SeededNoise(0))
    for expected in planned.tables:
        assert model.network[expected.attribute].deviation == pytest.approx(
            expected.deviation, rel=1e-6
        )


def test_the_expected_error_is_an_upper_estimate_and_not_far_off() -> None:
    rows, schema = 3000, schema_of(c={"kind": "integer", "min": 0, "max": 15})
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 16, rows)
    table = Table({"c": Column("integer", truth)})
    share = np.bincount(truth, minlength=16) / rows
    errors = []
    for seed in range(30):
        model = Independent(epsilon=0.1).fit(table, schema, noise=SeededNoise(seed))
        sampled = model.sample(rows, seed=seed).columns["c"].values
        errors.append(np.abs(np.bincount(sampled, minlength=16) / rows - share).sum() / 2)
    expected = plan(schema, rows, 0.1).tables[0].error
    assert 0.3 * expected < np.mean(errors) < 1.1 * expected


def test_more_budget_or_more_rows_mean_less_error() -> None:
    errors = [
        plan(small_schema(), rows, epsilon).tables[2].error
        for rows, epsilon in ((100, 0.1), (100, 1), (9999, 1))
    ]
    assert errors[0] > errors[1] > errors[2] > 0
    assert plan(small_schema(), 1, 1e-3).tables[0].error == 1.0


@pytest.mark.parametrize("scale", [0.2, 3.0])
def test_the_size_of_discrete_laplace_noise_is_exact(scale: float) -> None:
    deviation, mean = noise_of(Budget(1 / scale), "add_remove")
    values = np.arange(-500, 501)
    weights = np.exp(-np.abs(values) / scale)
    weights /= weights.sum()
    assert deviation == pytest.approx(np.sqrt((weights * values**2).sum()))
    assert mean == pytest.approx((weights * np.abs(values)).sum())


def test_the_error_of_drawing_rows_is_an_upper_estimate() -> None:
    rng = np.random.default_rng(0)
    draws = rng.multinomial(200, np.full(8, 1 / 8), 2000) / 200
    mean = (np.abs(draws - 1 / 8).sum(axis=1) / 2).mean()
    assert mean <= sampling_error(8, 200) * 1.02
    assert mean >= sampling_error(8, 200) * 0.8
    assert sampling_error(1, 200) == 0


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        ((0, 1.0), "number of rows"),
        ((-5, 1.0), "number of rows"),
        ((1.5, 1.0), "number of rows"),
        ((True, 1.0), "number of rows"),
        ((10, 0.0), "epsilon"),
        ((10, float("nan")), "epsilon"),
        ((10, 1.0, 1.0), "delta"),
        ((10, 1.0, 0.0, "near"), "neighbours"),
    ],
)
def test_what_cannot_be_planned_is_refused(arguments: Any, cause: str) -> None:
    with pytest.raises(InputError, match=cause):
        plan(small_schema(), *arguments)


def test_a_schema_with_nothing_to_measure_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to plan"):
        plan(
            schema_of(k={"kind": "categorical", "values": ["x"]}, id={"kind": "identifier"}),
            10,
            1.0,
        )


@pytest.mark.parametrize(("rows", "stops"), [(768, True), (48_842, False)])
def test_what_discovery_can_find_is_told_without_a_schema(rows: int, stops: bool) -> None:
    planned = plan_discovery(15, rows, 1.0)
    assert planned.stops == stops
    assert 0.09 < planned.share <= 0.65
    assert planned.rounds is not None
    with pytest.raises(InputError, match="columns"):
        plan_discovery(0, rows, 1.0)
    wider = plan_discovery(60, rows, 1.0)
    assert wider.outlook.category_rows > planned.outlook.category_rows


def test_second_looks_at_words_are_planned_for() -> None:
    """Where frequent words are seen, discovery may ask again: the model gets less by that."""
    planned = plan_discovery(15, 48_842, 1.0)
    assert planned.second_share == pytest.approx(RARE_SHARE)
    assert "up to 6% more" in planned.describe()
    given = plan_discovery(15, 48_842, 1.0, discovery=planned.share)
    assert given.second_share == 0.0
    assert given.rounds is not None
    assert planned.rounds is not None
    assert given.rounds.deviation < planned.rounds.deviation
    assert plan_discovery(15, 768, 1.0).second_share == 0.0


def test_adaptive_is_planned_for() -> None:
    assert plan(schema_of(a={"kind": "boolean"}), 100, 1.0).rounds is None
    few, many = (plan(small_schema(), rows, 1.0).rounds for rows in (100, 100_000))
    assert few is not None
    assert many is not None
    assert few.cells < many.cells


def test_the_rounds_of_a_plan_are_those_of_the_method() -> None:
    method = Adaptive(epsilon=1.0)
    assert method.rounds == plans.ROUNDS_PER_ATTRIBUTE
    assert method.one_way_share == plans.ONE_WAY_SHARE
    assert method.holdout == plans.HOLDOUT_SHARE
