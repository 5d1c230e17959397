"""Quantiles as choices by rank: the score's sensitivity by search, and how often it misses."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from understudy import InputError, Ledger
from understudy.data.encoding import encode
from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import SCORE_GRID, SeededNoise
from understudy.privacy.ranks import ChooseRank, find_margin, rank_scale, rank_sensitivity

CELLS = 4
LEVELS = (0.0, 0.1, 0.5, 0.75, 1.0)


def question(level: float, shift: float = 0.0, **changes: Any) -> ChooseRank:
    given = {
        "axes": marginal("x"),
        "places": np.arange(CELLS),
        "candidates": CELLS,
        "groups": np.zeros(CELLS, dtype=np.int64),
        "groups_size": 1,
        "level": level,
        "shift": shift,
        "budget": Budget(1.0),
        "text": "quantile",
    }
    return ChooseRank(**{**given, **changes})


def neighbours_of(relation: str) -> Any:
    """All pairs of neighbouring tables of up to four rows over the cells."""
    for rows in range(4):
        for body in itertools.combinations_with_replacement(range(CELLS), rows):
            table = np.bincount(body, minlength=CELLS).astype(np.int64)
            for here, there in itertools.product(range(CELLS), repeat=2):
                one, other = table.copy(), table.copy()
                other[there] += 1
                one[here] += relation == "replace"
                yield one, other


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shift", [0.0, -1.5, 2.25])
def test_no_row_moves_a_score_further_than_proved(
    level: float, shift: float, relation: Any
) -> None:
    asked = question(level, shift)
    moved = max(
        float(np.abs(asked.scores(one) - asked.scores(other)).max())
        for one, other in neighbours_of(relation)
    )
    bound = rank_sensitivity(level, relation)
    assert moved <= bound + 1e-12
    assert moved >= min(bound, max(level, 1 - level)) - 1e-12  # and the bound is met


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_choices_in_groups_lose_no_more_than_one_price(relation: Any) -> None:
    """The exact loss of the exponential mechanism, over all groups and all outcomes."""
    places, groups = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    asked = question(0.5, places=places, candidates=2, groups=groups, groups_size=2)
    scale = rank_scale(Budget(1.0), relation, 2) / SCORE_GRID * rank_sensitivity(0.5, relation)
    worst = 0.0
    for one, other in neighbours_of(relation):
        losses = []
        for table in (one, other):
            scores = asked.scores(table) / scale
            losses.append(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))
        worst = max(worst, float(np.abs(losses[0] - losses[1]).max(axis=1).sum()))
    assert 0.1 < worst <= 1.0  # with two candidates there is less to lose than the price


@pytest.mark.parametrize("level", LEVELS)
def test_a_person_moves_a_score_no_further_than_one_step_of_its_choice(level: float) -> None:
    """A choice of scores on the grid is private where each moves by SCORE_GRID + 1 steps."""
    asked = question(level)
    for rows in (1, 3):
        ledger = Ledger(1.0, max_rows_per_person=rows)
        for one, other in neighbours_of("add_remove"):
            both = asked.scores(one), asked.scores(one + rows * (other - one))
            here, there = (asked.grid_scores(scores, ledger) for scores in both)
            assert np.abs(here - there).max() <= SCORE_GRID + 1


@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_a_row_that_leaves_one_group_for_another_pays_for_both(currency: Any) -> None:
    """Both choices see it: their epsilons, or their rhos, add up to the price of one group."""
    alone = rank_scale(Budget(1.0, currency), "replace", 1)
    halved = rank_scale(Budget(0.5, currency), "replace", 1)
    assert rank_scale(Budget(1.0, currency), "replace", 2) == halved > alone
    assert rank_scale(Budget(1.0, currency), "add_remove", 2) == alone


def test_the_candidate_that_holds_the_rank_scores_nothing_and_no_other() -> None:
    table = np.array([10, 30, 0, 10])
    assert question(0.5).scores(table).tolist() == [[-15.0, 0.0, -15.0, -15.0]]
    assert question(0.1).scores(table)[0, 0] == 0.0
    assert question(1.0).scores(table)[0, 3] == 0.0


def curator(values: Any, epsilon: float, seed: int) -> CentralCurator:
    schema = Schema.from_dict(
        {"attributes": {"x": {"kind": "integer", "min": 0, "max": 99, "bins": 100}}}
    )
    table = Table({"x": Column("integer", np.array(values, dtype=np.int64))}, "t")
    return CentralCurator(encode(table, schema), Ledger(epsilon), SeededNoise(seed))


@pytest.mark.parametrize("rows", [3, 40, 400])
def test_an_end_passes_the_rank_no_more_often_than_it_may(rows: int) -> None:
    """Also where rows are so few that no end could be kept to: then nothing is claimed."""
    values = np.sort(np.random.default_rng(rows).integers(0, 100, rows))
    runs, risk, passed, silent = 300, 0.2, 0, 0
    asked = curator(values, 1000.0, 1)
    budget = Budget(1.0)
    margin = find_margin(budget, 0.5, 1, 100, asked.ledger, risk)
    for _ in range(runs):
        [place] = asked.answer(
            question(
                0.5,
                -margin.ranks,
                places=np.arange(100),
                candidates=100,
                groups=np.zeros(100, dtype=np.int64),
                no_claim=margin.no_claim,
            )
        )
        silent += place == 100
        passed += place < 100 and int((values < place).sum()) >= 0.5 * rows
    # 60 are expected at most; 110 or more have a probability below 1e-9.
    assert passed < 110
    if rows == 400:
        assert silent < 30  # three are expected; the rows are enough


def test_what_cannot_be_chosen_is_refused_and_free() -> None:
    asked = curator([1, 2, 3], 1.0, 0)
    with pytest.raises(InputError, match="a candidate and a group for each cell"):
        asked.answer(question(0.5))
    with pytest.raises(InputError, match="level"):
        asked.answer(question(1.5, places=np.arange(100), groups=np.zeros(100, dtype=np.int64)))
    assert asked.ledger.entries == []
