"""The conditional tables of a network, for people to read."""

from __future__ import annotations

import itertools

import numpy as np

from understudy.data.marginals import Axis
from understudy.data.schema import Schema
from understudy.models.network import Node

Line = tuple[tuple[str, ...], list[float]]
"""The values of the parents, and the child's probabilities given them."""


def conditional_lines(
    node: Node, schema: Schema, max_values: int, max_lines: int
) -> tuple[list[str], list[Line]]:
    """The child's values, and a line for each configuration of its parents.

    Of more than ``max_values`` values the likeliest are shown, in the schema's order; of more than
    ``max_lines`` lines, the first.
    """
    child = schema[node.attribute]
    likely = node.conditional.reshape(-1, child.size)
    weights = node.counts.sum(axis=0)
    shown = np.sort(np.argsort(-weights, kind="stable")[:max_values])
    labels = [_axis_labels(axis, schema) for axis in node.parents]
    configurations = itertools.islice(itertools.product(*labels), max_lines)
    lines = [
        (configuration, likely[place, shown].tolist())
        for place, configuration in enumerate(configurations)
    ]
    return [child.label(int(code)) for code in shown], lines


def _axis_labels(axis: Axis, schema: Schema) -> list[str]:
    """What each code of a parent stands for; a group of codes by its first and last."""
    attribute = schema[axis.attribute]
    if not axis.level:
        return [attribute.label(code) for code in range(attribute.size)]
    groups = attribute.generalisations[axis.level - 1]
    found = []
    for group in range(int(groups.max()) + 1):
        members = np.flatnonzero(groups == group)
        first, last = attribute.label(int(members[0])), attribute.label(int(members[-1]))
        found.append(first if len(members) == 1 else f"{first} … {last}")
    return found
