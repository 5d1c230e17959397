"""What a schema, or a model, has no place for: values outside of its domain, column by column."""

from __future__ import annotations

from collections.abc import Iterable

from understudy.data.encoding import Outside, encode
from understudy.data.schema import Attribute, Schema
from understudy.data.tables import Table
from understudy.errors import InputError


def values_outside(table: Table, schema: Schema) -> tuple[Outside, ...]:
    """Values of the table that the schema's domains do not hold; most of a column first."""
    found = [
        outside
        for attribute in schema.modelled
        if attribute.name in table.columns
        for outside in _outside(table, attribute)
    ]
    return tuple(sorted(found, key=lambda outside: -outside.count))


def _outside(table: Table, attribute: Attribute) -> Iterable[Outside]:
    column = Table({attribute.name: table.columns[attribute.name]}, table.source)
    try:
        return encode(column, Schema((attribute,))).outside
    except InputError:  # some cell is of another kind: nothing of the column can be trusted
        remedy = f"the schema says {attribute.kind}, which not all cells are; fix it"
        return [Outside(attribute.name, table.rows, "nothing", remedy)]


def shares_outside(outside: Iterable[Outside], rows: int) -> dict[str, float]:
    """Per column that has any, the share of rows whose value lies outside."""
    shares: dict[str, float] = {}
    for found in outside:
        shares[found.column] = min(shares.get(found.column, 0.0) + found.count / rows, 1.0)
    return shares
