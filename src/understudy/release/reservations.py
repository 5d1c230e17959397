"""A price on the owner's books before anything is asked, and what was asked at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from understudy.errors import InputError, UnderstudyError
from understudy.privacy.ledger import Claims, Ledger, LedgerFile
from understudy.release.callbacks import Notify, warn_owner


class Journal(Protocol):
    """What a release that can go on after an early end remembers of its reservation."""

    release: str | None
    """The number of the reservation, once there is one."""

    def begin(self, release: str, claims: Claims) -> None:
        """Remember the number, before anything is asked."""


def goes_on(file: LedgerFile | None, journal: Journal | None) -> bool:
    """Whether a release has been paid for before, and goes on; refuses one without its ledger
    file.
    """
    if journal is None or journal.release is None:
        return False
    if file is None:
        raise InputError(
            "The checkpoint is of a release that a ledger file pays for: name its ledger file, or "
            "another checkpoint."
        )
    return file.is_reserved(journal.release)


@contextmanager
def reserve(
    file: LedgerFile | None,
    release: str,
    ledger: Ledger,
    fingerprint: str | None,
    notify: Notify = warn_owner,
    journal: Journal | None = None,
) -> Iterator[None]:
    """Put the whole price of a ledger on the books, and settle what was asked at the end.

    A run that is refused before it asked anything has cost nothing, and one that stops at a
    declared point what could be asked until then. Any other end, a crash included, leaves the
    reservation in full. Where settling fails, the reservation is in full, too:
    what was paid for is not thrown away, and the owner is told. Without a file nothing is kept.
    A release that goes on after an early end takes up the reservation that it began with, which
    comes back in no case.
    """
    known = goes_on(file, journal)
    if file is None:
        yield
        return
    if known and journal is not None and journal.release is not None:
        number = journal.release
    else:
        price = ledger.epsilon, ledger.delta, ledger.neighbours, ledger.unit
        number = file.reserve(release, *price, table=fingerprint)
        if journal is not None:
            journal.begin(number, file.claims(number))
    if journal is not None:
        ledger.claims = file.claims(number)
    try:
        yield
    except UnderstudyError as refusal:
        if known and not ledger.entries:
            raise  # the part before has asked: what this one has not asked gives nothing back
        try:
            file.settle(number, ledger)
        except UnderstudyError as error:
            refusal.add_note(str(error))
        raise
    try:
        file.settle(number, ledger)
    except UnderstudyError as error:
        # Somebody may have put another file in its place: then nothing is paid for.
        if not file.holds_release(number):
            raise
        notify(
            "The release is made and paid for, but the ledger does not list what was asked. "
            f"{error}"
        )
