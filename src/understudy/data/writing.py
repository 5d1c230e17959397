"""Tables to CSV and Parquet files, written whole."""

from __future__ import annotations

import itertools
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.columns import Column, Table, in_words
from understudy.data.files import (
    flush_to_disk,
    new_file,
    remove,
    show_name,
    writable_file,
    write_whole,
)
from understudy.data.sql import first_line, literal, new_engine, quote_name
from understudy.errors import InputError
from understudy.machine.late import LateModule

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = LateModule("duckdb")


SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
"""Of tables that are written."""


def table_suffix(path: str | Path, known: Sequence[str] = SUFFIXES) -> str:
    """The suffix that says how a table is stored, or an error that lists the known ones."""
    name = Path(path).name.lower()
    for suffix in sorted(known, key=len, reverse=True):
        if name.endswith(suffix):
            return suffix
    raise InputError(
        f"{show_name(path)} is not a kind of table that is known here; its name must end in "
        f"{', '.join(known)}."
    )


DELIMITERS = (",", ";", "\t", "|")
"""Between the values of a CSV file."""


def write_table(path: str | Path, chunks: Iterable[Table], delimiter: str = ",") -> int:
    """Write chunks of one table to a CSV or Parquet file as they come; returns the number of rows.

    Memory stays flat however many chunks there are. The file appears only when all of them are
    written. The delimiter is that of files whose name ends in ``.csv``.
    """
    if delimiter not in DELIMITERS:
        raise InputError(
            f"The delimiter must be a comma, semicolon, tab or vertical bar, not {delimiter!r}."
        )
    path = writable_file(path, "table")
    suffix = table_suffix(path)
    with write_whole(path) as beside:
        try:
            if suffix == ".parquet":
                return write_parquet(beside, chunks)
            if suffix.startswith(".tsv"):
                delimiter = "\t"
            return _write_csv(beside, chunks, delimiter, suffix.endswith(".gz"))
        except duckdb.Error as error:
            raise OSError(first_line(error)) from error


def _write_csv(path: Path, chunks: Iterable[Table], delimiter: str, compressed: bool) -> int:
    rows = 0
    part = path.with_name(path.name + ".part")
    options = (
        f"FORMAT csv, DELIMITER {literal(delimiter)}, COMPRESSION "
        f"{literal('gzip' if compressed else 'none')}"
    )
    try:
        with closing(new_engine()) as engine, new_file(path) as whole:
            for chunk in chunks:
                query = _register(engine, chunk, marks_in_text=True)
                engine.execute(
                    f"COPY ({query}) TO {literal(str(part))} ({options}, HEADER {rows == 0})"
                )
                with part.open("rb") as piece:
                    shutil.copyfileobj(piece, whole)
                rows += chunk.rows
            flush_to_disk(whole)
    finally:
        remove(part)
    return rows


def write_plain_csv(path: Path, table: Table) -> None:
    """Write the rows of a table as a database takes them: no header, and nothing where a value is
    missing.
    """
    with closing(new_engine()) as engine:
        query = _register(engine, table, marks_in_text=False)
        engine.execute(f"COPY ({query}) TO {literal(str(path))} (FORMAT csv, HEADER false)")


def write_parquet(path: Path, chunks: Iterable[Table]) -> int:
    """Write chunks of one table to a Parquet file at ``path`` itself; returns the number of rows.

    A single chunk goes straight out; more become files of their own, joined at the end: memory
    stays flat.
    """
    target = f"{literal(str(path))} (FORMAT parquet, COMPRESSION zstd)"
    ahead = iter(chunks)
    first, second = next(ahead, None), next(ahead, None)
    if first is None:
        raise InputError("There is nothing to write: no rows and no columns.")
    if second is None:
        with closing(new_engine()) as engine:
            engine.execute(f"COPY ({_register(engine, first, marks_in_text=False)}) TO {target}")
        return first.rows
    rows = 0
    parts: list[str] = []
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".understudy-") as folder:
        with closing(new_engine()) as engine:
            for chunk in itertools.chain((first, second), ahead):
                parts.append(literal(str(Path(folder) / f"{len(parts)}.parquet")))
                query = _register(engine, chunk, marks_in_text=False)
                engine.execute(f"COPY ({query}) TO {parts[-1]} (FORMAT parquet, COMPRESSION zstd)")
                rows += chunk.rows
        with closing(new_engine(memory_limit=JOINING_MEMORY)) as engine:
            engine.execute(f"COPY (SELECT * FROM read_parquet([{', '.join(parts)}])) TO {target}")
    return rows


JOINING_MEMORY = "256MB"
MAX_WORDS_IN_SQL = 10_000


def _is_written_by_sql(column: Column) -> bool:
    """Whether DuckDB writes the column as we do, and faster."""
    plain = re.fullmatch(r"(%[YmdHMS]|[^%])*", column.format)
    return column.kind in ("date", "datetime") and plain is not None


def _register(engine: Any, table: Table, *, marks_in_text: bool) -> str:
    """Hand the chunk's arrays to DuckDB and return the query that gives its rows."""
    arrays: dict[str, NDArray[Any]] = {}
    parts = []
    for place, (name, column) in enumerate(table.columns.items()):
        if marks_in_text and column.format and not _is_written_by_sql(column):
            column = in_words(column, column.kind)
        value = f"v{place}"
        arrays[value] = column.values
        expression = value
        listed = column.kind == "text" and len(column.words) <= MAX_WORDS_IN_SQL
        if listed:
            # As an enumeration, words are written several times faster; in the file they are texts
            # like others.
            engine.execute(
                f"SET VARIABLE words{place} = ?::VARCHAR[]", [[*column.words, column.mark]]
            )
            engine.execute(f"DROP TYPE IF EXISTS words{place}")
            engine.execute(
                f"CREATE TYPE words{place} AS ENUM (SELECT DISTINCT "
                f"unnest(getvariable('words{place}')))"
            )
            engine.execute(f"SET VARIABLE words{place} = ?::words{place}[]", [list(column.words)])
            # CAST: adding 1 to a small unsigned code must not overflow it.
            expression = f"getvariable('words{place}')[CAST({value} AS BIGINT) + 1]"
        elif column.kind == "text":
            arrays[value] = np.array(column.words, dtype=object)[column.values]
        elif column.kind == "date":
            expression = f"(DATE '1970-01-01' + CAST({value} AS INTEGER))"
        elif column.kind == "datetime":
            expression = f"make_timestamp(CAST({value} AS BIGINT) * 1000000)"
        if column.format and marks_in_text:
            expression = f"strftime({expression}, {literal(column.format)})"
        if column.missing is not None:
            arrays[f"m{place}"] = column.missing
            absent = "NULL"
            if column.mark and (marks_in_text or column.kind == "text"):
                if listed:
                    kind = f"words{place}"
                else:
                    kind = "VARCHAR"
                absent = f"CAST({literal(column.mark)} AS {kind})"
                expression = f"CAST({expression} AS {kind})"
            expression = f"CASE WHEN m{place} > 0 THEN {absent} ELSE {expression} END"
        parts.append(f"{expression} AS {quote_name(name)}")
    engine.register("chunk", arrays)
    return f"SELECT {', '.join(parts)} FROM chunk"
