"""Suppression, noise, swapping, post-randomisation, anatomy and micro-aggregation."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from anonymity.tables import cells, make_table, random_table
from understudy.anonymity import (
    Roles,
    add_noise,
    anatomise,
    microaggregate,
    multiply_noise,
    post_randomise,
    reconstruct_distribution,
    suppress_cells,
    swap_values,
)
from understudy.anonymity.hierarchies import make_prefixes, make_ranges, read_hierarchy
from understudy.anonymity.microaggregation import group_by_mdav
from understudy.anonymity.suppression import suppress_columns
from understudy.errors import InputError


def test_cells_are_suppressed_by_a_value_that_does_not_occur() -> None:
    table = make_table(job=["*", "clerk", "clerk"])
    found = suppress_cells(table, "job", np.array([False, True, False]))
    assert cells(found, "job") == ["*", "**", "clerk"]
    assert suppress_columns(table, ["job"]).names == ()
    with pytest.raises(InputError, match="flags for 2"):
        suppress_cells(table, "job", np.array([True, False]))


def test_prefixes_and_ranges() -> None:
    zips = make_prefixes(("23620", "23622", "33617"))
    assert [level.labels for level in zips.levels[1:3]] == [
        ("2362*", "3361*"),
        ("2****", "3****"),
    ] or zips.levels[1].labels == ("2362*", "3361*")
    ages = make_ranges(np.array([24.0, 29.0, 41.0, 43.0]), ("24", "29", "41", "43"), 10)
    assert ages.levels[1].labels == ("20-29", "40-49")
    assert ages.levels[-1].labels == ("*",)
    cold = make_ranges(np.array([-7.0, 3.0]), ("-7", "3"), 5)
    assert cold.levels[0].labels == ("-7", "3")
    for finer, coarser in zip(zips.levels, zips.levels[1:], strict=False):
        pairs = set(zip(finer.places.tolist(), coarser.places.tolist(), strict=True))
        assert len(pairs) == len(finer.labels)
    with pytest.raises(InputError, match="equal on one level"):
        read_hierarchy({"a": ["x", "p"], "b": ["x", "q"]}, ("a", "b"), None, "job")


def test_hostile_hierarchies_are_refused_in_one_sentence() -> None:
    deep: list[object] = ["a"]
    for _ in range(2_000):
        deep = [deep]
    with pytest.raises(InputError, match="at most 40 levels"):
        read_hierarchy(deep, ("a",), None, "job")
    with pytest.raises(InputError, match="cannot be so wide"):
        read_hierarchy(10**400, ("1", "2"), np.array([1.0, 2.0]), "age")


def test_noise_hides_cells_and_keeps_the_distribution() -> None:
    rng = np.random.default_rng(0)
    ages = np.where(rng.random(20_000) < 0.7, 25.0, 65.0)
    table = make_table(age=ages.tolist())
    for shape, width in (("gaussian", 20.0), ("uniform", 40.0)):
        noisy = add_noise(table, "age", width, shape=shape, seed=1)  # type: ignore[arg-type]
        values = noisy.columns["age"].values
        assert abs((values - ages).mean()) < 1.5
        assert np.abs(values - ages).mean() > 10
        shares = reconstruct_distribution(
            values,
            np.array([0.0, 45.0, 90.0]),
            width,
            shape=shape,  # type: ignore[arg-type]
        )
        np.testing.assert_allclose(shares, [0.7, 0.3], atol=0.05)
        assert shares.sum() == pytest.approx(1.0)
    times = multiply_noise(make_table(age=[10, 1000]), "age", 0.1, seed=1).columns["age"]
    assert times.kind == "integer"
    with pytest.raises(InputError, match="width above 0"):
        add_noise(table, "age", 0.0)
    with pytest.raises(InputError, match="no numbers"):
        add_noise(make_table(job=["a"]), "job", 1.0)


def test_swapping_keeps_marginals_exactly() -> None:
    table = random_table(np.random.default_rng(0), 300)
    swapped = swap_values(table, "illness", 1.0, within=["job"], seed=1)
    before = Counter(zip(cells(table, "job"), cells(table, "illness"), strict=True))
    after = Counter(zip(cells(swapped, "job"), cells(swapped, "illness"), strict=True))
    assert before == after
    changed = sum(
        a != b for a, b in zip(cells(table, "illness"), cells(swapped, "illness"), strict=True)
    )
    assert changed > 100
    assert cells(swap_values(table, "illness", 0.0), "illness") == cells(table, "illness")
    with pytest.raises(InputError, match="from 0 to 1"):
        swap_values(table, "illness", 1.5)


def test_post_randomisation_keeps_frequencies_on_average() -> None:
    table = make_table(illness=["flu"] * 6000 + ["cold"] * 3000 + [""] * 1000)
    changed, matrix = post_randomise(table, "illness", 0.4, seed=1)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
    counts = Counter(cells(changed, "illness"))
    for value, expected in (("flu", 6000), ("cold", 3000), ("", 1000)):
        assert abs(counts[value] - expected) < 6 * np.sqrt(expected)
    stayed = sum(
        a == b for a, b in zip(cells(table, "illness"), cells(changed, "illness"), strict=True)
    )
    assert abs(stayed / 10_000 - (0.4 + 0.6 * 0.46)) < 0.03
    swapped, _ = post_randomise(make_table(x=["a", "b"]), "x", np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert cells(swapped, "x") == ["b", "a"]
    with pytest.raises(InputError, match="3 lines of 3"):
        post_randomise(table, "illness", np.eye(2))
    with pytest.raises(InputError, match="sum to 1"):
        post_randomise(table, "illness", np.zeros((3, 3)))


def test_anatomy_has_l_values_in_each_group_and_loses_no_row() -> None:
    table = make_table(age=list(range(23)), illness=["a"] * 8 + ["b"] * 8 + ["c"] * 4 + ["d"] * 3)
    roles = Roles(quasi_identifiers="age", sensitive="illness")
    found = anatomise(table, roles, 2, seed=0)
    assert sorted(cells(found.quasi_identifiers, "age"), key=int) == cells(table, "age")
    groups = cells(found.sensitive, "group")
    counts = [int(count) for count in cells(found.sensitive, "count")]
    assert sum(counts) == 23
    sizes = Counter(cells(found.quasi_identifiers, "group"))
    for group in set(groups):
        held = [count for g, count in zip(groups, counts, strict=True) if g == group]
        assert len(held) >= 2
        assert max(held) * 2 <= sum(held) == sizes[group]
    with pytest.raises(InputError, match="l can be at most 2"):
        anatomise(table, roles, 3)


def test_mdav_by_hand_and_its_sizes() -> None:
    """Two clusters and one row far away, which takes its nearest."""
    points = np.array([[0.0], [1.0], [2.0], [100.0], [101.0], [102.0]])
    groups = group_by_mdav(points, 3)
    assert groups[0] == groups[1] == groups[2] != groups[3] == groups[4] == groups[5]
    rng = np.random.default_rng(0)
    for rows, k in ((7, 3), (100, 7), (53, 2), (5, 5), (9, 3)):
        found = np.bincount(group_by_mdav(rng.normal(size=(rows, 3)), k))
        assert found.sum() == rows
        assert found.min() >= k
        assert found.max() <= 2 * k - 1
        assert (found > k).sum() <= 1


def mdav_by_definition(points: np.ndarray, k: int) -> list[frozenset[int]]:
    """Row by row, with nothing clever."""
    left, groups = list(range(len(points))), []

    def take(row: int) -> None:
        nearest = sorted(left, key=lambda r: (r != row, ((points[r] - points[row]) ** 2).sum()))
        groups.append(frozenset(nearest[:k]))
        for r in nearest[:k]:
            left.remove(r)

    while len(left) >= 3 * k:
        centre = points[left].mean(axis=0)
        first = max(left, key=lambda r: ((points[r] - centre) ** 2).sum())
        take(first)
        take(max(left, key=lambda r: ((points[r] - points[first]) ** 2).sum()))
    if len(left) >= 2 * k:
        centre = points[left].mean(axis=0)
        take(max(left, key=lambda r: ((points[r] - centre) ** 2).sum()))
    return [*groups, frozenset(left)]


@pytest.mark.parametrize("seed", range(5))
def test_mdav_is_mdav(seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(61, 2))
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    groups = group_by_mdav(points, 4)
    found = {frozenset(np.flatnonzero(groups == group).tolist()) for group in np.unique(groups)}
    assert found == set(mdav_by_definition(points, 4))


def test_micro_aggregation_publishes_means() -> None:
    table = make_table(x=[0.0, 2.0, 10.0, 14.0], name=["a", "b", "c", "d"])
    found, groups = microaggregate(table, ["x"], 2)
    assert cells(found, "x") == ["1.0", "1.0", "12.0", "12.0"]
    assert groups[0] == groups[1] != groups[2]
    with pytest.raises(InputError, match="no means"):
        microaggregate(table, ["name"], 2)
    with pytest.raises(InputError, match="k = 9"):
        microaggregate(table, ["x"], 9)
