"""MWEM (Hardt, Ligett, McSherry 2012): a distribution over the domain, improved where it answers
worst.

T times: choose the query (a cell of some marginal) that the current distribution answers worst, by
the exponential mechanism; measure it with Laplace noise; multiply the weight of its cells towards
the measurement. The answer is the average of the T distributions.

Sensitivity: a cell's count changes by at most 1 when a row is replaced, and so does its distance to
what a public distribution says. Each round spends epsilon / T, half on the choice (probability
proportional to exp(distance * epsilon / (4 T))), half on the measurement (discrete Laplace of scale
2 T / epsilon).

The paper gives each round 0.05, so that T = epsilon / 0.05. Past measurements are applied again in
every round (``replays``), as the authors of MWEM recommend; that is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from baselines.consistency import Counts
from baselines.walsh import Projections
from understudy.privacy.mechanisms import Noise

ROUND = 0.05
"""What a round may cost, as in the paper."""


def mwem(
    full: NDArray[np.int64],
    attributes: Sequence[tuple[int, ...]],
    marginals: Projections,
    epsilon: float,
    noise: Noise,
    *,
    replays: int = 2,
) -> Counts:
    """The marginals, a row of cells each; ``attributes`` are theirs, ``full`` the exact table over
    {0, 1}^d.
    """
    rows = float(full.sum())
    bits = full.size.bit_length() - 1
    order = len(attributes[0])
    exact = np.rint(marginals.tables(full))
    spent = rounds_of(epsilon)
    half = epsilon / (2 * spent)
    weights, whole = np.full((2,) * bits, rows / full.size), rows
    current = np.full(exact.shape, rows / (1 << order))
    total = np.zeros(exact.shape)
    measured: list[tuple[tuple[int | slice, ...], float]] = []
    for _ in range(spent):
        worst = noise.choose(np.abs(exact - current).ravel(), 2 / half, "exponential")
        table, cell = divmod(worst, 1 << order)
        answer = noise.laplace(np.array([exact[table, cell]], dtype=np.int64), 1 / half)[0]
        measured.append((_cells(bits, attributes[table], cell), float(answer)))
        for _ in range(replays):
            for cells, wanted in measured:
                # Normalising a large domain after every step would be most of the work: its sum is
                # kept instead.
                held = weights[cells].sum()
                factor = np.exp((wanted - held * rows / whole) / (2 * rows))
                weights[cells] *= factor
                whole += (factor - 1) * held
        current = marginals.tables(weights.ravel()) * (rows / whole)
        total += current
    return total / spent


def rounds_of(epsilon: float) -> int:
    """How many rounds the budget is split over."""
    return max(1, round(epsilon / ROUND))


def _cells(bits: int, attributes: tuple[int, ...], cell: int) -> tuple[int | slice, ...]:
    """Where in the full table the cell of a marginal lies."""
    where: list[int | slice] = [slice(None)] * bits
    for place, attribute in enumerate(attributes):
        where[attribute] = cell >> (len(attributes) - 1 - place) & 1
    return tuple(where)
