"""Frames of pandas, polars and Arrow in and out: same library, same columns, same types."""

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
from understudy.curator.mechanisms import SeededNoise
from understudy.frames import Likeness, as_table, like, to_arrow, to_pandas, to_polars

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


def types_of(frame: Any) -> dict[str, Any]:
    if isinstance(frame, pd.DataFrame):
        return {
            n: "category" if isinstance(t, pd.CategoricalDtype) else t
            for n, t in frame.dtypes.items()
        }
    if isinstance(frame, pl.DataFrame):
        return dict(frame.schema)
    return {
        f.name: "dictionary" if pa.types.is_dictionary(f.type) else f.type for f in frame.schema
    }


@pytest.mark.parametrize("make", FRAMES)
def test_a_frame_is_read_with_its_kinds_and_missing_values(make: Any) -> None:
    table, likeness = as_table(make())
    assert likeness.library == make.__name__.split("_")[0]
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
def test_the_sample_has_the_library_columns_and_types_of_the_frame(
    make: Any, backwards: bool
) -> None:
    frame = make()
    names = list(SCHEMA.names)[:: -1 if backwards else 1]
    frame = frame.select(names) if not isinstance(frame, pd.DataFrame) else frame[names]
    sample = Random().fit(frame, SCHEMA).sample(200, seed=1)
    assert type(sample) is type(frame)
    assert list(types_of(sample).items()) == list(types_of(frame).items())


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


def test_the_categories_of_a_pandas_column_do_not_come_out() -> None:
    frame = pd.DataFrame(
        {"w": pd.Categorical(["x", "secret", "x"], categories=["secret", "x", "also secret"])}
    )
    schema = schema_of(w={"kind": "categorical", "values": ["x", "y"]})
    model = Random().fit(frame, schema, notify=lambda _: None)
    sample = model.sample(100, seed=0)
    assert isinstance(sample["w"].dtype, pd.CategoricalDtype)
    assert set(sample["w"].cat.categories) == {"x", "y"}
    assert "secret" not in repr(model.to_dict())


def test_the_categories_of_polars_and_arrow_columns_do_not_come_out() -> None:
    schema = schema_of(w={"kind": "categorical", "values": ["x", "y"]})
    enum = pl.DataFrame({"w": pl.Series(["x", "secret"], dtype=pl.Enum(["secret", "x"]))})
    sample = Random().fit(enum, schema, notify=lambda _: None).sample(100, seed=0)
    assert "secret" not in str(sample.schema)
    assert set(sample["w"].to_list()) == {"x", "y"}
    encoded = pa.table({"w": pa.array(["x", "secret"]).dictionary_encode()})
    sample = Random().fit(encoded, schema, notify=lambda _: None).sample(100, seed=0)
    assert set(sample["w"].combine_chunks().dictionary.to_pylist()) == {"x", "y"}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "UInt8"])
def test_a_type_that_is_too_small_for_the_domain_gives_way(dtype: str) -> None:
    frame = pd.DataFrame({"n": pd.array([1, 2], dtype=dtype)})
    schema = schema_of(n={"kind": "integer", "min": -(10**10), "max": 10**10, "bins": 2})
    values = Random().fit(frame, schema).sample(500, seed=0)["n"]
    assert values.abs().max() > 2**32
    assert values.min() < 0


def test_a_polars_or_arrow_type_that_is_too_small_for_the_domain_gives_way() -> None:
    schema = schema_of(n={"kind": "integer", "min": 0, "max": 10**10, "bins": 2})
    frame = pl.DataFrame({"n": pl.Series([1, 2], dtype=pl.Int8)})
    values = Random().fit(frame, schema).sample(500, seed=0)["n"]
    assert values.null_count() == 0
    table = Random().fit(pa.table({"n": pa.array([1, 2], pa.int8())}), schema).sample(500, seed=0)
    assert table["n"].null_count == 0


def test_integers_with_gaps_in_a_float_column_come_back_as_floats() -> None:
    frame = pd.DataFrame({"n": [1.0, np.nan, 2.0]})
    schema = schema_of(n={"kind": "integer", "min": 1, "max": 2, "missing": True})
    sample = Random().fit(frame, schema).sample(300, seed=0)
    assert sample["n"].dtype == np.float64
    assert set(sample["n"].dropna()) == {1.0, 2.0}
    assert sample["n"].isna().any()


def test_missing_values_in_a_plain_integer_column_widen_it() -> None:
    frame = pd.DataFrame({"n": np.array([1, 2], dtype=np.int32)})
    sample = (
        Random()
        .fit(frame, schema_of(n={"kind": "integer", "min": 1, "max": 2, "missing": True}))
        .sample(300, seed=0)
    )
    assert sample["n"].isna().any()
    assert set(sample["n"].dropna()) == {1, 2}


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


def test_texts_of_a_boolean_column_come_back_as_texts() -> None:
    frame = pd.DataFrame({"b": ["true", "false", "true"]})
    sample = Random().fit(frame, schema_of(b={"kind": "boolean"})).sample(50, seed=0)
    assert set(sample["b"]) == {"true", "false"}
    assert sample["b"].dtype == frame["b"].dtype


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
def test_a_frame_without_rows_is_refused(frame: Any) -> None:
    with pytest.raises(InputError, match="no rows"):
        as_table(frame)


@pytest.mark.parametrize("thing", [[1, 2], {"a": [1]}, None, np.zeros((2, 2))])
def test_what_is_no_frame_is_refused_by_its_type(thing: Any) -> None:
    with pytest.raises(InputError, match=type(thing).__name__):
        as_table(thing)


def test_a_table_stays_a_table() -> None:
    table, _ = as_table(pandas_frame())
    assert as_table(table)[0] is table
    assert isinstance(like(table, Likeness()), Table)
