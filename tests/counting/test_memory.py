"""Every way of counting gives the same tables as a slow, obvious one."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.counting import Counter, kernels, memory
from understudy.counting.memory import MemoryCounter
from understudy.data.marginals import Axis, Marginal, marginal
from understudy.errors import InputError

pytestmark = pytest.mark.usefixtures("compiled_kernels")


class Table:
    """Random columns, with what a counter needs to know of them."""

    def __init__(
        self, sizes: list[int], rows: int, *, levels: int = 0, seed: int = 0, skew: float = 2.0
    ) -> None:
        rng = np.random.default_rng(seed)
        names = [f"a{i}" for i in range(len(sizes))]
        self.rows = rows
        self.sizes = dict(zip(names, sizes, strict=True))
        self.codes: dict[str, Any] = {}
        self.generalisations: dict[str, list[Any]] = {}
        for name, size in self.sizes.items():
            dtype = np.min_scalar_type(size - 1)
            self.codes[name] = (size * rng.random(rows) ** skew).astype(dtype)
            self.generalisations[name] = []
            for level in range(1, levels + 1):
                coarse = max(1, size >> level)
                mapping = rng.integers(0, coarse, size)
                mapping[rng.integers(size)] = coarse - 1
                self.generalisations[name].append(mapping)

    def counter(self, **options: Any) -> MemoryCounter:
        return MemoryCounter(self.codes, self.generalisations, self.sizes, **options)

    def reference(self, axes: Marginal) -> Any:
        columns = []
        shape = []
        for name, level in axes:
            mapping = (
                self.generalisations[name][level - 1] if level else np.arange(self.sizes[name])
            )
            columns.append(mapping[self.codes[name]])
            shape.append(int(mapping.max()) + 1)
        counts = np.zeros(shape, np.int64)
        np.add.at(counts, tuple(columns), 1 if columns else self.rows)
        return counts

    def marginals(self, arity: int) -> list[Marginal]:
        levels = {name: range(len(maps) + 1) for name, maps in self.generalisations.items()}
        return [
            tuple(map(Axis, names, chosen))
            for names in itertools.combinations(self.sizes, arity)
            for chosen in itertools.product(*(levels[name] for name in names))
        ]


def check(table: Table, marginals: list[Marginal], **options: Any) -> MemoryCounter:
    counter = table.counter(**options)
    counted = counter.count(marginals)
    assert len(counted) == len(marginals)
    for axes, counts in zip(marginals, counted, strict=True):
        expected = table.reference(axes)
        assert counts.dtype == np.int64
        assert counts.shape == expected.shape
        np.testing.assert_array_equal(counts, expected, err_msg=str(axes))
    return counter


# One test per path


@pytest.mark.parametrize("size", [256, 257, 65_536, 65_537])
def test_codes_of_every_width_are_counted_up_to_their_last_value(size: int) -> None:
    table = Table([size, 2, 3], 500)
    table.codes["a0"][:2] = 0, size - 1
    asked = [marginal("a0"), marginal("a1", "a0"), marginal("a2", "a1")]
    for found, axes in zip(table.counter().count(asked), asked, strict=True):
        np.testing.assert_array_equal(found, table.reference(axes))


def test_narrow_columns() -> None:
    table = Table([2, 3, 5, 8, 12, 40], 3000, levels=2)
    check(table, table.marginals(2) + table.marginals(3), collapse=False, pack=False)


def test_wide_columns() -> None:
    table = Table([2, 300, 70_000, 5, 1000], 4000, levels=1)
    marginals = [
        axes
        for axes in table.marginals(2)
        if np.prod([table.sizes[a.attribute] for a in axes]) < 1e7
    ]
    check(table, [*table.marginals(1), *marginals], collapse=False, pack=False)


def test_collapsed_rows() -> None:
    table = Table([2, 3, 2, 4, 300], 5000, levels=1, skew=20.0)
    counter = check(table, table.marginals(2) + table.marginals(3), collapse=True, pack=False)
    distinct = len(np.unique(np.stack(list(table.codes.values())), axis=1).T)
    assert counter.distinct_rows == distinct < 2500


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 2000])
def test_packed_bits(rows: int) -> None:
    table = Table([2, 2, 1, 2, 2, 2, 2], rows)
    marginals = [axes for arity in range(7) for axes in table.marginals(arity)]
    counter = check(table, marginals, collapse=False, pack=True)
    assert counter._packed.words.shape == (6, -(-rows // 64))


def test_packed_and_other_marginals_in_one_call() -> None:
    table = Table([2, 2, 7, 2, 300], 1000, levels=1)
    check(table, table.marginals(2) + table.marginals(3), collapse=True, pack=True)


# How the work is planned


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_many_tables_are_merged_and_shared_between_threads(threads: int) -> None:
    table = Table([2, 3, 4, 5, 6, 7, 8, 9], 30_000)
    check(table, table.marginals(3), collapse=False, pack=False, threads=threads)


@pytest.mark.parametrize("threads", [2, 5])
def test_rows_are_shared_between_threads_when_tables_are_few(threads: int) -> None:
    table = Table([2, 3, 400, 300], 300_000)
    check(
        table,
        [marginal("a0", "a1"), marginal("a2", "a3")],
        collapse=False,
        pack=False,
        threads=threads,
    )


def test_merging_counts_far_fewer_tables() -> None:
    table = Table([4] * 10, 100_000)
    counter = table.counter(collapse=False)
    seen: list[int] = []
    merge = counter._merge

    def spy(masks: Any, cells: Any) -> Any:
        owner, tables = merge(masks, cells)
        seen.append(len(np.unique(owner)))
        return owner, tables

    counter._merge = spy  # type: ignore[method-assign]
    counter.count(table.marginals(3))
    assert seen[0] < len(table.marginals(3)) / 5


def test_coarser_levels_are_summed_from_finer_ones() -> None:
    table = Table([8, 8, 8], 100_000, levels=3)
    counter = table.counter(collapse=False)
    asked: list[int] = []
    stretches = counter._stretches

    def spy(axes: Any) -> Any:
        asked.extend(axes.tolist())
        return stretches(axes)

    counter._stretches = spy  # type: ignore[method-assign]
    counter.count(table.marginals(2))
    assert asked == [
        counter._numbers[name, 0] for name in table.sizes
    ]  # no generalised column was needed


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("stretch", [700, 1000, 3000])
def test_generalised_columns_are_made_for_a_stretch_of_rows_at_a_time(
    threads: int, stretch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for tables that are counted alone, straight into their place."""
    monkeypatch.setattr(memory, "GENERALISED_STRETCH", stretch)
    monkeypatch.setattr(memory, "_THREAD_WORK", 1)
    table = Table([8, 40, 300, 70_000, 90], 3000, levels=2)
    marginals = [axes for axes in table.marginals(2) if any(axis.level for axis in axes)]
    marginals = [
        axes for axes in marginals if np.prod([table.sizes[a.attribute] for a in axes]) < 1e6
    ]
    check(table, marginals, collapse=False, pack=False, threads=threads)
    check(table, [marginal(("a2", 1), ("a1", 1), ("a4", 1))], collapse=True, threads=threads)


