"""What owners' agents ask the hub, over connections that they open.

Nobody but the agent whose token it is gets an answer, and only about its own data sets and jobs. It
is handed approved jobs and hands in one document for each.
"""

from __future__ import annotations

import asyncio
import base64
import os
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from understudy.hub import agents, algorithms, federated, jobs, relay
from understudy.hub.agents import AgentRecord
from understudy.hub.amounts import write_amount
from understudy.hub.database import Transaction
from understudy.hub.errors import NotFound, Refused
from understudy.hub.intake import MAX_UPLOAD_BYTES, seed_of, take_in
from understudy.hub.operations import is_digest
from understudy.hub.records import Dataset, Job, read_dataset, read_job, read_request
from understudy.hub.tables import users

router = APIRouter(prefix="/api/agent", tags=["agent"])

MAX_REASON_SENT = 500
MAX_POLL_WAIT, RELAY_PAUSE = 30.0, 0.05


def authenticate_agent(
    request: Request, authorization: Annotated[str, Header()] = ""
) -> AgentRecord:
    """The agent whose token a request shows; anybody else is turned away."""
    scheme, _, secret = authorization.partition(" ")
    try:
        if scheme.lower() != "bearer":
            raise Refused("An agent shows its token.")
        with request.app.state.hub.db.reading() as c:
            return agents.authenticate(c, secret.strip())
    except Refused as error:
        raise HTTPException(401, str(error), {"www-authenticate": "Bearer"}) from error


Known = Annotated[AgentRecord, Depends(authenticate_agent)]


class Claim(BaseModel):
    """Which data set's jobs an agent asks for."""

    dataset: str = Field(max_length=100)


class ReportedProgress(BaseModel):
    """What a running job does."""

    step: str = Field(default="", max_length=200)
    done: int = Field(default=0, ge=0, le=2**53)
    steps: int = Field(default=0, ge=0, le=2**53)


class Failure(BaseModel):
    """That a job ends without a release."""

    why: str = Field(max_length=MAX_REASON_SENT)
    spent: bool = True


@router.get("/datasets/{dataset}")
def show_dataset(request: Request, agent: Known, dataset: str) -> dict[str, Any]:
    """What the hub knows of a data set of the agent's; the agent compares it with its own."""
    with request.app.state.hub.db.transaction() as c:
        agents.note_seen(c, agent)
        return _describe_dataset(_own_dataset(c, agent, dataset))


@router.post("/claim", response_model=None)
def claim(request: Request, agent: Known, asked: Claim) -> Response | dict[str, Any]:
    """The next approved job, or nothing (204).

    Agents ask every second: only where there is something to write is a writer kept waiting.
    """
    hub = request.app.state.hub
    with hub.db.reading() as c:
        _own_dataset(c, agent, asked.dataset)
        waits = agents.has_waiting_job(c, asked.dataset)
        silent = agents.is_long_unheard(c, agent)
    if silent:
        with hub.db.transaction() as c:
            agents.note_seen(c, agent)
            jobs.expire(c)
    if waits:
        with hub.db.transaction() as c:
            job = jobs.claim(c, agent.worker, [asked.dataset])
            if job is not None:
                return _describe_job(c, job)
    return Response(status_code=204)


@router.get("/jobs/{job}")
def show_job(request: Request, agent: Known, job: str) -> dict[str, Any]:
    """A job of the agent's, with its state."""
    with request.app.state.hub.db.reading() as c:
        return _describe_job(c, _own_job(c, agent, job))


@router.get("/jobs")
def list_unfinished(request: Request, agent: Known) -> list[dict[str, Any]]:
    """The jobs that the agent has begun and not ended."""
    with request.app.state.hub.db.reading() as c:
        return [_describe_job(c, job) for job in agents.read_unfinished(c, agent)]


@router.post("/jobs/{job}/progress")
def report(request: Request, agent: Known, job: str, told: ReportedProgress) -> dict[str, Any]:
    """Say what a job does, which keeps its lease; 409: stop it."""
    with request.app.state.hub.db.transaction() as c:
        _own_job(c, agent, job)
        jobs.report(c, job, agent.worker, told.step, told.done, told.steps)
    return {"state": "running"}


@router.post("/jobs/{job}/fail")
def fail(request: Request, agent: Known, job: str, told: Failure) -> dict[str, Any]:
    """End a job without a release; where nothing was asked of the rows, its price comes back."""
    why = "".join(letter for letter in told.why if letter.isprintable())
    with request.app.state.hub.db.transaction() as c:
        _own_job(c, agent, job)
        return {"state": jobs.fail(c, job, agent.worker, why, told.spent).state}


