"""Queries, marginals and conditional sampling, by way of the model."""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from running import run
from understudy.data.bits import Bits
from understudy.data.marginals import Axis
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.models.model import Model
from understudy.models.network import Network, Node
from understudy.models.query.conditions import parse_conditions
from understudy.models.query.grammar import MAX_QUERY_DEPTH, parse
from understudy.privacy.ledger import Ledger
from understudy.reports.release import report

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "id": {"kind": "identifier"},
            "age": {"kind": "integer", "min": 0, "max": 79, "bins": 8, "missing": True},
            "sex": {"kind": "categorical", "values": ["Female", "Male"]},
            "income": {"kind": "real", "min": 0, "max": 100, "bins": 4, "decimals": 1},
            "born": {"kind": "date", "min": "2000-01-01", "max": "2000-12-30", "bins": 5},
            "rating": {"kind": "categorical", "values": [1, 2, 5]},
            "grade": {"kind": "categorical", "values": ["low", "mid", "high"], "ordered": True},
            "smoker": {"kind": "boolean"},
            "home town": {"kind": "categorical", "values": ["O'Hare", "Ulm"]},
        }
    }
)


def network(schema: Schema = SCHEMA, deviation: float = 5.0) -> Network:
    rng = np.random.default_rng(1)
    parents: dict[str, tuple[Axis, ...]] = {
        "age": (),
        "sex": (Axis("age", 1),),
        "income": (Axis("age"), Axis("sex")),
        "born": (Axis("income", 1),),
        "rating": (Axis("sex"), Axis("income")),
        "grade": (Axis("rating"),),
        "smoker": (Axis("grade"), Axis("age", 2)),
        "home town": (),
    }
    nodes = []
    for name, axes in parents.items():
        shape = [schema[a.attribute].sizes_by_level()[a.level] for a in axes] + [schema[name].size]
        table = rng.gamma(2.0, size=shape)
        nodes.append(Node(name, axes, table * 10_000 / table.sum(), deviation))
    return Network(tuple(nodes))


@pytest.fixture(scope="module")
def model() -> Model:
    return Model({"name": "test"}, SCHEMA, network(), Ledger(1.0, 0.0, "replace"), 10_000)


@pytest.fixture(scope="module")
def rows(model: Model) -> dict[str, np.ndarray]:
    """A large sample of the model: what its answers can be checked against, values inside bins
    included.
    """
    return as_columns(model.sample(400_000, seed=5))


def as_columns(table: Any) -> dict[str, np.ndarray]:
    """The columns as texts or numbers, missing ones as not-a-number."""
    found = {}
    for name, column in table.columns.items():
        if column.kind == "boolean":
            values = np.array(["false", "true"])[column.values.astype(int)]
        else:
            values = (
                np.array(column.words)[column.values]
                if column.words
                else column.values.astype(np.float64)
            )
        found[name] = (
            values if column.missing is None else np.where(column.missing > 0, np.nan, values)
        )
    return found


# --------------------------------------------------------------------------- answers

DAY = (dt.date(2000, 6, 1) - dt.date(1970, 1, 1)).days

