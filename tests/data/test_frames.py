"""Frames of pandas, polars and Arrow in and out: same library, same columns, types by the
schema.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from examples import content, schema_of
from understudy import Independent, InputError, Random, Table
from understudy.counting.columns import count_words
from understudy.data.cells import CellEncoder
from understudy.data.encoding import encode
from understudy.data.frames import as_frame, as_table, to_arrow, to_pandas, to_polars
from understudy.data.schema import Quantity
from understudy.privacy.mechanisms import SeededNoise

DAYS = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), None, dt.datetime(1960, 5, 6)]

SCHEMA = schema_of(
    n={"kind": "integer", "min": 0, "max": 100},
    m={"kind": "integer", "min": 0, "max": 3, "missing": True},
    r={"kind": "real", "min": 0, "max": 1, "missing": True},
    b={"kind": "boolean"},
    w={"kind": "categorical", "values": ["x", "y", "unseen"]},
    t={"kind": "datetime", "min": "1950-01-01", "max": "2029-12-31", "missing": True},
)


def pandas_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "n": pd.array([5, 50, 100, 0], dtype="int32"),
            "m": pd.array([1, None, 3, 0], dtype="Int64"),
            "r": np.array([0.25, np.nan, 1.0, 0.0], dtype=np.float32),
            "b": [True, False, True, True],
            "w": pd.Categorical(["x", "y", "x", "x"]),
            "t": pd.Series(DAYS, dtype="datetime64[ns]"),
        }
    )


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "n": pl.Series([5, 50, 100, 0], dtype=pl.Int32),
            "m": pl.Series([1, None, 3, 0], dtype=pl.UInt8),
            "r": pl.Series([0.25, float("nan"), 1.0, None], dtype=pl.Float32),
            "b": [True, False, True, True],
            "w": pl.Series(["x", "y", "x", "x"], dtype=pl.Categorical),
            "t": pl.Series(DAYS, dtype=pl.Datetime("ms")),
        }
    )


def arrow_table() -> pa.Table:
    return pa.table(
        {
            "n": pa.array([5, 50, 100, 0], pa.int32()),
            "m": pa.array([1, None, 3, 0], pa.uint8()),
            "r": pa.array([0.25, None, 1.0, float("nan")], pa.float32()),
            "b": [True, False, True, True],
            "w": pa.array(["x", "y", "x", "x"]).dictionary_encode(),
            "t": pa.array(DAYS, pa.timestamp("ms")),
        }
    )


FRAMES = [pandas_frame, polars_frame, arrow_table]


TYPES: dict[str, dict[str, Any]] = {
    "pandas": {
        "n": np.dtype("int64"),
        "m": pd.Int64Dtype(),
        "r": np.dtype("float64"),
        "b": np.dtype("bool"),
        "w": pd.Series(["x"]).dtype,
        "t": np.dtype("datetime64[s]"),
    },
    "polars": {
        "n": pl.Int64,
        "m": pl.Int64,
        "r": pl.Float64,
        "b": pl.Boolean,
        "w": pl.String,
        "t": pl.Datetime("us"),
    },
    "arrow": {
        "n": pa.int64(),
        "m": pa.int64(),
        "r": pa.float64(),
        "b": pa.bool_(),
        "w": pa.string(),
        "t": pa.timestamp("us"),
    },
}
"""Of a synthetic frame: by the schema alone."""


def types_of(frame: Any) -> dict[str, Any]:
    if isinstance(frame, pd.DataFrame):
        return dict(frame.dtypes.items())
    if isinstance(frame, pl.DataFrame):
        return dict(frame.schema)
    return {field.name: field.type for field in frame.schema}


@pytest.mark.parametrize("make", FRAMES)
def test_a_frame_is_read_with_its_kinds_and_missing_values(make: Any) -> None:
    table, library = as_table(make())
    assert library == make.__name__.split("_")[0]
    assert [column.kind for column in table.columns.values()] == [
        "integer", "integer", "real", "boolean", "text", "datetime",
    ]  # fmt: skip
    values = content(table)
    assert values["n"] == [5, 50, 100, 0]
    assert values["m"] == [1, None, 3, 0]
    assert values["r"][:3] == [0.25, None, 1.0]
    assert values["b"] == [True, False, True, True]
    assert values["w"] == ["x", "y", "x", "x"]
    assert values["t"] == [1577836800, 1577923200, None, -304732800]


@pytest.mark.parametrize("make", FRAMES)
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 200])
def test_the_sample_has_the_library_and_columns_of_the_frame_and_types_by_the_schema(
    make: Any, backwards: bool, rows: int
) -> None:
    frame = make()
    names = list(SCHEMA.names)[:: -1 if backwards else 1]
    frame = frame.select(names) if not isinstance(frame, pd.DataFrame) else frame[names]
    sample = Random().fit(frame, SCHEMA).sample(rows, seed=1)
    assert type(sample) is type(frame)
    types = TYPES[make.__name__.split("_")[0]]
    assert list(types_of(sample).items()) == [(name, types[name]) for name in names]


WHOLE = schema_of(n={"kind": "integer", "min": 1, "max": 3})
GAPS = schema_of(n={"kind": "integer", "min": 1, "max": 3, "missing": True})


@pytest.mark.parametrize("schema", [WHOLE, GAPS])
@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2, 3]),
        pd.Series([1, 2, 3, None]),
        pd.Series([1, 2, 3, None], dtype="Int64"),
        pd.Series([1, 2, 3], dtype="uint8"),
        pd.Series([1, 2, 3, 300], dtype="int16"),
        pd.Series([1, 2, "3"]),
        pd.Series([1, 2, 3], dtype="category"),
        pd.Series([1, 2, 3], dtype=pd.CategoricalDtype([1, 2, 3, "secret"])),
        pd.Series(["1", "2", "?"]),
        pd.Series([None, None], dtype=object),
        pd.Series([1, 2, 2**63], dtype="uint64"),
        pl.Series([1, 2, 3]),
        pl.Series([1.0, 2.0, None]),
        pl.Series([1, 2, 3], dtype=pl.UInt8),
        pl.Series([1, 2, 2**63], dtype=pl.UInt64),
        pl.Series(["1", "2"], dtype=pl.Categorical),
        pl.Series(["1", "2"], dtype=pl.Enum(["1", "2", "9"])),
        pl.Series([None, None], dtype=pl.Null),
        pa.array([1, 2, 3]),
        pa.array([1.0, 2.0, None]),
        pa.array([1, 2, None], pa.uint8()),
        pa.array([1, None, 2**63], pa.uint64()),
        pa.array(["1", "2"]).dictionary_encode(),
        pa.nulls(2),
    ],
    ids=lambda value: str(getattr(value, "dtype", getattr(value, "type", "schema"))),
)
def test_the_type_of_a_private_column_does_not_come_out(column: Any, schema: Any) -> None:
    """One missing value made floats of integers, and every released number got a decimal point."""
    made = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(column), pa.table)
    sample = Random().fit(made({"n": column}), schema, notify=lambda _: None).sample(60, seed=1)
    pandas = {id(WHOLE): np.dtype("int64"), id(GAPS): pd.Int64Dtype()}[id(schema)]
    expected = {pd.DataFrame: pandas, pl.DataFrame: pl.Int64, pa.Table: pa.int64()}[type(sample)]
    assert types_of(sample) == {"n": expected}


@pytest.mark.parametrize(
    ("kind", "missing", "pandas", "polars", "arrow"),
    [
        ({"kind": "date"}, "", "datetime64[s]", pl.Date, pa.date32()),
        ({"kind": "date", "format": "%d/%m/%Y"}, "?", "datetime64[s]", pl.Date, pa.date32()),
        ({"kind": "boolean"}, "", "boolean", pl.Boolean, pa.bool_()),
        ({"kind": "boolean", "values": ["no", "yes"]}, "", "str", pl.String, pa.string()),
        ({"kind": "categorical", "values": [1, 2]}, "", "Int64", pl.Int64, pa.int64()),
        ({"kind": "categorical", "values": [1.5, 2]}, "", "float64", pl.Float64, pa.float64()),
        ({"kind": "categorical", "values": ["a"]}, "?", "str", pl.String, pa.string()),
        ({"kind": "identifier"}, None, "int64", pl.Int64, pa.int64()),
        ({"kind": "identifier", "pattern": "P##"}, None, "str", pl.String, pa.string()),
        ({"kind": "text"}, None, "str", pl.String, pa.string()),
    ],
)
def test_each_kind_of_the_schema_has_one_type_per_library(
    kind: dict[str, Any], missing: str | None, pandas: str, polars: Any, arrow: Any
) -> None:
    bounds = {"min": "2020-01-01", "max": "2020-12-31"} if kind["kind"] == "date" else {}
    absent = {} if missing is None else {"missing": missing or True}
    schema = schema_of(x=kind | bounds | absent, y={"kind": "boolean"})
    wanted = pd.Series(["x"]).dtype if pandas == "str" else pd.api.types.pandas_dtype(pandas)
    for make, expected in ((pd.DataFrame, wanted), (pl.DataFrame, polars), (pa.table, arrow)):
        model = Random().fit(make({"x": [None], "y": [True]}), schema, notify=lambda _: None)
        for rows in (0, 1, 100):
            assert types_of(model.sample(rows, seed=1))["x"] == expected


@pytest.mark.parametrize("make", FRAMES)
def test_sampled_values_lie_in_the_domain_and_all_of_it_is_reached(make: Any) -> None:
    table, _ = as_table(Random().fit(make(), SCHEMA).sample(3000, seed=2))
    values = content(table)
    assert set(values["n"]) == set(range(101))
    assert set(values["m"]) == {None, 0, 1, 2, 3}
    assert set(values["b"]) == {True, False}
    assert set(values["w"]) == {"x", "y", "unseen"}
    assert None in values["r"]
    assert all(value is None or 0 <= value <= 1 for value in values["r"])
    assert None in values["t"]


@pytest.mark.parametrize("make", FRAMES)
def test_a_skewed_boolean_stays_skewed(make: Any) -> None:
    """A boolean that travels as text must not turn into "true" everywhere."""
    flags = [True] * 50 + [False] * 450
    frame = {
        "pandas_frame": lambda: pd.DataFrame({"b": flags}),
        "polars_frame": lambda: pl.DataFrame({"b": flags}),
    }.get(make.__name__, lambda: pa.table({"b": flags}))()
    for spelled in ({}, {"values": ["no", "yes"]}, {"values": [0, 1]}):
        schema = schema_of(b={"kind": "boolean", **spelled})
        sample = (
            Independent(epsilon=50.0).fit(frame, schema, noise=SeededNoise(0)).sample(1000, seed=0)
        )
        table, _ = as_table(sample)
        column = content(table)["b"]
        share = sum(value in (True, "yes", 1) for value in column) / 1000
        assert 0.07 < share < 0.13, spelled


def test_categories_of_a_private_column_do_not_come_out() -> None:
    schema = schema_of(w={"kind": "categorical", "values": ["x", "y"]})
    listed = pd.Categorical(["x", "secret", "x"], categories=["secret", "x", "also secret"])
    for frame in (
        pd.DataFrame({"w": listed}),
        pl.DataFrame({"w": pl.Series(["x", "secret"], dtype=pl.Enum(["secret", "x"]))}),
        pa.table({"w": pa.array(["x", "secret"]).dictionary_encode()}),
    ):
        model = Random().fit(frame, schema, notify=lambda _: None)
        sample = model.sample(100, seed=0)
        assert set(content(as_table(sample)[0])["w"]) == {"x", "y"}
        assert "secret" not in repr((model, model.to_dict(), model.library, types_of(sample)))


def test_nothing_else_that_a_frame_carries_comes_out() -> None:
    """Neither its index nor its notes nor its time zone: only the names of its columns, in
    order.
    """
    schema = schema_of(t={"kind": "datetime", "min": "2020-01-01", "max": "2020-12-31"})
    moments = pd.to_datetime(["2020-03-01", "2020-04-01"]).tz_localize("Asia/Tokyo")
    frame = pd.DataFrame({"t": moments}, index=["secret", "too"])
    frame.attrs["note"] = "secret"
    model = Random().fit(frame, schema)
    sample = model.sample(5, seed=0)
    assert sample.attrs == {}
    assert sample.index.tolist() == [0, 1, 2, 3, 4]
    assert sample["t"].dtype == np.dtype("datetime64[s]")
    noted = pa.table({"t": pa.array(moments)}).replace_schema_metadata({"note": "secret"})
    assert Random().fit(noted, schema).sample(5, seed=0).schema.metadata is None


def test_values_beyond_a_narrow_type_come_out() -> None:
    schema = schema_of(n={"kind": "integer", "min": -(10**10), "max": 10**10, "bins": 2})
    for frame in (
        pd.DataFrame({"n": pd.array([1, 2], dtype="int8")}),
        pl.DataFrame({"n": pl.Series([1, 2], dtype=pl.Int8)}),
        pa.table({"n": pa.array([1, 2], pa.int8())}),
    ):
        values = content(as_table(Random().fit(frame, schema).sample(500, seed=0))[0])["n"]
        assert max(values) > 2**32
        assert min(values) < -(2**32)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, float("inf"), float("-inf")], {"kind": "real", "min": 0, "max": 9, "bins": 3}),
        (
            [dt.datetime(2020, 1, 2), dt.datetime(2020, 11, 2)],
            {"kind": "date", "min": "2020-01-01", "max": "2020-12-31", "format": "%d/%m/%Y"},
        ),
        ([1, 2, 3], {"kind": "integer", "min": 0, "max": 9}),
    ],
)
def test_a_cell_has_the_code_of_its_value_in_a_column_of_mixed_types_too(
    values: list[Any], kind: dict[str, Any]
) -> None:
    """One odd row makes a pandas column one of objects; the others must be read as before."""
    schema = schema_of(x={**kind, "missing": True})

    def codes(cells: list[Any]) -> list[int]:
        return encode(as_table(pd.DataFrame({"x": cells}))[0], schema).codes["x"].tolist()

    assert codes([*values, "?"])[:-1] == codes(values)


def test_times_finer_than_microseconds_are_cut() -> None:
    array = pa.array([1_500_000_001, None], pa.timestamp("ns"))
    assert content(as_table(pa.table({"x": array}))[0])["x"] == [1, None]


@pytest.mark.parametrize(
    ("series", "values"),
    [
        (pd.Series(["b", "", None, "a"]), ["b", None, None, "a"]),
        (pd.Series(["b", "a"], dtype="string"), ["b", "a"]),
        (pd.Series([3, 5, 3], dtype="category"), [3, 5, 3]),
        (pd.Series([True, None, False], dtype="boolean"), [True, None, False]),
        (pd.Series([None, None]), [None, None]),
        (pd.Series([1, "x", 2.5]), ["1", "x", "2.5"]),
        (pd.Series([dt.datetime(1970, 1, 1, tzinfo=dt.UTC)]), [0]),
        (pd.Series(pd.to_datetime(["1970-01-02", None])), [86400, None]),
        (pd.Series([2**62, -1], dtype="int64"), [2**62, -1]),
    ],
)
def test_pandas_series_of_many_kinds_are_read(series: pd.Series, values: list[Any]) -> None:
    table, _ = as_table(pd.DataFrame({"x": series}))
    assert content(table)["x"] == values


@pytest.mark.parametrize(
    ("series", "values"),
    [
        (pl.Series(["b", "", None, "a"]), ["b", None, None, "a"]),
        (pl.Series([dt.date(1970, 1, 2), None]), [1, None]),
        (pl.Series([None, None]), [None, None]),
        (pl.Series(["1.25"]).cast(pl.Decimal(10, 2)), [1.25]),
        (pl.Series([True, None]), [True, None]),
    ],
)
def test_polars_series_of_many_kinds_are_read(series: pl.Series, values: list[Any]) -> None:
    table, _ = as_table(pl.DataFrame({"x": series}))
    assert content(table)["x"] == values


@pytest.mark.parametrize(
    ("array", "values"),
    [
        (pa.array(["b", "", None, "a"], pa.large_string()), ["b", None, None, "a"]),
        (pa.array([dt.date(1970, 1, 2), None]), [1, None]),
        (pa.nulls(2), [None, None]),
        (pa.array([True, None]), [True, None]),
        (pa.chunked_array([["a"], ["b", None]]), ["a", "b", None]),
        (
            pa.chunked_array(
                [pa.array(["a"]).dictionary_encode(), pa.array(["b"]).dictionary_encode()]
            ),
            ["a", "b"],
        ),
    ],
)
def test_arrow_arrays_of_many_kinds_are_read(array: Any, values: list[Any]) -> None:
    table, _ = as_table(pa.table({"x": array}))
    assert content(table)["x"] == values


@pytest.mark.parametrize("convert", [to_pandas, to_polars, to_arrow])
def test_a_table_becomes_a_frame_and_comes_back(convert: Any) -> None:
    table, _ = as_table(pandas_frame())
    again, _ = as_table(convert(table))
    assert content(again) == content(table)
    assert again.names == table.names


def test_a_boolean_comes_back_as_one_however_the_frame_wrote_it() -> None:
    frame = pd.DataFrame({"b": ["true", "false", "true"]})
    sample = Random().fit(frame, schema_of(b={"kind": "boolean"})).sample(50, seed=0)
    assert sample["b"].dtype == np.dtype("bool")
    assert set(sample["b"]) == {True, False}


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two columns named 'a'"):
        as_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(InputError, match="two columns named 'a'"):
        as_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]))


@pytest.mark.parametrize("frame", [pd.DataFrame(), pl.DataFrame(), pa.table({})])
def test_a_frame_without_columns_is_refused(frame: Any) -> None:
    with pytest.raises(InputError, match="no columns"):
        as_table(frame)


@pytest.mark.parametrize(
    "frame", [pd.DataFrame({"a": []}), pl.DataFrame({"a": []}), pa.table({"a": []})]
)
def test_a_frame_without_rows_is_a_table(frame: Any) -> None:
    """A refusal would tell that nobody is in it."""
    assert as_table(frame)[0].rows == 0


@pytest.mark.parametrize("thing", [[1, 2], {"a": [1]}, None, np.zeros((2, 2))])
def test_what_is_no_frame_is_refused_by_its_type(thing: Any) -> None:
    with pytest.raises(InputError, match=type(thing).__name__):
        as_table(thing)


def test_a_table_stays_a_table() -> None:
    table, _ = as_table(pandas_frame())
    assert as_table(table)[0] is table
    assert isinstance(as_frame(table, "table"), Table)


def test_one_complex_number_does_not_change_how_the_others_are_read() -> None:
    with_it = as_table(pd.DataFrame({"x": [1, 2, 1j]}))[0].columns["x"]
    attribute = Quantity("x", "integer", "", (0, 2, 10))
    assert CellEncoder(attribute, with_it).codes().tolist()[:2] == [0, 1]


def test_categories_that_are_written_alike_are_one_word() -> None:
    """1 and "1" are two categories. As two words, of which one is too rare to be counted, a row
    more could change the count of both by several.
    """
    values = pd.Series([1] * 5 + ["1"], dtype=pd.CategoricalDtype([1, "1"]))
    column = as_table(pd.DataFrame({"x": values}))[0].columns["x"]
    assert column.words == ("1",)
    words, counts = count_words(column)
    assert (words, counts.tolist()) == (["1"], [6])
