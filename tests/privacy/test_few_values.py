"""Columns with few values, told from the inside of bins, and marks that are not there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from understudy.data.encoding import encode
from understudy.data.frames import as_table
from understudy.data.schema import Quantity, Schema
from understudy.data.tables import MARKS
from understudy.privacy.discovery_numbers import _with_certain_mark
from understudy.privacy.discovery_questions import NoisyHistogram
from understudy.privacy.discovery_values import missing_mark
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.refinement import refine

ROWS = 8000
PRICES = (19.9, 34.5, 49.0, 59.9)


def refined(values: np.ndarray, entry: dict[str, object], *, discovered: bool = True) -> Quantity:
    table, _ = as_table(pd.DataFrame({"x": values}))
    schema = Schema.from_dict({"attributes": {"x": entry}})
    ledger = Ledger(0.4, 1e-9)
    names = ("x",) if discovered else ()
    found = refine(
        schema,
        lambda fine: encode(table, fine),
        ledger,
        ledger.budget,
        SeededNoise(1),
        discovered=names,
    )["x"]
    assert isinstance(found, Quantity)
    assert Schema.from_dict(Schema((found,)).to_dict())["x"] == found
    return found


def prices(rng: np.random.Generator) -> np.ndarray:
    return rng.choice(PRICES, ROWS, p=[0.42, 0.3, 0.18, 0.1])


REAL = {"kind": "real", "edges": [0, 15, 20, 30, 35, 45, 50, 80], "step": 0.1}


def test_four_prices_are_four_values_with_a_bin_each() -> None:
    found = refined(prices(np.random.default_rng(1)), REAL)
    assert found.values == PRICES
    assert found.bins == 4
    assert (found.edges[0], found.edges[-1]) == (0, 80)


def test_codes_far_apart_are_found_among_a_hundred_thousand() -> None:
    codes = np.array([1067, 10115, 20095, 50667, 80331])
    entry = {"kind": "integer", "edges": [0, 20_000, 40_000, 60_000, 80_000, 100_000]}
    found = refined(np.random.default_rng(1).choice(codes, ROWS), entry)
    assert found.values == tuple(codes.tolist())


def test_bins_that_somebody_gave_stay() -> None:
    found = refined(prices(np.random.default_rng(1)), REAL, discovered=False)
    assert not found.values
    assert set(REAL["edges"]) <= set(found.edges)  # type: ignore[call-overload]


@pytest.mark.parametrize("share", [0.08, 1.0])
def test_what_lies_beside_a_few_values_is_kept(share: float) -> None:
    rng = np.random.default_rng(1)
    others = np.round(rng.uniform(0, 80, ROWS), 1)
    found = refined(np.where(rng.random(ROWS) < share, others, prices(rng)), REAL)
    assert not found.values


def test_neighbouring_values_are_no_list() -> None:
    entry = {"kind": "integer", "edges": [0, 4, 8, 12]}
    assert not refined(np.random.default_rng(1).integers(0, 12, ROWS), entry).values


@pytest.mark.parametrize(("share", "mark"), [(0.0, None), (0.03, "n/a")])
def test_a_mark_must_be_seen_again(share: float, mark: str | None) -> None:
    rng = np.random.default_rng(1)
    cells = [f"{number:.1f}" for number in rng.uniform(0, 80, ROWS)]
    absent = (rng.random(ROWS) < share).tolist()
    cells = ["n/a" if lost else cell for lost, cell in zip(absent, cells, strict=True)]
    assert refined(np.array(cells, dtype=object), REAL | {"missing": "n/a"}).missing == mark
    kept = refined(np.array(cells, dtype=object), REAL | {"missing": "n/a"}, discovered=False)
    assert kept.missing == "n/a"


@pytest.mark.parametrize(
    ("rows", "edges", "mark"),
    [(320, tuple(range(10)), None), (320, (0, 5, 10), "NA"), (400, tuple(range(10)), "NA")],
)
def test_a_mark_that_nobody_counts_again_must_be_certain(
    rows: int, edges: tuple[int, ...], mark: str | None
) -> None:
    """320 rows are what noise of deviation 100 makes of some mark once in 30 columns."""
    counts = np.zeros(len(MARKS), np.int64)
    counts[MARKS.index("NA")] = rows
    asked = NoisyHistogram(counts, 100.0, "rho")
    seen = Quantity("x", "integer", missing_mark(asked, counts), edges)
    assert seen.missing == "NA"
    assert _with_certain_mark(seen, asked, counts).missing == mark
