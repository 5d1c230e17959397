"""How numbers, dates and times are written: public ways to read a cell and to write one.

A :class:`Format` is a kind and a *notation*, the text that stands under ``"format"`` in a schema.
The notation of a number shows how 1234.5 or 12.5 would be written: ``"1,234.50"``,
``"1.234,50 €"``, ``"$1,234"``, ``"12.5%"`` (see :mod:`understudy.data.number_formats`). That of a
date or a time is as for ``strftime``: ``"%d/%m/%Y"`` (see :mod:`understudy.data.time_formats`). No
notation means plain numbers and ISO 8601.

What a cell means depends on that cell and the format alone. Which of several formats a column has
is a question about private rows: discovery pays for it, and chooses among :data:`CANDIDATES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.limits import LimitedNotation, has_limits
from understudy.data.number_formats import NumberNotation
from understudy.data.time_formats import TimeNotation

FORMATTED_KINDS = ("integer", "real", "date", "time", "datetime")
"""Kinds whose cells have a format."""


@dataclass(frozen=True)
class Format:
    """A way to write the numbers, dates or times of a column.

    Parameters
    ----------
    kind
        "integer", "real", "date" (days since 1970), "time" (seconds since midnight) or "datetime"
        (seconds since 1970).
    notation
        As it stands under "format" in a schema; empty for plain numbers and ISO 8601.

    Examples
    --------
    >>> price = Format("real", "1.234,50 €")
    >>> price.read(["1.234,50 €", "99 €", "n/a"])
    array([1234.5,   99. ,    nan])
    >>> price.write([1234.5, -3])
    ['1.234,50 €', '-3,00 €']
    >>> Format("date", "%d/%m/%Y").read(["31/12/1970", "12/31/1970"])
    array([364.,  nan])
    """

    kind: str
    notation: str = ""

    def __post_init__(self) -> None:
        if self.kind not in FORMATTED_KINDS:
            raise ValueError(
                f"the kind {self.kind!r} has no format; use one of {', '.join(FORMATTED_KINDS)}"
            )
        _notation(self.kind, self.notation)

    @property
    def name(self) -> str:
        """The kind and the notation, for people."""
        return f"{self.kind} {self.notation}".strip()

    @cached_property
    def pattern(self) -> str:
        """A regular expression of the words that :meth:`fits` takes (some of them may be no days of
        the calendar).
        """
        return self._notation.pattern

    @property
    def places(self) -> int | None:
        """How many digits after the point the notation shows; ``None`` where it shows none."""
        if isinstance(self._notation, NumberNotation | LimitedNotation):
            return self._notation.places
        return None

    def read(self, words: Sequence[str]) -> NDArray[np.float64]:
        """The numbers that words stand for, NaN where a word is none of this format.

        Whatever can be meant only one way is read: spaces around the word, thousands with or
        without their separators, days with or without a leading zero.
        """
        read = self._notation.read
        return np.array([read(word) for word in words], dtype=np.float64)

    def fits(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Which words are written exactly this way: what discovery counts.

        Narrower than :meth:`read`, so that few formats claim the same word: "1234" is read under
        "1,234", but fits only the plain format, and "007" is a code that fits no format of numbers.
        """
        notation = self._notation
        return np.array([notation.fits(word) for word in words], dtype=bool)

    def read_exact(self, words: Sequence[str]) -> NDArray[np.float64]:
        """The numbers of words that :meth:`fits` takes, NaN for the others: both in one go."""
        return np.array(self._notation.read_exact(words), dtype=np.float64)

    def write(self, numbers: Sequence[float] | NDArray[Any]) -> list[str]:
        """Words for numbers, as :meth:`fits` takes them."""
        write = self._notation.write
        return [write(number) for number in numbers]

    @property
    def _notation(self) -> Any:
        return _notation(self.kind, self.notation)


@lru_cache(maxsize=4096)
def _notation(kind: str, notation: str) -> NumberNotation | LimitedNotation | TimeNotation:
    if kind in ("integer", "real") and has_limits(notation):
        return LimitedNotation(kind, notation)
    if kind in ("integer", "real"):
        return NumberNotation(kind, notation)
    return TimeNotation(kind, notation)


# --------------------------------------------------------------------------- the public list

