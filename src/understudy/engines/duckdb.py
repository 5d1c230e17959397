"""DuckDB: files larger than memory. It runs inside this process; its copy lies in a private folder
on disk.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from understudy.data.csv_files import csv_complaint
from understudy.engines import TEXTS_AT_A_TIME, EngineError
from understudy.engines.dialects import DUCKDB
from understudy.engines.folders import PrivateFolder
from understudy.errors import InputError
from understudy.machine.resources import threads

MEMORY = 768
"""Megabytes that DuckDB may take; beyond it, it uses the disk."""

THREAD_MEMORY = 125  # megabytes that a thread needs at least, say DuckDB's makers

ROWS_PER_FETCH = 1 << 20
"""Answers of many rows are fetched this many rows at a time: while it hands them over, DuckDB holds
them thrice.
"""


class DuckDBEngine:
    """A table in files, or a query of a connection that the user holds.

    Parameters
    ----------
    relation
        What stands after FROM.
    source
        What to call the table in messages.
    connection
        The user's own connection; without one, an own is made, with a folder of its own.
    files
        The files that the table lies in, to notice when they change.
    folder
        The folder for the copy, if there is one already; it is removed at the end.
    csv
        Whether the files are CSV files.
    """

    dialect = DUCKDB
    most_groups = 1 << 24

    def __init__(
        self,
        relation: str,
        source: str,
        *,
        connection: Any = None,
        files: Sequence[Path] = (),
        folder: PrivateFolder | None = None,
        csv: bool = False,
    ) -> None:
        self.relation = relation
        self.csv = csv
        self.source = source
        self._files = {path: _state(path) for path in files}
        self._own = connection is None
        self._stored: set[str] = set()
        self._folder: PrivateFolder | None = None
        if self._own:
            self._folder = folder or PrivateFolder()
        self._connection: Any = None
        try:
            with self._translate_errors("opened"):
                if connection is not None:
                    self._connection = connection
                else:
                    self._connection = self._connect()
            with self._translate_errors("looked at"):
                self.types = self._types()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> Any:
        assert self._folder is not None
        return duckdb.connect(
            str(self._folder.path / "coded.duckdb"),
            config={
                "temp_directory": str(self._folder.path / "spill"),
                "memory_limit": f"{MEMORY}MB",
                "threads": min(threads(), MEMORY // THREAD_MEMORY),
                "preserve_insertion_order": "false",
            },
        )

    def _types(self) -> Mapping[str, tuple[str, str]]:
        rows = self._connection.execute(f"DESCRIBE SELECT * FROM {self.relation}").fetchall()
        return {row[0]: (row[1], kind_of(row[1])) for row in rows}

    def numbers(self, query: str, *, many: bool = False) -> list[NDArray[Any]]:
        """The columns of an answer that holds whole numbers only."""
        if many:
            return self._many_numbers(query)
        with self._translate_errors("counted"):
            return [
                np.asarray(column)
                for column in self._connection.execute(query).fetchnumpy().values()
            ]

    def _many_numbers(self, query: str) -> list[NDArray[Any]]:
        """The columns of an answer that is stored first, and then read some rows at a time."""
        name = f"understudy_answer_{secrets.token_hex(4)}"
        self.keep(name, query)
        (count,) = self.numbers(f"SELECT count(*) FROM {name}")
        rows = int(count[0])
        columns: list[NDArray[Any]] = []
        for first in range(0, max(rows, 1), ROWS_PER_FETCH):
            last = min(first + ROWS_PER_FETCH, rows)
            part = self.numbers(f"SELECT * FROM {name} WHERE rowid >= {first} AND rowid < {last}")
            columns = columns or [np.empty(rows, values.dtype) for values in part]
            for column, values in zip(columns, part, strict=True):
                column[first:last] = values
        self.drop(name)
        self._let_go()
        return columns

    def _let_go(self) -> None:
        """Give back memory that DuckDB keeps in case that something is read again; the answer is
        there, in memory.
        """
        if self._own:
            with contextlib.suppress(duckdb.Error):  # it needs more at the moment
                self._connection.execute("SET memory_limit = '64MB'")
            self._connection.execute(f"SET memory_limit = '{MEMORY}MB'")

    def texts(self, query: str) -> Iterator[Sequence[tuple[str | None, ...]]]:
        """The rows of an answer that holds texts, some at a time."""
        with self._translate_errors("read"):
            cursor = self._connection.execute(query)
            while batch := cursor.fetchmany(TEXTS_AT_A_TIME):
                yield batch

    def keep(self, name: str, query: str) -> None:
        """Store an answer: on disk, where the connection is our own."""
        with self._translate_errors("copied"):
            self._connection.execute(f"CREATE OR REPLACE {self._temporary}TABLE {name} AS {query}")
            self._stored.add(name)

    def drop(self, name: str) -> None:
        """Forget a stored answer."""
        self._connection.execute(f"DROP TABLE IF EXISTS {name}")
        self._stored.discard(name)

    def lookup(self, name: str, keys: Sequence[Any], kind: str, codes: Sequence[int]) -> None:
        """Store keys with their codes."""
        with self._translate_errors("copied"):
            self._connection.execute(
                f"CREATE OR REPLACE {self._temporary}TABLE {name} AS SELECT "
                f"{self.dialect.cast('key', kind)} AS key, code FROM (SELECT "
                f"unnest(?::{self.dialect.types[kind]}[]) AS key, unnest(?::INTEGER[]) AS code)",
                [list(keys), list(codes)],
            )
            self._stored.add(name)

    def check_unchanged(self) -> None:
        """Files have the size and the time of writing that they had at first."""
        for path, state in self._files.items():
            if _state(path) != state:
                raise EngineError(
                    f"{path} changed while it was being read; try again when nobody writes to it."
                )

    def close(self) -> None:
        """Close the connection and remove the folder."""
        with contextlib.suppress(duckdb.Error):
            if not self._own:
                for name in list(self._stored):
                    self.drop(name)
            elif self._connection is not None:
                self._connection.close()
        if self._folder is not None:
            self._folder.remove()

    @property
    def _temporary(self) -> str:
        if self._own:
            return ""
        return "TEMPORARY "

    @contextlib.contextmanager
    def _translate_errors(self, done: str) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            raise self._complaint(error, done) from error

    def _complaint(self, error: Exception, done: str) -> Exception:
        if self.csv and re.search("CSV Error on Line|CSV Parser", str(error)):
            return InputError(csv_complaint(self.source, str(error), name_file=True))
        message = str(error).splitlines()[0]
        if isinstance(error, duckdb.ConversionException | duckdb.OutOfRangeException):
            return InputError(f"{self.source} holds a value that cannot be {done}: {message}")
        return EngineError(f"{self.source} could not be {done}: {message}")


def kind_of(type_name: str) -> str:
    """The kind of values that a DuckDB type holds; empty where it has none."""
    if type_name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"):
        return "integer"
    if type_name.startswith("U") and type_name[1:] in (
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "HUGEINT",
    ):
        return "integer"
    if type_name in ("FLOAT", "DOUBLE") or (
        type_name.startswith("DECIMAL") and "[" not in type_name
    ):
        return "real"
    if type_name.startswith("TIMESTAMP") and "[" not in type_name:
        return "datetime"
    # A column without a single value has a type of its own in a file, until a row has one.
    if type_name in ("VARCHAR", "UUID", '"NULL"') or (
        type_name.startswith("ENUM") and not type_name.endswith("]")
    ):
        return "text"
    return {"BOOLEAN": "boolean", "DATE": "date"}.get(type_name, "")


def _state(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return -1, -1  # it is gone
    return found.st_size, found.st_mtime_ns
