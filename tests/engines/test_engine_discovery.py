"""Domains discovered inside DuckDB: what memory would have counted, so the same schema, at the same
price.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from column_counts import TYPED, rows, seen_by, seen_in_memory
from engine_people import people
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy.engines.duckdb
from running import run
from understudy import (
    Adaptive,
    Independent,
    InputError,
    Ledger,
    LedgerFile,
    PrivBayes,
    Random,
    Schema,
    read_table,
)
from understudy.counting.partition import Tally
from understudy.data.csv_files import csv_relation
from understudy.data.schema import Category
from understudy.engines import EngineError, columns, encoding
from understudy.engines import rows as engine_rows
from understudy.engines.columns import EngineColumns
from understudy.engines.dialects import DUCKDB
from understudy.engines.duckdb import DuckDBEngine
from understudy.engines.rows import EngineTable
from understudy.privacy.discovery import discover
from understudy.privacy.mechanisms import SeededNoise

# --------------------------------------------------------------------------- counts


def test_typed_columns_are_counted_as_in_memory() -> None:
    connection = duckdb.connect()
    types = ", ".join(
        f"{DUCKDB.quote_name(name)} {DUCKDB.types[name.split()[-1]]}" for name in TYPED
    )
    connection.execute(f"CREATE TABLE cells ({types})")
    connection.executemany(f"INSERT INTO cells VALUES ({', '.join('?' * len(TYPED))})", rows())
    assert seen_by(DuckDBEngine("cells", "T", connection=connection)) == seen_in_memory()


CSV = {
    "n": ["1", "-7", " 42 ", "?", "", "+5", "0", "NA", "-", "NA", "123456789012345678"],
    "padded code": ["01", "2", "3", "", "5", "6", "7", "8", "9", "10", "11"],
    "r": ["1.5", ".5", "5.", "1e5", "-2e-30", "nan", "null", "0", "-0.0", "N/A", "7"],
    "d": [
        "2020-01-31",
        "1066-10-14",
        "",
        "9999-12-31",
        "?",
        "2020-02-29",
        "1600-01-01",
        ".",
        "None",
        "2200-12-31",
        "",
    ],
    "t": [
        "2020-01-31 10:00",
        "2020-01-31T10:00:01",
        "2020-01-31 10:00:59.9",
        *["2019-12-31 23:59:59"] * 7,
        "NaN",
    ],
    "no T": ["2020-01-31 10:00", *["2019-12-31 23:59:59"] * 10],
    "almost a day": ["2020-02-30", *["2020-02-28"] * 10],
    "truth": ["true", "false", "", "true", "true", "true", "false", "true", "true", "true", ""],
    "upper truth": ["TRUE", *[""] * 10],
    "truth?": ["true", "NA", *["false"] * 9],
    "blank": ["   ", *[""] * 10],
    "marks": ["NA", "?", *[""] * 9],
    "word": ["é", "a", "B", "b ", "a", "line\nbreak", 'a "quote"', "a,b", "?", "", "NULL"],
    "patient_id": ["P1", "P2", "", "", "", "", "", "", "", "", ""],
    "id": [*"0123456789", "10"],
    "row_number": [""] * 11,
}


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Writes columns of texts to a CSV file."""

    def write(columns: dict[str, list[str]]) -> Path:
        path = tmp_path / "t.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        return path

    return write


def csv_engine(path: Path) -> DuckDBEngine:
    return DuckDBEngine(
        csv_relation([path], compressed=False)[1], f"The table {path}", files=[path], csv=True
    )


def test_columns_of_a_csv_file_are_counted_as_in_memory(written: Any) -> None:
    path = written(CSV)
    assert seen_by(csv_engine(path)) == seen_in_memory(read_table(path))


def test_a_column_without_values_is_counted_as_in_memory(written: Any) -> None:
    path = written({"a": ["1", "2"], "nothing": ["", ""]})
    found = seen_by(csv_engine(path))
    assert found == seen_in_memory(read_table(path))
    assert found["nothing"][1][0] == 2


_CELLS = sorted({cell for cells in CSV.values() for cell in cells})


@settings(max_examples=25)
@given(drawn=st.data())
def test_any_csv_file_is_counted_as_in_memory(
    drawn: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cell = st.sampled_from(_CELLS) | st.integers(-(10**17), 10**17).map(str) | st.dates().map(str)
    some = drawn.draw(st.sets(cell, min_size=1, max_size=3).map(sorted))
    cells = drawn.draw(st.lists(st.sampled_from(some), min_size=1, max_size=6))
    path = tmp_path_factory.getbasetemp() / "any.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(
            file, quoting=csv.QUOTE_ALL if drawn.draw(st.booleans()) else csv.QUOTE_MINIMAL
        )
        writer.writerows([("x", "n"), *((text, i) for i, text in enumerate(cells))])
    assert seen_by(csv_engine(path)) == seen_in_memory(read_table(path))


