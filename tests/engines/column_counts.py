"""Columns as domain discovery sees them: the same in memory and inside an engine."""

from __future__ import annotations

from typing import Any

from awkward import CELLS, column_of

from understudy.counting.columns import Columns, MemoryColumns
from understudy.data.tables import Table
from understudy.engines import Engine
from understudy.engines.columns import EngineColumns
from understudy.engines.rows import EngineTable
from understudy.errors import InputError
from understudy.privacy.discovery import Draft, _counted_by, is_identifier

TYPED: dict[str, list[Any]] = {
    **{kind: [None if cell == "" else cell for cell in cells] for kind, cells in CELLS.items()},
    "spelled text": ["True", "False", None, "True"],
}
"""Columns to be counted by their types."""


def rows() -> list[tuple[Any, ...]]:
    """The typed columns as rows; the last ones of shorter columns are missing."""
    longest = max(map(len, TYPED.values()))
    return list(
        zip(*([*cells, *[None] * (longest - len(cells))] for cells in TYPED.values()), strict=True)
    )


def in_memory() -> Table:
    columns = zip(*rows(), strict=True)
    return Table(
        {
            name: column_of(name.split()[-1], cells)
            for name, cells in zip(TYPED, columns, strict=True)
        },
        "T",
    )


def seen(columns: Columns) -> Any:
    """All that discovery gets to see, or that the table is refused."""
    try:
        kinds = Draft(columns).kinds
    except InputError as refused:
        return str(refused)
    asked = {name: _counted_by(kind) for name, kind in kinds.items() if kind != "identifier"}
    if not asked:
        return kinds
    counted = {
        name: (found.counts.tolist(), found.missing.tolist(), list(found.words))
        for name, found in columns.counted(asked).items()
    }
    shown = {
        # Of an identifier only this much is ever used.
        name: kind.kind in ("integer", "real") if is_identifier(name) else kind
        for name, kind in columns.kinds.items()
    }
    return kinds, shown, counted


def seen_by(engine: Engine, person: str | None = None, most: int = 1) -> Any:
    try:
        return seen(EngineColumns(EngineTable(engine), person, most))
    finally:
        engine.close()


def seen_in_memory(table: Table | None = None) -> Any:
    return seen(MemoryColumns(table if table is not None else in_memory()))
