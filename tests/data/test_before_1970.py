"""Points in time before 1970, which are negative numbers: rounded down like all others."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from examples import schema_of
from understudy.counting.cuboids import CuboidCounter
from understudy.data.encoding import encode
from understudy.data.frames import as_table
from understudy.data.marginals import marginal
from understudy.data.tables import Column, Table, read_table
from understudy.engines.sources import open_rows

HALF = dt.timedelta(milliseconds=500)
MIDNIGHT = dt.datetime(1970, 1, 1)
MOMENTS = [
    MIDNIGHT - HALF,  # still in the second before
    MIDNIGHT,
    MIDNIGHT - dt.timedelta(seconds=1),
    dt.datetime(1969, 12, 30, 23, 59, 59) + HALF,
    dt.datetime(1969, 12, 31),
    dt.datetime(1900, 1, 1, 0, 0, 1),
]
SECONDS = [-1, 0, -1, -86401, -86400, -2208988799]
DAYS = [-1, 0, -1, -2, -1, -25567]
SCHEMAS = {
    # One bin for each day around 1970, and one for all that lies before.
    "date": schema_of(
        t={
            "kind": "date",
            "edges": ["1900-01-01", "1969-12-30", "1969-12-31", "1970-01-01", "1970-01-02"],
        }
    ),
    "datetime": schema_of(
        t={
            "kind": "datetime",
            "edges": [
                "1900-01-01",
                "1969-12-30 23:59:59",
                "1969-12-31",
                "1969-12-31 23:59:59",
                "1970-01-01",
                "1970-01-02",
            ],
        }
    ),
}
CODES = {"date": [2, 3, 2, 1, 2, 0], "datetime": [3, 4, 3, 1, 2, 0]}


def csv_file(folder: Path) -> Path:
    path = folder / "t.csv"
    path.write_text("t\n" + "".join(f"{moment.isoformat(sep=' ')}\n" for moment in MOMENTS))
    return path


def parquet_file(folder: Path) -> Path:
    pl.DataFrame({"t": MOMENTS}).write_parquet(folder / "t.parquet")
    return folder / "t.parquet"


SOURCES = {
    "CSV": lambda folder: read_table(csv_file(folder)),
    "Parquet": lambda folder: read_table(parquet_file(folder)),
    "pandas": lambda _: as_table(pd.DataFrame({"t": pd.Series(MOMENTS, dtype="datetime64[ns]")}))[
        0
    ],
    "polars": lambda _: as_table(pl.DataFrame({"t": MOMENTS}))[0],
    "Arrow": lambda _: as_table(pa.table({"t": pa.array(MOMENTS, pa.timestamp("us"))}))[0],
}


@pytest.mark.parametrize("source", SOURCES)
def test_seconds_are_rounded_down(tmp_path: Path, source: str) -> None:
    column = SOURCES[source](tmp_path).columns["t"]
    assert (column.kind, column.values.tolist()) == ("datetime", SECONDS)


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("source", SOURCES)
def test_codes_are_those_of_the_second_or_the_day(tmp_path: Path, source: str, kind: str) -> None:
    table: Table = SOURCES[source](tmp_path)
    assert encode(table, SCHEMAS[kind]).codes["t"].tolist() == CODES[kind]


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("file", [csv_file, parquet_file])
def test_an_engine_gives_the_same_codes(tmp_path: Path, file: Any, kind: str) -> None:
    with open_rows(file(tmp_path), "duckdb") as (table, _):
        (counts,) = CuboidCounter(table.encode(SCHEMAS[kind])).count([marginal("t")])
    assert counts.tolist() == np.bincount(CODES[kind], minlength=len(counts)).tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_they_are_written_as_they_were(tmp_path: Path, suffix: str) -> None:
    moments = Column("datetime", np.array(SECONDS, dtype=np.int64))
    days = Column("date", np.array(DAYS, dtype=np.int64))
    Table({"t": moments, "d": days}).write(tmp_path / f"t.{suffix}")
    again = read_table(tmp_path / f"t.{suffix}")
    assert again.columns["t"].values.tolist() == SECONDS
    assert again.columns["d"].values.tolist() == DAYS
