"""Tables of rows: CSV and Parquet in and out, strictly read and written whole.

DuckDB does the reading and writing. A file of the wrong shape (ragged rows, two columns of one
name, not UTF-8) is refused with a sentence; what kind of values a CSV column holds is told from all
of its values, never from a sample.
"""

from __future__ import annotations

import itertools
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from understudy.data.csv_files import MARKS as MARKS
from understudy.data.csv_files import check_names, csv_complaint, csv_relation, plain_name
from understudy.data.csv_files import literal as literal
from understudy.data.files import (
    existing_file,
    flush_to_disk,
    new_file,
    remove,
    shown,
    writable_file,
    written_whole,
)
from understudy.errors import InputError
from understudy.machine.resources import engine_settings

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")


@dataclass(frozen=True)
class Column:
    """The values of one column.

    Attributes
    ----------
    kind
        "text", "integer", "real", "boolean", "date" (days) or "datetime" (seconds; both since
        1970).
    values
        One entry a row; for text, places in ``words``. Whatever stands where a value is missing
        means nothing.
    words
        The distinct texts of a text column.
    missing
        0 where there is a value, else 1 + the place in ``MARKS`` of how its absence was written;
        ``None``: all there.
    mark
        How a missing value is to be written.
    format
        How a date is to be written, as for ``strftime``; ISO 8601 when empty.
    raw
        The texts as they stand in the file, for a column of a CSV file whose kind was told from all
        of its values. Where a schema says what the column is, only these count: how one cell is
        read must not depend on other rows.
    """

    kind: str
    values: NDArray[Any]
    words: tuple[str, ...] = ()
    missing: NDArray[np.uint8] | None = None
    mark: str = ""
    format: str = ""
    raw: Column | None = None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Table:
    """Rows in memory, column by column.

    Examples
    --------
    >>> table = read_table("patients.csv")                  # doctest: +SKIP
    >>> table.rows, table.names                             # doctest: +SKIP
    (48842, ('age', 'workclass'))
    """

    columns: Mapping[str, Column]
    source: str = "The table"
    """What to call the table in messages."""

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(self.columns)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        if self.columns:
            return len(next(iter(self.columns.values())))
        return 0

    def write(self, path: str | Path) -> None:
        """Write a CSV or Parquet file, by the suffix."""
        write_table(path, [self])

    def to_csv(self, path: str | Path) -> None:
        """Write a CSV file, whose name ends in .csv, .tsv or either with .gz."""
        self._write_as(path, "CSV", tuple(end for end in SUFFIXES if end != ".parquet"))

    def to_parquet(self, path: str | Path) -> None:
        """Write a Parquet file, whose name ends in .parquet."""
        self._write_as(path, "Parquet", (".parquet",))

    def _write_as(self, path: str | Path, kind: str, suffixes: Sequence[str]) -> None:
        if table_suffix(path) not in suffixes:
            raise InputError(
                f"{shown(path)} is not the name of a {kind} file; it must end in "
                f"{', '.join(suffixes)}."
            )
        self.write(path)

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        from understudy.data.frames import convert

        return convert(self, "pandas")

    def to_polars(self) -> Any:
        """The table as a polars DataFrame."""
        from understudy.data.frames import convert

        return convert(self, "polars")

    def to_arrow(self) -> Any:
        """The table as an Arrow table."""
        from understudy.data.frames import convert

        return convert(self, "arrow")

    def _repr_html_(self) -> str:
        """The first rows, for notebooks."""
        from understudy.data.looks import table_html

        return table_html(self)


# --------------------------------------------------------------------------- reading


def read_table(
    path: str | Path, skip: Collection[str] = (), *, header: bool | None = None
) -> Table:
    """Read a CSV or Parquet file (by the suffix; ``.csv.gz`` too).

    Parameters
    ----------
    path
        The file. The delimiter of a CSV file (comma, semicolon, tab or bar) is told from its first
        line.
    skip
        Columns whose values are not needed (identifiers, text): they are present, but stay unread.
    header
        Whether the first line of a CSV file holds the names. ``False``: it is a row, and the
        columns are called ``column_1``, ``column_2`` and so on. ``None``: it must hold names, and
        is refused if it looks like a row.
    """
    path = existing_file(path, "table")
    suffix = table_suffix(path)
    if path.stat().st_size == 0:
        raise InputError(f"The table {path} is empty; it needs a header and rows.")
    with (
        # by default DuckDB would spill rows into the working folder
        tempfile.TemporaryDirectory() as spill,
        closing(_engine(preserve_insertion_order="true", temp_directory=spill)) as engine,
    ):
        if suffix == ".parquet":
            kinds = _load_parquet(engine, path)
        else:
            packed = suffix.endswith(".gz")
            kinds = _load_csv(engine, path, compressed=packed, header=header)
        rows = _one(engine, "SELECT count(*) FROM raw")
        if rows == 0:
            raise InputError(
                f"The table {path} has a header but no rows; nothing can be learned from it."
            )
        told = csv_kinds(
            _asking(engine), "raw", [name for name in kinds if not kinds[name] and name not in skip]
        )
        columns: dict[str, Column] = {}
        for column, kind in kinds.items():
            if column in skip:
                columns[column] = Column("text", np.zeros(rows, dtype=np.uint8), ("",))
            else:
                if kind:
                    columns[column] = _fetch(engine, column, kind)
                else:
                    columns[column] = _fetch_csv(engine, column, told[column])
    return Table(columns, f"The table {path}")


