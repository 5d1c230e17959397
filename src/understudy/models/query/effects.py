"""Functions of several attributes as sums of effects, and what measured tables tell of each.

A count of rows is the sum, over cells, of the rows in a cell times a weight. The weight, a function
of several attributes, is a sum of *effects*: a constant, one for each attribute, one for each pair,
and so on, where each has the mean 0 over the values of any of its attributes (analysis of
variance). Under the uniform distribution over cells, effects of different attributes are
orthogonal, and so is the noise that measured tables add to them, since it has the same variance in
every cell. A table with noise of deviation s in each cell tells the effect of the attributes S,
where it has them all, with variance s^2 |w_S|^2 times the number of cells that it sums for each of
theirs; several tables tell it with the sum of their precisions. So the variance of the best
unbiased answer is a sum over effects.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.models.measurements import MeasuredTable

ColumnPlaces = tuple[int, ...]


def compute_squared_means(
    truth: NDArray[np.float64],
    weights: Sequence[NDArray[np.float64]],
    shares: Sequence[NDArray[np.float64]],
) -> dict[ColumnPlaces, float]:
    """For each subset of independent attributes the mean square of what it makes of a function.

    Parameters
    ----------
    truth
        The function, of the attributes' sides.
    weights
        For each attribute, a line per code: how much of it is on each side.
    shares
        For each attribute the probabilities of its codes.
    """
    means = [share @ weight for share, weight in zip(shares, weights, strict=True)]
    products = [
        weight.T @ (weight * share[:, None]) for share, weight in zip(shares, weights, strict=True)
    ]
    found: dict[ColumnPlaces, float] = {}
    places = range(len(weights))
    for size in range(len(weights) + 1):
        for kept in itertools.combinations(places, size):
            table = truth
            for place in reversed(places):
                if place not in kept:
                    table = np.tensordot(table, means[place], axes=(place, 0))
            turned = table
            for axis, place in enumerate(kept):
                turned = np.moveaxis(np.tensordot(products[place], turned, axes=(1, axis)), 0, axis)
            found[kept] = float((table * turned).sum())
    return found


def effect_variance(squares: Mapping[ColumnPlaces, float], kept: ColumnPlaces) -> float:
    """The mean square of one effect, from the mean squares of what its subsets make of it."""
    found = sum(
        (-1) ** (len(kept) - len(part)) * squares[part]
        for size in range(len(kept) + 1)
        for part in itertools.combinations(kept, size)
    )
    return max(found, 0.0)


class Precisions:
    """How well measured tables tell effects.

    Parameters
    ----------
    tables
        The tables.
    sizes
        How many values each attribute has.
    """

    def __init__(self, tables: Sequence[MeasuredTable], sizes: Mapping[str, int]) -> None:
        self._tables = [
            (frozenset(table.attributes), table.deviation, table.joint)
            for table in tables
            if table.deviation > 0
        ]
        self._sizes = sizes
        self._known: dict[frozenset[str], float] = {}

    def variance(self, names: Sequence[str]) -> float | None:
        """The variance of the noise in a cell of the attributes' table, from all tables that have
        them together; None where none has.
        """
        wanted = frozenset(name for name in names if self._sizes[name] > 1)
        if wanted not in self._known:
            self._known[wanted] = self._precision(wanted)
        precision = self._known[wanted]
        if not precision:
            return None
        return 1 / precision

    def _precision(self, wanted: frozenset[str]) -> float:
        """What all tables tell together; parts of one estimate repeat each other, so that the best
        of them counts.
        """
        alone, joint = 0.0, 0.0
        for attributes, deviation, is_joint in self._tables:
            if wanted <= attributes:
                summed = math.prod(self._sizes[name] for name in attributes - wanted)
                told = 1 / (deviation**2 * summed)
                if is_joint:
                    joint = max(joint, told)
                else:
                    alone += told
        return alone + joint

    def cells(self, names: Sequence[str]) -> int:
        """How many cells the attributes' table has."""
        return math.prod(self._sizes[name] for name in names)
