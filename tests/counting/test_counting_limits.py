"""Limits of counting: the last value that is allowed is taken, and the next one is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from limits import assert_limits
from understudy.counting.column_checks import check_columns, check_generalisation, check_weights


def column(*codes: int, kind: str = "u1") -> Any:
    return np.array(codes, dtype=kind)


def rows(number: int) -> Any:
    """A column of this many rows, which takes no memory."""
    return np.broadcast_to(np.zeros(1, dtype=np.uint8), number)


class Empty(np.ndarray[Any, Any]):
    """A column so long that nobody looks for its largest code."""

    def max(self, *_: Any, **__: Any) -> Any:
        return 0


LIMITS = {
    "values": (
        lambda size: check_columns({"a": column(0)}, {"a": size}),
        [1, 1 << 32],
        [0, (1 << 32) + 1],
    ),
    "codes": (
        lambda code: check_columns({"a": column(0, code)}, {"a": 3}),
        [0, 2],
        [3],
    ),
    "rows": (
        lambda number: check_columns({"a": rows(number).view(Empty)}, {"a": 1}),
        [0, (1 << 31) - 1],
        [1 << 31],
    ),
    "columns": (
        lambda columns: check_columns(columns, {"a": 2, "b": 2}),
        [{"a": column(0, 1), "b": column(1, 0)}],
        [
            {"a": column(0)},
            {"a": column(0), "c": column(0)},
            {"a": column(0), "b": column(0, 1)},
            {"a": column(0), "b": column(0, kind="i1")},
            {"a": column(0), "b": column(0)[None]},
        ],
    ),
    "weights": (
        lambda weights: check_weights(np.array(weights), 2, columns=True),
        [[0, 1], [1 << 30, (1 << 30) - 1]],
        [[-1, 2], [1 << 30, 1 << 30], [1], [1.0, 2.0], [[1, 2]]],
    ),
    "generalisation": (
        lambda mapping: check_generalisation("a", 1, np.array(mapping), 3),
        [[0, 0, 0], [0, 1, 2]],
        [[0, 1], [0, 1, 3], [-1, 0, 1], [0.0, 1.0, 1.0]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_the_last_value_is_taken_and_the_next_is_not(name: str) -> None:
    assert_limits(*LIMITS[name])


def test_what_is_checked_is_counted() -> None:
    assert check_columns({"a": column(0, 1, 1)}, {"a": 2}) == 3
    assert check_columns({}, {}) == 0
    assert check_weights(np.array([2, 5]), 2, columns=True) == 7
    assert check_generalisation("a", 1, np.array([0, 1, 0]), 3) == 2
