"""Small tables for tests of anonymity."""

from __future__ import annotations

import numpy as np

from understudy.data.columns import Column, Table


def text_column(values: list[str]) -> Column:
    """A column of texts; an empty one is missing."""
    words = sorted(set(values) - {""})
    places = np.array([words.index(value) if value else 0 for value in values])
    missing = np.array([value == "" for value in values], dtype=np.uint8)
    return Column("text", places, tuple(words), missing if missing.any() else None)


def make_table(**columns: list[int] | list[float] | list[str]) -> Table:
    """A table of integers, reals and texts."""
    made = {}
    for name, values in columns.items():
        if isinstance(values[0], str):
            made[name] = text_column(values)  # type: ignore[arg-type]
        elif isinstance(values[0], int):
            made[name] = Column("integer", np.array(values, dtype=np.int64))
        else:
            made[name] = Column("real", np.array(values, dtype=np.float64))
    return Table(made)


def random_table(rng: np.random.Generator, rows: int = 60) -> Table:
    """Rows of two numbers, a category and an illness, some of them missing."""
    return make_table(
        age=rng.integers(20, 40, rows).tolist(),
        income=rng.integers(0, 5, rows).tolist(),
        job=rng.choice(["a", "b", "c", ""], rows).tolist(),
        illness=rng.choice(
            ["flu", "cold", "cancer", "none"], rows, p=[0.3, 0.3, 0.1, 0.3]
        ).tolist(),
    )


def cells(table: Table, name: str) -> list[str]:
    """The cells of a column as they are written; a missing one is empty."""
    column = table.columns[name]
    missing = np.zeros(len(column), dtype=bool)
    if column.missing is not None:
        missing = column.missing > 0
    if column.kind == "text":
        found = [column.words[place] if column.words else "" for place in column.values]
    else:
        found = [str(value) for value in column.values.tolist()]
    return ["" if gone else cell for cell, gone in zip(found, missing, strict=True)]
