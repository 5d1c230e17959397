"""The cells in which discovery counts numbers: no number is in two of them, so that one row changes
one count by one, whatever kind, range and step were chosen before.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from understudy.counting.partition import SENTINELS, ends_of
from understudy.counting.spacings import grids_of
from understudy.privacy.discovery_cells import Precision, Range, lay_cells
from understudy.privacy.discovery_numbers import (
    MIN_CUTS,
    half_width_of,
    places_to_cut,
    values_far_from,
)

NEAR = (-1.0, -0.51, -0.5, -0.25, -1e-7, 0.0, 1e-7, 0.25, 0.49, 0.5, 1.0)
PRECISIONS = (Precision(60, 40.0), Precision(5_000, 10.0), Precision(1e6, 1.0))


def stretches(kind: str) -> list[Range]:
    """Ranges between public ends, short and long, near zero and far from it."""
    ends = ends_of(kind)
    last = len(ends.edges) - 1
    places = sorted({0, last // 3, last // 2 - 3, last // 2, last // 2 + 2, 2 * last // 3, last})
    return [
        Range(float(ends.edges[one]), float(ends.edges[other]), one, other)
        for one, other in itertools.combinations(places, 2)
    ]


@pytest.mark.parametrize("kind", ["integer", "real"])
def test_no_number_is_counted_twice(kind: str) -> None:
    for step, stretch, precision, is_zoomed in itertools.product(
        (*grids_of(kind), 0.0), stretches(kind), PRECISIONS, (False, True)
    ):
        if kind == "integer" and not step:
            continue
        held = None
        if is_zoomed:
            width = stretch.high - stretch.low
            held = (stretch.low + 0.2 * width, stretch.low + 0.5 * width)
        grid = lay_cells(kind, ends_of(kind), stretch, step, precision, held)
        far, half = values_far_from(grid, kind), half_width_of(grid, kind)
        middles = np.array([*SENTINELS, *far, grid.cuts[0], grid.cuts[-1], *grid.edges[:3]])
        numbers = (middles[:, None] + np.array(NEAR)[None, :] * max(step, 1.0)).ravel()
        numbers = np.concatenate([numbers, (middles[:, None] + np.array(NEAR)[None, :]).ravel()])
        assert (np.diff(grid.cuts) > 0).all()
        assert (np.diff(grid.edges) > 0).all()  # else a schema of them would not load
        inside = (numbers >= grid.cuts[0]) & (numbers < grid.cuts[-1])
        apart = numbers[:, None]
        near = ((apart >= far - half) & (apart < far + half)).sum(axis=1)
        assert (near + inside <= 1).all(), (kind, step, stretch)


def test_a_range_is_cut_at_round_ends_unless_these_are_few() -> None:
    ends = ends_of("integer")
    round_ends = np.flatnonzero(ends.round)
    widest = int(np.diff(round_ends).argmax())  # other ends lie here, between two round ones
    assert not ends.round[round_ends[widest] + 1]
    for cuts, cut_everywhere in ((MIN_CUTS - 1, True), (MIN_CUTS, False)):
        begin = min(widest, len(round_ends) - cuts - 2)
        first, last = int(round_ends[begin]), int(round_ends[begin + cuts + 1])
        stretch = Range(float(ends.edges[first]), float(ends.edges[last]), first, last)
        inside = list(range(first + 1, last))
        between = [place for place in inside if ends.round[place]]
        assert len(between) == cuts < len(inside)
        if cut_everywhere:
            between = inside
        assert places_to_cut(ends, stretch) == [first, *between, last]
