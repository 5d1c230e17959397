"""Plans: what they hold, what they refuse, and how a question is drawn."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from surveys import SCHEMA, ask, plan_of_all_kinds, small_plan

from understudy import InputError
from understudy.local.plans import CollectionPlan, plan_all_pairs, whole_weights
from understudy.local.questions import LocalQuestion
from understudy.local.randomisers import DirectEncoding, Duchi, SummedHistogram, SymmetricUnary


@pytest.mark.parametrize("plan", [small_plan(), plan_of_all_kinds()], ids=["small", "all kinds"])
def test_a_plan_comes_back_from_its_file(plan: CollectionPlan, tmp_path: Path) -> None:
    plan.save(tmp_path / "plan.json")
    read = CollectionPlan.load(tmp_path / "plan.json")
    assert read == plan
    assert read.id == plan.id


def test_the_id_is_of_the_content_and_not_of_its_order() -> None:
    plan = small_plan()
    backwards = dict(reversed(plan.to_dict().items()))
    assert CollectionPlan.from_dict(backwards).id == plan.id
    others = [
        small_plan(title="Another"),
        small_plan(epsilons=(3.0,)),
        small_plan(questions=plan.questions[:2]),
        small_plan(wording={"age": "How old are you?"}),
        small_plan(persons=1000),
    ]
    assert len({plan.id, *(other.id for other in others)}) == 6
    assert re.fullmatch("[0-9a-f]{16}", plan.id)


def change(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    changed = json.loads(json.dumps(document))
    at = changed
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in way:
        at = at[step]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        ("version", 2, "has version 2, and this program reads version 1"),
        ("format", "understudy model", "is not one"),
        ("schema", {}, 'object with an "attributes" entry'),
        ("epsilons", [], "1 to 16 levels"),
        ("epsilons", ["2"], '"epsilons" must be a list of numbers'),
        ("epsilons", [1.5], "has epsilon 2, above the level's 1.5"),
        ("epsilons", [2.0, 2.0], "the same epsilon twice"),
        ("epsilons", [2.0, 3.0], "a randomiser for each of the 2 levels"),
        ("questions", [], "1 to 100,000 questions"),
        ("questions.0.columns", ["name"], "about 'name', which the schema gives no codes"),
        ("questions.0.columns", ["sex", "sex"], "names a column twice"),
        ("questions.0.columns", [], "a list of columns"),
        ("questions.0.columns", ["age"], "is for 2 answers, and there are 4"),
        ("questions.0.weight", -1, "weight must be a whole number from 0"),
        ("questions.0.weight", 0.5, "weight must be a whole number from 0"),
        ("questions.0.wave", 2, "of wave 2, and the plan has 1"),
        ("questions.0.surprise", 2, "a question must be an object with"),
        ("questions.0.randomisers", [], "a list of randomisers"),
        ("questions.0.randomisers.0.kind", "magic", "must be an object with a kind"),
        ("questions.0.randomisers.0.size", 1 << 40, "size must be a whole number"),
        ("questions.0.randomisers.0.thresholds.keep", "1", "thresholds"),
        ("questions.2.odd", [[1]], "a list of codes for each column"),
        ("questions.2.odd", [[1], [5]], "code of a parity must be a whole number from 0 to 2"),
        ("questions.2.odd", [[1], [0, 1, 2]], "some codes of a column, not all"),
        ("title", 7, "title must be a text"),
        ("wording", {"name": "?"}, "no column of the schema"),
        ("persons", 0, '"persons" must be a whole number above 0'),
        ("earlier", ["abc"], "ids of plans"),
        ("surprise", 1, "unknown entry 'surprise'"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_one_sentence(
    path: str, value: Any, complaint: str
) -> None:
    document = change(small_plan().to_dict(), path, value)
    with pytest.raises(InputError, match=re.escape(complaint)) as refused:
        CollectionPlan.from_dict(document, "The plan p.json")
    assert str(refused.value).startswith("The plan p.json")
    assert str(refused.value).count("\n") == 0


@pytest.mark.parametrize("document", [None, [], "plan", 3, {}])
def test_anything_but_a_plan_is_refused(document: Any) -> None:
    with pytest.raises(InputError, match="is not one"):
        CollectionPlan.from_dict(document)


def test_a_plan_nobody_is_asked_by_is_refused() -> None:
    with pytest.raises(InputError, match="weight above 0"):
        small_plan(questions=(ask("sex", weight=0),))


@pytest.mark.parametrize(
    ("randomiser", "complaint"),
    [
        (SummedHistogram(size=2, epsilon=2.0), "reports without bounds"),
        (Duchi(epsilon=2.0, low=0, high=1), "not of numbers"),
    ],
    ids=["summed histogram", "duchi"],
)
def test_a_randomiser_of_another_kind_is_refused(randomiser: Any, complaint: str) -> None:
    document = change(small_plan().to_dict(), "questions.0.randomisers", [randomiser.to_dict()])
    with pytest.raises(InputError, match=complaint):
        CollectionPlan.from_dict(document)


def test_a_question_of_too_many_answers_is_refused() -> None:
    question = LocalQuestion(
        columns=("sex",), sizes=(1 << 21,), randomisers=(DirectEncoding(size=2, epsilon=1.0),)
    )
    with pytest.raises(InputError, match="2,097,152 answers; at most 1,048,576"):
        question.check()


@given(st.lists(st.integers(0, 1 << 32), min_size=1, max_size=8).filter(any))
def test_questions_are_drawn_in_proportion_to_their_weights(weights: list[int]) -> None:
    plan = small_plan(questions=tuple(ask("sex", weight=weight) for weight in weights))
    ends = [0, *plan.draw_thresholds, 1 << 64]
    assert ends == sorted(ends)
    for weight, (start, end) in zip(weights, itertools.pairwise(ends), strict=True):
        share = Fraction(weight, sum(weights))
        assert abs(Fraction(end - start, 1 << 64) - share) <= Fraction(1, 1 << 63)
        if end > start:
            words = np.array([start, end - 1], dtype=np.uint64)
            drawn = plan.draw_questions(words)
            assert drawn[0] == drawn[1] == ends[1:].index(end) or weight == 0
            assert weights[drawn[0]] > 0


def test_shares_become_weights() -> None:
    assert whole_weights([0.5, 0.25, 0.0]) == (10**9, 5 * 10**8, 0)
    with pytest.raises(InputError, match="must not be negative"):
        whole_weights([0.5, -0.1])
    with pytest.raises(InputError, match="nor all 0"):
        whole_weights([0.0])


def test_answers_are_joint_indices_and_parities() -> None:
    age, town, sex, smoker = (np.arange(size) for size in (4, 4, 2, 3))
    joint = ask("age", "town")
    pairs = np.array(list(itertools.product(age, town)))
    codes = {"age": pairs[:, 0], "town": pairs[:, 1]}
    assert joint.answers(codes).tolist() == [4 * a + t for a, t in pairs.tolist()]
    parity = ask("sex", "smoker", odd=((1,), (0, 2)))
    pairs = np.array(list(itertools.product(sex, smoker)))
    codes = {"sex": pairs[:, 0], "smoker": pairs[:, 1]}
    expected = [int(s == 1) ^ int(m in (0, 2)) for s, m in pairs.tolist()]
    assert parity.answers(codes).tolist() == expected
    assert parity.parity_table().ravel().tolist() == expected


def test_all_pairs_are_asked_with_the_best_randomisers() -> None:
    plan = plan_all_pairs(SCHEMA, (2.0, 0.5), 2000)
    assert len(plan.questions) == 6 + 15
    assert plan.persons == 2000
    for question in plan.questions:
        assert [one.epsilon for one in question.randomisers] == [2.0, 0.5]
        assert all(one.size == question.size for one in question.randomisers)
    np.testing.assert_allclose(plan.shares, 1 / 21)


def test_a_question_may_cost_less_than_its_level() -> None:
    delicate = ask("smoker", epsilons=(0.5,))
    plan = small_plan(questions=(ask("sex"), delicate))
    assert CollectionPlan.from_dict(plan.to_dict()).questions[1].randomisers[0].epsilon == 0.5


def test_a_question_that_costs_its_limit_stays_as_it_was() -> None:
    """Its maker chose the randomiser, which need not be the best."""
    (question,) = (plan := small_plan(questions=(ask("town"),))).questions
    given = replace(
        question, randomisers=(SymmetricUnary(size=question.size, epsilon=plan.epsilons[0]),)
    )
    plan = replace(plan, questions=(given,))
    assert plan.limit_columns({"town": plan.epsilons[0]}) == plan
    assert plan.limit_columns({"town": plan.epsilons[0] / 2}) != plan


def test_delicate_columns_cost_less_at_every_level() -> None:
    plan = plan_all_pairs(SCHEMA, (2.0, 0.5)).limit_columns({"smoker": 1.0, "sex": 0.3})
    for question in plan.questions:
        limit = min(
            [1.0] * ("smoker" in question.columns) + [0.3] * ("sex" in question.columns) or [9.0]
        )
        assert [one.epsilon for one in question.randomisers] == [min(2.0, limit), min(0.5, limit)]
        assert all(one.size == question.size for one in question.randomisers)
    assert plan.epsilons == (2.0, 0.5)
    assert CollectionPlan.from_dict(plan.to_dict()) == plan
    with pytest.raises(InputError, match="no attribute 'smokes'"):
        plan.limit_columns({"smokes": 1.0})
    with pytest.raises(InputError, match="psilon"):
        plan.limit_columns({"smoker": 0.0})


def test_a_second_wave_holds_the_questions_of_the_first() -> None:
    first = small_plan()
    second = first.next_wave([ask("born", "sex"), ask("height")], persons=500)
    assert (second.wave, second.survey, second.earlier) == (2, first.id, (first.id,))
    assert second.questions[:3] == first.questions
    assert second.shares.tolist() == [0, 0, 0, 0.5, 0.5]
    assert CollectionPlan.from_dict(second.to_dict()) == second
    third = second.next_wave([ask("town")])
    assert third.ids_by_wave == (first.id, second.id, third.id)
    assert third.survey == first.id


def test_levels_are_named_by_their_epsilon() -> None:
    plan = plan_of_all_kinds((2.0, 0.5))
    assert [plan.level_of(one) for one in (None, 2.0, 0.5)] == [0, 0, 1]
    with pytest.raises(InputError, match=r"does not offer epsilon 1; it offers 2, 0\.5"):
        plan.level_of(1.0)