def test_more_than_64_axes() -> None:
    table = Table([2 + i % 4 for i in range(70)], 2000, levels=1)
    marginals = table.marginals(2)
    chosen = np.random.default_rng(1).choice(len(marginals), 400, replace=False)
    check(table, [marginals[i] for i in chosen], pack=False)


@pytest.mark.parametrize(
    ("sizes", "skew", "collapses"),
    [
        ([2] * 10, 1.0, True),
        ([2] * 30, 1.0, False),
        ([9] * 40, 500.0, True),
        ([1000, 1000], 1.0, False),
    ],
)
def test_rows_collapse_where_it_pays(sizes: list[int], skew: float, collapses: bool) -> None:
    counter = Table(sizes, 50_000, skew=skew).counter()
    assert (counter.distinct_rows is not None) is collapses


def test_equal_rows_are_told_apart_past_64_bits() -> None:
    # Two rows that differ in one column only, wherever that column stands.
    names = [f"a{i}" for i in range(40)]
    for odd in (0, 15, 39):
        codes = {name: np.zeros(10, np.uint8) for name in names}
        codes[names[odd]][3] = 199
        counter = MemoryCounter(codes, {}, dict.fromkeys(names, 200), collapse=True)
        assert counter.distinct_rows == 2
        assert counter.count([(Axis(names[odd]),)])[0][[0, 199]].tolist() == [9, 1]


