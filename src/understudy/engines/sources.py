"""From what a user names to rows: in memory, or inside the engine that holds them."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Unpack

from understudy.data.csv_files import csv_relation
from understudy.data.encodings import as_utf8
from understudy.data.files import show_name
from understudy.data.frames import Frame, Library, as_table
from understudy.data.read_options import Reading, ReadOptions
from understudy.data.tables import READ_SUFFIXES, SUFFIXES, Table, parquet_relation, table_suffix
from understudy.engines import EngineError
from understudy.engines.duckdb import DuckDBEngine
from understudy.engines.folders import PrivateFolder
from understudy.engines.marks import hide_marks
from understudy.engines.rows import EngineTable
from understudy.engines.urls import Place, is_url, place_of
from understudy.errors import InputError
from understudy.machine.resources import engine_settings, memory_left

ENGINES = ("memory", "duckdb", "spark")

_ROWS_AT_A_TIME = 1 << 17
_BYTES_PER_CELL = 24  # of a Parquet file: the value, its copy while reading, where it is missing
_BYTES_PER_BYTE = {".csv": 5, ".tsv": 5, ".csv.gz": 30, ".tsv.gz": 30}


@contextmanager
def open_rows(
    frame: Frame,
    engine: str | None = None,
    notify: Callable[[str], None] | None = None,
    *,
    skip: Sequence[str] = (),
    **reading: Unpack[Reading],
) -> Iterator[tuple[Table | EngineTable, Library]]:
    """The rows of whatever the user names, and whose frame it was; what was opened is closed at the
    end.

    Parameters
    ----------
    frame
        A frame, an ibis table expression, a URL, or the name of a file, of a folder of files, or a
        pattern of names.
    engine
        For files, who counts: "memory", "duckdb" or "spark"; by default memory where they fit into
        it, else duckdb.
    notify
        Told, for the owner's eyes, when rows are copied to this machine, and in which encoding.
    skip
        Columns of a file that are not read into memory.
    reading
        What the owner says about the files; see
        :class:`understudy.data.read_options.ReadOptions`.
    """
    if engine is not None and engine not in ENGINES:
        raise InputError(f"There is no engine {engine!r}; known are {', '.join(ENGINES)}.")
    notify = notify or (lambda _: None)
    options = ReadOptions(**reading)
    found, library = _engine_of(frame, engine, notify, options)
    if found is None:
        yield as_table(frame, skip, notify=notify, **reading)
        return
    try:
        if options.missing_marks:
            hide_marks(found, options.missing_marks)
        yield EngineTable(found), library
    finally:
        found.close()


def read_into_memory(name: str, engine: str | None = None) -> bool:
    """Whether what a user names is one file that memory is the place for (or that whoever reads it
    will refuse).
    """
    if is_url(name) or engine in ("duckdb", "spark"):
        return False
    path = Path(name)
    if path.is_dir() or (not path.exists() and set("*?[") & set(name)):
        return False
    return engine == "memory" or not path.exists() or _fits(path)


def _engine_of(
    frame: Frame, engine: str | None, notify: Callable[[str], None], options: ReadOptions
) -> tuple[Any, Library]:
    if isinstance(frame, str) and is_url(frame):
        place = place_of(frame)
        return (_spark_table if place.scheme == "spark" else _postgres_table)(place), "table"
    if isinstance(frame, str | Path):
        return _files(frame, engine, notify, options), "table"
    if engine in ("duckdb", "spark"):
        raise InputError(f"The engine {engine} is for files; a frame is counted where it is.")
    module = type(frame).__module__
    if module.startswith("pyspark.sql"):
        from understudy.engines.spark import SparkEngine

        return SparkEngine(frame, "The Spark frame"), "table"
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(frame, polars.LazyFrame):
        return _lazy_frame(frame), "polars"
    if module.startswith("ibis.") and hasattr(frame, "compile"):
        return _ibis(frame, notify), "table"
    return None, "table"


# --------------------------------------------------------------------------- URLs


def _postgres_table(place: Place) -> Any:
    from understudy.engines.postgres import PostgresEngine

    return PostgresEngine(place.parameters(), place.table, f"The table {place.table} at {place}")


def _spark_table(place: Place) -> Any:
    return _spark(
        lambda running: running.table(place.table),
        f"The table {place.table} at {place}",
        str(place),
    )


def _spark(read: Callable[[Any], Any], source: str, master: str | None = None) -> Any:
    """What Spark reads, by a session that is there already or a new one."""
    from understudy.engines.spark import SparkEngine, session

    running, new = session(master)
    try:
        return SparkEngine(read(running), source, own_session=new)
    except Exception as error:
        if new:
            running.stop()
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"{source} cannot be opened: {first}") from error


# --------------------------------------------------------------------------- files


def _files(
    frame: str | Path, engine: str | None, notify: Callable[[str], None], options: ReadOptions
) -> Any:
    """The engine for files, or None where memory is the place for them."""
    name, path = str(frame), Path(frame)
    if read_into_memory(name, engine):
        return None
    if engine == "memory":
        raise InputError(
            f"{show_name(name)} names several files; the engine memory reads one, use duckdb or "
            "spark."
        )
    if path.is_file():
        files = [path]
    else:
        files = sorted(
            Path(found) for found in (_inside(path) if path.is_dir() else glob.glob(name))
        )
        if not files:
            raise InputError(
                f"There is no table at {show_name(name)}: no file there ends in "
                f"{', '.join(SUFFIXES)}."
            )
    _refuse_small(files)
    if engine == "spark":
        return _spark_files(files, f"The table {name}")
    if _one_suffix(files) == ".parquet":
        return DuckDBEngine(
            parquet_relation(files), f"The table {name}", files=[path.resolve() for path in files]
        )
    return _csv_files(files, f"The table {name}", notify, options)


def _csv_files(
    files: Sequence[Path], source: str, notify: Callable[[str], None], options: ReadOptions
) -> Any:
    """CSV files, or UTF-8 copies of them in the engine's own folder."""
    compressed = _one_suffix(files).endswith(".gz")
    folder = PrivateFolder()
    try:
        copies = folder.path / "utf-8"
        copies.mkdir()
        readable = as_utf8(files, compressed=compressed, encoding=options.encoding, folder=copies)
        _, relation = csv_relation(
            readable.files, compressed=compressed, options=options, originals=files
        )
        for note in readable.notes:
            notify(note)
    except BaseException:
        folder.remove()
        raise
    return DuckDBEngine(
        relation, source, files=[path.resolve() for path in files], folder=folder, csv=True
    )


