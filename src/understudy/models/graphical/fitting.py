"""Fitting: the distribution of the largest entropy whose marginals are the given tables, as near as
they allow.

It is a product of one factor for each table, kept as logarithms. Its cliques' tables are held
calibrated: neighbours in the junction tree agree on what they share. A sweep walks through the tree
and back; at every clique each table that lies in it scales the clique towards itself (iterative
proportional fitting, damped where counts are small against the noise), and what changed is passed
on along the way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis, Marginal
from understudy.models.graphical import Group, steps
from understudy.models.graphical.junction import Attributes, Branch

Floats = NDArray[np.float64]

MANY_ATTRIBUTES = 64
"""With this many attributes, eliminating them for each of many candidates takes too long."""

MAX_SHRINKING = 1e-3
"""The most that one step may shrink a cell; it may grow by the inverse."""


class Fit:
    """A distribution over attributes, fitted to tables over groups of them.

    Parameters
    ----------
    sizes
        How many values each attribute has.
    counted
        As how many values some of them count in :meth:`cells_with`.
    """

    def __init__(self, sizes: Mapping[str, int], counted: Mapping[str, int] | None = None) -> None:
        self.attributes = Attributes(sizes, counted)
        self.factors: dict[Group, Floats] = {
            (name,): np.zeros(size) for name, size in sizes.items()
        }
        self._maps: dict[tuple[Group, Group], NDArray[np.int32]] = {}
        self._build()

    @property
    def groups(self) -> list[Group]:
        """The groups that have a factor; none lies in another."""
        return list(self.factors)

    @property
    def cells(self) -> int:
        """How many cells all cliques have together."""
        return sum(table.size for table in self.tables)

    def cells_with(self, groups: Iterable[Group]) -> float:
        """How many cells there would be if all these groups had a factor too."""
        return float(self.attributes.cells_with([*self.factors, *groups], [()])[0])

    def cells_with_each(self, candidates: Sequence[Group]) -> NDArray[np.float64]:
        """For each candidate how many cells there would be if it, but none of the others, had a
        factor too; in a wide table, at most.
        """
        if len(self.attributes.names) >= MANY_ATTRIBUTES:
            return self.attributes.cells_along(self.tree, candidates)
        return self.attributes.cells_with(self.factors, candidates)

    def add(self, groups: Iterable[Group]) -> None:
        """Give groups a factor. The distribution stays as it is until the next sweep."""
        new = [
            group
            for group in groups
            if not any(set(known).issuperset(group) for known in self.factors)
        ]
        for group in sorted(set(new), key=len):
            factor = np.zeros(self.attributes.shape(group))
            for inside in [known for known in self.factors if set(known) <= set(group)]:
                factor += self.factors.pop(inside).reshape(_along(self.attributes, group, inside))
            self.factors[group] = factor
        if new:
            self._build()

    def sweep(
        self, targets: Mapping[Group, Floats], damping: Mapping[Group, float], times: int = 1
    ) -> None:
        """Walk through the trees and back ``times`` times, moving the cliques towards the targets
        of their groups.

        Parameters
        ----------
        targets
            For each group of :attr:`groups` the shares it should have: at or above 0, adding up to
            1.
        damping
            For each group a share below which cells move slowly, such as that of the noise in a
            cell.
        """
        for _ in range(times):
            for place, source in self._walk():
                if source >= 0:
                    self._pass(source, place)
                if source < place:
                    for group in self._homes[place]:
                        self._scale(place, group, targets[group], damping[group])
        # One number more in all of them changes nothing. They must not be cut: tables that
        # contradict each other drive the factors of a cell apart, and their product is what counts.
        for factor in self.factors.values():
            factor -= factor.max()

    def replace_factors(self, factors: Mapping[Group, Floats]) -> None:
        """Have other factors of the same groups, as logarithms, and the distribution that is their
        product.
        """
        self.factors = dict(factors)
        self._calibrate_factors()

    def marginal(self, group: Group) -> Floats:
        """The shares of a group that lies in a clique."""
        for branch, table in zip(self.tree, self.tables, strict=True):
            if set(group) <= set(branch.clique):
                return self._sum(branch.clique, table, group).reshape(self.attributes.shape(group))
        raise ValueError(f"{group} lies in no clique")

    def marginals(self) -> dict[Group, Floats]:
        """The shares of all :attr:`groups`, each from the clique where its factor is at home."""
        return {
            group: self._sum(branch.clique, table, group).reshape(self.attributes.shape(group))
            for branch, table, homes in zip(self.tree, self.tables, self._homes, strict=True)
            for group in homes
        }

    def conditionals(self) -> Iterator[tuple[str, Marginal, Floats]]:
        """The distribution attribute by attribute: name, parents, and the shares of parents and
        attribute together.

        A clique adds its attributes to those that it shares with the one it hangs from, one after
        the other.
        """
        for branch, table in zip(self.tree, self.tables, strict=True):
            given = branch.shared
            for name in (name for name in branch.clique if name not in branch.shared):
                family = (*given, name)
                group = self.attributes.sort(family)
                shares = self._sum(branch.clique, table, group).reshape(
                    self.attributes.shape(group)
                )
                turned = np.ascontiguousarray(
                    shares.transpose([group.index(one) for one in family])
                )
                yield name, tuple(Axis(parent) for parent in given), turned
                given = family

    # ---- the trees

    def _build(self) -> None:
        """New cliques for the factors, calibrated."""
        self.tree: list[Branch] = self.attributes.tree(self.factors)
        self._homes: list[list[Group]] = [[] for _ in self.tree]
        cells = [math.prod(self.attributes.shape(branch.clique)) for branch in self.tree]
        holding: dict[str, list[int]] = {name: [] for name in self.attributes.names}
        for place, branch in enumerate(self.tree):
            for name in branch.clique:
                holding[name].append(place)
        for group in self.factors:
            inside = set(holding[group[0]]).intersection(*(holding[name] for name in group[1:]))
            self._homes[min(inside, key=lambda place: (cells[place], place))].append(group)
        kept = {branch.clique for branch in self.tree}
        self._maps = {key: value for key, value in self._maps.items() if key[0] in kept}
        self._calibrate_factors()

    def _calibrate_factors(self) -> None:
        """The cliques' tables by the factors."""
        self.tables = self._calibrate(
            [
                self._product(branch.clique, homes)
                for branch, homes in zip(self.tree, self._homes, strict=True)
            ]
        )

    def _product(self, clique: Group, homes: list[Group]) -> Floats:
        """The logarithms of a clique's cells, by the factors that are at home in it."""
        logs = np.zeros(self.attributes.shape(clique))
        for group in homes:
            logs += self.factors[group].reshape(_along(self.attributes, clique, group))
        return logs

    def _calibrate(self, logs: list[Floats]) -> list[Floats]:
        """The cliques' tables: from leaves to roots each clique is told its children's sums; then
        each child is scaled to its parent's.

        A clique may hold many factors, whose product is beyond floating-point numbers. So sums are
        told as logarithms, and a child is first a table for each value of what it shares.
        """
        tables: list[Floats] = [np.empty(0)] * len(logs)
        for place in range(len(self.tree) - 1, -1, -1):
            branch = self.tree[place]
            apart = tuple(
                axis for axis, name in enumerate(branch.clique) if name not in branch.shared
            )
            top = logs[place].max(axis=apart, keepdims=True)
            table = np.exp(logs[place] - top)
            sums = table.sum(axis=apart, keepdims=True)
            table /= sums
            tables[place] = table.ravel()
            if branch.parent >= 0:
                clique = self.tree[branch.parent].clique
                told = np.log(sums) + top
                logs[branch.parent] += told.reshape(_along(self.attributes, clique, branch.shared))
        for place, branch in enumerate(self.tree):
            if branch.parent >= 0:
                clique = self.tree[branch.parent].clique
                shares = self._sum(clique, tables[branch.parent], branch.shared)
                steps.scale_by_place(tables[place], self._map(branch.clique, branch.shared), shares)
        return tables

    def _walk(self) -> Iterator[tuple[int, int]]:
        """Places in the order of a walk, each with the place one comes from (-1 where a tree
        begins).
        """
        children: list[list[int]] = [[] for _ in self.tree]
        for place, branch in enumerate(self.tree):
            if branch.parent >= 0:
                children[branch.parent].append(place)
        for root, branch in enumerate(self.tree):
            if branch.parent >= 0:
                continue
            yield root, -1
            stack = [(root, iter(children[root]))]
            while stack:
                place, below = stack[-1]
                child = next(below, None)
                if child is not None:
                    yield child, place
                    stack.append((child, iter(children[child])))
                else:
                    stack.pop()
                    if stack:
                        yield stack[-1][0], place

    def _pass(self, source: int, place: int) -> None:
        """Scale a clique to what its neighbour says of the attributes they share."""
        lower = max(source, place)  # whichever hangs from the other knows what they share
        shared = self.tree[lower].shared
        wanted = self._sum(self.tree[source].clique, self.tables[source], shared)
        clique = self.tree[place].clique
        index = self._map(clique, shared)
        now = steps.sum_by_place(self.tables[place], index, len(wanted))
        steps.scale_by_place(
            self.tables[place],
            index,
            np.divide(wanted, now, out=np.zeros_like(wanted), where=now > 0),
        )

    def _scale(self, place: int, group: Group, target: Floats, damping: float) -> None:
        clique = self.tree[place].clique
        index = self._map(clique, group)
        table = self.tables[place]
        now = steps.sum_by_place(table, index, target.size)
        ratio = np.clip(
            (target.ravel() + damping) / (now + damping), MAX_SHRINKING, 1 / MAX_SHRINKING
        )
        steps.scale_by_place(table, index, ratio)
        table /= table.sum()
        self.factors[group] += np.log(ratio).reshape(target.shape)

    # ---- sums

    def _sum(self, clique: Group, table: Floats, group: Group) -> Floats:
        index = self._map(clique, group)
        summed: Floats = steps.sum_by_place(table, index, math.prod(self.attributes.shape(group)))
        return summed

    def _map(self, clique: Group, group: Group) -> NDArray[np.int32]:
        """For each cell of a clique the cell of a group's table that it falls into."""
        key = (clique, group)
        if key not in self._maps:
            cells = np.arange(math.prod(self.attributes.shape(group)), dtype=np.int32)
            spread = cells.reshape(_along(self.attributes, clique, group))
            self._maps[key] = np.broadcast_to(spread, self.attributes.shape(clique)).ravel()
        return self._maps[key]


def _along(attributes: Attributes, clique: Group, group: Group) -> list[int]:
    """The shape that lays a group's table along the sides of a clique."""
    return [attributes.sizes[name] if name in group else 1 for name in clique]
