"""Adaptive finds what depends on what, spends what it may, and is steered by workload and
target.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy import MST, InputError, Model, Schema, Synthesizer, Table
from understudy.data.encoding import encode
from understudy.data.tables import Column
from understudy.evaluation.marginals import marginal_errors
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers.adaptive import FAST_CELLS, HOLDOUT_TABLES, Adaptive
from understudy.synthesizers.adaptive_budget import LEAST_CELLS
from understudy.synthesizers.independent import Independent

SIZES = {"a": 2, "b": 3, "c": 3, "d": 4, "e": 2, "f": 3}


def schema(**kinds: Any) -> Schema:
    known = {n: {"kind": "integer", "min": 0, "max": s - 1, "bins": s} for n, s in SIZES.items()}
    return Schema.from_dict({"attributes": known | kinds})


def table(rows: int = 4000) -> Table:
    """A chain with copies that err one time in five; e is the parity of a and b, f is by itself."""
    rng = np.random.default_rng(7)
    drawn = {name: rng.integers(0, size, rows) for name, size in SIZES.items()}
    kept = {name: rng.random(rows) < 0.8 for name in SIZES}
    drawn["b"] = np.where(kept["b"], drawn["a"], drawn["b"])
    drawn["c"] = np.where(kept["c"], drawn["b"], drawn["c"])
    drawn["d"] = np.where(kept["d"], drawn["c"], drawn["d"])
    drawn["e"] = np.where(kept["e"], (drawn["a"] + drawn["f"]) % 2, drawn["e"])
    return Table(
        {name: Column("integer", column.astype(np.int64)) for name, column in drawn.items()}
    )


def fitted(seed: int = 0, **parameters: Any) -> Model:
    """A model in rounds: a bound on its cells keeps it from measuring all columns in one table."""
    usual = {"epsilon": 3.0, "delta": 1e-6, "max_cells": FAST_CELLS - 1}
    return Adaptive(**(usual | parameters)).fit(table(), schema(), noise=SeededNoise(seed))


def error(model: Model, order: int = 3) -> float:
    return statistics.mean(
        marginal_errors(table(), model.sample(4000, seed=1), schema(), order).values()
    )


def tables_of(model: Model) -> list[set[str]]:
    asked = [
        entry.question for entry in model.ledger.entries if entry.question.startswith("table of")
    ]
    return [set(question.removeprefix("table of ").split(" x ")) for question in asked]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_it_finds_what_depends_on_what(delta: float, neighbours: Any) -> None:
    model = fitted(delta=delta, neighbours=neighbours, epsilon=6.0)
    alone = Independent(epsilon=6.0, delta=delta, neighbours=neighbours).fit(
        table(), schema(), noise=SeededNoise(0)
    )
    assert error(model) < 0.4 * error(alone)
    measured = tables_of(model)
    assert any({"a", "e", "f"} <= group for group in measured)  # no pair of them tells anything


def test_the_budget_is_spent_and_not_more() -> None:
    for delta in (0.0, 1e-6):
        model = fitted(delta=delta)
        epsilon, spent_delta = model.ledger.spent()
        assert 3.0 * (1 - 1e-6) <= epsilon <= 3.0
        assert spent_delta == delta
        questions = [entry.question for entry in model.ledger.entries]
        assert questions[: len(SIZES)] == [f"table of {name}" for name in SIZES]
        choices = [question for question in questions if question.startswith("choice")]
        several = {frozenset(group) for group in tables_of(model) if len(group) > 1}
        # A choice may find that no table stands out; none is measured that was not chosen, but
        # what is left may go to those that were.
        assert 0 < len(several) - HOLDOUT_TABLES <= len(choices)


def test_single_columns_are_looked_at_twice_where_precisions_add_up() -> None:
    """The second time those with more values get more. In epsilon one look tells more than two."""
    for delta, looks in ((1e-6, 2), (0.0, 1)):
        entries = fitted(delta=delta).ledger.entries
        first = [entry for entry in entries if not entry.question.startswith("choice")]
        asked = [entry.question for entry in first[: (looks + 1) * len(SIZES)]]
        singles = [f"table of {name}" for name in SIZES]
        assert asked[: looks * len(SIZES)] == looks * singles
        assert asked[looks * len(SIZES) :] != singles
    entries = fitted().ledger.entries
    by_name = dict(zip(SIZES, entries[len(SIZES) : 2 * len(SIZES)], strict=True))
    assert by_name["d"].amount > by_name["b"].amount > by_name["a"].amount


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_where_no_table_beats_its_noise_single_columns_get_the_budget(delta: float) -> None:
    few = Adaptive(epsilon=0.05, delta=delta).fit(table(300), schema(), noise=SeededNoise(0))
    assert all(len(group) == 1 for group in tables_of(few))
    assert few.ledger.spent()[0] >= 0.05 * (1 - 1e-6)
    assert few.measurements.holdout is None
    many = fitted(epsilon=5.0, delta=delta)
    assert any(len(group) > 1 for group in tables_of(many))
    assert many.measurements.holdout is not None


def test_unrelated_columns_are_left_by_themselves() -> None:
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, size, 4000) for name, size in SIZES.items()}
    rows = Table({name: Column("integer", column) for name, column in columns.items()})
    model = Adaptive(epsilon=1.0, delta=1e-6, holdout=0.0).fit(rows, schema(), noise=SeededNoise(0))
    questions = [entry.question for entry in model.ledger.entries]
    choices = sum(question.startswith("choice") for question in questions)
    assert sum(len(group) > 1 for group in tables_of(model)) < choices


def test_the_same_answers_make_the_same_model_and_it_survives_its_file(tmp_path: Path) -> None:
    one, other = fitted(3), fitted(3)
    assert one.to_dict() == other.to_dict()
    one.save(tmp_path / "m.json")
    assert encode(Model.load(tmp_path / "m.json").sample(50, seed=2), schema()).codes[
        "d"
    ].tolist() == (encode(one.sample(50, seed=2), schema()).codes["d"].tolist())
    assert one.query("count where a = 1").value == pytest.approx(2000, abs=300)


def test_cliques_keep_their_limit() -> None:
    small = fitted(max_cells=60, epsilon=20.0)
    # Nodes of a clique repeat its cells once for each attribute that it adds; each of them fits.
    assert max(node.table.size for node in small.network) <= 60
    assert sum(node.table.size for node in fitted(epsilon=20.0).network) > sum(
        n.table.size for n in small.network
    )


def test_cliques_grow_with_what_rows_and_budget_pay_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.synthesizers.adaptive_budget.LEAST_CELLS", 20)
    monkeypatch.setattr("understudy.synthesizers.adaptive_budget.CELLS_PER_SIGNAL", 0.02)
    monkeypatch.setattr("understudy.synthesizers.adaptive_whole.MAX_WHOLE_TABLE_CELLS", 0)
    sizes = [
        sum(node.table.size for node in fitted(epsilon=epsilon, max_cells=None).network)
        for epsilon in (0.5, 50.0)
    ]
    assert sizes[0] <= 3 * 20 < sizes[1]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_all_columns_are_one_table_where_noise_leaves_it_as_it_is(
    delta: float, neighbours: Any
) -> None:
    budget: Any = {"delta": delta, "neighbours": neighbours, "max_cells": None}
    model = fitted(epsilon=100.0, **budget)
    assert set(SIZES) in tables_of(model)
    assert not any("choice" in entry.question for entry in model.ledger.entries)
    assert 100.0 * (1 - 1e-6) <= model.ledger.spent()[0] <= 100.0
    assert error(model) < 0.002
    assert Model.from_dict(model.to_dict()).query("count where a = 1").value == pytest.approx(
        model.query("count where a = 1").value
    )
    assert set(SIZES) not in tables_of(fitted(epsilon=0.5, **budget))


def test_fast_takes_no_rounds_where_one_table_is_nearly_exact() -> None:
    """The table has more cells than ``--fast`` allows otherwise, and is far faster than rounds."""
    rng = np.random.default_rng(2)
    names = [f"c{place}" for place in range(15)]
    rows = Table({name: Column("integer", rng.integers(0, 2, 4000)) for name in names})
    binary = {"kind": "integer", "min": 0, "max": 1, "bins": 2}
    known = Schema.from_dict({"attributes": dict.fromkeys(names, binary)})
    model = Adaptive.fast(epsilon=1e3).fit(rows, known, noise=SeededNoise(0))
    assert set(names) in tables_of(model)
    assert len(model.ledger.entries) == 16


@pytest.mark.parametrize("asked", [{"workload": [("a", "b")]}, {"target": "e"}, {"max_cells": 60}])
def test_all_columns_are_no_table_where_others_are_asked_for(asked: dict[str, Any]) -> None:
    assert set(SIZES) not in tables_of(fitted(epsilon=100.0, **({"max_cells": None} | asked)))


def test_larger_tables_are_measured_where_noise_leaves_them_nearly_as_they_are() -> None:
    """Here e is told by three others together, and by fewer not at all."""
    rng = np.random.default_rng(5)
    drawn = {name: rng.integers(0, 2, 20_000) for name in SIZES}
    drawn["e"] = (drawn["a"] + drawn["b"] + drawn["f"]) % 2
    rows = Table({name: Column("integer", column) for name, column in drawn.items()})
    entries = {name: {"kind": "integer", "min": 0, "max": 1, "bins": 2} for name in SIZES}
    known = Schema.from_dict({"attributes": entries})

    def measured(**parameters: Any) -> set[int]:
        usual = {"epsilon": 3.0, "delta": 1e-6, "max_cells": FAST_CELLS - 1}
        method = Adaptive(**(usual | parameters))
        model = method.fit(rows, known, noise=SeededNoise(0))
        return {len(group) for group in tables_of(model)}

    assert 4 in measured()
    assert max(measured(epsilon=0.02)) < 4
    assert max(measured(order=2)) < 4
    assert max(measured(target="e")) < 4
    assert max(measured(workload=[("a", "b", "e")])) < 4


def test_a_workload_and_a_target_steer_what_is_measured() -> None:
    inside = tables_of(fitted(workload=[("a", "b"), ("c", "d", "f")]))
    assert all(
        group <= {"a", "b"} or group <= {"c", "d", "f"} for group in inside if len(group) > 1
    )
    assert {"a", "b"} in inside
    assert all("e" in group for group in tables_of(fitted(target="e")) if len(group) > 1)
    told = fitted(workload=[("a", "b")], target="a")
    assert told.method["workload"] == [["a", "b"]]
    assert all(group == {"a", "b"} for group in tables_of(told) if len(group) > 1)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_each_column_is_measured_with_the_target_before_anything_is_selected(delta: float) -> None:
    """Also where noise hides every table: a choice would find none of them."""
    model = Adaptive(epsilon=0.1, delta=delta, target="e").fit(
        table(100), schema(), noise=SeededNoise(0)
    )
    pairs = [{name, "e"} for name in SIZES if name != "e"]
    assert [group for group in tables_of(model) if len(group) == 2][: len(pairs)] == pairs


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [1e-12, 0.001])
def test_little_budget_gives_a_model_not_an_error(epsilon: float, delta: float) -> None:
    for seed in range(3):
        model = fitted(seed, epsilon=epsilon, delta=delta)
        assert model.ledger.spent()[0] <= epsilon
        assert Model.from_dict(model.to_dict()).sample(20, seed=0).rows == 20


@pytest.mark.parametrize("kinds", [{}, {"b": {"kind": "integer", "min": 0, "max": 1, "bins": 2}}])
def test_tables_with_nothing_to_combine(kinds: Any) -> None:
    constant = {name: {"kind": "integer", "min": 0, "max": 9, "bins": 1} for name in SIZES} | kinds
    model = Adaptive(epsilon=1.0).fit(
        table(100),
        Schema.from_dict({"attributes": constant}),
        noise=SeededNoise(0),
        notify=lambda sentence: None,
    )
    assert model.sample(10, seed=0).rows == 10
    assert model.ledger.spent()[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"one_way_share": 0.0}, "one_way_share"),
        ({"selection_share": 1.0}, "selection_share"),
        ({"penalty": -1.0}, "penalty"),
        ({"rounds": 0}, "rounds"),
        ({"order": 1}, "order"),
        ({"max_cells": True}, "max_cells"),
        ({"workload": ["ab"]}, "workload"),
        ({"workload": [("a",)]}, "workload"),
        ({"workload": [3]}, "workload"),
        ({"workload": [("a", "nobody")]}, "nobody"),
        ({"target": 3}, "target"),
        ({"target": "nobody"}, "nobody"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fitted(**parameters)


def test_a_target_that_is_never_read_is_refused() -> None:
    with pytest.raises(InputError, match="never read"):
        Adaptive(epsilon=1.0, target="e").fit(table(100), schema(e={"kind": "text"}))


@pytest.mark.thorough
@pytest.mark.data
def test_nltcs_is_close(data: Path) -> None:
    from published import published

    real, known = published("nltcs", data)
    model = Adaptive(epsilon=1.0, delta=1e-9).fit(real, known, noise=SeededNoise(0))
    errors = marginal_errors(real, model.sample(real.rows, seed=0), known, 3)
    assert statistics.mean(errors.values()) < 0.01


def wide(columns: int, rows: int = 2000) -> tuple[Table, Schema]:
    """Pairs of columns: every other one is a copy of the one before it, nine times out of ten."""
    rng = np.random.default_rng(3)
    drawn: dict[str, Any] = {}
    for place in range(columns):
        fresh = rng.integers(0, 3, rows)
        drawn[f"c{place}"] = (
            np.where(rng.random(rows) < 0.9, drawn[f"c{place - 1}"], fresh) if place % 2 else fresh
        )
    known = Schema.from_dict(
        {"attributes": {n: {"kind": "integer", "min": 0, "max": 2, "bins": 3} for n in drawn}}
    )
    return Table(
        {name: Column("integer", column.astype(np.int64)) for name, column in drawn.items()}
    ), known


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [0.0, pytest.param(1e-6, marks=pytest.mark.slow)])
def test_a_look_at_a_wide_table_is_for_several_choices(delta: float) -> None:
    rows, known = wide(34)
    model = Adaptive(epsilon=20.0, delta=delta).fit(rows, known, noise=SeededNoise(0))
    questions = [entry.question for entry in model.ledger.entries]
    questions = questions[questions.index(next(q for q in questions if "choice" in q)) :]
    assert [question.split()[0] for question in questions[:4]] == [
        "choice",
        "choice",
        "table",
        "table",
    ]
    pairs = [{f"c{place}", f"c{place + 1}"} for place in range(0, 34, 2)]
    assert sum(any(pair <= group for group in tables_of(model)) for pair in pairs) >= 16
    assert 20.0 * (1 - 1e-6) <= model.ledger.spent()[0] <= 20.0


def test_choices_that_would_not_fit_together_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each chord of a ring fits by itself; the second one of a look would make the cliques too
    large.
    """
    rows, known = wide(16)
    limit = 16 * 9
    model = Adaptive(epsilon=20.0, delta=1e-6, max_cells=limit).fit(
        rows, known, noise=SeededNoise(0)
    )
    cells = sum(node.table.size for node in model.network.nodes)
    assert cells <= 3 * limit
    assert 20.0 * (1 - 1e-3) <= model.ledger.spent()[0] <= 20.0


