"""Measures of classes, against other programs and against the definition."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from anonymity.tables import random_table
from understudy.anonymity import Requirement, Roles, check_table
from understudy.anonymity.measures import (
    hierarchical_distance,
    ordered_distance,
    recursive_ratio,
    total_variation,
)

ORACLES = Path(sys.prefix) / "oracles"
TREE = (("a", "b"), ("c", ("d", "e")), "f")
NAMES = ("a", "b", "c", "d", "e", "f")


@pytest.fixture
def pycanon() -> Any:
    if not (ORACLES / "pycanon").is_dir():
        pytest.skip("pycanon is not among the oracles that make test installs")
    sys.path.append(str(ORACLES))
    try:
        from pycanon import anonymity

        yield anonymity
    finally:
        sys.path.remove(str(ORACLES))


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(n, marks=pytest.mark.thorough) for n in range(4, 50))]
)
def test_the_same_verdicts_as_pycanon(pycanon: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(rng, int(rng.integers(20, 80)))
    frame = table.to_pandas().fillna({"job": "none"})
    quasi = ["job", "income"][: int(rng.integers(1, 3))]
    for secret in ("illness", "age"):
        roles = Roles(quasi_identifiers=tuple(quasi), sensitive=(secret,))
        found = check_table(table, roles, Requirement(k=2, l=2))
        (figures,) = found.sensitive
        asked = frame, quasi, [secret]
        assert found.k == pycanon.k_anonymity(frame, quasi)
        assert figures.distinct == pycanon.l_diversity(*asked)
        worth = pycanon.entropy_l_diversity(*asked)  # cut to an integer, 3.9999... to 3
        assert worth in (int(figures.entropy - 1e-9), int(figures.entropy + 1e-9))
        assert figures.distance == pytest.approx(pycanon.t_closeness(*asked), abs=1e-9)
        assert figures.likeness == pytest.approx(pycanon.basic_beta_likeness(*asked), abs=1e-9)
        assert figures.disclosure == pytest.approx(pycanon.delta_disclosure(*asked), abs=1e-9)
        alpha, _ = pycanon.alpha_k_anonymity(*asked)
        assert figures.largest_share == pytest.approx(alpha, abs=1e-9)


def move_earth(one: NDArray[Any], other: NDArray[Any], costs: NDArray[Any]) -> float:
    """The earth mover's distance by its definition: the cheapest way to move one to the other."""
    from scipy.optimize import linprog

    size = len(one)
    leave = np.kron(np.eye(size), np.ones(size))
    arrive = np.kron(np.ones(size), np.eye(size))
    solved = linprog(
        costs.ravel(), A_eq=np.vstack([leave, arrive]), b_eq=np.concatenate([one, other])
    )
    return float(solved.fun)


def tree_costs() -> NDArray[np.float64]:
    """How high the lowest common ancestor of two leaves of TREE is, out of 3."""
    heights = {frozenset("ab"): 1, frozenset("de"): 1, frozenset("cd"): 2, frozenset("ce"): 2}
    return np.array(
        [[0.0 if x == y else heights.get(frozenset((x, y)), 3) / 3 for y in NAMES] for x in NAMES]
    )


@pytest.mark.parametrize("seed", range(20))
def test_distances_are_the_cheapest_moves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, (1, 6)) + np.eye(6, dtype=np.int64)[:1]
    overall = rng.dirichlet(np.ones(6))
    share = counts[0] / counts.sum()
    line = np.abs(np.subtract.outer(np.arange(6), np.arange(6))) / 5
    for found, costs in (
        (total_variation(counts, overall), 1 - np.eye(6)),
        (ordered_distance(counts, overall), line),
        (hierarchical_distance(counts, overall, TREE, NAMES), tree_costs()),
    ):
        assert found[0] == pytest.approx(move_earth(share, overall, costs), abs=1e-7)


def test_values_outside_the_taxonomy_hang_from_its_root() -> None:
    counts = np.array([[1, 0, 0]])
    found = hierarchical_distance(counts, np.array([0.0, 0.0, 1.0]), (("a", "b"),), ("a", "b", "?"))
    assert found[0] == pytest.approx(1.0)


def test_recursive_diversity_by_hand() -> None:
    """5 against 3 + 2 from the second on, and against 2 from the third on."""
    counts = np.array([[5, 3, 2], [5, 0, 0]])
    np.testing.assert_allclose(recursive_ratio(counts, 2), [1.0, np.inf])
    np.testing.assert_allclose(recursive_ratio(counts, 3), [2.5, np.inf])
    assert np.isinf(recursive_ratio(counts, 4)).all()
