"""Ways to write dates, times and datetimes: notations as for ``strftime``, read and written here.

Python's own ``strftime`` and ``strptime`` follow the locale and the platform (``%-d``), and read
"111" as a day and a month. Here, names of months are English, and a word is read only where it can
be meant one way.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

EPOCH = dt.datetime(1970, 1, 1)
"""Numbers count days or seconds since then."""

MAX_TIME_LENGTH = 100

_NAN = math.nan
_EPOCH_DAY = EPOCH.toordinal()
_DAY = 86400
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DEFAULTS = {"date": "%Y-%m-%d", "time": "%H:%M:%S", "datetime": "%Y-%m-%d %H:%M:%S"}
_SHORTHANDS = {"%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%R": "%H:%M", "%D": "%m/%d/%y"}
_DIRECTIVE = re.compile(r"%(?:[-^][A-Za-z]|3f|[A-Za-z%])|(?:Z|[-+][0-9]{2}:?[0-9]{2})$|[^%]")
# A data frame that mixes types holds points in time as objects, which come as ISO 8601.
_WHOLE_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")
_WHOLE_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PLAIN_TIME = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.[0-9]+)?)?")
_ZONE = r"(?:Z|z|[-+][0-9]{2}(?::?[0-9]{2})?)"


@dataclass(frozen=True)
class _Part:
    """What a directive stands for: the words that it takes."""

    field: str
    strict: str
    """A regular expression of how it is written."""
    lenient: str
    """One of all that can be meant by it."""
    alone: str = ""
    """One of what can be meant by it if no digit stands beside it."""


def _names(names: tuple[str, ...]) -> str:
    return "|".join(names)


def _short(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name[:3] for name in names)


def _upper(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.upper() for name in names)


_ANY_MONTH = _names(_MONTHS) + "|Sept|" + _names(_short(_MONTHS))
_ANY_WEEKDAY = _names(_WEEKDAYS) + "|" + _names(_short(_WEEKDAYS))
_PARTS = {
    "%Y": _Part("year", "[0-9]{4}", "[0-9]{4}"),
    "%y": _Part("short_year", "[0-9]{2}", "[0-9]{2}"),
    "%m": _Part("month", "0[1-9]|1[0-2]", "0[1-9]|1[0-2]", "0?[1-9]|1[0-2]"),
    "%-m": _Part("month", "[1-9]|1[0-2]", "0[1-9]|1[0-2]", "0?[1-9]|1[0-2]"),
    "%b": _Part("month_name", _names(_short(_MONTHS)), _ANY_MONTH),
    "%B": _Part("month_name", _names(_MONTHS), _ANY_MONTH),
    "%^b": _Part("month_name", _names(_upper(_short(_MONTHS))), _ANY_MONTH),
    "%^B": _Part("month_name", _names(_upper(_MONTHS)), _ANY_MONTH),
    "%d": _Part("day", "0[1-9]|[12][0-9]|3[01]", "[0-3][0-9]", "[0-3]?[0-9]"),
    "%-d": _Part("day", "[1-9]|[12][0-9]|3[01]", "[0-3][0-9]", "[0-3]?[0-9]"),
    "%j": _Part("day_of_year", "[0-3][0-9]{2}", "[0-3][0-9]{2}"),
    "%a": _Part("weekday", _names(_short(_WEEKDAYS)), _ANY_WEEKDAY),
    "%A": _Part("weekday", _names(_WEEKDAYS), _ANY_WEEKDAY),
    "%H": _Part("hour", "[01][0-9]|2[0-3]", "[01][0-9]|2[0-3]", "[01]?[0-9]|2[0-3]"),
    "%-H": _Part("hour", "1?[0-9]|2[0-3]", "[01][0-9]|2[0-3]", "[01]?[0-9]|2[0-3]"),
    "%I": _Part("half_hour", "0[1-9]|1[0-2]", "0[1-9]|1[0-2]", "0?[1-9]|1[0-2]"),
    "%-I": _Part("half_hour", "[1-9]|1[0-2]", "0[1-9]|1[0-2]", "0?[1-9]|1[0-2]"),
    "%p": _Part("half", "AM|PM", r"[AP]\.?M\.?"),
    "%P": _Part("half", "am|pm", r"[AP]\.?M\.?"),
    "%M": _Part("minute", "[0-5][0-9]", "[0-5][0-9]"),
    "%S": _Part("second", "[0-5][0-9]", "[0-5][0-9]"),
    "%f": _Part("fraction", "[0-9]{6}", "[0-9]{1,9}"),
    "%3f": _Part("fraction", "[0-9]{3}", "[0-9]{1,9}"),
    "%z": _Part("zone", r"Z|[-+][0-9]{2}:[0-9]{2}", _ZONE),
    "Z": _Part("zone", "Z", _ZONE),
}
_DIGITS = {"year", "short_year", "month", "day", "day_of_year", "hour", "half_hour"} | {
    "minute",
    "second",
    "fraction",
}
DIRECTIVES = tuple(name for name in _PARTS if name.startswith("%"))


class TimeNotation:
    """Reads and writes the dates, times or datetimes of one notation."""

    def __init__(self, kind: str, notation: str) -> None:
        self.kind = kind
        self.notation = notation
        written = notation or _DEFAULTS[kind]
        for short, long in _SHORTHANDS.items():
            written = written.replace(short, long)
        self.pieces = self._split(written)
        """Directives, and signs that stand for themselves."""
        self._check()
        self.pattern = self._join(strict=True)

    # Compiled when asked for: of the public list, a run needs few.

    @cached_property
    def _canonical(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def _readable(self) -> re.Pattern[str]:
        # ASCII: else a long s would match the s of August.
        return re.compile(self._join(strict=False), re.IGNORECASE | re.ASCII)

    def read(self, word: str) -> float:
        """Days since 1970, seconds since midnight or seconds since 1970; NaN where a word is not
        of this notation.
        """
        word = word.strip()
        try:
            if not self.notation:
                return self._read_plain(word)
            found = self._readable.fullmatch(word)
            if found is not None:
                return self._number(found.groupdict())
            if self.kind != "time" and self._is_iso(word):
                return self._since(dt.datetime.fromisoformat(word))
        except (ValueError, OverflowError):
            pass
        return _NAN

    def fits(self, word: str) -> bool:
        """Whether a word is written exactly this way, and in the calendar."""
        return self._canonical.fullmatch(word) is not None and not math.isnan(self.read(word))

    def read_exact(self, words: Sequence[str]) -> list[float]:
        """The numbers of words that are written exactly this way; NaN for the others."""
        fits, read = self._canonical.fullmatch, self.read
        return [read(word) if fits(word) is not None else _NAN for word in words]

    def write(self, number: float) -> str:
        """A number as a word."""
        days, seconds = self._days_and_seconds(int(number))
        day = dt.date.fromordinal(_EPOCH_DAY + days)
        return "".join(self._write_piece(piece, day, seconds) for piece in self.pieces)

    # ---- notation

    def _split(self, written: str) -> list[str]:
        pieces, place = [], 0
        while place < len(written):
            found = _DIRECTIVE.match(written, place)
            known = found is not None and (not found[0].startswith("%") or self._is_known(found[0]))
            if found is None or not known:
                raise self._bad(f"does not know {written[place : place + 2]!r}")
            pieces.append(found[0])
            place = found.end()
        return pieces

    @staticmethod
    def _is_known(piece: str) -> bool:
        return piece in _PARTS or piece == "%%"

    def _check(self) -> None:
        fields = [part.field for piece in self.pieces if (part := _part(piece))]
        has = set(fields)
        if len(self.notation) > MAX_TIME_LENGTH or not self.notation.isprintable():
            raise self._bad("is too long or holds what cannot be printed")
        if len(has) < len(fields):
            raise self._bad("says something twice")
        month = has & {"month", "month_name", "day_of_year"}
        if self.kind != "time" and not (has & {"year", "short_year"} and month):
            raise self._bad("needs a year and a month")
        if self.kind == "time" and not has & {"hour", "half_hour"}:
            raise self._bad("needs an hour")
        if ("half_hour" in has) != ("half" in has):
            raise self._bad("needs %p with %I")

    def _bad(self, cause: str) -> ValueError:
        return ValueError(
            f"the format {self.notation!r} {cause}; it must be as for strftime, such as "
            f'"%d/%m/%Y", with {" ".join(DIRECTIVES)}'
        )

    def _join(self, *, strict: bool) -> str:
        parts = []
        for place, piece in enumerate(self.pieces):
            part = _part(piece)
            if part is None:
                parts.append(_literal(piece, strict=strict))
            elif strict:
                parts.append(f"(?:{part.strict})")
            else:
                alone = part.alone and not self._beside_digits(place)
                parts.append(f"(?P<{part.field}>{part.alone if alone else part.lenient})")
        return "".join(parts)

    def _beside_digits(self, place: int) -> bool:
        return any(_ends_in_digit(piece) for piece in self.pieces[max(0, place - 1) : place]) or (
            any(_ends_in_digit(piece) for piece in self.pieces[place + 1 : place + 2])
        )

    # ---- reading

    def _is_iso(self, word: str) -> bool:
        """Whether a word is a point in time as data frames write it: a day alone at midnight."""
        if _WHOLE_DAY.fullmatch(word) is not None:
            return not self.notation.startswith(("%Y-%d", "%Y-%-d"))  # where it means another day
        return _WHOLE_MOMENT.match(word) is not None

    def _read_plain(self, word: str) -> float:
        if self.kind == "time":
            found = _PLAIN_TIME.fullmatch(word)
            if found is None:
                return _NAN
            hour, minute, second = (int(part or 0) for part in found.groups())
            return hour * 3600 + minute * 60 + second
        return self._since(dt.datetime.fromisoformat(word))

    def _since(self, moment: dt.datetime) -> float:
        days = moment.toordinal() - _EPOCH_DAY
        if self.kind == "date":
            return days
        return days * _DAY + moment.hour * 3600 + moment.minute * 60 + moment.second

    def _number(self, found: dict[str, str]) -> float:
        seconds = _seconds(found)
        if self.kind == "time":
            return seconds
        days = _days(found)
        if "zone" in found:
            seconds += self._offset - _offset(found["zone"])
            days, seconds = days + seconds // _DAY, seconds % _DAY
        if self.kind == "date":
            return days
        return days * _DAY + seconds

    @property
    def _offset(self) -> int:
        """The offset from UTC of what is written, in seconds."""
        if self.pieces[-1] == "%z" or _part(self.pieces[-1]) is None:
            return 0
        return _offset(self.pieces[-1])

    # ---- writing

    def _days_and_seconds(self, number: int) -> tuple[int, int]:
        if self.kind == "date":
            return number, 0
        if self.kind == "time":
            return 0, number % _DAY
        return number // _DAY, number % _DAY

    @staticmethod
    def _write_piece(piece: str, day: dt.date, seconds: int) -> str:
        if not piece.startswith("%"):
            return piece
        write = _WRITERS[piece]
        return write(day, seconds)


def _two(number: int) -> str:
    return f"{number:02d}"


def _half_hour(seconds: int) -> int:
    return (seconds // 3600 - 1) % 12 + 1


_WRITERS: dict[str, Callable[[dt.date, int], str]] = {
    "%%": lambda day, seconds: "%",
    "%Y": lambda day, seconds: f"{day.year:04d}",
    "%y": lambda day, seconds: _two(day.year % 100),
    "%m": lambda day, seconds: _two(day.month),
    "%-m": lambda day, seconds: str(day.month),
    "%b": lambda day, seconds: _MONTHS[day.month - 1][:3],
    "%B": lambda day, seconds: _MONTHS[day.month - 1],
    "%^b": lambda day, seconds: _MONTHS[day.month - 1][:3].upper(),
    "%^B": lambda day, seconds: _MONTHS[day.month - 1].upper(),
    "%d": lambda day, seconds: _two(day.day),
    "%-d": lambda day, seconds: str(day.day),
    "%j": lambda day, seconds: f"{day.toordinal() - dt.date(day.year, 1, 1).toordinal() + 1:03d}",
    "%a": lambda day, seconds: _WEEKDAYS[day.weekday()][:3],
    "%A": lambda day, seconds: _WEEKDAYS[day.weekday()],
    "%H": lambda day, seconds: _two(seconds // 3600),
    "%-H": lambda day, seconds: str(seconds // 3600),
    "%I": lambda day, seconds: _two(_half_hour(seconds)),
    "%-I": lambda day, seconds: str(_half_hour(seconds)),
    "%p": lambda day, seconds: "AM" if seconds < _DAY // 2 else "PM",
    "%P": lambda day, seconds: "am" if seconds < _DAY // 2 else "pm",
    "%M": lambda day, seconds: _two(seconds // 60 % 60),
    "%S": lambda day, seconds: _two(seconds % 60),
    "%f": lambda day, seconds: "000000",
    "%3f": lambda day, seconds: "000",
    "%z": lambda day, seconds: "+00:00",
}


def _part(piece: str) -> _Part | None:
    if len(piece) > 1 and piece[0] in "+-":
        return _Part("zone", re.escape(piece), _ZONE)
    return _PARTS.get(piece)


def _literal(piece: str, *, strict: bool) -> str:
    if piece == "%%":
        return "%"
    if piece.isspace() and not strict:
        return r"\s+"
    return re.escape(piece)


def _ends_in_digit(piece: str) -> bool:
    part = _part(piece)
    return piece.isdigit() or (part is not None and part.field in _DIGITS)


def _seconds(found: dict[str, str]) -> int:
    if "half_hour" in found:
        hour = int(found["half_hour"]) % 12 + 12 * (found["half"][0] in "pP")
    else:
        hour = int(found.get("hour", 0))
    return hour * 3600 + int(found.get("minute", 0)) * 60 + int(found.get("second", 0))


def _days(found: dict[str, str]) -> int:
    if "year" in found:
        year = int(found["year"])
    else:  # as POSIX has it
        year = int(found["short_year"])
        year += 2000 if year < 69 else 1900
    if "day_of_year" in found:
        first = dt.date(year, 1, 1)
        day = first + dt.timedelta(days=int(found["day_of_year"]) - 1)
        if day.year != year:
            raise ValueError("no such day")
        return day.toordinal() - _EPOCH_DAY
    if "month" in found:
        month = int(found["month"])
    else:
        month = _month(found["month_name"])
    return dt.date(year, month, int(found.get("day", 1))).toordinal() - _EPOCH_DAY


_MONTH_NUMBERS = {name[:3].lower(): number for number, name in enumerate(_MONTHS, start=1)}


def _month(name: str) -> int:
    return _MONTH_NUMBERS[name[:3].lower()]


@lru_cache(maxsize=256)
def _offset(zone: str) -> int:
    if zone in "zZ":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
    if hours > 23 or minutes > 59:
        raise ValueError("no such offset")
    seconds = hours * 3600 + minutes * 60
    return -seconds if zone[0] == "-" else seconds
