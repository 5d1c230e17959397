"""Scores that owners upload for choices: how far a row moves them, and what is chosen by them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from encrypted_parties import SCHEMA, draw_rows, gather

from understudy import MST
from understudy.data.encoding import Coded
from understudy.data.marginals import Axis, marginal
from understudy.data.schema import Schema
from understudy.encrypted.choices import (
    SurveyedScores,
    SurveyedTables,
    dependence_of,
    expect_by_chance,
)
from understudy.encrypted.curator import EncryptedCurator
from understudy.encrypted.plans import SCORE_MOVE, SCORE_STEPS, list_tables
from understudy.encrypted.questions import PairScores
from understudy.encrypted.session import EncryptedSession
from understudy.encrypted.uploads import count_items
from understudy.encrypted.ways import federate_encrypted
from understudy.errors import InputError
from understudy.federation import HolderRefused
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Measurement
from understudy.privacy.questions import Choose

pytestmark = pytest.mark.usefixtures("small_keys")


@pytest.fixture(scope="module")
def parties():
    return gather([draw_rows(2000, seed) for seed in range(3)], epsilon=1e6, scores=True)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_no_row_moves_a_score_by_more_than_is_said(neighbours):
    """All tables of up to five rows of two columns, and each of them with any row more, or with
    any row in the place of any other.
    """
    schema = Schema.from_dict(
        {
            "attributes": {
                "a": {"kind": "categorical", "values": [0, 1]},
                "b": {"kind": "categorical", "values": [0, 1, 2]},
            }
        }
    )
    plan = gather(
        [Coded(schema, {"a": np.zeros(1, np.uint8), "b": np.zeros(1, np.uint8)}, 1, ())] * 2,
        schema,
        scores=True,
        neighbours=neighbours,
    ).plan

    def score(rows) -> int:
        a, b = (np.array([row[i] for row in rows], dtype=np.uint8) for i in (0, 1))
        return int(count_items(plan, Coded(schema, {"a": a, "b": b}, len(rows), ()))[-1][0])

    cells = list(itertools.product(range(2), range(3)))
    largest = 0
    for size in range(1, 5):
        for rows in itertools.combinations_with_replacement(cells, size):
            before = score(rows)
            kept = [rows]
            if neighbours == "replace":
                kept = [rows[:place] + rows[place + 1 :] for place in range(size)]
            moved = (abs(score((*rest, cell)) - before) for rest in kept for cell in cells)
            largest = max(largest, *moved)
    assert SCORE_STEPS // 2 < largest < SCORE_MOVE[neighbours]


def test_the_noise_is_for_all_pairs_together(parties):
    pairs = len(parties.plan.pairs)
    assert pairs == 3
    move = SCORE_MOVE["add_remove"]
    pure = PairScores(budget=Budget(0.5)).scale(parties.plan)
    assert pure == pytest.approx(pairs * move / 0.5)
    rho = PairScores(budget=Budget(0.5, "rho")).scale(parties.plan)
    assert rho == pytest.approx(np.sqrt(pairs) * move)


def test_scores_are_told_once_and_paid_for(parties):
    with EncryptedSession(parties.link, parties.store, epsilon=1000.0) as session:
        curator = EncryptedCurator(session)
        curator.survey(Budget(900.0))
        assert curator.ledger.left.amount == pytest.approx(100.0)
        [place] = {
            curator.choose([marginal("a", "c"), marginal("a", "b")], "R", Budget(1.0))
            for _ in range(3)
        }
        assert place == 1  # b depends on a; c only through b
        served = parties.service._sessions[session.terms.session]
        assert served.ledger.left.amount == pytest.approx(100.0)


def test_a_plan_without_scores_has_none_to_tell():
    two = gather([draw_rows(100)] * 2)
    with (
        EncryptedSession(two.link, two.store, epsilon=1.0) as session,
        pytest.raises(InputError, match="has no scores"),
    ):
        session.add_up(PairScores(budget=Budget(1.0)))
    with pytest.raises(InputError, match="tables of two columns"):
        gather([draw_rows(10)] * 2, tables=list_tables(SCHEMA, 1), scores=True)


def test_scores_for_nothing_are_refused(parties):
    with (
        EncryptedSession(parties.link, parties.store, epsilon=1.0) as session,
        pytest.raises((InputError, HolderRefused)),
    ):
        session.add_up(PairScores(budget=Budget(0.0)))


def test_mst_finds_the_tree(parties):
    model = federate_encrypted(parties.link, parties.store, MST(epsilon=10.0))
    tables = {frozenset(one.attributes) for one in model.measurements.tables}
    assert {frozenset("ab"), frozenset("bc")} <= tables


def test_what_comes_by_chance_is_not_taken_for_dependence():
    """Ten owners with 500 independent rows each: their scores add up to about what is expected."""
    rng = np.random.default_rng(0)
    tables = rng.multinomial(500, np.full(20, 1 / 20), size=10).reshape(10, 4, 5).astype(float)
    found = sum(dependence_of(table) for table in tables)
    expected = expect_by_chance(np.full((4, 5), 250.0), 10)
    assert found == pytest.approx(expected, rel=0.25)


@pytest.mark.parametrize("shares", [[[0.475, 0.025]] * 2, [[0.475] * 2, [0.025] * 2]])
def test_chance_makes_less_of_a_value_that_is_rare_in_either_column(shares):
    rng = np.random.default_rng(1)
    tables = rng.multinomial(500, np.ravel(shares), size=400).reshape(400, 2, 2).astype(float)
    found = sum(dependence_of(table) for table in tables)
    expected = expect_by_chance(np.array(shares) * 500 * 400, 400)
    assert found == pytest.approx(expected, rel=0.15)


def test_a_table_that_is_modelled_already_is_not_chosen_again(parties):
    pairs = parties.plan.pairs
    basis = SurveyedScores(parties.plan, np.array([1000.0, 0.0, 500.0]), 1.0)
    dependent = np.array([[2000.0, 0.0, 0.0], [0.0, 2000.0, 2000.0]])
    independent = np.full((2, 3), 1000.0)
    assert basis._score(pairs[0], independent) > 1500
    assert basis._score(pairs[0], dependent) == 0
    assert basis._score(marginal("a", "b", "c"), None) == -np.inf


@pytest.mark.parametrize("rows", [0.5, 1.0, 40.0])
def test_what_chance_makes_of_scores_follows_from_the_rows(rows: float) -> None:
    """Each of four cells has a variance of rows / 16, and owners add up by the root."""
    expected = 0.5 * (2 / np.pi * 10) ** 0.5 * 4 * (rows / 16) ** 0.5
    assert expect_by_chance(np.full((2, 2), rows / 4), 10) == pytest.approx(expected)
    assert expect_by_chance(np.zeros((2, 2)), 10) == 0


def test_rows_in_wrong_cells_are_told_from_noise(parties):
    """Of squares, those that noise makes are taken off, in every cell."""
    pair, scale, off = (Axis("a"), Axis("b")), 40.0, 100
    estimate = np.full((2, 3), 1000.0)

    def score(distance: int) -> float:
        signs = np.array([[1, -1, 1], [-1, 1, -1]])
        counts = (estimate + distance * signs).astype(np.int64)
        table = Measurement(marginal=pair, counts=counts, distribution="gaussian", scale=scale)
        asked = Choose(
            candidates=(pair,), score="misfit", budget=Budget(1.0), estimates=(estimate,)
        )
        return float(SurveyedTables(parties.plan, [table]).score(asked)[0])

    rows = 6 * math.sqrt(off**2 - scale**2)
    assert score(off) == pytest.approx(math.sqrt(2 / math.pi) * rows)
    assert score(int(scale)) == 0.0
