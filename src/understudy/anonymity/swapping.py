"""Swapping: similar rows exchange a value, so that each column keeps its exact distribution.

The marginals stay exact, so whatever they tell stays told; swapping is no differential privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.anonymity.checking import group_rows
from understudy.anonymity.microdata import read_microdata
from understudy.anonymity.publishing import pick_cells
from understudy.anonymity.suppression import check_names
from understudy.data.columns import Table
from understudy.data.frames import Frame, as_table
from understudy.errors import InputError


def swap_values(
    table: Frame,
    name: str,
    share: float,
    *,
    within: Sequence[str] = (),
    seed: int | None = None,
) -> Table:
    """Let a share of the rows exchange their values of a column, in pairs.

    Parameters
    ----------
    table
        A table, a frame or the path of a file.
    name
        The column whose values are exchanged.
    share
        The share of rows that take part, up to 1.
    within
        Columns in which the two rows of a pair must be equal: their joint distribution with
        ``name`` stays exact. Without them any two rows may be a pair.
    seed
        To repeat it; not for data that is published.
    """
    if not 0 <= share <= 1:
        raise InputError(f"The share of rows to swap must be from 0 to 1, not {share!r}.")
    read, _ = as_table(table)
    check_names(read, [name, *within])
    rng = np.random.default_rng(seed)
    if within:
        groups = group_rows(read_microdata(read, tuple(within)), within).of_row
    else:
        groups = np.zeros(read.rows, dtype=np.int64)
    chosen = np.flatnonzero(rng.random(read.rows) < share)
    chosen = chosen[np.lexsort((rng.random(len(chosen)), groups[chosen]))]
    # In each group neighbours are a pair; an odd one out keeps its value.
    starts = np.flatnonzero(np.r_[True, np.diff(groups[chosen]) != 0])
    place = np.arange(len(chosen)) - np.repeat(starts, np.diff(np.r_[starts, len(chosen)]))
    firsts = np.flatnonzero(place % 2 == 0)
    firsts = firsts[firsts + 1 < len(chosen)]
    firsts = firsts[groups[chosen[firsts]] == groups[chosen[firsts + 1]]]
    one, other = chosen[firsts], chosen[firsts + 1]
    source = np.arange(read.rows)
    source[one], source[other] = other, one
    swapped = pick_cells(read.columns[name], source)
    return replace(read, columns={**read.columns, name: swapped})
