"""A holder's door: who is let in, how much is read, one question at a time, and a log that never
lags behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from answering import Answering
from starlette.requests import ClientDisconnect

from understudy import InputError
from understudy.federation import server as served
from understudy.federation.identity import Identity
from understudy.federation.server import AuditLog, make_holder_app, open_listener

ANALYST = Identity.new("registry").certificate


def asked(
    answer: Callable[[bytes], bytes],
    *bodies: bytes,
    certificate: bytes = ANALYST.der,
    path: str = "/ask",
) -> list[httpx.Response]:
    """What the application answers to messages that arrive at the same time, under a certificate
    that TLS let in.
    """
    app = make_holder_app(Answering(lambda message, _: answer(message)), [ANALYST])

    async def with_certificate(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "state": {"certificate": certificate}}, receive, send)

    async def together() -> list[httpx.Response]:
        transport = httpx.ASGITransport(with_certificate)
        async with httpx.AsyncClient(transport=transport, base_url="https://north") as client:
            waiting: list[Awaitable[httpx.Response]] = [
                client.post(path, content=body) for body in bodies
            ]
            return list(await asyncio.gather(*waiting))

    return asyncio.run(together())


def test_bytes_in_bytes_out() -> None:
    (answer,) = asked(lambda message: message[::-1], b"hello")
    assert (answer.status_code, answer.content) == (200, b"olleh")


def test_there_is_one_door() -> None:
    (answer,) = asked(lambda message: message, b"", path="/openapi.json")
    assert answer.status_code == 404


def test_a_certificate_that_nobody_listed_is_refused() -> None:
    for other in (b"", Identity.new("registry").certificate.der):
        (answer,) = asked(lambda message: b"secret", b"hello", certificate=other)
        assert (answer.status_code, answer.text) == (
            403,
            "This holder answers only the analysts that it knows.",
        )


def test_a_message_that_is_too_large_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "MAX_MESSAGE_BYTES", 1000)
    seen: list[int] = []

    def answer(message: bytes) -> bytes:
        seen.append(len(message))
        return b"fine"

    fits, too_large = asked(answer, b"x" * 1000, b"x" * 1001)
    assert (fits.status_code, too_large.status_code, seen) == (200, 413, [1000])
    assert too_large.text == "A message has at most 1,000 bytes."


def test_few_messages_are_kept_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that wait for their answer take memory, too."""
    kept, most = [0], [0]
    plain = served._read_body

    async def counted(request: Any) -> bytes | None:
        kept[0] += 1
        most[0] = max(most[0], kept[0])
        return await plain(request)

    def answer(message: bytes) -> bytes:
        kept[0] -= 1
        return message

    monkeypatch.setattr(served, "_read_body", counted)
    answers = asked(answer, *(bytes([place]) for place in range(20)))
    assert [a.content for a in answers] == [bytes([place]) for place in range(20)]
    assert most == [served.MAX_PENDING_MESSAGES]


def test_who_asks_is_told_to_the_holder() -> None:
    app = make_holder_app(Answering(lambda message, asker: asker.encode()), [ANALYST])

    async def with_certificate(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "state": {"certificate": ANALYST.der}}, receive, send)

    async def once() -> httpx.Response:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(with_certificate), base_url="https://x"
        ) as client:
            return await client.post("/ask", content=b"hello")

    assert asyncio.run(once()).content == b"registry"


def test_one_question_at_a_time() -> None:
    busy, most = [0], [0]
    lock = threading.Lock()

    def answer(message: bytes) -> bytes:
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        for _ in range(1000):
            os.stat("/")
        with lock:
            busy[0] -= 1
        return message

    answers = asked(answer, *(bytes([i]) for i in range(8)))
    assert [answer.content for answer in answers] == [bytes([i]) for i in range(8)]
    assert most == [1]


