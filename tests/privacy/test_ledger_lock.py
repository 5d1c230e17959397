"""A ledger that somebody else holds: whom one waits for, and for how long."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from running import run
from understudy import Independent, InputError, Ledger, LedgerFile, OwnerWarning, Schema
from understudy.cli import _sentence_of
from understudy.data import files
from understudy.privacy.budget import Budget
from understudy.release.reservations import reserve


@contextmanager
def held(book: LedgerFile, signature: bytes | None = None) -> Iterator[None]:
    """Hold the lock, as another process would; signed as given, or as a ledger signs it."""
    with book._lock():
        if signature is not None:
            book.path.with_name(book.path.name + ".lock").write_bytes(signature)
        yield


class Clock:
    """A clock that only sleeping moves on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.slept = 0.0, 0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += 1
        assert self.slept < 1000, "it waits for ever"


@pytest.fixture
def book(tmp_path: Path) -> LedgerFile:
    return LedgerFile.create(tmp_path / "t.ledger", 3.0)


def test_it_waits_thirty_seconds_says_for_whom_and_gives_up(
    book: LedgerFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    waiting = LedgerFile(book.path, notify=told.append)
    before = book.path.read_bytes()
    clock = Clock(monkeypatch)
    who = f"process {os.getpid()} on {socket.gethostname()}"
    with held(book), pytest.raises(InputError) as refusal:
        waiting.reserve("r", 0.5, 0.0, "add_remove")
    assert 30 <= clock.now < 31
    assert who in str(refusal.value)
    assert "--wait SECONDS. Nothing was asked." in str(refusal.value)
    (sentence,) = told
    assert sentence.startswith("Waiting up to 30 s for the ledger")
    assert who in sentence
    assert book.path.read_bytes() == before


def test_a_lock_that_is_let_go_of_is_taken(
    book: LedgerFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    clock = Clock(monkeypatch)
    holding = held(book)
    holding.__enter__()

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if clock.slept == 3:
            holding.__exit__(None, None, None)

    monkeypatch.setattr(time, "sleep", sleep)
    LedgerFile(book.path, notify=told.append).reserve("r", 0.5, 0.0, "add_remove")
    assert clock.slept == 3
    assert told == []  # a moment is not worth a word
    assert book.left() == (2.5, 0.0)


@pytest.mark.parametrize("seconds", [0, 2.5])
def test_the_time_can_be_chosen(
    book: LedgerFile, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    clock = Clock(monkeypatch)
    with held(book), pytest.raises(InputError, match=f"for {seconds:g} s"):
        LedgerFile(book.path, wait=seconds).reserve("r", 0.5, 0.0, "add_remove")
    assert seconds <= clock.now <= seconds + 0.5


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(book: LedgerFile, seconds: float) -> None:
    with pytest.raises(InputError, match="seconds to wait"):
        LedgerFile(book.path, wait=seconds)


def gone() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


HERE = socket.gethostname()
SIGNATURES: dict[str, Any] = {
    "none": b"",
    "cut short": b'{"pid": 1',
    "not text": b"\xff\xfe",
    "not an object": b"7",
    "a pid that is none": json.dumps({"pid": "x", "host": HERE, "command": ""}).encode(),
    "a pid beyond all": json.dumps({"pid": 10**30, "host": HERE, "command": ""}).encode(),
}


@pytest.mark.parametrize("signature", SIGNATURES.values(), ids=SIGNATURES.keys())
def test_a_lock_that_does_not_say_whose_it_is(book: LedgerFile, signature: bytes) -> None:
    with held(book, signature), pytest.raises(InputError, match="does not say who it is"):
        LedgerFile(book.path, wait=0).reserve("r", 0.5, 0.0, "add_remove")


def test_whoever_was_killed_is_not_blamed_for_a_lock_that_another_took(book: LedgerFile) -> None:
    stale = json.dumps({"pid": gone(), "host": HERE, "command": "understudy holder"}).encode()
    with held(book, stale), pytest.raises(InputError, match="does not say who it is"):
        LedgerFile(book.path, wait=0).reserve("r", 0.5, 0.0, "add_remove")


def test_another_machine_is_named(book: LedgerFile) -> None:
    far = json.dumps({"pid": 4242, "host": "db.example", "command": "understudy holder"}).encode()
    with (
        held(book, far),
        pytest.raises(InputError, match=r"process 4242 on db\.example \(understudy holder\)"),
    ):
        LedgerFile(book.path, wait=0).reserve("r", 0.5, 0.0, "add_remove")


def test_the_signature_is_gone_with_the_lock_and_names_no_table(
    book: LedgerFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = book.path.with_name(book.path.name + ".lock")
    monkeypatch.setattr(sys, "argv", ["/x/understudy/__main__.py", "synthesize", "secret.csv"])
    with held(book):
        signed = lock.read_text()
    assert json.loads(signed)["command"] == "understudy synthesize"
    assert "secret" not in signed
    assert lock.read_bytes() == b""


def test_the_command_line_gives_up_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "x,1\ny,2\n" * 2000)
    book = LedgerFile.create(tmp_path / "u.ledger", 3.0, 1e-6)
    command = ["synthesize", tmp_path / "t.csv", "--ledger", book.path, "--method", "independent"]
    command += ["--delta", "1e-9", "--wait", "0", "-o", tmp_path / "out.csv", "--keep-going"]
    with open(f"{book.path}.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ran = run(*command)
    assert (ran.status, ran.out) == (2, "")
    assert "is locked by another process" in ran.err
    assert not (tmp_path / "out.csv").exists()
    assert book.left() == (3.0, 1e-6)
    assert run(*command).status == 0


# --------------------------------------------------------------------------- after the questions

STAYS = "the whole price stays on the books"


def asked(epsilon: float = 0.5) -> Ledger:
    ledger = Ledger(epsilon)
    ledger.debit("q", Budget(epsilon), "m")
    return ledger


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_nobody_is_told_that_nothing_was_asked_when_all_was(
    book: LedgerFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurried = LedgerFile(book.path, wait=0)
    number = book.reserve("r", 0.5, 0.0, "add_remove")
    before = book.path.read_bytes()
    refusals = []
    with held(book), pytest.raises(InputError, match="is locked by") as refusal:
        hurried.settle(number, asked())
    refusals.append(refusal)
    for owner, name, value in (
        (os, "replace", full),
        (os, "open", full),
        (os.path, "samestat", lambda *_: False),
        (files, "MAX_DOCUMENT_BYTES", len(before) + 9),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, value)
            with pytest.raises(InputError) as refusal:
                hurried.settle(number, asked())
        refusals.append(refusal)
    for refusal in refusals:
        assert STAYS in str(refusal.value).lower()
        assert "nothing was asked" not in str(refusal.value).lower()
        assert "try again" not in str(refusal.value)
    assert book.path.read_bytes() == before


def test_a_model_that_is_paid_for_is_returned_though_its_ledger_is_locked(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 3.0)
    schema = Schema.from_dict({"attributes": {"a": {"kind": "categorical", "values": ["x", "y"]}}})
    told: list[str] = []
    holding = held(book)

    class Interrupted(Independent):
        def learn(self, curator: Any, budget: Any, progress: Any) -> Any:
            holding.__enter__()
            return super().learn(curator, budget, progress)

    model = Interrupted(epsilon=1.0).fit(
        pd.DataFrame({"a": ["x", "y"] * 20}),
        schema,
        ledger=LedgerFile(book.path, wait=0),
        notify=told.append,
    )
    holding.__exit__(None, None, None)
    assert model.sample(3).shape == (3, 1)
    (sentence,) = told
    assert sentence.startswith("The release is made and paid for")
    assert STAYS in sentence.lower()
    assert book.left() == (2.0, 0.0)
    assert book.read()["releases"][0]["state"] == "reserved"


def test_the_owner_is_warned_where_nobody_else_is_told(book: LedgerFile) -> None:
    holding = held(book)
    with (
        pytest.warns(OwnerWarning, match="The release is made"),
        reserve(LedgerFile(book.path, wait=0), "r", asked(), None),
    ):
        holding.__enter__()
    holding.__exit__(None, None, None)


def test_what_is_not_on_the_books_is_not_returned(book: LedgerFile) -> None:
    """A copy of before the reservation was put in the ledger's place."""
    before = book.path.read_bytes()
    with (
        pytest.raises(InputError, match="no open reservation"),
        reserve(book, "r", asked(), None),
    ):
        book.path.write_bytes(before)


def test_a_refusal_is_not_hidden_by_a_ledger_that_is_locked(book: LedgerFile) -> None:
    holding = held(book)

    def refuse() -> None:
        with reserve(LedgerFile(book.path, wait=0), "r", asked(), None):
            holding.__enter__()
            raise InputError("The question is too large.")

    with pytest.raises(InputError, match=r"^The question is too large\.") as refusal:
        refuse()
    holding.__exit__(None, None, None)
    (note,) = refusal.value.__notes__
    assert STAYS in note.lower()
    assert _sentence_of(refusal.value) == f"The question is too large. {note}"
    assert book.left() == (2.5, 0.0)
