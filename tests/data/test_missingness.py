"""Rows exchange missing cells; columns keep what they hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy import Schema
from understudy.data.missingness import count_missing, gather_missing


def schema_of(columns: int, shares: list[float]) -> Schema:
    entries = {
        f"c{place}": {"kind": "integer", "min": 0, "max": 5, "bins": 6, "missing": True}
        for place in range(columns)
    }
    schema = Schema.from_dict({"attributes": {**entries, "sure": {"kind": "boolean"}}})
    return replace(schema, missing_cells=tuple(shares))


def codes_of(schema: Schema, rows: int, share: float, rng: np.random.Generator) -> dict:
    codes = {
        a.name: np.where(rng.random(rows) < share, a.size - 1, rng.integers(0, 6, rows)).astype(
            np.uint8
        )
        for a in schema.modelled
    }
    codes["sure"] = rng.integers(0, 2, rows).astype(np.uint8)
    return codes


@given(st.integers(3, 8), st.integers(0, 400), st.floats(0, 1), st.integers(0, 999))
@settings(max_examples=80, deadline=None)
def test_every_column_keeps_its_values(columns: int, rows: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.random(columns + 1)
    schema = schema_of(columns, (shares / shares.sum()).tolist())
    codes = codes_of(schema, rows, share, rng)
    found = gather_missing(codes, schema, rng, rows)
    for name, column in codes.items():
        assert (np.bincount(found[name], minlength=7) == np.bincount(column, minlength=7)).all()
    assert (found["sure"] == codes["sure"]).all()


def test_rows_that_lack_many_cells_come_out_as_often_as_asked() -> None:
    rng = np.random.default_rng(1)
    shares = [0.72, 0.2, 0.03, 0, 0, 0.02, 0.03, 0, 0]
    schema = schema_of(8, shares)
    mean = float(np.arange(9) @ np.array(shares))
    codes = codes_of(schema, 20_000, mean / 8, rng)
    before = count_missing(schema, codes, 20_000)
    after = count_missing(schema, gather_missing(codes, schema, rng, 20_000), 20_000)
    assert (before >= 5).mean() < 0.001
    assert abs((after >= 5).mean() - 0.05) < 0.005
    assert abs((after == 0).mean() - 0.72) < 0.03


def test_rows_that_are_as_they_should_be_stay_as_they_are() -> None:
    rng = np.random.default_rng(2)
    schema = schema_of(4, [0.5, 0.5, 0, 0, 0])
    codes = {f"c{place}": np.zeros(1000, dtype=np.uint8) for place in range(4)}
    codes["c0"][::2] = 6
    codes["sure"] = np.zeros(1000, dtype=np.uint8)
    found = gather_missing(codes, schema, rng, 1000)
    assert all((found[name] == codes[name]).all() for name in codes)
