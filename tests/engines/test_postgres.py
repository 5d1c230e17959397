"""PostgreSQL: the same codes and models as in memory, what a database can do wrong, and rows
written back.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from awkward import by_engine, every_case, expected
from column_counts import TYPED, rows, seen_by, seen_in_memory
from engine_people import SCHEMA, people, saved
from servers import Server
from spellings import ONE_EACH, OWNERS, WITH_ONE_MORE, WORDS, words_counted

from running import run
from understudy import Independent, InputError, LedgerFile, Model, PrivBayes, Schema, Table
from understudy.data.tables import write_plain_csv
from understudy.engines import EngineError
from understudy.engines.dialects import POSTGRES
from understudy.engines.postgres import PostgresEngine
from understudy.engines.urls import place_of
from understudy.privacy.mechanisms import SeededNoise
from understudy.release.targets import write_to
from understudy.synthesizers.mst import MST


@pytest.fixture
def patients(postgres: Server, tmp_path: Path) -> Iterator[Table]:
    """The people, in the table patients; the database is as it was afterwards."""
    table = people()
    with postgres.connect() as connection:
        fill(connection, "patients", table, tmp_path)
        yield table
        connection.execute("DROP TABLE patients")


def fill(connection: Any, name: str, table: Table, folder: Path) -> None:
    columns = ", ".join(
        f"{POSTGRES.quote_name(n)} {POSTGRES.types[c.kind]}" for n, c in table.columns.items()
    )
    connection.execute(f"CREATE TABLE {name} ({columns})")
    write_plain_csv(folder / "rows.csv", table)
    with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
        copy.write((folder / "rows.csv").read_bytes())


def tables(postgres: Server) -> set[str]:
    with postgres.connect() as connection:
        found = connection.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE '%understudy%'"
        ).fetchall()
    return {row[0] for row in found}


# --------------------------------------------------------------------------- codes and models


def test_every_awkward_cell_has_the_code_that_it_has_in_memory(postgres: Server) -> None:
    cases = every_case()
    columns = ", ".join(
        f"{POSTGRES.quote_name(case.name)} {POSTGRES.types[case.kind]}" for case in cases
    )
    rows = [(i, *row) for i, row in enumerate(zip(*(case.cells for case in cases), strict=True))]
    with postgres.connect() as connection:
        connection.execute(f"CREATE TABLE cells (place BIGINT, {columns})")
        with connection.cursor().copy("COPY cells FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        try:
            assert by_engine(engine_of(postgres, "cells"), cases) == expected(cases)
        finally:
            connection.execute("DROP TABLE cells")


def engine_of(postgres: Server, table: str) -> PostgresEngine:
    return PostgresEngine(place_of(postgres.url(table)).parameters(), table, "T")


def test_a_collation_does_not_join_texts(postgres: Server) -> None:
    """One row more changes one count by one, and nobody is taken for another."""
    with postgres.connect() as connection:
        connection.execute(
            "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic "
            "= false)"
        )
        try:
            connection.execute(
                "CREATE TABLE words (who TEXT COLLATE caseless, x VARCHAR COLLATE caseless)"
            )
            for row in zip(OWNERS, WORDS, strict=True):
                connection.execute("INSERT INTO words VALUES (%s, %s)", row)
            connection.execute("CREATE TABLE more (LIKE words)")
            connection.execute("INSERT INTO more VALUES (%s, %s)", WITH_ONE_MORE)  # it comes first
            connection.execute("INSERT INTO more TABLE words")
            before, after = (
                words_counted(engine_of(postgres, "words")),
                words_counted(engine_of(postgres, "more")),
            )
            assert words_counted(engine_of(postgres, "words"), "who") == ONE_EACH
        finally:
            connection.execute("DROP TABLE IF EXISTS words, more")
            connection.execute("DROP COLLATION caseless")
    assert before == {"male": 5, "f": 2}
    assert after == before | {"MALE": 1}


@pytest.mark.parametrize(
    "method", [PrivBayes(epsilon=1.0), PrivBayes(epsilon=1.0, encoding="gray"), MST(epsilon=2.0)]
)
def test_models_are_the_same_to_the_byte(
    method: Any, postgres: Server, patients: Table, tmp_path: Path
) -> None:
    assert saved(tmp_path, method, postgres.url("patients")) == saved(tmp_path, method, patients)
    assert tables(postgres) == set()


def test_columns_are_counted_as_in_memory(postgres: Server) -> None:
    columns = ", ".join(
        f"{POSTGRES.quote_name(name)} {POSTGRES.types[name.split()[-1]]}" for name in TYPED
    )
    with postgres.connect() as connection:
        connection.execute(f"CREATE TABLE typed ({columns})")
        with connection.cursor().copy("COPY typed FROM STDIN") as copy:
            for row in rows():
                copy.write_row(row)
        try:
            assert seen_by(engine_of(postgres, "typed")) == seen_in_memory()
        finally:
            connection.execute("DROP TABLE typed")


@pytest.mark.parametrize("person", [None, "id"])
def test_the_same_schema_is_discovered(
    person: str | None, postgres: Server, patients: Table
) -> None:
    # Enough that no column of 1,500 rows comes back empty; nobody has more than two rows.
    method = PrivBayes(epsilon=10.0, person=person, max_rows_per_person=2)
    here, there = (
        method.fit(table, noise=SeededNoise(7), notify=lambda _: None).to_dict()
        for table in (patients, postgres.url("patients"))
    )
    assert there == here
    assert tables(postgres) == set()


def test_a_schema_is_drafted_on_the_command_line(
    postgres: Server, patients: Table, tmp_path: Path
) -> None:
    ran = run("schema", postgres.url("patients"), "--epsilon", 50, "-o", tmp_path / "s.json")
    assert ran.status == 0, ran.err
    assert Schema.load(tmp_path / "s.json").names == patients.names


def test_an_ibis_table_is_counted_where_it_is(
    postgres: Server, patients: Table, tmp_path: Path
) -> None:
    ibis = pytest.importorskip("ibis")
    backend = ibis.postgres.connect(
        host="127.0.0.1", port=postgres.port, user="owner", database="postgres"
    )
    method = PrivBayes(epsilon=1.0)
    assert saved(tmp_path, method, backend.table("patients")) == saved(tmp_path, method, patients)


@pytest.mark.parametrize("kind", ["bigint", "numeric", "double precision", "text"])
def test_a_person_counts_with_so_many_rows(kind: str, postgres: Server, patients: Table) -> None:
    with postgres.connect() as connection:
        connection.execute(f"ALTER TABLE patients ALTER id TYPE {kind}")
    notes: list[str] = []
    model = PrivBayes(epsilon=1.0, person="id", max_rows_per_person=1).fit(
        postgres.url("patients"), SCHEMA, notify=notes.append
    )
    assert notes[0] == "rows left out: 750 so that nobody counts with more than 1 row"
    assert abs(model.rows - 750) < 400


@pytest.mark.parametrize("who", ["g / 2", "NULL::bigint"])
def test_persons_with_many_columns(who: str, postgres: Server) -> None:
    """More than a function has arguments; also where no row is anybody's."""
    columns = ", ".join(f"g % 3 AS c{i}" for i in range(120))
    counts = {f"c{i}": {"kind": "integer", "min": 0, "max": 2} for i in range(120)}
    schema = {"attributes": {"who": {"kind": "identifier"}, **counts}}
    with postgres.connect() as connection:
        connection.execute(
            f"CREATE TABLE wide AS SELECT {who} AS who, {columns} FROM generate_series(0, 9) g"
        )
        notes: list[str] = []
        try:
            method = Independent(epsilon=9.0, person="who")
            method.fit(postgres.url("wide"), Schema.from_dict(schema), notify=notes.append)
        finally:
            connection.execute("DROP TABLE wide")
    reason = "5 so that nobody counts" if who == "g / 2" else "10 because who does not tell"
    assert notes[0].startswith(f"rows left out: {reason}")


