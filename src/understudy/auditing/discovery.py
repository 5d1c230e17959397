"""The audit of domain discovery: choices among domains, histograms, and names of words that pass a
threshold.

Choices and histograms over known cells are questions like any other, and their loss is computed
exactly, on pairs that differ by one cell which would change what a column is if it were read for
free. Which words there are is another matter: a word that is too rare to be named in one of two
neighbouring tables gets a cell in the other alone. That is what delta pays for, and what is
measured is the probability that such a word is ever named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from understudy.auditing.bounds import CONFIDENCE
from understudy.auditing.doors import RunWithNoise
from understudy.auditing.findings import Finding
from understudy.auditing.neighbours import Pair
from understudy.auditing.subjects import (
    DELTA,
    RELATIONS,
    ROWS_PER_PERSON,
    exact_findings,
    fit_exactly,
    fit_often,
)
from understudy.auditing.unknown_pairs import (
    beside_word_pairs,
    make_unknown_pairs,
    odd_cell_pairs,
    own_word_pairs,
    pair_listed_words,
    shared_identifier_pairs,
    shared_number_pairs,
    unheard_pair,
)
from understudy.counting.columns import MemoryColumns
from understudy.counting.partition import VOCABULARIES, Tally
from understudy.data.formats import CANDIDATES, Format
from understudy.data.schema import Category
from understudy.data.tables import Column, Table
from understudy.mechanisms.distributions import gaussian_tail, laplace_tail
from understudy.privacy.budget import Budget, Currency, Neighbours
from understudy.privacy.discovery import Discovery, discover
from understudy.privacy.discovery_draft import Draft
from understudy.privacy.discovery_numbers import NumberFinder
from understudy.privacy.discovery_questions import Asker, NoisyHistogram
from understudy.privacy.discovery_scores import MIN_STEP, Kind
from understudy.privacy.discovery_words import NamedWords, WordFinder
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import ExactCounts, Noise
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.independent import Independent
from understudy.synthesizers.privbayes import PrivBayes
from understudy.synthesizers.random import Random

LIMIT = 10**9
"""No threshold is beyond this."""

NAMING_DELTA = 1e-12
"""The delta of runs in which no rare word should be named."""

NAMING_NOISE: dict[Currency, str] = {
    "epsilon": "Laplace",
    "rho": "Gaussian",
    "gdp": "rounded Gaussian",
}

YES_NO = VOCABULARIES.index(("no", "yes"))
REALS = Kind(format=CANDIDATES.index(Format("real")))


def discovery(
    epsilon: float, runs: int, confidence: float = CONFIDENCE, seed: int | None = None
) -> Iterator[Finding]:
    """The questions of discovery by themselves, then whole runs without a schema."""
    for relation in RELATIONS:
        pairs = (
            *odd_cell_pairs(relation),
            *shared_identifier_pairs(relation),
            *make_unknown_pairs(relation, False),
        )
        run_on = partial(_discovers, epsilon, 0.0)
        yield from exact_findings(f"choices of domains, {relation}", epsilon, run_on, pairs)
        run_on = partial(_discovers, epsilon, DELTA)
        name = f"choices of domains, zCDP, {relation}"
        yield from exact_findings(name, epsilon, run_on, pairs, DELTA)
        run_on = partial(finds_texts, epsilon)
        name = f"free text and empty columns, {relation}"
        yield from exact_findings(name, epsilon, run_on, own_word_pairs(relation))
        run_on = partial(_looks_again, epsilon)
        name = f"words of a public list, {relation}"
        yield from exact_findings(name, epsilon, run_on, pair_listed_words(relation))
        name = f"words beside a vocabulary, {relation}"
        run_on = partial(names_beside, epsilon)
        yield from exact_findings(name, epsilon, run_on, beside_word_pairs(relation))
        name = f"numbers that many rows share, {relation}"
        run_on = partial(names_numbers, epsilon)
        yield from exact_findings(name, epsilon, run_on, shared_number_pairs(relation))
        for what in NAMING:
            for currency in NAMING_NOISE:
                yield _measure_naming(epsilon, relation, currency, 1, what)
    for what in NAMING:
        for currency in NAMING_NOISE:
            yield _measure_naming(epsilon, "add_remove", currency, ROWS_PER_PERSON, what)
    for name, method in without_schema(epsilon).items():
        # A value that both tables know: what is lost where no unique one is named.
        yield from fit_exactly(name, method, make_unknown_pairs(method.neighbours))
    for name, method in without_schema(epsilon).items():
        if isinstance(method, Random):
            continue  # it asks for nothing that the others do not ask for as well
        yield from fit_often(name, method, runs, confidence, seed, unheard_pair(method.neighbours))


def without_schema(epsilon: float) -> dict[str, Synthesizer]:
    """Whole runs that are given no schema."""
    # The tables are small: without it, each run would stop at the noisy number of rows.
    common: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "keep_going": True}
    return {
        "random, no schema": Random(**common),
        "independent, no schema": Independent(**common),
        "privbayes, no schema": PrivBayes(**common),
        "privbayes, no schema, replace": PrivBayes(**common, neighbours="replace"),
    }


def finds_texts(epsilon: float, pair: Pair) -> RunWithNoise:
    """Discovery up to the columns that it leaves out, with the whole budget."""

    def run(table: Table, noise: Noise) -> object:
        ledger = Ledger(epsilon, NAMING_DELTA, pair.neighbours, "epsilon", NAMING_DELTA)
        facts = Draft(table), ledger, ledger.budget, NAMING_DELTA
        found = Discovery(*facts, noise, share=None)
        found.count_rows()
        return found.find_hopeless(), found.texts, found.empty_columns

    return run


def _discovers(epsilon: float, delta: float, pair: Pair) -> RunWithNoise:
    """Discovery by itself, with the whole budget; no word passes the threshold by its count."""

    def run(table: Table, noise: Noise) -> object:
        currency: Currency = "epsilon"
        if delta:
            currency = "rho"
        ledger = Ledger(epsilon, delta + NAMING_DELTA, pair.neighbours, currency, NAMING_DELTA)
        return discover(table, ledger, ledger.budget, NAMING_DELTA, noise)

    return run


def _looks_again(epsilon: float, pair: Pair) -> RunWithNoise:
    """A second look at a column, in which the first has named a word of a public list."""

    def run(table: Table, noise: Noise) -> object:
        ledger = Ledger(epsilon, NAMING_DELTA, pair.neighbours, "epsilon", NAMING_DELTA)
        finder = WordFinder(Asker(ledger, noise), _tally(table, ledger), 1.0)
        nothing = NoisyHistogram(np.zeros(0, np.int64), 1.0, "epsilon")
        finder.words["x"] = NamedWords({"Norway": 9}, 0, nothing)
        finder.ask_rare_words("x", ledger.budget, NAMING_DELTA)
        return finder.find_words("x")

    return run


Spoil = Callable[[Tally], None]
"""Counts a row twice: what a broken control does."""


def names_beside(epsilon: float, pair: Pair, spoil: Spoil | None = None) -> RunWithNoise:
    """The values of a column of yes and no, words beside them among these."""

    def run(table: Table, noise: Noise) -> object:
        ledger = Ledger(epsilon, NAMING_DELTA, pair.neighbours, "epsilon", NAMING_DELTA)
        finder = WordFinder(Asker(ledger, noise), _tally(table, ledger, spoil), 1.0)
        return finder.find_vocabulary("x", YES_NO, ledger.budget, NAMING_DELTA)

    return run


def names_numbers(epsilon: float, pair: Pair, spoil: Spoil | None = None) -> RunWithNoise:
    """The numbers that many rows of a column of reals share."""

    def run(table: Table, noise: Noise) -> object:
        ledger = Ledger(epsilon, NAMING_DELTA, pair.neighbours, "epsilon", NAMING_DELTA)
        finder = NumberFinder(
            Asker(ledger, noise), _tally(table, ledger, spoil), 1.0, seen_later=0.0
        )
        finder.ask_numbers("x", REALS, MIN_STEP, ledger.budget, NAMING_DELTA)
        return dict(finder.numbers["x"].counts)

    return run


def _tally(table: Table, ledger: Ledger, spoil: Spoil | None = None) -> dict[str, Tally]:
    """Exact counts of the column, once its kind is chosen."""
    tallies = {"x": Tally(ledger.max_rows_per_person + 1)}
    MemoryColumns(table).count(tallies)
    if spoil is not None:
        spoil(tallies["x"])
    return tallies


# --------------------------------------------------------------------------- names


@dataclass(frozen=True, kw_only=True)
class _Naming:
    """A question that names what enough rows hold."""

    names: Callable[[Ledger, Noise, Budget, int], bool]
    """Whether it names a value that some rows hold."""
    secret: slice
    """The cells of its histogram among which that of the value is."""


def _names_word(ledger: Ledger, noise: Noise, share: Budget, held: int) -> bool:
    [attribute] = discover(_words(["Atlantis"] * held), ledger, share, DELTA, noise)
    return isinstance(attribute, Category) and "Atlantis" in attribute.values


def _names_word_beside(ledger: Ledger, noise: Noise, share: Budget, held: int) -> bool:
    table = _words(["no", "yes", *["Atlantis"] * held])
    finder = WordFinder(Asker(ledger, noise), _tally(table, ledger), 1.0)
    attribute, _ = finder.find_vocabulary("x", YES_NO, share, DELTA)
    return isinstance(attribute, Category) and "Atlantis" in attribute.values


def _names_number(ledger: Ledger, noise: Noise, share: Budget, held: int) -> bool:
    finder = NumberFinder(
        Asker(ledger, noise), _tally(_words(["0.7123"] * held), ledger), 1.0, seen_later=0.0
    )
    finder.ask_numbers("x", REALS, MIN_STEP, share, DELTA)
    return bool(finder.numbers["x"].counts)


NAMING = {
    "a category": _Naming(names=_names_word, secret=slice(None, -1)),
    "a word beside yes and no": _Naming(names=_names_word_beside, secret=slice(None)),
    "a number": _Naming(names=_names_number, secret=slice(None)),
}
"""What is named by a threshold."""


def _measure_naming(
    epsilon: float, neighbours: Neighbours, currency: Currency, most: int, what: str
) -> Finding:
    """The probability that values which only one person holds are named, for the worst way to hold
    them.

    All of the person's rows may hold one value, or each another; this many rows of others hold it
    that it is just not named without theirs.
    """
    chances = []
    for values in range(1, most + 1):
        held = most + most // values
        named = naming_probability(epsilon, neighbours, currency, held, most, what)
        chances.append(1 - (1 - named) ** values if values > 1 else named)
    unit, pair = "", f"{what} of two rows, no schema"
    if most > 1:
        unit = f", {most} rows per person"
        pair = f"{most} times {what} of {most + 1} rows, or once of {2 * most}"
    return Finding(
        f"naming {what}, {NAMING_NOISE[currency]}, {neighbours}{unit}",
        pair,
        "exact",
        DELTA,
        max(chances),
        "delta",
    )


def naming_probability(
    epsilon: float,
    neighbours: Neighbours,
    currency: Currency,
    held: int,
    most: int,
    what: str = "a category",
) -> float:
    """The probability that a value in ``held`` rows is named, at a delta of ``DELTA``.

    The threshold is found by trying: which is the smallest noisy count that lets the value through?
    """
    naming = NAMING[what]
    noise = _Told(naming.secret)

    def is_released(count: int) -> bool:
        noise.count = count
        delta = DELTA if currency == "epsilon" else 2 * DELTA
        ledger = Ledger(
            epsilon, delta, neighbours, currency, threshold_delta=DELTA, max_rows_per_person=most
        )
        return naming.names(ledger, noise, Budget(ledger.budget.amount, currency), held)

    below, above = 0, 1
    while not is_released(above):
        below, above = above, 2 * above
        if above > LIMIT:
            return 0.0
    while above - below > 1:
        middle = (below + above) // 2
        if is_released(middle):
            below, above = (below, middle)
        else:
            below, above = (middle, above)
    reach = above - held
    if reach <= 0:
        return 1.0
    if currency == "epsilon":
        return laplace_tail(reach, noise.scale)
    if currency == "rho":
        return gaussian_tail(reach, noise.scale)
    return NormalDist().cdf(-(reach - 0.5) / noise.scale)


class _Told:
    """Gives some cells the noisy count that it is told to give and the others none, and notes the
    scale.
    """

    private = False
    count = 0
    scale = 0.0

    def __init__(self, cells: slice) -> None:
        self.cells = cells

    def laplace(self, counts: ExactCounts, scale: float) -> ExactCounts:
        self.scale = scale
        answer = np.zeros(len(counts), dtype=np.int64)
        answer[self.cells] = self.count
        return answer

    gaussian = rounded_gaussian = laplace

    def choose(self, scores: object, scale: float, rule: object) -> int:
        """Any words."""
        return 0

    def draw(self, counts: object, draws: int, smoothing: object) -> ExactCounts:
        raise AssertionError("discovery draws nothing")

    def sample(self, rows: int, rate: object) -> ExactCounts:
        raise AssertionError("discovery samples nothing")


def _words(cells: Sequence[str]) -> Table:
    """A column of a file."""
    words, places = np.unique(np.array(cells), return_inverse=True)
    return Table({"x": Column("text", places.astype(np.int64), tuple(words.tolist()))})
