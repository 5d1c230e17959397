"""Attributes as they stand in private rows: numbers that no bin rounds, and texts that no list
replaces.

A question to the rows themselves is a public function of a row, so its conditions hold or do not
hold for the value itself. A question to a model knows bins and listed values only.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from understudy.data.schema import Attribute, Category, Quantity

MAX_WHOLE = 2**53
"""Beyond it whole numbers are not exact, and count as this."""

REST = "(any other value)"


@dataclass(frozen=True)
class RawQuantity(Quantity):
    """A number or a point in time that is not cut into bins.

    Attributes
    ----------
    described
        What the schema says of it, if there is one: its bins are the groups of a histogram.
    bounds
        Its lowest and highest value by public knowledge, if anybody gave them.
    """

    described: Attribute | None = None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class RawCategory(Category):
    """One of a list of values, or any other: a value that is not on the list is none of them.

    Attributes
    ----------
    described
        What the schema says of it, if there is one: its values are the groups of a histogram.
    """

    described: Attribute | None = None


def raw_quantity(
    name: str,
    kind: str,
    described: Attribute | None = None,
    bounds: tuple[float, float] | None = None,
    format: str | None = None,
) -> RawQuantity:
    """A quantity over all numbers that there are."""
    end: float = sys.float_info.max
    if kind != "real":
        end = MAX_WHOLE
    missing = ""
    if described is not None:
        missing = described.missing or ""
    return RawQuantity(
        name, kind, missing, (-end, end), False, format, described=described, bounds=bounds
    )


def raw_attribute(attribute: Attribute) -> Attribute:
    """An attribute of a schema as it stands in the rows; one that is never read stays what it
    is.
    """
    if isinstance(attribute, Quantity):
        last = attribute.edges[-1]
        if attribute.whole:
            last -= 1
        bounds = attribute.edges[0], last
        kind, notation = attribute.kind, attribute.format
        return raw_quantity(attribute.name, kind, attribute, bounds, notation)
    if not isinstance(attribute, Category):
        return attribute
    if isinstance(attribute.domain[0], str):
        return raw_category(attribute)
    numbers = [float(value) for value in attribute.domain]
    return raw_quantity(attribute.name, "real", attribute, (min(numbers), max(numbers)))


def raw_category(attribute: Category, *, described: bool = True) -> RawCategory:
    """A category with a value of its own for what is not listed, unless the schema names one."""
    other = attribute.other
    if other is None:
        other = REST
        while other in attribute.values:
            other += "'"
    return RawCategory(
        attribute.name,
        attribute.kind,
        attribute.missing or "",
        attribute.values,
        attribute.ordered,
        None,
        other,
        described=attribute if described else None,
    )


def with_bounds(attribute: RawQuantity, bounds: tuple[float, float]) -> RawQuantity:
    """The quantity with other public bounds."""
    return replace(attribute, bounds=bounds)
