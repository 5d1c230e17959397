"""The paper's baselines: exact without noise, noise of the stated scale, sensitivities searched on
small tables.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from baselines.consistency import clipped
from baselines.contingency import contingency
from baselines.fourier import coefficients, fourier
from baselines.hinge_svm import hinge_svm
from baselines.laplace import laplace
from baselines.majority import majority
from baselines.mwem import mwem, rounds_of
from baselines.private_erm import HUBER, calibrated, huber, perturbation, private_erm
from baselines.privgene import (
    POPULATION,
    ROUNDS,
    SURVIVORS,
    bounded_hinge,
    chosen,
    privgene,
    spread,
)
from baselines.uniform import uniform
from baselines.walsh import Projections, hadamard, histogram, walsh
from understudy.privacy.mechanisms import ChoiceRule, ExactCounts, SeededNoise

pytestmark = pytest.mark.thorough

RNG = np.random.default_rng(7)
BITS = RNG.integers(0, 2, (400, 5))
BITS[:, 1] = np.where(RNG.random(400) < 0.9, BITS[:, 0], BITS[:, 1])
TRIPLES = list(itertools.combinations(range(5), 3))


class Watching(SeededNoise):
    """No noise at all; remembers what was asked of it."""

    def __init__(self) -> None:
        super().__init__(0)
        self.laplaces: list[tuple[int, float]] = []
        self.choices: list[float] = []

    def laplace(self, counts: ExactCounts, scale: float) -> ExactCounts:
        self.laplaces.append((counts.size, scale))
        return counts

    def choose(self, scores: NDArray[np.float64], scale: float, rule: ChoiceRule) -> int:
        self.choices.append(scale)
        return int(np.argmax(scores))


def table(
    rows: NDArray[Any], attributes: tuple[int, ...], sizes: tuple[int, ...]
) -> NDArray[np.int64]:
    found = np.zeros([sizes[a] for a in attributes], dtype=np.int64)
    np.add.at(found, tuple(rows[:, a] for a in attributes), 1)
    return found


def tables_of(
    rows: NDArray[Any], marginals: list[tuple[int, ...]], sizes: tuple[int, ...]
) -> list[NDArray[np.int64]]:
    return [table(rows, attributes, sizes) for attributes in marginals]


def neighbours(
    sizes: tuple[int, ...], rows: int = 3
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Pairs of tables that differ in one row: all values of that row, on a few others."""
    domain = list(itertools.product(*(range(size) for size in sizes)))
    rest = [domain[i % len(domain)] for i in range(1, rows)]
    for mine, other in itertools.permutations(domain, 2):
        yield np.array([mine, *rest]), np.array([other, *rest])


# ---- Walsh


def test_hadamard_squares_to_a_multiple_of_the_identity() -> None:
    assert np.array_equal(hadamard(3) @ hadamard(3), 8 * np.eye(8))
    assert hadamard(2)[3].tolist() == [1, -1, -1, 1]


def test_walsh_is_the_sum_of_parities() -> None:
    found = walsh(table(BITS, (0, 2), (2,) * 5))
    signs = 1 - 2 * BITS
    assert found.tolist() == [
        [400, signs[:, 2].sum()],
        [signs[:, 0].sum(), (signs[:, 0] * signs[:, 2]).sum()],
    ]


@pytest.mark.parametrize("width", [3, 8, 11])
@pytest.mark.parametrize("order", [1, 3])
def test_projections_are_the_marginals(width: int, order: int) -> None:
    rows = np.random.default_rng(width).integers(0, 2, (300, width))
    marginals = list(itertools.combinations(range(width), order))[-20:]
    found = Projections(width, marginals).tables(histogram(list(rows.T)))
    for attributes, cells in zip(marginals, found, strict=True):
        assert np.allclose(cells, table(rows, attributes, (2,) * width).ravel())


# ---- marginals


def test_clipped_is_what_the_paper_says() -> None:
    assert clipped(np.array([3.0, -1.0, 1.0]), 8).tolist() == [6.0, 0.0, 2.0]
    assert clipped(np.array([-3.0, -1.0]), 8).tolist() == [4.0, 4.0]


def test_uniform() -> None:
    assert [t.tolist() for t in uniform([(2,), (1, 4)], 8)] == [[4.0, 4.0], [[2.0, 2.0, 2.0, 2.0]]]


