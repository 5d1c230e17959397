"""Surveys: a questionnaire, its plan, invitations and their tokens, and the reports.

A person needs no account. What is kept of a report is its number, its question, its level and its
randomised answer: no time, no address, and no place in a sequence. Where a survey is for invited
persons, each invitation gets one token, blindly (RFC 9497): the hub knows that an invitation was
used, and cannot say which report came of it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from understudy.errors import InputError
from understudy.hub import survey_batches, trail
from understudy.hub.access import read_subject
from understudy.hub.database import Transaction
from understudy.hub.errors import Conflict, NotFound, Refused
from understudy.hub.pages import ListPage, PageOf, read_page
from understudy.hub.questionnaires import Questionnaire
from understudy.hub.tables import survey_invitations, survey_reports, surveys
from understudy.local.blind_tokens import TokenIssuer
from understudy.local.plans import CollectionPlan

MAX_INVITATIONS = 100_000
"""Of one survey, in one go."""

MAX_SURVEY_TEXT = 5_000
MAX_PERSONS = 100_000_000
CODE_BYTES = 16


@dataclass(frozen=True, kw_only=True)
class SurveySpec:
    """A survey as its maker describes it.

    Parameters
    ----------
    title, introduction
        For persons: what it is about, and why it is asked.
    questionnaire
        What is asked.
    epsilons
        The levels of privacy that a person may choose from, the usual one first.
    persons
        How many are expected.
    invited
        Whether a report counts only with a token of an invitation; otherwise whoever has the link
        may answer, and as often as they like.
    purpose, conditions, contact
        The metadata of use, which travels with the table that comes of it.
    """

    title: str
    introduction: str = ""
    questionnaire: Questionnaire
    epsilons: Sequence[float]
    persons: int
    invited: bool = True
    purpose: str = ""
    conditions: str = ""
    contact: str = ""


@dataclass(frozen=True, kw_only=True)
class Survey:
    """A survey, as it stands."""

    id: str
    maker: str
    dataset: str | None
    title: str
    state: str
    document: Mapping[str, Any] = field(repr=False)
    plan_document: Mapping[str, Any] = field(repr=False)
    created_at: dt.datetime
    opened_at: dt.datetime | None
    closed_at: dt.datetime | None

    @property
    def invited(self) -> bool:
        """Whether reports need a token."""
        return bool(self.document["invited"])

    @property
    def persons(self) -> int:
        """How many persons are expected."""
        return int(self.document["persons"])

    @property
    def introduction(self) -> str:
        """What persons read first."""
        return str(self.document["introduction"])

    @property
    def wave(self) -> int:
        """Which wave is asked, the first being 1."""
        return 1 + len(self.plan_document["earlier"])

    def plan(self) -> CollectionPlan:
        """Who is asked what."""
        return CollectionPlan.from_dict(self.plan_document)


# --------------------------------------------------------------------------- making


def make(c: Transaction, maker: str, spec: SurveySpec, key: str) -> Survey:
    """Make a survey, as a draft; the same key again is the same survey.

    Parameters
    ----------
    maker
        Whose it is.
    spec
        What it asks.
    key
        Of the form: two clicks make one survey.
    """
    if not read_subject(c, maker).active:
        raise Refused("Your account is not active yet; its approval is up to an administrator.")
    survey = _id_of(maker, key)
    if c.first(sa.select(surveys.c.id).where(surveys.c.id == survey)) is not None:
        return read_survey(c, survey)
    _check(spec)
    token_key = ""
    if spec.invited:
        token_key = _issuer_of(c, survey).public_key
    plan = spec.questionnaire.plan(spec.epsilons, spec.persons, spec.title.strip(), token_key)
    texts = ("introduction", "purpose", "conditions", "contact")
    document = {name: getattr(spec, name) for name in texts}
    c.execute(
        sa.insert(surveys).values(
            id=survey,
            maker=maker,
            title=spec.title.strip(),
            document={**document, "persons": spec.persons, "invited": spec.invited},
            plan=plan.to_dict(),
            state="draft",
            created_at=c.now,
        )
    )
    details = {"title": spec.title, "plan": plan.id, "epsilons": list(spec.epsilons)}
    trail.append(c, maker, "make survey", survey, details)
    return read_survey(c, survey)


def _id_of(maker: str, key: str) -> str:
    """The id that a form's key gives: as random as the key, and the same when it is sent again."""
    if len(key) < 8:
        raise InputError("The key of the form is too short; load the page again.")
    return hashlib.sha256(f"survey\0{maker}\0{key}".encode()).hexdigest()[:20]


