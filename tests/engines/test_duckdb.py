"""DuckDB: the same codes as in memory, the same models, files of all shapes, and nothing left
behind.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from awkward import (
    ATTRIBUTES,
    CELLS,
    Case,
    by_engine,
    every_case,
    expected,
)
from engine_people import SCHEMA, people, saved
from hypothesis import given
from hypothesis import strategies as st
from spellings import ONE_EACH, OWNERS, WITH_ONE_MORE, WORDS, words_counted

from examples import attribute, schema_of
from running import COMMAND, run
from understudy import (
    MST,
    Adaptive,
    Independent,
    InputError,
    LedgerFile,
    Marginals,
    PerturbedHistogram,
    PrivBayes,
    Random,
    Schema,
    SmoothedHistogram,
    read_table,
)
from understudy.data.encoding import encode
from understudy.data.formats import CANDIDATES, Format
from understudy.data.schema import Quantity
from understudy.engines import EngineError, encoding, sources
from understudy.engines.dialects import DUCKDB
from understudy.engines.duckdb import DuckDBEngine
from understudy.engines.folders import PREFIX
from understudy.engines.rows import EngineTable
from understudy.engines.sources import open_rows
from understudy.privacy.mechanisms import SeededNoise

# --------------------------------------------------------------------------- codes


def engine_of(cases: Sequence[Case]) -> DuckDBEngine:
    connection = duckdb.connect()
    columns = ", ".join(
        f"{DUCKDB.quote_name(case.name)} {DUCKDB.types[case.kind]}" for case in cases
    )
    connection.execute(f"CREATE TABLE cells (place BIGINT, {columns})")
    rows = [(i, *row) for i, row in enumerate(zip(*(case.cells for case in cases), strict=True))]
    marks = ", ".join("?" * (len(cases) + 1))
    connection.executemany(f"INSERT INTO cells VALUES ({marks})", rows)
    return DuckDBEngine("cells", "T", connection=connection)


def test_every_awkward_cell_has_the_code_that_it_has_in_memory() -> None:
    cases = every_case()
    assert by_engine(engine_of(cases), cases) == expected(cases)


@pytest.mark.thorough
def test_so_has_one_where_there_are_many_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_MANY_BINS", 0)
    monkeypatch.setattr(encoding, "_COUNTED_BINS", 2)
    cases = [case for case in every_case() if isinstance(case.attribute, Quantity)]
    assert by_engine(engine_of(cases), cases) == expected(cases)


def moments() -> Any:
    return st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(9999, 12, 31))


def words_of(way: Format) -> Any:
    """Words written in a way that is on the public list."""
    numbers = {
        "integer": st.integers(-(10**7), 10**7),
        "real": st.floats(-1e7, 1e7),
        "date": st.integers(-10_000, 30_000),
        "time": st.integers(0, 86_399),
        "datetime": st.integers(-(10**9), 2 * 10**9),
    }
    return numbers[way.kind].map(lambda number: way.write([number])[0])


GENERATED = {
    "text": st.text()
    | st.integers().map(str)
    | st.floats().map(repr)
    | moments().map(str)
    | st.dates().map(str)
    | st.sampled_from(CANDIDATES).flatmap(words_of),
    "real": st.floats(),
    "integer": st.integers(-(2**63), 2**63 - 1),
    "boolean": st.booleans(),
    "date": st.dates(dt.date(1000, 1, 1)),
    "datetime": moments(),
}


@given(st.data())
def test_any_cell_has_the_code_that_it_has_in_memory(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(ATTRIBUTES)))
    kind = data.draw(st.sampled_from(sorted(CELLS)))
    cell = st.none() | st.sampled_from(CELLS[kind]) | GENERATED[kind]
    if kind == "text":
        cell = cell.filter(lambda text: text is None or "\x00" not in text)
    cells = data.draw(st.lists(cell, max_size=8))
    cases = [Case("x", ATTRIBUTES[name], kind, [*cells, None])]
    assert by_engine(engine_of(cases), cases) == expected(cases)


def test_large_integers_are_told_apart_as_in_memory() -> None:
    """Beyond 2^53, where several of them are the same real."""
    near = [
        2**53 - 1,
        2**53,
        2**53 + 1,
        2**53 + 2,
        2**53 + 3,
        2**53 + 4,
        2**62,
        2**62 + 1,
        -(2**53) - 1,
        -99,
    ]
    values: list[list[Any]] = [
        [str(2**53), str(2**53 + 1), "x"],
        [str(2**62 + 1), "x"],
        ["x", str(-(2**53) - 1)],
        [1, 2],
    ]
    attributes = [
        attribute(kind="categorical", values=found, missing=missing)
        for found in values
        for missing in (False, "-99", str(2**53 + 3))
    ]
    cases = [
        Case(str(i), replace(named, name=str(i)), "integer", near)
        for i, named in enumerate(attributes)
    ]
    assert by_engine(engine_of(cases), cases) == expected(cases)


@pytest.mark.parametrize("year", [1599, 1969, 2300])
def test_a_microsecond_before_the_next_year_is_in_this_one(year: int, tmp_path: Path) -> None:
    """A double does not tell it from the next year; neither memory nor the engine goes
    through one.
    """
    path = tmp_path / "t.parquet"
    duckdb.execute(f"COPY (SELECT TIMESTAMP '{year}-12-31 23:59:59.999999' AS t) TO '{path}'")
    midnight = (dt.date(year + 1, 1, 1) - dt.date(1970, 1, 1)).days * 86400
    schema = Schema((Quantity("t", "datetime", None, (midnight - 9, midnight, midnight + 9)),))
    assert read_table(path).columns["t"].values.tolist() == [midnight - 1]
    assert encode(read_table(path), schema).codes["t"].tolist() == [0]
    with open_rows(path, "duckdb") as (table, _):
        assert isinstance(table, EngineTable)
        assert table.encode(schema).group([("t",)])[0].codes["t"].tolist() == [0]


# --------------------------------------------------------------------------- collations


@pytest.mark.parametrize("listed", [0, 64])
@pytest.mark.parametrize(
    ("default", "column"),
    [
        ("", "VARCHAR COLLATE NOCASE"),
        ("", "VARCHAR COLLATE NOACCENT.NOCASE"),
        ("NOCASE", "VARCHAR"),
    ],
)
def test_a_collation_does_not_join_texts(
    default: str, column: str, listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row more changes one count by one, and nobody is taken for another."""
    monkeypatch.setattr(encoding, "LISTED_KEYS", listed)
    connection = duckdb.connect()
    connection.execute(f"SET default_collation = '{default}'")
    connection.execute(f"CREATE TABLE t (who {column}, x {column})")
    connection.executemany("INSERT INTO t VALUES (?, ?)", list(zip(OWNERS, WORDS, strict=True)))
    before = words_counted(DuckDBEngine("t", "T", connection=connection))
    assert words_counted(DuckDBEngine("t", "T", connection=connection), "who") == ONE_EACH
    connection.execute("CREATE TABLE s AS FROM t WHERE false")
    connection.execute("INSERT INTO s VALUES (?, ?)", WITH_ONE_MORE)  # it comes first
    connection.execute("INSERT INTO s FROM t")
    after = words_counted(DuckDBEngine("s", "T", connection=connection))
    assert before == {"male": 5, "f": 2}
    assert after == before | {"MALE": 1}


