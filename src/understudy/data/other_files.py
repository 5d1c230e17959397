"""Workbooks, databases and files of statistics packages, as columns of texts.

Their cells are written as a CSV file would have them, so that they are read by the same rules: a
number in a sheet may be a text two rows below. What needs a library says which extra brings it.
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from understudy.data.csv_files import check_names, read_names
from understudy.data.read_options import ReadOptions
from understudy.data.sql import quote_name
from understudy.errors import InputError

Texts = dict[str, list[str | None]]
"""By the name of each column, its cells; None where there is nothing."""


def read_workbook(path: Path, options: ReadOptions) -> Texts:
    """A sheet of an Excel or OpenDocument workbook; its first row holds the names."""
    calamine = _library("python_calamine", "Excel", path)
    try:
        with calamine.CalamineWorkbook.from_path(str(path)) as book:
            name = _choose(path, "sheet", book.sheet_names, options)
            rows = book.get_sheet_by_name(name).to_python()
    except (calamine.CalamineError, OSError) as error:
        raise _make_damage_error(path, "a workbook", error) from error
    if not rows:
        raise InputError(f"The table {path} is empty; it needs a header and rows.")
    names = read_names([_text(cell) or "" for cell in rows[0]], path, options)
    body = rows if options.header is False else rows[1:]
    # Rows without any cell are what a sheet has below its end, or between two parts.
    filled = [row for row in body if any(cell not in ("", None) for cell in row)]
    return _by_column(names, filled)


def read_sqlite(path: Path, options: ReadOptions) -> Texts:
    """A table or view of an SQLite database."""
    import sqlite3

    address = f"{path.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            found = database.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                "AND name NOT LIKE 'sqlite_%' ORDER BY name"
            ).fetchall()
            name = _choose(path, "table", [row[0] for row in found], options)
            cursor = database.execute(f"SELECT * FROM {quote_name(name)}")
            names = [column[0] for column in cursor.description]
            check_names(names, path)
            return _by_column(names, cursor.fetchall())
    except sqlite3.Error as error:
        raise _make_damage_error(path, "an SQLite database", error) from error


def read_json_lines(path: Path, options: ReadOptions) -> Texts:
    """One JSON object per line; the keys of the first are the columns.

    Other keys of later lines are not read: whether there is a column must not depend on one row. A
    line that is no object is a row without values.
    """
    packed = path.name.lower().endswith(".gz")
    encoding = options.encoding or "utf-8-sig"
    opener: Callable[..., Any] = gzip.open if packed else open
    with opener(path, "rt", encoding=encoding, errors="replace") as file:
        lines = (line for line in file if line.strip())
        first = _json_object(next(lines, ""))
        if not first:
            raise InputError(
                f"The table {path} does not begin with a JSON object such as "
                '{"age": 30}; is it really one object per line?'
            )
        names = list(first)
        check_names(names, path)
        objects = [first, *map(_json_object, lines)]
    return _by_column(names, ([row.get(name) for name in names] for row in objects))


def read_statistics(path: Path, options: ReadOptions) -> Texts:
    """A Stata or SPSS file; codes stay codes, and labels of values are not read."""
    pyreadstat = _library("pyreadstat", "Stata and SPSS", path)
    read = pyreadstat.read_dta if path.suffix.lower() == ".dta" else pyreadstat.read_sav
    try:
        columns, _ = read(str(path), output_format="dict", encoding=options.encoding)
    except (pyreadstat.ReadstatError, OSError, ValueError) as error:
        raise _make_damage_error(path, "a Stata or SPSS file", error) from error
    check_names(list(columns), path)
    return {name: _texts(cells) for name, cells in columns.items()}


READERS: Mapping[str, Callable[[Path, ReadOptions], Texts]] = {
    ".xlsx": read_workbook,
    ".xlsm": read_workbook,
    ".xlsb": read_workbook,
    ".xls": read_workbook,
    ".ods": read_workbook,
    ".sqlite": read_sqlite,
    ".sqlite3": read_sqlite,
    ".db": read_sqlite,
    ".dta": read_statistics,
    ".sav": read_statistics,
    ".zsav": read_statistics,
    ".jsonl": read_json_lines,
    ".jsonl.gz": read_json_lines,
    ".ndjson": read_json_lines,
}


def read_arrow(path: Path) -> Any:
    """A Feather or Arrow IPC file, as an Arrow table."""
    feather = _library("pyarrow.feather", "Feather", path, extra="frames")
    try:
        return feather.read_table(str(path))
    except (ValueError, OSError) as error:  # Arrow's own errors are of these classes
        raise _make_damage_error(path, "a Feather file", error) from error


# --------------------------------------------------------------------------- cells


def _by_column(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Texts:
    """The cells of rows, which may be shorter than the names are many."""
    columns: list[list[Any]] = [[] for _ in names]
    for row in rows:
        for place, cells in enumerate(columns):
            cells.append(row[place] if place < len(row) else None)
    return {name: _texts(cells) for name, cells in zip(names, columns, strict=True)}


def _texts(cells: Iterable[Any]) -> list[str | None]:
    written: dict[tuple[type, Any], str | None] = {}

    def text_of(cell: Any) -> str | None:
        if isinstance(cell, str):
            return cell or None
        key = (type(cell), cell)
        try:
            if key not in written:
                written[key] = _text(cell)
            return written[key]
        except TypeError:  # a list or an object has no key
            return _text(cell)

    return [text_of(cell) for cell in cells]


def _text(cell: Any) -> str | None:
    """A cell as a CSV file has it."""
    if hasattr(cell, "item"):  # of NumPy
        cell = cell.item()
    if cell is None or cell == "":
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return _number(cell)
    if isinstance(cell, dt.datetime):
        return cell.replace(tzinfo=None).isoformat(sep=" ")
    if isinstance(cell, dt.date | dt.time):
        return cell.isoformat()
    if isinstance(cell, bytes):
        return cell.hex()
    if isinstance(cell, dict | list):
        return json.dumps(cell, ensure_ascii=False)
    return str(cell).replace("\x00", "")


def _number(cell: float) -> str | None:
    if math.isnan(cell):
        return None
    if math.isinf(cell):
        return "1e999" if cell > 0 else "-1e999"
    if cell == int(cell) and abs(cell) < 2**63:
        return str(int(cell))
    return repr(cell)


def _json_object(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


# --------------------------------------------------------------------------- parts


def _choose(path: Path, what: str, names: Sequence[str], options: ReadOptions) -> str:
    """The one that the owner names, or the only one."""
    wanted = options.table_name
    if wanted is None and len(names) == 1:
        return names[0]
    listed = ", ".join(repr(name) for name in names[:20]) or "none"
    if wanted is None:
        raise InputError(
            f"The table {path} holds several, or no, {what}s ({listed}); say which by "
            f"--table-name (in Python table_name=)."
        )
    if wanted not in names:
        raise InputError(f"The table {path} has no {what} {wanted!r}; it has {listed}.")
    return wanted


def _library(module: str, what: str, path: Path, extra: str = "files") -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(
            f"The table {path} needs a library that is not installed; {what} files are read with "
            f'pip install "understudy[{extra}]".'
        ) from None


def _make_damage_error(path: Path, what: str, error: Exception) -> InputError:
    first = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    return InputError(f"The table {path} cannot be read as {what} ({first}); is it damaged?")