QUESTIONS: list[tuple[str, Any]] = [
    ("", lambda r: np.ones(len(r["age"]), dtype=bool)),
    ("where sex = 'Female'", lambda r: r["sex"] == "Female"),
    (
        "where age >= 44 and age < 55 and sex = 'Female'",
        lambda r: (r["age"] >= 44) & (r["age"] < 55) & (r["sex"] == "Female"),
    ),
    ("where age > 43 and age <= 46", lambda r: (r["age"] > 43) & (r["age"] <= 46)),
    ("where age > 43.5 and age < 46.5", lambda r: (r["age"] > 43) & (r["age"] < 47)),
    (
        "where age between 12 and 17 or sex = 'Male' and not rating = 5",
        lambda r: (
            ((r["age"] >= 12) & (r["age"] <= 17)) | ((r["sex"] == "Male") & (r["rating"] != 5))
        ),
    ),
    ("where not (age < 44)", lambda r: ~(r["age"] < 44)),
    ("where age >= 44", lambda r: r["age"] >= 44),
    ("where age != 44", lambda r: ~np.isnan(r["age"]) & (r["age"] != 44)),
    ("where age is missing", lambda r: np.isnan(r["age"])),
    ("where age is not missing", lambda r: ~np.isnan(r["age"])),
    ("where age not between 10 and 70", lambda r: (r["age"] < 10) | (r["age"] > 70)),
    ("where age in (1, 2, 30) or age = 31", lambda r: np.isin(r["age"], [1, 2, 30, 31])),
    ("where income < 12.5 or income >= 80", lambda r: (r["income"] < 12.5) | (r["income"] >= 80)),
    ("where income <= 12.5", lambda r: r["income"] <= 12.5),
    ("where born >= '2000-06-01'", lambda r: r["born"] >= DAY),
    (
        "where born < '2000-06-01' and smoker = true",
        lambda r: (r["born"] < DAY) & (r["smoker"] == "true"),
    ),
    ("where rating >= 2 and rating in (1, 5)", lambda r: r["rating"] == 5),
    ("where grade > 'low'", lambda r: r["grade"] != "low"),
    (
        "where grade not in ('low', 'high') and smoker = 'FALSE'",
        lambda r: (r["grade"] == "mid") & (r["smoker"] == "false"),
    ),
    ("where \"home town\" = 'O''Hare'", lambda r: r["home town"] == "O'Hare"),
    ("WHERE Not Not (sex <> 'Male')", lambda r: r["sex"] == "Female"),
    (
        "where age < 5 or age < 3 and sex = 'Male' or income > 99 or smoker = true",
        lambda r: (r["age"] < 5) | (r["income"] > 99) | (r["smoker"] == "true"),
    ),
]


@pytest.mark.parametrize(("condition", "holds"), QUESTIONS)
def test_answers_agree_with_a_large_sample(
    condition: str, holds: Any, model: Model, rows: dict[str, np.ndarray]
) -> None:
    share = float(holds(rows).mean())
    assert model.query(f"share {condition}").value == pytest.approx(share, abs=0.004)
    assert model.query(f"count {condition}").value == pytest.approx(10_000 * share, abs=40)
    chosen = rows["age"][holds(rows)]
    if np.isfinite(chosen).any():
        assert model.query(f"mean age {condition}").value == pytest.approx(
            np.nanmean(chosen), abs=0.35
        )


def test_means_of_other_kinds(model: Model, rows: dict[str, np.ndarray]) -> None:
    assert model.query("mean rating where sex = 'Male'").value == pytest.approx(
        rows["rating"][rows["sex"] == "Male"].mean(), abs=0.02
    )
    # A decoded real is cut to its places, here 0.1.
    assert model.query("mean income").value == pytest.approx(rows["income"].mean() + 0.05, abs=0.1)


def test_a_cut_bin_counts_by_its_share(model: Model) -> None:
    whole = model.query("count where age between 40 and 49").value
    assert model.query("count where age between 44 and 45").value == pytest.approx(whole * 0.2)
    assert model.query("count where age >= 44 and age < 46").value == pytest.approx(whole * 0.2)


@pytest.mark.thorough
def test_error_bars_are_those_of_simulated_noise(model: Model) -> None:
    rng = np.random.default_rng(3)
    queries = [
        "count where sex = 'Female' and income < 40",
        "mean income where age < 33",
        "share where smoker = true",
    ]
    found: list[list[float]] = [[], [], []]
    big = replace(
        model,
        network=Network(
            tuple(replace(n, table=n.table * 100, deviation=20.0) for n in model.network)
        ),
    )
    for _ in range(150):
        nodes = [replace(n, table=n.table + rng.normal(0, 20, n.table.shape)) for n in big.network]
        noisy = replace(big, network=Network(tuple(nodes)))
        for values, query in zip(found, queries, strict=True):
            values.append(noisy.query(query).value)
    for values, query in zip(found, queries, strict=True):
        assert 0.8 < np.std(values) / big.query(query).noise < 1.25


def test_an_unknown_number_of_rows_adds_to_the_error(model: Model) -> None:
    unsure = replace(model, ledger=Ledger(1.0, 0.0, "add_remove"))
    assert model.query("count").error == pytest.approx(0, abs=1e-6)
    assert unsure.query("count").error > 1
    assert unsure.query("share").error == model.query("share").error


