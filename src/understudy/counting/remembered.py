"""Tables that are asked for again and again, counted once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.counting import Counter
from understudy.data.marginals import Axis, Marginal

MAX_REMEMBERED_CELLS = 1 << 25
"""As many cells are remembered: 256 MB."""


class Remembered(Counter):
    """A counter that keeps the tables it counted, as long as there is room for them.

    Parameters
    ----------
    counter
        Who counts.
    most
        How many cells are remembered in all.
    """

    def __init__(self, counter: Counter, most: int = MAX_REMEMBERED_CELLS) -> None:
        self._counter = counter
        self._room = most
        self._known: dict[Marginal, NDArray[np.int64]] = {}

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self._counter.rows

    def size(self, axis: Axis) -> int:
        """How many values an attribute has at a level."""
        return self._counter.size(axis)

    def count_flat(
        self, marginals: Sequence[Marginal]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same tables one after the other, and where each of them starts (and the last one
        ends).
        """
        new = [axes for axes in dict.fromkeys(marginals) if axes not in self._known]
        if not new:
            return _join_tables([self._known[axes] for axes in marginals])
        flat, offsets = self._counter.count_flat(new)
        found = {
            axes: flat[begin:end]
            for axes, (begin, end) in zip(new, pairwise(offsets.tolist()), strict=True)
        }
        if len(flat) <= self._room:
            self._room -= len(flat)
            self._known.update(found)
        return _join_tables(
            [found[axes] if axes in found else self._known[axes] for axes in marginals]
        )


def _join_tables(tables: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    offsets = np.zeros(len(tables) + 1, np.int64)
    np.cumsum([table.size for table in tables], out=offsets[1:])
    return np.concatenate(tables), offsets