def test_fast_is_smaller_and_still_close() -> None:
    quick = Adaptive.fast(epsilon=3.0, delta=1e-6)
    assert quick.max_cells is not None
    assert quick.max_cells < LEAST_CELLS
    assert Adaptive.fast(epsilon=1.0, max_cells=9).max_cells == 9
    model = quick.fit(table(), schema(), noise=SeededNoise(0))
    alone = Independent(epsilon=3.0, delta=1e-6).fit(table(), schema(), noise=SeededNoise(0))
    assert error(model) < 0.6 * error(alone)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(
    ("rows", "parameters"),
    [
        (9, {"epsilon": 1.0, "holdout": 0.0}),
        (0, {"epsilon": 1e-6, "holdout": 0.0}),
        (300, {"epsilon": 1e4, "workload": [["a", "b"]]}),
    ],
)
def test_where_single_columns_take_all_or_noise_is_nothing_there_is_a_model(
    rows: int, parameters: dict[str, Any], delta: float
) -> None:
    method = Adaptive(delta=delta, refinement=0.0, **parameters)
    model = method.fit(table(rows), schema(), noise=SeededNoise(0), notify=lambda _: None)
    assert model.ledger.entries


@pytest.mark.parametrize(
    "method",
    [
        Adaptive(epsilon=1.0, neighbours="replace"),
        Adaptive(epsilon=1e3, neighbours="replace"),
        Adaptive(epsilon=1.0, delta=1e-6, neighbours="replace", target="a"),
        MST(epsilon=1.0, neighbours="replace"),
    ],
    ids=["rounds", "one table", "target", "mst"],
)
def test_a_table_of_which_everybody_knows_that_it_is_empty_is_released(method: Synthesizer) -> None:
    model = method.fit(table(0), schema(), noise=SeededNoise(0), notify=lambda _: None)
    assert model.rows == model.sample(seed=0).rows == 0
    assert model.sample(3, seed=0).rows == 3
