"""What each question costs, which noise its answer has, and what is made of it (see
tests/transcripts.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from asked_people import SCHEMA, function_of, people

from transcripts import compare, record, show
from understudy import Ledger, ask

KNOWN = [
    "count", "count where age >= 44 and sex = 'f'", "count group by town",
    "share where smoker = true", "share where age < 30 group by sex", "sum age",
    "sum height group by sex", "mean age",
    "mean height where age > 40", "variance age", "std height group by sex", "median age",
    "quantile 0.9 height", "min age", "max height", "median stars group by smoker",
    "count each sex = 'f', age > 50, smoker = true at most 2",
    "count each sex = 'f', age > 50",
]  # fmt: skip
UNKNOWN = [
    "count where age >= 44", "sum age from -5 to 100", "mean height from 1 to 2.5",
    "std age from 0 to 99", "median age from 0 to 130", "max age from 0 to 130",
]  # fmt: skip
TERMS: dict[str, dict[str, Any]] = {
    "epsilon": {"epsilon": 4.0},
    "delta": {"epsilon": 4.0, "delta": 1e-6},
    "replace": {"epsilon": 20.0, "neighbours": "replace"},
    "persons": {"epsilon": 4.0, "person": "who", "max_rows_per_person": 2},
}


def answer(questions: list[str], rows: int, **terms: Any) -> list[str]:
    with record() as noise:
        found = ask(people(rows), questions, noise=noise, notify=lambda _: None, **terms)
    lines = list(noise.lines)
    for text, told in zip(questions, found, strict=True):
        lines += [text, f"  {told.mechanism}; {told.note}"]
        lines += [
            f"  {', '.join(one.group)}: {show(one.value)} +- {show(one.error)}, "
            f"{show(one.low)} to {show(one.high)}"
            for one in told.answers
        ]
    return lines


@pytest.mark.parametrize("terms", TERMS)
def test_questions_with_a_schema(terms: str) -> None:
    lines = answer(KNOWN, 400, schema=SCHEMA, **TERMS[terms])
    compare(f"asking-{terms}", lines)


def test_questions_without_a_schema() -> None:
    compare("asking-no-schema", answer(UNKNOWN, 400, epsilon=4.0))


@pytest.mark.parametrize("rows", [1, 7])
def test_questions_about_few_rows(rows: int) -> None:
    compare(f"asking-{rows}-rows", answer(KNOWN, rows, schema=SCHEMA, epsilon=8.0))


def test_questions_for_little() -> None:
    """Where noise is more than all that rows could be, no error is larger than the bounds."""
    compare("asking-little", answer(KNOWN, 30, schema=SCHEMA, epsilon=0.05))


def test_bounds_that_are_paid_for() -> None:
    questions = ["mean age", "median height", "count group by town"]
    lines = answer(questions, 3000, epsilon=8.0, delta=1e-6, discovery=0.5)
    compare("asking-discovery", lines)


@pytest.mark.parametrize("text", ["variance age", "std age", "mean age", "share where age > 3"])
@pytest.mark.parametrize("rows", [0, -3])
def test_noise_that_leaves_no_row_still_gives_an_answer(text: str, rows: int) -> None:
    function = function_of(text, Ledger(1.0), SCHEMA)
    size = {"variance": 3, "std": 3, "mean": 2, "share": 2}[text.split()[0]]
    numbers = np.zeros((1, size), dtype=np.int64)
    numbers[0, 0] = rows
    [answer] = function.read([(numbers, 4.0)])
    assert answer.low <= answer.value <= answer.high
    assert np.isfinite(answer.error)
