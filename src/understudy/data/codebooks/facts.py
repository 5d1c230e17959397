"""What codebooks say, in one form whatever their format."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from understudy.data.forms import ColumnFacts, Form
from understudy.data.generalisation import Value
from understudy.data.schema import MAX_ATTRIBUTES
from understudy.errors import InputError

_USUAL_ENCODINGS = (
    *("utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii"),
    *("iso-8859-1", "latin-1", "latin1", "cp1252", "windows-1252"),  # what is not UTF-8 is read so
)
QUANTITIES = ("integer", "real", "date", "time", "datetime")
WHOLE_DAY = "00:00:00", "23:59:59"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a codebook says of one column.

    Attributes
    ----------
    kind
        A kind of the schema, or ``None`` where the codebook does not tell.
    low, high
        The bounds as the codebook writes them.
    values, labels
        The values that can occur, and what they stand for, one label per value or none at all.
    missing
        Whether a cell may be empty, or how an empty one is marked; ``None`` where the codebook does
        not tell.
    format
        How dates are written, as for ``strftime``.
    """

    name: str
    kind: str | None = None
    low: Any = None
    high: Any = None
    values: tuple[Any, ...] = ()
    labels: tuple[str, ...] = ()
    ordered: bool = False
    missing: bool | str | None = None
    format: str | None = None
    decimals: int | None = None
    vocabulary: str | None = None

    def entry(self, *, use_labels: bool = False) -> ColumnFacts:
        """The column's entry in a schema, with ``None`` for what is open."""
        if self.vocabulary is not None:
            return self._with_missing({"kind": "categorical", "vocabulary": self.vocabulary})
        if self.kind in ("identifier", "text"):
            return {"kind": self.kind}
        values: Sequence[Any] = self.values
        if use_labels and self.labels:
            values = self.labels
        if values:
            return self._with_missing(self._category(values))
        if self.kind == "boolean":
            return self._with_missing({"kind": "boolean"})
        if self.kind == "categorical":
            return self._with_missing({"kind": "categorical", "values": None})
        if self.kind in QUANTITIES:
            return self._with_missing(self._quantity(self.kind))
        return {"kind": None}

    def _category(self, values: Sequence[Any]) -> ColumnFacts:
        plain = list(dict.fromkeys(plain_values(values)))
        if isinstance(self.missing, str):
            plain = [value for value in plain if str(value) != self.missing]
        entry: ColumnFacts = {"kind": "categorical", "values": plain}
        if self.kind == "boolean" and len(plain) == 2:
            entry["kind"] = "boolean"
        elif self.ordered:
            entry["ordered"] = True
        return entry

    def _quantity(self, kind: str) -> ColumnFacts:
        entry: ColumnFacts = {
            "kind": kind,
            "min": write_bound(kind, self.low, upper=False),
            "max": write_bound(kind, self.high, upper=True),
        }
        if kind == "time":
            entry["min"] = entry["min"] or WHOLE_DAY[0]
            entry["max"] = entry["max"] or WHOLE_DAY[1]
        if self.format is not None and kind in ("date", "time", "datetime"):
            entry["format"] = self.format
        if self.decimals is not None and kind == "real":
            entry["decimals"] = self.decimals
        return entry

    def _with_missing(self, entry: ColumnFacts) -> ColumnFacts:
        if self.missing is not None:
            entry["missing"] = self.missing
        return entry


@dataclass(frozen=True, kw_only=True)
class FileDialect:
    """How a codebook says that the table's file is written: what reading it needs to know."""

    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None

    def reading(self) -> dict[str, str]:
        """The options for reading the file, as far as it is unusual: the delimiter is told from the
        file's first line.
        """
        options = {}
        if self.quote is not None and self.quote != '"':
            options["quote"] = self.quote
        if self.encoding is not None and self.encoding.lower() not in _USUAL_ENCODINGS:
            options["encoding"] = self.encoding
        return options


