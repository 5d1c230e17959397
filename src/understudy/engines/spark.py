"""Spark: rows on a cluster. The executors code and group; the driver, where this runs, gets the
groups.

The coded copy is kept by the executors (``persist``). When one of them is lost, Spark works its
part out again, and gets the same codes: nothing in the query depends on chance, see
``rows.EngineRows``.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.engines import TEXTS_AT_A_TIME, EngineError
from understudy.engines.dialects import SPARK
from understudy.errors import InputError


class SparkEngine:
    """A Spark DataFrame.

    Parameters
    ----------
    frame
        The rows.
    source
        What to call them in messages.
    """

    dialect = SPARK
    csv = False
    most_groups = 1 << 21

    def __init__(self, frame: Any, source: str, *, own_session: bool = False) -> None:
        self.source = source
        self._session = frame.sparkSession
        self._own_session = own_session
        self._stored: dict[str, Any] = {}
        self._view = f"understudy_source_{id(self):x}"
        self.relation = self._view
        frame.createOrReplaceTempView(self._view)
        self.types = {name: (type_name, kind_of(type_name)) for name, type_name in frame.dtypes}

    def numbers(self, query: str, *, many: bool = False) -> list[NDArray[Any]]:
        """The columns of an answer that holds whole numbers only."""
        with self._translate_errors("counted"):
            found = self._session.sql(query).toArrow()
            return [np.asarray(column) for column in found.columns]

    def texts(self, query: str) -> Iterator[Sequence[tuple[str | None, ...]]]:
        """The rows of an answer that holds texts, some at a time."""
        with self._translate_errors("read"):
            rows = iter(self._session.sql(query).toLocalIterator())
            while batch := list(islice(rows, TEXTS_AT_A_TIME)):
                yield batch

    def keep(self, name: str, query: str) -> None:
        """Let the executors keep an answer."""
        from pyspark import StorageLevel

        with self._translate_errors("copied"):
            kept = self._session.sql(query).persist(StorageLevel.MEMORY_AND_DISK)
            kept.createOrReplaceTempView(name)
            self._stored[name] = kept
            kept.count()

    def drop(self, name: str) -> None:
        """Forget a stored answer."""
        kept = self._stored.pop(name)
        self._session.catalog.dropTempView(name)
        kept.unpersist()

    def lookup(self, name: str, keys: Sequence[Any], kind: str, codes: Sequence[int]) -> None:
        """Store keys with their codes."""
        with self._translate_errors("copied"):
            rows = list(zip(keys, codes, strict=True))
            kept = self._session.createDataFrame(rows, f"key {self.dialect.types[kind]}, code INT")
            kept.hint("broadcast").createOrReplaceTempView(name)
            self._stored[name] = kept

    def check_unchanged(self) -> None:
        """Spark cannot tell; that every grouping adds up to all rows is checked each time."""

    def close(self) -> None:
        """Forget everything stored; stop Spark, if it was started here."""
        with contextlib.suppress(Exception):  # a session that is gone has nothing left to forget
            for name in list(self._stored):
                self.drop(name)
            self._session.catalog.dropTempView(self._view)
            if self._own_session:
                self._session.stop()

    @contextlib.contextmanager
    def _translate_errors(self, done: str) -> Iterator[None]:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        try:
            yield
        except (PySparkException, Py4JError, OSError) as error:
            raise self._complaint(error, done) from error

    def _complaint(self, error: Exception, done: str) -> Exception:
        message = str(error)
        first = (message.strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        if "[CAST_" in message or "NUMERIC_VALUE_OUT_OF_RANGE" in message:
            return InputError(f"{self.source} holds a value that cannot be {done}: {first}.")
        return EngineError(f"{self.source} could not be {done} by Spark: {first}.")


def session(master: str | None = None) -> tuple[Any, bool]:
    """The Spark session that is there already, or a new one; whether it is new."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise InputError(
            "Spark needs a library that is not installed; install it with: pip install "
            "'understudy[spark]'"
        ) from error
    running = SparkSession.getActiveSession()
    if running is not None:
        if master not in (None, running.sparkContext.master):
            raise InputError(
                f"Spark runs here with another master than {master} already; stop that session "
                "first."
            )
        return running, False
    builder = SparkSession.builder.appName("understudy").config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    if master is None:
        # Executors on this machine use this Python, in which the library is installed.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    else:
        builder = builder.master(master)
    try:
        return builder.getOrCreate(), True
    except Exception as error:  # py4j has many ways to say that Java or the master is not there
        first = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise EngineError(f"Spark could not be started: {first}.") from error


def kind_of(type_name: str) -> str:
    """The kind of values that a Spark type holds; empty where it has none."""
    if type_name in ("tinyint", "smallint", "int", "bigint"):
        return "integer"
    if type_name in ("float", "double") or type_name.startswith("decimal("):
        return "real"
    if type_name == "string" or type_name.startswith(("string collate ", "varchar(", "char(")):
        return "text"
    return {
        "boolean": "boolean",
        "date": "date",
        "timestamp": "datetime",
        "timestamp_ntz": "datetime",
    }.get(type_name, "")
