"""Draws the pictures of docs/mechanisms.md from what the mechanisms themselves state.

python tools/mechanism_pictures.py [FOLDER]

On the left what an answer looks like where the true value is one or another; on the right what it
gives away: the log-ratio of its two probabilities, which the price bounds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from understudy.mechanisms import (
    Exponential,
    GaussianMechanism,
    Geometric,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    RandomisedResponse,
    SparseVector,
    Staircase,
    TwoCoinResponse,
    Vector,
    compose_zcdp,
    for_group,
    gaussian_multiplier,
)
from understudy.mechanisms.additive import AdditiveMechanism

matplotlib.use("svg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "assets" / "mechanisms"
HERE, THERE, GREY, LIMIT = "#3f51b5", "#ff7043", "#9e9e9e", "#c0392b"
VOTES = {"football": 49, "volleyball": 25, "basketball": 6, "swimming": 2}


def two_panels(left: str, right: str) -> tuple[Any, Any, Any]:
    """A figure with two panels and their titles."""
    figure, (one, two) = plt.subplots(1, 2, figsize=(8.4, 2.9), layout="constrained")
    for panel, title in ((one, left), (two, right)):
        panel.set_title(title, fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
    return figure, one, two


def mark_limits(panel: Any, epsilon: float) -> None:
    """Lines at what the price allows."""
    for limit in (-epsilon, epsilon):
        panel.axhline(limit, color=LIMIT, linewidth=1, linestyle="--")
    panel.text(
        0.99,
        epsilon,
        " epsilon",
        color=LIMIT,
        fontsize=8,
        va="bottom",
        ha="right",
        transform=panel.get_yaxis_transform(),
    )
    panel.axhline(0, color=GREY, linewidth=0.5)


def draw_density(
    mechanism: AdditiveMechanism, noise: Any, moved: float, name: str
) -> tuple[Any, Any, Any]:
    """Answers around two true values, and their loss."""
    figure, one, two = two_panels(f"{name}: where answers lie", "privacy loss of each answer")
    one.fill_between(noise, mechanism.density(noise), color=HERE, alpha=0.25)
    one.plot(noise, mechanism.density(noise), color=HERE, label="true value 0")
    one.plot(noise, mechanism.density(noise - moved), color=THERE, label=f"true value {moved:g}")
    one.set_ylim(0)
    one.legend(fontsize=8, frameon=False)
    two.plot(noise, mechanism.loss(noise, moved), color=HERE)
    mark_limits(two, mechanism.epsilon)
    for panel in (one, two):
        panel.set_xlabel("answer", fontsize=8)
    return figure, one, two


def draw_geometric() -> Any:
    """Bars: a count of 10 or 11."""
    mechanism = Geometric(epsilon=1.0)
    figure, one, two = two_panels("geometric, epsilon 1: where answers lie", "privacy loss")
    answers = np.arange(3, 19)
    for count, colour, aside in ((10, HERE, -0.2), (11, THERE, 0.2)):
        chances = np.exp(mechanism.log_pmf(answers - count))
        one.bar(answers + aside, chances, 0.4, color=colour, label=f"{count} people")
    one.legend(fontsize=8, frameon=False)
    two.step(answers, mechanism.loss(answers - 10, 1.0), color=HERE, where="mid")
    mark_limits(two, 1.0)
    for panel in (one, two):
        panel.set_xlabel("answer", fontsize=8)
    return figure


def draw_laplace() -> Any:
    """A number and one that is a sensitivity away."""
    figure, _, _ = draw_density(
        Laplace(epsilon=1.0), np.linspace(-5, 6, 441), 1.0, "Laplace, epsilon 1"
    )
    return figure


def draw_staircase() -> Any:
    """Stairs, over the Laplace noise of the same price."""
    noise = np.linspace(-3, 4, 701)
    figure, one, _ = draw_density(Staircase(epsilon=2.0), noise, 1.0, "staircase, epsilon 2")
    laplace = Laplace(epsilon=2.0).density(noise)
    one.plot(noise, laplace, color=GREY, linewidth=1, label="Laplace, same price")
    one.legend(fontsize=8, frameon=False)
    return figure


def draw_gaussian() -> Any:
    """Noise whose loss has no end, and how wide it must be."""
    mechanism = GaussianMechanism(epsilon=1.0, delta=1e-5)
    noise = np.linspace(-15, 16, 621)
    figure, _, _ = draw_density(mechanism, noise, 1.0, "Gaussian, epsilon 1, delta 1e-5")
    return figure


def draw_calibration() -> Any:
    """The width of Gaussian noise by epsilon."""
    figure, one, two = two_panels("width that delta 1e-5 needs", "delta of the classical width")
    epsilons = np.geomspace(0.1, 20, 60)
    exact = [gaussian_multiplier(float(epsilon), 1e-5) for epsilon in epsilons]
    classical = np.sqrt(2 * np.log(1.25 / 1e-5)) / epsilons
    one.loglog(epsilons, exact, color=HERE, label="Gaussian here")
    one.loglog(epsilons, classical, color=GREY, linestyle="--", label="classical formula")
    one.legend(fontsize=8, frameon=False)
    from understudy.mechanisms.gaussian import continuous_delta

    deltas = [
        continuous_delta(float(width), float(epsilon))
        for width, epsilon in zip(classical, epsilons, strict=True)
    ]
    two.loglog(epsilons, deltas, color=GREY, linestyle="--", label="classical formula")
    two.axhline(1e-5, color=LIMIT, linewidth=1, linestyle="--")
    two.text(0.12, 1.3e-5, "promised", color=LIMIT, fontsize=8)
    for panel in (one, two):
        panel.set_xlabel("epsilon", fontsize=8)
    one.set_ylabel("standard deviation / sensitivity", fontsize=8)
    return figure


def draw_vector() -> Any:
    """Two numbers at once."""
    mechanism = Vector(epsilon=1.0, size=2)
    figure, one, two = two_panels("vector, epsilon 1: density", "privacy loss, true value moved")
    line = np.linspace(-5, 5, 201)
    points = np.stack(np.meshgrid(line, line), axis=-1)
    extent = (-5, 5, -5, 5)
    density = np.exp(mechanism.log_density(points))
    one.imshow(density, extent=extent, origin="lower", cmap="Blues", rasterized=True)
    loss = mechanism.log_density(points) - mechanism.log_density(points - np.array([0.6, 0.8]))
    shown = two.imshow(
        loss, extent=extent, origin="lower", cmap="RdBu", vmin=-1, vmax=1, rasterized=True
    )
    two.annotate("", (0.6, 0.8), (0, 0), arrowprops={"arrowstyle": "->", "color": "black"})
    figure.colorbar(shown, ax=two, shrink=0.8).ax.tick_params(labelsize=8)
    return figure


def draw_choices() -> Any:
    """Votes for a sport, by epsilon; and a choice among many that loses all of epsilon."""
    figure, one, two = two_panels("votes 49, 25, 6, 2: P(football)", "loss where one vote moves")
    epsilons = np.geomspace(0.005, 2, 40)
    kinds: dict[str, tuple[Callable[..., Any], str, str]] = {
        "exponential": (Exponential, HERE, "-"),
        "permute-and-flip": (PermuteAndFlip, THERE, "-"),
        "noisy max": (NoisyMax, "#2a7f62", "--"),
    }
    low, high = ({**dict.fromkeys(range(50), 1 - up), 0: up} for up in (0, 1))
    for name, (kind, colour, style) in kinds.items():
        chances, losses = [], []
        for epsilon in epsilons:
            mechanism = kind(epsilon=float(epsilon))
            chances.append(mechanism.probabilities(VOTES)["football"])
            here, there = mechanism.probabilities(low), mechanism.probabilities(high)
            losses.append(max(abs(np.log(here[place] / there[place])) for place in here))
        one.semilogx(epsilons, chances, style, color=colour, label=name)
        two.plot(epsilons, losses, style, color=colour)
    one.legend(fontsize=8, frameon=False)
    two.plot(epsilons, epsilons, ":", color=LIMIT)
    two.text(1.5, 1.62, "epsilon", color=LIMIT, fontsize=8, ha="right")
    for panel in (one, two):
        panel.set_xlabel("epsilon", fontsize=8)
    return figure


def draw_responses() -> Any:
    """What is reported, and what a price buys."""
    figure, one, two = two_panels("two fair coins, epsilon ln 3", "true reports that a price buys")
    chances = TwoCoinResponse.of_coin("1/2").probabilities()
    for place, (name, colour) in enumerate((("truth: yes", HERE), ("truth: no", THERE))):
        one.bar(np.arange(2) + (place - 0.5) * 0.4, chances[place], 0.4, color=colour, label=name)
    one.set_xticks([0, 1], ["reports yes", "reports no"])
    one.set_ylim(0, 1.05)
    one.legend(fontsize=8, frameon=False, ncols=2, loc="upper center")
    epsilons = np.linspace(0.05, 4, 80)
    honest = [
        RandomisedResponse(epsilon=float(epsilon)).probabilities()[0, 0] for epsilon in epsilons
    ]
    two.plot(epsilons, honest, color=HERE, label="symmetric")
    coins = [TwoCoinResponse.of_coin(f"{percent}/100") for percent in range(2, 90, 2)]
    two.plot(
        [coin.epsilon for coin in coins],
        [coin.probabilities().trace() / 2 for coin in coins],
        color=THERE,
        label="two coins",
    )
    two.legend(fontsize=8, frameon=False)
    two.set_xlabel("epsilon", fontsize=8)
    two.set_xlim(0, 4)
    return figure


def draw_sparse() -> Any:
    """How often a count is called above, and what a long session loses."""
    figure, one, two = two_panels(
        "sparse vector, threshold 100", "loss of n times below, then above"
    )
    counts = np.arange(60, 141)
    for epsilon, colour in ((0.5, GREY), (1.0, HERE), (2.0, THERE)):
        mechanism = SparseVector(epsilon=epsilon, threshold=100)
        chances = [
            np.exp(mechanism.log_probability(np.array([count]), np.array([True])))
            for count in counts
        ]
        one.plot(counts, chances, color=colour, label=f"epsilon {epsilon:g}")
    one.legend(fontsize=8, frameon=False)
    one.set_xlabel("count", fontsize=8)
    one.set_ylabel("P(called above)", fontsize=8)
    mechanism = SparseVector(epsilon=1.0, threshold=100)
    lengths = np.unique(np.geomspace(1, 1000, 25).astype(int))
    losses = []
    for length in lengths:
        answers = np.array([False] * length + [True])
        here, there = (
            mechanism.log_probability(np.array([100 + up] * length + [70 - up]), answers)
            for up in (1, 0)
        )
        losses.append(abs(here - there))
    two.semilogx(lengths, losses, color=HERE)
    two.axhline(1.0, color=LIMIT, linewidth=1, linestyle="--")
    two.text(1, 0.93, "epsilon", color=LIMIT, fontsize=8, va="top")
    two.set_ylim(0, 1.1)
    two.set_xlabel("n", fontsize=8)
    return figure


def draw_composition() -> Any:
    """Sums of prices, and groups."""
    figure, one, two = two_panels(
        "Gaussian releases, all at delta 1e-6", "groups, epsilon 0.1 each"
    )
    counts = np.arange(1, 101)
    rho = 0.002
    together = [compose_zcdp([rho] * int(count), 1e-6)[0] for count in counts]
    alone = together[0]
    one.plot(counts, counts * alone, color=GREY, linestyle="--", label="epsilon adds up")
    one.plot(counts, together, color=HERE, label="rho adds up")
    one.legend(fontsize=8, frameon=False)
    one.set_xlabel("releases", fontsize=8)
    one.set_ylabel("epsilon of all", fontsize=8)
    sizes = np.arange(1, 61)
    factors = [np.exp(for_group(0.1, 0.0, int(size)).epsilon) for size in sizes]
    two.semilogy(sizes, factors, color=THERE)
    two.set_xlabel("members of the group", fontsize=8)
    two.set_ylabel("factor e^(k epsilon)", fontsize=8)
    return figure


PICTURES: dict[str, Callable[[], Any]] = {
    "randomised-response": draw_responses,
    "geometric": draw_geometric,
    "laplace": draw_laplace,
    "staircase": draw_staircase,
    "gaussian": draw_gaussian,
    "calibration": draw_calibration,
    "vector": draw_vector,
    "choices": draw_choices,
    "sparse-vector": draw_sparse,
    "composition": draw_composition,
}


def main(folder: Path = FOLDER) -> None:
    """Draw all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"svg.hashsalt": "understudy", "svg.fonttype": "none", "font.family": "sans-serif"}
    with plt.rc_context(settings):
        for name, draw in PICTURES.items():
            figure = draw()
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, dpi=72)
            plt.close(figure)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
