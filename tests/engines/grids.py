"""Numbers on a grid, tables to sum, and sums without noise, for every engine's tests."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from typing import Any

import numpy as np
from awkward import ATTRIBUTES, CELLS, Case

from understudy.data.marginals import marginal
from understudy.data.schema import Quantity, Schema
from understudy.data.value_classes import GridValues
from understudy.privacy.budget import Budget
from understudy.privacy.domain import Domain
from understudy.privacy.features import Number, indicators
from understudy.privacy.sums import Sum

STEPS = {
    "years": 1.0,
    "marked": 2.0,
    "measure": 2.0**-11,
    "tenths": 0.1,
    "day": 1.0,
    "last day": 64.0,
    "written day": 3.0,
    "number day": 1.0,
    "moment": 2.0**15,
    "clock": 60.0,
    "price": 0.5,
    "euros": 0.01,
}


def grids() -> dict[str, GridValues]:
    """Some of the awkward attributes, on a grid."""
    found = {}
    for name, step in STEPS.items():
        attribute = ATTRIBUTES[name]
        assert isinstance(attribute, Quantity)
        found[name] = GridValues(
            name,
            attribute.kind,
            attribute.missing or "",
            edges=attribute.edges,
            format=attribute.format,
            lower=float(attribute.edges[0]),
            upper=float(attribute.edges[-1]),
            grid_step=step,
        )
    return found


def every_grid_case() -> list[Case]:
    """All awkward cells, read as each grid."""
    longest = max(map(len, CELLS.values())) + 1
    cases = []
    for place, grid in enumerate(grids().values()):
        for kind, cells in CELLS.items():
            name = f"{kind} {place}"
            padded = [*cells, *[None] * (longest - len(cells))]
            cases.append(Case(name, replace(grid, name=name), kind, padded, grid.name))
    return cases


# --------------------------------------------------------------------------- tables to sum

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "whole": {"kind": "integer", "min": -20, "max": 60, "missing": "-9"},
            "real": {"kind": "real", "min": -1.5, "max": 2.5, "missing": True},
            "written": {"kind": "real", "min": 0, "max": 500, "format": "1.234,50 €"},
            "day": {"kind": "date", "min": "2000-01-01", "max": "2020-12-31"},
            "ward": {"kind": "categorical", "values": ["n", "s", "w"], "missing": True},
            "grade": {"kind": "categorical", "values": [1, 2, 3.5], "missing": "-9"},
            "yes": {"kind": "boolean"},
            "owner": {"kind": "text"},
        }
    }
)
TYPES = {
    "whole": "BIGINT",
    "real": "DOUBLE PRECISION",
    "written": "VARCHAR(40)",
    "day": "DATE",
    "ward": "VARCHAR(40)",
    "grade": "DOUBLE PRECISION",
    "yes": "BOOLEAN",
    "owner": "VARCHAR(40)",
}
WORDS = ["12,50 €", "1.499,00 €", "3 €", "n/a", "", "-8,00 €", "0012,25 €", "x"]


def rows_to_sum(rows: int, seed: int) -> list[tuple[Any, ...]]:
    """Rows with all that can be wrong with a cell."""
    rng = np.random.default_rng(seed)

    def pick(values: list[Any]) -> Any:
        return values[rng.integers(len(values))]

    reals = [0.0, -0.0, math.nan, math.inf, -math.inf, 1e300, 5e-324, 2.5, -1.5, None]
    return [
        (
            pick([int(rng.integers(-40, 90)), -9, 2**62, None]),
            pick([*reals, *rng.normal(0.5, 2.0, 20).tolist()]),
            pick([*WORDS, f"{rng.integers(1000)},{rng.integers(10, 99)} €"]),
            pick([dt.date(1990, 1, 1) + dt.timedelta(int(rng.integers(20_000))), None]),
            pick(["n", "s", "w", " n ", "?", "", None]),
            pick([1.0, 2.0, 3.5, 4.0, math.nan, -9.0, None]),
            pick([True, False, None]),
            pick(["a", "b", "c"]),
        )
        for _ in range(rows)
    ]


NUMBERS = [
    Number("whole", centre=10),
    Number("real", lower=-1.25, upper=2.25, centre=0.3),
    Number("written"),
    Number("day", lower=10_957, upper=18_000, centre=15_000),
    Number("grade"),
    Number("yes"),
]
MIXED = [Number("whole"), Number("real"), *indicators(SCHEMA, "ward")]
POINTS = [[-10.0, 0.0, 0, 0, 0, 0], [40.0, 1.0, 0, 1, 0, 0], [10.0, -1.0, 1, 0, 1, 0]]
CENTRES = np.random.default_rng(1).uniform(-10, 40, (2, 4, 2)) * [1, 0.05]

QUESTIONS: dict[str, dict[str, Any]] = {
    "all numbers": {"features": NUMBERS, "moments": "products"},
    "missing at the centre": {"features": NUMBERS, "moments": "squares", "missing": "centre"},
    "mixed, by group": {
        "features": MIXED,
        "moments": "products",
        "by": marginal("grade", "yes"),
        "missing": "centre",
    },
    "levels": {"features": [Number("real")], "by": marginal(("whole", 2))},
    "ball": {"features": NUMBERS, "moments": "products", "ball": 0.7},
    "nearest": {"features": MIXED, "nearest": POINTS, "moments": "squares", "ball": 0.4},
    "centres of groups": {
        "features": [Number("whole"), Number("real")],
        "by": marginal("yes", "ward"),
        "centres": CENTRES,
        "moments": "products",
        "missing": "centre",
    },
    "centres, complete, ball": {
        "features": [Number("whole"), Number("real")],
        "by": marginal("yes", "ward"),
        "centres": CENTRES,
        "ball": 0.3,
    },
    "along directions, by group": {
        "features": NUMBERS,
        "by": marginal("yes"),
        "moments": "products",
        "missing": "centre",
        "ball": 0.5,
        "directions": np.eye(len(NUMBERS))[1:] * 0.8 - 0.3,
    },
    "about centres, along a direction, together": {
        "features": [Number("whole"), Number("real")],
        "by": marginal("yes", "ward"),
        "centres": CENTRES,
        "moments": "products",
        "missing": "centre",
        "ball": 0.4,
        "directions": np.array([[0.6, -0.8]]),
        "pooled": True,
    },
}


def summations() -> dict[str, Any]:
    """What is summed, question by question."""
    domain = Domain(SCHEMA)
    found = {}
    for name, question in QUESTIONS.items():
        asked = Sum(budget=Budget(1.0), **question)
        asked.check(domain)
        found[name] = asked.summation(domain)
    return found


def lists_of(sums: Any) -> tuple[list[Any], ...]:
    return sums.counts.tolist(), sums.sums.tolist(), sums.moments.tolist()
