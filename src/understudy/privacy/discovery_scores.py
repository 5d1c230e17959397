"""What discovery chooses by: how many cells belong to a kind, a range or a grid, and what speaks
for each beforehand.

Counts are exact and private; odds are public.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from understudy.counting.partition import (
    DECIMAL_COMMA,
    SENTINELS,
    VOCABULARIES,
    Ends,
    Tally,
)
from understudy.counting.spacings import (
    PADDED,
    PLAIN_INTEGER,
    PLAIN_REAL,
    grids_of,
    is_unlikely,
    list_fixed_notations,
    shortest_notation,
    spacings_of,
)
from understudy.data.formats import CANDIDATES, Format
from understudy.privacy.kind_rivals import RIVALS


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


def format_of(kind: Kind) -> Format:
    """How the numbers of a kind are written."""
    assert kind.format is not None
    return CANDIDATES[kind.format]


EIGHT_DIGITS = Format("date", "%Y%m%d")


def count_kinds(tally: Tally) -> NDArray[np.int64]:
    """How many cells belong to each kind; a mark for a missing value may stand among numbers. So
    may a limit such as <0.5, but two of them count as one: a column of limits alone holds words. A
    number beyond every range, such as a code of 18 digits, belongs to the words alone. Eight digits
    that are a day of the calendar are a date, not a number: few numbers look like one.
    """
    marks = int(tally.missing[1:].sum())
    numbers = np.zeros(len(CANDIDATES), dtype=np.int64)
    for place, found in tally.formats.items():
        numbers[place] = found.cells[1:-1].sum()
    for form in (PLAIN_INTEGER, PLAIN_REAL, DECIMAL_COMMA):
        numbers[CANDIDATES.index(form)] -= numbers[CANDIDATES.index(EIGHT_DIGITS)]
    numbers += marks + _may_have_limits() * (int(tally.limits.sum()) // 2)
    return np.concatenate([[tally.present], tally.vocabularies, numbers]).astype(np.int64)


@cache
def _may_have_limits() -> NDArray[np.bool_]:
    """Of which formats some values may be known by a limit alone."""
    return np.array([form.kind in ("integer", "real") for form in CANDIDATES])


def count_ranges(tally: Tally, place: int, ends: Ends) -> NDArray[np.int64]:
    """How many cells lie in each range, codes with leading zeros among them. Zero tells nothing of
    the scale of reals, and is often the commonest of them: it is not counted there. Nor are numbers
    such as 999 among whole ones: where they stand for something else, a range that holds them is
    mostly empty; they are looked for beside the range.
    """
    if place not in tally.formats:
        return np.zeros(len(ends.lows), dtype=np.int64)
    cells = tally.formats[place].cells + tally.formats[place].padded_cells
    if CANDIDATES[place].kind == "real":
        cells[ends.places(np.zeros(1))] = 0
    elif CANDIDATES[place].kind == "integer":
        cells[ends.places(np.array(FAR_SENTINELS, dtype=np.float64))] = 0
    return ends.count(cells)


FAR_SENTINELS = tuple(value for value in SENTINELS if abs(value) >= 100)
"""Numbers that may stand for something else, and lie beyond most ranges."""


def count_grids(tally: Tally, place: int) -> NDArray[np.int64]:
    """How many cells have each spacing. Zero lies on all grids and tells nothing: it is not
    counted.
    """
    if place not in tally.formats:
        return np.zeros(len(spacings_of(CANDIDATES[place])), dtype=np.int64)
    return tally.formats[place].on_grid


MAX_KIND_FAILURE = 1e-4
"""A kind is told with confidence where it is wrong with no larger probability."""


def kind_margin(evidence: float) -> float:
    """By how much a kind is favoured over another that claims the same words."""
    return min(max(evidence / 4.5, 3.0), 9.0 + evidence / 60)


def kind_odds(evidence: float) -> NDArray[np.float64]:
    """What speaks for a kind beforehand.

    Any words hold every cell, so a narrower domain that holds nearly all of them is favoured, also
    the least likely of formats. Of formats that claim the same words, the plain one is: cells
    cannot tell them apart, so these odds decide alone, and by as much as there is evidence for.

    Parameters
    ----------
    evidence
        By how much the log-odds of a kind fall if it holds none of the cells that are not empty.
    """
    margin = kind_margin(evidence)
    words = -2 * margin - 12.0 - 0.04 * evidence
    vocabularies = [-margin - 2.0 - len(listed) / 10 for listed in VOCABULARIES]
    formats = [_format_odds(form, margin, evidence) for form in CANDIDATES]
    return np.array([words, *vocabularies, *formats])


def _format_odds(form: Format, margin: float, evidence: float) -> float:
    """Against plain whole numbers."""
    if form.kind == "integer" and not form.notation:
        return 0.0
    if form.kind == "real" and not form.notation:
        # Their step tells, too, whether they are whole; that some are not is told here alone.
        return -min(margin, 4.0) - 0.005 * evidence
    if form.kind == "date" and not form.notation:
        return 1.0 - 0.005 * evidence  # every such date is a datetime at midnight, too
    odds = -margin - 0.01 * evidence
    if form.kind in ("integer", "real") and "234" in form.notation:
        odds -= 1.0  # with thousands apart, rather than without
    if form.kind == "real":
        # "1,234" is a thousand rather than one and a bit.
        odds -= 1.1 * margin + 0.005 * evidence
    return odds


COMMA_KINDS = tuple(
    Kind(format=CANDIDATES.index(form)) for form in (Format("integer", "1,234"), DECIMAL_COMMA)
)
"""Both claim 12,125: thousands, and decimals."""


def has_decimal_comma(kind: Kind) -> bool:
    """Whether a kind shows that commas stand before decimals in a table."""
    if kind.format is None or CANDIDATES[kind.format].kind != "real":
        return False
    return re.search(",[0-9]{1,2}(?![0-9])", CANDIDATES[kind.format].notation) is not None


def comma_odds(evidence: float) -> NDArray[np.float64]:
    """What speaks for each of :data:`COMMA_KINDS` in a column that was taken for thousands, where
    another has a decimal comma: people do not mix both, unless one cell in ten shows it, such as
    1,234,567.
    """
    return np.array([0.0, 3.0 + 0.1 * evidence])


def as_integers(
    kinds: Mapping[str, Kind], steps: dict[str, float], notations: Mapping[str, str]
) -> dict[str, Kind]:
    """The kinds, with integers in place of reals that are whole, but for amounts such as 12.00."""
    found = dict(kinds)
    for name, step in list(steps.items()):
        form = format_of(kinds[name])
        whole = None
        if form.kind == "real" and not form.places:
            whole = Format("integer", form.notation)
        if step >= 1 and whole in CANDIDATES and name not in notations:
            found[name] = Kind(format=CANDIDATES.index(whole))
            if step == 1:  # whole numbers are asked for more steps than these
                del steps[name]
    return found


def bound_kind_failure(evidence: float) -> float:
    """The probability that a column is taken for a kind that it is not, at most.

    Let all cells that are not empty be words that are typical of the kind k. The choice takes a
    kind j that claims none of them with probability at most exp(odds_j - odds_k - evidence), and
    one that claims them, too, with at most exp(odds_j - odds_k). The bound is the sum over all
    others, for the worst k.

    Two choices are no failures. Formats that read the same words as other numbers or days
    (05/06/2020): no evidence tells them apart. And reals for whole numbers, of which the step tells
    that they are whole.
    """
    odds = kind_odds(evidence)
    claims, fails = _rivals()
    chances = np.exp(odds[None, :] - odds[:, None] - evidence * ~claims)
    return float(min((chances * fails).sum(axis=1).max(), 1.0))


@cache
def _rivals() -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each kind which others claim its typical words, and which of them are wrong."""
    claims = np.eye(len(KINDS), dtype=bool)
    claims[:, KINDS.index(WORDS)] = True
    for place, others in RIVALS.items():
        claims[place, list(others)] = True
    is_plain = np.array(
        [kind.format is not None and not CANDIDATES[kind.format].notation for kind in KINDS]
    )
    is_words = np.array([kind.words for kind in KINDS])
    fails = ~claims | is_plain[:, None] | is_words[None, :]
    np.fill_diagonal(fails, False)
    integer, real = (
        KINDS.index(Kind(format=CANDIDATES.index(Format(kind)))) for kind in ("integer", "real")
    )
    fails[integer, real] = False
    return claims, fails


