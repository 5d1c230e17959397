"""Plain scores and plain searches among probabilities give what the kernels give, to the bit."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.machine import plain_first
from understudy.privacy import exact_noise, noise_kernels, plain_scores, score_kernels


@st.composite
def many_tables(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    most = draw(st.sampled_from([2, 50, 100_000]))
    empty = draw(st.sampled_from([0.0, 0.5, 0.99]))
    tables, children = [], []
    for _ in range(draw(st.integers(1, 4))):
        shape = draw(st.sampled_from([1, 2, 3, 40])), draw(st.sampled_from([1, 2, 7, 300]))
        table = rng.integers(0, most, shape)
        table[rng.random(shape) < empty] = 0
        tables.append(table.ravel())
        children.append(shape[0])
    offsets = np.cumsum([0, *map(len, tables)])
    return np.concatenate(tables), offsets, np.array(children)


@given(many_tables())
def test_scores_are_the_same(tables: tuple[Any, Any, Any]) -> None:
    flat, offsets, children = tables
    rows = max(int(flat[: offsets[1]].sum()), 1)
    for name in ("dependence_masses", "information_bits"):
        plainly = getattr(plain_scores, name)(flat, offsets, children, rows)
        compiled = getattr(score_kernels, name)(flat, offsets, children, rows)
        assert plainly.dtype == compiled.dtype
        assert plainly.tolist() == compiled.tolist(), name


@given(st.integers(0, 1 << 32), st.sampled_from([1, 2, 255]), st.sampled_from([4, 1 << 32]))
def test_searches_are_the_same(seed: int, length: int, values: int) -> None:
    """Also among words of which most tie."""
    rng = np.random.default_rng(seed)
    firsts = np.sort(rng.integers(0, values, length, dtype=np.uint32))
    words = rng.integers(0, values, 500, dtype=np.uint32)
    beginnings = np.arange(1 << exact_noise.GUIDE, dtype=np.uint32)
    beginnings <<= np.uint32(exact_noise.WORD - exact_noise.GUIDE)
    guide = np.searchsorted(firsts, beginnings).astype(np.uint8)
    plainly, compiled = (np.empty(len(words), np.int64) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_first, "WORTH_SECONDS", np.inf)
        ties = exact_noise.search(words, firsts, guide, plainly)
    assert ties == noise_kernels.search(words, firsts, guide, compiled)
    assert plainly.tolist() == compiled.tolist()


@pytest.mark.parametrize("draw", [exact_noise.laplace, exact_noise.gaussian])
def test_the_same_words_make_the_same_noise(draw: Any) -> None:
    drawn = []
    for worth in (np.inf, 0.0):
        rng = np.random.default_rng(7)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plain_first, "WORTH_SECONDS", worth)
            words = functools.partial(rng.integers, 0, 1 << 32, dtype=np.uint32)
            drawn.append(draw(5000, 1234.5, _words=words))
    assert drawn[0].tolist() == drawn[1].tolist()
