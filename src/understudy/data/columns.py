"""Tables of rows in memory, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.distinct_cells import DistinctCells
from understudy.data.files import show_name
from understudy.data.formats import Format
from understudy.errors import InputError


@dataclass(frozen=True)
class Column:
    """The values of one column.

    Attributes
    ----------
    kind
        "text", "integer", "real", "boolean", "date" (days) or "datetime" (seconds; both since
        1970); "empty" where nothing is there.
    values
        One entry per row; for text, places in ``words``. Whatever stands where a value is missing
        means nothing.
    words
        The distinct texts of a text column.
    missing
        0 where there is a value, else 1 + the place in ``MARKS`` of how its absence was written;
        ``None``: all there.
    mark
        How a missing value is to be written.
    format
        How a value is to be written, where it is written as text (see
        :mod:`understudy.data.formats`); plain numbers and ISO 8601 when empty.
    raw
        The texts as they stand in the file, for a column of a CSV file whose kind was told from all
        of its values. Where a schema says what the column is, only these count: how one cell is
        read must not depend on other rows.
    """

    kind: str
    values: NDArray[Any]
    words: tuple[str, ...] = ()
    missing: NDArray[np.uint8] | None = None
    mark: str = ""
    format: str = ""
    raw: Column | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray[Any]) -> Column:
        """The cells of some rows: by their places, or by whether each is among them."""
        missing, raw = self.missing, self.raw
        if missing is not None:
            missing = missing[rows]
        if raw is not None:
            raw = raw.take(rows)
        return replace(self, values=self.values[rows], missing=missing, raw=raw)

    @cached_property
    def distinct(self) -> DistinctCells | None:
        """Its distinct cells, found once; None where there may be nearly as many as rows."""
        return DistinctCells.of(self)


def in_words(column: Column, kind: str) -> Column:
    """A column of numbers, dates or times as the texts that its format makes of them."""
    distinct, places = np.unique(column.values, return_inverse=True)
    words = Format(kind, column.format).write(distinct.tolist())
    return replace(column, kind="text", values=places, words=tuple(words), format="")


@dataclass(frozen=True, repr=False)
class Table:
    """Rows in memory, column by column.

    Examples
    --------
    >>> table = read_table("patients.csv")                  # doctest: +SKIP
    >>> table.rows, table.names                             # doctest: +SKIP
    (48842, ('age', 'workclass'))
    """

    columns: Mapping[str, Column]
    source: str = "The table"
    """What to call the table in messages."""

    def __repr__(self) -> str:
        """What is in it, without a value: the rows may be private."""
        kinds = ", ".join(f"{name}: {column.kind}" for name, column in self.columns.items())
        return f"<Table of {self.rows:,} rows, {len(self.columns):,} columns ({kinds})>"

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(self.columns)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        if self.columns:
            return len(next(iter(self.columns.values())))
        return 0

    def take(self, rows: NDArray[Any]) -> Table:
        """Some of the rows: by their places, or by whether each is among them."""
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return Table(columns, self.source)

    def write(self, path: str | Path) -> None:
        """Write a CSV or Parquet file, by the suffix."""
        from understudy.data.writing import write_table

        write_table(path, [self])

    def to_csv(self, path: str | Path) -> None:
        """Write a CSV file, whose name ends in .csv, .tsv or either with .gz."""
        from understudy.data.writing import SUFFIXES

        self._write_as(path, "CSV", tuple(end for end in SUFFIXES if end != ".parquet"))

    def to_parquet(self, path: str | Path) -> None:
        """Write a Parquet file, whose name ends in .parquet."""
        self._write_as(path, "Parquet", (".parquet",))

    def _write_as(self, path: str | Path, kind: str, suffixes: Sequence[str]) -> None:
        from understudy.data.writing import table_suffix

        if table_suffix(path) not in suffixes:
            raise InputError(
                f"{show_name(path)} is not the name of a {kind} file; it must end in "
                f"{', '.join(suffixes)}."
            )
        self.write(path)

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        from understudy.data.frames import convert

        return convert(self, "pandas")

    def to_polars(self) -> Any:
        """The table as a polars DataFrame."""
        from understudy.data.frames import convert

        return convert(self, "polars")

    def to_arrow(self) -> Any:
        """The table as an Arrow table."""
        from understudy.data.frames import convert

        return convert(self, "arrow")

    def _repr_html_(self) -> str:
        """The first rows, for notebooks."""
        from understudy.data.looks import table_html

        return table_html(self)
