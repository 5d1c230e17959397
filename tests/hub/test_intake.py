"""What a hub takes of a document that is handed in, field by field: without a hub."""

from __future__ import annotations

import math
from copy import deepcopy
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.hub.amounts import Price
from understudy.hub.intake import _check_ledger, _read_answers, check_columns, seed_of
from understudy.hub.operation_runs import Protected
from understudy.hub.operations import Ask
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger

OPERATION: Any = SimpleNamespace(price=lambda: (1.0, 1e-9))

ROWS = Protected(neighbours="replace")


def book(asked: bool = True, **terms: Any) -> Ledger:
    """A ledger of epsilon 1, that has spent all of it."""
    made = Ledger(**{"epsilon": 1.0, "delta": 1e-9, "neighbours": "replace", **terms})
    if asked:
        made.debit("a table", Budget(made.budget.amount), "test")
    return made


def take(ledger: Ledger, price: tuple[str, str] = ("1", "1e-9"), whom: Protected = ROWS) -> None:
    _check_ledger(ledger, OPERATION, whom, Price(*map(Fraction, price)))


def test_a_ledger_is_the_one_that_was_approved() -> None:
    take(book())
    take(book(), price=("2", "0.1"))
    for wrong in (
        book(private=False),
        book(neighbours="add_remove"),
        book(neighbours="add_remove", unit="person"),
        book(neighbours="add_remove", max_rows_per_person=2),
        book(epsilon=0.9),
        book(epsilon=1.1),
        book(delta=0.0),
        book(delta=2e-9),
        book(asked=False),
    ):
        with pytest.raises(InputError):
            take(wrong)
    for price in (("0.999999", "1e-9"), ("1", "0.9e-9"), ("0", "0")):
        with pytest.raises(InputError, match="more than was approved"):
            take(book(), price)
    free: Any = SimpleNamespace(price=lambda: (0.0, 0.0))
    _check_ledger(book(asked=False, epsilon=0.0, delta=0.0), free, ROWS, Price())


def test_persons_are_protected_as_the_data_set_says() -> None:
    ledger = book(neighbours="add_remove", unit="person", max_rows_per_person=3)
    take(ledger, whom=Protected(neighbours="add_remove", person="who", max_rows_per_person=3))
    for rows in (2, 4):
        whom = Protected(neighbours="add_remove", person="who", max_rows_per_person=rows)
        with pytest.raises(InputError, match="with 3 rows"):
            take(ledger, whom=whom)
    with pytest.raises(InputError, match="unit person with 1 rows"):
        take(book(neighbours="add_remove", unit="person"), whom=Protected())


ANSWER = {
    "question": "count",
    "kind": "count",
    "group_by": ["sex"],
    "answers": [{"group": ["f"], "value": 3, "error": 1.5, "low": None, "high": "2020-01-31"}],
    "confidence": 0.95,
    "epsilon": 1,
    "delta": 0.0,
    "mechanism": "geometric",
    "note": "x" * 10_000,
}
INSIDE: list[tuple[tuple[Any, ...], Any]] = [
    (("answers", 0, "value"), None),
    (("answers", 0, "value"), -1e300),
    (("answers", 0, "value"), "x" * 100),
    (("answers", 0, "group"), []),
    (("answers",), []),
    (("epsilon",), 0.5),
    (("group_by",), []),
]
OUTSIDE: list[tuple[tuple[Any, ...], Any]] = [
    (("question",), "mean(x)"),
    *(((name,), 3) for name in ("question", "kind", "group_by", "answers", "mechanism", "note")),
    (("confidence",), 1),
    (("epsilon",), "1"),
    (("epsilon",), True),
    (("delta",), None),
    (("surprise",), 1),
    (("note",), "x" * 10_001),
    (("kind",), "x" * 10_001),
    (("group_by",), [3]),
    (("answers", 0), "3"),
    (("answers", 0, "surprise"), 1),
    (("answers", 0, "group"), "f"),
    (("answers", 0, "group"), [3]),
    (("answers", 0, "group"), ["x" * 10_001]),
    (("answers", 0, "value"), "x" * 101),
    (("answers", 0, "value"), True),
    (("answers", 0, "error"), math.nan),
    (("answers", 0, "low"), math.inf),
    (("answers", 0, "high"), [1]),
]


def read(answer: Any, **changes: Any) -> dict[str, Any]:
    document = {"understudy_answers": 1, "answers": [answer], "ledger": book().to_dict(), **changes}
    taken = _read_answers(document, Ask(questions=("count",), epsilon=1.0))
    assert taken.answers is not None
    return dict(taken.answers)


def change(path: tuple[Any, ...], value: Any) -> Any:
    document: Any = deepcopy(ANSWER)
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return document


def test_answers_are_plain_values_in_their_places() -> None:
    assert read(ANSWER) == {
        "understudy_answers": 1,
        "answers": [ANSWER],
        "ledger": book().to_dict(),
    }
    for path, value in INSIDE:
        read(change(path, value))
    for path, value in OUTSIDE:
        with pytest.raises(InputError):
            read(change(path, value))
    lacking = {name: value for name, value in ANSWER.items() if name != "note"}
    for answer in (lacking, "count", None):
        with pytest.raises(InputError):
            read(answer)
    for changes in (
        {"understudy_answers": 2},
        {"answers": [ANSWER, ANSWER]},
        {"answers": []},
        {"answers": {"0": ANSWER}},
        {"ledger": None},
    ):
        with pytest.raises(InputError):
            read(ANSWER, **changes)


COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"kind": "integer", "min": 0, "max": 99, "bins": 10},
    "sex": {"kind": "categorical", "values": ["f", "m"]},
    "who": {"kind": "identifier"},
}
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("age", {"max": 98}),
    ("age", {"min": 1}),
    ("age", {"missing": "NA"}),
    ("age", {"kind": "real"}),
    ("sex", {"values": ["f", "x"]}),
    ("sex", {"values": ["f", "m", "x"]}),
    ("sex", {"missing": "NA"}),
    ("sex", {"other": "m"}),
    ("who", {"kind": "text"}),
]


def schema(**changes: Any) -> Schema:
    entries = {name: {**entry, **changes.get(name, {})} for name, entry in COLUMNS.items()}
    return Schema.from_dict({"attributes": entries})


def test_columns_are_those_that_were_registered_but_for_the_inside_of_bins() -> None:
    check_columns(schema(), schema())
    check_columns(schema(age={"bins": 20}), schema())
    for name, other in OTHERS:
        with pytest.raises(InputError, match="another one than in the registered schema"):
            check_columns(schema(**{name: other}), schema())
    fewer = Schema(tuple(each for each in schema() if each.name != "sex"))
    for found, registered in [(fewer, schema()), (schema(), fewer)]:
        with pytest.raises(InputError, match="not those of the registered schema"):
            check_columns(found, registered)


def test_a_job_has_one_seed_wherever_its_rows_are_drawn() -> None:
    assert seed_of("j1") == 58640806407642
