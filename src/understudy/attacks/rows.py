"""Rows as codes: picking some, grouping equal ones, and how far apart two of them are.

The distance between two rows is a number of attributes: one for each category that differs, and for
attributes with an order the share of the whole range that lies between (bins counted). A missing
value is a whole attribute away from any other. Distances are kept in thousandths, as whole numbers,
so that equal ones are exactly equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.data.encoding import Coded
from understudy.data.schema import Attribute, Category, Quantity
from understudy.models.sampling import placing_steps

Ints = NDArray[np.int64]

UNIT_DISTANCE = 1000
"""The distance of two categories that differ."""

FEWEST, MOSTLY, NEARLY_ALL = 20, 0.5, 0.9
"""The least number of different rows, the least share of originals that are like no other, and the
least share of equal rows at which rows are called copies.
"""


def pick_rows(coded: Coded, places: Ints) -> Coded:
    """Some of the rows."""
    codes = {name: column[places] for name, column in coded.codes.items()}
    return Coded(coded.schema, codes, len(places), ())


def sample_rows(coded: Coded, most: int, rng: np.random.Generator) -> Coded:
    """A uniform sample of at most this many rows."""
    if coded.rows <= most:
        return coded
    return pick_rows(coded, np.sort(rng.choice(coded.rows, most, replace=False)))


def join_rows(one: Coded, other: Coded) -> Coded:
    """The rows of both."""
    codes = {
        name: np.concatenate([column, other.codes[name]]) for name, column in one.codes.items()
    }
    return Coded(one.schema, codes, one.rows + other.rows, ())


def groups(tables: Sequence[Coded], names: Sequence[str]) -> tuple[list[Ints], int]:
    """For each table the number of each row's group, and how many groups there are: equal codes,
    equal group.
    """
    first = tables[0]
    found = np.zeros(sum(table.rows for table in tables), dtype=np.int64)
    bound = 1
    for name in names:
        size = first.schema[name].size
        if bound * size >= 1 << 62:
            found = np.unique(found, return_inverse=True)[1]
            bound = int(found.max(initial=0)) + 1
        found = found * size + np.concatenate([table.codes[name] for table in tables])
        bound *= size
    found = np.unique(found, return_inverse=True)[1].astype(np.int64)
    ends = np.cumsum([table.rows for table in tables])[:-1]
    return np.split(found, ends), int(found.max(initial=-1)) + 1


def look_copied(rows: Ints, of: Ints) -> bool:
    """Whether nearly all rows equal one of the others, though these are mostly unlike each other;
    all by their groups.

    A new person equals a row about as often as a row equals another one (Good 1953): where rows are
    mostly unlike each other, seldom. Rows that come again and again count once, and of very few
    nothing is said.
    """
    different = np.unique(rows)
    if len(different) < FEWEST:
        return False
    values, counts = np.unique(of, return_counts=True)
    lone = int((counts == 1).sum()) / len(of)
    return lone > MOSTLY and float(np.isin(different, values).mean()) >= NEARLY_ALL


def has_order(attribute: Attribute) -> bool:
    """Whether the values of an attribute have an order."""
    return isinstance(attribute, Quantity) or (
        isinstance(attribute, Category) and attribute.ordered
    )


def distances(people: Coded, pool: Coded, names: Sequence[str]) -> Iterator[NDArray[np.int32]]:
    """For each of the people the distance to every row of the pool; the array is filled again each
    time.
    """
    attributes = [pool.schema[name] for name in names]
    columns = [pool.codes[name] for name in names]
    away = np.empty(pool.rows, dtype=np.int32)
    for row in range(people.rows):
        away[:] = 0
        for attribute, column in zip(attributes, columns, strict=True):
            costs = _costs(attribute, int(people.codes[attribute.name][row]))
            placing_steps(len(column)).add_places(column, costs, away)
        yield away


def _costs(attribute: Attribute, code: int) -> NDArray[np.int32]:
    """The distance from a code to every code of its attribute."""
    last = attribute.values_size - 1
    costs = np.full(attribute.size, UNIT_DISTANCE, dtype=np.int32)
    if has_order(attribute) and code <= last and last > 0:
        costs[: last + 1] = np.abs(np.arange(last + 1) - code) * UNIT_DISTANCE // last
    costs[code] = 0
    return costs
