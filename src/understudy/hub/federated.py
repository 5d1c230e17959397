"""A job over the rows of several owners, who trust neither each other nor the hub.

Each owner's agent is a holder of the secure federation (:mod:`understudy.federation`): it adds its
share of the noise, and its numbers travel under masks. The hub's worker is the analyst. Agents call
out only, so that messages go through the hub's database (:mod:`understudy.hub.relay`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import sqlalchemy as sa

from understudy.data.schema import Schema
from understudy.errors import InputError, UnderstudyError
from understudy.federation import HolderGone
from understudy.federation.messages import Message
from understudy.federation.ways import federate
from understudy.hub import relay, trail
from understudy.hub.access import check
from understudy.hub.agents import AgentRecord
from understudy.hub.database import Transaction
from understudy.hub.errors import NotFound, Unavailable
from understudy.hub.job_ledgers import JobLedger
from understudy.hub.names import MANAGE
from understudy.hub.opening import Hub
from understudy.hub.operation_runs import OperationRun
from understudy.hub.operations import Synthesise
from understudy.hub.policy import Operation
from understudy.hub.protection import read_protected
from understudy.hub.records import Job, read_dataset
from understudy.hub.tables import agents, holders
from understudy.models.model import Model
from understudy.release.callbacks import Progress

MIN_HOLDERS = 2
AGENT_PATIENCE = 60.0
"""Seconds that an agent may take for one answer."""

ANSWER_PAUSE = 0.02


class FederationFailed(InputError):  # noqa: N818 - what happened
    """Several owners' data could not be put together; the sentence tells nothing private."""


# --------------------------------------------------------------------------- who takes part


def invite(c: Transaction, actor: str, dataset: str, agent: str) -> None:
    """Ask an owner's agent to hold a part of a federated data set; twice is once."""
    check(c, actor, Operation(name=MANAGE), dataset)
    if read_dataset(c, dataset).mode != "federated":
        raise InputError("Only a federated data set has several holders.")
    if c.first(sa.select(agents.c.id).where(agents.c.id == agent)) is None:
        raise NotFound("There is no such agent.")
    here = (holders.c.dataset == dataset) & (holders.c.agent == agent)
    if c.first(sa.select(holders.c.agent).where(here)) is None:
        c.execute(sa.insert(holders).values(dataset=dataset, agent=agent))
        trail.append(c, actor, "invite holder", dataset, {"agent": agent})


def join(c: Transaction, agent: AgentRecord, dataset: str) -> None:
    """Agree to an invitation, in the name of the agent's owner."""
    here = (holders.c.dataset == dataset) & (holders.c.agent == agent.id)
    row = c.first(sa.select(holders.c.agreed_at).where(here))
    if row is None:
        raise NotFound("There is no such data set.")
    if row["agreed_at"] is None:
        c.execute(sa.update(holders).where(here).values(agreed_at=c.now))
        trail.append(c, agent.worker, "join", dataset, {"owner": agent.owner})


def is_holder(c: Transaction, agent: str, dataset: str) -> bool:
    """Whether an agent was invited to hold a part of a data set."""
    here = (holders.c.dataset == dataset) & (holders.c.agent == agent)
    return c.first(sa.select(holders.c.agent).where(here)) is not None


def list_holders(c: Transaction, dataset: str) -> list[str]:
    """The agents that have agreed."""
    agreed = (holders.c.dataset == dataset) & holders.c.agreed_at.is_not(None)
    rows = c.rows(sa.select(holders.c.agent).where(agreed).order_by(holders.c.agent))
    return [row["agent"] for row in rows]


# --------------------------------------------------------------------------- computing


class RelayLink:
    """A way to a holder whose agent fetches its messages."""

    def __init__(self, hub: Hub, job: Job, agent: str, patience: float = AGENT_PATIENCE) -> None:
        self._hub = hub
        self._job = job
        self._agent = agent
        self._patience = patience
        self.name = f"agent {agent}"
        hello = Message.from_bytes(self.ask(Message("hello").to_bytes()))
        if hello.kind != "hello":
            raise HolderGone(f"The agent {agent} does not take part.")
        self.name = hello.get("name", str)

    def ask(self, message: bytes) -> bytes:
        """The holder's answer, or :class:`HolderGone`."""
        if len(message) > relay.MAX_RELAYED_BYTES:
            raise HolderGone("A message is too large to be carried.")
        with self._hub.db.transaction(alone=False) as c:
            sent = relay.send(c, self._job.id, self._job.dataset, self._agent, message)
        until = time.monotonic() + self._patience
        while time.monotonic() < until:
            with self._hub.db.reading() as c:
                answer = relay.read_answer(c, sent)
            if answer is not None:
                return answer
            time.sleep(ANSWER_PAUSE)
        raise HolderGone(f"The holder {self.name} did not answer in time.")


@dataclass(frozen=True, kw_only=True)
class SharedJob:
    """A job over the rows of several owners."""

    hub: Hub
    job: Job
    operation: OperationRun
    ledger: JobLedger
    path: Path
    """Where the model goes."""
    progress: Progress


def compute_federated(shared: SharedJob, patience: float = AGENT_PATIENCE) -> None:
    """Learn one model from the rows of all holders, and write it to a file."""
    hub, job, operation, ledger = shared.hub, shared.job, shared.operation, shared.ledger
    with hub.db.reading() as c:
        dataset = read_dataset(c, job.dataset)
        who = list_holders(c, job.dataset)
    if not isinstance(operation, Synthesise) or operation.algorithm is not None:
        raise FederationFailed("Several owners can synthesise together, by methods of ours.")
    if len(who) < MIN_HOLDERS:
        raise FederationFailed(f"Fewer than {MIN_HOLDERS} owners' agents have agreed so far.")
    protected = read_protected(dataset.neighbours, dataset.unit)
    method = operation.make_method(protected)
    schema = replace(Schema.from_dict(dict(dataset.schema)), reading={})
    links = _open_links(hub, job, who, patience)
    epsilon, delta = operation.price()
    # From here on owners may be asked: whatever happens, the price stays.
    number = ledger.reserve("federated", epsilon, delta, protected.neighbours, protected.unit)
    try:
        made = federate(links, schema, replace(method, refinement=0.0), progress=shared.progress)
    except UnderstudyError as error:
        raise FederationFailed(f"The owners' agents could not finish it: {error}") from error
    finally:
        with contextlib.suppress(Unavailable), hub.db.transaction(alone=False) as c:
            relay.clear(c, job.id)
    assert isinstance(made, Model)
    ledger.settle(number, made.ledger)
    made.save(shared.path)


def _open_links(hub: Hub, job: Job, who: Sequence[str], patience: float) -> list[RelayLink]:
    try:
        links = [RelayLink(hub, job, agent, patience) for agent in who]
    except UnderstudyError as error:
        raise FederationFailed(f"Not all owners' agents are there: {error}") from error
    if len({link.name for link in links}) < len(links):
        raise FederationFailed("Two owners' agents have one name; their owners must change it.")
    return links
