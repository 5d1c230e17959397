"""Plain sampling draws the rows that the kernels draw, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.data import stream_kernels, streams
from understudy.models import plain_sampling, sampling_kernels
from understudy.models.sampling import _cumulative

KEYS = st.integers(0, (1 << 64) - 1).map(np.uint64)


@given(KEYS, st.sampled_from([0, 1, 2, 1000, (1 << 14) + 1]))
def test_streams_are_the_same(key: np.uint64, count: int) -> None:
    compiled = np.empty(count)
    stream_kernels.fill_uniform(key, compiled)
    assert np.array_equal(streams.stream_numbers(key, count), compiled)


@st.composite
def draws(draw: st.DrawFn) -> tuple[Any, Any]:
    """Configurations of some rows, and distributions in which many values are impossible or all but
    so.
    """
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    rows = draw(st.sampled_from([0, 1, 2, 3, 50, 3000]))
    groups, size = draw(st.sampled_from([1, 2, 9, 200])), draw(st.sampled_from([1, 2, 5, 33, 300]))
    counts = rng.random((groups, size)) ** draw(st.sampled_from([1, 20, 200]))
    counts[rng.random(counts.shape) < 0.4] = 0
    counts[np.arange(groups), rng.integers(0, size, groups)] = 1
    places = (groups * rng.random(rows) ** 3).astype(np.int32)
    return places, _cumulative(counts)


@settings(max_examples=300)
@given(draws(), KEYS)
def test_rows_are_spread_alike(drawn: tuple[Any, Any], key: np.uint64) -> None:
    places, cumulative = drawn
    plainly, compiled = (np.empty(len(places), np.uint16) for _ in range(2))
    plain_sampling.spread_evenly(places, cumulative, key, plainly)
    sampling_kernels.spread_evenly(places, cumulative, key, compiled)
    assert np.array_equal(plainly, compiled)


@settings(max_examples=300)
@given(draws(), KEYS)
def test_rows_are_inverted_alike(drawn: tuple[Any, Any], key: np.uint64) -> None:
    places, cumulative = drawn
    uniforms = streams.stream_numbers(key, len(places))
    # Numbers that are bounds themselves, too.
    bounds = cumulative[places, 0]
    uniforms = np.where((bounds < 1) & (uniforms < 0.3), bounds, uniforms)
    plainly, compiled = (np.empty(len(places), np.uint16) for _ in range(2))
    plain_sampling.invert(places, cumulative, uniforms, plainly)
    sampling_kernels.invert(places, cumulative, uniforms, compiled)
    assert np.array_equal(plainly, compiled)


def test_places_are_added_alike() -> None:
    column = np.array([3, 0, 1, 1], np.uint8)
    lookup = np.array([5, 7, 11, 13], np.int32)
    plainly, compiled = np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int32)
    plain_sampling.add_places(column, lookup, plainly)
    sampling_kernels.add_places(column, lookup, compiled)
    assert plainly.tolist() == compiled.tolist() == [13, 6, 9, 10]
