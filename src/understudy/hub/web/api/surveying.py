"""Surveys by the API: those of a maker, and what persons send without a token of the API."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from understudy.errors import InputError
from understudy.hub import survey_tables, surveys
from understudy.hub.pages import PageOf
from understudy.hub.questionnaires import read_questionnaire
from understudy.hub.survey_batches import MIN_BATCH, count_batches, show_batches
from understudy.hub.survey_results import foresee
from understudy.hub.survey_waves import open_next_wave
from understudy.hub.surveys import Survey, SurveySpec
from understudy.hub.web import survey_answers
from understudy.hub.web.documents import (
    Id,
    Listing,
    PageNumber,
    PersonsSent,
    SurveySent,
    TokenAsked,
    write_job,
    write_time,
)
from understudy.hub.web.state import Site
from understudy.hub.web.survey_pages import find_estimates
from understudy.hub.web.viewer import Bearer, TheHub

router = APIRouter()

TEXT_LINES: dict[str, Any] = {
    "requestBody": {"content": {"text/plain": {"schema": {"type": "string"}}}, "required": True}
}


@router.get("/surveys", tags=["surveys"])
def list_surveys(hub: TheHub, user: Bearer, page: PageNumber = 1) -> Listing:
    """Your own surveys, newest first; an administrator sees all."""
    with hub.db.reading() as c:
        found = surveys.list_of(c, user.id, PageOf(number=page))
        items = [
            write_survey(one) | {"reports": count_batches(c, one.id).shown} for one in found.items
        ]
    return Listing.of(found, items)


@router.post("/surveys", status_code=201, tags=["surveys"])
def make_survey(hub: TheHub, user: Bearer, sent: SurveySent) -> dict[str, Any]:
    """Make a survey, as a draft."""
    values = sent.model_dump()
    key = f"api:{values.pop('key')}"
    questionnaire = read_questionnaire(values.pop("items"))
    with hub.db.transaction() as c:
        made = surveys.make(c, user.id, SurveySpec(**values, questionnaire=questionnaire), key)
    return write_survey(made)


@router.get("/surveys/{survey}", tags=["surveys"])
def show_survey(hub: TheHub, user: Bearer, survey: Id) -> dict[str, Any]:
    """A survey: its reports in whole batches, the error to expect, the job of its table."""
    return _describe(hub, user.id, survey)


@router.post("/surveys/{survey}/open", tags=["surveys"])
def open_survey(hub: TheHub, user: Bearer, survey: Id) -> dict[str, Any]:
    """Let persons answer; from then on what is asked is fixed."""
    with hub.db.transaction() as c:
        return write_survey(surveys.open_survey(c, user.id, survey))


@router.post("/surveys/{survey}/close", tags=["surveys"])
def close_survey(hub: TheHub, user: Bearer, survey: Id) -> dict[str, Any]:
    """Take no more reports."""
    with hub.db.transaction() as c:
        return write_survey(surveys.close_survey(c, user.id, survey))


@router.post("/surveys/{survey}/waves", tags=["surveys"])
def open_wave(hub: TheHub, user: Bearer, survey: Id, sent: PersonsSent) -> dict[str, Any]:
    """Ask other persons what the reports so far leave most open."""
    return write_survey(open_next_wave(hub.db, user.id, survey, sent.persons))


@router.post("/surveys/{survey}/invitations", status_code=201, tags=["surveys"])
def invite(hub: TheHub, user: Bearer, survey: Id, sent: PersonsSent) -> dict[str, Any]:
    """Links for as many persons; they are in this answer and nowhere else."""
    with hub.db.transaction() as c:
        codes = surveys.invite(c, user.id, survey, sent.persons)
    return {"links": [f"{hub.address}/s/{survey}#{code}" for code in codes]}


@router.get("/surveys/{survey}/estimates", tags=["surveys"])
def show_estimates(hub: TheHub, user: Bearer, survey: Id) -> dict[str, Any]:
    """The share of persons with each answer, with its standard deviation."""
    return find_estimates(hub, user.id, survey)


@router.post("/surveys/{survey}/table", status_code=202, tags=["surveys"])
def make_table(hub: TheHub, user: Bearer, survey: Id) -> dict[str, Any]:
    """Let a worker make a synthetic table of a closed survey; its request tells how far it is."""
    with hub.db.transaction() as c:
        return write_job(survey_tables.ask_for_table(c, user.id, survey))


@router.get("/surveys/{survey}/plan", tags=["answering"])
def show_plan(hub: TheHub, survey: Id) -> dict[str, Any]:
    """Who is asked what, and by which randomisers; public, without a token."""
    with hub.db.reading() as c:
        return dict(surveys.show_public(c, survey).plan_document)


@router.post("/surveys/{survey}/token", tags=["answering"])
def issue_token(hub: TheHub, survey: Id, sent: TokenAsked) -> dict[str, str]:
    """Answer a person's blinded request: one for each invitation; without a token."""
    answer = survey_answers.issue_token(hub, survey, sent.code, sent.request)
    return {"response": answer}


@router.post(
    "/surveys/{survey}/reports", status_code=202, tags=["answering"], openapi_extra=TEXT_LINES
)
async def take_reports(request: Request, survey: Id) -> dict[str, Any]:
    """Take reports, one in each line; without a token, and nothing else is kept of the call."""
    body = await request.body()
    if len(body) > survey_answers.MAX_REPORT_BYTES:
        raise InputError("This is too much for reports; send fewer at a time.")
    receipt = await survey_answers.receive(request, survey, body)
    return receipt.to_dict()


def write_survey(survey: Survey) -> dict[str, Any]:
    """A survey, without what came in."""
    plan = survey.plan()
    return {
        "id": survey.id,
        "maker": survey.maker,
        "title": survey.title,
        **{name: survey.document[name] for name in ("introduction", "purpose", "conditions")},
        "contact": survey.document["contact"],
        "state": survey.state,
        "wave": plan.wave,
        "plan": plan.id,
        "epsilons": list(plan.epsilons),
        "questions": len(plan.questions),
        "persons": survey.persons,
        "invited": survey.invited,
        "dataset": survey.dataset,
        "created_at": write_time(survey.created_at),
        "opened_at": write_time(survey.opened_at),
        "closed_at": write_time(survey.closed_at),
    }


def _describe(hub: Site, viewer: str, survey: str) -> dict[str, Any]:
    with hub.db.reading() as c:
        surveys.show(c, viewer, survey)
    counts = show_batches(hub.db, survey)
    with hub.db.reading() as c:
        found = surveys.show(c, viewer, survey)
        invited, used = surveys.count_invitations(c, survey)
        job = survey_tables.read_table_job(c, found)
        release = survey_tables.read_table(c, found)
    plan = found.plan()
    outlook = foresee(plan, found.persons, counts.cells)
    by_level = counts.by_level()
    levels = [
        {"epsilon": epsilon, "reports": by_level[level]}
        for level, epsilon in enumerate(plan.epsilons)
    ]
    return write_survey(found) | {
        "reports": counts.shown,
        "batch": MIN_BATCH,
        "levels": levels,
        "expected_error": {"one_way": outlook.planned[0], "two_way": outlook.planned[1]},
        "error_now": outlook.now and {"one_way": outlook.now[0], "two_way": outlook.now[1]},
        "invitations": {"made": invited, "used": used},
        "job": None if job is None else write_job(job),
        "release": None if release is None else release.id,
    }
