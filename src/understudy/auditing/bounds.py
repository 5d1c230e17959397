"""How much privacy is lost: lower bounds from counted hits, and exact values where the
distributions are known.

From hits. An event happens in a share p of the runs on one table and q on its neighbour. (epsilon,
delta)-DP promises p <= exp(epsilon) q + delta, in both directions and for the complement too, so
counts of hits refute an epsilon that is too small. Shares are known only up to chance: every bound
here holds with the confidence that is stated.

Exact. A door adds noise of a known distribution to known inputs, so the largest log-ratio of the
outcomes' probabilities can be computed, with no runs and no chance.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.mechanisms.distributions import choice_log_probabilities
from understudy.privacy.mechanisms import ChoiceRule

Floats = NDArray[np.float64]

CONFIDENCE = 0.999
"""The confidence of bounds from counted hits."""

# --------------------------------------------------------------------------- from hits


@lru_cache(maxsize=1 << 16)
def clopper_pearson(hits: int, runs: int, confidence: float) -> tuple[float, float]:
    """One-sided lower and upper bounds on a probability, each with the given confidence.

    Clopper and Pearson (1934): the lower bound is the probability at which this many hits or more
    are as rare as 1 - confidence, the upper one that at which this many or fewer are.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 100, 0.95)
    >>> low, round(high, 4)
    (0.0, 0.0295)
    """
    if not 0 <= hits <= runs or runs < 1:
        raise ValueError("there must be at least one run, and no more hits than runs")
    alpha = 1 - confidence
    if hits == 0:
        low = 0.0
    else:
        low = _bisect(lambda p: _at_least(hits, runs, p) <= alpha)
    if hits == runs:
        high = 1.0
    else:
        high = 1 - _bisect(lambda p: _at_least(runs - hits, runs, p) <= alpha)
    return low, high


def _bisect(holds: Any) -> float:
    """The largest p, to the last digits and not above it, for which a condition that fails for
    large p holds.
    """
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if holds(middle):
            low = middle
        else:
            high = middle
        if high - low <= 1e-12 * low:
            break
    return low


def _at_least(hits: int, runs: int, p: float) -> float:
    """The probability of this many hits or more."""
    if p <= 0:
        return 0.0
    logs = _log_choose(runs)[hits:] + np.arange(hits, runs + 1) * math.log(p)
    logs = logs + np.arange(runs - hits, -1, -1) * math.log1p(-p)
    return float(np.exp(logs).sum())


@lru_cache(maxsize=64)
def _log_choose(runs: int) -> Floats:
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, runs + 1)))])
    return factorials[-1] - factorials - factorials[::-1]


def epsilon_bound(
    hits: int,
    runs: int,
    other_hits: int,
    other_runs: int,
    confidence: float = CONFIDENCE,
    delta: float = 0.0,
) -> float:
    """A lower bound on epsilon (at ``delta``) from how often an event happened on a table and on
    its neighbour.

    Four one-sided bounds are needed for both directions and the complement; each gets a quarter of
    what may go wrong (Bonferroni).

    Examples
    --------
    >>> round(epsilon_bound(1000, 1000, 0, 1000), 2)
    4.79
    """
    p_low, p_high, q_low, q_high = _four(hits, runs, other_hits, other_runs, confidence)
    ratios = ((p_low, q_high), (q_low, p_high), (1 - p_high, 1 - q_low), (1 - q_high, 1 - p_low))
    return max(0.0, *(_log_ratio(top - delta, bottom) for top, bottom in ratios))


def mu_bound(
    hits: int, runs: int, other_hits: int, other_runs: int, confidence: float = CONFIDENCE
) -> float:
    """A lower bound on mu of Gaussian differential privacy (Dong, Roth and Su 2022) from the same
    counts.

    A test with false positive rate f and false negative rate g shows mu >= Phi^-1(1 - f) -
    Phi^-1(g).
    """
    p_low, p_high, q_low, q_high = _four(hits, runs, other_hits, other_runs, confidence)
    return max(0.0, _quantile(p_low) - _quantile(q_high), _quantile(q_low) - _quantile(p_high))


def _four(
    hits: int, runs: int, other_hits: int, other_runs: int, confidence: float
) -> tuple[float, ...]:
    each = 1 - (1 - confidence) / 4
    return *clopper_pearson(hits, runs, each), *clopper_pearson(other_hits, other_runs, each)


def _log_ratio(top: float, bottom: float) -> float:
    if top <= 0:
        return 0.0
    if bottom <= 0:
        return math.inf
    return math.log(top / bottom)


def _quantile(p: float) -> float:
    if p <= 0 or p >= 1:
        return math.copysign(math.inf, p - 0.5)
    return NormalDist().inv_cdf(p)


# --------------------------------------------------------------------------- exact: tables


def laplace_loss(counts: NDArray[Any], other: NDArray[Any], scale: float) -> float:
    """The largest log-ratio of two tables with discrete Laplace noise: the L1 distance over the
    scale.

    Far out on either side the probabilities of a cell differ by a factor of exp(distance / scale),
    and cells are independent, so the bound is attained.
    """
    return float(np.abs(counts - other).sum()) / scale


def gaussian_rho(counts: NDArray[Any], other: NDArray[Any], scale: float) -> float:
    """The rho of two tables with discrete Gaussian noise: the squared L2 distance over twice the
    variance.

    Canonne, Kamath and Steinke (2020), proposition 5; attained at whole Renyi orders.
    """
    return float(((counts - other).astype(np.float64) ** 2).sum()) / (2 * scale**2)


# -------------------------------------------- exact: choices and draws


def draw_log_probabilities(counts: Floats, smoothing: float) -> Floats:
    """Exact log-probabilities of one draw from a table with so much added to each cell."""
    weights = np.asarray(counts, dtype=np.float64) + smoothing
    return np.log(weights) - math.log(weights.sum())


def choice_losses(scores: Floats, other: Floats, scale: float, rule: ChoiceRule) -> Floats:
    """For each candidate the log-ratio of being chosen on a table and on its neighbour."""
    return choice_log_probabilities(scores, scale, rule) - choice_log_probabilities(
        other, scale, rule
    )


def renyi_rho(log_p: Floats, log_q: Floats) -> float:
    """The smallest rho that zCDP allows two distributions over the same outcomes, both directions.

    That is the largest D_a(P || Q) / a over orders a > 1 (Bun and Steinke 2016); orders are tried
    on a fine grid, so it is a lower bound, and tight.
    """
    return max(_one_way_rho(log_p, log_q), _one_way_rho(log_q, log_p))


def _one_way_rho(log_p: Floats, log_q: Floats) -> float:
    """The sum over outcomes of p (p / q)^(a - 1), taken over the few values that p / q has: of
    thousands of candidates, most have the same.
    """
    rounded = np.round(log_p - log_q, 12)
    order = np.argsort(rounded)
    losses, starts = np.unique(rounded[order], return_index=True)
    log_shares = np.logaddexp.reduceat(log_p[order], starts)
    orders = 1 + np.geomspace(1e-4, 1e3, 400)
    exponents = log_shares + (orders[:, None] - 1) * losses
    top = exponents.max(axis=1)
    divergence = (top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))) / (orders - 1)
    return max(0.0, float((divergence / orders).max()))
