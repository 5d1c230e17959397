"""Random numbers that rows share out: alike from kernels and plain code, one in each interval."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.data import stream_kernels
from understudy.data.inside import Inside
from understudy.data.schema import Quantity, Schema
from understudy.data.streams import share_out_uniforms, stream_evenly


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("rows", "groups"), [(0, 3), (1, 1), (50, 80), (3000, 7)])
def test_kernels_and_plain_code_agree_to_the_bit(seed: int, rows: int, groups: int) -> None:
    codes = np.random.default_rng(seed).integers(0, groups, rows).astype(np.uint8)
    key, sizes = np.uint64(977 * seed + 5), np.bincount(codes, minlength=groups)
    compiled = np.empty(rows)
    stream_kernels.fill_evenly(key, codes, sizes, compiled)
    assert (compiled == stream_evenly(key, codes, sizes)).all()


def test_a_group_has_one_number_in_each_interval() -> None:
    codes = np.repeat([0, 2, 5], [1, 64, 1000])
    numbers = share_out_uniforms(np.random.default_rng(3), codes, 7)
    for group in (0, 2, 5):
        inside = numbers[codes == group]
        # Of powers of two and their sums; a number on a bound may be rounded over it elsewhere.
        places = np.sort(np.floor(inside * len(inside) + 1e-9))
        assert np.abs(places - np.arange(len(inside))).max() <= 1
        assert (inside >= 0).all()
        assert (inside < 1).all()
    # In random order: the chance that 1,000 stand in order, or nearly, is nil.
    assert abs(np.corrcoef(np.arange(1000), numbers[-1000:])[0, 1]) < 0.3


def test_rows_of_a_bin_share_out_its_segments() -> None:
    """Without this, a segment of weight w gets a number of rows that varies by the root of it."""
    attribute = Schema.from_dict(
        {"attributes": {"x": {"kind": "integer", "min": 0, "max": 99, "bins": 2}}}
    )["x"]
    assert isinstance(attribute, Quantity)
    codes = np.repeat([0, 1], [5000, 500])
    values = Inside(attribute).draw(codes, np.random.default_rng(1), even=True)
    found = np.bincount(values, minlength=100)
    # 50 values a bin, 100 and 10 rows each, give or take the one row at either end.
    assert np.abs(found[:50] - 100).max() <= 2
    assert np.abs(found[50:] - 10).max() <= 2
