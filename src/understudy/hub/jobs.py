"""Jobs: the queue in the same database as budgets and trail.

A job is queued by the transaction that debits its price. A worker claims it, keeps its lease alive
by reporting, and finishes or fails it. A worker that dies lets the lease run out: the job ends
``interrupted`` and its price stays, since nobody knows what was asked. A price comes back only if
the job never started, or if its own worker states that nothing was asked.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import sqlalchemy as sa

from understudy.hub import budgets, releases, trail
from understudy.hub.access import check
from understudy.hub.database import Transaction
from understudy.hub.errors import Conflict, NotFound
from understudy.hub.names import ENDED, MANAGE, new_id
from understudy.hub.pages import ListPage, PageOf, read_page
from understudy.hub.policy import Operation
from understudy.hub.records import Job, ReleaseRecord, Request, read_job, read_priced_row
from understudy.hub.releases import ReleaseSpec
from understudy.hub.tables import datasets, jobs

LEASE = dt.timedelta(seconds=60)
"""How long a worker may be silent."""

AGENT = "agent:"
"""How the name of a worker begins that is an owner's agent; its id follows."""

MAX_STEP = 200
"""Letters."""

MAX_PROGRESS_STEPS = 1 << 53
MAX_WHY = 1000


def queue(c: Transaction, request: Request, place: int) -> Job:
    """Put an approved request's work into the queue, at its entry in the trail."""
    job = new_id()
    c.execute(
        sa.insert(jobs).values(
            id=job,
            request=request.id,
            dataset=request.dataset,
            user=request.user,
            operation=request.operation,
            spec=dict(request.spec),
            epsilon=request.price.epsilon,
            delta=request.price.delta,
            place=place,
            created_at=c.now,
        )
    )
    return read_job(c, job)


def claim(c: Transaction, worker: str, dataset_ids: Sequence[str] | None = None) -> Job | None:
    """Take the oldest job that this worker may do, or none.

    An agent gets jobs of the data sets that name it; the hub's own workers get those whose rows are
    stored, federated or encrypted uploads, and the tables of surveys.

    Parameters
    ----------
    c
        The transaction.
    worker
        Who claims: ``agent:`` and the agent's id, or the name of a worker of the hub's.
    dataset_ids
        Only jobs of these data sets.
    """
    mine = sa.select(datasets.c.id).where(datasets.c.state == "open", _serves(worker))
    oldest = sa.select(jobs.c.id).where(jobs.c.state == "queued", jobs.c.dataset.in_(mine))
    if dataset_ids is not None:
        oldest = oldest.where(jobs.c.dataset.in_(list(dataset_ids)))
    oldest = oldest.order_by(jobs.c.place).limit(1)
    if c.connection.dialect.name == "postgresql":
        oldest = oldest.with_for_update(skip_locked=True)
    claimed = c.first(
        sa.update(jobs)
        .where(jobs.c.id == oldest.scalar_subquery(), jobs.c.state == "queued")
        .values(state="running", worker=worker, started_at=c.now, lease_until=c.now + LEASE)
        .returning(*jobs.c)
    )
    if claimed is None:
        return None
    job = read_priced_row(Job, claimed)
    details = {"request": job.request, "worker": worker}
    trail.append(c, worker, "start", job.dataset, {"job": job.id, **details})
    return job


def report(
    c: Transaction,
    job: str,
    worker: str,
    step: str | None = None,
    done: int | None = None,
    steps: int | None = None,
) -> Job:
    """Say what a running job does, and keep its lease; :class:`Conflict` tells a worker to stop."""
    _read_running(c, job, worker)
    values: dict[str, object] = {"lease_until": c.now + LEASE}
    if step is not None:
        values["step"] = step[:MAX_STEP]
    if done is not None:
        values["done"] = min(max(0, int(done)), MAX_PROGRESS_STEPS)
    if steps is not None:
        values["steps"] = min(max(0, int(steps)), MAX_PROGRESS_STEPS)
    c.execute(sa.update(jobs).where(jobs.c.id == job).values(**values))
    return read_job(c, job)


def finish(c: Transaction, job: str, worker: str, release: ReleaseSpec) -> ReleaseRecord:
    """Take a job's release in; the same one sent twice is one release.

    A job that was interrupted because its worker was silent for too long is done after all when
    that same worker delivers, unless its price was given back.
    """
    found = _read_own(c, job, worker)
    if found.state == "done":
        return releases.read_again(c, found, release)
    # Its price was paid and not given back: what a worker computed while it was silent counts.
    if found.state != "interrupted" or found.refunded:
        _read_running(c, job, worker)
    check_open(c, found.dataset)
    made = releases.add(c, worker, found, release)
    _end(c, job, "done", "")
    return made