def test_laplace_without_noise_is_exact_and_its_scale_is_that_of_all_tables() -> None:
    exact, noise = tables_of(BITS, TRIPLES, (2,) * 5), Watching()
    found = laplace(exact, 400, 0.5, noise)
    assert all(np.allclose(a, b) for a, b in zip(found, exact, strict=True))
    assert noise.laplaces == [(80, 2 * 10 / 0.5)]


def test_the_sensitivity_of_laplace_is_reached_and_not_passed() -> None:
    sizes, pairs = (2, 3, 2), [(0, 1), (0, 2), (1, 2)]
    most = 0
    for mine, other in neighbours(sizes):
        changed = zip(tables_of(mine, pairs, sizes), tables_of(other, pairs, sizes), strict=True)
        most = max(most, sum(int(np.abs(a - b).sum()) for a, b in changed))
    assert most == 2 * len(pairs)


def test_laplace_is_unbiased_before_clipping() -> None:
    large = [np.full((2, 2), 10_000), np.full((2, 2), 10_000)]
    runs = [laplace(large, 40_000, 1.0, SeededNoise(seed))[0] for seed in range(300)]
    assert np.mean(runs, axis=0) == pytest.approx(np.full((2, 2), 10_000.0), abs=2)
    assert np.std(runs) == pytest.approx(
        4 * math.sqrt(2) * math.sqrt(3 / 4), rel=0.1
    )  # normalising takes a quarter


MIXED = np.column_stack([RNG.integers(0, 3, 500), RNG.integers(0, 5, 500), RNG.integers(0, 2, 500)])
MIXED_SIZES = (3, 5, 2)


def mixed(
    rows: NDArray[Any], pairs: list[tuple[int, ...]]
) -> dict[tuple[str, ...], NDArray[np.int64]]:
    return {
        tuple("abc"[a] for a in attributes): table(rows, attributes, MIXED_SIZES)
        for attributes in pairs
    }


def test_fourier_without_noise_is_exact_on_any_domain() -> None:
    exact = mixed(MIXED, [(0, 1), (0, 2), (1, 2)])
    found = fourier(exact, 500, 1.0, Watching())
    assert all(np.allclose(found[names], exact[names]) for names in exact)


def test_fourier_measures_each_coefficient_once() -> None:
    noise = Watching()
    fourier(mixed(MIXED, [(0, 1), (0, 2), (1, 2)]), 500, 0.5, noise)
    # 4, 8 and 2 padded values: single attributes 3 + 7 + 1, pairs 21 + 3 + 7.
    assert noise.laplaces == [(42, 2 * 42 / 0.5)]


def test_the_sensitivity_of_fourier() -> None:
    pairs = [(0, 1), (0, 2), (1, 2)]
    most = 0.0
    for mine, other in neighbours(MIXED_SIZES):
        a, b = coefficients(mixed(mine, pairs)), coefficients(mixed(other, pairs))
        most = max(most, sum(float(np.abs(a[names] - b[names]).sum()) for names in a))
        assert max(int(np.abs(a[names] - b[names]).max()) for names in a) <= 2
    assert most <= 2 * 42


def test_fourier_tables_agree_on_what_they_share_before_clipping() -> None:
    large = {("a", "b"): np.full((2, 2), 10_000), ("b", "c"): np.full((2, 2), 10_000)}
    found = fourier(large, 40_000, 1.0, SeededNoise(3))
    assert found["a", "b"].sum(axis=0) == pytest.approx(found["b", "c"].sum(axis=1))
    assert not np.allclose(found["a", "b"], 10_000)


def test_contingency_without_noise_is_exact_and_its_scale() -> None:
    full, noise = histogram(list(BITS.T)), Watching()
    found = contingency(full, Projections(5, TRIPLES), 0.5, noise)
    assert np.allclose(found, [t.ravel() for t in tables_of(BITS, TRIPLES, (2,) * 5)])
    assert noise.laplaces == [(32, 4.0)]


def test_contingency_is_close_to_uniform_where_most_cells_are_empty() -> None:
    full = np.zeros(1 << 14, dtype=np.int64)
    full[3] = 200
    found = contingency(full, Projections(14, [(12, 13)]), 0.1, SeededNoise(1))
    assert found[0] == pytest.approx([50] * 4, rel=0.1)


