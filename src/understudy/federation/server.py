"""A holder on the network: one door, ``POST /ask``, behind TLS in which both sides show a pinned
certificate.

What is asked and answered is decided by :class:`understudy.federation.holder.Holder`; here it is
carried, bounded in size, answered one question at a time, and written into a log that an auditor
can read.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import errno
import json
import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol

import uvicorn
from fastapi import FastAPI, Request, Response
from starlette.requests import ClientDisconnect
from uvicorn.protocols.http.h11_impl import H11Protocol

from understudy.data.files import writable_file
from understudy.errors import InputError
from understudy.federation.identity import Certificate, Identity
from understudy.federation.messages import MAX_MESSAGE_BYTES


class ServedHolder(Protocol):
    """A :class:`understudy.federation.holder.Holder`, as its door sees it."""

    def answer(self, message: bytes, asker: str) -> bytes:
        """Answer a message of somebody, if only with a refusal."""

    def close(self, error: BaseException) -> bytes:
        """Answer nobody any more; what everybody is told from now on."""


SECONDS_TO_SEND = 120
"""A message that is not here whole after so long is given up; otherwise an idle sender would hold a
place for ever.
"""

MAX_CONNECTIONS = 16
"""Of one analyst at the same time; others have their own, so nobody takes anybody's place."""

MAX_PENDING_MESSAGES = 2
"""Of one analyst, that are read or wait for their answer at the same time: a bound on their
memory.
"""

BACKLOG = 64
"""Connections that wait to be accepted."""

_asker: ContextVar[str] = ContextVar("asker", default="")


