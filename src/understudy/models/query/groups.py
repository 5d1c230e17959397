"""The groups of a query: listed values, the bins of a schema, or stretches of equal width."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from understudy.data.schema import Attribute, Category, Quantity
from understudy.errors import InputError
from understudy.models.query.raw import RawCategory, RawQuantity
from understudy.models.query.subsets import Subset, between, equal_to, is_missing
from understudy.models.query.syntax import QueryGroup
from understudy.models.query.written_values import read_number

MAX_GROUPS_OF_ONE = 65_536
"""Of one attribute."""


def group_by_domain(attribute: Attribute) -> QueryGroup:
    """A group for each value or bin that the schema knows, and one for missing values, where it
    knows of any; no groups without a schema.
    """
    described: Attribute | None = attribute
    if isinstance(attribute, RawQuantity | RawCategory):
        described = attribute.described
    if described is None:
        return QueryGroup(attribute, (), ())
    if isinstance(described, Category):
        cells = _list_cells(attribute, described)
    else:
        assert isinstance(described, Quantity)
        cells = _bin_cells(attribute, described)
    if described.missing is not None:
        cells.append(is_missing(attribute))
    labels = tuple(described.label(code) for code in range(described.size))
    return QueryGroup(attribute, labels, tuple(cells))


def _list_cells(attribute: Attribute, described: Category) -> list[Subset]:
    if isinstance(attribute, Quantity):
        return [equal_to(attribute, value) for value in described.domain]
    codes = range(len(described.domain))
    return [Subset(attribute, codes=frozenset({code})) for code in codes]


def _bin_cells(attribute: Attribute, described: Quantity) -> list[Subset]:
    edges = [*described.edges]
    if isinstance(attribute, RawQuantity):  # values beyond the bounds count at the edge
        edges[0], edges[-1] = -math.inf, math.inf
    return [Subset(attribute, (stretch,)) for stretch in itertools.pairwise(edges)]


def group_by_values(attribute: Attribute, values: Sequence[Any]) -> QueryGroup:
    """A group for each of some values."""
    cells = tuple(equal_to(attribute, value) for value in values)
    if len(set(cells)) < len(cells):
        raise InputError("a group is listed twice; name each once.")
    return QueryGroup(attribute, tuple(_write(value) for value in values), cells)


def _write(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def group_by_steps(attribute: Attribute, low: Any, high: Any, step: Any) -> QueryGroup:
    """Stretches of equal width between two bounds; the last one holds the upper bound too."""
    if not isinstance(attribute, Quantity) or attribute.is_moment:
        raise InputError(f"groups of equal width are of numbers; {attribute.name!r} is none.")
    first, last = read_number(attribute, low), read_number(attribute, high)
    if not isinstance(step, float) or not step > 0 or not first < last:
        raise InputError("groups need a lower bound below the upper one, and a width above 0.")
    number = math.ceil((last - first) / step)
    if number > MAX_GROUPS_OF_ONE:
        raise InputError(f"these are {number:,} groups; {MAX_GROUPS_OF_ONE:,} are allowed.")
    starts = [first + place * step for place in range(number)]
    cells = [Subset(attribute, (stretch,)) for stretch in itertools.pairwise(starts)]
    cells.append(between(attribute, starts[-1], last))
    labels = [f"[{start:g}, {end:g})" for start, end in itertools.pairwise(starts)]
    labels.append(f"[{starts[-1]:g}, {last:g}]")
    return QueryGroup(attribute, tuple(labels), tuple(cells))
