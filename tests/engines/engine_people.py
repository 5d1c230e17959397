"""A table with columns of every kind, and how to ask for the same model of it from anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from understudy import Model, Schema, Table
from understudy.data.tables import Column
from understudy.privacy.mechanisms import SeededNoise

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "id": {"kind": "identifier"},
            "age": {"kind": "integer", "min": 0, "max": 95, "bins": 8},
            "height": {"kind": "real", "min": 1.4, "max": 2.0, "bins": 6, "missing": True},
            "smoker": {"kind": "boolean"},
            "ward": {
                "kind": "categorical",
                "values": ["north", "south", "west", "east"],
                "taxonomy": [["north", "south"], ["west", "east"]],
                "missing": True,
            },
            "grade": {"kind": "categorical", "values": [1, 2, 3], "ordered": True},
            "born": {"kind": "date", "min": "1950-01-01", "max": "2009-12-31", "bins": 6},
            "seen": {
                "kind": "datetime",
                "min": "2020-01-01",
                "max": "2020-12-31 23:59:59",
                "bins": 4,
            },
            "notes": {"kind": "text"},
        }
    }
)

WARDS = ("attic", "east", "north", "south", "west")


def people(rows: int = 1500, seed: int = 0) -> Table:
    """Persons whose columns depend on each other; some values lie outside of the schema's domains, some
    are missing.
    """
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 105, rows)
    height = rng.normal(1.7, 0.1, rows) - (age < 15) * 0.3
    ward = np.where(rng.random(rows) < 0.9, 1 + age // 30 % 4, rng.integers(0, 5, rows)).astype(
        np.uint8
    )

    def absent(share: float) -> Any:
        return (rng.random(rows) < share).astype(np.uint8)

    return Table(
        {
            "id": Column("integer", np.arange(rows) // 2),
            "age": Column("integer", age),
            "height": Column("real", height, missing=absent(0.1)),
            "smoker": Column("boolean", rng.random(rows) < 0.2 + 0.5 * (age > 50)),
            "ward": Column("text", ward, WARDS, absent(0.05)),
            "grade": Column("integer", rng.integers(1, 4, rows), missing=absent(0.02)),
            "born": Column("date", 18262 - age * 365 + rng.integers(0, 365, rows)),
            "seen": Column("datetime", 1577836800 + rng.integers(-86400, 367 * 86400, rows)),
            "notes": Column("text", np.zeros(rows, np.uint8), ("likes tea",)),
        },
        "The people",
    )


def document_of(synthesizer: Any, table: Any, **options: Any) -> dict[str, Any]:
    """The model that the synthesizer learns with seeded noise, as it is saved."""
    model: Model = synthesizer.fit(
        table, SCHEMA, noise=SeededNoise(7), notify=lambda _: None, **options
    )
    return model.to_dict()


def saved(folder: Path, synthesizer: Any, table: Any, **options: Any) -> bytes:
    """The bytes of the model's file."""
    model: Model = synthesizer.fit(
        table, SCHEMA, noise=SeededNoise(7), notify=lambda _: None, **options
    )
    model.save(folder / "model.json")
    return (folder / "model.json").read_bytes()
