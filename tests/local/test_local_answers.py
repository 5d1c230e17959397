"""Answers: every person gives one report, whatever she writes, and it is drawn as planned."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from surveys import SCHEMA, codes_of, plan_of_all_kinds, small_plan

from understudy import InputError
from understudy.data.columns import Column, Table
from understudy.local.answering import answer_for_all, answer_plan
from understudy.local.booking import AnswerBook, default_path
from understudy.local.persons import encode_person
from understudy.local.randomisers import Words
from understudy.local.reports import REPORT_LINE, write_reports

anything = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*SCHEMA.names, "other"]), anything))
def test_whatever_a_person_writes_has_a_code(person: dict[str, Any]) -> None:
    codes, _ = encode_person(person, SCHEMA)
    assert {name: 0 <= code < SCHEMA[name].size for name, code in codes.items()} == dict.fromkeys(
        SCHEMA.names, True
    )


def test_the_code_of_an_answer_is_as_stated() -> None:
    codes, notes = encode_person(
        {"age": 34, "sex": "male", "smoker": True, "town": "Bern", "height": "1.75"}
        | {"born": "1990-05-17"},
        SCHEMA,
    )
    assert codes == {"age": 0, "sex": 1, "smoker": 1, "town": 1, "height": 2, "born": 4}
    assert notes == []


@pytest.mark.parametrize(
    ("column", "answer", "code"),
    [
        ("age", 7, 0),  # below the bounds
        ("age", 200, 3),  # above them
        ("age", "old", 2),  # cannot be read: the middle
        ("age", [34], 2),
        ("age", None, 2),
        ("sex", "other", 1),  # the last one listed
        ("town", "Paris", 3),  # elsewhere
        ("smoker", "perhaps", 1),
        ("smoker", None, 2),  # missing
        ("height", "tall", 5),  # missing
        ("height", math.inf, 5),
    ],
)
def test_an_answer_that_does_not_fit_counts_by_a_rule(column: str, answer: Any, code: int) -> None:
    fitting = {"age": 34, "sex": "male", "smoker": True, "town": "Bern", "height": "1.75"}
    codes, notes = encode_person(fitting | {"born": "1990-05-17"} | {column: answer}, SCHEMA)
    assert codes[column] == code
    allowed = column in ("smoker", "height") and answer is None
    assert len(notes) == (not allowed)
    assert all(column in note for note in notes)


def test_a_report_is_a_function_of_codes_and_bytes() -> None:
    plan = plan_of_all_kinds()
    codes = {name: int(column[0]) for name, column in codes_of(1).items()}
    stream = np.random.default_rng(5).bytes(4096)
    lines = {
        answer_plan(plan, codes, level=1, words=Words.of_bytes(stream)).to_json() for _ in range(3)
    }
    assert len(lines) == 1
    assert REPORT_LINE.fullmatch(lines.pop().encode())


def test_a_report_holds_nothing_else() -> None:
    report = json.loads(answer_plan(small_plan(), dict.fromkeys(SCHEMA.names, 0)).to_json())
    assert set(report) == {"v", "p", "q", "e", "r", "n"}


def test_a_token_takes_the_place_of_the_number() -> None:
    report = answer_plan(small_plan(), dict.fromkeys(SCHEMA.names, 0), token="ab" * 16)
    assert report.number == "ab" * 16


def test_reports_of_one_person_and_of_many_have_one_distribution() -> None:
    """Where nothing is left to chance: at a large epsilon, every report is the true answer."""
    plan = small_plan(
        epsilons=(30.0,),
        questions=tuple(
            type(question)(
                **{
                    **vars(question),
                    "randomisers": (type(one)(size=one.size, epsilon=30.0),),
                }
            )
            for question in small_plan().questions
            for one in question.randomisers
        ),
    )
    codes = codes_of(300)
    singles = []
    for person in range(300):
        own = {name: int(column[person]) for name, column in codes.items()}
        report = answer_plan(plan, own, words=Words.of_seed(person))
        expected = plan.questions[report.question].answers(
            {name: np.array([code]) for name, code in own.items()}
        )
        assert report.answer == (int(expected[0]),)
        singles.append(report.question)
    batches = answer_for_all(plan, codes, words=Words.of_seed(1))
    assert sum(map(len, batches)) == 300
    assert {batch.question for batch in batches} == set(singles) == {0, 1, 2}


def test_questions_are_drawn_as_often_as_planned() -> None:
    """20,000 persons and seeded words: 5 deviations, and the same in each run."""
    plan = small_plan()
    batches = answer_for_all(plan, codes_of(20_000), words=Words.of_seed(3))
    counts = np.array([len(batch) for batch in batches])
    expected = 20_000 * plan.shares
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_each_person_has_a_number_of_her_own() -> None:
    batches = answer_for_all(plan_of_all_kinds(), codes_of(5_000))
    numbers = np.concatenate([batch.numbers for batch in batches])
    assert len(np.unique(numbers, axis=0)) == 5_000


def test_levels_are_kept_apart() -> None:
    plan = plan_of_all_kinds((2.0, 0.5))
    levels = np.arange(1_000) % 2
    batches = answer_for_all(plan, codes_of(1_000), levels=levels)
    counts = [sum(len(b) for b in batches if b.level == level) for level in (0, 1)]
    assert counts == [500, 500]
    with pytest.raises(InputError, match="levels 0 to 1"):
        answer_for_all(plan, codes_of(10), levels=2)


def test_nobody_gives_no_reports(tmp_path: Path) -> None:
    assert answer_for_all(small_plan(), codes_of(0)) == []
    assert write_reports(tmp_path / "r.jsonl", []) == 0


def test_a_table_is_encoded_as_persons_are() -> None:
    names = ("female", "male", "neither")
    rows = np.array([0, 1, 2] * 10)
    table = Table(
        {
            "age": Column("integer", np.arange(30) * 4),
            "sex": Column("text", rows, words=names),
            "smoker": Column("boolean", rows > 0),
            "town": Column("text", rows, words=("Cork", "Bern", "Rome")),
            "height": Column("real", np.linspace(1.0, 2.4, 30)),
            "born": Column("text", rows, words=("1990-01-01", "x", "2040-01-01")),
        }
    )
    plan = small_plan()
    assert sum(map(len, answer_for_all(plan, table))) == 30
    with pytest.raises(InputError, match="'town' are not given"):
        answer_for_all(plan, {"age": rows, "sex": rows, "smoker": rows})


def test_reports_go_to_known_kinds_of_files_only(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.jsonl or \.parquet"):
        write_reports(tmp_path / "reports.txt", [])


def test_of_two_reports_at_once_one_is_booked(tmp_path: Path) -> None:
    """Both programs have looked before either books: the ledger looks again under its lock."""
    plan = small_plan()
    book = AnswerBook(tmp_path / "my.ledger")
    first, second = (answer_plan(plan, dict.fromkeys(SCHEMA.names, code)) for code in (0, 1))
    book.check(plan)
    other = AnswerBook(tmp_path / "my.ledger")
    other.check(plan)
    book.book(plan, first)
    for late in (plan, plan.next_wave(plan.questions[:1])):
        with pytest.raises(InputError, match="answered this survey already"):
            other.book(late, second)
    booked = other.find(plan)
    assert booked is not None
    assert booked["report"] == first.to_json()


def test_a_persons_ledger_is_in_the_folder_for_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/somewhere")
    assert default_path() == Path("/somewhere/understudy/answers.ledger")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/she")
    assert default_path() == Path("/home/she/.local/share/understudy/answers.ledger")