def test_a_collation_does_not_join_texts() -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT unnest(['male', 'MALE', 'f', 'f']) COLLATE NOCASE AS sex"
    )
    tally = Tally(1)
    EngineColumns(EngineTable(DuckDBEngine("t", "T", connection=connection))).count({"sex": tally})
    assert tally.words == {"MALE": 1, "f": 2, "male": 1}


# --------------------------------------------------------------------------- schemas


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("people")
    people(1500).write(home / "people.parquet")
    people(1500).write(home / "people.csv")
    (home / "parts").mkdir()
    for part, test in (("a", "id < 110"), ("b", "id >= 110")):
        duckdb.execute(
            f"COPY (FROM '{home}/people.csv' WHERE {test}) TO '{home}/parts/{part}.csv' (HEADER)"
        )
    return home


def fitted(method: Any, table: Any, **options: Any) -> tuple[dict[str, Any], list[str]]:
    told: list[str] = []
    method = replace(method, keep_going=True)
    return method.fit(table, noise=SeededNoise(7), notify=told.append, **options).to_dict(), told


_from_memory: dict[tuple[str, Path], tuple[dict[str, Any], list[str]]] = {}


def fitted_in_memory(method: Any, path: Path) -> tuple[dict[str, Any], list[str]]:
    """What engines are compared with, made once for each method and file."""
    key = repr(method), path
    if key not in _from_memory:
        _from_memory[key] = fitted(method, path)
    return _from_memory[key]


@pytest.mark.parametrize(
    "method",
    [
        Independent(epsilon=8.0),
        pytest.param(
            Independent(epsilon=8.0, delta=1e-6, neighbours="replace"), marks=pytest.mark.thorough
        ),
        PrivBayes(epsilon=8.0, person="id", max_rows_per_person=2),  # nobody has more
        pytest.param(Adaptive.fast(epsilon=8.0, delta=1e-6), marks=pytest.mark.thorough),
        Random(epsilon=8.0),
    ],
    ids=lambda method: method.name,
)
@pytest.mark.parametrize("name", ["people.parquet", "people.csv"])
def test_the_discovered_schema_and_the_model_are_the_same(
    name: str, method: Any, folder: Path
) -> None:
    path = folder / name
    assert fitted(method, path, engine="duckdb") == fitted_in_memory(method, path)


@pytest.mark.thorough
def test_a_folder_and_a_lazy_frame(folder: Path) -> None:
    polars = pytest.importorskip("polars")
    method = Independent(epsilon=8.0)
    assert fitted(method, folder / "parts") == fitted_in_memory(method, folder / "people.csv")
    lazy = fitted(method, polars.scan_parquet(folder / "people.parquet"))
    assert lazy[0]["ledger"]["taken_as_public"].pop() == "the library of the data frame"
    assert lazy == fitted_in_memory(method, folder / "people.parquet")


