"""Rows that were drawn under a condition get values that fit it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.columns import in_words
from understudy.data.inside import Inside
from understudy.data.schema import Quantity
from understudy.data.streams import draw_uniforms
from understudy.data.tables import Column, Table
from understudy.models.query.subsets import Subset


def confine_values(
    table: Table,
    codes: Mapping[str, NDArray[Any]],
    subsets: Mapping[str, Subset],
    rng: np.random.Generator,
) -> Table:
    """The table with values that fit wherever a condition cuts through a bin: drawn again inside
    what is left of it.
    """
    columns = dict(table.columns)
    for name, subset in subsets.items():
        if subset.cuts_a_bin:
            columns[name] = _redraw(columns[name], codes[name], subset, rng)
    return Table(columns, table.source)


def _redraw(
    column: Column, codes: NDArray[Any], subset: Subset, rng: np.random.Generator
) -> Column:
    attribute = subset.attribute
    assert isinstance(attribute, Quantity)
    if attribute.refined:
        drawn = Inside(attribute, subset.intervals).draw(codes, rng)
        return replace(column, values=drawn)
    pieces = [
        (code, max(low, start), min(high, end))
        for code, (low, high) in enumerate(
            zip(attribute.edges[:-1], attribute.edges[1:], strict=True)
        )
        for start, end in subset.intervals
        if max(low, start) < min(high, end)
    ]
    starts = np.array([low for _, low, _ in pieces])
    lengths = np.array([high - low for _, low, high in pieces])
    before = np.concatenate([[0.0], np.cumsum(lengths)])
    # The pieces of a bin laid end to end: a point on that line is a value of the bin that fits.
    owners = np.array([code for code, _, _ in pieces])
    first = np.searchsorted(owners, np.arange(attribute.size))
    last = np.searchsorted(owners, np.arange(attribute.size), side="right")
    points = (
        before[first][codes]
        + draw_uniforms(rng, len(codes)) * (before[last] - before[first])[codes]
    )
    piece = np.clip(np.searchsorted(before, points, side="right") - 1, 0, len(pieces) - 1)
    piece = np.clip(piece, first[codes], np.maximum(last[codes] - 1, first[codes]))
    piece = np.minimum(piece, len(pieces) - 1)
    values: NDArray[Any] = starts[piece] + np.clip(points - before[piece], 0, None)
    if attribute.whole:
        top = starts[piece] + lengths[piece] - 1
        whole = replace(column, values=np.minimum(np.floor(values), top).astype(np.int64))
        if attribute.kind == "time":
            return in_words(replace(whole, format=attribute.format or ""), "time")
        return whole
    unit = float(10**attribute.places)
    # Rounding, here or in the sum above, must not carry a value over an end of its piece.
    ends = np.array([high for _, _, high in pieces])
    steps = np.rint(ends * unit)
    steps = np.where(steps / unit < ends, steps, steps - 1)  # the last value below the end
    written = np.minimum(np.floor(values * unit), steps[piece]) / unit
    below = np.nextafter(ends, -np.inf)
    return replace(column, values=np.clip(written, starts[piece], below[piece]))
