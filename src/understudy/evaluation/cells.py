"""Columns cut into cells of the real table's values.

Cells are cut from the real rows alone: about equally many real values per bin, a cell of its own
for every value that is frequent (a spike), one for every word. What only the synthetic table holds
has cells of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Category, Quantity
from understudy.data.tables import Column
from understudy.evaluation.reading import MOMENTS, read_words, write_number

MAX_BINS_BESIDE_SPIKES = 16
"""Bins that the values outside of spikes are cut into, at most: a quarter of the square root of the
rows, so that chance does not fill tables of two columns.
"""

MIN_BINS = 4
FEW_VALUES = 12
"""Numbers of no more distinct values than this, or than twice the bins, get a cell per value."""

SPIKE_SHARE, SPIKE_RATIO, MAX_SPIKES = 0.02, 3.0, 16
"""A number gets a cell of its own if this many of the real rows have it, and this many times more
than have a typical one of the values next to it.
"""

NEXT_VALUES = 5
"""Distinct values on either side that count as next to one."""

MAX_CELLS_OF_WORDS = 1000
"""Words that get a cell of their own, the commonest first; the others share one."""

NOT_REAL = "no real value"
"""The label of the cell for values that no real row has."""

RARER = "rarer values"

_EXACT = 2.0**53
"""Beyond this not every whole number has a float of its own."""


@dataclass(frozen=True)
class QuantityCells(Quantity):
    """A quantity with one more cell, the last, for what is not a number at all."""

    lost: bool = False

    @property
    def values_size(self) -> int:
        """The bins, and the cell for what is no number."""
        return self.bins + self.lost

    def _value_label(self, code: int) -> str:
        if code == self.bins:
            return NOT_REAL
        if self.whole:
            return super()._value_label(code)
        low, high = self.edges[code], self.edges[code + 1]
        if high == np.nextafter(low, np.inf):
            return self.write(low)
        return f"{self.write(low)} to {self.write(high)}"

    def write(self, number: float) -> str:
        """A number as text; the one next to 0 is too small to be told from it."""
        if abs(number) < np.finfo(np.float64).tiny:
            return super().write(0.0)
        return super().write(number)


@dataclass(frozen=True)
class Cut:
    """One column of both tables, cut into the same cells.

    Attributes
    ----------
    attribute
        What the cells are.
    codes
        The cell of every row, real and synthetic.
    numbers
        The numbers themselves, ``nan`` where there is none; nothing for words.
    """

    attribute: Attribute
    codes: tuple[NDArray[np.intp], NDArray[np.intp]]
    numbers: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None


# --------------------------------------------------------------------------- numbers


def cut_numbers(
    name: str,
    kind: str,
    numbers: tuple[NDArray[np.float64], NDArray[np.float64]],
    absent: tuple[NDArray[np.bool_], NDArray[np.bool_]],
) -> Cut:
    """Numbers, cut where the real ones are; below and above them stand cells for others."""
    real, synthetic = (side[~np.isnan(side)] for side in numbers)
    both = np.concatenate([real, synthetic])
    whole = bool((both == np.floor(both)).all() and np.abs(both).max(initial=0) < _EXACT)
    if kind == "time" and not whole:
        kind = "real"
    elif kind not in (*MOMENTS, "time"):
        kind = "integer" if whole else "real"
    edges = real_edges(real, whole=whole or kind in MOMENTS)
    if len(synthetic):
        edges = np.unique(
            np.concatenate(
                [
                    [min(edges[0], synthetic.min())],
                    edges,
                    [max(edges[-1], _after(synthetic.max(), whole or kind in MOMENTS))],
                ]
            )
        )
    lost = any((np.isnan(side) & ~gone).any() for side, gone in zip(numbers, absent, strict=True))
    mark = None
    if any(gone.any() for gone in absent):
        mark = ""
    limits = tuple(int(edge) for edge in edges) if kind != "real" else tuple(edges.tolist())
    cells = QuantityCells(name, kind, mark, limits, equal_width=False, lost=lost)
    codes = []
    for side, gone in zip(numbers, absent, strict=True):
        found = np.searchsorted(edges[1:-1], side, side="right")
        found[np.isnan(side)] = cells.bins
        found[gone] = cells.values_size
        codes.append(found)
    return Cut(cells, (codes[0], codes[1]), numbers)


def real_edges(values: NDArray[np.float64], *, whole: bool) -> NDArray[np.float64]:
    """Edges of cells for real values: spikes by themselves, the others by quantiles."""
    if not len(values):
        return np.array([0.0, 1.0])
    distinct, counts = np.unique(values, return_counts=True)
    bins = min(max(round(math.sqrt(len(values)) / 4), MIN_BINS), MAX_BINS_BESIDE_SPIKES)
    spikes = distinct
    if len(distinct) > max(FEW_VALUES, 2 * bins):
        spikes = distinct[_stand_out(counts)]
    others = np.sort(values[~np.isin(values, spikes)])
    starts = [distinct[:1], spikes, np.array([_after(spike, whole) for spike in spikes])]
    if len(others):
        bins = max(round(bins * len(others) / len(values)), 1)
        starts.append(others[np.arange(bins) * len(others) // bins])
    last = _after(distinct[-1], whole)
    edges = np.unique(np.concatenate(starts))
    return np.append(edges[edges < last], last)


def _stand_out(counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where the spikes are among distinct values."""
    commonest = np.argsort(-counts, kind="stable")[:MAX_SPIKES].tolist()
    frequent = [place for place in commonest if counts[place] >= SPIKE_SHARE * counts.sum()]
    found = []
    for place in frequent:
        around = np.append(
            counts[max(place - NEXT_VALUES, 0) : place], counts[place + 1 :][:NEXT_VALUES]
        )
        if counts[place] >= SPIKE_RATIO * np.median(around):
            found.append(place)
    return np.array(sorted(found), dtype=np.intp)


