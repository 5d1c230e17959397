"""Tests of independence on synthetic rows, and how far their verdicts can be believed.

A p-value computed from synthetic rows as if they were real ones is not valid. It accounts for the
chance by which people came into a table, but neither for the noise of the synthesis nor for what
the model left out, and it takes the number of synthetic rows, which anybody can choose, for the
number of people. So a test that should raise a false alarm in 5 % of cases raises it more often
where noise looks like dependence, and less often where the model has no edge between the two
columns; a true dependence without an edge is hardly ever found. :func:`power` measures both where
the truth is known.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.evaluation.comparison import Comparison, Side
from understudy.evaluation.model_results import PairTest, TestAgreement
from understudy.evaluation.pairs import correlation, list_ranked, numbers_of
from understudy.release.callbacks import Progress, no_progress

SIGNIFICANCE_LEVEL = 0.05
ROWS_PER_CELL = 5
"""Pearson's test is an approximation: it is made where there are this many rows a cell on
average.
"""

SPLITS = 2
"""How often two samples of the real rows are tested against each other, to see what chance does."""

MAX_NAMED_ESTIMATES = 10
PEARSON = "Pearson's chi-squared"
SPEARMAN = "Spearman's rank correlation"

Result = tuple[float, float]
"""A statistic and its p-value."""


# --------------------------------------------------------------------------- the tests


def chi_squared(counts: NDArray[Any]) -> Result:
    """Pearson's test of independence on a table of counts; rows and columns without counts are left
    out.

    Where fewer than two rows or columns are left nothing speaks against independence: statistic 0,
    p-value 1.
    """
    from scipy.special import chdtrc

    held = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(np.float64)
    freedom = (held.shape[0] - 1) * (held.shape[1] - 1)
    if freedom < 1:
        return 0.0, 1.0
    expected = np.outer(held.sum(axis=1), held.sum(axis=0)) / held.sum()
    statistic = float(((held - expected) ** 2 / expected).sum())
    return statistic, float(chdtrc(freedom, statistic))


def spearman(left: NDArray[Any], right: NDArray[Any]) -> Result:
    """Spearman's test: rank correlation, ties at their mean rank, and its two-sided p-value by
    Student's t.

    Rows where a value is ``nan`` are left out. Where one side is constant the correlation counts as
    0, the p-value as 1.
    """
    from scipy.stats import rankdata

    there = ~(np.isnan(left) | np.isnan(right))
    ranks = np.column_stack([rankdata(values[there]) for values in (left, right)])
    return _rank_test(float(correlation(ranks)[0, 1]), len(ranks))


def _rank_test(found: float, rows: int) -> Result:
    from scipy.special import stdtr

    if math.isnan(found) or rows < 3:
        return 0.0, 1.0
    if abs(found) >= 1:
        return found, 0.0
    student = abs(found) * math.sqrt((rows - 2) / (1 - found**2))
    return found, float(2 * stdtr(rows - 2, -student))


# ---------------------------------------------- verdicts on two tables


def agreements(
    tables: Comparison, level: float = SIGNIFICANCE_LEVEL, seed: int = 0
) -> tuple[TestAgreement, ...]:
    """Both tests over all pairs of columns that they fit, on equally many rows of both tables.

    The more rows, the smaller a dependence that a test finds; so the larger table is cut to the
    size of the smaller, by a random sample.
    """
    rng = np.random.default_rng(seed)
    fewer = min(side.rows for side in tables)
    samples = [
        _Sample(
            side, slice(None) if side.rows == fewer else rng.choice(side.rows, fewer, replace=False)
        )
        for side in tables
    ]
    halves = [_two_samples(tables.real, fewer, rng) for _ in range(SPLITS)]
    found = [
        _agreement(
            name,
            level,
            list(test(tables, samples)),
            [one for half in halves for one in test(tables, half)],
        )
        for name, test in ((PEARSON, _pearson_tests), (SPEARMAN, _spearman_tests))
    ]
    return tuple(agreement for agreement in found if agreement.pairs)


@dataclass(frozen=True)
class _Sample:
    """Some rows of a table."""

    side: Side
    rows: Any

    def counts(self, one: str, other: str) -> NDArray[np.int64]:
        """The table of a pair without missing values."""
        schema = self.side.coded.schema
        sizes = schema[one].size, schema[other].size
        cells = (
            self.side.codes(one)[self.rows].astype(np.int64) * sizes[1]
            + self.side.codes(other)[self.rows]
        )
        counts = np.bincount(cells, minlength=sizes[0] * sizes[1]).reshape(sizes)
        return counts[: schema[one].values_size, : schema[other].values_size]


def _two_samples(side: Side, most: int, rng: np.random.Generator) -> list[_Sample]:
    """Two samples of a table that share no row."""
    order, size = rng.permutation(side.rows), min(most, side.rows // 2)
    return [_Sample(side, order[:size]), _Sample(side, order[size : 2 * size])]


def _agreement(
    test: str, level: float, tests: list[PairTest], halves: list[PairTest]
) -> TestAgreement:
    verdicts = [(one.real_p < level, one.synthetic_p < level) for one in tests]
    differing = [
        one for one, (real, synthetic) in zip(tests, verdicts, strict=True) if real != synthetic
    ]
    chance = [(one.real_p < level) != (one.synthetic_p < level) for one in halves]
    return TestAgreement(
        test=test,
        level=level,
        pairs=len(tests),
        both=verdicts.count((True, True)),
        neither=verdicts.count((False, False)),
        missed=verdicts.count((True, False)),
        false_alarms=verdicts.count((False, True)),
        disagreements=tuple(sorted(differing, key=_how_far, reverse=True)[:MAX_NAMED_ESTIMATES]),
        by_chance=float(np.mean(chance)) if chance else 0.0,
    )


def _how_far(test: PairTest) -> float:
    smallest = 1e-300  # p-values can be too small for a number
    return abs(math.log(max(test.real_p, smallest)) - math.log(max(test.synthetic_p, smallest)))


def _pearson_tests(tables: Comparison, samples: list[_Sample]) -> Iterator[PairTest]:
    for one, other in itertools.combinations(tables.schema.names, 2):
        real, synthetic = (sample.counts(one, other) for sample in samples)
        cells = np.count_nonzero(real.sum(axis=0)) * np.count_nonzero(real.sum(axis=1))
        if min(real.sum(), synthetic.sum()) >= ROWS_PER_CELL * cells:
            yield _pair_tests((one, other), chi_squared(real), chi_squared(synthetic))


def _spearman_tests(tables: Comparison, samples: list[_Sample]) -> Iterator[PairTest]:
    ordered = list_ranked(tables)
    results = [
        dict(_rank_tests(numbers_of(sample.side, ordered)[sample.rows])) for sample in samples
    ]
    for place in itertools.combinations(range(len(ordered)), 2):
        yield _pair_tests(
            (ordered[place[0]].name, ordered[place[1]].name), results[0][place], results[1][place]
        )


def _rank_tests(numbers: NDArray[np.float64]) -> Iterator[tuple[tuple[int, int], Result]]:
    """Spearman's test of all pairs of columns: in one go where no value is missing."""
    from scipy.stats import rankdata

    whole = not np.isnan(numbers).any()
    found = None
    if whole and numbers.size:
        found = correlation(rankdata(numbers, axis=0))
    for i, j in itertools.combinations(range(numbers.shape[1]), 2):
        if found is not None:
            yield (i, j), _rank_test(float(found[i, j]), len(numbers))
        else:
            yield (i, j), spearman(numbers[:, i], numbers[:, j])


