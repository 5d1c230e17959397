"""Inference by repetitions of the release: intervals hold the truth, tests keep their size."""

from __future__ import annotations

import numpy as np
import pytest

from understudy import (
    Independent,
    InputError,
    Marginals,
    Model,
    PrivBayes,
    Schema,
    Table,
    inference,
)
from understudy.data.tables import Column
from understudy.inference.repetitions import same_method
from understudy.privacy.mechanisms import SeededNoise

pytestmark = pytest.mark.thorough  # guards no privacy, and takes its time

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "a": {"kind": "integer", "min": 0, "max": 3, "bins": 4},
            "b": {"kind": "integer", "min": 0, "max": 3, "bins": 4},
            "g": {"kind": "categorical", "values": ["f", "m"]},
        }
    }
)


def table(seed: int, rows: int = 400, tie: float = 0.0) -> Table:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, rows)
    b = np.where(rng.random(rows) < tie, a, rng.integers(0, 4, rows))
    g = (rng.random(rows) < 0.3 + 0.1 * (a > 1)).astype(np.int64)
    return Table(
        {
            "a": Column("integer", a),
            "b": Column("integer", b),
            "g": Column("text", g, words=("f", "m")),
        }
    )


def released(seed: int, tie: float = 0.0, epsilon: float = 1.0) -> Model:
    method = PrivBayes(epsilon=epsilon)
    return method.fit(table(seed, tie=tie), SCHEMA, noise=SeededNoise(seed))


def test_a_statistic_is_what_it_says() -> None:
    rows = table(1, 5000)
    a, b = (rows.columns[name].values.astype(float) for name in "ab")
    male = rows.columns["g"].values == 1
    assert inference.mean("a")(rows) == pytest.approx(a.mean())
    assert inference.proportion("g", "m")(rows) == pytest.approx(male.mean())
    assert inference.proportion("g", "x")(rows) == 0
    gap = a[male].mean() - a[~male].mean()
    assert inference.difference("a", "g", ("m", "f"))(rows) == pytest.approx(gap)
    design = np.column_stack([np.ones(len(a)), a, b])
    slope = np.linalg.lstsq(design, a + 2 * b, rcond=None)[0][2]
    tied = Table({**rows.columns, "t": Column("integer", (a + 2 * b).astype(np.int64))})
    assert inference.coefficient("t", ["a", "b"], "b")(tied) == pytest.approx(slope)


def test_logistic_regression_finds_the_most_likely_coefficients() -> None:
    rows = table(2, 5000)
    found = inference.coefficient("g", ["a"], "a", logistic="m")(rows)
    a, male = rows.columns["a"].values, rows.columns["g"].values == 1
    constant = -1.0
    best = np.array([constant, 0.0])
    for _ in range(1500):  # plain ascent, another way to the same place
        chance = 1 / (1 + np.exp(-(best[0] + best[1] * a)))
        best += 0.3 * np.array([(male - chance).mean(), ((male - chance) * a).mean()])
    assert found == pytest.approx(best[1], abs=1e-3)


def test_repetitions_have_the_budget_that_the_method_had() -> None:
    schema = Schema.from_dict(
        {"attributes": {"x": {"kind": "integer", "min": 0, "max": 999, "bins": 8}}}
    )
    values = np.random.default_rng(0).integers(0, 1000, 2000)
    for delta in (0.0, 1e-6):
        method = Independent(epsilon=1.0, delta=delta, refinement=0.3)
        model = method.fit(Table({"x": Column("integer", values)}), schema, noise=SeededNoise(1))
        own = sum(e.amount for e in model.ledger.entries if e.question.startswith("table of"))
        again = same_method(model)
        assert own < model.ledger.budget.amount
        assert again.refinement == 0
        if delta:
            assert 0 < again.epsilon < 1
        else:
            assert again.epsilon == pytest.approx(own, rel=1e-6)


def test_an_interval_knows_the_noise() -> None:
    """With little budget it is several times wider than the one of real rows."""
    naive = 1.96 * np.sqrt(0.35 * 0.65 / 400)
    found = inference.estimate(released(3, epsilon=0.1), inference.proportion("g", "m"), seed=1)
    assert found.high - found.value > 1.5 * naive
    assert found.low < found.value < found.high
    again = inference.estimate(released(3, epsilon=0.1), inference.proportion("g", "m"), seed=1)
    assert again == found


def test_combining_follows_rubin() -> None:
    found = inference.combine([1.0, 2.0, 3.0], [0.5, 0.5, 0.5])
    assert found.value == 2
    assert found.deviation == pytest.approx(np.sqrt(0.5 + 1.0 * 4 / 3))
    assert found.p > 0.05
    sure = inference.combine([2.0, 2.0], [0.01, 0.01])
    assert sure.high == pytest.approx(2 + 1.96 * 0.1, abs=1e-3)
    assert sure.p < 1e-6