# --------------------------------------------------------------------------- what goes wrong


def test_a_password_in_a_url_is_refused_and_not_repeated(postgres: Server) -> None:
    url = f"postgresql://owner:hush@127.0.0.1:{postgres.port}/postgres?table=patients"
    for place in (url, postgres.url("patients&password=hush")):
        with pytest.raises(InputError, match="A password does not belong into a URL") as refused:
            PrivBayes(epsilon=1.0).fit(place, SCHEMA)
        assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("postgresql://owner@127.0.0.1:{port}/postgres", "does not say which table"),
        (
            "postgresql://owner@127.0.0.1:{port}/postgres?table=nobody",
            "there is no table 'nobody' there",
        ),
        ("postgresql://owner@127.0.0.1:{port}/elsewhere?table=x", "cannot be reached: .*elsewhere"),
        ("postgresql://owner@127.0.0.1:1/postgres?table=x", "cannot be reached"),
    ],
)
def test_a_place_that_is_not_there(url: str, sentence: str, postgres: Server) -> None:
    with pytest.raises((InputError, EngineError), match=sentence):
        PrivBayes(epsilon=1.0).fit(url.format(port=postgres.port), SCHEMA)


@pytest.mark.parametrize("right", ["SELECT", "TEMPORARY"])
def test_a_user_without_rights(right: str, postgres: Server, patients: Table) -> None:
    with postgres.connect() as connection:
        connection.execute("CREATE ROLE guest LOGIN")
        if right == "TEMPORARY":
            connection.execute("GRANT SELECT ON patients TO guest")
            connection.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
        try:
            with pytest.raises(EngineError, match=f"permission denied .*{right}"):
                PrivBayes(epsilon=1.0).fit(postgres.url("patients", "guest"), SCHEMA)
        finally:
            connection.execute("GRANT TEMPORARY ON DATABASE postgres TO PUBLIC")
            connection.execute("REVOKE ALL ON patients FROM guest")
            connection.execute("DROP ROLE guest")


