"""The cells of one column as codes: each by itself, whatever the others are.

Every cell has a code. A number between values of the grid (a fraction among integers, 17 among
multiples of 5) counts as the nearest one, and as the larger of two that are equally near. One that
cannot be read as the schema says (a text among numbers, a day that no calendar has) counts as
missing where the schema allows that, else as the middle bin; how many there were is told to the
owner (:class:`Outside`) and to nobody else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.distinct_cells import DistinctCells
from understudy.data.formats import Format
from understudy.data.nearest import cut_between_values, round_to_whole, whole_cuts
from understudy.data.schema import Attribute, Category, Quantity
from understudy.data.tables import MARKS, Column
from understudy.data.value_classes import ValueClasses
from understudy.data.words import spell_midnight, write_word

CodeColumn = NDArray[np.unsignedinteger[Any]]

_OUTSIDE, _MISSING = -1, -2
_MARKS = frozenset(MARKS)
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")

NOT_ALLOWED = 'allow "missing" in the schema to keep them apart'
BEYOND_BOUNDS = "if the public bounds are wider than the schema says, fix it"


@dataclass(frozen=True)
class Outside:
    """Values of a column that its domain does not hold. For the owner's eyes only."""

    column: str
    count: int
    counted_as: str
    remedy: str

    def __str__(self) -> str:
        if self.count != 1:
            plural = "s"
        else:
            plural = ""
        found = f"{self.column}: {self.count:,} value{plural} outside the domain"
        return f"{found} counted as {self.counted_as}; {self.remedy}"


def absent_code(attribute: Attribute) -> int:
    """The code that a missing value counts as, and one that cannot be read.

    Where nothing says that a number is missing it counts in the middle bin: no bin is closer to all
    others, so that is the least that the cell can be off, and no end of the range fills up.
    """
    if attribute.missing is not None:
        return attribute.values_size
    if isinstance(attribute, Category):
        return attribute.outside
    return attribute.values_size // 2


def category_remedy(attribute: Category) -> str:
    """What the owner can do about values that are not listed."""
    if attribute.other is not None:
        return 'list them under "values" in the schema to keep them apart'
    return 'list them under "values" or name an "other" in the schema'


def unreadable_remedy(attribute: Quantity) -> str:
    """What the owner can do about cells that cannot be read."""
    if attribute.format:
        what = f"{attribute.kind} written {attribute.format}"
    else:
        what = attribute.kind
    remedy = f'they cannot be read as {what}: correct the "kind" or the "format" in the schema'
    if attribute.missing is None:
        remedy += ', or allow "missing"'
    return remedy


def missing_number(attribute: Quantity) -> float:
    """The number that stands for "missing" (-99, say, or 9999-12-31 in the attribute's unit); NaN
    where the mark is none.
    """
    mark = attribute.missing or ""
    (number,) = Format(attribute.kind, attribute.format or "").read([mark])
    if np.isnan(number) and not attribute.is_moment:
        return _number(mark)
    return float(number)


class EncodedColumn:
    """The codes of a column, made when they are asked for.

    Each distinct cell is encoded once, where they can be listed.
    """

    def __init__(self, attribute: Attribute, column: Column) -> None:
        if column.raw is not None:
            column = column.raw
        self._size = attribute.size
        self._distinct = column.distinct
        if self._distinct is None:
            encoder = CellEncoder(attribute, column)
        else:
            encoder = CellEncoder(attribute, self._distinct.column, self._distinct)
        self._by_cell = encoder.codes()
        self.outside = encoder.outside
        """What its domain does not hold."""

    @cached_property
    def codes(self) -> CodeColumn:
        """The code of each row."""
        if self._distinct is None:
            return self._by_cell
        return self._distinct.look_up(self._by_cell)

    def forget(self) -> None:
        """Give back the room of the codes; they are made again when they are asked for."""
        self.__dict__.pop("codes", None)

    def count(self) -> NDArray[np.int64]:
        """How many rows have each code."""
        counts = np.zeros(self._size, dtype=np.int64)
        if self._distinct is None:
            found = np.bincount(self._by_cell)
            counts[: len(found)] = found
        else:
            np.add.at(counts, self._by_cell, self._distinct.counts)
        return counts


