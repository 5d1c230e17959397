"""A guarantee is worded for its epsilon, and says what it takes as public, wherever it is shown."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from examples import every_kind_schema, every_kind_table, schema_of
from running import run
from understudy import Independent, InputError, Model, Random, Schema
from understudy.federation.terms import Terms
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.wording import format_factor, judge_guarantee, state_guarantee
from understudy.reports.release import report

# --------------------------------------------------------------------------- the number

FACTORS = {
    1e-6: "1.0000011",
    0.001: "1.0011",
    0.01: "1.011",
    0.1: "1.11",
    0.5: "1.65",
    1.0: "2.72",
    2.0: "7.39",
    3.0: "20.1",
    6.9: "993",
    10.0: "22,027",
    20.0: "485,165,196",
    21.0: "10^10",
    1000.0: "10^435",
    1e6: "10^434295",
    1e308: "e^1e+308",
}


@pytest.mark.parametrize(("epsilon", "factor"), FACTORS.items())
def test_the_factor_is_the_number_that_it_is(epsilon: float, factor: str) -> None:
    assert format_factor(epsilon) == factor


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 0.3, 1.0, 2.5, 7.0, 13.0, 19.9, 20.1, 300.0])
def test_the_factor_is_never_too_small_and_hardly_too_large(epsilon: float) -> None:
    text = format_factor(epsilon).replace(",", "")
    with decimal.localcontext(prec=200):
        power = text.removeprefix("10^")
        said = decimal.Decimal(10) ** int(power) if power != text else decimal.Decimal(text)
        exact = decimal.Decimal(epsilon).exp()
        assert exact <= said
        assert said - 1 <= (exact - 1) * (10 if power != text else decimal.Decimal("1.1"))


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [
        (0.01, ""),
        (1.0, ""),
        (2.0, ""),
        (2.1, "weak"),
        (3.0, "weak"),
        (8.0, "next to nothing about any one person"),
        (10.0, "next to nothing about any one person"),
        (1000.0, "next to nothing about any one person"),
    ],
)
def test_a_weak_promise_is_called_so(epsilon: float, said: str) -> None:
    judged = judge_guarantee(epsilon, "person")
    assert said in judged
    assert bool(said) == bool(judged)
    assert state_guarantee(epsilon, 0.0, "this", "person").endswith(judged or ".")


def test_delta_is_said_in_plain_words() -> None:
    said = state_guarantee(1.0, 1e-6, "adding or removing any one row")
    assert "epsilon = 1, delta = 1e-06" in said
    assert said.endswith("at most 2.72, and by a further probability of at most 1e-06.")


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 3.0, 10.0, 1000.0])
@pytest.mark.parametrize("max_rows_per_person", [1, 3])
def test_every_place_says_the_number(
    epsilon: float, max_rows_per_person: int, tmp_path: Path
) -> None:
    method = Independent(epsilon=epsilon, max_rows_per_person=max_rows_per_person)
    model = method.fit(every_kind_table(), every_kind_schema(), notify=lambda _: None)
    model.save(tmp_path / "m.json")
    sentence = f"a factor of at most {FACTORS[epsilon]}"
    person = "all rows of any one person (at most 3)"
    weak = judge_guarantee(epsilon, "row" if max_rows_per_person == 1 else "person")
    shown = " ".join(run("show", tmp_path / "m.json", columns=400).out.split())
    for place in (model.ledger.statement(), report(model), model._repr_html_(), shown):
        assert sentence in place
        assert weak in place
        assert (person in place) == (max_rows_per_person == 3)
        assert "little" not in place
        assert "inf" not in place.split(sentence)[1][:20]


# --------------------------------------------------------------------------- what is public

GIVEN = ("the schema", "the names and the order of the columns")
FOUND = ("the names and the order of the columns",)
SCHEMA = schema_of(n={"kind": "integer", "min": 0, "max": 9})
FRAMES = {
    "pandas": pd.DataFrame({"n": [1, 2, 3]}),
    "polars": pl.DataFrame({"n": [1, 2, 3]}),
    "arrow": pa.table({"n": [1, 2, 3]}),
}


def places(model: Model, folder: Path) -> list[str]:
    """Wherever a release speaks of its guarantee."""
    model.save(folder / "m.json")
    loaded = Model.load(folder / "m.json")
    assert loaded.taken_as_public == model.taken_as_public
    assert loaded.to_dict()["ledger"]["taken_as_public"] == list(model.taken_as_public)
    shown = " ".join(run("show", folder / "m.json", columns=400).out.split())
    return [loaded.ledger.statement(), report(loaded), loaded._repr_html_(), shown]


@pytest.mark.parametrize("library", ["table", *FRAMES])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_every_place_says_what_was_list_public(
    library: str, neighbours: Any, schema: Schema | None, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("n\n1\n2\n3\n")
    table = FRAMES.get(library, tmp_path / "t.csv")
    method = Independent(epsilon=1e4, neighbours=neighbours, keep_going=True)
    model = method.fit(table, schema, notify=lambda _: None)
    expected = GIVEN if schema is not None else FOUND
    if neighbours == "replace":
        expected = (*expected, "the number of rows")
    if library != "table":
        expected = (*expected, "the library of the data frame")
    assert model.taken_as_public == expected
    for place in places(model, tmp_path):
        assert "Taken as public" in place
        assert "; ".join(expected) in place


def test_it_is_said_where_nothing_was_asked(tmp_path: Path) -> None:
    model = Random().fit(FRAMES["pandas"], SCHEMA)
    for place in places(model, tmp_path):
        assert "No private row was read" in place
        assert "the schema; the names and the order of the columns" in place


def test_the_commands_say_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("n\n" + "1\n2\n3\n" * 50)
    SCHEMA.save(tmp_path / "s.json")
    drafted = run(
        "schema", tmp_path / "t.csv", "--epsilon", 1, "--keep-going", "-o", tmp_path / "d.json"
    )
    assert f"Taken as public: {'; '.join(FOUND)}." in drafted.err
    run_with = ["synthesize", tmp_path / "t.csv", "--method", "independent", "-o", "-"]
    run_with += ["--epsilon", 20, "--keep-going"]
    assert f"Taken as public: {'; '.join(FOUND)}." in run(*run_with).err
    given = run(*run_with, "--schema", tmp_path / "s.json").err
    assert f"Taken as public: {'; '.join(GIVEN)}." in given


def test_a_session_of_holders_says_it() -> None:
    terms = Terms(
        session="s",
        schema="digest",
        way="secure",
        method={"name": "independent"},
        epsilon=1.0,
        delta=0.0,
        neighbours="add_remove",
        holders=("a", "b", "c"),
        dropouts=0,
        colluders=1,
    )
    ledger = terms.ledger
    ledger.debit("q", Budget(0.5), "m")
    assert f"Taken as public: {'; '.join(GIVEN)}. Secure sums" in ledger.statement()


def test_a_model_that_does_not_say_is_said_not_to() -> None:
    document = Independent(epsilon=1.0).fit(FRAMES["pandas"], SCHEMA).to_dict()
    del document["ledger"]["taken_as_public"]
    old = Model.from_dict(document)
    assert old.taken_as_public == ()
    assert "does not say what was taken as public" in report(old)
    for nonsense in ("text", [1], {"a": 1}, [None]):
        document["ledger"]["taken_as_public"] = nonsense
        with pytest.raises(InputError, match="taken as public"):
            Model.from_dict(document)


def test_a_ledger_comes_back_with_what_was_public() -> None:
    ledger = Ledger(1.0, taken_as_public=GIVEN)
    assert Ledger.from_dict(ledger.to_dict()) == ledger
