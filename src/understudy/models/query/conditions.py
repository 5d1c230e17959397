"""Conditions on single attributes: a value, some values, a range, missing; and which codes they let
through.

Values of a quantity lie in bins, and a condition may cut through one. The bin then fits by the
share of its values that the condition covers, as far as the inside of the bin is known
(:mod:`understudy.data.inside`); where it is not, values count as spread evenly.
"""

from __future__ import annotations

import bisect
import datetime as dt
import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.columns import in_words
from understudy.data.formats import Format
from understudy.data.inside import Inside
from understudy.data.schema import Attribute, Category, Quantity, Schema
from understudy.data.streams import draw_uniforms
from understudy.data.tables import Column, Table
from understudy.data.time_formats import EPOCH
from understudy.errors import InputError
from understudy.models.query.raw import RawQuantity

BoundPair = tuple[float, float]
"""From the first number up to, not including, the second."""

_UNITS = {"date": "days", "datetime": "seconds"}


@dataclass(frozen=True)
class Subset:
    """Some of the values of an attribute.

    Attributes
    ----------
    attribute
        Whose values.
    intervals
        For a quantity: where its values lie; they do not overlap and are in order.
    codes
        For a category: its codes.
    missing
        Whether "missing" is in it.
    """

    attribute: Attribute
    intervals: tuple[BoundPair, ...] = ()
    codes: frozenset[int] = frozenset()
    missing: bool = False

    def __or__(self, other: Subset) -> Subset:
        """What is in either of two subsets of one attribute."""
        intervals = _unite([*self.intervals, *other.intervals])
        return Subset(
            self.attribute, intervals, self.codes | other.codes, self.missing or other.missing
        )

    def without(self) -> Subset:
        """The values of the attribute that are not in this one; "missing" is in neither."""
        if isinstance(self.attribute, Quantity):
            ends = [-math.inf, *(end for interval in self.intervals for end in interval), math.inf]
            gaps = tuple(
                (low, high) for low, high in zip(ends[::2], ends[1::2], strict=True) if low < high
            )
            return Subset(self.attribute, gaps)
        return Subset(
            self.attribute, codes=frozenset(range(self.attribute.values_size)) - self.codes
        )

    @property
    def cuts_a_bin(self) -> bool:
        """Whether some bin is in here only in part, by however little."""
        if not isinstance(self.attribute, Quantity):
            return False
        edges = self.attribute.edges
        ends = {end for interval in self.intervals for end in interval}
        return any(edges[0] < end < edges[-1] for end in ends.difference(edges))

    def shares(self) -> NDArray[np.float64]:
        """For each code of the attribute the share of it that is in here, from 0 to 1."""
        shares = np.zeros(self.attribute.size)
        if isinstance(self.attribute, Quantity):
            shares[: self.attribute.bins] = self._bin_shares(self.attribute)
        else:
            shares[list(self.codes)] = 1
        if self.missing:
            shares[-1] = 1
        return shares

    def _bin_shares(self, attribute: Quantity) -> NDArray[np.float64]:
        edges = np.array(attribute.edges, dtype=np.float64)
        low, high = edges[:-1], edges[1:]
        shares = np.zeros(attribute.bins)
        for start, end in self.intervals:
            first, last = np.maximum(low, start), np.minimum(high, end)
            if attribute.refined:
                covered = attribute.inside.below(last) - attribute.inside.below(first)
            else:
                covered = (last - first) / (high - low)
            shares += np.where(first < last, covered, 0)
        return np.clip(shares, 0, 1)


# --------------------------------------------------------------------------- building subsets


def equal_to(attribute: Attribute, value: Any) -> Subset:
    """The one value (or "missing", for ``None``)."""
    if value is None:
        return is_missing(attribute)
    if isinstance(attribute, Quantity):
        low = read_number(attribute, value)
        if (
            attribute.whole and isinstance(low, float) and not low.is_integer()
        ):  # infinity is none either
            return Subset(attribute)
        return Subset(attribute, ((low, _just_above(attribute, low)),))
    return Subset(attribute, codes=frozenset({_code(_category(attribute), value)}))


