"""Typed values as the words that their cells would hold in a file.

One row can change the type of a column: a missing value makes reals of whole numbers, a text makes
objects of them, a time of day makes datetimes of dates. So a value is written the same whatever
type its column has: a whole real without a point, a datetime at midnight as a date.
"""

from __future__ import annotations

import datetime as dt
import math

import numpy as np

from understudy.data.time_formats import EPOCH

_MIDNIGHT = " 00:00:00"


def write_word(value: float, kind: str) -> str:
    """A value of a typed column, by itself.

    Examples
    --------
    >>> write_word(2.0, "real"), write_word(0, "date"), write_word(86_400, "datetime")
    ('2', '1970-01-01', '1970-01-02')
    """
    if kind == "boolean":
        return str(bool(value))
    if kind in ("date", "datetime"):
        return _write_since(int(value), kind)
    return write_number(value)


def _write_since(value: int, kind: str) -> str:
    seconds = value
    if kind == "date":
        seconds = value * 86_400
    try:
        return write_moment(EPOCH + dt.timedelta(seconds=seconds))
    except OverflowError:  # frames know years that the calendar does not
        return str(np.datetime64(seconds, "s")).replace("T", " ").removesuffix(_MIDNIGHT)


def write_number(value: float) -> str:
    """A number; one that is none is missing."""
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return f"{math.copysign(1, value):g}e999"  # a number too large for a float, not a word
    if value == int(value):
        return str(int(value))
    return repr(value)


def write_moment(moment: dt.datetime) -> str:
    """A point in time, cut to whole seconds; without the time of day at midnight."""
    cut = dt.datetime(*moment.timetuple()[:6])
    return cut.isoformat(sep=" ").removesuffix(_MIDNIGHT)


def spell_midnight(word: str) -> str:
    """The other way to write a word that may be a day: with or without its midnight."""
    if word.endswith(_MIDNIGHT):
        return word.removesuffix(_MIDNIGHT)
    return word + _MIDNIGHT
