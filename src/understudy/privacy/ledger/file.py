"""The owner's file: the allowance that all releases of a table share, on disk."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

from understudy.data import files
from understudy.data.files import parse_json, read_json, replace_content, writable_file
from understudy.errors import BudgetError, InputError
from understudy.privacy.budget import (
    Neighbours,
    check_delta,
    check_epsilon,
    check_neighbours,
    exact,
    round_down,
    total,
)
from understudy.privacy.ledger.claims import Claims, ReservedClaims
from understudy.privacy.ledger.entries import UnitName, check_unit, list_questions
from understudy.privacy.ledger.lock import NOTHING_ASKED, PRICE_STAYS, hold_lock
from understudy.privacy.ledger.release import Ledger

LEDGER_VERSION = 1

KEY_BYTES = 32

LOCK_WAIT_SECONDS = 30.0
"""How long somebody else may hold a ledger's lock before a release is refused."""

FREE_SESSIONS = "free_sessions"
"""Where a ledger file keeps marks of sessions that cost nothing (:func:`mark_session`)."""

Accepted = Literal["same_table", "new_rows"]
"""What the owner says of a table that a ledger does not know."""


class LedgerFile:
    """The allowance of one table, shared by all its releases, on disk.

    A release reserves its whole budget before it reads a row and costs all of it once it has asked
    anything; one that crashes stays on the books in full. The file is replaced in one step, flushed
    to disk, under a lock: at no moment does it say less than was spent. A file that is damaged is
    refused, never started afresh.

    Across releases (epsilon, delta) add up (basic composition), which is sound for every mix of
    methods.

    The file also remembers which table it is kept for, by a fingerprint under a secret key that
    stands in the file: without the file nobody can check a guess against it. A release of a table
    that it does not know is refused until the owner says what it is. Whatever that is, releases go
    on adding up: a person may be in both tables.

    Parameters
    ----------
    path
        The file, which :meth:`create` has started.
    accept
        What to do about a table that the ledger does not know. ``None``: refuse. "same_table": it
        is the same rows in another form (other columns, another format), and both forms are known
        from now on. "new_rows": rows were added, removed or changed, and only this table is known
        from now on.
    wait
        For how many seconds somebody else may hold the file's lock before a release is refused.
    notify
        Called with a sentence, once, when there is somebody to wait for.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.ledger"
    >>> ledger = LedgerFile.create(path, epsilon=3.0)
    >>> ledger.left()
    (3.0, 0.0)
    """

    def __init__(
        self,
        path: str | Path,
        *,
        accept: Accepted | None = None,
        wait: float = LOCK_WAIT_SECONDS,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        if accept not in (None, "same_table", "new_rows"):
            raise InputError(f"accept must be same_table or new_rows, not {accept!r}.")
        if not 0 <= wait < math.inf:
            raise InputError(f"The seconds to wait must be a number at or above 0, not {wait!r}.")
        # One ledger must have one lock and one file, by whatever links it is reached.
        self.path = Path(path).resolve()
        self.accept = accept
        self.wait = wait
        self.details: dict[str, str] = {}  # kept with every release
        self._notify = notify or (lambda _: None)
        self._new_key = secrets.token_bytes(KEY_BYTES)  # for a file of old that has none

    @classmethod
    def create(
        cls,
        path: str | Path,
        epsilon: float,
        delta: float = 0.0,
        neighbours: Neighbours = "add_remove",
        unit: UnitName = "row",
    ) -> LedgerFile:
        """Start a ledger for a table; a file that is already there is left alone."""
        Ledger(epsilon, delta, neighbours, unit=unit)  # refuses what does not go together
        ledger = cls(writable_file(path, "ledger"))
        document = {
            "understudy_ledger": LEDGER_VERSION,
            "allowance": {"epsilon": check_epsilon(epsilon), "delta": check_delta(delta)},
            "neighbours": check_neighbours(neighbours),
            "unit": check_unit(unit),
            "key": ledger._new_key.hex(),
            "tables": [],
            "releases": [],
        }
        with ledger._lock():
            if ledger.path.exists():
                raise InputError(
                    f"There is a ledger at {path} already; it is never started afresh."
                )
            ledger._write(document)
        return ledger

    def left(self) -> tuple[float, float]:
        """The (epsilon, delta) that can still be spent."""
        return _amount_left(self.read())

    def read(self) -> dict[str, Any]:
        """The whole ledger, checked."""
        return self._check_document(read_json(self.path, "ledger"))

    def _check_document(self, document: Any) -> dict[str, Any]:
        try:
            if document["understudy_ledger"] != LEDGER_VERSION:
                raise ValueError("it was written by another version of understudy")
            if document["check"] != _check(document):
                raise ValueError("its check sum does not match")
            _amount_left(document)
            check_neighbours(document["neighbours"])
            check_unit(document.get("unit", "row"))
            _key(document)
            _tables(document)
            _free_sessions(document)
        except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
            raise InputError(
                f"The ledger {self.path} is damaged ({error}); nothing can be released until it is "
                "restored."
            ) from error
        assert isinstance(document, dict)
        return document

    def key(self) -> bytes:
        """The secret that fingerprints of tables are made with."""
        return _key(self.read()) or self._new_key

    def check_table(self, table: str) -> None:
        """Refuse a table that the ledger is not kept for, by its fingerprint; write nothing."""
        self._check_table(self.read(), table)

    def check_release(
        self, epsilon: float, delta: float, neighbours: Neighbours, unit: UnitName = "row"
    ) -> None:
        """Refuse a release that :meth:`reserve` would refuse; nothing is written."""
        self._check_release(self.read(), epsilon, delta, neighbours, unit)

    def adopt_table(self, table: str) -> None:
        """Keep the ledger for a table from now on, if it is or may be; by its fingerprint."""
        with self._lock():
            document = self.read()
            if self._adopt_table(document, table):
                self._write(document)

    def reserve(
        self,
        release: str,
        epsilon: float,
        delta: float,
        neighbours: Neighbours,
        unit: UnitName = "row",
        *,
        details: Mapping[str, str] | None = None,
        check: Callable[[Mapping[str, Any]], None] | None = None,
        table: str | None = None,
    ) -> str:
        """Put a release on the books, in full, before it reads a row; returns its number.

        Releases that protect persons add up whatever number of rows each of them lets a person
        have, since each protects whole persons; with releases that protect rows they do not.

        Parameters
        ----------
        release, epsilon, delta, neighbours, unit
            What is to be released, and at what price.
        details
            Kept with the release.
        check
            Given the ledger as it stands, while nobody else can write into it; may raise what it
            has against the release.
        table
            The fingerprint of the table under :meth:`key`; without one nobody asks which table it
            is.
        """
        with self._lock():
            document = self.read()
            self._check_release(document, epsilon, delta, neighbours, unit)
            if check is not None:
                check(document)
            if table is not None:
                self._adopt_table(document, table)
            number = secrets.token_hex(8)
            document["releases"].append(
                {
                    "number": number,
                    "release": release,
                    **(details or {}),
                    **self.details,
                    "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
                    "epsilon": epsilon,
                    "delta": delta,
                    "state": "reserved",
                }
            )
            self._write(document)
        return number

    def settle(self, number: str, ledger: Ledger) -> None:
        """Close a reservation, with the questions: in full if anything was asked, unless it stopped
        at a declared point; free of charge if nothing was.

        Of a session that cost nothing only a mark is kept: whoever opens and closes very many fills
        no file.
        """
        with self._lock(PRICE_STAYS):
            document = self.read()
            waiting = (
                r
                for r in document["releases"]
                if r["number"] == number and r["state"] == "reserved"
            )
            entry = next(waiting, None)
            if entry is None:
                raise InputError(
                    f"The ledger {self.path} has no open reservation {number!r}; nothing was "
                    "changed."
                )
            promised = ledger.epsilon, ledger.delta, ledger.neighbours, ledger.unit
            if promised != (
                entry["epsilon"],
                entry["delta"],
                document["neighbours"],
                document.get("unit", "row"),
            ):
                raise InputError(
                    f"The reservation {number!r} is another release's; nothing was changed."
                )
            epsilon, delta = ledger.promise()
            entry.update(epsilon=epsilon, delta=delta)
            entry.update(
                state="settled", **list_questions(ledger.entries), currency=ledger.currency
            )
            if not ledger.entries and "session" in entry:
                document["releases"].remove(entry)
                document.setdefault(FREE_SESSIONS, []).append(mark_session(entry["session"]))
            self._write(document, PRICE_STAYS)

    def claims(self, number: str) -> Claims:
        """How far a release in several parts has come."""
        return ReservedClaims(self, number)

    def holds_release(self, number: str) -> bool:
        """Whether a release stands on the books, settled or not."""
        return any(release["number"] == number for release in self.read()["releases"])

    def is_reserved(self, number: str) -> bool:
        """Whether a release stands on the books and is not settled."""
        return any(
            release["number"] == number and release["state"] == "reserved"
            for release in self.read()["releases"]
        )

    def _check_release(
        self, document: dict[str, Any], epsilon: float, delta: float, neighbours: str, unit: str
    ) -> None:
        if not 0 <= epsilon < math.inf or not 0 <= delta < 1:
            raise BudgetError(
                f"A release cannot cost epsilon {epsilon:g} and delta {delta:g}; nothing was asked."
            )
        if document["neighbours"] != neighbours:
            raise BudgetError(
                f"The ledger {self.path} is kept for neighbours {document['neighbours']}, and the "
                f"release is for {neighbours}; the two cannot be added up."
            )
        kept_for = document.get("unit", "row")
        if kept_for != unit:
            raise BudgetError(
                f"The ledger {self.path} is kept per {kept_for}, and the release protects each "
                f"{unit}; the two cannot be added up."
            )
        epsilon_left, delta_left = _amount_left(document)
        if exact(epsilon) > exact(epsilon_left) or exact(delta) > exact(delta_left):
            raise BudgetError(
                f"The release needs epsilon {epsilon:g} and delta {delta:g}, but the ledger "
                f"{self.path} has only epsilon {epsilon_left:g} and delta {delta_left:g} left; "
                f"nothing was asked."
            )

    def _check_table(self, document: dict[str, Any], table: str) -> None:
        """Refuse a table that is not known, unless the owner has said what it is."""
        known = _tables(document)
        # Where nothing was spent, there is nothing yet that this table's releases would have to be
        # added to.
        spent = any(r["epsilon"] or r["delta"] for r in document["releases"])
        if table in known or not known or not spent or self.accept is not None:
            return
        raise InputError(
            f"The ledger {self.path} is kept for another table, or this one has changed since: if "
            "it is the same in another form, say --same-table; if rows were added, removed or "
            "changed, --new-rows (in Python LedgerFile(..., accept='same_table' or 'new_rows')); "
            "releases go on adding up either way. For a table of other persons start another "
            "ledger. Nothing was asked."
        )

    def _adopt_table(self, document: dict[str, Any], table: str) -> bool:
        """Note in the document which table it is kept for; whether that is news."""
        self._check_table(document, table)
        known = _tables(document)
        if table in known:
            return False
        if _key(document) is None:
            document["key"] = self._new_key.hex()
        if self.accept == "same_table":
            kept = known
        else:
            kept = []
        document["tables"] = [*kept, table]
        return True

    def _lock(self, outcome: str = NOTHING_ASKED) -> AbstractContextManager[None]:
        """Hold the lock; ``outcome`` is what an error says of what has happened so far."""
        return hold_lock(self.path, self.wait, self._notify, outcome)

    def _write(self, document: dict[str, Any], outcome: str = NOTHING_ASKED) -> None:
        """Replace the file in one step that survives a crash or a power cut at any moment."""
        document["check"] = _check(document)
        data = (json.dumps(document, indent=1) + "\n").encode()
        # A file that cannot be read again would take the whole account with it.
        if len(data) > files.MAX_DOCUMENT_BYTES:
            raise InputError(
                f"The ledger {self.path} is full: it would be larger than "
                f"{files.MAX_DOCUMENT_BYTES >> 20} MB, which cannot be read again; start another "
                f"one with what is left of the allowance. {outcome.capitalize()}."
            )
        self._check_document(parse_json(data, f"ledger {self.path}"))
        try:
            replace_content(self.path, data)
        except OSError as error:
            raise InputError(
                f"The ledger {self.path} cannot be written ({error.strerror}); {outcome}."
            ) from error


def _key(document: dict[str, Any]) -> bytes | None:
    if "key" not in document:
        return None  # a file from before there were fingerprints
    key = bytes.fromhex(document["key"])
    if len(key) != KEY_BYTES:
        raise ValueError("its key has another length")
    return key


def _tables(document: dict[str, Any]) -> list[str]:
    tables = document.get("tables", [])
    if not isinstance(tables, list) or not all(isinstance(table, str) for table in tables):
        raise ValueError("its fingerprints are not texts")
    return tables


def _free_sessions(document: dict[str, Any]) -> list[str]:
    marks = document.get(FREE_SESSIONS, [])
    if not isinstance(marks, list) or not all(isinstance(mark, str) for mark in marks):
        raise ValueError("its marks of sessions are not texts")
    return marks


def mark_session(name: str) -> str:
    """What is kept of the name of a session that cost nothing, so that it is known again."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def _amount_left(document: dict[str, Any]) -> tuple[float, float]:
    left = []
    for currency in ("epsilon", "delta"):
        spent = [release[currency] for release in document["releases"]]
        if any(not isinstance(amount, int | float) or not amount >= 0 for amount in spent):
            raise ValueError("a release has no proper price")
        left.append(
            round_down(max(exact(document["allowance"][currency]) - total(spent), exact(0.0)))
        )
    return left[0], left[1]


def _check(document: dict[str, Any]) -> str:
    content = {name: value for name, value in document.items() if name != "check"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
