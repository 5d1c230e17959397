"""The pages of surveys: the maker's, and those that a person opens without an account."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from understudy.errors import InputError, UnderstudyError
from understudy.hub import surveys
from understudy.hub.database import Transaction
from understudy.hub.errors import Conflict, NotFound
from understudy.hub.pages import PageOf
from understudy.hub.questionnaires import read_questionnaire
from understudy.hub.survey_intake import SurveyIntake
from understudy.hub.survey_results import (
    SurveyOutlook,
    collect,
    estimate_items,
    foresee,
    publish_table,
    read_published,
    write_estimates,
)
from understudy.hub.surveys import Survey, SurveySpec
from understudy.hub.tasks import Task
from understudy.hub.web.documents import Id
from understudy.hub.web.forms import Form, SentForm
from understudy.hub.web.problems import status_of
from understudy.hub.web.rendering import environment, go_to, render
from understudy.hub.web.state import Site
from understudy.hub.web.viewer import TheHub, Viewer, get_hub
from understudy.local.checking import ReportCheck
from understudy.local.forms import client_form
from understudy.local.planning import expect_errors
from understudy.local.reports import REASONS, Rejection, Report

router = APIRouter()

MAX_REPORT_BYTES = 1 << 20
MAX_LINES = 2_000
"""Reports that may come in one go; a person's page sends one."""

FEW_LINES = 8
"""So many reports are checked at once, without a thread."""

STARTS = {
    "title": "",
    "introduction": "",
    "items": "smoker = yes|no -- Do you smoke?\nage = 18..100 -- How old are you?\n",
    "epsilons": "2, 1, 0.5",
    "persons": "2000",
    "invited": "yes",
    "purpose": "",
    "conditions": "",
    "contact": "",
}


# --------------------------------------------------------------------------- the maker's pages


@router.get("/surveys")
def list_surveys(request: Request, hub: TheHub, viewer: Viewer, page: int = 1) -> Response:
    """The surveys of a maker."""
    with hub.db.reading() as c:
        found = surveys.list_of(c, viewer.id, PageOf(number=page, size=20))
        entries = [(one, surveys.count_reports(c, one.id)) for one in found.items]
    return render(request, "surveys.html", title="Surveys", page=found, entries=entries)


@router.get("/surveys/new")
def show_new(request: Request, viewer: Viewer) -> Response:
    """The form of a new survey, with the error to expect of what stands in it."""
    typed = STARTS | {name: request.query_params.get(name, STARTS[name]) for name in STARTS}
    return _show_new(request, typed)


@router.post("/surveys/new")
def make_survey(request: Request, hub: TheHub, viewer: Viewer, form: SentForm) -> Response:
    """Make a draft."""
    try:
        spec = _read_spec(form)
        with hub.db.transaction() as c:
            made = surveys.make(c, viewer.id, spec, form.key)
    except UnderstudyError as error:
        return _show_new(request, STARTS | form.typed(), status_of(error), problem=str(error))
    return go_to(f"/surveys/{made.id}")


@router.get("/surveys/{survey}")
def show_survey(request: Request, hub: TheHub, viewer: Viewer, survey: Id) -> Response:
    """A survey for its maker: progress, the error to expect, estimates, what to do next."""
    return _show_made(request, hub, viewer, survey)


@router.post("/surveys/{survey}/open")
def open_survey(
    request: Request, hub: TheHub, viewer: Viewer, survey: Id, form: SentForm
) -> Response:
    """Let persons answer."""
    with hub.db.transaction() as c:
        surveys.open_survey(c, viewer.id, survey)
    return go_to(f"/surveys/{survey}")


@router.post("/surveys/{survey}/close")
def close_survey(
    request: Request, hub: TheHub, viewer: Viewer, survey: Id, form: SentForm
) -> Response:
    """Take no more reports."""
    with hub.db.transaction() as c:
        surveys.close_survey(c, viewer.id, survey)
    return go_to(f"/surveys/{survey}")


@router.post("/surveys/{survey}/invite")
def invite(request: Request, hub: TheHub, viewer: Viewer, survey: Id, form: SentForm) -> Response:
    """Make invitations; their links are shown once, on this very page."""
    persons = form.whole("persons", "The number of persons")
    with hub.db.transaction() as c:
        codes = surveys.invite(c, viewer.id, survey, persons)
    return _show_made(request, hub, viewer, survey, codes=codes)


@router.post("/surveys/{survey}/table")
def make_table(
    request: Request, hub: TheHub, viewer: Viewer, survey: Id, form: SentForm
) -> Response:
    """Make a synthetic table of all reports; one at a time, however often the button is clicked."""
    with hub.db.reading() as c:
        found = surveys.show(c, viewer.id, survey)
        if found.state != "closed":
            raise Conflict("Close the survey first: the table is of all its reports.")
    tasks = _tasks(request)
    known = tasks.get(survey)
    if known is None or known.step.state in ("stopped", "failed"):
        site: Any = hub
        tasks[survey] = Task(
            lambda progress: publish_table(site.db, site.vault, viewer.id, survey, progress)
        ).start()
    return go_to(f"/surveys/{survey}")


