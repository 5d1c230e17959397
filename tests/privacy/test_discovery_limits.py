"""Which limits stand for numbers, from noisy counts: by how many cells, and what is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import Independent, Model
from understudy.data.attributes import Quantity
from understudy.data.limits import ABOVE, BELOW, list_limits
from understudy.privacy.discovery_cells import CellGrid
from understudy.privacy.discovery_limits import cut_at_limits, find_limits
from understudy.privacy.discovery_questions import NoisyHistogram
from understudy.privacy.mechanisms import SeededNoise

LIMITS = list_limits()
EDGES = np.array([0.0, 1.0, 5.0, 100.0, 200.0])
GRID = CellGrid(edges=EDGES, cuts=EDGES, unit=False, step=1.0)
ASKED = NoisyHistogram(np.zeros(1, dtype=np.int64), 2.0, "epsilon")
"""Noise of scale 2: in 334 cells 30 stands out, with a probability of one in 10,000."""


def find(inside: list[int], counts: dict[tuple[str, float], int]) -> Any:
    found = np.zeros(len(LIMITS), dtype=np.int64)
    for limit, count in counts.items():
        found[LIMITS.index(limit)] = count
    return find_limits(ASKED, GRID, np.array(inside), found)


@pytest.mark.parametrize(
    ("inside", "counts", "expected"),
    [
        ([0, 0, 0, 0], {}, []),
        ([0, 9, 9, 0], {("<", 1.0): 30}, []),
        ([0, 9, 9, 0], {("<", 1.0): 31}, [("<", 1.0)]),
        ([0, 9, 9, 0], {(">", 100.0): 31}, [(">", 100.0)]),
        ([0, 9, 9, 0], {("<", 1.0): 40, ("<", 5.0): 39}, [("<", 1.0)]),
        ([0, 9, 9, 0], {("<", 1.0): 40, (">", 100.0): 39}, [("<", 1.0), (">", 100.0)]),
        # What lies beyond a limit would be lost: cells that end at it, or begin there.
        ([40, 9, 9, 0], {("<", 1.0): 40}, []),
        ([39, 9, 9, 0], {("<", 1.0): 40}, [("<", 1.0)]),
        ([30, 10, 9, 0], {("<", 5.0): 40}, []),
        ([30, 10, 9, 0], {("<", 4.0): 40}, [("<", 4.0)]),
        ([0, 9, 9, 40], {(">", 100.0): 40}, []),
        ([0, 9, 9, 39], {(">", 100.0): 40}, [(">", 100.0)]),
        ([0, 9, 20, 20], {(">", 5.0): 40}, []),
        # Numbers lie between both limits, or there is none.
        ([0, 9, 9, 0], {("<", 5.0): 40, (">", 5.0): 40}, [("<", 5.0), (">", 5.0)]),
        ([0, 9, 9, 0], {("<", 6.0): 40, (">", 5.0): 40}, []),
    ],
)
def test_a_limit_is_found_where_it_stands_out_and_loses_little(
    inside: list[int], counts: dict[tuple[str, float], int], expected: Any
) -> None:
    assert find(inside, counts) == expected


def test_bins_end_at_limits_within_them() -> None:
    bins = (0.0, 10.0, 20.0)
    for limit, cuts in [
        ((BELOW, 5.0), {5.0}),
        ((ABOVE, 5.0), {5.5}),
        ((BELOW, 15.0), {15.0}),
        ((ABOVE, 19.0), {19.5}),
        ((BELOW, 0.0), set()),
        ((BELOW, -1.0), set()),
        ((ABOVE, 19.5), set()),
        ((ABOVE, 30.0), set()),
        ((BELOW, 10.0), set()),
    ]:
        assert cut_at_limits(bins, [limit], 0.5) == tuple(sorted({*bins, *cuts}))
    assert cut_at_limits(bins, [(BELOW, 5.0), (ABOVE, 15.0)], 0.0) == (0.0, 5.0, 10.0, 15.0, 20.0)


def test_bins_of_whole_numbers_end_at_whole_ones() -> None:
    """<2.5 holds 0, 1 and 2, and >19.5 what begins with 20."""
    bins = (0.0, 1.0, 2.0, 3.0, 20.0, 40.0)
    for limit, cuts in [
        ((BELOW, 0.5), set()),
        ((BELOW, 2.5), set()),
        ((BELOW, 4.0), {4.0}),
        ((BELOW, 4.5), {5.0}),
        ((ABOVE, 19.5), set()),
        ((ABOVE, 25.0), {26.0}),
        ((ABOVE, 25.5), {26.0}),
    ]:
        assert cut_at_limits(bins, [limit], 1.0, whole=True) == tuple(sorted({*bins, *cuts}))


def test_whole_numbers_have_no_limit_that_is_read_as_a_fraction() -> None:
    """>0.15 is read as 0.3, which is none of them, and >1.5 as 3."""
    found = np.zeros(len(LIMITS), dtype=np.int64)
    found[[LIMITS.index((ABOVE, 0.15)), LIMITS.index((ABOVE, 1.5))]] = 90, 40
    nothing = np.zeros(4, dtype=np.int64)
    assert find_limits(ASKED, GRID, nothing, found) == [(ABOVE, 0.15)]
    assert find_limits(ASKED, GRID, nothing, found, whole=True) == [(ABOVE, 1.5)]


@pytest.mark.parametrize("limit", ["<0.5", "<2.5", ">20.5", ">0.15"])
def test_a_model_of_whole_numbers_with_a_limit_can_be_read_again(
    limit: str, tmp_path: Path
) -> None:
    """As laboratories write them: 3, 5, <0.5."""
    numbers = np.random.default_rng(0).integers(3, 30, 3000)
    table = pd.DataFrame({"crp": [*map(str, numbers), *[limit] * 150]})
    model = Independent(epsilon=20.0, delta=1e-9, refinement=0).fit(
        table, noise=SeededNoise(1), notify=lambda _: None
    )
    attribute = model.schema["crp"]
    assert isinstance(attribute, Quantity)
    assert attribute.kind == "integer"
    assert (limit in (attribute.format or "")) == (limit[0] == BELOW)
    model.save(tmp_path / "model.json")
    assert Model.load(tmp_path / "model.json").schema == model.schema


def test_among_numbers_that_all_have_a_sign_there_is_no_limit_without() -> None:
    """<5 among 12.5 %: a format cannot say both, and the release ended in a ValueError."""
    numbers = np.random.default_rng(0).integers(20, 90, 3000)
    table = pd.DataFrame({"part": [*(f"{number}.5 %" for number in numbers), *["<5"] * 150]})
    model = Independent(epsilon=20.0, delta=1e-9, refinement=0).fit(
        table, noise=SeededNoise(1), notify=lambda _: None
    )
    attribute = model.schema["part"]
    assert isinstance(attribute, Quantity)
    assert attribute.format == "12.5 %"
