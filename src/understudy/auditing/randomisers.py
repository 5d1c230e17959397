"""The audit of local randomisers: what one report can tell about the person who sent it.

Where reports are finitely many, all of them are compared under all values, by their exact
probabilities. A number's report lies on a grid: there the densities are compared at the ends of the
range and at the edges of windows, where they differ most. The promise of a hash function holds for
each of them, not on average. Estimates are audited, too: they must have no bias. And what is really
drawn is compared by runs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.auditing.blackbox import tell_apart
from understudy.auditing.bounds import CONFIDENCE
from understudy.auditing.findings import Finding
from understudy.local.randomisers import (
    BinaryResponse,
    CategoricalRandomiser,
    DirectEncoding,
    Duchi,
    FiniteRandomiser,
    HadamardResponse,
    LocalLaplace,
    OptimalHashing,
    OptimalUnary,
    Piecewise,
    Randomiser,
    SquareWave,
    SubsetSelection,
    SummedHistogram,
    SymmetricUnary,
    ThresholdHistogram,
    Words,
)
from understudy.local.randomisers.numeric import NUMBER_STEPS

MIN_SPENT_SHARE = 0.8
"""The share of epsilon that a randomiser must lose in the worst case: else it is too noisy."""

SMALL = 5
"""Values, so that all reports can be listed."""

HASH_FUNCTIONS = 200

NO_BIAS = 1e-6
"""A share of the count, or of the range, that rounding in floating point may cost."""


def audit_randomisers(
    epsilon: float, runs: int, confidence: float = CONFIDENCE, seed: int | None = None
) -> Iterator[Finding]:
    """All findings about all randomisers."""
    for listed in _list_finite(epsilon):
        yield loss_of_values(listed)
    yield loss_of_hashing(OptimalHashing(size=SMALL, epsilon=epsilon))
    for number in _numbers(epsilon):
        yield loss_of_numbers(number)
    for noisy in (
        SummedHistogram(size=SMALL, epsilon=epsilon),
        LocalLaplace(epsilon=epsilon, dimensions=2),
    ):
        yield loss_of_noise(noisy)
    for listed in _list_finite(epsilon):
        yield bias_of_values(listed)
    for dimensions in (1, 2, 3, 4):
        yield bias_of_signs(Duchi(epsilon=epsilon, dimensions=dimensions))
    yield from _runs(epsilon, runs, confidence, seed)


def _list_finite(epsilon: float) -> list[FiniteRandomiser]:
    """Those of values whose reports can be listed."""
    kinds = (
        DirectEncoding,
        SymmetricUnary,
        OptimalUnary,
        ThresholdHistogram,
        SubsetSelection,
        HadamardResponse,
    )
    return [BinaryResponse(epsilon=epsilon), *(k(size=SMALL, epsilon=epsilon) for k in kinds)]


def _numbers(epsilon: float) -> list[FiniteRandomiser]:
    signs = [Duchi(epsilon=epsilon, dimensions=dimensions) for dimensions in (1, 2, 3, 4)]
    windows = [Piecewise(epsilon=epsilon), Piecewise(epsilon=epsilon, dimensions=3)]
    return [*signs, *windows, SquareWave(epsilon=epsilon)]


# --------------------------------------------------------------------------- losses


def largest_loss(
    randomiser: FiniteRandomiser, reports: Iterable[tuple[int, ...]], codes: list[Any]
) -> float:
    """The largest log-ratio of the probabilities of one of these reports under two of these codes;
    infinite where a report is possible under some of them only.
    """
    worst = Fraction(1)
    for report in reports:
        chances = [randomiser.probability(report, code) for code in codes]
        if not min(chances):
            if max(chances):
                return math.inf
            continue
        worst = max(worst, max(chances) / min(chances))
    return math.log1p(worst - 1)


def loss_of_values(randomiser: FiniteRandomiser) -> Finding:
    """All values and all reports; and all probabilities of a value add up to 1."""
    codes = list(range(getattr(randomiser, "size", 0)))
    reports = list(randomiser.possible_reports())
    measured = largest_loss(randomiser, reports, codes)
    for code in codes:
        if sum(randomiser.probability(report, code) for report in reports) != 1:
            measured = math.inf
    least = MIN_SPENT_SHARE
    if isinstance(randomiser, ThresholdHistogram):
        least = 0.0  # known to lose less than it is paid for
    return _make_finding(randomiser, "another value", measured, least)


def loss_of_hashing(randomiser: OptimalHashing) -> Finding:
    """All values, for many hash functions: all buckets that a value is sent to, and one that is
    not. A function that sends all values to one bucket loses nothing; none may lose more than
    epsilon.
    """
    codes = list(range(randomiser.size))
    words = np.arange(1, HASH_FUNCTIONS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    functions = [(0, 0), (1 << 31, 0), *((int(w) & 0xFFFFFFFF, int(w) >> 32) for w in words)]
    measured = 0.0
    for factor, summand in functions:
        hit = set(randomiser.bucket_of(codes, factor, summand).tolist())
        empty = [bucket for bucket in range(randomiser.buckets) if bucket not in hit][:1]
        reports = [(factor, summand, bucket) for bucket in (*hit, *empty)]
        measured = max(measured, largest_loss(randomiser, reports, codes))
    return _make_finding(randomiser, "another value, any hash function", measured)


def loss_of_numbers(randomiser: FiniteRandomiser) -> Finding:
    """All corners of the range. Where signs are reported, the probability of a report is linear in
    each number, so that the worst case is a corner; a window is farthest from another one there.
    """
    dimensions = getattr(randomiser, "dimensions", 1)
    corners: list[Any] = list(itertools.product((0, NUMBER_STEPS), repeat=dimensions))
    if isinstance(randomiser, SquareWave):
        corners = [corner[0] for corner in corners]
    measured = largest_loss(randomiser, _places(randomiser), corners)
    return _make_finding(randomiser, "from one end to the other", measured)


def _places(randomiser: FiniteRandomiser) -> Iterator[tuple[int, ...]]:
    """Reports to compare: all signs, or all edges of windows."""
    if isinstance(randomiser, Duchi):
        yield from randomiser.possible_reports()
    if isinstance(randomiser, SquareWave):
        yield from ((place,) for place in _edges(randomiser.window.width))
    if isinstance(randomiser, Piecewise):
        edges = _edges(randomiser.window.width)
        for order in itertools.permutations(range(randomiser.dimensions), randomiser.sampled):
            for places in itertools.product(edges, repeat=randomiser.sampled):
                yield tuple(itertools.chain.from_iterable(zip(order, places, strict=True)))


def _edges(width: int) -> list[int]:
    """Where the windows at both ends of the range begin and end, and the middle."""
    last = NUMBER_STEPS + width - 1
    return sorted(
        {0, width - 1, min(width, last), NUMBER_STEPS // 2, NUMBER_STEPS - 1, NUMBER_STEPS, last}
    )


def loss_of_noise(randomiser: SummedHistogram | LocalLaplace) -> Finding:
    """Noise added to values as far apart as can be."""
    rng = np.random.default_rng(1)
    far = 4 * int(randomiser.scale)
    reports = rng.integers(-far, far, (200, randomiser.width))
    codes: list[Any] = [0, 1]
    if isinstance(randomiser, LocalLaplace):
        codes = [[0] * randomiser.dimensions, [NUMBER_STEPS] * randomiser.dimensions]
    measured = max(
        abs(
            randomiser.log_probability(report, codes[0])
            - randomiser.log_probability(report, codes[1])
        )
        for report in reports
    )
    return _make_finding(randomiser, "as far apart as can be", measured)


# --------------------------------------------------------------------------- biases


def expect_estimate(
    randomiser: Any, reports: Iterable[tuple[int, ...]], code: Any
) -> np.ndarray[Any, Any]:
    """What one person's report leads to on average, exactly but for floating point."""
    total: Any = 0.0
    for report in reports:
        estimate = randomiser.estimate(randomiser.tally([report]), 1)
        total = total + float(randomiser.probability(report, code)) * estimate
    return np.asarray(total)


