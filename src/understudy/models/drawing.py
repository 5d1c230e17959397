"""Pictures of a network: a tree for the terminal and a layered drawing (SVG) for everything else.

The drawing follows Sugiyama: attributes in layers, parents above children; long edges get a
waypoint in each layer they pass; the order within layers is improved by sweeps that put each item
near the middle of its neighbours; last, positions are pulled straight without changing the order.
Edges are the thicker the more the parent tells about the child in the released table.
"""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.data.files import write_text
from understudy.data.schema import Schema
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


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG text; notebooks show it."""

    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write the picture to a file."""
        write_text(path, self.svg, "picture")


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


# --------------------------------------------------------------------------- in the terminal


def tree(network: Network, max_lines: int | None = None) -> str:
    """The network as text: each attribute under the parent that tells most about it, all parents
    beside it.

    Of a long one, only the first ``max_lines`` attributes.

    Examples
    --------
    >>> print(tree(network))   # doctest: +SKIP
    age
    ├─ education            given age^2
    │  └─ income            given education, age
    └─ marital-status       given age
    """
    under: dict[str | None, list[Node]] = {}
    for node in network:
        told = strengths(node)
        main = None
        if told:
            main = node.parents[told.index(max(told))].attribute
        under.setdefault(main, []).append(node)
    lines: list[tuple[str, Node]] = []
    # Depth first with a stack of its own: a network may be a chain of any length.
    waiting = [(node, "", "") for node in reversed(under.get(None, []))]
    while waiting and len(lines) != max_lines:
        node, prefix, indent = waiting.pop()
        lines.append((prefix + _clean(node.attribute), node))
        below = under.get(node.attribute, [])
        branches = [
            (child, last)
            for child, last in zip(below, [False] * (len(below) - 1) + [True], strict=False)
        ]
        for child, last in reversed(branches):
            waiting.append(
                (child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  "))
            )
    width = max((len(text) for text, _ in lines), default=0) + 3
    shown = []
    for text, node in lines:
        parents = ", ".join(_clean(str(axis)) for axis in node.parents)
        shown.append(f"{text:<{width}}given {parents}" if parents else text)
    return "\n".join(shown)


# --------------------------------------------------------------------------- as a picture


def picture(network: Network, schema: Schema) -> Picture:
    """The network as a layered drawing."""
    layout = _Layout(network)
    layout.arrange()
    return Picture(_svg(layout, network, schema))


@dataclass(eq=False)
class _Item:
    """A box, or a waypoint of an edge that passes a layer."""

    name: str | None
    layer: int
    width: float
    x: float = 0.0
    above: list[_Item] = field(default_factory=list)
    below: list[_Item] = field(default_factory=list)


@dataclass
class _Edge:
    """From a parent to a child, by way of some waypoints."""

    child: str
    parent: str
    level: int
    strength: float
    items: list[_Item]


class _Layout:
    """Which item goes where."""

    def __init__(self, network: Network) -> None:
        self.boxes: dict[str, _Item] = {}
        self.edges: list[_Edge] = []
        self._trunks: dict[tuple[str, int], _Item] = {}
        self._place_boxes(network)
        self._check_size(network)
        self.layers: list[list[_Item]] = [
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
                self.boxes[node.attribute] = _Item(node.attribute, layer, widths[node.attribute])
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
                self._trunks[parent, layer] = _Item(None, layer, 0.0)
                self.layers[layer].insert(len(self.layers[layer]) // 2, self._trunks[parent, layer])
            items.append(self._trunks[parent, layer])
        items.append(bottom)
        for upper, lower in itertools.pairwise(items):
            if lower not in upper.below:
                upper.below.append(lower)
                lower.above.append(upper)
        self.edges.append(_Edge(child, parent, level, strength, items))

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
                else:
                    x += 0.0
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
        return (
            max((i.x + i.width / 2 for layer in self.layers for i in layer), default=0.0) + MARGIN
        )

    @property
    def height(self) -> float:
        return 2 * MARGIN + len(self.layers) * (BOX_HEIGHT + LAYER_GAP) - LAYER_GAP


def _middle(item: _Item, place: dict[int, float], down: bool) -> float:
    if down:
        near = item.above
    else:
        near = item.below
    if near:
        return sum(place[id(other)] for other in near) / len(near)
    return place[id(item)]


def _distance(left: _Item, right: _Item) -> float:
    if left.name and right.name:
        gap = BOX_GAP
    else:
        gap = WAYPOINT_GAP
    return left.width / 2 + gap + right.width / 2


def _straighten(layer: Sequence[_Item]) -> None:
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


# --------------------------------------------------------------------------- SVG


def _svg(layout: _Layout, network: Network, schema: Schema) -> str:
    levels = any(edge.level for edge in layout.edges)
    if levels:
        note = "^1, ^2, …: the parent in coarser groups, this many levels up"
    else:
        note = ""
    width = max(layout.width, 440.0 if note else 0.0)
    height = layout.height + (22 if note else 0)
    shift = (width - layout.width) / 2
    ends = _ends(layout)
    # Faint edges first, so that the strong ones lie on top.
    order = sorted(range(len(layout.edges)), key=lambda i: layout.edges[i].strength)
    edges = "".join(_edge(layout.edges[i], *ends[i], schema) for i in order)
    labels = "".join(_edge_label(layout.edges[i], *ends[i]) for i in order if layout.edges[i].level)
    boxes = "".join(_box(layout.boxes[node.attribute], node, schema) for node in network)
    if note:
        legend = f'<text class="note" x="{width / 2:.0f}" y="{height - 12:.0f}">{note}</text>'
    else:
        legend = ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="network" viewBox="0 0 {width:.0f} '
        f'{height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="The network: which '
        'column depends on which">'
        f"<style>{_STYLE}</style>"
        f'<g transform="translate({shift:.1f} 0)">{edges}{boxes}{labels}</g>{legend}</svg>'
    )


def _ends(layout: _Layout) -> list[tuple[float, float]]:
    """Where each edge leaves its parent and enters its child: side by side, in the order of where
    they go.
    """
    leave, enter = [0.0] * len(layout.edges), [0.0] * len(layout.edges)
    for name, box in layout.boxes.items():
        outgoing = [
            (edge.items[1].x, i) for i, edge in enumerate(layout.edges) if edge.parent == name
        ]
        incoming = [
            (edge.items[-2].x, i) for i, edge in enumerate(layout.edges) if edge.child == name
        ]
        for found, target, widest in ((outgoing, leave, 9.0), (incoming, enter, 22.0)):
            spots = sorted({x for x, _ in found})
            step = min(widest, (box.width - 28) / max(len(spots) - 1, 1))
            for x, i in found:
                target[i] = box.x + (spots.index(x) - (len(spots) - 1) / 2) * step
    return list(zip(leave, enter, strict=True))


def _points(edge: _Edge, leave: float, enter: float) -> list[tuple[float, float]]:
    """Start, the top and bottom of each layer passed, end."""
    points = [(leave, _top(edge.items[0].layer) + BOX_HEIGHT)]
    for item in edge.items[1:-1]:
        points += [(item.x, _top(item.layer)), (item.x, _top(item.layer) + BOX_HEIGHT)]
    return [*points, (enter, _top(edge.items[-1].layer) - 5)]


def _edge(edge: _Edge, leave: float, enter: float, schema: Schema) -> str:
    points = _points(edge, leave, enter)
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for place, ((x0, y0), (x1, y1)) in enumerate(itertools.pairwise(points)):
        if place % 2:
            path.append(f"L{x1:.1f} {y1:.1f}")
        else:
            bend = (y1 - y0) * 0.55
            path.append(f"C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 - bend:.1f} {x1:.1f} {y1:.1f}")
    thick = 1.1 + 3.4 * math.sqrt(edge.strength)
    strong = 0.38 + 0.5 * math.sqrt(edge.strength)
    coarse = ""
    if edge.level:
        groups = schema[edge.parent].sizes_by_level()[edge.level]
        coarse = f" (in {groups} groups, level {edge.level})"
    title = f"{_escape(edge.parent)}{coarse} tells {edge.strength:.0%} of {_escape(edge.child)}"
    x, y = points[-1]
    half = 3.2 + thick / 2
    return (
        f'<g style="opacity:{strong:.2f}"><title>{title}</title>'
        f'<path d="{"".join(path)}" style="stroke-width:{thick:.2f}"/>'
        f'<path class="head" d="M{x:.1f} {y + 5:.1f}l{-half:.1f} '
        f'{-half - 4:.1f}h{2 * half:.1f}z"/></g>'
    )


def _edge_label(edge: _Edge, leave: float, enter: float) -> str:
    """The parent's level, close to the child, where edges from all sides already run apart."""
    points = _points(edge, leave, enter)
    (x0, y0), (x1, y1) = points[-2], points[-1]
    t = 0.70
    # The point at t of a cubic whose inner points stand above and below the ends.
    x = x0 * ((1 - t) ** 3 + 3 * (1 - t) ** 2 * t) + x1 * (3 * (1 - t) * t**2 + t**3)
    bend = (y1 - y0) * 0.55
    y = (
        (1 - t) ** 3 * y0
        + 3 * (1 - t) ** 2 * t * (y0 + bend)
        + 3 * (1 - t) * t**2 * (y1 - bend)
        + t**3 * y1
    )
    return f'<text class="level" x="{x:.1f}" y="{y + 4:.1f}">^{edge.level}</text>'


def _box(box: _Item, node: Node, schema: Schema) -> str:
    name = node.attribute
    x, y = box.x - box.width / 2, _top(box.layer)
    values = schema[name].size
    given = ", ".join(str(axis) for axis in node.parents)
    title = _escape(name) + (f" given {_escape(given)}" if given else "")
    if not node.parents:
        root = ' class="root"'
    else:
        root = ""
    return (
        f'<g><title>{title}</title><rect{root} x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" '
        f'height="{BOX_HEIGHT:.0f}" rx="9"/>'
        f'<text class="name" x="{box.x:.1f}" y="{y + 18:.1f}">{_escape(_shorten(name))}</text>'
        f'<text class="size" x="{box.x:.1f}" y="{y + 33:.1f}">{values} '
        f"value{'s' if values != 1 else ''}</text></g>"
    )


def _top(layer: int) -> float:
    return MARGIN + layer * (BOX_HEIGHT + LAYER_GAP)


def _box_width(name: str) -> float:
    return max(84.0, 7.4 * sum(1.9 if ord(c) > 0x2E7F else 1 for c in _shorten(name)) + 26)


def _shorten(name: str) -> str:
    name = _clean(name)
    if len(name) <= MAX_DRAWN_NAME:
        return name
    return name[: MAX_DRAWN_NAME - 1] + "…"


def _clean(text: str) -> str:
    """Text without control characters: they are no part of XML, and could play tricks with a
    terminal.
    """
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _escape(text: str) -> str:
    return html.escape(_clean(text))


_STYLE = (
    ".network{font-family:system-ui,-apple-system,'Segoe "
    "UI',sans-serif;width:auto;max-width:100%;height:auto}"
    ".network rect{fill:#fff;stroke:#8fa3b8;stroke-width:1.2}"
    ".network rect.root{fill:#e4edf6;stroke:#4878a8}"
    ".network path{fill:none;stroke:#4878a8;stroke-linecap:round}"
    ".network path.head{fill:#4878a8;stroke:none}"
    ".network text{text-anchor:middle;fill:#1d2733}"
    ".network text.name{font-size:13px;font-weight:600}"
    ".network text.size{font-size:10.5px;fill:#5b6774}"
    ".network text.level{font-size:11px;font-weight:600;fill:#8a4b12;stroke:#fff;stroke-width:4px;"
    "stroke-linejoin:round;paint-order:stroke}"
    ".network text.note{font-size:11px;fill:#5b6774}"
)
