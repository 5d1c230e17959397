"""Numbers for distinct rows, compiled by numba.

What is said of kernels in :mod:`understudy.counting.kernels` holds here too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.machine.compiled import kernel

Array = Any  # numba infers the element types; see each docstring
WideInteger = Any  # an integer of a given width, not Python's


@kernel(nogil=True)
def number_distinct(keys: Array, limit: int, ids: Array, examples: Array) -> int:
    """Number the distinct keys in order of appearance, and stop with -1 once there are more than
    `limit`.

    Keys are found again by a hash table that grows with their number, so that it is small where
    they are few.

    Parameters
    ----------
    keys : uint64 (rows,)
    limit : int
    ids : uint32 (rows,), written
        The number of each key.
    examples : uint32 (limit,), written
        Per number, the first row with that key.
    """
    done = 0
    found = 0
    bits = 12
    while True:
        slots = np.zeros(1 << bits, np.uint32)  # 0 is free, else 1 + the key's number
        for number in range(found):
            slots[_slot(keys, keys[examples[number]], examples, slots, bits)] = number + 1
        done, found = _number_some(
            keys, done, found, min(limit, len(slots) // 2), ids, examples, slots, bits
        )
        if done == len(keys):
            return found
        if found == limit:
            return -1
        bits += 2


@kernel(nogil=True)
def _number_some(
    keys: Array,
    done: int,
    found: int,
    most: int,
    ids: Array,
    examples: Array,
    slots: Array,
    bits: int,
) -> tuple[int, int]:
    """Go on from row `done` until more than `most` keys are found; returns how many rows are done,
    and keys found.
    """
    for r in range(done, len(keys)):
        slot = _slot(keys, keys[r], examples, slots, bits)
        if slots[slot] == 0:
            if found == most:
                return r, found
            examples[found] = r
            found += 1
            slots[slot] = found
        ids[r] = slots[slot] - 1
    return len(keys), found


@kernel(nogil=True)
def _slot(keys: Array, key: WideInteger, examples: Array, slots: Array, bits: int) -> WideInteger:
    """Where a key is, or where it is to be put."""
    slot = np.int64(
        (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - bits)
    )
    while slots[slot] != 0 and keys[examples[np.int64(slots[slot]) - 1]] != key:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@kernel(nogil=True)
def sum_weights(ids: Array, weights: Array, totals: Array) -> None:
    """Add up the weights (uint32; empty where each is 1) of the rows that have each number."""
    for number in range(len(totals)):
        totals[number] = 0
    for r in range(len(ids)):
        totals[ids[r]] += 1 if len(weights) == 0 else weights[r]
