"""Conditions on single columns, as constraints write them, and the atoms that they stand for."""

from __future__ import annotations

import datetime as dt
import difflib
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from understudy.data.atoms import MISSING, Among, RuleAtom, Within
from understudy.data.schema import Attribute, Category, Quantity
from understudy.data.time_formats import EPOCH
from understudy.errors import InputError

MAX_ALTERNATIVES = 100_000
"""Of all constraints together: a short file can ask for a product of long lists."""

MAX_NESTING = 4

Intervals = list[tuple[float, float]]
"""Closed intervals of a quantity's values."""


class ConditionReader:
    """Turns conditions into atoms.

    Parameters
    ----------
    fail
        Makes the error from its cause.
    """

    def __init__(self, fail: Callable[[str], InputError]) -> None:
        self._bad = fail
        self._known: dict[str, dict[str, int]] = {}

    def all_of(self, conditions: Iterable[tuple[Attribute, Any]]) -> list[list[RuleAtom]]:
        """Alternatives under which all of some conditions hold."""
        found = [self.condition(attribute, wanted) for attribute, wanted in conditions]
        if math.prod(map(len, found)) > MAX_ALTERNATIVES:
            raise self._bad(f"it lists more than {MAX_ALTERNATIVES:,} cases; list fewer")
        return [list(atoms) for atoms in itertools.product(*found)]

    def condition(self, attribute: Attribute, wanted: Any) -> list[RuleAtom]:
        """Atoms of which one holds where the condition does."""
        intervals, codes = self._find_fitting(attribute, wanted)
        atoms: list[RuleAtom] = [Within(attribute.name, low, high) for low, high in intervals]
        if codes:
            atoms.append(Among(attribute.name, frozenset(codes)))
        return atoms

    def otherwise(self, attribute: Attribute, wanted: Any) -> list[RuleAtom]:
        """Atoms of which one holds where the condition does not."""
        intervals, codes = self._find_fitting(attribute, wanted)
        others = set() if isinstance(attribute, Quantity) else set(range(attribute.values_size))
        if attribute.missing is not None:
            others.add(MISSING)
        others -= codes
        atoms: list[RuleAtom] = [
            Within(attribute.name, low, high) for low, high in _gaps(attribute, intervals)
        ]
        if others:
            atoms.append(Among(attribute.name, frozenset(others)))
        return atoms

    def _find_fitting(
        self, attribute: Attribute, wanted: Any, depth: int = 0
    ) -> tuple[Intervals, set[int]]:
        """Intervals of a quantity and codes that fit a condition."""
        if depth > MAX_NESTING:
            raise self._bad("its lists are nested too deep; write one list")
        if wanted is None:
            if attribute.missing is None:
                raise self._bad(
                    f"by the schema {attribute.name!r} is never missing; leave the null out, or "
                    'allow "missing"'
                )
            return [], {MISSING}
        if isinstance(wanted, list):
            if not wanted:
                raise self._bad(f"the list for {attribute.name!r} is empty; list a value")
            intervals: Intervals = []
            codes: set[int] = set()
            for part in wanted:
                more_intervals, more_codes = self._find_fitting(attribute, part, depth + 1)
                intervals += more_intervals
                codes |= more_codes
            return intervals, codes
        if isinstance(wanted, Mapping):
            return self._range(attribute, wanted)
        if isinstance(attribute, Quantity):
            number = self._number(attribute, wanted)
            return [(number, number)], set()
        assert isinstance(attribute, Category)
        return [], {self._code(attribute, wanted)}

    def _range(self, attribute: Attribute, wanted: Mapping[str, Any]) -> tuple[Intervals, set[int]]:
        if not wanted or set(wanted) - {"min", "max"}:
            raise self._bad(f'a range of {attribute.name!r} is written {{"min": ..., "max": ...}}')
        if isinstance(attribute, Category) and isinstance(attribute.domain[0], str):
            raise self._bad(f"{attribute.name!r} has no numbers; list the values that are meant")
        low, high = -math.inf, math.inf
        if "min" in wanted:
            low = self._number(attribute, wanted["min"])
        if "max" in wanted:
            high = self._number(attribute, wanted["max"])
        if low > high:
            raise self._bad(f"the range of {attribute.name!r} ends before it begins; swap its ends")
        if isinstance(attribute, Quantity):
            return [(low, high)], set()
        assert isinstance(attribute, Category)
        inside = {c for c, value in enumerate(attribute.domain) if low <= float(value) <= high}
        return [], inside

    def _number(self, attribute: Attribute, given: Any) -> float:
        if attribute.kind in ("date", "datetime"):
            return self._moment(attribute, given)
        if isinstance(given, str):
            try:
                given = float(given)
            except ValueError:
                given = None
        if isinstance(given, bool) or not isinstance(given, int | float) or given != given:
            raise self._bad(f"{attribute.name!r} is a number; compare it with one")
        return float(given)

    def _moment(self, attribute: Attribute, given: Any) -> float:
        try:
            moment = dt.datetime.fromisoformat(given).replace(tzinfo=None)
        except (TypeError, ValueError):
            raise self._bad(
                f"{attribute.name!r} is a {attribute.kind}; compare it with one such as "
                '"2020-01-31"'
            ) from None
        since = moment - EPOCH
        if attribute.kind == "date":
            return float(since.days)
        return float(since.days * 86400 + since.seconds)

    def _code(self, attribute: Category, given: Any) -> int:
        if isinstance(given, bool) and attribute.kind == "boolean":
            return int(given)
        known = self._known.get(attribute.name)
        if known is None:
            known = {_plain(attribute, value): code for code, value in enumerate(attribute.domain)}
            self._known[attribute.name] = known
        code = known.get(_plain(attribute, given))
        if code is None:
            close = difflib.get_close_matches(str(given), list(known), n=1)
            hint = f"; did you mean {close[0]!r}" if close else "; list it there or leave it out"
            raise self._bad(f"{given!r} is no value of {attribute.name!r}{hint}")
        return code


def if_missing(attribute: Attribute) -> list[list[RuleAtom]]:
    """The alternative that a value is missing, where it can be."""
    if attribute.missing is None:
        return []
    return [[Among(attribute.name, frozenset({MISSING}))]]


def _gaps(attribute: Attribute, intervals: Sequence[tuple[float, float]]) -> Intervals:
    """What is left of a quantity's values between closed intervals."""
    if not isinstance(attribute, Quantity):
        return []
    gaps, start = [], -math.inf
    for low, high in sorted(intervals):
        end = _before(attribute, low)
        if start <= end and end > -math.inf:
            gaps.append((start, end))
        start = max(start, _after(attribute, high))
    if start < math.inf:
        gaps.append((start, math.inf))
    return gaps


def _before(attribute: Quantity, number: float) -> float:
    if attribute.whole and math.isfinite(number):
        return float(math.ceil(number) - 1)
    return math.nextafter(number, -math.inf)


def _after(attribute: Quantity, number: float) -> float:
    if attribute.whole and math.isfinite(number):
        return float(math.floor(number) + 1)
    return math.nextafter(number, math.inf)


def _plain(attribute: Category, value: Any) -> str:
    """A value by what it looks like: 1, 1.0 and, where the values are numbers, "1" are the same."""
    numeric = not isinstance(attribute.domain[0], str)
    if isinstance(value, str) and numeric:
        try:
            value = float(value)
        except ValueError:
            return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        if math.isfinite(value) and value == int(value):
            return str(int(value))
        return repr(float(value))
    if attribute.kind == "boolean":
        return str(value).casefold()
    return str(value)
