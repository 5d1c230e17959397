"""Values to small integer codes, and codes back to values.

Encoding is total: every cell gets a code (see :mod:`understudy.data.cells`), so that nothing about
the run tells whether some row held an unexpected one. Values outside the domain count at its edge;
how many there were is told to the owner (:class:`Outside`) and to nobody else.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.attributes import BOOLEAN_VALUES
from understudy.data.cells import CellEncoder, CodeColumn, EncodedColumn
from understudy.data.cells import Outside as Outside
from understudy.data.columns import in_words
from understudy.data.fakes import fake_texts, number_texts
from understudy.data.inside import draw_inside
from understudy.data.schema import Attribute, Category, Identifier, Quantity, Schema, Text
from understudy.data.tables import Column, Table
from understudy.errors import InputError


@dataclass(frozen=True)
class Coded:
    """The rows of a table as codes: as private as the table itself."""

    schema: Schema
    codes: Mapping[str, CodeColumn]
    rows: int
    outside: tuple[Outside, ...]
    table: Table | None = None
    """The rows that the codes are of: sums need the numbers themselves."""

    def count(self, name: str) -> NDArray[np.int64]:
        """How many rows have each code of an attribute."""
        if isinstance(self.codes, EncodedColumns):
            return self.codes.columns[name].count()
        found = np.bincount(self.codes[name], minlength=self.schema[name].size)
        return found.astype(np.int64)

    def forget_codes(self) -> None:
        """Give back the room of codes that can be made again."""
        if isinstance(self.codes, EncodedColumns):
            for column in self.codes.columns.values():
                column.forget()


class EncodedColumns(Mapping[str, CodeColumn]):
    """The codes of each attribute, made when they are asked for: what is counted by itself, or only
    looked at for values outside its domain, needs none.
    """

    def __init__(self, columns: Mapping[str, EncodedColumn]) -> None:
        self.columns = columns

    def __getitem__(self, name: str) -> CodeColumn:
        return self.columns[name].codes

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def encode(table: Table, schema: Schema) -> Coded:
    """Turn a table into codes; its columns must be those of the schema, in any order."""
    schema = schema.order_as(table.names, table.source)
    if not schema.modelled:
        raise InputError(
            f"{table.source} has no column to model: the schema holds only identifiers and text."
        )
    columns = {
        attribute.name: EncodedColumn(attribute, table.columns[attribute.name])
        for attribute in schema.modelled
    }
    outside = itertools.chain.from_iterable(column.outside for column in columns.values())
    return Coded(schema, EncodedColumns(columns), table.rows, tuple(outside), table)


def quantity_values(attribute: Quantity, table: Table) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The values of a quantity in its unit, not cut into bins, and where they are missing or cannot
    be read: as private as the table.
    """
    encoder = CellEncoder(attribute, table.columns[attribute.name])
    numbers = encoder.numbers()
    return numbers, encoder.absent | encoder.unreadable


# --------------------------------------------------------------------------- back to values


def decode(
    codes: Mapping[str, NDArray[Any]],
    schema: Schema,
    rng: np.random.Generator,
    rows: int,
    first: int = 0,
    *,
    even: bool = False,
) -> Table:
    """Turn codes back into a table with the columns of the schema.

    A bin yields a value drawn from what is known of its inside
    (:mod:`understudy.data.inside`), uniformly where that is nothing.

    Parameters
    ----------
    codes
        For each modelled attribute one code per row.
    schema
        What the codes mean.
    rng
        Randomness for the values inside bins.
    rows
        How many rows there are.
    first
        The number of the first row, for identifiers.
    even
        Whether the rows of a bin share out what lies in it, or each is drawn by itself.
    """
    columns: dict[str, Column] = {}
    for attribute in schema:
        if isinstance(attribute, Identifier):
            columns[attribute.name] = _identifiers(attribute, first, rows)
        elif isinstance(attribute, Text):
            texts = fake_texts(attribute, rng, rows)
            if texts is not None:
                columns[attribute.name] = texts
        elif isinstance(attribute, Quantity):
            column = _decode_quantity(attribute, codes[attribute.name], rng, even=even)
            if attribute.kind == "time":  # no library has a type for it that all others read
                column = in_words(column, "time")
            columns[attribute.name] = column
        elif isinstance(attribute, Category):
            columns[attribute.name] = _decode_category(attribute, codes[attribute.name])
    return Table(columns, "The synthetic table")


