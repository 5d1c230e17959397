"""A network that the owner gives: all of the budget goes to its tables, and it is checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples import schema_of
from running import run
from understudy import (
    InputError,
    Model,
    PrivBayes,
    Schema,
    chow_liu,
    federate,
    greedy_bayes,
    make_holders,
)
from understudy.auditing import Pair, exact_loss
from understudy.data.tables import Column, Table
from understudy.privacy.mechanisms import Noise, SeededNoise

N1 = [
    ("age", ()),
    ("education", ("age",)),
    ("workclass", ("age", "education")),
    ("title", ("age", "workclass")),
    ("income", ("workclass", "title")),
]
"""The network of table 1 of the PrivBayes paper."""


def binary(*names: str) -> Schema:
    return schema_of(**{name: {"kind": "categorical", "values": [0, 1]} for name in names})


SCHEMA = binary(*(child for child, _ in N1))


def table_of(names: Any, values: Any) -> Table:
    return Table({name: Column("integer", np.array(values)[:, i]) for i, name in enumerate(names)})


def rows(count: int = 500, columns: int = 5) -> Any:
    return np.random.default_rng(0).integers(0, 2, (count, columns))


def fit(method: PrivBayes, schema: Schema = SCHEMA) -> Model:
    table = table_of(schema.names, rows(columns=len(schema.names)))
    return method.fit(table, schema, noise=SeededNoise(1), notify=lambda _: None)


def pairs_of(model: Model) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (node.attribute, tuple(axis.attribute for axis in node.parents)) for node in model.network
    ]


def test_example_3_1_through_the_public_name() -> None:
    """Three tables are measured, at a third each and noise of scale 2 (d - k) / epsilon; the first
    two conditionals are derived.
    """
    model = fit(PrivBayes.paper(0.7, network=N1))
    assert pairs_of(model) == N1
    assert [entry.question for entry in model.ledger.entries] == [
        "table of age x education x workclass",
        "table of age x workclass x title",
        "table of workclass x title x income",
    ]
    for entry in model.ledger.entries:
        assert entry.amount == pytest.approx(0.7 / 3)
        assert entry.mechanism == f"discrete Laplace, scale {2 * (5 - 2) / 0.7:.6g}"


def test_all_of_the_budget_goes_to_tables() -> None:
    model = fit(PrivBayes(epsilon=1.0, network=N1, refinement=0.0))
    assert {entry.question.split()[0] for entry in model.ledger.entries} == {"table"}
    assert model.ledger.left.amount == pytest.approx(0, abs=1e-12)
    assert model.rows == pytest.approx(500, abs=60)
    assert model.sample(10, seed=1).rows == 10


def test_any_order_will_do_and_the_model_keeps_what_was_given(tmp_path: Path) -> None:
    model = fit(PrivBayes(epsilon=1.0, network=N1[::-1]))
    assert sorted(pairs_of(model)) == sorted(N1)
    placed: set[str] = set()
    for child, parents in pairs_of(model):
        assert placed.issuperset(parents)
        placed.add(child)
    model.save(tmp_path / "model.json")
    kept = Model.load(tmp_path / "model.json").method["network"]
    assert kept == [[child, list(parents)] for child, parents in N1[::-1]]


def test_columns_of_one_value_need_no_table() -> None:
    schema = schema_of(
        a={"kind": "categorical", "values": [0, 1]},
        b={"kind": "categorical", "values": [0]},
        c={"kind": "categorical", "values": [0, 1]},
    )
    table = table_of("abc", rows(columns=3) * np.array([1, 0, 1]))
    method = PrivBayes(epsilon=1.0, network=[("b", ()), ("a", ("b",)), ("c", ("a", "b"))])
    model = method.fit(table, schema, noise=SeededNoise(1), notify=lambda _: None)
    assert dict(pairs_of(model)) == {"b": (), "a": (), "c": ("a",)}


def test_it_loses_what_it_claims() -> None:
    schema = binary("a", "b", "c")
    body = [(place % 2, 0, 0) for place in range(40)]
    pair = Pair(table_of("abc", body), table_of("abc", [*body, (1, 1, 1)]), schema)
    method = PrivBayes(epsilon=1.0, network=[("a", ()), ("b", ("a",)), ("c", ("a", "b"))])

    def fit_with(table: Any, noise: Noise) -> Model:
        return method.fit(table, schema, noise=noise, notify=lambda _: None)

    assert 0.8 <= exact_loss(fit_with, pair).epsilon <= 1 + 1e-9


def hospitals(schema: Schema) -> list[Any]:
    tables = {name: table_of(schema.names, rows(200, 3)) for name in ("north", "south", "west")}
    return make_holders(tables, schema, allowance=1.0)


def test_several_holders_measure_its_tables() -> None:
    schema = binary("a", "b", "c")
    method = PrivBayes(epsilon=1.0, network=[("a", ()), ("b", ("a",)), ("c", ("a", "b"))])
    model = federate(hospitals(schema), schema, method)
    assert pairs_of(model) == [("a", ()), ("b", ("a",)), ("c", ("a", "b"))]
    assert [entry.question for entry in model.ledger.entries] == ["table of a x b x c"]


@pytest.mark.parametrize(
    "how", [{"way": "statistics"}, {"structure": "tables"}], ids=["statistics", "tables"]
)
def test_structure_from_tables_goes_with_no_network(how: Any) -> None:
    schema = binary("a", "b", "c")
    holders = hospitals(schema)
    method = PrivBayes(epsilon=1.0, network=[("a", ()), ("b", ()), ("c", ())])
    with pytest.raises(InputError, match="does not come from tables"):
        federate(holders, schema, method, **how)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no list": ({"network": "age"}, "must be a list of columns"),
    "empty": ({"network": []}, "must be a list of columns"),
    "no pairs": ({"network": ["age"]}, "must be a list of columns"),
    "parents as text": ({"network": [("age", "income")]}, "must be a list of columns"),
    "a circle": (
        {"network": [("age", ("income",)), ("income", ("age",))]},
        "goes round in a circle",
    ),
    "its own parent": ({"network": [("age", ("age",))]}, "goes round in a circle"),
    "a column twice": ({"network": [("age", ()), ("age", ())]}, "'age' twice"),
    "a parent twice": ({"network": [("a", ()), ("b", ("a", "a"))]}, "a parent of 'b' twice"),
    "a parent not known": ({"network": [("age", ("height",))]}, "'height' as a parent of 'age'"),
    "beside a degree": ({"network": N1, "degree": 2}, "leave degree and target out"),
    "beside a target": ({"network": N1, "target": "age"}, "leave degree and target out"),
    "over bits": ({"network": N1, "encoding": "binary"}, "columns as they are"),
}


@pytest.mark.parametrize(("given", "said"), BAD.values(), ids=BAD.keys())
def test_what_is_no_network_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        PrivBayes(epsilon=1.0, **given)


@pytest.mark.parametrize(
    ("network", "said"),
    [
        (N1[:4], "lacks the column 'income'"),
        ([*N1, ("height", ())], "no column that is modelled"),
    ],
)
def test_a_network_of_other_columns_is_refused_before_anything_is_asked(
    network: Any, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        fit(PrivBayes(epsilon=1.0, network=network))


def test_a_table_too_large_is_refused() -> None:
    names = [f"c{place}" for place in range(6)]
    schema = schema_of(**{n: {"kind": "integer", "min": 0, "max": 99, "bins": 100} for n in names})
    network = [(name, names[:place]) for place, name in enumerate(names)]
    with pytest.raises(InputError, match="fewer parents"):
        PrivBayes(epsilon=1.0, network=network).check(schema)


# --------------------------------------------------------------------------- public tables


def chain(count: int = 2000) -> Table:
    """b follows a, c follows b, d follows a and c together (their sum), each not always."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, count)
    b = np.where(rng.random(count) < 0.9, a, 1 - a)
    c = np.where(rng.random(count) < 0.8, b, 1 - b)
    d = np.where(rng.random(count) < 0.95, a ^ c, 1 - (a ^ c))
    return table_of("abcd", np.column_stack([a, b, c, d]))


