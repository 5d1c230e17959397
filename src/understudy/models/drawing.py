"""Pictures of a network: a tree for the terminal and a layered drawing (SVG) for everything else.

Edges are the thicker the more the parent tells about the child in the released table.
"""

from __future__ import annotations

import html
import itertools
import math
from dataclasses import dataclass, field
from pathlib import Path

from understudy.data.files import write_text
from understudy.data.schema import Schema
from understudy.models.network import Network, Node
from understudy.models.network_layout import (
    BOX_HEIGHT,
    DrawnEdge,
    DrawnItem,
    NetworkLayout,
    clean,
    find_top,
    shorten,
    strengths,
)


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG text; notebooks show it."""

    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write the picture to a file."""
        write_text(path, self.svg, "picture")


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
        lines.append((prefix + clean(node.attribute), node))
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
        parents = ", ".join(clean(str(axis)) for axis in node.parents)
        shown.append(f"{text:<{width}}given {parents}" if parents else text)
    return "\n".join(shown)


# --------------------------------------------------------------------------- as a picture


def picture(network: Network, schema: Schema) -> Picture:
    """The network as a layered drawing."""
    layout = NetworkLayout(network)
    layout.arrange()
    return Picture(_svg(layout, network, schema))


# --------------------------------------------------------------------------- SVG


def _svg(layout: NetworkLayout, network: Network, schema: Schema) -> str:
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


def _ends(layout: NetworkLayout) -> list[tuple[float, float]]:
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


def _points(edge: DrawnEdge, leave: float, enter: float) -> list[tuple[float, float]]:
    """Start, the top and bottom of each layer passed, end."""
    points = [(leave, find_top(edge.items[0].layer) + BOX_HEIGHT)]
    for item in edge.items[1:-1]:
        points += [(item.x, find_top(item.layer)), (item.x, find_top(item.layer) + BOX_HEIGHT)]
    return [*points, (enter, find_top(edge.items[-1].layer) - 5)]


def _edge(edge: DrawnEdge, leave: float, enter: float, schema: Schema) -> str:
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


def _edge_label(edge: DrawnEdge, leave: float, enter: float) -> str:
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


def _box(box: DrawnItem, node: Node, schema: Schema) -> str:
    name = node.attribute
    x, y = box.x - box.width / 2, find_top(box.layer)
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
        f'<text class="name" x="{box.x:.1f}" y="{y + 18:.1f}">{_escape(shorten(name))}</text>'
        f'<text class="size" x="{box.x:.1f}" y="{y + 33:.1f}">{values} '
        f"value{'s' if values != 1 else ''}</text></g>"
    )


def _escape(text: str) -> str:
    return html.escape(clean(text))


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
