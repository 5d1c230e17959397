"""Marginals: noisy tables over groups of attributes that somebody who knows the table has chosen.

The tables are measured at equal shares of the budget, made into counts that could be real, and rows
are drawn from them. Attributes that no group names get a table each, so that every column is there.
A single group of all attributes is the perturbed histogram; no group at all is the independent
method.

Groups may overlap: rows are drawn from the first one, then from the one that shares most with what
is drawn already, its other attributes given the shared ones, and so on. That keeps every group's
table as long as the groups form no circle; where they do, the last one would be measured for
nothing, and the method refuses.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import describe, marginal
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.models.consistency import make_consistent
from understudy.models.model import Model
from understudy.models.network import Network, Node
from understudy.models.parameters import Repair, estimate_rows, repair_counts
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.release.callbacks import Progress
from understudy.synthesizers import AuditedGuarantee, Synthesizer
from understudy.synthesizers.parameters import ColumnGroups, parameter, repair_parameter
from understudy.synthesizers.registry import register

Group = tuple[str, ...]
"""The names of attributes that share a table."""

MAX_TABLE_CELLS = 1 << 22
"""Tables of more cells than this are refused: each cell is noised, kept and written into the
model.
"""


@register(
    "marginals",
    summary="the tables that you name",
    cost="one noisy table each",
    curators=("central", "federated", "local", "encrypted"),
)
@dataclass(frozen=True, kw_only=True)
class Marginals(Synthesizer):
    """Noisy tables over chosen groups of attributes.

    Parameters
    ----------
    marginals
        Groups of attribute names, such as ``[("age", "marital_status"), ("education", "income")]``.
        A group that lies in another needs no table of its own.
    repair
        How noisy counts become counts that could be real: "project" (the nearest such table) or
        "clip" (negative ones to 0, then scaled).

    See Also
    --------
    understudy.synthesizers.Synthesizer : the parameters that all methods share.

    Examples
    --------
    >>> from understudy import Schema, Table
    >>> from understudy.data.tables import Column
    >>> schema = Schema.from_dict({"attributes": {name: {"kind": "boolean"} for name in "abc"}})
    >>> table = Table({name: Column("boolean", np.arange(1000) % 4 == 0) for name in "abc"})
    >>> model = Marginals(epsilon=1.0, marginals=[("a", "b")]).fit(table, schema)
    >>> [entry.question for entry in model.ledger.entries]
    ['table of a x b', 'table of c']
    """

    only_measures: ClassVar[bool] = True
    marginals: Sequence[Sequence[str]] = parameter(
        (), ColumnGroups(), "Columns that share a table; repeatable.", option="marginal"
    )
    repair: Repair = repair_parameter()

    @property
    def named(self) -> frozenset[str]:
        """The columns of the marginals."""
        return frozenset(name for group in self.marginals for name in group)

    def check_parameters(self) -> None:
        """No marginal names a column twice."""
        for group in self.marginals:
            twice = [name for name, times in Counter(group).items() if times > 1]
            if twice:
                raise InputError(f"The marginal {', '.join(group)} names {twice[0]!r} twice.")

    def check(self, schema: Schema) -> None:
        """Marginals are of known columns, of a size that can be counted, and free of circles."""
        for name in sorted(self.named):
            if not schema[name].modelled:
                raise InputError(
                    f"{name!r} is of kind {schema[name].kind} and never read; "
                    f"take it off the marginal."
                )
        for group in self._groups(schema):
            check_cells(group, schema)

    @classmethod
    def audit_settings(cls, audited: AuditedGuarantee) -> dict[str, Synthesizer]:
        """A pair of the audit's columns, in every setting."""
        settings = super().audit_settings(audited)
        return {
            name: replace(setting, marginals=[("a", "b")])  # type: ignore[call-arg]
            for name, setting in settings.items()
        }

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """One table a group, then rows group by group."""
        # Refinement may have cut bins since the release checked the schema.
        self.check(curator.schema)
        groups = self._groups(curator.schema)
        asked = [marginal(*group) for group in groups] or [()]
        progress("measuring tables", 0, len(asked))
        measured = curator.measure(asked, budget)
        progress("measuring tables", len(asked), len(asked))
        if curator.rows is None:
            rows = estimate_rows(measured)
        else:
            rows = float(curator.rows)
        shared = Counter(name for group in groups for name in group).most_common(1)
        if shared and shared[0][1] > 1:
            tables = make_consistent(measured, curator.schema, rows, self.repair)
        else:
            tables = [
                repair_counts(measurement.counts, rows, self.repair) for measurement in measured
            ]
        nodes: list[Node] = []
        for group, table, measurement in zip(groups, tables, measured, strict=False):
            nodes += chain_nodes(
                group, table, measurement.deviation, {node.attribute for node in nodes}
            )
        network = with_constants(nodes, curator.schema, rows)
        return Model(self.parameters(), curator.schema, network, curator.ledger, round(rows))

    def _groups(self, schema: Schema) -> list[Group]:
        """What is measured, in the order in which rows are drawn; one table for each attribute
        unnamed.
        """
        told = joint_names(schema)
        sets = [tuple(name for name in group if name in told) for group in self.marginals]
        named = {name for group in sets for name in group}
        sets += [(name,) for name in told if name not in named]
        return in_drawing_order(_largest(sets))


