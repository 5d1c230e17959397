"""The method gaussian: what it keeps, what it asks, what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from running import run
from understudy import (
    Gaussian,
    InputError,
    LedgerFile,
    Model,
    Schema,
    Table,
    evaluate,
    federate,
    make_holders,
    write_report,
)
from understudy.data.tables import Column
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.questions import Measure
from understudy.privacy.sums import Sum
from understudy.synthesizers.gaussian_location import first_points

ROWS = 3_000
COVARIANCES = (
    np.array([[0.05, 0.03, 0.0], [0.03, 0.04, 0.0], [0.0, 0.0, 0.02]]),
    np.array([[0.03, -0.02, 0.0], [-0.02, 0.04, 0.0], [0.0, 0.0, 0.06]]),
)
MEANS = np.array([[0.2, -0.1, 0.3], [-0.3, 0.2, -0.1]])

ATTRIBUTES: dict[str, Any] = {
    "a": {"kind": "real", "min": 0, "max": 10},
    "b": {"kind": "real", "min": -5, "max": 5},
    "c": {"kind": "integer", "min": 0, "max": 1000},
    "ward": {"kind": "categorical", "values": ["n", "s", "w"]},
    "sick": {"kind": "boolean"},
}


def schema(**changes: Any) -> Schema:
    return Schema.from_dict({"attributes": {**ATTRIBUTES, **changes}})


def table(rows: int = ROWS) -> Table:
    """Two Gaussians, by whether somebody is sick; the sick are in ward n."""
    rng = np.random.default_rng(0)
    sick = rng.random(rows) < 0.4
    numbers = np.empty((rows, 3))
    for code in (0, 1):
        mine = sick == code
        numbers[mine] = rng.multivariate_normal(MEANS[code], COVARIANCES[code], mine.sum())
    numbers = np.clip(numbers, -1, 1)
    ward = np.where(sick, 0, rng.integers(1, 3, rows)).astype(np.uint32)
    return Table(
        {
            "a": Column("real", 5 + 5 * numbers[:, 0]),
            "b": Column("real", 5 * numbers[:, 1]),
            "c": Column("integer", np.rint(500 + 500 * numbers[:, 2]).astype(np.int64)),
            "ward": Column("text", ward, ("n", "s", "w")),
            "sick": Column("boolean", sick),
        }
    )


def fit(epsilon: float = 1.0, seed: int = 1, **parameters: Any) -> Model:
    method = Gaussian(epsilon=epsilon, **parameters)
    return method.fit(table(), schema(), noise=SeededNoise(seed))


# --------------------------------------------------------------------------- what it keeps


@pytest.mark.parametrize("parameters", [{}, {"delta": 1e-6}, {"blocks": [["a", "b", "c"]]}])
def test_with_little_noise_it_finds_the_gaussians_of_the_labels(parameters: dict[str, Any]) -> None:
    found = fit(300.0, **parameters).gaussians
    assert found is not None
    assert found.label == "sick"
    assert np.abs(found.column_means() - MEANS).max() < 0.03
    assert np.abs(found.weights - np.diag([0.6 * ROWS, 0.4 * ROWS])).max() < 0.03 * ROWS
    for cell, covariance in enumerate(COVARIANCES):
        # Rows are shortened, so that variances are a little too small.
        wrong = np.abs(found.covariance(cell) - covariance)[:2, :2]
        assert wrong.max() < 0.02


def test_rows_keep_the_relations_by_label() -> None:
    rows = fit(5.0, delta=1e-6).sample(20_000, seed=2)
    sick = rows.columns["sick"].values.astype(bool)
    assert abs(sick.mean() - 0.4) < 0.03
    a, b = rows.columns["a"].values, rows.columns["b"].values
    assert np.corrcoef(a[~sick], b[~sick])[0, 1] > 0.4
    assert np.corrcoef(a[sick], b[sick])[0, 1] < -0.3
    wards = rows.columns["ward"].values
    assert (wards[sick] == 0).mean() > 0.9
    assert (wards[~sick] == 0).mean() < 0.1


def test_clusters_find_parts_that_one_gaussian_does_not_have() -> None:
    rng = np.random.default_rng(3)
    left = rng.random(4_000) < 0.5
    numbers = np.where(left, -0.6, 0.6)[:, None] + rng.normal(size=(4_000, 2)) * 0.08
    rows = Table({name: Column("real", numbers[:, i]) for i, name in enumerate("xy")})
    known = Schema.from_dict(
        {"attributes": {name: {"kind": "real", "min": -1, "max": 1} for name in "xy"}}
    )
    middles = []
    for clusters in (1, 4):
        method = Gaussian(epsilon=20.0, delta=1e-6, clusters=clusters)
        model = method.fit(rows, known, noise=SeededNoise(1))
        assert model.gaussians is not None
        assert model.gaussians.cells == clusters
        drawn = model.sample(4_000, seed=1).columns["x"].values
        middles.append((np.abs(drawn) < 0.25).mean())
    assert middles[0] > 0.2
    assert middles[1] < 0.1


def test_blocks_that_are_given_are_kept_apart() -> None:
    found = fit(20.0, delta=1e-6, blocks=[["a", "c"]]).gaussians
    assert found is not None
    covariance = found.covariance(0)
    assert covariance[0, 1] == covariance[1, 2] == 0
    assert covariance[0, 2] != 0


def test_blocks_are_found_by_correlations() -> None:
    covariance = fit(50.0, delta=1e-6).gaussians.covariance(0)
    assert abs(covariance[0, 1]) > 0.005
    assert covariance[0, 2] == covariance[1, 2] == 0


def test_missing_numbers_are_as_frequent_as_they_were_and_do_not_move_the_mean() -> None:
    real = table()
    absent = np.random.default_rng(5).random(ROWS) < np.where(real.columns["sick"].values, 0.5, 0.1)
    column = Column("real", real.columns["a"].values, missing=absent.astype(np.uint8))
    rows = Table({**real.columns, "a": column})
    known = schema(a={**ATTRIBUTES["a"], "missing": True})
    model = Gaussian(epsilon=50.0, delta=1e-6).fit(rows, known, noise=SeededNoise(1))
    drawn = model.sample(20_000, seed=1)
    sick, missing = drawn.columns["sick"].values, drawn.columns["a"].missing
    assert abs(missing[sick].mean() - 0.5) < 0.05
    assert abs(missing[~sick].mean() - 0.1) < 0.05
    assert np.abs(model.gaussians.column_means()[:, 0] - MEANS[:, 0]).max() < 0.04


def test_paid_quantiles_bound_the_numbers() -> None:
    known = schema(c={"kind": "integer", "min": 0, "max": 100_000})
    method = Gaussian(epsilon=20.0, delta=1e-6, clip_quantile=0.01)
    model = method.fit(table(), known, noise=SeededNoise(1))
    assert model.gaussians.upper[2] == pytest.approx(6_250, abs=1)
    assert model.sample(1_000, seed=1).columns["c"].values.max() <= 6_250
    assert sum("table of" in entry.question for entry in model.ledger.entries) == 5


def test_one_column_without_a_label_and_constant_columns() -> None:
    known = Schema.from_dict(
        {
            "attributes": {
                "x": {"kind": "integer", "min": 1, "max": 9},
                "one": {"kind": "integer", "min": 4, "max": 4},
                "only": {"kind": "categorical", "values": ["yes"]},
            }
        }
    )
    numbers = np.arange(400) % 9 + 1
    rows = Table(
        {
            "x": Column("integer", numbers),
            "one": Column("integer", np.full(400, 4)),
            "only": Column("text", np.zeros(400, dtype=np.uint32), ("yes",)),
        }
    )
    drawn = Gaussian(epsilon=5.0).fit(rows, known, noise=SeededNoise(1)).sample(300, seed=1)
    assert drawn.columns["one"].values.tolist() == [4] * 300
    assert ((drawn.columns["x"].values >= 1) & (drawn.columns["x"].values <= 9)).all()


def test_an_empty_table_and_a_tiny_one_are_answered() -> None:
    for rows in (0, 1, 5):
        model = Gaussian(epsilon=1.0, delta=1e-6, clusters=2).fit(
            table(rows), schema(), noise=SeededNoise(rows)
        )
        assert model.sample(10, seed=1).rows == 10


def test_many_columns_take_principal_components() -> None:
    rng = np.random.default_rng(2)
    lines = rng.normal(size=(3, 120)) / np.sqrt(120)
    numbers = np.clip(
        rng.normal(size=(3_000, 3)) * 2 @ lines + rng.normal(size=(3_000, 120)) * 0.02, -1, 1
    )
    names = [f"p{place}" for place in range(120)]
    rows = Table({name: Column("real", numbers[:, i]) for i, name in enumerate(names)})
    known = Schema.from_dict(
        {"attributes": {name: {"kind": "real", "min": -1, "max": 1} for name in names}}
    )
    model = Gaussian(epsilon=10.0, delta=1e-6).fit(rows, known, noise=SeededNoise(1))
    assert model.gaussians is not None
    assert 3 <= model.gaussians.dimensions <= 6
    assert model.gaussians.basis is not None
    drawn = model.sample(2_000, seed=1)
    found = np.column_stack([drawn.columns[name].values for name in names])
    real, fake = np.corrcoef(numbers.T), np.corrcoef(found.T)
    assert np.abs(real - fake).mean() < 0.1


# --------------------------------------------------------------------------- what it asks and costs

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "delta": {"delta": 1e-6},
    "replace": {"neighbours": "replace"},
    "clusters": {"delta": 1e-6, "clusters": 3},
    "clusters, pure": {"clusters": 2},
    "blocks": {"blocks": [["a", "b"]]},
    "directions": {"delta": 1e-6, "directions": 2},
    "quantiles": {"clip_quantile": 0.05},
    "persons": {"max_rows_per_person": 3},
    "label": {"label": "ward"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_books_hold_the_whole_price_and_no_more(name: str) -> None:
    parameters = SETTINGS[name]
    method = Gaussian(epsilon=0.7, **parameters)
    model = method.fit(table(300), schema())
    epsilon, delta = model.ledger.spent()
    assert epsilon == pytest.approx(0.7, rel=1e-9)
    assert epsilon <= 0.7
    assert delta == parameters.get("delta", 0.0)
    assert model.ledger.private
    assert Model.from_dict(json.loads(json.dumps(model.to_dict()))) == model
    if name == "replace":
        assert model.rows == 300


@pytest.mark.parametrize("name", SETTINGS)
def test_it_asks_for_tables_and_sums_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    answer = CentralCurator.answer

    def listen(self: CentralCurator, question: Any) -> Any:
        asked.append(question)
        return answer(self, question)

    monkeypatch.setattr(CentralCurator, "answer", listen)
    Gaussian(epsilon=0.7, **SETTINGS[name]).fit(table(200), schema(), noise=SeededNoise(1))
    assert {type(question) for question in asked} <= {Measure, Sum}


def test_the_points_that_rounds_begin_with_are_public() -> None:
    points = first_points(5, 3)
    assert points.shape == (5, 3)
    assert (np.abs(points) <= 1).all()
    assert (points == first_points(5, 3)).all()
    assert len(np.unique(points.round(6), axis=0)) == 5


@pytest.mark.thorough
def test_an_engine_gives_the_model_that_memory_gives(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    path = tmp_path / "t.csv"
    table(400).write(path)
    for parameters in ({"delta": 1e-6}, {"clusters": 2, "epsilon": 3.0}, {"directions": 2}):
        method = Gaussian(**{"epsilon": 2.0, **parameters})
        memory, engine = (
            method.fit(path, schema(), noise=SeededNoise(4), engine=name)
            for name in ("memory", "duckdb")
        )
        assert engine == memory


@pytest.mark.thorough
def test_holders_together_give_the_model_of_all_rows() -> None:
    """Three holders, real noise, a budget so large that it hardly shows."""
    whole = table(900)
    parts = {}
    for place in range(3):
        rows = slice(place * 300, (place + 1) * 300)
        parts[f"site-{place}"] = Table(
            {n: replace(c, values=c.values[rows]) for n, c in whole.columns.items()}
        )
    holders = make_holders(parts, schema(), allowance=400.0, delta=1e-6, colluders=1)
    method = Gaussian(epsilon=300.0, delta=1e-6)
    model = federate(holders, schema(), method, colluders=1)
    assert isinstance(model, Model)
    assert model.gaussians is not None
    alone = method.fit(whole, schema()).gaussians
    assert np.abs(model.gaussians.column_means() - alone.column_means()).max() < 0.05
    for cell in (0, 1):
        wrong = model.gaussians.covariance(cell) - alone.covariance(cell)
        assert np.abs(wrong).max() < 0.02
    assert Model.from_dict(json.loads(json.dumps(model.to_dict()))) == model


# --------------------------------------------------------------------------- what it refuses


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"clusters": 0}, r"clusters must be a whole number from 1 to 4,096, not 0\."),
        ({"directions": -1}, r"directions must be a whole number at or above 0"),
        ({"clip_quantile": 0.5}, r"clip_quantile must be a number at or above 0 and below 0\.5"),
        ({"refinement": 0.1}, r"models numbers as they are, not in bins; leave refinement 0\."),
        ({"blocks": [["a"]], "directions": 2}, r"either blocks or directions"),
        ({"label": ""}, r"label must be the name of a column"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Gaussian(epsilon=1.0, **parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"label": "a"}, r"The label 'a' is of kind real; it must be categorical or boolean\."),
        ({"label": "x"}, r"There is no attribute 'x'"),
        ({"label": "ward", "clusters": 2_000}, r"more than 4,096 cells\. Choose fewer\."),
        ({"blocks": [["a", "ward"]]}, r"'ward' is no numeric column that can vary\."),
        ({"blocks": [["a", "b"], ["b", "c"]]}, r"A column stands in two blocks"),
    ],
)
def test_parameters_that_do_not_fit_the_table_cost_nothing(
    parameters: Any, message: str, tmp_path: Path
) -> None:
    ledger = LedgerFile.create(tmp_path / "ledger.json", 2.0)
    before = (tmp_path / "ledger.json").read_text()
    with pytest.raises(InputError, match=message):
        Gaussian(epsilon=1.0, **parameters).fit(table(20), schema(), ledger=ledger)
    assert (tmp_path / "ledger.json").read_text() == before


def test_tables_without_numbers_and_constraints_are_refused() -> None:
    words = Schema.from_dict({"attributes": {name: ATTRIBUTES[name] for name in ("ward", "sick")}})
    rows = Table({name: table(20).columns[name] for name in ("ward", "sick")})
    with pytest.raises(InputError, match=r"needs a numeric column that can vary"):
        Gaussian(epsilon=1.0).fit(rows, words)
    ruled = Schema.from_dict({"attributes": ATTRIBUTES, "constraints": [{"inequality": "a >= b"}]})
    with pytest.raises(InputError, match=r"cannot keep constraints"):
        Gaussian(epsilon=1.0).fit(table(20), ruled)


# --------------------------------------------------------------------------- around it


@pytest.mark.thorough
def test_command_line_report_and_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table(400).write(tmp_path / "t.csv")
    schema().save(tmp_path / "s.json")
    told = ["--schema", "s.json", "--method", "gaussian", "--epsilon", "3", "--delta", "1e-6"]
    more = ["--label", "sick", "--block", "a,b", "--model", "m.json", "-o", "out.csv"]
    done = run("synthesize", "t.csv", *told, *more)
    assert done.status == 0, done.err
    shown = run("show", "m.json")
    assert "2 cells with a Gaussian each, over 3 numeric columns, by sick" in shown.out
    model = Model.load(tmp_path / "m.json")
    write_report(model, tmp_path / "r.html")
    assert "Numbers are drawn from Gaussians" in (tmp_path / "r.html").read_text()
    found = evaluate(tmp_path / "t.csv", tmp_path / "out.csv", schema=tmp_path / "s.json")
    assert found.shape is not None


@pytest.mark.parametrize(("form", "first"), [("0.00", "40.00"), ("12,50", '"40,00"'), ("", "40")])
def test_whole_amounts_are_written_as_their_format_says(
    form: str, first: str, tmp_path: Path
) -> None:
    """12.00 in every row: a real with a whole step, in a format that shows decimals."""
    amount = {"kind": "real", "min": 0, "max": 60, "bins": 3, "step": 20, "format": form}
    amount = {name: fact for name, fact in amount.items() if fact != ""}
    whole = Schema.from_dict({"attributes": {"amount": amount, "a": ATTRIBUTES["a"]}})
    rows = Table({name: Column("real", np.full(50, 40.0)) for name in ("amount", "a")})
    model = Gaussian(epsilon=100.0, refinement=0).fit(
        rows, whole, noise=SeededNoise(0), notify=lambda _: None
    )
    model.write(tmp_path / "rows.csv", 20, seed=1)
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert any(line.startswith(f"{first},") for line in lines), lines
