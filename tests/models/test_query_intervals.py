"""Error bars: what they are made of, and that they hold the truth as often as they say."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from understudy import Adaptive, InputError, Model, Schema, Table
from understudy.data.marginals import Axis
from understudy.data.tables import Column
from understudy.models.measurements import Holdout, MeasuredTable, Measurements
from understudy.models.network import Network, Node
from understudy.models.query import intervals
from understudy.models.query.effects import Precisions, compute_squared_means, effect_variance
from understudy.models.query.intervals import ErrorModel, HeldTable, calibrate, holdout_marginals
from understudy.models.query.misfits import GroupErrors, find_factor
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise

pytestmark = pytest.mark.thorough  # guards no privacy, and takes its time

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "a": {"kind": "categorical", "values": [0, 1]},
            "b": {"kind": "categorical", "values": [0, 1, 2]},
            "c": {"kind": "categorical", "values": [0, 1]},
            "x": {"kind": "integer", "min": 0, "max": 99, "bins": 10},
        }
    }
)


def independent_model(tables: tuple[MeasuredTable, ...] = (), deviation: float = 10.0) -> Model:
    shares = {"a": [0.3, 0.7], "b": [0.2, 0.3, 0.5], "c": [0.5, 0.5], "x": [0.1] * 10}
    nodes = [Node(name, (), 10_000 * np.array(share), deviation) for name, share in shares.items()]
    return Model(
        {"name": "test"},
        SCHEMA,
        Network(tuple(nodes)),
        Ledger(1.0, 0.0, "replace"),
        10_000,
        measurements=Measurements(tables=tables),
    )


def test_effects_that_no_table_tells_add_up_to_the_variance_of_a_row() -> None:
    """Of independent attributes none of which was measured with another: everything but single
    effects; and the total is that of the function.
    """
    rng = np.random.default_rng(1)
    truth = rng.random((2, 3, 2))
    sides = [np.array([0.3, 0.7]), np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.5])]
    joint = np.einsum("i,j,k->ijk", *sides)
    whole = (joint * truth**2).sum() - (joint * truth).sum() ** 2
    squares = compute_squared_means(truth, [np.eye(len(side)) for side in sides], sides)
    effects = {
        kept: effect_variance(squares, kept)
        for size in (1, 2, 3)
        for kept in itertools.combinations(range(3), size)
    }
    assert sum(effects.values()) == pytest.approx(whole)
    assert min(effects.values()) > 0
    errors = ErrorModel(independent_model())
    single = sum(value for kept, value in effects.items() if len(kept) == 1)
    assert errors.misfit(truth, sides, ["a", "b", "c"]) == pytest.approx(whole - single)


def test_what_was_measured_together_has_no_misfit() -> None:
    both = (MeasuredTable(("a", "b"), 10.0), MeasuredTable(("c",), 10.0))
    model = independent_model(both)
    question = "count where a = 1 and b = 2"
    told = model.query(question)
    untold = independent_model().query(question)
    assert told.misfit < 1
    # Rows that are drawn, by the factor of a model of unknown quality.
    binomial = 10_000 * 0.7 * 0.3 * 0.5 * 0.5
    expected = np.sqrt(intervals.MISFIT * binomial + intervals.COUNTING_VARIANCE)
    assert untold.misfit == pytest.approx(expected, rel=1e-3)
    assert model.query("count where a = 1 and c = 1").misfit > 30


def test_a_cut_bin_is_unsure_and_a_whole_one_is_not() -> None:
    model = independent_model()
    assert model.query("count where x < 50").cut == 0
    half = model.query("count where x < 55").cut
    fifth = model.query("count where x < 52").cut
    assert half > fifth > 0
    # 1,000 rows, known as well as a few of them would tell.
    assert half == pytest.approx(1000 * np.sqrt(0.25 / (intervals.CUT_ROWS + 1)))


def test_the_parts_make_the_error() -> None:
    model = independent_model()
    answer = model.query("count where x < 55 and a = 1")
    assert answer.error == pytest.approx(
        np.sqrt(answer.noise**2 + answer.misfit**2 + answer.cut**2)
    )
    assert min(answer.noise, answer.misfit, answer.cut) > 0
    assert "cut bins" in answer.describe_parts()
    assert model.query("mean x").cut > 0
    assert model.query("mean x where a = 1").misfit > 0


def test_one_attribute_has_the_noise_of_all_tables_that_tell_it() -> None:
    tables = (MeasuredTable(("a",), 10.0), MeasuredTable(("a", "b"), 10.0))
    answer = independent_model(tables).query("count where a = 1")
    # 1 / 100 + 1 / 300 of information for each cell; the total is public.
    assert answer.noise == pytest.approx(np.sqrt(0.5 / (1 / 100 + 1 / 300)))


def test_the_noise_of_a_count_is_that_of_the_best_fit_to_all_measured_tables() -> None:
    """Against least squares on the cells, whatever the weights, the tables and their noise."""
    rng = np.random.default_rng(5)
    sizes = {"a": 2, "b": 3, "c": 2}
    measured = (
        MeasuredTable(("a",), 3.0),
        MeasuredTable(("a", "b"), 10.0),
        MeasuredTable(("b", "c"), 4.0),
        MeasuredTable(("a", "b", "c"), 20.0),
    )
    cells = list(itertools.product(*(range(size) for size in sizes.values())))
    lines, deviations = [], []
    for table in measured:
        places = [list(sizes).index(name) for name in table.attributes]
        for values in itertools.product(*(range(sizes[name]) for name in table.attributes)):
            lines.append([[cell[p] for p in places] == list(values) for cell in cells])
            deviations.append(table.deviation)
    scaled = np.array(lines, dtype=float) / np.array(deviations)[:, None]
    covariance = np.linalg.inv(scaled.T @ scaled)
    model = replace(independent_model(measured), ledger=Ledger(1.0))
    for _ in range(20):
        weights = [rng.random((size, 2)) for size in sizes.values()]
        truth = rng.normal(size=(2, 2, 2))
        function = np.einsum("ai,bj,ck,ijk->abc", *weights, truth).ravel()
        parts = ErrorModel(model).by_effects(truth, weights, list(sizes))
        assert parts is not None
        assert parts.misfit == parts.larger == 0
        assert parts.known + parts.noise == pytest.approx(function @ covariance @ function)


def test_effects_that_few_tables_tell_count_as_misfit() -> None:
    pairs = tuple(MeasuredTable(pair, 5.0) for pair in (("a", "b"), ("b", "c")))
    errors = ErrorModel(independent_model((*pairs, MeasuredTable(("x",), 5.0))))
    truth = np.zeros((2, 2, 2))
    truth[1, 1, 1] = 1
    weights = [np.eye(size)[:, [0, -1]] for size in (2, 3, 2)]
    parts = errors.by_effects(truth, weights, ["a", "b", "c"])
    assert parts is not None
    assert min(parts.known, parts.noise, parts.misfit, parts.larger) > 0
    told = errors.by_effects(truth[1], weights[1:], ["b", "c"])
    assert told is not None
    assert told.misfit == told.larger == 0
    assert Precisions(pairs, {"a": 2, "b": 3, "c": 2}).variance(["a", "c"]) is None


def test_the_factor_of_misfit_is_that_of_the_groups_and_careful_where_these_are_few() -> None:
    rng = np.random.default_rng(2)

    def groups(number: int, factor: float, noise: float) -> list[GroupErrors]:
        misfit = np.full(9, 100.0)
        made = []
        for _ in range(number):
            own = factor * np.exp(rng.normal(0, 0.5))
            residual = rng.normal(0, np.sqrt(own * misfit + noise))
            made.append(
                GroupErrors(residual=residual, sure=np.full(9, noise), misfit=misfit, freedom=4.0)
            )
        return made

    # Many groups: the factor, and more, since groups differ; noise that hides it: what is known
    # beforehand.
    for factor in (0.2, 2.0, 20.0):
        assert factor < find_factor(groups(400, factor, 1.0)) < 3 * factor
    nothing = find_factor([])
    assert find_factor(groups(20, 2.0, 1e9)) == pytest.approx(nothing, rel=0.05)
    assert nothing > find_factor(groups(20, 0.2, 1.0))


@pytest.mark.parametrize(
    "question",
    ["mean x", "mean x from 20 to 60", "variance x", "std x", "std x from 20 to 60", "sum x"],
)
def test_functions_of_numbers_have_the_same_parts_as_counts(question: str) -> None:
    tables = (*(MeasuredTable((name,), 10.0) for name in "abcx"), MeasuredTable(("a", "x"), 30.0))
    model = independent_model(tables)
    alone = model.query(question)
    assert min(alone.noise, alone.cut) > 0
    assert alone.error == pytest.approx(np.sqrt(alone.noise**2 + alone.misfit**2 + alone.cut**2))
    told, untold = (model.query(f"{question} where {name} = 1") for name in "ac")
    assert untold.misfit > 10 * told.misfit
    assert "noise" in untold.describe_parts()


def test_a_holdout_tells_a_model_that_fits_from_one_that_does_not() -> None:
    rng = np.random.default_rng(0)
    model = independent_model(tuple(MeasuredTable((name,), 10.0) for name in "abc"), deviation=10.0)
    axes = (Axis("a"), Axis("b"), Axis("c"))
    expected = model.marginal("a", "b", "c").table

    def holdout(extra: float) -> Holdout:
        tables = []
        for _ in range(8):
            counts = (
                expected + rng.normal(0, extra * np.sqrt(expected)) + rng.normal(0, 5, (2, 3, 2))
            )
            tables.append(HeldTable(marginal=axes, counts=np.rint(counts), deviation=5.0))
        return calibrate(model, tables)

    assert holdout(0.0).misfit < holdout(2.0).misfit / 4 < holdout(8.0).misfit / 16


def test_a_held_out_table_that_is_too_large_to_be_told_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = independent_model(tuple(MeasuredTable((name,), 10.0) for name in "abc"), deviation=10.0)
    tables = []
    for names in ("ab", "abc"):
        counts = 3 * model.marginal(*names).table
        axes = tuple(map(Axis, names))
        tables.append(HeldTable(marginal=axes, counts=np.rint(counts), deviation=5.0))
    of_pairs = calibrate(model, tables[:1])
    assert calibrate(model, tables) != replace(of_pairs, tables=2)
    monkeypatch.setattr("understudy.models.inference.MAX_PRODUCT_CELLS", 11)
    with pytest.raises(InputError, match="needs a table of"):
        model.marginal(*"abc")
    assert calibrate(model, tables) == replace(of_pairs, tables=2)
    assert calibrate(model, tables[1:]).tables == 1


def test_holdout_tables_are_public_few_and_small() -> None:
    sizes = {f"c{i}": (16, 8, 4) for i in range(10)} | {"wide": (41,)}
    found = holdout_marginals(sizes, 8)
    assert found == holdout_marginals(sizes, 8)
    assert len(set(found)) == 8
    assert {axis.level for axes in found for axis in axes if axis.attribute != "wide"} == {1}
    assert holdout_marginals({"alone": (5,)}, 8) == []
    assert len(holdout_marginals({"one": (5,), "two": (3,)}, 8)) == 1


def made_up(rows: int, seed: int) -> tuple[Table, Schema]:
    """A chain with a hidden pair: the last depends on the first two together."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, rows)]
    for _ in range(4):
        stay = rng.random(rows) < 0.6
        columns.append(np.where(stay, columns[-1], rng.integers(0, 3, rows)))
    columns.append((columns[0] + columns[1] + (rng.random(rows) < 0.2)) % 3)
    names = [f"c{i}" for i in range(len(columns))]
    attributes = {name: {"kind": "categorical", "values": [0, 1, 2]} for name in names}
    table = Table({n: Column("integer", c) for n, c in zip(names, columns, strict=True)})
    return table, Schema.from_dict({"attributes": attributes})


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """Over a few releases of a made-up table; far outside of chance where noise alone is stated."""
    table, schema = made_up(4000, 3)
    values = {name: column.values for name, column in table.columns.items()}
    held = []
    for seed in range(3):
        model = Adaptive(epsilon=1.0, delta=1e-9).fit(table, schema, noise=SeededNoise(seed))
        assert model.measurements.holdout is not None
        rng = np.random.default_rng(seed)
        for _ in range(60):
            names = rng.choice(list(values), int(rng.integers(1, 4)), replace=False)
            wanted = {name: int(rng.integers(3)) for name in names}
            truth = np.logical_and.reduce([values[n] == v for n, v in wanted.items()]).sum()
            text = " and ".join(f"{n} = {v}" for n, v in wanted.items())
            answer = model.query(f"count where {text}")
            held.append(answer.low <= truth <= answer.high)
    assert np.mean(held) > 0.85


