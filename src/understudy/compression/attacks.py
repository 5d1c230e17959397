"""Attacks on projected rows: reconstruct them, and infer an attribute from them.

Both show what a given attacker gains; neither bounds what another might.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.compression.projections import Matrix
from understudy.errors import InputError

from sklearn.linear_model import LogisticRegression, Ridge  # isort: skip
from sklearn.pipeline import make_pipeline  # isort: skip
from sklearn.preprocessing import StandardScaler  # isort: skip

MAX_ITERATIONS = 1000


@dataclass(frozen=True, kw_only=True)
class Reconstruction:
    """How near rows come that are made from coordinates."""

    least_squares: float
    """The mean distance of rows to those that the inverse transform makes."""
    learned: float
    """The same for an attacker who has learned from other rows and their coordinates."""
    baseline: float
    """The mean distance of rows to their mean: what is known without coordinates."""


def attack_reconstruction(compressor: Any, known: Any, attacked: Any) -> Reconstruction:
    """Reconstruct rows from their coordinates.

    Parameters
    ----------
    compressor
        Whatever was fitted.
    known
        Rows that the attacker has, with their coordinates, to learn from.
    attacked
        Rows whose coordinates alone the attacker has.
    """
    known, attacked = (np.asarray(rows, dtype=np.float64) for rows in (known, attacked))
    if not len(known) or not len(attacked):
        raise InputError("Some rows are attacked with what is known of others; take more rows.")
    told, seen = compressor.transform(attacked), compressor.transform(known)
    learned = Ridge(alpha=1e-3 * max(len(known), 1)).fit(seen, known).predict(told)
    return Reconstruction(
        least_squares=_distance(attacked, compressor.inverse_transform(told)),
        learned=_distance(attacked, np.asarray(learned)),
        baseline=_distance(attacked, known.mean(axis=0)[None, :]),
    )


@dataclass(frozen=True, kw_only=True)
class GuessRates:
    """How often a label is guessed right."""

    from_coordinates: float
    from_rows: float
    """From the rows themselves: what there was to hide."""
    baseline: float
    """By always guessing the most frequent label."""


def attack_attribute(
    compressor: Any, known: Any, labels: Any, attacked: Any, secrets: Any
) -> GuessRates:
    """Guess a label from coordinates, by a logistic regression on rows that the attacker has."""
    labels, secrets = np.asarray(labels), np.asarray(secrets)
    if len(np.unique(labels)) < 2:
        raise InputError("The labels that the attacker knows are all the same; take more rows.")
    values, counts = np.unique(labels, return_counts=True)

    def share(train: Matrix, test: Matrix) -> float:
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=MAX_ITERATIONS))
        return float(model.fit(train, labels).score(test, secrets))

    return GuessRates(
        from_coordinates=share(compressor.transform(known), compressor.transform(attacked)),
        from_rows=share(np.asarray(known), np.asarray(attacked)),
        baseline=float(np.mean(secrets == values[counts.argmax()])),
    )


def _distance(rows: Matrix, others: Matrix) -> float:
    return float(np.linalg.norm(rows - others, axis=1).mean())
