"""The parameters of a PrivBayes network: a noisy table for each attribute and its parents.

Algorithms 1 and 3 of the paper; and tables that lie in others are read off these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis, Marginal, sum_onto
from understudy.models.consistency import make_consistent
from understudy.models.network import Network, Node
from understudy.models.parameters import estimate_rows, repair_counts
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator, Measurement
from understudy.synthesizers.privbayes_search import ChildAndParents

if TYPE_CHECKING:
    from understudy.synthesizers.privbayes import PrivBayes


def measure_network(
    method: PrivBayes,
    curator: Curator,
    pairs: Sequence[ChildAndParents],
    budget: Budget,
    *,
    rows: float,
    measured: Sequence[Measurement] = (),
    derive: bool = True,
) -> tuple[Network, float]:
    """A noisy table for each pair, made into one that could be real; and the number of rows.

    Parameters
    ----------
    rows, measured
        The number of rows as it is known so far, and what it was read off, if it is private.
    derive
        Whether a table whose attributes all stand in another one is not measured but summed from
        it. In algorithm 1 those are the tables of the first k attributes.
    """
    families = [(*parents, Axis(child)) for child, parents in pairs]
    sizes = {a.name: a.sizes_by_level() for a in curator.schema.modelled}
    cells = [math.prod(sizes[axis.attribute][axis.level] for axis in family) for family in families]
    homes = list(range(len(families)))
    if derive:
        homes = find_homes(families, cells)
    asked = sorted(set(homes))
    weights = [cells[place] ** method.table_power for place in asked]
    tables = curator.measure([families[place] for place in asked], budget, weights)
    if curator.rows is None:
        rows = estimate_rows([*measured, *tables])
    counts = _repair(method, curator, tables, rows)
    known = dict(zip(asked, zip(tables, counts, strict=True), strict=True))
    nodes = []
    for (child, parents), family, home in zip(pairs, families, homes, strict=True):
        table, repaired = known[home]
        conditional, summed = sum_onto(repaired, table.marginal, family)
        nodes.append(Node(child, parents, conditional, table.deviation * math.sqrt(summed)))
    placed = {child for child, _ in pairs}
    constant = [a.name for a in curator.schema.modelled if a.name not in placed]
    nodes += [Node(name, (), np.array([rows])) for name in constant]
    return Network(tuple(nodes)), rows


def _repair(
    method: PrivBayes, curator: Curator, tables: Sequence[Measurement], rows: float
) -> Sequence[NDArray[Any]]:
    """Counts that could be real, which agree on what they share where that is wanted."""
    consistent = method.consistent
    if consistent is None:
        binary = all(attribute.size <= 2 for attribute in curator.schema.modelled)
        consistent = method.target is not None or not binary
    if consistent:
        return make_consistent(tables, curator.schema, rows, method.repair, method.target)
    return [repair_counts(table.counts, rows, method.repair) for table in tables]


def find_homes(families: Sequence[Marginal], cells: Sequence[int]) -> list[int]:
    """For each family the table that it is read off: its own, or the smallest that holds all its
    axes and is measured.

    Measured are the families that lie in no other one (of equal ones, the first).
    """
    sets = [frozenset(family) for family in families]
    measured = [
        place
        for place, mine in enumerate(sets)
        if not any(mine < other or (mine == other and i < place) for i, other in enumerate(sets))
    ]
    return [
        min((m for m in measured if mine <= sets[m]), key=lambda m: (cells[m], m)) for mine in sets
    ]