def test_a_strong_dependence_is_found() -> None:
    found = inference.independence_test(released(4, tie=0.8, epsilon=5.0), "a", "b", repetitions=19)
    assert found.p == 1 / 20
    ranks = inference.independence_test(
        released(4, tie=0.8, epsilon=5.0), "a", "b", test="spearman", repetitions=19
    )
    assert ranks.p == 1 / 20


@pytest.mark.thorough
def test_independent_columns_are_rarely_called_dependent() -> None:
    """A test of size 5 % rejects more than 10 of 40 times with a probability below 1e-5; the naive
    one does so nearly always.
    """
    rejected = [
        inference.independence_test(released(seed, epsilon=0.5), "a", "b", repetitions=19).p <= 0.05
        for seed in range(40)
    ]
    assert sum(rejected) <= 10


def test_what_cannot_be_inferred_is_refused() -> None:
    model = released(1)
    with pytest.raises(InputError, match="at least 10"):
        inference.estimate(model, inference.mean("a"), repetitions=3)
    with pytest.raises(InputError, match="no column 'z'"):
        inference.mean("z")(table(1))
    with pytest.raises(InputError, match="holds texts"):
        inference.mean("g")(table(1))
    with pytest.raises(InputError, match="none of the predictors"):
        inference.coefficient("a", ["b"], "g")
    with pytest.raises(InputError, match="test must be one of"):
        inference.independence_test(model, "a", "b", test="magic")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="two tables or more"):
        inference.combine([1.0], [1.0])
    with pytest.raises(InputError, match="1 or more"):
        next(inference.repeat_release(model, 0))


STATISTICS = {
    "mean": inference.mean("a"),
    "proportion": inference.proportion("g", "m"),
    "difference": inference.difference("a", "g", ("m", "f")),
    "slope": inference.coefficient("b", ["a"], "a"),
    "logit": inference.coefficient("g", ["a", "b"], "a", logistic="m"),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_the_influence_of_a_row_is_what_it_adds(name: str) -> None:
    statistic = STATISTICS[name]
    rows = table(3, 2000, tie=0.5)
    influences = statistic.influence(rows)
    assert influences.mean() == pytest.approx(0, abs=1e-4)
    for place in range(0, 40, 7):
        once_more = np.append(np.arange(2000), place)
        columns = {
            name: Column(column.kind, column.values[once_more], words=column.words)
            for name, column in rows.columns.items()
        }
        moved = 2001 * (statistic(Table(columns)) - statistic(rows))
        assert moved == pytest.approx(influences[place], rel=0.02, abs=0.002)


def test_columns_that_were_measured_apart_widen_the_interval_and_are_told() -> None:
    rows = table(4, 2000, tie=0.8)
    apart = Independent(epsilon=5.0).fit(rows, SCHEMA, noise=SeededNoise(1))
    slope = inference.coefficient("b", ["a"], "a")
    assert inference.find_unmeasured(apart, slope) == (("b", "a"),)
    assert inference.misfit_variance(apart, slope) > 0
    found = inference.estimate(apart, slope, repetitions=10)
    assert found.unmeasured == (("b", "a"),)
    repeated = [slope(t) for t in inference.repeat_release(apart, 10)]
    bare = inference.infer_from(slope(inference.observe(apart)), repeated)
    assert found.deviation > bare.deviation
    assert inference.misfit_variance(apart, inference.mean("a")) == 0
    assert inference.estimate(apart, inference.mean("a"), repetitions=10).unmeasured == ()


def test_columns_that_were_measured_together_carry_no_warning() -> None:
    together = Marginals(epsilon=5.0, marginals=[("a", "b", "g")]).fit(
        table(5, 2000, tie=0.8), SCHEMA, noise=SeededNoise(1)
    )
    slope = inference.coefficient("b", ["a"], "a")
    assert inference.find_unmeasured(together, slope) == ()
    assert inference.misfit_variance(together, slope) == 0


def test_a_model_names_no_file_of_whoever_infers_from_it(tmp_path):
    """A model may come from anybody: its method runs again, and writes nowhere."""
    from types import SimpleNamespace

    from understudy import Ledger

    method = {"name": "gan", "epsilon": 1.0, "delta": 1e-6, "steps": 3}
    files = {"checkpoint": str(tmp_path / "victim"), "preview": str(tmp_path / "other")}
    forged = SimpleNamespace(method={**method, **files}, ledger=Ledger(1.0, 1e-6, currency="rho"))
    again = same_method(forged)
    assert (again.checkpoint, again.preview, again.steps) == (None, None, 3)