def _pair_tests(names: tuple[str, str], real: Result, synthetic: Result) -> PairTest:
    return PairTest(names, real[0], synthetic[0], real[1], synthetic[1])


# ----------------------------- size and power where the truth is known


@dataclass(frozen=True)
class Rate:
    """A share of repetitions with its 95 % confidence interval (Wilson's)."""

    share: float
    low: float
    high: float

    @classmethod
    def of(cls, count: int, repeats: int) -> Rate:
        """``count`` out of ``repeats``."""
        z = 1.959964
        share = count / repeats
        middle = (share + z**2 / (2 * repeats)) / (1 + z**2 / repeats)
        half = (
            z
            * math.sqrt(share * (1 - share) / repeats + z**2 / (4 * repeats**2))
            / (1 + z**2 / repeats)
        )
        return cls(share, max(0.0, middle - half), min(1.0, middle + half))


@dataclass(frozen=True)
class Power:
    """How often a test rejects independence, on real rows and on rows synthesised from them.

    Where the columns are independent in truth this is the test's *size*, which should be ``level``;
    where they are not it is its *power*, which should be near 1.
    """

    level: float
    repeats: int
    real: Rate
    synthetic: Rate


def power(
    draw: Callable[[np.random.Generator], Table],
    synthesise: Callable[[Table, int], Table],
    test: Callable[[Table], Mapping[str, float]],
    *,
    repeats: int = 100,
    level: float = SIGNIFICANCE_LEVEL,
    seed: int = 0,
    progress: Progress = no_progress,
) -> dict[str, Power]:
    """Size or power of tests on synthetic rows, by repetition under a known truth.

    Parameters
    ----------
    draw
        Draws a table of real rows from the truth.
    synthesise
        Makes a synthetic table from it; the number is a seed for sampling, a new one each time.
    test
        The p-values of the tests in question, by name: see :func:`chi_squared_p` and
        :func:`spearman_p`.
    repeats
        How often to draw, synthesise and test.
    level
        A p-value below this rejects independence.
    seed
        Makes the truth's draws and the sampling repeatable; the noise of a private synthesis is
        not.
    progress
        Called with what is being done, how many repetitions are done and how many there are.

    Returns
    -------
    dict
        For each test the rates of rejection.
    """
    if repeats < 1:
        raise InputError(f"A rate needs at least one repetition, not {repeats}.")
    rng = np.random.default_rng(seed)
    rejected: dict[str, list[int]] = {}
    for done in range(repeats):
        progress("drawing, synthesising, testing", done, repeats)
        real = draw(rng)
        synthetic = synthesise(real, int(rng.integers(1 << 31)))
        for side, table in enumerate((real, synthetic)):
            for name, p in test(table).items():
                rejected.setdefault(name, [0, 0])[side] += p < level
    progress("drawing, synthesising, testing", repeats, repeats)
    return {
        name: Power(level, repeats, Rate.of(counts[0], repeats), Rate.of(counts[1], repeats))
        for name, counts in rejected.items()
    }


