"""The C-SVM that the paper trains on synthetic rows, and on the real ones (NoPrivacy): hinge loss,
C = 1.

Minimise |w|^2 / 2 + C sum hinge(y w.x). The hinge is rounded within a twentieth of its corner: then
it has a gradient everywhere and a quasi-Newton method finds the minimum in a hundred passes, where
coordinate descent over rows that stand for thousands of others needs thousands. It protects nobody
by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.private_erm import huber

ROUNDING = 0.05


def hinge_svm(
    rows: Any, labels: NDArray[np.bool_], counts: NDArray[Any], c: float = 1.0
) -> NDArray[np.float64]:
    """The weights; ``counts`` says how many rows each one stands for."""
    from scipy.optimize import minimize

    signs = np.where(labels, 1.0, -1.0)

    def objective(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        loss, slope = huber(signs * (rows @ weights), ROUNDING)
        value = weights @ weights / 2 + c * (counts @ loss)
        return float(value) / scale, np.asarray(
            weights + c * (rows.T @ (counts * slope * signs))
        ) / scale

    scale = float(counts.sum())
    start = np.zeros(rows.shape[1])
    return np.asarray(
        minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 150}).x
    )
