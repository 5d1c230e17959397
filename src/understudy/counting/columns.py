"""The columns of a table one by one, as domain discovery counts them: by the words of their cells.

:class:`Columns` is all that discovery needs of a table, in memory (:class:`MemoryColumns`) or
inside an engine (:class:`understudy.engines.columns.EngineColumns`). The type of a column, in a
frame, a file or a database, decides nothing: one row can change it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.counting.partition import Tally
from understudy.data.tables import MARKS, Column, Table
from understudy.data.words import write_word


class Columns(Protocol):
    """A table, as discovery sees it."""

    @property
    def source(self) -> str:
        """What to call the table in messages."""

    @property
    def names(self) -> Sequence[str]:
        """Of the columns, in order."""

    def count(self, tallies: Mapping[str, Tally]) -> None:
        """Count the words of some columns, in one pass where that matters."""


class MemoryColumns:
    """The columns of a table in memory."""

    def __init__(self, table: Table) -> None:
        self.source = table.source
        self.names = table.names
        self._columns = table.columns

    def count(self, tallies: Mapping[str, Tally]) -> None:
        """Count the words of some columns."""
        for name, tally in tallies.items():
            words, counts = count_words(self._columns[name])
            tally.add(words, counts.tolist())


def count_words(column: Column) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct words of a column's cells, and how often each occurs; a missing value is the
    empty word, or the mark that it was written as.
    """
    if column.raw is not None:
        column = column.raw
    absent = np.zeros(len(column), dtype=np.uint8)
    if column.missing is not None:
        absent = column.missing
    missing = np.bincount(absent, minlength=len(MARKS) + 1)[1:]
    words = [mark for mark, count in zip(MARKS, missing.tolist(), strict=True) if count]
    counts = [missing[missing > 0]]
    values = column.values[absent == 0]
    if column.kind == "text":
        found = np.bincount(values, minlength=len(column.words))
        occurring = np.flatnonzero(found)
        words += [column.words[place] for place in occurring]
        counts.append(found[occurring])
    elif column.kind != "empty":
        distinct, found = np.unique(values, return_counts=True)
        words += [write_word(value, column.kind) for value in distinct.tolist()]
        counts.append(found)
    return words, np.concatenate(counts).astype(np.int64)
