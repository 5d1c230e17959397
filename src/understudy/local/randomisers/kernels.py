"""The inner loops of randomisers, compiled by numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.machine.compiled import kernel

Array = Any  # numba infers the element types

ONE, ZERO = np.uint64(1), np.uint64(0)
ALL = ~np.uint64(0)
SIX, SIX_BITS = np.uint64(6), np.uint64(63)


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
def draw_direct(
    codes: Array, size: int, keep: Array, other: Array, words: Array, reports: Array
) -> None:
    """What :func:`understudy.local.randomisers.direct.draw_direct` says."""
    for person in range(len(codes)):
        report = codes[person]
        if words[person] >= keep:
            report += 1 + int((words[person] - keep) // other)
            if report >= size:
                report -= size
        reports[person] = report


@kernel(nogil=True)
def count_bits(parts: Array, counts: Array) -> None:
    """For each of the 32 bits of each part, how many lines have it.

    Eight lines are added at a time, all 32 bits at once, by adders without carrying (Harley and
    Seal): what is left of them are the ones, twos and fours of the counts so far, and eights, which
    are counted bit by bit.
    """
    lines, width = parts.shape
    whole = lines // 8 * 8
    for part in range(width):
        ones = twos = fours = np.uint32(0)
        for line in range(0, whole, 8):
            fours_a = fours_b = np.uint32(0)
            for half in range(2):
                start = line + 4 * half
                a, b = parts[start, part], parts[start + 1, part]
                mixed = ones ^ a
                carry_a = (ones & a) | (mixed & b)
                ones = mixed ^ b
                a, b = parts[start + 2, part], parts[start + 3, part]
                mixed = ones ^ a
                carry_b = (ones & a) | (mixed & b)
                ones = mixed ^ b
                mixed = twos ^ carry_a
                fours_now = (twos & carry_a) | (mixed & carry_b)
                twos = mixed ^ carry_b
                if half == 0:
                    fours_a = fours_now
                else:
                    fours_b = fours_now
            mixed = fours ^ fours_a
            carried = (fours & fours_a) | (mixed & fours_b)
            fours = mixed ^ fours_b
            for bit in range(32):
                counts[32 * part + bit] += 8 * ((carried >> np.uint32(bit)) & np.uint32(1))
        for bit in range(32):
            place = np.uint32(bit)
            counts[32 * part + bit] += (
                ((ones >> place) & np.uint32(1))
                + 2 * ((twos >> place) & np.uint32(1))
                + 4 * ((fours >> place) & np.uint32(1))
            )
        for line in range(whole, lines):
            for bit in range(32):
                counts[32 * part + bit] += (parts[line, part] >> np.uint32(bit)) & np.uint32(1)


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


@kernel(nogil=True)
def draw_subsets(
    codes: Array, chosen: int, keep: Array, shares: Array, words: Array, blocks: Array
) -> tuple[int, int]:
    """What :func:`understudy.local.randomisers.subset.draw_subset` says, for as many codes as the
    words suffice for: how many these are, and how many words they took.

    ``shares`` has for each number, from 0 to the number of values - 2, how many words draw each of
    the numbers up to it.
    """
    size = np.uint64(len(shares) + 1)
    used = 0
    for person in range(len(codes)):
        start = used
        code = codes[person]
        if len(words) - used < 1 + chosen:
            return person, start
        wanted = chosen
        if words[used] < keep:
            wanted -= 1
            blocks[person, code // 64] |= ONE << np.uint64(code % 64)
        used += 1
        for last in range(len(shares) - wanted, len(shares)):
            number = np.uint64(last + 1)
            while number > np.uint64(last):
                if used == len(words):
                    blocks[person] = ZERO
                    return person, start
                number = ZERO
                if last > 0:  # all words draw the only number that there is
                    number = words[used] // shares[last]
                used += 1
            value = np.uint64(code + 1) + number
            if value >= size:
                value -= size
            if blocks[person, value >> SIX] >> (value & SIX_BITS) & ONE:
                value = np.uint64(code + 1 + last)
                if value >= size:
                    value -= size
            blocks[person, value >> SIX] |= ONE << (value & SIX_BITS)
    return len(codes), used


@kernel(nogil=True)
def draw_signs(
    codes: Array, halfway: int, agree: Array, words: Array, signs: Array
) -> tuple[int, int]:
    """What :func:`understudy.local.randomisers.duchi.draw_signs` says, for as many lines as the
    words suffice for: how many these are, and how many words they took.
    """
    used = 0
    dimensions = codes.shape[1]
    for person in range(len(codes)):
        start = used
        if len(words) - used < dimensions + 2:
            return person, start
        truth = ZERO
        for place in range(dimensions):
            if int(words[used] >> np.uint64(halfway)) < codes[person, place]:
                truth |= ONE << np.uint64(place)
            used += 1
        agrees = words[used] < agree
        used += 1
        while True:
            if used == len(words):
                return person, start
            drawn = words[used]
            if dimensions < 64:
                drawn &= (ONE << np.uint64(dimensions)) - ONE
            used += 1
            ones = 0
            left = drawn
            while left != ZERO:
                left &= left - ONE
                ones += 1
            if (2 * ones > dimensions) == agrees:
                break
        signs[person] = ~(truth ^ drawn)
        if dimensions < 64:
            signs[person] &= (ONE << np.uint64(dimensions)) - ONE
    return len(codes), used
