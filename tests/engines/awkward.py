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
from understudy.errors import InputError

REFUSED = "refused"

ATTRIBUTES: dict[str, Attribute] = {
    name: attribute(**entry)
    for name, entry in {
        "years": {"kind": "integer", "min": 0, "max": 95, "bins": 16},
        "marked": {"kind": "integer", "edges": [-5, 0, 1, 7, 8, 100], "missing": "-99"},
        "single": {"kind": "integer", "min": 3, "max": 3},
        "measure": {"kind": "real", "min": -1.0, "max": 2.5, "bins": 7, "missing": True},
        "tenths": {"kind": "real", "edges": [0.1, 0.2, 0.3, 0.7], "missing": "NA"},
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
            "'; DROP TABLE x; --",
            'a "quoted" one',
            "back\\slash",
            "line\nbreak",
            "🙂",
            "1\n",
        ),
    ],
    "real": [*_NUMBERS, *_EXTREMES, math.nan],
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


def in_memory(named: Attribute, kind: str, cells: Sequence[Any]) -> list[int] | str:
    """The codes that the encoder in memory gives, or that it refuses."""
    table = Table({"x": column_of(kind, cells)}, "T")
    try:
        codes: list[int] = encode(table, Schema((named,))).codes["x"].tolist()
    except InputError:
        return REFUSED
    return codes


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


def accepted_cases() -> list[Case]:
    """For each attribute and each kind of column that goes with it, all cells that it takes."""
    cases = []
    for place, (read_as, named) in enumerate(ATTRIBUTES.items()):
        for kind, cells in CELLS.items():
            if in_memory(named, kind, [None]) == REFUSED:
                continue
            taken = [cell for cell in cells if in_memory(named, kind, [cell]) != REFUSED]
            name = f"{kind} {place}"
            cases.append(Case(name, replace(named, name=name), kind, [*taken, None], read_as))
    longest = max(len(case.cells) for case in cases)
    return [
        replace(case, cells=[*case.cells, *[None] * (longest - len(case.cells))]) for case in cases
    ]


def refused_cases() -> list[Case]:
    """Columns that the encoder in memory refuses: by their kind, or for a cell."""
    cases = []
    for named in ATTRIBUTES.values():
        for kind, cells in CELLS.items():
            refused = [cell for cell in cells if in_memory(named, kind, [cell]) == REFUSED]
            if refused:
                fine = [cell for cell in cells if cell not in refused]
                cases += [
                    Case("x", named, kind, [*fine, cell])
                    for cell in refused[:: max(1, len(refused) // 2)]
                ]
    return cases


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
        coded = EngineTable(engine).coded(Schema((place, *(case.attribute for case in cases))))
        found = {}
        for case, cuboid in zip(
            cases, coded.grouped([("place", case.name) for case in cases]), strict=True
        ):
            assert cuboid.weights.tolist() == [1] * rows
            codes = dict(
                zip(cuboid.codes["place"].tolist(), cuboid.codes[case.name].tolist(), strict=True)
            )
            found[case.name] = [codes[i] for i in range(rows)]
        return found, [str(outside) for outside in coded.outside]
    finally:
        engine.close()
