"""Ends of ranges, and steps of shapes, as people would draw them."""

import numpy as np
import pytest

from understudy.counting.partition import Tally, ends_of
from understudy.data.formats import CANDIDATES, Format
from understudy.privacy.bins import (
    NoisyCells,
    drop_below_zero,
    drop_empty_ends,
    find_held,
    trim,
)
from understudy.privacy.discovery_cells import Precision, Range, lay_cells
from understudy.privacy.discovery_scores import KINDS, count_kinds, kind_odds
from understudy.privacy.shapes import smooth


def trimmed_ends(edges: list[float], counts: list[int]) -> tuple[float, float]:
    cells = NoisyCells(
        edges=np.array(edges), counts=np.array(counts), deviation=1.0, stands_out=4.0
    )
    kept = trim(cells, 30.0).edges
    return float(kept[0]), float(kept[-1])


@pytest.mark.parametrize(
    ("edges", "counts", "ends"),
    [
        # Next to zero, from above and from below: zero.
        ([0, 2.5e-6, 0.5, 40, 80], [0, 0, 3000, 4000], (0, 80)),
        ([-1, -0.02, 0, 0.5, 40, 80], [0, 0, 0, 3000, 4000], (0, 80)),
        ([-80, -40, -0.5, -0.02, 0], [4000, 3000, 0, 0], (-80, 0)),
        # Far from zero, or where all numbers are small: as the rows have it.
        ([0, 20, 40, 80], [0, 3000, 4000], (20, 80)),
        ([0, 1e-6, 2e-6, 3e-6], [0, 3000, 4000], (1e-6, 3e-6)),
        ([-60, -40, 0, 40, 80], [0, 2000, 3000, 4000], (-40, 80)),
    ],
)
def test_ranges_end_at_zero_rather_than_next_to_it(
    edges: list[float], counts: list[int], ends: tuple[float, float]
) -> None:
    assert trimmed_ends(edges, counts) == ends


@pytest.mark.parametrize(
    ("counts", "low"),
    [([1, 0, 3000, 4000], 0), ([-4, 1, 3000, 4000], 0), ([5, 3, 3000, 4000], -10)],
)
def test_amounts_do_not_begin_below_zero_by_chance(counts: list[int], low: float) -> None:
    edges = np.array([-10.0, -5, 0, 40, 80])
    cells = NoisyCells(edges=edges, counts=np.array(counts), deviation=1.0, stands_out=4.0)
    assert drop_below_zero(cells).edges[0] == low


@pytest.mark.parametrize("kind", ["integer", "real"])
def test_no_range_begins_just_beside_zero(kind: str) -> None:
    ends = ends_of(kind)
    low, high = ends.edges[ends.lows], ends.edges[ends.highs]
    assert not ((low > 1) & (low < high / 20)).any()
    assert {(0.0, 60.0), (15.0, 60.0), (-10.0, 60.0)} <= set(
        zip(low.tolist(), high.tolist(), strict=True)
    )


def test_amounts_of_which_some_are_halves_are_no_whole_numbers() -> None:
    """Half of the cells are zero, one in twelve is 12.5: at the evidence of 8,000 rows."""
    tally = Tally()
    tally.add(["0", "5", "10", "12.5", "20"], [4800, 1200, 960, 640, 400])
    odds = kind_odds(108.0) + count_kinds(tally) * 108.0 / 8000
    form = KINDS[int(np.argmax(odds))].format
    assert form is not None
    assert CANDIDATES[form] == Format("real")


