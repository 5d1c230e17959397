"""The loops of :mod:`understudy.models.balancing`, in plain Python that numba can compile.

They are called with lists where there are few rows, and compiled, with arrays, where there are many
(:mod:`understudy.models.balancing_kernels`): the same source, so the same rows to the bit.

Words used below. Rows stand in an *order* in which those of each group are together, from
``starts[g]`` to ``starts[g + 1]``; a *place* is one in that order.
"""

from __future__ import annotations

from typing import Any

Array = Any  # a list or an array


def order_rows(group: Array, starts: Array, numbers: Array, order: Array) -> None:
    """Put the rows of each group together, in random order.

    ``numbers`` are in [0, 1), one per row. ``order`` becomes the row at each place.
    """
    free = starts.copy()
    for row in range(len(group)):
        order[free[group[row]]] = row
        free[group[row]] += 1
    for g in range(len(starts) - 1):
        first = starts[g]
        for i in range(starts[g + 1] - first - 1, 0, -1):  # Fisher and Yates' shuffle
            j = int(numbers[first + i] * (i + 1))
            order[first + i], order[first + j] = order[first + j], order[first + i]


def halve(
    starts: Array, bounds: Array, held: Array, numbers: Array, lows: Array, highs: Array
) -> None:
    """Halve the values that each place may have: from ``lows[place]`` up to, but without,
    ``highs[place]``.

    The places of a group that may have the same values stand together, and go on doing so: the
    lower half first. One between them may belong to either half. It waits, with its chance of the
    lower one, for the next such place with the same values, and both settle it: if their chances
    come to less than 1, one of them belongs to the upper half and the other has the sum; else one
    belongs to the lower half and the other has what is above 1.

    Parameters
    ----------
    starts
        Where the places of each group begin, and where the last ones end.
    bounds
        Cumulative distributions, and
    held
        for each group which of them is its own.
    numbers
        In [0, 1): one per place, then one per value.
    lows, highs
        The values that each place may have; both are changed.
    """
    size = len(numbers) - len(lows)
    waiting = [-1] * size  # the place that waits, by the first value of its range
    chances = [0.0] * size
    for g in range(len(held)):
        cumulative = bounds[held[g]]
        end = starts[g + 1]
        place = starts[g]
        while place < end:
            low, high = lows[place], highs[place]
            last = place + 1
            while last < end and lows[last] == low:
                last += 1
            if high - low < 2:
                place = last
                continue
            middle = (low + high) >> 1
            below = 0.0
            if low > 0:
                below = cumulative[low - 1]
            above = min(cumulative[high - 1], 1.0)
            between = min(cumulative[middle - 1], 1.0)
            if between <= below:
                expected = 0.0
            elif between >= above:
                expected = float(last - place)
            else:
                expected = (last - place) * ((between - below) / (above - below))
            cut = place + int(expected)
            for i in range(place, cut):
                highs[i] = middle
            for i in range(cut, last):
                lows[i] = middle
            chance = expected - int(expected)
            if cut < last and chance > 0.0:
                # This one is undecided: it is on the upper side as long as it waits.
                other = waiting[low]
                both = chances[low] + chance
                if other < 0:
                    waiting[low] = cut
                    chances[low] = chance
                elif both < 1.0:
                    if numbers[cut] * both >= chances[low]:
                        waiting[low] = cut
                    chances[low] = both
                else:
                    winner = cut
                    if numbers[cut] * (2.0 - both) < 1.0 - chance:
                        winner = other
                        waiting[low] = cut
                    highs[winner] = lows[winner]
                    lows[winner] = low
                    chances[low] = both - 1.0
            place = last
    for low in range(size):
        place = waiting[low]
        if place >= 0 and numbers[len(lows) + low] < chances[low]:
            highs[place] = lows[place]
            lows[place] = low


def balance(
    starts: Array,
    order: Array,
    codes: Array,
    slots: Array,
    firsts: Array,
    size: int,
    values: Array,
    sums: Array,
) -> None:
    """Let pairs of places in the same group exchange their values where that balances tables.

    A pair of rows with codes a and b of another column, and values x and y, adds 1 to the cells
    (a, x) and (b, y) and takes 1 from (a, y) and (b, x); exchanged, it does the opposite. What
    leaves the sums of all pairs smaller, in squares, is done. Where both are as good, the pair
    stays as it is: rows are in random order.

    Parameters
    ----------
    codes, slots
        Codes of other columns, one line per row, and which of them count.
    firsts
        For each of those where its table begins in the sums.
    size
        How many values there are.
    values
        The value at each place; changed.
    sums
        One per cell of each table, all 0.
    """
    tables = len(slots)
    for g in range(len(starts) - 1):
        # Values stand in order in a group: pairs are taken from both halves of it.
        half = (starts[g + 1] - starts[g] + 1) >> 1
        for place in range(starts[g], starts[g + 1] - half):
            x, y = values[place], values[place + half]
            if x == y:
                continue
            mine, other = codes[order[place]], codes[order[place + half]]
            slope = 0
            for t in range(tables):
                a = firsts[t] + size * int(mine[slots[t]])
                b = firsts[t] + size * int(other[slots[t]])
                slope += sums[a + x] - sums[a + y] - sums[b + x] + sums[b + y]
            if slope > 0:
                values[place], values[place + half] = y, x
                x, y = y, x
            for t in range(tables):
                a = firsts[t] + size * int(mine[slots[t]])
                b = firsts[t] + size * int(other[slots[t]])
                sums[a + x] += 1
                sums[a + y] -= 1
                sums[b + x] -= 1
                sums[b + y] += 1
