"""CSV files before DuckDB reads them: their names and delimiter, and what is refused.

DuckDB is strict about most of what can be wrong with a CSV file, but lets some of it pass, and
takes the first line for names whatever it holds. Both are looked at here, in memory and for engines
alike.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import re
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from understudy.errors import InputError

MARKS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "-", ".")
"""Texts that stand for "missing" in columns of numbers and dates; the first is the empty cell."""

MAX_LINE = 10_000_000
"""Bytes of a line; a longer one is refused."""

_MAX_LINE_TEXT = f"{MAX_LINE // 1_000_000} MB"

_BLOCK = 1 << 20
_START = 1 << 20  # bytes that the first line must fit into


@dataclass(frozen=True, kw_only=True)
class CsvForm:
    """What the first line of a CSV file tells, and whether it holds names."""

    names: tuple[str, ...]
    delimiter: str
    header: bool


def csv_relation(
    files: Sequence[Path], *, compressed: bool, header: bool | None = None
) -> tuple[tuple[str, ...], str]:
    """The column names of CSV files, and what stands after FROM to read them as one table of texts.

    Parameters
    ----------
    files
        The files, which must all have the same first line, or as many columns where it holds no
        names.
    compressed
        Whether they are gzipped.
    header
        Whether the first line holds names; ``None``: it must, and is refused if it looks like a
        row.
    """
    forms = [read_form(path, compressed=compressed, header=header) for path in files]
    form = forms[0]
    for path, other in zip(files, forms, strict=True):
        if other != form:
            raise InputError(
                f"The tables {files[0]} and {path} do not have the same header; name them one by "
                f"one."
            )
        _check_lines(path, form, compressed=compressed)
    names = ", ".join(literal(plain_name(path)) for path in files)
    columns = "{" + ", ".join(f"{literal(name)}: 'VARCHAR'" for name in form.names) + "}"
    return form.names, (
        f"read_csv([{names}], header = {str(form.header).lower()}, auto_detect = false, "
        f"delim = {literal(form.delimiter)}, quote = '\"', escape = '\"', columns = {columns}, "
        f"strict_mode = true, null_padding = false, max_line_size = {MAX_LINE}, "
        f"compression = {literal('gzip' if compressed else 'none')})"
    )


def plain_name(path: Path) -> str:
    """A file's name that DuckDB takes for no pattern, no URL and no home folder."""
    return glob.escape(str(path.resolve()))


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def _bytes_of(path: Path, compressed: bool) -> Iterator[BinaryIO]:
    try:
        with gzip.open(path, "rb") if compressed else path.open("rb") as file:
            yield cast(BinaryIO, file)
    except (OSError, EOFError, zlib.error) as error:
        if not compressed:
            raise
        raise InputError(f"The table {path} cannot be unpacked; is it really gzipped?") from error


# --------------------------------------------------------------------------- the first line


def read_form(path: Path, *, compressed: bool, header: bool | None = None) -> CsvForm:
    """Names and delimiter, from the first line alone."""
    with _bytes_of(path, compressed) as file:
        start = file.read(_START)
    if b"\x00" in start:
        raise InputError(f"The table {path} is not a text file; is it really a CSV file?")
    whole = len(start) < _START
    if not whole and b"\n" not in start and b"\r" not in start:
        raise InputError(
            f"The table {path} has a first line of more than {_START >> 20} MB; is it really a "
            f"CSV file?"
        )
    try:
        # The last character may be cut in two: only errors before the end count.
        text = start.decode("utf-8-sig", errors="strict" if whole else "ignore")
    except UnicodeDecodeError as error:
        raise InputError(
            f"The table {path} is not UTF-8 text (byte {error.start} of the file); save it as "
            f"UTF-8 and try again."
        ) from error
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t|", key=lambda mark: (first.count(mark), mark == ","))
    try:
        names = next(csv.reader(io.StringIO(text), delimiter=delimiter), [])
    except csv.Error as error:
        raise InputError(
            f"The table {path} has a first line that cannot be read ({error}); check its quotes "
            f"and line ends."
        ) from error
    if header is False:
        if not names:
            raise InputError(f"The table {path} begins with an empty line; remove it.")
        names = [f"column_{place}" for place in range(1, len(names) + 1)]
    elif not any(name.strip() for name in names):
        raise InputError(f"The table {path} has no header; its first line must name the columns.")
    elif header is None:
        _refuse_data(names, path)
    check_names(names, path, "say --no-header if the first line is a row")
    return CsvForm(names=tuple(names), delimiter=delimiter, header=header is not False)