@router.get("/surveys/{survey}/estimates")
def send_estimates(hub: TheHub, viewer: Viewer, survey: Id) -> Response:
    """All estimates as JSON."""
    with hub.db.reading() as c:
        collected = collect(c, surveys.show(c, viewer.id, survey))
    document = write_estimates(collected, estimate_items(collected))
    headers = {"content-disposition": f'attachment; filename="estimates-{survey}.json"'}
    return JSONResponse(document, headers=headers)


def _show_new(
    request: Request, typed: dict[str, str], status: int = 200, **values: Any
) -> Response:
    expected, questions, trouble = None, 0, ""
    if typed["items"].strip():
        try:
            form = Form({name: [value] for name, value in typed.items()}, {})
            spec = _read_spec(form, title="Survey")
            plan = spec.questionnaire.plan(spec.epsilons, spec.persons, "Survey")
            expected, questions = expect_errors(plan, spec.persons), len(plan.questions)
        except UnderstudyError as error:
            trouble = str(error)
    return render(
        request,
        "survey_new.html",
        status,
        title="Make a survey",
        typed=typed,
        expected=expected,
        questions=questions,
        trouble=trouble,
        **values,
    )


def _read_spec(form: Form, title: str = "") -> SurveySpec:
    """What the form of a new survey says."""
    items = form.text("items", "The items", most=200_000)
    given: Any = items
    if items.lstrip().startswith("{"):
        try:
            given = json.loads(items)
        except (ValueError, RecursionError):
            raise InputError(
                "The items are no JSON; write lines such as smoker = yes|no."
            ) from None
    texts = {
        name: form.text(name, name.capitalize(), required=False)
        for name in ("introduction", "purpose", "conditions", "contact")
    }
    return SurveySpec(
        title=title or form.text("title", "The title", most=200),
        questionnaire=read_questionnaire(given),
        epsilons=_read_levels(form.text("epsilons", "The levels of privacy", most=200)),
        persons=form.whole("persons", "The number of persons"),
        invited=form.text("invited", "Who may answer", required=False) != "no",
        **texts,
    )


def _read_levels(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.replace(";", ",").split(",") if part.strip())
    except ValueError:
        raise InputError("Levels of privacy are numbers with commas between them.") from None


def _show_made(
    request: Request, hub: Site, viewer: Any, survey: str, codes: list[str] | None = None
) -> Response:
    with hub.db.reading() as c:
        found = surveys.show(c, viewer.id, survey)
        cells = surveys.count_cells(c, survey)
        invitations = surveys.count_invitations(c, survey)
        published = read_published(c, viewer.id, found) if found.dataset else None
        plan = found.plan()
        outlook = foresee(plan, found.persons, cells)
        items, problem = (), ""
        if request.headers.get("x-live") != "progress":  # which shows none
            try:
                items = _estimates(request, c, found, outlook.reports)
            except InputError as error:  # a package is missing: the rest of the page goes on
                problem = str(error)
    by_level: Counter[int] = Counter()
    for (_, level), reports in cells.items():
        by_level[level] += reports
    task = _tasks(request).get(survey)
    return render(
        request,
        "survey_made.html",
        title=found.title,
        survey=found,
        plan=plan,
        names=[column.name for column in plan.schema.modelled],
        outlook=outlook,
        picture=_picture(outlook),
        levels=[(f"{epsilon:g}", by_level[n]) for n, epsilon in enumerate(plan.epsilons)],
        items=items,
        invitations=invitations,
        link=f"{hub.address}/s/{survey}",
        codes=codes or [],
        release=published.id if published else None,
        task=task.step if task else None,
        problem=problem,
    )


def _estimates(request: Request, c: Transaction, survey: Survey, reports: int) -> Any:
    """The estimates, made again only when there are new reports."""
    state = request.app.state
    if not hasattr(state, "survey_estimates"):
        state.survey_estimates = {}
    known = state.survey_estimates.get(survey.id)
    if known is None or known[0] != reports:
        known = (reports, estimate_items(collect(c, survey)) if reports else ())
        if len(state.survey_estimates) > 200:
            state.survey_estimates.clear()
        state.survey_estimates[survey.id] = known
    return known[1]


def _picture(outlook: SurveyOutlook) -> dict[str, Any]:
    """The curve of the error as points of a picture of 370 by 150."""
    curve = outlook.curve
    last = max(curve[-1][0], outlook.reports)
    top = max(max(one, two) for _, one, two in curve) or 1.0

    def points(place: int) -> str:
        return " ".join(
            f"{40 + 370 * line[0] / last:.1f},{160 - 150 * line[place] / top:.1f}" for line in curve
        )

    now = f"{40 + 370 * min(outlook.worth, last) / last:.1f}" if outlook.now else ""
    return {"top": top, "last": last, "one": points(1), "two": points(2), "now": now}


def _tasks(request: Request) -> dict[str, Task]:
    """The tables that are being made, or were, since the hub was started."""
    state = request.app.state
    if not hasattr(state, "survey_tables"):
        state.survey_tables = {}
    tasks: dict[str, Task] = state.survey_tables
    return tasks