def _refuse_small(files: Sequence[Path]) -> None:
    """Workbooks and the like are read into memory only."""
    for path in files:
        suffix = table_suffix(path, READ_SUFFIXES)
        if suffix not in SUFFIXES:
            raise InputError(
                f"{show_name(path)} is read into memory, and one at a time: name one {suffix} file "
                f"and leave out the engine, or store the table as Parquet."
            )


def _inside(folder: Path) -> list[str]:
    return [
        str(path)
        for path in folder.rglob("*")
        if path.is_file()
        and path.name.lower().endswith(SUFFIXES)
        and not path.name.startswith((".", "_"))
    ]


def _one_suffix(files: Sequence[Path]) -> str:
    suffixes = {table_suffix(path) for path in files}
    if len(suffixes) > 1:
        raise InputError(
            f"{files[0].parent} holds files of several kinds ({', '.join(sorted(suffixes))}); name "
            "one."
        )
    return suffixes.pop()


def _fits(path: Path) -> bool:
    """Whether a file can be read into half of the memory that is free, by a cautious estimate."""
    suffix = table_suffix(path, READ_SUFFIXES)
    if suffix not in SUFFIXES:
        return True
    if suffix == ".parquet":
        import duckdb

        try:
            with duckdb.connect(
                config=engine_settings()
            ) as engine:  # never the connection that all of the process share
                found = engine.execute(
                    "SELECT sum(num_values) FROM parquet_metadata(?)",
                    [glob.escape(str(path.absolute()))],
                ).fetchone()
        except duckdb.Error:
            return True  # whoever reads it says what is wrong with it
        needed = _BYTES_PER_CELL * int((found or [0])[0] or 0)
    else:
        needed = _BYTES_PER_BYTE[suffix] * path.stat().st_size
    return needed <= free_memory() // 2


