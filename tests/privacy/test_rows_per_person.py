"""Rows per person: contributions are bounded, every sensitivity grows with the bound, and the
ledger says so.
"""

from __future__ import annotations

import ast
import itertools
import json
import math
from collections import Counter as Tally
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy
from examples import integers, reals, schema_of, words
from running import run
from understudy import (
    BudgetError,
    Independent,
    InputError,
    Ledger,
    LedgerFile,
    Model,
    PrivBayes,
    Random,
    Schema,
)
from understudy.counting.memory import MemoryCounter
from understudy.data.encoding import Coded, encode
from understudy.data.marginals import marginal
from understudy.data.schema import Category, Identifier, Text
from understudy.data.tables import Column, Table
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.contributions import limit_rows_per_person, spellings
from understudy.privacy.discovery import discover
from understudy.privacy.discovery_budget import noise_tail
from understudy.privacy.mechanisms import (
    SCORE_GRID,
    SystemNoise,
    choice_scale,
    count_touched_cells,
    table_scale,
)
from understudy.privacy.plan import plan
from understudy.privacy.scores import score_named
from understudy.release.callbacks import ASKING
from understudy.reports.release import report

SCHEMA = schema_of(
    who={"kind": "identifier"},
    x={"kind": "categorical", "values": ["a", "b"]},
    y={"kind": "categorical", "values": ["0", "1", "2"]},
)


def visits(*persons: Any) -> Table:
    """One row for each name; x and y repeat."""
    rows = len(persons)
    return Table(
        {
            "who": words(*persons),
            "x": words(*("ab"[i % 2] for i in range(rows))),
            "y": words(*("012"[i % 3] for i in range(rows))),
        }
    )


# --------------------------------------------------------------------------- bounding


@given(
    persons=st.lists(st.integers(0, 6), min_size=1, max_size=60),
    most=st.integers(1, 5),
    kind=st.sampled_from([integers, lambda *n: words(*map(str, n))]),
)
def test_each_person_keeps_as_many_rows_as_allowed_and_nobody_loses_all(
    persons: list[int], most: int, kind: Any
) -> None:
    table = Table({"who": kind(*persons), "row": integers(*range(len(persons)))})
    kept, left_out = limit_rows_per_person(table, "who", most)
    rows = kept.columns["row"].values.tolist()
    assert Tally(persons[row] for row in rows) == {
        p: min(most, n) for p, n in Tally(persons).items()
    }
    assert rows == sorted(rows)
    assert left_out.beyond == len(persons) - len(rows)
    assert left_out.nobodys == 0
    # The columns still belong together.
    who = kept.columns["who"]
    told = [who.words[v] if who.words else v for v in who.values.tolist()]
    assert [float(t) for t in told] == [persons[row] for row in rows]


def test_the_rows_that_are_kept_are_drawn_evenly() -> None:
    rows, most, times = 6, 2, 3000
    table = Table({"who": integers(*[7] * rows, 1, 2), "row": integers(*range(rows + 2))})
    pairs = Tally(
        tuple(limit_rows_per_person(table, "who", most)[0].columns["row"].values.tolist())
        for _ in range(times)
    )
    assert set(pairs) == {(a, b, 6, 7) for a, b in itertools.combinations(range(rows), most)}
    expected = times / math.comb(rows, most)
    statistic = sum((n - expected) ** 2 / expected for n in pairs.values())
    assert statistic < 56.5  # chi-square with 14 degrees of freedom: one false alarm in two million


def test_rows_that_do_not_tell_whose_they_are_are_left_out() -> None:
    kept, left_out = limit_rows_per_person(visits("p", None, "q", "", "NA", " ? "), "who", 1)
    assert (kept.rows, left_out.nobodys, left_out.beyond) == (2, 4, 0)
    assert str(left_out) == "rows left out: 4 because who does not tell there whose they are"
    nobody, left_out = limit_rows_per_person(visits(None, None), "who", 3)
    assert (nobody.rows, left_out.nobodys) == (0, 2)


ONES = ["1", "+1", " 1", "2"]
"""Four persons: what a cell says is who it is, although three of them read as the number 1."""