def check_names(names: Sequence[str], path: Path, otherwise: str = "") -> None:
    """Refuse names that are missing or do not tell columns apart."""
    if otherwise:
        otherwise = f", or {otherwise}"
    else:
        otherwise = ""
    for place, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(
                f"The table {path} has no name for column {place}; name every column in the "
                f"header{otherwise}."
            )
    lower: dict[str, str] = {}
    for name in names:
        if name.lower() in lower:
            twin = lower[name.lower()]
            alike = f" (like {twin!r}: upper and lower case do not tell columns apart)"
            raise InputError(
                f"The table {path} has two columns named {name!r}{alike if twin != name else ''}; "
                f"rename one of "
                f"them{otherwise}."
            )
        lower[name.lower()] = name


_DATA = {
    "a truth value": r"true|false|yes",
    "an e-mail address": r"[^@\s]+@[^@\s]+\.[^@\s]+",
    "a number": r"[-+]?[0-9.,]+e[-+]?[0-9]+|[<>]=?\s?[0-9].*|[-+]?(inf|infinity)",
    "a date": r"[0-9]{4}-[0-9]{2}-[0-9]{2}t[0-9:.]+(z|[-+][0-9:]+)?"
    r"|[0-9]{1,2}[-/. ]{1,2}[^\W\d_]{3,9}[-/., ]{1,2}[0-9]{2,4}",
    "an identifier": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
}


def _refuse_data(names: Sequence[str], path: Path) -> None:
    """Refuse a first line that looks like a row: its values would be published as names.

    The rule looks at the first line alone. In a file in order that line is the header, which is
    public, so no row decides whether the file is refused. Comparing it with the rows below would
    find more, but then what those hold would decide. The message gives the place and not the value:
    it may be a person's.
    """
    for place, name in enumerate(names, start=1):
        if what := _data_in(name.strip()):
            raise InputError(
                f"The table {path} seems to have no header: its first line has {what} where the "
                f"name of column {place} "
                f"should be, and names are published; say --no-header if that line is a row, "
                f"--header if it does hold "
                f"names (in Python header=False, header=True)."
            )


def _data_in(name: str) -> str:
    """What kind of value a name looks like; empty where it looks like a name."""
    if name and name in MARKS:
        return "a mark for a missing value"
    if any(c.isdigit() for c in name) and not any(c.isalpha() for c in name):
        return "a number or a date"  # or a telephone number, an interval, a time
    return next((what for what, p in _DATA.items() if re.fullmatch(p, name, re.IGNORECASE)), "")


# --------------------------------------------------------------------------- all lines