def test_how_an_answer_looks(model: Model) -> None:
    answer = model.query("count where sex = 'Female'")
    assert repr(answer) == f"{answer.value:,.0f} ± {answer.error:,.0f}"
    assert answer.low == pytest.approx(answer.value - 1.96 * answer.error)
    assert answer.high == pytest.approx(answer.value + 1.96 * answer.error)
    assert answer.to_dict()["value"] == answer.value
    assert "%" in repr(model.query("share where sex = 'Female'"))
    assert "±" in repr(model.query("mean age"))
    assert model.query("share where age = 1").low >= 0
    quiet = replace(model, network=network(deviation=0.0))
    assert repr(quiet.query("count")) == "10,000"


# --------------------------------------------------------------------------- marginals


def test_marginal(model: Model, rows: dict[str, np.ndarray]) -> None:
    found = model.marginal("sex", ("age", 1))
    assert found.table.shape == (2, 5)
    assert found.labels == (
        ("Female", "Male"),
        ("0 to 19", "20 to 39", "40 to 59", "60 to 79", "missing"),
    )
    assert found.table.sum() == pytest.approx(10_000)
    wanted = model.query("count where sex = 'Male' and age between 20 and 39")
    assert found.table[1, 1] == pytest.approx(wanted.value)
    assert found.deviation[1, 1] == pytest.approx(wanted.noise)
    assert found.error.shape == found.table.shape
    assert repr(found).splitlines()[0].split() == ["sex", "age^1", "count"]
    assert "± " in repr(found)
    assert "<td>Female</td>" in found._repr_html_()
    assert "more" in repr(model.marginal("age", "income"))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((), "at least one attribute"),
        (("ages",), "did you mean 'age'"),
        (("age", "age"), "appears twice"),
        ((("age", 9),), "levels 0 to"),
        (("id",), "not modelled"),
    ],
)
def test_a_marginal_that_cannot_be(model: Model, parts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.marginal(*parts)


# --------------------------------------------------------------------------- networks over bits


@pytest.mark.parametrize("gray", [False, True])
def test_a_network_over_bits_answers_too(gray: bool) -> None:
    schema = Schema(tuple(SCHEMA[name] for name in ("age", "sex", "rating")))
    bits = Bits(schema, gray)
    rng = np.random.default_rng(4)
    nodes: list[Node] = []
    for name in bits.schema.names:
        parents = tuple(Axis(node.attribute) for node in nodes[-2:])
        nodes.append(Node(name, parents, rng.gamma(1.0, size=[2] * (len(parents) + 1)) * 100, 1.0))
    model = Model(
        {"name": "test"}, schema, Network(tuple(nodes)), Ledger(1.0, 0.0, "replace"), 1000, bits
    )
    table = model.sample(300_000, seed=1)
    age = table.columns["age"]
    absent = np.zeros(table.rows, dtype=bool) if age.missing is None else age.missing > 0
    male = np.array(table.columns["sex"].words)[table.columns["sex"].values] == "Male"
    holds = ~absent & (age.values >= 25) & male
    assert model.query("share where age >= 25 and sex = 'Male'").value == pytest.approx(
        holds.mean(), abs=0.005
    )
    counts = np.bincount(table.columns["rating"].values, minlength=6)[[1, 2, 5]]
    np.testing.assert_allclose(
        model.marginal("rating").table / 1000, counts / counts.sum(), atol=0.005
    )
    assert (model.marginal("rating").deviation > 0).all()
    wanted = np.bincount(table.columns["rating"].values[holds], minlength=6) / holds.sum()
    for how in ("exact", "rejection", "weighting"):
        drawn = model.sample(60_000, seed=2, given={"age": (25, None), "sex": "Male"}, method=how)  # type: ignore[arg-type]
        assert drawn.columns["age"].values.min() >= 25
        found = np.bincount(drawn.columns["rating"].values, minlength=6) / drawn.rows
        np.testing.assert_allclose(found, wanted, atol=0.015)


# ----------------------------------------- queries that cannot be read


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "",
            "character 1: expected count, share, .* or max, but the query ends there",
        ),
        ("total age", "expected count, share, .* or max, but found 'total'"),
        ("count where", "expected the name of an attribute, but the query ends there"),
        ("count sex = 'Male'", "character 7: expected where, group by or the end, but found 'sex'"),
        ("count where sex 'Male'", "expected a comparison"),
        ("count where sex = Male", "character 19: text stands in single quotes; write 'Male'"),
        ('count where sex = "Male"', "write 'Male'"),
        ("count where sex = 'Mal'", "no value 'Mal'; did you mean 'Male'"),
        ("count where sex = 'male'", "did you mean 'Male'"),
        ("count where sx = 'Male'", "character 13: There is no attribute 'sx'; did you mean 'sex'"),
        ("count where sex = 'Male", "character 19: this quote is never closed"),
        ("count where sex = 'Male' sex", "expected and, or, group by or the end"),
        ("count where (sex = 'Male'", "expected \\), but the query ends"),
        ("count where sex in 'Male'", "expected \\("),
        ("count where sex in ()", "expected a value"),
        ("count where age between 1 or 2", "expected and"),
        ("count where age not = 2", "expected in or between"),
        ("count where age is 3", "expected missing"),
        ("count where sex < 'Male'", "have no order"),
        ("count where sex is missing", "never missing"),
        ("count where age = 'old'", "is a number: compare it with a number, not 'old'"),
        ("count where rating > 'old'", "is a number"),
        ("count where rating = 3", "no value 3"),
        ("count where born = 3", "is a date"),
        ("count where born = 'yesterday'", "is a date"),
        ("count where id = 3", "not modelled"),
        ("count where age = 3; drop table", "';"),
        ("count where age = 3 and __import__('os')", "no attribute '__import__'"),
        ("mean sex", "a mean is of numbers"),
        ("mean born", "a mean is of numbers"),
        ("mean where age = 3", "expected the name of an attribute"),
        ("mean age where age is missing", "no row with a value"),
        ("count where " + "(" * 100 + "age = 1" + ")" * 100, f"more than {MAX_QUERY_DEPTH} deep"),
        ("count where " + "not " * 3000 + "age = 1", f"more than {MAX_QUERY_DEPTH} deep"),
        ("count where " + "age = 1 or " * 5000 + "age = 1", "longer than"),
        (3, "A query is text"),
    ],
)
def test_a_query_that_cannot_be_read(model: Model, query: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        model.query(query)
    assert "\n" not in str(caught.value)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "count",
                "mean",
                "where",
                "age",
                "sex",
                "=",
                "<",
                "(",
                ")",
                "and",
                "or",
                "not",
                "in",
                "between",
                "is",
                "missing",
                "'Male'",
                "3",
                "-1e9",
                ",",
                "born",
                '"',
                "'",
                "true",
                "id",
                "\x00",
                "é",
            ]
        ),
        max_size=14,
    ).map(" ".join)
)
def test_any_text_is_read_or_refused_politely(text: str) -> None:
    for query in (text, f"count where {text}"):
        with contextlib.suppress(InputError):
            parse(query, SCHEMA)


