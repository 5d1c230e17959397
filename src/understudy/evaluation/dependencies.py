"""Columns that follow from another one in (nearly) all real rows, as a region does from a town."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Category, Quantity
from understudy.evaluation.comparison import Comparison, Side
from understudy.evaluation.kept import keeps_rule, share_broken, write_name
from understudy.evaluation.result import BrokenRule

MAX_DEPENDENT_VALUES = 500
"""Columns with more values are not looked at."""

MIN_ROWS_PER_VALUE = 10
"""Rows that a value of the first column has on average: with fewer, anything follows from it."""

MIN_OTHER = 0.05
"""The share of rows that the commonest value of the second column does not have, at least."""

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class _Values:
    """A column of both tables as numbers of values: -1 stands for one that no real row has, and
    ``there`` is false where there is none.
    """

    size: int
    codes: tuple[Codes, Codes]
    there: tuple[NDArray[np.bool_], NDArray[np.bool_]]


def find_dependencies(
    tables: Comparison, rows: Sequence[NDArray[np.intp]], left_out: Collection[str]
) -> Iterator[BrokenRule]:
    """Which columns follow from which, not by way of a third one."""
    columns = {
        attribute.name: values
        for attribute in tables.schema
        if attribute.name not in left_out
        and (values := _values(attribute, tables, rows)) is not None
    }
    kept = {}
    for one, other in permutations(columns, 2):
        found = _dependency(columns[one], columns[other])
        if found is not None:
            kept[one, other] = found
    for one, other in list(kept):  # of columns that say the same, the first tells the others
        if (other, one) in kept and (one, other) in kept:
            kept = {pair: found for pair, found in kept.items() if pair[0] != other}
    for (one, other), (real, synthetic) in kept.items():
        if any((one, name) in kept and (name, other) in kept for name in columns):
            continue
        text = f"{write_name(one)} -> {write_name(other)}"
        yield BrokenRule(text, {"dependency": text}, real, synthetic)


def _values(
    attribute: Attribute, tables: Comparison, rows: Sequence[NDArray[np.intp]]
) -> _Values | None:
    if isinstance(attribute, Quantity):
        return _of_numbers([side.numbers(attribute) for side in tables], rows)
    if isinstance(attribute, Category):
        return _of_words(attribute, tuple(tables), rows)
    return None


def _of_numbers(
    numbers: Sequence[NDArray[np.float64]], rows: Sequence[NDArray[np.intp]]
) -> _Values | None:
    one, other = (each[kept] for each, kept in zip(numbers, rows, strict=True))
    values = np.unique(one[~np.isnan(one)])
    if not 2 <= len(values) <= MAX_DEPENDENT_VALUES:
        return None
    codes = []
    for each in (one, other):
        places = np.minimum(np.searchsorted(values, each), len(values) - 1)
        codes.append(np.where(values[places] == each, places, -1))
    return _Values(len(values), (codes[0], codes[1]), (~np.isnan(one), ~np.isnan(other)))


def _of_words(
    category: Category, sides: tuple[Side, ...], rows: Sequence[NDArray[np.intp]]
) -> _Values | None:
    size = category.values_size
    if size > MAX_DEPENDENT_VALUES:
        return None
    one, other = (
        side.codes(category.name)[kept].astype(np.intp)
        for side, kept in zip(sides, rows, strict=True)
    )
    return _Values(size, (one, other), (one < size, other < size))


def _dependency(first: _Values, second: _Values) -> tuple[float, float] | None:
    """In what share of real and of synthetic rows the second column is not what commonly goes with
    the first; ``None`` where it does not follow from it.
    """
    there = first.there[0] & second.there[0]
    one, other = first.codes[0][there], second.codes[0][there]
    rows = len(one)
    if rows < MIN_ROWS_PER_VALUE * len(np.unique(one)):
        return None
    counts = np.bincount(one * second.size + other, minlength=first.size * second.size)
    table = counts.reshape(first.size, second.size)
    broken = 1 - float(table.max(axis=1).sum()) / max(rows, 1)
    apart = 1 - float(table.sum(axis=0).max()) / max(rows, 1)
    if apart < MIN_OTHER or not keeps_rule(broken, apart, rows):
        return None
    mapping = table.argmax(axis=1)
    one, other = first.codes[1], second.codes[1]
    known = (one >= 0) & first.there[1]
    known[known] = table.sum(axis=1)[one[known]] > 0
    expected = mapping[np.where(known, one, 0)]
    return broken, share_broken(known & second.there[1], other != expected)
