"""The names of a table's columns and the kinds that are declared for them: public, and free.

No row is looked at. A CSV file declares nothing: what its columns look like would be told from
cells.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path
from typing import Unpack

import duckdb

from understudy.data.csv_files import CsvForm, bytes_of, check_names, read_form
from understudy.data.encodings import as_utf8
from understudy.data.read_options import Reading, ReadOptions
from understudy.data.reading import READ_SUFFIXES, kind_of_type, parquet_relation
from understudy.data.tables import Table, table_suffix
from understudy.engines.sources import open_rows
from understudy.engines.urls import is_url
from understudy.errors import InputError
from understudy.machine.resources import engine_settings

_START = 1 << 20  # bytes that the first line must fit into


def read_columns(table: str, **reading: Unpack[Reading]) -> dict[str, str | None]:
    """The columns of a table: their names, and the kind of each where its type says so."""
    path = Path(table)
    if not is_url(table) and path.is_file():
        suffix = table_suffix(path, READ_SUFFIXES)
        if suffix == ".parquet":
            return _parquet_columns(path)
        if suffix.startswith((".csv", ".tsv")):
            options = ReadOptions(**reading)
            return dict.fromkeys(_csv_form(path, suffix.endswith(".gz"), options).names)
    with open_rows(table, **reading) as (rows, _):
        if isinstance(rows, Table) or rows.engine.csv:
            return dict.fromkeys(rows.names)
        return {name: kind or None for name, (_, kind) in rows.engine.types.items()}


def read_delimiter(table: str, **reading: Unpack[Reading]) -> str:
    """What stands between the names of a CSV file, and should between synthetic values: a comma
    where the first line is a row, which is nobody's to know, and of all other tables.
    """
    path, options = Path(table), ReadOptions(**reading)
    if is_url(table) or not path.is_file() or options.header is False:
        return ","
    if path.stat().st_size == 0:  # whoever reads the rows has a sentence for it
        return ","
    suffix = table_suffix(path, READ_SUFFIXES)
    if not suffix.startswith(".csv"):
        return ","
    return _csv_form(path, suffix.endswith(".gz"), options).delimiter


def _csv_form(path: Path, packed: bool, options: ReadOptions) -> CsvForm:
    """What the first line tells, whatever the lines after it hold."""
    with tempfile.TemporaryDirectory() as folder, bytes_of(path, packed) as file:
        start = Path(folder) / "start.csv"
        start.write_bytes(file.read(_START))
        readable = as_utf8(
            [start], compressed=False, encoding=options.encoding, folder=Path(folder)
        )
        return read_form(readable.files[0], compressed=False, options=options, original=path)


def _parquet_columns(path: Path) -> dict[str, str | None]:
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
    return {row[0]: kind_of_type(row[1]) for row in described}
