"""What a holder may still spend, and on whom: its allowance, its ledger file, everybody's share of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from understudy.errors import BudgetError, InputError, UnderstudyError
from understudy.federation.terms import Terms
from understudy.privacy.budget import check_delta, check_epsilon, exact, total
from understudy.privacy.ledger import FREE_SESSIONS, Ledger, LedgerFile, mark_session

Book = Mapping[str, Any]
"""An allowance and the releases from it, as a ledger file keeps them."""


class AllowanceRefused(BudgetError):  # noqa: N818 - what happened, in the words of this package
    """A refusal that the analyst may read as it stands."""


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """The price of one session, on the books."""

    release: dict[str, Any]
    number: str | None
    """In the ledger file."""


class Allowance:
    """Reserves the price of a session before anything is answered, and settles it at the end.

    A session is known by its name for as long as there are books: a recorded message that opens one
    opens none when it is sent again, not even after the holder was started again with its ledger
    file.

    Parameters
    ----------
    holder
        The holder's name.
    epsilon, delta
        What all sessions may cost while the holder runs; ``None`` where the ledger file alone says
        it.
    ledger_file
        The ledger on disk.
    session_share, analyst_share
        The largest share of the allowance that one session, and all sessions of one analyst, may
        take.
    kind
        What the holder calls itself in its sentences.
    notify
        Called with what the owner alone should read of a refusal: the ledger's own words name
        files and amounts.
    """

    def __init__(
        self,
        holder: str,
        *,
        epsilon: float | None,
        delta: float,
        ledger_file: LedgerFile | None,
        session_share: float | Fraction,
        analyst_share: float | Fraction,
        notify: Callable[[str], None],
        kind: str = "holder",
    ) -> None:
        if epsilon is None and ledger_file is None:
            raise InputError(
                f"A {kind} needs an allowance or a ledger file, so that it knows when to stop "
                "answering."
            )
        self._holder = f"The {kind} {holder}"
        self._file = ledger_file
        self._session_share = check_share("session_share", session_share)
        self._analyst_share = check_share("analyst_share", analyst_share)
        self._tell_owner = notify
        self._book: dict[str, Any] | None = None
        if epsilon is not None:
            allowed = {"epsilon": check_epsilon(epsilon), "delta": check_delta(delta)}
            self._book = {"allowance": allowed, "releases": []}

    def reserve(self, terms: Terms, analyst: str) -> Reservation:
        """Put the whole price of a session on the books, or refuse."""
        details = {"analyst": analyst, "session": terms.session}
        entry = {**details, "epsilon": terms.epsilon, "delta": terms.delta}
        refused = (
            f"{self._holder} does not allow a release at epsilon {terms.epsilon:g}, "
            f"delta {terms.delta:g}"
        )

        def check(book: Book) -> None:
            why = self._objection(book, entry)
            if why:
                raise AllowanceRefused(f"{refused}: {why}.")

        if self._book is not None:
            if _overdraws(self._book["releases"], entry, self._book["allowance"], Fraction(1)):
                raise AllowanceRefused(f"{refused}: it would overdraw its allowance.")
            check(self._book)
        number = None
        if self._file is not None:
            what = f"{terms.way}, {terms.method.get('name', 'tables')}, session {terms.session}"
            try:
                number = self._file.reserve(
                    what,
                    terms.epsilon,
                    terms.delta,
                    terms.neighbours,
                    details=details,
                    check=check,
                )
            except AllowanceRefused:
                raise
            except UnderstudyError as error:
                self._tell_owner(str(error))
                raise BudgetError(f"{refused}: its ledger does not allow it.") from None
        if self._book is not None:
            self._book["releases"].append(entry)
        return Reservation(release=entry, number=number)

    def settle(self, reservation: Reservation, ledger: Ledger) -> None:
        """Close a reservation: in full if anything was asked, free of charge if nothing was."""
        if self._file is not None and reservation.number is not None:
            try:
                self._file.settle(reservation.number, ledger)
            except UnderstudyError as error:
                self._tell_owner(str(error))
                raise InputError(
                    f"{self._holder} cannot settle its ledger; the whole price stays on it."
                ) from None
        if not ledger.entries:
            reservation.release.update(epsilon=0.0, delta=0.0)

    def _objection(self, book: Book, entry: Mapping[str, Any]) -> str:
        """Why these books do not allow a release, whatever else is left."""
        releases, allowed = book["releases"], book["allowance"]
        known = any(release.get("session") == entry["session"] for release in releases)
        if known or mark_session(entry["session"]) in book.get(FREE_SESSIONS, []):
            return "there was a session of that name before, so begin another one"
        if _overdraws([], entry, allowed, self._session_share):
            return "it is more than one session may take of its allowance"
        theirs = [release for release in releases if release.get("analyst") == entry["analyst"]]
        if _overdraws(theirs, entry, allowed, self._analyst_share):
            return "it is more than is left of one analyst's share of its allowance"
        return ""


def _overdraws(
    releases: list[Mapping[str, Any]],
    entry: Mapping[str, Any],
    allowed: Mapping[str, float],
    share: Fraction,
) -> bool:
    """Whether one more release takes more than a share of what is allowed, in epsilon or delta."""
    return any(
        total([release[price] for release in [*releases, entry]]) > share * exact(allowed[price])
        for price in ("epsilon", "delta")
    )


def check_share(name: str, share: Any) -> Fraction:
    """Return a share of an allowance as the exact number that it is written as, if it can be
    one.
    """
    if not isinstance(share, float | int | Fraction) or not 0 < share <= 1:
        raise InputError(f"{name} must be a number above 0 and at most 1, not {share!r}.")
    if isinstance(share, Fraction):
        return share
    return exact(share)
