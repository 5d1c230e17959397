"""A real and a synthetic table read under one schema, so that they can be compared column by
column.

Where no schema is given, one is read off both tables. That is for the owner's eyes: such a schema
is as private as the rows, and nothing of it may go into a release.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.counting.memory import MemoryCounter
from understudy.data.attributes import DEFAULT_BINS
from understudy.data.encoding import Coded, encode, quantity_values
from understudy.data.frames import Frame, as_table
from understudy.data.schema import Attribute, Category, Identifier, Quantity, Schema, Text
from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.evaluation.shared_identifiers import tells_rows_apart
from understudy.privacy.identifiers import is_identifier

MAX_COMPARED_CATEGORIES = 1000
"""Text with more distinct values than this counts as free text and is not compared, unless a schema
lists them.
"""

_EXACT = 2.0**53
"""Beyond this not every whole number has a float of its own."""

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Side:
    """One of the two tables: its rows as values and as codes."""

    table: Table
    coded: Coded
    known_numbers: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """The values of quantities, where they were read already."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.table.rows

    @cached_property
    def counter(self) -> MemoryCounter:
        """Counts tables of codes."""
        attributes = self.coded.schema.modelled
        return MemoryCounter(
            self.coded.codes,
            {a.name: a.generalisations for a in attributes},
            {a.name: a.size for a in attributes},
        )

    @property
    def outside(self) -> dict[str, float]:
        """Per column that has any, the share of rows whose value the schema's domain does not
        hold.
        """
        shares: dict[str, float] = {}
        for found in self.coded.outside:
            shares[found.column] = shares.get(found.column, 0.0) + found.count / self.rows
        return shares

    def codes(self, name: str) -> NDArray[Any]:
        """The codes of a column."""
        return self.coded.codes[name]

    def numbers(self, attribute: Quantity) -> NDArray[np.float64]:
        """The values of a quantity, in its unit; ``nan`` where one is missing, infinite ones at the
        domain's edge.
        """
        if attribute.name in self.known_numbers:
            return self.known_numbers[attribute.name]
        if attribute.name not in self._numbers:
            values, absent = quantity_values(attribute, self.table)
            numbers = values.astype(np.float64)
            infinite = np.isinf(numbers)
            numbers[infinite] = np.clip(numbers[infinite], attribute.edges[0], attribute.edges[-1])
            numbers[absent] = np.nan
            self._numbers[attribute.name] = numbers
        return self._numbers[attribute.name]

    @cached_property
    def _numbers(self) -> dict[str, NDArray[np.float64]]:
        return {}


@dataclass(frozen=True)
class Comparison:
    """The two tables under one schema."""

    schema: Schema
    real: Side
    synthetic: Side
    left_out: tuple[str, ...]
    """Columns that are not compared: identifiers and text."""

    def __iter__(self) -> Iterator[Side]:
        return iter((self.real, self.synthetic))

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about values that the schema's domain does not hold."""
        return tuple(
            f"{side.table.source}: {outside}." for side in self for outside in side.coded.outside
        )


def as_float32(numbers: NDArray[Any]) -> NDArray[np.float32]:
    """Numbers as learners take them; what 32 bits cannot hold counts as the largest that they
    can.
    """
    return np.clip(numbers, -_LARGEST, _LARGEST).astype(np.float32)


def is_ordered(attribute: Attribute) -> bool:
    """Whether the values of an attribute have an order."""
    if isinstance(attribute, Category):
        return attribute.ordered
    return True


def compare_tables(real: Frame, synthetic: Frame, schema: Schema | None = None) -> Comparison:
    """Read both tables under a schema, or under a common one made up from both.

    Parameters
    ----------
    real, synthetic
        Tables, frames or file names, with the same columns in any order. Identifiers and text need
        not be there. A file of the synthetic table has a header, as all have that are written here.
    schema
        What the columns are.
    """
    tables = read_both(real, synthetic)
    if schema is None:
        schema = common_schema(*tables)
    else:
        _check_columns(schema, *tables)
    modelled = Schema(schema.modelled)
    if not len(modelled):
        raise InputError("There is no column to compare: all of them are identifiers or text.")
    narrowed = [
        Table({name: table.columns[name] for name in modelled.names}, table.source)
        for table in tables
    ]
    one, other = (Side(table, encode(table, modelled)) for table in narrowed)
    left_out = tuple(attribute.name for attribute in schema if not attribute.modelled)
    return Comparison(modelled, one, other, left_out)


