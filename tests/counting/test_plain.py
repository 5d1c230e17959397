"""Plain counting gives what the kernels give, number for number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.counting import distinct_kernels, kernels, layout, plain
from understudy.counting.memory import MAX_COUNTED_CELLS, MemoryCounter
from understudy.data.marginals import Axis
from understudy.errors import InputError
from understudy.machine import plain_first

NAMES = "abcd"


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], dict[str, int], Any]:
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    rows = draw(st.sampled_from([0, 1, 2, 63, 400]))
    sizes = {name: draw(st.sampled_from([1, 2, 3, 40, 257, 70_000])) for name in NAMES}
    codes = {
        name: (size * rng.random(rows) ** 3).astype(np.min_scalar_type(size - 1))
        for name, size in sizes.items()
    }
    levels = {name: [np.arange(size) // 2] for name, size in sizes.items() if size > 2}
    weights = None
    if draw(st.booleans()):
        weights = rng.integers(0, 9, rows)
    return codes, levels, sizes, weights


@given(tables(), st.data())
def test_any_tables_are_counted_alike(table: Any, data: st.DataObject) -> None:
    codes, levels, sizes, weights = table
    asked = []
    for _ in range(data.draw(st.integers(1, 5))):
        names = data.draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
        axes = tuple(
            Axis(name, data.draw(st.integers(0, len(levels.get(name, ()))))) for name in names
        )
        if np.prod([sizes[name] for name in names], dtype=float) < 1e6:
            asked.append(axes)
    found = []
    for worth in (np.inf, 0.0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plain_first, "WORTH_SECONDS", worth)
            counter = MemoryCounter(codes, levels, sizes, weights=weights)
            found.append((counter.distinct_rows, *counter.count_flat(asked)))
    assert found[0][0] == found[1][0]
    for plainly, compiled in zip(found[0][1:], found[1][1:], strict=True):
        assert plainly.dtype == compiled.dtype
        assert plainly.tolist() == compiled.tolist()


@given(st.lists(st.integers(0, 12)), st.integers(0, 14), st.booleans())
def test_distinct_keys_get_the_same_numbers(keys: list[int], limit: int, weighted: bool) -> None:
    words = np.array(keys, np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    weights = np.arange(len(keys) if weighted else 0, dtype=np.uint32)
    outcomes = []
    for steps in (plain, distinct_kernels):
        ids, examples = np.empty(len(keys), np.uint32), np.zeros(limit, np.uint32)
        found = steps.number_distinct(words, limit, ids, examples)
        if found < 0:
            outcomes.append([found])
            continue
        totals = np.empty(found, np.uint32)
        steps.sum_weights(ids, weights, totals)
        outcomes.append([found, ids.tolist(), examples[:found].tolist(), totals.tolist()])
    assert outcomes[0] == outcomes[1]


@given(
    st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=6), st.sampled_from([7, 100, 4000])
)
def test_sizes_and_refusals_are_the_same(marginals: list[list[int]], limit: int) -> None:
    sizes, base = np.array([1, 2, 30, 15, 9, 50]), np.array([0, 1, 2, 2, 4, 5])
    starts = np.cumsum([0, *map(len, marginals)])
    axes = np.array([axis for axes in marginals for axis in axes], np.int64)
    compiled = np.empty(len(marginals), np.int64)
    masks = np.zeros((len(marginals), 1), np.uint64)
    known = layout.Axes(sizes, base, np.empty(0, np.uint32), np.zeros(6, np.int64))
    kernels.outline(axes, starts, known, limit, compiled, masks)
    assert plain.outline(starts, axes, sizes, base, limit).tolist() == compiled.tolist()


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_counted_stretch_by_stretch(
    monkeypatch: pytest.MonkeyPatch, weighted: bool
) -> None:
    monkeypatch.setattr(plain, "STRETCH", 7)
    codes = np.random.default_rng(0).integers(0, 5, 100).astype(np.uint8)
    weights = np.arange(100) if weighted else None
    monkeypatch.setattr(plain_first, "WORTH_SECONDS", np.inf)
    counter = MemoryCounter({"a": codes}, {}, {"a": 5}, collapse=False, weights=weights)
    [counted] = counter.count([(Axis("a"),)])
    assert counted.tolist() == np.bincount(codes, weights, minlength=5).tolist()


def test_a_table_that_is_too_large_is_refused_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plain_first, "WORTH_SECONDS", np.inf)
    codes = {name: np.zeros(1, np.uint16) for name in "ab"}
    counter = MemoryCounter(codes, {}, dict.fromkeys("ab", 60_000))
    with pytest.raises(InputError, match=f"more than the {MAX_COUNTED_CELLS:,}"):
        counter.count([(Axis("a"), Axis("b"))])
