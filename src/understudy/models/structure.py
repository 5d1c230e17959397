"""Networks of rows that are no secret: a public table, or one that was released.

Nothing here is private. What is found may be given to ``PrivBayes(network=...)``, which then pays
for tables alone: the network of last year's public extract, say, or of an earlier release.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.encoding import encode
from understudy.data.frames import Frame, as_table
from understudy.data.schema import Schema
from understudy.errors import InputError

ParentSets = list[tuple[str, tuple[str, ...]]]
"""Each column with its parents, parents before children."""

MAX_STRUCTURE_CELLS = 1 << 24
MAX_STRUCTURE_FAMILIES = 200_000


def chow_liu(
    table: Frame, schema: Schema | str | Path, *, first: str | None = None
) -> list[tuple[str, tuple[str, ...]]]:
    """The tree that fits a public table best: each column has one parent (Chow and Liu 1968).

    It is the spanning tree whose edges have the most mutual information together. The table must be
    public or released: nothing is paid for what is read off it.

    Parameters
    ----------
    table
        A public or released table, in any form that ``fit`` takes.
    schema
        Its columns; bins and categories are compared.
    first
        The column that has no parent; by default the first one.

    Examples
    --------
    >>> pairs = chow_liu("released.csv", "schema.json")   # doctest: +SKIP
    >>> PrivBayes(epsilon=1.0, network=pairs)             # doctest: +SKIP
    """
    rows = _Rows(table, schema)
    left = rows.others(first)
    pairs: ParentSets = [(rows.first(first), ())]
    # Prim's algorithm: the best edge from what is placed to what is left. Of equal ones, the first.
    while left:
        edges = itertools.product((child for child, _ in pairs), left)
        parent, child = max(edges, key=lambda edge: rows.information(edge[1], (edge[0],)))
        pairs.append((child, (parent,)))
        left.remove(child)
    return pairs


def greedy_bayes(
    table: Frame, schema: Schema | str | Path, *, degree: int = 2, first: str | None = None
) -> list[tuple[str, tuple[str, ...]]]:
    """The network that PrivBayes would choose if nothing had to be private: column by column, the
    one that its parents tell most about.

    It is GreedyBayes of Zhang and others (2017) with the best pair in place of a private choice.
    The table must be public or released: nothing is paid for what is read off it.

    Parameters
    ----------
    table
        A public or released table, in any form that ``fit`` takes.
    schema
        Its columns; bins and categories are compared.
    degree
        How many parents a column has, where there are as many.
    first
        The column to begin with; by default the first one.
    """
    if isinstance(degree, bool) or not isinstance(degree, int) or degree < 0:
        raise InputError(f"degree must be a whole number at or above 0, not {degree!r}.")
    rows = _Rows(table, schema)
    rows.check_degree(degree)
    left = rows.others(first)
    pairs: ParentSets = [(rows.first(first), ())]
    while left:
        placed = [child for child, _ in pairs]
        sets = list(itertools.combinations(placed, min(degree, len(placed))))
        candidates = itertools.product(left, sets)
        child, parents = max(candidates, key=lambda pair: rows.information(*pair))
        pairs.append((child, parents))
        left.remove(child)
    return pairs


class _Rows:
    """Public rows as codes, and how much columns tell about each other."""

    def __init__(self, table: Frame, schema: Schema | str | Path) -> None:
        if not isinstance(schema, Schema):
            schema = Schema.load(schema)
        self.codes: Mapping[str, NDArray[Any]] = encode(as_table(table)[0], schema).codes
        self.sizes = {attribute.name: attribute.size for attribute in schema.modelled}
        if not self.sizes:
            raise InputError("The schema has no column that is modelled.")
        self._known: dict[tuple[str, tuple[str, ...]], float] = {}

    def first(self, named: str | None) -> str:
        """The column to begin with."""
        if named is None:
            return next(iter(self.sizes))
        if named not in self.sizes:
            raise InputError(f"There is no column {named!r} that is modelled to begin with.")
        return named

    def others(self, named: str | None) -> list[str]:
        """The other columns."""
        return [name for name in self.sizes if name != self.first(named)]

    def check_degree(self, degree: int) -> None:
        """Refuse more work, or larger tables, than there is room for."""
        families = len(self.sizes) * math.comb(max(len(self.sizes) - 1, 0), degree)
        largest = math.prod(sorted(self.sizes.values())[-(degree + 1) :])
        if families > MAX_STRUCTURE_FAMILIES or largest > MAX_STRUCTURE_CELLS:
            raise InputError(
                f"A degree of {degree} has {families:,} families with tables of up to {largest:,} "
                "cells, which is too much; give a smaller one or fewer bins."
            )

    def information(self, child: str, parents: Sequence[str]) -> float:
        """The mutual information of a column and its parents, in bits; each is counted once."""
        key = (child, tuple(parents))
        if key not in self._known:
            self._known[key] = self._count_information(child, parents)
        return self._known[key]

    def _count_information(self, child: str, parents: Sequence[str]) -> float:
        if not parents:
            return 0.0
        shape = [self.sizes[name] for name in parents]
        codes = [self.codes[name].astype(np.int64) for name in parents]
        configurations = np.ravel_multi_index(codes, shape)
        width = self.sizes[child]
        places = configurations * width + self.codes[child]
        joint = np.bincount(places, minlength=math.prod(shape) * width).reshape(-1, width)
        shares = joint / max(joint.sum(), 1)
        expected = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
        present = shares > 0
        # Rounded, so that equal ones tie whatever the order of the sums.
        ratios = np.log2(shares[present] / expected[present])
        return round(float((shares[present] * ratios).sum()), 12)
