"""What a survey tells: the error to expect, and estimates with their error bars.

All of it is made of reports that persons randomised themselves, so that nothing here costs
anything; which of them are told of already is up to :mod:`understudy.hub.survey_batches`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.data.marginals import marginal
from understudy.hub import surveys as survey_service
from understudy.hub.database import Transaction
from understudy.hub.survey_batches import ReportCells
from understudy.hub.surveys import Survey
from understudy.local.collected import Collected, even_variance
from understudy.local.collecting import Collector
from understudy.local.curator import LocalCurator
from understudy.local.planning import expect_errors
from understudy.local.plans import CollectionPlan
from understudy.local.release import local_epsilon, open_local_ledger
from understudy.privacy.budget import Budget

CURVE = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Parts of the expected number of persons at which the error to expect is drawn."""


@dataclass(frozen=True, kw_only=True)
class SurveyOutlook:
    """The error to expect: before anybody is asked, and as reports come in.

    Attributes
    ----------
    reports
        How many there are of this wave.
    earlier
        How many there are of earlier waves.
    worth
        To how many reports at the usual level they are worth: those at a more private level tell
        less.
    planned
        The expected error of tables of one and of two columns with as many persons as expected.
    now
        The same with the reports so far; None without any.
    curve
        The number of reports and both errors, for a picture.
    """

    reports: int
    earlier: int
    worth: float
    planned: tuple[float, float]
    now: tuple[float, float] | None
    curve: tuple[tuple[int, float, float], ...]


@dataclass(frozen=True, kw_only=True)
class AnswerShare:
    """The estimated share of persons with one answer."""

    label: str
    share: float
    deviation: float


@dataclass(frozen=True, kw_only=True)
class ItemEstimate:
    """The estimate of one item."""

    name: str
    wording: str
    shares: tuple[AnswerShare, ...]


def foresee(plan: CollectionPlan, persons: int, cells: ReportCells) -> SurveyOutlook:
    """The error to expect with as many persons as planned, and with the reports so far.

    Parameters
    ----------
    plan
        Who is asked what.
    persons
        How many are expected in this wave.
    cells
        How many reports there are to each question at each level.
    """
    worth = _weigh(plan, cells)
    waves = [question.wave for question in plan.questions]
    known = {place: value for place, value in worth.items() if waves[place] < plan.wave}
    worth_now = sum(worth.values()) - sum(known.values())

    def expect(number: float) -> tuple[float, float]:
        found = expect_errors(plan, max(1, round(number)), known)
        return found.one_way, found.two_way

    now = None
    if worth_now >= 1:
        now = expect(worth_now)
    reports = sum(n for (question, _), n in cells.items() if waves[question] == plan.wave)
    numbers = [max(1, round(part * persons)) for part in CURVE]
    return SurveyOutlook(
        reports=reports,
        earlier=sum(cells.values()) - reports,
        worth=worth_now,
        planned=expect(persons),
        now=now,
        curve=tuple((number, *expect(number)) for number in numbers),
    )


def _weigh(plan: CollectionPlan, cells: ReportCells) -> dict[int, float]:
    """To how many reports at the usual level those to each question are worth, by variance."""
    known: dict[Any, float] = {}

    def variance(randomiser: Any) -> float:
        if randomiser not in known:
            known[randomiser] = even_variance(randomiser, 1)
        return known[randomiser]

    worth: dict[int, float] = {}
    for (question, level), reports in cells.items():
        randomisers = plan.questions[question].randomisers
        ratio = variance(randomisers[0]) / variance(randomisers[level])
        worth[question] = worth.get(question, 0.0) + reports * ratio
    return worth


def collect(c: Transaction, survey: Survey) -> Collected:
    """Add up the reports that are shown; their tokens were checked when they arrived."""
    with Collector(survey.plan(), checked=True) as collector:
        for chunk in survey_service.read_lines(c, survey):
            collector.add_lines(chunk)
        return collector.finish()


def estimate_items(collected: Collected) -> tuple[ItemEstimate, ...]:
    """The share of persons with each answer to each item, from all reports together."""
    if not collected.reports:
        return ()
    ledger = open_local_ledger(collected)
    curator = LocalCurator(collected, ledger)
    plan = collected.plan
    items = [one for one in plan.schema.modelled if one.size > 1]
    asked = [marginal(item.name) for item in items]
    found = curator.measure(asked, Budget(local_epsilon(collected)))
    estimates = []
    for item, measured in zip(items, found, strict=True):
        counts = np.asarray(measured.counts, dtype=np.float64).ravel() / collected.reports
        assert measured.deviations is not None
        deviations = np.asarray(measured.deviations).ravel() / collected.reports
        shares = tuple(
            AnswerShare(label=item.label(code), share=float(share), deviation=float(deviation))
            for code, (share, deviation) in enumerate(zip(counts, deviations, strict=True))
        )
        wording = plan.wording.get(item.name, "")
        estimates.append(ItemEstimate(name=item.name, wording=wording, shares=shares))
    return tuple(estimates)


def write_estimates(collected: Collected, items: Iterable[ItemEstimate]) -> dict[str, Any]:
    """The estimates as a document for programs."""
    plan = collected.plan
    return {
        "plan": plan.id,
        "title": plan.title,
        "reports": collected.reports,
        "levels": [
            {"epsilon": epsilon, "reports": reports}
            for epsilon, reports in zip(plan.epsilons, collected.reports_by_level(), strict=True)
        ],
        "items": [
            {
                "name": item.name,
                "wording": item.wording,
                "answers": [
                    {
                        "label": one.label,
                        "share": one.share,
                        "standard_deviation": one.deviation,
                    }
                    for one in item.shares
                ],
            }
            for item in items
        ],
        "questions": [
            {
                "columns": list(found.question.columns),
                "parity": found.question.odd is not None,
                "reports": found.reports,
                "shares": found.shares.tolist(),
                "standard_deviations": found.deviations.tolist(),
            }
            for found in map(collected.estimate, range(len(plan.questions)))
            if found is not None
        ],
    }