def _identifiers(attribute: Identifier, first: int, rows: int) -> Column:
    numbers = np.arange(first + 1, first + rows + 1, dtype=np.int64)
    if attribute.pattern is None:
        return Column("integer", numbers)
    words = number_texts(attribute.pattern, numbers)
    return Column("text", np.arange(rows, dtype=np.uint32), words)


def _decode_quantity(
    attribute: Quantity, codes: NDArray[Any], rng: np.random.Generator, *, even: bool
) -> Column:
    if attribute.refined:
        values: NDArray[Any] = attribute.inside.draw(codes, rng, even=even)
    else:
        values = _draw_uniformly(attribute, codes, rng, even=even)
    column = make_quantity_column(attribute, values)
    return _with_missing(column, attribute, codes)


def make_quantity_column(attribute: Quantity, values: NDArray[Any]) -> Column:
    """A column of drawn values. Multiples of a whole step are written without a point, unless a
    format shows decimals.
    """
    kind = attribute.kind
    if kind == "real" and values.dtype.kind == "i":
        if attribute.format:
            values = values.astype(np.float64)
        else:
            kind = "integer"
    return Column(kind, values, mark=attribute.missing or "", format=attribute.format or "")


def _draw_uniformly(
    attribute: Quantity, codes: NDArray[Any], rng: np.random.Generator, *, even: bool
) -> NDArray[Any]:
    """Values where nothing is known of the inside of bins: all of a bin are equally likely."""
    # "missing" gets a bin of its own here, so that one lookup serves all rows.
    edges = np.array([*attribute.edges, attribute.edges[-1]], dtype=np.float64)
    low, width = edges[:-1], np.diff(edges)
    if attribute.whole and width[: attribute.bins].max() == 1:
        return low.astype(np.int64)[codes]
    inside = draw_inside(rng, codes, attribute, even=even) * width[codes]
    if attribute.whole:
        # Both parts are whole and below 2^53, so the sum is exact and stays below the next edge.
        return low.astype(np.int64)[codes] + inside.astype(np.int64)
    unit = float(10**attribute.places)
    inside += low[codes]
    # Rounding, here or in the sum above, must not carry a value over an edge of its bin.
    below = np.nextafter(edges[1:], -np.inf)
    return np.clip(np.floor(inside * unit) / unit, low[codes], below[codes])


def _decode_category(attribute: Category, codes: NDArray[Any]) -> Column:
    domain = attribute.domain
    if attribute.kind == "boolean" and domain == BOOLEAN_VALUES:
        column = Column("boolean", codes == 1, mark=attribute.missing or "")
    elif isinstance(domain[0], str):
        # The word for "missing" is never looked at; it keeps the code in range.
        words = tuple(str(value) for value in domain) + (
            ("",) if attribute.missing is not None else ()
        )
        column = Column("text", codes, words, mark=attribute.missing or "")
    else:
        whole = all(isinstance(value, int) for value in domain)
        numbers = np.array([*domain, 0], dtype=np.int64 if whole else np.float64)
        column = Column(
            "integer" if whole else "real", numbers[codes], mark=attribute.missing or ""
        )
    return _with_missing(column, attribute, codes)


def _with_missing(column: Column, attribute: Attribute, codes: NDArray[Any]) -> Column:
    # Also where no row happens to be without a value: the type of a column in a frame depends on
    # it.
    if attribute.missing is None:
        return column
    return replace(column, missing=(codes == attribute.values_size).astype(np.uint8))
