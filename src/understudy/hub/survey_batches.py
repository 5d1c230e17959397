"""How much of a survey's reports its maker sees: whole batches, never one report by itself.

Who knows when somebody answered, and sees the counts of each level before and after, knows which
level of privacy that person chose. So counts, estimates and tables are made of the reports that are
*shown*, and the rule by which reports are shown is public: at least ``BATCH`` of them at a time,
with at least ``BATCH`` left behind while the survey is open, so that closing it shows a whole batch
as well. Which ones are left behind depends on their random numbers, not on when they came. Where
fewer than ``BATCH`` are left at the end, they are not shown, and count for nothing.

What remains: a batch whose persons all chose the same level tells that level of each of them, and
a maker who sends reports of her own can make others' share of a batch as small as she likes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from understudy.hub.database import Database, Transaction
from understudy.hub.tables import survey_reports

MIN_BATCH = 25
"""Reports that are shown together, at least."""

ReportCells = Mapping[tuple[int, int], int]


@dataclass(frozen=True, kw_only=True)
class ReportCounts:
    """How many reports are shown to each question at each level, and how many are not."""

    cells: ReportCells
    waiting: int

    @property
    def shown(self) -> int:
        """How many reports are shown."""
        return sum(self.cells.values())

    def by_level(self) -> Counter[int]:
        """How many reports are shown at each level."""
        counts: Counter[int] = Counter()
        for (_, level), reports in self.cells.items():
            counts[level] += reports
        return counts


def count_batches(c: Transaction, survey: str) -> ReportCounts:
    """The reports of a survey by question and level, as far as they are shown."""
    places = survey_reports.c.question, survey_reports.c.level, survey_reports.c.shown
    query = (
        sa.select(*places, sa.func.count().label("reports"))
        .where(survey_reports.c.survey == survey)
        .group_by(*places)
    )
    cells, waiting = {}, 0
    for row in c.rows(query):
        if row["shown"]:
            cells[row["question"], row["level"]] = int(row["reports"])
        else:
            waiting += int(row["reports"])
    return ReportCounts(cells=cells, waiting=waiting)


def show_batches(db: Database, survey: str) -> ReportCounts:
    """Show what may be shown by now, and count it."""
    with db.reading() as c:
        counts = count_batches(c, survey)
    if counts.waiting < 2 * MIN_BATCH:
        return counts
    with db.transaction() as c:
        waiting = count_batches(c, survey).waiting
        if waiting >= 2 * MIN_BATCH:
            _show(c, survey, waiting - MIN_BATCH)
        return count_batches(c, survey)


def show_rest(c: Transaction, survey: str) -> None:
    """Show all that is left of a survey that takes no more reports, if that is a batch."""
    waiting = count_batches(c, survey).waiting
    if waiting >= MIN_BATCH:
        _show(c, survey, waiting)


def _show(c: Transaction, survey: str, reports: int) -> None:
    """Show that many more reports, by the order of their random numbers."""
    waiting = (survey_reports.c.survey == survey) & ~survey_reports.c.shown
    last = c.value(
        sa.select(survey_reports.c.number)
        .where(waiting)
        .order_by(survey_reports.c.number)
        .limit(1)
        .offset(reports - 1)
    )
    chosen = waiting & (survey_reports.c.number <= last)
    c.execute(sa.update(survey_reports).where(chosen).values(shown=True))
