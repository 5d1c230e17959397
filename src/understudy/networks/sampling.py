"""Rows drawn from a network, ancestors first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.networks.network import Network, Node
from understudy.schema import Schema


def ancestral(
    network: Network, schema: Schema, rows: int, rng: np.random.Generator
) -> dict[str, NDArray[np.unsignedinteger[Any]]]:
    """Codes of ``rows`` independent rows, one column a modelled attribute."""
    codes: dict[str, NDArray[np.unsignedinteger[Any]]] = {}
    for node in network:
        codes[node.attribute] = _drawn(node, schema, codes, rows, rng)
    return codes


def _drawn(
    node: Node,
    schema: Schema,
    codes: dict[str, NDArray[np.unsignedinteger[Any]]],
    rows: int,
    rng: np.random.Generator,
) -> NDArray[np.unsignedinteger[Any]]:
    size = node.table.shape[-1]
    smallest = np.min_scalar_type(size - 1)
    if size == 1:
        return np.zeros(rows, dtype=smallest)
    configuration = np.zeros(rows, dtype=np.int64)
    for axis, side in zip(node.parents, node.table.shape[:-1], strict=True):
        column = codes[axis.attribute]
        if axis.level:
            column = schema[axis.attribute].generalisations[axis.level - 1][column]
        configuration = configuration * side + column
    # One rising sequence holds the distributions of all configurations: that of configuration c lies in [c, c + 1].
    cumulative = np.cumsum(node.conditional.reshape(-1, size), axis=1)
    cumulative /= cumulative[:, -1:]
    flat = (cumulative[:, :-1] + np.arange(len(cumulative))[:, None]).ravel()
    place = np.searchsorted(flat, configuration + rng.random(rows), side="right")
    return (place - configuration * (size - 1)).astype(smallest)
