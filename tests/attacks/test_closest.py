"""Closest records: copies are seen, fresh people are not, and chance is judged rightly."""

from __future__ import annotations

import numpy as np
import pytest
from people import coded, people

from understudy.attacks import Attack, Promise
from understudy.attacks.closest import closest_record, exact_copies, nearer_share, shuffle_shares
from understudy.attacks.rows import groups, join_rows, look_copied, pick_rows
from understudy.attacks.verdicts import rank_among_shuffled
from understudy.data.encoding import Coded
from understudy.release.callbacks import no_progress

REAL, HOLDOUT, FRESH = (coded(people(400, seed)) for seed in (1, 2, 3))


def both(
    real: Coded, synthetic: Coded, holdout: Coded | None, promise: Promise | None = None
) -> list[Attack]:
    rng = np.random.default_rng(0)
    return [
        closest_record(real, synthetic, holdout, promise, rng, no_progress),
        exact_copies(real, synthetic, holdout, promise, rng),
    ]


def test_copies_are_seen_whatever_was_claimed() -> None:
    for promise in (None, Promise(0.5)):
        for attack in both(REAL, REAL, HOLDOUT, promise):
            assert attack.verdict == "look at this"
            assert attack.measured is not None
            assert attack.measured > 0.9
    assert both(REAL, REAL, HOLDOUT)[1].figures["copies_of_real"] == 1.0


def test_copies_of_the_holdout_are_no_concern() -> None:
    for attack in both(REAL, HOLDOUT, HOLDOUT):
        assert attack.verdict == "nothing seen"
        assert attack.measured is not None
        assert attack.measured < 0.1


def test_what_a_large_epsilon_allows_is_within_the_promise() -> None:
    mixed = join_rows(FRESH, pick_rows(REAL, np.arange(100)))
    for attack in both(REAL, mixed, HOLDOUT, Promise(5.0)):
        assert attack.verdict == "within the promise"
        assert attack.allowed is not None
        assert attack.allowed > 0.99


@pytest.mark.thorough
def test_fresh_people_look_like_a_finding_as_often_as_stated() -> None:
    runs, alarms = 80, 0
    for seed in range(runs):
        ours, theirs, fresh = (coded(people(120, 1000 * part + seed)) for part in (1, 2, 3))
        for attack in both(ours, fresh, theirs):
            assert attack.p_value is not None
            alarms += attack.p_value < 0.1
    # Two tests a run, 16 alarms expected; the deviation is at most 5.4, if both always agree.
    assert 2 <= alarms <= 40


def test_the_deviation_is_that_of_shuffled_records() -> None:
    rng = np.random.default_rng(5)
    weights = rng.geometric(0.3, 60) * (rng.random(60) < 0.5)
    share, deviation = nearer_share(weights.astype(np.float64), 45)
    assert share == pytest.approx(weights[:45].sum() / weights.sum())
    shuffled = [rng.permutation(weights)[:45].sum() / weights.sum() for _ in range(20_000)]
    assert np.mean(shuffled) == pytest.approx(0.75, abs=0.003)
    assert np.std(shuffled) == pytest.approx(deviation, rel=0.03)
    shares = shuffle_shares(weights.astype(np.float64), 45, rng)
    levels = np.linspace(0.05, 0.95, 7)
    assert np.quantile(shares, levels) == pytest.approx(np.quantile(shuffled, levels), abs=0.015)


@pytest.mark.thorough
def test_one_record_closest_to_most_rows_is_chance() -> None:
    # Of 1,000 records 100 are the table's: that the one is among them happens once in ten times.
    rng = np.random.default_rng(6)
    runs, alarms = 1000, 0
    for _ in range(runs):
        weights = np.zeros(1000)
        weights[rng.integers(1000, size=3)] += (400, 50, 50)
        alarms += (
            rank_among_shuffled(nearer_share(weights, 100)[0], shuffle_shares(weights, 100, rng))
            < 0.01
        )
    assert alarms <= 20  # 10 expected at most, with a deviation of 3.1
    everybody = coded(people(1000, 7))
    (found,), _ = groups([everybody], everybody.schema.names)
    unlike_others = np.flatnonzero(np.bincount(found)[found] == 1)[0]
    always_one = pick_rows(everybody, np.full(50, unlike_others))
    for attack in both(
        pick_rows(everybody, np.arange(100)), always_one, pick_rows(everybody, np.arange(100, 1000))
    ):
        assert attack.measured == 1.0
        assert attack.p_value == pytest.approx(0.1, abs=0.03)
        assert attack.verdict == "nothing seen"


def test_parts_of_unequal_size_are_compared_row_for_row() -> None:
    large = coded(people(2000, 8))
    for attack in both(large, FRESH, HOLDOUT, Promise(0.5)):
        assert attack.beside == pytest.approx(2000 / 2400)
        assert attack.verdict == "nothing seen"
    for attack in both(large, large, HOLDOUT, Promise(0.5)):
        assert attack.verdict == "look at this"
    medians = both(large, FRESH, HOLDOUT)[0].figures
    assert medians["median_distance_to_real"] == pytest.approx(
        medians["median_distance_to_holdout"], rel=0.2
    )


def test_without_a_holdout_nothing_is_judged() -> None:
    assert [attack.verdict for attack in both(REAL, FRESH, None)] == ["not judged", "not judged"]


def test_a_table_of_copies_is_seen_without_a_holdout_and_whatever_was_claimed() -> None:
    closest, copies = both(REAL, REAL, None)
    assert copies.verdict == "look at this"
    assert "Copies, by all appearance" in copies.found
    assert both(REAL, REAL, HOLDOUT, Promise(20.0))[1].verdict == "look at this"
    assert closest.measured == 0.0
    assert closest.beside is not None
    assert closest.beside > 0
    assert copies.measured == 1.0
    assert "Without a holdout" in closest.found


def test_equal_rows_are_no_copies_where_rows_are_often_equal() -> None:
    (rows, fresh), _ = groups([REAL, FRESH], ["town", "ill"])
    assert np.isin(np.unique(fresh), rows).mean() > 0.9
    assert not look_copied(fresh, rows)


def test_one_row_is_enough() -> None:
    lone = pick_rows(REAL, np.array([0]))
    assert [attack.verdict for attack in both(lone, lone, None)] == ["not judged", "not judged"]
    assert both(lone, lone, pick_rows(HOLDOUT, np.array([0])))[0].measured == 1.0