def _check(spec: SurveySpec) -> None:
    if not spec.title.strip() or len(spec.title) > 200:
        raise InputError("A survey needs a title of at most 200 letters.")
    for name in ("introduction", "purpose", "conditions", "contact"):
        if len(getattr(spec, name)) > MAX_SURVEY_TEXT:
            raise InputError(f"The {name} has more than {MAX_SURVEY_TEXT:,} letters; shorten it.")
    if not 1 <= spec.persons <= MAX_PERSONS:
        raise InputError("Say how many persons you expect: a whole number above 0.")
    if any(not 0 < epsilon <= 20 for epsilon in spec.epsilons):
        raise InputError("A level of privacy is an epsilon above 0 and at most 20.")


def open_survey(c: Transaction, actor: str, survey: str) -> Survey:
    """Let persons answer; from now on what is asked is fixed."""
    found = _own(c, actor, survey)
    if found.state == "closed":
        raise Conflict("The survey is closed; make a new one.")
    if found.state == "draft":
        change = sa.update(surveys).where(surveys.c.id == survey)
        c.execute(change.values(state="open", opened_at=c.now))
        trail.append(c, actor, "open survey", survey, {"plan": found.plan().id})
    return read_survey(c, survey)


def close_survey(c: Transaction, actor: str, survey: str) -> Survey:
    """Take no more reports, unless another wave is opened."""
    found = _own(c, actor, survey)
    if found.state == "draft":
        raise Conflict("The survey was never open.")
    if found.state == "open":
        change = sa.update(surveys).where(surveys.c.id == survey)
        c.execute(change.values(state="closed", closed_at=c.now))
        survey_batches.show_rest(c, survey)
        details = {"plan": found.plan().id, "reports": count_reports(c, survey)}
        trail.append(c, actor, "close survey", survey, details)
    return read_survey(c, survey)


# --------------------------------------------------------------------------- reading


def read_survey(c: Transaction, survey: str) -> Survey:
    """A survey by its id."""
    row = c.first(sa.select(surveys).where(surveys.c.id == survey))
    if row is None:
        raise NotFound("There is no such survey.")
    return _read_row(row)


def show(c: Transaction, viewer: str, survey: str) -> Survey:
    """A survey for its maker, or for an administrator; for others there is none."""
    return _own(c, viewer, survey)


def show_public(c: Transaction, survey: str) -> Survey:
    """A survey for whoever has its link; of a draft there is nothing to see."""
    found = read_survey(c, survey)
    if found.state == "draft":
        raise NotFound("There is no such survey.")
    return found


def list_of(c: Transaction, viewer: str, page: PageOf | None = None) -> ListPage[Survey]:
    """The surveys of a maker, newest first; an administrator sees all."""
    query = sa.select(surveys).order_by(surveys.c.created_at.desc(), surveys.c.id)
    if not read_subject(c, viewer).is_admin:
        query = query.where(surveys.c.maker == viewer)
    return read_page(c, query, page or PageOf(), _read_row)


def count_reports(c: Transaction, survey: str) -> int:
    """How many reports there are."""
    query = sa.select(sa.func.count()).where(survey_reports.c.survey == survey)
    return int(c.value(query.select_from(survey_reports)))


def read_lines(c: Transaction, survey: Survey, at_a_time: int = 20_000) -> Iterator[bytes]:
    """The reports that are shown, as they travelled, in chunks of lines, in the order of their
    random numbers.
    """
    plan, last = survey.plan(), ""
    names = [plan.ids_by_wave[question.wave - 1] for question in plan.questions]
    columns = (
        survey_reports.c.number,
        survey_reports.c.question,
        survey_reports.c.level,
        survey_reports.c.answer,
    )
    query = sa.select(*columns).where(survey_reports.c.survey == survey.id, survey_reports.c.shown)
    while True:
        after = query.where(survey_reports.c.number > last).order_by(survey_reports.c.number)
        rows = c.execute(after.limit(at_a_time)).all()
        if not rows:
            return
        last = rows[-1][0]
        yield "\n".join(
            f'{{"v":1,"p":"{names[question]}","q":{question},"e":{level},"r":"{answer}",'
            f'"n":"{number}"}}'
            for number, question, level, answer in map(tuple, rows)
        ).encode()