class AuditLog:
    """One line of JSON for each thing that was asked, on disk before the answer leaves.

    The file only ever grows. Where it cannot be written, nothing is answered.

    Parameters
    ----------
    path
        The file.
    left
        Tells what is left of the holder's allowance, epsilon and delta; it stands in every line.
    notify
        Called with each line in words, for the holder's screen.
    """

    def __init__(
        self,
        path: str | Path,
        left: Callable[[], tuple[float, float]] | None = None,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        self.path = writable_file(path, "log")
        self.left = left
        self.notify = notify
        self._open().close()

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Write an event down."""
        at = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        line = {"at": at, "analyst": _asker.get(), "words": in_words(event), **event}
        if self.left is not None:
            line["allowance_left"] = dict(zip(("epsilon", "delta"), self.left(), strict=True))
        with self._open() as file:
            try:
                text = json.dumps(line, ensure_ascii=False)
                file.write(text.encode(errors="backslashreplace") + b"\n")
                os.fsync(file.fileno())
            except OSError as error:
                raise self._unwritable(error) from error
        if self.notify is not None:
            self.notify(f"{at[11:19]} {line['analyst']} {line['words']}")

    def _open(self) -> Any:
        """Opened again for every line, so that a log that was moved away for safe keeping starts
        afresh.
        """
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error
        return os.fdopen(handle, "ab", buffering=0)

    def _unwritable(self, error: OSError) -> InputError:
        why = (
            f"The log {self.path} cannot be written ({error.strerror}); "
            f"nothing is answered without it."
        )
        if self.notify is not None:
            self.notify(why)
        return InputError(why)


def in_words(event: Mapping[str, Any]) -> str:
    """What was asked and what came of it, as a sentence goes on after the analyst's name."""
    asked, answered = event.get("asked"), event.get("answered")
    if answered in ("refused", "gone"):
        return f"was refused: {event.get('why', 'there is no such session')}"
    if answered == "nothing":
        return (
            f"was not answered: {event['why']}. This holder has closed, and answers nobody until "
            "it is started again"
        )
    if asked == "open":
        terms = event["terms"]
        return (
            f"opened session {terms['session']}: {terms['way']}, "
            f"{terms['method'].get('name', 'tables')}, epsilon {terms['epsilon']:g}, delta "
            f"{terms['delta']:g}, neighbours {terms['neighbours']}, with "
            f"{', '.join(terms['holders'])}; the whole price is reserved"
        )
    if asked == "ask":
        question = _QUESTIONS.get(event.get("what", ""), "asked for {what}").format(
            **{"tables": 0, **event}
        )
        question = question.replace(" 1 noisy tables", " 1 noisy table")
        if "amount" in event:
            price = f" at {event.get('currency')} {event['amount']:.4g}"
        else:
            price = ""
        return (
            f"{question}{price}, round {event.get('round')}; "
            f"{_ANSWERS.get(str(answered), answered)}"
        )
    return f"{_STEPS.get(str(asked), asked)}; {_ANSWERS.get(str(answered), answered)}"


_QUESTIONS = {
    "tables": "asked for {tables} noisy tables",
    "vote": "asked for a vote on {tables} candidates",
    "scores": "asked for noisy scores of {tables} candidates",
    "top": "asked for the best of {tables} candidates",
    "size": "asked for the noisy number of rows",
    "model": "asked for a model of these rows",
}
_STEPS = {
    "start": "passed on the holders' keys",
    "deliver": "passed on the holders' shares",
    "agree": "asked to sign whose numbers are in the sum",
    "reveal": "asked for the shares that open the sum",
    "pick": "asked for the place of the largest sum",
    "close": "closed the session",
    "again": "sent a message again",
}
_ANSWERS = {
    "answer": "answered with noise",
    "masked": "answered with noise under masks",
    "sealed": "answered with what only the holder that chooses for all can open",
    "repeated": "answered as before",
    "shared": "answered with sealed shares of masks",
    "revealed": "told them",
    "agreed": "signed",
    "started": "their signatures are right",
    "closed": "the ledger is settled",
}


def make_holder_app(holder: ServedHolder, analysts: Sequence[Certificate]) -> FastAPI:
    """The holder's door as an ASGI application."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    names = {certificate.der: certificate.name for certificate in analysts}
    few_at_a_time = {name: asyncio.Semaphore(MAX_PENDING_MESSAGES) for name in names.values()}
    one_at_a_time = asyncio.Lock()

    @app.post("/ask")
    async def ask(request: Request) -> Response:
        # TLS has let in nobody else; this is a second lock on the same door, and it tells who it
        # is.
        name = names.get(getattr(request.state, "certificate", b""))
        if name is None:
            return _refusal(403, "This holder answers only the analysts that it knows.")
        try:
            async with few_at_a_time[name]:
                return await answer_to(name, request)
        except ClientDisconnect:
            return _refusal(400, "The message was not sent to its end.")
        except Exception as error:  # outside of the holder, which sees to its own
            return _wrap_answer(holder.close(error))

    async def answer_to(name: str, request: Request) -> Response:
        try:
            async with asyncio.timeout(SECONDS_TO_SEND):
                message = await _read_body(request)
        except TimeoutError:
            return _refusal(408, f"The message did not arrive within {SECONDS_TO_SEND} seconds.")
        if message is None:
            return _refusal(413, f"A message has at most {MAX_MESSAGE_BYTES:,} bytes.")
        async with one_at_a_time:
            _asker.set(name)
            return _wrap_answer(await asyncio.to_thread(holder.answer, message, name))

    return app


def _wrap_answer(answer: bytes) -> Response:
    return Response(answer, media_type="application/octet-stream")


async def _read_body(request: Request) -> bytes | None:
    message = bytearray()
    async for chunk in request.stream():
        message += chunk
        if len(message) > MAX_MESSAGE_BYTES:
            return None
    return bytes(message)


def _refusal(status: int, sentence: str) -> Response:
    return Response(sentence, status, media_type="text/plain")


class _ShowingCertificate(H11Protocol):
    """Uvicorn's HTTP, with the peer's certificate in the state of each request.

    Whoever has too many connections open is hung up on: one that says nothing keeps its place for
    ever, and places must not run out for the others.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        channel = transport.get_extra_info("ssl_object")
        if channel is not None:
            shown = channel.getpeercert(binary_form=True)
        else:
            shown = b""
        self.app_state = {**self.app_state, "certificate": shown}
        theirs = [one for one in self.connections if one.app_state.get("certificate") == shown]
        if len(theirs) > MAX_CONNECTIONS:
            transport.abort()

    def shutdown(self) -> None:
        """Finish the answer that is being made; on an idle line nobody is owed a goodbye, or could
        delay the end.
        """
        idle = self.cycle is None or self.cycle.response_complete
        super().shutdown()
        if idle:
            self.transport.abort()


def open_listener(address: str) -> socket.socket:
    """A socket that listens at ``host:port``."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise InputError(f"--listen must be host:port, such as 127.0.0.1:8443, not {address!r}.")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, int(port), type=socket.SOCK_STREAM
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"{address} is taken by another process; choose another port or stop it."
            ) from error
        raise InputError(f"This machine cannot listen at {address} ({error.strerror}).") from error
    return listener


def make_server(
    app: FastAPI, identity: Identity, analysts: Sequence[Certificate]
) -> uvicorn.Server:
    """A server that shows its certificate and lets in these analysts, and nobody else."""
    config = uvicorn.Config(
        app,
        http=_ShowingCertificate,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        limit_concurrency=None,  # each analyst has a limit of its own
        timeout_keep_alive=60,
        timeout_graceful_shutdown=30,
    )
    config.load()
    config.ssl = identity.tls(analysts, serving=True)
    return uvicorn.Server(config)


def answer_until_stopped(server: uvicorn.Server, listener: socket.socket) -> None:
    """Answer until the process is told to stop; a question that is being answered then is answered
    to the end.
    """
    # Being stopped is how a holder ends. Uvicorn raises the signal once more when it has finished:
    # nobody minds.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run([listener])
    finally:
        signal.signal(signal.SIGTERM, before)
