"""What discovery chooses by: how many cells belong to a kind, a range or a grid, and what speaks
for each beforehand.

Counts are exact and private; odds are public.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.counting.partition import VOCABULARIES, Ends, Tally, grids_of
from understudy.data.formats import CANDIDATES, Format


@dataclass(frozen=True)
class Kind:
    """What a column was chosen to be: a format, a vocabulary, or (neither) any words."""

    format: int | None = None
    vocabulary: int | None = None

    @property
    def words(self) -> bool:
        """Whether it is any words."""
        return self.format is None and self.vocabulary is None


WORDS = Kind()
KINDS = (
    WORDS,
    *(Kind(vocabulary=place) for place in range(len(VOCABULARIES))),
    *(Kind(format=place) for place in range(len(CANDIDATES))),
)


def count_kinds(tally: Tally) -> NDArray[np.int64]:
    """How many cells belong to each kind; a mark for a missing value may stand among numbers. A
    number beyond every range, such as a code of 18 digits, belongs to the words alone.
    """
    marks = int(tally.missing[1:].sum())
    numbers = np.zeros(len(CANDIDATES), dtype=np.int64)
    for place, found in tally.formats.items():
        numbers[place] = found.cells[1:-1].sum()
    return np.concatenate([[tally.present], tally.vocabularies, numbers + marks]).astype(np.int64)


def count_ranges(tally: Tally, place: int, ends: Ends) -> NDArray[np.int64]:
    """How many cells lie in each range."""
    if place not in tally.formats:
        return np.zeros(len(ends.lows), dtype=np.int64)
    return ends.count(tally.formats[place].cells)


def count_grids(tally: Tally, place: int) -> NDArray[np.int64]:
    """How many cells lie on each grid. Zero lies on all of them and tells nothing: it is not
    counted.
    """
    if place not in tally.formats:
        return np.zeros(len(grids_of(CANDIDATES[place].kind)), dtype=np.int64)
    return tally.formats[place].on_grid


def kind_odds(evidence: float) -> NDArray[np.float64]:
    """What speaks for a kind beforehand.

    Any words hold every cell, so a narrower domain that holds nearly all of them is favoured, also
    the least likely of formats. Of formats that claim the same words, the plain one is: cells
    cannot tell them apart, so these odds decide alone, and by as much as there is evidence for
    (e^-14 is a wrong choice in a million). Where a column is mostly empty, no kind is so much
    likelier than others that few cells cannot tell.
    """
    margin = min(max(evidence / 15, 4.0), 14.0)
    integer = -6.0
    words = integer - 3 * margin - 4.0 - 0.04 * evidence
    vocabularies = [integer - margin - 2.0 - len(listed) / 10 for listed in VOCABULARIES]
    formats = [integer + _format_odds(form, margin, evidence) for form in CANDIDATES]
    return np.array([words, *vocabularies, *formats])


def _format_odds(form: Format, margin: float, evidence: float) -> float:
    """Against plain whole numbers."""
    if form.kind == "integer" and not form.notation:
        return 0.0
    if form.kind == "real" and not form.notation:
        return -margin - 1.0 - 0.005 * evidence
    if form.kind == "date" and form.notation == "%Y%m%d":
        # Every such date is a number, but hardly the other way round.
        return margin - 3.0 + 0.01 * evidence
    if form.kind == "date" and not form.notation:
        return 1.0 - 0.005 * evidence  # every such date is a datetime at midnight, too
    odds = -margin - 0.01 * evidence
    if form.kind in ("integer", "real") and "234" in form.notation:
        odds -= 2.0  # with thousands apart, rather than without
    if form.kind == "real":
        # "1,234" is a thousand rather than one and a bit.
        odds -= margin + 2.0 + 0.005 * evidence
    return odds


def range_odds(kind: str, ends: Ends, evidence: float) -> NDArray[np.float64]:
    """Narrow ranges are favoured, by a factor for each doubling of their width; most among codes,
    where one value more or less is many rows, and least among large numbers, whose tails are long.
    Dates have few candidates, whole years, and hardly tails: a year that no row has is seen.

    A slope of 0.001 times the evidence says that a range e times as wide must hold 0.1 % more of
    the rows.
    """
    if kind in ("date", "datetime"):
        return ends.end_odds - (8.0 + 0.02 * evidence) * np.log(ends.widths)
    if kind != "integer":
        return ends.end_odds - (4.0 + 0.001 * evidence) * np.log(ends.widths)
    slopes = {
        1.0: 3.0,
        2.0: 3.0 + 0.007 * evidence,
        20.0: 3.0 + 0.003 * evidence,
        100.0: 2.0 + 0.001 * evidence,
    }
    bends = [*slopes, np.inf]
    odds = ends.end_odds.copy()
    for (low, slope), high in zip(slopes.items(), bends[1:], strict=True):
        odds -= slope * np.log(np.clip(ends.widths, low, high) / low)
    return odds


def grid_odds(kind: str, evidence: float) -> NDArray[np.float64]:
    """Coarse grids are favoured."""
    step = 1.0 + 0.002 * evidence
    grids = np.arange(len(grids_of(kind)), dtype=np.float64)
    if kind == "integer":
        return grids * step
    return -grids * step