def find_rivals() -> dict[int, tuple[int, ...]]:
    """For each kind which others but any words claim its typical words: what
    :data:`understudy.privacy.kind_rivals.RIVALS` holds, found by trying all formats.
    """
    found = {}
    for place, kind in enumerate(KINDS):
        tally = Tally(1)
        tally.add([_typical_word(kind)], [1])
        others = set(np.flatnonzero(count_kinds(tally) > 0).tolist())
        others -= {place, KINDS.index(WORDS)}
        if others:
            found[place] = tuple(sorted(others))
    return found


_TYPICAL = {"integer": 12, "real": 12.5, "date": 20_000, "time": 45_296, "datetime": 1_728_045_296}


def _typical_word(kind: Kind) -> str:
    if kind.words:
        return "some words"
    if kind.vocabulary is not None:
        return VOCABULARIES[kind.vocabulary][0]
    assert kind.format is not None
    form = CANDIDATES[kind.format]
    (word,) = form.write([_TYPICAL[form.kind]])
    return word


SLOPES = {1.0: 3.0, 100.0: 2.0, 1e4: 1.5, 1e6: 1.0}
"""By how much the log-odds of a range fall with the logarithm of its width in steps, from each
width on: least among large numbers, whose scale nobody knows beforehand.
"""

GRIDLESS_SLOPE, MIN_STEP = 1.5, 1e-6
"""The same for reals with a finer step, which are taken to have none."""

