"""Exact inference by variable elimination, and how an answer moves with each table of the network.

Sums over all rows that could be drawn are done one variable at a time: the factors that hold it are
multiplied, it is summed out, and what is left is a factor among the others. Attributes that the
question does not depend on (those that are no ancestors of the ones it names) are left out from the
start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.models.factors import (
    Domains,
    Factor,
    Scope,
    Variable,
    family,
    merge_scopes,
    product,
    reduce_factor,
)
from understudy.models.network import Network, Node

MAX_PRODUCT_CELLS = 1 << 25
"""The most cells that a table on the way to an answer may have."""

BATCH_AXIS: Variable = ("batch", "")


class ImpossibleError(InputError):
    """A condition has probability zero."""


class TooLargeError(InputError):
    """An exact answer would take too large a table."""


def joint(
    network: Network,
    schema: Schema,
    axes: Sequence[Axis],
    evidence: Mapping[str, NDArray[Any]] | None = None,
) -> NDArray[np.float64]:
    """The distribution of some attributes, given evidence on others or the same.

    Parameters
    ----------
    network
        Attributes with parents and tables.
    schema
        The schema whose attributes the network names.
    axes
        Which attributes, each at a level.
    evidence
        For an attribute, which of its codes are possible: a mask, or for each code the share that
        fits.

    Returns
    -------
    A table with a side for each axis; it adds up to 1.
    """
    functions = [tie_levels(axis, schema) for axis in axes if axis.level]
    functions += [make_evidence(name, weights) for name, weights in (evidence or {}).items()]
    keep: list[Variable] = [
        ("level", axis.attribute) if axis.level else axis.attribute for axis in axes
    ]
    table = Elimination(network, schema, functions, keep).table
    total = table.sum()
    if total <= 0:
        raise impossible(evidence or {})
    return table / total


def tie_levels(axis: Axis, schema: Schema) -> Factor:
    """The factor that ties an attribute to itself at a coarser level, as the variable ``("level",
    name)``.
    """
    attribute = schema[axis.attribute]
    coarse = attribute.generalisations[axis.level - 1]
    table = np.zeros((attribute.size, attribute.sizes_by_level()[axis.level]))
    table[np.arange(attribute.size), coarse] = 1
    return Factor(((axis.attribute, 0), (("level", axis.attribute), 0)), table)


def make_evidence(attribute: str, weights: NDArray[Any]) -> Factor:
    """Evidence as a factor."""
    return Factor(((attribute, 0),), np.asarray(weights, dtype=np.float64))


def impossible(names: Mapping[str, Any] | Sequence[str]) -> ImpossibleError:
    """What to say about a condition that has probability zero."""
    listed = ", ".join(repr(name) for name in names)
    return ImpossibleError(
        f"By this model no row fits the condition on {listed}: its probability is zero; widen it."
    )


def ancestors(network: Network, names: set[str]) -> tuple[Node, ...]:
    """The nodes of the named attributes and all their ancestors, parents first."""
    wanted = set(names)
    for node in reversed(network.nodes):
        if node.attribute in wanted:
            wanted.update(axis.attribute for axis in node.parents)
    return tuple(node for node in network if node.attribute in wanted)


class Elimination:
    """The sum, over all rows, of their probability times a product of functions, as a table over
    some variables.

    Parameters
    ----------
    network
        Attributes with parents and tables.
    schema
        The schema whose attributes the network names.
    functions
        Factors over attributes of the network, at level 0, and over auxiliary variables.
    keep
        The variables (attributes, at level 0, or auxiliary ones) that are not summed out.
    """

    def __init__(
        self,
        network: Network,
        schema: Schema,
        functions: Sequence[Factor],
        keep: Sequence[Variable],
    ) -> None:
        named = {variable for factor in functions for variable in factor.scope} | set(keep)
        self.nodes = ancestors(
            network, {variable for variable in named if isinstance(variable, str)}
        )
        auxiliary: dict[Variable, int] = {
            variable: factor.table.shape[place]
            for factor in functions
            for place, (variable, _) in enumerate(factor.axes)
            if not isinstance(variable, str)
        }
        self._domains = Domains(schema, auxiliary)
        self._keep = tuple((variable, 0) for variable in keep)
        self._factors = [family(node) for node in self.nodes] + list(functions)
        self._steps = self._plan()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of :attr:`table`."""
        return tuple(self._domains.size(variable, level) for variable, level in self._keep)

    @cached_property
    def largest(self) -> int:
        """The cells of the largest product on the way to the answer."""
        values = self._values
        scopes = (merge_scopes(values[i].scope for i in step.inputs) for step in self._steps)
        return max(self._domains.cells(scope) for scope in scopes)

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """The sum, one side for each variable kept."""
        return self._values[-1].table

    @cached_property
    def _values(self) -> list[Factor]:
        """The factors that went in, then the result of each step."""
        values = list(self._factors)
        for step in self._steps:
            values.append(
                reduce_factor(
                    product([values[i] for i in step.inputs], self._domains),
                    step.axes,
                    self._domains,
                )
            )
        return values

    def gradients(self, seeds: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """How weighted sums of :attr:`table` move with each conditional probability of the network.

        Parameters
        ----------
        seeds
            The weights of each sum, shaped ``(sums, *table.shape)``.

        Returns
        -------
        For each attribute that matters the derivatives, shaped ``(sums, *node.table.shape)``. The
        derivative by Pr[x | p] of the probability of an event E is Pr[E | p, x] Pr[p], also where
        Pr[x | p] is 0.
        """
        domains = self._domains.with_auxiliary(BATCH_AXIS, len(seeds))
        values = self._values
        slopes: dict[int, Factor] = {len(values) - 1: Factor(((BATCH_AXIS, 0), *self._keep), seeds)}
        for number in reversed(range(len(self._steps))):
            step = self._steps[number]
            slope = slopes.pop(len(self._factors) + number)
            for i in step.inputs:
                others = [values[j] for j in step.inputs if j != i]
                # A slope lacks what was summed out: there it is the same for all values.
                lacking = [
                    axis
                    for axis in values[i].axes
                    if axis[0] not in merge_scopes(f.scope for f in (*others, slope))
                ]
                flat = [Factor((axis,), np.ones(domains.size(*axis))) for axis in lacking]
                flat += _as_fine(values[i], (*others, slope), domains)
                whole = product([slope, *others, *flat], domains)
                slopes[i] = reduce_factor(whole, ((BATCH_AXIS, 0), *values[i].axes), domains)
        return {node.attribute: slopes[i].table for i, node in enumerate(self.nodes)}

    def _plan(self) -> list[_Step]:
        """Which factors to multiply and what to sum out, in what order; refuses what would be too
        large.
        """
        scopes = [factor.scope for factor in self._factors]
        kept = {variable for variable, _ in self._keep}
        order = elimination_order(scopes, kept, self._domains)
        steps: list[_Step] = []
        live = dict(enumerate(scopes))
        for variable in order:
            inputs = tuple(i for i, scope in live.items() if variable in scope)
            scope = merge_scopes(live.pop(i) for i in inputs)
            del scope[variable]
            live[len(scopes) + len(steps)] = scope
            steps.append(_Step(inputs, tuple(scope.items())))
        steps.append(_Step(tuple(live), self._keep))
        return steps


@dataclass(frozen=True)
class _Step:
    """Multiply these factors and sum out all but these axes."""

    inputs: tuple[int, ...]
    axes: tuple[tuple[Variable, int], ...]


def _as_fine(factor: Factor, others: Sequence[Factor], domains: Domains) -> list[Factor]:
    """Ones that keep the product of ``others`` from being coarser than ``factor``, which could not
    be undone.
    """
    scope = merge_scopes(other.scope for other in others)
    finer = [
        (variable, level) for variable, level in factor.axes if scope.get(variable, level) > level
    ]
    return [Factor((axis,), np.ones(domains.size(*axis))) for axis in finer]


# -------------------------------------------- the order of elimination

EliminationCost = Callable[[Scope, Variable, Mapping[Variable, set[Variable]], Domains], float]


def elimination_order(
    scopes: Sequence[Scope],
    keep: set[Variable],
    domains: Domains,
    max_cells: int | None = None,
) -> list[Variable]:
    """A good order in which to sum out all variables but those to keep; refuses what would take too
    large a table.
    """
    if max_cells is None:
        max_cells = MAX_PRODUCT_CELLS
    orders = (_order(scopes, keep, domains, cost) for cost in (_weight, _fill))
    order, largest = min(orders, key=lambda found: domains.cells(found[1]))
    final: Scope = dict.fromkeys(keep, 0)
    for scope in (largest, final):
        if domains.cells(scope) > max_cells:
            raise _too_large(scope, domains.cells(scope))
    return order


def _order(
    scopes: Sequence[Scope], keep: set[Variable], domains: Domains, cost: EliminationCost
) -> tuple[list[Variable], Scope]:
    """Greedily, the variable next that costs least; the best order is too hard to find."""
    holding: dict[Variable, list[Scope]] = {}
    for scope in scopes:
        for variable in scope:
            holding.setdefault(variable, []).append(scope)
    products = {variable: merge_scopes(parts) for variable, parts in holding.items()}
    near = {variable: set(scope) - {variable} for variable, scope in products.items()}
    costs = {v: cost(products[v], v, near, domains) for v in products if v not in keep}
    order: list[Variable] = []
    largest: Scope = {}
    while costs:
        # Ties are broken by the order of the network, so that the same question always takes the
        # same way.
        chosen = min(costs, key=costs.__getitem__)
        del costs[chosen]
        scope = products[chosen]
        order.append(chosen)
        if domains.cells(scope) > domains.cells(largest):
            largest = scope
        gone = holding.pop(chosen)
        left = {variable: level for variable, level in scope.items() if variable != chosen}
        for variable in left:
            holding[variable] = [
                part for part in holding[variable] if not any(part is g for g in gone)
            ] + [left]
            products[variable] = merge_scopes(holding[variable])
            near[variable] = set(products[variable]) - {variable}
        for variable in {other for v in left for other in near[v]} | set(left):
            if variable in costs:
                costs[variable] = cost(products[variable], variable, near, domains)
    return order, largest


def _weight(
    scope: Scope, variable: Variable, near: Mapping[Variable, set[Variable]], domains: Domains
) -> float:
    """Min-weight: the cells of the product."""
    return domains.cells(scope)


def _fill(
    scope: Scope, variable: Variable, near: Mapping[Variable, set[Variable]], domains: Domains
) -> float:
    """Min-fill: how many pairs of variables come together that were apart."""
    around = list(near[variable])
    return sum(b not in near[a] for i, a in enumerate(around) for b in around[:i])


def _too_large(scope: Scope, cells: int) -> TooLargeError:
    names = [variable if isinstance(variable, str) else variable[1] for variable in scope]
    listed = ", ".join(sorted(set(names)))
    return TooLargeError(
        f"An exact answer needs a table of {cells:,} cells over {listed}, more than the "
        f"{MAX_PRODUCT_CELLS:,} that are "
        f"allowed; ask about fewer attributes, or draw rows and count those."
    )


# --------------------------------------------------------------------------- error bars


def noise_variance(elimination: Elimination, seeds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The variance that the known noise in the tables gives to weighted sums of
    ``elimination.table``.

    First-order propagation of independent noise in each cell (the delta method): with counts c[p,
    x], a conditional probability is c[p, x] / c[p], so that the slope by c[p, x] is (g[p, x] - sum
    over x' of Pr[x' | p] g[p, x']) / c[p] with g the slope by the conditional probability. What it
    leaves out: the repair of the tables (which mostly lowers the error), that a derived table
    shares noise with the one it comes from, and how well the network fits the data. A configuration
    with fewer rows than the deviation of the noise counts as having that many; below, nothing
    linear would hold.
    """
    variance = np.zeros(len(seeds))
    noisy = {
        node.attribute: node
        for node in elimination.nodes
        if node.deviation > 0 and node.table.shape[-1] > 1
    }
    if not noisy:
        return variance
    for name, slopes in elimination.gradients(seeds).items():
        node = noisy.get(name)
        if node is None:
            continue
        rows = np.maximum(node.table.sum(axis=-1, keepdims=True), node.deviation)
        centred = slopes - (slopes * node.conditional).sum(axis=-1, keepdims=True)
        moved = (centred / rows).reshape(len(seeds), -1)
        variance += node.deviation**2 * np.einsum("ij,ij->i", moved, moved)
    return variance
