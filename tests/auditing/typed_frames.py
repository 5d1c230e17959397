"""Neighbouring frames that differ in the types of their columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

# One row can change the type of a column: its values, with one more row, and what makes a column of
# them.
AGES = [20 + 7 * i % 60 for i in range(24)]
TOWNS = [("Oslo", "Rome", "Ulm")[i % 3] for i in range(24)]
DAYS = [dt.datetime(2020, 1 + i % 9, 11) for i in range(24)]
MOMENTS = [day.replace(hour=i % 3, microsecond=1000 * i) for i, day in enumerate(DAYS)]
KNOWN = ["Oslo", "Rome", "Ulm"]

Typed = tuple[str, Any, Any]
"""A column, as it is in the one table and, with a row more, in the other."""

PANDAS: dict[str, Typed] = {
    "integers, floats": ("age", pd.Series(AGES), pd.Series([*AGES, None])),
    "integers, nullable ones": ("age", pd.Series(AGES), pd.Series([*AGES, None], dtype="Int64")),
    "integers, objects": ("age", pd.Series(AGES), pd.Series([*AGES, "?"], dtype=object)),
    "integers, unsigned ones": ("age", pd.Series(AGES), pd.Series([*AGES, 2**63], dtype="uint64")),
    "narrow integers, wide ones": (
        "age",
        pd.Series(AGES, dtype="uint8"),
        pd.Series([*AGES, 300]),
    ),
    "integers, categories": (
        "age",
        pd.Series(AGES, dtype="category"),
        pd.Series([*AGES, 20], dtype=pd.CategoricalDtype([*sorted(set(AGES)), "?"])),
    ),
    "texts, categories": ("town", pd.Series(TOWNS), pd.Series([*TOWNS, "Ulm"], dtype="category")),
    "an unused category": (
        "town",
        pd.Series(TOWNS, dtype="category"),
        pd.Series([*TOWNS, "Ulm"], dtype=pd.CategoricalDtype([*KNOWN, "Atlantis"], ordered=True)),
    ),
    "one more category": (
        "town",
        pd.Series(TOWNS, dtype="category"),
        pd.Series([*TOWNS, "Atlantis"], dtype="category"),
    ),
    "dates, objects": ("seen", pd.Series(DAYS), pd.Series([*DAYS, "?"], dtype=object)),
    "dates, far dates": (
        "seen",
        pd.Series(DAYS, dtype="datetime64[ns]"),
        pd.Series([*DAYS, dt.datetime(9999, 12, 31)], dtype=object),
    ),
    "dates, dates in a zone": (
        "seen",
        pd.Series(DAYS),
        pd.Series([*DAYS, None]).dt.tz_localize("Asia/Tokyo"),
    ),
    "nothing, integers": ("rare", pd.Series([None] * 24), pd.Series([None] * 24 + [5])),
    "nothing, texts": (
        "rare",
        pd.Series([np.nan] * 24),
        pd.Series([None] * 24 + ["5"], dtype=object),
    ),
    "texts, integers": ("constant", pd.Series(["0"] * 24), pd.Series([0] * 25)),
    "integers, truth values": (
        "constant",
        pd.Series([0] * 24),
        pd.Series([0] * 24 + [True], dtype=object),
    ),
    "floats, short floats": (
        "height",
        pd.Series([1.5] * 24),
        pd.Series([1.5] * 24 + [None], dtype="float32"),
    ),
    "whole floats, objects": (
        "age",
        pd.Series(AGES, dtype="float64"),
        pd.Series([*map(float, AGES), "?"], dtype=object),
    ),
    "whole categories, real ones": (
        "age",
        pd.Series(AGES, dtype="category"),
        pd.Series([*AGES, 20.5], dtype="category"),
    ),
    "infinite floats, objects": (
        "height",
        pd.Series([1.5, np.inf, -np.inf] * 8),
        pd.Series([1.5, np.inf, -np.inf] * 8 + ["?"], dtype=object),
    ),
    "moments, objects": (
        "seen",
        pd.Series(MOMENTS),
        pd.Series([*MOMENTS, "?"], dtype=object),
    ),
    "dates, moments beyond the calendar": (
        "seen",
        pd.Series(DAYS),
        pd.Series(np.array([*DAYS, "12020-01-01"], dtype="datetime64[s]")),
    ),
}
PANDAS |= {
    "texts, half a character": (
        "town",
        pd.Series(TOWNS),
        pd.Series([*TOWNS, "\ud83d"], dtype=object),
    ),
    "nothing in Arrow's lists, one list": (
        "rare",
        pd.Series([None] * 24, dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
        pd.Series([None] * 24 + [[5]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
    ),
    "dates, Arrow's dates": (
        "seen",
        pd.Series(DAYS),
        pd.Series([*DAYS, None], dtype=pd.ArrowDtype(pa.date32())),
    ),
}
POLARS: dict[str, Typed] = {
    "integers, floats": ("age", pl.Series(AGES), pl.Series([*map(float, AGES), None])),
    "integers, a null": ("age", pl.Series(AGES), pl.Series([*AGES, None])),
    "narrow integers, wide ones": ("age", pl.Series(AGES, dtype=pl.UInt8), pl.Series([*AGES, 300])),
    "integers, unsigned ones": (
        "age",
        pl.Series(AGES),
        pl.Series([*AGES, 2**63], dtype=pl.UInt64),
    ),
    "integers, texts": ("age", pl.Series(AGES), pl.Series([*map(str, AGES), "?"])),
    "texts, categories": (
        "town",
        pl.Series(TOWNS),
        pl.Series([*TOWNS, "Ulm"], dtype=pl.Categorical),
    ),
    "one more category": (
        "town",
        pl.Series(TOWNS, dtype=pl.Categorical),
        pl.Series([*TOWNS, "Atlantis"], dtype=pl.Categorical),
    ),
    "one more in an enumeration": (
        "town",
        pl.Series(TOWNS, dtype=pl.Enum(KNOWN)),
        pl.Series([*TOWNS, "Ulm"], dtype=pl.Enum([*KNOWN, "Atlantis"])),
    ),
    "dates, texts": (
        "seen",
        pl.Series(DAYS, dtype=pl.Date),
        pl.Series([*(str(day.date()) for day in DAYS), "?"]),
    ),
    "dates, moments": (
        "seen",
        pl.Series(DAYS, dtype=pl.Date),
        pl.Series([*DAYS, None], dtype=pl.Datetime("ns")),
    ),
    "nothing, integers": (
        "rare",
        pl.Series([None] * 24, dtype=pl.Null),
        pl.Series([None] * 24 + [5]),
    ),
    "floats, short floats": (
        "height",
        pl.Series([1.5] * 24),
        pl.Series([1.5] * 24 + [None], dtype=pl.Float32),
    ),
}
POLARS_ALONE: dict[str, Typed] = {
    "nothing in lists, one list": (
        "rare",
        pl.Series([None] * 24, dtype=pl.List(pl.Int64)),
        pl.Series([None] * 24 + [[5]], dtype=pl.List(pl.Int64)),
    ),
    "nothing, one duration": (
        "rare",
        pl.Series([None] * 24, dtype=pl.Duration),
        pl.Series([None] * 24 + [dt.timedelta(1)], dtype=pl.Duration),
    ),
    "bytes, others than UTF-8": (
        "town",
        pl.Series([town.encode() for town in TOWNS]),
        pl.Series([*(town.encode() for town in TOWNS), b"\xff"]),
    ),
    "moments, one beyond the calendar": (
        "seen",
        pl.Series(DAYS, dtype=pl.Datetime("ms")),
        pl.Series([*DAYS, None], dtype=pl.Datetime("ms")).fill_null(
            pl.lit(2**62).cast(pl.Datetime("ms"))
        ),
    ),
}
ARROW: dict[str, Typed] = {
    "integers, floats": ("age", pa.array(AGES), pa.array([*map(float, AGES), None])),
    "integers, a null": ("age", pa.array(AGES), pa.array([*AGES, None])),
    "narrow integers, wide ones": ("age", pa.array(AGES, pa.uint8()), pa.array([*AGES, 300])),
    "integers, unsigned ones": ("age", pa.array(AGES), pa.array([*AGES, 2**63], pa.uint64())),
    "integers, texts": ("age", pa.array(AGES), pa.array([*map(str, AGES), "?"])),
    "texts, a dictionary": (
        "town",
        pa.array(TOWNS),
        pa.array([*TOWNS, "Ulm"]).dictionary_encode(),
    ),
    "one more in a dictionary": (
        "town",
        pa.array(TOWNS).dictionary_encode(),
        pa.array([*TOWNS, "Atlantis"]).dictionary_encode(),
    ),
    "dates, texts": (
        "seen",
        pa.array(DAYS, pa.date32()),
        pa.array([*(str(day.date()) for day in DAYS), "?"]),
    ),
    "dates, moments": (
        "seen",
        pa.array(DAYS, pa.date32()),
        pa.array([*DAYS, None], pa.timestamp("us", "Asia/Tokyo")),
    ),
    "nothing, integers": ("rare", pa.nulls(24), pa.array([None] * 24 + [5])),
    "floats, short floats": (
        "height",
        pa.array([1.5] * 24, pa.float64()),
        pa.array([1.5] * 24 + [None], pa.float32()),
    ),
}
ARROW_ALONE: dict[str, Typed] = {
    "nothing in lists, one list": (
        "rare",
        pa.nulls(24, pa.list_(pa.int64())),
        pa.array([None] * 24 + [[5]], pa.list_(pa.int64())),
    ),
    "bytes, others than UTF-8": (
        "town",
        pa.array([town.encode() for town in TOWNS]),
        pa.array([*(town.encode() for town in TOWNS), b"\xff"]),
    ),
}
MAKERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "lazy": lambda columns: pl.DataFrame(columns).lazy(),
}
TYPED = {
    f"{library}: {name}": (library, typed)
    for library, pairs in (
        ("pandas", PANDAS),
        ("polars", POLARS | POLARS_ALONE),
        ("lazy", POLARS),
        ("arrow", ARROW | ARROW_ALONE),
        ("parquet", ARROW),
    )
    for name, typed in pairs.items()
    if (library, name) != ("lazy", "integers, unsigned ones")  # refused inside DuckDB
}


def typed_frame(library: str, column: str, values: Any, folder: Path) -> Any:
    """A frame whose other columns are plain."""
    rows = len(values)
    columns: dict[str, Any] = {
        "who": [f"p{i}" for i in range(rows)],
        "age": [33] * rows,
        "height": [1.5] * rows,
        "sex": ["f"] * rows,
        "town": ["Oslo"] * rows,
        "constant": ["0"] * rows,
        "seen": [DAYS[0]] * rows,
        "rare": [3] * rows,
        column: values,
    }
    if library != "parquet":
        return MAKERS[library](columns)
    folder.mkdir(exist_ok=True)
    pyarrow.parquet.write_table(pa.table(columns), folder / "t.parquet")
    return folder / "t.parquet"
