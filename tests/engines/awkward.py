"""Cells that are easy to get wrong, attributes to read them by, and both ways to turn them into
codes.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from examples import attribute, booleans, dates, datetimes, integers, words
from understudy.data.encoding import encode
from understudy.data.schema import Attribute, Quantity, Schema
from understudy.data.tables import Column, Table
from understudy.engines import Engine
from understudy.engines.rows import EngineTable

ATTRIBUTES: dict[str, Attribute] = {
    name: attribute(**entry)
    for name, entry in {
        "years": {"kind": "integer", "min": 0, "max": 95, "bins": 16},
        "marked": {"kind": "integer", "edges": [-5, 0, 1, 7, 8, 100], "missing": "-99"},
        "single": {"kind": "integer", "min": 3, "max": 3},
        "measure": {"kind": "real", "min": -1.0, "max": 2.5, "bins": 7, "missing": True},
        "tenths": {"kind": "real", "edges": [0.1, 0.2, 0.3, 0.7], "missing": "NA"},
        "hundreds": {"kind": "integer", "edges": [-300, 50, 450, 1001], "step": 100},
        "fives": {"kind": "integer", "edges": [0, 5, 11, 45], "step": 5, "missing": "-99"},
        "quarters": {"kind": "real", "edges": [-1, 0.2, 0.5, 2.25], "step": 0.25},
        "hundredths": {"kind": "real", "edges": [0.1, 0.2, 0.3, 0.7], "step": 0.01},
        "listed": {"kind": "integer", "edges": [1, 2, 8, 100], "values": [1, 2, 7, 8, 99]},
        "doses": {"kind": "real", "edges": [0, 0.5, 1.5, 2.5], "values": [0.25, 0.5, 1.5, 2.5]},
        "sevenths": {"kind": "date", "min": "2000-01-01", "max": "2020-12-31", "step": 7},
        "many": {"kind": "integer", "min": -1000, "max": 1000, "bins": 300},
        "day": {
            "kind": "date",
            "min": "1999-12-31",
            "max": "2020-12-31",
            "bins": 5,
            "missing": True,
        },
        "last day": {"kind": "date", "min": "1000-01-01", "max": "9999-12-31", "bins": 3},
        "written day": {
            "kind": "date",
            "min": "2000-01-01",
            "max": "2020-12-31",
            "bins": 4,
            "format": "%d/%m/%Y",
        },
        "number day": {
            "kind": "date",
            "min": "2000-01-01",
            "max": "2020-12-31",
            "bins": 4,
            "format": "%Y%m%d",
        },
        "moment": {
            "kind": "datetime",
            "min": "2000-01-01",
            "max": "2020-12-31 23:59:59",
            "bins": 9,
            "missing": "?",
        },
        "with a T": {
            "kind": "datetime",
            "min": "2000-01-01",
            "max": "2020-01-01 12:29:59",
            "bins": 9,
            "format": "%Y-%m-%dT%H:%M:%S",
        },
        "clock": {"kind": "time", "bins": 24, "missing": True},
        "half day clock": {"kind": "time", "min": "08:00", "bins": 9, "format": "%-I:%M %p"},
        "price": {"kind": "real", "min": 0, "max": 5000, "bins": 9, "format": "$1,234.50"},
        "euros": {
            "kind": "real",
            "min": -2000,
            "max": 2000,
            "bins": 9,
            "format": "1.234,50 €",
            "missing": "-99",
        },
        "grouped": {"kind": "integer", "min": 0, "max": 5000, "bins": 9, "format": "1 234"},
        "swiss": {"kind": "integer", "min": 0, "max": 5000, "bins": 9, "format": "1'234"},
        "laboratory": {
            "kind": "real",
            "min": 0,
            "max": 3000,
            "bins": 9,
            "format": "<0.5 or 12.5 or >1234",
        },
        "signed": {"kind": "integer", "min": -99, "max": 5000, "bins": 9, "format": "+12"},
        "share": {"kind": "real", "min": 0, "max": 100, "bins": 9, "format": "12.5%"},
        "named day": {
            "kind": "date",
            "min": "2000-01-01",
            "max": "2020-12-31",
            "bins": 4,
            "format": "%B %-d, %Y",
            "missing": "2020-01-01",
        },
        "written moment": {
            "kind": "datetime",
            "min": "2000-01-01",
            "max": "2020-12-31 23:59:59",
            "bins": 900,
            "format": "%d.%m.%Y %H:%M:%S",
            "missing": "31.12.2019 00:00:00",
        },
        "zoned": {
            "kind": "datetime",
            "min": "2000-01-01",
            "max": "2020-12-31 23:59:59",
            "bins": 900,
            "format": "%Y-%m-%dT%H:%M:%S+02:00",
        },
        "any zone": {
            "kind": "datetime",
            "min": "2000-01-01",
            "max": "2020-12-31 23:59:59",
            "bins": 900,
            "format": "%Y-%m-%d %H:%M:%S%z",
            "missing": True,
        },
        "last of days": {
            "kind": "date",
            "min": "1990-01-01",
            "max": "2020-12-31",
            "bins": 4,
            "missing": "9999-12-31",
        },
        "truth": {"kind": "boolean"},
        "truth or not": {"kind": "boolean", "missing": True},
        "answer": {"kind": "boolean", "values": ["no", "YES"], "missing": "?"},
        "digit": {"kind": "boolean", "values": ["0", "1"]},
        "ward": {
            "kind": "categorical",
            "values": ["north", "south", "west"],
            "other": "elsewhere",
            "missing": "?",
        },
        "plain": {"kind": "categorical", "values": ["north", "é", " padded ", "NA"]},
        "grade": {"kind": "categorical", "values": [1, 2, 3.5, -0.0], "missing": "-99"},
        "code": {"kind": "categorical", "values": ["1", "02", "3.0", "1e3", "x"], "other": "x"},
        "spelling": {"kind": "categorical", "values": ["True", "False", "maybe"], "missing": True},
        "date as text": {
            "kind": "categorical",
            "values": ["2020-01-01", "2020-01-01 00:00:00", "x"],
            "missing": True,
        },
        "constant": {"kind": "categorical", "values": ["only"]},
    }.items()
}

_NUMBERS = [
    0.0,
    -0.0,
    1.0,
    2.0,
    3.0,
    3.5,
    -99.0,
    0.1,
    0.2,
    0.1 + 0.2,
    0.3,
    0.7,
    2.5,
    math.nextafter(2.5, 3),
    -1.0,
]
_BETWEEN = [
    *(17.5, 17.499999999999996, -0.5, 0.49999999999999994, 94.5, 95.5, 2.5, 4.5, 7.5, 12.4, 44.5),
    *(50.0, 49.5, 49.0, -50.0, -350.0, 0.125, 0.375, 0.195, 0.205, 0.295, 1.0000001, 53.5, 1050.0),
]
"""Between values of a grid, and half-way between two of them."""
_EXTREMES = [
    95.0,
    96.0,
    96.5,
    -5.0,
    -6.0,
    1e3,
    1e300,
    -1e300,
    math.inf,
    -math.inf,
    20200131.0,
    20201340.0,
    2.0**53,
]

CELLS: dict[str, list[Any]] = {
    "text": [
        *map(repr, _BETWEEN),
        *("$17.50", "17,5 €", "17.5%", "1 017.5"),
        *(
            "north",
            "North",
            " north ",
            "north\t",
            "\u00a0west",
            "elsewhere",
            "é",
            "e\u0301",
            " padded ",
            "padded",
            "?",
        ),
        *(
            "",
            " ",
            "NA",
            " NA ",
            "null",
            "-",
            "1",
            "01",
            "1.0",
            "+1",
            "02",
            "2",
            "3.0",
            "1e3",
            "1000",
            "x",
            "X",
            "only",
        ),
        *(
            "true",
            "TRUE",
            " True",
            "False",
            "yes",
            "YES",
            "no",
            "maybe",
            "-99",
            "-99.0",
            " -99 ",
            "0",
            "-0",
            "96",
            "95",
        ),
        *(
            "0.1",
            "0.30000000000000004",
            "2.5",
            ".5",
            "5.",
            "12345678901234567890",
            "1e308",
            "1e999",
            "nan",
            "inf",
            "1_0",
        ),
        *(
            "0.29999999999999998",
            "0.19999999999999999999999",
            "+.7e-0",
            "1.e-1",
            "7E+01",
            "1e-99",
            "1e-400",
            "+5",
            "e5",
        ),
        *(
            "999999999999999999",
            "2020-01-01T12:29:59",
            "2020-01-01T12:29",
            "2020-12-31T23:59:59.999999",
        ),
        *(
            "2020-12-31 23:59:59.9999999",
            "2020-01-01T1:02:03",
            "2020-01-01T12:30:60",
            "2021-01-01T24:00:00",
        ),
        *(
            "2020-01-01",
            "2020-01-01 00:00:00",
            "2020-01-01T12:30:00",
            "2020-01-01 12:30",
            "2020-02-30",
            "1066-10-14",
        ),
        *(
            "2020-12-31 23:59:59",
            "2020-12-31 23:59:59.9",
            "2021-01-01 24:00:00",
            "0000-01-01",
            "20200131",
            "31/12/2019",
        ),
        *(
            "31/12/2019 ",
            "1/2/2003",
            "$1,234.50",
            "-$5",
            "$-5",
            "($1,234)",
            "$ 12",
            "1,234",
            "1,2345",
            "1.234,50 €",
            "1.234,50€",
            "-99 €",
            "1.234",
            "1 234",
            "1\u00a0234",
            "1'234",
            "0012",
            "12.5%",
            "12,5 %",
            "<0.5",
            "< 0.5",
            "<0.3",
            ">1234",
            "+12",
            "+0",
            "100 %",
            "n/a",
            "unknown",
            "January 5, 2020",
            "january 05, 2020",
            "Jan 5, 2020",
            "February 30, 2020",
            "31.12.2019 00:00:00",
            "31.12.2019 10:59:00",
            "31.02.2019 10:59:00",
            "2019-12-31T10:00:00+02:00",
            "2019-12-31T10:00:00Z",
            "2019-12-31 23:00:00-0500",
            "2019-12-31 23:00:00+99:00",
            "9999-12-31",
            "9:30",
            "09:30:59",
            "9:30 AM",
            "12:00 am",
            "24:00",
            "noon",
            "'; DROP TABLE x; --",
            'a "quoted" one',
            "back\\slash",
            "line\nbreak",
            "🙂",
            "1\n",
        ),
    ],
    "real": [*_NUMBERS, *_EXTREMES, *_BETWEEN, math.nan],
    "integer": [0, 1, 2, 3, -99, 95, 96, -5, -6, 100, 1000, 20200131, 2**53, 2**62, -(2**62)],
    "boolean": [True, False],
    "date": [
        dt.date(2020, 1, 1),
        dt.date(1999, 12, 31),
        dt.date(1066, 10, 14),
        dt.date(9999, 12, 31),
    ],
    "datetime": [
        dt.datetime(2020, 1, 1),
        dt.datetime(2020, 1, 1, 0, 0, 0, 500_000),
        dt.datetime(1999, 12, 31, 23, 59, 59, 999_999),
        dt.datetime(2020, 12, 31, 23, 59, 59, 999_999),
        dt.datetime(1066, 10, 14, 12),
        dt.datetime(9999, 12, 31, 23, 59, 59),
    ],
}


def column_of(kind: str, cells: Sequence[Any]) -> Column:
    if kind == "text":
        return words(*cells)
    if kind == "integer":
        return integers(*cells)
    if kind == "boolean":
        return booleans(*cells)
    if kind == "date":
        return dates(*(None if cell is None else cell.isoformat() for cell in cells))
    if kind == "datetime":
        return datetimes(
            *(None if cell is None else cell.replace(microsecond=0).isoformat() for cell in cells)
        )
    absent = np.array([cell is None or math.isnan(cell) for cell in cells], dtype=np.uint8)
    values = np.array([0.0 if gone else cell for cell, gone in zip(cells, absent, strict=True)])
    return Column("real", values, missing=absent if absent.any() else None)


@dataclass(frozen=True)
class Case:
    """A column of cells, and what it is to be read as."""

    name: str
    attribute: Attribute
    kind: str
    cells: Sequence[Any]
    read_as: str = ""
    """Which of the attributes it is."""


def every_case() -> list[Case]:
    """All cells of each kind of column, read as each attribute."""
    cases = []
    for place, (read_as, named) in enumerate(ATTRIBUTES.items()):
        for kind, cells in CELLS.items():
            name = f"{kind} {place}"
            cases.append(Case(name, replace(named, name=name), kind, [*cells, None], read_as))
    longest = max(len(case.cells) for case in cases)
    return [
        replace(case, cells=[*case.cells, *[None] * (longest - len(case.cells))]) for case in cases
    ]


def expected(cases: Sequence[Case]) -> tuple[dict[str, list[int]], list[str]]:
    """The codes of the cases, and what the owner is told, by the encoder in memory."""
    table = Table({case.name: column_of(case.kind, case.cells) for case in cases}, "T")
    coded = encode(table, Schema(tuple(case.attribute for case in cases)))
    return {name: codes.tolist() for name, codes in coded.codes.items()}, [
        str(outside) for outside in coded.outside
    ]


def by_engine(engine: Engine, cases: Sequence[Case]) -> tuple[dict[str, list[int]], list[str]]:
    """The same by an engine, whose table has a column more: ``place`` numbers its rows."""
    rows = len(cases[0].cells)
    place = Quantity("place", "integer", None, tuple(range(rows + 1)))
    try:
        coded = EngineTable(engine).encode(Schema((place, *(case.attribute for case in cases))))
        found = {}
        for case, cuboid in zip(
            cases, coded.group([("place", case.name) for case in cases]), strict=True
        ):
            assert cuboid.weights.tolist() == [1] * rows
            codes = dict(
                zip(cuboid.codes["place"].tolist(), cuboid.codes[case.name].tolist(), strict=True)
            )
            found[case.name] = [codes[i] for i in range(rows)]
        return found, [str(outside) for outside in coded.outside]
    finally:
        engine.close()
