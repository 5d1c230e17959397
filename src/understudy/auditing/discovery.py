"""The audit of domain discovery: choices among domains, histograms, and names of words that pass a
threshold.

Choices and histograms over known cells are questions like any other, and their loss is computed
exactly, on pairs that differ by one cell which would change what a column is if it were read for
free. Which words there are is another matter: a word that is too rare to be named in one of two
neighbouring tables gets a cell in the other alone. That is what delta pays for, and what is
measured is the probability that such a word is ever named.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    make_unknown_pairs,
    odd_cell_pairs,
    pair_listed_words,
    unheard_pair,
)
from understudy.counting.columns import MemoryColumns
from understudy.counting.partition import Tally
from understudy.data.schema import Category
from understudy.data.tables import Column, Table
from understudy.mechanisms.distributions import gaussian_tail, laplace_tail
from understudy.privacy.budget import Budget, Currency, Neighbours
from understudy.privacy.discovery import discover
from understudy.privacy.discovery_questions import Asker, NoisyHistogram
from understudy.privacy.discovery_words import NamedWords, WordFinder
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import ExactCounts, Noise
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.independent import Independent
from understudy.synthesizers.privbayes import PrivBayes
from understudy.synthesizers.random import Random

LIMIT = 10**9
"""No threshold is beyond this."""

NAMING = 1e-12
"""The delta of runs in which no rare word should be named."""

NAMING_NOISE: dict[Currency, str] = {
    "epsilon": "Laplace",
    "rho": "Gaussian",
    "gdp": "rounded Gaussian",
}


def discovery(
    epsilon: float, runs: int, confidence: float = CONFIDENCE, seed: int | None = None
) -> Iterator[Finding]:
    """The questions of discovery by themselves, then whole runs without a schema."""
    for relation in RELATIONS:
        pairs = (*odd_cell_pairs(relation), *make_unknown_pairs(relation, False))
        run_on = partial(_discovers, epsilon, 0.0)
        yield from exact_findings(f"choices of domains, {relation}", epsilon, run_on, pairs)
        run_on = partial(_discovers, epsilon, DELTA)
        name = f"choices of domains, zCDP, {relation}"
        yield from exact_findings(name, epsilon, run_on, pairs, DELTA)
        run_on = partial(_looks_again, epsilon)
        name = f"words of a public list, {relation}"
        yield from exact_findings(name, epsilon, run_on, pair_listed_words(relation))
        for currency in NAMING_NOISE:
            yield _measure_naming(epsilon, relation, currency, 1)
    for currency in NAMING_NOISE:
        yield _measure_naming(epsilon, "add_remove", currency, ROWS_PER_PERSON)
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


def _discovers(epsilon: float, delta: float, pair: Pair) -> RunWithNoise:
    """Discovery by itself, with the whole budget; no word passes the threshold by its count."""

    def run(table: Table, noise: Noise) -> object:
        currency: Currency = "epsilon"
        if delta:
            currency = "rho"
        ledger = Ledger(epsilon, delta + NAMING, pair.neighbours, currency, NAMING)
        return discover(table, ledger, ledger.budget, NAMING, noise)

    return run


def _looks_again(epsilon: float, pair: Pair) -> RunWithNoise:
    """A second look at a column, in which the first has named a word of a public list."""

    def run(table: Table, noise: Noise) -> object:
        ledger = Ledger(epsilon, NAMING, pair.neighbours, "epsilon", NAMING)
        asker, tallies = Asker(ledger, noise), {"x": Tally()}
        MemoryColumns(table).count(tallies)
        finder = WordFinder(asker, tallies, 100.0)
        nothing = NoisyHistogram(np.zeros(0, np.int64), 1.0, "epsilon")
        finder.words["x"] = NamedWords({"Norway": 9}, 0, nothing)
        finder.ask_rare_words("x", ledger.budget, NAMING)
        return finder.find_words("x")

    return run


# --------------------------------------------------------------------------- names


def _measure_naming(
    epsilon: float, neighbours: Neighbours, currency: Currency, most: int
) -> Finding:
    """The probability that values which only one person holds are named, for the worst way to hold
    them.

    All of the person's rows may hold one value, or each another; this many rows of others hold it
    that it is just not named without theirs.
    """
    chances = []
    for values in range(1, most + 1):
        held = most + most // values
        named = naming_probability(epsilon, neighbours, currency, held, most)
        chances.append(1 - (1 - named) ** values if values > 1 else named)
    if most == 1:
        unit = ""
    else:
        unit = f", {most} rows per person"
    if most == 1:
        pair = "a category of two rows, no schema"
    else:
        pair = f"{most} categories of {most + 1} rows, or one of {2 * most}"
    return Finding(
        f"naming a category, {NAMING_NOISE[currency]}, {neighbours}{unit}",
        pair,
        "exact",
        DELTA,
        max(chances),
        "delta",
    )


def naming_probability(
    epsilon: float, neighbours: Neighbours, currency: Currency, held: int, most: int
) -> float:
    """The probability that a word in ``held`` rows is named, at a delta of ``DELTA``.

    The threshold is found by trying: which is the smallest noisy count that lets the value through?
    """
    noise = _Told()

    def is_word_released(count: int) -> bool:
        noise.count = count
        delta = DELTA if currency == "epsilon" else 2 * DELTA
        ledger = Ledger(
            epsilon, delta, neighbours, currency, threshold_delta=DELTA, rows_per_person=most
        )
        share = Budget(ledger.budget.amount, currency)
        [attribute] = discover(_words(held), ledger, share, DELTA, noise)
        return isinstance(attribute, Category) and "Atlantis" in attribute.values

    below, above = 0, 1
    while not is_word_released(above):
        below, above = above, 2 * above
        if above > LIMIT:
            return 0.0
    while above - below > 1:
        middle = (below + above) // 2
        if is_word_released(middle):
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
    """Gives every cell but the last (missing values) the noisy count that it is told to give, and
    notes the scale.
    """

    private = False
    count = 0
    scale = 0.0

    def laplace(self, counts: ExactCounts, scale: float) -> ExactCounts:
        self.scale = scale
        return np.append(np.full(len(counts) - 1, self.count), 0)

    gaussian = rounded_gaussian = laplace

    def choose(self, scores: object, scale: float, rule: object) -> int:
        """Any words."""
        return 0

    def draw(self, counts: object, draws: int, smoothing: object) -> ExactCounts:
        raise AssertionError("discovery draws nothing")

    def sample(self, rows: int, rate: object) -> ExactCounts:
        raise AssertionError("discovery samples nothing")


def _words(held: int) -> Table:
    return Table({"town": Column("text", np.zeros(held, dtype=np.int64), ("Atlantis",))})
