"""What was released: files in the vault, ledger, metadata of use, and the head of the trail."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from understudy.errors import InputError
from understudy.hub import trail
from understudy.hub.access import check, read_object, read_subject
from understudy.hub.amounts import Price
from understudy.hub.database import Transaction
from understudy.hub.errors import Conflict, NotFound, Refused
from understudy.hub.names import FREE, MANAGE, new_id
from understudy.hub.pages import ListPage, PageOf
from understudy.hub.policy import Decision, Operation, judge
from understudy.hub.records import (
    Job,
    ReleaseFile,
    ReleaseRecord,
    read_dataset,
    read_release,
    read_release_rows,
)
from understudy.hub.tables import datasets, release_files, releases, vault_objects
from understudy.hub.vault import Vault

MAX_RELEASE_FILES = 20
RELEASE_VERSION = 1
WITHDRAWN = "The release was withdrawn by the data set's owner."
USE_FILE = "use.json"
"""Written for each download: it carries the head of the trail, which no job knows."""


@dataclass(frozen=True, kw_only=True)
class ReleaseSpec:
    """What a worker hands in.

    Parameters
    ----------
    title
        For the list of releases.
    files
        Files that are in the vault already.
    ledger
        The ledger's document: every question that was asked, with its price.
    summary
        Public facts for pages: rows, method, the answer of a question.
    price
        What it cost where that is not the job's price: the persons of a survey paid themselves.
    """

    title: str
    files: Sequence[ReleaseFile] = ()
    ledger: Mapping[str, Any] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)
    price: Price | None = None

    def digest(self) -> str:
        """The same for the same content, wherever the vault put the files."""
        files = sorted((file.name, file.media_type, file.sha256) for file in self.files)
        document = {
            "title": self.title,
            "files": files,
            "ledger": dict(self.ledger),
            "summary": dict(self.summary),
        }
        return hashlib.sha256(trail.write_details(document).encode()).hexdigest()


def add(c: Transaction, worker: str, job: Job, spec: ReleaseSpec) -> ReleaseRecord:
    """Enter the release of a running job; :func:`understudy.hub.jobs.finish` calls it."""
    dataset, price = job.dataset, spec.price or job.price
    _check_files(c, dataset, spec.files)
    release = new_id()
    details = {
        "release": release,
        "job": job.id,
        "operation": job.operation,
        "price": str(price),
        "files": {file.name: file.sha256 for file in spec.files},
    }
    head = trail.append(c, worker, "release", dataset, details)
    c.execute(
        sa.insert(releases).values(
            id=release,
            dataset=dataset,
            job=job.id,
            user=job.user,
            operation=job.operation,
            title=spec.title[:200],
            use=read_dataset(c, dataset).use,
            ledger=dict(spec.ledger),
            summary=dict(spec.summary),
            digest=spec.digest(),
            epsilon=price.epsilon,
            delta=price.delta,
            trail=asdict(head),
            created_at=c.now,
        )
    )
    for file in spec.files:
        c.execute(sa.insert(release_files).values(release=release, **asdict(file)))
    count = datasets.c.releases + 1
    c.execute(sa.update(datasets).where(datasets.c.id == dataset).values(releases=count))
    return read_release(c, release)


def read_again(c: Transaction, job: Job, spec: ReleaseSpec) -> ReleaseRecord:
    """The release of a job that is done, if the same is sent once more."""
    row = c.first(sa.select(releases).where(releases.c.job == job.id))
    if row is None or row["digest"] != spec.digest():
        raise Conflict("The job is done, and its release was another one; nothing was changed.")
    return read_release(c, row["id"])


def show(c: Transaction, viewer: str, release: str) -> ReleaseRecord:
    """A release for its owner and those who may download or query it; for strangers there is none.

    Who could use it if the data set were open is told that it is closed; and that it was withdrawn,
    since what it found stands in its summary.
    """
    found = read_release(c, release)
    if read_object(c, found.dataset).owner == viewer:
        return found
    decisions = [_decide(c, viewer, found, name) for name in FREE]
    if not any(decisions):
        raise Refused(decisions[0].why)
    if found.withdrawn_at is not None:
        raise Refused(WITHDRAWN)
    return found


def use(c: Transaction, user: str, release: str, operation: str, what: str = "") -> ReleaseRecord:
    """Check that a user may download or query a release, and write it into the trail."""
    if operation not in FREE:
        raise InputError(f"A release can be used to {' or '.join(FREE)}, not to {operation!r}.")
    found = read_release(c, release)
    decision = _decide(c, user, found, operation)
    if not decision:
        raise Refused(decision.why)
    if found.withdrawn_at is not None:
        raise Refused(WITHDRAWN)
    trail.append(c, user, operation, found.dataset, {"release": release, "what": what[:200]})
    return found


def _decide(c: Transaction, user: str, release: ReleaseRecord, operation: str) -> Decision:
    """The policy's answer; strangers to a release do not learn that it exists."""
    subject = read_subject(c, user)
    thing = read_object(c, release.dataset, release.user)
    if not any(judge(subject, Operation(name=name), replace(thing, open=True)) for name in FREE):
        raise NotFound("There is no such release.")
    return judge(subject, Operation(name=operation), thing)