def joint_names(schema: Schema) -> Group:
    """The attributes that a joint table is over: an attribute with one value has nothing to
    tell.
    """
    return tuple(attribute.name for attribute in schema.modelled if attribute.size > 1)


def check_cells(group: Sequence[str], schema: Schema) -> None:
    """Refuse a joint table that is too large to be counted, noised and released cell by cell."""
    cells = math.prod(schema[name].size for name in group)
    if cells > MAX_TABLE_CELLS:
        named = describe(marginal(*group[:4])) + (" x ..." if len(group) > 4 else "")
        raise InputError(
            f"The table of {named} has {cells:,} cells, more than the {MAX_TABLE_CELLS:,} that "
            "this "
            "method can noise one by "
            f"one; take fewer attributes or bins, or the method privbayes."
        )


def in_drawing_order(groups: Sequence[Group]) -> list[Group]:
    """The first group, then always the one that shares most attributes with one that was taken
    already.

    Where any order lets every group's shared attributes lie together in one earlier group, this one
    does (it is Prim's algorithm for the junction tree). Groups for which there is none form a
    circle and are refused.
    """
    left, taken = list(groups), list[Group]()
    while left:
        best = max(
            left, key=lambda group: max((len({*group} & {*other}) for other in taken), default=0)
        )
        left.remove(best)
        known = {name for group in taken for name in group} & {*best}
        if known and not any(known <= set(group) for group in taken):
            raise InputError(
                f"The marginals form a circle: {describe(marginal(*best))} is tied by "
                f"{', '.join(sorted(known))} to "
                f"several others that are tied to each other; leave one out, or join them into one."
            )
        taken.append(best)
    return taken


def chain_nodes(
    group: Sequence[str], table: NDArray[Any], deviation: float, drawn: Collection[str] = ()
) -> list[Node]:
    """A joint table as nodes: each attribute given the ones before it, the ones that are ``drawn``
    already first.
    """
    order = [name for name in group if name in drawn] + [
        name for name in group if name not in drawn
    ]
    known = sum(name in drawn for name in group)
    table = np.asarray(table, dtype=np.float64).transpose(
        [list(group).index(name) for name in order]
    )
    nodes = []
    for place in range(known, len(order)):
        later = tuple(range(place + 1, len(order)))
        summed = math.prod(table.shape[i] for i in later)
        counts = table.sum(axis=later)
        nodes.append(
            Node(order[place], marginal(*order[:place]), counts, deviation * math.sqrt(summed))
        )
    return nodes


def with_constants(nodes: Sequence[Node], schema: Schema, rows: float) -> Network:
    """The network, with the attributes that have only one value."""
    known = {node.attribute for node in nodes}
    return Network(
        (
            *nodes,
            *(Node(a.name, (), np.array([rows])) for a in schema.modelled if a.name not in known),
        )
    )


def _largest(groups: Sequence[Group]) -> list[Group]:
    """Without the groups that lie in others."""
    sets = [frozenset(group) for group in groups]
    return [
        group
        for place, (group, mine) in enumerate(zip(groups, sets, strict=True))
        if mine
        and not any(mine < other or (mine == other and i < place) for i, other in enumerate(sets))
    ]
