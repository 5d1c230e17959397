"""Agents: the owners' programs that compute beside the rows, known by a token."""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from understudy.errors import InputError
from understudy.hub import trail
from understudy.hub.access import read_subject
from understudy.hub.database import Transaction
from understudy.hub.errors import NotFound, Refused
from understudy.hub.jobs import AGENT
from understudy.hub.names import new_id
from understudy.hub.records import Job, read_priced_row
from understudy.hub.tables import agents, jobs

MAX_AGENT_NAME = 100
MAX_AGENTS = 100
"""Of one owner."""

TOKEN_START = "agent_"
"""How tokens of agents begin, so that people and programs that look for secrets know them."""

AGENT_SEEN_EVERY = dt.timedelta(seconds=20)
"""How often it is noted that an agent was heard from."""


@dataclass(frozen=True, kw_only=True)
class AgentRecord:
    """An agent, as its owner sees it."""

    id: str
    owner: str
    name: str
    created_at: dt.datetime
    seen_at: dt.datetime | None
    revoked_at: dt.datetime | None

    @property
    def worker(self) -> str:
        """How jobs name it."""
        return f"{AGENT}{self.id}"


_COLUMNS = tuple(agents.c[name] for name in AgentRecord.__dataclass_fields__)


def create(c: Transaction, owner: str, name: str) -> tuple[AgentRecord, str]:
    """A new agent, and its token: shown once, and kept as a hash."""
    subject = read_subject(c, owner)
    if not subject.active:
        raise Refused("Your account is not active yet; its approval is up to an administrator.")
    name = name.strip()
    if not 0 < len(name) <= MAX_AGENT_NAME or not name.isprintable():
        raise InputError(f"An agent needs a name of at most {MAX_AGENT_NAME} letters.")
    if len(list_agents(c, owner)) >= MAX_AGENTS:
        raise InputError(f"There are {MAX_AGENTS} agents of yours already; revoke some.")
    secret = TOKEN_START + secrets.token_urlsafe(32)
    agent = new_id()
    values = {"name": name, "hash": hash_secret(secret), "created_at": c.now}
    c.execute(sa.insert(agents).values(id=agent, owner=owner, **values))
    trail.append(c, owner, "make agent", agent, {"name": name})
    return _read(c, agent), secret


def list_agents(c: Transaction, owner: str) -> list[AgentRecord]:
    """The agents of an owner that were not revoked, by name."""
    mine = (agents.c.owner == owner) & agents.c.revoked_at.is_(None)
    rows = c.rows(sa.select(*_COLUMNS).where(mine).order_by(agents.c.name, agents.c.id))
    return [AgentRecord(**row) for row in rows]


def revoke(c: Transaction, owner: str, agent: str) -> None:
    """Answer an agent no more; doing it twice is doing it once."""
    found = _read(c, agent)
    if found.owner != owner:
        raise NotFound("There is no such agent.")
    if found.revoked_at is None:
        c.execute(sa.update(agents).where(agents.c.id == agent).values(revoked_at=c.now))
        trail.append(c, owner, "revoke agent", agent, {"name": found.name})


def authenticate(c: Transaction, secret: str) -> AgentRecord:
    """Whose token it is; :class:`Refused` where it is nobody's, or was revoked."""
    known = (agents.c.hash == hash_secret(secret)) & agents.c.revoked_at.is_(None)
    row = c.first(sa.select(*_COLUMNS).where(known))
    if row is None:
        raise Refused("That is not the token of an agent; make a new one at the hub.")
    agent = AgentRecord(**row)
    if not read_subject(c, agent.owner).active:
        raise Refused("The account of this agent's owner is not active.")
    return agent


def is_long_unheard(c: Transaction, agent: AgentRecord) -> bool:
    """Whether it is time to note that an agent was heard from; a clock may have been set back."""
    return agent.seen_at is None or not -AGENT_SEEN_EVERY < c.now - agent.seen_at < AGENT_SEEN_EVERY


def note_seen(c: Transaction, agent: AgentRecord) -> None:
    """Note that an agent was heard from, now and then."""
    if is_long_unheard(c, agent):
        c.execute(sa.update(agents).where(agents.c.id == agent.id).values(seen_at=c.now))


def has_waiting_job(c: Transaction, dataset: str) -> bool:
    """Whether a data set has a job that nobody has begun."""
    waits = (jobs.c.dataset == dataset) & (jobs.c.state == "queued")
    return c.first(sa.select(jobs.c.id).where(waits).limit(1)) is not None


def read_unfinished(c: Transaction, agent: AgentRecord) -> Sequence[Job]:
    """The jobs that an agent has begun and not ended."""
    mine = (jobs.c.worker == agent.worker) & jobs.c.state.in_(["running", "interrupted"])
    query = sa.select(jobs).where(mine).order_by(jobs.c.place.desc()).limit(100)
    return [read_priced_row(Job, row) for row in c.rows(query)]


def hash_secret(secret: str) -> str:
    """What is kept of a token; it is random and long, so that a plain hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _read(c: Transaction, agent: str) -> AgentRecord:
    row = c.first(sa.select(*_COLUMNS).where(agents.c.id == agent))
    if row is None:
        raise NotFound("There is no such agent.")
    return AgentRecord(**row)
