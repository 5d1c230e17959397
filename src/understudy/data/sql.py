"""Small parts of SQL, and a DuckDB of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.machine.late import LateModule
from understudy.machine.resources import engine_settings

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = LateModule("duckdb")


def quote_name(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def new_engine(**settings: Any) -> Any:
    """A DuckDB of our own: never the one that all of the process share."""
    return duckdb.connect(config=engine_settings(**settings))


def first_line(error: Exception) -> str:
    """What DuckDB says in the first line of an error."""
    return str(error).splitlines()[0]
