"""Pooled tables are the least-squares estimate from all measured tables."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from understudy.models.graphical.pooling import Pool

SIZES = {"a": 2, "b": 3, "c": 4}
MEASURED = {("a",): 2.0, ("a", "b"): 3.0, ("b", "c"): 1.5, ("a", "b", "c"): 5.0}


def matrix(group: tuple[str, ...]) -> np.ndarray:
    """What sums the joint table, flattened, into that of a group."""
    joint = np.arange(math.prod(SIZES.values())).reshape(tuple(SIZES.values()))
    rows = []
    for place in itertools.product(*(range(SIZES[name]) for name in group)):
        index = tuple(place[group.index(name)] if name in group else slice(None) for name in SIZES)
        row = np.zeros(joint.size)
        row[np.ravel(joint[index])] = 1
        rows.append(row)
    return np.array(rows)


def test_pooling_is_weighted_least_squares() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 50, math.prod(SIZES.values()))
    pool = Pool(SIZES)
    left, right = [], []
    for group, deviation in MEASURED.items():
        counts = np.rint(
            matrix(group) @ truth + rng.normal(0, deviation, len(matrix(group)))
        ).astype(np.int64)
        pool.add(group, counts.reshape([SIZES[name] for name in group]), deviation)
        left.append(matrix(group) / deviation)
        right.append(counts / deviation)
    best = np.linalg.lstsq(np.vstack(left), np.concatenate(right), rcond=None)[0]
    for group in [*MEASURED, ("c",), ("a", "c"), ()]:
        assert pool.table(group).ravel() == pytest.approx(matrix(group) @ best)
    assert pool.total == pytest.approx(best.sum())


def test_the_deviation_is_that_of_the_estimate() -> None:
    rng = np.random.default_rng(2)
    errors = {group: [] for group in [("a", "b"), ("c",), ("a", "b", "c")]}
    for _ in range(400):
        pool = Pool(SIZES)
        for group, deviation in MEASURED.items():
            shape = [SIZES[name] for name in group]
            pool.add(
                group,
                np.rint(rng.normal(0, 100 * deviation, shape)).astype(np.int64),
                100 * deviation,
            )
        for group, found in errors.items():
            found.append((pool.table(group) ** 2).mean())
    for group, found in errors.items():
        assert math.sqrt(np.mean(found)) == pytest.approx(pool.deviation(group), rel=0.08)
    assert pool.deviation(("b", "a")) == pool.deviation(("a", "b"))


def test_effects_that_no_table_tells_are_none() -> None:
    pool = Pool({"a": 2, "b": 2})
    pool.add(("a",), np.array([6, 2]), 1.0)
    pool.add(("b",), np.array([4, 4]), 1.0)
    assert pool.table(("a", "b")) == pytest.approx(np.array([[3.0, 3.0], [1.0, 1.0]]))


def test_tables_of_single_attributes_can_be_replaced() -> None:
    rng = np.random.default_rng(3)
    pool = Pool(SIZES)
    for group, deviation in MEASURED.items():
        shape = [SIZES[name] for name in group]
        pool.add(group, rng.integers(0, 50, shape), deviation)
    before = pool.table(("a", "b", "c"))
    wanted = {name: rng.random(size) for name, size in SIZES.items()}
    for table in wanted.values():
        table *= pool.total / table.sum()
    other = pool.replace_singles(wanted.__getitem__)
    for name in SIZES:
        assert other.table((name,)) == pytest.approx(wanted[name])
        assert other.precision((name,)) == pool.precision((name,))
    change = other.table(("a", "b", "c")) - before
    for axis in range(3):  # what several attributes add to each other is as it was
        change = change - change.mean(axis=tuple(i for i in range(3) if i != axis), keepdims=True)
    assert change == pytest.approx(np.zeros_like(change), abs=1e-9)
    assert pool.table(("a", "b", "c")) == pytest.approx(before)
