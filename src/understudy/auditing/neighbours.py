"""Worst-case pairs of neighbouring tables: one person more, or one row changed, where it shows
most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.data.frames import Frame
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.privacy.budget import Neighbours

Row = tuple[int, ...]


@dataclass(frozen=True)
class Pair:
    """Two tables that differ in one person.

    Attributes
    ----------
    table, other
        The tables, in any form that a synthesizer takes.
    schema
        What is public about both; without one the domain is discovered.
    neighbours
        The relation: in ``other`` there is one person more ("add_remove"), or one row is another
        ("replace").
    name
        What is special about them.
    """

    table: Frame
    other: Frame
    schema: Schema | None = None
    neighbours: Neighbours = "add_remove"
    name: str = "the given tables"


NEIGHBOUR_ROWS = 40
"""Rows of the tables: few, so that one row weighs much, and enough for a network to have
parents.
"""


def worst_pairs(neighbours: Neighbours, rows: int = NEIGHBOUR_ROWS) -> tuple[Pair, ...]:
    """The pairs of a relation, each on a table of about this many rows."""
    diagonal: list[Row] = [(place % 2,) * 4 for place in range(rows)]
    makers: tuple[tuple[str, Schema, list[Row], Row], ...] = (
        (
            "a constant column gains one value",
            _categories(2, 4),
            [(0, 0, 0, 0)] * rows,
            (1, 1, 1, 1),
        ),
        ("an empty cell gains its only row", _categories(2, 4), diagonal, (0, 1, 0, 1)),
        ("a unique category", _categories(8, 3), _spread(rows), (7, 7, 7)),
        ("an extreme value", _numbers(3), [(0, 0, 0)] * rows, (1_000_000, 99, 99)),
        (
            "a parent configuration with one row",
            _categories(2, 4),
            [(0, 0, 0, 1), (1, 0, 1, 0), (1, 1, 0, 0)] * (rows // 3),
            (0, 1, 1, 0),
        ),
    )
    return tuple(
        _pair(name, neighbours, schema, body, extra) for name, schema, body, extra in makers
    )


def extreme_pair(neighbours: Neighbours, rows: int = NEIGHBOUR_ROWS) -> Pair:
    """All rows alike, and one with extreme numbers."""
    [pair] = [one for one in worst_pairs(neighbours, rows) if one.name == "an extreme value"]
    return pair


def small_pair(
    neighbours: Neighbours, columns: int = 2, person_rows: int = 0, rows: int = NEIGHBOUR_ROWS
) -> Pair:
    """A pair for many runs: binary columns, half of the rows at either end, and the odd row joins
    one of the halves.

    With many rows every occupied cell is far from 0, so that no repair of negative counts hides
    anything.
    """
    body: list[Row] = [(place % 2,) * columns for place in range(rows)]
    if neighbours == "add_remove":
        name = "one row more at one end"
    else:
        name = "one row from end to end"
    schema, extra = _categories(2, columns), (1,) * columns
    if person_rows:
        return _person_pair(f"{person_rows} rows of one person", schema, body, extra, person_rows)
    return _pair(name, neighbours, schema, body, extra)


PERSON = "person"
"""The column that says whose row it is, in pairs of tables where people have several rows."""


def person_pairs(most: int, rows: int = NEIGHBOUR_ROWS) -> tuple[Pair, ...]:
    """In the other table a person is new, with more rows than may count, all alike: only ``most``
    of them do.
    """
    makers: tuple[tuple[str, list[Row]], ...] = (
        ("a constant column gains all rows of a person", [(0, 0, 0, 0)] * rows),
        (
            "an empty cell gains all rows of a person",
            [(place % 2, place % 2, 0, 0) for place in range(rows)],
        ),
    )
    pairs = [
        _person_pair(name, _categories(2, 4), body, (1, 0, 1, 1), most) for name, body in makers
    ]
    return (*pairs, extreme_person_pair(most, rows))


def extreme_person_pair(most: int, rows: int = NEIGHBOUR_ROWS) -> Pair:
    """The same, where all numbers of the person are extreme ones."""
    return _person_pair(
        "extreme values of a person",
        _numbers(3),
        [(0, 0, 0)] * rows,
        (1_000_000, 99, 99),
        most,
    )


def _person_pair(name: str, schema: Schema, body: list[Row], extra: Row, most: int) -> Pair:
    whose = [*range(len(body)), *[len(body)] * (most + 2)]
    known = Schema.from_dict(
        {"attributes": {PERSON: {"kind": "identifier"}, **schema.to_dict()["attributes"]}}
    )
    with_person = [
        (who, *row) for who, row in zip(whose, [*body, *[extra] * (most + 2)], strict=True)
    ]
    return Pair(
        table_of(known, with_person[: len(body)]), table_of(known, with_person), known, name=name
    )


def tiny_pair(neighbours: Neighbours) -> Pair:
    """A table of no row or of one: there is nothing for the odd row to hide behind."""
    if neighbours == "add_remove":
        body: list[Row] = []
    else:
        body = [(0, 0)]
    return _pair("the only row", neighbours, _categories(2, 2), body, (1, 1))


def refinement_pairs(neighbours: Neighbours, rows: int = 400) -> tuple[Pair, ...]:
    """Amounts in hundreds, and columns that may be missing: one row has an odd amount, an extreme
    one, nothing but missing cells, or an odd amount and missing cells.

    A loss is complete where all questions are asked, and the odd row changes all their answers. So
    there must be rows enough for a shape to be seen, and one row is replaced by one that lies in
    another class of each table: grid, cells, runs and missing cells.
    """
    schema = _amounts()
    makers: tuple[tuple[str, Row], ...] = (
        ("one amount beside the grid", (12_345, 0, 0, 0)),
        ("one extreme amount", (99_999, 0, 0, 0)),
        ("the only missing cells", (0, 9, 9, 9)),
        ("an extreme amount and the only missing cells", (99_999, 9, 9, 9)),
    )
    body = _amount_rows(rows)
    return tuple(_pair(name, neighbours, schema, body, extra) for name, extra in makers)


def refinement_person_pair(most: int, rows: int = 400) -> Pair:
    """The same, with all rows of a person beside the grid."""
    name, extra = "all amounts of a person beside the grid", (12_345, 9, 9, 9)
    return _person_pair(name, _amounts(), _amount_rows(rows), extra, most)


def _amounts() -> Schema:
    loose = {"kind": "integer", "min": 0, "max": 3, "missing": "9"}
    amount = {"kind": "integer", "min": 0, "max": 99_999}
    return _schema({"amount": amount, **dict.fromkeys("abc", loose)})


def _amount_rows(rows: int) -> list[Row]:
    return [(100 * (place % 300), *[place % 4] * 3) for place in range(rows)]


def _numbers_of_groups(rows: int) -> tuple[Schema, list[Row]]:
    schema = _schema(
        {
            "number": {"kind": "integer", "min": 0, "max": 9, "bins": 5},
            "group": {"kind": "categorical", "values": [0, 1]},
        }
    )
    return schema, [(8 * (place % 2), place // 2 % 2) for place in range(rows)]


def label_pair(rows: int = NEIGHBOUR_ROWS) -> Pair:
    """The odd row has a large number, or is of the other group: conditions on the one and on the
    other that hold for it have nothing in common.
    """
    schema, body = _numbers_of_groups(rows)
    return _two("from number to group", "replace", schema, [*body, (9, 0)], [*body, (0, 1)])


def number_pair(neighbours: Neighbours, person_rows: int = 0, rows: int = NEIGHBOUR_ROWS) -> Pair:
    """Numbers of two groups, half of them at either end; the odd row has the largest."""
    schema, body = _numbers_of_groups(rows)
    name = "one number more at one end"
    if person_rows:
        return _person_pair(f"{name}, by person", schema, body, (9, 1), person_rows)
    return _pair(name, neighbours, schema, body, (9, 1))


def rank_pair(neighbours: Neighbours, rows: int = 400) -> Pair:
    """Numbers at the top, where the odd row joins them.

    Under replace as many numbers at the bottom and at the top, two next to the top, and none at the
    many values between. The odd row goes from bottom to top: the rank of the top comes nearer to
    the median by one, and that of all empty values gets farther by one, so that the odds of the top
    change by twice the sensitivity.
    """
    if neighbours == "add_remove":
        schema = _schema({"number": {"kind": "integer", "min": 0, "max": 9, "bins": 5}})
        body: list[Row] = [(8,)] * rows
        return _pair("one number more at the top", neighbours, schema, body, (9,))
    schema = _schema({"number": {"kind": "integer", "min": 0, "max": 22, "bins": 23}})
    half = rows // 2
    body = [*[(0,)] * (half - 1), *[(21,)] * 2, *[(22,)] * half]
    return _two("from bottom to top", neighbours, schema, [*body, (0,)], [*body, (22,)])


# --------------------------------------------------------------------------- pairs for choices

Cell = tuple[int, int]


@dataclass(frozen=True)
class _Move:
    """What one row does to the table of two attributes: it leaves a cell, if it was there, and
    enters another.
    """

    rest: Sequence[Cell]
    leaves: Cell | None
    enters: Cell

    def reverse(self) -> _Move:
        assert self.leaves is not None
        return _Move(self.rest, self.enters, self.leaves)


def choice_pair(
    score: str,
    neighbours: Neighbours,
    two_values: bool = False,
    rows: int = 400,
    person_rows: int = 0,
) -> Pair:
    """A pair for choices: one row lifts the score of (a, b) and lowers that of (c, d), each about
    as far as can be.

    ``two_values``: no attribute has more; that matters for I, whose sensitivity under replace is
    smaller then. ``person_rows``: it is not one row that is new but one person, with more rows than
    these, which may count.
    """
    if neighbours == "replace":
        up = _moves_most(score, two_values, rows)
        down = up.reverse()
    else:
        up, down = _lifts(rows), _lowers(score, rows, max(person_rows, 1))
    rest: list[Row] = [(*one, *two) for one, two in zip(up.rest, down.rest, strict=True)]
    if up.leaves is None or down.leaves is None:
        before: list[Row] = []
    else:
        before = [(*up.leaves, *down.leaves)]
    extra = (*up.enters, *down.enters)
    schema = _categories(1 + max(max(row) for row in [*rest, *before, extra]), 4)
    name = f"score {score} of one pair up, of another down"
    if person_rows:
        return _person_pair(
            f"{name}, {person_rows} rows of one person", schema, rest, extra, person_rows
        )
    return _two(name, neighbours, schema, [*rest, *before], [*rest, extra])


def _lifts(rows: int) -> _Move:
    """Two constants gain the only row in which both differ: every score rises by (nearly) all that
    it can.

    n R goes from 0 to 2 n / (n + 1), n I from 0 to the whole entropy of the odd row, n F by 1/2:
    two values of the parent now tell the child's.
    """
    return _Move([(0, 0)] * rows, None, (1, 1))


def _lowers(score: str, rows: int, copies: int) -> _Move:
    """A new row, in this many copies, that lowers a score by (nearly) all that it can."""
    if score == "R":
        # Value 1 of either attribute comes only with value 0 of the other, in the square root of n
        # rows each: such events count just more often than independence expects. A row with both
        # values 1 takes from both of them.
        return _Move(_rare_values(rows, copies), None, (1, 1))
    # F: each parent value tells the child, in exactly half of the rows; the new row contradicts and
    # both halves are too small now: -1/2 each. I: the new row is in an empty cell of the two most
    # frequent values that leave one empty, which costs log(n) - 2 and more, close to log(n) for
    # many rows.
    half = rows // 2
    return _Move([(0, 0)] * half + [(1, 1)] * (rows - half), None, (0, 1))


def _moves_most(score: str, two_values: bool, rows: int) -> _Move:
    """A replaced row that lifts a score by (nearly) its sensitivity under replace; the other way
    round it lowers it.
    """
    if score == "R":
        # The row that lowers R by 2 when it comes, see above, goes: and where it comes to nobody
        # else has either value, which lifts R by 1 more.
        return _Move(_rare_values(rows - 1), (1, 1), (2, 2))
    if score == "I" and not two_values:
        # The row leaves the one cell that blurs two halves, and comes to nobody else's values: with
        # n odd the bound of the paper's lemma 4.1 is attained exactly.
        half = rows // 2
        return _Move([(0, 1)] * half + [(1, 0)] * half, (0, 0), (2, 2))
    # The parent is constant but for the row that now tells the child: attained exactly by F, and by
    # I with two values.
    return _Move([(1, 1)] * (rows - 1), (0, 1), (0, 0))


def _rare_values(rows: int, copies: int = 1) -> list[Cell]:
    rare = math.isqrt(rows * copies)
    return [(1, 0)] * rare + [(0, 1)] * rare + [(0, 0)] * (rows - 2 * rare)


# --------------------------------------------------------------------------- tables


def _pair(name: str, neighbours: Neighbours, schema: Schema, body: list[Row], extra: Row) -> Pair:
    """``body`` against ``body`` with one row more, or with its first row replaced."""
    if neighbours == "add_remove":
        other = [*body, extra]
    else:
        other = [extra, *body[1:]]
    return _two(name, neighbours, schema, body, other)


def _two(
    name: str, neighbours: Neighbours, schema: Schema, body: Sequence[Row], other: Sequence[Row]
) -> Pair:
    return Pair(table_of(schema, body), table_of(schema, other), schema, neighbours, name)


def table_of(schema: Schema, rows: Sequence[Row]) -> Table:
    """A table of integers, one column an attribute."""
    values = np.array(rows, dtype=np.int64).reshape(len(rows), len(schema))
    return Table(
        {name: Column("integer", values[:, place]) for place, name in enumerate(schema.names)}
    )


def _spread(rows: int) -> list[Row]:
    return [(place % 7, place % 7, (place + 1) % 7) for place in range(rows)]


def _schema(attributes: dict[str, Any]) -> Schema:
    return Schema.from_dict({"attributes": attributes})


def _categories(values: int, columns: int) -> Schema:
    return _schema(
        {
            name: {"kind": "categorical", "values": list(range(values))}
            for name in "abcdefgh"[:columns]
        }
    )


def _numbers(columns: int) -> Schema:
    return _schema(
        {
            name: {"kind": "integer", "min": 0, "max": 99, "bins": 10}
            for name in "abcdefgh"[:columns]
        }
    )
