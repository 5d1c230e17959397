"""Queries see what rows hold: rounding, first days of months, weekdays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from understudy import Schema
from understudy.data.encoding import decode
from understudy.data.schema import Quantity

DATES = {"kind": "date", "min": "2019-01-01", "max": "2021-12-31", "bins": 3}
CASES: dict[str, dict[str, Any]] = {
    "rent": {
        "kind": "integer",
        "min": 0,
        "max": 999,
        "bins": 4,
        "heaping": [[100, 0.3], [50, 0.4]],
    },
    "fine": {"kind": "real", "min": 0, "max": 9.75, "bins": 1, "step": 0.25, "heaping": [[1, 0.5]]},
    "starts": {"kind": "time", "bins": 4, "step": 900, "heaping": [[3600, 0.5]]},
    "working days": {**DATES, "weekdays": [0.2] * 5 + [0, 0]},
    "first days": {**DATES, "first_of_month": 0.6},
    "both": {**DATES, "first_of_month": 0.3, "weekdays": [0.3, 0.2, 0.2, 0.2, 0.1, 0, 0]},
}


@pytest.mark.parametrize("name", CASES)
def test_shares_and_sums_are_those_of_drawn_values(name: str) -> None:
    attribute = Schema.from_dict({"attributes": {"x": CASES[name]}})["x"]
    assert isinstance(attribute, Quantity)
    rng = np.random.default_rng(1)
    rows = 60_000
    codes = np.repeat(np.arange(attribute.bins, dtype=np.uint16), rows)
    drawn = decode({"x": codes}, Schema((attribute,)), rng, len(codes)).columns["x"]
    values = attribute.inside.draw(codes, rng).astype(float)
    assert len(drawn.values) == len(values)
    low, high = attribute.edges[0], attribute.edges[-1]
    ends = np.concatenate(
        [rng.uniform(low, high, 25), np.unique(values)[:60:3] + 1e-9, [low, high + 1]]
    )
    if attribute.whole:
        ends = np.ceil(ends)
    by_share = attribute.inside.below(ends)
    by_sum = attribute.inside.sums_below(ends)
    for end, share, total in zip(ends.tolist(), by_share.tolist(), by_sum.tolist(), strict=True):
        below = values[values < end] if end <= high else values
        assert share == pytest.approx(len(below) / rows, abs=0.012)
        assert total == pytest.approx(below.sum() / rows, abs=0.012 * max(abs(low), abs(high)))
