"""How tables and schemas look in a notebook: small HTML tables, everything in them escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.data.schema import Attribute, Schema
    from understudy.data.tables import Column, Table

MAX_SHOWN_ROWS = 10
"""Rows of a table that are shown."""

MAX_COLUMNS = 30
MAX_SHOWN_TEXT = 60
"""Characters of a cell."""

MAX_SHOWN_VALUES = 6
"""Values of a category that are listed."""


def html_table(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    longest: int = MAX_SHOWN_TEXT,
) -> str:
    """A titled table; every text is escaped, and those beyond ``longest`` characters are cut."""
    head = "".join(f"<th>{_cell(heading, longest)}</th>" for heading in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(value, longest)}</td>" for value in row) + "</tr>"
        for row in rows
    )
    return (
        f"<div><b>{html.escape(title)}</b>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(value: Any, longest: int) -> str:
    text = "".join(c if c.isprintable() else "�" for c in str(value))
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return html.escape(text)


def table_html(table: Table) -> str:
    """The first rows of a table."""
    names = table.names[:MAX_COLUMNS]
    shown = min(table.rows, MAX_SHOWN_ROWS)
    cells = [_texts(table.columns[name], shown) for name in names]
    title = f"{table.rows:,} rows, {len(table.names):,} columns"
    if table.rows > shown:
        title += f"; the first {shown} rows"
    if len(table.names) > len(names):
        title += f" and {len(names)} columns"
    return html_table(title, names, zip(*cells, strict=True))


def _texts(column: Column, rows: int) -> list[str]:
    """The first values of a column as they would be written."""
    from understudy.data.schema import Quantity

    found = []
    for row in range(rows):
        value = column.values[row]
        if column.missing is not None and column.missing[row]:
            found.append(column.mark)
        elif column.kind == "text":
            found.append(column.words[int(value)])
        elif column.kind in ("date", "datetime"):
            quantity = Quantity("", column.kind, format=column.format or None)
            found.append(quantity.write(float(value)))
        else:
            found.append(str(value))
    return found


def schema_html(schema: Schema) -> str:
    """What each column can hold."""
    rows = [
        (attribute.name, attribute.kind, domain_of(attribute), _missing(attribute))
        for attribute in schema
    ]
    return html_table(
        f"Schema of {len(rows):,} columns", ("column", "kind", "domain", "missing"), rows
    )


def domain_of(attribute: Attribute) -> str:
    """The values of an attribute in a few words."""
    from understudy.data.schema import Category, Quantity, Text

    if isinstance(attribute, Quantity):
        last = attribute.edges[-1]
        if attribute.whole:
            last -= 1
        bounds = f"{attribute.write(attribute.edges[0])} to {attribute.write(last)}"
        return f"{bounds}, bins: {attribute.bins:,}"
    if isinstance(attribute, Category):
        labels = [attribute.label(code) for code in range(attribute.values_size)]
        more = ""
        if len(labels) > MAX_SHOWN_VALUES:
            more = f" and {len(labels) - MAX_SHOWN_VALUES:,} more"
        return ", ".join(labels[:MAX_SHOWN_VALUES]) + more
    if isinstance(attribute, Text):
        return "not read"
    return "made for every row"


def _missing(attribute: Attribute) -> str:
    if attribute.missing is None:
        return ""
    return attribute.missing or "an empty cell"
