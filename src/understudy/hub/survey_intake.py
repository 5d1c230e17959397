"""Taking reports in: checked one by one, written many at a time.

A report is answered for once it is on disk. So that a disk which takes milliseconds for each write
does not set the pace, whatever has arrived while one write was going on is written by the next, in
one transaction.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from understudy.hub import surveys as survey_service
from understudy.hub.database import Database, Transaction
from understudy.hub.tables import survey_reports, surveys
from understudy.local.checking import ReportCheck
from understudy.local.reports import Report, write_answer

MAX_AT_A_TIME = 20_000
"""Reports of one transaction."""

ROWS_OF_A_STATEMENT = 5_000
MAX_CHECKS = 200
"""Surveys whose plans are kept in memory."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of some reports.

    Attributes
    ----------
    received
        Those that are on disk now.
    repeated
        Those whose number is there already, with the same content: they tell nothing more.
    conflicting
        Those whose number is there already with another content: not kept.
    open
        Whether the survey takes reports.
    """

    received: int = 0
    repeated: int = 0
    conflicting: int = 0
    open: bool = True


@dataclass(kw_only=True)
class _Waiting:
    survey: str
    reports: Sequence[Report]
    outcome: Future[Outcome] = field(default_factory=Future)


class SurveyIntake:
    """Takes reports of all surveys of a hub, in one process.

    Parameters
    ----------
    db
        The hub's database.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: list[_Waiting] = []
        self._changed = threading.Condition()
        self._checks: dict[str, ReportCheck] = {}
        self._thread: threading.Thread | None = None

    def find_check(self, survey: str) -> ReportCheck | None:
        """What checks the reports of a survey, if its plan was read already."""
        return self._checks.get(survey)

    def check_of(self, survey: str) -> ReportCheck:
        """What checks the reports of a survey; its plan is read once."""
        known = self._checks.get(survey)
        if known is not None:
            return known
        with self._db.reading() as c:
            found = survey_service.read_survey(c, survey)
            made = ReportCheck(found.plan(), survey_service.issuer_of(c, found))
        if found.state != "draft":
            while len(self._checks) >= MAX_CHECKS:
                self._checks.pop(next(iter(self._checks)), None)
            self._checks[survey] = made
        return made

    def check_again(self, survey: str) -> ReportCheck:
        """The same, with the plan read again: another process may have opened a wave."""
        with self._db.reading() as c:
            now = survey_service.read_survey(c, survey)
        known = self._checks.get(survey)
        if known is not None and list(known.plan.earlier) == now.plan_document["earlier"]:
            return known
        self._checks.pop(survey, None)
        return self.check_of(survey)

    def put(self, survey: str, reports: Sequence[Report]) -> Future[Outcome]:
        """Let checked reports be written; the future has its result once they are on disk."""
        waiting = _Waiting(survey=survey, reports=reports)
        with self._changed:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            self._waiting.append(waiting)
            self._changed.notify()
        return waiting.outcome

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                batch = self._take()
            try:
                with self._db.transaction(alone=False) as c:
                    outcomes = write_batch(c, [(one.survey, one.reports) for one in batch])
            except Exception as error:
                for one in batch:
                    one.outcome.set_exception(error)
            else:
                for one, outcome in zip(batch, outcomes, strict=True):
                    one.outcome.set_result(outcome)

    def _take(self) -> list[_Waiting]:
        taken, reports = [], 0
        while self._waiting and reports < MAX_AT_A_TIME:
            taken.append(self._waiting.pop(0))
            reports += len(taken[-1].reports)
        return taken


def write_batch(c: Transaction, batch: Sequence[tuple[str, Sequence[Report]]]) -> list[Outcome]:
    """Write the reports of several submissions, each to a survey that is open.

    A number counts once, also within the batch: the first report with it is kept.
    """
    names = {survey for survey, _ in batch}
    # With a shared lock on PostgreSQL, a survey is not closed between this look and the commit.
    look = sa.select(surveys.c.id).where(surveys.c.id.in_(names), surveys.c.state == "open")
    is_open = {row[0] for row in c.execute(look.with_for_update(read=True)).all()}
    new: dict[tuple[str, str], Report] = {}
    for survey, reports in batch:
        if survey in is_open:
            for report in reports:
                new.setdefault((survey, report.number), report)
    written = _insert(c, new)
    kept = _read_kept(c, [place for place in new if place not in written])
    outcomes = []
    first = set(written)
    for survey, reports in batch:
        counts = {"received": 0, "repeated": 0, "conflicting": 0}
        for report in reports if survey in is_open else ():
            place = (survey, report.number)
            if place in first and new[place] is report:
                first.discard(place)
                counts["received"] += 1
                continue
            there = kept.get(place) or _content(new[place])
            counts["repeated" if there == _content(report) else "conflicting"] += 1
        outcomes.append(Outcome(**counts, open=survey in is_open))
    return outcomes


def _content(report: Report) -> tuple[int, int, str]:
    return report.question, report.level, write_answer(report.answer)


def _insert(c: Transaction, new: Mapping[tuple[str, str], Report]) -> set[tuple[str, str]]:
    """Insert what is not there; the places of what was inserted."""
    rows = []
    for (survey, number), report in new.items():
        question, level, answer = _content(report)
        rows.append(
            {
                "survey": survey,
                "number": number,
                "question": question,
                "level": level,
                "answer": answer,
            }
        )
    insert = postgresql.insert if c.connection.dialect.name == "postgresql" else sqlite.insert
    written: set[tuple[str, str]] = set()
    for start in range(0, len(rows), ROWS_OF_A_STATEMENT):
        statement = insert(survey_reports).on_conflict_do_nothing()
        made = statement.returning(survey_reports.c.survey, survey_reports.c.number)
        result = c.connection.execute(made, rows[start : start + ROWS_OF_A_STATEMENT])
        written |= {(row[0], row[1]) for row in result.all()}
    return written


def _read_kept(
    c: Transaction, places: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], tuple[int, int, str]]:
    """What stands under some numbers already."""
    kept = {}
    for survey, number in places:
        mine = (survey_reports.c.survey == survey) & (survey_reports.c.number == number)
        row = c.first(sa.select(survey_reports).where(mine))
        if row is not None:
            kept[survey, number] = (row["question"], row["level"], row["answer"])
    return kept
