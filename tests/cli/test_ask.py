"""``understudy ask``: answers on standard output, prices before and after on standard error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from running import run

ROWS = ["age,sex,town", *(f"{20 + place % 50},{'fm'[place % 2]},Ulm" for place in range(500))]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("\n".join(ROWS) + "\n")
    return path


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "people.ledger"
    assert run("ledger", "create", path, "--epsilon", 100).status == 0
    return path


def left(book: Path) -> float:
    document = json.loads(book.read_text())
    return document["allowance"]["epsilon"] - sum(r["epsilon"] for r in document["releases"])


def test_a_count_is_printed_priced_and_booked(table: Path, book: Path) -> None:
    done = run(
        "ask", table, "count where age >= 44 and age < 55", "--epsilon", 50, "--ledger", book
    )
    assert done.status == 0, done.err
    assert done.out == "110 (110 to 110)\n"
    assert "expected: count where age >= 44 and age < 55: off by at most 0 rows" in done.err
    assert "Differentially private with epsilon = 50" in done.err
    assert left(book) == 50
    shown = run("ledger", "show", book)
    assert "ask" in shown.out


def test_groups_are_a_table_and_json_is_json(table: Path) -> None:
    grouped = "mean age from 0 to 99 group by sex in ('f', 'm')"
    done = run("ask", table, grouped, "--epsilon", 1e6)
    assert done.status == 0, done.err
    assert "95% interval" in done.out
    assert "44.00" in done.out
    assert "No ledger" in done.err
    found = json.loads(run("ask", table, grouped, "count", "--json", "--epsilon", 1e6).out)
    assert [one["group"] for one in found[0]["answers"]] == [["f"], ["m"]]
    assert found[0]["answers"][0]["value"] == pytest.approx(44.0, abs=0.02)
    assert found[1]["answers"][0]["value"] == 500
    assert found[1]["confidence"] == 0.95


def test_a_plan_reads_nothing_and_spends_nothing(book: Path) -> None:
    done = run(
        *("ask", "nowhere.csv", "mean age", "median age", "count", "--bounds", "age=17..90"),
        *("--plan", "--epsilon", 0.3, "--ledger", book),
    )
    assert done.status == 0, done.err
    assert "count: off by at most 30 rows in 95 of 100 runs" in done.out
    assert "Nothing was read, nothing was spent." in done.out
    assert left(book) == 100
    [found] = json.loads(run("ask", "nowhere.csv", "count", "--plan", "--json").out)
    assert found["error"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mean age"], "needs public bounds"),
        (["mean age", "--bounds", "age=9..1"], "lower one first"),
        (["mean age", "--bounds", "17..90"], "not of the form name=low..high"),
        (["count group by town"], "needs public groups"),
        (["count,"], "character 6: expected where, group by or the end, but found ','"),
        (["count where agee > 3"], "did you mean 'age'"),
        (["count", "--discovery", "0.5"], "takes a delta"),
        (["count", "--epsilon", "0"], "epsilon must be"),
        (["count", "--plan", "--discovery", "0.5", "--delta", "1e-9"], "cannot be planned"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(
    table: Path, book: Path, arguments: list[str], message: str
) -> None:
    done = run("ask", table, *arguments, "--ledger", book)
    assert done.status != 0
    assert message in done.err.replace("\n", " ")
    assert done.out == ""
    assert left(book) == 100


def test_a_ledger_that_is_spent_refuses(table: Path, book: Path) -> None:
    done = run("ask", table, "count", "--epsilon", 101, "--ledger", book)
    assert done.status != 0
    assert "has only epsilon 100" in done.err.replace("\n", " ")


def test_a_schema_with_gaps_goes_with_what_does_not_need_them(table: Path, tmp_path: Path) -> None:
    columns = table.read_text(encoding="utf-8").splitlines()[0].split(",")
    schema = tmp_path / "form.json"
    schema.write_text(json.dumps({"attributes": {name: {"kind": None} for name in columns}}))
    ran = run("ask", str(table), "count", "--epsilon", "1", "--schema", str(schema), "--json")
    assert ran.status == 0, ran.err
    assert json.loads(ran.out)[0]["question"] == "count"
