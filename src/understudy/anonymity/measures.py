"""What is measured of equivalence classes: diversity and closeness of a sensitive column.

Every function takes counts, one line per class and one place per value of the sensitive column,
and gives one number per class. None of these is a promise like differential privacy: they describe
one table, and say nothing of what it tells together with others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.generalisation import Taxonomy

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def count_distinct(counts: Ints) -> Ints:
    """Distinct values."""
    return (counts > 0).sum(axis=1)


def entropy_diversity(counts: Ints) -> Floats:
    """The exponential of the entropy: as many equally frequent values as it is worth."""
    shares = _shares(counts)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.exp(-(shares * logs).sum(axis=1))


def recursive_ratio(counts: Ints, least: int) -> Floats:
    """The most frequent value against the ``least``-th most frequent one and all rarer: a class is
    recursively (c, l)-diverse if this is below c (Machanavajjhala et al. 2007).
    """
    falling = -np.sort(-counts, axis=1)
    if least < 1 or least > counts.shape[1]:
        return np.full(len(counts), math.inf)
    rest = falling[:, least - 1 :].sum(axis=1)
    return np.divide(falling[:, 0], rest, out=np.full(len(counts), math.inf), where=rest > 0)


def largest_share(counts: Ints) -> Floats:
    """The share of the most frequent value: what somebody guesses right in the class."""
    return _shares(counts).max(axis=1, initial=0.0)


def total_variation(counts: Ints, overall: Floats) -> Floats:
    """The earth mover's distance where any two values are 1 apart."""
    return np.abs(_shares(counts) - overall).sum(axis=1) / 2


def ordered_distance(counts: Ints, overall: Floats) -> Floats:
    """The earth mover's distance where the values stand in line and its ends are 1 apart."""
    apart = np.cumsum(_shares(counts) - overall, axis=1)
    return np.abs(apart).sum(axis=1) / max(counts.shape[1] - 1, 1)


def hierarchical_distance(
    counts: Ints, overall: Floats, tree: Taxonomy, names: Sequence[str]
) -> Floats:
    """The earth mover's distance where two values are as far apart as their lowest common ancestor
    is high (Li, Li and Venkatasubramanian 2007, section 5.2); values outside the tree hang from its
    root.
    """
    apart = _shares(counts) - overall
    places = {name: place for place, name in enumerate(names)}
    known = {str(leaf) for leaf in _flatten(tree)}
    strangers = tuple(name for name in names if name not in known)
    height = _height(tree)
    moved = np.zeros(len(counts))

    def visit(node: Taxonomy | str) -> Floats:
        nonlocal moved
        if not isinstance(node, tuple):
            place = places.get(str(node))
            return np.zeros(len(counts)) if place is None else apart[:, place]
        extras = np.stack([visit(child) for child in node], axis=1)
        surplus = np.maximum(extras, 0.0).sum(axis=1)
        lack = np.maximum(-extras, 0.0).sum(axis=1)
        moved = moved + np.minimum(surplus, lack) * (_height(node) / height)
        return extras.sum(axis=1)

    visit((*tree, *strangers))
    return moved


def largest_difference(counts: Ints, overall: Floats) -> Floats:
    """The largest difference of shares among the values that the class holds (Chang et al. 2023,
    listing 8.7). It ignores values that are absent, so it can miss most of what a class tells.
    """
    apart = np.abs(_shares(counts) - overall)
    return np.where(counts > 0, apart, 0.0).max(axis=1, initial=0.0)


def basic_likeness(counts: Ints, overall: Floats) -> Floats:
    """beta: the largest relative gain in a value's share (Cao and Karras 2012)."""
    shares = _shares(counts)
    gain = np.divide(
        shares - overall, overall, out=np.zeros_like(shares), where=(counts > 0) & (overall > 0)
    )
    return np.maximum(gain, 0.0).max(axis=1, initial=0.0)


def delta_disclosure(counts: Ints, overall: Floats) -> Floats:
    """delta: the largest absolute logarithm of how a value's share changes, among the values that
    the class holds (Brickell and Shmatikov 2008).
    """
    shares = _shares(counts)
    ratio = np.divide(shares, overall, out=np.ones_like(shares), where=(counts > 0) & (overall > 0))
    return np.abs(np.log(ratio)).max(axis=1, initial=0.0)


@dataclass(frozen=True)
class Distance:
    """A way to measure how far a class is from the whole table."""

    name: str
    measure: Callable[[Ints, Floats], Floats]


def choose_distance(
    name: str, ordered: bool, tree: Taxonomy | None, names: Sequence[str]
) -> Distance:
    """The distance of a sensitive column.

    Parameters
    ----------
    name
        "equal", "ordered", "hierarchical", "difference" (the book's), or "auto": ordered where the
        values have an order, hierarchical where there is a taxonomy, else equal.
    """
    if name == "auto" and ordered:
        name = "ordered"
    elif name == "auto" and tree is not None:
        name = "hierarchical"
    elif name == "auto":
        name = "equal"
    if name == "hierarchical":
        assert tree is not None
        root: Taxonomy = tree
        return Distance(
            "earth mover's distance along the taxonomy",
            lambda counts, overall: hierarchical_distance(counts, overall, root, names),
        )
    return {
        "equal": Distance("earth mover's distance, all values equally far", total_variation),
        "ordered": Distance("earth mover's distance, values in order", ordered_distance),
        "difference": Distance("largest difference of a share", largest_difference),
    }[name]


def _shares(counts: Ints) -> Floats:
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def _height(node: Taxonomy | str) -> int:
    if not isinstance(node, tuple):
        return 0
    return 1 + max((_height(child) for child in node), default=0)


def _flatten(tree: Taxonomy) -> list[str]:
    found = []
    for node in tree:
        if isinstance(node, tuple):
            found.extend(_flatten(node))
        else:
            found.append(node)
    return found
