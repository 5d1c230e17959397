"""Poker with as many hands as the thesis had, 1,025,010, dealt here.

The published file of that size is not among the tables; the deck and the rules are known, so the
hands are dealt at random and named by the rules. The thesis' own rows were dealt by others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from study import Claim, Options, Part, Row, Settings, curves, grid, means, seed_of
from thesis_parts.accuracy import METHODS, QUICK_LEARNERS, centralised, differences, synthesizer
from thesis_parts.learning import accuracies, majority
from thesis_parts.tables import TARGETS, TEST_SHARE, Task, domain_of_poker, rows_of
from understudy import Schema, Table
from understudy.data.encoding import Coded, encode
from understudy.evaluation.classifiers import THESIS

HANDS = (25_010, 1_025_010)
"""As many as the published table here has, and as many as the thesis had."""
QUICK_HANDS = (2_000, 8_000)
EPSILONS = (0.01, 0.1, 1.0)
MAX_TESTED = 5_000
SUITS, RANKS, CARDS = 4, 13, 5
SEED = 1


# ---- the cards


def deal(hands: int, seed: int = SEED) -> NDArray[np.int64]:
    """Cards from 0 to 51, five different ones per hand, in the order in which they are dealt."""
    rng = np.random.default_rng(seed)
    cards = np.empty((hands, CARDS), dtype=np.int64)
    for place in range(CARDS):
        # The n-th card is one of the 52 - n that are left: count up past those already dealt.
        drawn = rng.integers(0, SUITS * RANKS - place, hands)
        for earlier in np.sort(cards[:, :place], axis=1).T:
            drawn += drawn >= earlier
        cards[:, place] = drawn
    return cards


def name_hands(cards: NDArray[np.int64]) -> NDArray[np.int64]:
    """The class of each hand, from 0 (nothing) to 9 (royal flush)."""
    suits, ranks = cards // RANKS, np.sort(cards % RANKS, axis=1)
    counts = np.zeros((len(cards), RANKS), dtype=np.int64)
    np.add.at(counts, (np.arange(len(cards))[:, None], ranks), 1)
    most, second = np.sort(counts, axis=1)[:, ::-1][:, :2].T
    different = most == 1
    flush = (suits == suits[:, :1]).all(axis=1)
    royal = different & (ranks[:, 0] == 0) & (ranks[:, 1] == RANKS - 4)  # ace, 10 to king
    straight = different & (ranks[:, 4] - ranks[:, 0] == 4) | royal
    rules = [
        (flush & royal, 9),
        (flush & straight, 8),
        (most == 4, 7),
        ((most == 3) & (second == 2), 6),
        (flush, 5),
        (straight, 4),
        (most == 3, 3),
        ((most == 2) & (second == 2), 2),
        (most == 2, 1),
    ]
    return np.select([holds for holds, _ in rules], [number for _, number in rules], 0)


@lru_cache(maxsize=1)
def dealt(hands: int) -> Coded:
    """Hands as rows of the published table; codes count from its first suit, rank and class."""
    cards = deal(hands)
    codes: dict[str, Any] = {}
    for place in range(CARDS):
        codes[f"s{place + 1}"] = (cards[:, place] // RANKS).astype(np.uint8)
        codes[f"r{place + 1}"] = (cards[:, place] % RANKS).astype(np.uint8)
    codes["hand"] = name_hands(cards).astype(np.uint8)
    schema = Schema.from_dict({"attributes": domain_of_poker()})
    return Coded(schema, codes, hands, ())


def split_hands(hands: int, repeat: int) -> Task:
    """Four fifths to learn from; of the rest at most some thousands are asked about."""
    coded = dealt(hands)
    order = np.random.default_rng(seed_of({"hands": hands, "split": repeat})).permutation(hands)
    tested = round(hands * TEST_SHARE)
    return Task(
        rows_of(coded, order[tested:]),
        rows_of(coded, order[:tested][:MAX_TESTED]),
        TARGETS["poker"],
    )


# ---- the study


def cells(options: Options) -> list[Settings]:
    """Training on real rows first: all differences are taken from it."""
    sizes = QUICK_HANDS if options.quick else HANDS
    found = []
    for hands in sizes:
        repeats = range(options.repeats)
        found += grid(table=[f"{hands:,} hands"], hands=[hands], method=["real"], repeat=repeats)
        found += grid(
            table=[f"{hands:,} hands"],
            hands=[hands],
            method=METHODS,
            epsilon=EPSILONS,
            repeat=repeats,
        )
    return found


def run(options: Options, settings: Settings) -> Mapping[str, float]:
    """One number of hands, one method, one epsilon."""
    on = split_hands(settings["hands"], settings["repeat"])
    learners = QUICK_LEARNERS if options.quick else THESIS
    seed = seed_of(settings)
    if settings["method"] == "real":
        found = accuracies(on.train, on.test, on.target, learners, seed)
        return found | {"majority": majority(on.train, on.test, on.target)}
    method = synthesizer(settings["method"], settings["epsilon"])
    model = centralised(on.train, method, options, settings)
    rows = model.sample(min(on.train.rows, 4 * MAX_TESTED), seed)
    assert isinstance(rows, Table)
    return accuracies(encode(rows, on.train.schema), on.test, on.target, learners, seed)


def conclude(rows: list[Row]) -> list[Claim]:
    """What forty times as many rows change."""
    lost = means(differences(rows), "difference", "table", "method", "epsilon")
    few, many = (f"{hands:,} hands" for hands in sorted({row["hands"] for row in rows}))
    real = means([r for r in rows if r["method"] == "real"], "accuracy", "table")
    constant = means(rows, "majority", "table")
    smallest = min(EPSILONS)
    small = {m: (lost[few, m, smallest], lost[many, m, smallest]) for m in METHODS}
    learned = {m: real[many] - lost[many, m, max(EPSILONS)] - constant[many] for m in METHODS}
    return [
        Claim(
            f"At epsilon {smallest:g} less accuracy is lost with {many} than with {few}",
            all(after < before for before, after in small.values()),
            "; ".join(f"{m}: {a:.1f} to {b:.1f} points" for m, (a, b) in small.items()),
        ),
        Claim(
            f"With {many} and epsilon {max(EPSILONS):g} synthetic rows teach more than the "
            "commonest class",
            all(points > 0 for points in learned.values()),
            "; ".join(f"{m}: {points:+.1f} points" for m, points in learned.items())
            + f"; trained on real rows {real[many] - constant[many]:+.1f}",
        ),
    ]


def draw(rows: list[Row]) -> Any:
    """Accuracy lost against epsilon, a panel for each number of hands."""
    return curves(differences(rows), x="epsilon", y="difference", line="method", panel=("table",))


PART = Part("dealt", "Poker with all hands of the thesis, dealt", cells, run, conclude, draw)