# --------------------------------------------------------------------------- models

METHODS = [
    PrivBayes(epsilon=1.0),
    PrivBayes(epsilon=1.0, encoding="binary"),
    PrivBayes(epsilon=1.0, encoding="gray", neighbours="replace"),
    PrivBayes.paper(epsilon=1.0),
    PrivBayes(epsilon=1.0, degree=2),
    Adaptive(epsilon=1.0, delta=1e-6),
    Adaptive(epsilon=1.0, delta=1e-6, target="smoker"),
    MST(epsilon=1.0),
    Independent(epsilon=1.0),
    Marginals(epsilon=1.0, marginals=[["age", "ward"], ["smoker", "grade", "height"]]),
    Random(epsilon=1.0, neighbours="replace"),
    PerturbedHistogram(epsilon=1.0),
    SmoothedHistogram(epsilon=1.0),
    SmoothedHistogram(epsilon=1.0, draws=50),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The people in a Parquet file, in a CSV file, and in two files of a folder."""
    home = tmp_path_factory.mktemp("people")
    people().write(home / "people.parquet")
    people().write(home / "people.csv")
    people().write(home / "people.csv.gz")
    (home / "parts").mkdir()
    for part, test in (("a [1]", "id < 300"), ("b", "id >= 300")):
        duckdb.execute(
            f"COPY (FROM '{home}/people.parquet' WHERE {test}) TO '{home}/parts/{part}.parquet' "
            "(FORMAT parquet)"
        )
    return home


@pytest.mark.parametrize(
    "method", METHODS, ids=lambda method: f"{method.name} {getattr(method, 'encoding', '')}"
)
def test_models_are_the_same_to_the_byte(method: Any, folder: Path, tmp_path: Path) -> None:
    path = str(folder / "people.parquet")
    assert saved(tmp_path, method, path, engine="duckdb") == saved(tmp_path, method, path)


@pytest.mark.thorough
@pytest.mark.parametrize("most", [1, 50, 400])
def test_models_are_the_same_however_little_is_fetched_at_once(
    most: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With room for few groups the rows are grouped many times, by several sets of columns in a
    query.
    """
    monkeypatch.setattr(DuckDBEngine, "most_groups", most)
    path, said = str(folder / "people.parquet"), []
    method = PrivBayes(epsilon=1.0)
    assert saved(tmp_path, method, path, engine="duckdb", explain=said.append) == saved(
        tmp_path, method, path
    )
    assert len(said) > 2
    assert any(";" in sentence for sentence in said), "no query has several groupings"


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "parts", "parts/*.parquet"])
def test_files_of_all_shapes(name: str, folder: Path, tmp_path: Path) -> None:
    method = PrivBayes(epsilon=1.0)
    there = saved(tmp_path, method, str(folder / name), engine="duckdb")
    assert there == saved(tmp_path, method, folder / "people.parquet")


