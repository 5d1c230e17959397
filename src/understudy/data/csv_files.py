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

from understudy.data.read_options import ReadOptions
from understudy.data.sql import literal
from understudy.errors import InputError

_SIGNS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "-", ".")
MARKS = (
    *_SIGNS,
    *("n/a", "na", "N.A.", "n.a.", "#N/A", "#NA", "<NA>", "NAN", "Null", "none", "NONE", "nil"),
    *("--", "---", "..", "...", "*", "_", "unknown", "Unknown", "UNKNOWN"),
    *("missing", "Missing", "MISSING", "not available", "Not available", "(null)", "#NULL!"),
)
"""Texts that stand for "missing" in columns of numbers and dates; the first is the empty cell."""

DEFAULT_READING = ReadOptions()

MAX_ROW_BYTES = 10_000_000
"""Bytes of a line; a longer one is refused."""

_MAX_LINE_TEXT = f"{MAX_ROW_BYTES // 1_000_000} MB"

_BLOCK = 1 << 20
_START = 1 << 20  # bytes that the first line must fit into


@dataclass(frozen=True, kw_only=True)
class CsvForm:
    """What the first line of a CSV file tells, and whether it holds names."""

    names: tuple[str, ...]
    delimiter: str
    header: bool
    quote: str = '"'


def csv_relation(
    files: Sequence[Path],
    *,
    compressed: bool,
    options: ReadOptions = DEFAULT_READING,
    originals: Sequence[Path] = (),
) -> tuple[tuple[str, ...], str]:
    """The column names of CSV files, and what stands after FROM to read them as one table of texts.

    Parameters
    ----------
    files
        The files, in UTF-8, which must all have the same first line, or as many columns where it
        holds no names.
    compressed
        Whether they are gzipped.
    options
        What their owner says about them.
    originals
        The files that these are copies of, for messages.
    """
    originals = originals or files
    forms = [
        read_form(path, compressed=compressed, options=options, original=original)
        for path, original in zip(files, originals, strict=True)
    ]
    form = forms[0]
    for path, original, other in zip(files, originals, forms, strict=True):
        if other != form:
            raise InputError(
                f"The tables {originals[0]} and {original} do not have the same header; name them "
                f"one by one."
            )
        _check_lines(path, form, compressed=compressed, original=original)
    names = ", ".join(literal(plain_name(path)) for path in files)
    columns = "{" + ", ".join(f"{literal(name)}: 'VARCHAR'" for name in form.names) + "}"
    quote = literal(form.quote)
    return form.names, (
        f"read_csv([{names}], header = {str(form.header).lower()}, auto_detect = false, delim = "
        f"{literal(form.delimiter)}, quote = {quote}, escape = {quote}, columns = {columns}, "
        f"strict_mode = true, null_padding = false, max_line_size = {MAX_ROW_BYTES}, compression = "
        f"{literal('gzip' if compressed else 'none')})"
    )


def plain_name(path: Path) -> str:
    """A file's name that DuckDB takes for no pattern, no URL and no home folder."""
    return glob.escape(str(path.absolute()))


@contextmanager
def bytes_of(path: Path, compressed: bool) -> Iterator[BinaryIO]:
    """A file's bytes, unpacked."""
    try:
        with gzip.open(path, "rb") if compressed else path.open("rb") as file:
            yield cast(BinaryIO, file)
    except (OSError, EOFError, zlib.error) as error:
        if not compressed:
            raise
        raise InputError(f"The table {path} cannot be unpacked; is it really gzipped?") from error


# --------------------------------------------------------------------------- the first line


def read_form(
    path: Path,
    *,
    compressed: bool,
    options: ReadOptions = DEFAULT_READING,
    original: Path | None = None,
) -> CsvForm:
    """Names and delimiter, from the first line alone."""
    original = original or path
    with bytes_of(path, compressed) as file:
        start = file.read(_START)
    if b"\x00" in start:
        raise InputError(
            f"The table {original} is not a text file; is it really a CSV file, and not UTF-16 "
            f"(--encoding utf-16-le)?"
        )
    whole = len(start) < _START
    if not whole and b"\n" not in start and b"\r" not in start:
        raise InputError(
            f"The table {original} has a first line of more than {_START >> 20} MB; is it really a "
            f"CSV file?"
        )
    # The last character may be cut in two.
    text = start.decode("utf-8-sig", errors="ignore")
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t|", key=lambda mark: (first.count(mark), mark == ","))
    try:
        lines = csv.reader(io.StringIO(text), delimiter=delimiter, quotechar=options.quote)
        names = next(lines, [])
    except csv.Error as error:
        raise InputError(
            f"The table {original} has a first line that cannot be read ({error}); check its "
            f"quotes and line ends."
        ) from error
    names = read_names(names, original, options)
    return CsvForm(
        names=tuple(names),
        delimiter=delimiter,
        header=options.header is not False,
        quote=options.quote,
    )


