"""The ledger: what was spent, on what, under which neighbour relation.

A :class:`Ledger` accompanies one release and travels in its model. A :class:`LedgerFile` is kept by
the owner of a table and holds the allowance that all releases of that table share. Both are debited
before an answer is computed.
"""

from understudy.privacy.ledger.claims import Claims
from understudy.privacy.ledger.entries import (
    MAX_ENTRIES,
    MAX_STOPS,
    Entry,
    UnitName,
    check_max_rows_per_person,
)
from understudy.privacy.ledger.file import FREE_SESSIONS, Accepted, LedgerFile, mark_session
from understudy.privacy.ledger.release import Ledger

__all__ = [
    "FREE_SESSIONS",
    "MAX_ENTRIES",
    "MAX_STOPS",
    "Accepted",
    "Claims",
    "Entry",
    "Ledger",
    "LedgerFile",
    "UnitName",
    "check_max_rows_per_person",
    "mark_session",
]
