"""Prices on the owner's books: reserved, settled, and taken up again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from understudy import InputError, Ledger, LedgerFile
from understudy.privacy.budget import Budget
from understudy.release.reservations import goes_on, reserve


@pytest.fixture
def file(tmp_path: Path) -> LedgerFile:
    return LedgerFile.create(tmp_path / "owner.ledger", 5.0)


class Journal:
    """What a release remembers of its reservation."""

    def __init__(self, release: str | None = None) -> None:
        self.release = release
        self.begun: list[str] = []

    def begin(self, release: str, claims: Any) -> None:
        self.release = release
        self.begun.append(release)


def test_a_release_goes_on_only_by_its_own_reservation(file: LedgerFile) -> None:
    number = file.reserve("method", 1.0, 0.0, "add_remove", "row")
    assert not goes_on(file, None)
    assert not goes_on(None, None)
    assert not goes_on(file, Journal())
    assert not goes_on(None, Journal())
    assert goes_on(file, Journal(number))
    assert not goes_on(file, Journal("another"))
    with pytest.raises(InputError, match="name its ledger file"):
        goes_on(None, Journal(number))
    file.settle(number, Ledger(1.0))
    assert not goes_on(file, Journal(number))


def release(
    file: Any, ledger: Ledger, *, asks: float = 0.5, ends: BaseException | None = None, **more: Any
) -> None:
    """A run that asks one question, or none, and ends as it is told to."""
    with reserve(file, "method", ledger, None, **more):
        if asks:
            ledger.debit("q", Budget(asks), "m")
        if ends is not None:
            raise ends


def test_a_release_that_asked_anything_costs_its_price(file: LedgerFile) -> None:
    release(file, Ledger(2.0))
    assert file.left()[0] == 3.0
    with pytest.raises(InputError, match="no"):
        release(file, Ledger(1.0), ends=InputError("no"))
    assert file.left()[0] == 2.0


def test_a_refusal_before_anything_was_asked_costs_nothing_and_a_crash_all(
    file: LedgerFile,
) -> None:
    with pytest.raises(InputError, match="no"):
        release(file, Ledger(2.0), asks=0.0, ends=InputError("no"))
    assert file.left()[0] == 5.0
    with pytest.raises(ZeroDivisionError):
        release(file, Ledger(2.0), asks=0.0, ends=ZeroDivisionError())
    assert file.left()[0] == 3.0


def test_the_price_is_on_the_books_before_anything_is_asked(file: LedgerFile) -> None:
    with reserve(file, "method", Ledger(2.0), None):
        assert file.left()[0] == 3.0


def test_without_a_file_nothing_is_kept() -> None:
    ledger = Ledger(2.0)
    release(None, ledger)
    assert ledger.claims is None
    assert ledger.spent()[0] == 0.5


def test_a_release_that_goes_on_takes_up_its_reservation(file: LedgerFile) -> None:
    journal, first = Journal(), Ledger(2.0)
    with pytest.raises(KeyboardInterrupt):
        release(file, first, ends=KeyboardInterrupt(), journal=journal)
    assert first.claims is not None
    assert journal.begun == [journal.release]
    assert file.left()[0] == 3.0
    # A part that asks nothing before it is refused gives nothing back: the one before has asked.
    with pytest.raises(InputError, match="no"):
        release(file, Ledger(2.0), asks=0.0, ends=InputError("no"), journal=journal)
    assert file.left()[0] == 3.0
    release(file, Ledger(2.0), asks=2.0, journal=journal)
    assert len(journal.begun) == 1
    assert file.left()[0] == 3.0


def test_a_release_that_cannot_be_listed_is_told_of(
    file: LedgerFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise InputError("The disk is full.")

    told: list[str] = []
    monkeypatch.setattr(file, "settle", fail)
    release(file, Ledger(1.0), notify=told.append)
    assert told == [
        "The release is made and paid for, but the ledger does not list what was asked. "
        "The disk is full."
    ]
    assert file.left()[0] == 4.0
    with pytest.raises(InputError, match="no") as refused:
        release(file, Ledger(1.0), ends=InputError("no"))
    assert refused.value.__notes__ == ["The disk is full."]
    gone = SimpleNamespace(holds_release=lambda _: False, settle=fail, reserve=lambda *_, **__: "1")
    with pytest.raises(InputError, match="disk is full"):
        release(gone, Ledger(1.0))
