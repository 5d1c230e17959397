"""Learners lose no more than they claim, on rows that are as far apart as one row takes them."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.auditing import audit
from understudy.auditing.doors import exact_loss
from understudy.auditing.learners import _pair
from understudy.learners import GaussianNB


@pytest.mark.parametrize("epsilon", [pytest.param(0.5, marks=pytest.mark.thorough), 2.0])
def test_no_learner_loses_more_than_it_claims(epsilon):
    result = audit("learners", epsilon, runs=60, seed=1)
    for finding in result.details:
        assert finding.verdict != "broken", finding
    exact = [f for f in result.details if f.test == "exact" and f.unit.startswith("epsilon")]
    assert len(exact) == 16
    assert max(finding.measured for finding in exact) <= epsilon
    assert min(finding.measured for finding in exact) > 0.1 * epsilon  # it does see the row


class _Leaky(GaussianNB):
    """Means that a scaler has read off the rows go out at no price."""

    def fit(self, X, y=None):
        self._seen = np.asarray(X, dtype=float).mean(axis=0)
        return super().fit(np.asarray(X) - self._seen, y)

    def list_released(self):
        return super().list_released() | {"scaler": self._seen.tolist()}


def test_a_learner_with_a_scaler_fitted_on_private_rows_has_a_side_door():
    def run(rows, noise):
        learner = _Leaky(1.0, bounds=(-1, 1), classes=[0, 1], noise=noise)
        return learner.fit(*rows).list_released()

    assert exact_loss(run, _pair(40)).side_door
