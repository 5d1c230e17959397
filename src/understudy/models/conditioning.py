"""A network given evidence is a network again: ancestral sampling from it is exact sampling given
the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from understudy.data.marginals import Axis
from understudy.data.schema import Schema
from understudy.models.factors import Domains, Factor, family, product, reduce_factor
from understudy.models.inference import ancestors, elimination_order, impossible
from understudy.models.network import Network, Node


def condition_network(network: Network, schema: Schema, evidence: Mapping[str, Factor]) -> Network:
    """The network whose rows are distributed as those of ``network`` that fit the evidence.

    Parameters
    ----------
    network
        Attributes with parents and tables.
    schema
        The schema whose attributes the network names.
    evidence
        By any names (for messages), functions of attributes, from 0 (impossible) to 1, at level 0;
        a row fits with the product of their values.

    Notes
    -----
    Only the attributes with evidence and their ancestors change. They are eliminated one by one;
    when an attribute goes, the product of the factors that hold it is, up to a constant, its
    distribution given those that are left. Read backwards, that is a network: each attribute with
    parents that come before it.
    """
    named = {
        variable
        for factor in evidence.values()
        for variable in factor.scope
        if isinstance(variable, str)
    }
    changed = ancestors(network, named)
    domains = Domains(schema, {})
    live = [family(node) for node in changed] + list(evidence.values())
    order = elimination_order([factor.scope for factor in live], set(), domains)
    nodes: list[Node] = []
    for variable in order:
        assert isinstance(variable, str)
        whole = product([factor for factor in live if variable in factor.scope], domains)
        live = [factor for factor in live if variable not in factor.scope]
        others = tuple(axis for axis in whole.axes if axis[0] != variable)
        table = reduce_factor(whole, (*others, (variable, 0)), domains).table
        peak = table.max()
        if peak <= 0:
            raise impossible(list(evidence))
        # Only ratios matter: scaling keeps long products of probabilities from running into zero.
        table = np.ascontiguousarray(table / peak)
        live.append(Factor(others, table.sum(axis=-1)))
        nodes.append(Node(variable, tuple(Axis(str(name), level) for name, level in others), table))
    if any(float(factor.table) <= 0 for factor in live if not factor.axes):
        raise impossible(list(evidence))
    after = [node for node in network if node.attribute not in set(order)]
    return Network((*reversed(nodes), *after))