def test_a_count_needs_rows(model: Model) -> None:
    with pytest.raises(InputError, match="ask for a share"):
        replace(model, rows=None).query("count")
    assert replace(model, rows=None).query("share where sex = 'Male'").value > 0


# ----------------------------------------------- rows given conditions

CONDITIONS: list[tuple[dict[str, Any], Any]] = [
    ({"sex": "Female"}, lambda r: r["sex"] == "Female"),
    (
        {"sex": "Female", "age": (33, 41)},
        lambda r: (r["sex"] == "Female") & (r["age"] >= 33) & (r["age"] <= 41),
    ),
    ({"age": [3, 4, 5, 17, None]}, lambda r: np.isin(r["age"], [3, 4, 5, 17]) | np.isnan(r["age"])),
    ({"age": None, "smoker": True}, lambda r: np.isnan(r["age"]) & (r["smoker"] == "true")),
    ({"age": (None, 12)}, lambda r: r["age"] <= 12),
    ({"income": (10.0, 30.5)}, lambda r: (r["income"] >= 10) & (r["income"] <= 30.5)),
    (
        {"born": (dt.date(2000, 6, 1), "2000-07-01"), "rating": [1, "5"]},
        lambda r: (r["born"] >= DAY) & (r["born"] <= DAY + 30) & np.isin(r["rating"], [1, 5]),
    ),
    (
        {"grade": ("mid", "high"), "rating": (2, None)},
        lambda r: (r["grade"] != "low") & (r["rating"] >= 2),
    ),
]