@pytest.mark.thorough
def test_a_file_larger_than_memory_is_left_to_duckdb(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, said = PrivBayes(epsilon=1.0), []
    for name in ("people.csv", "people.parquet"):
        path = folder / name
        small = saved(tmp_path, method, path, explain=said.append)
        assert said == []
        monkeypatch.setattr(sources, "free_memory", lambda: 100_000)
        assert saved(tmp_path, method, path, explain=said.append) == small
        assert said.pop(0).startswith("1,500 rows coded inside DuckDB")
        said.clear()
        monkeypatch.undo()


@pytest.mark.thorough
def test_a_lazy_frame_and_an_ibis_table(folder: Path, tmp_path: Path) -> None:
    polars, ibis = pytest.importorskip("polars"), pytest.importorskip("ibis")
    method = PrivBayes(epsilon=1.0)
    expected = saved(tmp_path, method, folder / "people.parquet")
    lazy = saved(tmp_path, method, polars.scan_parquet(folder / "people.parquet"))
    assert lazy.replace(b', "the library of the data frame"', b"") == expected != lazy
    backend = ibis.duckdb.connect()
    table = backend.read_parquet(folder / "people.parquet", table_name="coded").mutate(
        age=ibis._.age + 0
    )
    assert saved(tmp_path, method, table) == expected
    assert backend.con.execute("SELECT count(*) FROM duckdb_tables()").fetchone() == (0,)


def in_sqlite(people: Path, path: Path) -> Any:
    """The people in a database of SQLite."""
    ibis = pytest.importorskip("ibis")
    types = {row[0]: row[1] for row in duckdb.execute(f"DESCRIBE FROM '{people}'").fetchall()}
    written = ", ".join(
        f"CAST({n} AS VARCHAR)" if t in ("DATE", "TIMESTAMP") else n for n, t in types.items()
    )
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(f"CREATE TABLE people ({', '.join(f'{n} {t}' for n, t in types.items())})")
        rows = duckdb.execute(f"SELECT {written} FROM '{people}'").fetchall()
        database.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(types))})", rows)
        database.commit()
    return ibis.sqlite.connect(path)