def test_without_a_holdout_nothing_is_paid_for_it() -> None:
    table, schema = made_up(500, 1)
    method = Adaptive(epsilon=1.0, delta=1e-9)
    bare = replace(method, holdout=0.0).fit(table, schema, noise=SeededNoise(0))
    assert bare.measurements.holdout is None
    assert bare.measurements.tables
    paid = method.fit(table, schema, noise=SeededNoise(0))
    assert paid.measurements.holdout is not None
    kept = [entry.amount for entry in paid.ledger.entries[-paid.measurements.holdout.tables :]]
    assert sum(kept) == pytest.approx(0.05 * paid.ledger.budget.amount, rel=1e-6)


def test_measurements_go_through_a_file_and_are_checked() -> None:
    tables = (MeasuredTable(("a", "b"), 2.5),)
    model = replace(
        independent_model(),
        measurements=Measurements(
            tables=tables,
            holdout=Holdout(noise=0.5, misfit=2.0, larger=3.0, tables=8, one_way=1.25),
        ),
    )
    document = model.to_dict()
    assert Model.from_dict(document).measurements == model.measurements
    assert "measurements" not in independent_model().to_dict()
    for path, wrong in (
        (("tables", 0, "attributes"), ["a", "a"]),
        (("tables", 0, "attributes"), ["nobody"]),
        (("tables", 0, "deviation"), -1),
        (("holdout", "noise"), "much"),
        (("holdout", "tables"), 0),
    ):
        broken = model.to_dict()
        place = broken["measurements"]
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = wrong
        with pytest.raises(InputError, match="cannot be used"):
            Model.from_dict(broken)
