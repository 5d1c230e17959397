"""Deal out rows evenly, also in tables that the network does not hold.

Rows that share the values of an attribute's parents are a *group*. Each group is put in random
order, and its rows get values in two steps (:mod:`understudy.models.balancing_steps`).

1. *Halve.* The list of values is split into halves, and these again, down to single values. At each
   split a group gives each half its expected number of rows, rounded. A row that is left over may
   go to either half; such rows of consecutive groups are settled two by two (the pivotal method,
   Deville and Tillé 1998). Each row keeps exactly its probabilities, and the rows of a group with
   some value are within one or two of what is expected; over many small groups their sum is far
   closer than if each group were rounded by itself.
2. *Balance.* Rows of a group are paired, and two with different values may exchange them. By the
   model both outcomes are equally likely, so the one is taken that brings the tables of this
   attribute with attributes that were drawn before closer to what is expected. Each row keeps its
   probabilities: had the two stood in the other order, which is as likely, each would have the
   other's value.
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

MAX_RECENT = 16
"""An attribute is balanced with at most this many of those that were drawn last. The rows of a seed
depend on it.
"""

MAX_BALANCED_CODES = 1 << 16
"""Attributes with more values are not balanced."""

PLAIN_BALANCING_SECONDS = 1e-6
"""What a row takes in plain Python, for each halving and each table, about."""


class Recent:
    """The columns that were drawn last, side by side.

    Parameters
    ----------
    rows
        How many rows are drawn.
    """

    def __init__(self, rows: int) -> None:
        self.codes = np.zeros((rows, MAX_RECENT), dtype=np.uint16)
        self._held: list[tuple[str, int]] = []
        self._added = 0

    def add(self, name: str, column: NDArray[Any], size: int) -> None:
        """Keep a column, in place of the oldest one where there are many."""
        if size > MAX_BALANCED_CODES:
            return
        slot = self._added % MAX_RECENT
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