class CellEncoder:
    """Encodes one column.

    The code of a cell is a function of that cell and the schema alone. Where it depended on other
    cells (on the kind that the whole column looks like, say), one row could change the codes of
    thousands: no noise would be enough.

    Parameters
    ----------
    attribute
        What the schema says of the column.
    column
        The cells.
    distinct
        What tells how many rows have each cell, where that is not one.
    """

    def __init__(
        self,
        attribute: Attribute,
        column: Column,
        distinct: DistinctCells | None = None,
    ) -> None:
        self.attribute = attribute
        self._distinct = distinct
        if column.raw is not None:
            self.column = column.raw
        else:
            self.column = column
        self.absent = _absent(self.column)
        self.unreadable = np.zeros(len(column), dtype=bool)
        """Where there is something that cannot be read as the schema says; known once it was
        tried.
        """
        self.outside: list[Outside] = []

    def codes(self) -> CodeColumn:
        """The code of each cell."""
        attribute = self.attribute
        if self.column.kind == "empty":
            found = np.zeros(len(self.column), dtype=np.int64)
        elif isinstance(attribute, Quantity):
            found = self._bins(attribute, self._read())
        else:
            assert isinstance(attribute, Category)
            found = self._categories(attribute)
        found = self._with_absent(found)
        return found.astype(np.min_scalar_type(attribute.size - 1), copy=False)

    def _with_absent(self, found: NDArray[Any]) -> NDArray[Any]:
        attribute, instead = self.attribute, absent_code(self.attribute)
        if self.absent.any():
            found = np.where(self.absent, instead, found)
            if attribute.missing is None:
                self._report(self.absent, instead, NOT_ALLOWED)
        if self.unreadable.any():
            assert isinstance(attribute, Quantity)
            found = np.where(self.unreadable, instead, found)
            self._report(self.unreadable, instead, unreadable_remedy(attribute))
        return found

    # ---- quantities

    def numbers(self) -> NDArray[Any]:
        """The values of a quantity in its unit, whole ones where it has only those; what stands
        where one is absent or unreadable means nothing.
        """
        assert isinstance(self.attribute, Quantity)
        numbers = self._read()
        if self.attribute.whole:
            return round_to_whole(numbers)
        return numbers

    def _read(self) -> NDArray[Any]:
        """The numbers as they stand."""
        attribute, column = self.attribute, self.column
        assert isinstance(attribute, Quantity)
        if column.kind == "empty":
            return np.zeros(len(column))
        if column.kind == "text":
            return self._numbers_of_words(attribute)
        if column.kind in ("integer", "real") and attribute.is_moment:  # 20200131, say
            return self._numbers_of_words(attribute)
        unit = _UNITS.get((column.kind, attribute.kind))
        if unit is None:
            self.unreadable = ~self.absent
            return np.zeros(len(column))
        return self._plain_numbers(attribute, unit(column.values))

    def _plain_numbers(self, attribute: Quantity, numbers: NDArray[Any]) -> NDArray[Any]:
        if attribute.missing:
            self.absent |= numbers == missing_number(attribute)
        if numbers.dtype.kind == "f":
            self.absent |= np.isnan(numbers)
        return numbers

    def _numbers_of_words(self, attribute: Quantity) -> NDArray[np.float64]:
        """Each distinct text by itself."""
        words, places = self._words()
        kind = attribute.kind
        if kind == "integer":
            kind = "real"  # a fraction is rounded, like that of a typed column
        numbers = Format(kind, attribute.format or "").read(words)
        unread = np.flatnonzero(np.isnan(numbers)).tolist()
        missing = {*_MARKS, attribute.missing}
        marks = np.zeros(len(words), dtype=bool)
        marks[unread] = [words[place].strip() in missing for place in unread]
        if attribute.missing:
            marks |= numbers == missing_number(attribute)
        self.absent |= marks[places]
        self.unreadable = np.isnan(numbers)[places] & ~self.absent
        return np.nan_to_num(numbers, nan=0.0, posinf=np.inf, neginf=-np.inf)[places]

    def _bins(self, attribute: Quantity, numbers: NDArray[Any]) -> NDArray[Any]:
        if isinstance(attribute, ValueClasses):
            return attribute.code(round_to_whole(numbers) if attribute.whole else numbers)
        cuts: NDArray[Any] = np.array(cut_between_values(attribute))
        if attribute.whole and numbers.dtype.kind != "f":
            cuts = np.array(whole_cuts(attribute), dtype=np.int64)
        there = ~(self.absent | self.unreadable)
        self._report((numbers < cuts[0]) & there, 0, BEYOND_BOUNDS)
        self._report((numbers >= cuts[-1]) & there, attribute.bins - 1, BEYOND_BOUNDS)
        return np.searchsorted(cuts[1:-1], numbers, side="right")

    # ---- categories

    def _categories(self, attribute: Category) -> NDArray[Any]:
        words, places = self._words()
        code_of = _category_codes(attribute)
        by_word = np.array([code_of(word) for word in words], dtype=np.int64)
        found = by_word[places]
        self.absent |= found == _MISSING
        unknown = (found == _OUTSIDE) & ~self.absent
        self._report(unknown, attribute.outside, category_remedy(attribute))
        return np.where(found < 0, attribute.outside, found)

    # ---- parts

    def _words(self) -> tuple[Sequence[str], NDArray[Any]]:
        """The distinct values as text, and where in them each row's value stands.

        A value is written the same whatever type its column has: one row can change it.
        """
        column = self.column
        if column.kind == "text":
            return column.words, column.values
        distinct, places = np.unique(column.values, return_inverse=True)
        return [write_word(value, column.kind) for value in distinct.tolist()], places

    def _report(self, where: NDArray[np.bool_], code: int, remedy: str) -> None:
        if not where.any():
            return
        if self._distinct is None:
            count = int(where.sum())
        else:
            count = int(self._distinct.counts[where].sum())
        if count:
            self.outside.append(
                Outside(self.attribute.name, count, self.attribute.label(code), remedy)
            )