def read_names(first: Sequence[str], path: Path, options: ReadOptions) -> list[str]:
    """The names of the columns, given the values of the first line."""
    names = list(first)
    if options.header is False:
        if not names:
            raise InputError(f"The table {path} begins with an empty line; remove it.")
        names = [f"column_{place}" for place in range(1, len(names) + 1)]
    elif not any(name.strip() for name in names):
        raise InputError(f"The table {path} has no header; its first line must name the columns.")
    elif options.header is None:
        _refuse_data(names, path)
    check_names(names, path, "say --no-header if the first line is a row")
    return names


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
                f"rename one of them{otherwise}."
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
                f"name of column {place} should be, and names are published; say --no-header if "
                "that line is a row, --header if it does hold names (in Python header=False, "
                "header=True)."
            )


def _data_in(name: str) -> str:
    """What kind of value a name looks like; empty where it looks like a name."""
    if name and name in _SIGNS:  # "unknown" may well be a name
        return "a mark for a missing value"
    if any(c.isdigit() for c in name) and not any(c.isalpha() for c in name):
        return "a number or a date"  # or a telephone number, an interval, a time
    return next((what for what, p in _DATA.items() if re.fullmatch(p, name, re.IGNORECASE)), "")


# --------------------------------------------------------------------------- all lines


def _check_lines(path: Path, form: CsvForm, *, compressed: bool, original: Path) -> None:
    """Refuse what DuckDB lets pass, or blames on quotes: NUL bytes, long lines, values too many.

    One pass over the bytes, which is fast; only where some line ends in a delimiter, a second one
    counts them.
    """
    mark, quote = form.delimiter.encode(), form.quote.encode()
    tails = [mark + tail for tail in (b"\n", b"\r\n", quote * 2 + b"\n", quote * 2 + b"\r\n")]
    line, length, before = 1, 0, b""
    quotes = empty_last = False
    with bytes_of(path, compressed) as file:
        while block := file.read(_BLOCK):
            if (place := block.find(b"\x00")) >= 0:
                line += block.count(b"\n", 0, place)
                raise InputError(
                    f"The table {original}, line {line}, holds a NUL byte, which has no place in "
                    "text; remove it, or write the file again."
                )
            first = block.find(b"\n")
            if first >= 0:
                length += first
            else:
                length += len(block)
            if length > MAX_ROW_BYTES:
                raise InputError(
                    f"The table {original}, line {line}, is longer than {_MAX_LINE_TEXT}; shorten "
                    f"it."
                )
            if first >= 0:
                length = len(block) - block.rfind(b"\n") - 1
                line += block.count(b"\n")
            quotes = quotes or quote in block
            if not empty_last:
                seen = before + block  # a line may end where a block does
                empty_last = any(tail in seen for tail in tails)
            before = (before + block[-4:])[-4:]
    if empty_last or before.endswith((mark, mark + quote * 2)):
        _check_counts(path, form, compressed=compressed, quotes=quotes, original=original)


def _check_counts(
    path: Path, form: CsvForm, *, compressed: bool, quotes: bool, original: Path
) -> None:
    """Refuse a line with too many values: empty ones at its end DuckDB would drop."""
    columns, mark = len(form.names), form.delimiter.encode()
    with bytes_of(path, compressed) as file:
        counts = _count_values(file, form) if quotes else _count_marks(file, mark)
        with closing(counts):
            for number, values in counts:
                if values > columns:
                    where = f"The table {original}, line {number},"
                    raise InputError(_describe_ragged(where, values, columns))


FieldCounter = Generator[tuple[int, int], None, None]


def _count_marks(file: BinaryIO, mark: bytes) -> FieldCounter:
    """The number and the values of each line, where there are no quotes."""
    for number, line in enumerate(file, start=1):
        yield number, line.count(mark) + 1


def _count_values(file: BinaryIO, form: CsvForm) -> FieldCounter:
    """The last line and the number of values of each record, where there are quotes."""
    limit = csv.field_size_limit(MAX_ROW_BYTES)
    # Every byte is a character of this encoding; delimiters and quotes are the same in UTF-8.
    text = io.TextIOWrapper(file, encoding="latin-1", newline="")
    try:
        records = csv.reader(
            text, delimiter=form.delimiter, quotechar=form.quote, skipinitialspace=True
        )
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
            "left open there."
        )
    if counts := re.search(r"^Expected Number of Columns: (\d+) Found: (\d+)", message, re.M):
        return _describe_ragged(where, int(counts[2]), int(counts[1]))
    if re.search(r"^Invalid unicode", message, re.MULTILINE):
        return f"{where} is not UTF-8 text; save the file as UTF-8 and try again."
    if re.search(r"^Value with unterminated quote", message, re.MULTILINE):
        return f"{where} has a quoted value that is not closed properly; correct the quotes."
    if "state machine reached an invalid state" in message:
        return f"{where} cannot be read as CSV; make all its line ends alike, and check its quotes."
    return f"{where} cannot be read: {message.splitlines()[0]}"


def _describe_ragged(where: str, values: int, columns: int) -> str:
    found = f"{values} value{'' if values == 1 else 's'}"
    return f"{where} has {found} where the first line has {columns} columns; correct that line."
