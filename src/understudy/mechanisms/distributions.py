"""Distributions of noise and of choices, exactly: what the audit computes losses from, and what the
docs draw.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.mechanisms import ChoiceRule

Floats = NDArray[np.float64]


def discrete_laplace_log_pmf(values: NDArray[Any], scale: float) -> Floats:
    """Log-probabilities of discrete Laplace noise."""
    return math.log(math.tanh(1 / (2 * scale))) - np.abs(values) / scale


def discrete_gaussian_log_pmf(values: NDArray[Any], scale: float) -> Floats:
    """Log-probabilities of discrete Gaussian noise."""
    reach = math.ceil(12 * scale) + 12
    total = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * scale**2)).sum()
    return -(np.asarray(values, dtype=np.float64) ** 2) / (2 * scale**2) - math.log(total)


def laplace_tail(reach: int, scale: float) -> float:
    """The probability that discrete Laplace noise is at least ``reach`` > 0."""
    return math.exp(-reach / scale) / (1 + math.exp(-1 / scale))


def gaussian_tail(reach: int, scale: float) -> float:
    """The probability that discrete Gaussian noise is at least ``reach``."""
    return float(
        np.exp(
            discrete_gaussian_log_pmf(np.arange(reach, reach + math.ceil(40 * scale) + 40), scale)
        ).sum()
    )


def choice_log_probabilities(scores: Floats, scale: float, rule: ChoiceRule) -> Floats:
    """Exact log-probabilities of a choice, candidate by candidate.

    Exponential: proportional to exp(score / scale). Permute-and-flip is the largest of score /
    scale + Exp(1): with w_j = exp((score_j - best) / scale), candidate i wins with probability w_i
    times the integral from 0 to 1 of the product over j != i of (1 - w_j x). That is a polynomial
    in x, so Gauss-Legendre quadrature of enough nodes is exact.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(choice_log_probabilities(np.array([0.0, 0.0]), 1.0, "permute_and_flip"))
    array([0.5, 0.5])
    """
    logs = (np.asarray(scores, dtype=np.float64) - np.max(scores)) / scale
    if rule == "exponential":
        return logs - math.log(np.exp(logs).sum())
    x, weights = _nodes(len(logs) // 2 + 1)
    terms = np.log1p(-np.exp(logs)[:, None] * x)
    others = terms.sum(axis=0) - terms
    return logs + np.log(np.exp(others) @ weights)


@lru_cache(maxsize=64)
def _nodes(count: int) -> tuple[Floats, Floats]:
    x, weights = np.polynomial.legendre.leggauss(count)
    return (x + 1) / 2, weights / 2


def discrete_laplace_cdf(values: Floats, scale: float) -> Floats:
    """P(noise <= value) of discrete Laplace noise, at whole values."""
    a = math.exp(-1 / scale)
    below = np.exp(np.minimum(values, 0.0) / scale) / (1 + a)  # for values <= 0
    above = 1 - np.exp(-(np.maximum(values, 0.0) + 1) / scale) / (1 + a)
    return np.where(values < 0, below, above)
