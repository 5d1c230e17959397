"""A table as anonymisers see it: for each column its distinct values, and who has which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.hierarchies import (
    MISSING_LABEL,
    Hierarchy,
    as_taxonomy,
    cut_levels,
    list_leaves,
    make_calendar,
    make_ranges,
    no_levels,
    read_hierarchy,
)
from understudy.data.attributes import Attribute, Category, Quantity
from understudy.data.columns import Column, Table
from understudy.data.formats import CANDIDATES, Format
from understudy.data.words import write_number

if TYPE_CHECKING:
    from understudy.data.schema import Schema

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

UNITS = {"datetime": 86_400.0, "time": 3_600.0}
"""How many seconds make one: points in time count in days, times of day in hours."""


@dataclass(frozen=True)
class ColumnValues:
    """One column: the places of its values among the distinct ones, which are in their order.

    Attributes
    ----------
    codes
        The place of each row's value.
    names
        The distinct values as they are written; a missing one is called so, and comes last.
    numbers
        The distinct values as numbers (dates as days, times as hours); ``None`` for categories. Not
        a number where the value is missing.
    ordered
        Whether the places have an order: numbers, and categories that a schema calls ordered.
    hierarchy
        How values merge.
    """

    name: str
    codes: Ints
    names: tuple[str, ...]
    numbers: Floats | None
    ordered: bool
    hierarchy: Hierarchy
    taxonomy: Any = None
    dates: bool = False
    """Whether the numbers are days."""

    @property
    def size(self) -> int:
        """How many distinct values there are."""
        return len(self.names)

    @cached_property
    def shares(self) -> Floats:
        """The share of rows with each value."""
        return np.bincount(self.codes, minlength=self.size) / max(len(self.codes), 1)

    @cached_property
    def positions(self) -> Floats:
        """Where each value lies between 0 and 1, for spans and distances: numbers where they are,
        categories evenly; a missing one at the end.
        """
        if self.numbers is not None and np.isfinite(self.numbers).any():
            there = np.isfinite(self.numbers)
            low, high = self.numbers[there].min(), self.numbers[there].max()
            if high > low:
                return np.where(there, (self.numbers - low) / (high - low), 1.0)
        return np.arange(self.size) / max(self.size - 1, 1)


@dataclass(frozen=True)
class Microdata:
    """Some columns of a table in this form."""

    columns: Mapping[str, ColumnValues]
    rows: int

    def __getitem__(self, name: str) -> ColumnValues:
        return self.columns[name]

    def pick(self, rows: NDArray[Any]) -> Microdata:
        """Some of the rows; values keep their places."""
        columns = {
            name: replace(values, codes=values.codes[rows]) for name, values in self.columns.items()
        }
        return Microdata(columns, len(next(iter(columns.values())).codes) if columns else 0)


def read_microdata(
    table: Table,
    names: tuple[str, ...],
    schema: Schema | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> Microdata:
    """The columns of a table that are named; hierarchies come from the user, else from the schema,
    else ranges for numbers.
    """
    given = dict(hierarchies or {})
    columns = {}
    for name in names:
        said = None
        if schema is not None and name in schema:
            said = schema[name]
        values = _read_values(name, table.columns[name], said)
        columns[name] = _with_hierarchy(values, schema, given.get(name))
    return Microdata(columns, table.rows)


def _read_values(name: str, column: Column, said: Attribute | None) -> ColumnValues:
    absent = _absent(column)
    numbers: Floats | None = None
    kind, written = column.kind, list[str]()
    codes = np.zeros(len(column), dtype=np.int64)
    if kind == "text":
        words = np.array(column.words, dtype=object)
        used = np.unique(column.values[~absent])
        order = used[np.argsort(words[used].astype(str), kind="stable")]
        form = _find_format([str(word) for word in words[order]], said)
        if form is not None:
            kind, numbers = form.kind, form.read(words[order])
            in_time = np.argsort(numbers, kind="stable")
            order, numbers = order[in_time], numbers[in_time]
        places = np.zeros(len(words) + 1, dtype=np.int64)
        places[order] = np.arange(len(order))
        codes = places[np.where(absent, 0, column.values)]
        written = [str(word) for word in words[order]]
    elif kind != "empty":
        distinct, codes[~absent] = np.unique(column.values[~absent], return_inverse=True)
        written = _write_values(column, distinct)
        if kind != "boolean":
            numbers = distinct.astype(np.float64)
    if absent.any():
        codes = np.where(absent, len(written), codes)
        written.append(MISSING_LABEL)
        if numbers is not None:
            numbers = np.append(numbers, np.nan)
    if numbers is not None:
        numbers = numbers / UNITS.get(kind, 1.0)
    return ColumnValues(
        name,
        codes.astype(np.int64),
        tuple(written),
        numbers,
        numbers is not None,
        no_levels(written),
        dates=kind in ("date", "datetime"),
    )


def _find_format(words: Sequence[str], said: Attribute | None) -> Format | None:
    """How words are written that are all dates, times or amounts: by the schema, else the first
    format that they all fit. Words that a schema calls categories are words, and so are plain
    numbers in a column of texts: they are codes.
    """
    if not words or isinstance(said, Category):
        return None
    candidates = CANDIDATES
    if isinstance(said, Quantity) and said.format:
        candidates = (Format(said.kind, said.format), *CANDIDATES)
    for candidate in candidates:
        # Most formats are out after a few words.
        if candidate.fits(words[:20]).all() and candidate.fits(words).all():
            if candidate in (Format("integer"), Format("real")):
                return None
            return candidate
    return None


def _absent(column: Column) -> NDArray[np.bool_]:
    if column.kind == "empty":
        return np.ones(len(column), dtype=bool)
    absent = np.zeros(len(column), dtype=bool)
    if column.missing is not None:
        absent |= column.missing > 0
    if column.kind == "real":
        absent |= ~np.isfinite(column.values.astype(np.float64))
    return absent


def _write_values(column: Column, distinct: NDArray[Any]) -> list[str]:
    if column.kind == "boolean":
        return [str(bool(value)).lower() for value in distinct]
    if column.kind in ("date", "datetime") or column.format:
        return list(Format(column.kind, column.format).write(distinct.tolist()))
    return [write_number(value) for value in distinct.tolist()]


def _with_hierarchy(values: ColumnValues, schema: Schema | None, given: Any) -> ColumnValues:
    attribute = None
    if schema is not None and values.name in schema:
        attribute = schema[values.name]
    taxonomy = getattr(attribute, "taxonomy", None)
    listed = getattr(attribute, "ordered", False)
    if isinstance(given, list | tuple):
        taxonomy = as_taxonomy(given)
    if listed and isinstance(attribute, Category):
        values = replace(_put_in_order(values, list(map(str, attribute.domain))), ordered=True)
    elif taxonomy is not None:
        # Neighbours in the tree are neighbours among the places, so that halves are alike.
        values = _put_in_order(values, list_leaves(taxonomy))
    if given is not None:
        hierarchy = read_hierarchy(
            given, values.names, values.numbers, values.name, dates=values.dates
        )
    elif taxonomy is not None:
        hierarchy = cut_levels(taxonomy, values.names, values.name)
    elif values.numbers is not None and values.dates:
        hierarchy = make_calendar(values.numbers, values.names)
    elif values.numbers is not None:
        hierarchy = make_ranges(values.numbers, values.names)
    else:
        hierarchy = no_levels(values.names)
    return replace(values, hierarchy=hierarchy, taxonomy=taxonomy)


def _put_in_order(values: ColumnValues, listed: list[str]) -> ColumnValues:
    """The values in an order that is given, others after them."""
    rank = {name: place for place, name in enumerate(listed)}
    order = sorted(
        range(values.size), key=lambda place: (rank.get(values.names[place], len(rank)), place)
    )
    places = np.empty(values.size, dtype=np.int64)
    places[order] = np.arange(values.size)
    names = tuple(values.names[place] for place in order)
    numbers = values.numbers
    if numbers is not None:
        numbers = numbers[order]
    return replace(values, codes=places[values.codes], names=names, numbers=numbers)
