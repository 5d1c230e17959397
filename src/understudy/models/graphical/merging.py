"""Rare values of large attributes, taken as one while a model is learned, and told apart again in
the model by what is known of the attribute alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.models.network import Node
from understudy.models.parameters import project_counts

Table = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Merged:
    """How the values of an attribute are merged.

    Attributes
    ----------
    codes
        For each value the code that it is merged into; rare ones share the last.
    shares
        For each value its share of that code's rows.
    """

    codes: NDArray[np.int64]
    shares: Table

    @property
    def values(self) -> int:
        """How many codes there are."""
        return int(self.codes.max()) + 1

    def sum(self, counts: Table) -> Table:
        """Counts of the merged codes."""
        return np.bincount(self.codes, counts, minlength=self.values).astype(np.float64)

    def share(self, counts: Table) -> Merged:
        """The same with shares by these noisy counts of all values."""
        likely = project_counts(counts, max(float(counts.sum()), 1.0))
        rare = np.bincount(self.codes)[self.codes] > 1
        if likely[rare].sum() <= 0:
            likely[rare] = 1.0
        shares = np.ones(len(counts))
        shares[rare] = likely[rare] / likely[rare].sum()
        return Merged(self.codes, shares)


def merge_rare(counts: Table, threshold: float) -> Merged:
    """Merge the values whose noisy counts lie below a threshold; the largest stays by itself."""
    frequent = np.flatnonzero(counts >= min(threshold, float(counts.max())))
    codes = np.full(len(counts), len(frequent), dtype=np.int64)
    codes[frequent] = np.arange(len(frequent))
    return Merged(codes, np.ones(len(counts))).share(counts)


def spread_values(node: Node, merged: Mapping[str, Merged]) -> Node:
    """A node over merged codes as one over values.

    Within a merged code, values do not depend on anything else: the counts of parents and child
    together are split by the values' shares.
    """
    table = node.table
    names = [*(axis.attribute for axis in node.parents), node.attribute]
    for side, name in enumerate(names):
        if name in merged:
            shape = [1] * table.ndim
            shape[side] = -1
            table = table.take(merged[name].codes, axis=side) * merged[name].shares.reshape(shape)
    return Node(node.attribute, node.parents, table, node.deviation)
