"""Junction trees: cliques of attributes such that every table lies in one, connected such that
they can agree.

Attributes that share a table are neighbours. Eliminating them one by one, each time the one whose
clique with what is left of its neighbours has the fewest cells, gives cliques; any two that share
attributes are joined along a path on which all cliques share them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.machine.plain_first import thread_count
from understudy.models.graphical import Group, plain, steps

ALONE = 256
"""This many candidates are looked at faster by one thread than by several."""


@dataclass(frozen=True)
class Branch:
    """A clique, the place of the clique that it hangs from (-1 for none) and what it shares with
    that one.
    """

    clique: Group
    parent: int
    shared: Group


class Attributes:
    """The attributes of a model by number, with the arithmetic of cliques over them.

    Parameters
    ----------
    sizes
        How many values each has.
    counted
        As how many values some of them count where it is asked how many cells cliques have.
    """

    def __init__(self, sizes: Mapping[str, int], counted: Mapping[str, int] | None = None) -> None:
        self.names = list(sizes)
        self.sizes = dict(sizes)
        self._number = {name: place for place, name in enumerate(self.names)}
        values = {**sizes, **(counted or {})}
        self._logs = np.log(np.array([values[name] for name in sizes], dtype=np.float64))

    def sort(self, names: Iterable[str]) -> Group:
        """The names as a group."""
        return tuple(sorted(names, key=self._number.__getitem__))

    def shape(self, group: Group) -> tuple[int, ...]:
        """The sides of a group's table."""
        return tuple(self.sizes[name] for name in group)

    def adjacency(self, groups: Iterable[Group]) -> NDArray[np.bool_]:
        """Which attributes share a table."""
        adjacent = np.zeros((len(self.names), len(self.names)), dtype=np.bool_)
        for group in groups:
            places = [self._number[name] for name in group]
            adjacent[np.ix_(places, places)] = True
        np.fill_diagonal(adjacent, False)
        return adjacent

    def cells_with(
        self, groups: Iterable[Group], candidates: Sequence[Group]
    ) -> NDArray[np.float64]:
        """For each candidate how many cells all cliques together would have if it were added to the
        groups.
        """
        adjacent = self.adjacency(groups)
        places = np.fromiter(
            (self._number[name] for group in candidates for name in group), np.int64
        )
        starts = np.cumsum([0, *map(len, candidates)])
        cells = np.empty(len(candidates))
        elimination = steps.elimination_steps(len(candidates), len(self.names))

        def work(first: int, last: int) -> None:
            elimination.cells_with(
                adjacent, self._logs, places, starts[first : last + 1], cells[first:last]
            )

        if elimination is plain or len(candidates) < ALONE:
            work(0, len(candidates))
            return cells
        threads = thread_count()
        bounds = [len(candidates) * i // (4 * threads) for i in range(4 * threads + 1)]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, bounds[:-1], bounds[1:]))
        return cells

    def cells_along(
        self, tree: Sequence[Branch], candidates: Sequence[Group]
    ) -> NDArray[np.float64]:
        """For each candidate how many cells the cliques of a tree would have with it, at most.

        Where a and b are connected by cliques that share S1, S2, ..., Sk in turn, the edge
        between them is paid for by new cliques of a with S1 and S2, a with S2 and S3, ..., a with
        Sk and b: all of them complete, and connected. A group of three has three edges and
        a table of its own. Eliminating for each candidate would find better cliques at times, and
        takes far longer in wide tables.
        """
        extra = self._cells_of_edges(tree)
        whole = sum(math.prod(self.shape(branch.clique)) for branch in tree)
        cells = np.full(len(candidates), float(whole))
        lengths = np.fromiter(map(len, candidates), np.int64)
        for length in set(lengths.tolist()):
            places = np.flatnonzero(lengths == length)
            numbers = np.array(
                [[self._number[name] for name in candidates[place]] for place in places.tolist()]
            )
            added = np.zeros(len(places))
            for a, b in itertools.combinations(range(length), 2):
                added += extra[numbers[:, a], numbers[:, b]]
            if length > 2:  # all its attributes are neighbours where it lies in a clique
                added += np.where(added > 0, np.exp(self._logs[numbers].sum(axis=1)), 0.0)
            cells[places] += added
        return cells

    def _cells_of_edges(self, tree: Sequence[Branch]) -> NDArray[np.float64]:
        """How many cells an edge between any two attributes would add, at most."""
        sizes = np.array(list(self.sizes.values()), dtype=np.float64)
        extra = np.multiply.outer(sizes, sizes)  # of two that are not connected
        neighbours: list[list[tuple[int, Group]]] = [[] for _ in tree]
        holding: dict[str, list[int]] = {name: [] for name in self.names}
        for place, branch in enumerate(tree):
            for name in branch.clique:
                holding[name].append(place)
            if branch.parent >= 0:
                neighbours[place].append((branch.parent, branch.shared))
                neighbours[branch.parent].append((place, branch.shared))
        for name in self.names:
            self._walk_from(name, tree, neighbours, holding[name], extra)
        return np.minimum(extra, extra.T)

    def _walk_from(
        self,
        name: str,
        tree: Sequence[Branch],
        neighbours: Sequence[Sequence[tuple[int, Group]]],
        homes: Sequence[int],
        extra: NDArray[np.float64],
    ) -> None:
        """Fill a row of :meth:`_cells_of_edges`, from the cliques that hold the attribute on."""
        row, mine = extra[self._number[name]], float(self.sizes[name])
        done = set(homes)
        known = set[str]()
        for place in homes:
            known.update(tree[place].clique)
        for other in known:
            row[self._number[other]] = 0.0
        waiting: list[tuple[int, Group, float]] = [
            (place, shared, 0.0)
            for home in homes
            for place, shared in neighbours[home]
            if place not in done
        ]
        while waiting:
            place, before, cost = waiting.pop()
            done.add(place)
            between = math.prod([self.sizes[one] for one in before])
            for other in tree[place].clique:
                if other not in known:
                    known.add(other)
                    row[self._number[other]] = cost + mine * between * self.sizes[other]
            for following, shared in neighbours[place]:
                if following not in done:
                    both = between * math.prod(
                        [self.sizes[one] for one in shared if one not in before]
                    )
                    waiting.append((following, shared, cost + mine * both))

    def tree(self, groups: Iterable[Group]) -> list[Branch]:
        """A junction tree (or one for each part that is connected), every clique after the one
        that it hangs from.
        """
        elimination = steps.elimination_steps(1, len(self.names))
        _, members = elimination.eliminate(self.adjacency(groups), self._logs)
        cliques: list[frozenset[int]] = []
        for row in members:
            clique = frozenset(np.flatnonzero(row).tolist())
            # What is eliminated later has no clique that holds an earlier one's attribute: only one
            # way to compare.
            if not any(clique <= other for other in cliques):
                cliques.append(clique)
        return self._hang(cliques)

    def _hang(self, cliques: list[frozenset[int]]) -> list[Branch]:
        """Prim's algorithm: the clique that shares most with one that hangs already is hung from it
        next.
        """
        left = list(range(len(cliques)))
        order: list[int] = []
        branches: list[Branch] = []
        best: dict[int, tuple[int, int]] = dict.fromkeys(left, (0, -1))
        while left:
            place = max(left, key=lambda i: (best[i][0], -i))
            left.remove(place)
            shared, parent = best[place]
            mine = cliques[place]
            if shared:
                common = self._group(mine & cliques[order[parent]])
            else:
                common = ()
            branches.append(Branch(self._group(mine), parent if shared else -1, common))
            order.append(place)
            for other in left:
                overlap = len(mine & cliques[other])
                if overlap > best[other][0]:
                    best[other] = (overlap, len(order) - 1)
        return branches

    def _group(self, numbers: Iterable[int]) -> Group:
        return tuple(self.names[number] for number in sorted(numbers))
