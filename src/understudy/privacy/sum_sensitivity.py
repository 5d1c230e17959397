"""By how much a person can move sums: the sensitivities of the question ``sum``, with proofs.

A *block* is a vector of sums that get noise of one scale: the counts of rows, the sums of features,
or their second moments, for every group of rows. Cell j of a block is a sum, over rows, of whole
numbers of at most m_j, its *magnitude*. Cells of different magnitudes are put on a common grid
before noise is added (:meth:`Block.to_grid`), so that noise is in proportion to the magnitude.

A *slot* is a set of cells of which a row can move one only, those of one column's indicators: a row
has one code. Numbers are slots of their own; products have a slot for each pair of slots.

Let x be what one row adds, in units of the magnitudes (x_j = its number / m_j, at most 1 in size).
A row that does not count adds 0.

**Box, add or remove a row.** One cell a slot is moved, by at most 1: the L1 norm is at most the
number of slots s, the L2 norm at most sqrt(s).

**Box, replace a row.** If both rows belong to one group: a slot of one cell moves by at most its
width w = (greatest - least) / m <= 2, where 0 lies between least and greatest. A slot of several
cells moves by 1 in each of two cells, or in one by its width: at most 2 in L1, and max(2, w^2) in
squared L2. If they belong to two groups, each moves cells of its own: 2 s in L1 and in squared L2.

**Ball.** Every row's vector u of features is no longer than R, and all magnitudes are R (R^2 for
moments). Let k be the slots: u has at most k numbers other than 0. Where rows are seen along
directions, u is the vector of components, which is shortened to R like any other, and k is the
number of directions. All of what follows holds for any vectors that are no longer than R.

- *Sums.* L2: R, so 1; replaced: 2. L1: at most sqrt(k) R by Cauchy and Schwarz; replaced: twice.
- *Squares.* They are not negative and add up to |u|^2 <= R^2: L1 and L2 at most 1. Replaced: at
  most 2 in L1. Numbers that are not negative differ by no more than the larger: |a - b|^2 <= a^2 +
  b^2, so 2 in squared L2.
- *Products* u_i u_j, i <= j. Squared L2: (|u|^4 + sum of u_i^4) / 2 <= R^4, as (the whole matrix +
  its diagonal) / 2. L1: (|u|_1^2 + |u|_2^2) / 2 <= (k + 1) R^2 / 2. Replaced by v: the matrix moves
  by |u|^4 + |v|^4 - 2 (u v)^2 <= 2 R^4, its diagonal as squares do, by 2 R^4 at most: together 2 in
  squared L2, whether u and v belong to one group or to two. L1: twice.

  Where no number of a row can be larger than b, and b is below R, the sum of u_i^4 is at most b^2
  R^2: then squared L2 is (1 + (b / R)^2) / 2, half as much where columns are many. Replaced: the
  diagonal moves by the sum of (u_i^2 - v_i^2)^2 <= that of u_i^4 + v_i^4 <= 2 b^2 R^2, so twice
  that. (Shortening makes numbers smaller, not larger.)

**Persons.** Where a person has up to M rows, norms are M times as large, by the triangle
inequality.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.counting.sums import Summation
from understudy.data.value_classes import GridValues
from understudy.privacy.budget import Budget, Neighbours
from understudy.privacy.mechanisms import gaussian_scale, laplace_scale

Part = Literal["counts", "sums", "moments"]

COMMON_GRID = 1 << 20
"""Cells of different magnitudes have this many steps to their magnitude, all of them."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """Sums that get noise of one scale.

    Parameters
    ----------
    magnitudes
        For each cell of a group, how much one row adds at most.
    l1, l2_squared
        By how much a person moves all cells together, in units of the magnitudes.
    moved
        How many cells a person moves, at most.
    grid
        How many steps a magnitude has on the grid on which noise is added; ``None`` where all
        magnitudes are equal, and the grid is that of the sums.
    """

    magnitudes: tuple[int, ...]
    l1: Fraction
    l2_squared: Fraction
    moved: int
    grid: int | None = None

    def on_grid(self, steps: int) -> Block:
        """The same block with a common grid."""
        return replace(self, grid=steps)

    @property
    def steps(self) -> int:
        """How many steps a magnitude has where noise is added."""
        if self.grid is None:
            return max(self.magnitudes)
        return self.grid

    @property
    def units(self) -> NDArray[np.float64]:
        """What a step is worth, cell by cell, in steps of the features."""
        return np.array(self.magnitudes) / self.steps

    def to_grid(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Exact sums as whole steps, rounded down: a line for each group.

        Rounded down, a sum that moves by x moves by less than x + 1.
        """
        if self.grid is None:
            return sums
        flat = [
            int(number) * self.grid // magnitude
            for line in sums
            for number, magnitude in zip(line.tolist(), self.magnitudes, strict=True)
        ]
        return np.array(flat, dtype=np.int64).reshape(sums.shape)

    @property
    def l1_steps(self) -> int:
        """By how many steps a person moves all cells together; whole, since all cells are."""
        exact = math.floor(self.l1 * self.steps)
        if self.grid is None:
            return exact
        return math.ceil(self.l1 * self.steps) + self.moved

    @property
    def l2_steps(self) -> float:
        """By how many steps in L2, rounded up."""
        exact = _root_above(self.l2_squared * self.steps**2)
        if self.grid is not None:
            exact += _root_above(Fraction(self.moved))
        return _float_above(exact)

    def scale(self, cost: Budget) -> float:
        """The scale of the noise, in steps, at which the block costs ``cost``."""
        if cost.currency == "epsilon":
            return laplace_scale(self.l1_steps, cost.amount)
        return gaussian_scale(self.l2_steps, cost.amount)