def test_more_columns_than_go_into_one_query(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method = Independent(epsilon=8.0, person="id", max_rows_per_person=2)
    expected = fitted(method, folder / "people.csv")
    monkeypatch.setattr(columns, "COLUMNS_AT_A_TIME", 3)
    assert fitted(method, folder / "people.csv", engine="duckdb") == expected


def test_words_that_come_in_several_batches_are_counted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else parts that are too small are left out, and one row changes a count by several."""
    monkeypatch.setattr(understudy.engines.duckdb, "TEXTS_AT_A_TIME", 1)
    counted = []
    for extra in ("", "UNION ALL SELECT TIMESTAMP '2020-01-01 10:00:00.0', -0.0::DOUBLE"):
        connection = duckdb.connect()
        connection.execute(
            "CREATE TABLE t AS SELECT TIMESTAMP '2020-01-01 10:00:00' + i * INTERVAL 1 MILLISECOND "
            "AS seen, CASE WHEN i % 2 = 0 THEN 0.0 ELSE -0.0 END::DOUBLE AS x FROM range(3) r(i) "
            f"{extra}"
        )
        tallies = {"seen": Tally(2), "x": Tally(2)}
        EngineColumns(EngineTable(DuckDBEngine("t", "T", connection=connection))).count(tallies)
        counted.append([dict(tallies[name].words) for name in ("seen", "x")])
    assert counted == [[{"2020-01-01 10:00:00": rows}, {"0": rows}] for rows in (3, 4)]


# --------------------------------------------------------------------------- persons


def test_a_person_counts_with_so_many_rows_of_their_own() -> None:
    """Also where texts hold what stands between values in the digest; equal rows have the same
    chance.
    """
    connection = duckdb.connect()
    rows = [("a", ",1"), ("a,", "1"), ("a", ",1"), ("b", "x")]
    connection.execute("CREATE TABLE t (who BIGINT, x VARCHAR, y VARCHAR)")
    connection.executemany(
        "INSERT INTO t VALUES (?, ?, ?)", [(i, *row) for i in range(500) for row in rows]
    )
    connection.execute("INSERT INTO t SELECT NULL, 'nobody', 'nobody' FROM range(7)")
    engine = DuckDBEngine("t", "T", connection=connection)
    found = EngineColumns(EngineTable(engine), "who", 1)
    counted = {"x": Tally(), "y": Tally()}
    found.count(counted)
    assert found.left_out is not None
    assert (found.left_out.beyond, found.left_out.nobodys) == (1500, 7)
    x, y = counted["x"].words, counted["y"].words
    assert sum(x.values()) == sum(y.values()) == 500
    assert (y["1"], y["x"]) == (x["a,"], x["b"])
    assert abs(x["a"] - 250) < 5 * 12  # five standard deviations
    assert abs(x["b"] - 125) < 5 * 10


class Words(SeededNoise):
    """Every column holds words, and every count is large."""

    def laplace(self, counts: Any, scale: float) -> Any:
        return counts + 10**6

    def choose(self, scores: Any, scale: float, rule: Any) -> int:
        return 0


@pytest.mark.parametrize(("others", "named"), [(0, 0), (2, 1)])
def test_the_threshold_grows_with_the_rows_of_a_person(others: int, named: int) -> None:
    """Words that only one person holds, in as many rows as count, are never named."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 'p' AS who, 'v' AS c FROM range(50) r(i)")
    connection.execute(f"INSERT INTO t SELECT 'q' || i, 'v' FROM range({others}) r(i)")
    engine = DuckDBEngine("t", "T", connection=connection)
    ledger = Ledger(1.0, 1e-9, threshold_delta=1e-9, max_rows_per_person=2)
    found = EngineColumns(EngineTable(engine), "who", 2)
    schema = discover(found, ledger, ledger.budget, 1e-9, Words(0), person="who")
    assert isinstance(schema["c"], Category) == bool(named)  # two rows of the person count


# --------------------------------------------------------------------------- what goes wrong


def refused(connection: Any, tmp_path: Path, sentence: str, error: Any = InputError) -> None:
    """The run is refused, and the ledger has all that it had."""
    book = LedgerFile.create(tmp_path / "t.ledger", 9.0, 1e-6)
    ibis = pytest.importorskip("ibis")
    with pytest.raises(error, match=sentence):
        Independent(epsilon=1.0).fit(
            ibis.duckdb.from_connection(connection).table("t"), ledger=book
        )
    assert book.left() == (9.0, 1e-6)


def test_what_cannot_be_discovered_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = {
        "SELECT [1] AS a, 1 AS b": "column 'a' is of type INTEGER\\[\\], which has no place in a "
        "table of values",
        "SELECT 1 AS id": "all of them look like identifiers",
    }
    for place, (query, sentence) in enumerate(cases.items()):
        connection = duckdb.connect()
        connection.execute(f"CREATE TABLE t AS {query}")
        (tmp_path / str(place)).mkdir()
        refused(connection, tmp_path / str(place), sentence)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "form",
    [
        *("2020-01-01T10:{:02}:00", "2020-01-01 10:{:02}"),
        *("{}e-3", ".{}", "+0.{}", "-{}.", "0.123456789012345678{}", "12345678901234{}"),
    ],
)
def test_any_number_of_plain_texts_is_read(
    form: str, written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written({"x": [form.format(i) for i in range(1, 10)] * 100})
    expected = fitted(Independent(epsilon=50.0), path)

    def learn(self: Any, keys: list[str]) -> None:
        assert not keys  # none is read one by one

    monkeypatch.setattr(encoding.CellCode, "learn", learn)
    assert fitted(Independent(epsilon=50.0), path, engine="duckdb") == expected


def test_too_many_rows_cost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_rows, "MAX_ROWS", 8)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT i AS a FROM range(9) r(i)")
    refused(connection, tmp_path, "has more than 8 rows, which are more than can be counted")


