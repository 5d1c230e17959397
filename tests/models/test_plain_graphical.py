"""Plain steps of graphical models give what the kernels give, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.machine import plain_first
from understudy.models.graphical import kernels, plain
from understudy.models.graphical.fitting import Fit


@settings(max_examples=200)
@given(st.integers(1, 20), st.integers(0, 1 << 32), st.sampled_from([0.0, 0.1, 0.3, 0.7]))
def test_elimination_is_the_same(attributes: int, seed: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    adjacent = np.triu(rng.random((attributes, attributes)) < density, 1)
    adjacent |= adjacent.T
    logs = np.log(rng.integers(1, 40, attributes).astype(np.float64))
    cells, members = plain.eliminate(adjacent, logs)
    compiled_cells, compiled_members = kernels.eliminate(adjacent, logs)
    assert cells == compiled_cells
    assert np.array_equal(members, compiled_members)

    lengths = rng.integers(0, min(attributes, 3) + 1, 5)
    places = np.concatenate(
        [rng.choice(attributes, length, replace=False) for length in lengths]
    ).astype(np.int64)
    starts = np.cumsum([0, *lengths])
    plainly, compiled = np.empty(5), np.empty(5)
    plain.cells_with(adjacent, logs, places, starts, plainly)
    kernels.cells_with(adjacent, logs, places, starts, compiled)
    assert plainly.tolist() == compiled.tolist()


@given(st.integers(0, 1 << 32), st.sampled_from([1, 17, 5000]), st.sampled_from([1, 3, 40]))
def test_sums_and_scaling_are_the_same(seed: int, cells: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.random(cells) * 10.0 ** rng.integers(-12, 12, cells)
    index = rng.integers(0, size, cells).astype(np.int32)
    assert np.array_equal(
        plain.summed(table, index, size), kernels.sum_by_place(table, index, size), equal_nan=True
    )
    plainly, compiled, ratio = table.copy(), table.copy(), rng.random(size)
    plain.scaled(plainly, index, ratio)
    kernels.scale_by_place(compiled, index, ratio)
    assert np.array_equal(plainly, compiled)


@given(st.integers(0, 1 << 32))
@settings(max_examples=10)
def test_a_whole_fit_is_the_same(seed: int) -> None:
    sizes = dict(zip("abcde", (2, 3, 4, 2, 5), strict=True))
    groups = [("a", "b"), ("b", "c", "d"), ("d", "e"), ("a", "e")]
    fits = []
    for worth in (np.inf, 0.0):
        rng = np.random.default_rng(seed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plain_first, "WORTH_SECONDS", worth)
            fit = Fit(sizes)
            fit.add(groups)
            shares = {
                group: rng.dirichlet(np.ones(np.prod([sizes[name] for name in group])))
                for group in fit.groups
            }
            targets = {
                group: share.reshape([sizes[name] for name in group])
                for group, share in shares.items()
            }
            fit.sweep(targets, dict.fromkeys(targets, 1e-3), 3)
        fits.append(fit)
    for plainly, compiled in zip(fits[0].tables, fits[1].tables, strict=True):
        assert np.array_equal(plainly, compiled)
