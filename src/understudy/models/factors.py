"""Factors: tables over variables, each at a generalisation level, and their products and sums.

A variable is an attribute of a network (its name) or an auxiliary one (a pair of texts), such as
"which side of the condition does this row's age lie on". Levels of an attribute are nested, so a
product needs each only at the finest level among its factors, and what is summed out never has to
be spelled out finer than it is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.bits import Bits
from understudy.data.schema import Attribute, Schema
from understudy.models.network import Node

Variable = str | tuple[str, str]
Scope = dict[Variable, int]
"""Variables with their levels."""


@dataclass(frozen=True)
class Factor:
    """A table with a side for each variable at a level."""

    axes: tuple[tuple[Variable, int], ...]
    table: NDArray[np.float64]

    @property
    def scope(self) -> Scope:
        """The variables with their levels."""
        return dict(self.axes)


def family(node: Node) -> Factor:
    """A node's conditional distribution as a factor."""
    axes: list[tuple[Variable, int]] = [(axis.attribute, axis.level) for axis in node.parents]
    return Factor((*axes, (node.attribute, 0)), node.conditional)


def function_of(
    attribute: Attribute,
    table: NDArray[np.float64],
    auxiliary: Sequence[Variable] = (),
    bits: Bits | None = None,
) -> Factor:
    """A function of an attribute's code (and of auxiliary variables) as a factor over what the
    network holds of it.

    Parameters
    ----------
    attribute
        The attribute.
    table
        The function's values: the side of the codes first, then one for each auxiliary variable.
    auxiliary
        Those variables.
    bits
        How attributes were taken apart, where the network is over bits.
    """
    extra = tuple((variable, 0) for variable in auxiliary)
    if bits is None:
        return Factor(((attribute.name, 0), *extra), table)
    names = bits.names(attribute)
    numbers = table[bits.code_of(attribute)]
    return Factor(
        (*((name, 0) for name in names), *extra),
        numbers.reshape([2] * len(names) + list(table.shape[1:])),
    )


class Domains:
    """How many values each variable has at each level, and how levels nest."""

    def __init__(self, schema: Schema, auxiliary: Mapping[Variable, int]) -> None:
        self._schema = schema
        self._auxiliary = dict(auxiliary)
        self._sizes: dict[Variable, tuple[int, ...]] = {}

    def with_auxiliary(self, variable: Variable, size: int) -> Domains:
        """These domains and one more."""
        return Domains(self._schema, {**self._auxiliary, variable: size})

    def size(self, variable: Variable, level: int) -> int:
        """How many values a variable has at a level."""
        if variable not in self._sizes:
            own = self._auxiliary.get(variable)
            if own is not None:
                self._sizes[variable] = (own,)
            else:
                assert isinstance(variable, str)
                self._sizes[variable] = self._schema[variable].sizes_by_level()
        return self._sizes[variable][level]

    def cells(self, scope: Mapping[Variable, int]) -> int:
        """How many cells a table over a scope has."""
        return math.prod(self.size(variable, level) for variable, level in scope.items())

    def coarser(self, variable: Variable, fine: int, coarse: int) -> NDArray[np.intp]:
        """For each value at the finer level the one at the coarser level that it belongs to."""
        assert isinstance(variable, str)
        levels = self._schema[variable].generalisations
        above = levels[coarse - 1].astype(np.intp)
        if fine == 0:
            return above
        merge_scopes = np.empty(self.size(variable, fine), dtype=np.intp)
        merge_scopes[levels[fine - 1]] = above
        return merge_scopes


def merge_scopes(scopes: Iterable[Mapping[Variable, int]]) -> Scope:
    """The scope of a product: every variable, at the finest level in use."""
    scope: Scope = {}
    for part in scopes:
        for variable, level in part.items():
            scope[variable] = min(level, scope.get(variable, level))
    return scope


def product(factors: Sequence[Factor], domains: Domains) -> Factor:
    """The product of factors, over all their variables."""
    scope = merge_scopes(factor.scope for factor in factors)
    table: NDArray[np.float64] = np.ones(())
    for factor in sorted(factors, key=lambda factor: factor.table.size):
        table = table * _spread(factor, scope, domains)
    shape = [domains.size(variable, level) for variable, level in scope.items()]
    return Factor(tuple(scope.items()), np.broadcast_to(table, shape))


def reduce_factor(factor: Factor, axes: Sequence[tuple[Variable, int]], domains: Domains) -> Factor:
    """Sum out every variable that is not among ``axes``, and bring the others to the levels and
    order there.
    """
    wanted = dict(axes)
    spare = tuple(
        place for place, (variable, _) in enumerate(factor.axes) if variable not in wanted
    )
    table = factor.table.sum(axis=spare)
    left = [axis for axis in factor.axes if axis[0] in wanted]
    for place, (variable, level) in enumerate(left):
        if level < wanted[variable]:
            table = _sum_by_group(table, place, domains.coarser(variable, level, wanted[variable]))
    names = [variable for variable, _ in left]
    return Factor(tuple(axes), table.transpose([names.index(variable) for variable, _ in axes]))


def _spread(factor: Factor, scope: Scope, domains: Domains) -> NDArray[np.float64]:
    """The factor's table, ready to be broadcast over a scope that holds its own."""
    table = factor.table
    for place, (variable, level) in enumerate(factor.axes):
        if scope[variable] < level:
            table = np.take(table, domains.coarser(variable, scope[variable], level), axis=place)
    names = [variable for variable, _ in factor.axes]
    order = [names.index(variable) for variable in scope if variable in factor.scope]
    table = table.transpose(order)
    return table[tuple(slice(None) if variable in factor.scope else None for variable in scope)]


def _sum_by_group(
    table: NDArray[np.float64], place: int, groups: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Sum the values of one side by group."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    return np.add.reduceat(np.take(table, order, axis=place), starts, axis=place)