def _absent(column: Column) -> NDArray[np.bool_]:
    if column.missing is None:
        return np.zeros(len(column), dtype=bool)
    return column.missing > 0


def _same(values: NDArray[Any]) -> NDArray[Any]:
    return values


_UNITS: dict[tuple[str, str], Callable[[NDArray[Any]], NDArray[Any]]] = {
    ("integer", "integer"): _same,
    ("integer", "real"): _same,
    ("real", "integer"): _same,
    ("real", "real"): _same,
    ("date", "date"): _same,
    ("datetime", "datetime"): _same,
    ("date", "datetime"): lambda days: days * 86400,
    ("datetime", "date"): lambda seconds: seconds // 86400,
}
"""Of a column of one kind the values in the unit of another."""


def _category_codes(attribute: Category) -> Callable[[str], int]:
    """What turns a text into a code: by itself, without spaces around it, as a truth value, as a
    number.
    """
    domain = attribute.domain
    numeric = not isinstance(domain[0], str)
    if numeric:
        by_word = {}
    else:
        by_word = {str(value): code for code, value in enumerate(domain)}
    for word, code in list(by_word.items()):
        by_word.setdefault(spell_midnight(word), code)
    by_truth = {
        word.casefold(): code
        for word, code in by_word.items()
        if word.casefold() in ("true", "false")
    }
    if attribute.kind == "boolean":
        by_truth = {"false": 0, "true": 1} | {
            str(value).casefold(): code for code, value in enumerate(domain)
        }
    by_number: dict[float, int] = {}
    for code, value in enumerate(domain):
        number = _number(value)
        if not np.isnan(number):
            by_number.setdefault(number, code)

    def code_of(word: str) -> int:
        if word in by_word:
            return by_word[word]
        bare = word.strip()
        if (
            bare in ("", attribute.missing)
            or word == attribute.missing
            or (numeric and bare in _MARKS)
        ):
            return _MISSING
        if bare in by_word:
            return by_word[bare]
        if bare.casefold() in by_truth:
            return by_truth[bare.casefold()]
        if _NUMBER.fullmatch(bare):
            number = float(bare)
        else:
            number = float("nan")
        if attribute.missing and number == _number(attribute.missing):
            return _MISSING
        return by_number.get(number, _OUTSIDE)

    return code_of


def _number(value: Any) -> float:
    try:
        return float(value)
    except (ValueError, OverflowError):
        return float("nan")
