"""Naive Bayes from reports: every protocol runs, and no row decides a refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from understudy.local.naive_bayes import PROTOCOLS, LocalCategoricalNB, LocalGaussianNB

PERSONS = 3_000


def rows_of(persons: int = PERSONS) -> tuple[Any, Any]:
    """A class, a column that follows it and one that does not."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, persons)
    return np.column_stack([y, rng.integers(0, 3, persons)]).astype(np.float64), y


def categorical(**more: Any) -> LocalCategoricalNB:
    return LocalCategoricalNB(epsilon=8.0, categories=[2, 3], classes=[0, 1], **more)


LEARNERS = {
    "codes": categorical(),
    "bins": LocalCategoricalNB(epsilon=8.0, bins=3, bounds=(0, 3), classes=[0, 1]),
    "gaussian": LocalGaussianNB(epsilon=8.0, bounds=(0, 3), classes=[0, 1]),
}


@pytest.mark.parametrize("protocol", ["best", *PROTOCOLS])
def test_every_protocol_learns(protocol: str) -> None:
    """At epsilon 8 a thousand reports about the column that tells all have hardly noise."""
    X, y = rows_of()
    assert categorical(protocol=protocol).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("cell", [np.nan, np.inf, -np.inf, 1e300, -7.0])
def test_no_cell_refuses_a_fit(kind: str, cell: float) -> None:
    X, y = rows_of()
    X[0, 0] = X[1, 1] = cell
    model = LEARNERS[kind].fit(X, y)
    assert set(model.predict(X[:2])) <= {0, 1}


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("label", [7, -1, np.nan])
def test_a_class_that_is_not_listed_refuses_nothing(kind: str, label: float) -> None:
    X, y = rows_of()
    labels = y.astype(np.float64)
    labels[0] = label
    model = LEARNERS[kind].fit(X, labels)
    assert model._encode_classes(labels)[0] == 1
    assert (model._encode_classes(labels)[1:] == y[1:]).all()
