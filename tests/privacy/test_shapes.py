"""What is made of noisy histograms: peaks, spikes, slopes and edges of bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy import Schema
from understudy.data.inside import Inside
from understudy.data.schema import Quantity
from understudy.privacy.cells import first_cells, split_cell
from understudy.privacy.shapes import RUNS_AT_ONCE, Shape, find_spikes, part_spikes, smooth
from understudy.privacy.slopes import add_slopes


def shape_of(rows: list[float], sizes: list[int] | None = None) -> Shape:
    """Runs of one cell each."""
    widths = np.array(sizes or [10] * len(rows), dtype=np.float64)
    edges = tuple(np.concatenate([[0.0], np.cumsum(widths)]).tolist())
    cells = len(rows)
    return Shape(edges, widths, np.arange(cells), np.array(rows, float), np.ones(cells))


def amount(high: int, **facts: object) -> Quantity:
    entry = {"kind": "integer", "min": 0, "max": high, **facts}
    found = Schema.from_dict({"attributes": {"amount": entry}})["amount"]
    assert isinstance(found, Quantity)
    return found


def test_a_peak_beside_another_one_and_beside_noise_is_seen() -> None:
    shape = shape_of([30, 500, 400, 40, 20], [100, 10, 10, 100, 1])
    assert shape.peaks(3, 4.0).tolist()[1:3] == [True, True]
    noise_beside = shape_of([0, 24, 500, 50, 30], [100, 1, 10, 100, 100])
    assert noise_beside.peaks(3, 4.0)[2]
    assert not shape_of([100, 120, 130, 120, 100]).peaks(3, 4.0).any()


def cheapest_steps(counts: list[int], price: float) -> list[int]:
    """Where the runs of equal cells start, one end after the other, by the mean of each run."""
    costs, starts = [0.0], [0]
    for end in range(1, len(counts) + 1):
        tried = []
        for start in range(end):
            run = counts[start:end]
            mean = sum(run) / len(run)
            tried.append(costs[start] + sum((count - mean) ** 2 for count in run) + price)
        costs.append(min(tried))
        starts.append(tried.index(costs[-1]))
    found, end = [], len(counts)
    while end:
        end = starts[end]
        found.append(end)
    return found[::-1]


@pytest.mark.parametrize("cells", [1, RUNS_AT_ONCE, RUNS_AT_ONCE + 1, 3 * RUNS_AT_ONCE + 5])
def test_the_steps_are_the_cheapest_ones(cells: int) -> None:
    rng = np.random.default_rng(cells)
    noisy = (rng.normal(0, 10, cells) + 60 * (np.arange(cells) // 7 % 3)).round().astype(np.int64)
    edges = tuple(float(place) for place in range(cells + 1))
    found = smooth(edges, np.ones(cells), noisy, 3.0, 1.0)
    wanted = cheapest_steps(noisy.tolist(), 4.5)
    assert np.flatnonzero(np.diff(found.runs, prepend=-1)).tolist() == wanted
    assert cells < 2 * RUNS_AT_ONCE or len(wanted) > 5


def test_beside_a_spike_lies_what_is_left_of_its_run() -> None:
    """However noisy the single values are: their sum would be useless."""
    rng = np.random.default_rng(1)
    noisy = rng.normal(0, 60, 400).round().astype(np.int64)
    noisy[123] += 500
    spikes = np.zeros(400, dtype=bool)
    spikes[123] = True
    edges = [float(place) for place in range(401)]
    found = find_spikes(edges, np.ones(400), noisy, spikes, 60.0, (560.0, 1 / 60**2))
    assert found.rows[1] == noisy[123]
    assert found.rows.sum() == pytest.approx(560)
    assert found.masses[:123] == pytest.approx(found.masses[124])


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=12),
    st.lists(st.integers(1, 40), min_size=12, max_size=12),
)
def test_slopes_keep_the_rows_of_each_run_and_are_never_negative(
    rows: list[int], sizes: list[int]
) -> None:
    shape = shape_of([float(count) for count in rows], sizes[: len(rows)])
    attribute = amount(int(shape.edges[-1]) - 1, bins=1)
    sloped = add_slopes(shape, attribute, 8)
    starts = np.searchsorted(np.array(sloped.edges[:-1]), np.array(shape.edges[:-1]))
    assert np.add.reduceat(sloped.rows, starts) == pytest.approx(rows, abs=1e-6)
    assert (sloped.rows >= -1e-9).all()
    assert sloped.sizes.sum() == pytest.approx(shape.sizes.sum())
    densities = sloped.rows / sloped.sizes
    assert densities.max() <= (shape.rows / shape.sizes).max() + 1e-9  # no new hills


def test_a_slope_is_closer_to_a_smooth_density_than_steps_are() -> None:
    rows = [float(100 + 10 * place) for place in range(10)]
    sloped = add_slopes(shape_of(rows), amount(99, bins=1), 10)
    exact = np.concatenate([[0], np.cumsum([9.55 + 0.1 * value for value in range(100)])])
    found = np.interp(np.arange(101), sloped.edges, np.concatenate([[0], np.cumsum(sloped.rows)]))
    steps = np.interp(np.arange(101), shape_of(rows).edges, np.concatenate([[0], np.cumsum(rows)]))
    assert np.abs(found - exact)[10:90].max() < np.abs(steps - exact)[10:90].max() / 3


def test_no_step_of_a_slope_is_narrower_than_what_people_round_to() -> None:
    shape = shape_of([100.0, 200.0, 300.0, 200.0], [2000] * 4)
    attribute = amount(7999, bins=1)
    rounded = Quantity(**{**vars(attribute), "step": 1, "heaping": ((1000, 0.5),)})
    assert min(np.diff(add_slopes(shape, rounded, 8).edges)) >= 1000
    assert min(np.diff(add_slopes(shape, attribute, 8).edges)) == 250


def test_of_given_bins_only_single_values_with_many_rows_are_parted() -> None:
    assert part_spikes(shape_of([100, 10, 10], [1, 5, 5]), (0.0, 11.0), 4) == (0, 1, 11)
    assert part_spikes(shape_of([100, 0, 0], [1, 5, 5]), (0.0, 11.0), 4) == (0, 11)
    # However many rows a bin holds, it stays as it was given.
    assert part_spikes(shape_of([90, 90, 10, 10]), (0.0, 20.0, 40.0), 4) == (0, 20, 40)


def test_a_cell_is_parted_into_its_values_or_into_round_ones() -> None:
    assert split_cell(amount(9999), 100, 110, 512) == list(range(100, 111))
    money = Schema.from_dict(
        {"attributes": {"money": {"kind": "real", "min": 0, "max": 50_000, "step": 0.01}}}
    )["money"]
    assert isinstance(money, Quantity)
    edges = split_cell(money, 1200.0, 1400.0, 512)
    assert len(edges) <= 513
    assert edges == sorted(set(edges))
    for value in (1250.0, 1333.0):  # a cell of one cent each
        assert {value, round(value + 0.01, 2)} <= set(edges)


def test_cells_have_as_many_round_numbers_each() -> None:
    attribute = amount(299_999)
    rounded = Quantity(**{**vars(attribute), "step": 1, "heaping": ((1000, 0.5),)})
    edges = np.array(first_cells(rounded).edges)
    inner = edges[(edges > 5000) & (edges < 290_000)]
    inside = np.floor((inner[1:] - 1) / 1000) - np.floor((inner[:-1] - 1) / 1000)
    assert set(inside.tolist()) == {2.0}


def test_people_round_to_all_round_numbers_of_a_segment_alike() -> None:
    attribute = amount(9999, bins=1)
    rounded = Quantity(**{**vars(attribute), "step": 1, "heaping": ((1000, 1.0),)})
    rng = np.random.default_rng(1)
    made = Inside(rounded).draw(np.zeros(20_000, dtype=np.int64), rng)
    values, counts = np.unique(made, return_counts=True)
    assert values.tolist() == [1000 * place for place in range(10)]
    # Ten counts of 2,000 +- 42: beyond 300 with probability below 1e-11.
    assert np.abs(counts - 2000).max() < 300


@pytest.mark.parametrize("rising", [False, True])
def test_the_rows_of_a_tail_die_out(rising: bool) -> None:
    """As dense as its neighbour where they meet, and hardly a row where the range ends."""
    rows, sizes = [1000.0, 900.0, 400.0, 60.0], [100, 100, 100, 3000]
    if rising:
        rows, sizes = rows[::-1], sizes[::-1]
    sloped = add_slopes(shape_of(rows, sizes), amount(3299, bins=1), 8)
    edges, masses = np.array(sloped.edges), sloped.rows
    if rising:
        edges, masses = 3300 - edges[::-1], masses[::-1]
    tail = edges[:-1] >= 300
    assert masses[tail].sum() == pytest.approx(60)
    densities = masses[tail] / np.diff(edges)[tail]
    assert 2 < densities[0] <= 4
    assert (np.diff(densities) < 0).all()
    assert masses[edges[:-1] >= 500].sum() < 1


def test_the_end_of_an_even_range_is_no_tail() -> None:
    sloped = add_slopes(shape_of([100.0, 100.0, 80.0]), amount(29, bins=1), 8)
    assert sloped.edges == (0, 10, 20, 30)
    moment = Quantity("day", "date", None, (0, 3300))
    flat = add_slopes(shape_of([1000.0, 900.0, 60.0], [100, 200, 3000]), moment, 8)
    assert flat.rows[-1] == 60