def in_polars(people: Path, path: Path) -> Any:
    ibis, polars = pytest.importorskip("ibis"), pytest.importorskip("polars")
    return ibis.polars.connect({"people": polars.scan_parquet(people)})


@pytest.mark.thorough
@pytest.mark.parametrize("connect", [in_sqlite, in_polars])
def test_an_ibis_table_of_another_backend_is_copied_a_part_at_a_time(
    connect: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = connect(folder / "people.parquet", tmp_path / "people.db")
    table, told = backend.table("people"), []
    table = table.filter(table.age >= 0)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    model = PrivBayes(epsilon=1.0).fit(table, SCHEMA, noise=SeededNoise(7), notify=told.append)
    expected = PrivBayes(epsilon=1.0).fit(
        people(), SCHEMA, noise=SeededNoise(7), notify=lambda _: None
    )
    assert model.to_dict() == expected.to_dict()
    assert told[0] == (
        "The rows of the ibis table are copied into a private folder of this machine and removed "
        "at the end: "
        f"{backend.name} cannot count them where they are."
    )
    assert list(scratch.iterdir()) == []


def test_rows_of_another_backend_that_cannot_be_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ibis = pytest.importorskip("ibis")
    backend = ibis.sqlite.connect()
    backend.raw_sql("CREATE TABLE t (a INTEGER)")
    table = backend.table("t")
    backend.raw_sql("DROP TABLE t")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(
        EngineError, match="The ibis table could not be copied from sqlite: no such table"
    ):
        PrivBayes(epsilon=1.0).fit(table, SCHEMA, notify=lambda _: None)
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------- persons


def test_a_person_counts_with_so_many_rows_of_their_own(tmp_path: Path) -> None:
    """Whoever has more rows has some of them left out; nobody else's rows matter."""
    owners = [*["a"] * 5, *["b"] * 2, "c", *[""] * 3, " NA ", "\u00a0?"]
    connection = duckdb.connect()
    connection.execute("CREATE TABLE visits (who VARCHAR, place BIGINT)")
    connection.executemany(
        "INSERT INTO visits VALUES (?, ?)", [(who or None, i) for i, who in enumerate(owners)]
    )
    place = {"kind": "integer", "min": 0, "max": len(owners) - 1, "bins": len(owners)}
    schema = schema_of(who={"kind": "identifier"}, place=place)
    seen: set[tuple[int, ...]] = set()
    for _ in range(30):
        engine = DuckDBEngine("visits", "T", connection=connection)
        coded = EngineTable(engine).encode(schema, "who", 2)
        (kept,) = coded.group([("place",)])
        engine.close()
        rows = sorted(kept.codes["place"].tolist())
        assert rows[2:] == [5, 6, 7]
        seen.add(tuple(rows[:2]))
        assert str(coded.left_out) == (
            "rows left out: 3 so that nobody counts with more than 2 rows and 5 because who does "
            "not tell there whose "
            "they are"
        )
    assert len(seen) > 4
    assert {row for pair in seen for row in pair} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ("kind", "owners", "left_out"),
    [
        ("DOUBLE", ["1", "1", "2", "2.5", "2.5", "NaN", "-Infinity", None], (2, 2)),
        # As reals, the first two would be one.
        ("DECIMAL(38, 0)", ["90071992547409921", "90071992547409920", "7", "7", None], (1, 1)),
    ],
)
def test_numbers_with_a_fraction_tell_persons_apart_by_their_value(
    kind: str, owners: list[str | None], left_out: tuple[int, int]
) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE visits (who {kind}, b BOOLEAN)")
    connection.executemany("INSERT INTO visits VALUES (?, true)", [[who] for who in owners])
    engine = DuckDBEngine("visits", "T", connection=connection)
    table = EngineTable(engine)
    table.check_person("who")
    schema = schema_of(who={"kind": "identifier"}, b={"kind": "boolean"})
    coded = table.encode(schema, "who", 1)
    engine.close()
    assert coded.left_out is not None
    assert (coded.left_out.beyond, coded.left_out.nobodys) == left_out


