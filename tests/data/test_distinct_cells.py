"""Codes by distinct cells are those of the cells one by one, and so are the notes to the owner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from examples import schema_of
from understudy.data import distinct_cells
from understudy.data.cells import CellEncoder, EncodedColumn
from understudy.data.encoding import encode
from understudy.data.schema import Attribute
from understudy.data.tables import Column, Table, read_table

ROWS = 3_000
RNG = np.random.default_rng(0)
SOME = (RNG.random(ROWS) < 0.1).astype(np.uint8)
ALL = np.ones(ROWS, dtype=np.uint8)

AGE = {"kind": "integer", "min": 0, "max": 100, "bins": 10}
AGE_OR_NONE = {**AGE, "missing": "-1"}
LEVEL = {"kind": "categorical", "values": [0, 1, 2, 7]}
FLAG = {"kind": "boolean"}
DAY = {"kind": "date", "min": "1970-01-01", "max": "1972-01-01", "bins": 8}
WORD = {"kind": "categorical", "values": ["a", "b", "c"], "missing": "?"}
NUMBER = {"kind": "real", "min": 0, "max": 100, "bins": 5}

COLUMNS: dict[str, tuple[dict[str, Any], Column]] = {
    "integers": (AGE, Column("integer", RNG.integers(-20, 130, ROWS))),
    "below zero": (AGE, Column("integer", RNG.integers(-900, -800, ROWS))),
    "narrow": (AGE, Column("integer", RNG.integers(-128, 128, ROWS).astype(np.int8))),
    "some missing": (AGE, Column("integer", RNG.integers(0, 130, ROWS), missing=SOME)),
    "missing, told": (AGE_OR_NONE, Column("integer", RNG.integers(-1, 50, ROWS), missing=SOME)),
    "all missing": (AGE_OR_NONE, Column("integer", np.full(ROWS, 5), missing=ALL)),
    "a list": (LEVEL, Column("integer", RNG.integers(0, 10, ROWS))),
    "truth": (FLAG, Column("boolean", RNG.random(ROWS) < 0.3, missing=SOME)),
    "dates": (DAY, Column("date", RNG.integers(-50, 900, ROWS))),
    "words": (WORD, Column("text", RNG.integers(0, 5, ROWS), ("a", "b", " c", "d", "?"))),
    "words, some missing": (
        WORD,
        Column("text", RNG.integers(0, 4, ROWS).astype(np.uint8), ("a", "b", "c", "e"), SOME),
    ),
    "numbers in words": (NUMBER, Column("text", RNG.integers(0, 3, ROWS), ("7", "99.5", "x"))),
    "far apart": (AGE, Column("integer", RNG.integers(0, 1 << 40, ROWS))),
    "reals": (NUMBER, Column("real", RNG.normal(50, 40, ROWS))),
    "empty": (AGE_OR_NONE, Column("empty", np.zeros(ROWS, dtype=np.int64), missing=ALL)),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_codes_and_notes_are_those_of_cells_one_by_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distinct_cells, "LOOKUP_STRETCH", 700)
    entry, column = COLUMNS[name]
    attribute: Attribute = schema_of(x=entry)["x"]
    one_by_one = CellEncoder(attribute, column)
    codes = one_by_one.codes()
    encoded = EncodedColumn(attribute, column)
    assert encoded.codes.dtype == codes.dtype
    assert encoded.codes.tolist() == codes.tolist()
    assert encoded.outside == one_by_one.outside
    assert encoded.count().tolist() == np.bincount(codes, minlength=attribute.size).tolist()


def test_only_columns_without_a_short_list_are_encoded_row_by_row() -> None:
    listed = {name for name, (_, column) in COLUMNS.items() if column.distinct is not None}
    assert set(COLUMNS) - listed == {"far apart", "reals"}


def test_few_rows_are_not_counted_first() -> None:
    assert Column("integer", np.arange(10)).distinct is None


def test_codes_that_were_given_back_are_made_again() -> None:
    table = Table({"x": COLUMNS["integers"][1]})
    coded = encode(table, schema_of(x=AGE))
    first = coded.codes["x"]
    assert coded.codes["x"] is first
    coded.forget_codes()
    assert coded.codes["x"] is not first
    assert coded.codes["x"].tolist() == first.tolist()
    assert coded.count("x").tolist() == np.bincount(first, minlength=10).tolist()


@pytest.mark.parametrize("distinct", [3, 64, 65])
def test_words_of_parquet_are_read_as_they_stand(distinct: int, tmp_path: Any) -> None:
    words = tuple(f"w{place:02}" for place in range(distinct))
    places = np.arange(200) % distinct
    whole = Table({"w": Column("text", places, words)})
    missing = (places == 1).astype(np.uint8)
    some = Table({"w": Column("text", places, words, missing)})
    for table, absent in ((whole, np.zeros(200, dtype=np.uint8)), (some, missing)):
        table.to_parquet(tmp_path / "t.parquet")
        read = read_table(tmp_path / "t.parquet").columns["w"]
        found = [read.words[place] for place in read.values]
        assert (read.missing is None) == (not absent.any())
        if read.missing is not None:
            assert read.missing.tolist() == absent.tolist()
        assert [w for w, gone in zip(found, absent, strict=True) if not gone] == [
            words[place] for place, gone in zip(places, absent, strict=True) if not gone
        ]
