"""Columns as domain discovery sees them: the same in memory and inside an engine."""

from __future__ import annotations

from collections import Counter
from typing import Any

from awkward import CELLS, column_of

from understudy.counting.columns import Columns, MemoryColumns
from understudy.counting.partition import Tally
from understudy.data.formats import CANDIDATES
from understudy.data.tables import Table
from understudy.engines import Engine
from understudy.engines.columns import EngineColumns
from understudy.engines.rows import EngineTable
from understudy.errors import InputError
from understudy.privacy.identifiers import is_identifier

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
    tallies = {name: Tally() for name in columns.names if not is_identifier(name)}
    try:
        columns.count(tallies)
    except InputError as refused:
        return str(refused)
    return {name: shown(tally) for name, tally in tallies.items()}


def shown(tally: Tally) -> Any:
    """A tally as plain values."""
    formats = {}
    for place, found in sorted(tally.formats.items()):
        values: Counter[int] = Counter()
        for numbers, counts in found.values:
            values.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
        on_grid, cells = found.on_grid.tolist(), found.cells.nonzero()[0].tolist()
        formats[CANDIDATES[place].name] = on_grid, cells, found.cells.sum(), values
    vocabularies = tally.vocabularies.tolist()
    return tally.rows, tally.missing.tolist(), dict(tally.words), vocabularies, formats


def seen_by(engine: Engine, person: str | None = None, most: int = 1) -> Any:
    try:
        return seen(EngineColumns(EngineTable(engine), person, most))
    finally:
        engine.close()


def seen_in_memory(table: Table | None = None) -> Any:
    return seen(MemoryColumns(table if table is not None else in_memory()))
