"""Draws the picture of docs/local-randomisers.md from the variances that randomisers state.

    python tools/randomiser_pictures.py [FOLDER]

The standard deviation of an estimated share, against the number of values at one epsilon, and
against epsilon at one number of values. Of each randomiser the mean over all values is shown: the
root of what all counts vary together, shared among them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from understudy.local.randomisers import (
    DirectEncoding,
    HadamardResponse,
    OptimalHashing,
    OptimalUnary,
    SubsetSelection,
    SummedHistogram,
    SymmetricUnary,
    ThresholdHistogram,
)

matplotlib.use("svg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "assets"
PERSONS = 10_000
SIZES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 150, 256, 400, 640, 1000)
EPSILONS = np.geomspace(0.1, 8, 33)

LINES: dict[str, tuple[type[Any], str, str]] = {
    "direct encoding": (DirectEncoding, "#c0392b", "-"),
    "subset selection": (SubsetSelection, "#3f51b5", "-"),
    "optimal unary encoding": (OptimalUnary, "#2a7f62", "--"),
    "optimal hashing": (OptimalHashing, "#ff7043", ":"),
    "Hadamard response": (HadamardResponse, "#8e24aa", "-."),
    "symmetric unary encoding": (SymmetricUnary, "#9e9e9e", "-"),
    "thresholds (THE)": (ThresholdHistogram, "#9e9e9e", "--"),
    "sums of Laplace noise (SHE)": (SummedHistogram, "#9e9e9e", ":"),
}


def deviation(kind: type[Any], size: int, epsilon: float) -> float:
    """Of an estimated share, in percentage points."""
    total = kind(size=size, epsilon=float(epsilon)).total_variance * PERSONS
    return 100 * float(np.sqrt(total / size)) / PERSONS


def draw() -> Any:
    """The picture."""
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained")
    for place, (name, (kind, colour, style)) in enumerate(LINES.items()):
        line = {"label": name, "color": colour, "linestyle": style, "linewidth": 1.8}
        line["zorder"] = 3 - place / len(LINES)
        panels[0].plot(SIZES, [deviation(kind, size, 1.0) for size in SIZES], **line)
        panels[1].plot(EPSILONS, [deviation(kind, 32, each) for each in EPSILONS], **line)
    for panel, title, axis in zip(
        panels,
        ("epsilon 1", "32 values"),
        ("number of values", "epsilon"),
        strict=True,
    ):
        panel.set_title(title, fontsize=10)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel(axis, fontsize=9)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
        panel.grid(color="#eeeeee")
    panels[0].set_xticks(
        [2, 5, 10, 32, 100, 300, 1000], ["2", "5", "10", "32", "100", "300", "1,000"]
    )
    panels[1].set_xticks([0.1, 0.3, 1, 3, 8], ["0.1", "0.3", "1", "3", "8"])
    panels[0].set_ylim(0.9, 4)
    for panel, ticks in zip(
        panels, ([1, 1.5, 2, 3, 4], [0.03, 0.1, 0.3, 1, 3, 10, 30]), strict=True
    ):
        panel.set_yticks(ticks, [f"{tick:g} %" for tick in ticks])
    panels[0].set_ylabel(f"standard deviation of a share,\n{PERSONS:,} persons", fontsize=9)
    for panel in panels:
        panel.minorticks_off()
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8
    )
    return figure


def main(folder: Path = FOLDER) -> None:
    """Write the picture."""
    with plt.rc_context({"svg.hashsalt": "randomisers", "svg.fonttype": "none"}):
        draw().savefig(folder / "randomisers.svg", metadata={"Date": None})


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