def withdraw(c: Transaction, actor: str, release: str) -> ReleaseRecord:
    """Hand a release out no more; its price stays, for it was out."""
    found = read_release(c, release)
    check(c, actor, Operation(name=MANAGE), found.dataset)
    if found.withdrawn_at is None:
        c.execute(sa.update(releases).where(releases.c.id == release).values(withdrawn_at=c.now))
        count = datasets.c.releases - 1
        c.execute(sa.update(datasets).where(datasets.c.id == found.dataset).values(releases=count))
        trail.append(c, actor, "withdraw release", found.dataset, {"release": release})
    return read_release(c, release)


def list_of(
    c: Transaction, viewer: str, dataset: str, page: PageOf | None = None
) -> ListPage[ReleaseRecord]:
    """The releases of a data set that a viewer may use, newest first; of a closed one, none but for
    its owner.
    """
    page = (page or PageOf()).clip()
    subject, thing = read_subject(c, viewer), read_object(c, dataset)
    query = sa.select(releases).where(releases.c.dataset == dataset)
    may_use = any(judge(subject, Operation(name=name), thing) for name in FREE)
    if subject.id != thing.owner:
        query = query.where(releases.c.withdrawn_at.is_(None))
        if not may_use:
            query = query.where(releases.c.user == viewer)
        if not thing.open:
            query = query.where(sa.false())
    total = c.value(sa.select(sa.func.count()).select_from(query.subquery()))
    query = query.order_by(releases.c.created_at.desc(), releases.c.id)
    rows = c.rows(query.limit(page.size).offset((page.number - 1) * page.size))
    items = tuple(read_release_rows(c, list(rows)))
    return ListPage(items=items, number=page.number, size=page.size, total=int(total))


def describe(release: ReleaseRecord) -> dict[str, Any]:
    """The ``use.json`` of a release as it leaves the hub: purpose, conditions, contact, price, and
    the head of the trail, by which an owner later checks that nothing before it was changed.
    """
    epsilon, delta = release.price.numbers_up()
    return {
        "understudy_use": RELEASE_VERSION,
        "title": release.use.get("data_set", ""),
        "purpose": release.use.get("purpose", ""),
        "conditions": release.use.get("conditions", ""),
        "contact": release.use.get("contact", ""),
        "release": release.id,
        "operation": release.operation,
        "released_at": release.created_at.isoformat(timespec="seconds"),
        "price": {"epsilon": epsilon, "delta": delta},
        "files": {file.name: file.sha256 for file in release.files if file.name != USE_FILE},
        "trail": dict(release.trail),
    }


def store_file(vault: Vault, dataset: str, path: Path, media_type: str) -> ReleaseFile:
    """Put a file of a release into the vault."""
    with path.open("rb") as file:
        stored = vault.put(dataset, "release", file)
    return ReleaseFile(
        name=path.name,
        media_type=media_type,
        size=stored.size,
        sha256=stored.sha256,
        object=stored.id,
    )


def _check_files(c: Transaction, dataset: str, files: Sequence[ReleaseFile]) -> None:
    names = {file.name for file in files}
    if len(files) > MAX_RELEASE_FILES or len(names) < len(files):
        raise InputError(
            f"A release has at most {MAX_RELEASE_FILES} files, each with a name of its own."
        )
    for name in names:
        if not name or len(name) > 100 or "/" in name or "\\" in name or name.startswith("."):
            raise InputError("A file of a release needs a plain name, without folders.")
    objects = {file.object for file in files}
    here = vault_objects.c.id.in_(objects) & (vault_objects.c.dataset == dataset)
    if len(c.rows(sa.select(vault_objects.c.id).where(here))) < len(objects):
        raise NotFound("A file of the release is not in the vault of this data set.")
