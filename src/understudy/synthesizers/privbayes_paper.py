"""What the paper on PrivBayes prescribes: useful tables, and the parents that are considered.

Lemmas, sections and algorithms are those of Zhang, Cormode, Procopiuc, Srivastava and Xiao (TODS
2017). `PrivBayes.paper` keeps to them; the default goes by the same usefulness, and has candidates
of its own where attributes have many values (:mod:`understudy.synthesizers.privbayes_handicaps`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from understudy.data.marginals import Axis, Marginal
from understudy.synthesizers.parent_sets import (
    MAX_FAMILY_CELLS,
    MAX_PARENT_SETS,
    MaximalParentSets,
    Sizes,
    subsets,
    too_many,
)

LETTER: Mapping[str, Any] = MappingProxyType(
    {
        "neighbours": "replace",
        "refinement": 0.0,
        "theta": 4.0,
        "score": "auto",
        "candidates": "maximal",
        "repair": "clip",
        "consistent": False,
        "rule": "exponential",
        "table_power": 0.0,
        "to_the_letter": True,
    }
)
"""The parameters of `PrivBayes.paper`. Its scores have the paper's sensitivities."""

MeanNoise = Callable[[int], float]
"""The average size of the noise in a cell where a budget is split over this many tables."""


def find_useful_degree(sizes: Sizes, rows: float, theta: float, noise: MeanNoise) -> int:
    """The largest k for which tables of k + 1 attributes, even the largest, are theta-useful
    (lemma 4.8), or 0.
    """
    largest = sorted((levels[0] for levels in sizes.values()), reverse=True)
    for k in range(len(sizes) - 1, 0, -1):
        cells = math.prod(largest[: k + 1])
        if cells <= MAX_FAMILY_CELLS and rows / cells >= theta * noise(len(sizes) - k):
            return k
    return 0


def find_useful_cells(sizes: Sizes, rows: float, theta: float, noise: MeanNoise) -> float:
    """The largest number of cells for which a table is theta-useful (section 5.2)."""
    return rows / (theta * noise(len(sizes)))


@dataclass(frozen=True)
class FixedParents:
    """Algorithm 2: every set of ``degree`` attributes; the target, if there is one, is in each."""

    degree: int
    target: str | None

    def find(self, placed: list[str], left: list[str]) -> list[Marginal]:
        """Attribute-parent pairs, the attribute's axis first."""
        if self.target is None:
            sets = subsets(placed, self.degree)
        else:
            more = subsets(placed[1:], self.degree - 1)
            sets = [(Axis(self.target), *others) for others in more]
        return [(Axis(child), *parents) for child in left for parents in sets]

    def offsets(self, left: list[str]) -> None:
        """None: all are compared by their scores alone."""


class MaximalParents:
    """Algorithm 4: sets that cannot be made larger within ``bound`` cells; those with the target,
    where there is room for it.
    """

    def __init__(self, sizes: Sizes, bound: float, target: str | None) -> None:
        self.sizes = sizes
        self.bound = bound
        self.target = target
        self.maximal = MaximalParentSets(sizes)

    def find(self, placed: list[str], left: list[str]) -> list[Marginal]:
        """Attribute-parent pairs, the attribute's axis first."""
        pairs: list[Marginal] = []
        for child in left:
            axis, size = Axis(child), self.sizes[child][0]
            sets = self.maximal(placed, self.bound / size)
            must = find_must(self.sizes, self.bound, self.target, child)
            if must is not None:
                sets = tuple(parents for parents in sets if must in parents)
            pairs += [(axis, *parents) for parents in sets] or [(axis,)]
            if len(pairs) > MAX_PARENT_SETS:
                raise too_many()
        return pairs

    def offsets(self, left: list[str]) -> None:
        """None: all are compared by their scores alone."""


def find_must(sizes: Sizes, bound: float, target: str | None, child: str) -> Axis | None:
    """The parent that an attribute must have: the target, unless a table with it would be too
    large.
    """
    if target is None or sizes[child][0] * sizes[target][0] > bound:
        return None
    return Axis(target)
