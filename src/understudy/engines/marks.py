"""Marks of the owner's own for missing values, inside an engine."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.data.missing_marks import write_marked_columns
from understudy.engines import Engine


def hide_marks(engine: Engine, marks: Sequence[str]) -> None:
    """Let the engine's table have NULL wherever a cell holds a mark."""
    kinds = {name: kind for name, (_, kind) in engine.types.items()}
    dialect = engine.dialect
    columns = write_marked_columns(kinds, marks, quote=dialect.quote_name, text=dialect.literal)
    engine.relation = f"(SELECT {columns} FROM {engine.relation}) AS marked"