def _after(number: float, whole: bool) -> float:
    if whole:
        return float(number) + 1
    return float(np.nextafter(number, np.inf))


# --------------------------------------------------------------------------- words


def cut_words(
    name: str,
    columns: tuple[Column, Column],
    absent: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    said: Attribute | None,
) -> Cut:
    """Words, a cell each; what no real row has shares the last one."""
    ours, theirs = (read_words(column) for column in columns)
    counts = np.bincount(ours[1][~absent[0]], minlength=len(ours[0]))
    held = np.flatnonzero(counts)
    frequent = held[np.argsort(-counts[held], kind="stable")][:MAX_CELLS_OF_WORDS]
    words = _in_order([ours[0][place] for place in frequent.tolist()], said)
    code_of = {_plain(word): code for code, word in enumerate(words)}
    if len(held) > len(frequent):
        for place in held.tolist():
            code_of.setdefault(_plain(ours[0][place]), len(words))
        words.append(RARER)
    mark = None
    if any(gone.any() for gone in absent):
        mark = ""
    found = [
        np.array([code_of.get(_plain(word), len(words)) for word in texts])[places]
        for texts, places in (ours, theirs)
    ]
    other = None
    if any((codes[~gone] == len(words)).any() for codes, gone in zip(found, absent, strict=True)):
        other = NOT_REAL
    if not words and other is None:  # a real column without any value
        words = ["no value"]
    ordered = isinstance(said, Category) and said.ordered
    numeric = all(column.kind in ("integer", "real") for column in columns)
    category = Category(name, "categorical", mark, tuple(words), ordered or numeric, None, other)
    for codes, gone in zip(found, absent, strict=True):
        codes[gone] = category.values_size
    return Cut(category, (found[0], found[1]))


def _in_order(words: list[str], said: Attribute | None) -> list[str]:
    """In the order of the schema where it has one, else numbers by size and texts by letters."""
    if isinstance(said, Category):
        place = {_plain(_write_value(value)): code for code, value in enumerate(said.domain)}
        return sorted(words, key=lambda word: (place.get(_plain(word), len(place)), word))
    numbers = [_as_number(word) for word in words]
    if all(number is not None for number in numbers):
        return sorted(words, key=float)
    return sorted(words)


def _as_number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _write_value(value: object) -> str:
    if isinstance(value, str):
        return value
    return write_number(float(value))  # type: ignore[arg-type]


def _plain(word: str) -> str:
    """Truth values are one, however they are spelled."""
    if word.casefold() in ("true", "false"):
        return word.casefold()
    return word