def find_blocks(
    summation: Summation, neighbours: Neighbours, max_rows_per_person: int = 1
) -> dict[Part, Block]:
    """The sensitivities of all that can be summed."""
    person = _Person(neighbours, max_rows_per_person, bool(summation.by or summation.nearest))
    slots, ranges = _slots(summation), summation.ranges
    counts = person.box([[(0, 1)]], [1])
    if summation.radius is None:
        sums = person.box(
            [[ranges[place] for place in slot] for slot in slots],
            [_magnitude(found) for found in ranges],
        )
        moments = _box_moments(summation, slots, person)
    else:
        moved = len(slots)
        if summation.directions is not None:
            moved = summation.width
        sums, moments = _ball(summation, moved, person)
    if moments is None:
        return {"counts": counts, "sums": sums}
    return {"counts": counts, "sums": sums, "moments": moments}


Slot = list[int]
"""The places of terms of which a row has one at most that is not 0."""

NumberRange = tuple[int, int]


def _magnitude(found: NumberRange) -> int:
    """How far from 0 a number can be; 1 where it is always 0."""
    return max(-found[0], found[1], 1)


def _slots(summation: Summation) -> list[Slot]:
    """Terms of one column's codes that no code has together are one slot; every number is one."""
    terms = summation.terms
    if summation.centres:  # what is taken off is there whatever the code is
        return [[place] for place in range(len(terms))]
    slots: list[Slot] = []
    by_column: dict[str, tuple[Slot, set[int]]] = {}
    for place, term in enumerate(terms):
        codes = {code for code, number in enumerate(term.values) if number}
        slot, taken = by_column.get(term.attribute.name, (None, codes))
        if isinstance(term.attribute, GridValues):
            slots.append([place])
        elif slot is not None and taken.isdisjoint(codes):
            slot.append(place)
            taken |= codes
        else:
            slots.append([place])
            by_column[term.attribute.name] = slots[-1], codes
    return slots


def _box_moments(summation: Summation, slots: Sequence[Slot], person: _Person) -> Block | None:
    terms, pairs = summation.ranges, summation.pairs
    if not pairs:
        return None
    slot_of = {place: number for number, slot in enumerate(slots) for place in slot}
    ranges: dict[tuple[int, int], list[NumberRange]] = {}
    magnitudes = []
    for first, second in pairs:
        among = sorted((slot_of[first], slot_of[second]))
        found = _product_range(terms[first], terms[second], same=first == second)
        if among[0] == among[1] and first != second:
            found = (0, 0)  # no row has both
        ranges.setdefault((among[0], among[1]), []).append(found)
        magnitudes.append(_magnitude(terms[first]) * _magnitude(terms[second]))
    return person.box(list(ranges.values()), magnitudes)