def test_each_row_of_a_person_has_the_same_chance() -> None:
    """Also where some of them are equal: of a, a, a and b, b is kept a quarter of the time."""
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE visits AS SELECT i // 4 AS who, i % 4 = 0 AS b FROM range(4000) r(i)"
    )
    engine = DuckDBEngine("visits", "T", connection=connection)
    coded = EngineTable(engine).encode(
        schema_of(who={"kind": "identifier"}, b={"kind": "boolean"}), "who", 1
    )
    (kept,) = coded.group([("b",)])
    engine.close()
    counts = dict(zip(kept.codes["b"].tolist(), kept.weights.tolist(), strict=True))
    assert counts[0] + counts[1] == 1000
    assert abs(counts[1] - 250) < 5 * 14  # five standard deviations


# --------------------------------------------------------------------------- what goes wrong


def test_with_another_schema(folder: Path) -> None:
    path = folder / "people.parquet"
    with pytest.raises(InputError, match="has no column 'z', which the schema describes"):
        PrivBayes(epsilon=1.0).fit(path, schema_of(z={"kind": "boolean"}), engine="duckdb")
    with pytest.raises(InputError, match="has a column 'id' that the schema does not describe"):
        PrivBayes(epsilon=1.0).fit(path, schema_of(age={"kind": "boolean"}), engine="duckdb")


@pytest.mark.parametrize(
    ("name", "engine", "sentence"),
    [
        ("nothing*.csv", "duckdb", "There is no table at"),
        ("parts", "memory", "the engine memory reads one"),
        ("people.parquet", "cloud", "There is no engine 'cloud'"),
        ("nothing.csv", None, "There is no table at"),
    ],
)
def test_files_that_are_not_there(
    name: str, engine: str | None, sentence: str, folder: Path
) -> None:
    with pytest.raises(InputError, match=sentence):
        PrivBayes(epsilon=1.0).fit(str(folder / name), SCHEMA, engine=engine)


