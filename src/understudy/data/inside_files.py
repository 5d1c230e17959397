"""How the inside of bins stands in schema and model files, and what is refused there.

- ``"step": 100``: values are multiples of 100;
- ``"values": [0, 0.5, 2]``: there are no others;
- ``"detail": [[0, 1, 4313], [1, 60, 2053]]``: segments with weights;
- ``"heaping": [[1000, 0.4]]``: four of ten values are rounded to thousands;
- ``"weekdays": [0.2, 0.2, 0.2, 0.2, 0.2, 0, 0]``: no date is a Saturday or a Sunday;
- ``"first_of_month": 0.6``: six of ten dates are put on the first day of a month.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from understudy.data.inside import (
    DAY_SECONDS,
    MAX_GRID_INDEX,
    MAX_SEGMENTS,
    Grid,
    Segment,
    fraction,
)

if TYPE_CHECKING:
    from understudy.data.schema import Quantity

INSIDE_OPTIONS = ("step", "values", "detail", "heaping", "weekdays", "first_of_month")

MAX_DECIMALS = 12
MAX_CELL_WEIGHT = 2**53
MAX_HEAPS = 32

_Quantity = TypeVar("_Quantity", bound="Quantity")


def decimals_of(step: float) -> int:
    """How many places after the point multiples of a step have."""
    denominator = fraction(step).denominator
    return next(
        (places for places in range(MAX_DECIMALS) if 10**places % denominator == 0), MAX_DECIMALS
    )


def details_to_dict(attribute: Quantity) -> dict[str, Any]:
    """What is known of the inside of the bins, as it stands in a file."""
    found: dict[str, Any] = {}
    if attribute.step is not None:
        found["step"] = _plain(attribute.step)
    if attribute.values:
        found["values"] = [_plain(value) for value in attribute.values]
    if attribute.detail:
        found["detail"] = [[_plain(part) for part in segment] for segment in attribute.detail]
    if attribute.heaping:
        found["heaping"] = [[_plain(step), share] for step, share in attribute.heaping]
    if attribute.weekdays:
        found["weekdays"] = list(attribute.weekdays)
    if attribute.first_of_month:
        found["first_of_month"] = attribute.first_of_month
    return found


def with_details(attribute: _Quantity, entry: Mapping[str, Any]) -> _Quantity:
    """The attribute with what its entry says of the inside of its bins.

    Raises
    ------
    ValueError
        With the cause, where the entry cannot be.
    """
    if not set(INSIDE_OPTIONS) & set(entry):
        return attribute
    attribute = replace(attribute, step=_step(attribute, entry.get("step")))
    attribute = replace(attribute, values=_values(attribute, entry.get("values")))
    attribute = replace(attribute, detail=_detail(attribute, entry.get("detail")))
    attribute = replace(attribute, heaping=_heaping(attribute, entry.get("heaping")))
    attribute = replace(attribute, weekdays=_weekdays(attribute, entry.get("weekdays")))
    share = _first_of_month(attribute, entry.get("first_of_month"))
    return replace(attribute, first_of_month=share)


def _step(attribute: Quantity, given: Any) -> float | None:
    if given is None:
        return None
    if not _is_number(given) or not 1e-12 <= given <= 2**53:
        raise ValueError(f'"step" must be a number above 0, such as 100 or 0.01, not {given!r}')
    if attribute.whole and given != int(given):
        raise ValueError(f'"step" must be a whole number for kind {attribute.kind}, not {given!r}')
    grid = Grid(given)
    furthest = max(abs(attribute.edges[0]), abs(attribute.edges[-1]))
    if fraction(furthest) * grid.denominator > MAX_GRID_INDEX:
        raise ValueError(
            f'"step" {given!r} is too fine for values as large as {furthest:g}; leave it out'
        )
    last = attribute.bins - 1
    for place, (low, high) in enumerate(pairwise(attribute.edges)):
        closed = place == last and not attribute.whole
        if grid.at(grid.index_from(low)) >= high and not (
            closed and grid.index_to(high) * grid.step == fraction(high)
        ):
            raise ValueError(
                f"its bin from {low:g} to {high:g} holds no multiple of the step {given!r}; "
                "use fewer bins or a finer step"
            )
    return given


def _values(attribute: Quantity, given: Any) -> tuple[float, ...]:
    if given is None:
        return ()
    if attribute.kind not in ("integer", "real"):
        raise ValueError(f'"values" does not go with kind {attribute.kind}')
    if not isinstance(given, list) or not given or len(given) > MAX_SEGMENTS:
        raise ValueError(f'"values" must be a list of at most {MAX_SEGMENTS:,} numbers')
    if not all(_is_number(value) for value in given):
        raise ValueError('"values" must all be finite numbers')
    if attribute.whole and not all(value == int(value) for value in given):
        raise ValueError('"values" must be whole numbers for kind integer')
    if any(b <= a for a, b in pairwise(given)):
        raise ValueError('"values" must rise from one to the next')
    low, high = attribute.edges[0], attribute.edges[-1]
    if given[0] < low or given[-1] > high or (attribute.whole and given[-1] == high):
        raise ValueError(f'"values" must lie from {low:g} to {high:g}')
    if attribute.step is not None:
        raise ValueError('give either "values" or "step"')
    return tuple(given)


def _detail(attribute: Quantity, given: Any) -> tuple[Segment, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or not given or len(given) > MAX_SEGMENTS:
        raise ValueError(f'"detail" must be a list of at most {MAX_SEGMENTS:,} segments')
    segments = tuple(_segment(attribute, segment) for segment in given)
    for (start, end, _), (after, _, _) in pairwise(segments):
        if after < end or after <= start:
            raise ValueError('the segments of "detail" must be in order and not overlap')
    _check_bins(attribute, segments)
    return segments


def _segment(attribute: Quantity, given: Any) -> Segment:
    if not isinstance(given, list) or len(given) != 3 or not all(map(_is_number, given)):
        raise ValueError('a segment of "detail" must be [start, end, weight]')
    start, end, weight = given
    if not 0 < weight <= MAX_CELL_WEIGHT:
        raise ValueError(f'a weight of "detail" must be above 0, not {weight!r}')
    if start > end or (start == end and attribute.whole):
        raise ValueError('a segment of "detail" must end after it starts')
    if attribute.whole and (start != int(start) or end != int(end)):
        raise ValueError('the segments of "detail" must start and end at whole numbers')
    if attribute.whole:
        return int(start), int(end), weight
    return float(start), float(end), weight


def _check_bins(attribute: Quantity, segments: tuple[Segment, ...]) -> None:
    """Every segment lies in one bin, and holds a value."""
    edges = attribute.edges
    grid = None
    if attribute.step is not None:
        grid = Grid(attribute.step)
    place = 0
    for start, end, _ in segments:
        if not edges[0] <= start or end > edges[-1]:
            raise ValueError(f'"detail" must lie from {edges[0]:g} to {edges[-1]:g}')
        while place < attribute.bins - 1 and edges[place + 1] <= start:
            place += 1
        if end > edges[place + 1]:
            raise ValueError('a segment of "detail" must not reach over an edge of a bin')
        if grid is not None and start < end and grid.index_from(start) >= grid.index_from(end):
            raise ValueError('a segment of "detail" holds no multiple of the step')


def _heaping(attribute: Quantity, given: Any) -> tuple[tuple[float, float], ...]:
    if given is None:
        return ()
    if attribute.kind not in ("integer", "real", "time") or (
        attribute.step is None and not attribute.whole
    ):
        raise ValueError('"heaping" goes with integers, times, and reals that have a "step"')
    if not isinstance(given, list) or not 1 <= len(given) <= MAX_HEAPS:
        raise ValueError(f'"heaping" must be a list of at most {MAX_HEAPS} pairs')
    step = fraction(attribute.step or 1)
    found = []
    for pair in given:
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_number, pair)):
            raise ValueError('"heaping" must be a list of pairs [step, share]')
        coarse, share = pair
        multiple = coarse > 0 and (fraction(coarse) / step).denominator == 1
        if not multiple or not 0 < share <= 1 or coarse > 2**53:
            raise ValueError(
                '"heaping" must give multiples of the step, and shares above 0 up to 1'
            )
        found.append((coarse, float(share)))
    if math.fsum(share for _, share in found) > 1 + 1e-9:
        raise ValueError('the shares of "heaping" must not add up to more than 1')
    return tuple(found)


def _weekdays(attribute: Quantity, given: Any) -> tuple[float, ...]:
    if given is None:
        return ()
    if attribute.kind not in ("date", "datetime") or not has_whole_days(attribute):
        raise ValueError('"weekdays" goes with dates, and datetimes whose "step" divides a day')
    shares = isinstance(given, list) and len(given) == 7 and all(map(_is_number, given))
    if not shares or min(given) < 0 or abs(math.fsum(given) - 1) > 1e-3:
        raise ValueError('"weekdays" must be seven shares, Monday first, that add up to 1')
    return tuple(float(share) for share in given)


def _first_of_month(attribute: Quantity, given: Any) -> float:
    if given is None:
        return 0.0
    if attribute.kind != "date" or attribute.step is not None:
        raise ValueError('"first_of_month" goes with dates without a "step"')
    if not _is_number(given) or not 0 <= given <= 1:
        raise ValueError(f'"first_of_month" must be a share from 0 to 1, not {given!r}')
    return float(given)


def has_whole_days(attribute: Quantity) -> bool:
    """Whether every day holds the same times of a date or datetime: a value can be moved by days
    and stays one.
    """
    if attribute.step is None:
        return True
    return attribute.kind == "datetime" and DAY_SECONDS % attribute.step == 0


def _plain(number: float) -> float:
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        return int(number)
    return number


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