def test_the_best_tree_is_found_by_trying_all() -> None:
    from itertools import product

    table, schema = chain(), binary(*"abcd")
    codes = {name: column.values for name, column in table.columns.items()}

    def information(x: str, y: str) -> float:
        joint = np.bincount(2 * codes[x] + codes[y], minlength=4).reshape(2, 2) / table.rows
        expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        return float((joint * np.log2(joint / expected)).sum())

    found = chow_liu(table, schema)
    total = sum(information(child, parent) for child, (parent,) in found[1:])
    trees = []
    for parents in product("abcd", repeat=3):  # of b, c, d; a is the root
        up = dict(zip("bcd", parents, strict=True))
        reached = {name: name for name in "bcd"}
        for _ in range(4):
            reached = {name: up.get(at, "a") for name, at in reached.items()}
        if set(reached.values()) == {"a"}:
            trees.append(sum(information(child, parent) for child, parent in up.items()))
    assert total == pytest.approx(max(trees))
    assert len(trees) == 16


def test_greedy_bayes_finds_parents_that_only_tell_together() -> None:
    found = dict(greedy_bayes(chain(), binary(*"abcd"), degree=2))
    assert set(found["d"]) == {"a", "c"}
    assert all(len(parents) <= 2 for parents in found.values())
    assert dict(greedy_bayes(chain(), binary(*"abcd"), degree=1)) == dict(
        chow_liu(chain(), binary(*"abcd"))
    )
    assert greedy_bayes(chain(), binary(*"abcd"), degree=0)[3][1] == ()


