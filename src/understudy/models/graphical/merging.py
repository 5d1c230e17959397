"""Rare values, and neighbours where values are in order, taken as one while a model is learned, and
told apart again in the model by what is known of the attribute alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.models.network import Node
from understudy.models.parameters import project_counts

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Merged:
    """How the values of an attribute are merged.

    Attributes
    ----------
    codes
        For each value the code that it is merged into.
    shares
        For each value its share of that code's rows.
    """

    codes: NDArray[np.int64]
    shares: Floats

    @property
    def values(self) -> int:
        """How many codes there are."""
        return int(self.codes.max()) + 1

    def sum(self, counts: Floats) -> Floats:
        """Counts of the merged codes."""
        return np.bincount(self.codes, counts, minlength=self.values).astype(np.float64)

    def share(self, counts: Floats) -> Merged:
        """The same with shares by these noisy counts of all values."""
        likely = project_counts(counts, max(float(counts.sum()), 1.0))
        likely[self.sum(likely)[self.codes] <= 0] = 1.0  # nothing is known of these
        return Merged(self.codes, likely / self.sum(likely)[self.codes])


def merge_rare(counts: Floats, threshold: float) -> Merged:
    """Merge the values whose noisy counts lie below a threshold; the largest stays by itself."""
    frequent = np.flatnonzero(counts >= min(threshold, float(counts.max())))
    codes = np.full(len(counts), len(frequent), dtype=np.int64)
    codes[frequent] = np.arange(len(frequent))
    return Merged(codes, np.ones(len(counts))).share(counts)


def merge_all_but(counts: Floats, values: int) -> Merged:
    """Merge all values but the most frequent ones, so that there are at most ``values``."""
    frequent = np.sort(np.argsort(-counts, kind="stable")[: values - 1])
    codes = np.full(len(counts), len(frequent), dtype=np.int64)
    codes[frequent] = np.arange(len(frequent))
    return Merged(codes, np.ones(len(counts))).share(counts)


def merge_neighbours(counts: Floats, quota: float, ordered: int) -> Merged:
    """Merge neighbours until each has as many rows as the quota, by noisy counts.

    Parameters
    ----------
    counts
        Of all values.
    quota
        How many rows a merged value has at least, but for the last.
    ordered
        How many values are in order, from the first on; all others (missing) stay by themselves.
    """
    likely = project_counts(counts, max(float(counts.sum()), 1.0))
    codes = np.zeros(len(counts), dtype=np.int64)
    code, rows = 0, 0.0
    for value in range(ordered):
        codes[value] = code
        rows += likely[value]
        if rows >= quota:
            code, rows = code + 1, 0.0
    if code > 1 and rows < quota:  # too little is left at the end: it joins those before
        codes[:ordered] = np.minimum(codes[:ordered], code - 1)
    if not codes[:ordered].any():  # one value has nearly all rows, and is told from those above
        codes[min(int(likely[:ordered].argmax()) + 1, ordered - 1) : ordered] = 1
    codes[ordered:] = codes[:ordered].max() + 1 + np.arange(len(counts) - ordered)
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
