"""Numbers among which some are known by a limit alone, as laboratories write them: ``<0.5``,
``>100``.

The notation ``<0.5 or 12.50 or >100`` reads ``<0.5`` as 0 and ``>100`` as 200: numbers that lie
beyond the limits, on any grid that the limits lie on. Whatever lies beyond a limit is written as
the limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from understudy.data.number_formats import NumberNotation

JOIN = " or "
BELOW, ABOVE = "<", ">"


def has_limits(notation: str) -> bool:
    """Whether a notation names a limit."""
    return any(part[:1] in (BELOW, ABOVE) for part in notation.split(JOIN))


def numbers_of(notation: str) -> str:
    """A notation without its limits: how the numbers between them are written."""
    parts = [part for part in notation.split(JOIN) if part[:1] not in (BELOW, ABOVE)]
    return JOIN.join(parts)


def add_limits(kind: str, notation: str, limits: Sequence[tuple[str, float]]) -> str:
    """A notation with limits, of which each is a sign and a number."""
    if kind == "real" and not notation:
        notation = "0.0"  # as plain reals are written, if there are no limits
    mark = NumberNotation("real", notation or "0").mark
    words = {sign: sign + _write(limit).replace(".", mark) for sign, limit in limits}
    parts = [words.get(BELOW, ""), notation, words.get(ABOVE, "")]
    return JOIN.join(part for part in parts if part)


def _write(limit: float) -> str:
    return NumberNotation("real", "0").write(limit)


def stand_in(sign: str, limit: float) -> float:
    """The number that a limit is read as."""
    reach = max(1.0, -limit)
    if limit > 0:
        reach = limit
    if sign == BELOW:
        reach = -reach
    return limit + reach


class LimitedNotation:
    """Reads and writes the numbers of one notation, and the limits that it names."""

    def __init__(self, kind: str, notation: str) -> None:
        self.kind, self.notation = kind, notation
        self.numbers = NumberNotation(kind, numbers_of(notation))
        self.places = self.numbers.places
        self.words: dict[str, str] = {}
        """For each sign, how its limit is written."""
        self.limits: dict[str, float] = {}
        for part in notation.split(JOIN):
            if part[:1] not in (BELOW, ABOVE):
                continue
            limit = self._read_limit(part)
            if math.isnan(limit) or part[0] in self.limits:
                raise ValueError(
                    f"the format {notation!r} must name one limit on each side at most, written as "
                    'the numbers are, such as "<0.5 or 12.50 or >100"'
                )
            self.words[part[0]], self.limits[part[0]] = part, limit
        if self.limits.get(BELOW, -math.inf) > self.limits.get(ABOVE, math.inf):
            raise ValueError(f"the format {notation!r} has its lower limit above the upper one")

    def read(self, word: str) -> float:
        """The number that a word stands for; NaN where it is none."""
        word = word.strip()
        sign = word[:1]
        if sign not in (BELOW, ABOVE):
            return self.numbers.read(word)
        if sign not in self.limits or self._read_limit(word) != self.limits[sign]:
            return math.nan
        return stand_in(sign, self.limits[sign])

    def fits(self, word: str) -> bool:
        """Whether a word is written exactly this way."""
        return word in self.words.values() or self.numbers.fits(word)

    def read_exact(self, words: Sequence[str]) -> list[float]:
        """The numbers of words that are written exactly this way; NaN for the others."""
        return [self.read(word) if self.fits(word) else math.nan for word in words]

    def write(self, number: float) -> str:
        """A number as a word."""
        if number < self.limits.get(BELOW, number):
            return self.words[BELOW]
        if number > self.limits.get(ABOVE, number):
            return self.words[ABOVE]
        return self.numbers.write(number)

    def _read_limit(self, word: str) -> float:
        """The number after a sign: whole numbers, too, may be below a half."""
        return NumberNotation("real", self.numbers.notation).read(word[1:])


# --------------------------------------------------------------------------- the public list

_MANTISSAS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)


@cache
def list_limits() -> tuple[tuple[str, float], ...]:
    """The limits that discovery looks for, a sign and a number each."""
    scaled = {float(f"{number}e{power}") for number in _MANTISSAS for power in range(-3, 5)}
    numbers = sorted(scaled | {float(number) for number in range(1, 101)})
    return tuple((sign, number) for sign in (BELOW, ABOVE) for number in numbers)


def find_limit(word: str) -> int | None:
    """The place of a word such as ``< 0,5`` among the limits that discovery looks for."""
    return _places().get(word)


@cache
def _places() -> dict[str, int]:
    found: dict[str, int] = {}
    for place, (sign, number) in enumerate(list_limits()):
        digits = _write(number)
        for text in {digits, digits.replace(".", ",")}:
            found |= {f"{sign}{gap}{text}": place for gap in ("", " ")}
    return found