@pytest.mark.parametrize("method", ["exact", "rejection", "weighting"])
@pytest.mark.parametrize(("wanted", "holds"), CONDITIONS)
def test_rows_given_a_condition(
    wanted: dict[str, Any], holds: Any, method: Any, model: Model, rows: dict[str, np.ndarray]
) -> None:
    drawn = as_columns(model.sample(20_000, seed=3, given=wanted, method=method))
    assert len(drawn["sex"]) == 20_000
    assert holds(drawn).all()
    fit = holds(rows)
    for check in (
        lambda r: r["sex"] == "Male",
        lambda r: r["smoker"] == "true",
        lambda r: r["income"] > 45,
        lambda r: r["age"] % 10 > 4,
    ):
        noise = 1 / np.sqrt(fit.sum()) + 1 / np.sqrt(20_000)
        assert check(drawn).mean() == pytest.approx(check(rows)[fit].mean(), abs=3 * noise)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"sex": "Femal"}, "did you mean 'Female'"),
        ({"sx": "Female"}, "no attribute 'sx'"),
        ({"age": (200, 300)}, "No value of 'age' fits the condition"),
        ({"age": (40, 30)}, "No value of 'age' fits"),
        ({"age": 30.5}, "No value of 'age' fits"),
        ({"age": []}, "No value of 'age' fits"),
        ({"age": (1, 2, 3)}, "has two ends"),
        ({"sex": ("Female", "Male")}, "no order"),
        ({"sex": None}, "never missing"),
        ({"id": 3}, "cannot be a condition"),
        ({"age": "x"}, "is a number"),
        ({"age": True}, "is a number"),
        ("age > 3", "must be a mapping"),
    ],
)
def test_a_condition_that_cannot_be(model: Model, wanted: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.sample(10, given=wanted)


def test_a_condition_of_probability_zero(model: Model) -> None:
    nodes = [
        replace(n, table=np.where(np.arange(2) == 1, n.table, 0)) if n.attribute == "sex" else n
        for n in model.network
    ]
    never = replace(model, network=Network(tuple(nodes)))
    with pytest.raises(
        InputError, match="no row fits the condition on 'sex', 'age': its probability is zero"
    ):
        never.sample(10, given={"sex": "Female", "age": (3, 5)})
    assert never.query("count where sex = 'Female'").value == 0


def test_method_and_spread_are_checked(model: Model) -> None:
    with pytest.raises(InputError, match="method must be one of exact, rejection, weighting"):
        model.sample(10, method="guess")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="spread must be one of even, independent"):
        model.sample(10, spread="thin")  # type: ignore[arg-type]


