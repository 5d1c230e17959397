"""Tails of numbers: what discovery cuts off, and where rows go that nobody saw."""

from __future__ import annotations

import numpy as np
import pytest

from understudy import Table
from understudy.counting.partition import ends_of
from understudy.data.schema import Quantity
from understudy.data.tables import Column
from understudy.privacy.bins import NoisyCells, keep_tails
from understudy.privacy.discovery import discover
from understudy.privacy.discovery_cells import Precision, Range, lay_cells
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.refined_attributes import detail_of
from understudy.privacy.shapes import Shape


def found_of(numbers: list[str], seed: int, epsilon: float = 0.4) -> Quantity:
    words = sorted(set(numbers))
    places = {word: place for place, word in enumerate(words)}
    codes = np.array([places[number] for number in numbers], dtype=np.uint32)
    table = Table({"x": Column("text", codes, tuple(words))})
    ledger = Ledger(epsilon, 1e-9, threshold_delta=1e-9)
    found = discover(table, ledger, ledger.budget, 1e-9, SeededNoise(seed))["x"]
    assert isinstance(found, Quantity)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_a_heavy_tail_is_not_cut(seed: int) -> None:
    rng = np.random.default_rng(seed)
    amounts = np.exp(rng.normal(6.9, 1.15, 10_000)).round(2)
    found = found_of([f"{amount:.2f}" for amount in amounts.tolist()], seed)
    assert (amounts >= found.edges[-1]).mean() < 0.01
    assert found.edges[0] >= 0


@pytest.mark.parametrize("seed", range(6))
def test_counts_with_a_tail_are_no_list_of_codes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = np.floor(rng.gamma(1.7, 4.2, 10_000)).astype(int)
    found = found_of([str(count) for count in counts.tolist()], seed)
    assert (counts >= found.edges[-1]).mean() < 0.01


@pytest.mark.parametrize("share", [0.02, 0.06, 0.3])
@pytest.mark.parametrize("far", [999, 9999, -999])
def test_a_number_that_stands_for_something_else_widens_no_range(far: int, share: float) -> None:
    """A range up to 999 would be empty for the most part, and rows would be put there."""
    rng = np.random.default_rng(1)
    numbers = np.where(rng.random(9000) < share, far, rng.integers(0, 60, 9000))
    edges = found_of([str(number) for number in numbers.tolist()], seed=1, epsilon=1.0).edges
    assert {far, far + 1} <= set(edges)
    assert [edge for edge in edges if abs(edge) > 130] == [far, far + 1] or far < 0
    assert max(edge for edge in edges if edge not in (far, far + 1)) <= 130


def cells(edges: list[float], counts: list[int]) -> NoisyCells:
    return NoisyCells(
        edges=np.array(edges), counts=np.array(counts), deviation=10.0, stands_out=40.0
    )


def test_what_was_cut_off_is_a_bin_of_its_own() -> None:
    noisy = cells([0, 10, 20, 30, 60, 100], [500, 400, 100, 8, -3])
    assert keep_tails(noisy, (0, 10, 20, 30)) == (0, 10, 20, 30, 100)
    noisy = cells([1, 10, 20, 30], [5, 400, 400])
    assert keep_tails(noisy, (10, 20, 30)) == (1, 10, 20, 30)


def test_no_bin_is_made_of_numbers_below_zero_that_nobody_saw() -> None:
    noisy = cells([-400, 0, 10, 20], [3, 400, 300])
    assert keep_tails(noisy, (0, 10, 20)) == (0, 10, 20)
    assert keep_tails(cells([-400, 0, 10, 20], [3, 7, 300]), (10, 20)) == (0, 10, 20)
    assert keep_tails(cells([-20, -10, 0, 50], [300, 300, 2]), (-20, -10, 0)) == (-20, -10, 0)


def test_cells_grow_beyond_what_is_held() -> None:
    ends = ends_of("real")
    first, last = np.searchsorted(ends.edges, [0.0, 120_000.0]).tolist()
    stretch = Range(0.0, 120_000.0, first, last)
    grid = lay_cells("real", ends, stretch, 0.01, Precision(8000, 57), (0.0, 18_000.0))
    beyond = grid.edges[grid.edges >= 18_000]
    assert len(beyond) <= 9
    assert beyond[-1] == 120_000
    assert (np.diff(grid.cuts) > 0).all()


def test_rows_that_nobody_saw_lie_next_to_the_rest() -> None:
    attribute = Quantity("x", "integer", None, (0, 10, 20, 30, 300), False)
    shape = Shape(
        (0, 10, 20, 30, 300),
        np.array([10.0, 10, 10, 270]),
        np.arange(4),
        np.array([0.0, 500, 300, 0]),
        np.ones(4),
    )
    detail = detail_of(attribute, shape)
    assert detail[-1] == (30, 40, 1)
    assert detail[0] == (10, 20, 500)  # a bin no wider than its neighbour needs nothing


def test_a_column_that_is_far_narrower_than_its_range_has_bins() -> None:
    """Years with a fraction: the whole column used to be one bin of a hundred years."""
    rng = np.random.default_rng(3)
    texts = [f"{2016.5 + 1.2 * part:.6f}" for part in rng.random(15_000).tolist()]
    for seed in range(5):
        found = found_of(texts, seed, epsilon=0.3)
        assert sum(2016.5 < edge < 2017.7 for edge in found.edges) >= 4
