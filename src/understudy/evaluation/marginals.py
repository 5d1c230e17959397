"""How far apart the marginals of two tables are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.counting.memory import MemoryCounter
from understudy.data.encoding import Coded, encode
from understudy.data.marginals import Marginal, marginal
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.errors import InputError
from understudy.evaluation.comparison import Comparison, Side
from understudy.evaluation.result import MarginalError, MarginalErrors

MAX_MARGINALS = 600
CELLS_AT_A_TIME = 1 << 22
MAX_NAMED_MARGINALS = 10

RELATED = 2.0
"""Columns are related where independent ones would be this many times further from the real table
than chance makes.
"""


def marginal_errors(
    real: Table,
    synthetic: Table,
    schema: Schema,
    order: int,
    max_marginals: int | None = MAX_MARGINALS,
    seed: int = 0,
) -> dict[Marginal, float]:
    """Total variation distance of every marginal of an order, or of a uniform sample of
    ``max_marginals`` of them.

    Half the L1 distance between the two normalised tables: 0 where they are equal, 1 where they
    share nothing.
    """
    chosen = marginals_of_order(schema, order, max_marginals, seed)
    return dict(
        zip(
            chosen,
            total_variation(encode(real, schema), encode(synthetic, schema), chosen),
            strict=True,
        )
    )


def marginals_of_order(
    schema: Schema, order: int, max_marginals: int | None, seed: int = 0
) -> list[Marginal]:
    """All marginals of this many attributes, or a uniform sample of ``max_marginals`` where there
    are more.
    """
    names = [attribute.name for attribute in schema.modelled]
    if not 1 <= order <= len(names):
        raise InputError(
            f"There are no marginals of {order} attributes in a table of {len(names)}."
        )
    count = math.comb(len(names), order)
    everything = itertools.combinations(names, order)
    if max_marginals is None or count <= max_marginals:
        return [marginal(*combination) for combination in everything]
    kept = set(np.random.default_rng(seed).choice(count, max_marginals, replace=False).tolist())
    return [marginal(*combination) for place, combination in enumerate(everything) if place in kept]


def total_variation(real: Coded, synthetic: Coded, marginals: Sequence[Marginal]) -> list[float]:
    """Half the L1 distance between the normalised tables of two coded sets of rows."""
    return [half_distance(*shares) for shares in _shares(real, synthetic, marginals)]


def marginals_by_order(
    tables: Comparison, order: int, max_marginals: int | None = MAX_MARGINALS, seed: int = 0
) -> MarginalErrors:
    """How far the marginals of an order are apart: all, or a sample of ``max_marginals``."""
    chosen = marginals_of_order(tables.schema, order, max_marginals, seed)
    distances = np.empty(len(chosen))
    by_chance = np.empty(len(chosen))
    independent = np.zeros(len(chosen))
    pairs = _shares(tables.real.coded, tables.synthetic.coded, chosen)
    for place, (left, right) in enumerate(pairs):
        distances[place] = half_distance(left, right)
        by_chance[place] = distance_by_chance(left, tables.real.rows, tables.synthetic.rows)
        if order == 2:
            names = (axis.attribute for axis in chosen[place])
            independent[place] = distance_if_independent(tables.real, *names)
    related = independent > RELATED * by_chance
    worst = np.argsort(-distances, kind="stable")[:MAX_NAMED_MARGINALS]
    return MarginalErrors(
        order=order,
        measured=len(chosen),
        of=math.comb(len(tables.schema), order),
        mean=float(distances.mean()),
        largest=float(distances.max()),
        by_chance=float(by_chance.mean()),
        worst=tuple(
            MarginalError(tuple(axis.attribute for axis in chosen[place]), float(distances[place]))
            for place in worst
        ),
        related=int(related.sum()),
        related_mean=float(distances[related].sum() / max(related.sum(), 1)),
        independent_mean=float(independent[related].sum() / max(related.sum(), 1)),
    )


def half_distance(left: NDArray[Any], right: NDArray[Any]) -> float:
    """Total variation distance of two tables of shares."""
    return float(np.abs(left - right).sum() / 2)


def distance_if_independent(side: Side, first: str, second: str) -> float:
    """Total variation distance of two columns to independent ones with the same shares."""
    one, other = (side.codes(name).astype(np.int64) for name in (first, second))
    size = int(other.max(initial=0)) + 1
    shares = np.bincount(one * size + other) / max(side.rows, 1)
    held = np.flatnonzero(shares)  # only there can more rows be than independent columns have
    ones, others = (np.bincount(codes) / max(side.rows, 1) for codes in (one, other))
    return float(np.maximum(shares[held] - ones[held // size] * others[held % size], 0.0).sum())


def distance_by_chance(shares: NDArray[Any], rows: int, other_rows: int) -> float:
    """Total variation distance to be expected between two samples of a population that has these
    shares, about.

    The difference of two shares is taken as normal, with mean size sqrt(2/pi) times its deviation;
    where hardly a row is expected it cannot exceed the sum of both. Shares that were counted in the
    sample itself give too little where the table is sparse: the cells that no row fell into are not
    in it.
    """
    deviations = np.sqrt(shares * (1 - shares) * (1 / rows + 1 / other_rows))
    return float(np.minimum(math.sqrt(2 / math.pi) * deviations, 2 * shares).sum() / 2)


def _shares(
    real: Coded, synthetic: Coded, marginals: Sequence[Marginal]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Both normalised tables of every marginal: all cells, or those that some row falls into where
    there are many.
    """
    sides = (real, synthetic)
    counters = [_counter(coded) for coded in sides]
    rows = [max(coded.rows, 1) for coded in sides]
    for batch in _batches(marginals, counters[0]):
        if _cells(batch[0], counters[0]) > CELLS_AT_A_TIME:
            left, right = _count_occupied(real, synthetic, batch[0])
            yield left / rows[0], right / rows[1]
            continue
        for left, right in zip(*(counter.count(batch) for counter in counters), strict=True):
            yield left / rows[0], right / rows[1]


def _count_occupied(
    real: Coded, synthetic: Coded, axes: Marginal
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The counts of the cells that some row falls into: their number is bounded by the rows,
    however large a table.
    """
    cell = np.zeros(real.rows + synthetic.rows, dtype=np.int64)
    for axis in axes:
        both = np.concatenate(
            [coded.codes[axis.attribute].astype(np.int64) for coded in (real, synthetic)]
        )
        # Numbered again at every step, so that the number of a cell never outgrows 64 bits.
        cell = np.unique(cell * (int(both.max(initial=0)) + 1) + both, return_inverse=True)[1]
    held = int(cell.max(initial=-1)) + 1
    return np.bincount(cell[: real.rows], minlength=held), np.bincount(
        cell[real.rows :], minlength=held
    )


def _counter(coded: Coded) -> MemoryCounter:
    attributes = coded.schema.modelled
    return MemoryCounter(
        coded.codes,
        {a.name: a.generalisations for a in attributes},
        {a.name: a.size for a in attributes},
    )


def _batches(marginals: Sequence[Marginal], counter: MemoryCounter) -> Iterator[list[Marginal]]:
    """As many tables at a time as fit a bounded amount of memory; one that does not fit comes
    alone.
    """
    batch: list[Marginal] = []
    cells = 0
    for axes in marginals:
        size = _cells(axes, counter)
        if batch and cells + size > CELLS_AT_A_TIME:
            yield batch
            batch, cells = [], 0
        batch.append(axes)
        cells += size
    if batch:
        yield batch


def _cells(axes: Marginal, counter: MemoryCounter) -> int:
    return math.prod(counter.size(axis) for axis in axes)