def test_what_is_found_can_be_given() -> None:
    table, schema = chain(), binary(*"abcd")
    network = greedy_bayes(table, schema, first="c")
    assert network[0] == ("c", ())
    model = PrivBayes(epsilon=1.0, network=network).fit(
        table, schema, noise=SeededNoise(1), notify=lambda _: None
    )
    assert pairs_of(model) == network


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"degree": -1}, "degree must be"),
        ({"degree": True}, "degree must be"),
        ({"first": "z"}, "no column 'z'"),
        ({"degree": 30}, "too much"),
    ],
)
def test_structure_refuses_what_makes_no_sense(given: dict[str, Any], said: str) -> None:
    names = [f"c{place}" for place in range(60)]
    table = table_of(names, rows(20, 60))
    with pytest.raises(InputError, match=said):
        greedy_bayes(table, binary(*names), **given)


# --------------------------------------------------------------------------- the command line


@pytest.fixture
def files(tmp_path: Path) -> Path:
    chain().write(tmp_path / "table.csv")
    binary(*"abcd").save(tmp_path / "schema.json")
    network = {"a": [], "b": ["a"], "c": ["b"], "d": ["a", "c"]}
    (tmp_path / "network.json").write_text(json.dumps(network))
    return tmp_path


def synthesize(files: Path, network: str) -> Any:
    return run(
        "synthesize",
        files / "table.csv",
        "--schema",
        files / "schema.json",
        "--epsilon",
        "1",
        "--network",
        files / network,
        "-o",
        files / "out.csv",
        "--model",
        files / "model.json",
        "-q",
    )


def test_a_network_file_is_used_and_its_tables_are_printed(files: Path) -> None:
    ran = synthesize(files, "network.json")
    assert ran.status == 0, ran.err
    model = Model.load(files / "model.json")
    assert dict(pairs_of(model))["d"] == ("a", "c")
    shown = run("show", files / "model.json", "--tables", columns=120)
    assert shown.status == 0, shown.err
    assert "Pr[a]" in shown.out
    assert "Pr[d | a, c]" in shown.out
    chance = model.network["d"].conditional[1, 0, 1]
    assert f"{chance:.4g}" in shown.out
    assert "Pr[" not in run("show", files / "model.json", columns=120).out
    narrow = run("show", files / "model.json", "--tables", columns=24)
    assert "probability" in narrow.out  # a line for each value, where they do not fit
    assert f"{chance:.4g}" in narrow.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": "b"}', "must be a JSON list of columns with their parents"),
        ("[1, 2]", "must be a JSON list of columns with their parents"),
        ('{"a": [], "b": ["c"], "c": ["b"], "d": []}', "goes round in a circle"),
        ('{"a": []}', "lacks the column 'b'"),
        ("{", "network"),
    ],
)
def test_a_network_file_that_is_none_is_refused(files: Path, text: str, said: str) -> None:
    (files / "bad.json").write_text(text)
    ran = synthesize(files, "bad.json")
    assert ran.status == 2
    assert said in " ".join(ran.err.split())
    assert not (files / "out.csv").exists()
    assert synthesize(files, "nowhere.json").status == 2
