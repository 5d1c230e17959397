"""A made-up population for the attacks: attributes that depend on each other, some ordered, one
with gaps.
"""

from __future__ import annotations

import numpy as np

from understudy.data.encoding import Coded, encode
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "age": {"kind": "integer", "min": 0, "max": 99, "bins": 20},
            "town": {"kind": "categorical", "values": [f"t{number}" for number in range(30)]},
            "grade": {"kind": "categorical", "values": ["low", "middle", "high"], "ordered": True},
            "weight": {"kind": "real", "min": 0, "max": 150, "bins": 15, "missing": True},
            "ill": {"kind": "boolean", "values": ["no", "yes"]},
        }
    }
)
TOWNS = tuple(f"t{number}" for number in range(30))
GRADES = ("low", "middle", "high")


def people(rows: int, seed: int) -> Table:
    """A sample of the population."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(50, 20, rows).round(), 0, 99).astype(np.int64)
    town = np.minimum(rng.geometric(0.12, rows) - 1, 29)
    grade = np.minimum(age // 34, 2)
    absent = rng.random(rows) < 0.05
    ill = (rng.random(rows) < age / 150).astype(np.uint8)
    return Table(
        {
            "age": Column("integer", age),
            "town": Column("text", town.astype(np.uint8), TOWNS),
            "grade": Column("text", grade.astype(np.uint8), GRADES),
            "weight": Column("real", rng.normal(75, 15, rows), missing=absent.astype(np.uint8)),
            "ill": Column("text", ill, ("no", "yes")),
        }
    )


def coded(table: Table) -> Coded:
    return encode(table, SCHEMA)
