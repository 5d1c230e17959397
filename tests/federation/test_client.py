"""The analyst's link to a holder: what is sent again, what is given up, and the sentence that is
said then.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from answering import Answering

from understudy.federation import HolderGone, client
from understudy.federation.client import HttpLink
from understudy.federation.identity import Identity, Party
from understudy.federation.server import make_holder_app, make_server, open_listener


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Identity]:
    folder = tmp_path_factory.mktemp("identities")
    return {
        n: Identity.new(n).save(folder / f"{n}.pem", folder / f"{n}.key")
        for n in ("north", "registry", "other")
    }


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "RECONNECTION_PAUSES", (0.0, 0.0))


@contextmanager
def serving(known: dict[str, Identity], answer: Callable[[bytes], bytes]) -> Iterator[str]:
    """North, in a thread; gives its address."""
    listener = open_listener("127.0.0.1:0")
    analysts = [known["registry"].certificate]
    server = make_server(
        make_holder_app(Answering(lambda message, _: answer(message)), analysts),
        known["north"],
        analysts,
    )
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def through(talk: Talk, ask: Callable[[str], object]) -> None:
    """Ask something that is behind a listener that does something else than it should."""

    async def run() -> None:
        async with await asyncio.start_server(talk, "127.0.0.1", 0) as listener:
            await asyncio.to_thread(ask, f"127.0.0.1:{listener.sockets[0].getsockname()[1]}")

    asyncio.run(run())


def link(
    known: dict[str, Identity], url: str, *, pinned: str = "north", me: str = "registry"
) -> HttpLink:
    return HttpLink(Party(known[pinned].certificate, url), known[me], patience=5.0)


def test_messages_of_all_sizes(known: dict[str, Identity]) -> None:
    with serving(known, lambda message: message[::-1]) as url:
        north = link(known, url)
        assert north.name == "north"
        for message in (b"", b"hello", bytes(range(256)) * 20_000):
            assert north.ask(message) == message[::-1]


def test_who_asks_stands_in_the_log_of_the_holder_and_in_no_other(
    known: dict[str, Identity], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Wherever else the process writes, the web server says nothing of addresses and questions."""
    accesses = logging.getLogger("uvicorn.access")
    monkeypatch.setattr(accesses, "propagate", True)
    caplog.set_level(logging.INFO)
    with serving(known, lambda message: message) as url:
        link(known, url).ask(b"hello")
    said = [one.getMessage() for one in caplog.records if one.name.startswith("uvicorn")]
    assert not [line for line in said if "/ask" in line or "127.0.0.1" in line]


def test_the_wrong_certificate_is_noticed_by_both_sides(known: dict[str, Identity]) -> None:
    heard: list[bytes] = []

    def answer(message: bytes) -> bytes:
        heard.append(message)
        return b"secret"

    with serving(known, answer) as url:
        with pytest.raises(
            HolderGone, match="The holder other shows another certificate than the one you pinned"
        ):
            link(known, url, pinned="other").ask(b"hello")
        with pytest.raises(
            HolderGone,
            match="The holder north hangs up without an answer; its owner's log, or list",
        ):
            link(known, url, me="other").ask(b"hello")
    assert heard == []


def test_a_holder_that_is_down(known: dict[str, Identity]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(
        HolderGone, match=rf"The holder north cannot be reached at {url} \(.*refused.*\)\.$"
    ):
        link(known, url).ask(b"hello")


def test_something_else_listens_there(known: dict[str, Identity]) -> None:
    calls: list[int] = []

    async def mail(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        calls.append(1)
        writer.write(b"220 mail ready\r\n")
        writer.close()

    def ask(url: str) -> None:
        with pytest.raises(
            HolderGone, match=r"The holder north (cannot be reached at|hangs up without an answer)"
        ):
            link(known, url).ask(b"hello")

    through(mail, ask)
    assert len(calls) == 3


def test_a_silent_holder_is_asked_once(
    known: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bytes] = []
    enough = threading.Event()

    def answer(message: bytes) -> bytes:
        heard.append(message)
        enough.wait()
        return b"late"

    with serving(known, answer) as url:
        north = HttpLink(Party(known["north"].certificate, url), known["registry"], patience=0.5)
        try:
            with pytest.raises(
                HolderGone, match=r"The holder north did not answer within 0\.5 seconds\."
            ):
                north.ask(b"hello")
        finally:
            enough.set()
    assert heard == [b"hello"]


def test_an_answer_without_end_is_cut(
    known: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_MESSAGE_BYTES", 1000)
    with (
        serving(known, lambda message: b"x" * 1001) as url,
        pytest.raises(HolderGone, match="The holder north sends an answer without end"),
    ):
        link(known, url).ask(b"hello")


def test_a_refusal_by_the_server_is_passed_on(
    known: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.federation.server.MAX_MESSAGE_BYTES", 10)
    with (
        serving(known, lambda message: message) as url,
        pytest.raises(
            HolderGone, match="answered with HTTP status 413: A message has at most 10 bytes"
        ),
    ):
        link(known, url).ask(b"x" * 11)


def test_a_broken_connection_is_tried_again_byte_for_byte(
    known: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forwarder that drops the first answers on the way back, as a bad line does."""
    heard: list[bytes] = []

    def answer(message: bytes) -> bytes:
        heard.append(message)
        return b"stored answer"

    with serving(known, answer) as url:
        port = int(url.rpartition(":")[2])
        drops = [2]

        async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there, here = await asyncio.open_connection("127.0.0.1", port)

            async def up() -> None:
                while data := await reader.read(1 << 16):
                    here.write(data)
                here.close()

            task = asyncio.ensure_future(up())
            while data := await there.read(1 << 16):
                if (
                    drops[0] and len(heard) == 3 - drops[0]
                ):  # the question arrived, its answer is on the way
                    drops[0] -= 1
                    break
                writer.write(data)
            writer.close()
            here.close()
            task.cancel()

        def ask(line: str) -> None:
            bad_line = link(known, line)
            assert bad_line.ask(b"hello") == b"stored answer"
            bad_line.close()

        through(forward, ask)
    assert heard == [b"hello"] * 3


def test_variables_of_the_shell_lead_no_message_astray(
    known: dict[str, Identity], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("HTTPS_PROXY", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(known, lambda message: message) as url:
        assert link(known, url).ask(b"hello") == b"hello"
