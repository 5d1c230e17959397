"""The hub's one database: SQLite in a file, or PostgreSQL where that is outgrown.

One writer at a time. On SQLite a writing transaction begins with BEGIN IMMEDIATE; on PostgreSQL it
first locks the row that holds the head of the trail. So what a transaction reads (a budget, a
state, the head) stays true until it commits, there are no deadlocks, and nothing needs to be tried
twice. Readers wait for nobody.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from understudy.errors import InputError
from understudy.hub import migrations, tables
from understudy.hub.errors import Unavailable

WRITER_WAIT_SECONDS = 30
"""How long a writer waits for the others before it gives up."""

IDLE_SECONDS = 60
"""After how long PostgreSQL ends a transaction whose client says nothing more."""

_WRITES = "understudy_writes"

Clock = Callable[[], dt.datetime]


def read_clock() -> dt.datetime:
    """The time now, in UTC."""
    return dt.datetime.now(dt.UTC)


@dataclass(frozen=True, kw_only=True)
class Transaction:
    """What the services work on: one transaction, its moment, and the key of the trail."""

    connection: sa.Connection
    now: dt.datetime
    trail_key: bytes = field(repr=False)
    writes: bool

    def execute(
        self,
        statement: sa.Executable,
        values: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    ) -> sa.CursorResult[Any]:
        """Run a statement."""
        result = self.connection.execute(statement, values)
        assert isinstance(result, sa.CursorResult)
        return result

    def first(self, statement: sa.Executable) -> sa.RowMapping | None:
        """The first row, or none."""
        return self.execute(statement).mappings().first()

    def rows(self, statement: sa.Executable) -> Sequence[sa.RowMapping]:
        """All rows."""
        return self.execute(statement).mappings().all()

    def value(self, statement: sa.Executable) -> Any:
        """The first column of the first row, or none."""
        return self.execute(statement).scalar()


class Database:
    """A database, opened.

    Parameters
    ----------
    url
        A path or ``sqlite:///`` URL of a file, or a ``postgresql://`` URL.
    trail_key
        The secret that chains the trail.
    clock
        Where the time comes from.
    """

    def __init__(self, url: str | Path, *, trail_key: bytes, clock: Clock = read_clock) -> None:
        if len(trail_key) < 16:
            raise InputError("The key of the trail must have at least 16 bytes.")
        self.url = read_url(url)
        self.clock = clock
        self._trail_key = trail_key
        self._writing = threading.Lock()
        self._thread = threading.local()
        self.engine = _make_engine(self.url)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of SQLite's."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def path(self) -> Path | None:
        """The file of SQLite's, if it is one."""
        return Path(str(self.url.database)).resolve() if self.is_sqlite else None

    def migrate(self) -> None:
        """Bring the tables to today's layout, from nothing or from an earlier one."""
        with self._speaking(), self.engine.connect() as connection:
            connection = connection.execution_options(**{_WRITES: True})
            with connection.begin():
                migrations.upgrade(connection)

    @contextlib.contextmanager
    def transaction(self, *, alone: bool = True) -> Iterator[Transaction]:
        """A transaction that writes; all of it happens, or nothing.

        Parameters
        ----------
        alone
            Whether it keeps other writers out, as everything must that touches a budget, a state or
            the trail. False is for bulk that touches none of these (reports of a survey).
        """
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._forbid_nesting())
            if self.is_sqlite:
                stack.enter_context(self._take_turns())
            stack.enter_context(self._speaking())
            connection = stack.enter_context(self.engine.connect())
            connection = connection.execution_options(**{_WRITES: True})
            stack.enter_context(connection.begin())
            if alone and not self.is_sqlite:
                head = tables.trail_head
                connection.execute(sa.select(head.c.id).where(head.c.id == 1).with_for_update())
            yield self._start(connection, writes=True)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction that reads; it waits for no writer."""
        with self._speaking(), self.engine.connect() as connection, connection.begin():
            if not self.is_sqlite:
                connection.execute(sa.text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
                connection.execute(sa.text("SET TRANSACTION READ ONLY"))
            yield self._start(connection, writes=False)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _start(self, connection: sa.Connection, *, writes: bool) -> Transaction:
        return Transaction(
            connection=connection, now=self.clock(), trail_key=self._trail_key, writes=writes
        )

    @contextlib.contextmanager
    def _forbid_nesting(self) -> Iterator[None]:
        """One thread, one writing transaction: a second would wait for the first for ever."""
        if getattr(self._thread, "writes", False):
            raise AssertionError("a writing transaction inside another")
        self._thread.writes = True
        try:
            yield
        finally:
            self._thread.writes = False

    @contextlib.contextmanager
    def _take_turns(self) -> Iterator[None]:
        """Threads wait here for each other; processes poll at the file's own lock."""
        if not self._writing.acquire(timeout=WRITER_WAIT_SECONDS):
            raise Unavailable(_BUSY)
        try:
            yield
        finally:
            self._writing.release()

    @contextlib.contextmanager
    def _speaking(self) -> Iterator[None]:
        """Errors of the database as one sentence, without its statements and values."""
        try:
            yield
        except sa.exc.IntegrityError:
            raise
        except (sa.exc.DataError, UnicodeEncodeError) as error:
            raise InputError(
                "A text holds a character that cannot be stored, such as a null character; remove "
                "it. Nothing was changed."
            ) from error
        except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError) as error:
            raise Unavailable(_explain(error)) from error
        except sa.exc.DBAPIError as error:
            if not error.connection_invalidated:
                raise
            raise Unavailable(_explain(error)) from error


def read_url(url: str | Path) -> URL:
    """The database that a path or a URL names."""
    text = str(url)
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text)))
    try:
        made = make_url(text)
    except sa.exc.ArgumentError:
        raise InputError("The database's URL cannot be read; see the operators' page.") from None
    backend = made.get_backend_name()
    if backend == "sqlite" and made.database not in (None, "", ":memory:"):
        return made
    if backend in ("postgresql", "postgres"):
        return made.set(drivername="postgresql+psycopg")
    raise InputError("The database must be a file of SQLite's or a postgresql:// URL.")


def _make_engine(url: URL) -> sa.Engine:
    if url.get_backend_name() == "sqlite":
        engine = sa.create_engine(
            url,
            connect_args={"timeout": WRITER_WAIT_SECONDS, "check_same_thread": False},
            pool_size=16,
        )
        sa.event.listen(engine, "connect", _set_up_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        return engine
    try:
        engine = sa.create_engine(url, pool_pre_ping=True, pool_size=8, max_overflow=12)
    except ModuleNotFoundError:
        raise InputError(
            'PostgreSQL needs a driver; install it with: pip install "understudy[hub,postgres]"'
        ) from None
    sa.event.listen(engine, "connect", _set_up_postgres)
    return engine


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say, not where the driver does
    for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _set_up_postgres(connection: Any, _: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{WRITER_WAIT_SECONDS}s'")
        cursor.execute(f"SET idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'")
    connection.commit()


_BUSY = "The hub's database is busy, and nothing was changed; send the same form again."


def _explain(error: Exception) -> str:
    cause = str(getattr(error, "orig", None) or error).lower()
    if "full" in cause or "no space" in cause:
        return (
            "The disk of the hub's database is full, and nothing was changed; its operator must "
            "make room."
        )
    if "locked" in cause or "lock timeout" in cause or "locknotavailable" in cause:
        return _BUSY
    return (
        "The hub's database does not answer; send the same form again, it counts once however "
        "often it is sent."
    )