def test_mwem_spends_what_it_is_given() -> None:
    noise = Watching()
    mwem(histogram(list(BITS.T)), TRIPLES, Projections(5, TRIPLES), 0.4, noise)
    assert rounds_of(0.4) == 8 == len(noise.choices) == len(noise.laplaces)
    choices = sum(2 / scale for scale in noise.choices)  # sensitivity 1: epsilon is 2 / scale
    measurements = sum(1 / scale for _, scale in noise.laplaces)
    assert choices == pytest.approx(0.2)
    assert measurements == pytest.approx(0.2)
    assert rounds_of(0.01) == 1


def test_mwem_without_noise_comes_closer_with_every_round() -> None:
    full, projections = histogram(list(BITS.T)), Projections(5, TRIPLES)
    exact = projections.tables(full)
    errors = [
        np.abs(mwem(full, TRIPLES, projections, epsilon, Watching(), replays=5) - exact).sum()
        for epsilon in (0.05, 0.5, 5.0)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert mwem(full, TRIPLES, projections, 0.5, Watching()).sum(axis=1) == pytest.approx(
        np.full(10, 400.0)
    )


def test_the_sensitivity_of_mwem_is_one() -> None:
    for mine, other in neighbours((2, 2, 2)):
        a, b = (table(rows, (0, 1), (2, 2, 2)) for rows in (mine, other))
        assert np.abs(a - b).max() <= 1


# ---- classifiers


def separable(
    rows: int = 300,
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.intp]]:
    """Two attributes of two values and an intercept, one column a value; the label is the first
    attribute.
    """
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (rows, 2))
    matrix = np.column_stack(
        [codes[:, 0] == 0, codes[:, 0], codes[:, 1] == 0, codes[:, 1], np.ones(rows)]
    ).astype(float)
    return matrix, codes[:, 0] == 1, np.ones(rows, dtype=np.int64), np.array([0, 0, 1, 1, 2])


def test_majority() -> None:
    labels = np.array([True] * 60 + [False] * 40)
    noise = Watching()
    assert majority(labels, 0.25, noise)
    assert not majority(~labels, 0.25, noise)
    assert noise.laplaces[0] == (1, 4.0)


def test_hinge_svm_finds_the_minimum_that_another_solver_finds() -> None:
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(2)
    rows = np.column_stack([rng.normal(size=(400, 3)), np.ones(400)])
    labels = rows @ [1.0, -1.0, 0.5, 0.2] + rng.normal(size=400) > 0
    other = (
        LinearSVC(loss="hinge", C=1.0, fit_intercept=False, max_iter=100_000, tol=1e-6)
        .fit(rows, labels)
        .coef_[0]
    )

    def objective(weights: NDArray[np.float64]) -> float:
        hinge = np.maximum(1 - np.where(labels, 1, -1) * (rows @ weights), 0)
        return float(weights @ weights / 2 + hinge.sum())

    mine = hinge_svm(rows, labels, np.ones(400))
    assert objective(mine) == pytest.approx(objective(other), rel=2e-3)


def test_counts_stand_for_rows() -> None:
    matrix, labels, _, _ = separable(40)
    counts = np.arange(1, 41)
    often = np.repeat(np.arange(40), counts)
    ones = np.ones(len(often), dtype=np.int64)
    assert hinge_svm(matrix, labels, counts) == pytest.approx(
        hinge_svm(matrix[often], labels[often], ones), abs=1e-3
    )
    unit = matrix / math.sqrt(3)
    a, b = (
        private_erm(rows, said, times, 1.0, None)
        for rows, said, times in ((unit, labels, counts), (unit[often], labels[often], ones))
    )
    assert a == pytest.approx(b, abs=1e-3)


def test_huber_has_the_slope_and_curvature_that_the_proof_needs() -> None:
    margins = np.linspace(-3, 3, 2001)
    loss, slope = huber(margins)
    step = margins[1] - margins[0]
    assert np.gradient(loss, step)[1:-1] == pytest.approx(slope[1:-1], abs=2e-3)
    assert np.abs(slope).max() <= 1
    assert np.abs(np.diff(slope)).max() / step <= 1 / (2 * HUBER) + 1e-9
    assert (loss >= 0).all()
    hinge = np.maximum(1 - margins, 0)
    assert np.abs(loss - hinge).max() == pytest.approx(HUBER / 4, abs=1e-3)


@pytest.mark.parametrize("epsilon", [0.05, 0.4, 1.3, 1.5, 3.0])
@pytest.mark.parametrize("strength", [1.0, 10.0])
def test_noise_and_jacobian_of_private_erm_add_up_to_epsilon(
    epsilon: float, strength: float
) -> None:
    rows = 1000
    rate, more = calibrated(epsilon, rows, strength / rows)
    assert rate > 0
    assert more >= 0
    jacobian = 2 * math.log1p(1 / (rows * (strength / rows + more)))
    assert rate + jacobian <= epsilon + 1e-9


