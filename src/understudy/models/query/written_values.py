"""Values of an attribute as people write them in conditions and questions."""

from __future__ import annotations

import bisect
import datetime as dt
import difflib
import math
from typing import Any

import numpy as np

from understudy.data.formats import Format
from understudy.data.schema import Attribute, Category, Quantity
from understudy.data.time_formats import EPOCH
from understudy.errors import InputError
from understudy.models.query.raw import RawQuantity

_UNITS = {"date": "days", "datetime": "seconds"}


def read_bounds(attribute: Attribute, low: Any, high: Any) -> tuple[float, float]:
    """Public bounds of an attribute, in its unit."""
    if not isinstance(attribute, Quantity):
        raise InputError(f"bounds are of numbers; {attribute.name!r} has listed values.")
    first, last = read_number(attribute, low), read_number(attribute, high)
    if not first < last or math.isinf(first) or math.isinf(last):
        raise InputError(
            f"the bounds of {attribute.name!r} must be two finite numbers, the lower one first."
        )
    return first, last


def read_number(attribute: Quantity, value: Any) -> float:
    """A value in the attribute's unit: itself, days or seconds."""
    if isinstance(value, np.generic):
        value = value.item()
    if attribute.kind == "time":
        return _time(attribute, value)
    if attribute.kind in ("date", "datetime"):
        moment = _moment(attribute, value)
        if moment is None:
            raise InputError(
                f"{attribute.name!r} is a {attribute.kind}: compare it with one such as "
                f'"2020-01-31", not {value!r}.'
            )
        return (moment - EPOCH) / dt.timedelta(**{_UNITS[attribute.kind]: 1})
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise InputError(
                f"{attribute.name!r} is a number: compare it with a number, not {value!r}."
            ) from None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise InputError(
            f"{attribute.name!r} is a number: compare it with a number, not {value!r}."
        )
    return _as_float(value)


def _moment(attribute: Quantity, value: Any) -> dt.datetime | None:
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day)
    if not isinstance(value, str):
        return None
    try:
        return dt.datetime.fromisoformat(value).replace(tzinfo=None)
    except ValueError:
        pass
    if not attribute.format:
        return None
    (number,) = Format("datetime", attribute.format).read([value])
    if math.isnan(number):
        return None
    return EPOCH + dt.timedelta(seconds=float(number))


def _time(attribute: Quantity, value: Any) -> float:
    """Seconds since midnight."""
    for notation in ("", attribute.format or ""):
        (number,) = Format("time", notation).read([str(value)])
        if not math.isnan(number):
            return float(number)
    raise InputError(
        f'{attribute.name!r} is a time: compare it with one such as "09:30", not {value!r}.'
    )


def round_up(attribute: Quantity, number: float) -> float:
    """The first value of the attribute that is no smaller than a number."""
    if attribute.whole and math.isfinite(number):
        return math.ceil(number)
    return number


def just_above(attribute: Quantity, number: float) -> float:
    """Where the values above a number begin: at the next one that can be written, or at the edge of
    a bin.
    """
    edges = attribute.edges
    if not edges[0] <= number < edges[-1]:
        if number >= edges[-1]:
            return math.inf
        return edges[0]
    if isinstance(attribute, RawQuantity) and not attribute.whole:
        return math.nextafter(number, math.inf)
    if attribute.whole:
        unit = 1.0
    else:
        unit = float(10**attribute.places)
    # Or one less than it should be, where the product was rounded.
    steps = math.floor(number * unit)
    written = (
        number_above for step in range(3) if (number_above := (steps + step) / unit) > number
    )
    edge = edges[bisect.bisect_right(edges, number)]
    return min(edge, next(written, math.nextafter(number, math.inf)))


def as_category(attribute: Attribute) -> Category:
    """The attribute itself; refuses one that has no values to compare."""
    if not isinstance(attribute, Category):
        raise InputError(
            f"{attribute.name!r} is {attribute.kind} and not modelled; there is nothing to compare."
        )
    return attribute


def find_code(attribute: Category, value: Any) -> int:
    """The code of a value, however it is written."""
    if isinstance(value, np.generic):
        value = value.item()
    text = _as_text(attribute, value)
    for code, known in enumerate(attribute.domain):
        if text == _as_text(attribute, known):
            return code
    raise InputError(f"{attribute.name!r} has no value {value!r}; {_suggest(text, attribute)}")


def _as_text(attribute: Category, value: Any) -> str:
    """Values by what they look like: 1, 1.0 and "1" are the same, and so are True and "TRUE" of a
    boolean.
    """
    if isinstance(value, bool):
        if value:
            value = "true"
        else:
            value = "false"
    elif _finite(value) and value == int(value):
        value = int(value)
    elif isinstance(value, str) and not isinstance(attribute.domain[0], str):
        try:
            return _as_text(attribute, float(value))
        except ValueError:
            pass
    if attribute.kind == "boolean":
        return str(value).casefold()
    return str(value)


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(_as_float(value))


def _as_float(value: float) -> float:
    """Whole numbers that no float reaches lie beyond every domain, as infinity does."""
    try:
        return float(value)
    except OverflowError:
        if value > 0:
            return math.inf
        return -math.inf


def _suggest(text: str, attribute: Category) -> str:
    known = [str(value) for value in attribute.domain]
    folded = [value for value in known if value.casefold() == text.casefold()]
    close = folded or difflib.get_close_matches(text, known, n=1)
    if close:
        return f"did you mean {close[0]!r}"
    return f"known are {', '.join(known[:8])}" + (", ..." if len(known) > 8 else ".")


def as_comparable(attribute: Category, low: Any, high: Any) -> tuple[list[Any], Any, Any]:
    """Something that can be compared for each value, and for both ends: numbers, or places in the
    order.
    """
    if not isinstance(attribute.domain[0], str):
        low, high = (None if end is None else _plain_number(attribute, end) for end in (low, high))
        return [float(value) for value in attribute.domain], low, high
    if not attribute.ordered:
        raise InputError(
            f"The values of {attribute.name!r} have no order, so there is no range of them; list "
            "those you mean."
        )
    low, high = (None if end is None else find_code(attribute, end) for end in (low, high))
    return list(range(len(attribute.domain))), low, high


def _plain_number(attribute: Category, value: Any) -> float:
    if isinstance(value, np.generic):
        value = value.item()
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or math.isnan(number):
        raise InputError(
            f"{attribute.name!r} is a number: compare it with a number, not {value!r}."
        )
    return number
