"""How far apart the marginals of two tables are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from understudy.counting.memory import MemoryCounter
from understudy.encoding import Coded, encode
from understudy.errors import InputError
from understudy.marginals import Marginal, marginal
from understudy.schema import Schema
from understudy.tables import Table

MOST_MARGINALS = 600
CELLS_AT_A_TIME = 1 << 24


def marginal_errors(
    real: Table,
    synthetic: Table,
    schema: Schema,
    order: int,
    most: int | None = MOST_MARGINALS,
    seed: int = 0,
) -> dict[Marginal, float]:
    """Total variation distance of every marginal of an order, or of a uniform sample of ``most`` of them.

    Half the L1 distance between the two normalised tables: 0 where they are equal, 1 where they share nothing.
    """
    chosen = marginals_of_order(schema, order, most, seed)
    return dict(zip(chosen, total_variation(encode(real, schema), encode(synthetic, schema), chosen), strict=True))


def marginals_of_order(schema: Schema, order: int, most: int | None, seed: int = 0) -> list[Marginal]:
    """All marginals of so many attributes, or a uniform sample of ``most`` where there are more."""
    names = [attribute.name for attribute in schema.modelled]
    if not 1 <= order <= len(names):
        raise InputError(f"There are no marginals of {order} attributes in a table of {len(names)}.")
    count = math.comb(len(names), order)
    everything = itertools.combinations(names, order)
    if most is None or count <= most:
        return [marginal(*combination) for combination in everything]
    kept = set(np.random.default_rng(seed).choice(count, most, replace=False).tolist())
    return [marginal(*combination) for place, combination in enumerate(everything) if place in kept]


def total_variation(real: Coded, synthetic: Coded, marginals: Sequence[Marginal]) -> list[float]:
    """Half the L1 distance between the normalised tables of two coded sets of rows."""
    counters = [_counter(coded) for coded in (real, synthetic)]
    rows = [max(coded.rows, 1) for coded in (real, synthetic)]
    distances: list[float] = []
    for batch in _batches(marginals, counters[0]):
        left, right = (counter.count(batch) for counter in counters)
        distances += [float(np.abs(a / rows[0] - b / rows[1]).sum() / 2) for a, b in zip(left, right, strict=True)]
    return distances


def _counter(coded: Coded) -> MemoryCounter:
    attributes = coded.schema.modelled
    return MemoryCounter(
        coded.codes, {a.name: a.generalisations for a in attributes}, {a.name: a.size for a in attributes}
    )


def _batches(marginals: Sequence[Marginal], counter: MemoryCounter) -> list[list[Marginal]]:
    """As many tables at a time as fit a bounded amount of memory."""
    batches: list[list[Marginal]] = [[]]
    cells = 0
    for axes in marginals:
        size = math.prod(counter.size(axis) for axis in axes)
        if batches[-1] and cells + size > CELLS_AT_A_TIME:
            batches.append([])
            cells = 0
        batches[-1].append(axes)
        cells += size
    return [batch for batch in batches if batch]
