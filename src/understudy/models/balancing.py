"""Rows dealt out so that also tables come out even that the network does not hold.

The rows that share the values of an attribute's parents, a *group*, are put in random order, and
values are shared out among them in two steps (:mod:`understudy.models.balancing_steps`).

1. *Halve.* The values are halved, and the halves, down to single ones. Each time a group gives each
   half its share of its rows, in whole rows. One is left over that may belong to either; such rows
   of one group after the other settle it two by two (the pivotal method, Deville and Tillé 1998).
   Each row has exactly its chances, and each value as many rows as expected, give or take one or
   two, in each group; in many small groups together far more nearly than if each were by itself.
2. *Balance.* Rows of a group are paired, and two with different values exchange them or not. As
   far as the distribution goes, either is as good. So that is done which keeps more even the
   tables of this attribute with others that were drawn before it. Had the rows of each pair stood
   the other way round in the random order, which is as likely, both would have the other's value in
   the end: so each row still has exactly its chances.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.streams import draw_uniforms
from understudy.machine.plain_first import PlainFirst
from understudy.models import balancing_steps

BESIDE = 16
"""An attribute is balanced with at most this many of those that were drawn last. The rows of a seed
depend on it.
"""

MAX_BALANCED_CODES = 1 << 16
"""Attributes with more values are not balanced."""

PLAIN_BALANCING_SECONDS = 1e-6
"""What a row takes in plain Python, for each halving and each table, about."""


class Recent:
    """The columns that were drawn last, beside each other.

    Parameters
    ----------
    rows
        How many rows are drawn.
    """

    def __init__(self, rows: int) -> None:
        self.codes = np.zeros((rows, BESIDE), dtype=np.uint16)
        self._held: list[tuple[str, int]] = []
        self._added = 0

    def add(self, name: str, column: NDArray[Any], size: int) -> None:
        """Keep a column, in place of the oldest one where there are many."""
        if size > MAX_BALANCED_CODES:
            return
        slot = self._added % BESIDE
        self.codes[:, slot] = column
        self._held[slot : slot + 1] = [(name, size)]
        self._added += 1

    def find(
        self, size: int, parents: Collection[str]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The slots of the columns that one of this many values is balanced with, and how many
        cells these tables have.

        Not its parents: all rows of a group agree in them. Nor where there are more cells than
        rows: most have one row or none, whatever is done.
        """
        found = [
            (slot, size * other)
            for slot, (name, other) in enumerate(self._held)
            if name not in parents and size * other <= len(self.codes)
        ]
        slots, cells = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return slots, cells


def share_out(
    places: NDArray[np.int32],
    cumulative: NDArray[np.float64],
    recent: Recent,
    parents: Collection[str],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """The codes of one attribute, for all rows.

    Parameters
    ----------
    places
        The number of each row's parent configuration.
    cumulative
        The cumulative distributions there (see :mod:`understudy.models.sampling_kernels`).
    recent
        What was drawn before.
    parents
        Which attributes the configuration is made of.
    rng
        Where the randomness comes from.
    """
    rows, (groups, size) = len(places), cumulative.shape
    halvings = (size - 1).bit_length()
    slots, cells = recent.find(size, parents)
    counts = np.bincount(places, minlength=groups)
    held = np.flatnonzero(counts)
    group = (np.cumsum(counts > 0) - 1)[places]
    starts = np.concatenate([[0], np.cumsum(counts[held])])
    codes = recent.codes

    steps: Any = _KERNELS.kernels_for(PLAIN_BALANCING_SECONDS * rows * (1 + halvings + len(slots)))
    adapt: Callable[[NDArray[Any]], Any] = np.asarray
    if steps is None:
        steps, adapt = balancing_steps, np.ndarray.tolist
        # Lists are large: no more is in them than is looked at.
        cumulative, held = cumulative[held], np.arange(len(held))
        codes, slots = codes[:, slots], np.arange(len(slots))
    starts, held, cumulative = adapt(starts), adapt(held), adapt(cumulative)

    order = adapt(np.zeros(rows, dtype=np.int64))
    steps.order_rows(adapt(group), starts, adapt(draw_uniforms(rng, rows)), order)
    values, highs = adapt(np.zeros(rows, dtype=np.int64)), adapt(np.full(rows, size))
    for _ in range(halvings):
        numbers = adapt(draw_uniforms(rng, rows + size))
        steps.halve(starts, cumulative, held, numbers, values, highs)
    if len(slots):
        sums = adapt(np.zeros(int(cells.sum()), dtype=np.int64))
        tables = adapt(codes), adapt(slots), adapt(np.cumsum(cells) - cells), size
        steps.balance(starts, order, *tables, values, sums)
    shared = np.empty(rows, dtype=np.int64)
    shared[order] = values
    return shared


def _load_kernels() -> Any:
    from understudy.models import balancing_kernels

    return balancing_kernels


_KERNELS = PlainFirst(_load_kernels, Path(balancing_steps.__file__), compiling=2.5)
