"""Generalisation: how the codes of an attribute merge into coarser ones, level by level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Value = str | int | float
Taxonomy = tuple[Any, ...]
"""Nested tuples; a leaf is a value."""


def join_neighbours(values: int, size: int) -> tuple[NDArray[np.uint32], ...]:
    """A binary tree: each level joins neighbouring codes two by two."""
    levels: list[NDArray[np.uint32]] = []
    for level in range(1, values.bit_length()):
        coarse = np.arange(size, dtype=np.uint32) >> np.uint32(level)
        coarse[values:] = ((values - 1) >> level) + 1  # "missing" stays by itself
        if ((values - 1) >> level) + 1 < 2:
            break
        levels.append(coarse)
    return tuple(levels)


def cut_taxonomy(
    tree: Taxonomy, domain: tuple[Value, ...], size: int
) -> tuple[NDArray[np.uint32], ...]:
    """Cut the tree at each height: at level l, values deeper than (height - l) merge into their
    ancestor there.
    """
    paths = dict(_paths(tree, ()))
    height = max(len(path) for path in paths.values())
    levels: list[NDArray[np.uint32]] = []
    finest = size
    for level in range(1, height):
        groups: dict[Any, int] = {}
        coarse = np.empty(size, dtype=np.uint32)
        for code in range(size):
            # "other" and "missing" are not in the tree: they hang from its root.
            value = None
            if code < len(domain):
                value = domain[code]
            if value is not None:
                path = paths.get(value, (("outside", code),))
            else:
                path = (("missing", code),)
            coarse[code] = groups.setdefault(path[: height - level], len(groups))
        if 1 < len(groups) < finest:
            levels.append(coarse)
            finest = len(groups)
    return tuple(levels)


def _paths(tree: Taxonomy, above: tuple[int, ...]) -> Iterator[tuple[Value, tuple[int, ...]]]:
    for place, node in enumerate(tree):
        path = (*above, place)
        if isinstance(node, tuple):
            yield from _paths(node, path)
        else:
            yield node, path


def to_nested_lists(tree: Taxonomy) -> list[Any]:
    """A taxonomy as it stands in a file."""
    return [to_nested_lists(node) if isinstance(node, tuple) else node for node in tree]
