"""The inner loops of counting in memory, compiled by numba.

Where there is little to count, :mod:`understudy.counting.plain` does it instead. Which tables are
counted, so that many marginals are summed from few, is up to
:mod:`understudy.counting.merging_kernels`; equal rows are found by
:mod:`understudy.counting.distinct_kernels`. What kernels of several files share stands here.

Every kernel is a plain function over arrays: no threads, no Python objects, no global interpreter
lock. The caller runs one kernel on several Python threads at once, each on its share of the work.
That is as fast as ``numba.prange``, loads balance better, and it needs no threading layer (of
numba's, one aborts when two threads call it, another when the process has forked).

Axes are numbered. A set of axes is a *mask*: bit ``63 - axis % 64`` of word ``axis // 64``. Arrays
that belong together come as named tuples, which numba takes apart at no cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.counting.layout import (
    Axes,
    CodeColumns,
    MarginalLayout,
    MergedTables,
    PackedColumns,
)
from understudy.counting.plain import REPEATED, TOO_LARGE
from understudy.machine.compiled import kernel

Array = Any  # numba infers the element types; see each docstring
WideInteger = Any  # an integer of a given width, not Python's

MERGED_CELLS = 1 << 16
"""Tables up to this size are counted through 16-bit indices, and only such tables are merged."""

LANE_CELLS = 8192  # tables up to this size are counted into four copies
BLOCK = 8192  # rows whose indices are computed at a time: they stay in the first-level cache
PACKED_AXES = 4  # marginals of up to this many binary axes are counted from packed bits

# --- Marginals
# ------------------------------------------------------------------------------------------------


@kernel(nogil=True)
def outline(
    numbers: Array, starts: Array, axes: Axes, limit: int, cells: Array, masks: Array
) -> None:
    """Find the number of cells and the mask of every marginal.

    ``cells[m]`` becomes TOO_LARGE above `limit`, or REPEATED if an attribute occurs twice. Axes
    with one value do not enter the mask: they never move an index. `numbers` and `starts` are the
    axes of the marginals, as in :class:`MarginalLayout`.
    """
    for m in range(len(cells)):
        product = 1
        for j in range(starts[m], starts[m + 1]):
            axis = numbers[j]
            for i in range(starts[m], j):
                if axes.base[numbers[i]] == axes.base[axis]:
                    product = REPEATED
            if product > 0:
                product *= axes.sizes[axis]
                if product > limit:
                    product = TOO_LARGE
            if axes.sizes[axis] > 1:
                masks[m, axis >> 6] |= axis_bit(axis)
        cells[m] = product


@kernel(nogil=True)
def axis_bit(axis: int) -> WideInteger:
    """The bit of an axis in its word of a mask."""
    return np.uint64(1) << np.uint64(63 - (axis & 63))


# --- Counting rows
# --------------------------------------------------------------------------------------------


@kernel(nogil=True)
def count_merged(
    chosen: Array,
    tables: MergedTables,
    marginals: MarginalLayout,
    axes: Axes,
    columns: CodeColumns,
    first: int,
    last: int,
    flat: Array,
) -> None:
    """Count the merged tables numbered in `chosen` over rows `first` to `last`, and sum their
    marginals from them.
    """
    index = np.empty(BLOCK, np.uint16)
    counts = np.empty(max(4 * LANE_CELLS, MERGED_CELLS), np.uint32)
    spare = np.empty(MERGED_CELLS, np.uint32)
    own = np.empty(len(axes.sizes), np.int64)
    for t in chosen:
        depth = 0
        cells = 1
        for axis in range(len(axes.sizes)):
            if tables.masks[t, axis >> 6] & axis_bit(axis) != np.uint64(0):
                own[depth] = axis
                depth += 1
                cells *= axes.sizes[axis]
        # A common cell is hit again before its last increment has settled. Four tables side by
        # side, taken in turn, avoid that wait (3x on skewed data), while they fit the cache and are
        # few beside the rows.
        lanes = 4 if cells <= LANE_CELLS and 4 * cells <= last - first else 1
        clear(counts[: lanes * cells])
        tally(columns, own[:depth], axes.sizes, first, last, index, lanes, counts[: lanes * cells])
        table = counts[:cells]
        for lane in range(1, lanes):
            _add_to(table, counts[lane * cells : (lane + 1) * cells])
        for m in tables.members[tables.starts[t] : tables.starts[t + 1]]:
            marginal = marginals.axes[marginals.starts[m] : marginals.starts[m + 1]]
            out = flat[marginals.begins[m] : marginals.ends[m]]
            spread(table, own[:depth], marginal, axes, spare, out)


@kernel(nogil=True)
def count_alone(
    chosen: Array,
    marginals: MarginalLayout,
    axes: Axes,
    columns: CodeColumns,
    first: int,
    last: int,
    flat: Array,
) -> None:
    """Add the marginals in `chosen`, of any size below 2**32 cells, each straight to its place."""
    index = np.empty(BLOCK, np.uint32)
    for m in chosen:
        marginal = marginals.axes[marginals.starts[m] : marginals.starts[m + 1]]
        table = flat[marginals.begins[m] : marginals.ends[m]]
        tally(columns, marginal, axes.sizes, first, last, index, 1, table)


@kernel(nogil=True)
def tally(
    columns: CodeColumns,
    marginal: Array,
    sizes: Array,
    first: int,
    last: int,
    index: Array,
    lanes: int,
    counts: Array,
) -> None:
    """Add rows `first` to `last`, counted over the axes of `marginal`, to `counts`: `lanes` (1 or
    4) tables side by side.

    `index` is working space for BLOCK row indices, of a type that holds the number of cells. The
    indices of a block are computed column by column, which the compiler turns into vector
    instructions: a fraction of the price of the increments, so that sharing them between tables
    would gain little.
    """
    strides = _strides(marginal, sizes)
    weights = columns.weights
    cells = len(counts) // lanes
    zero, one, two, three = counts[:cells], counts[:cells], counts[:cells], counts[:cells]
    if lanes == 4:
        one, two, three = (
            counts[cells : 2 * cells],
            counts[2 * cells : 3 * cells],
            counts[3 * cells :],
        )
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        block = index[: end - begin]
        clear(block)
        for j in range(len(marginal)):
            axis = marginal[j]
            place = columns.place[axis]
            if sizes[axis] <= 256:
                _advance(block, columns.narrow[place, begin:end], strides[j])
            elif sizes[axis] <= 65536:
                _advance(block, columns.middle[place, begin:end], strides[j])
            else:
                _advance(block, columns.wide[place, begin:end], strides[j])
        even = len(block) // 4 * 4
        if len(weights) == 0:
            for i in range(0, even, 4):
                zero[block[i]] += 1
                one[block[i + 1]] += 1
                two[block[i + 2]] += 1
                three[block[i + 3]] += 1
            for i in range(even, len(block)):
                zero[block[i]] += 1
        else:
            weight = weights[begin:end]
            for i in range(0, even, 4):
                zero[block[i]] += weight[i]
                one[block[i + 1]] += weight[i + 1]
                two[block[i + 2]] += weight[i + 2]
                three[block[i + 3]] += weight[i + 3]
            for i in range(even, len(block)):
                zero[block[i]] += weight[i]


@kernel(nogil=True)
def _advance(index: Array, column: Array, stride: int) -> None:
    step = index.dtype.type(stride)
    for i in range(len(column)):
        index[i] += index.dtype.type(column[i]) * step


@kernel(nogil=True)
def _strides(axes: Array, sizes: Array) -> Array:
    strides = np.empty(len(axes), np.int64)
    cells = 1
    for j in range(len(axes) - 1, -1, -1):
        strides[j] = cells
        cells *= sizes[axes[j]]
    return strides


# --- Summing a merged table
# -----------------------------------------------------------------------------------


@kernel(nogil=True)
def spread(
    table: Array, columns: Array, marginal: Array, axes: Axes, spare: Array, out: Array
) -> None:
    """Sum the table over `columns` into the table `out` over `marginal`, whose axes `columns`
    provide.

    First the axes that the marginal has not are summed away, one by one from the outermost, which
    are runs of vector additions; then the little that is left is generalised and put in the
    marginal's order of axes.
    """
    if _same(columns, marginal):
        _add_to(out, table)
        return
    target = np.full(len(columns), -1, np.int64)  # which axis of the marginal each column provides
    for j in range(len(columns)):
        for i in range(len(marginal)):
            axis = marginal[i]
            if axis == columns[j] or (axes.base[axis] == columns[j] and axes.sizes[axis] > 1):
                target[j] = i
    kept = np.empty(len(columns), np.int64)
    depth = 0
    outer: WideInteger = np.int64(1)  # a literal would have the functions below compiled twice
    gone: WideInteger = np.int64(1)
    inner = len(table)
    source = table
    for j in range(len(columns)):
        size = axes.sizes[columns[j]]
        inner //= size
        if target[j] >= 0:
            kept[depth] = j
            depth += 1
            outer *= size
        else:
            gone *= size
            if j + 1 == len(columns) or target[j + 1] >= 0:  # neighbouring axes go together
                _sum_away(source, outer, gone, inner, spare)
                source = spare
                gone = 1
    _place(source, outer, columns, kept[:depth], target, marginal, axes, out)


@kernel(nogil=True)
def _sum_away(source: Array, outer: int, size: int, inner: int, out: Array) -> None:
    """Sum the middle axis of an (outer, size, inner) table; `out` may be `source`, being written
    behind the reads.
    """
    for o in range(outer):
        begin = o * size * inner
        if inner >= 16:  # long runs: worth a vector operation each
            into = out[o * inner : (o + 1) * inner]
            copy_into(source[begin : begin + inner], into)
            for v in range(1, size):
                _add_to(into, source[begin + v * inner : begin + (v + 1) * inner])
        else:
            end = begin + size * inner
            for i in range(inner):
                total = np.uint32(0)
                for v in range(begin + i, end, inner):
                    total += source[v]
                out[o * inner + i] = total


@kernel(nogil=True)
def _place(
    source: Array,
    cells: int,
    columns: Array,
    kept: Array,
    target: Array,
    marginal: Array,
    axes: Axes,
    out: Array,
) -> None:
    """Add a table over the kept columns to `out`, generalised and in the marginal's order of
    axes.
    """
    depth = len(kept)
    if depth == 0:
        out[0] += source[0]
        return
    sizes = axes.sizes
    strides = _strides(marginal, sizes)
    step_start = np.empty(depth, np.int64)
    room = 0
    for k in range(depth):
        step_start[k] = room
        room += sizes[columns[kept[k]]]
    steps = np.empty(room, np.int64)  # how far each value of each axis moves the index into out
    for k in range(depth):
        column = columns[kept[k]]
        i = target[kept[k]]
        for v in range(sizes[column]):
            code = np.int64(v)
            if marginal[i] != column:
                code = np.int64(axes.maps[axes.map_start[marginal[i]] + v])
            steps[step_start[k] + v] = code * strides[i]
    digits = np.zeros(depth, np.int64)
    reached = np.zeros(depth, np.int64)  # index into out after the first k axes
    for k in range(1, depth):
        reached[k] = reached[k - 1] + steps[step_start[k - 1]]
    run = sizes[columns[kept[depth - 1]]]
    last_steps = steps[step_start[depth - 1] :]
    for begin in range(0, cells, run):
        at = reached[depth - 1]
        for v in range(run):
            out[at + last_steps[v]] += source[begin + v]
        k = depth - 2
        while k >= 0:
            digits[k] += 1
            if digits[k] < sizes[columns[kept[k]]]:
                break
            digits[k] = 0
            k -= 1
        for j in range(max(k, 0), depth - 1):
            reached[j + 1] = reached[j] + steps[step_start[j] + digits[j]]


# --- Packed bits
# ----------------------------------------------------------------------------------------------


@kernel(nogil=True)
def count_packed(
    chosen: Array,
    marginals: MarginalLayout,
    sizes: Array,
    packed: PackedColumns,
    rows: int,
    flat: Array,
) -> None:
    """Count the marginals in `chosen`, of up to PACKED_AXES binary axes at level 0, from packed
    columns.

    The rows where all of a set of attributes are 1 are counted by ANDing their bits, 64 rows at a
    time. These counts for all subsets of a marginal give its cells by inclusion and exclusion.
    """
    words = packed.words
    picked = np.empty(PACKED_AXES, np.int64)
    for m in chosen:
        depth = 0
        for axis in marginals.axes[marginals.starts[m] : marginals.starts[m + 1]]:
            if sizes[axis] == 2:
                picked[depth] = packed.place[axis]
                depth += 1
        columns = picked[:depth]
        out = flat[marginals.begins[m] : marginals.ends[m]]
        # out[s] is first the count for subset s, whose bits read like the cell's index: last axis
        # lowest.
        out[0] = rows
        for i in range(depth):
            for j in range(i + 1):
                subset = (1 << (depth - 1 - i)) | (1 << (depth - 1 - j))
                out[subset] = _recall(words, packed.known, columns[i], columns[j])
        if depth == 3:
            out[7] = _three(words[columns[0]], words[columns[1]], words[columns[2]])
        elif depth == 4:
            _four(words[columns[0]], words[columns[1]], words[columns[2]], words[columns[3]], out)
        for j in range(depth):  # from "1 in these, anything elsewhere" to "1 in these, 0 elsewhere"
            bit = 1 << j
            for s in range(1 << depth):
                if s & bit == 0:
                    out[s] -= out[s | bit]


@kernel(nogil=True)
def _recall(words: Array, known: Array, a: int, b: int) -> WideInteger:
    if known[a, b] < 0:
        count = _two(words[a], words[b])
        known[a, b] = count
        known[b, a] = count
    return known[a, b]


@kernel(nogil=True)
def _two(a: Array, b: Array) -> WideInteger:
    total = np.uint64(0)
    for i in range(len(a)):
        total += count_ones(a[i] & b[i])
    return np.int64(total)


@kernel(nogil=True)
def _three(a: Array, b: Array, c: Array) -> WideInteger:
    total = np.uint64(0)
    for i in range(len(a)):
        total += count_ones(a[i] & b[i] & c[i])
    return np.int64(total)


@kernel(nogil=True)
def _four(a: Array, b: Array, c: Array, d: Array, out: Array) -> None:
    """Counts for the four triples and the quadruple, each put where its subset belongs."""
    abc, abd, acd, bcd, abcd = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    for i in range(len(a)):
        ab = a[i] & b[i]
        cd = c[i] & d[i]
        abc += count_ones(ab & c[i])
        abd += count_ones(ab & d[i])
        acd += count_ones(a[i] & cd)
        bcd += count_ones(b[i] & cd)
        abcd += count_ones(ab & cd)
    out[0b1110] = abc
    out[0b1101] = abd
    out[0b1011] = acd
    out[0b0111] = bcd
    out[0b1111] = abcd


@kernel(nogil=True)
def count_ones(word: WideInteger) -> WideInteger:
    """Number of 1 bits in a uint64 (LLVM recognises this and uses the processor's own
    instructions).
    """
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


# --- Arrays: plain loops, as numba takes seconds to compile numpy's own words for these
# ------------------------------


@kernel(nogil=True)
def _add_to(into: Array, other: Array) -> None:
    for i in range(len(into)):
        into[i] += other[i]


@kernel(nogil=True)
def copy_into(source: Array, into: Array) -> None:
    """Copy an array into another."""
    for i in range(len(into)):
        into[i] = source[i]


@kernel(nogil=True)
def clear(array: Array) -> None:
    """Set all of an array to 0."""
    for i in range(len(array)):
        array[i] = 0


@kernel(nogil=True)
def _same(a: Array, b: Array) -> bool:
    equal = len(a) == len(b)
    for i in range(min(len(a), len(b))):
        equal = equal and a[i] == b[i]
    return equal