@pytest.mark.parametrize("engine", [None, "duckdb"])
@pytest.mark.parametrize("other", ["3", "three", "?"])
def test_persons_are_told_apart_by_what_is_written(
    tmp_path: Path, engine: str | None, other: str
) -> None:
    """How persons are told apart must not depend on whether all other cells are numbers."""
    path = tmp_path / "t.csv"
    path.write_text("who,x\n" + "".join(f"{who},a\n" for who in [*ONES, other]))
    said: list[str] = []
    people = 4 if other == "?" else 5
    Independent(epsilon=1.0, person="who").fit(
        path, Schema.from_dict(WHO), engine=engine, notify=said.append
    )
    left_out = [sentence for sentence in said if sentence.startswith("rows left out")]
    assert len(left_out) == (1 if other == "?" else 0), said
    assert f"who tells {people:,} persons apart, but only {people - 1:,}" in " ".join(said)


WHO = {
    "attributes": {
        "who": {"kind": "identifier"},
        "x": {"kind": "categorical", "values": ["a", "b"]},
    }
}


@pytest.mark.parametrize("engine", [None, "duckdb"])
def test_persons_who_differ_in_spaces_or_case_are_said_to_the_owner(
    tmp_path: Path, engine: str | None
) -> None:
    path = tmp_path / "t.csv"
    said: list[str] = []
    stages: list[tuple[str, int]] = []

    def fit(*persons: str) -> Any:
        path.write_text("who,x\n" + "".join(f"{who},a\n" for who in persons))
        said.clear()
        stages.clear()
        return Independent(epsilon=1.0, person="who").fit(
            path,
            Schema.from_dict(WHO),
            engine=engine,
            notify=said.append,
            progress=lambda stage, *_: stages.append((stage, len(said))),
        )

    model = fit("A1", "A1 ", "a1", "B2", "NA", "na ")
    assert [sentence for sentence in said if "apart" in sentence] == [
        "who tells 4 persons apart, but only 2 if spaces at the ends and upper and lower case do "
        "not matter: whoever is written in two ways counts as two persons, and is protected less; "
        "write the same person alike before you release."
    ]
    asking = next(known for stage, known in stages if stage == ASKING)
    assert asking == len(said)  # all of it before anything is asked
    assert "apart" not in json.dumps(model.to_dict())
    fit("A1", "A2", "B2", "NA")
    assert [sentence for sentence in said if "apart" in sentence] == []


def test_the_command_line_says_so_before_it_spends(tmp_path: Path) -> None:
    table, schema = tmp_path / "t.csv", tmp_path / "s.json"
    table.write_text("who,x\n" + "".join(f"{who},a\n" for who in ("A1", "A1 ", "a1")))
    Schema.from_dict(WHO).save(schema)
    command = ["synthesize", table, "--schema", schema, "--person", "who", "--rows", "5"]
    ran = run(*command)
    assert ran.status == 0
    sentence = "note (for you, not for release): who tells 3 persons apart, but only 1"
    assert sentence in ran.err
    assert ran.err.index(sentence) < ran.err.index("Differentially private")
    drafted = run("schema", table, "--person", "who", "-o", tmp_path / "d.json")
    assert sentence in drafted.err
    # A run that is refused says why, and nothing else.
    LedgerFile.create(tmp_path / "t.ledger", 0.1, unit="person")
    refused = run(*command, "--ledger", tmp_path / "t.ledger")
    assert (refused.status, refused.err.count("\n")) == (2, 1)


def test_reals_tell_persons_apart_by_their_value() -> None:
    """One row without a number makes reals of whole numbers in pandas."""
    who = reals(1.0, 2.5, 1.0, 2.0, 2.5, float("nan"), 7.0)
    gone = np.array([0, 0, 0, 0, 0, 0, 1], dtype=np.uint8)
    table = Table({"who": replace(who, missing=gone)})
    kept, left_out = limit_rows_per_person(table, "who", 1)
    assert sorted(kept.columns["who"].values) == [1.0, 2.0, 2.5]
    assert (left_out.beyond, left_out.nobodys) == (2, 2)
    assert not spellings(table, "who")


def test_numbers_that_could_stand_for_two_persons_are_said_to_the_owner() -> None:
    found = spellings(Table({"who": reals(1.0, 2.0**53, 2.0**53 + 2, -(2.0**60))}), "who")
    assert found
    assert "real numbers beyond 2^53 (2 of them)" in str(found)


