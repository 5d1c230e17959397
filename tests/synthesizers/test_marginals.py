"""Chosen marginals: measured at equal shares, kept by the model, refused where they cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import schema_of, words
from running import run
from understudy import Independent, InputError, Model, Table
from understudy.data.encoding import encode
from understudy.data.schema import Schema
from understudy.data.tables import Column
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers.marginals import Marginals, in_drawing_order
from understudy.synthesizers.perturbed_histogram import PerturbedHistogram

ROWS = 20_000
NAMES = "abcde"


def schema() -> Schema:
    return schema_of(**{name: {"kind": "integer", "min": 0, "max": 2, "bins": 3} for name in NAMES})


def chain_table() -> Table:
    """Each attribute mostly repeats the one before."""
    rng = np.random.default_rng(0)
    column = rng.choice(3, ROWS, p=[0.5, 0.3, 0.2])
    columns = {}
    for name in NAMES:
        columns[name] = Column("integer", column)
        column = np.where(rng.random(ROWS) < 0.8, column, rng.integers(0, 3, ROWS))
    return Table(columns)


def fitted(*groups: tuple[str, ...], seed: int = 1, **parameters: Any) -> Model:
    method = Marginals(**{"epsilon": 1.0, "marginals": groups, **parameters})
    return method.fit(chain_table(), schema(), noise=SeededNoise(seed))


def distance(model: Model, *names: str) -> float:
    codes = encode(chain_table(), schema()).codes
    shape = (3,) * len(names)
    truth = np.bincount(
        np.ravel_multi_index(tuple(codes[n] for n in names), shape), minlength=3 ** len(names)
    )
    found = model.marginal(*names).table
    return float(np.abs(found / found.sum() - truth.reshape(shape) / ROWS).sum() / 2)


def questions(model: Model) -> list[str]:
    return [entry.question.removeprefix("table of ") for entry in model.ledger.entries]


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_named_marginals_are_kept_and_other_attributes_are_there(
    neighbours: Any, delta: float
) -> None:
    model = fitted(("a", "b"), ("c", "d"), neighbours=neighbours, delta=delta)
    assert questions(model) == ["a x b", "c x d", "e"]
    assert len({entry.amount for entry in model.ledger.entries}) == 1
    assert model.ledger.spent() == (pytest.approx(1.0), delta)
    assert distance(model, "a", "b") < 0.01
    assert distance(model, "c", "d") < 0.01
    assert distance(model, "e") < 0.01
    assert distance(model, "b", "c") > 0.2  # nobody asked for it
    assert model.sample(100, seed=1).names == tuple(NAMES)


@pytest.mark.parametrize("repair", ["project", "clip"])
def test_overlapping_marginals_make_a_chain(repair: Any) -> None:
    model = fitted(("a", "b"), ("d", "e"), ("b", "c"), ("c", "d"), repair=repair)
    for pair in ("ab", "bc", "cd", "de"):
        assert distance(model, *pair) < 0.02
    assert distance(model, "a", "e") < 0.03  # what the chain implies, since the table is one


def test_three_way_marginals_that_share_two_attributes() -> None:
    model = fitted(("a", "b", "c"), ("b", "c", "d"), ("d", "e"))
    assert model.network.degree == 2
    for group in (("a", "b", "c"), ("b", "c", "d"), ("d", "e")):
        assert distance(model, *group) < 0.02


def test_a_group_inside_another_costs_nothing() -> None:
    assert questions(fitted(("a",), ("a", "b"), ("b", "a"), ("c", "d", "e"), ("e", "c"))) == [
        "a x b",
        "c x d x e",
    ]


def test_one_group_of_all_is_the_perturbed_histogram_and_none_is_independent() -> None:
    joint = PerturbedHistogram(epsilon=1.0).fit(chain_table(), schema(), noise=SeededNoise(4))
    assert all(
        (mine.table == theirs.table).all()
        for mine, theirs in zip(fitted(tuple(NAMES), seed=4).network, joint.network, strict=True)
    )
    single = Independent(epsilon=1.0).fit(chain_table(), schema(), noise=SeededNoise(4))
    assert [node.table.tolist() for node in fitted(seed=4).network] == [
        n.table.tolist() for n in single.network
    ]


def test_the_model_remembers_its_marginals(tmp_path: Path) -> None:
    fitted(("a", "b")).save(tmp_path / "m.json")
    assert Model.load(tmp_path / "m.json").method["marginals"] == [["a", "b"]]


def test_range_counts_come_with_error_bars() -> None:
    values = encode(chain_table(), schema()).codes
    truth = int(((values["a"] >= 1) & (values["b"] == 0)).sum())
    answers = [fitted(("a", "b"), seed=s).query("count where a >= 1 and b < 1") for s in range(40)]
    missed = np.sqrt(np.mean([(answer.value - truth) ** 2 for answer in answers]))
    assert missed == pytest.approx(np.mean([answer.error for answer in answers]), rel=0.5)


@given(
    st.permutations(
        [("a", "b"), ("b", "c", "d"), ("c", "d", "e"), ("e", "f"), ("b", "g"), ("h", "i")]
    )
)
def test_groups_without_a_circle_are_drawn_in_an_order_that_keeps_them(
    groups: list[tuple[str, ...]],
) -> None:
    order = in_drawing_order(groups)
    assert sorted(order) == sorted(groups)
    for place, group in enumerate(order):
        known = {name for earlier in order[:place] for name in earlier} & {*group}
        assert not known or any(known <= {*earlier} for earlier in order[:place])


@given(st.permutations([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a", "e")]))
def test_a_circle_is_refused_in_whatever_order(groups: list[tuple[str, ...]]) -> None:
    with pytest.raises(InputError, match="form a circle"):
        in_drawing_order(groups)


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        (
            [("a", "b"), ("b", "c"), ("a", "c")],
            "The marginals form a circle: a x c is tied by a, c",
        ),
        ([("a", "nobody")], "nobody"),
        ([("a", "a")], "names 'a' twice"),
        (["ab"], "marginals must be a list of groups"),
        ([()], "marginals must be a list of groups, each of one or more names of columns"),
        ([("a", 3)], "marginals must be a list of groups, each of one or more names of columns"),
    ],
)
def test_groups_that_make_no_sense_are_refused(groups: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        fitted(*groups)


def test_unread_columns_and_huge_tables_are_refused() -> None:
    table = Table({"a": words("x", "y"), "note": words("secret", "text")})
    kinds = schema_of(a={"kind": "categorical", "values": ["x", "y"]}, note={"kind": "text"})
    with pytest.raises(InputError, match="'note' is of kind text and never read"):
        Marginals(epsilon=1.0, marginals=[("a", "note")]).fit(table, kinds)
    wide = schema_of(
        **{name: {"kind": "integer", "min": 0, "max": 9999, "bins": 10_000} for name in "ab"}
    )
    with pytest.raises(InputError, match="a x b has 100,000,000 cells"):
        Marginals(epsilon=1.0, marginals=[("a", "b")]).fit(
            Table({name: Column("integer", np.arange(9)) for name in "ab"}), wide
        )


def test_attributes_with_one_value_need_no_table() -> None:
    kinds = schema_of(a={"kind": "boolean"}, b={"kind": "categorical", "values": ["x"]})
    table = Table({"a": Column("boolean", np.arange(90) > 30), "b": words(*["x"] * 90)})
    model = Marginals(epsilon=1.0, marginals=[("a", "b")]).fit(table, kinds)
    assert questions(model) == ["a"]
    constant = Marginals(epsilon=1.0, marginals=[("b",)]).fit(
        Table({"b": table.columns["b"]}), Schema((kinds["b"],))
    )
    assert questions(constant) == ["(rows)"]
    assert constant.rows == pytest.approx(90, abs=40)


# --------------------------------------------------------------------------- the command line


def test_the_command_line_names_marginals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chain_table().write("t.csv")
    schema().save("s.json")
    told = [
        "--schema",
        "s.json",
        "--method",
        "marginals",
        "--marginal",
        "a,b",
        "--marginal",
        "b, c",
    ]
    assert run("synthesize", "t.csv", *told, "--model", "m.json", "-o", "o.csv").status == 0
    assert questions(Model.load("m.json")) == ["a x b", "b x c", "d", "e"]
    refused = run(
        "synthesize", "t.csv", "--schema", "s.json", "--marginal", "a,b", "--method", "mst"
    )
    assert (refused.status, refused.err.strip()) == (
        2,
        "understudy: --marginal goes with the method marginals, not with mst.",
    )
    nameless = run(
        "synthesize", "t.csv", "--schema", "s.json", "--method", "marginals", "--marginal", ","
    )
    assert (nameless.status, nameless.err.count("\n")) == (2, 1)
    assert "--marginal must be a list of groups" in nameless.err


def test_the_command_line_draws_as_many_rows_as_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    chain_table().write("t.csv")
    schema().save("s.json")
    told = ["--schema", "s.json", "--method", "smoothed-histogram", "--draws", "12"]
    assert run("synthesize", "t.csv", *told, "--report", "r.html", "-o", "o.csv").status == 0
    assert len(Path("o.csv").read_text().splitlines()) == 13
    assert "12 rows that were drawn privately" in Path("r.html").read_text()
    joint = ["--schema", "s.json", "--method", "perturbed-histogram"]
    assert run("synthesize", "t.csv", *joint, "-o", "o.csv").status == 0
    assert (
        "--draws goes with the method smoothed-histogram"
        in run("synthesize", "t.csv", *joint, "--draws", "3").err
    )
