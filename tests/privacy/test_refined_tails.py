"""Peaks that noise makes where no rows are, and bins far out that hold next to nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from understudy import Schema
from understudy.data.encoding import encode
from understudy.data.frames import as_table
from understudy.data.schema import Quantity
from understudy.privacy.budget import Budget
from understudy.privacy.cells import first_cells
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.refined_attributes import detail_of, join_empty_ends
from understudy.privacy.refinement import refine
from understudy.privacy.shapes import Shape

ROWS = 6000
EDGES = [0.0, 0.25, 1.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 25.0, 200.0]


def refine_column(seed: int, *, discovered: bool = True) -> Quantity:
    """Rows from 11 to 22, in bins that go on to 200."""
    values = 11 + 11 * np.random.default_rng(seed).beta(2, 2, ROWS)
    frame = pd.DataFrame({"x": values.round(6)})
    entry = {"kind": "real", "edges": EDGES, "decimals": 6}
    schema = Schema.from_dict({"attributes": {"x": entry}})
    table = as_table(frame)[0]
    ledger = Ledger(1.0, 1e-9, "add_remove", "rho")
    found = refine(
        schema,
        lambda asked: encode(table, asked),
        ledger,
        Budget(3e-4, "rho"),
        SeededNoise(seed),
        discovered=["x"] if discovered else [],
    )["x"]
    assert isinstance(found, Quantity)
    return found


def test_noise_hardly_makes_a_peak_where_no_rows_are() -> None:
    """Before a second count had to confirm a peak, half of such columns had one beyond 40."""
    details = [refine_column(seed).detail for seed in range(30)]
    far = [sum(weight for low, _, weight in detail if low > 40) > 20 for detail in details]
    assert sum(detail != () for detail in details) >= 28
    assert sum(far) <= 3


def test_empty_bins_at_an_end_are_one_and_filled_next_to_the_rest() -> None:
    joined = 0
    for seed in range(10):
        found = refine_column(seed)
        if found.edges[1] >= 10:
            joined += 1
            below = [low for low, _, _ in found.detail if low < found.edges[1]]
            assert all(low >= found.edges[1] - 5 for low in below)
    assert joined >= 7


def test_bins_that_somebody_gave_stay() -> None:
    assert set(EDGES) <= set(refine_column(1, discovered=False).edges)


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ((0, 0, 5, 5, 0, 0), (0, 2, 3, 4, 6)),
        ((5, 0, 5, 5, 0, 5), (0, 1, 2, 3, 4, 5, 6)),
        ((0, 5, 5, 5, 5, 0), (0, 1, 2, 3, 4, 5, 6)),
        ((0, 0, 0, 0, 5, 5), (0, 4, 5, 6)),
        ((5, 0, 0, 0, 0, 0), (0, 1, 2, 3, 4, 5, 6)),
        ((0, 0, 0, 0, 0, 0), (0, 1, 2, 3, 4, 5, 6)),
    ],
)
def test_only_empty_bins_at_both_ends_are_joined(
    rows: tuple[int, ...], kept: tuple[int, ...]
) -> None:
    edges = tuple(map(float, range(7)))
    counts = np.array(rows, dtype=np.float64)
    shape = Shape(edges, np.full(6, 10.0), np.arange(6), counts, np.ones(6))
    assert join_empty_ends(edges, shape) == kept


def test_a_tail_beside_single_values_is_as_wide_as_its_bin() -> None:
    attribute = Quantity("x", "integer", None, (0, 10, 5000), equal_width=False, step=10)
    sizes, rows = np.array([1.0, 499.0]), np.array([3000.0, 0.0])
    shape = Shape((0, 10, 5000), sizes, np.arange(2), rows, np.ones(2))
    assert detail_of(attribute, shape) == ((0, 10, 3000),)


def test_a_run_stands_alone_by_what_is_around_it() -> None:
    sizes = np.array([10.0, 10, 1, 10, 10, 1, 10, 10])
    rows = np.array([0.0, 0, 50, 0, 20, 5, 20, 20])
    edges = tuple(np.concatenate([[0], np.cumsum(sizes)]).tolist())
    shape = Shape(edges, sizes, np.arange(8), rows, np.ones(8))
    alone = shape.stands_alone(0.02, 4.0)
    assert np.flatnonzero(alone).tolist() == [2]
    assert shape.take_back(alone).rows.tolist() == [0, 0, 0, 0, 20, 5, 20, 20]
    assert not shape.stands_alone(0.01, 4.0).any()


def test_values_are_counted_one_by_one_between_wide_tails() -> None:
    """Test scores from 320 to 626 in a range that goes on to 2,000."""
    edges = (1, 350, 420, 480, 540, 600, 2001)
    cells = first_cells(Quantity("x", "integer", None, edges, equal_width=False))
    inside = [edge for edge in cells.edges if 350 <= edge <= 600]
    assert inside == list(range(350, 601))
    assert len(cells.edges) < 400
    assert cells.edges[0] == 1
    assert cells.edges[-1] == 2001


def test_fine_cells_lie_where_the_bins_do() -> None:
    edges = (0.0, 983.5, 1000.5, 1020.5, 1042.0, 5000.0)
    cells = first_cells(Quantity("x", "real", None, edges, equal_width=False, decimals=6))
    inner = [edge for edge in cells.edges if 983.5 <= edge <= 1042]
    assert len(inner) > 250
    wide = first_cells(Quantity("x", "real", None, (0.0, 10.0, 4990.0, 5000.0), decimals=6))
    assert sum(983.5 <= edge <= 1042 for edge in wide.edges) < 50


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("date", "0001-01-01", "9999-12-31"),
        ("date", "9999-12-30", "9999-12-31"),
        ("datetime", "2020-01-01 00:00:00", "9999-12-31 23:59:59"),
    ],
)
def test_dates_may_end_where_the_calendar_does(kind: str, low: str, high: str) -> None:
    """For ever, as contracts without an end have it."""
    entry = {"kind": kind, "min": low, "max": high, "bins": 2}
    attribute = Schema.from_dict({"attributes": {"x": entry}})["x"]
    assert isinstance(attribute, Quantity)
    cells = first_cells(attribute)
    assert (cells.edges[0], cells.edges[-1]) == (attribute.edges[0], attribute.edges[-1])
