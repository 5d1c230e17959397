"""Holders in one process."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from understudy import (
    InputError,
    Model,
    PrivBayes,
    Schema,
    UnderstudyError,
    federate,
    make_holders,
)

SCHEMA = Schema.from_dict({"attributes": {name: {"kind": "boolean"} for name in "ab"}})


def frame(rows: int) -> pd.DataFrame:
    """Rows in which b is a; the columns in another order than the schema's."""
    values = [i % 3 == 0 for i in range(rows)]
    return pd.DataFrame({"b": values, "a": values})


@pytest.mark.parametrize("way", ["secure", "statistics"])
def test_holders_learn_one_model(way: str, tmp_path: Path) -> None:
    SCHEMA.save(tmp_path / "schema.json")
    frame(900).to_csv(tmp_path / "south.csv", index=False)
    tables = {"north": frame(600), "south": tmp_path / "south.csv"}
    holders = make_holders(tables, tmp_path / "schema.json", allowance=20.0, colluders=0)
    model = federate(holders, SCHEMA, PrivBayes(epsilon=20.0), way, colluders=0)  # type: ignore[arg-type]
    assert isinstance(model, Model)
    assert model.rows == pytest.approx(1500, abs=30)
    both = model.marginal("a", "b").table
    assert both[0, 1] + both[1, 0] < 60


def test_a_holder_stops_at_its_allowance() -> None:
    holders = make_holders({"x": frame(50), "y": frame(50)}, SCHEMA, allowance=1.0, colluders=0)
    federate(holders, SCHEMA, PrivBayes(epsilon=1.0), colluders=0)
    with pytest.raises(UnderstudyError, match="would overdraw its allowance"):
        federate(holders, SCHEMA, PrivBayes(epsilon=0.1), colluders=0)


def test_a_table_with_other_columns_is_refused() -> None:
    with pytest.raises(InputError, match="no column 'a'"):
        make_holders({"x": frame(9).rename(columns={"a": "c"})}, SCHEMA, allowance=1.0)


def test_a_holder_keeps_its_rows_in_memory() -> None:
    lazy = pl.LazyFrame({"a": [True, False], "b": [True, True]})
    with pytest.raises(InputError, match="keeps its rows in memory"):
        make_holders({"x": lazy}, SCHEMA, allowance=1.0)
