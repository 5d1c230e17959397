"""The inner loops of randomisers, compiled by numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.machine.compiled import kernel

Array = Any  # numba infers the element types

ONE, ZERO = np.uint64(1), np.uint64(0)
ALL = ~np.uint64(0)


@kernel(nogil=True)
def draw_bits(
    codes: Array, size: int, on_true: Array, on_other: Array, words: Array, blocks: Array
) -> tuple[int, int]:
    """What :func:`understudy.local.randomisers.unary.draw_bits` says, for as many codes as the
    words surely suffice for: how many these are, and how many words they took.

    ``on_true`` and ``on_other`` are the 64 bits of the two thresholds, the highest first.
    """
    count = (size + 63) // 64
    used = 0
    for person in range(len(codes)):
        if len(words) - used < 64 * count:
            return person, used
        for block in range(count):
            valid = min(size - 64 * block, 64)
            undecided = ALL
            if valid < 64:
                undecided = (ONE << np.uint64(valid)) - ONE
            own = ZERO
            if codes[person] // 64 == block:
                own = ONE << np.uint64(codes[person] % 64)
            below = ZERO
            for place in range(64):
                word = words[used]
                used += 1
                plane = on_other[place] & ~own | on_true[place] & own
                below |= undecided & plane & ~word
                undecided &= ~(word ^ plane)
                if undecided == ZERO:
                    break
            blocks[person, block] = below
    return len(codes), used


@kernel(nogil=True)
def count_hashed(reports: Array, edges: Array, shift: int, counts: Array) -> None:
    """For each value the number of reports whose bucket its hash falls into.

    A report is a line of factor, summand and bucket; ``edges`` are where buckets begin.
    """
    for person in range(len(reports)):
        factor, hashed = np.uint32(reports[person, 0]), np.uint32(reports[person, 1])
        begin, end = edges[reports[person, 2]], edges[reports[person, 2] + 1]
        for value in range(len(counts)):
            place = hashed >> shift
            counts[value] += (place >= begin) & (place < end)
            hashed = np.uint32(hashed + factor)
