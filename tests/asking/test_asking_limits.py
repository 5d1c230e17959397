"""Limits of questions: the last value that is allowed is taken, and the next one is refused."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from limits import above, assert_limits, below
from understudy.asking.domains import infer_schema
from understudy.asking.functions import bounds_of, share_of
from understudy.asking.run import AnswerTerms, check_questions

TERMS = AnswerTerms(epsilon=1.0)


def ask(text: str, **terms: Any) -> None:
    check_questions([text], AnswerTerms(**({"epsilon": 1.0} | terms)))


def listed(number: int) -> str:
    return ", ".join(map(str, range(number)))


def bound(low: float, high: float) -> Any:
    """Bounds in a question about an attribute that lies between 0 and 10."""
    query = SimpleNamespace(kind="mean", bounds=(low, high))
    attribute = SimpleNamespace(name="age", bounds=(0.0, 10.0), write=str)
    return bounds_of(query, attribute)  # type: ignore[arg-type]


LIMITS = {
    "questions": (
        lambda number: check_questions(["count where age > 3"] * number, TERMS),
        [1, 100],
        [0, 101],
    ),
    "epsilon": (lambda epsilon: AnswerTerms(epsilon=epsilon), [1e-12], [0.0, math.nan]),
    "delta": (lambda delta: AnswerTerms(epsilon=1.0, delta=delta), [0.0, 1e-9], [1.0, -1e-9]),
    "discovery": (
        lambda share: AnswerTerms(epsilon=1.0, delta=1e-9, discovery=share),
        [None, 1e-9, below(1.0)],
        [0.0, 1.0, -0.5, math.nan],
    ),
    "delta of discovery": (
        lambda delta: AnswerTerms(epsilon=1.0, delta=delta, discovery=0.5),
        [1e-9],
        [0.0],
    ),
    "rows per person": (
        lambda rows: AnswerTerms(epsilon=1.0, max_rows_per_person=rows),
        [1, 10**6],
        [0, 10**6 + 1],
    ),
    "groups of one column": (
        lambda number: ask(f"histogram age from 0 to {number} by 1"),
        [],
        [65_537],
    ),
    "groups of two columns": (
        lambda number: ask(f"count group by a in ({listed(number)}), b in ({listed(250)})"),
        [400],
        [401],
    ),
    "bounds beside questions": (
        lambda bounds: check_questions(["mean age"], TERMS, None, bounds),
        [{"age": (0, 1)}],
        [[("age", (0, 1))], (0, 1), "age"],
    ),
    "bounds in a question": (
        lambda bounds: bound(*bounds),
        [(10.0, 20.0), (-5.0, 0.0), (2.0, 3.0), (-9.0, 99.0)],
        [(above(10.0), 20.0), (-5.0, below(0.0))],
    ),
    "largest bound": (
        lambda top: ask(f"sum age from 0 to {top!r}"),
        [1e100],
        [above(1e100)],
    ),
    "smallest width": (
        lambda width: ask(f"sum age from 0 to {width!r}"),
        [1.0000001e-100],
        [0.9999999e-100],
    ),
    "bounds for their size": (
        lambda low: ask(f"sum age from {low!r} to {low + 1024!r}"),
        [],
        [2.0**62],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_the_last_value_is_taken_and_the_next_is_not(name: str) -> None:
    assert_limits(*LIMITS[name])


def test_persons_are_protected_where_they_are_named() -> None:
    """Or where more rows than one of each count."""
    for facts, unit in [({}, "row"), ({"person": "who"}, "person")]:
        assert AnswerTerms(epsilon=1.0, **facts).new_ledger().unit == unit
    many = AnswerTerms(epsilon=1.0, max_rows_per_person=3).new_ledger()
    assert (many.unit, many.max_rows_per_person) == ("person", 3)


def test_answers_are_pure_without_a_delta_and_in_zcdp_with_one() -> None:
    assert AnswerTerms(epsilon=1.0).new_ledger().currency == "epsilon"
    assert AnswerTerms(epsilon=1.0, delta=1e-6).new_ledger().currency == "rho"


def test_a_share_is_kept_inside_of_its_interval() -> None:
    assert share_of(0.0, 0.0, 0.2, 0.6) == pytest.approx(0.4)
    assert share_of(-3.0, 2.0, 0.2, 0.6) == pytest.approx(0.4)
    assert share_of(1.0, 1.0, 0.0, 1.0) == 0.5
    assert share_of(9.0, 1.0, 0.2, 0.6) == 0.6
    assert share_of(1.0, 9.0, 0.2, 0.6) == 0.2


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("count where x = 'f'", "categorical"),
        ("count where x in ('f', 'm')", "categorical"),
        ("count where x = true", "boolean"),
        ("count where x = 3", "real"),
        ("count where x < 3", "real"),
        ("count where x <= 3", "real"),
        ("count where x between 3 and 4", "real"),
        ("mean x from 0 to 1", "real"),
        ("histogram x from 0 to 10 by 1", "real"),
        ("count where x < '2020-01-31'", "date"),
        ("count where x <= '2020-01-31'", "date"),
        ("count where x > '2020-01-31'", "date"),
        ("count where x >= '2020-01-31'", "date"),
        ("count where x between '2020-01-31' and '2020-02-01'", "date"),
        ("count where x < '2020-01-31 12:00'", "datetime"),
        ("count where x < '2020-01-31 00:00'", "datetime"),
        ("count where x < '2020W05T12'", "datetime"),
        ("count where x between '2020-01-31' and '2020-01-31 12:00'", "datetime"),
        ("count where x between '2020-01-31 12:00' and '2020-02-01'", "datetime"),
        ("count where x = '2020-01-31'", "categorical"),
        ("mean x from '2020-01-01' to '2020-12-31'", "date"),
    ],
)
def test_a_question_says_of_which_kind_its_column_is(question: str, kind: str) -> None:
    """Texts that are put in order, or of which a mean is asked, are dates; others are words."""
    [attribute] = infer_schema([question]).attributes
    assert (attribute.name, attribute.kind) == ("x", kind)
