"""Networks to test with."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from understudy.data.marginals import Axis
from understudy.data.schema import Schema
from understudy.models.network import Network, Node


def random_network(
    seed: int, attributes: int = 5, degree: int = 3, zeros: float = 0.2
) -> tuple[Network, Schema]:
    """A random network with levels, zero cells and empty configurations."""
    rng = np.random.default_rng(seed)
    entries: dict[str, Any] = {}
    for i in range(attributes):
        if rng.random() < 0.5:
            bins = int(rng.integers(2, 6))
            entries[f"a{i}"] = {
                "kind": "integer",
                "min": 0,
                "max": 3 * bins - 1,
                "bins": bins,
                "missing": bool(i % 2),
            }
        else:
            values = [str(v) for v in range(int(rng.integers(1, 5)))]
            entries[f"a{i}"] = {"kind": "categorical", "values": values, "ordered": True}
    schema = Schema.from_dict({"attributes": entries})
    nodes = []
    for i, name in enumerate(schema.names):
        chosen = (
            rng.choice(i, size=int(rng.integers(0, min(degree, i) + 1)), replace=False) if i else []
        )
        parents = []
        for p in chosen:
            levels = len(schema[f"a{p}"].sizes_by_level())
            parents.append(Axis(f"a{p}", int(rng.integers(0, levels))))
        shape = [schema[a.attribute].sizes_by_level()[a.level] for a in parents] + [
            schema[name].size
        ]
        table = rng.gamma(0.7, size=shape) * 50
        table[rng.random(shape) < zeros] = 0
        nodes.append(Node(name, tuple(parents), table, float(rng.random())))
    return Network(tuple(nodes)), schema


def by_enumeration(
    network: Network, schema: Schema, weights: Mapping[str, Any] | None = None
) -> np.ndarray:
    """The probability of every row, by multiplying one row at a time; sides in the order of the
    network.
    """
    names = [node.attribute for node in network]
    sizes = [schema[name].size for name in names]
    table = np.empty(sizes)
    for row in itertools.product(*(range(size) for size in sizes)):
        codes = dict(zip(names, row, strict=True))
        mass = 1.0
        for node in network:
            place = []
            for axis in node.parents:
                code = codes[axis.attribute]
                place.append(
                    schema[axis.attribute].generalisations[axis.level - 1][code]
                    if axis.level
                    else code
                )
            mass *= node.conditional[(*place, codes[node.attribute])]
            if weights and node.attribute in weights:
                mass *= float(weights[node.attribute][codes[node.attribute]])
        table[row] = mass
    return table


def marginalised(
    table: np.ndarray, network: Network, schema: Schema, axes: list[Axis]
) -> np.ndarray:
    """Sum a table over all rows down to some axes."""
    names = [node.attribute for node in network]
    shape = [schema[a.attribute].sizes_by_level()[a.level] for a in axes]
    out = np.zeros(shape)
    for row in np.ndindex(table.shape):
        codes = dict(zip(names, row, strict=True))
        place = tuple(
            int(schema[a.attribute].generalisations[a.level - 1][codes[a.attribute]])
            if a.level
            else codes[a.attribute]
            for a in axes
        )
        out[place] += table[row]
    return out