def test_a_damaged_file(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n1,2,3\n")
    (tmp_path / "x.parquet").write_bytes(b"not one")
    schema = schema_of(
        a={"kind": "integer", "min": 0, "max": 9}, b={"kind": "integer", "min": 0, "max": 9}
    )
    with pytest.raises(InputError, match=r"The table .*x\.csv, line 3, has 3 values"):
        PrivBayes(epsilon=1.0).fit(tmp_path / "x.csv", schema, engine="duckdb")
    with pytest.raises(EngineError, match=r"The table .*x\.parquet could not be"):
        PrivBayes(epsilon=1.0).fit(tmp_path / "x.parquet", schema, engine="duckdb")


def test_a_table_without_rows_gives_the_same_model_as_in_memory(tmp_path: Path) -> None:
    """A refusal would tell that nobody is in it."""
    (tmp_path / "x.csv").write_text("a,b\n")
    schema = schema_of(a={"kind": "boolean"}, b={"kind": "integer", "min": 0, "max": 99})
    told: list[str] = []
    inside, memory = (
        Independent(epsilon=1.0).fit(
            tmp_path / "x.csv", schema, engine=engine, noise=SeededNoise(1), notify=told.append
        )
        for engine in ("duckdb", None)
    )
    assert inside == memory
    assert any("There are no rows" in note for note in told)


def test_a_file_that_changes_while_it_is_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "people.parquet"
    path.write_bytes((folder / "people.parquet").read_bytes())
    keep = DuckDBEngine.keep

    def disturbed(self: DuckDBEngine, name: str, query: str) -> None:
        keep(self, name, query)
        os.utime(path, ns=(1, 1))

    monkeypatch.setattr(DuckDBEngine, "keep", disturbed)
    book = LedgerFile.create(tmp_path / "ledger.json", 1.0)
    with pytest.raises(EngineError, match="changed while it was being read"):
        PrivBayes(epsilon=1.0).fit(path, SCHEMA, engine="duckdb", ledger=book)
    assert book.left() == (1.0, 0.0)


def test_rows_that_change_under_a_view_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever holds the connection could meddle with the copy; a grouping that does not add up is
    refused.
    """
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT i % 3 AS a FROM range(1000) r(i)")
    engine = DuckDBEngine("t", "T", connection=connection)
    coded = EngineTable(engine).encode(schema_of(a={"kind": "categorical", "values": [0, 1, 2]}))
    engine._connection.execute(f"UPDATE {coded._make_name('grouped')} SET w = w + 1")
    with pytest.raises(EngineError, match="T changed while it was being read"):
        coded.group([("a",)])
    engine.close()


def test_the_disk_is_full(folder: Path, tmp_path: Path) -> None:
    """No file may grow beyond some bytes, as on a full disk; one sentence, and nothing is left
    behind.
    """
    SCHEMA.save(tmp_path / "schema.json")
    (tmp_path / "scratch").mkdir()

    def cramped() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    command = [
        COMMAND,
        "synthesize",
        folder / "people.parquet",
        "--engine",
        "duckdb",
        "--schema",
        tmp_path / "schema.json",
        "-o",
        tmp_path / "out.csv",
    ]
    # Nor may it keep bytecode, which would be cut short and break whoever comes next.
    environment = os.environ | {"TMPDIR": str(tmp_path / "scratch"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, preexec_fn=cramped, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("understudy: The table ")
    assert done.stderr.count("\n") == 1
    assert list((tmp_path / "scratch").glob("understudy-coded-*")) == []
    assert not (tmp_path / "out.csv").exists()


def test_what_a_killed_run_left_behind_is_removed_by_the_next(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a run goes on does not show from the number of its process, which another may have by
    now.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = (
        "import sys; from understudy.engines.folders import PrivateFolder; f = PrivateFolder(); "
        "(f.path / 'coded.duckdb').write_text('private'); print(f.path, flush=True); "
        "sys.stdin.read()"
    )
    runs = []
    for _ in range(2):
        runs.append(
            subprocess.Popen(
                [sys.executable, "-c", script],
                env=os.environ | {"TMPDIR": str(tmp_path)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    killed, alive = (Path(run.stdout.readline().strip()) for run in runs if run.stdout)
    try:
        runs[0].kill()
        runs[0].wait()
        killed.rename(
            killed.with_name(f"{PREFIX}{os.getpid()}-x")
        )  # as if it had been this very process
        alive = alive.rename(alive.with_name(f"{PREFIX}{runs[0].pid}-y"))  # in a container, say
        (tmp_path / f"{PREFIX}half-removed").mkdir()
        Independent(epsilon=1.0).fit(
            folder / "people.parquet", SCHEMA, engine="duckdb", notify=lambda _: None
        )
        assert list(tmp_path.iterdir()) == [alive]
        assert (alive / "coded.duckdb").read_text() == "private"
    finally:
        for run in runs:
            run.kill()
            run.communicate()


def test_on_the_command_line(folder: Path, tmp_path: Path) -> None:
    SCHEMA.save(tmp_path / "schema.json")
    ran = run(
        "synthesize",
        folder / "parts",
        "--schema",
        tmp_path / "schema.json",
        "--explain",
        "-o",
        tmp_path / "out.csv",
        "--method",
        "independent",
    )
    assert ran.status == 0, ran.err
    assert "note (for you, not for release): 1,500 rows coded inside DuckDB" in ran.err
    assert (tmp_path / "out.csv").exists()
    refused = run(
        "synthesize",
        folder / "parts",
        "-o",
        tmp_path / "out.csv",
        "--to",
        "postgresql://h/d?table=x",
    )
    assert refused.err == "understudy: The rows go to one place: give -o or --to, not both.\n"