# Any shape at all


@st.composite
def cases(draw: st.DrawFn) -> tuple[Table, list[Marginal], dict[str, Any]]:
    sizes = draw(
        st.lists(st.sampled_from([1, 2, 2, 3, 5, 17, 256, 257, 400]), min_size=1, max_size=6)
    )
    table = Table(
        sizes,
        draw(st.sampled_from([0, 1, 5, 100, 2500])),
        levels=draw(st.integers(0, 3)),
        seed=draw(st.integers(0, 99)),
        skew=draw(st.sampled_from([1.0, 4.0, 50.0])),
    )
    marginals = []
    for _ in range(draw(st.integers(0, 12))):
        names = draw(st.lists(st.sampled_from(list(sizes_of(table))), unique=True, max_size=3))
        axes = tuple(
            Axis(name, draw(st.integers(0, len(table.generalisations[name])))) for name in names
        )
        marginals.append(axes)
    flags = st.sampled_from([None, True, False])
    options = {
        "collapse": draw(flags),
        "pack": draw(flags),
        "threads": draw(st.sampled_from([1, 2])),
    }
    return table, marginals, options


def sizes_of(table: Table) -> dict[str, int]:
    """Attributes small enough that three of them do not make a slow test."""
    return {name: size for name, size in table.sizes.items() if size < 300} or table.sizes


@settings(max_examples=150, deadline=None)
@given(cases())
def test_any_table_is_counted_like_the_reference(
    case: tuple[Table, list[Marginal], dict[str, Any]],
) -> None:
    table, marginals, options = case
    marginals = [
        axes for axes in marginals if np.prod([table.sizes[a.attribute] for a in axes]) <= 200_000
    ]
    check(table, marginals + marginals[:2], **options)


# Corners


def test_the_empty_marginal_counts_the_rows() -> None:
    table = Table([3, 2], 17)
    (counts,) = table.counter().count([()])
    assert counts.shape == ()
    assert counts == 17
    assert table.counter().rows == 17


def test_no_rows() -> None:
    table = Table([3, 2, 300], 0, levels=1)
    check(table, [(), *table.marginals(2)])


def test_no_marginals_and_no_columns() -> None:
    assert Table([3], 5).counter().count([]) == []
    (counts,) = MemoryCounter({}, {}, {}).count([()])
    assert counts == 0


def test_order_of_axes_is_kept() -> None:
    table = Table([3, 4, 5], 1000)
    orders = [tuple(map(Axis, names)) for names in itertools.permutations(table.sizes)]
    check(table, orders + orders)


def test_flat_counts_lie_one_after_the_other() -> None:
    table = Table([3, 4, 1], 100)
    marginals = [marginal("a0", "a1"), (), marginal("a2"), marginal("a1")]
    flat, offsets = table.counter().count_flat(marginals)
    assert offsets.tolist() == [0, 12, 13, 14, 18]
    np.testing.assert_array_equal(
        flat, np.concatenate([table.reference(m).ravel() for m in marginals])
    )


def test_sizes_at_levels() -> None:
    counter: Counter = MemoryCounter(
        {"a": np.zeros(2, np.uint8)}, {"a": [np.array([0, 1, 1]), np.array([0, 0, 0])]}, {"a": 3}
    )
    assert [counter.size(Axis("a", level)) for level in range(3)] == [3, 2, 1]


def test_several_threads_may_use_one_counter() -> None:
    table = Table([2, 3, 2, 7, 2, 300], 3000, levels=2)
    marginals = table.marginals(2)
    counter = table.counter(collapse=False)
    expected = [table.reference(axes) for axes in marginals]
    with ThreadPoolExecutor(4) as pool:
        for counted in pool.map(lambda _: counter.count(marginals), range(8)):
            assert all(map(np.array_equal, counted, expected))


