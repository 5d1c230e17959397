"""What cannot be asked: one sentence, and nothing is debited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from asked_people import SCHEMA, people

from understudy import InputError, LedgerFile, Schema, ask
from understudy.data.schema import Quantity

PEOPLE = people()

WITHOUT_SCHEMA: dict[str, str] = {
    "count, where age > 3": "character 6: expected where, group by or the end, but found ','",
    "count group by sex in ('f'), where age > 3": "expected the name of an attribute",
    "count group by sex in ('f') where age > 3": "expected the end",
    "count where birth year > 3": "several words stands in double quotes",
    "quantile age from 0 to 9": "a level between 0 and 1, then a name",
    "count where sex in ('f', )": "character 26: expected a value",
    "count group by sex in ('f', 'm',)": "expected a value",
    "mean age": "needs public bounds",
    "sum age where sex = 'f'": "needs public bounds",
    "median age": "needs public bounds",
    "count group by sex": "needs public groups",
    "mean age from 9 to 3": "lower one first",
    "mean age from 3 to 3": "lower one first",
    "sum age from 0 to 1e308": "too large or too close",
    "std age from 0 to 1e-300": "too large or too close",
    "quantile 1.5 age from 0 to 9": "level between 0 and 1",
    "count where sex > 'f'": "Texts have no order",
    "count where sex = 'f' and sex = 3": "values of several kinds",
    "mean sex from 0 to 1 where sex = 'f'": "values of several kinds",
    "count where nobody > 3": "has no column 'nobody'",
    "count where agee > 3": "did you mean 'age'",
    "histogram age from 0 to 10 by 0": "a width above 0",
    "histogram age from 0 to 10 by 0.00001": "groups",
    "count group by sex in ('f', 'f')": "listed twice",
    "count each age > 3, at most 1": "expected",
    "count each age > 3 at most 2": "from 1 to 1",
    "": "expected count",
    "total age": "expected count",
}

WITH_SCHEMA: dict[str, str] = {
    "count where sex = 'F'": "did you mean 'f'",
    "count group by town in ('Oslo', 'Bern')": "no value 'Bern'",
    "mean sex": "a mean is of numbers",
    "mean seen": "a mean is of numbers",
    "count where note = 'x'": "is text and not modelled",
    "count where who = 3": "is identifier and not modelled",
    "mean age from 200 to 300": "leave out every value",
    "count where agee > 3": "did you mean 'age'",
    "count group by age, height, town, seen, stars, note": "not modelled",
}


@pytest.fixture
def book(tmp_path: Path) -> LedgerFile:
    return LedgerFile.create(tmp_path / "t.ledger", epsilon=5.0, delta=1e-6)


def refused(book: LedgerFile, text: Any, message: str, **options: Any) -> None:
    with pytest.raises(InputError, match=message) as caught:
        ask(PEOPLE, text, **{"epsilon": 1.0, "ledger": book, **options})
    assert str(caught.value).count(". ") == 0
    assert book.left() == (5.0, 1e-6)
    assert book.read()["releases"] == []


@pytest.mark.parametrize(("text", "message"), WITHOUT_SCHEMA.items())
def test_a_question_that_makes_no_sense(book: LedgerFile, text: str, message: str) -> None:
    refused(book, text, message)


@pytest.mark.parametrize(("text", "message"), WITH_SCHEMA.items())
def test_a_question_that_the_schema_does_not_allow(
    book: LedgerFile, text: str, message: str
) -> None:
    refused(book, text, message, schema=SCHEMA)


@pytest.mark.parametrize(
    "text", ["sum age from 4294967296 to 4294967396", "sum age from -9e12 to 0"]
)
def test_a_sum_of_numbers_that_whole_numbers_cannot_square(book: LedgerFile, text: str) -> None:
    """The noise of a delta goes by squares, which would wrap around in 64 bits."""
    described = Schema((Quantity("age", "integer", "", (-(10**13), 10**13)),))
    named = f"{text.replace('sum age', 'mean age')}"
    frame = PEOPLE[["age"]]
    options: Any = {"epsilon": 1.0, "delta": 1e-9, "schema": described}
    ask(frame, named, **options)  # a mean is taken from the lower bound, so it is small
    if "-9e12" in text:  # so is a sum on a coarse grid
        ask(frame, text, **options)
        return
    with pytest.raises(InputError, match="a difference from a public number"):
        ask(frame, text, ledger=book, **options)
    assert book.read()["releases"] == []


def test_one_bad_question_costs_nothing_beside_good_ones(book: LedgerFile) -> None:
    refused(book, ["count", "mean age"], "needs public bounds")
    refused(book, [], "at least one question")
    refused(book, 3, "or a list of them, not 3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"epsilon": 1e-300}, "epsilon must be"),
        ({"epsilon": 1e-12, "schema": SCHEMA}, "teaches nothing"),
        ({"delta": 2.0}, "delta must be"),
        ({"discovery": 0.5}, "takes a delta"),
        ({"discovery": 0.5, "delta": 1e-7}, "nothing to discover"),
        ({"discovery": 2.0, "delta": 1e-7}, "share between 0 and 1"),
        ({"bounds": {"sex": ("a", "b")}, "schema": SCHEMA}, "Bounds are of numbers"),
        ({"bounds": {"age": (9, 1)}}, "lower one first"),
        ({"bounds": {"age": 9}}, "a pair of numbers"),
        ({"bounds": (0, 9)}, "by the name of the column"),
        ({"person": "nobody"}, "no column 'nobody'"),
        ({"max_rows_per_person": 0}, "rows per person"),
        ({"neighbours": "both"}, "neighbours must be"),
        ({"epsilon": 6.0}, "has only epsilon 5"),
    ],
)
def test_terms_that_make_no_sense(book: LedgerFile, options: Any, message: str) -> None:
    text = "variance age" if "schema" in options and "bounds" not in options else "count"
    with pytest.raises(Exception, match=message) as caught:
        ask(PEOPLE, text, **{"epsilon": 1.0, "ledger": book, **options})
    assert caught.type.__module__.startswith("understudy")
    assert book.read()["releases"] == []


def test_an_unknown_option_is_an_error_of_the_program() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'epsilonn'"):
        ask(PEOPLE, "count", epsilon=1.0, epsilonn=2.0)  # type: ignore[call-overload]


def test_cells_that_cannot_be_read_are_told_to_the_owner() -> None:
    """Dates of another format fit no comparison, which no answer would show."""
    table = pd.DataFrame({"born": ["31/12/1970", "01/02/1980"] * 50, "age": [41, 50] * 50})
    notes: list[str] = []
    ask(table, ["count where born >= '1980-01-01'"], epsilon=1.0, notify=notes.append)
    [note] = notes
    assert note.startswith("born: 100 values")
    assert "cannot be read as date" in note
    notes.clear()
    ask(table, ["mean age from 0 to 45"], epsilon=1.0, notify=notes.append)
    assert notes == []
