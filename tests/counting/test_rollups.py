"""Rolled-up rows, weights and plans: the same tables from fewer rows, and few passes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy import InputError
from understudy.counting import rollups
from understudy.counting.memory import MemoryCounter
from understudy.counting.planning import SETS_AT_A_TIME, groups, plan_groupings
from understudy.counting.rollups import RollUps, Room
from understudy.data.marginals import marginal

pytestmark = pytest.mark.usefixtures("compiled_kernels")

SIZES = {"a": 3, "b": 5, "c": 2, "d": 7, "e": 4, "f": 300}
HALVES = {name: [np.arange(size) // 2] for name, size in SIZES.items() if size > 2}


def rows(count: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 2, count)
    return {
        name: ((base + rng.integers(0, size, count) * (rng.random(count) < 0.5)) % size).astype(
            np.uint8 if size <= 256 else np.uint16
        )
        for name, size in SIZES.items()
    }


def every_marginal() -> list[Any]:
    names = [(name, level) for name in SIZES for level in ((0, 1) if name in HALVES else (0,))]
    pairs = itertools.chain.from_iterable(itertools.combinations(names, k) for k in range(5))
    return [marginal(*parts) for parts in pairs if len({name for name, _ in parts}) == len(parts)]


def test_weights_count_as_so_many_rows() -> None:
    codes = rows(200)
    weights = np.random.default_rng(1).integers(0, 5, 200)
    weighted = MemoryCounter(codes, HALVES, SIZES, weights=weights)
    repeated = MemoryCounter(
        {n: np.repeat(c, weights) for n, c in codes.items()}, HALVES, SIZES, collapse=False
    )
    asked = every_marginal()
    assert weighted.rows == repeated.rows == weights.sum()
    np.testing.assert_array_equal(weighted.count_flat(asked)[0], repeated.count_flat(asked)[0])


def test_weights_that_make_no_sense_are_refused() -> None:
    codes = {"a": np.zeros(2, np.uint8)}
    for weights in (
        np.ones(3, np.int64),
        np.array([1.0, 2.0]),
        np.array([-1, 2]),
        np.array([2**31, 1]),
    ):
        with pytest.raises(InputError, match=r"[Ww]eight"):
            MemoryCounter(codes, {}, {"a": 1}, weights=weights)


def test_rolled_up_rows_are_the_distinct_ones_of_fewer_attributes() -> None:
    codes = rows(3000)
    counter = MemoryCounter(codes, HALVES, SIZES, collapse=True)
    fewer = counter.roll_up({"a", "c", "f"})
    assert fewer is not None
    assert fewer.attributes == ("a", "c", "f")
    assert fewer.rows == 3000
    assert fewer.distinct_rows == len(set(zip(codes["a"], codes["c"], codes["f"], strict=True)))
    asked = [marginal("a", ("f", 1)), marginal("c"), marginal("f", "a", "c")]
    np.testing.assert_array_equal(fewer.count_flat(asked)[0], counter.count_flat(asked)[0])
    assert fewer.nbytes == fewer.distinct_rows * (1 + 1 + 2 + 4)
    assert counter.roll_up({"a", "c", "f"}, fewer.nbytes) is not None
    assert counter.roll_up({"a", "c", "f"}, fewer.nbytes - 1) is None


def test_the_order_begins_with_what_tells_most_rows_apart() -> None:
    """Rows that are all there twice but for one attribute: without it, pairs become one."""
    rng = np.random.default_rng(2)
    codes = {name: np.repeat(rng.integers(0, 256, 40_000).astype(np.uint8), 2) for name in "pqr"}
    codes["apart"] = np.tile(np.array([0, 1], np.uint8), 40_000)
    counter = MemoryCounter(codes, {}, {"p": 256, "q": 256, "r": 256, "apart": 2}, collapse=True)
    assert counter.joining_order()[0] == "apart"


@given(st.integers(1, 4), st.integers(0, 3))
def test_tables_are_the_same_however_much_is_rolled_up(price: int, seed: int) -> None:
    codes = rows(4000, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollups, "MIN_ROLLUP_ROWS", 10)
        patch.setattr(rollups, "ROLL_UP_PRICE", price)
        plain = MemoryCounter(codes, HALVES, SIZES, collapse=True)
        rolled = RollUps(plain)
        asked = every_marginal()[::7]
        for some in (asked[:40], asked[40:], asked):
            flat, offsets = rolled.count_flat(some)
            np.testing.assert_array_equal(flat, plain.count_flat(some)[0])
            np.testing.assert_array_equal(offsets, plain.count_flat(some)[1])
        assert [table.shape for table in rolled.count(asked[:9])] == [
            table.shape for table in plain.count(asked[:9])
        ]
        assert rolled._root.above, "nothing was rolled up"


@given(st.integers(0, 100_000))
def test_rolled_up_rows_never_take_more_room_than_there_is(bytes_left: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollups, "MIN_ROLLUP_ROWS", 10)
        patch.setattr(rollups, "ROLL_UP_PRICE", 1)
        plain = MemoryCounter(rows(4000), HALVES, SIZES, collapse=True)
        room = Room(plain.nbytes + bytes_left)
        rolled = RollUps(plain, room)
        asked = every_marginal()[::7]
        np.testing.assert_array_equal(rolled.count_flat(asked)[0], plain.count_flat(asked)[0])
        assert 0 <= room.left <= bytes_left
        rolled.leave()
        assert room.left == plain.nbytes + bytes_left


def test_a_few_questions_roll_nothing_up() -> None:
    counter = MemoryCounter(rows(300_000), HALVES, SIZES, collapse=True)
    rolled = RollUps(counter)
    rolled.count([marginal(name) for name in SIZES])
    assert rolled._root.above == {}


# --------------------------------------------------------------------------- plans


def test_several_groupings_share_a_query_where_they_fit() -> None:
    sizes = dict.fromkeys("abcd", 10)
    plan = plan_groupings(
        {frozenset(pair) for pair in ("ab", "bc", "cd")}, sizes, distinct=10**9, most=250
    )
    assert [len(query) for query in plan.queries] == [2, 1]


def test_everything_is_asked_for_at_once_where_it_fits() -> None:
    plan = plan_groupings({frozenset("ab"), frozenset("c")}, SIZES, distinct=1000, most=1000)
    assert plan.queries == ((frozenset(SIZES),),)


@given(
    st.sets(st.frozensets(st.sampled_from(sorted(SIZES)), min_size=1, max_size=3), min_size=1),
    st.integers(1, 3000),
)
def test_a_plan_holds_all_that_is_wanted_within_the_limit(
    wanted: set[frozenset[str]], most: int
) -> None:
    plan = plan_groupings(wanted, SIZES, distinct=10**9, most=most)
    sets = [attributes for query in plan.queries for attributes in query]
    for need in wanted:
        assert any(need <= attributes for attributes in sets)
    for attributes in sets:
        assert groups(attributes, SIZES, 10**9) <= most or attributes in wanted
    for query in plan.queries:
        assert len(query) <= SETS_AT_A_TIME
        assert (
            len(query) == 1 or sum(groups(attributes, SIZES, 10**9) for attributes in query) <= most
        )


def test_pairs_share_groupings() -> None:
    sizes = {f"x{i}": 4 for i in range(12)}
    pairs = {frozenset(pair) for pair in itertools.combinations(sizes, 2)}
    plan = plan_groupings(pairs, sizes, distinct=10**9, most=4**6)
    assert sum(len(query) for query in plan.queries) < len(pairs) / 4
