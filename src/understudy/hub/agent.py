"""The owner's agent: computes approved jobs beside the rows, by its own policy, ledger and log.

It opens all connections itself. The hub's approval is where its own decision begins: what its
policy or its ledger does not allow, it refuses, whatever the hub says. What it has computed it
keeps until the hub has it, and a job that it has begun it never begins again: not after it was
killed, and not if the hub hands it out a second time.

An error that nobody foresaw may depend on the rows, and whether it happens would then tell of them.
So the agent closes: it says one sentence, the same whatever the cause was, and computes nothing
until its owner has looked into the log and starts it again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy.data.files import replace_content
from understudy.data.read_options import join_reading
from understudy.data.schema import Schema
from understudy.errors import BudgetError, InputError, UnderstudyError
from understudy.hub.agent_link import HubAway, HubLink, HubRefuses
from understudy.hub.agent_settings import AgentSettings
from understudy.hub.beats import Beats, JobStopped, Tell
from understudy.hub.foreign.keeper import AlgorithmFailed, ForeignMethod, method_of
from understudy.hub.foreign.packages import check_signature, digest_of, read_package
from understudy.hub.intake import check_columns
from understudy.hub.job_ledgers import JobLedger, find_job, open_books
from understudy.hub.node_log import NodeLog, describe_failure
from understudy.hub.operation_runs import ANSWERS_NAME, MODEL_NAME, OperationRun, Run, TermsOfUse
from understudy.hub.operations import Synthesise, check_spec
from understudy.privacy.budget import exact
from understudy.privacy.ledger import LedgerFile
from understudy.release.sources import open_source

POLL_SECONDS = 1.0
"""How often the hub is asked for jobs."""

MAX_AWAY_SECONDS = 60.0
"""The longest pause between two tries to reach a hub that is away."""

RELEASED, BEGUN_FILE, OPENED_FILE, ENDED_FILE = (
    "released",
    "begun.json",
    "opened.json",
    "ended.json",
)
"""In the folder of a job: what goes out, that it was begun, that rows were opened for it, and how
it ended.
"""

AGENT_FAILED = "The owner's agent could not compute it; its log says why."
AGENT_CLOSED = "The owner's agent has closed; its log says where it failed."
OWN_LEDGER_REFUSED = "The owner's own ledger does not allow it."
STOPPED = "The agent was stopped while it computed; what was asked is paid."

_JOB_ID = re.compile(r"[A-Za-z0-9_-]{4,64}")


class AgentClosed(InputError):  # noqa: N818 - what happened
    """The agent met what nobody foresaw, and computes nothing until it is started again."""


class Agent:
    """Fetches jobs, decides, computes and delivers.

    Parameters
    ----------
    settings
        What it goes by.
    link
        The way to the hub; by default as the settings say.
    notify
        Called with what happens, in words, for the owner's screen.
    """

    def __init__(
        self,
        settings: AgentSettings,
        link: HubLink | None = None,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        self.settings = settings
        self.link = link or HubLink(settings.url, settings.token, settings.certificate)
        self.log = NodeLog(settings.log, notify)
        self.schema = Schema.load(settings.schema)
        self.book = self._open_book()
        self.jobs = settings.state / "jobs"
        self.jobs.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._use = TermsOfUse()
        self._checked = False
        self._closed = False

    # ---- the loop

    def run(self, stop: threading.Event | None = None, *, poll: float = POLL_SECONDS) -> None:
        """Compute until told to stop; a hub that is away is tried again, ever more slowly."""
        stop = stop or threading.Event()
        pause, resumed = poll, False
        self.check_rows()
        self.log("started", dataset=self.settings.dataset)
        while not stop.is_set():
            try:
                if not resumed:
                    self.resume()
                    resumed = True
                worked = self.step()
                pause = 0.0 if worked else poll
            except HubAway as error:
                if resumed:
                    self.log("hub away", why=str(error))
                resumed = False
                pause = min(max(2 * pause, poll), MAX_AWAY_SECONDS)
            stop.wait(pause)
        self.log("stopped")

    def check_rows(self) -> None:
        """Refuse, for the owner's eyes, rows that no job could be computed on.

        Later it would close the agent: other columns than the schema's, or another table than the
        ledger is kept for.
        """
        settings, protected = self.settings, self.settings.protected
        reading = join_reading(self.schema.reading, {})
        book = LedgerFile(settings.ledger, accept=settings.accept)
        with open_source(
            settings.rows,
            person=protected.person,
            max_rows_per_person=protected.max_rows_per_person,
            notify=lambda sentence: self.log("note", note=str(sentence)[:1000]),
            **reading,
        ) as source:
            source.order(self.schema)
            book.check_table(source.fingerprint(book.key()))

    def step(self) -> bool:
        """Do the next job, if there is one; whether there was."""
        self._check_open()
        self._check_dataset()
        job = self.link.claim(self.settings.dataset)
        if job is None:
            return False
        self.handle(job)
        return True

    def resume(self) -> None:
        """Deliver what was computed before, and end what was broken off."""
        self._check_open()
        self._check_dataset()
        for folder in sorted(self.jobs.iterdir()):
            if not (folder / ENDED_FILE).exists():
                self._resume_job(folder)
        for job in self.link.list_unfinished():
            if job.get("dataset") != self.settings.dataset:
                continue
            name = _job_id(job)
            if (self.jobs / name).exists():
                continue
            if job.get("state") == "running":
                self.handle(job)
            else:  # claimed, and lost before anything was written down here: nothing was asked
                self._tell_failure(name, STOPPED, spent=self._is_spent(name))

    # ---- one job

    def handle(self, job: Mapping[str, Any]) -> None:
        """Decide on a job, compute it, and deliver it."""
        name = _job_id(job)
        folder = self.jobs / name
        if folder.exists():
            self._resume_job(folder)
            return
        try:
            operation, price = self._decide(job)
        except InputError as refusal:
            self._note_decision(job, refusal=str(refusal))
            self._begin(folder, job)
            self._end_failed(folder, str(refusal), spent=False)
            return
        self._note_decision(job)
        self._begin(folder, job)
        if self._compute(folder, job, operation, price):
            self._deliver(folder)

    def _decide(self, job: Mapping[str, Any]) -> tuple[OperationRun, tuple[float, float]]:
        """The agent's own decision, by public facts alone; a refusal says why, and reads no row."""
        settings = self.settings
        if job.get("dataset") != settings.dataset:
            raise InputError("The owner's agent does not have this data set.")
        operation = check_spec(
            str(job.get("operation")), job.get("spec") or {}, self.schema, settings.protected
        )
        objection = settings.policy.object_to(operation, job.get("user"))
        if objection:
            raise InputError(objection)
        epsilon, delta = operation.price()
        if exact(epsilon) > _amount(job, "epsilon") or exact(delta) > _amount(job, "delta"):
            raise InputError("It costs more than was approved.")
        if find_job(self.book.read(), _job_id(job)) is not None:
            raise InputError("It stands on the owner's ledger already.")
        protected = settings.protected
        try:
            self.book.check_release(epsilon, delta, protected.neighbours, protected.unit)
        except BudgetError as error:
            self.log("ledger refuses", job=_job_id(job), why=str(error))
            raise InputError(OWN_LEDGER_REFUSED) from error
        return operation, (epsilon, delta)

    def _compute(
        self,
        folder: Path,
        job: Mapping[str, Any],
        operation: OperationRun,
        price: tuple[float, float],
    ) -> bool:
        """Compute; whether there is something to deliver."""
        name, settings = folder.name, self.settings
        user = str(job.get("user"))
        ledger = JobLedger(
            settings.ledger, job=name, price=price, details={"user": user}, accept=settings.accept
        )
        try:
            methods = self._foreign(operation, job)
            _write(folder / OPENED_FILE, {})
            with Beats(self._teller(name)) as beats:
                run = Run(
                    rows=settings.rows,
                    schema=self.schema,
                    protected=settings.protected,
                    ledger_file=ledger,
                    folder=folder / RELEASED,
                    use=self._use,
                    progress=beats.progress,
                    notify=lambda sentence: self.log("note", job=name, note=str(sentence)[:1000]),
                    methods=methods,
                    seed=_seed(job),
                )
                made = operation.run(run)
            epsilon, delta = made.ledger.promise()
            self.log("computed", job=name, epsilon=epsilon, delta=delta, files=list(made.names))
            return True
        except FORESEEN as error:
            self.log("not computed", job=name, why=str(error))
            self._end_failed(folder, _sentence_for_hub(error), spent=self._is_spent(name))
            return False
        except BaseException as error:
            # Also what the owner can read and fix, such as a table that has changed: once rows were
            # opened, whether a job fails may depend on them, and must not be had for nothing.
            self._close(folder, error)
            raise AgentClosed(
                f"The agent has closed on job {name} ({_words_for_owner(error)}); look into "
                f"{self.log.path}, and start it again."
            ) from error

    def _teller(self, job: str) -> Tell:
        """Tells the hub how far a job is."""

        def tell(step: str, done: int, steps: int) -> bool:
            try:
                self.link.report(job, step, done, steps)
            except HubRefuses:
                return False
            except HubAway:
                pass  # it may be back before the lease runs out
            return True

        return tell

    def _deliver(self, folder: Path) -> None:
        """Hand in what was computed; a hub that is away gets it later."""
        name = folder.name
        path = next(
            folder / RELEASED / file
            for file in (MODEL_NAME, ANSWERS_NAME)
            if (folder / RELEASED / file).exists()
        )
        with Beats(self._teller(name)):
            try:
                said = self.link.deliver(name, path)
            except HubRefuses as error:
                if error.status == 401:  # not about the release: it is kept for a better token
                    raise
                self.log("refused by the hub", job=name, why=str(error))
                _write(folder / ENDED_FILE, {"state": "refused", "why": str(error)})
                return
        self.log("delivered", job=name, release=said.get("release"), trail=said.get("trail"))
        _write(folder / ENDED_FILE, {"state": "delivered", **said})

    def _resume_job(self, folder: Path) -> None:
        """Go on with a job that was begun before: deliver it, or end it; never compute it again."""
        name = folder.name
        if (folder / ENDED_FILE).exists():
            state = json.loads((folder / ENDED_FILE).read_text())
            if state.get("state") != "failed":
                if (folder / RELEASED).is_dir():
                    self._deliver(folder)
                return
            self._tell_failure(name, state["why"], spent=state["spent"])
            return
        self.log("resumed", job=name, computed=(folder / RELEASED).is_dir())
        if (folder / RELEASED).is_dir():
            self._deliver(folder)
        else:  # what broke it off may have been the rows: then that is not for nothing
            spent = (folder / OPENED_FILE).exists() or self._is_spent(name)
            self._end_failed(folder, STOPPED, spent=spent)

    # ---- ends

    def _end_failed(self, folder: Path, why: str, *, spent: bool) -> None:
        self.log("failed", job=folder.name, why=why, spent=spent)
        told = True
        try:
            self._tell_failure(folder.name, why, spent=spent)
        except HubAway:
            told = False  # it is told when the agent resumes
        if told:
            _write(folder / ENDED_FILE, {"state": "failed", "why": why, "spent": spent})

    def _tell_failure(self, job: str, why: str, *, spent: bool) -> None:
        with contextlib.suppress(HubRefuses):  # the hub has ended it already
            self.link.fail(job, why, spent=spent)

    def _close(self, folder: Path, error: BaseException) -> None:
        """What was not foreseen ends everything, and says little."""
        self._closed = True
        with contextlib.suppress(Exception):  # the log may be what failed
            self.log("closed", job=folder.name, why=_words_for_owner(error))
        with contextlib.suppress(Exception):
            self._tell_failure(folder.name, AGENT_CLOSED, spent=True)
            _write(folder / ENDED_FILE, {"state": "failed", "why": AGENT_CLOSED, "spent": True})

    # ---- small things

    def _begin(self, folder: Path, job: Mapping[str, Any]) -> None:
        """From here on the job is known, whatever happens."""
        beside = folder.with_name(f".{folder.name}")
        beside.mkdir(mode=0o700, exist_ok=True)
        _write(beside / BEGUN_FILE, dict(job))
        os.replace(beside, folder)

    def _is_spent(self, job: str) -> bool:
        """Whether anything may have been asked of the rows for a job, by the agent's own ledger."""
        entry = find_job(self.book.read(), job)
        return entry is not None and bool(entry["epsilon"] or entry["delta"])

    def _note_decision(self, job: Mapping[str, Any], refusal: str = "") -> None:
        decision = "refused" if refusal else "allowed"
        epsilon, delta = self.book.left()
        self.log(
            decision,
            job=_job_id(job),
            user=job.get("user"),
            operation=job.get("operation"),
            spec=job.get("spec"),
            reason=str(job.get("reason"))[:500],
            why=refusal,
            left={"epsilon": epsilon, "delta": delta},
        )

    def _foreign(
        self, operation: OperationRun, job: Mapping[str, Any]
    ) -> Mapping[str, type[ForeignMethod]]:
        """The algorithm of a job, once its digest and its signature are right."""
        if not isinstance(operation, Synthesise) or operation.algorithm is None:
            return {}
        data = self.link.algorithm(operation.algorithm)
        told = job.get("algorithm") or {}
        if digest_of(data) != operation.algorithm:
            raise AlgorithmFailed("The package is not the one that was asked for.")
        check_signature(data, str(told.get("signature")), str(told.get("public_key")))
        return {operation.algorithm: method_of(read_package(data), self.settings.policy.limits)}

    def _open_book(self) -> LedgerFile:
        settings = self.settings
        if settings.allowance is None and not settings.ledger.exists():
            raise InputError(
                f"There is no ledger at {settings.ledger} yet; say in [allowance] what all jobs "
                "together may cost."
            )
        epsilon, delta = settings.allowance or (1.0, 0.0)
        protected = settings.protected
        return open_books(settings.ledger, epsilon, delta, protected.neighbours, protected.unit)

    def _check_dataset(self) -> None:
        """The hub must speak of the data set that the owner means: same columns, same guarantee."""
        if self._checked:
            return
        settings = self.settings
        try:
            told = self.link.dataset(settings.dataset)
        except HubRefuses as error:
            if error.status != 404:
                raise
            raise HubRefuses(
                f"The hub shows this agent no data set {settings.dataset!r}; check the id, and "
                "choose the agent on the data set's page at the hub, under “Texts and budget”.",
                404,
            ) from error
        check_columns(Schema.from_dict(told.get("schema"), "The hub's schema"), self.schema)
        unit = told.get("unit")
        protected = settings.protected
        theirs = (told.get("neighbours"), _unit(unit))
        if theirs != (protected.neighbours, (protected.person, protected.max_rows_per_person)):
            raise InputError(
                "The hub registered the data set with other neighbours or another unit of "
                "protection than the agent's settings say; bring them together."
            )
        use = told.get("use") or {}
        known = ("purpose", "conditions", "contact")
        words = {name: str(use.get(name, "")) for name in known}
        self._use = TermsOfUse(title=str(told.get("name", "")), **words)
        self._checked = True

    def _check_open(self) -> None:
        if self._closed:
            raise AgentClosed("The agent has closed; look into its log, and start it again.")


