"""A network that somebody who knows the subject has drawn: which columns each column depends on.

It is public, so nothing is paid for it, and all of the budget goes to its tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.data.files import read_json
from understudy.data.marginals import Axis, Marginal
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.synthesizers.parameters import Constraint

GivenNetwork = Sequence[tuple[str, Sequence[str]]]
"""Each column with its parents."""


@dataclass(frozen=True)
class NetworkPairs(Constraint):
    """Columns with their parents; on the command line, a JSON file of them."""

    metavar = "FILE"

    def __str__(self) -> str:
        return 'a list of columns with their parents, [("age", ()), ("education", ("age",))]'

    def allows(self, value: Any) -> bool:
        """Whether a value is a list of pairs of a name and names."""
        return isinstance(value, list | tuple) and len(value) > 0 and all(map(_is_pair, value))

    def parse(self, text: str) -> list[tuple[str, tuple[str, ...]]]:
        """The pairs in a JSON file: a list of [column, [parents]], or an object of lists."""
        document = read_json(text, "network")
        if isinstance(document, Mapping):
            document = list(document.items())
        if not self.allows(document):
            raise InputError(
                f"The network {text} must be a JSON list of columns with their parents, "
                '[["age", []], ["education", ["age"]]].'
            )
        return [(child, tuple(parents)) for child, parents in document]


def _is_pair(pair: Any) -> bool:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        return False
    child, parents = pair
    named = isinstance(parents, list | tuple) and all(isinstance(name, str) for name in parents)
    return named and isinstance(child, str)


def sort_network(network: GivenNetwork) -> list[tuple[str, tuple[str, ...]]]:
    """The pairs with parents before children, otherwise in their order; refuses what is no
    network.
    """
    parents_of: dict[str, tuple[str, ...]] = {}
    for child, parents in network:
        if child in parents_of:
            raise InputError(f"The network has the column {child!r} twice; name its parents once.")
        if len(set(parents)) < len(parents):
            raise InputError(f"The network names a parent of {child!r} twice.")
        parents_of[child] = tuple(parents)
    for child, parents in parents_of.items():
        unknown = [name for name in parents if name not in parents_of]
        if unknown:
            raise InputError(
                f"The network has {unknown[0]!r} as a parent of {child!r}, but not as a column of "
                "its own; add it, with its parents or none."
            )
    sorted_pairs: list[tuple[str, tuple[str, ...]]] = []
    placed: set[str] = set()
    left = list(parents_of)
    while left:
        ready = [child for child in left if placed.issuperset(parents_of[child])]
        if not ready:
            raise InputError(
                f"The network goes round in a circle through {left[0]!r}; a column cannot depend "
                "on itself, take one of the arrows out."
            )
        sorted_pairs += [(child, parents_of[child]) for child in ready]
        placed.update(ready)
        left = [child for child in left if child not in placed]
    return sorted_pairs


def check_network(network: GivenNetwork, schema: Schema, max_cells: int) -> None:
    """Refuse a network that does not fit a schema."""
    sizes = {attribute.name: attribute.size for attribute in schema.modelled}
    pairs = sort_network(network)
    for child, parents in pairs:
        if child not in sizes:
            raise InputError(
                f"The network names {child!r}, which is no column that is modelled; take it out."
            )
        cells = sizes[child] * math.prod(sizes[parent] for parent in parents if parent in sizes)
        if cells > max_cells:
            raise InputError(
                f"The network needs a table of {cells:,} cells for {child!r}; give it fewer "
                "parents, or columns fewer bins."
            )
    known = {child for child, _ in pairs}
    lacking = [name for name in sizes if name not in known]
    if lacking:
        raise InputError(f"The network lacks the column {lacking[0]!r}; give it parents, or none.")


def network_pairs(network: GivenNetwork, schema: Schema) -> list[tuple[str, Marginal]]:
    """The pairs as tables are made of them; a column with one value needs none and tells
    nothing.
    """
    kept = {attribute.name for attribute in schema.modelled if attribute.size > 1}
    return [
        (child, tuple(Axis(parent) for parent in parents if parent in kept))
        for child, parents in sort_network(network)
        if child in kept
    ]
