"""Quantities with what a refinement learned about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.counting.spacings import grids_of
from understudy.data.attributes import MAX_FEW_VALUES
from understudy.data.inside import MAX_SEGMENTS, Segment, fraction
from understudy.data.inside_files import with_details
from understudy.data.schema import Quantity
from understudy.data.value_classes import GridClasses
from understudy.privacy.cells import CELL_STEPS, grid_of
from understudy.privacy.heaping import find_heaps
from understudy.privacy.noisy_tables import NoisyTable
from understudy.privacy.shapes import Shape, segments, sum_by

FINEST = 1e-9
"""The finest step of a real, as a part of its range."""

SURE_VALUE, LEAST_VALUE = 5.0, 0.002
"""A value of a column with few of them holds more rows than this many deviations of the noise, and
this share of all.
"""

SURE_REST, MAX_REST, MAX_UNSEEN = 1.5, 0.005, 0.1
"""All other values hold at most as many, together; and noise does not hide more than the last share
of all rows there.
"""


GRIDS = tuple(sorted({*CELL_STEPS, 250.0, 25.0, 20.0, 2.0, 0.25, 0.2}, reverse=True))
"""Steps of numbers, coarsest first."""


def candidate_steps(attribute: Quantity) -> tuple[float, ...]:
    """Grids that the range has room for, and that are not finer than the column can be: of a column
    with a step those that are multiples of it.
    """
    span = attribute.edges[-1] - attribute.edges[0]
    steps, finest = GRIDS, 1.0
    if attribute.is_moment:
        steps = grids_of(attribute.kind)
    if not attribute.whole:
        finest = span * FINEST
    found = tuple(step for step in steps if finest <= step and 4 * step <= span)
    if attribute.step is None:
        return found
    own = fraction(attribute.step)
    coarser = tuple(step for step in found if (fraction(step) / own).denominator == 1)
    if not coarser or coarser[-1] != attribute.step:
        coarser += (float(attribute.step),)
    return coarser


def grid_classes(attribute: Quantity, steps: tuple[float, ...]) -> GridClasses:
    """The attribute that codes numbers by the grid that they lie on."""
    return GridClasses(
        attribute.name,
        attribute.kind,
        attribute.missing or "",
        attribute.edges,
        format=attribute.format,
        steps=steps,
    )


def with_step(
    attribute: Quantity, step: float | None, heaping: tuple[tuple[float, float], ...]
) -> Quantity:
    """The attribute with a step, if all its bins hold multiples of it."""
    if step is None:
        return attribute
    if attribute.whole:
        step = int(step)
    stepped = replace(attribute, step=step)
    grid = grid_of(stepped)
    edges = attribute.edges
    if attribute.free_bins:
        edges = (edges[0], edges[-1])
    empty = any(grid.at(grid.index_from(low)) >= high for low, high in pairwise(edges))
    if empty:
        return attribute
    if attribute.free_bins:
        stepped = _round_edges(stepped)
    if attribute.kind == "datetime":
        return stepped  # weekdays matter more, and only one of them can be kept
    return replace(stepped, heaping=tuple((coarse, share) for coarse, share in heaping))


def list_values(attribute: Quantity, shape: Shape) -> Quantity | None:
    """The attribute with a bin for each of its values, where there are only a few and nothing is
    seen beside them; else nothing.

    Most of the rest of a range is empty then, but noise fills it: a column of four prices would
    come out with dozens. A value counts where its rows are not noise; what is left for all others
    must be no more than noise.
    """
    if attribute.is_moment or attribute.values:
        return None
    sizes, deviations = sum_by(shape.runs, shape.sizes), 1 / np.sqrt(shape.precisions)
    held = shape.rows > np.maximum(SURE_VALUE * deviations, LEAST_VALUE * shape.rows.sum() * sizes)
    alone = held[shape.runs] & (shape.sizes <= 1)
    listed = np.bincount(shape.runs, weights=alone) == np.bincount(shape.runs)
    values = np.array(shape.edges[:-1])[listed[shape.runs]]
    if not 2 <= len(values) <= MAX_FEW_VALUES:
        return None
    gaps = np.diff(values) > 1.5 * float(grid_of(attribute).step)
    left, noise = shape.rows[~listed].sum(), float(np.sqrt((deviations[~listed] ** 2).sum()))
    total = shape.rows.sum()
    if not gaps.any() or left > SURE_REST * noise + MAX_REST * total:
        return None
    if SURE_REST * noise > MAX_UNSEEN * total:
        return None
    edges = (attribute.edges[0], *values[1:].tolist(), attribute.edges[-1])
    if attribute.whole:
        edges = tuple(map(int, edges))
    plain = replace(
        attribute, edges=edges, equal_width=False, free_bins=False, step=None, heaping=()
    )
    return with_details(plain, {"values": list(_plain_values(attribute, values))})


def _plain_values(attribute: Quantity, values: NDArray[np.float64]) -> Iterator[float]:
    for value in values.tolist():
        yield int(value) if attribute.whole else value


def find_heaping_beside(
    shape: Shape, step: float, classes: GridClasses, table: NoisyTable
) -> tuple[tuple[float, float], ...]:
    """How people round where no single value was found to hold many rows: what is known of those
    says nothing of the rest. A column in which every second row has 40 hours is not one in which
    half of the others are rounded to tens.
    """
    alone = shape.sizes <= 1
    values = np.array(shape.edges[:-1])[alone]
    counts = table.counts.astype(np.float64)
    np.subtract.at(counts, classes.code(values), shape.masses[alone])
    facts = np.rint(counts).astype(np.int64), table.stands_out(len(counts))
    return find_heaps(classes.steps, *facts, step)


def _round_edges(attribute: Quantity) -> Quantity:
    """The attribute with bins that begin at multiples of its step."""
    grid = grid_of(attribute)
    first, last = attribute.edges[0], attribute.edges[-1]
    inner = {grid.at(grid.index_from(edge)) for edge in attribute.edges[1:-1]}
    kept = sorted(edge for edge in inner if grid.at(grid.index_from(first)) < edge < last)
    if attribute.whole:
        kept = [int(edge) for edge in kept]
    edges = (first, *kept, last)
    return replace(
        attribute,
        edges=edges,
        equal_width=attribute.equal_width and edges == attribute.edges,
    )


def close_edges(attribute: Quantity, edges: tuple[float, ...]) -> tuple[float, ...]:
    """Edges of bins, of which the last one of a real ends with its upper bound."""
    inner = [edge for edge in edges[1:-1] if edge < attribute.edges[-1]]
    if attribute.whole:
        inner = [int(edge) for edge in inner]
    return attribute.edges[0], *inner, attribute.edges[-1]


def without_hollow_bins(attribute: Quantity, edges: tuple[float, ...]) -> tuple[float, ...]:
    """Edges of bins that each hold a multiple of the attribute's step. A single value that is
    parted from a bin of 24.75 to 31.5 leaves one from 24.75 to 25, where no year is: the edge
    between it and its neighbour goes, and no multiple changes its bin for it.
    """
    if attribute.step is None:
        return edges
    grid = grid_of(attribute)
    kept = [edges[0]]
    for edge in edges[1:]:
        closed = edge == edges[-1] and not attribute.whole
        first = grid.at(grid.index_from(kept[-1]))
        if first < edge or (closed and first == edge):
            kept.append(edge)
        elif len(kept) > 1:
            kept[-1] = edge
    if kept[-1] != edges[-1]:
        kept.append(edges[-1])
    return tuple(kept)


def join_empty_ends(edges: tuple[float, ...], shape: Shape) -> tuple[float, ...]:
    """Edges of bins of which the outermost ones without any rows are one, at each end: what a model
    puts there lies next to the rest (:func:`detail_of`), not anywhere in a bin that is many times
    as wide. Where one bin alone is seen, such as that of zero, nothing is told of the others.
    """
    starts = [low for low, _, rows, _ in segments(shape, edges) if round(rows) > 0]
    if not starts:
        return edges
    first, last = np.searchsorted(np.array(edges), [starts[0], starts[-1]], side="right") - 1
    kept = edges[max(int(first), 0) : int(last) + 2]
    if len(kept) < 3:
        return edges
    return tuple(sorted({edges[0], *kept, edges[-1]}))


def detail_of(attribute: Quantity, shape: Shape) -> tuple[Segment, ...]:
    """Segments with weights, for all bins in which they say something."""
    found: list[Segment] = []
    upper = attribute.edges[-1]
    for low, high, rows, alone in segments(shape, attribute.edges):
        weight = round(rows)
        if weight <= 0:
            continue
        if attribute.whole:
            found.append((int(low), int(high), weight))
        elif alone or low >= upper:
            found.append((float(low), float(low), weight))
        else:
            found.append((float(low), float(min(high, upper)), weight))
    found = _with_empty_ends(attribute, found)
    if len(found) > MAX_SEGMENTS:
        return ()
    return tuple(found)


def _with_empty_ends(attribute: Quantity, found: list[Segment]) -> list[Segment]:
    """Segments, with some for outermost bins in which no rows were seen. What a model puts there
    is noise, or a tail too thin to be seen: it lies next to the rest, over the width of the wider
    of the two bins beside it, since one of them may be a single value. Beside single values alone
    nothing tells how far a tail goes: debts of all sizes lie beside many of nothing.
    """
    edges, grid = attribute.edges, grid_of(attribute)
    if not found or len(edges) < 3:
        return found
    widths = np.diff(edges).tolist()
    inner = widths[1:-1] or [min(widths)]
    single = 1.5 * float(grid.step)
    if found[0][0] >= edges[1] and max(inner[:2]) > single:
        start = grid.at(grid.index_from(edges[1] - max(inner[:2])))
        if edges[0] < start < edges[1]:
            found = [_segment(attribute, start, edges[1]), *found]
    if found[-1][1] <= edges[-2] and found[-1][0] < edges[-2] and max(inner[-2:]) > single:
        end = grid.at(grid.index_from(edges[-2] + max(inner[-2:])))
        if grid.at(grid.index_from(edges[-2])) < end < edges[-1]:
            found = [*found, _segment(attribute, edges[-2], end)]
    return found


def _segment(attribute: Quantity, start: float, end: float) -> Segment:
    if attribute.whole:
        return int(start), int(end), 1
    return float(start), float(end), 1
