"""A public partition of all possible cell texts, and exact counts of it: what discovery scores
candidate domains by.

Where a word lies is a function of that word alone: which marks, vocabularies and formats it
belongs to, whether its number lies on a coarse grid (multiples of 10, two decimals), and between
which two of a public list of ends. A :class:`Tally` adds up the counts of the distinct words of one
column, in any order and any batches, so memory and all engines count the same.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from understudy.counting.spacings import (
    PLAIN_INTEGER,
    count_spacings,
    is_padded,
    spacings_of,
    whole_measure,
)
from understudy.data.formats import CANDIDATES, Format
from understudy.data.limits import find_limit, list_limits
from understudy.data.public_words import is_listed
from understudy.data.tables import MARKS
from understudy.data.time_formats import EPOCH

ExactCounts = NDArray[np.int64]

VOCABULARIES: tuple[tuple[str, ...], ...] = (
    ("false", "true"),
    ("False", "True"),
    ("FALSE", "TRUE"),
    ("no", "yes"),
    ("No", "Yes"),
    ("NO", "YES"),
    ("n", "y"),
    ("N", "Y"),
    ("f", "t"),
    ("F", "T"),
    ("f", "m"),
    ("F", "M"),
    ("female", "male"),
    ("Female", "Male"),
    ("FEMALE", "MALE"),
    ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    (
        *("January", "February", "March", "April", "May", "June", "July", "August"),
        *("September", "October", "November", "December"),
    ),
)
"""Lists of words that need no threshold, since everybody knows them."""

BOOLEAN_VOCABULARIES = 3
"""The first ones are truth values."""

SENTINELS = (-9999, -999, -99, -9, -8, -7, -1, 0, 77, 88, 99, 777, 888, 998, 999, 9998, 9999, 99999)
"""Numbers that may lie far from the rest, since they stand for something else."""


# --------------------------------------------------------------------------- ends of ranges

MAX_UNIT_EDGE = 130
"""Up to here, ranges of whole numbers may end anywhere."""

LEAST_BESIDE_ZERO, LEAST_OF_BOTH_SIGNS = 0.05, 0.01
"""As a part of the other end: an end that is closer to zero is zero, or one. Of both signs, ends
may differ by more: what lies below zero often lies close to it.
"""

BELOW_ZERO_ODDS = -8.0
"""What speaks against reals below zero: an end just below it hardly makes a range wider, so the
odds of widths say nothing against it.
"""

_MANTISSAS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)


def _decades(first: int, last: int) -> list[float]:
    """The public ends that are powers of ten and what lies between them."""
    return [
        float(f"{mantissa}e{power}") for power in range(first, last + 1) for mantissa in _MANTISSAS
    ]


@dataclass(frozen=True)
class Ends:
    """Candidate ranges of one kind, as half-open stretches [low, high) between public ends."""

    edges: NDArray[np.float64]
    """All ends, in order; the partition lies between them, and beyond the outermost two."""
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    """The places in ``edges`` of the two ends of each candidate."""
    widths: NDArray[np.float64]
    """How wide each candidate is; of whole numbers, how many values it holds."""
    end_odds: NDArray[np.float64]
    """What the ends of each candidate say for it beforehand: ranges begin at zero or one more often
    than at seven.
    """
    round: NDArray[np.bool_]
    """Whether an edge is worth cutting a bin at: 1,000 is, and 1,001 right after it is not."""

    def places(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """The cell of the partition that each number lies in; 0 is below all edges."""
        return np.searchsorted(self.edges, numbers, side="right")

    def count(self, cells: ExactCounts) -> ExactCounts:
        """How many numbers lie in each candidate, given those of each cell of the partition."""
        below = np.cumsum(cells)[:-1]
        return np.asarray(below[self.highs] - below[self.lows])


@cache
def ends_of(kind: str) -> Ends:
    """The candidate ranges of a kind."""
    if kind == "integer":
        return _integer_ends()
    if kind == "real":
        return _real_ends()
    if kind == "time":
        return _pair({0.0: 0.0}, {86400.0: 0.0})
    if kind == "date":
        return _year_ends(1)
    return _year_ends(86400)


def _integer_ends() -> Ends:
    large = [round(number) for number in _decades(2, 15)]
    years = range(1850, 2101, 5)
    lows: dict[float, float] = dict.fromkeys(
        [*range(2, 22), *range(30, 100, 10), *large[::2], *years[::2]], -2.0
    )
    lows |= dict.fromkeys([*range(-10, 0), -20, -50, *(-number for number in large[::2])], -6.0)
    lows |= {0: 0.0, 1: 0.0, -1: -5.0}
    highs: dict[float, float] = {
        value + 1: -2.0 * (value > 20) for value in range(-10, MAX_UNIT_EDGE)
    }
    highs |= {value + 1: -0.5 for value in range(25, MAX_UNIT_EDGE, 5)}
    # Both "up to 999" and "up to 1,000".
    highs |= dict.fromkeys([*large, *(number + 1 for number in large)], -0.5)
    highs |= dict.fromkeys([*(year + 1 for year in years)], -1.0)
    highs |= dict.fromkeys([1 - number for number in large[::2]], -2.0)
    alone = {edge for value in SENTINELS for edge in (value, value + 1)}
    ends = _numbers(_pair(lows, highs, sorted(alone)))
    # A number that stands for something else has a cell of its own, between two edges.
    return replace(ends, round=ends.round | np.isin(ends.edges, sorted(alone)))


def _real_ends() -> Ends:
    positive = _decades(-6, 15)
    lows = dict.fromkeys([-number for number in positive[::2]], BELOW_ZERO_ODDS) | {0.0: 0.0}
    lows |= dict.fromkeys(positive[::2], -2.5) | {1.0: -2.0}
    highs = dict.fromkeys(positive, 0.0) | {0.0: -2.0}
    highs |= dict.fromkeys([-number for number in positive[::2]], -3.0)
    return _numbers(_pair(lows, highs))


def _year_ends(unit: int) -> Ends:
    """Ranges are whole years; what lies inside is told by months."""

    def start(year: int, month: int = 1) -> float:
        return float((dt.datetime(year, month, 1) - EPOCH).days * unit)

    years = [start(year) for year in [*range(1600, 1900, 20), *range(1900, 2101), 2200]]
    months = [start(year, month) for year in range(1900, 2100) for month in range(2, 13)]
    return _pair(dict.fromkeys(years, 0.0), dict.fromkeys(years, 0.0), months)


def _pair(
    lows: Mapping[float, float], highs: Mapping[float, float], finer: Sequence[float] = ()
) -> Ends:
    """All ranges between ends, with the odds of each end."""
    edges = np.array(sorted({*lows, *highs, *finer}), dtype=np.float64)
    low, high = (grid.ravel() for grid in np.meshgrid([*lows], [*highs], indexing="ij"))
    odds = np.add.outer([*lows.values()], [*highs.values()]).ravel()
    kept = high > low
    low, high, odds = low[kept], high[kept], odds[kept]
    after_another = np.append(False, np.diff(edges) == 1) & (edges > MAX_UNIT_EDGE)
    after_another |= np.isin(edges, finer)
    lows_at, highs_at = np.searchsorted(edges, low), np.searchsorted(edges, high)
    return Ends(edges, lows_at, highs_at, high - low, odds, ~after_another)


def _numbers(ends: Ends) -> Ends:
    """The ranges that are worth asking for among numbers: ends of very different size are as good
    as one at zero or one.
    """
    low, high = ends.edges[ends.lows], ends.edges[ends.highs]
    small, large = np.minimum(abs(low), abs(high)), np.maximum(abs(low), abs(high))
    least = np.where((low < 0) & (high > 0), LEAST_OF_BOTH_SIGNS, LEAST_BESIDE_ZERO)
    kept = (small >= least * large) | np.isin(small, (0.0, 1.0))
    return replace(
        ends,
        lows=ends.lows[kept],
        highs=ends.highs[kept],
        widths=ends.widths[kept],
        end_odds=ends.end_odds[kept],
    )


# --------------------------------------------------------------------------- formats of a word

_ZERO = re.compile(r"[^0-9A-Za-z]*0(?:[.,]0*)?[^0-9A-Za-z]*")
_RUN = re.compile(r"[0-9]+")
_NAME = re.compile(r"[^\W\d_]+")


def _skeleton(word: str) -> str:
    """A word without its digits and letters: what formats it may have is told from that.

    Only the length of a plain number matters, since some are dates.
    """
    if word.isdigit():
        return {8: "8", 14: "e"}.get(len(word), "0" if len(word) <= 3 else "00")
    return _NAME.sub("a", _RUN.sub("0", word))


_WHOLE_SAMPLES = (0, 12, 123, 1234, 12345678, 12345678901234, *(10**k + 1 for k in range(4, 16)))
_DAY_SAMPLES = (0, 40, 20_000, 20_080, -20_000)
_PLAIN_SAMPLES = ("5.", ".5", "1e5", "1e-5", "1e+5", "1.5e5", "1.5e-5", "1.5e+5")


@cache
def _formats_of_skeletons() -> dict[str, list[int]]:
    """Which formats words of a skeleton may have, by what the formats write."""
    found: dict[str, set[int]] = {}
    for place, form in enumerate(CANDIDATES):
        for word in _samples(form):
            found.setdefault(_skeleton(word), set()).add(place)
    return {skeleton: sorted(places) for skeleton, places in found.items()}


def _samples(form: Format) -> list[str]:
    if form.kind in ("integer", "real"):
        numbers: list[float] = list(_WHOLE_SAMPLES)
        if form.kind == "real":
            numbers += [number + 0.25 for number in _WHOLE_SAMPLES if number < 10**12]
        words = form.write([*numbers, *(-number for number in numbers)])
        if form.kind == "integer":
            words += [f"{word}{mark}0" for word in words for mark in ".,"]
        if not form.notation:
            words += [*_PLAIN_SAMPLES, *(f"-{word}" for word in _PLAIN_SAMPLES)]
        if form.kind == "real" and (whole := whole_measure(form)) is not None:
            words += whole.write([*_WHOLE_SAMPLES, *(-number for number in _WHOLE_SAMPLES)])
        if form in WITH_DECIMAL_COMMA:
            words += PLAIN_INTEGER.write([*_WHOLE_SAMPLES, *(-number for number in _WHOLE_SAMPLES)])
        return words
    if form.kind == "time":
        return form.write([0, 3600, 45296, 80_000])
    unit = 1 if form.kind == "date" else 86400
    words = form.write([day * unit + 45296 * (unit > 1) for day in _DAY_SAMPLES])
    if form == PLAIN_DATETIME:
        words += PLAIN_DATE.write(_DAY_SAMPLES)
    return words


DECIMAL_COMMA = Format("real", "12,50")
WITH_DECIMAL_COMMA = (DECIMAL_COMMA, Format("real", "1.234,50"), Format("real", "1 234,50"))
"""Of these, whole numbers may stand without a comma: 15 beside 14,8."""

PLAIN_DATE, PLAIN_DATETIME = Format("date"), Format("datetime")


def _read_exact(form: Format, words: Sequence[str]) -> NDArray[np.float64]:
    """The numbers of words that belong to a format, NaN for the others; a datetime at midnight may
    be written as a date.
    """
    numbers = form.read_exact(words)
    if form == PLAIN_DATETIME:
        days = PLAIN_DATE.read_exact(words)
        numbers = np.where(np.isnan(days), numbers, days * 86_400)
    return numbers


@dataclass
class FormatTally:
    """How often the words of one format occur, and where their numbers lie."""

    on_grid: ExactCounts
    """Numbers but zero of each spacing, in the order of :func:`spacings_of`."""
    cells: ExactCounts
    """Of each stretch between ends of its kind."""
    padded_cells: ExactCounts
    """The same for codes with leading zeros, which a column of plain integers may hold, too."""
    values: list[tuple[NDArray[np.float64], ExactCounts]] = field(default_factory=list)
    """Integers and reals one by one, and how often each occurs."""

    def count_between(self, edges: NDArray[np.float64]) -> ExactCounts:
        """How many integers or reals lie in each stretch between edges, which are in order."""
        counts = np.zeros(len(edges) + 1, dtype=np.int64)
        for numbers, weights in self.values:
            np.add.at(counts, np.searchsorted(edges, numbers, side="right"), weights)
        return counts[1:-1]


class Tally:
    """Exact counts of one column: as private as the column.

    Parameters
    ----------
    fewest
        Words that occur less often are not kept. See
        :class:`understudy.privacy.discovery_words.WordFinder` on why they may be left out.
    """

    def __init__(self, fewest: int = 2) -> None:
        self.fewest = fewest
        self.rows = 0
        self.zeros = 0
        """Cells that hold zero, however it is written."""
        self.missing = np.zeros(len(MARKS), dtype=np.int64)
        """Of each way to write that a value is missing."""
        self.limits = np.zeros(len(list_limits()), dtype=np.int64)
        """Of each public limit that may stand for a number: <0.5."""
        self.words: Counter[str] = Counter()
        """Texts that are not empty."""
        self.public_words: Counter[str] = Counter()
        """Those on public lists, also such as occur once."""
        self.vocabularies = np.zeros(len(VOCABULARIES), dtype=np.int64)
        self.formats: dict[int, FormatTally] = {}
        """By their places in ``CANDIDATES``; those that no word has are absent."""

    def add(self, words: Iterable[str], counts: Iterable[int]) -> None:
        """Count distinct words that were not counted before; the empty one is a missing value."""
        by_skeleton: dict[str, tuple[list[str], list[int]]] = {}
        marks, listed = _mark_places(), _list_words()
        for word, count in zip(words, counts, strict=True):
            self.rows += count
            bare = word.strip()
            if bare in marks:
                self.missing[marks[bare]] += count
            if not bare:
                continue
            limit = find_limit(bare)
            if limit is not None:
                self.limits[limit] += count
            if _ZERO.fullmatch(bare):
                self.zeros += count
            if count >= self.fewest:
                self.words[word] += count
            if bare[0].isalpha() and is_listed(word):
                self.public_words[word] += count
            for place in listed.get(word, ()):
                self.vocabularies[place] += count
            skeleton = _skeleton(bare)
            if skeleton in _formats_of_skeletons():
                some = by_skeleton.setdefault(skeleton, ([], []))
                some[0].append(bare)
                some[1].append(count)
        for skeleton, (some_words, some_counts) in by_skeleton.items():
            weights = np.array(some_counts, dtype=np.int64)
            for place in _formats_of_skeletons()[skeleton]:
                self._add_format(place, some_words, weights)

    def _add_format(self, place: int, words: Sequence[str], counts: ExactCounts) -> None:
        form = CANDIDATES[place]
        numbers = _read_exact(form, words)
        padded = np.zeros(len(words), dtype=bool)
        if form == PLAIN_INTEGER:
            padded = np.array([is_padded(word) for word in words], dtype=bool)
            numbers[padded] = [float(word) for word in itertools.compress(words, padded)]
        if np.isnan(numbers).all():
            return
        there = np.isfinite(numbers)
        words = list(itertools.compress(words, there))
        numbers, weights, padded = numbers[there], counts[there], padded[there]
        ends = ends_of(form.kind)
        if place not in self.formats:
            spacings = len(spacings_of(form))
            nothing = np.zeros(len(ends.edges) + 1, dtype=np.int64)
            self.formats[place] = FormatTally(
                np.zeros(spacings, dtype=np.int64), nothing, nothing.copy()
            )
        tally = self.formats[place]
        tally.on_grid += count_spacings(form, words, numbers, weights)
        places = ends.places(numbers)
        np.add.at(tally.cells, places[~padded], weights[~padded])
        np.add.at(tally.padded_cells, places[padded], weights[padded])
        if form.kind in ("integer", "real"):
            tally.values.append((numbers, weights))

    @property
    def present(self) -> int:
        """How many cells are not empty."""
        return self.rows - int(self.missing[0])


class DistinctTally(Tally):
    """How many different texts there are that are not empty, and nothing else: a row that is added
    changes it by one at most.
    """

    distinct = 0

    def add(self, words: Iterable[str], counts: Iterable[int]) -> None:
        """Count distinct words that were not counted before."""
        self.rows += sum(counts)
        self.distinct += sum(not word.isspace() for word in words if word)


@lru_cache(maxsize=1)
def _mark_places() -> dict[str, int]:
    return {mark: place for place, mark in enumerate(MARKS)}


@cache
def _list_words() -> dict[str, list[int]]:
    """In which vocabularies each word is."""
    listed: dict[str, list[int]] = {}
    for place, words in enumerate(VOCABULARIES):
        for word in words:
            listed.setdefault(word, []).append(place)
    return listed
