"""Equal rows become one, with a weight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.counting import kernel_choice, plain

MAX_SAMPLED_ROWS = 1 << 14


def collapse_rows(
    columns: Mapping[str, NDArray[Any]], sizes: Mapping[str, int], rows: int, wanted: bool | None
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]] | None:
    """Find the distinct rows and how often each occurs, or None where that does not pay.

    It pays when at most half as many rows remain. Finding out costs about as much as counting some
    twenty tables, so a sample is asked first: with f1 rows that occur in it once and f2 that occur
    twice, the data has about ``distinct + f1 (f1 - 1) / (2 (f2 + 1))`` distinct rows (Chao's
    estimate, a lower bound). If that promises to pay, all rows are taken, and left again as soon as
    more than half have turned out distinct.
    """
    if wanted is False or rows == 0:
        return None
    if wanted:
        limit = rows
    else:
        limit = rows // 2
    if not wanted and rows > 2 * MAX_SAMPLED_ROWS:
        sample = np.linspace(0, rows - 1, MAX_SAMPLED_ROWS).astype(np.intp)
        found = find_distinct(
            {name: column[sample] for name, column in columns.items()}, sizes, MAX_SAMPLED_ROWS
        )
        assert found is not None
        occurrences = np.bincount(found[1])
        once, twice = np.append(occurrences, [0, 0, 0])[1:3].tolist()
        if len(found[0]) + once * (once - 1) / (2 * (twice + 1)) > limit:
            return None
    return find_distinct(columns, sizes, limit)


def find_distinct(
    columns: Mapping[str, NDArray[Any]],
    sizes: Mapping[str, int],
    limit: int,
    weights: NDArray[np.uint32] | None = None,
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]] | None:
    """Find an example and the number (or weight) of each distinct row, or None if there are more
    than `limit`.

    Columns are packed into a 64-bit key until the next would not fit; then the keys so far are
    replaced by small numbers, and packing goes on. So keys are exact, however many columns there
    are.
    """
    rows = len(next(iter(columns.values())))
    keys = np.zeros(rows, np.uint64)
    ids = np.empty(rows, np.uint32)
    examples = np.empty(limit, np.uint32)
    numbering: Any = plain
    if kernel_choice.COUNTING_KERNELS.kernels_for(plain.numbering_seconds(rows)) is not None:
        numbering = kernel_choice.load_distinct()
    room = 1 << 64
    for name, column in columns.items():
        if sizes[name] > room:
            found = numbering.number_distinct(keys, limit, ids, examples)
            if found < 0:
                return None
            keys[:] = ids
            room = (1 << 64) // found
        room //= sizes[name]
        keys *= np.uint64(sizes[name])
        keys += column
    found = numbering.number_distinct(keys, limit, ids, examples)
    if found < 0:
        return None
    totals = np.empty(found, np.uint32)
    numbering.sum_weights(ids, np.empty(0, np.uint32) if weights is None else weights, totals)
    return examples[:found].copy(), totals
