"""How many cells of a row are missing: some rows lack many at once, more than chance would have.

A model knows how often each column is missing, and together with which others only as far as its
network goes. Where a release learned how many cells of a row are missing
(:attr:`understudy.data.schema.Schema.missing_cells`), rows that are drawn together exchange missing
cells: a row that should have fewer gives one to a row that should have more, and takes that row's
value of the column. Every column keeps its values and its missing cells, to the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Schema
from understudy.data.streams import draw_uniforms

LEAST_COLUMNS = 3
"""Two columns that are missing together are a pair like any other."""


def may_be_missing(schema: Schema) -> tuple[Attribute, ...]:
    """The attributes that have a code for "missing"."""
    return tuple(a for a in schema.modelled if a.missing is not None)


def count_missing(schema: Schema, codes: Mapping[str, NDArray[Any]], rows: int) -> NDArray[Any]:
    """How many cells of each row are missing."""
    found = np.zeros(rows, dtype=np.int64)
    for attribute in may_be_missing(schema):
        found += codes[attribute.name] == attribute.values_size
    return found


def gather_missing(
    codes: Mapping[str, NDArray[Any]], schema: Schema, rng: np.random.Generator, rows: int
) -> dict[str, NDArray[Any]]:
    """Exchange cells between rows until the numbers of missing cells are as the schema says.

    Parameters
    ----------
    codes
        For each modelled attribute one code per row.
    schema
        What the codes mean, and how many cells of a row are missing.
    rng
        Randomness for which rows exchange which cells.
    rows
        How many rows there are.
    """
    columns = may_be_missing(schema)
    exchanged = dict(codes)
    counts = count_missing(schema, codes, rows)
    wanted = _choose_missing_counts(counts, np.array(schema.missing_cells), rng)
    surplus = np.maximum(counts - wanted, 0)
    lacking = np.maximum(wanted - counts, 0)
    left = counts.copy()
    for attribute in columns:
        column = exchanged[attribute.name]
        absent = column == attribute.values_size
        # A row that gives away s of its m missing cells gives each with probability s / m: the
        # cells that it has not looked at yet are m, one after the other.
        lots = draw_uniforms(rng, rows)
        gives = absent & (lots * np.maximum(left, 1) < surplus)
        left -= absent
        givers = np.flatnonzero(gives)
        takers = np.flatnonzero(~absent & (lacking > 0))
        takers = takers[np.argsort(lots[takers] - lacking[takers], kind="stable")]
        pairs = min(len(givers), len(takers))
        givers, takers = givers[np.argsort(lots[givers], kind="stable")][:pairs], takers[:pairs]
        changed = column.copy()
        changed[givers], changed[takers] = column[takers], column[givers]
        exchanged[attribute.name] = changed
        surplus[givers] -= 1
        lacking[takers] -= 1
    return exchanged


def _choose_missing_counts(
    counts: NDArray[Any], shares: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[Any]:
    """How many missing cells each row should have: those that have most now have most then."""
    rows = len(counts)
    ends = np.cumsum(shares) / shares.sum()
    # Evenly spread over the distribution, so that the numbers are as they should be.
    points = (np.arange(rows) + draw_uniforms(rng, 1)) / max(rows, 1)
    numbers = np.minimum(np.searchsorted(ends, points, side="right"), len(shares) - 1)
    order = np.argsort(counts + draw_uniforms(rng, rows), kind="stable")
    wanted = np.zeros(rows, dtype=np.int64)
    wanted[order] = numbers
    return wanted
