"""Functional dependencies without a public mapping: learned from the released model, which costs
nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.bits import Bits
from understudy.data.constraints import Dependency, read_constraints
from understudy.data.grids import ValueGrid
from understudy.data.schema import Attribute, Category, Quantity, Schema
from understudy.models.constraining import ModelRules
from understudy.models.factors import Variable, function_of
from understudy.models.inference import Elimination
from understudy.models.network import Network


def learn_dependencies(schema: Schema, network: Network, bits: Bits | None) -> Schema:
    """The schema with a mapping for each dependency that has none.

    Each value goes with the one that is likeliest beside it, given the other constraints; a
    quantity in bins goes with the middle of its likeliest bin.
    """
    assert schema.constraints is not None
    entries = schema.constraints.to_list()
    given = ModelRules(network, schema, bits).constrained
    for dependency in schema.constraints.unlearned:
        pairs = _likeliest(dependency, schema, given.network, bits)
        entries[dependency.number]["mapping"] = pairs
    learned = read_constraints(entries, schema.attributes, "The model's schema")
    return replace(schema, constraints=learned)


def _likeliest(
    dependency: Dependency, schema: Schema, network: Network, bits: Bits | None
) -> list[list[Any]]:
    first, second = schema[dependency.determinant], schema[dependency.dependent]
    table = _pair(first, second, network, schema, bits)[: first.values_size, : second.values_size]
    overall = table.sum(axis=0)
    pairs = []
    for code in range(first.values_size):
        weights = table[code] if table[code].any() else overall
        pairs.append([_condition(first, code), _value(second, int(np.argmax(weights)))])
    return pairs


def _pair(
    first: Attribute, second: Attribute, network: Network, schema: Schema, bits: Bits | None
) -> NDArray[np.float64]:
    """The joint distribution of two attributes."""
    functions, keep = [], []
    for attribute in (first, second):
        variable: Variable = ("level", attribute.name)
        functions.append(function_of(attribute, np.eye(attribute.size), (variable,), bits))
        keep.append(variable)
    return Elimination(network, schema if bits is None else bits.schema, functions, keep).table


def _condition(attribute: Attribute, code: int) -> Any:
    """A code as a condition in a schema."""
    if isinstance(attribute, Quantity):
        grid = ValueGrid(attribute)
        return {
            "min": _plain(attribute, grid.lowest[code]),
            "max": _plain(attribute, grid.highest[code]),
        }
    assert isinstance(attribute, Category)
    return attribute.domain[code]


def _value(attribute: Attribute, code: int) -> Any:
    if isinstance(attribute, Quantity):
        grid = ValueGrid(attribute)
        middle = grid.down(np.array([(grid.lowest[code] + grid.highest[code]) / 2]))
        return _plain(attribute, max(float(middle[0]), float(grid.lowest[code])))
    assert isinstance(attribute, Category)
    return attribute.domain[code]


def _plain(attribute: Quantity, number: float) -> Any:
    """A number of an attribute's unit, as a schema writes it."""
    if attribute.kind in ("date", "datetime"):
        return Quantity("", attribute.kind).write(number)
    if attribute.whole:
        return int(number)
    return float(number)
