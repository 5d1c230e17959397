"""The membership game: certain to be won against copies, never won further than epsilon allows
against private rows.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
import pytest
from people import SCHEMA, coded, people

from understudy import Independent, PrivBayes, SmoothedHistogram
from understudy.attacks import GameRules, Membership, Promise, membership
from understudy.attacks.advantage import bound_advantage, chance_by_shuffling
from understudy.attacks.features import random_queries, table_features, target_features
from understudy.attacks.rows import pick_rows
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.models.model import Model
from understudy.release.callbacks import Progress, no_progress
from understudy.synthesizers import Synthesizer

pytestmark = pytest.mark.thorough  # guards no privacy, and takes its time

pytest.importorskip("sklearn")

TABLE = people(400, 1)
ENOUGH = 30
"""Fits a side that show an epsilon above 1, if every guess is right."""


def play(
    method: Any,
    *,
    promise: Promise | None = None,
    seed: int | None = 1,
    progress: Progress = no_progress,
    **rules: Any,
) -> Membership:
    given = GameRules(**({"targets": 2, "shadows": 20, "rows": 100} | rules))
    return membership(method, TABLE, SCHEMA, given, promise=promise, seed=seed, progress=progress)


def rows_of(table: Table, places: np.ndarray) -> Table:
    return Table(
        {
            name: Column(
                c.kind, c.values[places], c.words, None if c.missing is None else c.missing[places]
            )
            for name, c in table.columns.items()
        }
    )


def resampled(table: Table, rng: np.random.Generator) -> Table:
    """Real rows with replacement, so many that hardly a row is missed."""
    return rows_of(table, rng.integers(table.rows, size=800))


@pytest.mark.parametrize(
    ("promise", "verdict"),
    [(None, "look at this"), (Promise(9.0), "within the promise")],
)
def test_resampled_rows_are_seen_whatever_is_claimed(promise: Promise | None, verdict: str) -> None:
    result = play(resampled, promise=promise, control=False, targets=1)
    assert result.attack.measured is not None
    assert result.attack.measured > 0.9
    assert result.attack.verdict == verdict
    assert result.attack.figures["epsilon_lower_bound"] > 0.5


def test_copies_refute_an_epsilon_that_is_larger_than_any_one_target_can_show() -> None:
    result = play(resampled, promise=Promise(3.0), control=False, targets=1, shadows=100, rows=60)
    assert result.attack.figures["epsilon_lower_bound"] < 3.0
    assert result.attack.figures["advantage_at_least"] > Promise(3.0).advantage
    assert result.attack.verdict == "look at this"


@pytest.mark.parametrize(
    ("promise", "verdict"),
    [(Promise(0.1, 0.3), "within the promise"), (Promise(0.1), "look at this")],
)
def test_delta_is_part_of_the_promise(promise: Promise, verdict: str) -> None:
    def sometimes_all(table: Table, rng: np.random.Generator) -> Table:
        """(0, 0.3)-DP: the whole table three times of ten, else nothing of it."""
        return table if rng.random() < 0.3 else rows_of(TABLE, np.full(50, 3))

    result = play(sometimes_all, promise=promise, control=False, targets=1, shadows=100, rows=60)
    assert result.attack.verdict == verdict
    assert ("at delta 0.3," in result.attack.found) == (promise.delta > 0)
    assert (result.attack.figures["epsilon_lower_bound"] > 0.1) == (promise.delta == 0)


@pytest.mark.parametrize(
    "method",
    [PrivBayes(epsilon=1.0), PrivBayes.paper(1.0), Independent(epsilon=1.0, delta=1e-6)],
    ids=["privbayes", "paper", "independent, delta"],
)
def test_private_rows_stay_below_the_bound(method: Synthesizer) -> None:
    result = play(method, control=False, targets=1, shadows=ENOUGH)
    assert result.promise is not None
    assert result.promise.neighbours == method.neighbours
    assert result.attack.allowed == result.promise.advantage
    assert result.attack.figures["advantage_at_least"] <= result.promise.advantage
    assert result.attack.figures["epsilon_lower_bound"] <= method.epsilon
    assert result.attack.verdict != "look at this"


def next_to_no_noise(table: Table, rng: np.random.Generator) -> Table:
    return Independent(epsilon=200.0).fit(table, SCHEMA).sample(seed=int(rng.integers(1 << 31)))


@pytest.mark.parametrize("method", [resampled, next_to_no_noise])
def test_rows_that_are_not_private_go_beyond_the_bound(method: object) -> None:
    result = play(method, promise=Promise(1.0), control=False, targets=1, shadows=ENOUGH)
    assert result.attack.figures["advantage_at_least"] > Promise(1.0).advantage
    assert result.attack.figures["epsilon_lower_bound"] > 1.0
    assert result.attack.verdict == "look at this"


def test_private_draws_are_attacked_as_they_are_released(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema.from_dict(
        {"attributes": {name: SCHEMA.to_dict()["attributes"][name] for name in ("age", "ill")}}
    )
    table = Table({name: TABLE.columns[name] for name in schema.names})
    released, sample = set(), Model.sample

    def noted(*given: object, **options: object) -> Table:
        rows = sample(*given, **options)  # type: ignore[arg-type]
        released.add(rows.rows)
        return rows

    monkeypatch.setattr(Model, "sample", noted)
    method = SmoothedHistogram(epsilon=1.0, draws=7)
    rules = GameRules(targets=1, shadows=10, rows=100, control=False)
    membership(method, table, schema, rules, seed=1)
    assert released == {7}


@pytest.mark.parametrize(("targets", "rate"), [(1, 0.1), (1, 0.5), (3, 0.3)])
def test_rows_that_make_no_difference_look_like_a_finding_as_often_as_stated(
    targets: int, rate: float
) -> None:
    rng, runs, alarms = np.random.default_rng(7), 1000, 0
    for _ in range(runs):
        drawn = (rng.random((targets, targets + 1, 10)) < rate).astype(np.float64)
        alarms += chance_by_shuffling(drawn, rng, shuffles=300) < 0.01
    assert alarms <= 20  # 10 expected at most, with a deviation of 3.1


def test_an_advantage_is_seen_on_one_target_and_over_all() -> None:
    rng = np.random.default_rng(8)
    drawn = (rng.random((6, 7, 40)) < 0.5).astype(np.float64)
    one, all_of_them = drawn.copy(), drawn.copy()
    one[0, :] = 0.0
    one[0, 1, :15] = 1.0
    for target in range(6):
        all_of_them[target, target + 1] = rng.random(40) < 0.75
    assert chance_by_shuffling(drawn, rng) > 0.05
    assert chance_by_shuffling(one, rng) < 0.01
    assert chance_by_shuffling(all_of_them, rng) < 0.01


@pytest.mark.parametrize("epsilon", [0.1, 3.0])
@pytest.mark.parametrize("alike", [False, True])
def test_the_advantage_is_seldom_less_than_it_surely_is(epsilon: float, alike: bool) -> None:
    """Randomised response reaches what epsilon allows; ``alike``: a fit without a row fools all
    targets or none.
    """
    promise, rng, runs, wrong = Promise(epsilon), np.random.default_rng(9), 2000, 0
    for _ in range(runs):
        lots = rng.random((6, 7, 30))
        lots[:, 0] = lots[0, 0] if alike else lots[:, 0]
        drawn = lots < promise.accuracy
        drawn[:, 0] = lots[:, 0] < 1 - promise.accuracy
        wrong += bound_advantage(drawn.astype(np.float64))[0] > promise.advantage
    assert wrong <= 20  # 10 expected, with a deviation of 3.2


def test_an_adversary_who_knows_the_population_alone_sees_copies_too() -> None:
    result = play(resampled, knows="population", control=False, targets=1)
    assert result.rows == 99  # of half of the 399 others, a half
    assert result.attack.measured is not None
    assert result.attack.measured > 0.8


def test_a_seed_makes_it_repeatable() -> None:
    method = Independent(epsilon=1.0)
    one, same = (
        play(method, targets=1, shadows=10, rows=40, control=False, seed=3) for _ in range(2)
    )
    assert one == same


def test_rare_rows_are_attacked_first() -> None:
    codes = coded(TABLE)
    result = play(resampled, targets=3, shadows=10, rows=40, control=False)
    assert [target.kind for target in result.targets] == ["rare", "rare", "random"]
    shares = {
        name: np.bincount(column)[column] / codes.rows for name, column in codes.codes.items()
    }
    rarity = -sum(np.log(share) for share in shares.values())
    assert {target.place for target in result.targets[:2]} == set(np.argsort(-rarity)[:2].tolist())


def test_the_control_shows_that_the_attack_can_see_and_all_is_told() -> None:
    told: list[tuple[int, int]] = []
    result = play(
        Independent(epsilon=1.0), targets=1, progress=lambda what, done, of: told.append((done, of))
    )
    assert result.control is not None
    assert result.control.verdict == "look at this"
    assert result.control.measured is not None
    assert result.control.measured > 0.85
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert len(document["targets"]) == 1
    assert document["control"]["name"] == "membership, copies"
    assert told == [(done, 160) for done in range(1, 161)]


def test_targeted_features_count_agreement() -> None:
    rows = coded(people(60, 4))
    target = {name: int(rows.codes[name][7]) for name in SCHEMA.names}
    queries = random_queries(5, np.random.default_rng(1))
    found = target_features(rows, target, queries)
    names = np.array(SCHEMA.names)
    for query, count in zip(queries, found, strict=False):
        same = [
            all(rows.codes[name][row] == target[name] for name in names[query]) for row in range(60)
        ]
        assert sum(same) == count
    at_least = found[len(queries) :]
    agree = [sum(int(rows.codes[name][row] == target[name]) for name in names) for row in range(60)]
    assert at_least.tolist() == [sum(count >= least for count in agree) for least in range(6)]


def test_features_of_no_rows_are_features_too() -> None:
    rows = coded(people(30, 4))
    empty = pick_rows(rows, np.array([], dtype=np.int64))
    some, none = table_features(rows), table_features(empty)
    assert {name: len(values) for name, values in some.items()} == {
        name: len(values) for name, values in none.items()
    }
    assert all(math.isfinite(value) for values in none.values() for value in values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": 0}, "targets must be a whole number from 1"),
        ({"shadows": 5}, "shadows must be a whole number from 10"),
        ({"rows": 3}, "rows must be a whole number from 20"),
        ({"knows": "everything"}, "knows must be one of rows, population"),
        ({"targets": 390}, "has 400 rows; attacking 390 people takes at least 410"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        play(Independent(epsilon=1.0), **options)


def test_a_synthetic_table_without_a_column_is_refused() -> None:
    def forgetful(table: Table, rng: np.random.Generator) -> Table:
        return Table({name: column for name, column in table.columns.items() if name != "town"})

    with pytest.raises(InputError, match="no column 'town'"):
        play(forgetful)


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(InputError, match=r"pip install understudy\[evaluation\]"):
        play(Independent(epsilon=1.0))
