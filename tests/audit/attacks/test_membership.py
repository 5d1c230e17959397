"""The membership game: certain to be won against copies, never won further than epsilon allows against private rows."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest
from people import SCHEMA, coded, people

from understudy import Independent, PrivBayes
from understudy.audit.attacks import Membership, Promise, membership
from understudy.audit.attacks.features import random_queries, table_features, target_features
from understudy.audit.attacks.rows import picked
from understudy.errors import InputError
from understudy.synthesizers import Synthesizer
from understudy.tables import Column, Table

pytest.importorskip("sklearn")

TABLE = people(400, 1)


def play(method: object, **options: object) -> Membership:
    given = {"targets": 2, "shadows": 20, "rows": 100, "seed": 1} | options
    return membership(method, TABLE, SCHEMA, **given)  # type: ignore[arg-type]


def rows_of(table: Table, places: np.ndarray) -> Table:
    return Table(
        {
            name: Column(c.kind, c.values[places], c.words, None if c.missing is None else c.missing[places])
            for name, c in table.columns.items()
        }
    )


def resampled(table: Table, rng: np.random.Generator) -> Table:
    """Real rows with replacement, so many that hardly a row is missed."""
    return rows_of(table, rng.integers(table.rows, size=800))


def test_resampled_rows_are_seen_whatever_is_claimed() -> None:
    for promise, verdict in (
        (None, "look at this"),
        (Promise(0.5), "look at this"),
        (Promise(9.0), "within the promise"),
    ):
        result = play(resampled, promise=promise, control=False)
        assert result.attack.measured is not None
        assert result.attack.measured > 0.9
        assert result.attack.verdict == verdict
        assert result.attack.figures["epsilon_lower_bound"] > 0.5


def test_the_control_shows_that_the_attack_can_see() -> None:
    result = play(Independent(epsilon=1.0))
    assert result.control is not None
    assert result.control.verdict == "look at this"
    assert result.control.measured is not None
    assert result.control.measured > 0.85


@pytest.mark.parametrize(
    "method",
    [PrivBayes(epsilon=1.0), PrivBayes.paper(1.0), Independent(epsilon=1.0, delta=1e-6), Independent(epsilon=0.1)],
    ids=["privbayes", "paper", "independent, delta", "independent"],
)
def test_private_rows_stay_below_the_bound(method: Synthesizer) -> None:
    result = play(method, control=False)
    assert result.promise is not None
    assert result.promise.neighbours == method.neighbours
    assert result.attack.allowed == result.promise.advantage
    assert result.attack.measured is not None
    assert result.attack.measured < result.promise.advantage + 0.2  # chance: 20 fits a side
    assert result.attack.figures["epsilon_lower_bound"] <= method.epsilon
    assert result.attack.verdict != "look at this"


def test_a_claim_that_is_not_kept_is_seen() -> None:
    careless = Independent(epsilon=200.0)  # next to no noise

    def claims_too_little(table: Table, rng: np.random.Generator) -> Table:
        return careless.fit(table, SCHEMA).sample(seed=int(rng.integers(1 << 31)))

    result = play(claims_too_little, promise=Promise(0.1), control=False)
    assert result.attack.verdict == "look at this"


def test_an_adversary_who_knows_the_population_alone_sees_copies_too() -> None:
    result = play(resampled, knows="population", control=False)
    assert result.rows == 99
    assert result.attack.measured is not None
    assert result.attack.measured > 0.8


def test_a_seed_makes_it_repeatable() -> None:
    method = Independent(epsilon=1.0)
    one, same = (play(method, targets=1, shadows=10, control=False, seed=3) for _ in range(2))
    assert one == same


def test_rare_rows_are_attacked_first() -> None:
    codes = coded(TABLE)
    result = play(resampled, targets=4, shadows=10, rows=40, control=False)
    assert [target.kind for target in result.targets] == ["rare", "rare", "random", "random"]
    shares = {name: np.bincount(column)[column] / codes.rows for name, column in codes.codes.items()}
    rarity = -sum(np.log(share) for share in shares.values())
    assert {target.place for target in result.targets[:2]} == set(np.argsort(-rarity)[:2].tolist())


def test_json_and_progress() -> None:
    told: list[tuple[int, int]] = []
    result = play(Independent(epsilon=1.0), shadows=10, progress=lambda what, done, of: told.append((done, of)))
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert len(document["targets"]) == 2
    assert document["control"]["name"] == "membership, copies"
    assert told == [(done, 120) for done in range(1, 121)]


def test_targeted_features_count_agreement() -> None:
    rows = coded(people(60, 4))
    target = {name: int(rows.codes[name][7]) for name in SCHEMA.names}
    queries = random_queries(5, np.random.default_rng(1))
    found = target_features(rows, target, queries)
    names = np.array(SCHEMA.names)
    for query, count in zip(queries, found, strict=False):
        same = [all(rows.codes[name][row] == target[name] for name in names[query]) for row in range(60)]
        assert sum(same) == count
    at_least = found[len(queries) :]
    agree = [sum(int(rows.codes[name][row] == target[name]) for name in names) for row in range(60)]
    assert at_least.tolist() == [sum(count >= least for count in agree) for least in range(6)]


def test_features_of_no_rows_are_features_too() -> None:
    rows = coded(people(30, 4))
    empty = picked(rows, np.array([], dtype=np.int64))
    some, none = table_features(rows), table_features(empty)
    assert {name: len(values) for name, values in some.items()} == {name: len(values) for name, values in none.items()}
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
