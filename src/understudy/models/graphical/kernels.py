"""Compiled steps of graphical models: elimination of attributes, sums over cliques and their
scaling.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.machine.compiled import kernel

Array = Any


@kernel(nogil=True)
def cells_with(adjacent: Array, logs: Array, places: Array, starts: Array, cells: Array) -> None:
    """For each candidate all cells of the cliques of the graph with edges between all of the
    candidate's places.
    """
    for candidate in range(len(cells)):
        grown = adjacent.copy()
        for i in places[starts[candidate] : starts[candidate + 1]]:
            for j in places[starts[candidate] : starts[candidate + 1]]:
                if i != j:
                    grown[i, j] = True
        cells[candidate] = eliminate(grown, logs)[0]


@kernel(nogil=True)
def eliminate(given: Array, logs: Array) -> Any:
    """All cells of the cliques that elimination makes, and who is in each of them; smallest clique
    first.
    """
    d = len(logs)
    adjacent = given.copy()
    gone = np.zeros(d, np.bool_)
    members = np.zeros((d, d), np.bool_)
    sizes = logs.copy()  # the logarithm of the cells of each attribute's clique with its neighbours
    for v in range(d):
        for w in range(d):
            if adjacent[v, w]:
                sizes[v] += logs[w]
    clique = np.empty(d, np.int64)
    cells = 0.0
    for step in range(d):
        best = -1
        for v in range(d):
            if not gone[v] and (best < 0 or sizes[v] < sizes[best] - 1e-9):
                best = v
        held = 0
        for w in range(d):
            if w == best or (adjacent[best, w] and not gone[w]):
                members[step, w] = True
                clique[held] = w
                held += 1
        if not _inside(members, step, clique[:held]):
            cells += np.exp(sizes[best])
        gone[best] = True
        for u in clique[:held]:
            if u != best:
                sizes[u] -= logs[best]
                for w in clique[:held]:
                    if w not in (u, best) and not adjacent[u, w]:
                        adjacent[u, w] = True
                        sizes[u] += logs[w]
    return cells, members


@kernel(nogil=True)
def _inside(members: Array, step: int, clique: Array) -> Any:
    """Whether a clique lies in an earlier one, and so is none of its own."""
    for earlier in range(step):
        inside = True
        for w in clique:
            if not members[earlier, w]:
                inside = False
                break
        if inside:
            return True
    return False


@kernel()
def sum_by_place(table: Array, index: Array, size: int) -> Any:
    """The sum of the cells that fall into each place."""
    out = np.zeros(size)
    for i in range(table.size):
        out[index[i]] += table[i]
    return out


@kernel()
def scale_by_place(table: Array, index: Array, ratio: Array) -> None:
    """Multiply every cell by the ratio of its place."""
    for i in range(table.size):
        table[i] *= ratio[index[i]]
