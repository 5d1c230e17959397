"""Extended attributes: what lies outside the domain has codes of its own.

So an engine can tell the owner how much there is of it, at no further pass. :func:`fold_codes`
joins them with the codes that they count as.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from understudy.data.cells import (
    BEYOND_BOUNDS,
    NOT_ALLOWED,
    Outside,
    absent_code,
    category_remedy,
    unreadable_remedy,
)
from understudy.data.schema import Attribute, Category, Quantity
from understudy.data.value_classes import ValueClasses

_UNKNOWN = "\x00"  # no text of a table holds it


def extend_attribute(attribute: Attribute) -> Attribute:
    """The attribute with codes of their own for values below, above or not in the domain, and for
    missing ones.
    """
    missing = attribute.missing or ""
    if isinstance(attribute, ValueClasses):  # every value has a class
        return replace(attribute, missing=missing)
    if isinstance(attribute, Quantity):
        last = attribute.edges[-1]
        # The last bin of a real holds its upper edge.
        if attribute.whole:
            above = last
        else:
            above = math.nextafter(last, math.inf)
        edges = (attribute.edges[0] - 1, *attribute.edges[:-1], above, above + 1)
        return replace(attribute, missing=missing, edges=edges)
    assert isinstance(attribute, Category)
    return replace(
        attribute, missing=missing, values=attribute.domain, other=_UNKNOWN, taxonomy=None
    )


def fold_codes(attribute: Attribute) -> NDArray[np.uint32]:
    """For each code of the extended attribute the attribute's own."""
    if isinstance(attribute, ValueClasses):
        codes = [*range(attribute.values_size)]
    elif isinstance(attribute, Quantity):
        bins = attribute.bins
        codes = [0, *range(bins), bins - 1]
    else:
        assert isinstance(attribute, Category)
        codes = [*range(attribute.values_size), attribute.outside]
    return np.array([*codes, absent_code(attribute)], dtype=np.uint32)


def outside(attribute: Attribute, counts: NDArray[np.int64]) -> list[Outside]:
    """What the owner should know, given the counts of the extended codes and, last, of cells that
    cannot be read.
    """
    found: list[Outside] = []

    def report(count: int, code: int, remedy: str) -> None:
        if count:
            found.append(Outside(attribute.name, count, attribute.label(code), remedy))

    if isinstance(attribute, ValueClasses):
        return found
    *numbers, absent, unreadable = counts.tolist()
    if isinstance(attribute, Quantity):
        report(numbers[0], 0, BEYOND_BOUNDS)
        report(numbers[attribute.bins + 1], attribute.bins - 1, BEYOND_BOUNDS)
    elif isinstance(attribute, Category):
        remedy = category_remedy(attribute)
        report(numbers[attribute.values_size], attribute.outside, remedy)
    if attribute.missing is None:
        report(absent, absent_code(attribute), NOT_ALLOWED)
    if isinstance(attribute, Quantity):
        report(unreadable, absent_code(attribute), unreadable_remedy(attribute))
    return found
