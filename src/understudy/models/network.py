"""A Bayesian network: attributes in an order, each with parents among the earlier ones and a table
of counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis, Marginal
from understudy.data.schema import Schema
from understudy.errors import InputError

MAX_NETWORK_CELLS = 1 << 28

UNITS_PER_ROW = 1e6
"""Released counts are whole numbers of millionths of a row ..."""

WHOLE_ROWS_FROM = float(1 << 31)
"""... and whole rows from here on, where a float no longer holds every millionth safely."""


@dataclass(frozen=True, eq=False)
class Node:
    """One attribute with its parents; equal to another one if every bit of it is.

    Attributes
    ----------
    attribute
        The child.
    parents
        Its parents, each at a generalisation level.
    table
        Estimated counts, one side a parent, the child's side last.
    deviation
        Standard deviation of the noise that was in each cell when it was measured; 0 where nothing
        was.
    """

    attribute: str
    parents: Marginal
    table: NDArray[np.float64]
    deviation: float = 0.0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        mine, yours = self.table, other.table
        return (
            (self.attribute, self.parents, self.deviation)
            == (other.attribute, other.parents, other.deviation)
            and (mine.shape, mine.dtype) == (yours.shape, yours.dtype)
            and mine.tobytes() == yours.tobytes()
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """One line a parent configuration; one that has no rows gets the counts of the whole table.

        Rows are drawn by these counts, so sums are taken in an order that no library may change.
        """
        flat = self.table.reshape(-1, self.table.shape[-1])
        empty: NDArray[np.bool_] = np.logical_not((flat > 0).any(axis=1))
        if not empty.any():
            return flat
        overall = np.cumsum(flat, axis=0)[-1]
        if empty.all():
            overall = np.ones_like(overall)
        return np.where(empty[:, None], overall, flat)

    @cached_property
    def conditional(self) -> NDArray[np.float64]:
        """Pr[child | parents]; the child's share in the whole table where a parent configuration
        has no rows.
        """
        counts = self.counts
        return (counts / counts.sum(axis=1, keepdims=True)).reshape(self.table.shape)


@dataclass(frozen=True)
class Network:
    """Attribute-parent pairs, parents before children."""

    nodes: tuple[Node, ...]

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, attribute: str) -> Node:
        return self._by_name[attribute]

    @cached_property
    def _by_name(self) -> dict[str, Node]:
        return {node.attribute: node for node in self.nodes}

    @property
    def degree(self) -> int:
        """The largest number of parents."""
        return max((len(node.parents) for node in self.nodes), default=0)

    def as_released(self) -> Network:
        """The network that a file can hold to the bit: what is drawn from one is drawn from the
        other.

        Doing it twice changes nothing, and so does a way through JSON.
        """
        return Network(
            tuple(
                Node(node.attribute, node.parents, _round_counts(node.table), float(node.deviation))
                for node in self.nodes
            )
        )

    def to_list(self) -> list[dict[str, Any]]:
        """The network as it stands in a model file."""
        return [
            {
                "attribute": node.attribute,
                "parents": [[axis.attribute, axis.level] for axis in node.parents],
                "deviation": node.deviation,
                "counts": node.table.ravel().tolist(),
            }
            for node in self.nodes
        ]

    @classmethod
    def from_list(cls, document: Any, schema: Schema) -> Network:
        """Read a network back, trusting nothing: it must fit the schema and be free of cycles."""
        if not isinstance(document, list):
            raise InputError("its network is not a list")
        earlier: set[str] = set()
        nodes = []
        for entry in document:
            node = _node(entry, schema, earlier)
            nodes.append(node)
            earlier.add(node.attribute)
        lacking = [attribute.name for attribute in schema.modelled if attribute.name not in earlier]
        if lacking:
            raise InputError(f"its network lacks the attribute {lacking[0]!r}")
        return cls(tuple(nodes))


def _round_counts(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Counts as they are released.

    The nearest float to k millionths, k below 2^51, gives k again when it is multiplied and
    rounded; so a rounded count stays what it is, and its shortest decimal form has at most six
    places.
    """
    units = np.rint(np.minimum(table, WHOLE_ROWS_FROM) * UNITS_PER_ROW)
    rounded = np.where(table < WHOLE_ROWS_FROM, units / UNITS_PER_ROW, np.rint(table))
    return np.ascontiguousarray(rounded + 0.0)  # no -0.0


def _node(entry: Any, schema: Schema, earlier: set[str]) -> Node:
    if not isinstance(entry, Mapping):
        raise InputError("a node of its network is not an object")
    name = entry.get("attribute")
    if not isinstance(name, str) or name not in schema or not schema[name].modelled:
        raise InputError(f"its network names {name!r}, which the schema does not model")
    if name in earlier:
        raise InputError(f"its network has {name!r} twice")
    given = entry.get("parents")
    if not isinstance(given, list) or len(given) > len(earlier):
        raise InputError(f"the parents of {name!r} are not a proper list")
    parents = tuple(_parent(name, parent, schema, earlier) for parent in given)
    if len({axis.attribute for axis in parents}) < len(parents):
        raise InputError(f"a parent of {name!r} is named twice")
    shape = [schema[axis.attribute].sizes_by_level()[axis.level] for axis in parents] + [
        schema[name].size
    ]
    cells = 1
    for side in shape:
        cells *= side
    counts = entry.get("counts")
    if not isinstance(counts, list) or len(counts) != cells or cells > MAX_NETWORK_CELLS:
        raise InputError(
            f"the table of {name!r} does not have the {cells} counts that the schema asks for"
        )
    if any(isinstance(count, bool) or not isinstance(count, int | float) for count in counts):
        raise InputError(f"the table of {name!r} holds something that is not a number")
    table = np.array(counts, dtype=np.float64).reshape(shape)
    if not np.isfinite(table).all() or (table < 0).any() or table.sum() > 1e15:
        raise InputError(f"the table of {name!r} holds a count that cannot be one")
    deviation = entry.get("deviation", 0.0)
    if (
        isinstance(deviation, bool)
        or not isinstance(deviation, int | float)
        or not 0 <= deviation < 1e15
    ):
        raise InputError(f"the deviation of {name!r} is not a number at or above 0")
    return Node(name, parents, table, float(deviation))


def _parent(name: str, parent: Any, schema: Schema, earlier: set[str]) -> Axis:
    if not (isinstance(parent, list) and len(parent) == 2 and isinstance(parent[0], str)):
        raise InputError(f"a parent of {name!r} is not a pair of attribute and level")
    attribute, level = parent
    if attribute not in earlier:
        raise InputError(f"{name!r} has the parent {attribute!r}, which does not come before it")
    levels = len(schema[attribute].sizes_by_level())
    if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level < levels:
        raise InputError(f"the parent {attribute!r} of {name!r} has no level {level!r}")
    return Axis(attribute, level)
