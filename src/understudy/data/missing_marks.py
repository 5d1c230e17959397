"""Marks of the owner's own for missing values: cells that hold one are read as empty ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from understudy.data.columns import Column, Table
from understudy.data.sql import literal, quote_name


def write_marked_columns(
    kinds: Mapping[str, str],
    marks: Sequence[str],
    *,
    quote: Callable[[str], str] = quote_name,
    text: Callable[[str], str] = literal,
) -> str:
    """The columns of a relation, in SQL: NULL where a cell holds a mark.

    Parameters
    ----------
    kinds
        The names of the columns with their kinds.
    marks
        What stands for a missing value.
    quote, text
        How names and texts are written.
    """
    return ", ".join(_mark_sql(quote(name), kind, marks, text) for name, kind in kinds.items())


def _mark_sql(name: str, kind: str, marks: Sequence[str], text: Callable[[str], str]) -> str:
    if kind == "text":
        found = f"trim({name}) IN ({', '.join(text(mark) for mark in marks)})"
    else:
        numbers = _numbers(marks)
        found = f"{name} IN ({', '.join(map(repr, numbers))})"
        if kind not in ("integer", "real") or not numbers:
            return f"{name} AS {name}"
    if not marks:
        return f"{name} AS {name}"
    return f"CASE WHEN {found} THEN NULL ELSE {name} END AS {name}"


def without_marks(table: Table, marks: Sequence[str]) -> Table:
    """The same for a table in memory."""
    if not marks:
        return table
    columns = {name: _without_marks(column, marks) for name, column in table.columns.items()}
    return replace(table, columns=columns)


def _without_marks(column: Column, marks: Sequence[str]) -> Column:
    if column.kind == "text":
        words = np.array([word.strip(" ") in marks for word in column.words], dtype=bool)
        found = words[column.values]
    elif column.kind in ("integer", "real"):
        found = np.isin(column.values, _numbers(marks))
    else:
        return column
    if column.missing is not None:
        found |= column.missing > 0
    if not found.any():
        return column
    return replace(column, missing=found.astype(np.uint8))


def _numbers(marks: Sequence[str]) -> list[float]:
    numbers = []
    for mark in marks:
        try:
            number = float(mark)
        except ValueError:
            continue
        if math.isfinite(number):
            numbers.append(number)
    return numbers
