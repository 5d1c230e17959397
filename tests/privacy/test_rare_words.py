"""A second look at columns in which many rows hold words without a name."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

from understudy import Table
from understudy.auditing.discovery import _looks_again, pair_listed_words
from understudy.auditing.subjects import exact_findings
from understudy.counting.partition import Tally
from understudy.data.schema import Category, Schema
from understudy.data.tables import Column
from understudy.privacy.budget import Budget, Neighbours, total
from understudy.privacy.discovery import Discovery
from understudy.privacy.discovery_draft import Draft
from understudy.privacy.discovery_questions import Asker, NoisyHistogram
from understudy.privacy.discovery_words import NamedWords, WordFinder
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise

COUNTRIES = {"Norway": 50_000, "Peru": 6_000, "Chad": 440, "Fiji": 440, "Oman": 440, "Mali": 440}
WARDS = {"A": 50_000, "B": 6_000, "C": 440, "D": 440, "E": 440, "F": 440}


def column_of(shares: dict[str, int]) -> Column:
    codes = np.repeat(np.arange(len(shares)), list(shares.values()))
    return Column("text", codes.astype(np.uint32), tuple(shares))


def look_at(share: float | None = None, seed: int = 1, **columns: Column) -> tuple[Schema, Ledger]:
    ledger = Ledger.for_discovery(0.25, 1e-9, "add_remove", max_rows_per_person=1, unit="row")
    facts = Draft(Table(columns)), ledger, ledger.budget, ledger.threshold_delta
    discovery = Discovery(*facts, SeededNoise(seed), share=share)
    discovery.count_rows()
    found = discovery.find().schema
    assert total([entry.amount for entry in ledger.entries]) <= discovery.price.amount
    assert sum(entry.delta for entry in ledger.entries) <= ledger.threshold_delta
    return found, ledger


def names(schema: Schema, column: str) -> tuple[object, ...]:
    attribute = schema[column]
    assert isinstance(attribute, Category)
    return attribute.values


def test_countries_too_rare_for_a_name_are_asked_for_by_name() -> None:
    schema, ledger = look_at(seed=3, country=column_of(COUNTRIES), ward=column_of(WARDS))
    asked = [entry.question for entry in ledger.entries if entry.question.startswith("rare")]
    assert asked == ["rare words of country", "rare words of ward"]
    assert len(set(COUNTRIES) & set(names(schema, "country"))) >= 5
    assert len(names(schema, "country")) <= len(COUNTRIES) + 2
    assert len(names(schema, "ward")) <= 3


def test_columns_that_are_named_are_asked_once() -> None:
    full = {"yes, of course": 40_000, "no, never": 17_600}
    _, ledger = look_at(seed=3, country=column_of(COUNTRIES), answer=column_of(full))
    asked = [entry.question for entry in ledger.entries if "words of" in entry.question]
    assert asked == ["words of country", "words of answer", "rare words of country"]


def test_free_text_is_asked_once() -> None:
    texts = Column("text", np.arange(57_600, dtype=np.uint32) // 2, tuple(map(str, range(28_800))))
    texts = Column("text", texts.values, tuple(f"text {word}" for word in texts.words))
    _, ledger = look_at(country=column_of(COUNTRIES), text=texts)
    assert "rare words of text" not in [entry.question for entry in ledger.entries]


def test_a_share_that_was_given_is_kept() -> None:
    _, ledger = look_at(share=0.2, country=column_of(COUNTRIES))
    assert not any(entry.question.startswith("rare") for entry in ledger.entries)
    spent = total([entry.amount for entry in ledger.entries])
    assert spent <= 0.2 * ledger.budget.amount


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_one_row_with_a_public_word_loses_what_is_claimed(neighbours: Neighbours) -> None:
    pairs, run_on = pair_listed_words(neighbours), partial(_looks_again, 1.0)
    for pair in pairs:
        [finding] = exact_findings("rare words", 1.0, run_on, [pair])
        assert 0.49 < finding.measured <= 1.0 + 1e-9, pair.name


@pytest.mark.parametrize("named", [1, 3, 8])
def test_rows_that_may_be_noise_are_not_left_without_a_name(named: int) -> None:
    """Each word that was named has noise of its own, and the empty cells, too."""
    noise = 10 * math.sqrt(named + 1)
    for left, told in ((math.floor(noise), 0), (math.ceil(noise) + 1, math.ceil(noise) + 1)):
        finder = WordFinder(Asker(Ledger(1.0), SeededNoise(0)), {}, 1000.0)
        counts = {f"word {place}": 100 for place in range(named)}
        absent = 1000 - 100 * named - left
        asked = NoisyHistogram(np.zeros(0, np.int64), 10.0, "rho")
        finder.words["x"] = NamedWords(counts, absent, asked)
        assert finder.count_unnamed("x") == told


# --------------------------------------------------------------------------- all small columns

CELLS = ("Norway", "Peru", "peru", " Peru", "Fiji", "Ward", "NA", "")
"""A word that was named; one that is asked for by name, and two that only look like it; another of
the list, which no row may have; a word of nobody's list; both ways to write that there is none.
"""


class _Listener(WordFinder):
    """Notes what each count is a count of."""

    labels: tuple[tuple[str, ...], ...] = ()

    def _ask_words(self, name: str, what: str, secret: Any, public: Any, *price: Any) -> None:
        told = [("secret", word) for word in sorted(secret)] + [("public", word) for word in public]
        object.__setattr__(self, "labels", (*told, ("missing",)))
        super()._ask_words(name, what, secret, public, *price)


class _Recorder:
    """Notes exact counts, and gives those that it is told to give."""

    private = False

    def __init__(self, given: Mapping[tuple[str, ...], int]) -> None:
        self.given, self.counts = given, np.zeros(0, np.int64)
        self.finder: _Listener | None = None

    def laplace(self, counts: Any, scale: float) -> Any:
        assert self.finder is not None
        self.counts = counts
        given = [self.given.get(label, 0) for label in self.finder.labels]
        return np.array(given, dtype=np.int64)

    gaussian = rounded_gaussian = laplace


Look = tuple[dict[tuple[str, ...], int], object]
"""The exact count of each cell, and what was found."""


def look(cells: tuple[str, ...], most: int, again: bool) -> Look:
    """Look at a column, where noise makes a public word, and nothing else, stand out."""
    noise: Any = _Recorder({("public", "Fiji"): 10**6, ("missing",): 10**6})
    ledger = Ledger(1.0, 1e-6, threshold_delta=1e-6, max_rows_per_person=most)
    tally = Tally(most + 1)
    tally.add(*zip(*Counter(cells).items(), strict=True) if cells else ((), ()))
    finder = _Listener(Asker(ledger, noise), {"x": tally}, 100.0)
    noise.finder = finder
    if again:
        nothing = NoisyHistogram(np.zeros(0, np.int64), 1.0, "epsilon")
        finder.words["x"] = NamedWords({"Norway": 9}, 0, nothing)
        finder.ask_rare_words("x", Budget(0.5), 1e-6)
    else:
        finder.ask_words("x", Budget(0.5), 1e-6)
    found = dict(zip(finder.labels, noise.counts.tolist(), strict=True))
    return found, (finder.find_words("x"), finder.count_unnamed("x"))


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("most", [1, 2])
def test_one_person_moves_no_more_than_noise_covers_in_any_small_column(
    most: int, again: bool
) -> None:
    """All columns of few cells, and all neighbours of theirs. Cells that both have differ by a
    person's rows in all; a word that only one of them has is as rare as its threshold supposes.
    What is found does not depend on the column but through noisy counts.
    """
    sizes = range(5)
    columns = [c for size in sizes for c in itertools.combinations_with_replacement(CELLS, size)]
    looks = {cells: look(cells, most, again) for cells in columns}
    moves = [c for size in range(1, most + 1) for c in itertools.product(CELLS, repeat=size)]
    by_place: dict[tuple[str, ...], list[Look]] = {}
    for cells, seen in looks.items():
        assert seen[1] == looks[()][1]
        for more in moves:
            joined = tuple(sorted((*cells, *more), key=CELLS.index))
            if joined in looks:
                check_apart(seen[0], looks[joined][0], most, most)
                if most == 1:
                    by_place.setdefault(cells, []).append(looks[joined])
    for others in by_place.values():  # replaced: columns that are one row away from the same one
        for one, other in itertools.combinations(others, 2):
            check_apart(one[0], other[0], most, 2)


def check_apart(
    one: Mapping[tuple[str, ...], int], other: Mapping[tuple[str, ...], int], most: int, reach: int
) -> None:
    shared = one.keys() & other.keys()
    assert sum(abs(one[label] - other[label]) for label in shared) <= reach
    alone = {**one, **other}
    for label in one.keys() ^ other.keys():
        assert label[0] == "secret"
        assert most < alone[label] <= 2 * most
    assert len(one.keys() - other.keys()) <= most
    assert len(other.keys() - one.keys()) <= most
