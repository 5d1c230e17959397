"""PrivateERM (Chaudhuri, Monteleoni, Sarwate 2011): a linear classifier by objective perturbation,
with Huber loss.

Minimise over w, with n rows x of norm at most 1 and labels y of -1 and 1:

    (1/n) sum huber(y w.x) + (L/2) |w|^2 + (1/n) b.w + (D/2) |w|^2

where b is random with density proportional to exp(-e |b| / 2). The loss has slope at most 1 and
curvature at most c = 1/(2h). Theorem 9 there: with e = epsilon - 2 log(1 + c/(n L)) and D = 0 where
that is positive, otherwise e = epsilon / 2 and D = c/(n (exp(epsilon/4) - 1)) - L, the minimiser is
epsilon-private when one row is replaced. Why: b is determined by w through the gradient. Between
neighbours that b moves by at most 2 (two slopes of at most 1 on rows of norm at most 1), which its
density turns into exp(e); the Jacobian changes by at most (1 + c/(n (L + D)))^2, which takes the
rest of epsilon.

L = 1/n is the C-SVM with C = 1. With it e is close to 0 where epsilon is just above 2 log 2 = 1.39,
which explains the odd value that the PrivBayes paper reports at epsilon 1.6. Noise is drawn with
NumPy: this is for studies alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

HUBER = 0.5
"""h: how far from the corner of the hinge the loss is rounded."""

Vector = NDArray[np.float64]


def private_erm(
    rows: Any,
    labels: NDArray[np.bool_],
    counts: NDArray[np.int64],
    epsilon: float,
    rng: np.random.Generator | None,
    regularisation: float | None = None,
) -> Vector:
    """The weights.

    Parameters
    ----------
    rows
        Distinct rows, a matrix, sparse or not, whose rows have norm at most 1.
    labels, counts
        The label of each, and how many rows it stands for.
    rng
        Without it there is no noise (b = 0), for tests.
    regularisation
        L; by default 1/n.
    """
    from scipy.optimize import minimize

    count, width = int(counts.sum()), rows.shape[1]
    strength = 1 / count if regularisation is None else regularisation
    rate, more = calibrated(epsilon, count, strength)
    push = np.zeros(width) if rng is None else perturbation(width, rate, rng)
    signs = np.where(labels, 1.0, -1.0)

    def objective(weights: Vector) -> tuple[float, Vector]:
        loss, slope = huber(signs * (rows @ weights))
        value = (
            counts @ loss / count
            + (strength + more) / 2 * weights @ weights
            + push @ weights / count
        )
        gradient = (
            rows.T @ (counts * slope * signs) / count + (strength + more) * weights + push / count
        )
        return float(value), np.asarray(gradient)

    return np.asarray(
        minimize(
            objective, np.zeros(width), jac=True, method="L-BFGS-B", options={"maxiter": 200}
        ).x
    )


def calibrated(epsilon: float, count: int, regularisation: float) -> tuple[float, float]:
    """The rate e of the noise, and what is added to the regularisation."""
    curvature = 1 / (2 * HUBER)
    left = epsilon - 2 * math.log1p(curvature / (count * regularisation))
    if left > 0:
        return left, 0.0
    return epsilon / 2, curvature / (count * math.expm1(epsilon / 4)) - regularisation


def perturbation(width: int, rate: float, rng: np.random.Generator) -> Vector:
    """A vector with density proportional to exp(-rate |b| / 2): a uniform direction, a Gamma
    length.
    """
    direction = rng.normal(size=width)
    return direction / np.linalg.norm(direction) * rng.gamma(width, 2 / rate)


def huber(margins: Vector, h: float = HUBER) -> tuple[Vector, Vector]:
    """The loss and its slope: 0 above 1 + h, 1 - z below 1 - h, a parabola between."""
    inside = np.clip(1 + h - margins, 0.0, 2 * h)
    below = np.maximum(1 - h - margins, 0.0)
    return inside**2 / (4 * h) + below, -inside / (2 * h)
