"""How rows are coded for one question: just as finely as the question tells values apart.

The codes are those of a schema made for the question, so rows are coded where they are, in memory
or inside an engine. A cell of the table over all codes then says of a row which conditions hold,
which group it is in and which point of a public grid its number is nearest to.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.counting.memory import MAX_COUNTED_CELLS
from understudy.data.marginals import Axis, Marginal
from understudy.data.schema import Attribute, Category, Quantity
from understudy.errors import InputError
from understudy.models.query.raw import RawCategory, RawQuantity
from understudy.models.query.subsets import Subset
from understudy.models.query.syntax import Condition, Query

MAX_GRID = 4096
"""Points of the grid that numbers are rounded to where their own steps are finer."""

MAX_ASKED_BOUND = 1e100
"""Beyond, sums and squares of numbers, or of their inverses, are not numbers any more."""

MAX_ASKED_CELLS = min(1 << 24, MAX_COUNTED_CELLS)


@dataclass(frozen=True)
class BoundedGrid:
    """Multiples of a step, between two public bounds.

    Attributes
    ----------
    step
        The distance of two points.
    first, last
        The lowest and the highest point, in steps.
    exact
        Whether every value between the bounds is a point; else it is rounded to the nearest.
    """

    step: float
    first: int
    last: int
    exact: bool

    @property
    def low(self) -> float:
        """The lowest point."""
        return self.first * self.step

    @property
    def high(self) -> float:
        """The highest point."""
        return self.last * self.step

    @property
    def width(self) -> float:
        """Between the lowest point and the highest."""
        return (self.last - self.first) * self.step

    @property
    def steps(self) -> int:
        """Between the lowest point and the highest, and at least 1: what weights are parts of."""
        return max(self.last - self.first, 1)

    @property
    def rounding(self) -> float:
        """How far a value between the bounds may lie from its point."""
        if self.exact:
            return 0.0
        return self.step / 2

    @property
    def points(self) -> int:
        """How many there are."""
        return self.last - self.first + 1

    def cuts(self, *, whole: bool) -> list[float]:
        """Halfway from each point to the next."""
        middles = [(place + 0.5) * self.step for place in range(self.first, self.last)]
        if whole:
            return [math.ceil(middle) for middle in middles]
        return middles


def find_grid(attribute: RawQuantity, bounds: tuple[float, float]) -> BoundedGrid:
    """The grid of an attribute's own steps, if that has few enough points, else a coarser one."""
    low, high = bounds
    if max(-low, high) > MAX_ASKED_BOUND or high - low < 1 / MAX_ASKED_BOUND:
        raise InputError(
            f"The bounds of {attribute.name!r} are too large or too close together to compute "
            f"with: give numbers of at most {MAX_ASKED_BOUND:g}, "
            f"at least {1 / MAX_ASKED_BOUND:g} apart."
        )
    for natural in _natural_steps(attribute):
        if (high - low) / natural <= MAX_GRID:
            first, last = math.floor(low / natural + 1e-9), math.ceil(high / natural - 1e-9)
            return BoundedGrid(natural, first, last, True)
    step = _round_step((high - low) / MAX_GRID)
    if max(abs(low), abs(high)) / step > 2.0**50:
        raise InputError(
            f"The bounds of {attribute.name!r} are too close together for their size; ask for a "
            "difference from a public number instead."
        )
    return BoundedGrid(step, math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9), False)


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below a number: round numbers are
    points of the grid.
    """
    power = math.floor(math.log10(least))
    for exponent in (power, power + 1):
        for factor in (1, 2, 5):
            # Dividing by a whole number is exact to the last digit; multiplying by 0.1 is not.
            step = factor * 10.0**exponent if exponent >= 0 else factor / 10.0**-exponent
            if step >= least:
                return step
    raise AssertionError("one of them is large enough")


def _natural_steps(attribute: RawQuantity) -> Sequence[float]:
    """The steps on which values lie, as far as it is public."""
    if attribute.whole:
        return (1.0,)
    described = attribute.described
    if isinstance(described, Category):
        if all(float(value).is_integer() for value in described.domain):
            return (1.0,)
        return ()
    if isinstance(described, Quantity) and described.step is not None:
        return (described.step,)
    if isinstance(described, Quantity) and described.decimals is not None:
        return (10.0**-described.decimals,)
    return ()


class AxisCodes:
    """The codes of one attribute of a question.

    Parameters
    ----------
    attribute
        The raw attribute.
    subsets
        What the question tells apart.
    grid
        The grid that its numbers are rounded to, where the question needs them.
    """

    def __init__(
        self, attribute: Attribute, subsets: Sequence[Subset], grid: BoundedGrid | None = None
    ) -> None:
        self.attribute = attribute
        self.grid = grid
        if isinstance(attribute, RawQuantity):
            self._cuts = self._find_cuts(attribute, subsets)
            self.coded: Attribute = self._code_quantity(attribute)
        else:
            assert isinstance(attribute, RawCategory)
            self._kept = _values_told_apart(attribute, subsets)
            self.coded = _code_category(attribute, self._kept)

    def holds(self, subset: Subset) -> NDArray[np.bool_]:
        """For each code whether the value is in a subset."""
        found = np.zeros(self.coded.size, dtype=bool)
        if isinstance(self.attribute, RawQuantity):
            ends = [-math.inf, *self._cuts, math.inf]
            for code, (low, high) in enumerate(itertools.pairwise(ends)):
                found[code] = any(a <= low and high <= b for a, b in subset.intervals)
        else:
            found[: len(self._kept)] = [code in subset.codes for code in self._kept]
        found[-1] = subset.missing
        return found

    def points(self) -> NDArray[np.int64]:
        """For each code the place of its point on the grid; -1 where there is no number."""
        assert self.grid is not None
        assert isinstance(self.attribute, RawQuantity)
        middles = np.array(self.grid.cuts(whole=self.attribute.whole))
        starts = np.array([-math.inf, *self._cuts])
        places = np.searchsorted(middles, starts, side="right")
        return np.append(places, -1).astype(np.int64)

    def _find_cuts(self, attribute: RawQuantity, subsets: Sequence[Subset]) -> list[float]:
        """Where one code ends and the next begins."""
        cuts = {end for subset in subsets for interval in subset.intervals for end in interval}
        if attribute.whole:
            cuts = {float(math.ceil(cut)) for cut in cuts if math.isfinite(cut)}
        if self.grid is not None:
            cuts.update(self.grid.cuts(whole=attribute.whole))
        return sorted(cut for cut in cuts if math.isfinite(cut))

    def _code_quantity(self, attribute: RawQuantity) -> Quantity:
        cuts = self._cuts
        ends = (0.0, 1.0)
        if cuts:
            ends = (
                min(cuts[0] - 1, math.nextafter(cuts[0], -math.inf)),
                max(cuts[-1] + 1, math.nextafter(cuts[-1], math.inf)),
            )
        edges: tuple[float, ...] = (ends[0], *cuts, ends[1])
        if attribute.whole:
            edges = tuple(int(edge) for edge in edges)
        name, kind, missing = attribute.name, attribute.kind, attribute.missing
        return Quantity(name, kind, missing, edges, False, attribute.format)


def _values_told_apart(attribute: RawCategory, subsets: Sequence[Subset]) -> list[int]:
    """The codes that need codes of their own, then the one that all others count as."""
    rest = attribute.outside
    if attribute.kind == "boolean":  # its two values are told by their places
        return [*range(len(attribute.values)), rest]
    like_rest = [rest in subset.codes for subset in subsets]
    kept = [
        code
        for code in range(len(attribute.domain))
        if code != rest and [code in subset.codes for subset in subsets] != like_rest
    ]
    return [*kept, rest]


def _code_category(attribute: RawCategory, kept: Sequence[int]) -> Category:
    values = tuple(attribute.domain[code] for code in kept)
    name, kind, missing = attribute.name, attribute.kind, attribute.missing
    return Category(name, kind, missing, values, other=str(values[-1]))


class Layout:
    """The table of a question.

    Parameters
    ----------
    query
        The question.
    grid
        The grid of its attribute, where it needs one.
    """

    def __init__(self, query: Query, grid: BoundedGrid | None = None) -> None:
        self.query = query
        subsets: dict[str, list[Subset]] = {}
        attributes: dict[str, Attribute] = {}
        wanted = [atom.subset for atom in query.atoms]
        wanted += [cell for group in query.groups for cell in group.cells]
        for subset in wanted:
            attributes[subset.attribute.name] = subset.attribute
            subsets.setdefault(subset.attribute.name, []).append(subset)
        if grid is not None:
            assert query.attribute is not None
            attributes[query.attribute.name] = query.attribute
        self.codes: dict[str, AxisCodes] = {}
        for name, attribute in attributes.items():
            own = grid
            if query.attribute is None or query.attribute.name != name:
                own = None
            self.codes[name] = AxisCodes(attribute, subsets.get(name, []), own)
        cells = math.prod(codes.coded.size for codes in self.codes.values())
        if cells > MAX_ASKED_CELLS:
            raise InputError(
                f"The question tells {cells:,} classes of rows apart; at most {MAX_ASKED_CELLS:,} "
                "can be counted. Take fewer groups or conditions."
            )

    @property
    def axes(self) -> Marginal:
        """Whose table it is."""
        return tuple(Axis(name) for name in self.codes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Of the table."""
        return tuple(codes.coded.size for codes in self.codes.values())

    def _spread(self, name: str, by_code: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """What holds for each code of an attribute, along its axis."""
        place = list(self.codes).index(name)
        return by_code.reshape([-1 if i == place else 1 for i in range(len(self.shape))])

    def _holds(self, subset: Subset) -> NDArray[np.bool_]:
        name = subset.attribute.name
        return self._spread(name, self.codes[name].holds(subset))

    def truth(self, condition: Condition | None) -> NDArray[np.bool_]:
        """For each cell whether a condition holds."""
        if condition is None:
            return np.ones(self.shape, dtype=bool)
        atoms = {atom: self._holds(atom.subset) for atom in condition.atoms}
        return np.broadcast_to(condition.truth(atoms), self.shape)

    def groups(self) -> NDArray[np.int64]:
        """For each cell the number of its group, counted as ``np.ndindex`` does, or -1."""
        found = np.zeros(self.shape, dtype=np.int64)
        outside = np.zeros(self.shape, dtype=bool)
        for group in self.query.groups:
            own = np.full(self.shape, -1, dtype=np.int64)
            for place, cell in enumerate(group.cells):
                own[np.broadcast_to(self._holds(cell), self.shape)] = place
            outside |= own < 0
            found = found * len(group.cells) + own
        found[outside] = -1
        return found

    def points(self) -> NDArray[np.int64]:
        """For each cell the point of the attribute's number, or -1."""
        assert self.query.attribute is not None
        name = self.query.attribute.name
        places = self.codes[name].points()
        axis = list(self.codes).index(name)
        shape = [-1 if i == axis else 1 for i in range(len(self.shape))]
        return np.broadcast_to(places.reshape(shape), self.shape)

    def group_labels(self) -> list[tuple[str, ...]]:
        """What the groups are called."""
        return list(itertools.product(*(group.labels for group in self.query.groups)))
