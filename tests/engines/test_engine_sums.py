"""Sums inside engines: the same whole numbers as in memory, row for row."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from awkward import CELLS, Case, by_engine, expected
from grids import (
    QUESTIONS,
    SCHEMA,
    TYPES,
    every_grid_case,
    grids,
    lists_of,
    rows_to_sum,
    summations,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from servers import Server
from test_duckdb import GENERATED
from test_duckdb import engine_of as duckdb_of
from test_postgres import engine_of as postgres_of

from understudy import InputError, Ledger, Schema, open_curator
from understudy.counting.sums import MemorySummer
from understudy.data.encoding import encode
from understudy.data.frames import as_table
from understudy.data.marginals import marginal
from understudy.engines.dialects import POSTGRES, SPARK
from understudy.engines.duckdb import DuckDBEngine
from understudy.engines.rows import EngineTable
from understudy.engines.spark import SparkEngine
from understudy.engines.sums import EngineSummer
from understudy.privacy.budget import Budget
from understudy.privacy.domain import Domain
from understudy.privacy.features import Number
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.sums import Sum

ROWS = 400


class NoNoise(SeededNoise):
    """What would be summed, without noise: it protects nobody."""

    def laplace(self, counts: Any, scale: float) -> Any:
        return counts


# --------------------------------------------------------------------------- numbers on a grid


def test_every_awkward_cell_has_the_steps_that_it_has_in_memory() -> None:
    cases = every_grid_case()
    assert by_engine(duckdb_of(cases), cases)[0] == expected(cases)[0]


@settings(max_examples=30)
@given(st.data())
def test_any_cell_has_the_steps_that_it_has_in_memory(data: st.DataObject) -> None:
    grid = data.draw(st.sampled_from(list(grids().values())))
    kind = data.draw(st.sampled_from(sorted(CELLS)))
    cell = st.none() | st.sampled_from(CELLS[kind]) | GENERATED[kind]
    if kind == "text":
        cell = cell.filter(lambda text: text is None or "\x00" not in text)
    cells = data.draw(st.lists(cell, max_size=8))
    cases = [Case(grid.name, grid, kind, [*cells, None])]
    assert by_engine(duckdb_of(cases), cases)[0] == expected(cases)[0]


# --------------------------------------------------------------------------- sums


def in_memory(rows: list[tuple[Any, ...]]) -> MemorySummer:
    frame = pd.DataFrame(rows, columns=list(TYPES))
    frame["whole"] = frame["whole"].astype("Int64")
    frame["yes"] = frame["yes"].astype("boolean")
    coded = encode(as_table(frame)[0], SCHEMA)
    return MemorySummer(coded.schema, coded.codes, coded.table)


def in_duckdb(rows: list[tuple[Any, ...]]) -> EngineSummer:
    connection = duckdb.connect()
    connection.execute(
        f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name, kind in TYPES.items())})"
    )
    marks = ", ".join("?" * len(TYPES))
    connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
    engine = DuckDBEngine("t", "T", connection=connection)
    return EngineSummer(EngineTable(engine), SCHEMA, None, 1, len(rows))


@pytest.mark.parametrize("seed", range(2))
def test_duckdb_has_the_sums_that_memory_has(seed: int) -> None:
    rows = rows_to_sum(ROWS, seed)
    memory, engine = in_memory(rows), in_duckdb(rows)
    for name, summation in summations().items():
        assert lists_of(engine.sum(summation)) == lists_of(memory.sum(summation)), name


def test_sums_are_whole_numbers_where_floating_point_would_not_do() -> None:
    rows = rows_to_sum(ROWS, 5)
    memory, engine = in_memory(rows), in_duckdb(rows)
    engine._rows = 1 << 31  # as if there might be as many
    for name, summation in summations().items():
        assert lists_of(engine.sum(summation)) == lists_of(memory.sum(summation)), name


def test_a_second_question_about_the_same_cells_is_answered_from_a_copy() -> None:
    rows = rows_to_sum(ROWS, 6)
    memory, engine = in_memory(rows), in_duckdb(rows)
    summation = summations()["ball"]
    expected_sums = lists_of(memory.sum(summation))
    copies = []
    for _ in range(3):
        assert lists_of(engine.sum(summation)) == expected_sums
        copies.append(engine._copy)
    assert copies[0] == ""
    assert copies[1] == copies[2] != ""
    engine.sum(summations()["levels"])
    left = engine._table.engine.texts("SELECT name FROM (SHOW ALL TABLES)")  # type: ignore[attr-defined]
    assert [row[0] for batch in left for row in batch] == ["t"]


def test_more_centres_than_a_query_holds_are_refused() -> None:
    rows = rows_to_sum(3, 0)
    engine = in_duckdb(rows)
    summation = summations()["centres of groups"]
    with pytest.raises(InputError, match="centres"):
        engine.check(replace(summation, centres=((0, 0),) * 3_000))


def test_postgres_has_the_sums_that_memory_has(postgres: Server) -> None:
    rows = rows_to_sum(ROWS, 11)
    columns = ", ".join(f"{POSTGRES.quote_name(name)} {kind}" for name, kind in TYPES.items())
    with postgres.connect() as connection:
        connection.execute(f"CREATE TABLE sums ({columns})")
        try:
            with connection.cursor().copy("COPY sums FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            table = EngineTable(postgres_of(postgres, "sums"))
            engine = EngineSummer(table, SCHEMA, None, 1, ROWS)
            memory = in_memory(rows)
            for name, summation in summations().items():
                assert lists_of(engine.sum(summation)) == lists_of(memory.sum(summation)), name
            table.engine.close()
        finally:
            connection.execute("DROP TABLE sums")


def test_postgres_has_the_steps_that_memory_has(postgres: Server) -> None:
    cases = every_grid_case()
    columns = ", ".join(
        f"{POSTGRES.quote_name(case.name)} {POSTGRES.types[case.kind]}" for case in cases
    )
    rows = [(i, *row) for i, row in enumerate(zip(*(case.cells for case in cases), strict=True))]
    with postgres.connect() as connection:
        connection.execute(f"CREATE TABLE grid_cells (place BIGINT, {columns})")
        try:
            with connection.cursor().copy("COPY grid_cells FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            found = by_engine(postgres_of(postgres, "grid_cells"), cases)[0]
            assert found == expected(cases)[0]
        finally:
            connection.execute("DROP TABLE grid_cells")


@pytest.mark.thorough
def test_spark_has_the_sums_that_memory_has(spark: Any) -> None:
    rows = rows_to_sum(60, 12)
    types = {"DOUBLE PRECISION": "DOUBLE", "VARCHAR(40)": "STRING"}
    columns = ", ".join(
        f"{SPARK.quote_name(name)} {types.get(kind, kind)}" for name, kind in TYPES.items()
    )
    frame = spark.createDataFrame(rows, columns).coalesce(1)
    with contextlib.closing(SparkEngine(frame, "T")) as opened:
        engine, memory = EngineSummer(EngineTable(opened), SCHEMA, None, 1, 60), in_memory(rows)
        for name in ("nearest", "centres of groups"):
            summation = summations()[name]
            assert lists_of(engine.sum(summation)) == lists_of(memory.sum(summation)), name


# --------------------------------------------------------------------------- through a curator


def test_files_are_summed_by_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    frame = pd.DataFrame(
        {"x": np.arange(1000.0), "g": np.where(np.arange(1000) % 3 == 0, "a", "b")}
    )
    frame.to_parquet(path)
    schema = Schema.from_dict(
        {
            "attributes": {
                "x": {"kind": "real", "min": 0, "max": 1000},
                "g": {"kind": "categorical", "values": ["a", "b"]},
            }
        }
    )
    answers = []
    for engine in ("memory", "duckdb"):
        ledger = Ledger(10.0)
        with open_curator(path, schema, ledger, engine=engine, noise=NoNoise(1)) as curator:
            answer = curator.sum([Number("x")], Budget(1.0), by=marginal("g"))
        answers.append(answer.sums.values.tolist())
        assert len(ledger.entries) == 1
    assert answers[0] == answers[1] == [[166833.0], [332667.0]]


def test_a_person_has_no_more_rows_in_a_sum_than_allowed(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    frame = pd.DataFrame({"x": np.ones(300), "owner": [f"p{i % 20}" for i in range(300)]})
    frame.to_parquet(path)
    for engine in ("memory", "duckdb"):
        ledger = Ledger(10.0, max_rows_per_person=4, unit="person")
        options: Any = {"engine": engine, "person": "owner", "notify": lambda note: None}
        with open_curator(path, {"x": (0, 1)}, ledger, noise=NoNoise(1), **options) as curator:
            for _ in range(3):
                assert curator.sum([Number("x")], Budget(1.0)).sums.values.tolist() == [80.0]


def test_questions_cover_what_engines_do() -> None:
    assert {key for question in QUESTIONS.values() for key in question} == {
        "features",
        "moments",
        "by",
        "nearest",
        "centres",
        "ball",
        "missing",
        "directions",
        "pooled",
    }


def test_infinite_dates_count_at_the_edge() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (day DATE, moment TIMESTAMP)")
    rows = [("infinity", "-infinity"), ("-infinity", "infinity"), ("2000-01-03", "1970-01-02")]
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    schema = Schema.from_dict(
        {
            "attributes": {
                "day": {"kind": "date", "min": "2000-01-01", "max": "2000-01-10"},
                "moment": {"kind": "datetime", "min": "1970-01-01", "max": "1970-01-05"},
            }
        }
    )
    summer = EngineSummer(
        EngineTable(DuckDBEngine("t", "T", connection=connection)), schema, None, 1, 3
    )
    features = [Number("day", centre=10_957), Number("moment", step=3600.0)]
    question = Sum(features=features, budget=Budget(1.0))
    found = summer.sum(question.summation(Domain(schema)))
    assert found.sums.tolist() == [[9 + 0 + 2, 0 + 96 + 24]]


def test_a_curator_of_an_engine_codes_rows_when_tables_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.parquet"
    frame = pd.DataFrame({"x": np.arange(100.0), "g": ["a", "b"] * 50})
    frame.to_parquet(path)
    kept = []
    keep = DuckDBEngine.keep
    monkeypatch.setattr(
        DuckDBEngine, "keep", lambda self, *what: kept.append(what) or keep(self, *what)
    )
    facts = {"x": (0, 100), "g": ["a", "b"]}
    with open_curator(path, facts, Ledger(10.0), engine="duckdb", noise=NoNoise(1)) as curator:
        assert curator.sum([Number("x")], Budget(1.0)).sums.values.tolist() == [4950.0]
        assert not kept
        [table] = curator.measure([marginal("g")], Budget(1.0))
        assert table.counts.tolist() == [50, 50, 0]
        assert kept
        place = curator.choose(
            [marginal("g"), marginal("x")],
            "misfit",
            Budget(1.0),
            estimates=[np.array([50.0, 50.0, 0.0]), np.full(17, 90.0)],
        )
        assert place == 1
