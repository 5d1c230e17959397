"""A price on the owner's books before anything is asked, and what was asked at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from understudy.errors import UnderstudyError
from understudy.privacy.ledger import Ledger, LedgerFile


@contextmanager
def reserve(
    file: LedgerFile | None, release: str, ledger: Ledger, fingerprint: str | None
) -> Iterator[None]:
    """Put the whole price of a ledger on the books, and settle what was asked at the end.

    A run that is refused on its way has cost what was asked until then. Any other end, a crash
    included, leaves the reservation in full. Without a file nothing is kept.
    """
    if file is None:
        yield
        return
    price = ledger.epsilon, ledger.delta, ledger.neighbours, ledger.unit
    number = file.reserve(release, *price, table=fingerprint)
    try:
        yield
    except UnderstudyError:
        file.settle(number, ledger)
        raise
    file.settle(number, ledger)