def between(attribute: Attribute, low: Any, high: Any) -> Subset:
    """From one value to another, both included; ``None`` leaves an end open."""
    if isinstance(attribute, Quantity):
        if low is None:
            first = -math.inf
        else:
            first = read_number(attribute, low)
        if high is None:
            last = math.inf
        else:
            last = read_number(attribute, high)
        start, end = _round_up(attribute, first), _just_above(attribute, last)
        return Subset(attribute, ((start, end),) if first <= last and start < end else ())
    keys, low, high = _comparable(_category(attribute), low, high)
    fits = (
        code
        for code, key in enumerate(keys)
        if (low is None or low <= key) and (high is None or key <= high)
    )
    return Subset(attribute, codes=frozenset(fits))


def compare_values(attribute: Attribute, operator: str, value: Any) -> Subset:
    """The values for which ``attribute operator value`` holds; "missing" compares with nothing."""
    if operator == "=":
        return equal_to(attribute, value)
    if operator == "!=":
        return equal_to(attribute, value).without()
    if operator in ("<=", ">="):
        return between(attribute, *((None, value) if operator == "<=" else (value, None)))
    if operator == "<":
        return between(attribute, value, None).without()
    return between(attribute, None, value).without()


def is_missing(attribute: Attribute) -> Subset:
    """Just "missing"."""
    if attribute.missing is None:
        raise InputError(
            f"By the schema {attribute.name!r} is never missing; leave that condition out."
        )
    return Subset(attribute, missing=True)


def one_of(attribute: Attribute, values: Iterable[Any]) -> Subset:
    """Any of some values."""
    found = Subset(attribute)
    for value in values:
        found = found | equal_to(attribute, value)
    return found


# ----------------------------------------- values as people write them


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


def _round_up(attribute: Quantity, number: float) -> float:
    if attribute.whole and math.isfinite(number):
        return math.ceil(number)
    return number


def _just_above(attribute: Quantity, number: float) -> float:
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
    steps = math.floor(
        number * unit
    )  # or one less than it should be, where the product was rounded
    written = (
        number_above for step in range(3) if (number_above := (steps + step) / unit) > number
    )
    edge = edges[bisect.bisect_right(edges, number)]
    return min(edge, next(written, math.nextafter(number, math.inf)))


def _category(attribute: Attribute) -> Category:
    if not isinstance(attribute, Category):
        raise InputError(
            f"{attribute.name!r} is {attribute.kind} and not modelled; there is nothing to compare."
        )
    return attribute


def _code(attribute: Category, value: Any) -> int:
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


def _comparable(attribute: Category, low: Any, high: Any) -> tuple[list[Any], Any, Any]:
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
    low, high = (None if end is None else _code(attribute, end) for end in (low, high))
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


def _unite(intervals: list[BoundPair]) -> tuple[BoundPair, ...]:
    joined: list[BoundPair] = []
    for low, high in sorted(intervals):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return tuple(joined)


# --------------------------------------------------------------------------- what rows are wanted


def read_conditions(given: Mapping[str, Any], schema: Schema) -> dict[str, Subset]:
    """Conditions as a person writes them, one per attribute.

    Parameters
    ----------
    given
        For an attribute a value, a ``(low, high)`` range with both ends included (``None`` leaves
        one open), ``None`` for missing, or a list (or set) of these.
    schema
        What the attributes are.
    """
    if not isinstance(given, Mapping):
        raise InputError(
            'The condition must be a mapping such as {"sex": "Female", "age": (30, 40)}.'
        )
    subsets = {}
    for name, wanted in given.items():
        attribute = schema[name]
        if not attribute.modelled:
            raise InputError(
                f"{name!r} is {attribute.kind} and generated for every row; it cannot be a "
                "condition."
            )
        subset = _read_condition(attribute, wanted)
        if not subset.shares().any():
            raise InputError(
                f"No value of {name!r} fits the condition {wanted!r}; its domain is "
                f"{domain_text(attribute)}."
            )
        subsets[name] = subset
    return subsets


def _read_condition(attribute: Attribute, wanted: Any) -> Subset:
    if isinstance(wanted, tuple):
        if len(wanted) != 2:
            raise InputError(
                f"A range of {attribute.name!r} has two ends, (low, high); several values are a "
                "list."
            )
        return between(attribute, *wanted)
    if isinstance(wanted, list | set | frozenset | np.ndarray):
        found = Subset(attribute)
        for part in wanted:
            found = found | _read_condition(attribute, part)
        return found
    return equal_to(attribute, wanted)


