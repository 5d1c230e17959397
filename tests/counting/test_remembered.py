"""A counter that remembers counts every table once, and says the same as the one it asks."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.counting.memory import MemoryCounter
from understudy.counting.remembered import Remembered
from understudy.data.marginals import Marginal, marginal

SIZES = {"a": 2, "b": 3, "c": 4}
ASKED = [marginal("a"), marginal("b", "c"), marginal("a"), (), marginal("a", "b", "c")]


class Counted:
    """Counts, and keeps what it was asked for."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        codes = {name: rng.integers(0, size, 500).astype(np.uint8) for name, size in SIZES.items()}
        self.counter = MemoryCounter(codes, {}, SIZES)
        self.asked: list[Marginal] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.counter, name)

    def count_flat(self, marginals: Any) -> Any:
        self.asked += marginals
        return self.counter.count_flat(marginals)


def test_a_table_is_counted_once() -> None:
    plain = Counted()
    remembered = Remembered(plain)  # type: ignore[arg-type]
    for _ in range(3):
        for here, there in zip(remembered.count(ASKED), plain.counter.count(ASKED), strict=True):
            assert here.shape == there.shape
            assert (here == there).all()
    assert plain.asked == [ASKED[0], ASKED[1], ASKED[3], ASKED[4]]
    assert remembered.rows == 500
    assert remembered.size(marginal("c")[0]) == 4


def test_what_has_no_room_is_counted_again() -> None:
    plain = Counted()
    remembered = Remembered(plain, most=2)  # type: ignore[arg-type]
    for _ in range(2):
        for axes in ASKED[:2]:
            (here,), (there,) = remembered.count([axes]), plain.counter.count([axes])
            assert (here == there).all()
    assert plain.asked == [ASKED[0], ASKED[1], ASKED[1]]
