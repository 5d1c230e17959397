"""The synthetic table of a survey: asked for by its maker, made by a worker as any job is.

It costs nothing, since each person has paid; so the maker's wish is the approval. A job that ended
without a table can be asked for again.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import sqlalchemy as sa

from understudy.data.files import write_json
from understudy.errors import InputError
from understudy.hub import datasets, jobs, releases, requests, survey_batches, trail
from understudy.hub import surveys as survey_service
from understudy.hub.amounts import Price
from understudy.hub.database import Transaction
from understudy.hub.datasets import DatasetSpec
from understudy.hub.errors import Conflict
from understudy.hub.names import ENDED
from understudy.hub.opening import Hub
from understudy.hub.records import Job, ReleaseFile, ReleaseRecord, read_priced_row
from understudy.hub.releases import ReleaseSpec
from understudy.hub.survey_results import collect
from understudy.hub.surveys import Survey
from understudy.hub.tables import jobs as job_table
from understudy.hub.tables import surveys
from understudy.hub.vault import Vault
from understudy.local.collected import Collected
from understudy.local.release import synthesize_reports
from understudy.models.model import Model
from understudy.release.callbacks import Progress
from understudy.reports.release import write_report

OPERATION = "survey"

MEDIA_TYPES = {
    "model.json": "application/json",
    "synthetic.csv": "text/csv; charset=utf-8",
    "report.html": "text/html; charset=utf-8",
    "ledger.json": "application/json",
    "tables.json": "application/json",
}


class TableFailed(InputError):  # noqa: N818 - what happened
    """No table can be made; the reason holds nothing private."""


def ask_for_table(c: Transaction, actor: str, survey: str) -> Job:
    """Queue the job that makes the table of a closed survey: one at a time, and one table, however
    often it is asked for.
    """
    found = survey_service.show(c, actor, survey)
    if found.state != "closed":
        raise Conflict("Close the survey first: the table is of all its reports.")
    last = read_table_job(c, found)
    if last is not None and (last.state not in ENDED or last.state == "done"):
        return last
    if not survey_batches.count_batches(c, survey).shown:
        raise InputError(
            f"Fewer than {survey_batches.MIN_BATCH} persons have answered, and nothing is told of "
            "so few; there is nothing to make a table of."
        )
    dataset = found.dataset or _register(c, actor, found)
    return requests.enter_own(c, found.maker, dataset, OPERATION, {"survey": survey})


def read_table_job(c: Transaction, survey: Survey) -> Job | None:
    """The last job that was to make the table of a survey, if there is one."""
    if survey.dataset is None:
        return None
    mine = sa.select(job_table).where(job_table.c.dataset == survey.dataset)
    row = c.first(mine.order_by(job_table.c.place.desc()).limit(1))
    if row is None:
        return None
    return read_priced_row(Job, row)


def read_table(c: Transaction, survey: Survey) -> ReleaseRecord | None:
    """The release of a survey's table, if there is one."""
    if survey.dataset is None:
        return None
    found = releases.list_of(c, survey.maker, survey.dataset).items
    if not found:
        return None
    return found[0]


def make_table(hub: Hub, job: Job, worker: str, progress: Progress) -> None:
    """Learn from all reports, draw a table, and finish the job.

    Parameters
    ----------
    hub
        An open hub.
    job, worker
        The job, and who has it.
    progress
        Called while learning.
    """
    with hub.db.reading() as c:
        survey = survey_service.read_survey(c, str(job.spec["survey"]))
        progress("reading the reports", 0, 1)
        collected = collect(c, survey)
    try:
        model = synthesize_reports(collected, progress=progress)
    except InputError as error:
        raise TableFailed(str(error)) from error
    progress("writing the release", 0, 1)
    with tempfile.TemporaryDirectory(prefix="understudy-") as folder:
        files = _store_files(hub.vault, job.dataset, Path(folder), survey, collected, model)
    epsilon, delta = model.ledger.promise()
    spec = ReleaseSpec(
        title=f"{survey.title}: synthetic table from {collected.reports:,} reports"[:200],
        files=files,
        ledger=model.ledger.to_dict(),
        summary={
            "rows": collected.reports,
            "method": model.method["name"],
            "statement": model.ledger.statement(),
            "survey": survey.id,
        },
        price=Price.of(epsilon, delta),
    )
    with hub.db.transaction() as c:
        if read_table(c, survey) is not None:  # by a worker that was silent for long
            raise TableFailed("The table was made by another worker meanwhile.")
        jobs.finish(c, job.id, worker, spec)


def _register(c: Transaction, actor: str, survey: Survey) -> str:
    """The data set that stands for the survey in the catalogue; it has no rows and no budget."""
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
    return [
        releases.store_file(vault, dataset, folder / name, kind)
        for name, kind in MEDIA_TYPES.items()
    ]
