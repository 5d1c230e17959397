"""What a person reaches without an account: the survey's page, its plan, a token, and where reports
go. Nothing of a request is kept but the reports: no address, no time.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from understudy.errors import InputError, UnderstudyError
from understudy.hub import surveys
from understudy.hub.errors import Conflict
from understudy.hub.survey_intake import Outcome, SurveyIntake
from understudy.hub.web.documents import Id
from understudy.hub.web.problems import status_of
from understudy.hub.web.rendering import environment
from understudy.hub.web.state import Site
from understudy.hub.web.viewer import TheHub, get_hub
from understudy.local.checking import ReportCheck
from understudy.local.forms import client_form
from understudy.local.reports import REASONS, Rejection, Report

router = APIRouter()

MAX_REPORT_BYTES = 1 << 20
MAX_REPORTS_AT_ONCE = 2_000
"""Reports that may come in one go; a person's page sends one."""

FEW_LINES = 8
"""Reports that are checked at once, without a thread."""

OTHER_PLAN = "other plan"


class ReportRefused(InputError):  # noqa: N818 - what happened
    """None of the reports can count.

    Parameters
    ----------
    problem
        The sentence for the person.
    refused
        How many were refused, by reason.
    """

    def __init__(self, problem: str, refused: Counter[str]) -> None:
        super().__init__(problem)
        self.refused = refused


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What became of reports that were sent together."""

    lines: int
    outcome: Outcome
    refused: Counter[str]

    def to_dict(self) -> dict[str, Any]:
        """For whoever sent them."""
        return {
            "received": self.outcome.received,
            "repeated": self.outcome.repeated,
            "conflicting": self.outcome.conflicting,
            "refused": dict(self.refused),
        }


@router.get("/s/{survey}")
def show_page(hub: TheHub, survey: Id) -> Response:
    """The survey for a person; it sets no cookie and asks for none."""
    with hub.db.reading() as c:
        found = surveys.show_public(c, survey)
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
        return JSONResponse(surveys.show_public(c, survey).plan_document)


@router.post("/s/{survey}/token")
async def send_token(request: Request, survey: Id) -> Response:
    """Answer a blinded request: one for each invitation."""
    try:
        document = json.loads(await request.body())
        code, asked = document["code"], document["request"]
        if not isinstance(code, str) or not isinstance(asked, str) or len(asked) > 200:
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        return JSONResponse({"problem": "This is no request for a token."}, 422)
    try:
        response = await asyncio.to_thread(issue_token, get_hub(request), survey, code, asked)
    except UnderstudyError as error:
        return JSONResponse({"problem": str(error)}, status_of(error))
    return JSONResponse({"response": response})


def issue_token(hub: Site, survey: str, code: str, asked: str) -> str:
    """The blinded answer to a blinded request."""
    with hub.db.transaction() as c:
        return surveys.issue_token(c, survey, code, asked)


@router.post("/s/{survey}/reports")
async def take_reports(request: Request, survey: Id) -> Response:
    """Take reports, one in each line; answered once they are on disk."""
    body = await request.body()
    if len(body) > MAX_REPORT_BYTES:
        return JSONResponse({"problem": "This is too much for reports; send fewer."}, 413)
    try:
        receipt = await receive(request, survey, body)
    except ReportRefused as error:
        reason = next(iter(error.refused))
        told = {"problem": str(error), "reason": reason, "refused": dict(error.refused)}
        return JSONResponse(told, 422)
    except UnderstudyError as error:
        return JSONResponse({"problem": str(error)}, status_of(error))
    if receipt.lines == 1 and not receipt.outcome.received:
        return _explain_second(receipt)
    return JSONResponse(receipt.to_dict(), 202)


async def receive(request: Request, survey: str, body: bytes) -> Receipt:
    """Check reports, one in each line, and write those that can count."""
    lines = [line for line in body.split(b"\n") if line.strip()]
    if not 1 <= len(lines) <= MAX_REPORTS_AT_ONCE:
        raise InputError(f"Send 1 to {MAX_REPORTS_AT_ONCE:,} reports, one in a line.")
    intake = _intake(request)
    check = intake.find_check(survey)
    if check is None:
        check = await asyncio.to_thread(intake.check_of, survey)
    reports, refused = await _check_lines(check, lines)
    if OTHER_PLAN in refused:  # perhaps of a wave that was opened since the plan was read
        check = await asyncio.to_thread(intake.check_again, survey)
        reports, refused = await _check_lines(check, lines)
    if not reports:
        raise ReportRefused(_explain_refusal(refused), refused)
    outcome = await asyncio.wrap_future(intake.put(survey, reports))
    if not outcome.open:
        raise Conflict("This survey takes no answers now.")
    return Receipt(lines=len(lines), outcome=outcome, refused=refused)


async def _check_lines(check: ReportCheck, lines: list[bytes]) -> tuple[list[Report], Counter[str]]:
    if len(lines) <= FEW_LINES:
        return _read_reports(check, lines)
    # Tokens take their time, during which others are to be answered.
    return await asyncio.to_thread(_read_reports, check, lines)


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


def _explain_refusal(refused: Counter[str]) -> str:
    """Why none of the reports can count."""
    reason = next(iter(refused))
    if reason == "no token":
        return "The report does not count: it comes without a token that was given out."
    return f"The report does not count: it is {REASONS.get(reason, reason)}."


def _explain_second(receipt: Receipt) -> Response:
    """A token, or a report's number, counts once."""
    told = receipt.to_dict()
    if receipt.outcome.repeated:
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
