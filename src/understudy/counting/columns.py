"""The columns of a table one by one, as domain discovery asks about them: their kinds, and how
often values occur.

:class:`Columns` is all that discovery needs of a table, in memory (:class:`MemoryColumns`) or
inside an engine (:class:`understudy.engines.columns.EngineColumns`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.data.tables import MARKS, Column, Table

SPELLINGS = (("false", "true"), ("False", "True"), ("FALSE", "TRUE"))
"""How a column of texts may write truth values."""

Edges = Sequence[float]
"""Where cells begin, and where the last one ends. What lies outside of all counts in the
nearest.
"""


@dataclass(frozen=True)
class ColumnKind:
    """What is taken as public about a column."""

    kind: str
    """As in :class:`understudy.data.tables.Column`; "empty" where a column of texts holds none."""
    spelling: tuple[str, str] | None = None
    """How truth values are written, where a column of texts holds nothing else."""
    format: str = ""
    """How dates are written, as for ``strftime``; ISO 8601 when empty."""


@dataclass(frozen=True)
class ColumnCounts:
    """How often the values of a column occur: as private as the column."""

    counts: NDArray[np.int64]
    """Of each cell, or of each text."""
    missing: NDArray[np.int64]
    """Of each way to write that a value is missing, in the order of ``MARKS``."""
    words: Sequence[str] = ()
    """The texts that occur, in the order of their characters."""


class Columns(Protocol):
    """A table, as discovery sees it."""

    @property
    def source(self) -> str:
        """What to call the table in messages."""

    @property
    def kinds(self) -> Mapping[str, ColumnKind]:
        """Of each column, in order."""

    def counted(self, asked: Mapping[str, Edges | None]) -> Mapping[str, ColumnCounts]:
        """Count the values of some columns, in one pass where that matters.

        Asked for are cells, by their edges; nothing but missing values, where there are no edges;
        or texts (None).
        """


class MemoryColumns:
    """The columns of a table in memory."""

    def __init__(self, table: Table) -> None:
        self.source = table.source
        self.kinds = {
            name: ColumnKind(column.kind, _spelling(column), column.format)
            for name, column in table.columns.items()
        }
        self._columns = table.columns

    def counted(self, asked: Mapping[str, Edges | None]) -> Mapping[str, ColumnCounts]:
        """Count the values of some columns."""
        return {name: _counted(self._columns[name], edges) for name, edges in asked.items()}


def _counted(column: Column, edges: Edges | None) -> ColumnCounts:
    if column.missing is None:
        absent = np.zeros(len(column), dtype=np.uint8)
    else:
        absent = column.missing
    missing = np.bincount(absent, minlength=len(MARKS) + 1)[1:]
    values = column.values[absent == 0]
    if edges is None:
        counts = np.bincount(values, minlength=len(column.words))
        occurring = np.flatnonzero(counts)
        return ColumnCounts(
            counts[occurring], missing, [column.words[place] for place in occurring]
        )
    if not edges:
        return ColumnCounts(np.zeros(0, dtype=np.int64), missing)
    cells = len(edges) - 1
    places = np.clip(np.searchsorted(np.array(edges[:-1]), values, side="right") - 1, 0, cells - 1)
    return ColumnCounts(np.bincount(places, minlength=cells), missing)


def _spelling(column: Column) -> tuple[str, str] | None:
    words = set(column.words) - {""}  # an empty text is a missing one
    return next((spelling for spelling in SPELLINGS if words and words <= set(spelling)), None)
