"""Shrunk counts are the mean of what is likely, and nearer to the truth than the nearest counts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.models.graphical.shrinkage import CONCENTRATIONS, _posterior, shrink_counts
from understudy.models.parameters import project_counts

Table = NDArray[np.float64]


def integrate(seen: Table, noise: float) -> tuple[Table, Table]:
    """Means and variances by a sum over a fine grid of log odds."""
    values = len(seen)
    odds = np.linspace(-90, 90, 400_001)
    log_low, log_high = -np.logaddexp(0, -odds), -np.logaddexp(0, odds)
    shares = np.exp(log_low)
    likelihood = np.exp(-(((seen[:, None] - shares) / noise) ** 2) / 2)
    evidence, means, squares = [], [], []
    for total in np.geomspace(1, values, CONCENTRATIONS):
        first = total / values
        density = np.exp(first * log_low + (total - first) * log_high)
        density /= density.sum()
        chance = likelihood @ density
        evidence.append(np.log(chance).sum() - np.log(total))
        means.append((likelihood * shares) @ density / chance)
        squares.append((likelihood * shares**2) @ density / chance)
    weights = np.exp(np.array(evidence) - max(evidence))
    weights /= weights.sum()
    mean = weights @ np.array(means)
    return mean, weights @ np.array(squares) - mean**2


@pytest.mark.parametrize(
    ("seen", "noise"),
    [
        ([0.3, 0.72], 0.1),
        ([1.1, -0.2], 0.1),
        ([0.5, 0.31, 0.2, 0.03, -0.05, 0.01], 0.04),
        ([0.2, 0.15, 0.21, 0.19, 0.22], 0.02),
        ([0.9, 0.4, -0.7], 1.0),
    ],
)
def test_it_is_the_mean_after_the_counts_were_seen(seen: list[float], noise: float) -> None:
    mean, variance = _posterior(np.array(seen), noise)
    exact_mean, exact_variance = integrate(np.array(seen), noise)
    assert mean == pytest.approx(exact_mean, abs=0.02 * noise)
    assert np.sqrt(variance) == pytest.approx(np.sqrt(exact_variance), rel=0.03)


def test_counts_are_at_or_above_0_and_add_up() -> None:
    rng = np.random.default_rng(1)
    for values in (2, 5, 300):
        for deviation in (0.0, 1e-3, 3.0, 1e6):
            likely = shrink_counts(rng.normal(10, 20, values), deviation, 10.0 * values)
            assert likely.min() >= 0
            assert likely.sum() == pytest.approx(10.0 * values)


def test_what_is_far_above_the_noise_stays_and_what_is_within_it_shrinks() -> None:
    noisy = np.array([600.0, 380.0, 12.0, -9.0, 15.0, -8.0, 4.0, 6.0])
    likely = shrink_counts(noisy, 10.0, 1000.0)
    assert likely[:2] == pytest.approx(noisy[:2], abs=10)
    assert likely[2:].sum() < 24
    exact = np.array([5.0, 2.0, 1.0])
    assert shrink_counts(exact, 0.0, 8.0) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("concentration", [0.05, 0.3, 1.0, 50.0])
def test_it_is_nearer_to_the_truth_than_the_nearest_counts(concentration: float) -> None:
    """Whether few values hold nearly all rows or all are alike: the counts tell which."""
    rng = np.random.default_rng(2)
    errors = np.zeros(2)
    for _ in range(60):
        truth = 1000 * rng.dirichlet(np.full(16, concentration))
        noisy = truth + rng.normal(0, 60, 16)
        for place, found in enumerate(
            (shrink_counts(noisy, 60.0, 1000.0), project_counts(noisy, 1000.0))
        ):
            errors[place] += np.abs(found - truth).sum()
    assert errors[0] < 0.98 * errors[1]