_INTEGERS = ("", "1,234", "1.234", "1 234", "1'234", "12%", "12 %", "+12")
_REALS = ("", "1,234.50", "12,50", "1.234,50", "1 234,50", "1'234.50", "+12.50", "+12,50")
_PERCENTS = ("12.5%", "12,5%", "12.5 %", "12,5 %")
_BEFORE = ("$", "£", "€", "¥", "₹", "US$", "USD ", "EUR ", "CHF ")
_AFTER = ("€", " €", " EUR", " kr", " zł", " USD", " CHF")
_UNITS = (" kg", " g", " cm", " mm", " km", " m", " °C", " h", " min")
_DATES = (
    *("", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%-d/%-m/%Y", "%-m/%-d/%Y", "%-d.%-m.%Y"),
    *("%d %b %Y", "%-d %b %Y", "%d-%b-%Y", "%d-%^b-%Y", "%d%^b%Y", "%d %B %Y", "%-d %B %Y"),
    *("%b %d, %Y", "%b %-d, %Y", "%B %d, %Y", "%B %-d, %Y"),
    *("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%-m/%-d/%y", "%d-%b-%y"),
    *("%Y-%m", "%m/%Y", "%b %Y"),
)
_TIMES = ("", "%H:%M", "%-H:%M", "%I:%M %p", "%-I:%M %p", "%I:%M:%S %p", "%-I:%M:%S %p")
_ISO_TIMES = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%3f", "%H:%M:%S.%f")
_HOURS_FROM_UTC = ("+05:30", *(f"{hours:+03d}:00" for hours in range(-10, 13)))
_DATETIMES = (
    "",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S.%3f",
    "%Y-%m-%d %H:%M:%S.%f",
    *(f"%Y-%m-%dT{time}{zone}" for zone in ("", "Z", "%z") for time in _ISO_TIMES),
    "%Y-%m-%d %H:%M:%S%z",
    *(f"%Y-%m-%d{gap}%H:%M:%S{zone}" for gap in ("T", " ") for zone in _HOURS_FROM_UTC),
    *(
        f"{date} {time}"
        for date in ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d", "%-m/%-d/%Y")
        for time in ("%H:%M", "%H:%M:%S")
    ),
    *(f"{date} %I:%M %p" for date in ("%m/%d/%Y", "%d/%m/%Y", "%Y-%m-%d")),
    *("%d %b %Y %H:%M:%S", "%d%^b%Y:%H:%M:%S", "%Y%m%d%H%M%S"),
    *("%Y-%m-%d %I:%M:%S %p", "%d/%m/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M:%S %p"),
    *("%-m/%-d/%Y %-I:%M %p", "%-m/%-d/%Y %-I:%M:%S %p"),
    # As spreadsheets save them: 9/30/1990 0:00.
    *(
        f"{date} {time}"
        for date in ("%-m/%-d/%Y", "%-d/%-m/%Y")
        for time in ("%-H:%M", "%-H:%M:%S")
    ),
)


def _money(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Numbers with each sign before or after them, as is the custom with that sign."""
    return [
        *(sign + number for sign in _BEFORE for number in before),
        *(number + sign for sign in _AFTER for number in after),
    ]


CANDIDATES: tuple[Format, ...]
"""What discovery chooses among, the common ones first; a schema may say others. The list is made
when it is first asked for: most runs have a schema.
"""


@cache
def _candidates() -> tuple[Format, ...]:
    grouped = {
        "integer": _INTEGERS,
        "real": (*_REALS, *_PERCENTS),
        "date": _DATES,
        "time": _TIMES,
        "datetime": _DATETIMES,
    }
    money = {
        "integer": _money(("1,234", "1234"), ("1.234", "1234", "1 234", "1,234")),
        "real": _money(
            ("1,234.50", "1234.50"), ("1.234,50", "1234,50", "1 234,50", "1,234.50", "1234.50")
        ),
    }
    measures = {
        "integer": [f"12{unit}" for unit in _UNITS],
        "real": [f"{number}{unit}" for unit in _UNITS for number in ("12.5", "12,5")],
    }
    return tuple(
        Format(kind, notation)
        for group in (grouped, money, measures)
        for kind, notations in group.items()
        for notation in notations
    )


def __getattr__(name: str) -> Any:
    if name == "CANDIDATES":
        return _candidates()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
