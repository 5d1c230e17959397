"""Some of the values of an attribute: one, several, a range, "missing"; and which codes they are.

Values of a quantity lie in bins, and a subset may cut through one. The bin then belongs to it by
the share of its values that the subset covers, as far as the inside of the bin is known
(:mod:`understudy.data.inside`); where it is not, values count as spread evenly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Quantity
from understudy.errors import InputError
from understudy.models.query.written_values import (
    as_category,
    as_comparable,
    find_code,
    just_above,
    read_number,
    round_up,
)

BoundPair = tuple[float, float]
"""From the first number up to, not including, the second."""


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
        # Infinity is none either.
        if attribute.whole and isinstance(low, float) and not low.is_integer():
            return Subset(attribute)
        return Subset(attribute, ((low, just_above(attribute, low)),))
    return Subset(attribute, codes=frozenset({find_code(as_category(attribute), value)}))


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
        start, end = round_up(attribute, first), just_above(attribute, last)
        return Subset(attribute, ((start, end),) if first <= last and start < end else ())
    keys, low, high = as_comparable(as_category(attribute), low, high)
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


def _unite(intervals: list[BoundPair]) -> tuple[BoundPair, ...]:
    joined: list[BoundPair] = []
    for low, high in sorted(intervals):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return tuple(joined)
