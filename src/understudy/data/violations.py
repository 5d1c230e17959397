"""Rows of the real table that break a constraint: counted for the owner's eyes only.

Constraints are public claims, and they are taken at their word: rows that break one are counted
like any others, and whether there are any changes nothing that is released.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.encoding import Coded, quantity_values
from understudy.data.rules import Rules
from understudy.data.schema import Quantity
from understudy.data.tables import Table


@dataclass(frozen=True)
class Violation:
    """Rows that break a constraint. For the owner's eyes only."""

    constraint: str
    count: int
    at_least: bool = False

    def __str__(self) -> str:
        rows = f"{self.count:,} row{'s' if self.count != 1 else ''}"
        if self.at_least:
            rows = f"at least {rows}"
        return (
            f"The constraint {self.constraint} is broken in {rows} of the real table; no synthetic "
            "row will do so. If it is no rule, take it out of the schema"
        )


def find_violations(table: Table, coded: Coded) -> list[Violation]:
    """How many rows of a table break each constraint of its schema."""
    schema = coded.schema
    if schema.constraints is None or not table.rows:
        return []
    rules = Rules(schema.constraints.rules, schema)
    values: dict[str, NDArray[Any]] = {}
    codes: dict[str, NDArray[Any]] = {}
    for name in rules.names:
        attribute = schema[name]
        codes[name] = coded.codes[name]
        if isinstance(attribute, Quantity):
            values[name] = quantity_values(attribute, table)[0].astype(np.float64)
        else:
            values[name] = rules.grids[name].lowest[codes[name]]
    broken: dict[str, int] = {}
    for place, rule in enumerate(rules.rules):
        count = int(np.count_nonzero(~rules.holds_one(place, values, codes)))
        broken[rule.text] = broken.get(rule.text, 0) + count
    return [Violation(text, count) for text, count in broken.items() if count]
