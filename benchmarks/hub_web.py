"""How quickly the hub's catalogue comes, and how much the hub adds to an installation.

python benchmarks/hub_web.py                 # 200 data sets, 50 readers
python benchmarks/hub_web.py --install       # sizes, in fresh environments
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from understudy.hub import accounts, credentials, datasets, tables
from understudy.hub.datasets import DatasetSpec
from understudy.hub.opening import open_hub
from understudy.hub.passwords import Passwords

PASSWORD = "four words are long"
TARGET_MS = 150
TARGET_MB = 100
PHASES = (
    (1.0, 0.0, "a page every second each"),
    (0.0, 0.0, "without a pause"),
    (0.0, 5.0, "without a pause, while a data set changes every 5 seconds"),
)
"""Seconds between the pages of a reader and between changes, and how to say it."""


def fill(folder: Path, keys: Path, sets: int, readers: int) -> list[str]:
    """A hub with many data sets; the cookies of its readers, each of whom has signed in."""
    from understudy.hub.keys import make_keys, save_keys

    save_keys(make_keys(), keys)
    hub = open_hub(folder, keys=keys, create=True)
    hashed = Passwords().hash(PASSWORD)
    schema = {"attributes": {f"c{i}": {"kind": "boolean"} for i in range(12)}}
    with hub.db.transaction() as c:
        owner = accounts.add_user(c, actor="hub", name="owner", password_hash=hashed)
        people = [
            accounts.add_user(c, actor="hub", name=f"reader{place}", password_hash=hashed)
            for place in range(readers)
        ]
        for number in range(sets):
            spec = DatasetSpec(
                name=f"Data set {number:03}",
                description="A table that is described in a sentence or two, as tables are.",
                schema=schema,
                purpose="Research on many things, which takes a line or two to say.",
                epsilon=3.0,
                about_rows=10_000,
            )
            datasets.register(c, owner.id, spec)
        cookies = [
            f"visit={secrets.token_urlsafe(16)}; session={credentials.start_session(c, person.id)}"
            for person in people
        ]
    hub.close()
    return cookies


async def fetch(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> bytes:
    """One request on a connection that stays open; the head and the body of its answer."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    _, found, rest = head.partition(b"content-length: ")
    body = await reader.readexactly(int(rest.split(b"\r", 1)[0])) if found else b""
    return head + body


async def wait_for(port: int) -> None:
    """Until the hub answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await fetch(reader, writer, f"GET /health HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode())
    writer.close()


async def read(port: int, cookies: str, think: float, until: float, times: list[float]) -> None:
    """One reader, page after page."""
    rng = random.Random()
    head = f"HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncookie: {cookies}\r\n\r\n"
    requests = [f"GET /datasets?page={page} {head}".encode() for page in range(1, 11)]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.sleep(rng.uniform(0, max(think, 0.5)))
    while time.monotonic() < until:
        request = rng.choice(requests)
        began = time.monotonic()
        answer = await fetch(reader, writer, request)
        times.append(time.monotonic() - began)
        assert answer.startswith(b"HTTP/1.1 200"), answer[:200]
        assert b"Data set" in answer
        if think:
            await asyncio.sleep(min(rng.expovariate(1 / think), 4.0))  # idle ones are hung up on
    writer.close()


async def measure(port: int, cookies: list[str], seconds: float, think: float) -> list[float]:
    """The times of all answers, in seconds."""
    times: list[float] = []
    until = time.monotonic() + seconds
    await asyncio.gather(*(read(port, one, think, until, times) for one in cookies))
    return times


@contextmanager
def change_now_and_then(folder: Path, keys: Path, seconds: float) -> Iterator[None]:
    """Change a data set every so many seconds, so that every page must be made again; 0: never."""
    over = threading.Event()

    def work() -> None:
        hub = open_hub(folder, keys=keys)
        with hub.db.reading() as c:
            one = c.rows(sa.select(tables.datasets).limit(1))[0]
        while not over.wait(seconds):
            with hub.db.transaction() as c:
                datasets.close(c, one["owner"], one["id"])
                datasets.reopen(c, one["owner"], one["id"])
        hub.close()

    thread = threading.Thread(target=work)
    if seconds:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if seconds:
            thread.join()


def cpu_seconds(process: int) -> float:
    """The CPU time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """A port that nobody listens at."""
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def run_catalogue(options: argparse.Namespace) -> None:
    """Start a hub as an operator does, and read its catalogue."""
    with tempfile.TemporaryDirectory() as name:
        folder, keys = Path(name) / "data", Path(name) / "keys"
        cookies = fill(folder, keys, options.sets, options.readers)
        port = free_port()
        command = [sys.executable, "-m", "understudy", "hub", "serve", "--no-worker"]
        command += ["--data", str(folder), "--keys", str(keys), "--port", str(port)]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            for _ in range(300):
                time.sleep(0.1)
                try:
                    asyncio.run(wait_for(port))
                    break
                except OSError:
                    continue
            for think, changes, how in PHASES:
                busy, before, own = os.getloadavg()[0], cpu_seconds(server.pid), time.process_time()
                with change_now_and_then(folder, keys, changes):
                    times = asyncio.run(measure(port, cookies, options.seconds, think))
                each = 1000 * (cpu_seconds(server.pid) - before) / len(times)
                own = 1000 * (time.process_time() - own) / len(times)
                p50, p95 = (1000 * float(np.quantile(times, q)) for q in (0.5, 0.95))
                print(
                    f"{options.sets} data sets, {options.readers} readers, {how}: "
                    f"{len(times) / options.seconds:.0f} pages/s, median {p50:.0f} ms, "
                    f"p95 {p95:.0f} ms (to reach: {TARGET_MS}); CPU time a page: "
                    f"hub {each:.2f} ms, readers {own:.2f} ms; load {busy:.1f} before"
                )
        finally:
            server.terminate()
            server.wait(timeout=20)


def run_install() -> None:
    """Install the core, then the hub on top of it, and compare."""
    root = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, "-m", "venv", name], check=True)
        pip = [f"{name}/bin/python", "-m", "pip", "install", "--quiet", "--no-compile"]
        sizes = []
        for extra in ("", "[hub]"):
            subprocess.run([*pip, f"{root}{extra}"], check=True)
            files = (p for p in Path(name, "lib").rglob("*") if p.is_file())
            sizes.append(sum(p.stat().st_size for p in files) / 1e6)
        print(
            f"core {sizes[0]:.0f} MB, with the hub {sizes[1]:.0f} MB: "
            f"{sizes[1] - sizes[0]:.0f} MB on top (to stay below: {TARGET_MB})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--quick", action="store_true", help="5 seconds")
    parser.add_argument("--install", action="store_true", help="sizes of the installation")
    parser.add_argument("--data", help="not read: the tables here are made up")
    options = parser.parse_args()
    if options.quick:
        options.seconds = 5
    if options.install:
        run_install()
    else:
        run_catalogue(options)


if __name__ == "__main__":
    main()
