"""pandas, polars and Arrow tables in and out, for users who have those libraries.

None of the three is imported unless the user hands over one of its frames or asks for one.

A private frame gives its library's name and nothing else: one row can change the type of a column
(a missing value turns pandas integers into floats). So the types of a synthetic frame depend on the
kinds of its columns alone, and these come from the schema:

| kind | pandas | polars | Arrow |
|---|---|---|---|
| integer | int64, or Int64 where values may be missing | Int64 | int64 |
| real | float64 | Float64 | double |
| boolean | bool, or boolean where values may be missing | Boolean | bool |
| date | datetime64[s] | Date | date32 |
| datetime | datetime64[s] | Datetime (us) | timestamp (us) |
| text | what pandas uses for texts | String | string |
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from understudy.data.missing_marks import without_marks
from understudy.data.read_options import Reading, ReadOptions
from understudy.data.tables import Column, Table, read_table
from understudy.data.words import write_moment, write_number
from understudy.errors import InputError

Frame = Any
"""A Table, a pandas or polars DataFrame, an Arrow table, or the path of a CSV or Parquet file; and,
where rows may stay inside an engine, what :func:`understudy.engines.sources.open_rows` takes."""


Library = Literal["table", "pandas", "polars", "arrow"]
"""Whose frame the user gave, so that the same kind of frame can be given back."""


def as_table(
    frame: Frame,
    skip: Sequence[str] = (),
    *,
    notify: Callable[[str], None] = lambda _: None,
    **reading: Unpack[Reading],
) -> tuple[Table, Library]:
    """Turn whatever the user holds into a table; files are read as by :func:`read_table`."""
    if isinstance(frame, str | Path):
        return read_table(frame, skip, notify=notify, **reading), "table"
    table, library = _frame_as_table(frame)
    return without_marks(table, ReadOptions(**reading).missing_marks), library


def _frame_as_table(frame: Frame) -> tuple[Table, Library]:
    if isinstance(frame, Table):
        return frame, "table"
    pandas, polars, arrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        names = [str(name) for name in frame.columns]
        _check(names)
        columns = {name: _from_pandas(pandas, frame.iloc[:, i]) for i, name in enumerate(names)}
        return Table(columns, "The frame"), "pandas"
    if polars is not None and isinstance(frame, polars.DataFrame):
        _check(frame.columns)
        columns = {series.name: _from_polars(polars, series) for series in frame}
        return Table(columns, "The frame"), "polars"
    if arrow is not None and isinstance(frame, arrow.Table):
        _check(frame.column_names)
        columns = {name: _from_arrow(arrow, frame[name]) for name in frame.column_names}
        return Table(columns, "The frame"), "arrow"
    raise InputError(
        f"A {type(frame).__module__}.{type(frame).__name__} is not a table that is known here; "
        f"give a Table, a pandas or polars DataFrame, an Arrow table or a file name."
    )


def as_frame(table: Table, library: Library) -> Frame:
    """Turn a table into a frame of a library."""
    convert = {"pandas": to_pandas, "polars": to_polars, "arrow": to_arrow}.get(library)
    if convert is None:
        return table
    return convert(table)


_PACKAGES = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}


def convert(table: Table, library: Library) -> Frame:
    """Turn a table into a frame of a library, or say in a sentence that it is not installed."""
    package = _PACKAGES[library]
    if find_spec(package) is None:
        raise InputError(
            f"to_{library} needs {package}, which is not installed; install it by `pip install "
            f"{package}`."
        )
    return as_frame(table, library)


def _check(names: list[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"The frame has two columns named {twice!r}; rename one of them.")
    if not names:
        raise InputError("The frame has no columns.")


def _empty(rows: int) -> Column:
    """A column without a value."""
    return Column("empty", np.zeros(rows, dtype=np.int64), missing=np.ones(rows, dtype=np.uint8))


def _missing(absent: NDArray[np.bool_]) -> NDArray[np.uint8] | None:
    """Which values are missing, as columns keep it: nothing where none is."""
    if absent.any():
        return absent.astype(np.uint8)
    return None


# --------------------------------------------------------------------------- pandas


def _from_pandas(pandas: Any, series: Any) -> Column:
    types = pandas.api.types
    absent = series.isna().to_numpy(dtype=bool)
    if absent.all():
        return _empty(len(absent))
    missing = _missing(absent)
    dtype = series.dtype
    if isinstance(dtype, pandas.ArrowDtype) and _is_read_one_by_one(dtype.pyarrow_dtype):
        series = series.astype(object)
        dtype = series.dtype
    if types.is_bool_dtype(dtype) and not isinstance(dtype, pandas.CategoricalDtype):
        return Column("boolean", series.to_numpy(dtype=bool, na_value=False), missing=missing)
    if types.is_integer_dtype(dtype) and series.max() <= LARGEST_INTEGER:
        return Column("integer", series.to_numpy(dtype=np.int64, na_value=0), missing=missing)
    if types.is_float_dtype(dtype):
        return Column("real", series.to_numpy(dtype=np.float64, na_value=np.nan), missing=missing)
    if types.is_datetime64_any_dtype(dtype):
        if getattr(dtype, "tz", None) is not None:
            naive = series.dt.tz_localize(None)
        else:
            naive = series
        return _moments(naive.to_numpy(dtype="datetime64[s]"), missing)
    if isinstance(dtype, pandas.CategoricalDtype) and types.is_integer_dtype(
        dtype.categories.dtype
    ):
        numbers = np.append(dtype.categories.to_numpy(dtype=np.int64), 0)
        return Column("integer", numbers[series.cat.codes.to_numpy()], missing=missing)
    if types.is_complex_dtype(dtype):
        # One complex number made all others such; they are read as what they were.
        series = pandas.Series(
            [value if value.imag else value.real for value in series.tolist()], dtype=object
        )
        dtype = series.dtype
    if types.is_object_dtype(dtype):
        # Each value by itself: factorize would take True, 1 and 1.0 for one and the same, whichever
        # came first.
        written = [
            None if gone else _write_value(value)
            for value, gone in zip(series, absent, strict=True)
        ]
        series = pandas.Series(written, dtype=object)  # a type of texts may not hold all of them
    places, words = pandas.factorize(series, use_na_sentinel=True)
    return _text(places, [_write_value(word) for word in words], missing)


def _is_read_one_by_one(kind: Any) -> bool:
    """Of columns that Arrow keeps for pandas: whether pandas cannot look at values together."""
    import pyarrow.types

    return bool(pyarrow.types.is_nested(kind) or pyarrow.types.is_date(kind))


def to_pandas(table: Table) -> Any:
    """The table as a pandas frame."""
    import pandas

    return pandas.DataFrame(
        {name: _to_pandas(pandas, column) for name, column in table.columns.items()}
    )


def _to_pandas(pandas: Any, column: Column) -> Any:
    absent = None
    if column.missing is not None:
        absent = column.missing > 0
    if column.kind == "text":
        # The last word makes pandas take all of them for texts, even where the others are missing.
        words = pandas.Series([*_words(column), ""])
        return pandas.Series(words.array.take(_places(column)))
    if column.kind in ("date", "datetime"):
        if column.kind == "date":
            unit = "datetime64[D]"
        else:
            unit = "datetime64[s]"
        series = pandas.Series(column.values.astype(unit).astype("datetime64[s]"))
        if absent is None:
            return series
        return series.mask(absent)
    if column.kind == "real":
        if absent is None:
            values = column.values
        else:
            values = np.where(absent, np.nan, column.values)
        return pandas.Series(values, dtype="float64")
    if absent is None:
        return pandas.Series(column.values, dtype=_PANDAS_PLAIN[column.kind])
    return pandas.Series(column.values, dtype=_PANDAS_NULLABLE[column.kind]).mask(absent)


_PANDAS_PLAIN = {"integer": "int64", "boolean": "bool"}
_PANDAS_NULLABLE = {"integer": "Int64", "boolean": "boolean", "empty": "Int64"}


# --------------------------------------------------------------------------- polars


def _from_polars(polars: Any, series: Any) -> Column:
    dtype = series.dtype
    if dtype.is_float():
        series = series.fill_nan(None)
    absent = series.is_null().to_numpy()
    if absent.all():
        return _empty(len(absent))
    missing = _missing(absent)
    if dtype == polars.Boolean:
        return Column("boolean", series.fill_null(False).to_numpy(), missing=missing)
    if dtype.is_integer() and series.max() <= LARGEST_INTEGER:
        return Column("integer", series.cast(polars.Int64).fill_null(0).to_numpy(), missing=missing)
    if dtype.is_float() or dtype.is_decimal():
        return Column(
            "real", series.cast(polars.Float64).fill_null(float("nan")).to_numpy(), missing=missing
        )
    if dtype == polars.Date:
        days = series.to_physical().cast(polars.Int64).fill_null(0).to_numpy()
        return Column("date", days, missing=missing)
    if dtype == polars.Datetime:
        whole = series.to_physical().fill_null(0).to_numpy()
        return Column("datetime", whole // _PER_SECOND[dtype.time_unit], missing=missing)
    if dtype.is_nested() or dtype in (polars.Duration, polars.Object, polars.Binary):
        return _from_values(series.to_list(), missing)
    texts = series.cast(polars.String)
    words = texts.drop_nulls().unique().sort()
    places = (
        texts.cast(polars.Enum(words)).to_physical().cast(polars.Int64).fill_null(-1).to_numpy()
    )
    return _text(places, words.to_list(), missing)


_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}


def to_polars(table: Table) -> Any:
    """The table as a polars frame."""
    import polars

    return polars.DataFrame(
        {name: _to_polars(polars, column) for name, column in table.columns.items()}
    )


def _to_polars(polars: Any, column: Column) -> Any:
    if column.kind == "text":
        words = polars.Series(_words(column), dtype=polars.String)
        return words.gather(_places(column).astype(np.uint32))
    if column.kind == "real":
        series = polars.Series(column.values, dtype=polars.Float64)
    elif column.kind == "boolean":
        series = polars.Series(column.values, dtype=polars.Boolean)
    else:
        series = polars.Series(column.values, dtype=polars.Int64)
    if column.kind == "date":
        series = series.cast(polars.Int32).cast(polars.Date)
    elif column.kind == "datetime":
        series = (series * 1_000_000).cast(polars.Datetime("us"))
    if column.missing is None:
        return series
    keep = polars.Series(column.missing == 0)
    return polars.select(polars.when(keep).then(series).otherwise(None)).to_series()


# --------------------------------------------------------------------------- Arrow


def _from_arrow(arrow: Any, chunked: Any) -> Column:
    import pyarrow.compute as compute

    kind = chunked.type
    if chunked.num_chunks != 1:
        values = chunked.combine_chunks()
    else:
        values = chunked.chunk(0)
    if isinstance(values, arrow.ChunkedArray):
        values = arrow.concat_arrays(values.chunks)
    if arrow.types.is_floating(kind):
        values = compute.if_else(compute.is_nan(values), None, values)
    absent = values.is_null().to_numpy(zero_copy_only=False)
    if absent.all():
        return _empty(len(absent))
    missing = _missing(absent)

    def plain(target: Any, zero: Any) -> NDArray[Any]:
        result: NDArray[Any] = compute.fill_null(values.cast(target), zero).to_numpy(
            zero_copy_only=False
        )
        return result

    if arrow.types.is_boolean(kind):
        return Column("boolean", plain(arrow.bool_(), False), missing=missing)
    if arrow.types.is_integer(kind) and compute.max(values).as_py() <= LARGEST_INTEGER:
        return Column("integer", plain(arrow.int64(), 0), missing=missing)
    if arrow.types.is_floating(kind) or arrow.types.is_decimal(kind):
        return Column("real", plain(arrow.float64(), 0.0), missing=missing)
    if arrow.types.is_date(kind):
        days = compute.fill_null(values.cast(arrow.date32()).cast(arrow.int32()), 0).to_numpy(
            zero_copy_only=False
        )
        return Column("date", days.astype(np.int64), missing=missing)
    if arrow.types.is_timestamp(kind):
        seconds = values.cast(arrow.timestamp("us"), safe=False).cast(arrow.int64())
        return Column(
            "datetime",
            compute.fill_null(seconds, 0).to_numpy(zero_copy_only=False) // 1_000_000,
            missing=missing,
        )
    if not _is_cast_to_texts(arrow, kind):
        return _from_values(values.to_pylist(), missing)
    texts = values.cast(arrow.string())
    encoded = texts.dictionary_encode()
    places = compute.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return _text(places, encoded.dictionary.to_pylist(), missing)


def _is_cast_to_texts(arrow: Any, kind: Any) -> bool:
    """Whether Arrow makes texts of all values of a type: told by none of them."""
    types = arrow.types
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return False  # of those that are texts in UTF-8
    try:
        arrow.nulls(1, kind).cast(arrow.string())
    except arrow.ArrowException:
        return False
    return True


def to_arrow(table: Table) -> Any:
    """The table as an Arrow table."""
    import pyarrow as arrow

    return arrow.table({name: _to_arrow(arrow, column) for name, column in table.columns.items()})


def _to_arrow(arrow: Any, column: Column) -> Any:
    absent = None
    if column.missing is not None:
        absent = column.missing > 0
    if column.kind == "text":
        return arrow.array(_words(column), type=arrow.string()).take(arrow.array(_places(column)))
    if column.kind == "date":
        return arrow.array(column.values.astype("datetime64[D]"), arrow.date32(), absent)
    if column.kind == "datetime":
        moments = (column.values * 1_000_000).astype("datetime64[us]")
        return arrow.array(moments, arrow.timestamp("us"), absent)
    types = {"real": arrow.float64(), "boolean": arrow.bool_()}
    return arrow.array(column.values, types.get(column.kind, arrow.int64()), absent)


# --------------------------------------------------------------------------- shared


LARGEST_INTEGER = 2**63 - 1
"""Columns with a larger whole number are read as texts, in which each number stands for itself."""


def _words(column: Column) -> list[str | None]:
    """The texts of a column, and what stands where one is missing: a mark is a text like others."""
    return [*column.words, column.mark or None]


def _places(column: Column) -> NDArray[np.int64]:
    """Where in these texts the value of each row stands."""
    if column.missing is None:
        return column.values.astype(np.int64)
    return np.where(column.missing > 0, len(column.words), column.values).astype(np.int64)


def _text(places: NDArray[Any], words: list[str], missing: NDArray[np.uint8] | None) -> Column:
    """A text column; empty texts count as missing, and the words are sorted, so that their order
    tells nothing. Each stands there once: 1 and "1" may be two categories.
    """
    words = [_without_halves(word) for word in words]
    kept = tuple(sorted(set(words)))
    ranks = {word: place for place, word in enumerate(kept)}
    rank = np.zeros(len(words) + 1, dtype=np.uint32)  # the last one where missing
    rank[:-1] = [ranks[word] for word in words]
    values = rank[places]
    if kept and kept[0] == "":
        if missing is None:
            empty = values == 0
        else:
            empty = (values == 0) | (missing > 0)
        missing = empty.astype(np.uint8)
    return Column("text", values, kept, missing)


def _from_values(values: Sequence[Any], missing: NDArray[np.uint8] | None) -> Column:
    """A text column of values that no library writes: lists, durations, bytes. Each is written by
    itself, since a refusal of one would tell that it is there.
    """
    places: dict[str, int] = {}
    found = [
        -1 if value is None else places.setdefault(_write_value(value), len(places))
        for value in values
    ]
    return _text(np.array(found, dtype=np.int64), [*places], missing)


def _without_halves(word: str) -> str:
    """A text in which half a character (a lone surrogate), which no file can hold, is replaced."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return word.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return word


def _write_value(value: Any) -> str:
    """A value of a column of mixed types, so that it is read as in a column of its own type."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, float):
        return write_number(float(value))
    if isinstance(value, dt.datetime):
        return write_moment(value)
    return str(value)


def _moments(seconds: NDArray[np.datetime64], missing: NDArray[np.uint8] | None) -> Column:
    whole = seconds.astype(np.int64)
    if missing is not None:
        whole = np.where(missing > 0, 0, whole)
    return Column("datetime", whole, missing=missing)
