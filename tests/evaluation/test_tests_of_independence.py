"""Tests of independence: against SciPy, against a known truth, and their verdicts on two tables."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.evaluation.comparison import compare_tables
from understudy.evaluation.inference import (
    PEARSON,
    SPEARMAN,
    Rate,
    agreements,
    chi_squared,
    chi_squared_p,
    power,
    spearman,
    spearman_p,
)

stats = pytest.importorskip("scipy.stats")

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            name: {"kind": "integer", "min": 0, "max": 4, "bins": 5, "missing": True}
            for name in "abc"
        }
    }
)


def table(**columns: NDArray[np.int64]) -> Table:
    return Table({name: Column("integer", values) for name, values in columns.items()})


def draws(rows: int, seed: int, *, linked: bool) -> Table:
    rng = np.random.default_rng(seed)
    a, c = rng.integers(5, size=rows), rng.integers(5, size=rows)
    b = (
        np.where(rng.random(rows) < 0.5, a, rng.integers(5, size=rows))
        if linked
        else rng.integers(5, size=rows)
    )
    return table(a=a, b=b, c=c)


def test_chi_squared_is_scipy_s() -> None:
    counts = np.random.default_rng(0).integers(1, 40, size=(4, 6))
    wanted = stats.chi2_contingency(counts, correction=False)
    assert chi_squared(counts) == pytest.approx((wanted.statistic, wanted.pvalue))
    padded = np.zeros((6, 7), dtype=np.int64)
    padded[[0, 2, 3, 5], :6] = counts
    assert chi_squared(padded) == pytest.approx((wanted.statistic, wanted.pvalue))


def test_chi_squared_says_nothing_about_one_value() -> None:
    assert chi_squared(np.array([[3, 0], [4, 0]])) == (0.0, 1.0)
    assert chi_squared(np.zeros((2, 2))) == (0.0, 1.0)


def test_spearman_is_scipy_s_ties_and_missing_values_included() -> None:
    rng = np.random.default_rng(1)
    left = rng.integers(6, size=80).astype(float)
    right = left + rng.normal(0, 4, size=80)
    wanted = stats.spearmanr(left, right)
    assert spearman(left, right) == pytest.approx((wanted.statistic, wanted.pvalue))
    left[::9] = np.nan
    wanted = stats.spearmanr(left, right, nan_policy="omit")
    assert spearman(left, right) == pytest.approx((wanted.statistic, wanted.pvalue))
    assert spearman(np.arange(9.0), np.arange(9.0) ** 3) == (1.0, 0.0)
    assert spearman(np.ones(9), np.arange(9.0)) == (0.0, 1.0)


def test_verdicts_on_two_tables() -> None:
    linked, unlinked = draws(1000, 0, linked=True), draws(800, 1, linked=False)
    lost = {
        found.test: found
        for found in agreements(compare_tables(linked, unlinked, SCHEMA), level=0.001)
    }
    for test in (PEARSON, SPEARMAN):
        assert (lost[test].pairs, lost[test].both, lost[test].neither) == (3, 0, 2)
        assert (lost[test].missed, lost[test].false_alarms) == (1, 0)
        (differing,) = lost[test].disagreements
        assert differing.attributes == ("a", "b")
        assert differing.real_p < 0.001 <= differing.synthetic_p
    invented = agreements(compare_tables(unlinked, linked, SCHEMA), level=0.001)
    assert [(found.missed, found.false_alarms) for found in invented] == [(0, 1), (0, 1)]
    same = agreements(compare_tables(linked, linked, SCHEMA), level=0.001)
    assert [(found.both, found.neither, found.disagreements) for found in same] == [(1, 2, ())] * 2


def test_both_tables_are_tested_on_equally_many_rows() -> None:
    """A dependence that only many rows show is no miss of a small table."""
    large, small = draws(30_000, 0, linked=True), draws(60, 1, linked=True)
    found = agreements(compare_tables(large, large, SCHEMA), level=1e-100)
    assert found[0].both == 1
    (ranks,) = agreements(compare_tables(large, small, SCHEMA), level=1e-100)
    assert (ranks.missed, ranks.false_alarms) == (0, 0)


def test_chance_is_what_two_samples_of_the_real_rows_show() -> None:
    alike = table(**{name: np.zeros(1000, dtype=np.int64) for name in "abc"})
    assert all(found.by_chance == 0 for found in agreements(compare_tables(alike, alike, SCHEMA)))
    independent = draws(2000, 0, linked=False)
    for found in agreements(
        compare_tables(independent, independent, SCHEMA), level=0.5
    ):  # a coin's toss
        assert found.by_chance > 0


def test_missing_values_are_left_out_of_the_tests() -> None:
    rng = np.random.default_rng(0)
    gone = (rng.random(600) < 0.2).astype(np.uint8)
    rows = draws(600, 0, linked=False)
    # Missing together: a dependence of the gaps, not of the values.
    holes = Table(
        {
            name: Column("integer", column.values, missing=gone)
            for name, column in rows.columns.items()
        }
    )
    pearson, ranks = agreements(compare_tables(holes, rows, SCHEMA), level=0.001)
    assert (pearson.neither, ranks.neither) == (3, 3)


def test_pairs_with_too_few_rows_for_pearson_are_not_tested() -> None:
    few = draws(60, 0, linked=True)
    assert [found.test for found in agreements(compare_tables(few, few, SCHEMA))] == [SPEARMAN]


# --------------------------------------------------------------------------- size and power


def both_tests(rows: Table) -> dict[str, float]:
    return {"pearson": chi_squared_p(rows, "a", "b"), "spearman": spearman_p(rows, "a", "b")}


def resampled(rows: Table, seed: int) -> Table:
    """The synthesis of a perfect model of the very rows: each drawn again from their
    distribution.
    """
    places = np.random.default_rng(seed).integers(rows.rows, size=rows.rows)
    return Table(
        {name: Column("integer", column.values[places]) for name, column in rows.columns.items()}
    )


def test_size_of_the_tests_and_how_naive_p_values_exceed_it() -> None:
    found = power(
        lambda rng: draws(300, int(rng.integers(1 << 30)), linked=False),
        resampled,
        both_tests,
        repeats=400,
        seed=1,
    )
    for name in ("pearson", "spearman"):
        assert found[name].real.low < 0.05 < found[name].real.high
        # The rows' own chance comes twice, once by the people and once by the model, so false
        # alarms abound.
        assert found[name].synthetic.low > 0.10


def test_power_where_columns_depend_and_where_the_synthesis_lost_it() -> None:
    def lossy(rows: Table, seed: int) -> Table:
        return draws(rows.rows, seed, linked=False)

    found = power(
        lambda rng: draws(300, int(rng.integers(1 << 30)), linked=True),
        lossy,
        both_tests,
        repeats=60,
        seed=2,
    )
    assert found["pearson"].real.share == found["spearman"].real.share == 1
    assert found["pearson"].synthetic.high < 0.25
    assert found["pearson"].repeats == 60


def test_power_repeats_with_its_seed_and_reports_progress() -> None:
    told: list[int] = []

    def run() -> object:
        return power(
            lambda rng: draws(50, int(rng.integers(1 << 30)), linked=True),
            resampled,
            both_tests,
            repeats=5,
            seed=3,
            progress=lambda what, done, of: told.append(done),
        )

    assert run() == run()
    assert told == [0, 1, 2, 3, 4, 5] * 2
    with pytest.raises(InputError, match="at least one repetition"):
        power(lambda rng: draws(5, 0, linked=True), resampled, both_tests, repeats=0)


def test_rates_have_wilson_s_interval() -> None:
    wanted = stats.binomtest(7, 40).proportion_ci(method="wilson")
    rate = Rate.of(7, 40)
    assert (rate.share, rate.low, rate.high) == pytest.approx(
        (7 / 40, wanted.low, wanted.high), rel=1e-5
    )
    assert Rate.of(0, 10).low == 0


def test_texts_have_no_ranks() -> None:
    rows = Table(
        {
            "a": Column("text", np.array([0, 1]), ("x", "y")),
            "b": Column("integer", np.array([0, 1])),
        }
    )
    with pytest.raises(InputError, match="column 'a' holds texts, which have no order"):
        spearman_p(rows, "a", "b")
    assert chi_squared_p(rows, "a", "b") == pytest.approx(float(stats.chi2.sf(2, 1)))
