"""Exact contingency tables of coded rows. Exact counts are private: only a curator may hold a
counter.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis, Marginal


class Counter(Protocol):
    """Whatever can count rows: a table in memory (``counting.memory``) or an engine that holds
    them.
    """

    @property
    def rows(self) -> int:
        """How many rows there are (private under the add/remove relation)."""
        ...

    def size(self, axis: Axis) -> int:
        """How many values an attribute has at a level (public)."""
        ...

    def count(self, marginals: Sequence[Marginal]) -> list[NDArray[np.int64]]:
        """One table per marginal, shaped by the sizes of its axes; 0-d, holding the rows, for the
        empty one.

        The tables are views of one buffer, see `count_flat`: copy one to keep it and let the others
        go.
        """
        flat, offsets = self.count_flat(marginals)
        return [
            flat[begin:end].reshape([self.size(axis) for axis in axes])
            for axes, (begin, end) in zip(marginals, pairwise(offsets.tolist()), strict=True)
        ]

    def count_flat(
        self, marginals: Sequence[Marginal]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same tables one after the other in one buffer, and where each of them starts (and the
        last one ends).
        """
        ...