def test_the_minimiser_moves_the_noise_by_at_most_two() -> None:
    """The vector b for which given weights are the minimiser, on neighbouring tables."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        weights = rng.normal(size=4) * 3
        gradients = []
        for _ in range(2):
            row = rng.normal(size=4)
            row /= np.linalg.norm(row)
            sign = rng.choice([-1.0, 1.0])
            gradients.append(sign * huber(np.array([sign * (row @ weights)]))[1] * row)
        assert np.linalg.norm(gradients[0] - gradients[1]) <= 2


def test_the_length_of_the_perturbation_is_gamma() -> None:
    rng = np.random.default_rng(4)
    lengths = [float(np.linalg.norm(perturbation(10, 0.5, rng))) for _ in range(2000)]
    assert np.mean(lengths) == pytest.approx(10 * 2 / 0.5, rel=0.03)
    assert np.var(lengths) == pytest.approx(10 * (2 / 0.5) ** 2, rel=0.15)


def test_private_erm_learns_and_needs_a_budget_for_it() -> None:
    matrix, labels, counts, _ = separable(5000)
    unit = matrix / math.sqrt(3)

    def error(epsilon: float) -> float:
        runs = (
            private_erm(unit, labels, counts, epsilon, np.random.default_rng(seed))
            for seed in range(10)
        )
        return float(np.mean([np.mean((unit @ weights > 0) != labels) for weights in runs]))

    assert error(5.0) == 0.0
    assert error(0.0005) > 0.1
    assert np.mean((unit @ private_erm(unit, labels, counts, 1.0, None) > 0) != labels) == 0.0


def test_privgene_spends_what_it_is_given() -> None:
    matrix, labels, counts, groups = separable()
    noise = Watching()
    privgene(matrix, labels, counts, groups, 0.8, noise, np.random.default_rng(5))
    assert len(noise.choices) == (ROUNDS - 1) * SURVIVORS + 1
    # Without noise every width is at most 2, so a choice at scale s costs width / s <= 2 / s.
    assert sum(2 / scale for scale in noise.choices) >= 0.8 - 1e-9
    assert 2.0 / noise.choices[0] == pytest.approx(0.8 / ROUNDS / SURVIVORS)


def test_privgene_learns_with_a_large_budget() -> None:
    matrix, labels, counts, groups = separable()
    weights = privgene(
        matrix, labels, counts, groups, 1e6, SeededNoise(1), np.random.default_rng(6)
    )
    assert np.mean((matrix @ weights > 0) != labels) == 0.0


def test_the_enhanced_sensitivity_bounds_every_change() -> None:
    """How differently the fitness of two candidates changes, over all pairs of rows, against what
    is charged.
    """
    groups = np.array([0, 0, 1, 1, 1, 2])
    rows = np.array([[*np.eye(2)[i], *np.eye(3)[j], 1.0] for i in range(2) for j in range(3)])
    for scale, seed in itertools.product((0.02, 0.3, 1.0), range(10)):
        population = 0.5 + scale * np.random.default_rng(seed).uniform(-0.5, 0.5, (20, 6))
        loss = np.concatenate([bounded_hinge(sign * (rows @ population.T)) for sign in (-1, 1)])
        changes = loss[:, None, :] - loss[None, :, :]
        widest = np.ptp(changes, axis=2).max()
        assert widest <= spread(population, groups) + 1e-12
        assert spread(population, groups) <= 2.0
    assert len(population) < POPULATION


def test_a_choice_of_privgene_is_as_private_as_it_says() -> None:
    """The exact probabilities of the first choice on neighbouring fitness, at the worst change."""
    epsilon, width = 0.7, 1.5
    fitness = np.array([0.0, 1.0, -2.0])
    changed = fitness + np.array([0.0, width, 0.3])
    noise = Watching()
    chosen(fitness, width, 1, epsilon, noise)
    p, q = (
        np.exp(f / noise.choices[0]) / np.exp(f / noise.choices[0]).sum()
        for f in (fitness, changed)
    )
    assert np.abs(np.log(p / q)).max() <= epsilon


def test_survivors_are_different() -> None:
    found = chosen(np.zeros(20), 1.0, 10, 1.0, SeededNoise(2))
    assert len(set(found)) == 10