def _product_range(one: NumberRange, other: NumberRange, *, same: bool) -> NumberRange:
    if same:
        return 0, max(one[0] ** 2, one[1] ** 2)
    corners = [a * b for a in one for b in other]
    return min(*corners, 0), max(*corners, 0)


def _ball(summation: Summation, slots: int, person: _Person) -> tuple[Block, Block | None]:
    assert summation.radius is not None
    radius, terms, pairs = summation.radius, summation.width, len(summation.pairs)
    # The L1 norm is a whole number, so it is at most the whole part of the bound.
    l1 = Fraction(math.isqrt(slots * radius**2), radius)
    sums = person.ball([radius] * terms, l1, Fraction(1), Fraction(4), slots)
    if not pairs:
        return sums, None
    both = Fraction(1), Fraction(2)
    if summation.moments == "squares":
        return sums, person.ball([radius**2] * pairs, Fraction(1), *both, slots)
    l1 = Fraction(slots + 1, 2)
    moved = slots * (slots + 1) // 2
    l2_squared = (1 + _largest_square(summation)) / 2
    return sums, person.ball([radius**2] * pairs, l1, l2_squared, 2 * l2_squared, moved)


def _largest_square(summation: Summation) -> Fraction:
    """(b / R)^2, where b is the largest that a number of a row can be; at most 1."""
    assert summation.radius is not None
    if summation.directions is not None:
        return Fraction(1)
    largest = max(map(_magnitude, summation.ranges))
    return min(Fraction(largest**2, summation.radius**2), Fraction(1))


@dataclass(frozen=True)
class _Person:
    """What a person can change."""

    neighbours: Neighbours
    rows: int
    grouped: bool

    def box(self, slots: Sequence[Sequence[NumberRange]], magnitudes: Sequence[int]) -> Block:
        """A block whose slots have these ranges."""
        number = Fraction(len(slots))
        l1 = l2_squared = number
        if self.neighbours == "replace":
            same = [_moves(slot) for slot in slots]
            l1 = sum((norms[0] for norms in same), Fraction(0))
            l2_squared = sum((norms[1] for norms in same), Fraction(0))
            if self.grouped:
                l1, l2_squared = max(l1, 2 * number), max(l2_squared, 2 * number)
        return self._block(magnitudes, l1, l2_squared, len(slots))

    def ball(
        self,
        magnitudes: Sequence[int],
        l1: Fraction,
        l2_squared: Fraction,
        replaced: Fraction,
        moved: int,
    ) -> Block:
        """A block of bounded norms: of one row, and squared of the difference of two."""
        if self.neighbours == "replace":
            l1, l2_squared = 2 * l1, replaced
        return self._block(magnitudes, l1, l2_squared, moved)

    def _block(
        self, magnitudes: Sequence[int], l1: Fraction, l2_squared: Fraction, moved: int
    ) -> Block:
        cells = moved * self.rows
        if self.neighbours == "replace":
            cells *= 2
        block = Block(
            magnitudes=tuple(magnitudes),
            l1=l1 * self.rows,
            l2_squared=l2_squared * self.rows**2,
            moved=cells,
        )
        if len(set(magnitudes)) > 1:
            return block.on_grid(COMMON_GRID)
        return block


def _moves(slot: Sequence[NumberRange]) -> tuple[Fraction, Fraction]:
    """The L1 norm, and the squared L2 norm, of what replacing a row moves in a slot."""
    widths = [Fraction(greatest - least, _magnitude((least, greatest))) for least, greatest in slot]
    widest = max(widths)
    if len(slot) == 1:
        return widest, widest**2
    return Fraction(2), max(Fraction(2), widest**2)


def _root_above(number: Fraction) -> Fraction:
    """A number that is not below the root, nor far above it."""
    fine = 1 << 64
    return Fraction(math.isqrt(math.ceil(number * fine**2)) + 1, fine)


def _float_above(number: Fraction) -> float:
    found = float(number)
    while Fraction(found) < number:
        found = math.nextafter(found, math.inf)
    return found
