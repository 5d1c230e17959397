"""The stages of a release of numbers: public or paid, and a report at the end."""

from __future__ import annotations

import numpy as np
import pytest
from test_gaussian import schema, table

from understudy import Gaussian, Ledger
from understudy.data.encoding import encode
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers.stages import (
    Generation,
    Outliers,
    PrivacyReport,
    numeric_columns,
    public_bounds,
)


def curator(rows: int = 500) -> CentralCurator:
    return CentralCurator(encode(table(rows), schema()), Ledger(50.0), SeededNoise(1))


def test_public_bounds_are_read_off_the_schema_and_cost_nothing() -> None:
    asked = curator()
    columns = numeric_columns(schema())
    found = Outliers().find_bounds(asked, columns, None)
    assert found.names == ("a", "b", "c")
    assert found.lower.tolist() == [0.0, -5.0, 0.0]
    assert found.upper.tolist() == [10.0, 5.0, 1000.0]
    assert [public_bounds(column) for column in columns] == [(0, 10), (-5, 5), (0, 1000)]
    assert not asked.ledger.entries


def test_quantiles_are_paid_for_and_lie_inside_the_bounds() -> None:
    asked = curator()
    found = Outliers(quantile=0.1).find_bounds(asked, numeric_columns(schema()), Budget(50.0))
    assert [entry.question for entry in asked.ledger.entries] == [
        "table of a",
        "table of b",
        "table of c",
    ]
    assert (found.lower > [0, -5, 0]).all()
    assert (found.upper < [10, 5, 1000]).all()
    numbers = table(500).columns["a"].values
    inside = (numbers >= found.lower[0]) & (numbers <= found.upper[0])
    assert 0.75 < inside.mean() < 1


def test_quantiles_of_nothing_but_noise_are_still_bounds() -> None:
    for seed in range(20):
        empty = CentralCurator(encode(table(0), schema()), Ledger(1.0), SeededNoise(seed))
        found = Outliers(quantile=0.4).find_bounds(empty, numeric_columns(schema()), Budget(1.0))
        assert (found.lower < found.upper).all()


def test_normalisation_goes_there_and_back() -> None:
    found = Outliers().find_bounds(curator(), numeric_columns(schema()), None)
    numbers = np.array([[0.0, 0.0, 250.0], [10.0, -5.0, 1000.0], [99.0, -99.0, 0.0]])
    scaled = found.scale(numbers)
    assert scaled.tolist() == [[-1, 0, -0.5], [1, -1, 1], [1, -1, -1]]
    assert found.restore(scaled).tolist() == np.clip(numbers, found.lower, found.upper).tolist()
    feature = found.features(np.array([0.0, 0.5, 0.0]), np.array([1.0, 0.5, 1.0]))[1]
    assert (feature.lower, feature.upper, feature.centre, feature.unit) == (-5, 5, 2.5, 2.5)
    assert found.number_of_values[2] == 1001


def test_generation_and_report_read_no_row() -> None:
    model = Gaussian(epsilon=1.0, delta=1e-6).fit(table(300), schema())
    rows = Generation(rows=7, seed=3).generate(model)
    again = Generation(rows=7, seed=3).generate(model)
    assert rows.columns["a"].values.tolist() == again.columns["a"].values.tolist()
    assert Generation().generate(model).rows == model.rows
    report = PrivacyReport.of(model)
    assert report.epsilon == pytest.approx(1.0)
    assert report.delta == 1e-6
    assert len(report.questions) == len(model.ledger.entries)
    assert sum(amount for _, _, amount in report.questions) <= model.ledger.budget.amount
    assert model.ledger.statement() in str(report)
    assert all(fact in str(report) for fact in model.taken_as_public)