def read_both(real: Frame, synthetic: Frame) -> tuple[Table, Table]:
    """The two tables, under names of their own, each with some rows."""
    tables = (
        name_table(as_table(real)[0], "The real table"),
        name_table(as_table(synthetic, header=True)[0], "The synthetic table"),
    )
    for table in tables:
        if table.rows == 0:
            raise InputError(f"{table.source} has no rows; there is nothing to compare.")
    return tables


def name_table(table: Table, name: str) -> Table:
    """A frame has no name of its own; a message must still say which of the two it means."""
    if table.source in ("The table", "The frame", "The synthetic table"):
        return replace(table, source=name)
    return table


def _check_columns(schema: Schema, *tables: Table) -> None:
    for table in tables:
        for attribute in schema.modelled:
            if attribute.name not in table.columns:
                raise InputError(
                    f"{table.source} has no column {attribute.name!r}, which the schema describes; "
                    f"add it or drop it from the schema."
                )
        for name in table.names:
            if name not in schema:
                raise InputError(
                    f"{table.source} has a column {name!r} that the schema does not describe; "
                    "describe it or drop it."
                )


# ------------------------------------------ one schema from two tables


def common_schema(real: Table, synthetic: Table) -> Schema:
    """A schema that fits both tables, read off their rows: as private as they are.

    Numbers and dates get bins that hold about equally many values (both tables weigh the same), one
    bin a value where there are few; categories are those of either table, and a value may be
    missing where one is in either.
    """
    for one, other in ((real, synthetic), (synthetic, real)):
        for name in one.names:
            if name not in other.columns:
                raise InputError(
                    f"{other.source} has no column {name!r}, which {within_sentence(one.source)} "
                    "has; both must have the same columns (or give a schema, where identifiers and "
                    "text may lack)."
                )
    kinds = _common_kinds(real, synthetic)
    return Schema(
        tuple(
            _common_attribute(name, kinds[name], real.columns[name], synthetic.columns[name])
            for name in real.names
        )
    )


def _common_kinds(real: Table, synthetic: Table) -> dict[str, str]:
    identifiers = {
        name
        for name, column in real.columns.items()
        if is_identifier(name) and tells_rows_apart(column)
    }
    drafts = [_draft_kinds(table, identifiers) for table in (real, synthetic)]
    kinds = {}
    for name in real.names:
        one, other = (draft.get(name) for draft in drafts)
        kind = _join_kinds(one, other)
        if kind is None:
            raise InputError(
                f"The column {name!r} holds {_PLURAL[one or '']} in {within_sentence(real.source)} "
                f"but {_PLURAL[other or '']} in {within_sentence(synthetic.source)}; fix one of "
                "them, or give a schema that says which is meant."
            )
        kinds[name] = kind
    return kinds


def _draft_kinds(table: Table, identifiers: Collection[str]) -> dict[str, str]:
    """The kinds of the columns that hold any value."""
    held = {name: column for name, column in table.columns.items() if column.kind != "empty"}
    found = {name: _kind_shown(column) for name, column in held.items()}
    return found | {name: "identifier" for name in held if name in identifiers}


_SPELLINGS = ({"false", "true"}, {"False", "True"}, {"FALSE", "TRUE"})


def _kind_shown(column: Column) -> str:
    """What all values of a column look like; for the owner of both tables, who may see that."""
    if column.kind != "text":
        return column.kind
    words = set(column.words) - {""}
    if words and any(words <= spelling for spelling in _SPELLINGS):
        return "boolean"
    return "categorical"


