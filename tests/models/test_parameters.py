"""From noisy tables to tables that could be real."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from understudy.data.marginals import marginal
from understudy.models.parameters import clip_counts, estimate_rows, project_counts, repair_counts
from understudy.privacy.curator import Measurement

noisy = arrays(np.int64, st.integers(1, 30), elements=st.integers(-1000, 1000))
totals = st.floats(0, 5000)


@given(counts=noisy, total=totals)
def test_the_projection_is_the_nearest_table_of_that_total(counts: Any, total: float) -> None:
    """Karush, Kuhn, Tucker: one multiplier is taken off every cell that stays above 0, and exceeds
    all others.
    """
    found = project_counts(counts, total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, abs=1e-6)
    kept = found > 1e-9
    if kept.any():
        taken = (counts - found)[kept]
        assert np.ptp(taken) == pytest.approx(0, abs=1e-6)
        assert (counts[~kept] <= taken.mean() + 1e-6).all()


@given(counts=noisy, total=totals, seed=st.integers(0, 99))
def test_no_other_table_of_that_total_is_nearer(counts: Any, total: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = project_counts(counts, total)
    for _ in range(10):
        other = rng.dirichlet(np.ones(len(counts))) * total
        mixed = 0.9 * found + 0.1 * other
        for table in (other, mixed):
            assert ((counts - found) ** 2).sum() <= ((counts - table) ** 2).sum() + 1e-3


@given(counts=noisy, total=totals)
def test_projecting_twice_changes_nothing(counts: Any, total: float) -> None:
    once = project_counts(counts, total)
    np.testing.assert_allclose(project_counts(once, total), once, atol=1e-6)


@given(counts=noisy, total=totals)
def test_clipping_keeps_proportions_and_reaches_the_total(counts: Any, total: float) -> None:
    found = clip_counts(counts, total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, abs=1e-6)
    positive = np.maximum(counts, 0)
    if positive.any():
        np.testing.assert_allclose(found * positive.sum(), positive * total, atol=1e-3)
    else:
        assert np.ptp(found) == 0


@pytest.mark.parametrize("repair", ["project", "clip"])
def test_the_shape_of_a_table_is_kept(repair: Any) -> None:
    assert repair_counts(np.arange(24).reshape(2, 3, 4) - 5, 100.0, repair).shape == (2, 3, 4)


@pytest.mark.parametrize("repair", ["project", "clip"])
def test_a_total_below_nothing_is_nothing(repair: Any) -> None:
    assert repair_counts(np.array([5, -2, 1]), -3.0, repair).sum() == pytest.approx(0, abs=1e-9)


def measured(counts: Any, scale: float, distribution: str = "laplace") -> Measurement:
    return Measurement(marginal("a"), np.array(counts), distribution, scale)


def test_the_number_of_rows_is_the_average_of_totals_by_certainty() -> None:
    sure, unsure = measured([40, 60], 1.0, "gaussian"), measured([100, 100], 3.0, "gaussian")
    assert estimate_rows([sure]) == 100
    assert estimate_rows([sure, unsure]) == pytest.approx((100 * 9 + 200) / 10)


def test_a_total_of_many_cells_weighs_less_by_as_much() -> None:
    """The noise of a total is that of all its cells: four have twice the variance of two."""
    small, large = measured([40, 60], 2.0, "gaussian"), measured([10, 20, 30, 100], 2.0, "gaussian")
    assert estimate_rows([small, large]) == pytest.approx((2 * 100 + 160) / 3)
    assert estimate_rows([large, small]) == pytest.approx((2 * 100 + 160) / 3)


def test_totals_are_weighted_so_that_their_average_is_the_surest() -> None:
    """The average has the least variance of all weighted averages, whatever the noise is."""
    tables = [
        measured([0, 0, 0], 4.0),
        measured([0], 9.0, "gaussian"),
        measured([0, 0, 0, 0, 0], 0.7, "gaussian"),
    ]
    variances = np.array([table.counts.size * table.deviation**2 for table in tables])
    weights = []
    for table in tables:
        told = [
            Measurement(one.marginal, one.counts + (one is table), one.distribution, one.scale)
            for one in tables
        ]
        weights.append(estimate_rows(told) / table.counts.size)
    assert sum(weights) == pytest.approx(1)
    assert (np.array(weights) ** 2 * variances).sum() == pytest.approx(1 / (1 / variances).sum())


def test_the_number_of_rows_is_never_below_nothing() -> None:
    assert estimate_rows([measured([-40, 3], 5.0)]) == 0


@pytest.mark.parametrize("scale", [0.3, 1.0, 20.0])
def test_the_deviation_of_discrete_laplace_noise_is_exact(scale: float) -> None:
    p = math.exp(-1 / scale)
    values = np.arange(-2000, 2001)
    weights = p ** np.abs(values).astype(float)
    variance = (weights * values**2).sum() / weights.sum()
    assert measured([0], scale).deviation == pytest.approx(math.sqrt(variance), rel=1e-6)