# ---- the log


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_log_names_the_analyst_and_is_on_disk_before_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    really = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (really(handle), synced.append(handle))[0])
    log = AuditLog(tmp_path / "audit.jsonl", lambda: (1.5, 0.0))

    def answer(message: bytes) -> bytes:
        before = len(synced)
        log({"asked": "a table", "answered": "with noise"})
        assert len(synced) == before + 1
        return b"done"

    asked(answer, b"hello")
    (line,) = lines(tmp_path / "audit.jsonl")
    assert (line["analyst"], line["asked"], line["answered"]) == (
        "registry",
        "a table",
        "with noise",
    )
    assert line["at"].endswith("+00:00")
    assert line["allowance_left"] == {"epsilon": 1.5, "delta": 0.0}


def test_the_log_only_grows(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    AuditLog(path)({"asked": "one"})
    shown: list[str] = []
    again = AuditLog(path, notify=shown.append)
    again({"asked": "close", "answered": "closed"})
    assert [line["asked"] for line in lines(path)] == ["one", "close"]
    assert shown[0].endswith(" closed the session; the ledger is settled")
    assert path.stat().st_mode & 0o077 == 0


def test_a_log_that_cannot_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="The log cannot be written"):
        AuditLog(tmp_path / "nowhere" / "audit.jsonl")
    log = AuditLog(tmp_path / "audit.jsonl")
    (tmp_path / "audit.jsonl").unlink()
    (tmp_path / "audit.jsonl").mkdir()
    with pytest.raises(InputError, match="nothing is answered without it"):
        log({"asked": "one"})


def test_what_the_owner_should_see_is_shown_when_the_log_fails(tmp_path: Path) -> None:
    shown: list[str] = []
    log = AuditLog(tmp_path / "audit.jsonl", notify=shown.append)
    (tmp_path / "audit.jsonl").unlink()
    (tmp_path / "audit.jsonl").mkdir()
    with pytest.raises(InputError):
        log({"asked": "one"})
    assert len(shown) == 1
    assert shown[0].endswith("nothing is answered without it.")


def test_whatever_text_an_analyst_sends_can_be_logged(tmp_path: Path) -> None:
    AuditLog(tmp_path / "audit.jsonl")({"answered": "refused", "why": "no rule \ud800"})
    assert lines(tmp_path / "audit.jsonl")[0]["why"] == "no rule \ud800"


def test_what_goes_wrong_around_a_holder_closes_it() -> None:
    """And an exception of the holder's own, which it should have seen to by itself."""

    def fail(message: bytes) -> bytes:
        raise MemoryError

    answers = asked(fail, b"one", b"two")
    assert [(answer.status_code, answer.content) for answer in answers] == [(200, b"closed")] * 2


def test_an_error_while_a_message_is_read_closes_the_holder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def break_down(request: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(served, "_read_body", break_down)
    holder = Answering(lambda message, _: b"fine")
    monkeypatch.setattr("test_server.Answering", lambda answer: holder)
    (answer,) = asked(lambda message: b"fine", b"one")
    assert (answer.content, holder.answer(b"", "")) == (b"closed", b"closed")
    assert [type(error) for error in holder.closed_by] == [MemoryError]


def test_one_that_hangs_up_in_the_middle_closes_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or every analyst could close a holder at will."""

    def hang_up(request: Any) -> None:
        raise ClientDisconnect

    monkeypatch.setattr(served, "_read_body", hang_up)
    (answer,) = asked(lambda message: b"fine", b"one")
    assert answer.status_code == 400


# ---- listening


@pytest.mark.parametrize(
    "address", ["", "8443", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000"]
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(InputError, match="must be host:port"):
        open_listener(address)


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield f"127.0.0.1:{other.getsockname()[1]}"


def test_a_port_that_is_taken(taken: str) -> None:
    with pytest.raises(
        InputError, match=f"{taken} is taken by another process; choose another port or stop it"
    ):
        open_listener(taken)


def test_an_address_of_another_machine() -> None:
    with pytest.raises(InputError, match=r"cannot listen at 192\.0\.2\.1:9"):
        open_listener("192.0.2.1:9")