# Refusals


def test_unknown_attributes_and_levels_are_named() -> None:
    counter = Table([3, 2], 5, levels=1).counter()
    with pytest.raises(InputError, match="no attribute 'height'"):
        counter.count([marginal("a0"), marginal("a1", "height")])
    with pytest.raises(InputError, match="'a0' has levels 0 to 1, not 2"):
        counter.count([marginal(("a0", 2))])
    with pytest.raises(InputError, match="'a0' has levels 0 to 1, not -1"):
        counter.size(Axis("a0", -1))


def test_an_attribute_twice_is_refused() -> None:
    counter = Table([3, 2], 5, levels=1).counter()
    with pytest.raises(InputError, match="a0 x a1 x a0\\^1 has an attribute twice"):
        counter.count([marginal("a0", "a1", ("a0", 1))])


def test_a_huge_table_is_refused_with_its_size() -> None:
    counter = Table([70_000, 70_000, 2], 5).counter()
    with pytest.raises(InputError, match="a0 x a2 x a1 would have 9,800,000,000 cells"):
        counter.count([marginal("a2"), marginal("a0", "a2", "a1")])
    names = [f"b{i}" for i in range(300)]
    many = MemoryCounter({n: np.zeros(1, np.uint8) for n in names}, {}, dict.fromkeys(names, 256))
    with pytest.raises(InputError, match="cells"):  # a product far beyond 64 bits
        many.count([marginal(*names)])


def test_columns_that_do_not_fit_are_refused() -> None:
    ok = np.zeros(3, np.uint8)
    with pytest.raises(InputError, match="'b' is in only one"):
        MemoryCounter({"a": ok, "b": ok}, {}, {"a": 1})
    with pytest.raises(InputError, match="'b' has another number of rows"):
        MemoryCounter({"a": ok, "b": ok[:2]}, {}, {"a": 1, "b": 1})
    with pytest.raises(InputError, match="'a' has codes outside its domain of size 2"):
        MemoryCounter({"a": np.array([0, 2], np.uint8)}, {}, {"a": 2})
    with pytest.raises(InputError, match="'a' is not a one-dimensional array of unsigned codes"):
        MemoryCounter({"a": np.zeros(3, np.int64)}, {}, {"a": 2})
    with pytest.raises(InputError, match="domain of size 0"):
        MemoryCounter({"a": ok}, {}, {"a": 0})
    with pytest.raises(InputError, match="Level 1 of attribute 'a'"):
        MemoryCounter({"a": ok}, {"a": [np.array([0, 1])]}, {"a": 3})
    with pytest.raises(InputError, match="'b', which is not a column"):
        MemoryCounter({"a": ok}, {"b": [np.array([0])]}, {"a": 3})


def test_popcount() -> None:
    words = np.array([0, 1, 2**64 - 1, 2**63, 0x0123456789ABCDEF], np.uint64)
    assert [int(kernels.count_ones(word)) for word in words] == [
        int(word).bit_count() for word in words
    ]


# More distinct rows than a block


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "sizes", [[60, 40, 30], [300, 20, 40], [70_000, 3, 2]], ids=["narrow", "middle", "wide"]
)
def test_every_distinct_row_has_its_own_weight_beyond_the_first_block(
    sizes: list[int], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are counted a block at a time: the weights must come from the same block."""
    monkeypatch.setattr(memory, "GENERALISED_STRETCH", 10_000)  # the same for generalised columns
    table = Table(sizes, 150_000, levels=1, seed=3)
    marginals = [m for arity in (1, 2, 3) for m in table.marginals(arity)]
    counter = check(table, marginals, collapse=True, pack=False, threads=threads)
    assert counter.distinct_rows is not None
    assert counter.distinct_rows > 2 * kernels.BLOCK
    # Collapsed a second time, as rows without some attributes are.
    for names in (("a0", "a1"), ("a0", "a2")):
        fewer = counter.roll_up(names)
        assert fewer is not None
        for axes, counts in zip([marginal(*names)], fewer.count([marginal(*names)]), strict=True):
            np.testing.assert_array_equal(counts, table.reference(axes))
