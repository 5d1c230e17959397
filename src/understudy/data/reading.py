"""Files to tables in memory, strictly read by one reader for all kinds of files.

DuckDB does the reading of CSV and Parquet. A file of the wrong shape (ragged rows, two columns of
one name) is refused with a sentence; what kind of values a CSV column holds is told from all of its
values, never from a sample.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from understudy.data.columns import Column, Table
from understudy.data.csv_files import check_names, csv_complaint, csv_relation, plain_name
from understudy.data.encodings import as_utf8
from understudy.data.files import existing_file
from understudy.data.kinds import CASTS, DistinctAsker, csv_format, csv_kinds, csv_number
from understudy.data.missing_marks import write_marked_columns
from understudy.data.other_files import READERS, read_arrow
from understudy.data.read_options import Reading, ReadOptions
from understudy.data.sql import first_line, literal, new_engine, quote_name
from understudy.data.writing import SUFFIXES, table_suffix
from understudy.errors import InputError
from understudy.machine.late import LateModule

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = LateModule("duckdb")


ARROW_SUFFIXES = (".feather", ".arrow", ".ipc")
READ_SUFFIXES = (*SUFFIXES, *READERS, *ARROW_SUFFIXES)
"""Of tables that can be read."""

MAX_WORDS_BY_PLACE = 64
"""A column of up to this many words is read by their places in a list: of a Parquet file, DuckDB
then looks up its dictionary alone, not every row.
"""

Notify = Callable[[str], None]


def _say_nothing(_: str) -> None:
    pass


def read_table(
    path: str | Path,
    skip: Collection[str] = (),
    *,
    notify: Notify = _say_nothing,
    **reading: Unpack[Reading],
) -> Table:
    """Read a file, by its suffix: CSV (``.csv.gz`` too), Parquet, Excel, SQLite, Stata, SPSS,
    Feather or JSON lines.

    Parameters
    ----------
    path
        The file. The delimiter of a CSV file (comma, semicolon, tab or bar) is told from its first
        line.
    skip
        Columns whose values are not needed (identifiers, text): they are present, but stay unread.
    notify
        Told, for the owner's eyes, in which encoding a file was read that is not UTF-8.
    reading
        What the owner says about the file: ``header``, ``encoding``, ``quote``, ``missing_marks``
        and ``table_name``; see :class:`understudy.data.read_options.ReadOptions`.
    """
    options = ReadOptions(**reading)
    path = existing_file(path, "table")
    table_suffix(path, READ_SUFFIXES)
    if path.stat().st_size == 0:
        raise InputError(f"The table {path} is empty; it needs a header and rows.")
    with (
        # by default DuckDB would spill rows into the working folder
        tempfile.TemporaryDirectory() as spill,
        closing(new_engine(preserve_insertion_order="true", temp_directory=spill)) as engine,
    ):
        loader = _Loader(engine, path, options, notify, Path(spill))
        kinds = loader.load()
        rows = _one(engine, "SELECT count(*) FROM raw")
        with loader.name_unreadable():
            columns = _fetch_columns(engine, kinds, skip, rows)
        if any(len(column.values) != rows for column in columns.values()):
            raise InputError(f"The table {path} was changed while it was read; read it again.")
        return Table(columns, f"The table {path}")


class _Loader:
    """Makes a table ``raw`` out of a file."""

    def __init__(
        self, engine: Any, path: Path, options: ReadOptions, notify: Notify, folder: Path
    ) -> None:
        self.engine = engine
        self.path = path
        self.options = options
        self.notify = notify
        self.folder = folder

    def load(self) -> dict[str, str | None]:
        """The names of the columns with their kinds; None for texts whose kind is to be told from
        all of them.
        """
        suffix = table_suffix(self.path, READ_SUFFIXES)
        if suffix == ".parquet":
            # Columns are read one by one: texts would take far more memory in a table of DuckDB's.
            return self._load_typed(parquet_relation([self.path]), "VIEW")
        if suffix in ARROW_SUFFIXES:
            self.engine.register("arrow_table", read_arrow(self.path))
            return self._load_typed("arrow_table", "TABLE")
        if suffix in READERS:
            return self._load_texts(READERS[suffix](self.path, self.options))
        return self._load_csv(compressed=suffix.endswith(".gz"))

    @contextmanager
    def name_unreadable(self) -> Iterator[None]:
        """Say of a file with types that it cannot be read."""
        try:
            yield
        except duckdb.Error as error:
            what = "Feather"
            if table_suffix(self.path, READ_SUFFIXES) == ".parquet":
                what = "Parquet"
            raise InputError(
                f"The table {self.path} cannot be read as {what} ({first_line(error)}); is it "
                f"damaged, or something else?"
            ) from error

    def _load_typed(self, relation: str, keep: str) -> dict[str, str | None]:
        with self.name_unreadable():
            described = self.engine.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
            check_names([row[0] for row in described], self.path)
            kinds = {row[0]: kind_of_type(row[1]) for row in described}
            self._keep(kinds, relation, keep)
        return {**kinds}

    def _load_texts(self, texts: Mapping[str, list[str | None]]) -> dict[str, str | None]:
        arrays = {f"c{i}": np.array(cells, dtype=object) for i, cells in enumerate(texts.values())}
        self.engine.register("texts", arrays)
        named = ", ".join(f"CAST(c{i} AS VARCHAR) AS {quote_name(n)}" for i, n in enumerate(texts))
        self._keep(dict.fromkeys(texts, "text"), f"(SELECT {named} FROM texts)")
        return dict.fromkeys(texts)

    def _load_csv(self, *, compressed: bool) -> dict[str, str | None]:
        options = self.options
        readable = as_utf8(
            [self.path], compressed=compressed, encoding=options.encoding, folder=self.folder
        )
        names, relation = csv_relation(
            readable.files, compressed=compressed, options=options, originals=[self.path]
        )
        try:
            self._keep(dict.fromkeys(names, "text"), relation)
        except duckdb.Error as error:
            raise InputError(csv_complaint(f"The table {self.path}", str(error))) from error
        for note in readable.notes:
            self.notify(note)
        return dict.fromkeys(names)

    def _keep(self, kinds: Mapping[str, str], relation: str, keep: str = "TABLE") -> None:
        columns = write_marked_columns(kinds, self.options.missing_marks)
        self.engine.execute(f"CREATE {keep} raw AS SELECT {columns} FROM {relation}")


def kind_of_type(sql_type: str) -> str:
    """The kind of a column of a type of DuckDB's."""
    if re.fullmatch(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?", sql_type):
        return "integer"
    if sql_type in ("FLOAT", "DOUBLE") or sql_type.startswith("DECIMAL"):
        return "real"
    if sql_type.startswith("TIMESTAMP"):
        return "datetime"
    return {"BOOLEAN": "boolean", "DATE": "date"}.get(sql_type, "text")


def parquet_relation(files: Collection[Path]) -> str:
    """What stands after FROM to read Parquet files as one table; ``name=value`` in folder names is
    no column.
    """
    names = ", ".join(literal(plain_name(path)) for path in files)
    return f"read_parquet([{names}], hive_partitioning = false)"


# --------------------------------------------------------------------------- columns


def _fetch_columns(
    engine: Any, kinds: Mapping[str, str | None], skip: Collection[str], rows: int
) -> dict[str, Column]:
    untold = [name for name in kinds if not kinds[name] and name not in skip]
    told = csv_kinds(asking(engine), "raw", untold)
    columns: dict[str, Column] = {}
    for name, kind in kinds.items():
        if name in skip:
            columns[name] = Column("text", np.zeros(rows, dtype=np.uint8), ("",))
        elif kind:
            columns[name] = _fetch(engine, name, kind)
        else:
            columns[name] = _fetch_csv(engine, name, told[name])
    return columns


def _fetch_csv(engine: Any, column: str, kind: str) -> Column:
    """A column of a CSV file: its texts, and what they look like taken together."""
    raw = _fetch_text(engine, quote_name(column))
    if kind in ("text", "empty"):
        return raw
    return replace(_fetch(engine, column, kind, from_text=True), raw=raw)


def _fetch(engine: Any, column: str, kind: str, from_text: bool = False) -> Column:
    name = quote_name(column)
    if kind == "text":
        return _fetch_text(engine, name, MAX_WORDS_BY_PLACE)
    if from_text:
        number, mark = csv_number(column, kind)
    else:
        if kind == "real":
            absent = f"{name} IS NULL OR isnan({name})"
        else:
            absent = f"{name} IS NULL"
        mark = f"CASE WHEN {absent} THEN 1 ELSE 0 END"
        number = CASTS[kind].format(v=f"CASE WHEN {mark} = 0 THEN {name} END")
    if kind == "boolean":
        zero = "false"
    else:
        zero = "0"
    cast = f"coalesce({number}, {zero})"
    try:
        fetched = engine.execute(
            f"SELECT {cast} AS v, CAST({mark} AS UTINYINT) AS m FROM raw"
        ).fetchnumpy()
    except duckdb.DataError as error:
        if kind == "integer":  # too large for a whole number here; as a text it still is one
            return _fetch_text(engine, name)
        raise InputError(
            f"The column {column!r} holds numbers too large to be read: {first_line(error)}"
        ) from error
    missing = fetched["m"]
    form = ""
    if from_text and kind == "datetime":
        form = csv_format(asking(engine), "raw", [column])[column]
    return Column(kind, fetched["v"], missing=missing if missing.any() else None, format=form)


def _fetch_text(engine: Any, name: str, max_listed: int = 0) -> Column:
    value = f"nullif(CAST({name} AS VARCHAR), '')"
    engine.execute("DROP TYPE IF EXISTS words")
    engine.execute(
        f"CREATE TYPE words AS ENUM (SELECT DISTINCT {value} AS v FROM raw WHERE {value} IS NOT "
        "NULL ORDER BY v)"
    )
    words = tuple(_one(engine, "SELECT enum_range(CAST(NULL AS words))"))
    if not words:
        count = _one(engine, "SELECT count(*) FROM raw")
        return Column(
            "empty", np.zeros(count, dtype=np.int64), missing=np.ones(count, dtype=np.uint8)
        )
    if len(words) <= max_listed:
        listed = f"list_position(CAST(enum_range(CAST(NULL AS words)) AS VARCHAR[]), {value})"
        places = engine.execute(
            f"SELECT CAST(coalesce({listed}, 0) AS UTINYINT) AS v FROM raw"
        ).fetchnumpy()["v"]
        absent = places == 0
        if not absent.any():
            return Column("text", places - 1, words)
        return Column("text", places - ~absent, words, absent.astype(np.uint8))
    fetched = engine.execute(
        f"SELECT coalesce(enum_code(CAST({value} AS words)), 0) AS v, "
        f"CAST(CASE WHEN {value} IS NULL THEN 1 ELSE 0 END AS UTINYINT) AS m FROM raw"
    ).fetchnumpy()
    missing = fetched["m"]
    return Column("text", fetched["v"], words, missing if missing.any() else None)


def asking(engine: Any) -> DistinctAsker:
    """Puts queries to DuckDB whose answer is one row."""
    return lambda query: engine.execute(query).fetchone()


def _one(engine: Any, query: str) -> Any:
    return engine.execute(query).fetchone()[0]