@router.post("/jobs/{job}/release")
async def release(request: Request, agent: Known, job: str) -> dict[str, Any]:
    """Hand in the model or the answers of a job; 403 with the reason where it is refused."""
    hub = request.app.state.hub

    def check() -> None:
        with hub.db.reading() as c:
            _own_job(c, agent, job)

    await run_in_threadpool(check)
    handle, name = tempfile.mkstemp(prefix="understudy-upload-")
    path = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            size = 0
            async for chunk in request.stream():
                size += len(chunk)
                if size > MAX_UPLOAD_BYTES:
                    most = MAX_UPLOAD_BYTES >> 20
                    raise HTTPException(413, f"A release is handed in with at most {most} MB.")
                file.write(chunk)
        made = await run_in_threadpool(take_in, hub.db, hub.vault, job, agent.worker, path)
    finally:
        path.unlink(missing_ok=True)
    return {"state": "done", "release": made.id, "trail": dict(made.trail)}


@router.post("/datasets/{dataset}/join")
def join(request: Request, agent: Known, dataset: str) -> dict[str, Any]:
    """Agree to hold a part of a federated data set that the agent was invited to."""
    with request.app.state.hub.db.transaction() as c:
        federated.join(c, agent, dataset)
    return {"state": "joined"}


@router.get("/relay/{dataset}", response_model=None)
async def next_message(
    request: Request, agent: Known, dataset: str, wait: float = 0.0
) -> Response | dict[str, Any]:
    """The next message of a federation for the agent; waits for one, but not for long."""
    hub = request.app.state.hub

    def look() -> dict[str, Any] | None:
        with hub.db.reading() as c:
            found = relay.find_next(c, agent.id, dataset)
            if found is None:
                return None
            job = read_job(c, found.job)
            described = {"id": found.id, "job": found.job, "user": _user_name(c, job)}
        return {**described, "question": base64.b64encode(found.question).decode()}

    until = time.monotonic() + min(max(wait, 0.0), MAX_POLL_WAIT)
    while True:
        found = await run_in_threadpool(look)
        if found is not None:
            return found
        if time.monotonic() >= until or await request.is_disconnected():
            return Response(status_code=204)
        await asyncio.sleep(RELAY_PAUSE)


@router.post("/relay/{message}/answer")
async def take_answer(request: Request, agent: Known, message: str) -> dict[str, Any]:
    """The agent's answer to a message."""
    hub = request.app.state.hub
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > relay.MAX_RELAYED_BYTES:
            raise HTTPException(413, "The answer is too large.")

    def store() -> None:
        with hub.db.transaction(alone=False) as c:
            relay.answer(c, agent.id, message, bytes(data))

    await run_in_threadpool(store)
    return {"state": "answered"}


@router.get("/algorithms/{digest}")
def send_algorithm(request: Request, agent: Known, digest: str) -> Response:
    """The package of an algorithm; the agent checks its signature itself."""
    if not is_digest(digest):
        raise NotFound("There is no such algorithm.")
    with request.app.state.hub.db.reading() as c:
        data = algorithms.read_data(c, digest)
    return Response(data, media_type="application/octet-stream")


def _own_dataset(c: Transaction, agent: AgentRecord, dataset: str) -> Dataset:
    found = read_dataset(c, dataset)
    own = found.agent == agent.id and found.owner == agent.owner
    if not own and not federated.is_holder(c, agent.id, dataset):
        raise NotFound("There is no such data set.")
    return found


def _own_job(c: Transaction, agent: AgentRecord, job: str) -> Job:
    found = read_job(c, job)
    if found.worker != agent.worker:
        raise NotFound("There is no such job.")
    return found


def _describe_dataset(dataset: Dataset) -> dict[str, Any]:
    return {
        "id": dataset.id,
        "name": dataset.name,
        "schema": dict(dataset.schema),
        "neighbours": dataset.neighbours,
        "unit": dataset.unit,
        "state": dataset.state,
        "use": dataset.use,
    }


def _user_name(c: Transaction, job: Job) -> str:
    query = users.select().with_only_columns(users.c.name).where(users.c.id == job.user)
    return str(c.value(query))


def _describe_job(c: Transaction, job: Job) -> dict[str, Any]:
    asked = read_request(c, job.request)
    described: dict[str, Any] = {
        "id": job.id,
        "dataset": job.dataset,
        "operation": job.operation,
        "spec": dict(job.spec),
        "epsilon": write_amount(job.price.epsilon),
        "delta": write_amount(job.price.delta),
        "user": _user_name(c, job),
        "reason": asked.reason,
        "state": job.state,
        "seed": seed_of(job.id),
    }
    algorithm = job.spec.get("algorithm")
    if is_digest(algorithm):
        try:
            known = algorithms.read(c, str(algorithm))
        except NotFound:
            return described
        described["algorithm"] = {
            "name": known.name,
            "version": known.version,
            "public_key": known.public_key,
            "signature": known.signature,
        }
    return described
