"""The last step of discovery for words: which a column holds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from understudy.counting.partition import BOOLEAN_VOCABULARIES, VOCABULARIES
from understudy.data.attribute_reading import MAX_TEXT_LENGTH
from understudy.data.attributes import Attribute, Category
from understudy.data.public_words import find_others
from understudy.data.tables import MARKS
from understudy.privacy.budget import Budget
from understudy.privacy.discovery_budget import rows_to_be_seen
from understudy.privacy.discovery_questions import (
    FALSE_ALARM,
    FAR_FALSE_ALARM,
    PUBLIC_FALSE_ALARMS,
    NoisyHistogram,
)
from understudy.privacy.discovery_values import ValueFinder, missing_mark

MAX_NAMED_WORDS = 1000

MAX_UNNAMED = 0.002
"""Of the rows: words may leave this many without a value of their own."""

SAME_ROWS = 2.0
"""Deviations of the noise: two counts of all rows that differ by less may be of the same number."""

LIKELY_REST = 3.0
"""Deviations of the noise: more rows than that are left over beside a vocabulary, not noise."""


@dataclass(frozen=True)
class WordFinder(ValueFinder):
    """Names the words of a column.

    Names of words are (epsilon, delta)-private. Compare neighbours T and T' that differ by the rows
    of one person, of whom at most M count. A word that occurs fewer than M + 1 times is never
    named. If T names v and T' cannot, v occurs at most M times in T', hence at most 2 M times in T,
    and there are at most M such words, one for each of the person's rows. With P(2 M + noise >=
    threshold) <= delta / M one of them is named with probability at most delta (union bound). On
    all other outcomes the two histograms differ by M rows in cells that both have, which their
    noise covers. Under replace the same holds in both directions, and delta is charged once.
    """

    words: dict[str, NamedWords] = field(default_factory=dict)
    """The words that were named so far."""

    def ask_words(self, name: str, cost: Budget, delta: float) -> None:
        """Name the words with a noisy count above the threshold."""
        tally = self.tallies[name]
        self._ask_words(name, "words", tally.words, (), cost, delta)

    def ask_rare_words(self, name: str, cost: Budget, delta: float) -> None:
        """Look again, for words that were not named before. Where those that were are on a public
        list, the others of it are no secret: they are counted whether they occur or not, so they
        need no threshold against disclosure, only against noise.
        """
        tally, before = self.tallies[name], self.words[name]
        public = [word for word in find_others(before.counts) if word not in before.counts]
        listed = set(public)
        others = {word: count for word, count in tally.words.items() if word not in listed}
        self._ask_words(name, "rare words", others, public, cost, delta)

    def _ask_words(
        self,
        name: str,
        what: str,
        secret: Mapping[str, int],
        public: Sequence[str],
        cost: Budget,
        delta: float,
    ) -> None:
        tally, words = self.tallies[name], sorted(secret)
        counts = [
            *(secret[word] for word in words),
            *(tally.public_words[word] for word in public),
            int(tally.missing[0]),
        ]
        asked = self.asker.histogram(f"{what} of {name}", counts, cost, delta)
        least = [rows_to_be_seen(self.asker.protection, cost, delta)] * len(words)
        least += [asked.stands_out(len(public), PUBLIC_FALSE_ALARMS)] * len(public)
        kept = {
            word: count
            for word, count, fewest in zip([*words, *public], asked.counts, least, strict=False)
            if count >= fewest and len(word) <= MAX_TEXT_LENGTH
        }
        if name in self.words:
            kept = {**self.words[name].counts, **kept}
        self.words[name] = NamedWords(kept, int(asked.counts[-1]), asked)

    def count_unnamed(self, name: str) -> float:
        """About how many rows hold a word that was not named; nothing where noise may be all."""
        found = self.words[name]
        rows = self._estimate_rows()
        left = rows - found.named
        if left <= max(MAX_UNNAMED * rows, found.spread):
            return 0.0
        return left

    def _estimate_rows(self) -> float:
        """About how many rows there are, by the columns of words too: the noise in the number of
        rows alone hides hundreds of them.

        No column names more rows than there are. Where the one that names most names about as many
        as were counted, it is taken to name all, and both counts are one estimate.
        """
        fullest = max(self.words.values(), key=lambda words: words.named)
        counted, named = self.rows_deviation**2, fullest.spread**2
        rows = self.rows
        if abs(rows - fullest.named) < SAME_ROWS * math.sqrt(counted + named):
            rows = (rows * named + fullest.named * counted) / (counted + named)
        return max(rows, *(words.named - words.spread for words in self.words.values()))

    def find_words(self, name: str) -> tuple[Attribute, bool]:
        """The words that were named, with a value for all others where rows are left over for it:
        without one they would count as some word that they are not.
        """
        found = self.words[name]
        most = sorted(found.counts, key=lambda word: -found.counts[word])
        if not most:
            return self.give_up(name, "", np.array([found.absent])), False
        # Missing is a cell that always exists, so it needs no threshold against disclosure, only
        # against noise.
        missing = None
        if found.absent >= found.asked.stands_out(1):
            missing = ""
        values = tuple(sorted(most[:MAX_NAMED_WORDS]))
        rest = None
        if self.count_unnamed(name):
            rest = _name_for_rest(values)
        return Category(name, "categorical", missing, values, other=rest), True

    def find_vocabulary(
        self, name: str, place: int, cost: Budget, delta: float
    ) -> tuple[Attribute, bool]:
        """The words of a public vocabulary, where enough rows hold them, and what else many rows
        hold: "no" and "yes" stand beside "don't know". A row is in one cell of the histogram: of
        the vocabulary, of a mark for missing values, or of another word, which is named by the
        threshold.
        """
        tally, listed = self.tallies[name], set(VOCABULARIES[place])
        words = [
            word
            for word in sorted(tally.words)
            if word not in listed and word.strip() not in MARKS and len(word) <= MAX_TEXT_LENGTH
        ]
        counts = [int(tally.vocabularies[place]), *tally.missing.tolist()]
        counts += [tally.words[word] for word in words]
        asked = self.asker.histogram(f"values of {name}", counts, cost, delta)
        held, absent, beside = np.split(asked.counts, [1, 1 + len(MARKS)])
        missing = missing_mark(asked, absent, FALSE_ALARM)
        if not self._holds_enough(name, held):
            return self.give_up(name, missing, absent), False
        fewest = rows_to_be_seen(self.asker.protection, cost, delta)
        named = {
            word: count
            for word, count in zip(words, beside.tolist(), strict=True)
            if count >= fewest
        }
        # Marks are public cells: they need no threshold against disclosure.
        seen = asked.stands_out(len(MARKS), FAR_FALSE_ALARM)
        named |= {
            mark: count
            for mark, count in zip(MARKS, absent.tolist(), strict=True)
            if count > seen and mark not in ("", missing)
        }
        values = (*VOCABULARIES[place], *sorted(named))
        left = self.rows - held[0] - absent[0] - sum(named.values())
        if missing:
            left -= absent[MARKS.index(missing)]
        spread = math.hypot(self.rows_deviation, asked.deviation * (len(named) + 2) ** 0.5)
        rest = None
        if left > LIKELY_REST * spread + MAX_UNNAMED * self.rows:
            rest = _name_for_rest(values)
        kind = "categorical"
        if place < BOOLEAN_VOCABULARIES and not named and rest is None:
            kind = "boolean"
        return Category(name, kind, missing, values, other=rest), True


@dataclass(frozen=True)
class NamedWords:
    """Words with noisy counts, and that of empty cells."""

    counts: Mapping[str, int]
    absent: int
    asked: NoisyHistogram
    """The last histogram they are from."""

    @property
    def named(self) -> float:
        """About how many rows they hold, or hold none."""
        return sum(self.counts.values()) + max(self.absent, 0)

    @property
    def spread(self) -> float:
        """The noise in that."""
        return self.asked.deviation * (len(self.counts) + 1) ** 0.5


def _name_for_rest(values: Sequence[str]) -> str:
    names = itertools.chain(
        ("other", "Other", "(other)", "_other_"), map("other{}".format, itertools.count(2))
    )
    return next(name for name in names if name not in values)
