"""The hub's own worker: computes jobs over rows that the hub stores, or that a URL names.

Stored rows are decrypted into memory alone. Every data set has a ledger file beside the vault, so
that what was spent is written down twice, in two places that do not depend on each other. A worker
can be killed at any moment: its job ends as interrupted when its lease runs out, its price stays,
and nothing in the clear is left behind.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from understudy.data.schema import Schema
from understudy.engines.urls import is_url
from understudy.errors import BudgetError, InputError, UnderstudyError
from understudy.hub import algorithms, jobs, tables
from understudy.hub.amounts import Price
from understudy.hub.beats import BEAT_SECONDS, Beats, JobStopped, Tell
from understudy.hub.encrypted.aggregator import AGGREGATOR, SERVICES, Aggregator, read_aggregator
from understudy.hub.encrypted.computing import compute_encrypted
from understudy.hub.errors import Conflict, NotFound, Refused, Unavailable
from understudy.hub.federated import FederationFailed, SharedJob, compute_federated
from understudy.hub.foreign.confinement import ResourceLimits
from understudy.hub.foreign.keeper import AlgorithmFailed, ForeignMethod, method_of
from understudy.hub.foreign.packages import check_signature, digest_of, read_package
from understudy.hub.intake import find_protected, seed_of, take_in, use_of
from understudy.hub.job_ledgers import JobLedger, find_job, open_books
from understudy.hub.names import ENCRYPTED, FEDERATED
from understudy.hub.node_log import NodeLog, describe_failure
from understudy.hub.opening import Hub
from understudy.hub.operation_runs import ANSWERS_NAME, MODEL_NAME, OperationRun, ReleaseFiles, Run
from understudy.hub.operations import Synthesise, read_operation
from understudy.hub.records import Dataset, Job, read_dataset
from understudy.hub.survey_tables import TableFailed, make_table
from understudy.privacy.budget import exact

LEDGERS = "ledgers"
LOG = "worker.log"

POLL_SECONDS = 1.0

HAND_IN_PAUSES = (0.5, 2.0, 5.0, 10.0, 20.0)
"""Seconds between tries to hand in what was computed."""

WORKER_FAILED = "The hub's worker could not compute it; its log says why."
WORKER_CLOSED = "The hub's worker has closed; its log says where it failed."
VAULT_LEDGER_REFUSED = "The ledger beside the vault does not allow it."


class WorkerClosed(InputError):  # noqa: N818 - what happened
    """The worker met what nobody foresaw, and computes nothing until it is started again."""


class RowsRefused(InputError):  # noqa: N818 - what happened
    """Something is wrong with a table, which its owner must put right; the price stays."""


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """What the operator says to a worker.

    Parameters
    ----------
    sources
        Where rows are that the hub does not store: a URL by the name that data sets have for it.
    limits
        What a foreign algorithm may use.
    aggregator
        Who the hub is to crypto services, and which of these it asks.
    """

    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    limits: ResourceLimits = field(default_factory=ResourceLimits)
    aggregator: Aggregator = field(default_factory=Aggregator)


def load_worker_settings(path: Path | None) -> WorkerSettings:
    """Read a worker's settings: a file of TOML with ``[sources]``, names and URLs, and with
    ``[aggregator]`` and ``[services]`` for encrypted uploads.
    """
    if path is None:
        return WorkerSettings()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"The worker's settings {path} cannot be read: {error}.") from error
    sources = document.get("sources", {})
    if set(document) - {"sources", AGGREGATOR, SERVICES} or not isinstance(sources, dict):
        raise InputError(
            f"The worker's settings {path} hold [sources], [aggregator] and [services], and "
            "nothing else."
        )
    for name, url in sources.items():
        if not isinstance(url, str) or not (is_url(url) or Path(url).is_absolute()):
            raise InputError(f"The source {name!r} in {path} must be a URL or an absolute path.")
    return WorkerSettings(sources=sources, aggregator=read_aggregator(document, path))


class Worker:
    """Claims jobs and computes them, one after the other.

    Parameters
    ----------
    hub
        An open hub.
    settings
        What the operator says.
    name
        How jobs name it; by default one that no other worker has.
    """

    def __init__(
        self, hub: Hub, settings: WorkerSettings | None = None, name: str | None = None
    ) -> None:
        self.hub = hub
        self.settings = settings or WorkerSettings()
        self.name = name or f"worker:{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self.ledgers = hub.folder / LEDGERS
        self.ledgers.mkdir(mode=0o700, exist_ok=True)
        self.log = NodeLog(hub.folder / LOG)
        self._closed = False
        self._expired_at = -BEAT_SECONDS

    def run(self, stop: threading.Event | None = None, *, poll: float = POLL_SECONDS) -> None:
        """Compute until told to stop; a database that is away is tried again."""
        stop = stop or threading.Event()
        while not stop.is_set():
            try:
                worked = self.step()
            except Unavailable:
                worked = False
            if not worked:
                stop.wait(poll)

    def step(self) -> bool:
        """Do the next job, if there is one; whether there was."""
        if self._closed:
            raise WorkerClosed("The worker has closed; look into its log, and start it again.")
        if not self._has_something_to_write():
            return False
        with self.hub.db.transaction() as c:
            jobs.expire(c)
            job = jobs.claim(c, self.name)
            if job is None:
                return False
            dataset = read_dataset(c, job.dataset)
        self._do(job, dataset)
        return True

    def _has_something_to_write(self) -> bool:
        """Workers ask every second: other writers wait only for those that find something, and now
        and then so that silent workers are noticed.
        """
        now = time.monotonic()
        if now - self._expired_at >= BEAT_SECONDS:
            self._expired_at = now
            return True
        with self.hub.db.reading() as c:
            query = sa.select(tables.jobs.c.id).where(tables.jobs.c.state == "queued").limit(1)
            return c.first(query) is not None

    def _do(self, job: Job, dataset: Dataset) -> None:
        self.log("started", job=job.id, dataset=dataset.id, worker=self.name)
        try:
            self._compute(job, dataset)
        except Unavailable:
            raise  # the lease runs out, and the price stays
        except (Conflict, NotFound, Refused) as error:
            self.log("ended by the hub", job=job.id, why=str(error))
        except UnderstudyError as error:
            self.log("not computed", job=job.id, why=str(error))
            # Once rows were opened, whether a job fails may depend on them: never for nothing.
            spent = self._is_spent(job) or isinstance(error, RowsRefused)
            self._fail(job, _sentence(error), spent=spent)
        except BaseException as error:
            self._closed = True
            with contextlib.suppress(Exception):
                self.log("closed", job=job.id, why=describe_failure(error))
            with contextlib.suppress(Exception):
                self._fail(job, WORKER_CLOSED, spent=True)
            raise WorkerClosed(
                f"The worker has closed on job {job.id} ({type(error).__name__}); look into "
                f"{self.log.path}, and start it again."
            ) from error
        else:
            self.log("released", job=job.id)

    def _compute(self, job: Job, dataset: Dataset) -> None:
        if dataset.mode == "survey":
            with Beats(self._teller(job)) as beats:
                make_table(self.hub, job, self.name, beats.progress)
            return
        operation = read_operation(job.operation, dict(job.spec))
        ledger = self._open_ledger(job, dataset, operation)
        if dataset.mode in (FEDERATED, ENCRYPTED):
            with Beats(self._teller(job)) as beats, _private_folder() as folder:
                shared = SharedJob(
                    hub=self.hub,
                    job=job,
                    operation=operation,
                    ledger=ledger,
                    path=folder / MODEL_NAME,
                    progress=beats.progress,
                )
                if dataset.mode == ENCRYPTED:
                    compute_encrypted(shared, self.settings.aggregator)
                else:
                    compute_federated(shared)
                self._hand_in(job, folder / MODEL_NAME)
            return
        with (
            Beats(self._teller(job)) as beats,
            self._rows(dataset) as rows,
            _private_folder() as folder,
        ):
            run = Run(
                rows=rows,
                schema=Schema.from_dict(dict(dataset.schema)),
                protected=find_protected(dataset),
                ledger_file=ledger,
                folder=folder / "release",
                use=use_of(dataset),
                progress=beats.progress,
                methods=self._foreign(operation, dataset),
                seed=seed_of(job.id),
            )
            made = self._run(operation, run)
            document = MODEL_NAME if MODEL_NAME in made.names else ANSWERS_NAME
            self._hand_in(job, made.folder / document)

    def _run(self, operation: OperationRun, run: Run) -> ReleaseFiles:
        try:
            return operation.run(run)
        except (BudgetError, AlgorithmFailed, JobStopped):
            raise
        except UnderstudyError as error:
            raise RowsRefused(str(error)) from error

    def _hand_in(self, job: Job, path: Path) -> None:
        """Finish the job; it is paid for, so that a database that is away for a moment does not
        lose it.
        """
        for pause in HAND_IN_PAUSES:
            try:
                take_in(self.hub.db, self.hub.vault, job.id, self.name, path)
            except Unavailable:
                time.sleep(pause)
            else:
                return
        take_in(self.hub.db, self.hub.vault, job.id, self.name, path)

    def _open_ledger(self, job: Job, dataset: Dataset, operation: OperationRun) -> JobLedger:
        path = self.ledgers / f"{dataset.id}.ledger"
        protected, price = find_protected(dataset), operation.price()
        if not Price(exact(price[0]), exact(price[1])).fits(job.price):
            raise BudgetError("The job costs more than was approved; nothing was asked.")
        epsilon, delta = float(dataset.total.epsilon), float(dataset.total.delta)
        open_books(path, epsilon, delta, protected.neighbours, protected.unit)
        # The hub knows the table by its id; the rows may come again in another form.
        ledger = JobLedger(
            path,
            job=job.id,
            price=price,
            details={"user": job.user},
            accept="new_rows",
        )
        ledger.set_allowance(epsilon, delta)
        return ledger

    @contextlib.contextmanager
    def _rows(self, dataset: Dataset) -> Iterator[str | Path]:
        """Where the rows are, for as long as they are needed."""
        if dataset.source is not None:
            if dataset.source not in self.settings.sources:
                raise InputError(
                    f"The worker's settings do not name the source {dataset.source!r}."
                )
            place = self.settings.sources[dataset.source]
            yield place if is_url(place) else Path(place)
            return
        if dataset.rows_object is None:
            raise InputError("The data set has no rows yet.")
        with decrypt_into_memory(self.hub.vault.open(dataset.rows_object)) as path:
            yield path

    def _foreign(
        self, operation: OperationRun, dataset: Dataset
    ) -> Mapping[str, type[ForeignMethod]]:
        """The algorithm of a job, once its digest and its signature are right."""
        if not isinstance(operation, Synthesise) or operation.algorithm is None:
            return {}
        with self.hub.db.reading() as c:
            known = algorithms.read(c, operation.algorithm)
            data = algorithms.read_data(c, operation.algorithm)
        if digest_of(data) != operation.algorithm:
            raise AlgorithmFailed("The package is not the one that was asked for.")
        check_signature(data, known.signature, known.public_key)
        on_disk = dataset.source is not None  # stored rows are decrypted into memory
        method = method_of(read_package(data), self.settings.limits, rows_on_disk=on_disk)
        return {operation.algorithm: method}

    def _is_spent(self, job: Job) -> bool:
        path = self.ledgers / f"{job.dataset}.ledger"
        if not path.exists():
            return False
        entry = find_job(JobLedger(path, job=job.id, price=(0.0, 0.0)).read(), job.id)
        return entry is not None and bool(entry["epsilon"] or entry["delta"])

    def _fail(self, job: Job, why: str, *, spent: bool) -> None:
        with self.hub.db.transaction() as c, contextlib.suppress(Conflict, NotFound):
            jobs.fail(c, job.id, self.name, why, spent)

    def _teller(self, job: Job) -> Tell:
        """Says how far a job is, which keeps its lease."""

        def tell(step: str, done: int, steps: int) -> bool:
            try:
                with self.hub.db.transaction() as c:
                    jobs.report(c, job.id, self.name, step, done, steps)
            except (Conflict, NotFound):
                return False
            except Unavailable:
                pass
            return True

        return tell


@contextlib.contextmanager
def decrypt_into_memory(chunks: Iterator[bytes]) -> Iterator[Path]:
    """A path that leads to plain bytes in this process's memory, and to nothing once it is gone.

    The name in the file system is a link to a handle of this process: who copies the disk copies
    no row, and a worker that is killed leaves a link that leads nowhere.
    """
    handle = os.memfd_create("rows", os.MFD_CLOEXEC)
    try:
        first = b""
        with os.fdopen(handle, "wb", closefd=False) as file:
            for chunk in chunks:
                first = first or chunk[:4]
                file.write(chunk)
        with tempfile.TemporaryDirectory(prefix="understudy-rows-") as folder:
            path = Path(folder) / f"rows{_suffix(first)}"
            path.symlink_to(f"/proc/{os.getpid()}/fd/{handle}")
            yield path
    finally:
        os.close(handle)


def _suffix(first: bytes) -> str:
    if first.startswith(b"PAR1"):
        return ".parquet"
    if first.startswith(b"\x1f\x8b"):
        return ".csv.gz"
    return ".csv"


@contextlib.contextmanager
def _private_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="understudy-job-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sentence(error: UnderstudyError) -> str:
    """What of an error others may read: sentences about files and cells they may not."""
    if isinstance(error, AlgorithmFailed | JobStopped | FederationFailed | TableFailed):
        return str(error)
    if isinstance(error, BudgetError):
        return VAULT_LEDGER_REFUSED
    return WORKER_FAILED