def _own(c: Transaction, actor: str, survey: str) -> Survey:
    found = read_survey(c, survey)
    subject = read_subject(c, actor)
    if not subject.active or (found.maker != actor and not subject.is_admin):
        raise NotFound("There is no such survey.")
    return found


def _read_row(row: sa.RowMapping) -> Survey:
    return Survey(
        id=row["id"],
        maker=row["maker"],
        dataset=row["dataset"],
        title=row["title"],
        state=row["state"],
        document=row["document"],
        plan_document=row["plan"],
        created_at=row["created_at"],
        opened_at=row["opened_at"],
        closed_at=row["closed_at"],
    )


# --------------------------------------------------------------------------- invitations


def invite(c: Transaction, actor: str, survey: str, persons: int) -> list[str]:
    """Codes for as many persons; only their hashes are kept, so they are shown once.

    Parameters
    ----------
    actor, survey
        Whose survey.
    persons
        How many codes.
    """
    found = _own(c, actor, survey)
    if not found.invited:
        raise InputError("Whoever has the link may answer this survey; it has no invitations.")
    if found.state == "closed":
        raise Conflict("The survey is closed.")
    if not 1 <= persons <= MAX_INVITATIONS:
        raise InputError(f"The number of invitations must be from 1 to {MAX_INVITATIONS:,}.")
    codes = [secrets.token_urlsafe(CODE_BYTES) for _ in range(persons)]
    rows = [{"survey": survey, "hash": hash_code(code), "request": None} for code in codes]
    for start in range(0, len(rows), 10_000):
        c.execute(sa.insert(survey_invitations), rows[start : start + 10_000])
    trail.append(c, actor, "invite", survey, {"persons": persons})
    return codes


def count_invitations(c: Transaction, survey: str) -> tuple[int, int]:
    """How many persons were invited, and how many have got their token."""
    table = survey_invitations
    query = sa.select(sa.func.count(), sa.func.count(table.c.request))
    invited, used = tuple(c.execute(query.where(table.c.survey == survey)).one())
    return int(invited), int(used)


def issue_token(c: Transaction, survey: str, code: str, request: str) -> str:
    """Answer a blinded request for a token: one for each invitation.

    The same request again, which a lost answer makes necessary, gets the same answer; another one
    of the same invitation is refused, in whichever tab it was made.

    Parameters
    ----------
    survey, code
        The invitation, as it stands in its link.
    request
        What the person's page has made; it tells nothing about the token.
    """
    found = read_survey(c, survey)
    if found.state != "open":
        raise Conflict("This survey takes no answers now.")
    place = (survey_invitations.c.survey == survey) & (survey_invitations.c.hash == hash_code(code))
    row = c.first(sa.select(survey_invitations).where(place))
    if row is None:
        raise Refused("This invitation is not one of this survey's; copy the whole link again.")
    response = _issuer_of(c, survey).issue(request)
    asked = hashlib.sha256(request.strip().encode()).hexdigest()
    if row["request"] is None:
        c.execute(sa.update(survey_invitations).where(place).values(request=asked))
    elif not hmac.compare_digest(row["request"], asked):
        raise Conflict("This invitation was used already; it counts once.")
    return response


def issuer_of(c: Transaction, survey: Survey) -> TokenIssuer | None:
    """Who knows the tokens of a survey again; None where it has none."""
    if not survey.invited:
        return None
    return _issuer_of(c, survey.id)


def _issuer_of(c: Transaction, survey: str) -> TokenIssuer:
    """The issuer of a survey. Its key follows from the hub's secret and stands nowhere: a copy of
    the database makes no token.
    """
    message = f"understudy survey issuer\0{survey}".encode()
    return TokenIssuer(hmac.new(c.trail_key, message, hashlib.sha256).digest())


def hash_code(code: str) -> str:
    """What is kept of an invitation's code."""
    return hashlib.sha256(f"understudy invitation\0{code}".encode("utf-8", "replace")).hexdigest()
