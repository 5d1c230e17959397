"""Another wave of a survey: what the reports so far leave most open, asked of other persons.

Whoever has answered is done: an invitation is worth one report, whichever wave it is used in, and
a browser that holds a report of the survey makes no other.
"""

from __future__ import annotations

import sqlalchemy as sa

from understudy.errors import InputError
from understudy.hub import surveys as survey_service
from understudy.hub import trail
from understudy.hub.database import Database
from understudy.hub.errors import Conflict
from understudy.hub.questionnaires import MAX_PAGE_QUESTIONS
from understudy.hub.survey_results import collect
from understudy.hub.surveys import MAX_PERSONS, Survey
from understudy.hub.tables import surveys
from understudy.local.planning import plan_next_wave
from understudy.local.plans import MAX_WAVES


def open_next_wave(db: Database, actor: str, survey: str, persons: int) -> Survey:
    """Plan the next wave from the reports that are shown, and open it.

    Parameters
    ----------
    db
        The hub's.
    actor, survey
        Whose survey; it is closed, and no table was made of it yet.
    persons
        How many other persons are expected.
    """
    if not 1 <= persons <= MAX_PERSONS:
        raise InputError("Say how many other persons you expect: a whole number above 0.")
    with db.reading() as c:
        found = survey_service.show(c, actor, survey)
        if found.state == "open" and found.wave > 1 and found.persons == persons:
            return found  # the same form, sent twice
        _check(found)
        collected = collect(c, found)
    if not collected.reports:
        raise InputError("No report counts yet, so that nothing is known to ask further about.")
    plan = plan_next_wave(collected, persons)
    if len(plan.questions) > MAX_PAGE_QUESTIONS:
        raise InputError("Another wave would have too many questions for a person's page.")
    with db.transaction() as c:
        now = survey_service.show(c, actor, survey)
        _check(now)
        if now.plan_document != found.plan_document:
            raise Conflict("Another wave was planned meanwhile; load the page again.")
        values = {
            "plan": plan.to_dict(),
            "document": {**now.document, "persons": persons},
            "state": "open",
            "closed_at": None,
        }
        c.execute(sa.update(surveys).where(surveys.c.id == survey).values(**values))
        details = {"plan": plan.id, "wave": plan.wave, "reports": collected.reports}
        trail.append(c, actor, "open wave", survey, details)
        return survey_service.read_survey(c, survey)


def _check(survey: Survey) -> None:
    if survey.state != "closed":
        raise Conflict("Close the survey first: the next wave is planned from all its reports.")
    if survey.dataset is not None:
        raise Conflict("A table was asked for already, and it is of all waves; make a new survey.")
    if survey.wave >= MAX_WAVES:
        raise Conflict(f"A survey has at most {MAX_WAVES} waves.")
