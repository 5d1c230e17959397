"""Worst-case pairs of neighbouring tables: one person more, or one person changed, where it shows most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.curator.budget import Neighbours
from understudy.schema import Schema
from understudy.tables import Column, Table

Row = tuple[int, ...]


@dataclass(frozen=True)
class Pair:
    """Two tables that differ in one person.

    Attributes
    ----------
    name
        What is special about them.
    neighbours
        The relation: in ``other`` one row more ("add_remove") or one row changed ("replace").
    table, other
        The tables.
    schema
        What is public about both.
    """

    name: str
    neighbours: Neighbours
    table: Table
    other: Table
    schema: Schema


ROWS = 40
"""Rows of the tables: few, so that one row weighs much, and enough for a network to have parents."""


def worst_pairs(neighbours: Neighbours, rows: int = ROWS) -> tuple[Pair, ...]:
    """The pairs of a relation, each on a table of about so many rows."""
    diagonal: list[Row] = [(place % 2,) * 4 for place in range(rows)]
    makers: tuple[tuple[str, Schema, list[Row], Row], ...] = (
        ("a constant column gains one value", _binary(4), [(0, 0, 0, 0)] * rows, (1, 1, 1, 1)),
        ("an empty cell gains its only row", _binary(4), diagonal, (0, 1, 0, 1)),
        ("a unique category", _categories(8, 3), _spread(rows), (7, 7, 7)),
        ("an extreme value", _numbers(3), [(0, 0, 0)] * rows, (1_000_000, 99, 99)),
        (
            "a parent configuration with one row",
            _binary(4),
            [(0, 0, 0, 1), (1, 0, 1, 0), (1, 1, 0, 0)] * (rows // 3),
            (0, 1, 1, 0),
        ),
    )
    return tuple(_pair(name, neighbours, schema, body, extra) for name, schema, body, extra in makers)


def small_pair(neighbours: Neighbours) -> Pair:
    """A pair for many runs: two binary columns, one row that differs from all others in both."""
    return _pair("a constant column gains one value", neighbours, _binary(2), [(0, 0)] * 40, (1, 1))


Cells = tuple[int, int, int, int]

_MOST: dict[tuple[str, Neighbours], tuple[tuple[Cells, int, int], tuple[Cells, int, int]]] = {
    ("R", "add_remove"): (((0, 0, 0, 40), -1, 0), ((0, 5, 6, 29), -1, 0)),
    ("R", "replace"): (((0, 1, 0, 39), 1, 0), ((0, 1, 39, 0), 1, 0)),
    ("F", "add_remove"): (((0, 0, 0, 40), -1, 0), ((0, 1, 20, 19), -1, 0)),
    ("F", "replace"): (((0, 1, 0, 39), 1, 0), ((0, 1, 20, 19), 1, 0)),
    ("I", "add_remove"): (((0, 0, 0, 40), -1, 0), ((0, 20, 20, 0), -1, 0)),
    ("I", "replace"): (((0, 1, 0, 39), 1, 0), ((0, 1, 39, 0), 1, 0)),
}
"""For each score the 2 x 2 tables of 40 rows that one row lifts most, and lowers most: counts, which cell the row
leaves (-1: it is new) and which it enters. Found by trying all tables of 40 rows."""


def choice_pair(score: str, neighbours: Neighbours) -> Pair:
    """A pair for choices: one row lifts the score of (a, b) and lowers that of (c, d), each as far as can be."""
    (up, up_from, up_to), (down, down_from, down_to) = _MOST[score, neighbours]
    left, right = _rows_of(up, up_from), _rows_of(down, down_from)
    body = [(*one, *two) for one, two in zip(left, right, strict=True)]
    before = [] if up_from < 0 else [(*_cell(up_from), *_cell(down_from))]
    after = (*_cell(up_to), *_cell(down_to))
    name = f"one score {score} up, one down"
    return Pair(name, neighbours, *_two(_binary(4), [*body, *before], [*body, after]))


def _rows_of(counts: Cells, without: int) -> list[tuple[int, int]]:
    return [_cell(cell) for cell, count in enumerate(counts) for _ in range(count - (cell == without))]


def _cell(place: int) -> tuple[int, int]:
    return place // 2, place % 2


def _pair(name: str, neighbours: Neighbours, schema: Schema, body: list[Row], extra: Row) -> Pair:
    """``body`` against ``body`` with one row more, or with its first row replaced."""
    other = [*body, extra] if neighbours == "add_remove" else [extra, *body[1:]]
    return Pair(name, neighbours, *_two(schema, body, other))


def _two(schema: Schema, body: Sequence[Row], other: Sequence[Row]) -> tuple[Table, Table, Schema]:
    return table_of(schema, body), table_of(schema, other), schema


def table_of(schema: Schema, rows: Sequence[Row]) -> Table:
    """A table of integers, one column an attribute."""
    values = np.array(rows, dtype=np.int64).reshape(len(rows), len(schema))
    return Table({name: Column("integer", values[:, place]) for place, name in enumerate(schema.names)})


def _spread(rows: int) -> list[Row]:
    return [(place % 7, place % 7, (place + 1) % 7) for place in range(rows)]


def _schema(attributes: dict[str, Any]) -> Schema:
    return Schema.from_dict({"attributes": attributes})


def _binary(columns: int) -> Schema:
    return _categories(2, columns)


def _categories(values: int, columns: int) -> Schema:
    return _schema({name: {"kind": "categorical", "values": list(range(values))} for name in "abcdefgh"[:columns]})


def _numbers(columns: int) -> Schema:
    return _schema({name: {"kind": "integer", "min": 0, "max": 99, "bins": 10} for name in "abcdefgh"[:columns]})
