"""Surveys of the hub for tests: a questionnaire, simulated persons, their reports."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from core_hubs import add_user

from understudy.hub import surveys
from understudy.hub.opening import Hub
from understudy.hub.questionnaires import read_questionnaire
from understudy.hub.surveys import Survey, SurveySpec
from understudy.local.plans import CollectionPlan
from understudy.local.reports import Report

LINES = """
smoker = yes|no -- Do you smoke?
sleep = 0..12 -- How many hours do you sleep?
town = Cork|Galway|other place
"""


def make_spec(**changes: Any) -> SurveySpec:
    values: dict[str, Any] = {
        "title": "Sleep and smoke",
        "introduction": "A study of the university.",
        "questionnaire": read_questionnaire(LINES),
        "epsilons": (2.0, 0.5),
        "persons": 2_000,
        "invited": False,
        "purpose": "teaching",
        "conditions": "cite us",
        "contact": "survey@example.org",
    }
    return SurveySpec(**values | changes)


def start_survey(hub: Hub, **changes: Any) -> tuple[str, Survey]:
    """A maker, and her open survey."""
    with hub.db.transaction() as c:
        maker = add_user(c, f"maker{random.getrandbits(40)}")
        made = surveys.make(c, maker, make_spec(**changes), "key-of-the-form")
        return maker, surveys.open_survey(c, maker, made.id)


def simulate(plan: CollectionPlan, persons: int, seed: int = 1) -> list[Report]:
    """Reports of persons of whom 30 % smoke, at levels as they like."""
    rng = np.random.default_rng(seed)
    draws = plan.draw_questions(rng.integers(0, 2**64, persons, dtype=np.uint64))
    reports = []
    for place in range(persons):
        codes = {column.name: np.array([int(rng.integers(column.size))]) for column in plan.schema}
        codes["smoker"] = np.array([0 if rng.random() < 0.3 else 1])
        question = plan.questions[int(draws[place])]
        level = int(rng.integers(len(plan.epsilons)))
        answer = question.randomisers[level].perturb(question.answers(codes))
        reports.append(
            Report(
                plan=plan.id,
                question=int(draws[place]),
                level=level,
                answer=tuple(np.atleast_2d(answer).reshape(1, -1)[0].tolist()),
                number=rng.bytes(16).hex(),
            )
        )
    return reports
