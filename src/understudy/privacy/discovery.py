"""Discovering the domain of a table at a price, when nobody wrote a schema.

Column names are public, and so is which of them look like identifiers. All else is paid for, in a
few steps that each see what the ones before released:

1. **Rows**: a noisy count, from which the rest of the budget is divided by need.
2. **Kinds**: for each column a choice among public domains: the ways to write numbers, dates and
   times, short public vocabularies ("yes" and "no"), or any words. The score of a domain is the
   number of cells that belong to it.
3. **Ranges** and **grids** of numbers and dates: choices among public ends and steps, by the same
   score; narrow ranges and coarse grids are favoured by public offsets.
4. **Values**: a noisy histogram for each column, which says how missing values are written, where
   bins are cut, and which codes occur. Words are not known beforehand, so those that occur are
   counted, and only those with a noisy count above a threshold are released.

One row changes each score and each count by one, so no cell decides anything by itself; what does
not fit the chosen domain counts as outside of it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.counting.columns import Columns, MemoryColumns
from understudy.counting.partition import (
    BOOLEAN_VOCABULARIES,
    MAX_VALUE,
    SENTINELS,
    VOCABULARIES,
    Ends,
    Tally,
    ends_of,
    grids_of,
)
from understudy.data.formats import CANDIDATES, Format
from understudy.data.inside_files import with_details
from understudy.data.schema import (
    MAX_TEXT_LENGTH,
    Attribute,
    Category,
    Identifier,
    Quantity,
    Schema,
    Text,
)
from understudy.data.tables import MARKS, Table
from understudy.errors import InputError
from understudy.privacy.bins import cut_bins, drop_empty_ends, trim
from understudy.privacy.budget import Budget, exact, round_down, rounded_up
from understudy.privacy.cells import MAX_CELLS
from understudy.privacy.discovery_budget import (
    ENOUGH_FOR_CATEGORIES,
    GRIDS_SHARE,
    GRIDS_STRENGTH,
    RANGES_SHARE,
    RANGES_SHARE_BESIDE_WORDS,
    RANGES_STRENGTH,
    WORDS_WEIGHT,
    Outlook,
    choice_price,
    foresee,
    foresee_by_need,
    kinds_price,
    noise_tail,
    price_count,
    rows_to_be_seen,
    subtract,
    top_up_words,
)
from understudy.privacy.discovery_questions import FALSE_ALARM, Asker, NoisyHistogram
from understudy.privacy.discovery_scores import (
    KINDS,
    WORDS,
    Kind,
    count_grids,
    count_kinds,
    count_ranges,
    grid_odds,
    kind_odds,
    range_odds,
)
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import (
    Noise,
    SystemNoise,
    table_scale,
)

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

CLOSER_LOOK = 0.045
"""Of the budget: what a look at the inside of bins spends on its first histograms, by default."""

MAX_UNIT_CELLS = 4096
"""Ranges of up to this many values are counted value by value."""

_IDENTIFIER_NAME = re.compile(
    r"(?i)(.*[_\- ])?(id|uuid|guid|ssn|identifier|rownames|row_?number|index)"
)

_ROW_NUMBER_NAME = re.compile(r"(?i)(id|row_?id|.*(uuid|guid|rownames|row_?number|index))")
"""Identifiers that tell rows apart, hardly persons."""


@dataclass(frozen=True)
class Discovered:
    """What discovery found."""

    schema: Schema
    empty: tuple[str, ...] = ()
    """Columns in which nothing could be told from the noise."""


class Draft:
    """What is public about the columns of a table, and how their domain is discovered.

    Parameters
    ----------
    table
        The table, or its columns.
    person
        The column that says whose row it is, if any: it becomes an identifier, and is not asked
        about.
    known
        Columns that are described already, by public facts: they are not asked about either.
    words
        Columns that are known to hold words, by public facts: their kind is not asked for.
    """

    def __init__(
        self,
        table: Table | Columns,
        person: str | None = None,
        known: Mapping[str, Attribute] | None = None,
        words: Collection[str] = (),
    ) -> None:
        if isinstance(table, Table):
            self.columns: Columns = MemoryColumns(table)
        else:
            self.columns = table
        self.source = self.columns.source
        self.names = tuple(self.columns.names)
        self.known = dict(known or {})
        self.words = frozenset(words)
        self.identifiers = frozenset(
            name for name in self.names if is_identifier(name, person) and name not in self.known
        )

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """The columns that are asked about."""
        asked = tuple(
            name for name in self.names if name not in self.identifiers and name not in self.known
        )
        if not asked:
            raise InputError(
                f"{self.source} has no column to model: all of them look like identifiers; "
                f"give a schema."
            )
        return asked

    def discover(
        self, ledger: Ledger, budget: Budget, delta: float, noise: Noise | None = None
    ) -> Schema:
        """Draft a schema; costs ``budget`` and ``delta``, whatever is found."""
        return Discovery(self, ledger, budget, delta, noise).run().schema


def is_identifier(name: str, person: str | None = None) -> bool:
    """Whether a column is taken for one that tells rows or persons apart: by its name."""
    return name == person or _IDENTIFIER_NAME.fullmatch(name) is not None


def is_owner(name: str) -> bool:
    """Whether an identifier may say whose row it is, as ``patient_id`` does: by its name."""
    return is_identifier(name) and _ROW_NUMBER_NAME.fullmatch(name) is None


def discover(
    table: Table | Columns,
    ledger: Ledger,
    budget: Budget,
    delta: float,
    noise: Noise | None = None,
    person: str | None = None,
) -> Schema:
    """Draft a schema from private rows; see :meth:`Draft.discover`."""
    return Draft(table, person).discover(ledger, budget, delta, noise)


# --------------------------------------------------------------------------- the steps


@dataclass(frozen=True)
class _Range:
    low: float
    high: float
    first: int
    last: int
    """The places of the ends among those of the kind."""


class Discovery:
    """One run of discovery, step by step.

    Names of words are (epsilon, delta)-private. Compare neighbours T and T' that differ by the rows
    of one person, of whom at most M count. A word that occurs fewer than M + 1 times is never
    named. If T names v and T' cannot, v occurs at most M times in T', hence at most 2 M times in T,
    and there are at most M such words, one for each of the person's rows. With P(2 M + noise >=
    threshold) <= delta / M one of them is named with probability at most delta (union bound). On
    all other outcomes the two histograms differ by M rows in cells that both have, which their
    noise covers. Under replace the same holds in both directions, and delta is charged once.

    Parameters
    ----------
    draft
        The columns.
    ledger, budget, delta
        What is debited, and how much of it may be.
    noise
        Where noise comes from.
    share
        How much of the budget goes to discovery; ``None``: by need.
    """

    def __init__(
        self,
        draft: Draft,
        ledger: Ledger,
        budget: Budget,
        delta: float,
        noise: Noise | None = None,
        *,
        share: float | None = 1.0,
    ) -> None:
        self.draft = draft
        self.share = share
        self.delta = delta
        self.budget = budget
        self.left = budget
        self.count_price = self.price = budget
        """The most that is asked until the rows are counted, and until the end."""
        self.asker = Asker(ledger, noise if noise is not None else SystemNoise())
        self.protection = self.asker.protection
        self.rows = 0.0
        if not self.asker.noise.private:
            ledger.private = False

    def run(self) -> Discovered:
        """All steps."""
        self.count_rows()
        return self.find()

    @cached_property
    def _tallies(self) -> Mapping[str, Tally]:
        """Exact counts of all columns, in one pass. Nothing of them is looked at before it is paid
        for.
        """
        fewest = self.protection.rows_per_person + 1
        tallies = {name: Tally(fewest) for name in self.draft.asked}
        self.draft.columns.count(tallies)
        return tallies

    # ---- step 1

    def count_rows(self) -> Outlook:
        """A noisy number of rows, and what can be found with it; under replace it is public."""
        rows = next(iter(self._tallies.values())).rows
        cost = Budget(0.0, self.budget.currency)
        if self.protection.neighbours == "replace":
            self.rows = float(max(rows, 1))
        else:
            cost = price_count(self.budget)
            noisy = self.asker.histogram("number of rows", [rows], cost, 0.0)
            self.rows = float(max(int(noisy.counts[0]), 1))
        facts = self.delta, len(self.draft.asked), self.rows
        if self.share is None:
            outlook = foresee_by_need(self.protection, self.budget, *facts)
        else:
            part = exact(self.budget.amount) * exact(self.share)
            left = subtract(Budget(round_down(part), self.budget.currency), cost)
            outlook = foresee(self.protection, left, *facts)
        self.left = outlook.budget
        most = exact(cost.amount) + exact(outlook.budget.amount)
        self.price, self.count_price = Budget(rounded_up(most), cost.currency), cost
        return outlook

    # ---- the rest

    def find(self) -> Discovered:
        """Kinds, ranges, grids and values."""
        kinds = self._choose_kinds()
        numbers = [name for name, kind in kinds.items() if kind.format is not None]
        words = [name for name, kind in kinds.items() if kind.words]
        delta = 0.0
        if words:
            delta = round_down(exact(self.delta) / len(words))
        share = self._share_for_ranges(kinds, delta)
        ranges = self._choose_ranges({name: kinds[name] for name in numbers}, share)
        grids = self._choose_grids(kinds, ranges)
        costs = self._divide(self.left, kinds)
        self._top_up_words(words, costs, delta)
        attributes: list[Attribute] = []
        empty: list[str] = []
        for name in self.draft.names:
            if name in self.draft.known:
                attributes.append(self.draft.known[name])
                continue
            if name in self.draft.identifiers:
                attributes.append(Identifier(name, "identifier"))
                continue
            kind, cost = kinds[name], costs[name]
            if kind.words:
                found = self._find_words(name, cost, delta)
            elif kind.vocabulary is not None:
                found = self._find_vocabulary(name, kind.vocabulary, cost)
            else:
                found = self._find_numbers(name, kind, ranges[name], grids.get(name), cost)
            attributes.append(found[0])
            if not found[1]:
                empty.append(name)
        return Discovered(Schema(tuple(attributes)), tuple(empty))

    def _share_for_ranges(self, kinds: Mapping[str, Kind], delta: float) -> float:
        """Half of what is left, unless words would then lack it."""
        costs = self._divide(self.left.equally(2)[0], kinds)
        for name, kind in kinds.items():
            if kind.words and not self._sees_enough(costs[name], delta):
                return RANGES_SHARE_BESIDE_WORDS
        return RANGES_SHARE

    def _sees_enough(self, cost: Budget, delta: float) -> bool:
        """Whether words in a small share of the rows are named, at a price."""
        seen = rows_to_be_seen(self.protection, cost, delta)
        return seen <= ENOUGH_FOR_CATEGORIES * self.rows

    def _divide(self, rest: Budget, kinds: Mapping[str, Kind]) -> dict[str, Budget]:
        """Most of the rest goes to columns of words."""
        weights = [WORDS_WEIGHT if kind.words else 1.0 for kind in kinds.values()]
        return dict(zip(kinds, rest.split(*weights), strict=True))

    def _top_up_words(self, words: Sequence[str], costs: dict[str, Budget], delta: float) -> None:
        """Where the share of discovery is up to discovery, words get more if they need it."""
        if self.share is not None or not words:
            return
        facts = costs[words[0]], delta, self.rows, len(self.draft.asked)
        more = top_up_words(self.protection, self.budget, *facts)
        for name in words:
            costs[name] = costs[name].plus(more)
        raised = exact(self.price.amount) + len(words) * exact(more.amount)
        self.price = Budget(rounded_up(raised), self.price.currency)

    # ---- step 2

    def _choose_kinds(self) -> dict[str, Kind]:
        columns = [name for name in self.draft.asked if name not in self.draft.words]
        if not columns:
            return dict.fromkeys(self.draft.asked, WORDS)
        cost = kinds_price(self.protection, self.left, self.rows, len(columns))
        self.left = subtract(self.left, cost, len(columns))
        evidence = self.rows * self.protection.strength(cost)
        log_odds = kind_odds(evidence)
        chosen = {
            name: KINDS[
                self.asker.choose(
                    f"kind of {name}", count_kinds(self._tallies[name]), log_odds, cost
                )
            ]
            for name in columns
        }
        return {name: chosen.get(name, WORDS) for name in self.draft.asked}

    # ---- step 3

    def _choose_ranges(self, kinds: Mapping[str, Kind], share: float) -> dict[str, _Range]:
        if not kinds:
            return {}
        need = RANGES_STRENGTH, share
        cost = choice_price(self.protection, self.left, self.rows, need, len(kinds))
        self.left = subtract(self.left, cost, len(kinds))
        evidence = self.rows * self.protection.strength(cost)
        found = {}
        for name, kind in kinds.items():
            assert kind.format is not None
            form = CANDIDATES[kind.format]
            ends = ends_of(form.kind)
            counts = count_ranges(self._tallies[name], kind.format, ends)
            odds = range_odds(form.kind, ends, evidence)
            place = self.asker.choose(f"range of {name}", counts, odds, cost)
            first, last = int(ends.lows[place]), int(ends.highs[place])
            low, high = float(ends.edges[first]), float(ends.edges[last])
            found[name] = _Range(low, high, first, last)
        return found

    def _choose_grids(
        self, kinds: Mapping[str, Kind], ranges: Mapping[str, _Range]
    ) -> dict[str, int]:
        """Steps of integers and decimals of reals, where they matter."""
        asked = {}
        for name, stretch in ranges.items():
            kind = self._format_of(kinds[name]).kind
            wide = kind == "integer" and stretch.high - stretch.low > MAX_FEW_VALUES
            if wide or kind == "real":
                asked[name] = kind
        if not asked:
            return {}
        need = GRIDS_STRENGTH, GRIDS_SHARE
        cost = choice_price(self.protection, self.left, self.rows, need, len(asked))
        self.left = subtract(self.left, cost, len(asked))
        found = {}
        for name, kind in asked.items():
            place = kinds[name].format
            assert place is not None
            counts = count_grids(self._tallies[name], place)
            evidence = self.rows * self.protection.strength(cost)
            odds = grid_odds(kind, evidence)
            chosen = self.asker.choose(f"grid of {name}", counts, odds, cost)
            found[name] = grids_of(kind)[chosen]
        return found

    @staticmethod
    def _format_of(kind: Kind) -> Format:
        assert kind.format is not None
        return CANDIDATES[kind.format]

    # ---- step 4

    def _find_words(self, name: str, cost: Budget, delta: float) -> tuple[Attribute, bool]:
        """Words with a noisy count above the threshold, "other" for the rest."""
        tally = self._tallies[name]
        words = sorted(tally.words)
        counts = [*(tally.words[word] for word in words), int(tally.missing[0])]
        asked = self.asker.histogram(f"words of {name}", counts, cost, delta)
        threshold = rows_to_be_seen(self.protection, cost, delta)
        kept = [
            (word, count)
            for word, count in zip(words, asked.counts[:-1].tolist(), strict=True)
            if count >= threshold and len(word) <= MAX_TEXT_LENGTH
        ]
        kept = sorted(kept, key=lambda pair: -pair[1])[:MAX_CATEGORIES]
        if not kept:
            return self._give_up(name, "", asked.counts[-1:]), False
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

    def _find_vocabulary(self, name: str, place: int, cost: Budget) -> tuple[Attribute, bool]:
        tally = self._tallies[name]
        counts = np.append(tally.vocabularies[place], tally.missing)
        asked = self.asker.histogram(f"values of {name}", counts, cost, 0.0)
        missing = _missing_mark(asked, asked.counts[1:])
        if not self._holds_enough(asked.counts[:1]):
            return self._give_up(name, missing, asked.counts[1:]), False
        values = VOCABULARIES[place]
        kind = "categorical"
        if place < BOOLEAN_VOCABULARIES:
            kind = "boolean"
        return Category(name, kind, missing, values), True

    def _find_numbers(
        self, name: str, kind: Kind, stretch: _Range, grid: int | None, cost: Budget
    ) -> tuple[Attribute, bool]:
        form = self._format_of(kind)
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
        tally = self._tallies[name]
        ends = ends_of(form.kind)
        decimals = None
        if form.kind == "real":
            decimals = grid
        kept = _places_to_cut(ends, stretch, decimals)
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
            return self._give_up(name, missing, asked.counts[len(cells) :]), False
        bins = cut_bins(trim(found, self._seen_later))
        return _quantity(name, form, missing, bins, grid), True

    def _give_up(self, name: str, missing: str | None, counts: NDArray[np.int64]) -> Text:
        """A column in which nothing was found says so in every row: numbers from a range that is a
        guess would look as if they meant something. Where most cells are missing, all are.
        """
        if missing is not None and counts.max() > self.rows / 2:
            return Text(name, "text", replacement=missing)
        return Text(name, "text")

    @cached_property
    def _seen_later(self) -> float:
        """About how many rows a cell must hold for a look at the inside of bins to see it."""
        cost = self.budget.split(CLOSER_LOOK, len(self.draft.asked) - CLOSER_LOOK)[0]
        scale = table_scale(cost, self.protection.neighbours, self.protection.rows_per_person)
        return noise_tail(scale, cost.currency, FALSE_ALARM / MAX_CELLS)

    def _holds_enough(self, counts: NDArray[np.int64]) -> bool:
        """Whether a range holds a fair share of the rows."""
        return bool(counts.sum() > MIN_HELD * self.rows)

    def _find_values(
        self, name: str, place: int, stretch: _Range, step: int, cost: Budget
    ) -> tuple[Attribute, bool]:
        """Whole numbers that are counted one by one: codes where they are few, else bins."""
        tally, form = self._tallies[name], CANDIDATES[place]
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
            return self._give_up(name, missing, asked.counts[len(values) :]), False
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
            found = trim(found, self._seen_later)
        if len(found.counts) <= MAX_UNIT_BINS:
            bins = drop_empty_ends(found)
        else:
            bins = cut_bins(found)
        bins = _with_sentinels(bins, sentinels.tolist())
        return _quantity(name, form, missing, bins, step), True


# --------------------------------------------------------------------------- post-processing


def _places_to_cut(ends: Ends, stretch: _Range, decimals: int | None = None) -> list[int]:
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
