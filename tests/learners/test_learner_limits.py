"""Limits of learners: the last value that is allowed is taken, and the next one is refused."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from limits import above, assert_limits, below
from understudy import Schema
from understudy.learners import CategoricalNB
from understudy.learners.asking import class_labels, target_feature
from understudy.learners.estimator import Learner
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


def features(number: int) -> None:
    Learner._check_design(SimpleNamespace(), [0] * number)  # type: ignore[arg-type]


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
    "features": (features, [1, 1999], [2000]),
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
