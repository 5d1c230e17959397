"""The cells of rows inside an engine as codes: one query, and what it looks up."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from understudy.engines.dialects import Dialect
from understudy.engines.encoding import CellCode
from understudy.engines.persons import limit_rows_per_person

if TYPE_CHECKING:
    from understudy.engines.rows import EngineTable


@contextmanager
def open_coded_query(
    table: EngineTable,
    cells: Sequence[CellCode],
    person: str | None,
    most: int,
    complete: bool = False,
) -> Iterator[str]:
    """A query whose columns e0, e1, ... are the codes of the cells of rows that count; while it is
    used, what it looks up is stored in the engine. Rows that lack a number on a grid may be left
    out of it where only ``complete`` ones are wanted.
    """
    engine, tag = table.engine, secrets.token_hex(4)
    table.learn_words(cells)
    inner = table.read(cells, person)
    joined = {cell.place: f"understudy_l{cell.place}_{tag}" for cell in cells if cell.joined}
    for cell in cells:
        if cell.joined:
            keys, codes = list(cell.lookup), list(cell.lookup.values())
            engine.lookup(joined[cell.place], keys, cell.key_kind, codes)
    columns, absent = _code_columns(cells, engine.dialect, complete=complete and person is None)
    joins = "".join(
        f" LEFT JOIN {joined[cell.place]} l{cell.place} ON l{cell.place}.key = {cell.key}"
        for cell in cells
        if cell.joined
    )
    if person is None:
        query = f"SELECT {', '.join(columns)} FROM ({inner}) r{joins}"
        if absent:
            query += f" WHERE NOT ({' OR '.join(absent)})"
    else:
        query = f"SELECT {', '.join(columns)}, p FROM ({inner}) r{joins}"
        names = [f"e{cell.place}" for cell in cells]
        query = limit_rows_per_person(engine.dialect, query, names, most)
    yield query
    for name in joined.values():
        engine.drop(name)


def _code_columns(
    cells: Sequence[CellCode], dialect: Dialect, *, complete: bool
) -> tuple[list[str], list[str]]:
    """The codes of cells, and under which conditions a row is left out.

    Where these leave it out, numbers on a grid need no code for "missing", and stay real: that is
    what sums take their time with.
    """
    columns, absent = [], []
    for cell in cells:
        steps = cell.steps
        if complete and steps is not None:
            columns.append(f"{steps[0]} AS e{cell.place}")
            absent.append(steps[1])
        else:
            code = f"CAST({cell.sql} AS {dialect.code_type(cell.codes)})"
            columns.append(f"{code} AS e{cell.place}")
    return columns, absent