def fail(c: Transaction, job: str, worker: str, why: str, spent: bool) -> Job:
    """End a job without a release.

    Parameters
    ----------
    c, job, worker
        The transaction, the job, and who has it.
    why
        One sentence; nothing private.
    spent
        Whether anything was asked of the rows. If not, the price comes back, also when the job was
        interrupted or cancelled meanwhile.
    """
    found = _read_own(c, job, worker)
    if found.state in ("failed", "interrupted", "cancelled"):
        if not spent and not found.refunded and found.state != "failed":
            _refund(c, worker, found, "its worker states that nothing was asked")
        return read_job(c, job)
    _read_running(c, job, worker)
    _end(c, job, "failed", why)
    details = {"job": job, "why": why[:MAX_WHY], "spent": spent}
    trail.append(c, worker, "fail", found.dataset, details)
    if not spent:
        _refund(c, worker, found, "its worker states that nothing was asked")
    return read_job(c, job)


def cancel(c: Transaction, actor: str, job: str, why: str) -> Job:
    """Stop a job: one that waits gets its price back, one that runs does not. The caller checks."""
    found = read_job(c, job)
    if found.state in ENDED:
        return found
    waits = found.state == "queued"
    _end(c, job, "cancelled", why)
    trail.append(c, actor, "cancel", found.dataset, {"job": job, "why": why[:MAX_WHY]})
    if waits:
        _refund(c, actor, found, "it never started")
    return read_job(c, job)


def stop_all(c: Transaction, actor: str, dataset: str) -> None:
    """Cancel all jobs of a data set that is closed."""
    alive = (jobs.c.dataset == dataset) & jobs.c.state.in_(["queued", "running"])
    for row in c.rows(sa.select(jobs.c.id).where(alive).order_by(jobs.c.place)):
        cancel(c, actor, row["id"], "The data set was closed.")


def expire(c: Transaction, now: dt.datetime | None = None) -> list[Job]:
    """End the jobs whose workers are silent; their prices stay."""
    now = now or c.now
    running = jobs.c.state == "running"
    # The clock was set back: such a lease would last for ever. A worker that lives renews it.
    beyond = running & (jobs.c.lease_until > now + 2 * LEASE)
    c.execute(sa.update(jobs).where(beyond).values(lease_until=now + LEASE))
    silent = c.rows(sa.select(jobs).where(running & (jobs.c.lease_until < now)))
    for row in silent:
        _end(c, row["id"], "interrupted", "Who computed it fell silent.")
        details = {"job": row["id"], "worker": row["worker"]}
        trail.append(c, "hub", "interrupt", row["dataset"], details)
    return [read_job(c, row["id"]) for row in silent]


def of_dataset(
    c: Transaction, actor: str, dataset: str, page: PageOf | None = None
) -> ListPage[Job]:
    """What was computed on a data set, for its owner; newest first."""
    check(c, actor, Operation(name=MANAGE), dataset)
    query = sa.select(jobs).where(jobs.c.dataset == dataset).order_by(jobs.c.place.desc())
    return read_page(c, query, page or PageOf(), lambda row: read_priced_row(Job, row))


def check_open(c: Transaction, dataset: str) -> None:
    """A closed data set releases nothing more."""
    if c.value(sa.select(datasets.c.state).where(datasets.c.id == dataset)) != "open":
        raise Conflict("The data set was closed meanwhile; nothing of it is released.")


def _serves(worker: str) -> sa.ColumnElement[bool]:
    if worker.startswith(AGENT):
        return (datasets.c.mode == "agent") & (datasets.c.agent == worker.removeprefix(AGENT))
    return datasets.c.mode.in_(["stored", "federated", "encrypted", "survey"])


def _read_own(c: Transaction, job: str, worker: str) -> Job:
    found = read_job(c, job)
    if found.worker != worker:
        raise NotFound("There is no such job of yours.")
    return found


def _read_running(c: Transaction, job: str, worker: str) -> Job:
    found = _read_own(c, job, worker)
    if found.state != "running":
        raise Conflict(f"The job is {found.state} ({found.why or 'it has ended'}); stop it.")
    return found


def _end(c: Transaction, job: str, state: str, why: str) -> None:
    values = {"state": state, "why": why[:MAX_WHY], "ended_at": c.now, "lease_until": None}
    c.execute(sa.update(jobs).where(jobs.c.id == job).values(**values))


def _refund(c: Transaction, actor: str, job: Job, why: str) -> None:
    back = budgets.refund(c, job.dataset, job.user, job.request, why)
    c.execute(sa.update(jobs).where(jobs.c.id == job.id).values(refunded=True))
    trail.append(c, actor, "refund", job.dataset, {"job": job.id, "price": str(back), "why": why})
