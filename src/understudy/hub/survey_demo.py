"""A survey to look at: made-up persons have answered it, each at a level of their choice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy.hub import surveys
from understudy.hub.opening import Hub
from understudy.hub.questionnaires import read_questionnaire
from understudy.hub.survey_intake import write_batch
from understudy.hub.surveys import Survey, SurveySpec
from understudy.local.answering import answer_for_all
from understudy.local.plans import CollectionPlan
from understudy.local.reports import Report

ITEMS = """
smoker = no|yes -- Do you smoke?
sleep = short|about right|long -- How do you sleep?
commute = walk|bicycle|bus or train|car -- How do you get to work or school?
stress = never|sometimes|often -- How often do you feel under stress?
"""


def add_demo_survey(hub: Hub, maker: str, persons: int = 2_000) -> Survey:
    """An open survey with reports of made-up persons.

    Parameters
    ----------
    hub
        Where to.
    maker
        Whose it is, by id.
    persons
        How many have answered.
    """
    spec = SurveySpec(
        title="Sleep, stress and the way to work",
        introduction="The public health institute asks how people live. Your answer is randomised "
        "in your browser before it is sent.",
        questionnaire=read_questionnaire(ITEMS),
        epsilons=(2.0, 1.0, 0.5),
        persons=2 * persons,
        invited=False,
        purpose="Planning of public health",
        conditions="Cite the institute; no attempt to single anybody out",
        contact="survey@institute.example",
    )
    with hub.db.transaction() as c:
        survey = surveys.make(c, maker, spec, f"demo survey of {maker}")
        survey = surveys.open_survey(c, maker, survey.id)
    plan = survey.plan()
    with hub.db.transaction(alone=False) as c:
        write_batch(c, [(survey.id, list(make_reports(plan, make_answers(plan, persons))))])
    return survey


def make_answers(plan: CollectionPlan, persons: int) -> dict[str, np.ndarray]:
    """Codes of made-up persons, in whom stress goes with sleeping badly and with smoking."""
    rng = np.random.default_rng(19)
    stress = rng.choice(3, persons, p=[0.3, 0.45, 0.25])
    worn = rng.random(persons)
    codes = {
        "stress": stress,
        "smoker": (worn < 0.12 + 0.12 * stress).astype(np.int64),
        "sleep": np.where(rng.random(persons) < 0.2 + 0.2 * stress, 0, rng.choice([1, 2], persons)),
        "commute": rng.choice(4, persons, p=[0.2, 0.2, 0.35, 0.25]),
    }
    return {column.name: codes[column.name] for column in plan.schema.modelled}


def make_reports(plan: CollectionPlan, codes: dict[str, np.ndarray]) -> Iterator[Report]:
    """The reports of made-up persons, most of them at the usual level."""
    persons = len(next(iter(codes.values())))
    chances = np.array([1.0, *[0.5] * (len(plan.epsilons) - 1)])
    levels = np.random.default_rng(7).choice(len(plan.epsilons), persons, p=chances / chances.sum())
    for batch in answer_for_all(plan, codes, levels=levels):
        for answer, number in zip(batch.answers.tolist(), batch.number_texts(), strict=True):
            yield Report(
                plan=plan.id,
                question=batch.question,
                level=batch.level,
                answer=tuple(answer),
                number=number,
            )