def chi_squared_p(table: Table, one: str, other: str) -> float:
    """The p-value of Pearson's test on two columns, each value a category; rows with a missing one
    are left out.
    """
    return _pearson(table, one, other)[1]


def chi_squared_of(table: Table, one: str, other: str) -> float:
    """Pearson's statistic on two columns, as in :func:`chi_squared_p`."""
    return _pearson(table, one, other)[0]


def _pearson(table: Table, one: str, other: str) -> Result:
    there = ~(_missing(table.columns[one]) | _missing(table.columns[other]))
    if not there.any():
        return 0.0, 1.0
    places = [
        np.unique(table.columns[name].values[there], return_inverse=True)[1]
        for name in (one, other)
    ]
    sizes = [int(place.max()) + 1 for place in places]
    counts = np.bincount(places[0] * sizes[1] + places[1], minlength=sizes[0] * sizes[1])
    return chi_squared(counts.reshape(sizes))


def spearman_p(table: Table, one: str, other: str) -> float:
    """The p-value of Spearman's test on two columns of numbers; rows with a missing one are left
    out.
    """
    return spearman(*(_numbers(table, name) for name in (one, other)))[1]


def spearman_of(table: Table, one: str, other: str) -> float:
    """Spearman's rank correlation of two columns, as in :func:`spearman_p`."""
    return spearman(*(_numbers(table, name) for name in (one, other)))[0]


def _numbers(table: Table, name: str) -> NDArray[np.float64]:
    column = table.columns[name]
    if column.kind == "text":
        raise InputError(
            f"{table.source}, column {name!r} holds texts, which have no order; use Pearson's test."
        )
    return np.where(_missing(column), np.nan, column.values.astype(np.float64))


def _missing(column: Column) -> NDArray[np.bool_]:
    if column.missing is None:
        return np.zeros(len(column), dtype=bool)
    return column.missing > 0