def test_a_type_that_the_schema_does_not_expect(postgres: Server, patients: Table) -> None:
    with postgres.connect() as connection:
        connection.execute("ALTER TABLE patients ALTER age TYPE bigint[] USING ARRAY[age]")
    with pytest.raises(InputError, match=r"column 'age' is of type bigint\[\]"):
        PrivBayes(epsilon=1.0).fit(postgres.url("patients"), SCHEMA)
    with postgres.connect() as connection:
        connection.execute("ALTER TABLE patients ALTER age TYPE boolean USING true")
    told: list[str] = []
    PrivBayes(epsilon=1.0).fit(postgres.url("patients"), SCHEMA, notify=told.append)
    assert any("they cannot be read as integer" in sentence for sentence in told)


def test_the_database_goes_away_in_the_middle(
    postgres: Server, patients: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked stands in the ledger, the question that was not answered too."""
    asked: list[str] = []
    numbers = PostgresEngine.numbers

    def broken(self: PostgresEngine, query: str, **how: Any) -> Any:
        asked.append(query)
        # The table has its fingerprint, the coded copy is there and was looked at: this is the
        # first question of the curator.
        if len(asked) == 5:
            with postgres.connect() as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(%s)", [self._connection.info.backend_pid]
                )
        return numbers(self, query, **how)

    monkeypatch.setattr(PostgresEngine, "numbers", broken)
    book = LedgerFile.create(tmp_path / "ledger.json", 10.0)
    with pytest.raises(EngineError, match="the database is gone"):
        PrivBayes(epsilon=1.0, refinement=0).fit(
            postgres.url("patients"), SCHEMA, ledger=book, notify=lambda _: None
        )
    assert len(asked) == 5
    (release,) = book.read()["releases"]
    assert release["state"] == "settled"
    rows, choice = [entry["question"] for entry in release["entries"]]
    assert rows == "table of (rows)"
    assert choice.startswith("choice among")
    assert book.left()[0] == 9
    assert tables(postgres) == set()


def test_rows_that_change_meanwhile_do_not_show(
    postgres: Server, patients: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All queries see the table as it was when the first of them began."""
    keep = PostgresEngine.keep

    def disturbed(self: PostgresEngine, name: str, query: str) -> None:
        with postgres.connect() as connection:
            connection.execute("DELETE FROM patients")
        keep(self, name, query)

    monkeypatch.setattr(PostgresEngine, "keep", disturbed)
    method = PrivBayes(epsilon=1.0)
    assert saved(tmp_path, method, postgres.url("patients")) == saved(tmp_path, method, patients)


# --------------------------------------------------------------------------- rows written back


def test_rows_are_written_to_a_new_table(postgres: Server, patients: Table) -> None:
    model = PrivBayes(epsilon=1.0).fit(patients, SCHEMA, notify=lambda _: None)
    with postgres.connect() as connection:
        try:
            assert write_to(model, postgres.url("synthetic"), 500, seed=1) == 500
            found = connection.execute(
                "SELECT id, age, height, smoker, ward, born FROM synthetic ORDER BY id"
            ).fetchall()
            drawn = model.sample(500, seed=1).columns
            assert [row[1] for row in found] == drawn["age"].values.tolist()
            assert [row[2] is None for row in found] == (drawn["height"].missing > 0).tolist()
            with pytest.raises(InputError, match=r"There is a table synthetic at .* already"):
                write_to(model, postgres.url("synthetic"), 500, seed=1)
        finally:
            connection.execute("DROP TABLE IF EXISTS synthetic")


def test_on_the_command_line(postgres: Server, patients: Table, tmp_path: Path) -> None:
    SCHEMA.save(tmp_path / "schema.json")
    url = postgres.url("patients")
    with postgres.connect() as connection:
        try:
            ran = run(
                "synthesize",
                url,
                "--schema",
                tmp_path / "schema.json",
                "--to",
                postgres.url("synthetic"),
                "--method",
                "privbayes",
                "--explain",
                "--model",
                tmp_path / "model.json",
            )
            assert ran.status == 0, ran.err
            assert "1,500 rows coded inside PostgreSQL" in ran.err
            rows = connection.execute("SELECT count(*) FROM synthetic").fetchone()[0]
        finally:
            connection.execute("DROP TABLE IF EXISTS synthetic")
    assert rows == Model.load(tmp_path / "model.json").rows
    assert run("synthesize", url, "--discovery", 2).err == (
        "understudy: discovery must be a share between 0 and 1, not 2.0.\n"
    )
