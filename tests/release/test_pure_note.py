"""Who gives a schema and no delta is told what purity costs, by public facts alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from understudy import Adaptive, Independent, Schema


def notes_of(columns: int, delta: float = 0.0, method: type = Adaptive) -> list[str]:
    names = [f"c{place}" for place in range(columns)]
    schema = Schema.from_dict({"attributes": {name: {"kind": "boolean"} for name in names}})
    rows = np.random.default_rng(1).random((60, columns)) < 0.5
    notes: list[str] = []
    frame = pd.DataFrame(rows, columns=names)
    method(epsilon=1.0, delta=delta).fit(frame, schema, notify=notes.append)
    return [note for note in notes if "Pure differential privacy" in note]


def test_many_columns_without_a_delta_are_told() -> None:
    (note,) = notes_of(12)
    assert "--delta 1e-09" in note


@pytest.mark.parametrize(
    ("columns", "delta", "method"),
    [(11, 0.0, Adaptive), (12, 1e-9, Adaptive), (12, 0.0, Independent)],
)
def test_others_are_not(columns: int, delta: float, method: type) -> None:
    assert notes_of(columns, delta, method) == []