def test_rows_that_are_all_nobodys_are_released_as_from_memory(tmp_path: Path) -> None:
    """Whether any row is somebody's is private."""
    path = tmp_path / "t.parquet"
    duckdb.execute(
        "COPY (SELECT NULL::BIGINT AS who, i % 3 AS a, i % 2 = 0 AS b FROM range(50) r(i)) TO "
        f"'{path}'"
    )
    for method in (Independent, PrivBayes, Adaptive.fast):
        outcomes: list[Any] = []
        for name in ("duckdb", "memory"):
            try:
                outcomes.append(fitted(method(epsilon=1.0, person="who"), path, engine=name))
            except InputError as stop:  # where noise alone is found: an outcome as any other
                outcomes.append(str(stop))
        assert outcomes[0] == outcomes[1]


def test_a_type_without_a_place_is_no_matter_where_nothing_is_asked() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT [i] AS id, i AS n FROM range(100) r(i)")
    assert list(seen_by(DuckDBEngine("t", "T", connection=connection))) == ["n"]


def test_a_file_that_changes_in_between(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes((folder / "people.csv").read_bytes())
    rows = EngineColumns._rows

    def disturbed(self: EngineColumns, columns: Any) -> Any:
        found = rows(self, columns)
        with path.open("a") as file:
            file.write("\n")
        return found

    monkeypatch.setattr(EngineColumns, "_rows", disturbed)
    book = LedgerFile.create(tmp_path / "t.ledger", 9.0, 1e-6)
    with pytest.raises(EngineError, match="changed while it was being read"):
        Independent(epsilon=1.0).fit(path, engine="duckdb", ledger=book)
    assert book.left() == (9.0, 1e-6)


def test_rows_that_vanish_while_they_are_counted_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fewer rows with a person than were counted: what was left out would be less than none."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT i AS who, i % 3 AS x FROM range(100) r(i)")
    engine = DuckDBEngine("t", "T", connection=connection)
    found = EngineColumns(EngineTable(engine), "who", 1)
    monkeypatch.setattr(
        engine, "check_unchanged", lambda: connection.execute("DELETE FROM t WHERE who = 7")
    )
    with pytest.raises(EngineError, match="T changed while it was being read"):
        found.count({"x": Tally()})
    assert found.left_out is None


# --------------------------------------------------------------------------- on the command line


def test_a_schema_is_drafted_from_a_folder(folder: Path, tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 99.0, 1e-6, unit="person")
    ran = run(
        "schema",
        folder / "parts",
        "--epsilon",
        50,
        "--person",
        "id",
        "-o",
        tmp_path / "s.json",
        "--ledger",
        tmp_path / "t.ledger",
    )
    assert ran.status == 0, ran.err
    assert (
        "note (for you, not for release): rows left out: 750 so that nobody counts with more "
        "than 1 row" in ran.err
    )
    ward = Schema.load(tmp_path / "s.json")["ward"]
    assert isinstance(ward, Category)
    assert {"north", "south"} < set(ward.values)
    assert book.left() == (49.0, 9.99e-7)


def test_a_blank_one_is_the_same_as_from_memory(folder: Path) -> None:
    blanks = [
        run("schema", folder / "people.csv", "--blank", "--engine", name).out
        for name in ("memory", "duckdb")
    ]
    assert blanks[0] == blanks[1]
    assert '"kind": null' in blanks[0]


@pytest.mark.thorough
def test_synthesis_without_a_schema(folder: Path, tmp_path: Path) -> None:
    ran = run(
        "synthesize",
        folder / "people.parquet",
        "--engine",
        "duckdb",
        "--epsilon",
        9,
        "--method",
        "independent",
        "--rows",
        10,
        "-o",
        tmp_path / "out.csv",
    )
    assert ran.status == 0, ran.err
    assert "Taken as public: the names and the order of the columns." in ran.err
    assert read_table(tmp_path / "out.csv").names == read_table(folder / "people.csv").names


def test_a_refused_draft_costs_nothing(tmp_path: Path) -> None:
    duckdb.execute(f"COPY (SELECT [1] AS a, 1 AS b) TO '{tmp_path}/t.parquet'")
    book = LedgerFile.create(tmp_path / "t.ledger", 9.0, 1e-6)
    ran = run(
        "schema", tmp_path / "t.parquet", "--engine", "duckdb", "--ledger", tmp_path / "t.ledger"
    )
    assert ran.status == 2
    assert "column 'a' is of type INTEGER[], which has no place in a table of values" in ran.err
    assert book.left() == (9.0, 1e-6)