def test_dates_do_not_tell_persons_apart() -> None:
    days = Column("date", np.array([1, 2]))
    with pytest.raises(InputError, match="do not tell persons apart"):
        limit_rows_per_person(Table({"who": days}), "who", 1)


def test_a_table_within_the_bound_is_left_alone() -> None:
    table = visits("p", "q", "p")
    kept, left_out = limit_rows_per_person(table, "who", 2)
    assert kept is table
    assert not left_out


def test_bounding_a_person_changes_nobody_elses_rows() -> None:
    others = ["q", "q", "r"]
    for extra in range(4):
        kept, _ = limit_rows_per_person(visits(*others, *["p"] * extra), "who", 2)
        names = [kept.columns["who"].words[v] for v in kept.columns["who"].values]
        assert [name for name in names if name != "p"] == others


# --------------------------------------------------------------------------- sensitivities


@pytest.mark.parametrize("most", [1, 2, 3])
def test_tables_of_neighbours_differ_by_no_more_than_the_noise_covers(most: int) -> None:
    """All rows of a person, however they lie in a table of four cells: L1 and L2 are M at most, and
    M is reached.
    """
    distances = [
        (sum(Tally(cells).values()), math.sqrt(sum(n * n for n in Tally(cells).values())))
        for size in range(most + 1)
        for cells in itertools.combinations_with_replacement(range(4), size)
    ]
    assert max(one for one, _ in distances) == most * count_touched_cells("add_remove")
    assert max(two for _, two in distances) == most


@pytest.mark.parametrize("most", [1, 2, 7, 1000])
def test_the_noise_in_a_table_grows_in_proportion(most: int) -> None:
    for cost in (Budget(0.5), Budget(0.02, "rho")):
        assert table_scale(cost, "add_remove", most) == pytest.approx(
            most * table_scale(cost, "add_remove")
        )


def _score(name: str, cells: tuple[tuple[int, int], ...], shape: tuple[int, int]) -> float:
    rows = np.array(cells, dtype=np.uint8).reshape(-1, 2)
    codes = {"x": rows[:, 0].copy(), "p": rows[:, 1].copy()}
    sizes = {"x": shape[0], "p": shape[1]}
    counter = MemoryCounter(codes, {"x": [], "p": []}, sizes)
    return float(score_named(name).evaluate(counter, [marginal("x", "p")], "add_remove")[0])


