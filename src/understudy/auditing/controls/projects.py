"""Mistakes of a thesis and of the Aalborg project."""

from __future__ import annotations

import math

import numpy as np

from understudy.auditing.blackbox import Features
from understudy.auditing.control import Control, draw_laplace
from understudy.auditing.controls.pairs import CONSTANT, EXTREME, ONE_CONFIGURATION, ONLY_ROW


def _noise_on_the_loss(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Gradient descent on a squared loss with noise added to its value: the gradient, and so the
    weight, has none.
    """
    rows = np.array([0.0] * 40 + [1.0] * neighbour)
    weight = np.full(runs, 0.5)
    for _ in range(50):
        loss = ((rows[:, None] - weight) ** 2).mean(axis=0) + rng.laplace(size=runs)
        assert loss.shape == weight.shape  # shown, and thrown away
        weight = weight - 0.1 * 2 * (weight - rows.mean())
    return weight


def _noise_in_a_layer(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Noise on a layer's outputs while training, gradients not clipped: an extreme row outweighs
    all noise.
    """
    rows = np.array([1.0] * 40 + [1000.0] * neighbour)
    weight = np.zeros(runs)
    outputs = weight[:, None] * rows + rng.laplace(size=(runs, len(rows)))
    return weight - 0.01 * ((outputs - rows) * rows).mean(axis=1)


def _bins_from_the_data(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """A noisy histogram of four bins between the smallest and the largest value of the data."""
    rows = np.array([1.0, 2.0, 3.0, 4.0] * 10 + [1000.0] * neighbour)
    counts, edges = np.histogram(rows, 4)
    noisy = counts + draw_laplace(rng, 1.0, (runs, 4))
    return np.column_stack([noisy, np.broadcast_to(edges, (runs, 5))])


def _noisy_conditionals(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Pr[x | p] with Laplace noise of scale 2 / (n epsilon), which joint probabilities need, for a
    p of one row.
    """
    if neighbour:
        shares = np.array([0.0, 1.0])
    else:
        shares = np.array([1.0, 0.0])
    return shares + rng.laplace(scale=2 / 40, size=(runs, 2))


def compute_histogram_loss(
    bins: float, assumed: float, rows: int = 1000, drawn: int = 100, alpha: float = 1.0
) -> float:
    """The loss of drawing rows from a smoothed histogram whose smoothing was worked out for
    ``assumed`` bins.

    Wasserman and Zhou (2010): ``drawn`` rows from (1 - d) f + d over m bins lose drawn * log(1 + (1
    - d) m / (n d)).
    """
    d = assumed / (rows * math.expm1(alpha / drawn) + assumed)
    return drawn * math.log1p((1 - d) * bins / (rows * d))


def project_controls() -> tuple[Control, ...]:
    """Of the thesis, then of the Aalborg project."""
    return (
        Control(
            "bins from the smallest and largest value", "thesis", EXTREME, 1.0, _bins_from_the_data
        ),
        Control(
            "noise on a network's loss, not on what is released",
            "thesis",
            CONSTANT,
            1.0,
            _noise_on_the_loss,
        ),
        Control(
            "noise in a layer, gradients not clipped", "thesis", EXTREME, 1.0, _noise_in_a_layer
        ),
        Control(
            "conditional probabilities, noise for joint ones",
            "Aalborg",
            ONE_CONFIGURATION,
            1.0,
            _noisy_conditionals,
        ),
        Control(
            "smoothed histogram with m = 1/100 for 100",
            "Aalborg",
            ONLY_ROW,
            1.0,
            exact=lambda: compute_histogram_loss(100, 0.01),
        ),
    )
