"""Ways to write numbers: separators, leading zeros, currency and percent signs.

A notation shows how a number would be written: ``1,234.50`` or ``1234.50`` (with or without
separators of thousands), ``12.5`` where no thousands need be shown, and around it the signs of a
currency or of percent. So ``1.234`` has points between thousands, and ``12.345`` has three
decimals. ``00000`` has leading zeros up to five digits, as postal codes do. ``0`` shows only the
decimals that a number needs, 49 beside 19.9, and so does ``12,`` with a comma: 49 beside 19,9.
``+12`` has a sign before every number but zero.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cached_property

MAX_NUMBER_LENGTH = 40

_SIGN = r"[^0-9+\-−().,%=@]{0,10}"  # = and @ begin formulas in spreadsheets
_NOTATION = re.compile(
    rf"(?P<before>{_SIGN}?)"
    r"(?:1(?P<group>[,.'’_ \u00a0\u202f])234|(?P<whole>[0-9]+))"
    r"(?:(?P<mark>[.,])(?P<decimals>[0-9]*))?"
    rf"(?P<after>{_SIGN}|[ \u00a0\u202f]?%)"
)
_PLAIN = r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?"
_PLAIN_INTEGER = r"-?(?:0|[1-9][0-9]*)(?:\.0?)?"
_ANY_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_MAX_DIGITS = 400
_NAN = math.nan


class NumberNotation:
    """Reads and writes the numbers of one notation."""

    def __init__(self, kind: str, notation: str) -> None:
        self.kind = kind
        self.notation = notation
        self.places: int | None = None
        self.width = 1
        self.plus = ""
        """What stands before positive numbers."""
        if not notation:
            self.pattern = _PLAIN_INTEGER if kind == "integer" else _PLAIN
            return
        self.plus = "+" * notation.startswith("+")
        found = _NOTATION.fullmatch(notation.removeprefix("+"))
        if found is None or len(notation) > MAX_NUMBER_LENGTH or not notation.isprintable():
            raise ValueError(
                f"the format {notation!r} must show how a number is written, such as "
                '"1,234.50", "1.234,50 €", "$1,234" or "12.5%"'
            )
        self.before, self.after = found["before"] or "", found["after"]
        self.group = found["group"] or ""
        self.mark = found["mark"] or ("," if self.group == "." else ".")
        if self.mark == self.group:
            raise ValueError(
                f"the format {notation!r} has the same sign between thousands and before decimals"
            )
        if kind == "integer" and found["decimals"]:
            raise ValueError(f"the format {notation!r} shows decimals, which integers do not have")
        if found["decimals"]:
            self.places = len(found["decimals"])
        if found["whole"] and found["whole"][0] == "0":
            self.width = len(found["whole"])
        self.pattern = self._pattern(strict=True)

    # Compiled when asked for: of the public list, a run needs few.

    @cached_property
    def _canonical(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def _readable(self) -> re.Pattern[str]:
        return re.compile(self._pattern(strict=False))

    def read(self, word: str) -> float:
        """The number that a word stands for; NaN where it is none."""
        word = word.strip()
        if len(word) > _MAX_DIGITS:
            return _NAN
        number = self._number(word)
        if self.kind == "integer" and math.isfinite(number) and number != math.floor(number):
            return _NAN
        return number

    def fits(self, word: str) -> bool:
        """Whether a word is written exactly this way."""
        return len(word) <= _MAX_DIGITS and self._canonical.fullmatch(word) is not None

    def read_exact(self, words: Sequence[str]) -> list[float]:
        """The numbers of words that are written exactly this way; NaN for the others."""
        fits = self._canonical.fullmatch
        read: Callable[[str], float] = self.read
        if not self.notation:
            read = float  # whatever fits the plain notation is a number as Python writes it
        elif not self.before and not self.after:
            read = self._read_bare
        return [
            read(word) if len(word) <= _MAX_DIGITS and fits(word) is not None else _NAN
            for word in words
        ]

    def _read_bare(self, word: str) -> float:
        """The number of a word that fits, where no signs stand around it."""
        if self.group:
            word = word.replace(self.group, "")
        return float(word.replace(self.mark, "."))

    def write(self, number: float) -> str:
        """A number as a word."""
        if self.kind == "integer":
            digits = str(abs(int(number)))
        else:
            digits = _shortest(abs(float(number)), self.places or 0)
        sign = self.plus if number > 0 else ""
        if number < 0:
            sign = "-"
        if not self.notation:
            return sign + digits
        whole, _, decimals = digits.partition(".")
        if self.group:
            whole = f"{int(whole):,}".replace(",", self.group)
        whole = whole.zfill(self.width)
        if decimals:
            whole += self.mark + decimals
        return f"{sign}{self.before}{whole}{self.after}"

    # ---- parts

    def _number(self, word: str) -> float:
        if not self.notation:
            return float(word) if _ANY_NUMBER.fullmatch(word) else _NAN
        in_brackets = word.startswith("(") and word.endswith(")")  # as accountants write debts
        if in_brackets:
            word = word[1:-1]
        found = self._readable.fullmatch(word)
        if found is None:
            return _NAN
        whole = found["whole"]
        if self.group:
            whole = whole.replace(self.group, "")
        number = float(f"{whole or '0'}.{found['decimals'] or '0'}")
        signs = [found["sign"], found["inner"], in_brackets]
        if sum(map(bool, signs)) > 1:
            return _NAN
        return -number if any(signs) else number

    def _pattern(self, *, strict: bool) -> str:
        group, mark = re.escape(self.group), re.escape(self.mark)
        if strict and group:
            whole = rf"(?:0|[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})*)"
        elif strict:
            whole = rf"(?:[0-9]{{{self.width}}}|[1-9][0-9]{{{self.width},}})"
            if self.width == 1:
                whole = r"(?:0|[1-9][0-9]*)"
        elif group:
            whole = rf"(?P<whole>[0-9]{{1,3}}(?:{group}[0-9]{{3}})+|[0-9]+|(?={mark}[0-9]))"
        else:
            whole = rf"(?P<whole>[0-9]+|(?={mark}[0-9]))"
        if strict:
            # Whole numbers with two places are amounts: 12.00. With one, any program wrote them.
            decimals = rf"(?:{mark}{'0' if self.kind == 'integer' else '[0-9]+'})?"
            number = f"{re.escape(self.before)}{whole}{decimals}{re.escape(self.after)}"
            if self.plus:
                return rf"[-+](?=[^1-9]*[1-9]){number}|0(?:{mark}0+)?"
            return f"-?{number}"
        decimals = rf"(?:{mark}(?P<decimals>[0-9]*))?"
        before, after = self._sign(self.before, at_end=False), self._sign(self.after, at_end=True)
        return rf"(?:\+|(?P<sign>[-−]))?{before}(?P<inner>[-−])?{whole}{decimals}{after}"

    def _sign(self, sign: str, *, at_end: bool) -> str:
        """A sign of a currency may be left out, and have spaces or not; that of percent must be
        there.
        """
        bare = re.escape(sign.strip())
        if not bare:
            return ""
        spaced = rf"\s?{bare}" if at_end else rf"{bare}\s?"
        return spaced if "%" in sign else rf"(?:{spaced})?"


def _shortest(number: float, places: int) -> str:
    """The digits of a number, not in scientific notation, and at least this many decimals."""
    fixed = f"{number:.{places}f}"
    if float(fixed) == number:
        return fixed
    return f"{Decimal(repr(number)):f}"
