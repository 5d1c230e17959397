"""pandas, polars and Arrow tables in and out, for users who have those libraries.

None of the three is imported unless the user hands over one of its frames or asks for one.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.tables import Column, Table, read_table

Frame = Any
"""A Table, a pandas or polars DataFrame, an Arrow table, or the path of a CSV or Parquet file; and, where rows may stay
inside an engine, what :func:`understudy.engines.sources.opened` takes."""


@dataclass(frozen=True)
class Likeness:
    """What kind of frame the user gave, so that the same kind can be given back: types only, no values."""

    library: str = "table"
    types: Mapping[str, Any] = field(default_factory=dict)


def as_table(frame: Frame, header: bool | None = None) -> tuple[Table, Likeness]:
    """Turn whatever the user holds into a table; ``header`` is as for :func:`read_table`."""
    if isinstance(frame, Table):
        return frame, Likeness()
    if isinstance(frame, str | Path):
        return read_table(frame, header=header), Likeness()
    pandas, polars, arrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        names = [str(name) for name in frame.columns]
        _check(names, len(frame))
        columns = {name: _from_pandas(pandas, frame.iloc[:, i]) for i, name in enumerate(names)}
        kinds = [_bare(dtype, pandas.CategoricalDtype) for dtype in frame.dtypes]
        return Table(columns, "The frame"), Likeness("pandas", dict(zip(names, kinds, strict=True)))
    if polars is not None and isinstance(frame, polars.DataFrame):
        _check(frame.columns, frame.height)
        columns = {series.name: _from_polars(polars, series) for series in frame}
        bare = {
            name: _bare(dtype, polars.Enum, polars.Categorical)
            for name, dtype in frame.schema.items()
        }
        return Table(columns, "The frame"), Likeness("polars", bare)
    if arrow is not None and isinstance(frame, arrow.Table):
        _check(frame.column_names, frame.num_rows)
        columns = {name: _from_arrow(arrow, frame[name]) for name in frame.column_names}
        return Table(columns, "The frame"), Likeness(
            "arrow", {f.name: f.type for f in frame.schema}
        )
    raise InputError(
        f"A {type(frame).__module__}.{type(frame).__name__} is not a table that is known here; "
        f"give a Table, a pandas or polars DataFrame, an Arrow table or a file name."
    )


def like(table: Table, likeness: Likeness) -> Frame:
    """Turn a table into the kind of frame that the user gave."""
    return {"table": lambda t, _: t, "pandas": to_pandas, "polars": to_polars, "arrow": to_arrow}[
        likeness.library
    ](table, likeness.types)


def _bare(dtype: Any, *categorical: Any) -> Any:
    """A type without values: a categorical type lists the categories that were in the rows."""
    return CATEGORY if isinstance(dtype, categorical) else dtype


CATEGORY = "category"


def _check(names: list[str], rows: int) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"The frame has two columns named {twice!r}; rename one of them.")
    if not names:
        raise InputError("The frame has no columns.")
    if rows == 0:
        raise InputError("The frame has no rows; nothing can be learned from it.")


# --------------------------------------------------------------------------- pandas


def _from_pandas(pandas: Any, series: Any) -> Column:
    types = pandas.api.types
    absent = series.isna().to_numpy(dtype=bool)
    missing = absent.astype(np.uint8) if absent.any() else None
    if absent.all():
        return Column(
            "empty",
            np.zeros(len(series), dtype=np.int64),
            missing=np.ones(len(series), dtype=np.uint8),
        )
    dtype = series.dtype
    if types.is_bool_dtype(dtype) and not isinstance(dtype, pandas.CategoricalDtype):
        return Column("boolean", series.to_numpy(dtype=bool, na_value=False), missing=missing)
    if types.is_integer_dtype(dtype):
        return Column("integer", series.to_numpy(dtype=np.int64, na_value=0), missing=missing)
    if types.is_float_dtype(dtype):
        return Column("real", series.to_numpy(dtype=np.float64, na_value=np.nan), missing=missing)
    if types.is_datetime64_any_dtype(dtype):
        naive = series.dt.tz_localize(None) if getattr(dtype, "tz", None) is not None else series
        return _moments(naive.to_numpy(dtype="datetime64[s]"), missing)
    if isinstance(dtype, pandas.CategoricalDtype) and types.is_integer_dtype(
        dtype.categories.dtype
    ):
        numbers = np.append(dtype.categories.to_numpy(dtype=np.int64), 0)
        return Column("integer", numbers[series.cat.codes.to_numpy()], missing=missing)
    if types.is_object_dtype(dtype):
        # Each value by itself: factorize would take True, 1 and 1.0 for one and the same, whichever came first.
        series = pandas.Series(
            [None if gone else str(value) for value, gone in zip(series, absent, strict=True)]
        )
    places, words = pandas.factorize(series, use_na_sentinel=True)
    return _text(places, [str(word) for word in words], missing)


def to_pandas(table: Table, types: Mapping[str, Any] | None = None) -> Any:
    """The table as a pandas frame."""
    import pandas

    frame = pandas.DataFrame(
        {name: _to_pandas(pandas, column) for name, column in table.columns.items()}
    )
    for name, dtype in (types or {}).items():
        if name not in frame or frame[name].dtype == dtype:
            continue
        # Where the type does not fit (a missing value among integers, say) the plain type stands. Categories are those
        # of the schema, not those of the type that was given: they came from the rows.
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            frame[name] = _restored(pandas, frame[name], table.columns[name].kind, dtype)
    return frame


def _restored(pandas: Any, series: Any, kind: str, dtype: Any) -> Any:
    types = pandas.api.types
    if isinstance(dtype, str) and dtype == CATEGORY:
        return series.astype("category")
    if kind == "text" and types.is_bool_dtype(dtype):
        return series  # to pandas every text is true
    if kind == "boolean" and isinstance(dtype, pandas.StringDtype):
        series = series.map({True: "true", False: "false"})
    cast = series.astype(dtype)
    # pandas lets a number that is too large for its type wrap around.
    wrapped = kind == "integer" and types.is_integer_dtype(dtype) and not (cast == series).all()
    return series if wrapped else cast


def _to_pandas(pandas: Any, column: Column) -> Any:
    absent = None if column.missing is None else column.missing > 0
    if column.kind == "text":
        # A mark other than the empty cell is an ordinary text in a frame.
        words = pandas.Series([*column.words, column.mark or None])
        places = (
            column.values if absent is None else np.where(absent, len(column.words), column.values)
        )
        return pandas.Series(words.array.take(places.astype(np.int64)))
    if column.kind in ("date", "datetime"):
        values = column.values.astype("datetime64[D]" if column.kind == "date" else "datetime64[s]")
        series = pandas.Series(values.astype("datetime64[s]"))
        return series if absent is None else series.mask(absent)
    if absent is None:
        return pandas.Series(column.values)
    if column.kind == "real":
        return pandas.Series(np.where(absent, np.nan, column.values))
    series = pandas.Series(column.values, dtype="Int64" if column.kind == "integer" else "boolean")
    return series.mask(absent)


# --------------------------------------------------------------------------- polars


def _from_polars(polars: Any, series: Any) -> Column:
    dtype = series.dtype
    if dtype.is_float():
        series = series.fill_nan(None)
    absent = series.is_null().to_numpy()
    missing = absent.astype(np.uint8) if absent.any() else None
    if absent.all():
        return Column(
            "empty",
            np.zeros(len(series), dtype=np.int64),
            missing=np.ones(len(series), dtype=np.uint8),
        )
    if dtype == polars.Boolean:
        return Column("boolean", series.fill_null(False).to_numpy(), missing=missing)
    if dtype.is_integer():
        return Column("integer", series.cast(polars.Int64).fill_null(0).to_numpy(), missing=missing)
    if dtype.is_float() or dtype.is_decimal():
        return Column(
            "real", series.cast(polars.Float64).fill_null(float("nan")).to_numpy(), missing=missing
        )
    if dtype == polars.Date:
        days = series.to_physical().cast(polars.Int64).fill_null(0).to_numpy()
        return Column("date", days, missing=missing)
    if dtype == polars.Datetime:
        micros = series.dt.cast_time_unit("us").to_physical().fill_null(0).to_numpy()
        return Column("datetime", micros // 1_000_000, missing=missing)
    texts = series.cast(polars.String)
    words = texts.drop_nulls().unique().sort()
    places = (
        texts.cast(polars.Enum(words)).to_physical().cast(polars.Int64).fill_null(-1).to_numpy()
    )
    return _text(places, words.to_list(), missing)


def to_polars(table: Table, types: Mapping[str, Any] | None = None) -> Any:
    """The table as a polars frame."""
    import polars

    types = types or {}
    frame = {}
    for name, column in table.columns.items():
        series = _to_polars(polars, name, column)
        wanted = types.get(name)
        if wanted is not None and wanted != series.dtype:
            if isinstance(wanted, str) and wanted == CATEGORY:
                wanted = polars.Categorical
            with contextlib.suppress(polars.exceptions.PolarsError):
                series = series.cast(wanted)
        frame[name] = series
    return polars.DataFrame(frame)


def _to_polars(polars: Any, name: str, column: Column) -> Any:
    if column.kind == "text":
        words = polars.Series([*column.words, column.mark or None], dtype=polars.String)
        places = column.values
        if column.missing is not None:
            places = np.where(column.missing > 0, len(column.words), places)
        return words.gather(places.astype(np.uint32)).alias(name)
    series = polars.Series(name, column.values)
    if column.kind == "date":
        series = series.cast(polars.Int32).cast(polars.Date)
    elif column.kind == "datetime":
        series = (series.cast(polars.Int64) * 1_000_000).cast(polars.Datetime("us"))
    if column.missing is not None:
        keep = polars.Series(column.missing == 0)
        series = polars.select(
            polars.when(keep).then(series).otherwise(None).alias(name)
        ).to_series()
    return series


# --------------------------------------------------------------------------- Arrow


def _from_arrow(arrow: Any, chunked: Any) -> Column:
    import pyarrow.compute as compute

    kind = chunked.type
    values = chunked.combine_chunks() if chunked.num_chunks != 1 else chunked.chunk(0)
    if isinstance(values, arrow.ChunkedArray):
        values = arrow.concat_arrays(values.chunks)
    if arrow.types.is_floating(kind):
        values = compute.if_else(compute.is_nan(values), None, values)
    absent = values.is_null().to_numpy(zero_copy_only=False)
    missing = absent.astype(np.uint8) if absent.any() else None
    if absent.all():
        return Column(
            "empty",
            np.zeros(len(values), dtype=np.int64),
            missing=np.ones(len(values), dtype=np.uint8),
        )

    def plain(target: Any, zero: Any) -> NDArray[Any]:
        result: NDArray[Any] = compute.fill_null(values.cast(target), zero).to_numpy(
            zero_copy_only=False
        )
        return result

    if arrow.types.is_boolean(kind):
        return Column("boolean", plain(arrow.bool_(), False), missing=missing)
    if arrow.types.is_integer(kind):
        return Column("integer", plain(arrow.int64(), 0), missing=missing)
    if arrow.types.is_floating(kind) or arrow.types.is_decimal(kind):
        return Column("real", plain(arrow.float64(), 0.0), missing=missing)
    if arrow.types.is_date(kind):
        days = compute.fill_null(values.cast(arrow.date32()).cast(arrow.int32()), 0).to_numpy(
            zero_copy_only=False
        )
        return Column("date", days.astype(np.int64), missing=missing)
    if arrow.types.is_timestamp(kind):
        seconds = values.cast(arrow.timestamp("us")).cast(arrow.int64())
        return Column(
            "datetime",
            compute.fill_null(seconds, 0).to_numpy(zero_copy_only=False) // 1_000_000,
            missing=missing,
        )
    texts = values.cast(arrow.string())
    encoded = texts.dictionary_encode()
    places = compute.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return _text(places, encoded.dictionary.to_pylist(), missing)


def to_arrow(table: Table, types: Mapping[str, Any] | None = None) -> Any:
    """The table as an Arrow table."""
    import pyarrow as arrow

    types = types or {}
    arrays = {}
    for name, column in table.columns.items():
        array = _to_arrow(arrow, column)
        wanted = types.get(name)
        if wanted is not None and wanted != array.type:
            with contextlib.suppress(arrow.ArrowInvalid, arrow.ArrowNotImplementedError):
                array = (
                    array.dictionary_encode()
                    if arrow.types.is_dictionary(wanted)
                    else array.cast(wanted)
                )
        arrays[name] = array
    return arrow.table(arrays)


def _to_arrow(arrow: Any, column: Column) -> Any:
    absent = None if column.missing is None else column.missing > 0
    if column.kind == "text":
        words = arrow.array([*column.words, column.mark or None], type=arrow.string())
        places = (
            column.values if absent is None else np.where(absent, len(column.words), column.values)
        )
        return words.take(arrow.array(places.astype(np.int64)))
    if column.kind == "date":
        return arrow.array(column.values.astype("datetime64[D]"), mask=absent)
    if column.kind == "datetime":
        return arrow.array((column.values * 1_000_000).astype("datetime64[us]"), mask=absent)
    return arrow.array(column.values, mask=absent)


# --------------------------------------------------------------------------- shared


def _text(places: NDArray[Any], words: list[str], missing: NDArray[np.uint8] | None) -> Column:
    """A text column; empty texts count as missing, and the words are sorted, so that their order tells nothing."""
    order = sorted(range(len(words)), key=words.__getitem__)
    rank = np.empty(len(words) + 1, dtype=np.uint32)
    rank[order] = np.arange(len(words), dtype=np.uint32)
    rank[-1] = 0  # where missing
    values = rank[places]
    kept = tuple(words[place] for place in order)
    if kept and kept[0] == "":
        empty = (values == 0) if missing is None else (values == 0) | (missing > 0)
        missing = empty.astype(np.uint8)
    return Column("text", values, kept, missing)


def _moments(seconds: NDArray[np.datetime64], missing: NDArray[np.uint8] | None) -> Column:
    whole = seconds.astype(np.int64)
    if missing is not None:
        whole = np.where(missing > 0, 0, whole)
    return Column("datetime", whole, missing=missing)