FORESEEN = (BudgetError, AlgorithmFailed, JobStopped, HubAway, HubRefuses)
"""Failures that do not depend on the rows: the ledger's, the algorithm's (which has paid for what
it knows), the hub's.
"""


def _sentence_for_hub(error: Exception) -> str:
    """What of a failure the hub is told."""
    if isinstance(error, AlgorithmFailed | JobStopped):
        return str(error)
    if isinstance(error, BudgetError):
        return OWN_LEDGER_REFUSED
    return AGENT_FAILED


def _words_for_owner(error: BaseException) -> str:
    """What the owner reads in the log: of errors that were not written for people, no text."""
    if isinstance(error, UnderstudyError):
        return str(error)
    return describe_failure(error)


def _job_id(job: Mapping[str, Any]) -> str:
    name = job.get("id")
    if not isinstance(name, str) or not _JOB_ID.fullmatch(name):
        raise HubAway("The hub's answer is not one of ours.")
    return name


def _amount(job: Mapping[str, Any], name: str) -> Fraction:
    """What was approved, to the last digit."""
    digits = job.get(name)
    if not isinstance(digits, str) or not re.fullmatch(r"[0-9]{1,20}(\.[0-9]{1,400})?", digits):
        raise HubAway("The hub's answer is not one of ours.")
    return Fraction(digits)


def _seed(job: Mapping[str, Any]) -> int | None:
    seed = job.get("seed")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 64:
        return None
    return seed


def _unit(unit: Any) -> tuple[Any, Any]:
    if isinstance(unit, Mapping):
        return unit.get("person"), unit.get("max_rows_per_person", 1)
    return None, 1


def _write(path: Path, document: Mapping[str, Any]) -> None:
    replace_content(path, (json.dumps(document) + "\n").encode())
