"""PostgreSQL: rows in a database.

Everything happens in one transaction that sees the table as it was at its start (REPEATABLE READ)
and is never committed: copies are temporary tables, which are gone with the connection, however it
ends.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.engines import TEXTS_AT_A_TIME, EngineError
from understudy.engines.dialects import POSTGRES
from understudy.errors import InputError

_KINDS = {
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "float4": "real",
    "float8": "real",
    "numeric": "real",
    "bool": "boolean",
    "date": "date",
    "timestamp": "datetime",
    "timestamptz": "datetime",
    "text": "text",
    "varchar": "text",
    "bpchar": "text",
    "name": "text",
    "uuid": "text",
}

_SETTINGS = (
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL DateStyle = 'ISO'",
    "SET LOCAL standard_conforming_strings = on",
    "SET LOCAL work_mem = '256MB'",
    "SET LOCAL jit = off",  # compiling takes longer than our many short queries
)


class PostgresEngine:
    """A table or view of a database.

    Parameters
    ----------
    parameters
        Where the database is, as libpq names it (host, port, dbname, user, ...). The password, if
        one is needed, comes from where libpq looks for it: PGPASSWORD, a password file, a service
        file.
    table
        The table's name, with or without its schema before a dot.
    source
        What to call it in messages.
    query
        What gives the rows, where they are not a table.
    """

    dialect = POSTGRES
    csv = False
    most_groups = 1 << 21

    def __init__(
        self, parameters: Mapping[str, str], table: str, source: str, *, query: str = ""
    ) -> None:
        self.source = source
        self._psycopg = driver()
        try:
            # Without a password at hand, libpq fails by itself: it never asks.
            self._connection = self._psycopg.connect(
                **parameters, application_name="understudy", client_encoding="UTF8"
            )
        except self._psycopg.Error as error:
            raise EngineError(f"{source} cannot be reached: {first_line(error)}.") from error
        try:
            self._connection.isolation_level = self._psycopg.IsolationLevel.REPEATABLE_READ
            with self._translate_errors("opened"):
                for setting in _SETTINGS:
                    self._connection.execute(setting)
                if table:
                    self.relation = self._find_table(table)
                else:
                    self.relation = f"({query}) AS source"
                self.types = self._types()
        except BaseException:
            self.close()
            raise

    def _find_table(self, table: str) -> str:
        """The table's full name: a temporary one of the same name must not come before it."""
        quoted = ".".join(self.dialect.quote_name(part) for part in table.split("."))
        found = self._connection.execute(
            "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = "
            "c.relnamespace WHERE c.oid = to_regclass(%s)",
            [quoted],
        ).fetchone()
        if found is None:
            raise InputError(
                f"{self.source}: there is no table {table!r} there; check its name and its schema."
            )
        return ".".join(self.dialect.quote_name(part) for part in found)

    def _types(self) -> Mapping[str, tuple[str, str]]:
        described = self._connection.execute(f"SELECT * FROM {self.relation} LIMIT 0").description
        types: dict[str, tuple[str, str]] = {}
        for column in described or ():
            found = self._connection.execute(
                "SELECT format_type(t.oid, NULL), COALESCE(b.typname, t.typname), "
                "COALESCE(b.typtype, t.typtype) FROM pg_type t LEFT JOIN pg_type b ON b.oid = "
                "t.typbasetype AND t.typtype = 'd' WHERE t.oid = %s",
                [column.type_code],
            ).fetchone()
            assert found is not None
            shown, base, sort = found
            types[column.name] = (shown, "text" if sort == "e" else _KINDS.get(base, ""))
        return types

    def numbers(self, query: str, *, many: bool = False) -> list[NDArray[Any]]:
        """The columns of an answer that holds whole numbers only, as the server sends them: in
        binary.
        """
        with self._translate_errors("counted"), self._connection.cursor() as cursor:
            with cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT binary)") as copy:
                data = b"".join(bytes(part) for part in copy)
            return _columns(data)

    def texts(self, query: str) -> Iterator[Sequence[tuple[str | None, ...]]]:
        """The rows of an answer that holds texts, some at a time."""
        with self._translate_errors("read"), self._connection.cursor(name="understudy") as cursor:
            cursor.execute(query)
            while batch := cursor.fetchmany(TEXTS_AT_A_TIME):
                yield batch

    def keep(self, name: str, query: str) -> None:
        """Store an answer in a temporary table."""
        with self._translate_errors("copied"):
            self._connection.execute(f"CREATE TEMPORARY TABLE {name} ON COMMIT DROP AS {query}")
            self._connection.execute(f"ANALYZE {name}")

    def drop(self, name: str) -> None:
        """Forget a stored answer."""
        with self._translate_errors("copied"):
            self._connection.execute(f"DROP TABLE {name}")

    def lookup(self, name: str, keys: Sequence[Any], kind: str, codes: Sequence[int]) -> None:
        """Store keys with their codes."""
        key_type = self.dialect.types[kind] + (
            f" COLLATE {self.dialect.collation}" if kind == "text" else ""
        )
        with self._translate_errors("copied"), self._connection.cursor() as cursor:
            cursor.execute(
                f"CREATE TEMPORARY TABLE {name} (key {key_type}, code INTEGER) ON COMMIT DROP"
            )
            with cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for key, code in zip(keys, codes, strict=True):
                    copy.write_row((key, code))
            cursor.execute(f"ANALYZE {name}")

    def check_unchanged(self) -> None:
        """The transaction sees the table as it was: nothing can change."""

    def close(self) -> None:
        """End the transaction, and with it everything stored."""
        with contextlib.suppress(self._psycopg.Error):
            self._connection.close()

    @contextlib.contextmanager
    def _translate_errors(self, done: str) -> Iterator[None]:
        try:
            yield
        except self._psycopg.Error as error:
            raise self._complaint(error, done) from error

    def _complaint(self, error: Any, done: str) -> Exception:
        errors = self._psycopg.errors
        if isinstance(error, errors.InsufficientPrivilege):
            return EngineError(
                f"{self.source} could not be {done}: {first_line(error)}; the user needs the right "
                "to SELECT from it, and to make TEMPORARY tables in the database."
            )
        if isinstance(error, errors.DataError):
            return InputError(
                f"{self.source} holds a value that cannot be {done}: {first_line(error)}."
            )
        if self._connection.closed or isinstance(error, errors.OperationalError):
            return EngineError(
                f"{self.source} could not be {done}, the database is gone or has no room: "
                f"{first_line(error)}."
            )
        return EngineError(f"{self.source} could not be {done}: {first_line(error)}.")


def driver() -> Any:
    """The library that talks to PostgreSQL."""
    try:
        import psycopg
    except ImportError as error:
        raise InputError(
            "PostgreSQL needs a library that is not installed; install it with: pip install "
            "'understudy[postgres]'"
        ) from error
    return psycopg


def _columns(data: bytes) -> list[NDArray[Any]]:
    """The columns of a binary COPY of integers that are all there: every row has the same
    length.
    """
    start = 19 + int.from_bytes(data[15:19], "big")
    fields = int.from_bytes(data[start : start + 2], "big", signed=True)
    if fields < 0:
        return []
    parts: list[tuple[str, str]] = [("fields", ">i2")]
    place = start + 2
    for field in range(fields):
        width = int.from_bytes(data[place : place + 4], "big", signed=True)
        parts += [(f"length{field}", ">i4"), (f"value{field}", f">i{width}")]
        place += 4 + width
    layout = np.dtype(parts)
    rows = (len(data) - start - 2) // layout.itemsize
    table = np.frombuffer(data, layout, rows, start)
    return [table[f"value{field}"].astype(np.int64) for field in range(fields)]


def first_line(error: Exception) -> str:
    """What an error says, in a line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
