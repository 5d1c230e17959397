"""Messages of a secure federation, carried by the hub to agents that only call out.

The hub is the analyst of the federation, whom its protocol trusts with nothing: what passes here
are questions that the hub asks itself, numbers under masks that only cancel in the sum, sealed
shares and keys that the holders have signed for each other. So carrying them tells the hub no more
than asking does. What it can do is lose, delay or change messages: then signatures do not fit or
masks do not cancel, and the job fails.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from understudy.hub.database import Transaction
from understudy.hub.errors import NotFound
from understudy.hub.names import new_id
from understudy.hub.tables import jobs, relay

MAX_RELAYED_BYTES = 64 << 20
"""Of a message, and of an answer."""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A message that an agent has not answered yet."""

    id: str
    job: str
    question: bytes


def send(c: Transaction, job: str, dataset: str, agent: str, question: bytes) -> str:
    """Put a message on its way; its id."""
    here = (relay.c.job == job) & (relay.c.agent == agent)
    number = int(c.value(sa.select(sa.func.count()).where(here)) or 0)
    message = new_id()
    c.execute(
        sa.insert(relay).values(
            id=message,
            job=job,
            dataset=dataset,
            agent=agent,
            number=number,
            question=question,
            created_at=c.now,
        )
    )
    return message


def find_next(c: Transaction, agent: str, dataset: str) -> Waiting | None:
    """The oldest message that an agent has not answered, of a job that still runs."""
    row = c.first(
        sa.select(relay.c.id, relay.c.job, relay.c.question)
        .join(jobs, jobs.c.id == relay.c.job)
        .where(
            relay.c.agent == agent,
            relay.c.dataset == dataset,
            relay.c.answer.is_(None),
            jobs.c.state == "running",
        )
        .order_by(relay.c.created_at, relay.c.number)
        .limit(1)
    )
    if row is None:
        return None
    return Waiting(id=row["id"], job=row["job"], question=bytes(row["question"]))


def answer(c: Transaction, agent: str, message: str, data: bytes) -> None:
    """Take an agent's answer; the first one counts."""
    own = (relay.c.id == message) & (relay.c.agent == agent)
    if c.first(sa.select(relay.c.id).where(own)) is None:
        raise NotFound("There is no such message.")
    c.execute(sa.update(relay).where(own, relay.c.answer.is_(None)).values(answer=data))


def read_answer(c: Transaction, message: str) -> bytes | None:
    """The answer to a message, once there is one."""
    found = c.value(sa.select(relay.c.answer).where(relay.c.id == message))
    return None if found is None else bytes(found)


def clear(c: Transaction, job: str) -> None:
    """Forget the messages of a job that has ended."""
    c.execute(sa.delete(relay).where(relay.c.job == job))
