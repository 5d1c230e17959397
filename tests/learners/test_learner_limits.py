"""Limits of learners: the last value that is allowed is taken, and the next one is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from limits import above, assert_limits, below
from understudy import InputError, Schema
from understudy.learners import (
    PCA,
    CategoricalNB,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    Ridge,
)
from understudy.learners.asking import class_labels, target_feature
from understudy.learners.naive_bayes import check_categories
from understudy.learners.training import DiscoveryTerms
from understudy.learners.values import (
    check_classes,
    check_positive,
    check_row_norm,
    find_places,
    read_numbers,
)


def attribute(**facts: Any) -> Any:
    return Schema.from_dict({"attributes": {"y": facts}})["y"]


def classes(number: int) -> None:
    class_labels(attribute(kind="categorical", values=[f"v{place}" for place in range(number)]))


LIMITS = {
    "positive": (
        lambda value: check_positive("x", value),
        [5e-324, 1, np.float64(2), np.int64(3)],
        [0, -1.0, math.inf, math.nan, True, "1", None],
    ),
    "row norm": (check_row_norm, [None, 0.05, 1e6], [below(0.05), above(1e6), 0, math.nan, True]),
    "classes": (
        check_classes,
        [[0, 1], ["a", "b"]],
        [None, [], [0], [0, 0], [0, 1, 1], [[0, 1]], [0, "a", None, ()]],
    ),
    "classes of a target": (classes, [2, 1000], [1, 1001]),
    "target of a regression": (
        lambda top: target_feature(attribute(kind="integer", min=0, max=top)),
        [1],
        [0],
    ),
    "categories": (
        lambda sizes: check_categories(sizes, 2),
        [1, 10_000, [1, 10_000]],
        [None, 0, 10_001, 1.5, [1, 2, 3], [1, 0], "x", math.nan],
    ),
    "alpha": (
        lambda alpha: CategoricalNB(categories=2, alpha=alpha)._check_parameters(),
        [0, below(1e9)],
        [-1e-9, 1e9, math.nan, "1"],
    ),
    "clusters": (
        lambda number: KMeans(n_clusters=number)._check_parameters(),
        [1, 10_000, np.int64(3)],
        [0, 10_001, 1.0, True],
    ),
    "rounds": (
        lambda number: KMeans(n_clusters=2, max_iter=number)._check_parameters(),
        [None, 1, 1000],
        [0, 1001, 1.0, True],
    ),
    "components": (
        lambda number: PCA(n_components=number)._check_parameters(),
        [None, 1, np.int64(3)],
        [0, 1.0, True],
    ),
    "components of three features": (
        lambda number: PCA(n_components=number)._check_design([0] * 3),
        [None, 3],
        [4],
    ),
    "share of discovery": (
        lambda share: DiscoveryTerms(share=share),
        [None, 1e-9, below(1.0)],
        [0.0, 1.0, -0.5, math.nan],
    ),
    "numbers of a file": (
        lambda given: read_numbers("x", given, (2,)),
        [[1, 2.5]],
        [[1], [1, 2, 3], [[1, 2]], [1, math.nan], [1, math.inf], ["a", 1], None],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_the_last_value_is_taken_and_the_next_is_not(name: str) -> None:
    assert_limits(*LIMITS[name])


def test_a_label_that_is_no_class_counts_as_the_last() -> None:
    known = np.array(["a", "b", "c"])
    given = np.array(["b", "x", "a", ["c"]], dtype=object)
    assert find_places(known, given).tolist() == [1, 2, 0, 2]


def test_classes_are_put_in_order() -> None:
    assert check_classes(["b", "a"]).tolist() == ["a", "b"]
    assert class_labels(attribute(kind="boolean")) == (False, True)
    assert class_labels(attribute(kind="integer", min=3, max=5, bins=3)) == (3, 4, 5)


@pytest.mark.parametrize(
    "learner",
    [
        GaussianNB(),
        LinearRegression(),
        Ridge(),
        PCA(n_components=1),
        KMeans(n_clusters=2),
        LogisticRegression(solver="moments"),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_as_many_features_are_taken_as_are_summed(learner: Any) -> None:
    assert_limits(learner._check_design, [[0], [0] * 1999], [[0] * 2000])


@pytest.mark.parametrize(
    ("kind", "facts", "wrong"),
    [
        (GaussianNB, {}, []),
        (CategoricalNB, {"categories": 2}, [("alpha", -1.0)]),
        (LinearRegression, {}, [("row_norm", 0.0)]),
        (Ridge, {}, [("row_norm", 0.0), ("alpha", 0.0)]),
        (PCA, {}, [("row_norm", 0.0), ("n_components", 0)]),
        (KMeans, {"n_clusters": 2}, [("row_norm", 0.0), ("n_clusters", 0)]),
        (LogisticRegression, {}, [("C", 0.0), ("row_norm", 0.0), ("solver", "other")]),
        (LogisticRegression, {"solver": "moments"}, [("row_norm", 0.01)]),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_every_learner_checks_its_parameters(kind: Any, facts: Any, wrong: Any) -> None:
    kind(**facts).check_parameters()
    for name, value in [("epsilon", 0.0), ("delta", 1.0), *wrong]:
        with pytest.raises(InputError):
            kind(**(facts | {name: value})).check_parameters()


@pytest.mark.parametrize("learner", [LogisticRegression(), CategoricalNB(categories=2)])
def test_what_sums_no_features_takes_more(learner: Any) -> None:
    learner._check_design([0] * 2000)


def test_no_more_sums_are_asked_for_than_a_curator_gives() -> None:
    clusters = (1 << 22) // 1024
    assert_limits(
        lambda number: KMeans(n_clusters=number)._check_design([0] * 1024),  # type: ignore[arg-type]
        [clusters],
        [clusters + 1],
    )


@pytest.mark.parametrize(
    ("kind", "missing"), [(CategoricalNB, 0.0), (GaussianNB, 0.5), (LogisticRegression, 0.5)]
)
def test_whoever_is_predicted_may_have_any_cell(kind: Any, missing: float) -> None:
    """One that is missing, or lies outside, counts as one inside: nothing is refused for it."""
    y = np.arange(400) % 2
    X = np.column_stack([y, y[::-1]]).astype(float)
    facts: dict[str, Any] = {"bounds": (0.0, 1.0)}
    if kind is CategoricalNB:
        facts = {"categories": 2}
    learner = kind(1e6, classes=[0, 1], **facts).fit(X, y)
    cells = np.array([math.nan, math.inf, -math.inf, -3.0, 7.0])
    taken_for = np.array([missing, 1.0, 0.0, 0.0, 1.0])
    for other in (0.0, 1.0):
        told, expected = (
            learner.predict_proba(np.column_stack([given, np.full(5, other)]))
            for given in (cells, taken_for)
        )
        assert np.isfinite(told).all()
        np.testing.assert_allclose(told, expected)