_PLURAL = {
    "categorical": "texts",
    "boolean": "truth values",
    "integer": "whole numbers",
    "real": "numbers",
    "date": "dates",
    "datetime": "points in time",
}


def _join_kinds(one: str | None, other: str | None) -> str | None:
    """The kind that holds the values of both; ``None`` where there is none."""
    if one is None or other is None:
        return one or other or "text"  # without a single value there is nothing to compare
    if one == other:
        return one
    pair = {one, other}
    if "identifier" in pair:
        return "identifier"
    for joint, kinds in _JOINT.items():
        if pair == kinds:
            return joint
    return None


_JOINT = {
    "real": {"integer", "real"},
    "datetime": {"date", "datetime"},
    "categorical": {"categorical", "boolean"},
}


def _common_attribute(name: str, kind: str, real: Column, synthetic: Column) -> Attribute:
    if kind == "identifier":
        return Identifier(name, kind)
    missing = None
    if any(column.missing is not None and column.missing.any() for column in (real, synthetic)):
        missing = ""
    if kind == "text":
        return Text(name, kind)
    if kind in ("categorical", "boolean"):
        words = sorted({word for column in (real, synthetic) for word in _words(column)})
        if len(words) > MAX_COMPARED_CATEGORIES:
            return Text(name, "text")
        return Category(name, "categorical", missing, tuple(words))
    held = [_present_values(column, kind) for column in (real, synthetic)]
    if kind == "integer" and any(np.abs(values).max(initial=0) > _EXACT for values in held):
        kind = "real"  # nanoseconds since 1970, say: floats are near enough to tell bins apart
    present = [values for values in held if len(values)]
    edges = _common_edges(present, whole=kind != "real")
    if any(
        len(values) < len(column) for values, column in zip(held, (real, synthetic), strict=True)
    ):
        missing = ""
    return Quantity(name, kind, missing, edges, equal_width=False)


def _words(column: Column) -> set[str]:
    if column.kind == "empty":
        return set()
    if column.kind == "boolean":
        return {"true", "false"}
    if column.missing is None:
        present = column.values
    else:
        present = column.values[column.missing == 0]
    return {column.words[place].strip() for place in np.unique(present)} - {""}


def _present_values(column: Column, kind: str) -> NDArray[np.float64]:
    """The finite values that are there, in the unit of the kind."""
    if column.kind == "empty":
        return np.empty(0)
    values = column.values.astype(np.float64) * (
        86400 if (column.kind, kind) == ("date", "datetime") else 1
    )
    present = np.isfinite(values)
    if column.missing is not None:
        present &= column.missing == 0
    return values[present]


def _common_edges(held: list[NDArray[np.float64]], *, whole: bool) -> tuple[float, ...]:
    """Edges of up to ``DEFAULT_BINS`` bins that hold about equally many values, each table weighing
    the same.
    """
    if not held:
        return (0, 1)
    values = np.concatenate(held)
    weights = np.concatenate([np.full(len(part), 1 / len(part)) for part in held])
    distinct, places = np.unique(values, return_inverse=True)
    if whole:
        starts, last = distinct, distinct[-1] + 1
    else:
        # Few numbers are told apart half-way between: the last bin includes its upper edge.
        starts, last = np.append(distinct[0], distinct[:-1] / 2 + distinct[1:] / 2), distinct[-1]
    if len(distinct) > DEFAULT_BINS:
        below = np.cumsum(np.bincount(places, weights)) / len(held)
        steps = np.arange(1, DEFAULT_BINS) / DEFAULT_BINS
        starts = np.unique(np.append(distinct[0], distinct[np.searchsorted(below, steps)]))
    edges = np.append(starts[starts < last], last)
    if len(edges) == 1:  # a real column that holds one value only
        edges = np.append(edges, edges[0] + max(1.0, abs(edges[0])))
    if whole:
        return tuple(int(edge) for edge in edges)
    return tuple(edges.tolist())


def within_sentence(source: str) -> str:
    """How a table is called inside a sentence."""
    return source[0].lower() + source[1:]
