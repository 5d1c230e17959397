"""Rules as tables over codes, and these as factors of a network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.bits import Bits
from understudy.data.room import place
from understudy.data.rules import Rules
from understudy.data.schema import Schema
from understudy.models.factors import Factor

MAX_SIDES = 24
"""Of a table: numpy has a limit of its own."""

MAX_RULE_CELLS = 1 << 20
"""Of the table of one rule, where values inside bins must be tried for each cell."""

MAX_LISTED_CELLS = 1 << 22
"""Of the table of one rule that codes alone decide."""


@dataclass(frozen=True)
class RuleTable:
    """Which combinations of codes rules allow."""

    text: str
    names: tuple[str, ...]
    allowed: NDArray[np.bool_]

    def fits(self, codes: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """Where rows are allowed."""
        found: NDArray[np.bool_] = self.allowed[tuple(codes[name] for name in self.names)]
        return found


def table_of(rules: Rules) -> RuleTable | None:
    """Which combinations of codes leave room for the rules; None where there are too many."""
    sizes = [rules.schema[name].size for name in rules.names]
    limit = MAX_RULE_CELLS if rules.loose else MAX_LISTED_CELLS
    if math.prod(sizes) > limit or len(sizes) > MAX_SIDES:
        return None
    places = np.indices(sizes, dtype=np.int32).reshape(len(sizes), -1)
    allowed, _ = place(rules, dict(zip(rules.names, places, strict=True)))
    text = " and ".join(dict.fromkeys(rule.text for rule in rules.rules))
    return RuleTable(text, rules.names, allowed.reshape(sizes))


def product_of(tables: Sequence[RuleTable | None], joint: RuleTable) -> NDArray[np.bool_]:
    """What tables allow together, over the columns of another one."""
    spread = []
    for table in tables:
        assert table is not None
        order = [table.names.index(name) for name in joint.names if name in table.names]
        shape = [
            size if name in table.names else 1
            for name, size in zip(joint.names, joint.allowed.shape, strict=True)
        ]
        spread.append(table.allowed.transpose(order).reshape(shape))
    product = reduce(np.logical_and, spread)
    return np.broadcast_to(product, joint.allowed.shape)


def factor_of(table: RuleTable, schema: Schema, bits: Bits | None) -> Factor | None:
    """A table as a factor over what the network holds of its columns; None where it has too many
    sides.
    """
    cells = table.allowed.astype(np.float64)
    axes: list[tuple[Any, int]] = []
    shape: list[int] = []
    for side, name in enumerate(table.names):
        attribute = schema[name]
        if bits is None:
            axes.append((name, 0))
            shape.append(attribute.size)
        else:
            cells = np.take(cells, bits.code_of(attribute), axis=side)
            names = bits.names(attribute) if attribute.size > 1 else []
            axes += [(bit, 0) for bit in names]
            shape += [2] * len(names)
    if len(shape) > MAX_SIDES:
        return None
    return Factor(tuple(axes), cells.reshape(shape))