def parse_conditions(conditions: Iterable[str], schema: Schema) -> dict[str, Any]:
    """Conditions as on the command line: ``sex=Female``, ``age=30..40``, ``job=Sales|Clerk``,
    ``income=missing``.
    """
    given: dict[str, Any] = {}
    for condition in conditions:
        name, equals, text = condition.partition("=")
        name, text = name.strip(), text.strip()
        if not equals or not name:
            raise InputError(
                f"The condition {condition!r} is not of the form name=value, such as age=30..40."
            )
        if name in given:
            raise InputError(
                f"There are two conditions on {name!r}; make it one, such as {name}=this|that."
            )
        given[name] = _from_text(schema[name], text)
    return given


def _from_text(attribute: Attribute, text: str) -> Any:
    listed = isinstance(attribute, Category) and text in map(str, attribute.domain)
    if listed:
        return text
    if attribute.missing is not None and text in ("", "missing", attribute.missing):
        return None
    if "|" in text:
        return [_from_text(attribute, part.strip()) for part in text.split("|")]
    low, dots, high = text.partition("..")
    if dots and (
        isinstance(attribute, Quantity)
        or (isinstance(attribute, Category) and _is_ordered(attribute))
    ):
        return (low.strip() or None, high.strip() or None)
    return text


def _is_ordered(attribute: Category) -> bool:
    return attribute.ordered or not isinstance(attribute.domain[0], str)


def domain_text(attribute: Attribute) -> str:
    """The domain of an attribute in a few words."""
    if isinstance(attribute, Quantity):
        if attribute.whole:
            last = attribute.edges[-1] - 1
        else:
            last = attribute.edges[-1]
        return f"{attribute.write(attribute.edges[0])} to {attribute.write(last)}"
    labels = [attribute.label(code) for code in range(min(attribute.size, 6))]
    return ", ".join(labels) + (", ..." if attribute.size > 6 else "")


def confine_values(
    table: Table,
    codes: Mapping[str, NDArray[Any]],
    subsets: Mapping[str, Subset],
    rng: np.random.Generator,
) -> Table:
    """The table with values that fit wherever a condition cuts through a bin: drawn again inside
    what is left of it.
    """
    columns = dict(table.columns)
    for name, subset in subsets.items():
        if subset.cuts_a_bin:
            columns[name] = _redraw(columns[name], codes[name], subset, rng)
    return Table(columns, table.source)


def _redraw(
    column: Column, codes: NDArray[Any], subset: Subset, rng: np.random.Generator
) -> Column:
    attribute = subset.attribute
    assert isinstance(attribute, Quantity)
    if attribute.refined:
        drawn = Inside(attribute, subset.intervals).draw(codes, rng)
        return replace(column, values=drawn)
    pieces = [
        (code, max(low, start), min(high, end))
        for code, (low, high) in enumerate(
            zip(attribute.edges[:-1], attribute.edges[1:], strict=True)
        )
        for start, end in subset.intervals
        if max(low, start) < min(high, end)
    ]
    starts = np.array([low for _, low, _ in pieces])
    lengths = np.array([high - low for _, low, high in pieces])
    before = np.concatenate([[0.0], np.cumsum(lengths)])
    # The pieces of a bin laid end to end: a point on that line is a value of the bin that fits.
    owners = np.array([code for code, _, _ in pieces])
    first = np.searchsorted(owners, np.arange(attribute.size))
    last = np.searchsorted(owners, np.arange(attribute.size), side="right")
    points = (
        before[first][codes]
        + draw_uniforms(rng, len(codes)) * (before[last] - before[first])[codes]
    )
    piece = np.clip(np.searchsorted(before, points, side="right") - 1, 0, len(pieces) - 1)
    piece = np.clip(piece, first[codes], np.maximum(last[codes] - 1, first[codes]))
    piece = np.minimum(piece, len(pieces) - 1)
    values: NDArray[Any] = starts[piece] + np.clip(points - before[piece], 0, None)
    if attribute.whole:
        top = starts[piece] + lengths[piece] - 1
        whole = replace(column, values=np.minimum(np.floor(values), top).astype(np.int64))
        if attribute.kind == "time":
            return in_words(replace(whole, format=attribute.format or ""), "time")
        return whole
    unit = float(10**attribute.places)
    # Rounding, here or in the sum above, must not carry a value over an end of its piece.
    ends = np.array([high for _, _, high in pieces])
    steps = np.rint(ends * unit)
    steps = np.where(steps / unit < ends, steps, steps - 1)  # the last value below the end
    written = np.minimum(np.floor(values * unit), steps[piece]) / unit
    below = np.nextafter(ends, -np.inf)
    return replace(column, values=np.clip(written, starts[piece], below[piece]))
