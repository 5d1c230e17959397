"""Which table is this? Fingerprints, and ledger files that know the table they are kept for."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import dates, datetimes, integers, reals, words
from running import run
from understudy import (
    BudgetError,
    Independent,
    InputError,
    LedgerFile,
    Schema,
    Table,
    read_table,
)
from understudy.engines.fingerprints import engine_fingerprint
from understudy.engines.sources import open_rows
from understudy.privacy.fingerprints import fingerprint
from understudy.privacy.ledger.file import _check

KEY = bytes(range(32))
SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "age": {"kind": "integer", "min": 0, "max": 99},
            "sex": {"kind": "categorical", "values": ["f", "m"]},
            "name": {"kind": "text"},
        }
    }
)
ROWS = [f"{20 + i % 60},{'fm'[i % 2]},person {i}" for i in range(200)]
HEADER = "age,sex,name"


def written(path: Path, rows: list[str], header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


# --------------------------------------------------------------------------- fingerprints


def mark(table: Any, key: bytes = KEY) -> str:
    return fingerprint(table if isinstance(table, Table) else read_table(table), key)


def engine_mark(path: Path, key: bytes = KEY) -> str:
    with open_rows(path, "duckdb") as (table, _):
        return engine_fingerprint(table, key)


MARKS = pytest.mark.parametrize("take", [mark, engine_mark])


@MARKS
def test_the_same_table_in_another_form_has_the_same_fingerprint(
    tmp_path: Path, take: Callable[..., str]
) -> None:
    path = written(tmp_path / "t.csv", ROWS)
    expected = take(path)
    assert take(written(tmp_path / "order.csv", ROWS[::-1])) == expected
    turned = [",".join(row.split(",")[::-1]) for row in ROWS]
    assert take(written(tmp_path / "turned.csv", turned, "name,sex,age")) == expected
    read_table(path).write(tmp_path / "t.parquet")
    assert take(tmp_path / "t.parquet") == expected
    read_table(path).write(tmp_path / "t.csv.gz")
    assert take(tmp_path / "t.csv.gz") == expected


CHANGES: dict[str, tuple[list[str], str]] = {
    "a row more": ([*ROWS, ROWS[0]], HEADER),
    "a row less": (ROWS[:-1], HEADER),
    "another row twice": ([*ROWS[:-1], ROWS[0]], HEADER),
    "a number": (["21" + ROWS[0][2:], *ROWS[1:]], HEADER),
    "a text": ([ROWS[0] + " ", *ROWS[1:]], HEADER),
    "a missing value": (["," + ROWS[0].split(",", 1)[1], *ROWS[1:]], HEADER),
    "a name": (ROWS, "age,sex,names"),
    "names exchanged": (ROWS, "age,name,sex"),
    # Every column holds the same values as before; only who has which differs.
    "two cells exchanged": (
        ["21" + ROWS[0][2:], "20" + ROWS[1][2:], *ROWS[2:]],
        HEADER,
    ),
    "a column less": ([row.rsplit(",", 1)[0] for row in ROWS], "age,sex"),
}


@MARKS
@pytest.mark.parametrize(("rows", "header"), CHANGES.values(), ids=CHANGES.keys())
def test_whatever_changes_the_fingerprint_does(
    tmp_path: Path, rows: list[str], header: str, take: Callable[..., str]
) -> None:
    assert take(written(tmp_path / "a.csv", ROWS)) != take(
        written(tmp_path / "b.csv", rows, header)
    )


@MARKS
def test_without_the_key_a_fingerprint_cannot_be_checked(
    tmp_path: Path, take: Callable[..., str]
) -> None:
    path = written(tmp_path / "t.csv", ROWS)
    marks = {take(path, secrets.token_bytes(32)) for _ in range(5)}
    assert len(marks) == 5


@given(
    cells=st.lists(st.tuples(st.integers(-3, 3), st.sampled_from("ab")), min_size=1, max_size=9),
    others=st.lists(st.tuples(st.integers(-3, 3), st.sampled_from("ab")), min_size=1, max_size=9),
)
def test_tables_have_the_same_fingerprint_just_if_they_have_the_same_rows(
    cells: list[tuple[int, str]], others: list[tuple[int, str]]
) -> None:
    one, two = (
        mark(Table({"n": integers(*(n for n, _ in rows)), "w": words(*(w for _, w in rows))}))
        for rows in (cells, others)
    )
    assert (one == two) == (sorted(cells) == sorted(others))


def test_the_same_value_is_the_same_however_it_is_stored() -> None:
    assert mark(Table({"a": integers(1, -2, None)})) == mark(Table({"a": reals(1.0, -2.0, None)}))
    assert mark(Table({"a": reals(0.0)})) == mark(Table({"a": reals(-0.0)}))
    days, moments = dates("1969-12-31"), datetimes("1969-12-31 00:00:00")
    assert mark(Table({"a": days})) == mark(Table({"a": moments}))
    assert mark(Table({"a": reals(0.5)})) != mark(Table({"a": reals(0.25)}))
    assert mark(Table({"a": reals(1e300)})) != mark(Table({"a": reals(2e300)}))


def test_rows_beyond_the_first_part_count(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.arange(10)
    table = Table({"a": integers(*numbers.tolist())})
    expected = mark(table)
    monkeypatch.setattr("understudy.privacy.fingerprints._ROWS_AT_A_TIME", 3)
    assert mark(table) == expected


# --------------------------------------------------------------------------- ledgers


def fit(path: Any, book: LedgerFile, engine: str | None = None) -> Any:
    return Independent(epsilon=0.5).fit(path, SCHEMA, ledger=book, engine=engine)


ENGINES = pytest.mark.parametrize("engine", [None, "duckdb"])


@ENGINES
def test_another_table_or_a_changed_one_is_refused_before_a_debit(
    tmp_path: Path, engine: str | None
) -> None:
    table = written(tmp_path / "t.csv", ROWS)
    book = LedgerFile.create(tmp_path / "t.ledger", 3.0)
    fit(table, book, engine)
    fit(written(tmp_path / "same.csv", ROWS[::-1]), book, engine)
    before = book.path.read_bytes()
    for changed in (ROWS[:-1], [*ROWS, ROWS[3]]):
        with pytest.raises(InputError, match=r"--same-table.*--new-rows.*Nothing was asked"):
            fit(written(tmp_path / "changed.csv", changed), book, engine)
    assert book.path.read_bytes() == before
    assert book.left() == (2.0, 0.0)


@ENGINES
def test_what_the_owner_says_is_remembered_and_releases_go_on_adding_up(
    tmp_path: Path, engine: str | None
) -> None:
    table = written(tmp_path / "t.csv", ROWS)
    narrow = written(tmp_path / "narrow.csv", [f" {row}" for row in ROWS])
    grown = written(tmp_path / "grown.csv", [*ROWS, ROWS[0]])
    book = LedgerFile.create(tmp_path / "t.ledger", 3.0)
    fit(table, book, engine)
    fit(narrow, LedgerFile(book.path, accept="same_table"), engine)
    fit(narrow, book, engine)  # both forms are known now
    fit(table, book, engine)
    assert book.left() == (1.0, 0.0)
    fit(grown, LedgerFile(book.path, accept="new_rows"), engine)
    with pytest.raises(InputError, match="another table"):
        fit(table, book, engine)  # that was the table of old
    fit(grown, book, engine)
    assert book.left() == (0.0, 0.0)
    with pytest.raises(BudgetError, match="left"):  # no way of saying it is worth an allowance
        fit(table, LedgerFile(book.path, accept="new_rows"), engine)


def test_a_ledger_that_spent_nothing_takes_any_table(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    book.adopt_table("memory:one")
    book.adopt_table("memory:two")
    book.reserve("r", 0.5, 0.0, "add_remove", table="memory:three")
    for ask in (book.adopt_table, book.check_table):
        with pytest.raises(InputError, match="another table"):
            ask("memory:one")
    with pytest.raises(InputError, match="another table"):
        book.reserve("r", 0.5, 0.0, "add_remove", table="memory:one")
    assert book.left() == (0.5, 0.0)


def test_a_ledger_from_before_there_were_fingerprints_learns_its_table(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 3.0)
    document = json.loads(book.path.read_text())
    del document["key"], document["tables"]
    document["check"] = _check(document)
    book.path.write_text(json.dumps(document))
    book = LedgerFile(book.path)
    fit(written(tmp_path / "t.csv", ROWS), book)
    fit(tmp_path / "t.csv", LedgerFile(book.path))
    with pytest.raises(InputError, match="another table"):
        fit(written(tmp_path / "t.csv", ROWS[1:]), LedgerFile(book.path))


@pytest.mark.parametrize(
    ("name", "value"), [("key", "00"), ("key", "x"), ("key", 7), ("tables", [1]), ("tables", "x")]
)
def test_a_ledger_with_a_damaged_key_is_refused(tmp_path: Path, name: str, value: Any) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 3.0)
    document = json.loads(book.path.read_text())
    document[name] = value
    document["check"] = _check(document)
    book.path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="is damaged"):
        book.left()


def test_two_ledgers_of_one_table_have_nothing_in_common(tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", ROWS)
    books = [LedgerFile.create(tmp_path / f"{i}.ledger", 3.0) for i in range(2)]
    for book in books:
        fit(table, book)
    (one,), (two,) = (book.read()["tables"] for book in books)
    assert one != two
    assert books[0].key() != books[1].key()


def test_nothing_of_it_goes_into_a_model(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 3.0)
    model = fit(written(tmp_path / "t.csv", ROWS), book)
    model.save(tmp_path / "m.json")
    released = (tmp_path / "m.json").read_text()
    document = book.read()
    (known,) = document["tables"]
    assert known.split(":")[1] not in released
    assert document["key"] not in released


@pytest.mark.parametrize("accept", ["same", "", True])
def test_what_is_said_must_make_sense(tmp_path: Path, accept: Any) -> None:
    with pytest.raises(InputError, match="accept must be"):
        LedgerFile(tmp_path / "t.ledger", accept=accept)


# --------------------------------------------------------------------------- the command line


def test_the_command_line_asks_which_table_it_is(tmp_path: Path) -> None:
    table, schema, book = tmp_path / "t.csv", tmp_path / "s.json", tmp_path / "t.ledger"
    written(table, ROWS)
    SCHEMA.save(schema)
    LedgerFile.create(book, 3.0, 1e-6)
    release = ["synthesize", table, "--schema", schema, "--method", "independent"]
    release += ["--epsilon", "0.5", "-o", tmp_path / "out.csv"]
    draft = ["schema", table, "--epsilon", "0.25", "--delta", "1e-9", "-o", tmp_path / "d.json"]
    draft.append("--keep-going")
    ran = run(*release)
    assert ran.status == 0
    assert ran.err.count("No ledger: this release is counted nowhere") == 1
    assert "No ledger" in run(*draft).err
    assert "No ledger" not in run("schema", table, "--blank", "-o", tmp_path / "b.json").err
    for command in (release, draft):
        ran = run(*command, "--ledger", book)
        assert ran.status == 0, ran.err
        assert "No ledger" not in ran.err
    written(table, ROWS[1:])
    before = book.read_bytes()
    for command in (release, draft):
        ran = run(*command, "--ledger", book)
        assert ran.status == 2
        assert ran.err.count("\n") == 1
        assert "--same-table" in ran.err
        assert book.read_bytes() == before
    assert run(*release, "--ledger", book, "--new-rows").status == 0
    assert run(*draft, "--ledger", book).status == 0
    assert LedgerFile(book).left()[0] == 1.5
    written(table, [f" {row}" for row in ROWS[1:]])
    assert run(*draft, "--ledger", book, "--same-table").status == 0
    for wrong in (["--same-table"], ["--ledger", book, "--same-table", "--new-rows"]):
        ran = run(*release, *wrong)
        assert (ran.status, ran.err.count("\n")) == (2, 1)