def table_suffix(path: str | Path) -> str:
    """The suffix that says how a table is stored, or an error that lists the known ones."""
    name = Path(path).name.lower()
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if name.endswith(suffix):
            return suffix
    raise InputError(
        f"{shown(path)} is not a kind of table that is known here; its name must end in "
        f"{', '.join(SUFFIXES)}."
    )


def _load_parquet(engine: Any, path: Path) -> dict[str, str | None]:
    relation = parquet_relation([path])
    try:
        described = engine.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
        names = [row[0] for row in described]
        check_names(names, path)
        wanted = ", ".join(f"{quoted(n)} AS {quoted(n)}" for n in names)
        engine.execute(f"CREATE TABLE raw AS SELECT {wanted} FROM {relation}")
    except duckdb.Error as error:
        raise InputError(
            f"The table {path} cannot be read as Parquet ({_first_line(error)}); is it damaged, or "
            "something else?"
        ) from error
    return {row[0]: _parquet_kind(row[1]) for row in described}


def _parquet_kind(sql_type: str) -> str:
    if re.fullmatch(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?", sql_type):
        return "integer"
    if sql_type in ("FLOAT", "DOUBLE") or sql_type.startswith("DECIMAL"):
        return "real"
    if sql_type.startswith("TIMESTAMP"):
        return "datetime"
    return {"BOOLEAN": "boolean", "DATE": "date"}.get(sql_type, "text")


def _load_csv(
    engine: Any, path: Path, *, compressed: bool, header: bool | None
) -> dict[str, str | None]:
    names, relation = csv_relation([path], compressed=compressed, header=header)
    try:
        engine.execute(f"CREATE TABLE raw AS SELECT * FROM {relation}")
    except duckdb.Error as error:
        raise InputError(csv_complaint(f"The table {path}", str(error))) from error
    return dict.fromkeys(names)


def parquet_relation(files: Sequence[Path]) -> str:
    """What stands after FROM to read Parquet files as one table; ``name=value`` in folder names is
    no column.
    """
    names = ", ".join(literal(plain_name(path)) for path in files)
    return f"read_parquet([{names}], hive_partitioning = false)"


_INTEGER = r"[-+]?(0|[1-9][0-9]{0,17})"
_REAL = r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?"
# The engine's calendar has a year 0 and an hour 24; Python's, by which schemas are read, has not.
_DATE = r"([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)-[0-9]{2}-[0-9]{2}"
_MINUTE = r"([01][0-9]|2[0-3]):[0-5][0-9]"
_DATETIME = rf"{_DATE}[ T]{_MINUTE}(:[0-5][0-9](\.[0-9]+)?)?"
_TESTS = {
    "integer": f"regexp_full_match(<v>, '{_INTEGER}')",
    "real": f"regexp_full_match(<v>, '{_REAL}')",
    "date": f"regexp_full_match(<v>, '{_DATE}') AND try_cast(<v> AS DATE) IS NOT NULL",
    "datetime": f"regexp_full_match(<v>, '{_DATETIME}') AND try_cast(<v> AS TIMESTAMP) IS NOT NULL",
}


def csv_kinds(ask: Ask, relation: str, names: Collection[str]) -> dict[str, str]:
    """Of each column the narrowest kind that all of its values fit; "empty" where there are none.

    A number with a needless leading zero makes the column text: it is a code (a postcode, say) that
    must keep its zeros.
    """
    conditions: dict[tuple[str, str], str] = {}
    for name in names:
        value = f"trim({quoted(name)})"
        present = f"{value} NOT IN ({_MARKS_SQL})"
        conditions[name, "something"] = f"{quoted(name)} <> ''"
        conditions[name, "present"] = present
        for kind, test in _TESTS.items():
            conditions[name, kind] = f"{present} AND NOT ({test.replace('<v>', value)})"
    found = found_anywhere(ask, relation, conditions)

    def kind_of(name: str) -> str:
        if (name, "present") in found:
            return next((kind for kind in _TESTS if (name, kind) not in found), "text")
        if (name, "something") in found:
            return "text"
        return "empty"

    return {name: kind_of(name) for name in names}


Ask = Callable[[str], Sequence[Any]]
"""Puts a query whose answer is one row, and gives its values."""

_FEW_ROWS = 1000
_CONDITIONS_AT_A_TIME = 500


def found_anywhere(ask: Ask, relation: str, conditions: Mapping[Any, str]) -> set[Any]:
    """Which of the conditions hold in some row of a relation.

    What a few rows show is settled; only for the rest all of them are looked at. So the answer is
    the same whichever the few are.
    """
    found: set[Any] = set()
    for rows in (f"(SELECT * FROM {relation} LIMIT {_FEW_ROWS}) few", relation):
        unsettled = [key for key in conditions if key not in found]
        for first in range(0, len(unsettled), _CONDITIONS_AT_A_TIME):
            keys = unsettled[first : first + _CONDITIONS_AT_A_TIME]
            parts = ", ".join(
                f"COALESCE(max(CASE WHEN {conditions[key]} THEN 1 ELSE 0 END), 0) AS f{i}"
                for i, key in enumerate(keys)
            )
            answer = ask(f"SELECT {parts} FROM {rows}")
            found.update(key for key, holds in zip(keys, answer, strict=True) if holds)
    return found


_MARKS_SQL = ", ".join(f"'{mark}'" for mark in MARKS)
_CASTS = {
    "integer": "CAST({v} AS BIGINT)",
    "real": "CAST({v} AS DOUBLE)",
    "boolean": "CAST({v} AS BOOLEAN)",
    "date": "date_diff('day', DATE '1970-01-01', CAST({v} AS DATE))",
    # Cut first: a double holds whole seconds, but not always microseconds.
    "datetime": "CAST(epoch(date_trunc('second', CAST({v} AS TIMESTAMP))) AS BIGINT)",
}


def csv_number(name: str, kind: str) -> tuple[str, str]:
    """How SQL reads a cell of a CSV file as a number (a date is one, too) and how the cell says
    that it is missing.

    The number is NULL where it is missing. Of the second, 0 means that it is there, else see
    :class:`Column`.
    """
    value = f"trim({quoted(name)})"
    mark = (
        f"CASE WHEN {value} IS NULL THEN 1 ELSE coalesce(list_position([{_MARKS_SQL}], "
        f"{value}), 0) END"
    )
    return _CASTS[kind].format(v=f"CASE WHEN {mark} = 0 THEN {value} END"), mark


def csv_format(ask: Ask, relation: str, names: Collection[str]) -> dict[str, str]:
    """How columns of datetimes of a CSV file are written: with a T before the time, if all are, to
    the second.
    """
    pattern = f"{_DATE}T{_MINUTE}:[0-5][0-9]"
    others = {}
    for name in names:
        value = f"trim({quoted(name)})"
        others[name] = (
            f"{value} NOT IN ({_MARKS_SQL}) AND NOT regexp_full_match({value}, '{pattern}')"
        )
    found = found_anywhere(ask, relation, others)
    return {name: "" if name in found else "%Y-%m-%dT%H:%M:%S" for name in names}


def _fetch_csv(engine: Any, column: str, kind: str) -> Column:
    """A column of a CSV file: its texts, and what they look like taken together."""
    raw = _fetch_text(engine, quoted(column))
    if kind in ("text", "empty"):
        return raw
    return replace(_fetch(engine, column, kind, from_text=True), raw=raw)


def _fetch(engine: Any, column: str, kind: str, from_text: bool = False) -> Column:
    name = quoted(column)
    if kind == "text":
        return _fetch_text(engine, name)
    if from_text:
        number, mark = csv_number(column, kind)
    else:
        if kind == "real":
            absent = f"{name} IS NULL OR isnan({name})"
        else:
            absent = f"{name} IS NULL"
        mark = f"CASE WHEN {absent} THEN 1 ELSE 0 END"
        number = _CASTS[kind].format(v=f"CASE WHEN {mark} = 0 THEN {name} END")
    if kind == "boolean":
        zero = "false"
    else:
        zero = "0"
    cast = f"coalesce({number}, {zero})"
    try:
        fetched = engine.execute(
            f"SELECT {cast} AS v, CAST({mark} AS UTINYINT) AS m FROM raw"
        ).fetchnumpy()
    except duckdb.Error as error:
        if kind == "integer":  # too large for a whole number here; as a text it still is one
            return _fetch_text(engine, name)
        raise InputError(
            f"The column {column!r} holds numbers too large to be read: {_first_line(error)}"
        ) from error
    missing = fetched["m"]
    form = ""
    if from_text and kind == "datetime":
        form = csv_format(_asking(engine), "raw", [column])[column]
    return Column(kind, fetched["v"], missing=missing if missing.any() else None, format=form)


def _fetch_text(engine: Any, name: str) -> Column:
    value = f"nullif(CAST({name} AS VARCHAR), '')"
    rows = engine.execute(
        f"SELECT DISTINCT {value} AS v FROM raw WHERE {value} IS NOT NULL ORDER BY v"
    ).fetchall()
    words = tuple(row[0] for row in rows)
    if not words:
        count = _one(engine, "SELECT count(*) FROM raw")
        return Column(
            "empty", np.zeros(count, dtype=np.int64), missing=np.ones(count, dtype=np.uint8)
        )
    engine.execute("DROP TYPE IF EXISTS words")
    engine.execute(
        f"CREATE TYPE words AS ENUM (SELECT DISTINCT {value} AS v FROM raw WHERE {value} IS NOT "
        "NULL ORDER BY v)"
    )
    fetched = engine.execute(
        f"SELECT coalesce(enum_code(CAST({value} AS words)), 0) AS v, "
        f"CAST(CASE WHEN {value} IS NULL THEN 1 ELSE 0 END AS UTINYINT) AS m FROM raw"
    ).fetchnumpy()
    missing = fetched["m"]
    return Column("text", fetched["v"], words, missing if missing.any() else None)


# --------------------------------------------------------------------------- writing


def write_table(path: str | Path, chunks: Iterable[Table]) -> int:
    """Write chunks of one table to a CSV or Parquet file as they come; returns the number of rows.

    Memory stays flat however many chunks there are. The file appears only when all of them are
    written.
    """
    path = writable_file(path, "table")
    suffix = table_suffix(path)
    with written_whole(path) as beside:
        try:
            if suffix == ".parquet":
                return write_parquet(beside, chunks)
            return _write_csv(
                beside, chunks, "\t" if suffix.startswith(".tsv") else ",", suffix.endswith(".gz")
            )
        except duckdb.Error as error:
            raise OSError(_first_line(error)) from error


def _write_csv(path: Path, chunks: Iterable[Table], delimiter: str, compressed: bool) -> int:
    rows = 0
    part = path.with_name(path.name + ".part")
    options = (
        f"FORMAT csv, DELIMITER {literal(delimiter)}, COMPRESSION "
        f"{literal('gzip' if compressed else 'none')}"
    )
    try:
        with closing(_engine()) as engine, new_file(path) as whole:
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
    with closing(_engine()) as engine:
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
        with closing(_engine()) as engine:
            engine.execute(f"COPY ({_register(engine, first, marks_in_text=False)}) TO {target}")
        return first.rows
    rows = 0
    parts: list[str] = []
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".understudy-") as folder:
        with closing(_engine()) as engine:
            for chunk in itertools.chain((first, second), ahead):
                parts.append(literal(str(Path(folder) / f"{len(parts)}.parquet")))
                query = _register(engine, chunk, marks_in_text=False)
                engine.execute(f"COPY ({query}) TO {parts[-1]} (FORMAT parquet, COMPRESSION zstd)")
                rows += chunk.rows
        with closing(_engine(memory_limit=JOINING_MEMORY)) as engine:
            engine.execute(f"COPY (SELECT * FROM read_parquet([{', '.join(parts)}])) TO {target}")
    return rows


JOINING_MEMORY = "256MB"
MOST_LISTED_WORDS = 10_000


def _register(engine: Any, table: Table, *, marks_in_text: bool) -> str:
    """Hand the chunk's arrays to DuckDB and return the query that gives its rows."""
    arrays: dict[str, NDArray[Any]] = {}
    parts = []
    for place, (name, column) in enumerate(table.columns.items()):
        value = f"v{place}"
        arrays[value] = column.values
        expression = value
        listed = column.kind == "text" and len(column.words) <= MOST_LISTED_WORDS
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
        parts.append(f"{expression} AS {quoted(name)}")
    engine.register("chunk", arrays)
    return f"SELECT {', '.join(parts)} FROM chunk"


# --------------------------------------------------------------------------- SQL


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _engine(**settings: Any) -> Any:
    """A DuckDB of our own: never the one that all of the process share."""
    return duckdb.connect(config=engine_settings(**settings))


def _asking(engine: Any) -> Ask:
    return lambda query: engine.execute(query).fetchone()


def _one(engine: Any, query: str) -> Any:
    return engine.execute(query).fetchone()[0]


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
