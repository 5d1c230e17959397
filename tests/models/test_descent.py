"""Descent finds the distribution with the least misfit to all tables, found on the joint domain by
non-negative least squares.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from understudy.models.graphical import Group
from understudy.models.graphical.descent import descend
from understudy.models.graphical.fitting import Fit
from understudy.models.graphical.pooling import Pool
from understudy.models.parameters import project_counts

Array = NDArray[np.float64]

SIZES = {"a": 3, "b": 4, "c": 2, "d": 3}
ROWS = 500.0
DEVIATIONS: dict[Group, float] = {
    ("a",): 10.0,
    ("b",): 10.0,
    ("c",): 10.0,
    ("d",): 10.0,
    ("a", "b"): 30.0,
    ("b", "c", "d"): 20.0,
    ("a", "d"): 40.0,
}


def summing(group: Group) -> Array:
    """What sums the joint table, flattened, into that of a group."""
    places = np.indices(tuple(SIZES.values())).reshape(len(SIZES), -1)
    codes = [places[list(SIZES).index(name)] for name in group]
    shape = [SIZES[name] for name in group]
    matrix = np.zeros((math.prod(shape), places.shape[1]))
    matrix[np.ravel_multi_index(codes, shape), np.arange(places.shape[1])] = 1
    return matrix


def measure(seed: int) -> dict[Group, NDArray[np.int64]]:
    """Noisy tables of rows most of which lie in few cells, so that many cells are negative."""
    rng = np.random.default_rng(seed)
    joint = ROWS * rng.dirichlet(np.full(math.prod(SIZES.values()), 0.05))
    found = {}
    for group, deviation in DEVIATIONS.items():
        counts = summing(group) @ joint + rng.normal(0, deviation, len(summing(group)))
        found[group] = np.rint(counts).astype(np.int64).reshape([SIZES[name] for name in group])
    return found


def misfit(tables: dict[Group, Array], measured: dict[Group, NDArray[np.int64]]) -> float:
    return sum(
        float((((tables[group] - counts) / DEVIATIONS[group]) ** 2).sum())
        for group, counts in measured.items()
    )


def least_misfit(measured: dict[Group, NDArray[np.int64]]) -> float:
    """That of the best table of counts at or above 0 that add up to the rows."""
    left = [summing(group) / deviation for group, deviation in DEVIATIONS.items()]
    right = [measured[group].ravel() / deviation for group, deviation in DEVIATIONS.items()]
    total = 1e3 * np.ones((1, left[0].shape[1]))
    best, _ = nnls(np.vstack([*left, total]), np.concatenate([*right, [1e3 * ROWS]]))
    return misfit(
        {group: (summing(group) @ best).reshape(measured[group].shape) for group in measured},
        measured,
    )


def fitted(measured: dict[Group, NDArray[np.int64]], groups: list[Group]) -> tuple[Fit, Pool]:
    """As a learner leaves them: each group's table mended by itself, then swept."""
    fit, pool = Fit(SIZES), Pool(SIZES)
    for group, counts in measured.items():
        pool.add(group, counts, DEVIATIONS[group])
    fit.add(groups)
    targets = {group: project_counts(pool.table(group), ROWS) / ROWS for group in fit.groups}
    damping = {group: pool.deviation(group) / ROWS for group in fit.groups}
    fit.sweep(targets, damping, 50)
    return fit, pool


def tables_of(fit: Fit) -> dict[Group, Array]:
    return {group: ROWS * fit.marginal(group) for group in DEVIATIONS}


def test_the_misfit_falls_to_the_least_that_any_distribution_has() -> None:
    for seed in range(5):
        measured = measure(seed)
        fit, pool = fitted(measured, list(DEVIATIONS))
        best, misfits = least_misfit(measured), [misfit(tables_of(fit), measured)]
        for steps in (25, 1000):
            descend(fit, pool, ROWS, steps)
            misfits.append(misfit(tables_of(fit), measured))
        assert misfits[0] > misfits[1] > misfits[2] >= best - 1e-6
        assert misfits[2] - best < 0.02 * (misfits[0] - best)


def test_cliques_agree_after_a_descent() -> None:
    fit, pool = fitted(measure(0), list(DEVIATIONS))
    descend(fit, pool, ROWS, 25)
    for table in fit.tables:
        assert math.isclose(table.sum(), 1.0)
    for one, other in itertools.combinations(fit.groups, 2):
        for name in set(one) & set(other):
            sides = [
                fit.marginal(group).sum(
                    axis=tuple(place for place, member in enumerate(group) if member != name)
                )
                for group in (one, other)
            ]
            assert np.allclose(*sides)


def test_a_distribution_that_has_all_tables_stays_as_it_is() -> None:
    fit, pool = Fit(SIZES), Pool(SIZES)
    for name, size in SIZES.items():
        pool.add((name,), np.full(size, 12 // size), 1.0)
    descend(fit, pool, 12.0, 25)
    for name, size in SIZES.items():
        assert np.allclose(fit.marginal((name,)), 1 / size)


def test_without_steps_nothing_is_moved() -> None:
    fit, pool = fitted(measure(0), list(DEVIATIONS))
    before = tables_of(fit)
    descend(fit, pool, ROWS, 0)
    assert all(np.array_equal(table, before[group]) for group, table in tables_of(fit).items())
