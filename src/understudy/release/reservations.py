"""A price on the owner's books before anything is asked, and what was asked at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from understudy.errors import UnderstudyError
from understudy.privacy.ledger import Ledger, LedgerFile
from understudy.release.callbacks import Notify, warn_owner


@contextmanager
def reserve(
    file: LedgerFile | None,
    release: str,
    ledger: Ledger,
    fingerprint: str | None,
    notify: Notify = warn_owner,
) -> Iterator[None]:
    """Put the whole price of a ledger on the books, and settle what was asked at the end.

    A run that is refused before it asked anything has cost nothing, and one that stops at a
    declared point what could be asked until then. Any other end, a crash included, leaves the
    reservation in full. Where settling fails, the reservation is in full, too:
    what was paid for is not thrown away, and the owner is told. Without a file nothing is kept.
    """
    if file is None:
        yield
        return
    price = ledger.epsilon, ledger.delta, ledger.neighbours, ledger.unit
    number = file.reserve(release, *price, table=fingerprint)
    try:
        yield
    except UnderstudyError as refusal:
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
