"""All engines learn the same of the inside of bins, to the byte with seeded noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy import Independent, Schema
from understudy.privacy.mechanisms import SeededNoise


def people(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "income": rng.integers(0, 900, rows) * 100,
            "weight": np.round(rng.normal(70, 12, rows), 1),
            "debt": np.where(rng.random(rows) < 0.6, 0.0, np.round(rng.gamma(2, 900, rows), 2)),
            "born": pd.Timestamp("1950-01-01")
            + pd.to_timedelta(rng.integers(0, 20_000, rows), unit="D"),
        }
    )
    frame.loc[frame.born.dt.day_of_week == 6, "born"] += pd.Timedelta(days=1)
    gone = rng.random(rows) < 0.08
    for name in ("a", "b", "c", "d", "e"):
        absent = np.where(gone, rng.random(rows) < 0.9, rng.random(rows) < 0.02)
        frame[name] = pd.Series(rng.integers(0, 4, rows)).where(~absent).astype("Int64")
    return frame


SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "income": {"kind": "integer", "min": 0, "max": 99_999},
            "weight": {"kind": "real", "min": 0, "max": 250},
            "debt": {"kind": "real", "min": 0, "max": 20_000, "bins": 8},
            "born": {"kind": "date", "min": "1940-01-01", "max": "2019-12-31"},
            **{
                name: {"kind": "integer", "min": 0, "max": 3, "missing": True}
                for name in ("a", "b", "c", "d", "e")
            },
        }
    }
)


@pytest.mark.parametrize("delta", [0.0, 1e-9])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_duckdb_learns_what_memory_learns(tmp_path: Path, delta: float, suffix: str) -> None:
    frame = people()
    frame["born"] = frame.born.dt.date
    path = tmp_path / f"people.{suffix}"
    if suffix == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    models = [
        Independent(epsilon=3.0, delta=delta, refinement=0.4).fit(
            path, SCHEMA, engine=engine, noise=SeededNoise(5), notify=lambda _: None
        )
        for engine in ("memory", "duckdb")
    ]
    assert models[0].schema == models[1].schema
    assert models[0].to_dict() == models[1].to_dict()
    learned = models[0].schema
    assert learned["income"].step == 100  # type: ignore[attr-defined]
    assert learned["weight"].step == 0.1  # type: ignore[attr-defined]
    assert learned["born"].weekdays[6] < 0.02  # type: ignore[attr-defined]
    assert learned.missing_cells
