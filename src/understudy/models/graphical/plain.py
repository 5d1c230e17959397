"""The steps of graphical models in plain Python and NumPy, for models so small that compiled
kernels would not pay.

What each function gives is, to the bit, what the one of the same name in
:mod:`understudy.models.graphical.kernels` gives: sums are taken in the same order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def elimination_seconds(attributes: int) -> float:
    """What one elimination takes, about."""
    return 5e-6 + 1e-6 * attributes + 0.08e-6 * attributes**2


def table_seconds(cells: int) -> float:
    """What a sum over a table or its scaling takes, about."""
    return 2e-6 + 3e-9 * cells


def cells_with(
    adjacent: Flags,
    logs: Floats,
    places: NDArray[np.int64],
    starts: NDArray[np.int64],
    cells: Floats,
) -> None:
    """For each candidate all cells of the cliques of the graph with edges between all of the
    candidate's places.
    """
    neighbours, weights = _neighbours(adjacent), logs.tolist()
    for candidate in range(len(cells)):
        joined = places[starts[candidate] : starts[candidate + 1]].tolist()
        grown = list(neighbours)
        for i in joined:
            grown[i] = grown[i] | {j for j in joined if j != i}
        cells[candidate] = _eliminate(grown, weights)[0]


def eliminate(given: Flags, logs: Floats) -> tuple[float, Flags]:
    """All cells of the cliques that elimination makes, and who is in each of them; smallest clique
    first.
    """
    cells, cliques = _eliminate(_neighbours(given), logs.tolist())
    members = np.zeros((len(logs), len(logs)), np.bool_)
    for step, clique in enumerate(cliques):
        members[step, clique] = True
    return cells, members


def _neighbours(adjacent: Flags) -> list[set[int]]:
    return [set(np.flatnonzero(row).tolist()) for row in adjacent]


def _eliminate(given: list[set[int]], logs: list[float]) -> tuple[float, list[list[int]]]:
    neighbours = [set(known) for known in given]
    left = list(range(len(logs)))
    sizes = list(logs)  # the logarithm of the cells of each attribute's clique with its neighbours
    for v in left:
        for w in sorted(neighbours[v]):
            sizes[v] += logs[w]
    cells = 0.0
    cliques: list[list[int]] = []
    earlier: list[set[int]] = []
    while left:
        best = left[0]
        for v in left:
            if sizes[v] < sizes[best] - 1e-9:
                best = v
        members = {best} | neighbours[best]
        clique = sorted(members)
        if not any(members <= other for other in earlier):
            cells += math.exp(sizes[best])
        cliques.append(clique)
        earlier.append(members)
        left.remove(best)
        for u in clique:
            if u == best:
                continue
            known = neighbours[u]
            known.discard(best)
            sizes[u] -= logs[best]
            for w in clique:
                if w not in (u, best) and w not in known:
                    known.add(w)
                    sizes[u] += logs[w]
    return cells, cliques


def sum_by_place(table: Floats, index: NDArray[np.int32], size: int) -> Floats:
    """The sum of the cells that fall into each place."""
    return np.asarray(np.bincount(index, table, minlength=size), np.float64)


def scale_by_place(table: Floats, index: NDArray[np.int32], ratio: Floats) -> None:
    """Multiply every cell by the ratio of its place."""
    table *= ratio[index]