def free_memory() -> int:
    """Bytes of memory that are free and that this process may take."""
    left = memory_left()
    if left is None:
        return _system_memory()
    return min(left, _system_memory())


def _system_memory() -> int:
    """Bytes of memory that are free, or all of it where the system does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 4 << 30


def _spark_files(files: Sequence[Path], source: str) -> Any:
    if _one_suffix(files) != ".parquet":
        # Spark makes rows of whatever a CSV file holds: a cell with line breaks may become many
        # rows.
        raise InputError(
            f"{source} is CSV, which Spark reads otherwise than we do; store it as Parquet, or use "
            "the engine duckdb."
        )
    names = [str(path.resolve()) for path in files]
    for name in names:
        # Spark would read it as a pattern, and the files that match twice.
        if set("*?[]{}\\") & set(name):
            raise InputError(
                f"Spark takes the name of {name} for a pattern; rename the file or its folder."
            )
    return _spark(lambda running: running.read.parquet(*names), source)


# --------------------------------------------------------------------------- frames


def _lazy_frame(frame: Any, source: str = "The frame") -> Any:
    """A polars LazyFrame goes to a private file first, a part at a time."""
    return _copy_rows(frame.sink_parquet, source)


def _copy_rows(write: Callable[[Path], None], source: str) -> Any:
    """Rows that are written to a private Parquet file, to be counted there."""
    folder = PrivateFolder()
    try:
        write(folder.path / "rows.parquet")
    except BaseException:
        folder.remove()
        raise
    return DuckDBEngine(parquet_relation([folder.path / "rows.parquet"]), source, folder=folder)


def _ibis(expression: Any, notify: Callable[[str], None]) -> Any:
    """An ibis table expression is asked of the engine that it belongs to, or copied out of it."""
    backend = expression.get_backend()
    if backend.name not in ("duckdb", "pyspark", "postgres"):
        notify(
            "The rows of the ibis table are copied into a private folder of this machine and "
            "removed at the end: "
            f"{backend.name} cannot count them where they are."
        )
        if backend.name == "polars":  # its batches are cut from a whole table in memory
            return _lazy_frame(backend.compile(expression), "The ibis table")
        return _copy_rows(
            lambda path: _write_batches(expression, backend.name, path), "The ibis table"
        )
    query = str(backend.compile(expression))
    if backend.name == "duckdb":
        return DuckDBEngine(f"({query}) AS source", "The ibis table", connection=backend.con)
    if backend.name == "pyspark":
        from understudy.engines.spark import SparkEngine

        return SparkEngine(backend._session.sql(query), "The ibis table")
    from understudy.engines.postgres import PostgresEngine

    known = backend.con.info
    parameters = known.get_parameters() | ({"password": known.password} if known.password else {})
    return PostgresEngine(parameters, "", "The ibis table", query=query)


def _write_batches(expression: Any, backend: str, path: Path) -> None:
    """Write the rows of an ibis table to a Parquet file, never more of them in memory than the
    backend hands out.
    """
    import pyarrow.parquet

    try:
        with (
            expression.to_pyarrow_batches(chunk_size=_ROWS_AT_A_TIME) as batches,
            pyarrow.parquet.ParquetWriter(path, batches.schema) as file,
        ):
            for batch in batches:
                file.write_batch(batch)
    except Exception as error:  # every backend has classes of errors of its own
        first = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise EngineError(f"The ibis table could not be copied from {backend}: {first}.") from error
