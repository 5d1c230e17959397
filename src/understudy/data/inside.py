"""What lies inside the bins of a quantity: which values, and how often each.

A bin is made of *segments*. Each has a weight, and the values of a segment are equally likely:

- the whole bin, where nothing else is known;
- the values that the schema lists, each a segment of its own;
- what a release learned about the inside of the bin (:mod:`understudy.privacy.refinement`): narrow
  segments where rows are many, single values that many rows share.

Values lie on a grid: the multiples of the attribute's step, or the whole numbers. Reals without a
step are spread continuously and cut after some decimals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.streams import draw_uniforms, share_out_uniforms
from understudy.data.uneven import Uneven, move_to_first_of_month

if TYPE_CHECKING:
    from understudy.data.schema import Quantity

Segment = tuple[float, float, float]
"""From the first number up to, not including, the second, and a weight. A real that stands alone
begins and ends at itself.
"""

Heap = tuple[float, float]
"""A step, and the share of values that are multiples of it because people round."""

MAX_SEGMENTS = 4096
"""Of one attribute: a model file stays small."""

MAX_GRID_INDEX = 2**53
"""Whole numbers up to this are exact as floats."""

DAY_SECONDS = 86400
WEEKDAY_OF_1970 = 3
"""The first of January 1970 was a Thursday; Monday is 0."""

MAX_GUIDE = 1 << 20
"""Entries of a table that finds segments."""

ROWS_PER_PIECE = 1 << 14


def fraction(number: float) -> Fraction:
    """The decimal number that a float is written as."""
    return Fraction(repr(float(number)))


def _power_of_ten(divisor: int) -> int:
    """The smallest one that is a multiple of a divisor, which a decimal number has."""
    power = 1
    while power % divisor:
        power *= 10
    return power


def _rounding_error(quotient: Any) -> Any:
    """More than a number's quotient by a step can be off. A number differs by half a unit in the
    last place from what it is written as, and each of its two operations adds as much: 3 x 2^-53 of
    the quotient, and a little, where 2^-50 are allowed.
    """
    return 1e-6 + quotient * 2.0**-50


class Grid:
    """The multiples of a step."""

    def __init__(self, step: float) -> None:
        exact = fraction(step)
        self.numerator, self.denominator = exact.numerator, exact.denominator
        self.step = exact
        self._safe = 10**15 * self.denominator // (self.numerator * _power_of_ten(self.denominator))
        """Multiples up to this place have at most 15 digits, so each is what its float is written
        as.
        """

    def index_from(self, number: float) -> int:
        """The place of the first multiple at or above a number."""
        return self._around(number)[1]

    def index_to(self, number: float) -> int:
        """The place of the last multiple at or below a number."""
        return self._around(number)[0]

    def _around(self, number: float) -> tuple[int, int]:
        """The places of the last multiple at or below a number and of the first at or above it.

        Fractions are slow, and for numbers of which a quotient of floats does not tell: those that
        are neither a multiple nor further from one than rounding errors (:func:`_rounding_error`).
        """
        if self.denominator < 2**53 and abs(number) < 2**53:
            quotient = number * self.denominator / self.numerator
            nearest = round(quotient)
            if abs(quotient - nearest) > _rounding_error(abs(quotient)):
                below = math.floor(quotient)
                return below, below + 1
            if abs(nearest) <= self._safe and self.at(nearest) == number:
                return nearest, nearest
        exact = fraction(number) / self.step
        return math.floor(exact), math.ceil(exact)

    def indices_from(self, numbers: Sequence[float]) -> list[int]:
        """The places of the first multiples at or above some numbers."""
        if self.denominator >= 2**53:
            return [self.index_from(number) for number in numbers]
        values = np.array(numbers, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            quotients = values * self.denominator / self.numerator
            nearest = np.rint(quotients)
            multiples = nearest * self.numerator / self.denominator == values
            between = np.abs(quotients - nearest) > _rounding_error(np.abs(quotients))
        sure = between | multiples & (np.abs(nearest) <= self._safe)
        found = np.where(between, np.ceil(quotients), nearest)
        return [
            int(place) if certain else self.index_from(number)
            for place, certain, number in zip(found.tolist(), sure.tolist(), numbers, strict=True)
        ]

    def at(self, index: int) -> float:
        """The multiple at a place: the float nearest to it."""
        return index * self.numerator / self.denominator

    def values(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """The multiples at some places: whole numbers where all are whole."""
        if self.denominator == 1:
            return places * self.numerator
        # Both are below 2^53, so the quotient is the float nearest to the multiple.
        return (places * self.numerator) / self.denominator


def draw_inside(
    rng: np.random.Generator, codes: NDArray[Any], attribute: Quantity, *, even: bool
) -> NDArray[np.float64]:
    """How far inside its bin each row lies, from 0 to 1."""
    if even:
        return share_out_uniforms(rng, codes, attribute.bins + 1)
    return draw_uniforms(rng, len(codes))


class Inside:
    """The segments of all bins of a quantity.

    Parameters
    ----------
    attribute
        The quantity.
    limits
        If given, only what lies in these intervals, from the first number up to the second.
    """

    def __init__(
        self, attribute: Quantity, limits: Sequence[tuple[float, float]] | None = None
    ) -> None:
        self.attribute = attribute
        self.grid = _grid(attribute)
        found: list[tuple[int, _Piece]] = []
        for place, pieces in enumerate(_pieces_by_bin(attribute, self.grid)):
            if limits is not None:
                pieces = [part for piece in pieces for part in piece.within(limits)]
            whole = sum(piece.weight for piece in pieces)
            found += [(place, piece.scale_weights(1 / whole)) for piece in pieces if piece.weight]
        # "missing" gets a bin of its own, so that one lookup serves all rows.
        found.append((attribute.bins, _Piece(attribute.edges[-1], attribute.edges[-1], 1.0, None)))
        self._place(found)

    def _place(self, found: list[tuple[int, _Piece]]) -> None:
        self._pieces = [piece for _, piece in found]
        self._bins = np.array([place for place, _ in found])
        weights = np.array([piece.weight for piece in self._pieces])
        size = self.attribute.bins + 1
        self._first = np.searchsorted(self._bins, np.arange(size))
        last = np.searchsorted(self._bins, np.arange(size), side="right") - 1
        spans = [slice(a, b + 1) for a, b in zip(self._first, last, strict=True) if a <= b]
        ends = np.concatenate([np.cumsum(weights[span]) for span in spans])
        self._before = np.concatenate([[0.0, *ends[span][:-1]] for span in spans])
        # The last segment of a bin takes all that is left, however sums are rounded.
        self._ends = ends
        self._ends[last[self._bins]] = np.inf
        self._scale = 1 / weights
        self._start = np.array([piece.start for piece in self._pieces], dtype=np.float64)
        self._end = np.array([piece.end for piece in self._pieces], dtype=np.float64)
        self._index = np.array([piece.first for piece in self._pieces], dtype=np.int64)
        self._count = np.array([piece.count for piece in self._pieces], dtype=np.int64)
        self._alone = self._start == self._end
        self._guide_segments(size)

    def _guide_segments(self, size: int) -> None:
        """For each bin and each of equal parts of the numbers from 0 to 1 the first segment that a
        number in it may choose: most are right at once, the others are found a few steps on.
        """
        self._parts = 1 << max(0, min(8, (MAX_GUIDE // size).bit_length() - 1))
        starts = np.arange(self._parts) / self._parts
        guide = np.zeros((size, self._parts), dtype=np.intp)
        for place in range(size):
            first = int(self._first[place])
            last = int(np.searchsorted(self._bins, place, side="right"))
            guide[place] = first + np.searchsorted(self._ends[first:last], starts, side="right")
        self._guide = np.minimum(guide, len(self._pieces) - 1).ravel()

    # ---- drawing

    def draw(
        self, codes: NDArray[Any], rng: np.random.Generator, *, even: bool = False
    ) -> NDArray[Any]:
        """A value of each row's bin.

        Parameters
        ----------
        codes
            The rows' bins; the number after the last stands for "missing".
        rng
            Where the randomness comes from.
        even
            Whether the rows of a bin share out its quantiles, in random order, or each is drawn by
            itself.
        """
        uniforms = draw_inside(rng, codes, self.attribute, even=even)
        rounding = None
        if self.attribute.heaping or self.attribute.weekdays or self.attribute.first_of_month:
            rounding = draw_inside(rng, codes, self.attribute, even=even)
        whole = self.grid is not None and self.grid.denominator == 1 and not self._mixed
        values: NDArray[Any] = np.empty(len(codes), dtype=np.int64 if whole else np.float64)
        # A few rows at a time: what is looked up for them stays in the processor's cache.
        for start in range(0, len(codes), ROWS_PER_PIECE):
            rows = slice(start, start + ROWS_PER_PIECE)
            lots = None if rounding is None else rounding[rows]
            values[rows] = self._draw(codes[rows], uniforms[rows], lots)
        return values

    @property
    def _mixed(self) -> bool:
        """Whether some reals stand alone, wherever the grid is."""
        return not self.attribute.whole and bool(self._alone[:-1].any())

    def _draw(
        self,
        codes: NDArray[Any],
        uniforms: NDArray[np.float64],
        rounding: NDArray[np.float64] | None,
    ) -> NDArray[Any]:
        chosen = self._choose(codes, uniforms)
        inside = uniforms - self._before[chosen]
        inside *= self._scale[chosen]
        if self.grid is None:
            values: NDArray[Any] = self._continuous(chosen, np.clip(inside, 0.0, 1.0))
        else:
            values = self.grid.values(self._on_grid(self.grid, chosen, inside, rounding))
        if self._mixed:
            return np.where(self._alone[chosen], self._start[chosen], values)
        return values

    def _choose(self, codes: NDArray[Any], uniforms: NDArray[np.float64]) -> NDArray[np.intp]:
        """The segment of each row."""
        places = (uniforms * self._parts).astype(np.intp)
        places += codes.astype(np.intp) * self._parts
        chosen = self._guide[places]
        late = np.flatnonzero(uniforms >= self._ends[chosen])
        while len(late):
            chosen[late] += 1
            late = late[uniforms[late] >= self._ends[chosen[late]]]
        return chosen

    def _continuous(
        self, chosen: NDArray[np.intp], inside: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        unit = float(10**self.attribute.places)
        values = self._start[chosen] + inside * (self._end - self._start)[chosen]
        # Rounding, here or in the sum above, must not carry a value over an end of its segment.
        below = np.maximum(np.nextafter(self._end, -np.inf), self._start)
        return np.clip(np.floor(values * unit) / unit, self._start[chosen], below[chosen])

    def _on_grid(
        self,
        grid: Grid,
        chosen: NDArray[np.intp],
        inside: NDArray[np.float64],
        rounding: NDArray[np.float64] | None,
    ) -> NDArray[np.int64]:
        """The places on the grid of values that lie so far inside their segments."""
        count = self._count[chosen]
        inside *= count
        places = inside.astype(np.int64)
        np.minimum(places, count - 1, out=places)
        np.maximum(places, 0, out=places)
        first = self._index[chosen]
        places += first
        if rounding is None:
            return places
        if self.attribute.heaping:
            return self._heap(grid, places, first, count, rounding)
        share = self.attribute.first_of_month
        if self.attribute.weekdays:
            # What is put on the first of a month does not care for the weekday.
            which = np.maximum(rounding - share, 0) / max(1 - share, 1e-9)
            found = self._on_weekdays(places, first, count, which)
        else:
            found = places
        if not share:
            return found
        return np.where(rounding < share, move_to_first_of_month(places, first, count), found)

    def _on_weekdays(
        self,
        places: NDArray[np.int64],
        first: NDArray[np.int64],
        count: NDArray[np.int64],
        which: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Move dates to the weekdays that they should be, by less than a week, where their segment
        holds one.
        """
        day = 1
        if self.attribute.kind == "datetime":
            day = DAY_SECONDS // int(self.attribute.step or 1)
        ends = np.cumsum(self.attribute.weekdays)
        wanted = np.minimum(np.searchsorted(ends / ends[-1], which, side="right"), 6)
        later = places + (wanted - places // day - WEEKDAY_OF_1970) % 7 * day
        moved = np.where(later < first + count, later, later - 7 * day)
        return np.where(moved >= first, moved, places)

    def _heap(
        self,
        grid: Grid,
        places: NDArray[np.int64],
        first: NDArray[np.int64],
        count: NDArray[np.int64],
        which: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Replace some values by multiples of coarser steps, where their segment holds any.

        All multiples in a segment are as likely, as all values are: how many rows a segment holds
        was counted after people had rounded.
        """
        shares = np.cumsum([share for _, share in self.attribute.heaping])
        for place, (step, share) in enumerate(self.attribute.heaping):
            rows = np.flatnonzero((which >= shares[place] - share) & (which < shares[place]))
            ratio = int(fraction(step) / grid.step)
            start, size = first[rows], np.maximum(count[rows], 1)
            lowest = -(-start // ratio)
            multiples = (start + count[rows] - 1) // ratio + 1 - lowest
            chosen = lowest + (places[rows] - start) * multiples // size
            places[rows] = np.where(multiples > 0, chosen * ratio, places[rows])
        return places

    # ---- distribution

    def below(self, ends: NDArray[np.float64]) -> NDArray[np.float64]:
        """The share of each bin below each end, the bins added up: a bin's first end has its number
        of bins before it.
        """
        return self._sums(ends, lambda piece, end: piece.below(end))

    def sums_below(self, ends: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same, each value counted as often as it is large."""
        return self._sums(ends, lambda piece, end: piece.sum_below(end))

    def _sums(self, ends: NDArray[np.float64], part: Any) -> NDArray[np.float64]:
        edges = self.attribute.edges
        whole = [part(piece, math.inf) for piece in self._pieces[:-1]]
        before = np.concatenate([[0.0], np.cumsum(whole)])
        found = np.zeros(len(ends))
        for place, end in enumerate(ends.tolist()):
            if end >= edges[-1]:
                found[place] = before[-1]
            elif end > edges[0]:
                owner = int(np.searchsorted(self._start[:-1], end, side="right")) - 1
                first = self._first[self._bins[max(owner, 0)]]
                inside = sum(
                    part(piece, end) for piece in self._pieces[first : max(owner, first) + 1]
                )
                found[place] = before[first] + inside
        return found


class _Piece:
    """One segment: its values are equally likely, unless people round or prefer some weekdays."""

    def __init__(
        self,
        start: float,
        end: float,
        weight: float,
        grid: Grid | None,
        *,
        closed: bool = False,
        uneven: Uneven | None = None,
    ) -> None:
        self.start, self.end, self.weight, self.grid = start, end, float(weight), grid
        self.closed, self.uneven = closed, uneven
        self.first = self.count = 0
        if grid is not None and end > start:
            self.first = grid.index_from(start)
            last = grid.index_to(end) if closed else grid.index_from(end) - 1
            self.count = last - self.first + 1

    @property
    def empty(self) -> bool:
        """Whether no value lies in it."""
        return self.grid is not None and self.start < self.end and self.count <= 0

    def scale_weights(self, factor: float) -> _Piece:
        weight = self.weight * factor
        return _Piece(
            self.start, self.end, weight, self.grid, closed=self.closed, uneven=self.uneven
        )

    def share_below(self, end: float) -> float:
        """Which part of the values is below a number."""
        if end <= self.start:
            return 0.0
        if end >= self.end or self.start == self.end:
            return 1.0
        if self.grid is None:
            return (end - self.start) / (self.end - self.start)
        places = min(max(self.grid.index_from(end) - self.first, 0), self.count)
        if self.uneven is not None:
            return self.uneven.share_below(self.first, self.count, places)
        return places / self.count

    def below(self, end: float) -> float:
        return self.weight * self.share_below(end)

    def sum_below(self, end: float) -> float:
        """The sum of the values below a number, in proportion."""
        share = self.share_below(end)
        if not share or self.start == self.end:
            return self.weight * share * self.start
        if self.grid is None:
            return self.weight * share * (self.start + min(end, self.end)) / 2
        if self.uneven is not None:
            places = min(max(self.grid.index_from(min(end, self.end)) - self.first, 0), self.count)
            return self.weight * self.uneven.sum_below(
                self.first, self.count, places, self.grid.step
            )
        last = self.first + round(share * self.count) - 1
        return self.weight * share * float((self.first + last) * self.grid.step) / 2

    def within(self, limits: Iterable[tuple[float, float]]) -> Iterator[_Piece]:
        """What of it lies in some intervals."""
        for low, high in limits:
            share = self.share_below(high) - self.share_below(low)
            if share > 0:
                start, end = max(self.start, low), min(self.end, high)
                closed = self.closed and end == self.end
                weight, last = self.weight * share, max(start, end)
                yield _Piece(start, last, weight, self.grid, closed=closed, uneven=self.uneven)


def _grid(attribute: Quantity) -> Grid | None:
    if attribute.step is not None:
        return Grid(attribute.step)
    if attribute.whole:
        return Grid(1)
    return None


def _pieces_by_bin(attribute: Quantity, grid: Grid | None) -> Iterator[list[_Piece]]:
    uneven = Uneven.of(attribute)
    starts = np.array([start for start, _, _ in attribute.detail], dtype=np.float64)
    listed = np.array(attribute.values, dtype=np.float64)
    for place, (low, high) in enumerate(pairwise(attribute.edges)):
        closed = place == attribute.bins - 1 and not attribute.whole
        segments = attribute.detail[_between(starts, low, high, closed)]
        pieces = [_Piece(*segment, grid, uneven=uneven) for segment in segments if segment[2] > 0]
        pieces = [piece for piece in pieces if not piece.empty]
        if not pieces:
            numbers = attribute.values[_between(listed, low, high, closed)]
            pieces = [_value(attribute, number, grid) for number in numbers]
        if not pieces:
            pieces = [_Piece(low, high, 1.0, grid, closed=closed, uneven=uneven)]
        yield pieces


def _between(numbers: NDArray[np.float64], low: float, high: float, closed: bool) -> slice:
    """Where numbers from ``low`` up to ``high`` stand among numbers in order."""
    first = int(np.searchsorted(numbers, low))
    last = int(np.searchsorted(numbers, high))
    if closed:
        last = int(np.searchsorted(numbers, high, side="right"))
    return slice(first, last)


def _value(attribute: Quantity, number: float, grid: Grid | None) -> _Piece:
    if attribute.whole:
        return _Piece(number, number + 1, 1.0, grid)
    return _Piece(number, number, 1.0, grid)
