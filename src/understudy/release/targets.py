"""Synthetic rows back into a database or a cluster: drawing from a model needs no privacy, so it is
done anywhere.
"""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from understudy.data.tables import write_plain_csv
from understudy.engines import EngineError
from understudy.engines.dialects import POSTGRES, SPARK
from understudy.engines.postgres import driver, first_line
from understudy.engines.urls import Place, place_of
from understudy.errors import InputError
from understudy.models.model import Model


def check_target(url: str) -> None:
    """Refuse a URL that cannot be written to, before anything is spent."""
    place = place_of(url)
    if place.scheme == "postgresql":
        with _connect(place) as connection:
            _refuse_existing(connection, place)


def write_to(
    model: Model,
    url: str,
    rows: int | None = None,
    seed: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Draw rows into a new table of a database or a cluster; returns how many.

    Parameters
    ----------
    model
        What to draw from.
    url
        ``postgresql://user@host/database?table=NAME`` or ``spark://host:port?table=NAME``; the
        table must not exist.
    rows, seed
        As for :meth:`Model.sample`; the rows are the same wherever they are drawn.
    progress
        Called with the number of rows that were written since the last time.
    """
    place = place_of(url)
    if place.scheme == "spark":
        return _to_spark(model, place, rows, seed)
    return _to_postgres(model, place, rows, seed, progress)


# --------------------------------------------------------------------------- PostgreSQL


def _to_postgres(
    model: Model,
    place: Place,
    rows: int | None,
    seed: int | None,
    progress: Callable[[int], None] | None,
) -> int:
    """All in one transaction: the table appears when it is complete, or not at all."""
    quoted = _quote(place.table)
    written = 0
    with _connect(place) as connection, tempfile.TemporaryDirectory() as folder:
        _refuse_existing(connection, place)
        part = Path(folder) / "rows.csv"
        for chunk in model.chunks(rows, seed):
            if not written:
                columns = ", ".join(
                    f"{POSTGRES.quote_name(name)} {POSTGRES.types[column.kind]}"
                    for name, column in chunk.columns.items()
                )
                connection.execute(f"CREATE TABLE {quoted} ({columns})")
            write_plain_csv(part, chunk)
            with (
                connection.cursor().copy(f"COPY {quoted} FROM STDIN (FORMAT csv)") as copy,
                part.open("rb") as file,
            ):
                while block := file.read(1 << 20):
                    copy.write(block)
            written += chunk.rows
            if progress is not None:
                progress(chunk.rows)
        connection.commit()
    return written


@contextlib.contextmanager
def _connect(place: Place) -> Iterator[Any]:
    psycopg = driver()
    try:
        with contextlib.closing(
            psycopg.connect(
                **place.parameters(), application_name="understudy", client_encoding="UTF8"
            )
        ) as connection:
            yield connection
    except psycopg.Error as error:
        raise EngineError(f"The rows cannot be written to {place}: {first_line(error)}.") from error


def _refuse_existing(connection: Any, place: Place) -> None:
    found = connection.execute("SELECT to_regclass(%s)", [_quote(place.table)]).fetchone()
    if found[0] is not None:
        raise InputError(
            f"There is a table {place.table} at {place} already; drop it, or name another."
        )


def _quote(table: str) -> str:
    return ".".join(POSTGRES.quote_name(part) for part in table.split("."))


# --------------------------------------------------------------------------- Spark


def _to_spark(model: Model, place: Place, rows: int | None, seed: int | None) -> int:
    """The executors draw: each takes chunks by their numbers, so that the rows do not depend on who
    draws which.
    """
    from understudy.engines.spark import session

    running, new = session(str(place))
    try:
        if running.catalog.tableExists(place.table):
            raise InputError(
                f"There is a table {place.table} at {place} already; drop it, or name another."
            )
        frame = spark_frame(model, running, rows, seed)
        try:
            frame.write.saveAsTable(place.table)
            return int(running.table(place.table).count())
        except Exception as error:  # what goes wrong on a cluster comes in many classes
            raise EngineError(
                f"The rows cannot be written to {place}: {first_line(error)}."
            ) from error
    finally:
        if new:
            running.stop()


def spark_frame(
    model: Model, session: Any, rows: int | None = None, seed: int | None = None
) -> Any:
    """Synthetic rows as a Spark DataFrame, drawn by the executors when they are needed.

    Spark may draw a part again when it loses it, or when the frame is used twice: a seed is chosen
    here if none is given, so that it gets the same rows.
    """
    if seed is None:
        seed = secrets.randbits(63)
    document = model.to_dict()
    first = next(iter(model.chunks(0, seed)))
    types = ", ".join(
        f"{SPARK.quote_name(name)} {SPARK.types[column.kind]}"
        for name, column in first.columns.items()
    )
    count = model.chunk_count(rows)

    def draw_batches(batches: Iterator[Any]) -> Iterator[Any]:
        from understudy.data.frames import to_pandas
        from understudy.models.model import Model

        here = Model.from_dict(document)
        for batch in batches:
            for number in batch["id"].tolist():
                for chunk in here.chunks(rows, seed, first=number, last=number + 1):
                    yield to_pandas(chunk)

    return session.range(0, count, 1, numPartitions=count).mapInPandas(draw_batches, types)
