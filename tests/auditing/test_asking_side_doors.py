"""No side doors of ``ask``: with doors that give the same answers whatever the rows say, all that
anybody but the owner sees is the same for neighbouring tables, to the byte.
"""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from test_side_doors import ODD_ROWS, SCHEMA, Row, SameAnswers, neighbours_of

import understudy.asking.run
from running import run
from understudy import LedgerFile, OwnerWarning, Table, read_table
from understudy.asking.api import ask_with
from understudy.asking.run import AnswerTerms
from understudy.errors import InputError
from understudy.privacy.central import CentralCurator

QUESTIONS: dict[str, tuple[list[str], Any, dict[str, Any]]] = {
    "counts": (["count", "count where age > 30 and town = 'Rome'", "share where sex = 'f'"], 0, {}),
    "no schema": (
        ["count where age > 30 and town = 'Rome'", "mean height from 1 to 2 where rare > 3"],
        None,
        {},
    ),
    "groups": (["histogram age", "mean age group by town", "median age group by sex"], 0, {}),
    "moments": (["sum age", "std height", "variance age where sex != 'f'"], 0, {}),
    "ranks": (["median age", "max height", "min seen", "quantile 0.9 rare"], 0, {}),
    "labels": (["count each sex = 'f', town = 'Ulm', rare is missing at most 2"], 0, {}),
    "replace": (["share where age > 30", "mean age", "median age"], 0, {"neighbours": "replace"}),
    "delta": (["mean age group by sex", "median age"], 0, {"delta": 1e-6}),
    "two rows per person": (["count"], 0, {"person": "who", "max_rows_per_person": 2}),
}


ODDEST = (
    "extreme values",
    "a category that the schema does not know",
    "all missing",
    "missing in other ways",
    "a very long value",
)


def seen(name: str, table: Any, folder: Path) -> Any:
    questions, schema, protection = QUESTIONS[name]
    if schema is not None:
        schema = SCHEMA
    heard: list[Any] = []

    class Curator(CentralCurator):
        def answer(self, question: Any) -> Any:
            heard.append((type(question).__name__, pickle.dumps(question)))
            return super().answer(question)

    unit: Any = "person" if "person" in protection else "row"
    relation = protection.get("neighbours", "add_remove")
    (folder / "t.ledger").unlink(missing_ok=True)
    book = LedgerFile.create(folder / "t.ledger", 9.0, 0.1, relation, unit)
    noise, progress, expected = SameAnswers(), [], []
    with (
        warnings.catch_warnings(record=True) as warned,
        mock.patch.object(understudy.asking.run, "CentralCurator", Curator),
    ):
        warnings.simplefilter("always")
        # What earlier tests left open is told whenever garbage happens to be collected.
        warnings.simplefilter("ignore", ResourceWarning)
        answers, ledger = ask_with(
            table,
            questions,
            AnswerTerms(epsilon=2.0, **protection),
            schema=schema,
            ledger=book,
            noise=noise,
            progress=lambda *step: progress.append(step),
            announce=expected.extend,
        )
    [release] = json.loads((folder / "t.ledger").read_text())["releases"]
    booked = {key: value for key, value in release.items() if key not in ("number", "at")}
    others = [str(w.message) for w in warned if not issubclass(w.category, OwnerWarning)]
    told = [answer.to_dict() for answer in answers], [repr(answer) for answer in answers]
    return told, booked, ledger.statement(), progress, expected, others, heard, noise.asked


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], tuple[Table, Table]]:
    """Neighbouring tables, read once for all questions."""

    @cache
    def tables(relation: str, odd: str) -> tuple[Table, Table]:
        folder = tmp_path_factory.mktemp("tables")
        here, there = neighbours_of(relation, ODD_ROWS[odd], folder)
        return read_table(here), read_table(there)

    return tables


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_does_not_go_through_a_door_does_not_differ(
    name: str, tmp_path: Path, read: Callable[[str, str], tuple[Table, Table]]
) -> None:
    relation = QUESTIONS[name][2].get("neighbours", "add_remove")
    one = None
    for odd in ODDEST:
        here, there = read(relation, odd)
        if one is None:
            one = seen(name, here, tmp_path)
            assert one[-1]  # the test would hold for a command that asks nothing
        assert seen(name, there, tmp_path) == one


def test_a_door_left_open_is_noticed(tmp_path: Path) -> None:
    """The test above must fail where an answer depends on the rows."""
    here, there = neighbours_of("add_remove", ODD_ROWS["extreme values"], tmp_path)

    class Leak(SameAnswers):
        def laplace(self, counts: Any, scale: float) -> Any:
            return super().laplace(counts, scale) + counts

    with mock.patch(f"{__name__}.SameAnswers", Leak):
        assert seen("counts", here, here.parent) != seen("counts", there, there.parent)


@pytest.mark.parametrize(
    "arguments",
    [
        ("count where age > 30",),
        ("mean age",),  # refused: no bounds
        ("mean age from 0 to 99 group by sex in ('f', 'm')",),
        ("count where town = 'Atlantis'", "--schema"),  # refused: not listed
        ("count, ",),
        ("histogram rare", "--schema"),
    ],
)
@pytest.mark.parametrize("odd", [ODD_ROWS["extreme values"], ODD_ROWS["all missing"]])
def test_the_exit_status_and_a_refusal_do_not_differ(
    arguments: tuple[str, ...], odd: Row, tmp_path: Path
) -> None:
    here, there = neighbours_of("add_remove", odd, tmp_path)
    SCHEMA.save(tmp_path / "schema.json")
    options = [*arguments[1:], *([tmp_path / "schema.json"] * (len(arguments) > 1))]
    runs = []
    for table in (here, there):
        done = run("ask", table, arguments[0], "--epsilon", 1, "-q", *options)
        lines = len(done.out.splitlines())
        runs.append((done.status, done.err.replace(str(table), ""), lines))
    assert runs[0] == runs[1]


def test_a_refusal_goes_by_names_alone(
    read: Callable[[str, str], tuple[Table, Table]],
) -> None:
    """A question about a column of text, say: by its name, whatever the rows are."""
    for odd in ("extreme values", "all missing"):
        messages = set()
        for table in read("add_remove", odd):
            with pytest.raises(InputError) as caught:
                ask_with(table, ["count where who = 'p1'"], AnswerTerms(epsilon=1.0), schema=SCHEMA)
            messages.add(str(caught.value))
        assert len(messages) == 1
