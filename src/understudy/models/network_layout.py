"""Where a picture of a network has its boxes and edges.

After Sugiyama: attributes in layers, parents above children; long edges get a waypoint in each
layer they pass; the order within layers is improved by sweeps that put each item near the middle of
its neighbours; last, positions are pulled straight without changing the order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.models.network import Network, Node

MAX_WAYPOINTS = 100_000
"""Layers that all edges of a picture pass together; some 5 seconds of work."""

SWEEPS = 16
BOX_HEIGHT = 42.0
LAYER_GAP = 62.0
BOX_GAP = 26.0
WAYPOINT_GAP = 16.0
MARGIN = 24.0
MAX_DRAWN_NAME = 26


@dataclass(eq=False)
class DrawnItem:
    """A box, or a waypoint of an edge that passes a layer."""

    name: str | None
    layer: int
    width: float
    x: float = 0.0
    above: list[DrawnItem] = field(default_factory=list)
    below: list[DrawnItem] = field(default_factory=list)


@dataclass
class DrawnEdge:
    """From a parent to a child, by way of some waypoints."""

    child: str
    parent: str
    level: int
    strength: float
    items: list[DrawnItem]


class NetworkLayout:
    """Which item goes where."""

    def __init__(self, network: Network) -> None:
        self.boxes: dict[str, DrawnItem] = {}
        self.edges: list[DrawnEdge] = []
        self._trunks: dict[tuple[str, int], DrawnItem] = {}
        self._place_boxes(network)
        self._check_size(network)
        self.layers: list[list[DrawnItem]] = [
            [] for _ in range(1 + max((b.layer for b in self.boxes.values()), default=0))
        ]
        for box in self.boxes.values():
            self.layers[box.layer].append(box)
        for node in network:
            for axis, strength in zip(node.parents, strengths(node), strict=True):
                self._connect(axis.attribute, node.attribute, axis.level, strength)

    def _check_size(self, network: Network) -> None:
        passed = sum(
            self.boxes[node.attribute].layer - self.boxes[axis.attribute].layer
            for node in network
            for axis in node.parents
        )
        if passed > MAX_WAYPOINTS:
            raise InputError(
                f"A network of {len(network):,} attributes with edges this long is too large for a "
                "picture; "
                f"they pass {passed:,} layers, and at most {MAX_WAYPOINTS:,} can be drawn."
            )

    def _place_boxes(self, network: Network) -> None:
        """Each attribute below its parents, in the first layer that has room; the unconnected ones
        at the bottom.
        """
        widths = {node.attribute: _box_width(node.attribute) for node in network}
        parents = {axis.attribute for node in network for axis in node.parents}
        widest = max([520.0, *widths.values(), min(1060.0, 200.0 * math.sqrt(len(widths)))])
        taken: list[float] = []
        joined = [node for node in network if node.parents or node.attribute in parents]
        alone = [node for node in network if not node.parents and node.attribute not in parents]
        for group in (joined, alone):
            start = len(taken)
            for node in group:
                layer = max(
                    [start, *(self.boxes[axis.attribute].layer + 1 for axis in node.parents)]
                )
                width = widths[node.attribute] + BOX_GAP
                while layer < len(taken) and taken[layer] + width > widest + BOX_GAP:
                    layer += 1
                while len(taken) <= layer:
                    taken.append(0.0)
                taken[layer] += width
                self.boxes[node.attribute] = DrawnItem(
                    node.attribute, layer, widths[node.attribute]
                )
        self._lower_roots(network, taken, widest)

    def _lower_roots(self, network: Network, taken: list[float], widest: float) -> None:
        """Attributes without parents go down to just above their first child, where there is room:
        shorter edges.
        """
        first: dict[str, int] = {}
        for node in network:
            for axis in node.parents:
                first[axis.attribute] = min(
                    self.boxes[node.attribute].layer, first.get(axis.attribute, len(taken))
                )
        for node in network:
            box = self.boxes[node.attribute]
            width = box.width + BOX_GAP
            lowest = first.get(node.attribute, 0) - 1
            room = [
                layer
                for layer in range(box.layer + 1, lowest + 1)
                if taken[layer] + width <= widest + BOX_GAP
            ]
            if not node.parents and room:
                taken[box.layer] -= width
                taken[room[-1]] += width
                box.layer = room[-1]

    def _connect(self, parent: str, child: str, level: int, strength: float) -> None:
        top, bottom = self.boxes[parent], self.boxes[child]
        items = [top]
        for layer in range(top.layer + 1, bottom.layer):
            # Edges of one parent run together as far as they go the same way.
            if (parent, layer) not in self._trunks:
                # To begin with in the middle: what hangs from it then finds room on both sides.
                self._trunks[parent, layer] = DrawnItem(None, layer, 0.0)
                self.layers[layer].insert(len(self.layers[layer]) // 2, self._trunks[parent, layer])
            items.append(self._trunks[parent, layer])
        items.append(bottom)
        for upper, lower in itertools.pairwise(items):
            if lower not in upper.below:
                upper.below.append(lower)
                lower.above.append(upper)
        self.edges.append(DrawnEdge(child, parent, level, strength, items))

    def arrange(self) -> None:
        """Order the layers with few crossings, then set positions."""
        best, fewest = [list(layer) for layer in self.layers], self._crossings()
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            for number in range(len(self.layers)) if down else reversed(range(len(self.layers))):
                self._sort(number, down)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(layer) for layer in self.layers], crossings
        self.layers = best
        self._set_positions()

    def _sort(self, number: int, down: bool) -> None:
        """Put each item of a layer near the middle of its neighbours in the layer before."""
        layer = self.layers[number]
        if down:
            before = number - 1
        else:
            before = number + 1
        if 0 <= before < len(self.layers):
            fixed = self.layers[before]
        else:
            fixed = []
        place = {
            id(item): i / len(items) for items in (fixed, layer) for i, item in enumerate(items)
        }
        middles = {id(item): _middle(item, place, down) for item in layer}
        layer.sort(key=lambda item: middles[id(item)])

    def _crossings(self) -> int:
        total = 0
        for upper, lower in itertools.pairwise(self.layers):
            place = {id(item): i for i, item in enumerate(lower)}
            ends = [
                place[id(item)]
                for box in upper
                for item in sorted(box.below, key=lambda b: place[id(b)])
            ]
            total += sum(a > b for i, b in enumerate(ends) for a in ends[:i])
        return total

    def _set_positions(self) -> None:
        for layer in self.layers:
            x = 0.0
            for i, item in enumerate(layer):
                if i:
                    x += _distance(layer[i - 1], item)
                item.x = x
            for item in layer:
                item.x -= x / 2
        for sweep in range(24):
            for layer in self.layers if sweep % 2 == 0 else reversed(self.layers):
                _straighten(layer)
        joined = [item.x for layer in self.layers for item in layer if item.above or item.below]
        if joined:
            middle = (min(joined) + max(joined)) / 2
        else:
            middle = 0.0
        for layer in self.layers:
            if not any(item.above or item.below for item in layer):
                shift = middle - (layer[0].x + layer[-1].x) / 2
                for item in layer:
                    item.x += shift
        left = min(
            (item.x - item.width / 2 for layer in self.layers for item in layer), default=0.0
        )
        for layer in self.layers:
            for item in layer:
                item.x += MARGIN - left

    @property
    def width(self) -> float:
        """How wide the picture is."""
        return (
            max((i.x + i.width / 2 for layer in self.layers for i in layer), default=0.0) + MARGIN
        )

    @property
    def height(self) -> float:
        """How high the picture is."""
        return 2 * MARGIN + len(self.layers) * (BOX_HEIGHT + LAYER_GAP) - LAYER_GAP


def _middle(item: DrawnItem, place: dict[int, float], down: bool) -> float:
    if down:
        near = item.above
    else:
        near = item.below
    if near:
        return sum(place[id(other)] for other in near) / len(near)
    return place[id(item)]


def _distance(left: DrawnItem, right: DrawnItem) -> float:
    if left.name and right.name:
        gap = BOX_GAP
    else:
        gap = WAYPOINT_GAP
    return left.width / 2 + gap + right.width / 2


def _straighten(layer: Sequence[DrawnItem]) -> None:
    """Move each item towards the middle of its neighbours as far as order and distances allow:
    least squares.
    """
    if not layer:
        return
    wanted, weights = [], []
    for item in layer:
        near = item.above + item.below
        wanted.append(sum(other.x for other in near) / len(near) if near else 0.0)
        # Waypoints weigh more: an edge that runs straight down is easier to follow than a box that
        # is centred.
        weight = 0.05
        if near:
            weight = 8.0 if item.name is None else 1.0
        weights.append(weight)
    offsets = np.concatenate(
        [[0.0], np.cumsum([_distance(a, b) for a, b in itertools.pairwise(layer)])]
    )
    for item, x in zip(
        layer, _make_rising(np.array(wanted) - offsets, np.array(weights)) + offsets, strict=True
    ):
        item.x = float(x)


def _make_rising(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest sequence that never falls (pool adjacent violators)."""
    pools: list[list[float]] = []  # mean, weight, length
    for value, weight in zip(values, weights, strict=True):
        pools.append([float(value), float(weight), 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, mass, length = pools.pop()
            before = pools[-1]
            before[0] = (before[0] * before[1] + mean * mass) / (before[1] + mass)
            before[1] += mass
            before[2] += length
    return np.concatenate([np.full(int(length), mean) for mean, _, length in pools])


def strengths(node: Node) -> list[float]:
    """For each parent how much it alone tells about the child in the node's table: 0 (nothing) to 1
    (everything).
    """
    found = []
    for place in range(len(node.parents)):
        others = tuple(i for i in range(len(node.parents)) if i != place)
        pair = node.table.sum(axis=others)
        total = pair.sum()
        if total <= 0:
            found.append(0.0)
            continue
        pair = pair / total
        rows, columns = pair.sum(axis=1, keepdims=True), pair.sum(axis=0, keepdims=True)
        present = pair > 0
        shared = float((pair[present] * np.log2(pair[present] / (rows * columns)[present])).sum())
        positive = columns[columns > 0]
        whole = float(-(positive * np.log2(positive)).sum())
        found.append(min(max(shared / whole, 0.0), 1.0) if whole > 0 else 0.0)
    return found


def find_top(layer: int) -> float:
    """Where the boxes of a layer begin."""
    return MARGIN + layer * (BOX_HEIGHT + LAYER_GAP)


def _box_width(name: str) -> float:
    return max(84.0, 7.4 * sum(1.9 if ord(c) > 0x2E7F else 1 for c in shorten(name)) + 26)


def shorten(name: str) -> str:
    """A name as a box has room for it."""
    name = clean(name)
    if len(name) <= MAX_DRAWN_NAME:
        return name
    return name[: MAX_DRAWN_NAME - 1] + "…"


def clean(text: str) -> str:
    """Text without control characters: they are no part of XML, and could play tricks with a
    terminal.
    """
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