DEMANDED = {1.0: 0.0, 2.0: 0.007, 20.0: 0.003, 100.0: 0.001}
"""What is added to a slope, per unit of evidence. 0.001 says that a range e times as wide must hold
0.1 % more of the rows; among codes, where one value more or less is many rows, it is more.
"""


def range_odds(kind: str, ends: Ends, evidence: float, step: float = 1.0) -> NDArray[np.float64]:
    """Narrow ranges are favoured, in units of the step that the numbers have; those that are
    narrower than two steps are as good as excluded, but for whole numbers.

    Dates have few candidates, whole years, and hardly tails: a year that no row has is seen.
    """
    if kind in ("date", "datetime"):
        return ends.end_odds - (8.0 + 0.02 * evidence) * np.log(ends.widths)
    widths = ends.widths / step
    odds = ends.end_odds - _weigh_widths(widths, SLOPES)
    odds -= evidence * _weigh_widths(widths, DEMANDED)
    if step < MIN_STEP:
        # Of numbers without a step, how many a range holds says nothing of its scale.
        odds -= (GRIDLESS_SLOPE - SLOPES[1e6]) * np.log(widths)
    if kind == "real":
        odds[widths < MIN_STEPS] -= 10.0 + 2 * evidence
    return odds


def _weigh_widths(
    widths: NDArray[np.float64], slopes: Mapping[float, float]
) -> NDArray[np.float64]:
    """What speaks against widths, by slopes that each hold from a width on."""
    against = np.zeros(len(widths))
    bends = [*slopes, np.inf]
    for (low, slope), high in zip(slopes.items(), bends[1:], strict=True):
        against += slope * np.log(np.clip(widths, low, high) / low)
    return against


SIMPLE_ENDS = (1.0, 2.0, 5.0)
SIMPLE_SLOPES = {"integer": (0.6, 0.08), "real": (0.3, 0.05)}
"""Of ranges that few cells tell: the mantissas of their ends, and by how much the log-odds fall
with the logarithm of the width in steps: at least, and per unit of evidence. Reals are amounts in
cents: their widths in steps are larger.
"""


