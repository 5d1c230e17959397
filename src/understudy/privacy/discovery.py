"""Discovering the domain of a table at a price, when nobody wrote a schema.

Column names are public, and so is which of them look like identifiers. All else is paid for, in a
few steps that each see what the ones before released:

1. **Rows**: a noisy count, from which the rest of the budget is divided by need; one of the
   different values of each identifier, which tells whether many rows share one; and a rougher one
   of the cells of each column that are not empty.
2. **Kinds**: for each column a choice among public domains: the ways to write numbers, dates and
   times, short public vocabularies ("yes" and "no"), or any words. The score of a domain is the
   number of cells that belong to it.
3. **Steps** and **ranges** of numbers and dates: choices among public steps and ends, by the same
   score; coarse steps and ranges of few steps are favoured by public offsets.
4. **Values**: a noisy histogram for each column, which says how missing values are written, where
   bins are cut, and which codes occur. Words are not known beforehand, so those that occur are
   counted, and only those with a noisy count above a threshold are released.

One row changes each score and each count by one, so no cell decides anything by itself; what does
not fit the chosen domain counts as outside of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from understudy.counting.columns import Columns
from understudy.counting.partition import DistinctTally, Tally, ends_of
from understudy.counting.spacings import PADDED, spacings_of
from understudy.data.attributes import MAX_FEW_VALUES, Attribute, Text
from understudy.data.formats import CANDIDATES
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.errors import InputError
from understudy.privacy.budget import Budget, exact, round_down, round_up
from understudy.privacy.cells import MAX_CELLS
from understudy.privacy.discovery_budget import (
    CERTAIN_GROUPS,
    COMMAS_SHARE,
    COMMONEST_LOOKS,
    COUNT_SHARE,
    ENOUGH_FOR_CATEGORIES,
    FEW_TELLING,
    KINDS_STRENGTH,
    MAX_GROUPS,
    MAX_HIDDEN_CELLS,
    MIN_NAMED,
    MIN_PARTS,
    MIN_RANGE_EVIDENCE,
    MIN_RARE,
    RANGES_SHARE,
    RANGES_SHARE_BESIDE_WORDS,
    SEEN_CELLS,
    TELLING_DEVIATION,
    TELLING_SHARE,
    TEXTS_SHARE,
    WORDS_WEIGHT,
    Outlook,
    choice_price,
    foresee,
    foresee_by_need,
    frequent_numbers_price,
    grids_prices,
    kinds_prices,
    limit_price,
    noise_tail,
    present_price,
    price_count,
    price_groups,
    price_second_looks,
    ranges_prices,
    rare_words_price,
    rows_to_be_seen,
    subtract,
    top_up_words,
)
from understudy.privacy.discovery_cells import Range
from understudy.privacy.discovery_draft import Draft
from understudy.privacy.discovery_numbers import NumberFinder
from understudy.privacy.discovery_questions import FALSE_ALARM, Asker
from understudy.privacy.discovery_rare import find_rare
from understudy.privacy.discovery_scores import (
    COMMA_KINDS,
    KINDS,
    MAX_KIND_FAILURE,
    WORDS,
    Kind,
    as_integers,
    bound_kind_failure,
    comma_odds,
    count_grids,
    count_kinds,
    count_ranges,
    format_of,
    grid_odds,
    has_decimal_comma,
    kind_odds,
    range_odds,
    simple_ranges,
)
from understudy.privacy.discovery_words import WordFinder
from understudy.privacy.identifiers import make_identifier
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise, SystemNoise, table_scale

MIN_TELLING = 0.02
"""Of the rows: no fewer cells are counted on to tell the step of a column."""

MIN_GRID = 0.05
"""Of reals with a finer step, numbers that many rows share are hardly seen inside bins: a top code
of 25564.67 is one of ten thousand values of a cell.
"""

CLOSER_LOOK = 0.045
"""Of the budget: what a look at the inside of bins spends on its first histograms, by default."""


@dataclass(frozen=True)
class Discovered:
    """What discovery found."""

    schema: Schema
    empty: tuple[str, ...] = ()
    """Columns in which nothing could be told from the noise."""


def discover(
    table: Table | Columns,
    ledger: Ledger,
    budget: Budget,
    delta: float,
    noise: Noise | None = None,
    person: str | None = None,
) -> Schema:
    """Draft a schema from private rows; costs ``budget`` and ``delta``, whatever is found."""
    return Discovery(Draft(table, person), ledger, budget, delta, noise).run().schema


# --------------------------------------------------------------------------- the steps


class Discovery:
    """One run of discovery, step by step.

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
        self.left = self._before = budget
        self.count_price = self.price = budget
        """The most that is asked until the rows are counted, and until the end."""
        self.asker = Asker(ledger, noise if noise is not None else SystemNoise())
        self.protection = self.asker.protection
        self.rows = self._rows_deviation = 0.0
        self._present: dict[str, float] = {}
        self._telling: dict[str, float] = {}
        """About how many cells of a column are neither empty nor zero, or fewer."""
        self._mostly_zero: set[str] = set()
        """Columns in which zeros are more than half of the cells that are not empty."""
        self._hardly_told: set[str] = set()
        """Those of them of which the other cells are too few to tell a range with confidence."""
        self._notations: dict[str, str] = {}
        """Places after the point of reals that are always written with as many."""
        self._kinds_costs: dict[str, Budget] = {}
        self._kinds: dict[str, Kind] = {}
        self._hopeless: tuple[str, ...] = ()
        """Columns of words that are all too rare to be named."""
        self.empty_columns: tuple[str, ...] = ()
        """Columns that hold nothing, as far as can be told."""
        self.texts: tuple[str, ...] = ()
        """Columns of words in which most rows have one of their own: free text, or identifiers."""
        if not self.asker.noise.private:
            ledger.private = False

    def run(self) -> Discovered:
        """All steps."""
        self.count_rows()
        return self.find()

    @cached_property
    def _tallies(self) -> dict[str, Tally]:
        """Exact counts of all columns, in one pass. Nothing of them is looked at before it is paid
        for.
        """
        fewest = self.protection.max_rows_per_person + 1
        tallies = {name: Tally(fewest) for name in self.draft.asked}
        self.draft.columns.count({**tallies, **self._distinct})
        return tallies

    @cached_property
    def _distinct(self) -> dict[str, DistinctTally]:
        """Of columns that look like identifiers, and may be shared by many rows."""
        return {name: DistinctTally() for name in self.draft.perhaps_groups}

    # ---- step 1

    def count_rows(self) -> Outlook:
        """A noisy number of rows, and what can be found with it; under replace it is public."""
        self._check_share()
        rows = next(iter(self._tallies.values())).rows
        cost = Budget(0.0, self.budget.currency)
        if self.protection.neighbours == "replace":
            self.rows = float(max(rows, 1))
        else:
            cost = price_count(self.budget)
            noisy = self.asker.histogram("number of rows", [rows], cost, 0.0)
            self.rows = float(max(int(noisy.counts[0]), 1))
            self._rows_deviation = noisy.deviation
        cost = Budget(round_up(exact(cost.amount) + self._find_groups()), cost.currency)
        facts = self.delta, len(self.draft.asked), self.rows
        if self.share is None:
            outlook = foresee_by_need(self.protection, self.budget, *facts)
        else:
            part = exact(self.budget.amount) * exact(self.share)
            left = subtract(Budget(round_down(part), self.budget.currency), cost)
            outlook = foresee(self.protection, left, *facts)
        self.left = outlook.budget
        most = exact(cost.amount) + exact(outlook.budget.amount)
        self.price, self.count_price = Budget(round_up(most), cost.currency), cost
        return outlook

    def _check_share(self) -> None:
        """Refuse a share that the counts of rows and identifiers alone would use up."""
        groups = len(self.draft.perhaps_groups)
        counting = exact(COUNT_SHARE) + groups * exact(price_groups(Budget(1.0), groups).amount)
        if self.share is not None and exact(self.share) <= 2 * counting:
            raise InputError(
                f"A share of {self.share:g} of the budget is too little to discover anything "
                f"with; give discovery more than {float(2 * counting):g} (--discovery), or none."
            )

    def _find_groups(self) -> Fraction:
        """Ask about identifiers that many rows share as about other columns: rows with a number of
        their own would have no school, or no person with several rows. Returns the price.

        One row changes the number of different values by one at most.
        """
        names, fewest = self.draft.perhaps_groups, self.protection.max_rows_per_person + 1
        cost = price_groups(self.budget, len(names))
        groups = []
        for name in names:
            count = self._distinct[name].distinct
            asked = self.asker.histogram(f"different values of {name}", [count], cost, 0.0)
            spread = math.hypot(asked.deviation, MAX_GROUPS * self._rows_deviation)
            if asked.counts[0] + CERTAIN_GROUPS * spread < MAX_GROUPS * self.rows:
                groups.append(name)
        if groups:
            tallies = {name: Tally(fewest) for name in groups}
            self.draft.columns.count(tallies)
            self._tallies.update(tallies)
            self.draft = self.draft.with_groups(groups)
        return len(names) * exact(cost.amount)

    # ---- the rest

    def find(self) -> Discovered:
        """Kinds, ranges, grids and values."""
        self._kinds = self._kinds or self._choose_kinds()
        kinds = {name: self._kinds[name] for name in self.hopeful}
        numbers = [name for name, kind in kinds.items() if kind.format is not None]
        words = [name for name, kind in kinds.items() if kind.words]
        share = self._share_for_ranges(kinds, self._share_delta(kinds))
        stepped = ("real", "time", "datetime")
        fine = [name for name in numbers if format_of(kinds[name]).kind in stepped]
        steps = self._choose_steps(kinds, fine)
        kinds = as_integers(kinds, steps, self._notations)
        gridless = [name for name, step in steps.items() if self._lacks_grid(kinds[name], step)]
        delta = self._share_delta(kinds, len(gridless))
        ranges = self._choose_ranges({name: kinds[name] for name in numbers}, steps, share)
        # Where few cells tell, a coarse grid is likelier to be chosen than to be there, and with
        # it all that is not zero would be one value.
        wide = set(_wide_integers(kinds, ranges, steps)) - self._hardly_told
        steps |= self._choose_steps(kinds, [name for name in numbers if name in wide])
        for name, notation in self._notations.items():
            if notation in PADDED:
                ranges[name] = ranges[name].within_digits(len(notation))
        costs = self._divide(self.left, kinds)
        known = self.asker, self._tallies, self.rows, self._present, self._rows_deviation
        word_finder = WordFinder(*known)
        number_finder = NumberFinder(
            *known,
            seen_later=self._foresee_seen(),
            notations=self._notations,
            not_only_zero=self._list_not_only_zero(),
        )
        self._ask_numbers(number_finder, {name: kinds[name] for name in gridless}, steps, delta)
        self._top_up_words(words, costs, delta)
        self._ask_words(word_finder, {name: costs[name] for name in words}, delta)
        attributes: list[Attribute] = []
        empty: list[str] = []
        for name in self.draft.names:
            if name in self.draft.known:
                attributes.append(self.draft.known[name])
                continue
            if name in self.draft.identifiers:
                attributes.append(make_identifier(name))
                continue
            if name in self.draft.perhaps_groups and name in self._hopeless:
                attributes.append(make_identifier(name))
                continue
            if name in self.empty_columns:
                attributes.append(Text(name, "text", replacement=""))
                continue
            if name in self.texts:
                attributes.append(Text(name, "text"))
                continue
            if name in self._hopeless:
                absent = self.rows - self._present.get(name, self.rows)
                attributes.append(word_finder.give_up(name, "", np.array([absent])))
                empty.append(name)
                continue
            kind, cost = kinds[name], costs[name]
            if kind.words:
                found = word_finder.find_words(name)
            elif kind.vocabulary is not None:
                found = word_finder.find_vocabulary(name, kind.vocabulary, cost, delta)
            else:
                found = number_finder.find_numbers(name, kind, ranges[name], steps.get(name), cost)
            if not found[1] and name in self.draft.perhaps_groups:
                attributes.append(make_identifier(name))
                continue
            attributes.append(found[0])
            if not found[1]:
                empty.append(name)
        return Discovered(Schema(tuple(attributes)), tuple(empty))

    def _share_delta(self, kinds: Mapping[str, Kind], gridless: int = 0) -> float:
        """What each column that may name words or numbers gets of delta."""
        naming = gridless + sum(kind.format is None for kind in kinds.values())
        return round_down(exact(self.delta) / max(naming, 1))

    def _lacks_grid(self, kind: Kind, step: float) -> bool:
        """Whether numbers that many rows share are asked for by themselves: on a coarse grid a look
        at the inside of bins would find them.
        """
        return self.share is None and format_of(kind).kind == "real" and step < MIN_GRID

    def _ask_numbers(
        self,
        finder: NumberFinder,
        kinds: Mapping[str, Kind],
        steps: Mapping[str, float],
        delta: float,
    ) -> None:
        """Ask for the numbers that many rows share, beyond the price of discovery so far."""
        if not kinds:
            return
        facts = self.protection, self.budget, delta, self.rows, len(kinds)
        cost = frequent_numbers_price(*facts)
        self._raise_price(len(kinds) * exact(cost.amount))
        for name, kind in kinds.items():
            finder.ask_numbers(name, kind, steps[name], cost, delta)

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
        if not kinds:
            return {}
        weights = [WORDS_WEIGHT if kind.words else 1.0 for kind in kinds.values()]
        return dict(zip(kinds, rest.split(*weights), strict=True))

    def _top_up_words(self, words: Sequence[str], costs: dict[str, Budget], delta: float) -> None:
        """Words get more if they need it."""
        if not words:
            return
        more = self._more_for_words(costs[words[0]], delta)
        for name in words:
            costs[name] = costs[name].plus(more)
        self._raise_price(len(words) * exact(more.amount))

    def _more_for_words(self, cost: Budget, delta: float) -> Budget:
        """What a column of words gets beyond a cost, where the share of discovery is up to
        discovery.
        """
        if self.share is not None:
            return Budget(0.0, cost.currency)
        facts = cost, delta, self.rows, len(self.draft.asked)
        return top_up_words(self.protection, self.budget, *facts)

    def _raise_price(self, more: Fraction) -> None:
        """Whoever stops pays for what could have been asked."""
        raised = exact(self.price.amount) + more
        self.price = Budget(round_up(raised), self.price.currency)

    def _ask_words(self, finder: WordFinder, costs: Mapping[str, Budget], delta: float) -> None:
        """Ask for words. Where frequent ones are seen, and the share of discovery is up to
        discovery, columns that leave many rows without a name are asked again at a better price:
        those of two words never are.
        """
        half = round_down(exact(delta) / 2)
        twice = self.share is None and all(self._sees_enough(cost, half) for cost in costs.values())
        if not costs or not twice:
            half = delta
        for name, cost in costs.items():
            finder.ask_words(name, cost, half)
        if not costs or not twice:
            return
        spare = exact(price_second_looks(self.budget).amount)
        self._raise_price(spare)
        again = [name for name in costs if self._lacks_words(finder, name)]
        parts = max(len(again), MIN_PARTS)
        most = Budget(round_down(spare / parts), self.budget.currency)
        for name in again:
            price = rare_words_price(self.protection, most, half, self.rows)
            finder.ask_rare_words(name, price, half)

    def _lacks_words(self, finder: WordFinder, name: str) -> bool:
        """Whether a second look at a column is worth it: one with hardly any frequent words is free
        text.
        """
        left = finder.count_unnamed(name) / self.rows
        return MIN_RARE < left < 1 - MIN_NAMED

    def _foresee_seen(self) -> float:
        """About how many rows a cell must hold for a look at the inside of bins to see it."""
        cost = self.budget.split(CLOSER_LOOK, len(self.draft.asked) - CLOSER_LOOK)[0]
        scale = table_scale(cost, self.protection.neighbours, self.protection.max_rows_per_person)
        return noise_tail(scale, cost.currency, FALSE_ALARM / MAX_CELLS)

    # ---- step 2

    def count_present(self) -> tuple[str, ...]:
        """Count the cells of each column that are not empty, zeros by themselves, and divide the
        price of choosing kinds by need; returns the columns whose kind could not be told with
        confidence.
        """
        columns = [name for name in self.draft.asked if name not in self.draft.words]
        self._before = self.left
        if not columns:
            return ()
        cost = present_price(self.protection, self.left, self.rows, len(columns))
        self.left = subtract(self.left, cost, len(columns))
        seen = {}
        for name in columns:
            tally = self._tallies[name]
            counts = [tally.present - tally.zeros, tally.zeros]
            asked = self.asker.histogram(f"cells of {name}", counts, cost, 0.0)
            seen[name] = self._may_hold(asked.counts[1], asked.deviation)
            # A deviation less, so that there is hardly less evidence than is counted on.
            fewer = int(asked.counts.sum()) - 2**0.5 * asked.deviation
            self._present[name] = min(max(fewer, self.rows / 10), self.rows)
            fewer = int(asked.counts[0]) - asked.deviation
            self._telling[name] = min(max(fewer, MIN_TELLING * self.rows), self.rows)
            if asked.counts[1] > asked.counts[0]:
                self._mostly_zero.add(name)
        again, seen_again = self._count_telling_again()
        self.empty_columns = tuple(
            name for name in columns if not seen[name] and not seen_again.get(name, True)
        )
        columns = [name for name in columns if name not in self.empty_columns]
        spent = exact(self.count_price.amount) + len(seen) * exact(cost.amount)
        self.count_price = Budget(round_up(spent + again), cost.currency)
        self._before = self.left
        if not columns:
            return ()
        present = [self._present[name] for name in columns]
        prices = kinds_prices(self.protection, self.left, present)
        self._kinds_costs = dict(zip(columns, prices, strict=True))
        return tuple(
            name for name in columns if bound_kind_failure(self._evidence(name)) > MAX_KIND_FAILURE
        )

    def _list_not_only_zero(self) -> tuple[str, ...]:
        """Columns that are mostly zero, and were counted to hold other cells, too."""
        least = MIN_TELLING * self.rows
        return tuple(name for name in self._mostly_zero if self._telling[name] > least)

    def _count_telling_again(self) -> tuple[Fraction, dict[str, bool]]:
        """Count the cells that are neither empty nor zero once more where they seem to be few: the
        first count is too rough to tell what a choice needs. Returns the price, and of which
        columns more was counted than noise alone.
        """
        few = [name for name, count in self._telling.items() if count < FEW_TELLING * self.rows]
        if not few:
            return exact(0.0), {}
        wanted = self.protection.histogram_price(TELLING_DEVIATION * self.rows, self.left)
        cost = limit_price(wanted, self.left, TELLING_SHARE, len(few))
        self.left = subtract(self.left, cost, len(few))
        seen = {}
        for name in few:
            tally = self._tallies[name]
            counts = [tally.present - tally.zeros]
            asked = self.asker.histogram(f"cells of {name} but zeros", counts, cost, 0.0)
            seen[name] = self._may_hold(asked.counts[0], asked.deviation)
            fewer = int(asked.counts[0]) - asked.deviation
            self._telling[name] = min(max(fewer, MIN_TELLING * self.rows), self.rows)
        return len(few) * exact(cost.amount), seen

    def _may_hold(self, cells: int, deviation: float) -> bool:
        """Whether cells that were counted are more than noise, or noise hides too many to tell."""
        hidden = SEEN_CELLS * deviation
        return bool(cells > hidden) or hidden > MAX_HIDDEN_CELLS * self.rows

    def _evidence(self, name: str) -> float:
        """By how much cells that are not empty can change the odds of a kind."""
        return self._present[name] * self.protection.strength(self._kinds_costs[name])

    def _choose_kinds(self) -> dict[str, Kind]:
        if not self._present:
            self.count_present()
        chosen = {}
        for name, cost in self._kinds_costs.items():
            self.left = subtract(self.left, cost)
            counts, odds = count_kinds(self._tallies[name]), kind_odds(self._evidence(name))
            chosen[name] = KINDS[self.asker.choose(f"kind of {name}", counts, odds, cost)]
        chosen |= self._ask_about_commas(chosen)
        return {
            name: chosen.get(name, WORDS)
            for name in self.draft.asked
            if name not in self.empty_columns
        }

    def find_hopeless(self) -> tuple[str, ...]:
        """Choose kinds, then find the columns whose words are all too rare to be named. A stop is
        cheap here, and whoever goes on spends nothing on these words.

        The commonest word of each column of words is counted roughly, and where few rows seem to
        hold it, once more. Free text and identifiers are none of them: no budget and no schema
        would find a word that is not that of a single row.
        """
        self._kinds = self._choose_kinds()
        found = [name for name, kind in self._kinds.items() if kind.words]
        if found:
            needed = self._count_needed_rows()
            for look in COMMONEST_LOOKS:
                wanted = self.protection.histogram_price(look.deviation * needed, self.left)
                cost = limit_price(wanted, self.left, look.share, max(len(found), 1))
                self.left = subtract(self.left, cost, len(found))
                tallies = {name: self._tallies[name] for name in found}
                found = find_rare(self.asker, tallies, needed, look.margin, cost)
        found = self._find_texts(found)
        spent = exact(self.count_price.amount) + exact(self._before.amount)
        rest = exact(self.left.amount)
        self.count_price = Budget(round_up(spent - rest), self.left.currency)
        self._hopeless = tuple(found)
        # Identifiers that several rows share, none of them enough to be named, stay identifiers.
        return tuple(name for name in found if name not in self.draft.perhaps_groups)

    @property
    def hopeful(self) -> tuple[str, ...]:
        """The columns of which the kind is chosen, and that are worth asking about further."""
        settled = {*self._hopeless, *self.texts}
        return tuple(name for name in self._kinds if name not in settled)

    def _find_texts(self, rare: Sequence[str]) -> list[str]:
        """Tell the columns in which most rows have a word of their own, and return the others.

        One row changes the number of different words by one at most.
        """
        names = [name for name in rare if name not in self.draft.perhaps_groups]
        cost = limit_price(
            price_groups(self.budget, len(names)), self.left, TEXTS_SHARE, max(len(names), 1)
        )
        if not names:
            return list(rare)
        tallies = {name: DistinctTally() for name in names}
        self.draft.columns.count(tallies)
        self.left = subtract(self.left, cost, len(names))
        texts = []
        for name in names:
            counts = [tallies[name].distinct]
            asked = self.asker.histogram(f"different words of {name}", counts, cost, 0.0)
            if asked.counts[0] > MAX_GROUPS * self._present.get(name, self.rows):
                texts.append(name)
        self.texts = tuple(texts)
        return [name for name in rare if name not in texts]

    def _count_needed_rows(self) -> float:
        """In about how many rows a word must occur to be named."""
        delta = self._share_delta(self._kinds)
        share = self._share_for_ranges(self._kinds, delta)
        rest, _ = self.left.split(1 - share, share)
        cost = min(self._divide(rest, self._kinds).values(), key=lambda cost: -cost.amount)
        cost = cost.plus(self._more_for_words(cost, delta))
        return rows_to_be_seen(self.protection, cost, delta)

    def _ask_about_commas(self, kinds: Mapping[str, Kind]) -> dict[str, Kind]:
        """Columns such as 12,125 that were taken for thousands, and may be decimals."""
        if not any(has_decimal_comma(kind) for kind in kinds.values()):
            return {}
        columns = [name for name, kind in kinds.items() if kind == COMMA_KINDS[0]]
        left, found = self.left, {}
        for name in columns:
            need = KINDS_STRENGTH, COMMAS_SHARE
            cost = choice_price(self.protection, left, self._present[name], need, len(columns))
            self.left = subtract(self.left, cost)
            evidence = self._present[name] * self.protection.strength(cost)
            counts = count_kinds(self._tallies[name])[[KINDS.index(kind) for kind in COMMA_KINDS]]
            place = self.asker.choose(f"comma of {name}", counts, comma_odds(evidence), cost)
            found[name] = COMMA_KINDS[place]
        return found

    # ---- step 3

    def _choose_ranges(
        self, kinds: Mapping[str, Kind], steps: Mapping[str, float], share: float
    ) -> dict[str, Range]:
        if not kinds:
            return {}
        needs = [self._telling.get(name, self.rows) for name in kinds]
        prices = ranges_prices(self.protection, self.left, self.rows, share, needs)
        found = {}
        for (name, kind), cost in zip(kinds.items(), prices, strict=True):
            self.left = subtract(self.left, cost)
            evidence = self.rows * self.protection.strength(cost)
            assert kind.format is not None
            form = CANDIDATES[kind.format]
            ends = ends_of(form.kind)
            counts = count_ranges(self._tallies[name], kind.format, ends)
            step = steps.get(name, 1.0)
            places, odds = np.arange(len(counts)), range_odds(form.kind, ends, evidence, step)
            telling = self._telling.get(name, self.rows) * self.protection.strength(cost)
            is_number = form.kind in ("integer", "real")
            if is_number and name in self._mostly_zero and telling < MIN_RANGE_EVIDENCE:
                self._hardly_told.add(name)
                places, odds = simple_ranges(form.kind, ends, telling, step)
            chosen = self.asker.choose(f"range of {name}", counts[places], odds, cost)
            place = places[chosen]
            first, last = int(ends.lows[place]), int(ends.highs[place])
            low, high = float(ends.edges[first]), float(ends.edges[last])
            found[name] = Range(low, high, first, last)
        return found

    def _choose_steps(self, kinds: Mapping[str, Kind], names: Sequence[str]) -> dict[str, float]:
        """The steps that the numbers of some columns have."""
        if not names:
            return {}
        # Zero lies on all grids: where most cells are zero, the others must speak louder.
        telling = {name: self._telling.get(name, self.rows) for name in names}
        prices = grids_prices(self.protection, self.left, list(telling.values()))
        found = {}
        for name, cost in zip(names, prices, strict=True):
            self.left = subtract(self.left, cost)
            evidence = telling[name] * self.protection.strength(cost)
            place = kinds[name].format
            assert place is not None
            form = CANDIDATES[place]
            counts = count_grids(self._tallies[name], place)
            chosen = self.asker.choose(f"grid of {name}", counts, grid_odds(form, evidence), cost)
            spacing = spacings_of(form)[chosen]
            found[name] = spacing.step
            if spacing.notation:
                self._notations[name] = spacing.notation
        return found


def _wide_integers(
    kinds: Mapping[str, Kind], ranges: Mapping[str, Range], steps: Mapping[str, float]
) -> list[str]:
    """Columns of whole numbers that may have a step: all but short lists of codes."""
    return [
        name
        for name, stretch in ranges.items()
        if format_of(kinds[name]).kind == "integer"
        and name not in steps
        and stretch.high - stretch.low > MAX_FEW_VALUES
    ]
