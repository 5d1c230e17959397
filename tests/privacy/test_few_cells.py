"""Columns with few rows over orders of magnitude: a few cells that grow tell where they lie."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from understudy import Schema
from understudy.data.encoding import encode
from understudy.data.frames import as_table
from understudy.data.inside import Inside
from understudy.data.schema import Quantity
from understudy.privacy.budget import Budget
from understudy.privacy.few_cells import CELL_GROWTH, find_shape, lay_few_cells, reaches_far
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.noisy_tables import NoisyTable
from understudy.privacy.refinement import refine

ROWS = 600
BUDGET = Budget(3e-4, "rho")
"""The noise of a look has a deviation of about 60 rows."""

SEEDS = range(12)


def quantity(low: float, high: float, kind: str = "integer") -> Quantity:
    entry = {"kind": kind, "min": low, "max": high, "bins": 16}
    found = Schema.from_dict({"attributes": {"x": entry}})["x"]
    assert isinstance(found, Quantity)
    return found


def refine_column(attribute: Quantity, values: np.ndarray, seed: int) -> tuple[Quantity, Ledger]:
    table = as_table(pd.DataFrame({"x": values}))[0]
    ledger = Ledger(1.0, 1e-9, "add_remove", "rho")
    schema = refine(
        Schema((attribute,)), lambda one: encode(table, one), ledger, BUDGET, SeededNoise(seed)
    )
    found = schema["x"]
    assert isinstance(found, Quantity)
    return found, ledger


def ages(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 100_000, ROWS)


def incomes(seed: int) -> np.ndarray:
    """Half of them one, the others from a few to some thousand."""
    rng = np.random.default_rng(seed)
    spread = np.clip(np.exp(rng.normal(5.5, 1.8, ROWS)).astype(np.int64), 2, 100_000)
    return np.where(rng.random(ROWS) < 0.5, 1, spread)


def distance(attribute: Quantity, values: np.ndarray) -> float:
    """Kolmogorov-Smirnov, between values and what is drawn inside the bins that they lie in."""
    codes = np.searchsorted(np.array(attribute.edges[1:-1]), values, side="right")
    drawn = Inside(attribute).draw(codes, np.random.default_rng(0), even=True)
    points = np.concatenate([values, drawn])
    below = [np.searchsorted(np.sort(side), points, "right") for side in (values, drawn)]
    return float(np.abs(below[0] - below[1]).max() / ROWS)


def test_few_rows_over_orders_of_magnitude_are_found() -> None:
    """The first of sixteen bins holds nearly all of them: spread evenly there they are far off."""
    given = quantity(1, 100_001)
    before, after = [], []
    for seed in SEEDS:
        values = incomes(seed)
        found, _ = refine_column(given, values, seed)
        before.append(distance(given, values))
        after.append(distance(found, values))
    assert np.mean(before) > 0.7
    assert np.mean(after) < 0.35


def test_the_value_of_half_of_the_rows_gets_a_bin_of_its_own() -> None:
    found = [refine_column(quantity(1, 100_001), incomes(seed), seed)[0] for seed in SEEDS]
    assert sum(one.edges[:2] == (1, 2) for one in found) >= len(SEEDS) / 2


def test_even_rows_stay_as_even() -> None:
    given = quantity(0, 99_999)
    apart = [
        distance(refine_column(given, ages(seed), seed)[0], ages(seed))
        - distance(given, ages(seed))
        for seed in SEEDS
    ]
    assert np.mean(apart) < 0.01


def test_no_more_is_spent_than_was_allowed() -> None:
    _, ledger = refine_column(quantity(1, 100_001), incomes(0), 0)
    asked = [entry.question for entry in ledger.entries]
    assert asked == ["grid of x", "values inside bins of x", "spikes inside bins of x"]
    spent = sum(entry.amount for entry in ledger.entries)
    assert spent == pytest.approx(BUDGET.amount)


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [(1, 100_001, "integer"), (-5000, 5000, "integer"), (-900, -3, "integer"), (0, 28.5, "real")],
)
def test_the_cells_part_the_range_and_grow_from_zero(low: float, high: float, kind: str) -> None:
    cells = lay_few_cells(quantity(low, high, kind))
    assert all(one < two for one, two in pairwise(cells.edges))
    assert cells.edges[0] == low
    assert cells.edges[-1] >= high
    assert len(cells.sizes) <= 40
    widest = np.argmax(cells.sizes)
    ratios = [two / one for one, two in pairwise(cells.sizes.tolist())]
    assert max(ratios) <= CELL_GROWTH or widest == 0


def test_narrow_bins_are_not_looked_into() -> None:
    """Their budget goes to what is measured later."""
    ages_in_years = quantity(0, 99)
    assert not reaches_far(ages_in_years)
    assert reaches_far(quantity(0, 99_999))
    assert reaches_far(replace(ages_in_years, free_bins=True))
    _, ledger = refine_column(ages_in_years, ages(0) // 1000, 0)
    assert "spikes inside bins of x" not in [entry.question for entry in ledger.entries]


def shape_of(counts: list[int], scale: float = 1.0) -> np.ndarray:
    cells = lay_few_cells(quantity(0, 8**4 - 1))
    assert len(cells.sizes) == len(counts)
    table = NoisyTable(np.array(counts), scale, gaussian=True)
    return find_shape(cells, table, 4 * scale).masses


def test_rows_that_are_even_by_logarithm_are_told_from_even_ones() -> None:
    by_logarithm = shape_of([0, 100, 100, 100, 100])
    np.testing.assert_allclose(by_logarithm[1:], 100, rtol=0.02)
    even = shape_of([1, 7, 56, 448, 3584])
    np.testing.assert_allclose(even, [1, 7, 56, 448, 3584], rtol=1e-6)


def test_noise_alone_is_no_shape() -> None:
    noise = np.rint(np.random.default_rng(3).normal(0, 60, 5)).astype(int).tolist()
    cells = lay_few_cells(quantity(0, 8**4 - 1))
    table = NoisyTable(np.array(noise), 60.0, gaussian=True)
    assert find_shape(cells, table, 0.8 * table.stands_out(5)).flat