def simple_ranges(
    kind: str, ends: Ends, evidence: float, step: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The places of ranges from zero to a round number, and what speaks for each: where most cells
    are zero, the others say too little to choose among all, or to demand much of a wide one. Odds
    that outweigh all of these cells would choose one value beside zero, whatever they hold.
    """
    low, high = ends.edges[ends.lows], ends.edges[ends.highs]
    if kind == "integer":
        high = high - 1
    positive = np.maximum(high, 1e-300)
    mantissas = np.round(positive / 10.0 ** np.floor(np.log10(positive) + 1e-9), 9)
    wide_enough = ends.widths >= MIN_STEPS * step
    places = np.flatnonzero((low == 0) & wide_enough & np.isin(mantissas, SIMPLE_ENDS))
    least, demanded = SIMPLE_SLOPES[kind]
    most = max(least, demanded * evidence)
    slopes = {width: min(slope, most) for width, slope in SLOPES.items()}
    return places, -_weigh_widths(ends.widths[places] / step, slopes)


MIN_STEPS = 1.5
"""A narrower range of reals holds one value of their grid."""

LEVELS = {
    "integer": (4.0, 3.6, 3.2, 2.8, 2.4, 2.0, 1.9, 1.6, 1.1, 0.6, 0.0),
    "real": (8.4, 8.0, 7.8, 7.4, 7.1, 6.8, 5.5, 5.0, 4.9, 4.5, 3.9, 3.3, 2.1, 1.3, 1.0, 0.6, 0.0),
    "time": (4.0, 3.6, 3.3, 3.1, 2.8, 2.0, 0.0),
    "datetime": (5.0, 4.0, 3.6, 3.3, 3.1, 2.8, 2.0, 0.0),
}
"""How coarse each grid is. Where all values lie on one grid and so on all finer ones, these odds
decide alone: neighbours are far enough apart that chance hardly takes the finer one.
"""

MAX_LEVEL = 6.0
"""Coarser grids than this are favoured by more: whole numbers are commoner than halves."""

FIXED_PLACES_ODDS = 0.1
"""What speaks for a fixed number of places, per unit of evidence: where nine of ten cells have it,
it is taken to be the custom.
"""

SHORTEST_ODDS = 0.06
"""What speaks for decimals only where they are needed: other reals are told by those that are
whole, which have a ".0", and where these are very few, little is lost either way.
"""

PADDED_ODDS = -0.02
"""What speaks against leading zeros: numbers of equal length are no codes, unless one in fifty has
a zero in front.
"""


UNLIKELY_ODDS = -10.0
"""What speaks against a step that numbers of a format hardly have."""


def grid_odds(form: Format, evidence: float) -> NDArray[np.float64]:
    """Coarse grids are favoured, by as much as there is evidence for: three tenths of it from the
    finest to the coarsest, so that a column of which half the cells tell is still told right; more
    where there is little, so that noise does not choose.
    Fixed places after the point are favoured, too, and so are decimals only where they are needed:
    cells written otherwise tell against it. Leading zeros must be seen.
    """
    levels = dict(zip(grids_of(form.kind), LEVELS.get(form.kind, (0.0,)), strict=True))
    apart = max(0.3 * evidence, min(1.2 * evidence, 15.0))
    step = min(apart / min(max(*levels.values(), 1.0), MAX_LEVEL), 10.0) + 0.002 * evidence
    written = dict.fromkeys(list_fixed_notations(form), min(FIXED_PLACES_ODDS * evidence, 8.0))
    written[shortest_notation(form)] = min(SHORTEST_ODDS * evidence, 4.0)
    written[""] = 0.0
    written |= dict.fromkeys(PADDED, PADDED_ODDS * evidence - 2.0)
    found = np.array(
        [
            levels[spacing.step] * step + written.get(spacing.notation, 0.0)
            for spacing in spacings_of(form)
        ]
    )
    unlikely = [is_unlikely(form, spacing) for spacing in spacings_of(form)]
    return found + UNLIKELY_ODDS * np.array(unlikely)
