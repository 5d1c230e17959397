"""Numbers and datetimes that an engine reads off a text itself, just as they are read in memory.

Only what every engine reads alike is left to them: a pattern says which texts those are, and
rewrites them as plain numbers and ISO 8601. All other texts are looked up one by one.
"""

from __future__ import annotations

import re

from understudy.data.limits import numbers_of
from understudy.data.number_formats import NumberNotation
from understudy.data.time_formats import TimeNotation
from understudy.engines.dialects import Dialect

# All engines round these to the nearest double, as Python does; none is too large or too small for
# one.
_PLAIN_NUMBER = "[-+]?([0-9]{1,20}([.][0-9]{0,25})?|[.][0-9]{1,25})([eE][-+]?[0-9]{1,2})?"
_DAY = "[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
_MINUTE = "([01][0-9]|2[0-3]):[0-5][0-9]"
_ISO_MOMENT = f"{_DAY}([ T]{_MINUTE}(:[0-5][0-9]([.][0-9]{{1,6}})?)?)?"
_WIDTHS = {"%Y": 4, "%m": 2, "%d": 2, "%H": 2, "%M": 2, "%S": 2}
_DIGITS = {
    "%Y": "[1-9][0-9]{3}",
    "%m": "[0-9]{2}",
    "%d": "[0-9]{2}",
    "%H": "([01][0-9]|2[0-3])",
    "%M": "[0-5][0-9]",
    "%S": "[0-5][0-9]",
}
# No sign in a pattern means anything to any engine, and none ends the text that holds it.
_HARMLESS = re.compile(r"[\w $€£¥₹,./:+-]*")


def plain_number(notation: str, value: str, dialect: Dialect) -> str:
    """The number that a text stands for, in SQL: NULL where the engine leaves it to be looked up;
    empty where it never reads such texts.
    """
    number = dialect.types["real"]
    notation = numbers_of(notation)
    if not notation:
        plain = dialect.matches(value, _PLAIN_NUMBER)
        return f"CASE WHEN {plain} THEN {dialect.try_cast(value, number)} END"
    signs = NumberNotation("real", notation)
    parts = (signs.before, signs.group, signs.mark, signs.after)
    if not all(_HARMLESS.fullmatch(part) for part in parts):
        return ""
    before, group, mark, after = (_quote_pattern(part) for part in parts)
    whole = "[0-9]{1,15}"
    if group:
        whole = f"([0-9]{{1,3}}({group}[0-9]{{3}}){{1,4}}|{whole})"
    pattern = f"[-+]?{before}{whole}({mark}[0-9]{{1,15}})?{after}"
    digits = value
    for sign, instead in ((signs.before, ""), (signs.after, ""), (signs.group, "")):
        if sign:
            digits = f"replace({digits}, {dialect.literal(sign)}, '{instead}')"
    if signs.mark != ".":
        digits = f"replace({digits}, {dialect.literal(signs.mark)}, '.')"
    return (
        f"CASE WHEN {dialect.matches(value, pattern)} THEN {dialect.try_cast(digits, number)} END"
    )


def plain_moment(notation: str, value: str, dialect: Dialect) -> str:
    """The datetime that a text stands for, in SQL: NULL where the engine leaves it to be looked
    up; empty where it never reads such texts.
    """
    moment = dialect.types["datetime"]
    if not notation:
        plain = dialect.matches(value, _ISO_MOMENT)
        return f"CASE WHEN {plain} THEN {dialect.try_cast(value, moment)} END"
    pieces = TimeNotation("datetime", notation).pieces
    places, pattern, place = {}, "", 1
    for piece in pieces:
        if piece in _WIDTHS:
            places[piece] = f"substr({value}, {place}, {_WIDTHS[piece]})"
            pattern += _DIGITS[piece]
        elif piece.startswith("%") or not _HARMLESS.fullmatch(piece):
            return ""
        else:
            pattern += _quote_pattern(piece)
        place += _WIDTHS.get(piece, len(piece))
    if not {"%Y", "%m", "%d"} <= set(places):
        return ""
    zero = "'00'"
    time = [places.get(piece, zero) for piece in ("%H", "%M", "%S")]
    iso = (
        f"concat({places['%Y']}, '-', {places['%m']}, '-', {places['%d']}, ' ', "
        f"{time[0]}, ':', {time[1]}, ':', {time[2]})"
    )
    return f"CASE WHEN {dialect.matches(value, pattern)} THEN {dialect.try_cast(iso, moment)} END"


def _quote_pattern(text: str) -> str:
    """A text as a regular expression that every engine reads alike."""
    return "".join(f"[{sign}]" for sign in text)