@pytest.mark.parametrize("spread", ["even", "independent"])
def test_a_seed_makes_rows_repeatable_in_any_number_of_chunks(
    model: Model, spread: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.models.model.CHUNK", 1000)
    first = as_columns(model.sample(5000, seed=7, spread=spread))
    again = as_columns(model.sample(5000, seed=7, spread=spread))
    monkeypatch.setattr("understudy.models.chunks.THREADS", 1)
    alone = as_columns(model.sample(5000, seed=7, spread=spread))
    longer = as_columns(model.sample(8000, seed=7, spread=spread))
    for name, column in first.items():
        np.testing.assert_array_equal(column, again[name])
        np.testing.assert_array_equal(column, alone[name])
        np.testing.assert_array_equal(column, longer[name][:5000])
    assert (
        as_columns(model.sample(5000, seed=8, spread=spread))["income"] != first["income"]
    ).any()


def test_even_rows_are_closer_to_the_model(model: Model) -> None:
    wanted = model.marginal(("age", 1), "sex").table
    codes = {
        spread: model._sampler.draw(10_000, np.random.default_rng(1), spread)
        for spread in ("even", "independent")
    }  # type: ignore[arg-type]
    errors = {}
    for spread, columns in codes.items():
        coarse = SCHEMA["age"].generalisations[0][columns["age"]]
        counts = np.bincount(coarse.astype(int) * 2 + columns["sex"], minlength=10).reshape(5, 2)
        errors[spread] = np.abs(counts - wanted).max()
    assert errors["even"] < 3
    assert errors["independent"] > 10


def test_streaming_stops_early_without_harm(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.models.model.CHUNK", 100)
    chunks = model.chunks(100_000, seed=1)
    assert next(chunks).rows == 100
    chunks.close()  # type: ignore[attr-defined]


# --------------------------------------------------------------------------- conditions as text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("sex=Female", "Female"),
        ("sex = Female|Male", ["Female", "Male"]),
        ("age=30..40", ("30", "40")),
        ("age=30..", ("30", None)),
        ("age=missing", None),
        ("age=", None),
        ("age=3|missing", ["3", None]),
        ("age=30..40|missing|70..", [("30", "40"), None, ("70", None)]),
        ("born=2000-01-01..2000-02-01", ("2000-01-01", "2000-02-01")),
        ("grade=low..mid", ("low", "mid")),
        ("rating=1..2", ("1", "2")),
        ("home town=O'Hare", "O'Hare"),
    ],
)
def test_conditions_as_text(text: str, wanted: Any, model: Model) -> None:
    given = parse_conditions([text], SCHEMA)
    assert list(given.values()) == [wanted]
    assert model.sample(50, seed=1, given=given).rows == 50  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["sex"], "not of the form name=value"),
        (["=3"], "not of the form"),
        (["sex=Male", "sex=Female"], "two conditions on 'sex'"),
        (["sx=Male"], "no attribute 'sx'"),
    ],
)
def test_conditions_as_text_that_cannot_be(texts: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_conditions(texts, SCHEMA)


# --------------------------------------------------------------------------- on the command line


@pytest.fixture
def saved(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.chdir(tmp_path)
    model.save("m.json")
    return Model.load("m.json")


def test_query_command(saved: Model) -> None:
    one, two = "count where age >= 44 and sex = 'Female'", "mean age"
    assert run("query", "m.json", one).out == f"{saved.query(one)!r}\n"
    parts = run("query", "m.json", one, "--parts").out.splitlines()
    assert parts[0] == f"{saved.query(one)!r}"
    assert parts[1].startswith("  noise ")
    assert "misfit" in parts[1]
    assert "cut bins" in parts[1]
    assert (
        run("query", "m.json", one, two).out
        == f"{one}: {saved.query(one)!r}\n{two}: {saved.query(two)!r}\n"
    )
    answers = json.loads(run("query", "m.json", two, "--json").out)
    assert answers == [saved.query(two).to_dict()]
    refused = run("query", "m.json", "count where age = ")
    assert refused.status == 2
    assert "expected a value" in refused.err
    assert refused.err.count("\n") == 1


@pytest.mark.parametrize("how", ["exact", "rejection", "weighting"])
def test_sample_command_with_conditions(saved: Model, how: str) -> None:
    given = ("--given", "sex=Female", "--given", "age=33..41")
    ran = run("sample", "m.json", "--rows", 200, "--seed", 1, *given, "--how", how)
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert len(rows) == 200
    assert {row["sex"] for row in rows} == {"Female"}
    assert all(33 <= int(row["age"]) <= 41 for row in rows)
    assert ran.out == run("sample", "m.json", "--rows", 200, "--seed", 1, *given, "--how", how).out


def test_sample_command_with_conditions_that_cannot_be(saved: Model) -> None:
    ran = run("sample", "m.json", "--given", "age=200..300", "-o", "rows.csv")
    assert ran.status == 2
    assert "No value of 'age' fits" in ran.err
    assert not Path("rows.csv").exists()


def test_show_command_draws_the_network(saved: Model) -> None:
    ran = run("show", "m.json", "--plot", "network.svg")
    assert "└─ smoker" in ran.out
    assert "given grade, age^2" in ran.out
    assert Path("network.svg").read_text().startswith("<svg ")
    assert "network.svg" in ran.err
    assert run("show", "m.json", "--plot", "nowhere/network.svg").status == 2
    assert run("show", "m.json", "--plot", "m.json").status == 2


def test_the_report_shows_the_network(model: Model) -> None:
    page = report(model)
    assert 'class="network"' in page
    assert "depend on each other" in page
    alone = replace(
        model,
        network=Network(
            tuple(
                Node(n.attribute, (), n.table.reshape(-1, n.table.shape[-1]).sum(0))
                for n in model.network
            )
        ),
    )
    assert 'class="network"' not in report(alone)


@pytest.mark.parametrize(
    "huge", [float("inf"), float("-inf"), 10**400, -(10**400)], ids=["inf", "-inf", "huge", "-huge"]
)
@pytest.mark.parametrize("name", ["age", "sex", "income", "rating", "smoker"])
def test_numbers_beyond_every_domain_fit_no_row(model: Model, name: str, huge: float) -> None:
    for condition in (huge, [huge]):
        with pytest.raises(InputError):
            model.sample(3, seed=1, given={name: condition})