def bias_of_values(randomiser: FiniteRandomiser) -> Finding:
    """For each value, how far the expected estimate is from one person with that value."""
    assert isinstance(randomiser, CategoricalRandomiser)
    reports = list(randomiser.possible_reports())
    truths = np.eye(randomiser.size)
    measured = max(
        float(np.abs(expect_estimate(randomiser, reports, code) - truths[code]).max())
        for code in range(randomiser.size)
    )
    return replace(
        _make_finding(randomiser, "all values", measured, 0.0), claimed=NO_BIAS, unit="bias"
    )


def bias_of_signs(randomiser: Duchi) -> Finding:
    """For numbers inside the range, how far the expected estimate is from them."""
    steps = [NUMBER_STEPS * place // 7 for place in range(1, randomiser.dimensions + 1)]
    truth = np.array(steps) / NUMBER_STEPS * (randomiser.high - randomiser.low) + randomiser.low
    expected = expect_estimate(randomiser, randomiser.possible_reports(), steps)
    measured = float(np.abs(expected - truth).max())
    finding = _make_finding(randomiser, "numbers inside the range", measured, 0.0)
    return replace(finding, claimed=NO_BIAS, unit="bias")


# --------------------------------------------------------------------------- runs


def _runs(epsilon: float, runs: int, confidence: float, seed: int | None) -> Iterator[Finding]:
    words = Words()
    if seed is not None:
        words = Words.of_seed(seed)
    values = [*_list_finite(epsilon), SummedHistogram(size=SMALL, epsilon=epsilon)]
    subjects: list[tuple[Randomiser, Any, Any]] = [(each, 0, 1) for each in values]
    subjects.append((OptimalHashing(size=SMALL, epsilon=epsilon), 0, 1))
    subjects += [(each, *_far_apart(each)) for each in _numbers(epsilon)]
    subjects.append((LocalLaplace(epsilon=epsilon), -1.0, 1.0))
    for randomiser, here, there in subjects:
        one, other = (
            _features(randomiser, randomiser.perturb(np.array([value] * runs), words))
            for value in (here, there)
        )
        found = tell_apart(one, other, confidence)
        yield Finding(
            _name(randomiser),
            "far apart",
            "runs",
            epsilon,
            found.epsilon,
            confidence=confidence,
            limit=found.epsilon_limit,
        )


def _far_apart(randomiser: Randomiser) -> tuple[Any, Any]:
    """The lowest and the highest value, as a person would give it."""
    dimensions = getattr(randomiser, "dimensions", 1)
    if dimensions == 1:
        return -1.0, 1.0
    return [-1.0] * dimensions, [1.0] * dimensions


def _features(randomiser: Randomiser, reports: Any) -> np.ndarray[Any, Any]:
    """What an attacker looks at: the numbers of a report; of a hash, for which values it speaks."""
    if isinstance(randomiser, OptimalHashing):
        factors, summands, buckets = reports.T
        return np.stack(
            [
                randomiser.bucket_of(np.full(len(reports), value), factors, summands) == buckets
                for value in (0, 1)
            ],
            axis=1,
        ).astype(np.float64)
    return np.asarray(reports, dtype=np.float64)


# --------------------------------------------------------------------------- names


def _make_finding(
    randomiser: Randomiser, pair: str, measured: float, least: float = MIN_SPENT_SHARE
) -> Finding:
    return Finding(_name(randomiser), pair, "exact", randomiser.epsilon, measured, least=least)


def _name(randomiser: Randomiser) -> str:
    dimensions = getattr(randomiser, "dimensions", 1)
    if dimensions > 1:
        return f"{randomiser.kind}, {dimensions} numbers"
    return randomiser.kind
