"""What learners lose on neighbouring rows.

A learner that only asks, and output perturbation, tell about rows through their noise alone: their
loss is exact (:mod:`~understudy.auditing.doors`), and a learner that lets anything else through is
seen to have a side door. In objective perturbation the noise in the objective is never shown, so
what is lost is measured from runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.auditing.blackbox import black_box
from understudy.auditing.findings import Finding, unit_at
from understudy.auditing.neighbours import Pair
from understudy.auditing.subjects import DELTA, exact_findings, one_thread
from understudy.privacy.mechanisms import Noise, SeededNoise

if TYPE_CHECKING:
    from understudy.learners.estimator import Learner

LEARNER_ROWS = 40
BLACK_BOX_ROWS = 3
"""Of the rows that objective perturbation is run on: few, so that one more weighs most."""


def audit_learners(
    epsilon: float, runs: int, confidence: float, seed: int | None
) -> Iterator[Finding]:
    """Every learner, pure and with a delta."""
    pair = _pair(LEARNER_ROWS)
    for name, learner in settings_of_learners(epsilon).items():

        def run_on(pair: Pair, learner: Learner = learner) -> Any:
            def fit(rows: tuple[Any, Any], noise: Noise) -> object:
                return _fit(learner, rows, noise).list_released()

            return fit

        yield from exact_findings(name, epsilon, run_on, [pair], learner.delta)
    yield _run_objective(epsilon, runs, confidence, seed)


def settings_of_learners(epsilon: float) -> dict[str, Learner]:
    """The learners whose loss is exact, by name."""
    from understudy import learners as kinds

    bounds: Any = {"bounds": (-1, 1)}
    classes: Any = {"classes": [0, 1]}
    target: Any = {"target_bounds": (0, 1)}
    found: dict[str, Learner] = {}
    for delta in (0.0, DELTA):
        price: Any = {"epsilon": epsilon, "delta": delta}
        suffix = f", delta {delta:g}" if delta else ""
        found |= {
            f"Gaussian naive Bayes{suffix}": kinds.GaussianNB(**price, **bounds, **classes),
            f"categorical naive Bayes{suffix}": kinds.CategoricalNB(
                **price, categories=2, **classes
            ),
            f"logistic regression, output{suffix}": kinds.LogisticRegression(
                **price, **bounds, **classes, solver="output"
            ),
            f"logistic regression, moments{suffix}": kinds.LogisticRegression(
                **price, **bounds, **classes, solver="moments"
            ),
            f"linear regression{suffix}": kinds.LinearRegression(**price, **bounds, **target),
            f"ridge{suffix}": kinds.Ridge(**price, **bounds, **target),
            f"k-means{suffix}": kinds.KMeans(2, **price, **bounds, random_state=0),
            f"PCA{suffix}": kinds.PCA(**price, **bounds),
        }
    return found


def _fit(learner: Learner, rows: tuple[Any, Any], noise: Noise | None) -> Learner:
    from sklearn.base import clone

    fresh = clone(learner)
    fresh.noise = noise
    fitted: Learner = fresh.fit(*rows)
    return fitted


def _pair(rows: int) -> Pair:
    """Rows in the middle, and one more in a corner, as long as a row can be."""
    rng = np.random.default_rng(1)
    features = np.round(rng.uniform(-0.5, 0.5, (rows, 2)), 3)
    labels = rng.integers(0, 2, rows)
    more = np.vstack([features, [[1.0, 1.0]]]), np.append(labels, 1)
    return Pair((features, labels), more, name="one more row in a corner")


def _run_objective(epsilon: float, runs: int, confidence: float, seed: int | None) -> Finding:
    from understudy.learners import LogisticRegression

    learner = LogisticRegression(epsilon, bounds=(-1, 1), classes=[0, 1], row_norm=3)
    noise = None
    if seed is not None:
        noise = SeededNoise(seed)
    pair = _pair(BLACK_BOX_ROWS)

    def run(rows: tuple[Any, Any]) -> NDArray[np.float64]:
        return np.ravel(_fit(learner, rows, noise).list_released()["coefficients_"])

    with one_thread():
        found = black_box(run, pair.table, pair.other, runs, confidence, 0.0)
    return Finding(
        "logistic regression, objective",
        pair.name,
        "runs",
        epsilon,
        found.epsilon,
        unit_at(0.0),
        confidence,
        limit=found.epsilon_limit,
    )
