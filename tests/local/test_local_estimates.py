"""Estimates from what was collected, at one level of privacy or at several; and forged reports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from surveys import KINDS_OF_ANSWERS, ask, codes_of, small_plan

from understudy import InputError
from understudy.local.answering import answer_for_all
from understudy.local.collected import Collected, ReportTally
from understudy.local.plans import CollectionPlan
from understudy.local.poisoning import bound_poisoning, find_crowded_questions, pull_of_one
from understudy.local.randomisers import CategoricalRandomiser, Words

SHARES = np.array([0.1, 0.4, 0.3, 0.2])


def expected_tally(
    randomiser: CategoricalRandomiser, shares: Any, reports: int
) -> tuple[int, np.ndarray[Any, Any]]:
    """The tally of very many reports, on average: from the probabilities of all reports."""
    total = np.zeros(randomiser.size)
    for report in randomiser.possible_reports():
        chance = sum(
            float(share * randomiser.probability(report, code)) for code, share in enumerate(shares)
        )
        total += chance * randomiser.tally(np.array([report]))
    return reports, np.rint(total * reports).astype(np.int64)


def collected_of(plan: CollectionPlan, shares_by_level: list[Any], reports: list[int]) -> Collected:
    tallies = {}
    for level, (shares, count) in enumerate(zip(shares_by_level, reports, strict=True)):
        of, support = expected_tally(plan.questions[0].randomisers[level], shares, count)
        tallies[0, level] = ReportTally(reports=of, support=support)
    return Collected(plan=plan, tallies=tallies)


def plan_of(kind: str | None, epsilons: tuple[float, ...]) -> CollectionPlan:
    return small_plan(epsilons=epsilons, questions=(ask("town", epsilons=epsilons, kind=kind),))


LISTED = [
    kind for kind in KINDS_OF_ANSWERS if kind not in ("optimal hashing", "randomised response")
]


@pytest.mark.parametrize("kind", LISTED)
@pytest.mark.parametrize("combination", ["inverse_variance", "sum"])
def test_levels_are_estimated_each_by_itself(kind: str, combination: Any) -> None:
    plan = plan_of(kind, (3.0, 1.0, 0.3))
    collected = collected_of(plan, [SHARES] * 3, [10**9, 10**8, 10**9])
    estimate = collected.estimate(0, combination)
    assert estimate is not None
    assert estimate.reports == 2_100_000_000
    np.testing.assert_allclose(estimate.shares, SHARES, atol=1e-6)


def test_reports_of_two_levels_in_one_pot_would_be_wrong() -> None:
    """The control: with the probabilities of one level for all, the estimate is far off."""
    plan = plan_of(None, (3.0, 0.3))
    collected = collected_of(plan, [SHARES] * 2, [10**9, 10**9])
    pot = collected.tallies[0, 0] + collected.tallies[0, 1]
    wrong = plan.questions[0].randomisers[0].estimate(pot.support, pot.reports) / pot.reports
    assert np.abs(wrong - SHARES).max() > 0.03


def test_the_variance_of_a_combination_is_that_of_its_parts() -> None:
    plan = plan_of(None, (3.0, 0.3))
    both = collected_of(plan, [SHARES] * 2, [20_000, 50_000])
    alone = [
        Collected(plan=plan, tallies={(0, level): both.tallies[0, level]}).estimate(0)
        for level in (0, 1)
    ]
    together, summed = both.estimate(0), both.estimate(0, "sum")
    assert together is not None
    assert summed is not None
    variances = [(one.deviations**2).mean() for one in alone if one is not None]
    best = 1 / sum(1 / variance for variance in variances)
    np.testing.assert_allclose((together.deviations**2).mean(), best, rtol=0.02)
    assert (together.deviations**2).mean() < min(variances)
    assert (summed.deviations**2).mean() > 2 * best


def test_only_the_sum_is_right_where_careful_persons_are_other_persons() -> None:
    others = SHARES[::-1]
    plan = plan_of(None, (3.0, 0.3))
    collected = collected_of(plan, [SHARES, others], [3 * 10**8, 10**8])
    summed, weighted = collected.estimate(0, "sum"), collected.estimate(0)
    assert summed is not None
    assert weighted is not None
    np.testing.assert_allclose(summed.shares, 0.75 * SHARES + 0.25 * others, atol=1e-6)
    assert np.abs(weighted.shares - summed.shares).max() > 0.02


@pytest.mark.parametrize("kind", ["direct", "hadamard"])
def test_deviations_are_what_repetitions_show(kind: str) -> None:
    """200 seeded surveys of 2,000 persons who are drawn each time: within 25 %."""
    plan = plan_of(kind, (2.0, 0.7))
    shares, stated = [], []
    for seed in range(200):
        codes = codes_of(2_000, seed)
        batches = answer_for_all(
            plan, codes, levels=np.arange(2_000) % 2, words=Words.of_seed(seed)
        )
        tallies = {
            (b.question, b.level): ReportTally.of(plan.questions[0].randomisers[b.level], b.answers)
            for b in batches
        }
        estimate = Collected(plan=plan, tallies=tallies).estimate(0)
        assert estimate is not None
        shares.append(estimate.shares)
        stated.append(estimate.deviations)
    seen = np.std(shares, axis=0)
    np.testing.assert_allclose(np.mean(stated, axis=0), seen, rtol=0.25)
    truth = np.array([1, 2, 3, 4]) / 10
    assert (np.abs(np.mean(shares, axis=0) - truth) < 5 * seen / np.sqrt(200)).all()


def test_a_question_that_nobody_answered_has_no_estimate() -> None:
    assert Collected(plan=small_plan(), tallies={}).estimate(1) is None


# --------------------------------------------------------------------------- files


def change(document: Any, path: str, value: Any) -> Any:
    changed = json.loads(json.dumps(document))
    at = changed
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in way:
        at = at[step]
    at[last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        ("version", 9, "has version 9"),
        ("format", "x", "is not one"),
        ("plan", {}, "is not one"),
        ("plan.version", 2, "has version 2"),
        ("tables", {}, "its tables must be a list"),
        ("tables.0", 5, "cannot be used"),
        ("tables.0.question", 9, "a question that the plan does not have"),
        ("tables.0.level", 1, "a level that the plan does not have"),
        ("tables.0.reports", -1, "not negative"),
        ("tables.0.reports", 1.5, "not negative"),
        ("tables.0.tally", [1], "has 1 numbers, not 2"),
        ("tables.0.tally", [1, 10**9], "more than its reports"),
        ("tables.0.tally", [-1, 5], "no 5 reports have the tally"),
        ("tables.0.tally", [2, 2], "no 5 reports have the tally"),
        ("tables.0.tally", [5, 5], "no 5 reports have the tally"),
        ("tables.0.tally", ["1", "2"], "list of whole numbers"),
        ("tables.0.tally", [True, 1], "list of whole numbers"),
        ("rejected", {"junk": "many"}, "not negative"),
    ],
)
def test_tables_that_cannot_be_are_refused(path: str, value: Any, complaint: str) -> None:
    plan = small_plan()
    tally = ReportTally(reports=5, support=np.array([2, 3]))
    document = Collected(plan=plan, tallies={(0, 0): tally}).to_dict()
    assert Collected.from_dict(document).to_dict() == document
    with pytest.raises(InputError, match=re.escape(complaint)):
        Collected.from_dict(change(document, path, value))
    twice = {**document, "tables": document["tables"] * 2}
    with pytest.raises(InputError, match="is there twice"):
        Collected.from_dict(twice)


def test_tables_of_two_surveys_do_not_add_up(tmp_path: Path) -> None:
    one, other = (Collected(plan=small_plan(title=title), tallies={}) for title in "ab")
    with pytest.raises(InputError, match="do not add up"):
        one + other
    one.save(tmp_path / "t.json")
    assert Collected.load(tmp_path / "t.json").plan.id == one.plan.id


# --------------------------------------------------------------------------- forged reports


def estimate_of(plan: CollectionPlan, level_answers: dict[int, Any]) -> Collected:
    question = plan.questions[0]
    return Collected(
        plan=plan,
        tallies={
            (0, level): ReportTally.of(question.randomisers[level], answers)
            for level, answers in level_answers.items()
        },
    )


@pytest.mark.parametrize("kind", [k for k in KINDS_OF_ANSWERS if k != "randomised response"])
@pytest.mark.parametrize("share", [0.01, 0.2])
def test_no_forgery_moves_an_estimate_further_than_the_bound(kind: str, share: float) -> None:
    """The worst reports for each value, found among what persons with any value send, or all of
    them; against the honest estimate, exactly.
    """
    plan = plan_of(kind, (1.0,))
    randomiser = plan.questions[0].randomisers[0]
    honest = answer_for_all(plan, codes_of(4_000), words=Words.of_seed(0))[0].answers
    forged = round(share * 4_000 / (1 - share))
    if kind == "optimal hashing":
        candidates = randomiser.perturb(np.arange(400) % 4, Words.of_seed(1)).tolist()
    else:
        candidates = [list(report) for report in randomiser.possible_reports()]
    before = randomiser.estimate(randomiser.tally(honest), len(honest)) / len(honest)
    moved = []
    for candidate in candidates:
        mixed = np.concatenate([honest, np.array([candidate] * forged, dtype=honest.dtype)])
        collected = estimate_of(plan, {0: mixed})
        estimate = collected.estimate(0)
        assert estimate is not None
        moved.append(np.abs(estimate.shares - before).max())
        (bound,) = bound_poisoning(collected, forged / len(mixed))
    assert bound.drawn == pytest.approx(forged / len(mixed) * pull_of_one(randomiser))
    assert bound.chosen == pytest.approx(bound.drawn)  # there is one question, and one level
    assert max(moved) <= bound.drawn * (1 + 1e-9)
    assert max(moved) > bound.drawn / 4, "the bound says nothing"


def test_forgers_who_choose_the_level_are_bounded_too() -> None:
    plan = plan_of(None, (2.0, 0.2))
    randomisers = plan.questions[0].randomisers
    honest = {
        batch.level: batch.answers
        for batch in answer_for_all(
            plan, codes_of(6_000), levels=np.arange(6_000) % 3 // 2, words=Words.of_seed(0)
        )
    }
    for level in (0, 1):
        forged = np.full((60, 1), 0)
        mixed = honest | {level: np.concatenate([honest[level], forged])}
        collected = estimate_of(plan, mixed)
        (bound,) = bound_poisoning(collected, 60 / 6_060)
        after = collected.estimate(0)
        assert after is not None
        # The honest reports alone, at the weights of all.
        weights = [
            1
            / np.mean(
                randomisers[k].variance(len(mixed[k]), None) / len(mixed[k]) ** 2
                + 0.25 * 0.75 / len(mixed[k])
            )
            for k in (0, 1)
        ]
        weights = np.array(weights) / sum(weights)
        before = sum(
            weights[k]
            * randomisers[k].estimate(randomisers[k].tally(honest[k]), len(honest[k]))
            / len(honest[k])
            for k in (0, 1)
        )
        assert np.abs(after.shares - before).max() <= bound.chosen
        assert bound.drawn <= bound.chosen


def test_a_question_that_forgers_choose_is_noticed() -> None:
    plan = small_plan(questions=(ask("sex"), ask("town"), ask("age")))
    tallies = {
        (place, 0): ReportTally(
            reports=count, support=np.zeros(plan.questions[place].size, np.int64)
        )
        for place, count in enumerate([10_000, 10_000, 10_000])
    }
    assert find_crowded_questions(Collected(plan=plan, tallies=tallies)) == []
    tallies[1, 0] = ReportTally(reports=11_000, support=np.zeros(4, np.int64))
    assert find_crowded_questions(Collected(plan=plan, tallies=tallies)) == [1]


def test_a_share_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="from 0 to below 1"):
        bound_poisoning(Collected(plan=small_plan(), tallies={}), 1.0)