@pytest.mark.parametrize("step", [0.5, 0.1, 0.01, 1e-4])
@pytest.mark.parametrize(("low", "high"), [(0.0, 80.0), (-2.5, 40.0), (800.0, 1200.0)])
@pytest.mark.parametrize("deviation", [5.0, 70.0, 900.0])
def test_no_cell_is_finer_than_the_numbers_are(
    step: float, low: float, high: float, deviation: float
) -> None:
    ends = ends_of("real")
    first, last = np.searchsorted(ends.edges, [low, high]).tolist()
    cells = lay_cells("real", ends, Range(low, high, first, last), step, Precision(3000, deviation))
    assert (np.diff(cells.edges) >= step * (1 - 1e-6)).all()
    assert np.abs(cells.edges / step - np.rint(cells.edges / step)).max() < 1e-6
    assert cells.edges[0] == low
    assert cells.edges[-1] == high + cells.unit * step
    assert (np.diff(cells.cuts) > 0).all()
    # Each multiple of the step lies in the cell that begins at or below it.
    values = np.arange(round(low / step), round(high / step) + 1) * step
    found = np.searchsorted(cells.cuts, values, side="right") - 1
    begins = np.searchsorted(cells.edges, values + step / 4, side="right") - 1
    assert (found == np.minimum(begins, len(cells.edges) - 2)).all()


def test_noise_decides_how_fine_cells_are() -> None:
    ends = ends_of("integer")
    first, last = np.searchsorted(ends.edges, [0.0, 2000.0]).tolist()
    stretch = Range(0.0, 2000.0, first, last)
    sizes = [
        len(lay_cells("integer", ends, stretch, 1.0, Precision(20_000, deviation)).edges)
        for deviation in (10.0, 50.0, 500.0)
    ]
    assert sizes[0] == 2001
    assert sizes[0] > sizes[1] > sizes[2]


@pytest.mark.parametrize("wide_cells_first", [0, 1, 20])
def test_a_spike_in_a_narrow_cell_is_seen_wherever_wide_cells_lie(wide_cells_first: int) -> None:
    # Reals without a step have cells whose sizes differ by twelve powers of ten.
    sizes = np.array([1e10] * wide_cells_first + [1.0, 2.0, 4.0, 8.0] + [1e10] * 20)
    counts = np.full(len(sizes), 50)
    counts[wide_cells_first] = 4000
    counts[wide_cells_first + 1 : wide_cells_first + 4] = 0
    edges = (0.0, *np.cumsum(sizes).tolist())
    masses = smooth(edges, sizes, counts, 200.0, 1.0).masses
    assert masses[wide_cells_first] == pytest.approx(4000, rel=0.01)


@pytest.mark.parametrize(
    ("counts", "held"),
    [
        ([0, 0, 900, 0, 0, 0, 0, 0], (2, 3)),
        ([0, 90, 900, 0, 800, 0, 0, 0], (2, 5)),
        ([90, 90, 90, 90, 90, 90, 90, 90], (0, 8)),
        ([0, 0, 0, 0, 90, 90, 90, 90], (4, 8)),
        ([0, 10, 0, -10, 0, 0, 0, 0], (0, 8)),
    ],
)
def test_where_rows_certainly_are(counts: list[int], held: tuple[int, int]) -> None:
    cells = NoisyCells(
        edges=np.arange(9.0), counts=np.array(counts), deviation=30.0, stands_out=100.0
    )
    assert find_held(cells) == held


def test_empty_codes_at_an_end_are_dropped_by_what_the_others_leave() -> None:
    """Noise of nine empty codes beside 0 and 1 hides more than the number of rows does."""
    rng = np.random.default_rng(1)
    kept = {120.0: 0, 1e9: 0}
    for _ in range(400):
        counts = np.rint(rng.normal(0, 90, 11)).astype(np.int64)
        counts[:2] += [4000, 3000]
        cells = NoisyCells(edges=np.arange(12.0), counts=counts, deviation=90.0, stands_out=300.0)
        total = 7000 + rng.normal(0, 120)
        for spread in kept:
            kept[spread] += len(drop_empty_ends(cells, total, spread)) > 3
    assert kept[1e9] > 60
    assert kept[120.0] < 20


def test_codes_with_rows_at_an_end_are_kept() -> None:
    counts = np.array([-250, 4000, 3000, 900, -250])
    cells = NoisyCells(edges=np.arange(6.0), counts=counts, deviation=90.0, stands_out=300.0)
    assert drop_empty_ends(cells, 7900.0, 100.0) == (1.0, 2.0, 3.0, 4.0)
    few = NoisyCells(edges=np.arange(3.0), counts=counts[2:4], deviation=90.0, stands_out=300.0)
    assert drop_empty_ends(few, 3900.0, 100.0) == (0.0, 1.0, 2.0)
