"""The cells of a column as they stand: numbers, words, and what counts as missing.

Nothing is cut to a domain here. A cell that cannot be read as its column's kind is neither missing
nor a number: it counts as a value that no real row has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.formats import CANDIDATES, Format
from understudy.data.schema import Category, Quantity
from understudy.data.tables import MARKS, Column

MOMENTS = ("date", "datetime")
SECONDS_A_DAY = 86400

KIND_SHARE = 0.9
"""A column of texts is one of numbers, or of dates, if this many of its cells are written so."""

MAX_WORDS = 300
"""Texts that a format is told from."""

_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")


@dataclass(frozen=True)
class Hint:
    """What a schema says about how cells are to be read; never what values may occur.

    Attributes
    ----------
    marks
        Texts that stand for a missing value.
    format
        How numbers and dates are written; ``None`` where the cells must tell.
    """

    marks: frozenset[str] = frozenset(MARKS)
    format: Format | None = None

    @classmethod
    def of(cls, attribute: object) -> Hint:
        """The hints of an attribute; a mark that it lists among its values is a value."""
        if isinstance(attribute, Category):
            listed = {str(value) for value in attribute.values}
            return cls(frozenset({*MARKS, attribute.missing or ""}) - listed | {""})
        if isinstance(attribute, Quantity):
            form = Format(attribute.kind, attribute.format or "")
            return cls(frozenset({*MARKS, attribute.missing or ""}), form)
        return cls()


def missing_cells(column: Column, hint: Hint) -> NDArray[np.bool_]:
    """Where a cell is empty or holds a mark for "missing", as it stands in the file."""
    written = column.raw or column
    absent = np.zeros(len(written), dtype=bool)
    if written.missing is not None:
        absent |= written.missing > 0
    if written.kind == "text":
        marked = [word.strip() in hint.marks for word in written.words]
        absent |= np.array([*marked, False])[written.values]
    elif written.kind == "real":
        absent |= np.isnan(written.values)
    if written.kind in ("integer", "real"):
        for mark in hint.marks:
            if _NUMBER.fullmatch(mark):
                absent |= written.values == float(mark)
    return absent


def read_numbers(column: Column, form: Format) -> NDArray[np.float64]:
    """The numbers of a column (days or seconds since 1970 for points in time); ``nan`` where a
    cell is none, or not one that is finite.
    """
    numbers = _numbers(column, form)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _numbers(column: Column, form: Format) -> NDArray[np.float64]:
    if form.kind in MOMENTS and column.kind in MOMENTS:
        return _moments(column.values.astype(np.float64), column.kind, form.kind)
    if form.kind not in MOMENTS and column.kind in ("integer", "real", "boolean"):
        return column.values.astype(np.float64)
    written = column.raw or column
    if written.kind != "text":
        return np.full(len(column), np.nan)
    # Each distinct text is read once.
    return np.append(form.read(written.words), np.nan)[written.values]


def _moments(values: NDArray[np.float64], found: str, wanted: str) -> NDArray[np.float64]:
    if found == wanted:
        return values
    if wanted == "datetime":
        return values * SECONDS_A_DAY
    return values // SECONDS_A_DAY


def find_format(column: Column, absent: NDArray[np.bool_]) -> Format | None:
    """How the cells of a column of texts are written, if nine of ten are numbers or points in time
    of one format; the commonest of at most ``MAX_WORDS`` texts are looked at.
    """
    counts = np.bincount(column.values[~absent], minlength=len(column.words))
    commonest = np.argsort(-counts, kind="stable")[:MAX_WORDS]
    commonest = commonest[counts[commonest] > 0].tolist()
    words = [column.words[place].strip() for place in commonest]
    weights = counts[commonest]
    for candidate in CANDIDATES:
        if weights[candidate.fits(words)].sum() >= KIND_SHARE * weights.sum():
            return candidate
    return None


def read_words(column: Column) -> tuple[Sequence[str], NDArray[np.intp]]:
    """The distinct values of a column as texts, and where in them the value of each row stands.

    A number is written the same whatever the type of its column: 1 and 1.0 are one value.
    """
    if column.kind == "text":
        words = [word.strip() for word in column.words]
        distinct, places = np.unique(np.array([*words, ""], dtype=object), return_inverse=True)
        return distinct.tolist(), places[column.values]
    if column.kind == "empty":
        return [""], np.zeros(len(column), dtype=np.intp)
    numbers, places = np.unique(column.values, return_inverse=True)
    if column.kind == "boolean":
        return [str(bool(value)).lower() for value in numbers], places
    if column.kind in MOMENTS:
        quantity = Quantity("", column.kind, format=column.format or None)
        return [quantity.write(value) for value in numbers.tolist()], places
    return [write_number(value) for value in numbers.tolist()], places


def write_number(number: float) -> str:
    """A number as text, whole ones without a point."""
    if np.isfinite(number) and number == int(number):
        return str(int(number))
    return repr(float(number))
