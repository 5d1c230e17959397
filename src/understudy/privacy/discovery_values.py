"""The last step of discovery: the values of a column, once its kind, range and grid are chosen."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.counting.partition import (
    BOOLEAN_VOCABULARIES,
    MAX_VALUE,
    SENTINELS,
    VOCABULARIES,
    Ends,
    Tally,
    ends_of,
)
from understudy.data.attribute_reading import MAX_TEXT_LENGTH
from understudy.data.attributes import Attribute, Category, Quantity, Text
from understudy.data.formats import CANDIDATES, Format
from understudy.data.inside_files import with_details
from understudy.data.tables import MARKS
from understudy.privacy.bins import cut_bins, drop_empty_ends, trim
from understudy.privacy.budget import Budget
from understudy.privacy.discovery_budget import rows_to_be_seen
from understudy.privacy.discovery_questions import Asker, NoisyHistogram
from understudy.privacy.discovery_scores import Kind

MAX_CATEGORIES = 1000
MAX_FEW_VALUES = 20
"""Whole numbers with this many values or fewer are codes: values, not ranges."""

MAX_UNIT_BINS = 32
"""A range of up to this many whole numbers has a bin for each."""

MAX_LEFT_OVER = 0.02
"""Of the rows: codes may leave this many to values that cannot be told from the noise."""

MAX_STEP_PLACES = 6
"""Reals with more places after the point than this are taken to have no step."""

MIN_HELD = 0.1
"""Of the rows: where a range holds less, nothing was found."""

MIN_CUTS = 8
"""A range with fewer round numbers inside is counted by finer ones."""

MAX_UNIT_CELLS = 4096
"""Ranges of up to this many values are counted value by value."""


@dataclass(frozen=True)
class Range:
    """The stretch of numbers that was chosen for a column."""

    low: float
    high: float
    first: int
    last: int
    """The places of the ends among those of the kind."""


def format_of(kind: Kind) -> Format:
    """How the numbers of a kind are written."""
    assert kind.format is not None
    return CANDIDATES[kind.format]


@dataclass(frozen=True)
class ValueFinder:
    """Asks for one noisy histogram per column, and makes an attribute of it.

    Each method says with the attribute whether anything could be told from the noise.

    Names of words are (epsilon, delta)-private. Compare neighbours T and T' that differ by the rows
    of one person, of whom at most M count. A word that occurs fewer than M + 1 times is never
    named. If T names v and T' cannot, v occurs at most M times in T', hence at most 2 M times in T,
    and there are at most M such words, one for each of the person's rows. With P(2 M + noise >=
    threshold) <= delta / M one of them is named with probability at most delta (union bound). On
    all other outcomes the two histograms differ by M rows in cells that both have, which their
    noise covers. Under replace the same holds in both directions, and delta is charged once.
    """

    asker: Asker
    tallies: Mapping[str, Tally]
    """Exact counts of all columns."""
    rows: float
    """The noisy number of rows."""
    seen_later: float
    """About how many rows a cell must hold for a look at the inside of bins to see it."""

    def find_words(self, name: str, cost: Budget, delta: float) -> tuple[Attribute, bool]:
        """Words with a noisy count above the threshold, "other" for the rest."""
        tally = self.tallies[name]
        words = sorted(tally.words)
        counts = [*(tally.words[word] for word in words), int(tally.missing[0])]
        asked = self.asker.histogram(f"words of {name}", counts, cost, delta)
        threshold = rows_to_be_seen(self.asker.protection, cost, delta)
        kept = [
            (word, count)
            for word, count in zip(words, asked.counts[:-1].tolist(), strict=True)
            if count >= threshold and len(word) <= MAX_TEXT_LENGTH
        ]
        kept = sorted(kept, key=lambda pair: -pair[1])[:MAX_CATEGORIES]
        if not kept:
            return self.give_up(name, "", asked.counts[-1:]), False
        # Missing is a cell that always exists, so it needs no threshold against disclosure, only
        # against noise.
        missing = None
        absent = int(asked.counts[-1])
        if absent >= asked.stands_out(1):
            missing = ""
        values = tuple(sorted(word for word, _ in kept))
        named = sum(count for _, count in kept) + max(absent, 0)
        spread = asked.deviation * (len(kept) + 1) ** 0.5
        other = None
        if self.rows - named > max(0.002 * self.rows, spread):
            other = _name_for_rest(values)
        return Category(name, "categorical", missing, values, False, None, other), True

    def find_vocabulary(self, name: str, place: int, cost: Budget) -> tuple[Attribute, bool]:
        """The words of a public vocabulary, where enough rows hold them."""
        tally = self.tallies[name]
        counts = np.append(tally.vocabularies[place], tally.missing)
        asked = self.asker.histogram(f"values of {name}", counts, cost, 0.0)
        missing = _missing_mark(asked, asked.counts[1:])
        if not self._holds_enough(asked.counts[:1]):
            return self.give_up(name, missing, asked.counts[1:]), False
        values = VOCABULARIES[place]
        kind = "categorical"
        if place < BOOLEAN_VOCABULARIES:
            kind = "boolean"
        return Category(name, kind, missing, values), True

    def find_numbers(
        self, name: str, kind: Kind, stretch: Range, grid: int | None, cost: Budget
    ) -> tuple[Attribute, bool]:
        """Numbers, dates or times: listed one by one where they are few, else in bins."""
        form = format_of(kind)
        assert kind.format is not None
        step = 1
        if form.kind == "integer" and grid is not None and stretch.high - stretch.low >= 2 * grid:
            step = grid
        units = (stretch.high - stretch.low) / step
        listed = (
            form.kind == "integer"
            and units <= MAX_UNIT_CELLS
            and max(abs(stretch.low), abs(stretch.high)) <= MAX_VALUE
        )
        if listed:
            return self._find_values(name, kind.format, stretch, step, cost)
        tally = self.tallies[name]
        ends = ends_of(form.kind)
        decimals = None
        if form.kind == "real":
            decimals = grid
        kept = places_to_cut(ends, stretch, decimals)
        cells = np.zeros(len(kept) - 1, dtype=np.int64)
        if kind.format in tally.formats:
            below = np.cumsum(tally.formats[kind.format].cells)[:-1]
            cells = np.diff(below[kept])
        counts = np.concatenate([cells, tally.missing])
        asked = self.asker.histogram(f"values of {name}", counts, cost, 0.0)
        edges = ends.edges[kept]
        found = asked.cells(edges, asked.counts[: len(cells)])
        missing = _missing_mark(asked, asked.counts[len(cells) :])
        if not self._holds_enough(found.counts):
            return self.give_up(name, missing, asked.counts[len(cells) :]), False
        bins = cut_bins(trim(found, self.seen_later))
        return _quantity(name, form, missing, bins, grid), True

    def give_up(self, name: str, missing: str | None, counts: NDArray[np.int64]) -> Text:
        """A column in which nothing was found says so in every row: numbers from a range that is a
        guess would look as if they meant something. Where most cells are missing, all are.
        """
        if missing is not None and counts.max() > self.rows / 2:
            return Text(name, "text", replacement=missing)
        return Text(name, "text")

    def _holds_enough(self, counts: NDArray[np.int64]) -> bool:
        """Whether a range holds a fair share of the rows."""
        return bool(counts.sum() > MIN_HELD * self.rows)

    def _find_values(
        self, name: str, place: int, stretch: Range, step: int, cost: Budget
    ) -> tuple[Attribute, bool]:
        """Whole numbers that are counted one by one: codes where they are few, else bins."""
        tally, form = self.tallies[name], CANDIDATES[place]
        low, high = int(stretch.low), int(stretch.high)
        first = -(-low // step) * step
        inside = np.arange(first, high, step)
        far = [value for value in SENTINELS if not low <= value < high]
        values = np.array(sorted([*inside.tolist(), *far]))
        counts = np.concatenate([tally.values_of(place, values), tally.missing])
        asked = self.asker.histogram(f"values of {name}", counts, cost, 0.0)
        noisy = asked.counts[: len(values)]
        missing = _missing_mark(asked, asked.counts[len(values) :])
        within = (values >= low) & (values < high)
        line = np.where(within, asked.stands_out(len(values)), asked.stands_out_far(len(far)))
        out = noisy > line
        if not self._holds_enough(noisy):
            return self.give_up(name, missing, asked.counts[len(values) :]), False
        sentinels = values[~within & out]
        codes = values[out]
        if len(inside) <= MAX_UNIT_BINS:
            codes = np.array(sorted([*inside.tolist(), *sentinels.tolist()]))
        left = self.rows - max(int(asked.counts[len(values) :].max()), 0) - noisy[out].sum()
        spread = asked.deviation * (out.sum() + 1) ** 0.5
        few = 0 < len(codes) <= MAX_FEW_VALUES and left + spread <= MAX_LEFT_OVER * self.rows
        if few and len(codes) <= codes[-1] - codes[0]:  # with gaps between them
            listed = tuple(int(code) for code in codes)
            return Category(name, "categorical", missing, listed, True), True
        edges = np.append(inside, inside[-1] + step).astype(np.float64)
        found = asked.cells(edges, noisy[within])
        if len(inside) > MAX_UNIT_BINS:
            found = trim(found, self.seen_later)
        if len(found.counts) <= MAX_UNIT_BINS:
            bins = drop_empty_ends(found)
        else:
            bins = cut_bins(found)
        bins = _with_sentinels(bins, sentinels.tolist())
        return _quantity(name, form, missing, bins, step), True


# --------------------------------------------------------------------------- post-processing


def places_to_cut(ends: Ends, stretch: Range, decimals: int | None = None) -> list[int]:
    """The edges inside a range at which its cells are counted: the round ones, unless these are
    few. None is finer than the numbers are.
    """
    inside = list(range(stretch.first + 1, stretch.last))
    if decimals is not None:
        written = np.round(ends.edges, decimals) == ends.edges
        inside = [place for place in inside if written[place]]
    between = [place for place in inside if ends.round[place]]
    if len(between) < MIN_CUTS:
        between = inside
    return [stretch.first, *between, stretch.last]


def _missing_mark(asked: NoisyHistogram, counts: NDArray[np.int64]) -> str | None:
    """How missing values are written, where there are any: most often by nothing."""
    if counts[0] >= asked.stands_out(1) and counts[0] >= counts.max():
        return MARKS[0]
    best = int(counts.argmax())
    if counts[best] >= asked.stands_out(len(counts)):
        return MARKS[best]
    return None


def _name_for_rest(values: Sequence[str]) -> str:
    names = itertools.chain(
        ("other", "Other", "(other)", "_other_"), map("other{}".format, itertools.count(2))
    )
    return next(name for name in names if name not in values)


def _with_sentinels(bins: Sequence[float], sentinels: Sequence[int]) -> tuple[float, ...]:
    """A bin of its own for each number far from the rest."""
    edges = {*bins}
    for value in sentinels:
        edges |= {value, value + 1}
    return tuple(sorted(edges))


def _quantity(
    name: str, form: Format, missing: str | None, bins: Sequence[float], grid: int | None
) -> Quantity:
    notation = form.notation or None
    if form.kind == "real":
        found = Quantity(name, "real", missing, tuple(bins), False, notation, decimals=grid)
        if grid is None or grid > MAX_STEP_PLACES:
            return found
        return _with_step(found, 10.0**-grid)
    edges = tuple(int(edge) for edge in bins)
    found = Quantity(name, form.kind, missing, edges, False, notation)
    if form.kind != "integer" or grid is None or grid <= 1:
        return found
    return _with_step(found, grid)


def _with_step(attribute: Quantity, step: float) -> Quantity:
    """The attribute with a step, if every bin holds a multiple of it."""
    try:
        return with_details(attribute, {"step": step})
    except ValueError:
        return attribute