# --------------------------------------------------------------------------- a person's page


@router.get("/s/{survey}")
def show_page(request: Request, hub: TheHub, survey: Id) -> Response:
    """The survey for a person; it sets no cookie and asks for none."""
    with hub.db.reading() as c:
        found = surveys.read_survey(c, survey)
    if found.state == "draft":
        raise NotFound("There is no such survey.")
    plan = found.plan()
    content = (
        environment()
        .get_template("survey.html")
        .render(
            survey=found,
            form=client_form(plan) | {"token_key": plan.token_key},
            contact=found.document["contact"],
            said="",
            problem="",
            csrf="",
            viewer=None,
        )
    )
    return HTMLResponse(content)


@router.get("/s/{survey}/plan")
def send_plan(hub: TheHub, survey: Id) -> Response:
    """The plan, which is public: who is asked what, and by which randomisers."""
    with hub.db.reading() as c:
        found = surveys.read_survey(c, survey)
    if found.state == "draft":
        raise NotFound("There is no such survey.")
    return JSONResponse(found.plan_document)


@router.post("/s/{survey}/token")
async def issue_token(request: Request, survey: Id) -> Response:
    """Answer a blinded request: one for each invitation."""
    hub = get_hub(request)
    try:
        document = json.loads(await request.body())
        code, asked = document["code"], document["request"]
        if not isinstance(code, str) or not isinstance(asked, str) or len(asked) > 200:
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        return JSONResponse({"problem": "This is no request for a token."}, 422)

    def issue() -> str:
        with hub.db.transaction() as c:
            return surveys.issue_token(c, survey, code, asked)

    try:
        response = await asyncio.to_thread(issue)
    except UnderstudyError as error:
        return JSONResponse({"problem": str(error)}, status_of(error))
    return JSONResponse({"response": response})


@router.post("/s/{survey}/reports")
async def take_reports(request: Request, survey: Id) -> Response:
    """Take reports, one in each line; answered once they are on disk.

    Nothing of the request is kept but the reports: no address, no time.
    """
    body = await request.body()
    if len(body) > MAX_REPORT_BYTES:
        return JSONResponse({"problem": "This is too much for reports; send fewer."}, 413)
    lines = [line for line in body.split(b"\n") if line.strip()]
    if not 1 <= len(lines) <= MAX_LINES:
        return JSONResponse({"problem": f"Send 1 to {MAX_LINES:,} reports, one in a line."}, 422)
    intake = _intake(request)
    try:
        check = intake.known_check(survey)
        if check is None:
            check = await asyncio.to_thread(intake.check_of, survey)
    except UnderstudyError as error:
        return JSONResponse({"problem": str(error)}, status_of(error))
    if len(lines) <= FEW_LINES:
        reports, refused = _read_reports(check, lines)
    else:  # tokens take their time, during which others are to be answered
        reports, refused = await asyncio.to_thread(_read_reports, check, lines)
    if not reports:
        return _refuse(refused)
    try:
        outcome = await asyncio.wrap_future(intake.put(survey, reports))
    except UnderstudyError as error:
        return JSONResponse({"problem": str(error)}, status_of(error))
    if not outcome.open:
        return JSONResponse({"problem": "This survey takes no answers now."}, 409)
    told = {
        "received": outcome.received,
        "repeated": outcome.repeated,
        "conflicting": outcome.conflicting,
        "refused": dict(refused),
    }
    if len(lines) == 1 and not outcome.received:
        return _explain_second(told, repeated=bool(outcome.repeated))
    return JSONResponse(told, 202)


def _read_reports(check: ReportCheck, lines: list[bytes]) -> tuple[list[Report], Counter[str]]:
    """The reports that can count, and why the others cannot."""
    reports: list[Report] = []
    refused: Counter[str] = Counter()
    for line in lines:
        try:
            reports.append(check.read(line))
        except Rejection as reason:
            refused[str(reason)] += 1
    return reports, refused


def _refuse(refused: Counter[str]) -> Response:
    """None of the reports can count: say why."""
    reason = next(iter(refused))
    words = REASONS.get(reason, reason)
    problem = f"The report does not count: it is {words}."
    if reason == "no token":
        problem = "The report does not count: it comes without a token that was given out."
    return JSONResponse({"problem": problem, "reason": reason, "refused": dict(refused)}, 422)


def _explain_second(told: dict[str, Any], *, repeated: bool) -> Response:
    """A token, or a report's number, counts once."""
    if repeated:
        problem = "This report was received already; it counts once."
        return JSONResponse({**told, "state": "repeated", "problem": problem}, 409)
    problem = "This token was used for another report; it counts once."
    return JSONResponse({**told, "state": "conflicting", "problem": problem}, 409)


def _intake(request: Request) -> SurveyIntake:
    """What writes the reports of this process."""
    state = request.app.state
    if not hasattr(state, "survey_intake"):
        state.survey_intake = SurveyIntake(get_hub(request).db)
    intake: SurveyIntake = state.survey_intake
    return intake
