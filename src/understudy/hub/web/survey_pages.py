"""The pages of surveys for those who make them."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from understudy.errors import InputError, UnderstudyError
from understudy.hub import survey_tables, surveys
from understudy.hub.database import Transaction
from understudy.hub.pages import PageOf
from understudy.hub.questionnaires import read_questionnaire
from understudy.hub.survey_batches import MIN_BATCH, count_batches, show_batches
from understudy.hub.survey_results import (
    SurveyOutlook,
    collect,
    estimate_items,
    foresee,
    write_estimates,
)
from understudy.hub.survey_waves import open_next_wave
from understudy.hub.surveys import Survey, SurveySpec
from understudy.hub.web.documents import Id
from understudy.hub.web.forms import SentForm, WebForm
from understudy.hub.web.problems import status_of
from understudy.hub.web.rendering import go_to, render
from understudy.hub.web.state import Site
from understudy.hub.web.viewer import TheHub, Viewer
from understudy.local.planning import expect_errors

router = APIRouter()

SURVEY_DEFAULTS = {
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
        entries = [(one, count_batches(c, one.id).shown) for one in found.items]
    return render(request, "surveys.html", title="Surveys", page=found, entries=entries)


@router.get("/surveys/new")
def show_new(request: Request, viewer: Viewer) -> Response:
    """The form of a new survey, with the error to expect of what stands in it."""
    typed = SURVEY_DEFAULTS | {
        name: request.query_params.get(name, SURVEY_DEFAULTS[name]) for name in SURVEY_DEFAULTS
    }
    return _show_new(request, typed)


@router.post("/surveys/new")
def make_survey(request: Request, hub: TheHub, viewer: Viewer, form: SentForm) -> Response:
    """Make a draft."""
    try:
        spec = _read_spec(form)
        with hub.db.transaction() as c:
            made = surveys.make(c, viewer.id, spec, form.key)
    except UnderstudyError as error:
        return _show_new(
            request, SURVEY_DEFAULTS | form.list_typed(), status_of(error), problem=str(error)
        )
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


@router.post("/surveys/{survey}/wave")
def open_wave(
    request: Request, hub: TheHub, viewer: Viewer, survey: Id, form: SentForm
) -> Response:
    """Ask other persons what the reports so far leave most open."""
    persons = form.whole("persons", "The number of persons")
    open_next_wave(hub.db, viewer.id, survey, persons)
    return go_to(f"/surveys/{survey}")


@router.post("/surveys/{survey}/table")
def make_table(
    request: Request, hub: TheHub, viewer: Viewer, survey: Id, form: SentForm
) -> Response:
    """Let a worker make a synthetic table of all reports."""
    with hub.db.transaction() as c:
        survey_tables.ask_for_table(c, viewer.id, survey)
    return go_to(f"/surveys/{survey}")


@router.get("/surveys/{survey}/estimates")
def send_estimates(hub: TheHub, viewer: Viewer, survey: Id) -> Response:
    """All estimates as JSON."""
    document = find_estimates(hub, viewer.id, survey)
    headers = {"content-disposition": f'attachment; filename="estimates-{survey}.json"'}
    return JSONResponse(document, headers=headers)


def _show_new(
    request: Request, typed: dict[str, str], status: int = 200, **values: Any
) -> Response:
    expected, questions, trouble = None, 0, ""
    if typed["items"].strip():
        try:
            form = WebForm({name: [value] for name, value in typed.items()}, {})
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


def _read_spec(form: WebForm, title: str = "") -> SurveySpec:
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


def find_estimates(hub: Site, viewer: str, survey: str) -> dict[str, Any]:
    """The estimates from the reports that are shown, as a document."""
    with hub.db.reading() as c:
        surveys.show(c, viewer, survey)
    show_batches(hub.db, survey)
    with hub.db.reading() as c:
        collected = collect(c, surveys.show(c, viewer, survey))
    return write_estimates(collected, estimate_items(collected))


def _show_made(
    request: Request, hub: Site, viewer: Any, survey: str, codes: list[str] | None = None
) -> Response:
    with hub.db.reading() as c:
        surveys.show(c, viewer.id, survey)
    counts = show_batches(hub.db, survey)
    with hub.db.reading() as c:
        found = surveys.show(c, viewer.id, survey)
        invitations = surveys.count_invitations(c, survey)
        job = survey_tables.read_table_job(c, found)
        published = survey_tables.read_table(c, found)
        plan = found.plan()
        outlook = foresee(plan, found.persons, counts.cells)
        items, problem = (), ""
        if request.headers.get("x-live", "estimates") == "estimates":  # other parts show none
            try:
                items = _estimates(request, c, found, counts.shown)
            except InputError as error:  # a package is missing: the rest of the page goes on
                problem = str(error)
    by_level = counts.by_level()
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
        batch=MIN_BATCH,
        left_out=counts.waiting if found.state == "closed" else 0,
        items=items,
        invitations=invitations,
        link=f"{hub.address}/s/{survey}",
        codes=codes or [],
        release=published,
        job=job,
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
