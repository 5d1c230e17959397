"""Effects: what tables tell, taken apart so that tables of different columns can be averaged.

A table of shares is a sum of effects: the total, what each column adds to it, what each pair adds
to that, and so on. Each is told with a variance that is known. So an effect is averaged over all
tables that tell it, by inverse variance, and that is the best linear estimate.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.curator import Measurement

Floats = NDArray[np.float64]
AxisNames = tuple[str, ...]
"""Columns that share an effect, in the order of the schema."""

WHOLE_ROWS_VARIANCE = 1 / 12
"""The variance of what is told in whole rows, at least."""

MAX_EFFECT_COLUMNS = 4
"""Effects of more columns than this are left to the model: nobody tells them well."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What reports say about an effect.

    Attributes
    ----------
    shares
        In the shape of the columns; sums along each of them are 0.
    variance
        Of the estimate, in each direction that the effect may take.
    """

    shares: Floats
    variance: float

    @property
    def freedom(self) -> int:
        """In how many directions it may differ."""
        return math.prod(size - 1 for size in self.shares.shape)

    def plus(self, other: Effect) -> Effect:
        """Both estimates, averaged by inverse variance."""
        own, others = 1 / self.variance, 1 / other.variance
        whole = own + others
        shares = (own * self.shares + others * other.shares) / whole
        return Effect(shares=shares, variance=1 / whole)


def average_effects(told: Iterable[tuple[AxisNames, Effect]]) -> dict[AxisNames, Effect]:
    """Every effect that is told, averaged over all who tell it."""
    pooled: dict[AxisNames, Effect] = {}
    for part, effect in told:
        if part in pooled:
            pooled[part] = pooled[part].plus(effect)
        else:
            pooled[part] = effect
    return pooled


def effects_of_table(
    columns: Sequence[str], table: Floats, variance: float, order: Mapping[str, int]
) -> Iterator[tuple[AxisNames, Effect]]:
    """The effects that a table of shares tells.

    Parameters
    ----------
    columns
        Of the table, a side each.
    table
        The shares.
    variance
        Of each of its cells, in every direction alike.
    order
        The place of each column in the schema.
    """
    table = table.transpose(np.argsort([order[name] for name in columns]))
    ordered = sorted(columns, key=order.__getitem__)
    for size in range(1, min(len(ordered), MAX_EFFECT_COLUMNS) + 1):
        for kept in itertools.combinations(range(len(ordered)), size):
            effect = find_effect(table, kept)
            outside = table.size // effect.size
            part = tuple(ordered[i] for i in kept)
            yield part, Effect(shares=effect, variance=variance * outside)


def effects_of_measurements(
    measured: Sequence[Measurement], rows: float, names: Sequence[str]
) -> dict[AxisNames, Effect]:
    """The effects that measured tables tell together.

    Parameters
    ----------
    measured
        Tables of counts, each with noise of its own, at the finest level.
    rows
        How many rows there are.
    names
        The columns with two codes or more, in the order of the schema.
    """
    order = {name: place for place, name in enumerate(names)}

    def list_effects() -> Iterator[tuple[AxisNames, Effect]]:
        for one in measured:
            columns = [axis.attribute for axis in one.marginal if axis.attribute in order]
            table = one.counts.squeeze() / rows
            variance = max(one.deviation**2, WHOLE_ROWS_VARIANCE) / rows**2
            yield from effects_of_table(columns, table, variance, order)

    return average_effects(list_effects())


def find_effect(table: Floats, kept: tuple[int, ...]) -> Floats:
    """The effect of some axes in a table: their margin, centred along each of them."""
    effect = table.sum(axis=tuple(i for i in range(table.ndim) if i not in kept))
    for axis in range(effect.ndim):
        effect = effect - effect.mean(axis=axis, keepdims=True)
    return np.asarray(effect, dtype=np.float64)
