"""Features: public functions of a row that are summed (:class:`understudy.privacy.sums.Sum`).

A feature is a number on an integer grid: of a numeric column, clipped to public bounds, or 1 for
some values of a column and 0 for all others. Bounds, grids and centres are public or were released
before, so that what a row adds to a sum depends on that row alone and is bounded whatever stands
in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from understudy.counting.sums import MAX_STEPS, Term
from understudy.data.schema import Attribute, Category, Quantity, Schema
from understudy.data.value_classes import GridValues, nearest_multiple
from understudy.errors import InputError

FEATURE_STEPS = 1 << 14
"""The largest number of a feature is at most this many steps, where nobody asks for another
step.
"""

MAX_STEPS_BEFORE_BALL = 1 << 20
"""Of a row that a ball is to shorten."""

MAX_BOUND = 1e30
MIN_WIDTH = 1e-30


@dataclass(frozen=True)
class Number:
    """A column of numbers, clipped to bounds.

    Parameters
    ----------
    column
        The column: of numbers, of dates (days since 1970), times or datetimes (seconds), of truth
        values (0 and 1), or of categories that are numbers.
    lower, upper
        Public bounds; those of the schema where they are not given.
    centre
        A public or released value that is taken off each number, rounded to the grid. Sums and
        moments are then those of the differences, and less noise is needed the nearer it lies to
        the middle of the bounds.
    unit
        What counts as 1 for the length of a row (``ball``) and for distances (``nearest``); by
        default the largest difference from the centre, so that every feature lies between -1 and 1.
    step
        The step of the grid that numbers are rounded to; by default 1, the schema's, or a power of
        two, so that the largest difference is some 10,000 steps.
    """

    column: str
    lower: float | None = None
    upper: float | None = None
    centre: float = 0.0
    unit: float | None = None
    step: float | None = None


@dataclass(frozen=True)
class Indicator:
    """1 in the rows whose value of a column is one of some, 0 in all others.

    Parameters
    ----------
    column
        Any column that is coded.
    codes
        The codes of the values, see :func:`indicator`.
    """

    column: str
    codes: tuple[int, ...]


Feature = Number | Indicator


def indicator(schema: Schema, column: str, *values: str | float | None) -> Indicator:
    """The indicator of some values of a category; ``None`` is "missing"."""
    attribute = schema[column]
    if not isinstance(attribute, Category):
        raise InputError(f"{column!r} has no list of values; name the codes of its bins.")
    codes = []
    for value in values:
        if value is None and attribute.missing is not None:
            codes.append(attribute.values_size)
        elif value in attribute.domain:
            codes.append(attribute.domain.index(value))
        else:
            raise InputError(f"{column!r} has no value {value!r}; see the schema.")
    return Indicator(column, tuple(codes))


def indicators(schema: Schema, column: str) -> tuple[Indicator, ...]:
    """An indicator for each code of a column, "missing" included where it is one."""
    return tuple(Indicator(column, (code,)) for code in range(schema[column].size))


@dataclass(frozen=True, kw_only=True)
class GridFeature:
    """A feature on its grid.

    Parameters
    ----------
    term
        What a row adds, in steps.
    step, centre
        The length of a step, and what was taken off, in the units of the column.
    unit
        What counts as 1.
    """

    term: Term
    step: float
    centre: float
    unit: float

    def steps_to(self, number: float) -> int:
        """How many steps from the centre a number is, clipped to the bounds."""
        least, greatest = self.term.range
        steps = (number - self.centre) / self.step  # may be beyond all floats
        if steps <= least:
            return least
        if steps >= greatest:
            return greatest
        return nearest_multiple(number - self.centre, self.step)


def put_on_grid(feature: Feature, schema: Schema, ball_step: float | None = None) -> GridFeature:
    """Check a feature against the schema and find its grid.

    Parameters
    ----------
    feature
        The feature.
    schema
        What is public about the columns.
    ball_step
        Where the length of a row is bounded, the step as a share of the unit: there all features
        have the same.
    """
    attribute = schema[feature.column]
    if not attribute.modelled:
        raise InputError(f"{feature.column!r} is of kind {attribute.kind}: it is never read.")
    if isinstance(feature, Indicator):
        return _indicator_on_grid(feature, attribute, ball_step)
    if isinstance(attribute, Quantity):
        return _quantity_on_grid(feature, attribute, ball_step)
    assert isinstance(attribute, Category)
    return _category_on_grid(feature, attribute, ball_step)


def _indicator_on_grid(
    feature: Indicator, attribute: Attribute, ball_step: float | None
) -> GridFeature:
    codes = set(feature.codes)
    if not codes or len(codes) < len(feature.codes) or not codes <= set(range(attribute.size)):
        raise InputError(
            f"The indicator of {feature.column!r} must name codes of it, from 0 to "
            f"{attribute.size - 1}, each once."
        )
    one = 1
    if ball_step is not None:
        one = nearest_multiple(1.0, ball_step)
    if not one:
        raise InputError(
            f"The ball is so large that the indicator of {feature.column!r} is less than a step; "
            "give it a smaller radius."
        )
    values = tuple(one * (code in codes) for code in range(attribute.size))
    return GridFeature(
        term=Term(attribute=attribute, values=values), step=1 / one, centre=0.0, unit=1.0
    )


def _quantity_on_grid(feature: Number, attribute: Quantity, ball_step: float | None) -> GridFeature:
    upper = attribute.edges[-1]
    if attribute.whole:
        upper -= 1
    bounds = _Bounds(feature, attribute.edges[0], upper)
    step = bounds.step(attribute, ball_step)
    centre = nearest_multiple(feature.centre, step)
    grid = GridValues(
        attribute.name,
        attribute.kind,
        missing=attribute.missing or "",
        edges=attribute.edges,
        format=attribute.format,
        lower=bounds.lower,
        upper=bounds.upper,
        grid_step=step,
    )
    bounds.check_steps(step, ball_step)
    if grid.values_size == 1:
        raise InputError(
            f"The step of {feature.column!r} is so large that all of its numbers are one; choose a "
            "smaller step or unit."
        )
    term = Term(attribute=grid, offset=grid.lowest - centre)
    return GridFeature(term=term, step=step, centre=centre * step, unit=bounds.unit)


def _category_on_grid(feature: Number, attribute: Category, ball_step: float | None) -> GridFeature:
    """A category whose values are numbers: each code has its number."""
    numbers = _numbers_of(attribute)
    bounds = _Bounds(feature, min(numbers), max(numbers))
    step = bounds.step(attribute, ball_step)
    bounds.check_steps(step, ball_step)
    centre = nearest_multiple(feature.centre, step)
    clipped = [min(max(number, bounds.lower), bounds.upper) for number in numbers]
    values: list[int | None] = [nearest_multiple(number, step) - centre for number in clipped]
    if attribute.missing is not None:
        values.append(None)
    term = Term(attribute=attribute, values=tuple(values))
    return GridFeature(term=term, step=step, centre=centre * step, unit=bounds.unit)


def _numbers_of(attribute: Category) -> list[float]:
    if attribute.kind == "boolean" and attribute.values_size == 2:
        return [0.0, 1.0]
    try:
        numbers = [float(value) for value in attribute.domain]
    except ValueError:
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)):
        raise InputError(
            f"{attribute.name!r} holds values that are no numbers, which have no sum; ask for "
            "indicators of its values."
        )
    return numbers


class _Bounds:
    """The bounds of a number, checked, and the grids that they allow."""

    def __init__(self, feature: Number, lower: float, upper: float) -> None:
        self.column = feature.column
        self.lower = float(lower if feature.lower is None else feature.lower)
        self.upper = float(upper if feature.upper is None else feature.upper)
        self.centre = feature.centre
        self._step = feature.step
        self._check()
        self.reach = max(abs(self.lower - self.centre), abs(self.upper - self.centre))
        self.unit = self.reach
        if feature.unit is not None:
            self.unit = feature.unit
        if not MIN_WIDTH <= self.unit <= MAX_BOUND:
            raise InputError(
                f"The unit of {self.column!r} must be a number from {MIN_WIDTH:g} to {MAX_BOUND:g}."
            )

    def _check(self) -> None:
        given = self.lower, self.upper, self.centre
        if not all(math.isfinite(number) and abs(number) <= MAX_BOUND for number in given):
            raise InputError(
                f"The bounds and the centre of {self.column!r} must be finite numbers, of at most "
                f"{MAX_BOUND:g}."
            )
        if not self.upper - self.lower >= MIN_WIDTH:
            raise InputError(
                f"The lower bound of {self.column!r} must lie below the upper one, not "
                f"{self.lower:g} and {self.upper:g}."
            )
        if not self.lower <= self.centre <= self.upper and self.centre != 0:
            raise InputError(f"The centre of {self.column!r} must lie between its bounds.")

    def step(self, attribute: Attribute, ball_step: float | None) -> float:
        """The step of the grid."""
        if ball_step is not None:
            return self.unit * ball_step
        if self._step is not None:
            if not MIN_WIDTH <= self._step <= MAX_BOUND:
                raise InputError(
                    f"The step of {self.column!r} must be a number from {MIN_WIDTH:g} to "
                    f"{MAX_BOUND:g}."
                )
            return self._step
        for natural in _natural_steps(attribute):
            if self.reach / natural <= FEATURE_STEPS:
                return natural
        return 2.0 ** math.ceil(math.log2(self.reach / FEATURE_STEPS))

    def check_steps(self, step: float, ball_step: float | None) -> None:
        """Refuse a grid with more steps than can be summed."""
        far = max(abs(self.lower), abs(self.upper), abs(self.centre))
        if far / step >= 2.0**52:
            raise InputError(
                f"The bounds of {self.column!r} are too close together for their size; take a "
                "difference from a public number instead."
            )
        if ball_step is None and self.reach / step + 1 > MAX_STEPS:
            raise InputError(
                f"The grid of {self.column!r} has more than {MAX_STEPS:,} steps to one side of "
                "its centre; choose a larger step."
            )
        if self.reach / step + 1 > MAX_STEPS_BEFORE_BALL:
            raise InputError(
                f"The ball is too small for the bounds of {self.column!r}; give it a larger "
                "radius, or clip the column to closer bounds."
            )


def _natural_steps(attribute: Attribute) -> Sequence[float]:
    """The steps on which the values of an attribute lie, as far as the schema tells."""
    if not isinstance(attribute, Quantity):
        return (1.0,)
    if attribute.step is not None:
        return (attribute.step,)
    if attribute.whole:
        return (1.0,)
    if attribute.decimals is not None:
        return (10.0**-attribute.decimals,)
    return ()
