"""The ledger under fire: real processes share one ledger file and are killed at any moment, several
at a time.

Whatever happens, the file must say at least as much as was acknowledged, and it must never be
reset. One killed writer alone, a full disk, a read-only folder and damaged files are in
tests/privacy/test_ledger.py.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from understudy import InputError, LedgerFile
from understudy.privacy.budget import exact, total

WRITER = """
import os, sys
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger, LedgerFile
book = LedgerFile(sys.argv[1])

def tell(line):
    os.write(1, line.encode() + b"\\n")  # one write: a line is there whole or not at all

def work():
    turn = 0
    while True:
        number = book.reserve("r", 0.001, 1e-9, "add_remove")
        tell(f"{os.getpid()} reserved {number}")
        turn += 1
        if turn % 3 == 0:
            spent = Ledger(0.001, 1e-9, threshold_delta=1e-9)
            if turn % 2:  # every other one asked nothing, and is free
                spent.debit("q", Budget(0.001), "m", 1e-9)
            tell(f"{os.getpid()} settling {number}")  # from here on it may count for nothing
            book.settle(number, spent)
            tell(f"{os.getpid()} settled {number}")

import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are not waited for
while os.read(0, 1):  # each byte asks for one more writer
    pid = os.fork()
    if pid == 0:
        os.close(0)
        work()
    tell(f"{pid} started -")
"""

TOGETHER = 4


def under_fire(path: Path, kills: int, seed: int) -> None:
    """Keep several writers at work on one file, kill one of them at random, start another, and so
    on.
    """
    rng = random.Random(seed)
    book = LedgerFile.create(path, 1000.0, 1e-3)
    reserved: set[str] = set()
    settling: set[str] = set()
    settled: set[str] = set()
    told = {b"reserved": reserved, b"settling": settling, b"settled": settled}
    alive: list[int] = []
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        started = 0

        def one_more() -> None:
            nonlocal started
            nursery.stdin.write(b".")  # type: ignore[union-attr]
            nursery.stdin.flush()  # type: ignore[union-attr]
            started += 1

        def listen() -> None:
            pid, what, which = nursery.stdout.readline().split()  # type: ignore[union-attr]
            if what == b"started":
                alive.append(int(pid))
            else:
                told[what].add(which.decode())

        for _ in range(TOGETHER):
            one_more()
        try:
            for kill in range(1, kills + 1):
                while len(alive) < TOGETHER:
                    listen()
                for _ in range(rng.randrange(6)):
                    listen()
                for _ in range(
                    rng.randrange(20_000)
                ):  # some random moment; how long it is makes no difference
                    pass
                os.kill(alive.pop(rng.randrange(len(alive))), signal.SIGKILL)
                if kill % 10 == 0:
                    agrees(book, reserved, settled)
                one_more()
            while len(alive) < TOGETHER:
                listen()
        finally:
            for pid in alive:
                os.kill(pid, signal.SIGKILL)
        nursery.stdin.close()
        for line in nursery.stdout:  # what was told before the end
            _, what, which = line.split()
            if what != b"started":
                told[what].add(which.decode())
    releases = agrees(book, reserved, settled)
    # All that was told has been heard: nothing became free but by a settlement that its writer had
    # begun.
    free = {number for number, release in releases.items() if not release["epsilon"]}
    assert free <= settling
    spent = total([release["epsilon"] for release in releases.values()])
    assert spent >= total([0.001] * len(reserved - free))
    assert exact(book.left()[0]) <= 1000 - spent
    assert started >= kills + TOGETHER
    assert len(reserved) >= kills / 2
    assert settled
    # The survivors of it all still work: no lock is left behind, and nothing was reset.
    before = len(book.read()["releases"])
    book.reserve("afterwards", 0.001, 0.0, "add_remove")
    assert len(book.read()["releases"]) == before + 1


def agrees(book: LedgerFile, reserved: set[str], settled: set[str]) -> dict[str, Any]:
    """The file says at least what was acknowledged, and what it says adds up."""
    releases = {release["number"]: release for release in book.read()["releases"]}
    assert reserved <= releases.keys()
    assert all(releases[number]["state"] == "settled" for number in settled)
    for release in releases.values():
        free = release["state"] == "settled" and not release["entries"]
        assert (release["epsilon"], release["delta"]) == ((0.0, 0.0) if free else (0.001, 1e-9))
    return releases


def test_writers_killed_while_others_write_lose_nothing(tmp_path: Path) -> None:
    under_fire(tmp_path / "t.ledger", kills=60, seed=11)


@pytest.mark.slow
def test_two_hundred_and_forty_writers_killed(tmp_path: Path) -> None:
    under_fire(tmp_path / "t.ledger", kills=240, seed=12)


# ------------------------------------------ a disk that is really full

CRAMPED = """
import resource, signal, sys
from understudy import InputError
from understudy.privacy.ledger import LedgerFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
book = LedgerFile(sys.argv[1])
size = book.path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, size + 10))
try:
    book.reserve("too long a name for the room that is left", 0.1, 0.0, "add_remove")
except InputError as error:
    print(error)
    sys.exit(3)
"""


def test_a_file_that_cannot_grow_refuses_the_release(tmp_path: Path) -> None:
    """A limit on the size of files makes the write itself fail half way, as a full disk does."""
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    book.reserve("before", 0.5, 0.0, "add_remove")
    before = book.path.read_bytes()
    ran = subprocess.run(
        [sys.executable, "-c", CRAMPED, str(book.path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 3, ran.stderr
    assert "cannot be written" in ran.stdout
    assert "nothing was asked" in ran.stdout
    assert book.path.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"t.ledger", "t.ledger.lock"}


def test_every_single_damaged_byte_is_noticed(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    book.reserve("mine", 0.5, 0.0, "add_remove")
    whole = book.path.read_bytes()
    document = json.loads(whole)
    rng = random.Random(3)
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.randrange(8)
        book.path.write_bytes(damaged)
        try:
            found = book.read()
        except InputError:
            assert book.path.read_bytes() == damaged
        else:  # space between values, which means nothing
            assert found == document
    for end in range(len(whole) - 1):
        book.path.write_bytes(whole[:end])
        with pytest.raises(InputError):
            book.reserve("r", 0.1, 0.0, "add_remove")
        assert book.path.read_bytes() == whole[:end]
