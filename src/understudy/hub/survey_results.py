"""What a survey tells: the error to expect, estimates with their error bars, a synthetic table.

All of it is made of reports that persons randomised themselves, so that nothing here costs anything
and nothing needs to be kept from the maker.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from understudy.data.files import write_json
from understudy.data.marginals import marginal
from understudy.errors import InputError
from understudy.hub import datasets, releases, trail
from understudy.hub import surveys as survey_service
from understudy.hub.amounts import Price
from understudy.hub.database import Database, Transaction
from understudy.hub.datasets import DatasetSpec
from understudy.hub.errors import Conflict
from understudy.hub.records import Release, ReleaseFile
from understudy.hub.releases import ReleaseSpec
from understudy.hub.surveys import Survey
from understudy.hub.tables import surveys
from understudy.hub.vault import Vault
from understudy.local.collected import Collected, even_variance
from understudy.local.collecting import Collector
from understudy.local.curator import LocalCurator
from understudy.local.planning import expect_errors
from understudy.local.plans import Plan
from understudy.local.release import local_epsilon, open_local_ledger, synthesize_reports
from understudy.models.model import Model
from understudy.privacy.budget import Budget
from understudy.release.callbacks import Progress, no_progress
from understudy.reports.release import write_report

MEDIA_TYPES = {
    "model.json": "application/json",
    "synthetic.csv": "text/csv; charset=utf-8",
    "report.html": "text/html; charset=utf-8",
    "ledger.json": "application/json",
    "tables.json": "application/json",
}
CURVE = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Parts of the expected number of persons at which the error to expect is drawn."""


@dataclass(frozen=True, kw_only=True)
class SurveyOutlook:
    """The error to expect: before anybody is asked, and as reports come in.

    Attributes
    ----------
    reports
        How many there are.
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
    worth: float
    planned: tuple[float, float]
    now: tuple[float, float] | None
    curve: tuple[tuple[int, float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Share:
    """The estimated share of persons with one answer."""

    label: str
    share: float
    deviation: float


@dataclass(frozen=True, kw_only=True)
class ItemEstimate:
    """The estimate of one item."""

    name: str
    wording: str
    shares: tuple[Share, ...]


def foresee(plan: Plan, persons: int, cells: Mapping[tuple[int, int], int]) -> SurveyOutlook:
    """The error to expect with as many persons as planned, and with the reports so far.

    Parameters
    ----------
    plan
        Who is asked what.
    persons
        How many are expected.
    cells
        How many reports there are to each question at each level.
    """
    reports = sum(cells.values())
    worth = _weigh(plan, cells)
    planned = expect_errors(plan, persons)
    now = None
    if worth >= 1:
        expected = expect_errors(plan, max(1, round(worth)))
        now = (expected.one_way, expected.two_way)
    curve = []
    for part in CURVE:
        number = max(1, round(part * persons))
        expected = expect_errors(plan, number)
        curve.append((number, expected.one_way, expected.two_way))
    return SurveyOutlook(
        reports=reports,
        worth=worth,
        planned=(planned.one_way, planned.two_way),
        now=now,
        curve=tuple(curve),
    )


def _weigh(plan: Plan, cells: Mapping[tuple[int, int], int]) -> float:
    """To how many reports at the usual level the reports are worth, by their variances."""
    known: dict[Any, float] = {}

    def variance(randomiser: Any) -> float:
        if randomiser not in known:
            known[randomiser] = even_variance(randomiser, 1)
        return known[randomiser]

    worth = 0.0
    for (question, level), reports in cells.items():
        randomisers = plan.questions[question].randomisers
        worth += reports * variance(randomisers[0]) / variance(randomisers[level])
    return worth


def collect(c: Transaction, survey: Survey) -> Collected:
    """Add up the reports of a survey; their tokens were checked when they arrived."""
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
            Share(label=item.label(code), share=float(share), deviation=float(deviation))
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


# --------------------------------------------------------------------------- the synthetic table


def publish_table(
    db: Database, vault: Vault, actor: str, survey: str, progress: Progress = no_progress
) -> Release:
    """Make a synthetic table of a closed survey, and put it into the catalogue; once.

    Parameters
    ----------
    db, vault
        The hub's.
    actor
        Its maker.
    survey
        Which one.
    progress
        Called while learning.
    """
    with db.reading() as c:
        found = survey_service.show(c, actor, survey)
        if found.state != "closed":
            raise Conflict("Close the survey first: the table is of all its reports.")
        if published := read_published(c, actor, found):
            return published
        collected = collect(c, found)
    if not collected.reports:
        raise InputError("Nobody has answered; there is nothing to make a table of.")
    model = synthesize_reports(collected, progress=progress)
    with db.transaction() as c:
        dataset = _register(c, actor, found, model)
    # Files go into the vault of a data set that exists, outside of any transaction.
    with tempfile.TemporaryDirectory(prefix="understudy-") as folder:
        files = _store_files(vault, dataset, Path(folder), found, collected, model)
    epsilon, delta = model.ledger.promise()
    spec = ReleaseSpec(
        title=f"{found.title}: synthetic table from {collected.reports:,} reports"[:200],
        files=files,
        ledger=model.ledger.to_dict(),
        summary={
            "rows": collected.reports,
            "method": model.method["name"],
            "statement": model.ledger.statement(),
            "survey": survey,
        },
    )
    with db.transaction() as c:
        now = survey_service.show(c, actor, survey)
        if published := read_published(c, actor, now):  # another click was faster
            return published
        return releases.publish(c, actor, dataset, Price.of(epsilon, delta), spec)


def _register(c: Transaction, actor: str, survey: Survey, model: Model) -> str:
    """The data set that stands for the survey in the catalogue; it has no rows and no budget."""
    now = survey_service.show(c, actor, survey.id)
    if now.dataset is not None:  # another click was faster
        return now.dataset
    document = survey.document
    dataset = datasets.register(
        c,
        survey.maker,
        DatasetSpec(
            name=survey.title[:100],
            description=survey.introduction,
            schema=survey.plan().schema.to_dict(),
            purpose=document["purpose"],
            conditions=document["conditions"],
            contact=document["contact"],
            epsilon=0.0,
            mode="survey",
            neighbours="replace",
        ),
    )
    change = sa.update(surveys).where(surveys.c.id == survey.id)
    c.execute(change.values(dataset=dataset.id))
    trail.append(c, actor, "publish survey", survey.id, {"dataset": dataset.id})
    return dataset.id


def _store_files(
    vault: Vault, dataset: str, folder: Path, survey: Survey, collected: Collected, model: Model
) -> list[ReleaseFile]:
    model.save(folder / "model.json")
    model.write(folder / "synthetic.csv", collected.reports)
    contact = str(survey.document["contact"])
    write_report(model, folder / "report.html", title=survey.title, contact=contact)
    write_json(folder / "ledger.json", model.ledger.to_dict(), "ledger")
    collected.save(folder / "tables.json")
    files = []
    for name, kind in MEDIA_TYPES.items():
        with (folder / name).open("rb") as content:
            stored = vault.put(dataset, "release", content)
        files.append(
            ReleaseFile(
                name=name,
                media_type=kind,
                size=stored.size,
                sha256=stored.sha256,
                object=stored.id,
            )
        )
    return files


def read_published(c: Transaction, viewer: str, survey: Survey) -> Release | None:
    """The release of a survey's table, if there is one."""
    if survey.dataset is None:
        return None
    found = releases.list_of(c, viewer, survey.dataset).items
    return found[0] if found else None
