"""No side doors: types of private columns decide nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from outside_view import (
    SCHEMA,
    Seen,
    seen,
)
from typed_frames import AGES, TYPED, Typed, typed_frame

from understudy import Independent, Model, Schema
from understudy.synthesizers import Synthesizer


def seen_of_both(method: Synthesizer, library: str, typed: Typed, folder: Path) -> list[Seen]:
    found = []
    for side, values in zip(("here", "there"), typed[1:], strict=True):
        (folder / side).mkdir()
        frame = typed_frame(library, typed[0], values, folder / side)
        found.append(seen(method, frame, SCHEMA, folder / side))
    return found


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize(("library", "typed"), TYPED.values(), ids=TYPED.keys())
def test_types_of_a_private_frame_do_not_come_out(
    library: str, typed: Typed, tmp_path: Path
) -> None:
    here, there = seen_of_both(Independent(epsilon=0.001), library, typed, tmp_path)
    assert here == there
    assert here.frame[1] == {"lazy": "polars", "parquet": "table"}.get(library, library)


NUMBERS = [i // 2 for i in range(24)]
ABSENT = [*map(float, NUMBERS), None]
PERSONS: dict[str, tuple[str, Typed]] = {
    "pandas: whole ids, one missing": (
        "pandas",
        ("who", pd.Series(NUMBERS), pd.Series([*NUMBERS, None])),
    ),
    "pandas: whole ids, one missing in objects": (
        "pandas",
        ("who", pd.Series(NUMBERS), pd.Series([*NUMBERS, None], dtype=object)),
    ),
    "parquet: whole ids, one null": ("parquet", ("who", pa.array(NUMBERS), pa.array(ABSENT))),
    "parquet: whole ids, one NaN": (
        "parquet",
        ("who", pa.array(NUMBERS), pa.array([*ABSENT[:-1], np.nan])),
    ),
    "arrow: whole ids, one null": ("arrow", ("who", pa.array(NUMBERS), pa.array(ABSENT))),
    "polars: whole ids, one null": ("polars", ("who", pl.Series(NUMBERS), pl.Series(ABSENT))),
    "lazy: whole ids, one null": ("lazy", ("who", pl.Series(NUMBERS), pl.Series(ABSENT))),
    "lazy: whole ids, one NaN": (
        "lazy",
        ("who", pl.Series(NUMBERS), pl.Series([*ABSENT[:-1], np.nan])),
    ),
}


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize(("library", "typed"), PERSONS.values(), ids=PERSONS.keys())
def test_a_row_that_is_nobodys_does_not_decide_a_refusal(
    library: str, typed: Typed, tmp_path: Path
) -> None:
    """One missing number makes reals of whole ones, which once were refused as persons."""
    method = Independent(epsilon=0.001, person="who", max_rows_per_person=2)
    here, there = seen_of_both(method, library, typed, tmp_path)
    assert here == there


def test_each_pair_of_columns_differs_in_its_type() -> None:
    """The tests above would hold for tables that look the same to begin with."""
    alike = set()
    for name, (_, (_, here, there)) in {**TYPED, **PERSONS}.items():
        types = [
            column.type if isinstance(column, pa.Array) else column.dtype
            for column in (here, there)
        ]
        if types[0] == types[1]:
            alike.add(name.partition(": ")[2])
    # These differ in the number of nulls, and in words that polars and Arrow keep beside the type;
    # and in whether a library can write all their values.
    assert alike == {
        *("integers, a null", "one more category", "one more in a dictionary"),
        *("nothing in Arrow's lists, one list", "nothing in lists, one list"),
        *("nothing, one duration", "bytes, others than UTF-8", "moments, one beyond the calendar"),
    }


CASTS: dict[str, Callable[[Any, Any], Any]] = {
    "pandas": lambda frame, private: frame.astype(dict(private.dtypes), errors="ignore"),
    "polars": lambda frame, private: frame.cast(dict(private.schema), strict=False),
    "arrow": lambda frame, private: frame.cast(private.schema),
}


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize("library", CASTS)
def test_a_cast_to_the_private_types_would_be_seen(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it once was done: a missing value put a decimal point behind every released number."""
    fit, sample = Synthesizer.fit, Model.sample
    private: list[Any] = []

    def fit_and_remember(self: Synthesizer, table: Any, *given: Any, **options: Any) -> Any:
        private.append(table)
        return fit(self, table, *given, **options)

    def sample_and_cast(self: Model, *given: Any, **options: Any) -> Any:
        return CASTS[library](sample(self, *given, **options), private[-1])

    monkeypatch.setattr(Synthesizer, "fit", fit_and_remember)
    monkeypatch.setattr(Model, "sample", sample_and_cast)
    _, typed = TYPED[f"{library}: integers, floats"]
    method = Independent(epsilon=0.001)
    here, there = seen_of_both(method, library, typed, tmp_path)
    assert here != there
    assert replace(here, frame=()) == replace(there, frame=())


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
def test_no_decimal_point_tells_of_a_missing_value(tmp_path: Path) -> None:
    """With real noise, as anybody would release: nothing in the file has the type of the private
    column.
    """
    schema = Schema.from_dict({"attributes": {"n": {"kind": "integer", "min": 0, "max": 99}}})
    for private in (AGES, [*AGES, None]):
        for _ in range(5):
            model = Independent(epsilon=0.001).fit(pd.DataFrame({"n": private}), schema)
            model.sample(50).to_csv(tmp_path / "released.csv", index=False)
            assert "." not in (tmp_path / "released.csv").read_text()