@dataclass(frozen=True, kw_only=True)
class Codebook:
    """What a codebook says of a table.

    Attributes
    ----------
    form
        What it says of each column, and what it leaves open.
    dialect
        How it says that the table's file is written.
    notes
        Sentences on what was left aside.
    """

    form: Form
    format: str
    dialect: FileDialect = FileDialect()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a reader of one format found."""

    facts: Sequence[Facts]
    dialect: FileDialect = FileDialect()
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, kw_only=True)
class CodebookRequest:
    """What is wanted of a codebook: of which table, under which name in messages."""

    source: str
    table: str | None = None

    def bad(self, cause: str) -> InputError:
        """An error about the codebook."""
        return InputError(f"{self.source} {cause}.")

    def check_count(self, columns: int) -> None:
        """Refuse more columns than a schema can have, before any of them is made."""
        if columns > MAX_ATTRIBUTES:
            raise self.bad(
                f"describes {columns:,} columns; at most {MAX_ATTRIBUTES:,} can be modelled"
            )

    def pick(self, tables: Sequence[tuple[str, Any]], remedy: str) -> Any:
        """The table that is meant, of those that a codebook describes."""
        if len(tables) == 1:
            return tables[0][1]
        named = [found for name, found in tables if self.table and table_stem(name) == self.table]
        if len(named) == 1:
            return named[0]
        names = ", ".join(name for name, _ in tables[:10])
        raise self.bad(f"describes {len(tables)} tables ({names}); {remedy}")


def table_stem(name: str) -> str:
    """The name of a table without folders and suffix."""
    return name.replace("\\", "/").rsplit("/", 1)[-1].split(".", 1)[0].casefold()


def plain_values(values: Iterable[Any]) -> list[Value]:
    """Values as a schema holds them: all numbers, or all texts (long codes, for one)."""
    given = list(values)
    numbers = [v for v in given if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) == len(given) and all(abs(v) <= 2**53 for v in numbers):
        return [_plain_number(v) for v in given]
    return [_plain_text(v) for v in given]


def _plain_number(number: float) -> int | float:
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        return int(number)
    return number


def _plain_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def as_number(text: Any) -> int | float | None:
    """The number that a text is, or ``None``."""
    if isinstance(text, bool) or text is None:
        return None
    try:
        number = Decimal(str(text).strip())
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number) > Decimal("1e300"):
        return None
    if number == number.to_integral_value() and "." not in str(text) and "e" not in str(text):
        return int(number)
    return float(number)


def as_moment(text: Any) -> dt.datetime | None:
    """The point in time that a text is, by ISO 8601, or ``None``."""
    try:
        return dt.datetime.fromisoformat(str(text).strip()).replace(tzinfo=None)
    except ValueError:
        return None


def as_time(text: Any) -> dt.time | None:
    """The time of day that a text is, or ``None``."""
    try:
        return dt.time.fromisoformat(str(text).strip())
    except ValueError:
        return None


def write_bound(kind: str, given: Any, *, upper: bool) -> Any:
    """A bound as the schema writes it; ``None`` where it is none."""
    if kind == "time":
        time = as_time(given)
        if time is None or ":" not in str(given):
            return None
        return time.replace(microsecond=0, tzinfo=None).isoformat()
    if kind in ("date", "datetime"):
        moment = as_moment(given)
        if moment is None:
            return None
        if kind == "date":
            return moment.date().isoformat()
        if upper and len(str(given).strip()) == 10:
            moment = moment.replace(hour=23, minute=59, second=59)  # the whole of that day
        return moment.replace(microsecond=0).isoformat(sep=" ")
    number = as_number(given)
    if number is None:
        return None
    if kind == "integer":
        return math.floor(number) if upper else math.ceil(number)
    return _plain_number(number)


def next_value(kind: str | None, given: Any, *, upper: bool) -> Any:
    """A bound that is itself outside, as one that is inside: exact for whole numbers and dates.

    A real number keeps the bound: the end point more does no harm.
    """
    step = -1 if upper else 1
    number = as_number(given)
    if kind == "integer" and number is not None:
        if number == int(number):
            return int(number) + step
        return number
    moment = as_moment(given)
    if kind == "date" and moment is not None:
        return (moment.date() + dt.timedelta(days=step)).isoformat()
    if kind == "datetime" and moment is not None:
        return (moment + dt.timedelta(seconds=step)).isoformat(sep=" ")
    return given


def read_range(text: str) -> tuple[str, str] | None:
    """The two ends of ``0..120``, ``0 to 120``, ``[0, 120]`` or ``0-120``, or ``None``."""
    bare = text.strip()
    if bare[:1] + bare[-1:] == "[]":
        ends = bare[1:-1].split(",")
    else:
        ends = []
        for mark in ("..", " to ", "–", "-"):
            parts = bare.split(mark)
            if len(parts) == 2:
                ends = parts
                break
    if len(ends) != 2:
        return None
    low, high = (end.strip() for end in ends)
    if kind_of_range(low, high) is None:
        return None
    return low, high


def kind_of_range(low: str, high: str) -> str | None:
    """The kind that a range written like this has, or ``None`` where it is none."""
    numbers = as_number(low), as_number(high)
    if None not in numbers:
        if all(isinstance(number, int) for number in numbers):
            return "integer"
        return "real"
    if ":" in low and ":" in high and as_time(low) and as_time(high):
        return "time"
    if as_moment(low) is None or as_moment(high) is None:
        return None
    if len(low) == len(high) == 10:
        return "date"
    return "datetime"
