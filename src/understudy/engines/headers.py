"""The names of a table's columns and the kinds that are declared for them: public, and free.

No row is looked at. A CSV file declares nothing: what its columns look like would be told from
cells.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb

from understudy.data.csv_files import check_names, read_form
from understudy.data.files import existing_file
from understudy.data.tables import Table, parquet_kind, parquet_relation, table_suffix
from understudy.engines.sources import opened
from understudy.engines.urls import is_url
from understudy.errors import InputError
from understudy.machine.resources import engine_settings


def read_columns(table: str, *, header: bool | None = None) -> dict[str, str | None]:
    """The columns of a table: their names, and the kind of each where its type says so."""
    path = Path(table)
    if not is_url(table) and path.is_file():
        suffix = table_suffix(path)
        if suffix == ".parquet":
            return _parquet_columns(path)
        if suffix.startswith((".csv", ".tsv")):
            packed = suffix.endswith(".gz")
            form = read_form(path, compressed=packed, header=header)
            return dict.fromkeys(form.names)
    with opened(table, header=header) as (rows, _):
        if isinstance(rows, Table) or rows.engine.csv:
            return dict.fromkeys(rows.names)
        return {name: kind or None for name, (_, kind) in rows.engine.types.items()}


def _parquet_columns(path: Path) -> dict[str, str | None]:
    existing_file(path, "table")
    try:
        with closing(duckdb.connect(config=engine_settings())) as engine:
            described = engine.execute(
                f"DESCRIBE SELECT * FROM {parquet_relation([path])}"
            ).fetchall()
    except duckdb.Error as error:
        raise InputError(
            f"The table {path} cannot be read as Parquet; is it damaged, or something else?"
        ) from error
    check_names([row[0] for row in described], path)
    return {row[0]: parquet_kind(row[1]) for row in described}
