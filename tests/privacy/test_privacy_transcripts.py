"""What discovery, refinement and methods ask for, with which noise, at which price, and what they
find (see tests/transcripts.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from transcripts import compare, digest, record, show
from understudy import (
    MST,
    Adaptive,
    Independent,
    Ledger,
    Marginals,
    PerturbedHistogram,
    PrivBayes,
    Schema,
    SmoothedHistogram,
)
from understudy.data.encoding import encode
from understudy.data.frames import as_table
from understudy.data.tables import Column, Table
from understudy.privacy.discovery import discover
from understudy.privacy.refinement import refine


def table(rows: int) -> Any:
    """Columns of every kind, most with odd cells among them."""
    rng = np.random.default_rng(5)
    days = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), unit="D")
    seen = days + pd.to_timedelta(rng.integers(0, 96, rows) * 15, unit="min")
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 91, rows),
            "debt": np.where(rng.random(rows) < 0.5, 0, -rng.gamma(2, 3000, rows).round(2)),
            "hours": np.where(rng.random(rows) < 0.45, 40, rng.integers(1, 100, rows)),
            "loan": np.maximum(rng.lognormal(5.2, 0.6, rows).astype(int), 11) * 100,
            "ward": rng.choice(["north", "south", "west"], rows, p=[0.5, 0.3, 0.2]),
            "smoker": rng.choice(["yes", "no", ""], rows, p=[0.3, 0.6, 0.1]),
            "price": [f"{1000 + 10 * n:,}" for n in rng.integers(0, 900, rows).tolist()],
            "opened": days.strftime("%d/%m/%Y"),
            "seen": seen.strftime("%Y-%m-%d %H:%M"),
            "visit": seen.strftime("%Y-%m-%d %H:%M"),
            "note": [f"{n} words" for n in range(rows)],
        }
    )
    frame.loc[: rows // 10, "age"] = 0
    frame.loc[:3, "ward"] = "rare"
    frame["rating"] = np.where(rng.random(rows) < 0.4, np.nan, rng.integers(1, 6, rows))
    return as_table(frame)[0]


SCHEMA: dict[str, Any] = {
    "age": {"kind": "integer", "min": 0, "max": 99, "missing": True},
    "debt": {"kind": "real", "min": -50_000, "max": 0, "missing": True},
    "hours": {"kind": "integer", "min": 0, "max": 99, "bins": 5, "missing": True},
    "loan": {"kind": "integer", "min": 0, "max": 99_999, "missing": True},
    "opened": {"kind": "date", "min": "2015-01-01", "max": "2017-12-31", "format": "%d/%m/%Y"},
    "seen": {"kind": "datetime", "min": "2015-01-01", "max": "2017-12-31"},
    "visit": {"kind": "datetime", "min": "2015-01-01", "max": "2017-12-31", "step": 900},
    "rating": {"kind": "integer", "min": 1, "max": 5, "missing": True},
}
LEDGERS: dict[str, Any] = {
    "epsilon": lambda amount: Ledger(amount, 1e-9, threshold_delta=1e-9),
    "rho": lambda amount: Ledger(amount, 2e-9, "add_remove", "rho", threshold_delta=1e-9),
    "replace": lambda amount: Ledger(amount, 1e-9, "replace", threshold_delta=1e-9),
}


@pytest.mark.parametrize("amount", [0.5, 8.0])
@pytest.mark.parametrize("terms", LEDGERS)
def test_what_discovery_asks_and_finds(terms: str, amount: float) -> None:
    ledger = LEDGERS[terms](amount)
    with record() as noise:
        schema = discover(table(3000), ledger, ledger.budget, 1e-9, noise)
    compare(f"discovery-{terms}-{amount:g}", [*noise.lines, *lines_of(schema)])


@pytest.mark.parametrize("amount", [0.1, 4.0])
@pytest.mark.parametrize("terms", LEDGERS)
def test_what_refinement_asks_and_finds(terms: str, amount: float) -> None:
    ledger = LEDGERS[terms](amount)
    schema = Schema.from_dict({"attributes": SCHEMA})
    columns = table(3000).columns
    rows = Table({name: columns[name] for name in SCHEMA})
    with record() as noise:
        found = refine(schema, lambda known: encode(rows, known), ledger, ledger.budget, noise)
    compare(f"refinement-{terms}-{amount:g}", [*noise.lines, *lines_of(found)])


METHODS: dict[str, Any] = {
    "independent": Independent(epsilon=1.0, neighbours="replace"),
    "marginals": Marginals(epsilon=1.0, marginals=[["hours", "ward"], ["smoker"]], delta=1e-6),
    "mst": MST(epsilon=1.0),
    "mst-delta": MST(epsilon=1.0, delta=1e-6, neighbours="replace"),
    "adaptive": Adaptive.fast(epsilon=2.0, max_cells=20_000),
    "adaptive-delta": Adaptive.fast(epsilon=2.0, delta=1e-6, neighbours="replace"),
    "privbayes": PrivBayes(epsilon=2.0),
    "privbayes-replace": PrivBayes(epsilon=2.0, neighbours="replace", score="I"),
    "privbayes-hierarchical": PrivBayes(epsilon=2.0, encoding="hierarchical", delta=1e-6),
    "privbayes-gray": PrivBayes(epsilon=2.0, encoding="gray", score="F", degree=2),
    "privbayes-paper": PrivBayes.paper(2.0, degree=2, encoding="binary"),
    "perturbed-histogram": PerturbedHistogram(epsilon=1.0),
    "smoothed-histogram": SmoothedHistogram(epsilon=5.0, draws=40),
}
FEW: dict[str, Any] = {
    "hours": {"kind": "integer", "min": 0, "max": 99, "bins": 5},
    "ward": {"kind": "categorical", "values": ["north", "south", "west"]},
    "smoker": {"kind": "boolean", "missing": True},
}
PERSONS = ("privbayes", "mst", "perturbed-histogram")


def thrice(column: Column) -> Column:
    """Rows of a person that are alike: which of them are kept makes no difference."""
    missing = column.missing
    if missing is not None:
        missing = np.repeat(missing, 3)
    return replace(column, values=np.repeat(column.values, 3), missing=missing)


@pytest.mark.parametrize(
    ("name", "persons"),
    [*((name, False) for name in METHODS), *((name, True) for name in PERSONS)],
)
def test_what_a_method_asks_and_finds(name: str, persons: bool) -> None:
    columns = dict(table(400).columns)
    facts, method = dict(FEW), METHODS[name]
    if persons:
        columns = {column: thrice(columns[column]) for column in FEW}
        columns["who"] = Column("integer", np.arange(1200) // 3)
        facts["who"] = {"kind": "identifier"}
        method = replace(method, person="who", max_rows_per_person=2)
    rows = Table({column: columns[column] for column in facts})
    schema = Schema.from_dict({"attributes": facts})
    with record() as noise:
        model = method.fit(rows, schema, noise=noise, notify=lambda _: None)
    found = model.to_dict()
    lines = [*noise.lines, *(f"{part}: {digest(found[part])}" for part in sorted(found))]
    compare(f"method-{name}{'-persons' * persons}", lines)


def lines_of(schema: Schema) -> list[str]:
    told = schema.to_dict()
    attributes = told.pop("attributes")
    return [show(told), *(f"{name}: {show(entry)}" for name, entry in attributes.items())]
