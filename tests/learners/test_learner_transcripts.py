"""What each learner asks for, with which noise, at which price, and what it learns from that (see
tests/transcripts.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transcripts import compare, list_defaults, record, show
from understudy import Ledger
from understudy.learners import (
    PCA,
    CategoricalNB,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    Ridge,
)

BOUNDS: dict[str, Any] = {"bounds": ([-1, -2, -10], [1, 2, 10])}
CLASSES: dict[str, Any] = {"classes": [False, True]}
TARGETS: dict[str, Any] = {"target_bounds": (-6, 6)}

LEARNERS: dict[str, tuple[type, dict[str, Any]]] = {
    "gaussian-nb": (GaussianNB, {**BOUNDS, **CLASSES}),
    "categorical-nb": (CategoricalNB, {"categories": [2, 4, 3], **CLASSES}),
    "logistic-objective": (LogisticRegression, {**BOUNDS, **CLASSES}),
    "logistic-output": (LogisticRegression, {"solver": "output", **BOUNDS, **CLASSES}),
    "logistic-moments": (LogisticRegression, {"solver": "moments", **BOUNDS, **CLASSES}),
    "linear": (LinearRegression, {**BOUNDS, **TARGETS}),
    "linear-row-norm": (LinearRegression, {"row_norm": 1.5, **BOUNDS, **TARGETS}),
    "ridge": (Ridge, {"alpha": 30, **BOUNDS, **TARGETS}),
    "kmeans": (KMeans, {"n_clusters": 3, "random_state": 0, **BOUNDS}),
    "pca": (PCA, {**BOUNDS}),
    "pca-row-norm": (PCA, {"n_components": 2, "row_norm": 0.8, **BOUNDS}),
}
PRICES = {"little": (0.05, 0.0), "some": (1.0, 0.0), "much": (30.0, 0.0), "delta": (2.0, 1e-6)}


def rows(learner: str) -> tuple[Any, Any]:
    """Rows beyond the bounds, too, and some that are no numbers."""
    rng = np.random.default_rng(0)
    found = rng.uniform(-1.1, 1.1, (600, 3)) * [1, 2, 10]
    found[:200] *= 0.3
    margin = 2 * found[:, 0] - found[:, 1] + 0.1 * found[:, 2]
    if learner.startswith("categorical"):
        found = rng.integers(0, [2, 4, 3], (600, 3))
    else:
        found[5:8, 1] = np.nan
    if learner.startswith(("linear", "ridge")):
        return found, margin
    return found, margin + rng.logistic(size=600) * 0.5 > 0.3


@pytest.mark.filterwarnings("ignore")  # values outside the bounds
@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("name", LEARNERS)
def test_what_a_learner_asks_and_learns(name: str, price: str) -> None:
    kind, parameters = LEARNERS[name]
    epsilon, delta = PRICES[price]
    with record() as noise:
        learner = kind(
            epsilon=epsilon, delta=delta, noise=noise, ledger=Ledger(epsilon, delta), **parameters
        )
        learner.fit(*rows(name))
    learned = {
        attribute: value
        for attribute, value in sorted(vars(learner).items())
        if attribute.endswith("_") and isinstance(value, np.ndarray | float | int)
    }
    lines = [*noise.lines, *(f"{attribute} = {show(learned[attribute])}" for attribute in learned)]
    compare(f"{name}-{price}", lines)


def test_defaults() -> None:
    compare("defaults-of-learners", list_defaults("understudy.learners"))
