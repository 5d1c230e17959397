"""Parent sets: all of them, or those that cannot be made larger or finer, against plain
enumeration.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy import InputError
from understudy.data.marginals import Axis, marginal
from understudy.synthesizers import parent_sets
from understudy.synthesizers.parent_sets import (
    AllParentSets,
    MaximalParentSets,
    affordable_degree,
    subsets,
    surely_too_many,
)

Levels = dict[str, tuple[int, ...]]


def every_set(sizes: Levels, bound: float) -> set[frozenset[Axis]]:
    """All generalised subsets of at most ``bound`` cells."""
    options = [[None, *range(len(levels))] for levels in sizes.values()]
    found = set()
    for picked in itertools.product(*options):
        axes = [
            Axis(name, level)
            for name, level in zip(sizes, picked, strict=True)
            if level is not None
        ]
        if math.prod(sizes[axis.attribute][axis.level] for axis in axes) <= bound:
            found.add(frozenset(axes))
    return found


def better(one: frozenset[Axis], other: frozenset[Axis]) -> bool:
    """Whether the one holds all that the other does, at the same or a finer level, and is not the
    same.
    """
    level = {axis.attribute: axis.level for axis in one}
    return one != other and all(level.get(axis.attribute, math.inf) <= axis.level for axis in other)


def maximal(sizes: Levels, bound: float) -> set[frozenset[Axis]]:
    """The definition of section 5.2, word by word."""
    sets = every_set(sizes, bound)
    return {one for one in sets if not any(better(other, one) for other in sets)}


@st.composite
def sizes_by_level(draw: st.DrawFn, deepest: int) -> Levels:
    sizes = {}
    for name in "abcde"[: draw(st.integers(0, 5))]:
        levels = draw(st.sets(st.integers(2, 12), min_size=1, max_size=deepest))
        sizes[name] = tuple(sorted(levels, reverse=True))
    return sizes


@settings(max_examples=60)
@given(sizes=sizes_by_level(1), bound=st.floats(0, 300))
def test_algorithm_5_finds_the_sets_that_cannot_be_made_larger(sizes: Levels, bound: float) -> None:
    found = MaximalParentSets(sizes)(list(sizes), bound)
    assert len(set(map(frozenset, found))) == len(found)
    assert set(map(frozenset, found)) == maximal(sizes, bound)


@settings(max_examples=60)
@given(sizes=sizes_by_level(3), bound=st.floats(0, 300))
def test_algorithm_6_finds_the_sets_that_cannot_be_made_larger_or_finer(
    sizes: Levels, bound: float
) -> None:
    found = MaximalParentSets(sizes)(list(sizes), bound)
    assert len(set(map(frozenset, found))) == len(found)
    assert set(map(frozenset, found)) == maximal(sizes, bound)


@settings(max_examples=40)
@given(
    sizes=sizes_by_level(3),
    bounds=st.lists(st.floats(0, 300), min_size=1, max_size=3),
    data=st.data(),
)
def test_what_is_remembered_of_a_smaller_network_changes_nothing(
    sizes: Levels, bounds: list[float], data: Any
) -> None:
    order = data.draw(st.permutations(list(sizes)))
    remembering = MaximalParentSets(sizes)
    for placed in range(len(order) + 1):
        for bound in bounds:
            assert remembering(order[:placed], bound) == MaximalParentSets(sizes)(
                order[:placed], bound
            )


def test_no_set_fits_below_one_cell_and_only_the_empty_one_below_two() -> None:
    sets = MaximalParentSets({"a": (2,), "b": (3,)})
    assert sets(["a", "b"], 0.99) == ()
    assert sets(["a", "b"], 1.99) == ((),)
    assert sets([], 5) == ((),)


def test_a_coarser_parent_stands_in_where_the_finer_does_not_fit() -> None:
    """Eight cells are left: age in full, or age in four with sex, but not age in two with sex
    alone.
    """
    found = MaximalParentSets({"age": (8, 4, 2), "sex": (2,)})(["age", "sex"], 8)
    assert set(found) == {marginal("age"), marginal(("age", 1), "sex")}


@settings(max_examples=60)
@given(
    sizes=sizes_by_level(3),
    bound=st.floats(1, 300),
    degree=st.integers(1, 5),
    coarse=st.integers(1, 5),
)
def test_all_parent_sets_leaves_none_out(
    sizes: Levels, bound: float, degree: int, coarse: int
) -> None:
    coarse = min(coarse, degree)
    growing = AllParentSets(sizes, bound, degree, coarse)
    found = []
    for newest in sizes:
        grown = growing.add_attribute(newest)
        assert all(Axis(newest, parents[-1].level) == parents[-1] for parents, _ in grown)
        assert all(
            cells == math.prod(sizes[a.attribute][a.level] for a in parents)
            for parents, cells in grown
        )
        found += [frozenset(parents) for parents, _ in grown]
    wanted = {
        axes
        for axes in every_set(sizes, bound)
        if axes and len(axes) <= (coarse if any(axis.level for axis in axes) else degree)
    }
    assert len(found) == len(set(found))
    assert set(found) == wanted


@pytest.mark.parametrize(
    ("attributes", "degree", "number"), [(5, 2, 10), (5, 0, 1), (2, 4, 1), (0, 3, 1)]
)
def test_subsets_are_all_sets_of_the_degree_or_the_whole_where_that_is_smaller(
    attributes: int, degree: int, number: int
) -> None:
    found = subsets([f"x{i}" for i in range(attributes)], degree)
    assert len(set(found)) == len(found) == number
    assert {len(parents) for parents in found} == {min(attributes, degree)}


def test_more_sets_than_can_be_enumerated_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parent_sets, "MAX_PARENT_SETS", 200)
    sizes = {f"x{i}": (2,) for i in range(12)}
    with pytest.raises(
        InputError, match=r"over 200 parent sets.*smaller degree, fewer columns or fewer bins"
    ):
        MaximalParentSets(sizes)(list(sizes), 2**6)
    growing = AllParentSets(sizes, 2**6, 6, 6)
    with pytest.raises(InputError, match="over 200 parent sets"):
        list(map(growing.add_attribute, sizes))


@settings(max_examples=40)
@given(sizes=sizes_by_level(2), bound=st.floats(4, 300), most=st.integers(0, 12))
def test_too_many_sets_are_foretold_only_where_it_is_true(
    sizes: Levels, bound: float, most: int
) -> None:
    if len(sizes) < 2:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parent_sets, "MAX_PARENT_SETS", most)
        foretold = surely_too_many(sizes, bound)
    if foretold:
        for last in sizes:
            others = {name: levels for name, levels in sizes.items() if name != last}
            assert max(len(maximal(others, bound / sizes[last][0])), 1) > most


def test_sixty_columns_of_two_values_and_ten_parents_are_foretold_at_once() -> None:
    assert surely_too_many({f"x{i}": (2,) for i in range(60)}, 2**11)
    assert not surely_too_many({f"x{i}": (2,) for i in range(60)}, 2**4)


def test_the_affordable_degree_is_the_last_before_there_are_too_many_families() -> None:
    sizes = {f"x{i}": (2,) for i in range(10)}
    for most in (40, 50, 130, 170, 400, 10_000):
        counts = [math.comb(10, members) for members in range(11)]
        found = affordable_degree(sizes, math.inf, most)
        assert sum(counts[1 : found + 2]) <= most or found == 1
        assert found == 9 or sum(counts[1 : found + 3]) > most
