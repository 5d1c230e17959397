"""The networks of figures 9 to 13: what is learned at one epsilon, drawn, and how steady it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from study import Claim, Options, Part, Row, Settings, grid, means
from thesis_parts.accuracy import centralised, synthesizer
from thesis_parts.tables import TARGETS, count_tables, task
from understudy.data.encoding import Coded
from understudy.data.marginals import Axis, Marginal
from understudy.models.model import Model

EPSILONS = (0.1, 1.0, 20.0)
DRAWN = 1.0
NO_NOISE = 1e6
"""An epsilon at which noise changes no choice: the network that the exact rows give."""
ARROW = " -> "
QUICK_TABLES = ("heart",)


def cells(options: Options) -> list[Settings]:
    """Both degrees on each table, and the network without noise to compare with."""
    tables = QUICK_TABLES if options.quick else tuple(TARGETS)
    epsilons = (DRAWN, NO_NOISE) if options.quick else (*EPSILONS, NO_NOISE)
    return grid(table=tables, degree=[1, 2], epsilon=epsilons, repeat=range(options.repeats))


def run(options: Options, settings: Settings) -> Mapping[str, float]:
    """The edges of a network, each named once, and the information that its families hold."""
    on = task(settings["table"], options.data, 0)
    method = synthesizer(f"k = {settings['degree']}", settings["epsilon"])
    model = centralised(on.train, method, options, settings)
    return {**_edges(model), "information": information(on.train, model)}


def _edges(model: Model) -> dict[str, float]:
    """The place of each child in the network's order, by the edge that leads to it."""
    return {
        f"{parent.attribute}{ARROW}{node.attribute}": place
        for place, node in enumerate(model.network)
        for parent in node.parents
    }


def information(rows: Coded, model: Model) -> float:
    """The mutual information of children and parents in the exact rows, summed, in bits."""
    families: list[Marginal] = [(*node.parents, Axis(node.attribute)) for node in model.network]
    return sum(_mutual_information(table) for table in count_tables(rows, families))


def _mutual_information(table: np.ndarray) -> float:
    joint = table.reshape(-1, table.shape[-1]) / table.sum()
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    there = joint > 0
    return float((joint[there] * np.log2(joint[there] / apart[there])).sum())


# ---- conclusions


def edges_of(row: Row) -> set[frozenset[str]]:
    """The edges of a run, without their direction."""
    return {frozenset(name.split(ARROW)) for name in row if ARROW in name}


def conclude(rows: list[Row]) -> list[Claim]:
    """How much of the information a private network holds, and how much of it is chance."""
    settings = list(dict.fromkeys((row["table"], row["degree"]) for row in rows))
    return [_information(rows, settings), _steady(rows, settings)]


def _information(rows: list[Row], settings: Sequence[tuple[str, int]]) -> Claim:
    found = means(rows, "information", "table", "degree", "epsilon")
    shares = {key: found[*key, DRAWN] / found[*key, NO_NOISE] for key in settings}
    numbers = (f"{table}, k = {k}: {share:.0%}" for (table, k), share in shares.items())
    text = (
        f"At epsilon {DRAWN:g} a network holds at least nine tenths of the information between "
        "children and parents that the network without noise holds"
    )
    return Claim(text, all(share >= 0.9 for share in shares.values()), "; ".join(numbers))


def _steady(rows: list[Row], settings: Sequence[tuple[str, int]]) -> Claim:
    shares = {
        (table, k): _shared(
            [r for r in rows if (r["table"], r["degree"], r["epsilon"]) == (table, k, DRAWN)]
        )
        for table, k in settings
    }
    numbers = (f"{table}, k = {k}: {share:.0%}" for (table, k), share in shares.items())
    text = (
        f"Two runs at epsilon {DRAWN:g} share most of their edges, so that a drawn network shows "
        "the table and not the noise"
    )
    return Claim(text, all(share > 0.5 for share in shares.values()), "; ".join(numbers))


def _shared(runs: Sequence[Row]) -> float:
    """The mean share of edges that a run has in common with the first one."""
    first, *others = (edges_of(row) for row in runs)
    if not others:
        return 1.0
    return float(np.mean([len(first & other) / max(len(first), 1) for other in others]))


# ---- the figure


def draw(rows: list[Row]) -> Any:
    """The first network of each table and degree, roots on top, as figures 9 to 13 show theirs."""
    from matplotlib.figure import Figure

    shown = [row for row in rows if row["epsilon"] == DRAWN and row["repeat"] == 0]
    figure = Figure(figsize=(13, 4.2 * -(-len(shown) // 2)), layout="constrained")
    for place, row in enumerate(shown):
        axes = figure.add_subplot(-(-len(shown) // 2), 2, place + 1)
        _draw_network(axes, row)
        axes.set_title(f"{row['table']}, k = {row['degree']}, epsilon {DRAWN:g}", fontsize=10)
    return figure


def _draw_network(axes: Any, row: Row) -> None:
    edges = sorted(
        (tuple(name.split(ARROW)) for name in row if ARROW in name),
        key=lambda edge: row[ARROW.join(edge)],
    )
    places = place_nodes(edges)
    for parent, child in edges:
        arrow = {"arrowstyle": "-|>", "color": "0.55", "shrinkA": 12, "shrinkB": 12}
        axes.annotate("", xy=places[child], xytext=places[parent], arrowprops=arrow)
    for name, (across, down) in places.items():
        box = {"boxstyle": "round,pad=0.25", "facecolor": "#e8eef7", "edgecolor": "0.6"}
        axes.text(across, down, name, ha="center", va="center", fontsize=7, bbox=box)
    axes.set_xlim(-0.06, 1.06)
    axes.margins(y=0.12)
    axes.autoscale(axis="y")
    axes.set_ylim(min(y for _, y in places.values()) - 0.6, 0.6)
    axes.axis("off")


def place_nodes(edges: Sequence[tuple[str, ...]]) -> dict[str, tuple[float, float]]:
    """Where each node is drawn: a child one line below its lowest parent, lines spread evenly.

    Edges come in the order of their children, so that every parent has its line already.
    """
    lines: dict[str, int] = {}
    for parent, child in edges:
        lines.setdefault(parent, 0)
        lines[child] = max(lines.get(child, 0), lines[parent] + 1)
    places = {}
    for line in range(max(lines.values(), default=0) + 1):
        names = [name for name, own in lines.items() if own == line]
        # Lines are shifted against each other, or edges would hide behind what is between.
        middle = 0.5 + 0.2 * (line % 3 - 1)
        for place, name in enumerate(names):
            places[name] = (place + middle) / len(names), float(-line)
    return places


PART = Part("networks", "Networks of figures 9 to 13", cells, run, conclude, draw)
