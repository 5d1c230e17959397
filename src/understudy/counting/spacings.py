"""How far apart the values of a column may be, and how they may all be written: the public
candidates for the step of numbers and times, and which words have each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from understudy.data.formats import Format
from understudy.data.inside_files import decimals_of
from understudy.data.number_formats import NumberNotation

INTEGER_GRIDS = (1000.0, 500.0, 250.0, 100.0, 50.0, 25.0, 20.0, 10.0, 5.0, 2.0, 1.0)
REAL_GRIDS = (
    1000.0,
    100.0,
    50.0,
    10.0,
    5.0,
    1.0,
    0.5,
    0.25,
    0.2,
    0.1,
    0.05,
    0.01,
    0.001,
    1e-4,
    1e-5,
    1e-6,
    1e-12,
)
TIME_GRIDS = (3600.0, 1800.0, 900.0, 600.0, 300.0, 60.0, 1.0)
DATETIME_GRIDS = (86400.0, *TIME_GRIDS)
"""Steps that the values of a column may have, coarsest first, times in seconds; the last is "any".
A step need not be a multiple of the next: no multiple of 25 but those of 100 is one of 20.
"""

PLAIN_INTEGER, PLAIN_REAL = Format("integer"), Format("real")

FIXED_PLACES = ("0.00", "0.000", "0.0000")
"""Plain reals may all be written with as many places after the point: 3.00, not 3."""

SHORTEST = "0"
"""Or with those that they need: 3, not 3.0."""

BARE_NOTATIONS = (
    *("12,50", "1.234,50", "1 234,50", "1,234.50", "1'234.50"),
    *("+12.50", "+12,50"),
)
"""Reals without any signs around them that are not written the plain way: of these, too, a column
may have one place or four, or those that it needs.
"""

_MEASURE = re.compile(r"(12[.,])5([^0-9]+)")
"""So may numbers with a unit or with percent."""

_MONEY = re.compile(r"[^0-9+]+1[0-9., ]*50|1[0-9., ]*50[^0-9]+")
MONEY_PLACES = 2
"""The formats of money, and the places that amounts have."""

MAX_PLACES = 4

MIN_SHORTEST_STEP = 0.001
"""Reals with a smaller step may be written with powers of ten, which ``SHORTEST`` does not read."""

SINGLE_PRECISION, MAX_OFF_GRID = 2.0**-24, 0.1
"""Numbers that were once stored in single precision lie on the grid that they were rounded from:
6.199999809265137 is 6.2, to 2^-24 of it; but never further from it than a part of a step.
"""

PADDED = tuple("0" * width for width in range(2, 11))
"""Whole numbers may all be written with as many digits, as codes are: 01067 beside 99998."""


@dataclass(frozen=True)
class Spacing:
    """How far apart the values of a column are, and how they are written."""

    step: float
    notation: str = ""
    """As for :class:`understudy.data.formats.Format`, where all of them are written alike."""


@cache
def spacings_of(form: Format) -> tuple[Spacing, ...]:
    """What values of a format may have, coarsest step first; then the same for reals that all have
    as many places after the point, or those they need, and for codes of as many digits.
    """
    found = [Spacing(step) for step in grids_of(form.kind)]
    found += [
        Spacing(step, notation)
        for notation in list_fixed_notations(form)
        for step in REAL_GRIDS[:-1]
        if decimals_of(step) <= _places_of(notation)
    ]
    shortest = shortest_notation(form)
    if shortest:
        found += [Spacing(step, shortest) for step in REAL_GRIDS if 1 > step >= MIN_SHORTEST_STEP]
    if form == PLAIN_INTEGER:
        found += [Spacing(INTEGER_GRIDS[-1], notation) for notation in PADDED]
    return tuple(found)


def list_fixed_notations(form: Format) -> tuple[str, ...]:
    """The notations of a format for each number of places after the point."""
    if form == PLAIN_REAL:
        return FIXED_PLACES
    stem, after = _part_notation(form)
    if not stem:
        return ()
    return tuple(f"{stem}{'5'.ljust(places, '0')}{after}" for places in range(1, MAX_PLACES + 1))


def shortest_notation(form: Format) -> str:
    """The notation of a format for as many places as a number needs; empty where there is none."""
    if form == PLAIN_REAL:
        return SHORTEST
    return "".join(_part_notation(form))


def _part_notation(form: Format) -> tuple[str, str]:
    """What stands before and after the decimals of reals whose places are chosen: "12," and " kg";
    nothing for others.
    """
    if form.kind != "real":
        return "", ""
    if form.notation in BARE_NOTATIONS:
        return form.notation.removesuffix("50"), ""
    measure = _MEASURE.fullmatch(form.notation)
    if measure is None:
        return "", ""
    return measure[1], measure[2]


def whole_measure(form: Format) -> Format | None:
    """How whole numbers stand among reals with a unit: 49 kg beside 19.9 kg; None for others."""
    measure = _MEASURE.fullmatch(form.notation)
    if measure is None:
        return None
    return Format("integer", f"12{measure[2]}")


def is_unlikely(form: Format, spacing: Spacing) -> bool:
    """Whether numbers of a format hardly have a step: amounts of money below a hundredth,
    or, with a unit, whole reals without two places; 12 kg and 12.0 kg would have counted as whole
    numbers.
    """
    if form.kind != "real":
        return False
    if _MONEY.fullmatch(form.notation):
        return decimals_of(spacing.step) > MONEY_PLACES
    measure = _MEASURE.fullmatch(form.notation) is not None
    return measure and spacing.step >= 1 and _places_of(spacing.notation) < MONEY_PLACES


def grids_of(kind: str) -> tuple[float, ...]:
    """The steps that values of a kind may have, coarsest first."""
    grids = {
        "integer": INTEGER_GRIDS,
        "real": REAL_GRIDS,
        "time": TIME_GRIDS,
        "datetime": DATETIME_GRIDS,
    }
    return grids.get(kind, (1.0,))


def count_spacings(
    form: Format,
    words: Sequence[str],
    numbers: NDArray[np.float64],
    weights: NDArray[np.int64],
) -> NDArray[np.int64]:
    """How many cells have each spacing, given their distinct words, what number each is, and how
    often each occurs.

    Zero lies on all grids and tells nothing, but for how it is written.
    """
    mark = _mark_of(form)
    telling = (numbers != 0) | np.array([mark in word for word in words], dtype=bool)
    on_grids = dict(zip(grids_of(form.kind), _on_grids(form.kind, numbers), strict=True))
    writings = _find_writings(form, words, mark)
    counts = [
        int(weights[on_grids[spacing.step] & telling & writings[spacing.notation]].sum())
        for spacing in spacings_of(form)
    ]
    return np.array(counts, dtype=np.int64)


def is_padded(word: str) -> bool:
    """Whether a word is a number with leading zeros, as codes have."""
    is_code = word[0] == "0" and 1 < len(word) <= len(PADDED[-1])
    return is_code and word.isascii() and word.isdecimal()


# --------------------------------------------------------------------------- parts

_SHORTEST = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?")


def _find_writings(form: Format, words: Sequence[str], mark: str) -> dict[str, NDArray[np.bool_]]:
    """Which words are written as each notation of the spacings of a format writes them."""
    found = {"": np.ones(len(words), dtype=bool)}
    if form == PLAIN_INTEGER:
        found[""] = np.array([not is_padded(word) for word in words], dtype=bool)
        lengths = np.array([len(word) * word.isdecimal() for word in words])
        return found | {notation: lengths == len(notation) for notation in PADDED}
    shortest = shortest_notation(form)
    if not shortest:
        return found
    after = _part_notation(form)[1]
    decimals = [word.partition(mark)[2].removesuffix(after) for word in words]
    places = np.array([len(digits) * digits.isdigit() for digits in decimals])
    found |= {notation: places == _places_of(notation) for notation in list_fixed_notations(form)}
    if form == PLAIN_REAL:  # some are written with powers of ten
        needed = [_SHORTEST.fullmatch(word) is not None for word in words]
    else:
        needed = [not digits.endswith("0") for digits in decimals]
    found[shortest] = np.array(needed, dtype=bool)
    return found


def _mark_of(form: Format) -> str:
    """What stands before decimals."""
    if form.kind == "real" and form.notation:
        return NumberNotation(form.kind, form.notation).mark
    return "."


def _places_of(notation: str) -> int:
    return NumberNotation("real", notation).places or 0


def _on_grids(kind: str, numbers: NDArray[np.float64]) -> list[NDArray[np.bool_]]:
    if kind != "real":
        return [np.fmod(numbers, step) == 0 for step in grids_of(kind)]
    found = []
    for step in REAL_GRIDS[:-1]:
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = numbers / step if step > 1 else numbers * round(1 / step)
            size = np.maximum(1.0, abs(scaled))
            allowed = np.maximum(1e-9 * size, np.minimum(SINGLE_PRECISION * size, MAX_OFF_GRID))
            found.append(abs(scaled - np.rint(scaled)) <= allowed)
    return [*found, np.ones(len(numbers), dtype=bool)]