@pytest.mark.parametrize("most", [2, 3])
@pytest.mark.parametrize(
    ("name", "shape"), [("R", (2, 2)), ("R", (2, 3)), ("F", (2, 2)), ("I", (2, 2))]
)
def test_no_scores_of_neighbours_range_wider_than_the_scaled_sensitivity(
    name: str, shape: tuple[int, int], most: int
) -> None:
    """Every table of a few rows of others, with and without every way that one person's rows can
    lie.
    """
    bound = most * score_named(name).sensitivity("add_remove", None, True)
    cells = list(itertools.product(range(shape[0]), range(shape[1])))
    known: dict[Any, float] = {}

    def score(rows: tuple[Any, ...]) -> float:
        rows = tuple(sorted(rows))
        if rows not in known:
            known[rows] = _score(name, rows, shape)
        return known[rows]

    def half_range(count: int) -> float:
        widest = 0.0
        for others in range(1, 5 - most // 2):
            changes = [
                score(rows + mine) - score(rows)
                for rows in itertools.combinations_with_replacement(cells, others)
                for mine in itertools.combinations_with_replacement(cells, count)
            ]
            widest = max(widest, (max(changes) - min(changes)) / 2)
        return widest

    assert half_range(most) <= bound + 1e-9
    assert half_range(most) > half_range(1)  # one row's sensitivity would not do


@settings(max_examples=40)
@given(data=st.data())
def test_scores_of_larger_neighbours_stay_within_the_scaled_sensitivity(
    data: st.DataObject,
) -> None:
    shape = data.draw(st.sampled_from([(2, 2), (2, 5), (3, 4)]))
    most = data.draw(st.integers(2, 6))
    cell = st.tuples(st.integers(0, shape[0] - 1), st.integers(0, shape[1] - 1))
    others = tuple(data.draw(st.lists(cell, min_size=1, max_size=80)))
    mine = tuple(data.draw(st.lists(cell, max_size=most)))
    for name in ("R", "I", "F")[: 3 if shape[0] == 2 else 2]:
        bound = most * score_named(name).sensitivity("add_remove", None, shape[0] == 2)
        # A choice depends on how far moves lie apart. Those by F lie from -1 to 1/2 a row, others
        # evenly around 0.
        middle = -most / 4 if name == "F" else 0.0
        move = _score(name, others + mine, shape) - _score(name, others, shape)
        assert abs(move - middle) <= bound + 1e-9


class Recording(SystemNoise):
    """Remembers what reaches the noise."""

    def __init__(self) -> None:
        self.scales: list[float] = []
        self.scores: list[np.ndarray[Any, Any]] = []

    def laplace(self, counts: Any, scale: float) -> Any:
        self.scales.append(scale)
        return super().laplace(counts, scale)

    def gaussian(self, counts: Any, scale: float) -> Any:
        self.scales.append(scale)
        return super().gaussian(counts, scale)

    def rounded_gaussian(self, counts: Any, scale: float) -> Any:
        self.scales.append(scale)
        return super().rounded_gaussian(counts, scale)

    def choose(self, scores: Any, scale: float, rule: Any) -> int:
        self.scales.append(scale)
        self.scores.append(scores)
        return super().choose(scores, scale, rule)


def curator_for(table: Table, most: int, noise: Recording, **guarantee: Any) -> CentralCurator:
    return CentralCurator(
        encode(table, SCHEMA), Ledger(1.0, max_rows_per_person=most, **guarantee), noise
    )


@pytest.mark.parametrize("most", [1, 3])
def test_both_doors_scale_with_the_bound(most: int) -> None:
    table = visits(*"ppqrs")
    noise = Recording()
    curator = curator_for(table, most, noise)
    curator.measure([marginal("x"), marginal("x", "y")], Budget(0.5))
    assert noise.scales == [table_scale(Budget(0.25), "add_remove", most)] * 2
    curator.choose([marginal("x", "y"), marginal("y", "x")], "R", Budget(0.25))
    exact = _score("R", tuple(zip([0, 1, 0, 1, 0], [0, 1, 2, 0, 1], strict=True)), (2, 3))
    assert noise.scores[-1][0] == round(exact * SCORE_GRID / (2.0 * most))
    assert noise.scales[-1] == choice_scale(0.25, "epsilon")


def test_gridded_scores_of_neighbours_differ_by_no_more_than_the_choice_covers() -> None:
    most = 3
    rng = np.random.default_rng(2)
    for _ in range(30):
        rows = int(rng.integers(4, 30))
        codes = {
            "x": rng.integers(0, 2, rows).astype(np.uint8),
            "y": rng.integers(0, 3, rows).astype(np.uint8),
        }
        seen = []
        for end in (rows, rows - most):
            noise = Recording()
            coded = Coded(SCHEMA, {name: column[:end] for name, column in codes.items()}, end, ())
            ledger = Ledger(1.0, max_rows_per_person=most)
            CentralCurator(coded, ledger, noise).choose(
                [marginal("x", "y"), marginal("y", "x")], "R", Budget(0.5)
            )
            seen.append(noise.scores[0])
        assert np.abs(seen[0] - seen[1]).max() <= SCORE_GRID + 2


def test_taking_attributes_apart_keeps_the_bound() -> None:
    model = PrivBayes(epsilon=1.0, encoding="binary", max_rows_per_person=4).fit(
        visits(*"pqrs" * 5), SCHEMA
    )
    for entry in model.ledger.entries:
        if entry.mechanism.startswith("discrete Laplace"):
            scale = table_scale(Budget(entry.amount), "add_remove", 4)
            assert entry.mechanism == f"discrete Laplace, scale {scale:.6g}"


def test_every_caller_says_how_many_rows_a_person_has() -> None:
    """Nothing in the package may leave the number out, which would mean one row per person."""
    callers = 0
    for path in Path(understudy.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in (
                "table_scale",
                "mean_noise",
                "mean_integer_noise",
            ):
                callers += 1
                assert len(node.args) + len(node.keywords) == 3, f"{path}:{node.lineno}"
    assert callers >= 4


# --------------------------------------------------------------------------- discovery


class Words(SystemNoise):
    """Every column holds words, and every noisy count has the same height."""

    height = 10**6
    scale = 0.0
    histograms = 0

    def laplace(self, counts: Any, scale: float) -> Any:
        self.scale = scale
        self.histograms += 1
        if self.histograms <= 2:  # the number of rows, and of cells that are not empty
            return counts + 1000
        return np.full_like(counts, self.height)

    gaussian = laplace

    def choose(self, scores: Any, scale: float, rule: Any) -> int:
        return 0


@pytest.mark.parametrize("currency", ["epsilon", "rho"])
@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_person_who_makes_words_frequent_is_told_with_probability_delta_at_most(
    currency: Any, most: int
) -> None:
    """At worst the person's rows lift M words from M rows, which are never named, or one word from
    M to 2 M rows.
    """
    delta = 1e-6

    def named(noise: Words) -> bool:
        guarantee: Any = (1.0, 2e-6, "add_remove", currency, delta)
        ledger = Ledger(*guarantee, max_rows_per_person=most)
        table = Table({"c": words(*["v"] * (most + 1))})
        noise.histograms = 0
        return isinstance(discover(table, ledger, ledger.budget, delta, noise)["c"], Category)

    noise = Words()
    assert named(noise)
    scale = noise.scale
    line = 2 * most + noise_tail(scale, currency, delta / most)
    for height, expected in ((math.ceil(line) - 1, False), (math.ceil(line), True)):
        noise.height = height
        assert named(noise) == expected
    # The exact tail.
    steps = np.arange(math.ceil(line) - 2 * most, math.ceil(line) + int(60 * scale), dtype=float)
    both = np.arange(-int(60 * scale), int(60 * scale) + 1, dtype=np.float64)
    weigh = (
        (lambda k: np.exp(-np.abs(k) / scale))
        if currency == "epsilon"
        else (lambda k: np.exp(-(k**2) / 2 / scale**2))
    )
    tail = weigh(steps).sum() / weigh(both).sum()
    assert most * tail <= delta


def test_words_of_one_person_cannot_be_named() -> None:
    """There may be any number of them, so not even a chance of delta each is allowed."""
    rows = 50
    table = Table({"who": words(*["p"] * rows), "c": words(*(f"v{i % 2}" for i in range(rows)))})
    kept, _ = limit_rows_per_person(table, "who", 2)
    ledger = Ledger(1.0, 1e-9, threshold_delta=1e-9, max_rows_per_person=2)
    schema = discover(kept, ledger, ledger.budget, 1e-9, Words(), person="who")
    assert isinstance(schema["c"], Text)


def test_the_person_column_is_never_asked_about() -> None:
    rows = 400
    table = Table(
        {
            "patient": integers(*(i // 4 for i in range(rows))),
            "age": integers(*(20 + i % 50 for i in range(rows))),
        }
    )
    person: Any = {"person": "patient", "max_rows_per_person": 4}
    method = Independent(epsilon=100.0, keep_going=True, **person)
    model = method.fit(table, notify=lambda _: None)
    assert isinstance(model.schema["patient"], Identifier)
    assert model.ledger.entries[0].question == "number of rows"
    assert all("patient" not in e.question for e in model.ledger.entries)


# ----------------------------------------- synthesizers and the ledger

METHODS: list[Any] = [
    lambda **more: Random(**more),
    lambda **more: Independent(epsilon=1.0, **more),
    lambda **more: PrivBayes(epsilon=1.0, **more),
    lambda **more: PrivBayes.paper(1.0, neighbours="add_remove", **more),
    lambda **more: PrivBayes(epsilon=1.0, delta=1e-6, **more),
]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_bounds_contributions_and_tells_the_owner_only(method: Any) -> None:
    notes: list[str] = []
    table = visits(*"pppppppqqr")
    model = method(person="who", max_rows_per_person=2).fit(table, SCHEMA, notify=notes.append)
    assert notes == ["rows left out: 5 so that nobody counts with more than 2 rows"]
    document = json.dumps(model.to_dict())
    assert (model.ledger.unit, model.ledger.max_rows_per_person) == ("person", 2)
    assert "left out" not in document
    assert "left out" not in report(model)
    again = Model.from_dict(json.loads(document))
    assert again.ledger == model.ledger


@pytest.mark.parametrize("method", METHODS)
def test_without_a_person_the_owner_vouches_and_nothing_is_left_out(method: Any) -> None:
    notes: list[str] = []
    model = method(max_rows_per_person=3).fit(visits(*"pppppppqqr"), SCHEMA, notify=notes.append)
    assert notes == []
    assert model.ledger.max_rows_per_person == 3


@pytest.mark.parametrize("method", METHODS)
def test_by_default_a_row_is_protected(method: Any) -> None:
    model = method().fit(visits(*"pppq"), SCHEMA)
    assert (model.ledger.unit, model.ledger.max_rows_per_person) == ("row", 1)


@pytest.mark.parametrize("method", METHODS)
def test_a_table_of_which_nothing_is_left_is_not_refused(method: Any) -> None:
    """An error would tell that everybody but one person came without a name."""
    method(person="who").fit(visits(None, None, None), SCHEMA, notify=lambda _: None)


def test_the_person_column_is_modelled_where_the_schema_models_it() -> None:
    schema = schema_of(
        who={"kind": "categorical", "values": ["p", "q"]},
        x={"kind": "categorical", "values": ["a", "b"]},
        y={"kind": "categorical", "values": ["0", "1", "2"]},
    )
    model = Independent(epsilon=1.0, person="who").fit(
        visits(*"ppqq"), schema, notify=lambda _: None
    )
    assert "table of who" in [e.question for e in model.ledger.entries]


@pytest.mark.parametrize("more", [{"person": "who"}, {"max_rows_per_person": 2}])
@pytest.mark.parametrize("method", [Independent(epsilon=1.0), PrivBayes.paper(1.0), Random()])
def test_persons_are_not_protected_under_replace(method: Any, more: dict[str, Any]) -> None:
    import dataclasses

    asked = dataclasses.replace(method, neighbours="replace", **more)
    with pytest.raises(
        InputError,
        match=r"^Protecting all rows of a person goes with neighbours add_remove, not with",
    ):
        asked.fit(visits(*"ppq"), SCHEMA)


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ({"max_rows_per_person": 0}, "whole number from 1"),
        ({"max_rows_per_person": True}, "whole number from 1"),
        ({"max_rows_per_person": 1.5}, "whole number from 1"),
        ({"max_rows_per_person": 10**9}, "whole number from 1"),
        ({"person": "nobody"}, "no column 'nobody' to tell persons apart by"),
        ({"person": 5}, "must be the name of a column"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(more: dict[str, Any], cause: str) -> None:
    with pytest.raises(InputError, match=cause):
        Independent(epsilon=1.0, **more).fit(visits(*"ppq"), SCHEMA)


def test_a_column_that_cannot_tell_persons_apart_is_refused() -> None:
    table = Table(
        {
            "who": Column("boolean", np.array([True, False])),
            "x": words("a", "b"),
            "y": words("0", "1"),
        }
    )
    with pytest.raises(InputError, match="do not tell persons apart"):
        Independent(epsilon=1.0, person="who").fit(table, SCHEMA)


def test_the_statement_says_who_is_protected() -> None:
    ledger = Ledger(1.0, max_rows_per_person=4)
    ledger.debit("q", Budget(0.5), "m")
    assert (
        "adding or removing all rows of any one person (at most 4) changes the probability"
        in ledger.statement()
    )
    row = Ledger(1.0)
    row.debit("q", Budget(0.5), "m")
    assert "adding or removing any one row changes" in row.statement()


def test_an_old_ledger_protects_rows() -> None:
    document = Ledger(1.0).to_dict()
    del document["unit"], document["rows_per_person"]
    assert Ledger.from_dict(document) == Ledger(1.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows_per_person", 0),
        ("rows_per_person", "2"),
        ("rows_per_person", 2),
        ("unit", "house"),
        ("unit", None),
    ],
)
def test_a_ledger_with_a_unit_that_is_none_is_refused(name: str, value: Any) -> None:
    document = {**Ledger(1.0).to_dict(), name: value}
    with pytest.raises(InputError):
        Ledger.from_dict(document)


def test_a_ledger_file_is_kept_for_rows_or_for_persons(tmp_path: Path) -> None:
    rows = LedgerFile.create(tmp_path / "rows.ledger", 9.0)
    persons = LedgerFile.create(tmp_path / "persons.ledger", 9.0, unit="person")
    table = visits(*"ppqr")
    Independent(epsilon=1.0).fit(table, SCHEMA, ledger=rows)
    for most in (1, 2):  # each protects whole persons, so the two add up
        bounding = Independent(epsilon=1.0, person="who", max_rows_per_person=most)
        bounding.fit(table, SCHEMA, ledger=persons, notify=lambda _: None)
    with pytest.raises(BudgetError, match="is kept per row, and the release protects each person"):
        Independent(epsilon=1.0, max_rows_per_person=2).fit(table, SCHEMA, ledger=rows)
    with pytest.raises(BudgetError, match="is kept per person, and the release protects each row"):
        Independent(epsilon=1.0).fit(table, SCHEMA, ledger=persons)
    assert (rows.left(), persons.left()) == ((8.0, 0.0), (7.0, 0.0))
    with pytest.raises(InputError, match="add_remove"):
        LedgerFile.create(tmp_path / "no.ledger", 1.0, neighbours="replace", unit="person")


def test_the_plan_knows_that_noise_grows() -> None:
    one, four = (plan(SCHEMA, 1000, 1.0, max_rows_per_person=most) for most in (1, 4))
    assert four.tables[0].deviation == pytest.approx(4 * one.tables[0].deviation, rel=0.05)


# --------------------------------------------------------------------------- the command line


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = ["who,x,y", *(f"{'pppppqr'[i % 7]},{'ab'[i % 2]},{i % 3}" for i in range(70))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    SCHEMA.save(tmp_path / "s.json")
    return tmp_path


def test_the_command_line_bounds_and_says_so(folder: Path) -> None:
    options = ["--schema", "s.json", "--model", "m.json", "-o", "out.csv", "--report", "r.html"]
    ran = run("synthesize", "t.csv", *options, "--person", "who", "--max-rows-per-person", 3)
    assert ran.status == 0, ran.err
    assert (
        "note (for you, not for release): rows left out: 61 so that nobody counts with more than 3 "
        "rows" in ran.err
    )
    assert "adding or removing all rows of any one person (at most 3)" in ran.err
    ledger = Model.load("m.json").ledger
    assert (ledger.unit, ledger.max_rows_per_person) == ("person", 3)
    page = (folder / "r.html").read_text()
    assert "all rows of one person (at most 3) more or less" in page
    assert "61" not in "".join(line for line in page.splitlines() if "left out" in line)
    shown = run("show", "m.json", columns=200)
    assert "up to 3 rows of a person" in shown.out


def test_the_command_line_refuses_replace_and_the_paper(folder: Path) -> None:
    for more in (["--neighbours", "replace"], ["--paper"]):
        ran = run(
            "synthesize", "t.csv", "--schema", "s.json", "--person", "who", *more, "-o", "out.csv"
        )
        assert ran.status == 2
        assert "goes with neighbours add_remove" in ran.err
    assert not (folder / "out.csv").exists()


def test_a_schema_can_be_drafted_with_persons_in_mind(folder: Path) -> None:
    ran = run(
        "schema",
        "t.csv",
        "--person",
        "who",
        "--max-rows-per-person",
        2,
        "--epsilon",
        50,
        "--keep-going",
        "-o",
        "d.json",
    )
    assert ran.status == 0, ran.err
    assert "rows left out: 64" in ran.err
    assert json.loads((folder / "d.json").read_text())["attributes"]["who"]["kind"] == "identifier"
    assert "one person (at most 2)" in ran.err
    blank = run("schema", "t.csv", "--person", "who", "--blank")
    assert json.loads(blank.out)["attributes"]["who"] == {"kind": None}


def test_a_ledger_for_persons_can_be_started(folder: Path) -> None:
    assert run("ledger", "create", "t.ledger", "--epsilon", 3, "--per-person").status == 0
    options = ["--schema", "s.json", "-o", "out.csv", "--ledger", "t.ledger"]
    assert run("synthesize", "t.csv", *options).status == 2
    assert run("synthesize", "t.csv", *options, "--person", "who").status == 0
    assert "per person" in run("ledger", "show", "t.ledger").out
    assert LedgerFile("t.ledger").left() == (2.0, 0.0)


def test_a_plan_for_persons(folder: Path) -> None:
    ran = run("plan", "--schema", "s.json", "--rows", 1000, "--max-rows-per-person", 5)
    assert ran.status == 0, ran.err
