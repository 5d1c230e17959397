"""Black box: run it many times on two neighbouring tables, and see how well the tables can be told
apart.

A third of the runs is for choosing a test, the rest for judging it, so that the bound on epsilon is
honest however the test was chosen. The tests that are tried: a threshold on every feature, a
feature being exactly some value, and a threshold on what is learned from all features together: a
likelihood ratio as if they were independent, and a logistic regression, which knows that they are
not. Of features that are not whole numbers the last binary digit is a feature too: noise that is
made in floating point may show there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.auditing.bounds import CONFIDENCE, epsilon_bound, mu_bound

Features = NDArray[np.float64]
"""One line a run, one column a feature."""

FeatureScore = Callable[[Features], NDArray[np.float64]]

TRAINING = 1 / 3
"""The share of the runs from which the test is chosen."""

THRESHOLDS = 40
VALUES = 20
BINS = 12


@dataclass(frozen=True)
class Evidence:
    """What the best test found: lower bounds on epsilon and mu, and how the test did on runs that
    it had not seen.

    The limits are the bounds that a test which is never wrong would have given: this many runs can
    show no more.
    """

    epsilon: float
    mu: float
    test: str
    hits: int
    other_hits: int
    runs: int
    confidence: float
    epsilon_limit: float
    mu_limit: float


def tell_apart(
    features: Features,
    other: Features,
    confidence: float = CONFIDENCE,
    delta: float = 0.0,
) -> Evidence:
    """Bounds on epsilon and mu from the features of runs on a table and on its neighbour."""
    features, other = _two_dimensional(features), _two_dimensional(other)
    if len(features) < 2 or len(other) < 2:
        raise ValueError("at least two runs on each table are needed")
    part, other_part = (max(1, round(TRAINING * len(lines))) for lines in (features, other))
    width = max(features.shape[1], other.shape[1])
    features, other = _with_last_digits(_pad(features, width), _pad(other, width))
    training, judged = (features[:part], other[:other_part]), (features[part:], other[other_part:])

    best = max(_tests(*training), key=lambda test: _promise(test, *training, len(judged[0]), delta))
    hits, other_hits = (int(np.count_nonzero(best.happens(part))) for part in judged)
    runs, other_runs = map(len, judged)
    epsilon = epsilon_bound(hits, runs, other_hits, other_runs, confidence, delta)
    mu = mu_bound(hits, runs, other_hits, other_runs, confidence)
    limits = (
        epsilon_bound(runs, runs, 0, other_runs, confidence, delta),
        mu_bound(runs, runs, 0, other_runs, confidence),
    )
    return Evidence(epsilon, mu, best.name, hits, other_hits, runs, confidence, *limits)


def _promise(test: _Test, features: Features, other: Features, runs: int, delta: float) -> float:
    """About what a test will show on this many runs: cheap bounds (Wilson 1927) are good enough
    here.
    """
    (p_low, p_high), (q_low, q_high) = (
        _wilson(float(test.happens(part).mean()), runs) for part in (features, other)
    )
    ratios = ((p_low, q_high), (q_low, p_high), (1 - p_high, 1 - q_low), (1 - q_high, 1 - p_low))
    return max(math.log(max(top - delta, 1e-300) / bottom) for top, bottom in ratios)


def _wilson(share: float, runs: int, z: float = 3.5) -> tuple[float, float]:
    middle = (share + z * z / (2 * runs)) / (1 + z * z / runs)
    reach = (
        z / (1 + z * z / runs) * math.sqrt(share * (1 - share) / runs + z * z / (4 * runs * runs))
    )
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def collect(
    run: Callable[[Any], Any], table: Any, other: Any, runs: int
) -> tuple[Features, Features]:
    """Run something many times on both tables; what it returns becomes features (numbers, one array
    a run).

    The tables take turns, so that what changes as time goes by (a counter, a cache) does not tell
    them apart.
    """
    lines = [
        [np.asarray(run(one), dtype=np.float64).ravel() for one in (table, other)]
        for _ in range(runs)
    ]
    here, there = zip(*lines, strict=True)
    return _stack(here), _stack(there)


def black_box(
    run: Callable[[Any], Any],
    table: Any,
    other: Any,
    runs: int = 2000,
    confidence: float = CONFIDENCE,
    delta: float = 0.0,
) -> Evidence:
    """Audit a mechanism, a pipeline or a whole fit, given as a function from a table to features of
    its outcome.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> def half_the_noise(count):
    ...     return count + rng.laplace(scale=0.5)     # epsilon is 2, not 1
    >>> bool(black_box(half_the_noise, 10, 11, runs=4000).epsilon > 1)
    True
    """
    return tell_apart(*collect(run, table, other, runs), confidence, delta)


# --------------------------------------------------------------------------- tests


@dataclass(frozen=True)
class _Test:
    name: str
    happens: Callable[[Features], NDArray[np.bool_]]


def _tests(features: Features, other: Features) -> Iterator[_Test]:
    both = np.concatenate([features, other])
    for place in range(both.shape[1]):
        yield from _feature_tests(f"feature {place}", both[:, place], partial(_column, place))
    if both.shape[1] > 1:
        ratio = _likelihood_ratio(features, other)
        yield from _feature_tests("likelihood ratio", ratio(both), ratio)
        logistic = _logistic(features, other)
        yield from _feature_tests("logistic regression", logistic(both), logistic)


def _feature_tests(name: str, seen: NDArray[np.float64], feature: FeatureScore) -> Iterator[_Test]:
    values = np.unique(seen)
    if len(values) <= VALUES:
        cuts = (values[1:] + values[:-1]) / 2
        for value in values:
            yield _Test(f"{name} = {value:g}", partial(_equals, feature, value))
    else:
        cuts = np.unique(
            np.quantile(seen, np.linspace(0, 1, THRESHOLDS + 2)[1:-1], method="inverted_cdf")
        )
        for value in (values[0], values[-1], *_frequent(seen)):
            yield _Test(f"{name} = {value:g}", partial(_equals, feature, value))
    for cut in cuts:
        yield _Test(f"{name} > {cut:g}", partial(_above, feature, cut))


def _column(place: int, lines: Features) -> NDArray[np.float64]:
    return lines[:, place]


def _equals(feature: FeatureScore, value: float, lines: Features) -> NDArray[np.bool_]:
    return feature(lines) == value


def _above(feature: FeatureScore, cut: float, lines: Features) -> NDArray[np.bool_]:
    return feature(lines) > cut


def _frequent(seen: NDArray[np.float64]) -> NDArray[np.float64]:
    values, counts = np.unique(seen, return_counts=True)
    return values[np.argsort(-counts)[:3]]


def _likelihood_ratio(features: Features, other: Features) -> FeatureScore:
    """The sum over features of the log-ratio of two smoothed histograms, as if features were
    independent.
    """
    both = np.concatenate([features, other])
    edges = [np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1])) for column in both.T]
    ratios = []
    for place, cuts in enumerate(edges):
        here, there = (
            np.bincount(np.searchsorted(cuts, part[:, place]), minlength=len(cuts) + 1) + 1.0
            for part in (features, other)
        )
        ratios.append(np.log(here / here.sum()) - np.log(there / there.sum()))

    def ratio(lines: Features) -> NDArray[np.float64]:
        found = [
            ratios[place][np.searchsorted(cuts, lines[:, place])]
            for place, cuts in enumerate(edges)
        ]
        return np.sum(found, axis=0)

    return ratio


def _logistic(
    features: Features, other: Features, penalty: float = 1.0, steps: int = 8
) -> FeatureScore:
    """Logistic regression on the ranks of the features, by Newton's method: linear, and with a bend
    at the median.
    """
    both = np.concatenate([features, other])
    sorted_columns = np.sort(both, axis=0)

    def inputs(lines: Features) -> NDArray[np.float64]:
        ranks = np.column_stack(
            [
                np.searchsorted(column, line)
                for column, line in zip(sorted_columns.T, lines.T, strict=True)
            ]
        )
        centred = ranks / len(both) - 0.5
        return np.column_stack([np.ones(len(lines)), centred, np.abs(centred)])

    x = inputs(both)
    target = np.arange(len(both)) < len(features)
    ridge = penalty * np.eye(x.shape[1])
    weights = np.zeros(x.shape[1])
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x + ridge
        weights = weights + np.linalg.solve(curvature, x.T @ (target - chance) - ridge @ weights)
    learned = weights

    def logit(lines: Features) -> NDArray[np.float64]:
        found: NDArray[np.float64] = inputs(lines) @ learned
        return found

    return logit


# --------------------------------------------------------------------------- features

_ABSENT = -1e18
"""Stands where a run has fewer features than another: their number tells something, too."""


def _two_dimensional(features: Any) -> Features:
    array = np.asarray(features, dtype=np.float64)
    if array.ndim == 1:
        array = array[:, None]
    else:
        array = array.reshape(len(array), -1)
    return np.nan_to_num(array, nan=_ABSENT, posinf=1e18, neginf=-1e18)


def _pad(features: Features, width: int) -> Features:
    return np.pad(features, ((0, 0), (0, width - features.shape[1])), constant_values=_ABSENT)


def _with_last_digits(features: Features, other: Features) -> tuple[Features, Features]:
    """The features, and beside those that are not whole numbers the place of their last binary
    digit.
    """
    fractions = (np.concatenate([features, other]) % 1 != 0).any(axis=0)
    here, there = (
        np.column_stack([part, _last_digits(part[:, fractions])]) for part in (features, other)
    )
    return here, there


def _last_digits(numbers: Features) -> Features:
    """The exponent of the last binary digit that is not 0; 0 has none."""
    mantissas, exponents = np.frexp(numbers)
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    zeros = np.log2(np.maximum(whole & -whole, 1).astype(np.float64))
    return np.where(whole == 0, 0.0, exponents - 53 + zeros)


def _stack(lines: Sequence[NDArray[np.float64]]) -> Features:
    width = max(len(line) for line in lines)
    return np.array(
        [np.pad(line, (0, width - len(line)), constant_values=_ABSENT) for line in lines]
    )
