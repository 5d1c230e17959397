"""The candidates of PrivBayes by default: all parent sets, larger tables at a handicap.

The paper considers sets that cannot be made larger. Here smaller ones compete with them, and each
loses what the noise in its table would cost. Tables are public, and so are handicaps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis, Marginal
from understudy.synthesizers.parent_sets import (
    MAX_PARENT_SETS,
    AllParentSets,
    Sizes,
    affordable_degree,
    too_many,
)
from understudy.synthesizers.privbayes_paper import find_must

MAX_FINE_FAMILIES = 50_000
MAX_COARSE_FAMILIES = 10_000
"""How many families of attributes are scored: as they are, and generalised."""


class HandicappedParents:
    """Every set within ``bound`` cells, grown as the network grows.

    Parameters
    ----------
    sizes, bound, target
        Of attributes, at each level; of tables; and what every attribute depends on if there is
        room for it.
    unit
        What each cell of a table takes off its score now.
    """

    def __init__(
        self, sizes: Sizes, bound: float, target: str | None, unit: Callable[[], float]
    ) -> None:
        self.sizes = sizes
        self.bound = bound
        self.unit = unit
        self.must = {child: find_must(sizes, bound, target, child) for child in sizes}
        finest = {name: levels[:1] for name, levels in sizes.items()}
        smallest = min(levels[0] for levels in finest.values())
        self.every = AllParentSets(
            sizes,
            bound / smallest,
            affordable_degree(finest, bound, MAX_FINE_FAMILIES),
            affordable_degree(sizes, bound, MAX_COARSE_FAMILIES),
        )
        self.of_child: dict[str, list[Marginal]] = {}
        self.handicaps: dict[str, list[float]] = {}

    def find(self, placed: list[str], left: list[str]) -> list[Marginal]:
        """Attribute-parent pairs, the attribute's axis first."""
        unit = self.unit()
        if not self.of_child:
            self._begin(left, unit)
        grown = self.every.add_attribute(placed[-1])
        for child in left:
            size, axis, must = self.sizes[child][0], Axis(child), self.must[child]
            room = self.bound / size
            mine = [
                (parents, cells)
                for parents, cells in grown
                if cells <= room and (must is None or must in parents)
            ]
            self.of_child[child] += [(axis, *parents) for parents, _ in mine]
            self.handicaps[child] += [unit * size * cells for _, cells in mine]
        if sum(len(self.of_child[child]) for child in left) > MAX_PARENT_SETS:
            raise too_many()
        return [pair for child in left for pair in self.of_child[child]]

    def _begin(self, left: list[str], unit: float) -> None:
        """The empty set, for attributes that need not have a parent."""
        for child in left:
            self.of_child[child], self.handicaps[child] = [], []
            if self.must[child] is None:
                self.of_child[child] = [(Axis(child),)]
                self.handicaps[child] = [unit * self.sizes[child][0]]

    def offsets(self, left: list[str]) -> NDArray[np.float64]:
        """What is taken off the candidates' scores, in the same order: public, so it costs
        nothing.
        """
        return -np.array([handicap for child in left for handicap in self.handicaps[child]])
