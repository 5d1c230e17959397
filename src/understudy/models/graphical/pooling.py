"""Noisy tables that share attributes, made to agree: the least-squares estimate from all of them.

A table is the sum of its effects: the total, what each attribute adds to it, what each pair adds to
that, and so on. The effects of independent noise of one deviation are independent of each other. So
every effect can be averaged over the tables that tell it, each weighted by how sure it is, and a
table built from them is the best linear estimate. It may be negative in places.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from understudy.models.graphical import Group

Floats = NDArray[np.float64]


class Pool:
    """Averaged effects of all tables that were added."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._place = {name: place for place, name in enumerate(sizes)}
        self._sums: dict[Group, Floats] = {}
        self._weights: dict[Group, float] = {}

    @property
    def total(self) -> float:
        """The number of rows, from all tables."""
        return float(self._sums[()] / self._weights[()])

    def add(self, group: Group, counts: NDArray[np.int64], deviation: float) -> None:
        """A measured table; ``deviation`` is that of the noise in each cell."""
        table = counts.astype(np.float64)
        for part in parts_of(group):
            effect = _effect(table, group, part)
            weight = 1 / (max(deviation, 1e-9) ** 2 * self._outside(group, part))
            self._sums[part] = self._sums.get(part, np.zeros_like(effect)) + weight * effect
            self._weights[part] = self._weights.get(part, 0.0) + weight

    def set(
        self, group: Group, counts: NDArray[np.int64], variances: Mapping[Group, float]
    ) -> None:
        """A table of one estimate that all tables come from: its effects are what they are, and
        telling them again makes them no surer.

        Parameters
        ----------
        group
            Whose table.
        counts
            The table.
        variances
            Of each effect, in each direction.
        """
        table = counts.astype(np.float64)
        for part in parts_of(group):
            weight = 1 / max(variances[part], 1e-18)
            self._sums[part] = weight * _effect(table, group, part)
            self._weights[part] = weight

    def table(self, group: Group) -> Floats:
        """The best estimate of a group's table; effects that no table tells are taken to be
        none.
        """
        table = np.zeros([self._sizes[name] for name in group])
        for part in parts_of(group):
            if part in self._sums:
                effect = self._sums[part] / (self._weights[part] * self._outside(group, part))
                table += effect.reshape(
                    [self._sizes[name] if name in part else 1 for name in group]
                )
        return table

    def replace_singles(self, estimate: Callable[[str], Floats]) -> Pool:
        """A pool with other tables of single attributes, as sure as these are, and all else as it
        is here.

        Parameters
        ----------
        estimate
            Gives the table of an attribute by its name.
        """
        other = Pool(self._sizes)
        other._sums, other._weights = dict(self._sums), self._weights
        for name in self._sizes:
            group = (name,)
            other._sums[group] = self._weights[group] * _effect(estimate(name), group, group)
        return other

    def precision(self, part: Group) -> float:
        """One over the variance of an effect, in each direction; 0 where no table tells it."""
        return self._weights.get(part, 0.0)

    def deviation(self, group: Group) -> float:
        """The standard deviation of the noise in a cell of a group's table, on average over cells.

        That of the effects that tables tell; attributes in any order.
        """
        ordered = sorted(group, key=self._place.__getitem__)
        variance = 0.0
        for part in parts_of(tuple(ordered)):
            weight = self._weights.get(part)
            if weight is not None:
                freedom = math.prod([self._sizes[name] - 1 for name in part])
                cells = math.prod([self._sizes[name] for name in part])
                variance += freedom / cells / weight / self._outside(group, part) ** 2
        return math.sqrt(variance)

    def _outside(self, group: Group, part: Group) -> int:
        return math.prod([self._sizes[name] for name in group if name not in part])


def parts_of(group: Group) -> itertools.chain[Group]:
    """All parts of a group, with itself and none."""
    return itertools.chain.from_iterable(
        itertools.combinations(group, k) for k in range(len(group) + 1)
    )


def _effect(table: Floats, group: Group, part: Group) -> Floats:
    """The part's margin without what smaller parts tell: centred along each of its attributes."""
    effect = table.sum(axis=tuple(i for i, name in enumerate(group) if name not in part))
    for axis in range(len(part)):
        effect = effect - effect.mean(axis=axis, keepdims=True)
    return np.asarray(effect, dtype=np.float64)
