"""The central curator: priced before answered, refused before counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from examples import coded, every_kind_schema, every_kind_table
from understudy import BudgetError, InputError, Ledger
from understudy.data.encoding import encode
from understudy.data.marginals import Marginal, marginal
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.questions import Choose

ROWS = 1000


class Spy:
    """Stands before a counter and notes what the ledger held whenever rows were counted."""

    def __init__(self, curator: CentralCurator) -> None:
        self.inner: Any = curator._rows.counter
        self.ledger = curator.ledger
        self.seen: list[int] = []
        curator._rows.counter = self  # type: ignore[assignment]

    @property
    def rows(self) -> int:
        self.seen.append(len(self.ledger.entries))
        return int(self.inner.rows)

    def size(self, axis: Any) -> int:
        return int(self.inner.size(axis))

    def count(self, marginals: Sequence[Marginal]) -> Any:
        self.seen.append(len(self.ledger.entries))
        return self.inner.count(marginals)

    def count_flat(self, marginals: Sequence[Marginal]) -> Any:
        self.seen.append(len(self.ledger.entries))
        return self.inner.count_flat(marginals)


def curator(seed: int | None = 0, **guarantee: Any) -> CentralCurator:
    ledger = Ledger(**{"epsilon": 1.0, **guarantee})
    return CentralCurator(coded(ROWS), ledger, None if seed is None else SeededNoise(seed))


A, B, C = marginal("a"), marginal("b"), marginal("c")
PAIRS = [marginal("b", "a"), marginal("b", "c"), marginal("c", "a")]


def exact_table(axes: Marginal) -> Any:
    return curator()._rows.counter.count([axes])[0].copy()


# --------------------------------------------------------------------------- measure


def test_measuring_debits_every_table_and_splits_evenly() -> None:
    asked = curator()
    asked.measure([A, marginal("b", ("c", 1)), ()], Budget(0.6))
    assert [(entry.question, entry.amount) for entry in asked.ledger.entries] == [
        ("table of a", 0.2),
        ("table of b x c^1", 0.2),
        ("table of (rows)", 0.2),
    ]
    assert asked.ledger.entries[0].mechanism == "discrete Laplace, scale 5"


def test_weights_split_the_budget() -> None:
    asked = curator()
    first, second = asked.measure([A, B], Budget(1.0), weights=[1, 3])
    assert [entry.amount for entry in asked.ledger.entries] == [0.25, 0.75]
    assert (first.scale, second.scale) == (pytest.approx(4), pytest.approx(4 / 3))


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: c.measure([A, B], Budget(0.5)),
        lambda c: c.choose(PAIRS, "R", Budget(0.5)),
        lambda c: c.choose(PAIRS, "I", Budget(0.5), rule="exponential"),
    ],
)
def test_the_debit_stands_before_any_row_is_counted(ask: Callable[[CentralCurator], Any]) -> None:
    asked = curator()
    spy = Spy(asked)
    ask(asked)
    assert spy.seen
    assert min(spy.seen) == len(asked.ledger.entries) > 0


def test_tables_have_the_shape_of_their_levels_and_about_the_right_counts() -> None:
    axes = marginal("b", ("c", 1))
    [measured] = curator(epsilon=50.0).measure([axes], Budget(50.0))
    assert measured.counts.shape == (3, 4)
    assert np.abs(measured.counts - exact_table(axes)).max() <= 3
    [rows] = curator(epsilon=50.0).measure([()], Budget(50.0))
    assert rows.counts.shape == ()
    assert abs(int(rows.counts) - ROWS) <= 3


@pytest.mark.parametrize(
    ("neighbours", "currency", "amount", "distribution", "scale"),
    [
        ("add_remove", "epsilon", 0.1, "laplace", 10.0),
        ("replace", "epsilon", 0.1, "laplace", 20.0),
        ("add_remove", "rho", 0.005, "gaussian", 10.0),
        ("replace", "rho", 0.005, "gaussian", math.sqrt(200)),
    ],
)
def test_noise_is_what_relation_and_currency_ask_for(
    neighbours: Any, currency: Any, amount: float, distribution: str, scale: float
) -> None:
    delta = 1e-6 if currency == "rho" else 0.0
    axes = marginal("a", "b", "c")
    noises = []
    for seed in range(12):
        asked = curator(seed, delta=delta, neighbours=neighbours, currency=currency)
        [measured] = asked.measure([axes], Budget(amount, currency))
        noises.append((measured.counts - exact_table(axes)).ravel())
    assert (measured.distribution, measured.scale) == (distribution, pytest.approx(scale))
    noise = np.concatenate(noises)
    deviation = math.sqrt(2) * scale if distribution == "laplace" else scale
    assert measured.deviation == pytest.approx(deviation, rel=0.01)
    assert noise.std() == pytest.approx(deviation, rel=0.2)
    assert abs(noise.mean()) < 5 * deviation / math.sqrt(len(noise))


def test_system_noise_comes_with_the_default() -> None:
    asked = curator(None)
    [first] = asked.measure([C], Budget(0.1))
    [second] = asked.measure([C], Budget(0.1))
    assert asked.ledger.private
    assert (first.counts != second.counts).any()


def test_nothing_asked_costs_nothing() -> None:
    asked = curator()
    assert asked.measure([], Budget(0.5)) == []
    assert asked.ledger.entries == []


# --------------------------------------------------------------------------- rows


def test_the_number_of_rows_is_hidden_under_add_remove_and_public_under_replace() -> None:
    assert curator().rows is None
    assert curator(neighbours="replace").rows == ROWS
    assert curator(neighbours="replace").neighbours == "replace"


# --------------------------------------------------------------------------- choose


def test_a_choice_is_debited_and_prefers_the_dependent_pair() -> None:
    asked = curator(epsilon=20.0)
    assert asked.choose(PAIRS, "R", Budget(5.0)) == 0
    [entry] = asked.ledger.entries
    assert (entry.question, entry.amount) == ("choice among 3 candidates by score R", 5.0)
    assert entry.mechanism == "permute and flip"


def test_under_rho_a_choice_is_by_the_exponential_mechanism() -> None:
    asked = curator(delta=1e-6, currency="rho")
    asked.choose(PAIRS, "R", Budget(0.001, "rho"), rule="permute_and_flip")
    assert asked.ledger.entries[0].mechanism == "exponential"


def test_offsets_are_added_to_the_scores() -> None:
    asked = curator(epsilon=50.0)
    for place in range(3):
        offsets = np.zeros(3)
        offsets[place] = 5000.0
        assert asked.choose(PAIRS, "R", Budget(5.0), offsets=offsets) == place


def test_a_single_candidate_costs_nothing_and_counts_nothing() -> None:
    asked = curator()
    spy = Spy(asked)
    assert asked.choose([PAIRS[1]], "R", Budget(0.5)) == 0
    assert asked.ledger.entries == []
    assert spy.seen == []


@pytest.mark.parametrize("rule", ["exponential", "permute_and_flip"])
def test_choices_follow_the_scores_at_the_price_paid(rule: Any) -> None:
    """Two candidates whose scores differ by a known number of rows: odds as the mechanism has
    them.
    """
    epsilon, pair = 0.02, PAIRS[:2]
    asked = curator(5, epsilon=100.0)
    question = Choose(candidates=pair, score="R", budget=Budget(epsilon))
    scores = asked._rows.score(question, "add_remove")
    gap = epsilon * float(scores[0] - scores[1]) / (2 * 2.0)  # sensitivity 2 under add_remove
    expected = 1 / (1 + math.exp(-gap)) if rule == "exponential" else 1 - math.exp(-gap) / 2
    draws = 3000
    first = 0.0
    for _ in range(draws):
        asked.ledger.entries.clear()
        first += (asked.choose(pair, "R", Budget(epsilon), rule=rule) == 0) / draws
    assert 0.55 < expected < 0.95
    assert first == pytest.approx(expected, abs=5.5 * math.sqrt(expected * (1 - expected) / draws))


# --------------------------------------------------------------------------- refusals

BAD: dict[str, Callable[[CentralCurator], Any]] = {
    "overdraft of a measurement": lambda c: c.measure([A, B], Budget(1.1)),
    "overdraft of a choice": lambda c: c.choose(PAIRS, "R", Budget(1.1)),
    "another currency": lambda c: c.measure([A], Budget(0.1, "rho")),
    "unknown attribute": lambda c: c.measure([A, marginal("d")], Budget(0.5)),
    "unknown attribute in a choice": lambda c: c.choose(
        [marginal("b", "d"), PAIRS[0]], "R", Budget(0.5)
    ),
    "unknown level": lambda c: c.measure([marginal(("c", 9))], Budget(0.5)),
    "negative level": lambda c: c.measure([marginal(("c", -1))], Budget(0.5)),
    "level of an attribute without levels": lambda c: c.measure([marginal(("b", 1))], Budget(0.5)),
    "unknown level in a choice": lambda c: c.choose(
        [PAIRS[0], marginal("b", ("c", 9))], "R", Budget(0.5)
    ),
    "unknown score": lambda c: c.choose(PAIRS, "Q", Budget(0.5)),
    "no candidates": lambda c: c.choose([], "R", Budget(0.5)),
    "a table for nothing": lambda c: c.measure([A, B], Budget(0.5), weights=[1, 0]),
    "too few weights": lambda c: c.measure([A, B], Budget(0.5), weights=[1.0]),
    "a candidate twice": lambda c: c.choose([*PAIRS, PAIRS[0]], "R", Budget(0.5)),
    "unknown rule": lambda c: c.choose(PAIRS, "R", Budget(0.5), rule="largest"),
    "too few offsets": lambda c: c.choose(PAIRS, "R", Budget(0.5), offsets=np.zeros(2)),
    "offsets that are not finite": lambda c: c.choose(
        PAIRS, "R", Budget(0.5), offsets=np.array([0, np.nan, 0])
    ),
}


@pytest.mark.parametrize("ask", BAD.values(), ids=BAD.keys())
def test_a_question_that_cannot_be_answered_is_refused_and_nothing_debited_or_counted(
    ask: Callable[[CentralCurator], Any],
) -> None:
    asked = curator()
    spy = Spy(asked)
    with pytest.raises((InputError, BudgetError)):
        ask(asked)
    assert asked.ledger.entries == []
    assert spy.seen == []


@pytest.mark.parametrize("name", ["id", "notes"])
def test_identifiers_and_texts_are_never_read(name: str) -> None:
    asked = CentralCurator(
        encode(every_kind_table(), every_kind_schema()), Ledger(1.0), SeededNoise(0)
    )
    with pytest.raises(InputError, match="it is never read"):
        asked.measure([marginal(name)], Budget(0.5))
    with pytest.raises(InputError, match="it is never read"):
        asked.choose([marginal("age", name), marginal("age", "born")], "R", Budget(0.5))
    assert asked.ledger.entries == []


def test_a_toss_is_fair_and_free() -> None:
    asked = curator()
    tosses = np.bincount([asked.toss(4) for _ in range(4000)], minlength=4)
    assert np.abs(tosses - 1000).max() < 150
    assert asked.ledger.entries == []