def _check_lines(path: Path, form: CsvForm, *, compressed: bool) -> None:
    """Refuse what DuckDB lets pass, or blames on quotes: NUL bytes, long lines, values too many.

    One pass over the bytes, which is fast; only where some line ends in a delimiter, a second one
    counts them.
    """
    mark = form.delimiter.encode()
    tails = [mark + tail for tail in (b"\n", b"\r\n", b'""\n', b'""\r\n')]
    line, length, before = 1, 0, b""
    quotes = empty_last = False
    with _bytes_of(path, compressed) as file:
        while block := file.read(_BLOCK):
            if (place := block.find(b"\x00")) >= 0:
                line += block.count(b"\n", 0, place)
                raise InputError(
                    f"The table {path}, line {line}, holds a NUL byte, which has no place in "
                    f"text; remove it, "
                    f"or write the file again."
                )
            first = block.find(b"\n")
            if first >= 0:
                length += first
            else:
                length += len(block)
            if length > MAX_LINE:
                raise InputError(
                    f"The table {path}, line {line}, is longer than {_MAX_LINE_TEXT}; shorten it."
                )
            if first >= 0:
                length = len(block) - block.rfind(b"\n") - 1
                line += block.count(b"\n")
            quotes = quotes or b'"' in block
            if not empty_last:
                seen = before + block  # a line may end where a block does
                empty_last = any(tail in seen for tail in tails)
            before = (before + block[-4:])[-4:]
    if empty_last or before.endswith((mark, mark + b'""')):
        _check_counts(path, form, compressed=compressed, quotes=quotes)


def _check_counts(path: Path, form: CsvForm, *, compressed: bool, quotes: bool) -> None:
    """Refuse a line with too many values: empty ones at its end DuckDB would drop."""
    columns, mark = len(form.names), form.delimiter.encode()
    with _bytes_of(path, compressed) as file:
        counts = _count_values(file, form.delimiter) if quotes else _count_marks(file, mark)
        with closing(counts):
            for number, values in counts:
                if values > columns:
                    raise InputError(_ragged(f"The table {path}, line {number},", values, columns))


Counts = Generator[tuple[int, int], None, None]


def _count_marks(file: BinaryIO, mark: bytes) -> Counts:
    """The number and the values of each line, where there are no quotes."""
    for number, line in enumerate(file, start=1):
        yield number, line.count(mark) + 1


def _count_values(file: BinaryIO, delimiter: str) -> Counts:
    """The last line and the number of values of each record, where there are quotes."""
    limit = csv.field_size_limit(MAX_LINE)
    # Every byte is a character of this encoding; delimiters and quotes are the same in UTF-8.
    text = io.TextIOWrapper(file, encoding="latin-1", newline="")
    try:
        records = csv.reader(text, delimiter=delimiter, skipinitialspace=True)
        for record in records:
            yield records.line_num, len(record)
    except csv.Error:
        return  # DuckDB says what is wrong
    finally:
        text.detach()  # the file is its opener's to close
        csv.field_size_limit(limit)


# --------------------------------------------------------------------------- complaints


def csv_complaint(source: str, message: str, *, name_file: bool = False) -> str:
    """What to say of a CSV file that DuckDB refused; by its name, if the source may hold several.

    DuckDB's message repeats private lines, and ours must not.
    """
    file = re.search(r"^  file = (.+)$", message, re.MULTILINE)
    if name_file and file:
        source = f"The table {file[1]}"
    line = re.search(r"CSV Error on Line: (\d+)", message)
    if line:
        where = f"{source}, line {line[1]},"
    else:
        where = source
    if re.search(r"^Maximum line size of", message, re.MULTILINE):
        return (
            f"{where} is longer than {_MAX_LINE_TEXT}; shorten it, or close the quote that was "
            f"left "
            f"open there."
        )
    if counts := re.search(r"^Expected Number of Columns: (\d+) Found: (\d+)", message, re.M):
        return _ragged(where, int(counts[2]), int(counts[1]))
    if re.search(r"^Invalid unicode", message, re.MULTILINE):
        return f"{where} is not UTF-8 text; save the file as UTF-8 and try again."
    if re.search(r"^Value with unterminated quote", message, re.MULTILINE):
        return f"{where} has a quoted value that is not closed properly; correct the quotes."
    if "state machine reached an invalid state" in message:
        return f"{where} cannot be read as CSV; make all its line ends alike, and check its quotes."
    return f"{where} cannot be read: {message.splitlines()[0]}"


def _ragged(where: str, values: int, columns: int) -> str:
    found = f"{values} value{'' if values == 1 else 's'}"
    return f"{where} has {found} where the first line has {columns} columns; correct that line."
