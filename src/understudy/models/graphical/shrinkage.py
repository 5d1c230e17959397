"""Shrinkage: what noisy counts of one attribute say of its shares, given that none is below 0 and
all add up to 1.

The nearest such shares (:func:`understudy.models.parameters.project_counts`) take the same amount
off every count, a large one that is well known and a small one that is mostly noise. The mean of
what is likely after the noisy counts were seen does not: a count far above the noise stays, one
within it shrinks. How far it shrinks follows from the noisy counts themselves (empirical Bayes):
beforehand the shares have a Dirichlet distribution whose parameters add up to anything from 1, with
which most values are rare, to the number of values, with which all shares are equally likely.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CONCENTRATIONS = 5
"""How many sums of the parameters are weighed against each other; one twice as large is half as
likely beforehand."""

LIKELIHOOD_POINTS = np.linspace(-5.0, 5.0, 41)
"""Where the likelihood of a share is computed, in deviations from what was seen."""

ENDS = np.geomspace(1e-6, 1.0, 21)
"""And in deviations from 0 and from 1, where the density may have no bound."""

SETTLING = 5
"""How often what is missing to 1 is shared out among the values."""


def shrink_counts(counts: Floats, deviation: float, rows: float) -> Floats:
    """The likely counts of one attribute with two values or more, from noisy ones.

    Parameters
    ----------
    counts
        The noisy counts, one per value.
    deviation
        That of the noise in each.
    rows
        What the likely counts add up to.
    """
    means, variances = _posterior(counts / rows, max(deviation / rows, 1e-9))
    for _ in range(SETTLING):  # what is least sure gives way
        missing = 1 - means.sum()
        means = np.maximum(means + missing * variances / variances.sum(), 0.0)
    likely: Floats = rows * means / means.sum()
    return likely


def _posterior(seen: Floats, noise: float) -> tuple[Floats, Floats]:
    """The means and variances of shares, each by itself, after noisy ones were seen."""
    values = len(seen)
    sums = np.geomspace(1.0, values, CONCENTRATIONS)
    points = _place_points(seen, noise)
    log_likelihood = -(((seen[:, None] - points) / noise) ** 2) / 2
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    evidence = -np.log(sums)
    means, squares = np.zeros((2, len(sums), values))
    for place, total in enumerate(sums):
        first = total / values
        weights = likelihood * _beta_masses(points, first, total - first)
        seen_by_chance = weights.sum(axis=1)
        evidence[place] += np.log(seen_by_chance).sum()
        means[place] = (weights * points).sum(axis=1) / seen_by_chance
        squares[place] = (weights * points**2).sum(axis=1) / seen_by_chance
    chances = np.exp(evidence - evidence.max())
    chances /= chances.sum()
    mean = chances @ means
    return mean, np.maximum(chances @ squares - mean**2, 1e-18)


def _place_points(seen: Floats, noise: float) -> Floats:
    """For each share the points at which it is looked at: close to each other where its likelihood
    is large, and near 0 and 1.
    """
    ends = min(noise, 0.5) * ENDS
    everywhere = np.broadcast_to(np.concatenate([ends, 1 - ends]), (len(seen), 2 * len(ends)))
    near = np.clip(seen[:, None] + noise * LIKELIHOOD_POINTS, ends[0], 1 - ends[0])
    return np.sort(np.hstack([everywhere, near]), axis=1)


def _beta_masses(points: Floats, a: float, b: float) -> Floats:
    """How likely a beta distribution has it to lie around each point, halfway to its neighbours.

    The power that may have no bound, of the nearer end, is integrated exactly; the other one is
    taken at the point.
    """
    ends = np.zeros((len(points), 1))
    edges = np.hstack([ends, (points[:, 1:] + points[:, :-1]) / 2, ends + 1])
    lower = np.diff(edges**a, axis=1) / a * (1 - points) ** (b - 1)
    upper = -np.diff((1 - edges) ** b, axis=1) / b * points ** (a - 1)
    log_whole = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return np.where(points < 0.5, lower, upper) / math.exp(log_whole)
