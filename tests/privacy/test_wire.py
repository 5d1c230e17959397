"""Marginals as numbers, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy import InputError
from understudy.data.marginals import Axis, Marginal
from understudy.privacy.wire import pack_marginals, unpack_marginals

names = st.text(min_size=1, max_size=3)
axes = st.builds(Axis, names, st.integers(0, 9))


@given(st.lists(st.lists(axes, max_size=4).map(tuple), min_size=1, max_size=6))
def test_marginals_as_numbers(marginals: list[Marginal]) -> None:
    names, arrays = pack_marginals(marginals)
    assert unpack_marginals(names, arrays["axes"], arrays["lengths"]) == marginals


@pytest.mark.parametrize(
    ("names", "axes", "lengths"),
    [
        (["a"], [1 << 16], [1]),
        (["a"], [-1], [1]),
        (["a"], [0, 0], [1]),
        (["a"], [0], [2, -1]),
        ([1], [0], [1]),
    ],
)
def test_marginals_that_cannot_be(names: list[Any], axes: list[int], lengths: list[int]) -> None:
    with pytest.raises(InputError):
        unpack_marginals(names, np.array(axes), np.array(lengths))
