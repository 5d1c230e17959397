"""Values that keep the rules: drawn again inside their bins where decoded rows break one, and
formulas computed.

Bins are chosen so that the rules leave room in them (:mod:`understudy.models.constraining`), yet
two values drawn by themselves inside overlapping bins may stand in the wrong order. Such rows get
new values for all columns that the broken rules tie together, until the rules hold: that is the
distribution inside the bins, given the rules. After ``DRAWS`` tries in vain, which a row meets with
probability 2^-24 where half of the values would do, values are drawn evenly from the bounds that
the rules leave; then column after column; and at last those values are taken that showed the bins
to have room.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.expressions import Numbers
from understudy.data.grids import draw_inside
from understudy.data.room import Boxes, place, search
from understudy.data.rules import Rules
from understudy.data.schema import Attribute, Computed, Quantity, Schema
from understudy.data.tables import Column, Table

DRAWS = 24

_WRITABLE = {"date": (-719_162.0, 2_932_896.0), "datetime": (-62_135_596_800.0, 253_402_300_799.0)}
"""The first and last day or second that a calendar of four digits has."""

NamedCodes = Mapping[str, NDArray[Any]]


def satisfy(
    table: Table, codes: NamedCodes, schema: Schema, rules: Rules, rng: np.random.Generator
) -> Table:
    """A decoded table in which every row keeps the rules, and with its computed columns.

    Parameters
    ----------
    table
        The decoded rows.
    codes
        Their codes, which leave room for the rules.
    schema
        What the columns are; its formulas are computed.
    rules
        What must hold in every row.
    rng
        Randomness for values inside bins.
    """
    columns = dict(table.columns)
    for group in rules.groups:
        if group.loose:
            columns |= _redraw_group(columns, codes, group, rng)
    if schema.constraints is None or not schema.constraints.formulas:
        return Table(columns, table.source)
    values = {a.name: column_numbers(columns[a.name], a) for a in schema if a.name in columns}
    for formula in schema.constraints.formulas:
        attribute = schema[formula.name]
        assert isinstance(attribute, Computed)
        numbers = formula.expression.evaluate({name: values[name] for name in formula.inputs})
        columns[formula.name] = _write_computed(attribute, numbers)
        values[formula.name] = column_numbers(columns[formula.name], attribute)
    ordered = {a.name: columns[a.name] for a in schema if a.name in columns}
    return Table(ordered, table.source)


def column_numbers(column: Column, attribute: Attribute) -> Numbers:
    """The values of a column as numbers; NaN where they are missing or none."""
    if column.kind in ("text", "boolean"):
        return np.full(len(column), np.nan)
    numbers = column.values.astype(np.float64)
    if column.missing is not None:
        numbers = np.where(column.missing > 0, np.nan, numbers)
    return numbers


def _redraw_group(
    columns: Mapping[str, Column], codes: NamedCodes, rules: Rules, rng: np.random.Generator
) -> dict[str, Column]:
    """The columns of a group of rules, with new values in the rows that break one."""
    own = {name: codes[name] for name in rules.names}
    values = {
        name: column_numbers(columns[name], rules.schema[name]).copy() for name in rules.names
    }
    broken = np.flatnonzero(~rules.holds(values, own))
    if not len(broken):
        return {}
    drawn = _draw(rules, {name: column[broken] for name, column in own.items()}, rng)
    found = {}
    for name in rules.loose:
        column = columns[name]
        renewed = column.values.copy()
        present = own[name][broken] < rules.schema[name].values_size
        renewed[broken[present]] = drawn[name][present].astype(renewed.dtype)
        found[name] = replace(column, values=renewed)
    return found


def _draw(rules: Rules, codes: NamedCodes, rng: np.random.Generator) -> dict[str, Numbers]:
    """Values for rows of given codes that keep the rules."""
    values = {name: grid.lowest[codes[name]] for name, grid in rules.grids.items()}
    left = np.arange(len(next(iter(codes.values()))))
    for attempt in range(2 * DRAWS + 2):
        here = {name: column[left] for name, column in codes.items()}
        if attempt < DRAWS:
            drawn = _draw_freely(rules, here, rng)
            good = rules.holds(drawn, here)
        elif attempt < 2 * DRAWS:
            good, drawn = search(rules, here, lambda boxes: _draw_in_boxes(boxes, rng))
        elif attempt == 2 * DRAWS:
            good, drawn = search(rules, here, lambda boxes: _draw_one_by_one(boxes, rng))
        else:
            good, drawn = place(rules, here)
        for name, numbers in drawn.items():
            values[name][left[good]] = numbers[good]
        left = left[~good]
        if not len(left):
            return values
    raise RuntimeError("rows were drawn whose bins leave the constraints no room")


def _draw_freely(rules: Rules, codes: NamedCodes, rng: np.random.Generator) -> dict[str, Numbers]:
    """As decoding does, each column by itself."""
    values = {name: grid.lowest[codes[name]] for name, grid in rules.grids.items()}
    for name in rules.loose:
        attribute = rules.schema[name]
        assert isinstance(attribute, Quantity)
        present = codes[name] < attribute.values_size
        values[name][present] = draw_inside(attribute, codes[name][present], rng)
    return values


def _draw_in_boxes(boxes: Boxes, rng: np.random.Generator) -> Iterator[dict[str, Numbers]]:
    """Evenly inside the bounds that the rules leave."""
    values = dict(boxes.low)
    for name in boxes.rules.loose:
        grid = boxes.rules.grids[name]
        values[name] = grid.draw_between(boxes.low[name], boxes.high[name], rng)
    yield values


def _draw_one_by_one(boxes: Boxes, rng: np.random.Generator) -> Iterator[dict[str, Numbers]]:
    """Column after column, each evenly inside what the ones before leave of its bounds."""
    values = dict(boxes.low)
    for name in boxes.rules.loose:
        grid = boxes.rules.grids[name]
        values[name] = grid.draw_between(boxes.low[name], boxes.high[name], rng)
        boxes.fix(name, values[name])
    yield values


def _write_computed(attribute: Computed, numbers: Numbers) -> Column:
    """The result of a formula, written as its column is; what cannot be computed is missing."""
    low, high = _WRITABLE.get(attribute.kind, (-(2.0**53), 2.0**53))
    absent = ~((numbers >= low) & (numbers <= high))
    numbers = np.where(absent, 0.0, numbers)
    values: NDArray[Any] = numbers
    if attribute.kind != "real":
        values = np.rint(numbers).astype(np.int64)
    elif attribute.decimals is not None:
        values = np.round(numbers, attribute.decimals) + 0.0
    return Column(
        attribute.kind,
        values,
        missing=absent.astype(np.uint8),
        mark=attribute.missing or "",
        format=attribute.format or "",
    )
