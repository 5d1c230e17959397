"""Small tables and schemas that several tests use."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.data.encoding import Coded, encode
from understudy.data.schema import Attribute, Schema
from understudy.data.tables import Column, Table
from understudy.data.time_formats import EPOCH


def words(*texts: str | None) -> Column:
    """A text column; ``None`` is missing."""
    known = sorted({text for text in texts if text is not None})
    if not known:
        return Column("empty", np.zeros(len(texts), dtype=np.int64), missing=_missing(texts))
    values = np.array([0 if text is None else known.index(text) for text in texts], dtype=np.uint32)
    return Column("text", values, tuple(known), _missing(texts))


def integers(*numbers: int | None) -> Column:
    """An integer column; ``None`` is missing."""
    values = np.array([0 if number is None else number for number in numbers], dtype=np.int64)
    return Column("integer", values, missing=_missing(numbers))


def reals(*numbers: float | None) -> Column:
    """A real column; ``None`` is missing."""
    values = np.array([0.0 if number is None else number for number in numbers], dtype=np.float64)
    return Column("real", values, missing=_missing(numbers))


def booleans(*flags: bool | None) -> Column:
    """A boolean column; ``None`` is missing."""
    return Column("boolean", np.array([bool(flag) for flag in flags]), missing=_missing(flags))


def dates(*days: str | None) -> Column:
    """A date column from ISO dates; ``None`` is missing."""
    numbers = [0 if day is None else (dt.datetime.fromisoformat(day) - EPOCH).days for day in days]
    return Column("date", np.array(numbers, dtype=np.int64), missing=_missing(days))


def datetimes(*moments: str | None) -> Column:
    """A datetime column from ISO datetimes; ``None`` is missing."""
    numbers = [
        0 if moment is None else int((dt.datetime.fromisoformat(moment) - EPOCH).total_seconds())
        for moment in moments
    ]
    return Column("datetime", np.array(numbers, dtype=np.int64), missing=_missing(moments))


def _missing(values: Sequence[Any]) -> Any:
    absent = np.array([value is None for value in values], dtype=np.uint8)
    return absent if absent.any() else None


def schema_of(**attributes: dict[str, Any]) -> Schema:
    """A schema from keyword arguments."""
    return Schema.from_dict({"attributes": attributes})


def attribute(**entry: Any) -> Attribute:
    """A single attribute called x."""
    return schema_of(x=entry)["x"]


def values_of(column: Column) -> list[Any]:
    """The values of a column as Python objects, ``None`` where missing."""
    plain = (
        [column.words[place] for place in column.values]
        if column.kind == "text"
        else column.values.tolist()
    )
    absent = np.zeros(len(column), dtype=bool) if column.missing is None else column.missing > 0
    return [None if gone else value for value, gone in zip(plain, absent, strict=True)]


def content(table: Table) -> dict[str, list[Any]]:
    """All values of a table, column by column."""
    return {name: values_of(column) for name, column in table.columns.items()}


EVERY_KIND = {
    "id": {"kind": "identifier", "pattern": "P-####"},
    "age": {"kind": "integer", "min": 0, "max": 95, "bins": 16},
    "height": {"kind": "real", "min": 1.0, "max": 2.2, "bins": 12, "decimals": 2},
    "smoker": {"kind": "boolean", "missing": True},
    "ward": {
        "kind": "categorical",
        "values": ["north", "south", "west"],
        "other": "elsewhere",
        "missing": "?",
    },
    "grade": {"kind": "categorical", "values": [1, 2, 3], "ordered": True},
    "born": {"kind": "date", "min": "1920-01-01", "max": "2019-12-31", "bins": 10, "missing": True},
    "seen": {"kind": "datetime", "min": "2020-01-01", "max": "2020-12-31 23:59:59", "bins": 12},
    "notes": {"kind": "text"},
}


def every_kind_schema() -> Schema:
    """One attribute of each kind."""
    return Schema.from_dict({"attributes": EVERY_KIND})


def every_kind_table() -> Table:
    """Five rows of ``every_kind_schema``."""
    return Table(
        {
            "id": integers(11, 12, 13, 14, 15),
            "age": integers(0, 30, 31, 60, 95),
            "height": reals(1.0, 1.55, 1.70, 1.85, 2.2),
            "smoker": booleans(True, False, None, True, False),
            "ward": words("north", "west", None, "attic", "south"),
            "grade": integers(1, 2, 3, 3, 1),
            "born": dates("1920-01-01", "1980-02-29", None, "2019-12-31", "1999-09-09"),
            "seen": datetimes(
                "2020-01-01 00:00:00",
                "2020-02-29 12:30:01",
                "2020-12-31 23:59:59",
                "2020-06-01 00:00:00",
                "2020-07-04 04:05:06",
            ),
            "notes": words("likes tea", "", "fell", "secret", "x"),
        }
    )


def coded(rows: int = 1000, seed: int = 0) -> Coded:
    """Rows of three attributes: a (2 values), b (3 values, depends on a) and c (8 ordered
    values).
    """
    rng = np.random.default_rng(seed)
    a = rng.random(rows) < 0.3
    b = np.where(rng.random(rows) < 0.7, a.astype(int), rng.integers(0, 3, rows))
    c = rng.binomial(7, 0.4, rows)
    table = Table({"a": Column("boolean", a), "b": Column("integer", b), "c": Column("integer", c)})
    return encode(table, small_schema())


def small_schema() -> Schema:
    """The schema of ``coded``."""
    return schema_of(
        a={"kind": "boolean"},
        b={"kind": "categorical", "values": [0, 1, 2]},
        c={"kind": "integer", "min": 0, "max": 7},
    )
