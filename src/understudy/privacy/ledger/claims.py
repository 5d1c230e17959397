"""How far a release in several parts has come: an older state of it must not be asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.privacy.ledger.file import LedgerFile


class Claims(Protocol):
    """How far a release in several parts has come, on the owner's books: one mark, which only who
    knows it can move.
    """

    def mark(self) -> str | None:
        """The mark of the newest state; None before the first."""

    def move(self, known: str | None, new: str) -> None:
        """Put a new mark in the place of a known one; refuses where another stands there."""


class ReservedClaims:
    """The mark of an open reservation in a ledger file."""

    def __init__(self, file: LedgerFile, number: str) -> None:
        self._file, self._number = file, number

    def mark(self) -> str | None:
        """The mark that stands on the books."""
        return self._mark_of(self._file.read())

    def move(self, known: str | None, new: str) -> None:
        """Write a new mark, under the file's lock."""
        with self._file._lock():
            document = self._file.read()
            if self._mark_of(document) != known:
                raise InputError(
                    f"The release {self._number!r} has gone on meanwhile; nothing was asked."
                )
            self._release_in(document)["mark"] = new
            self._file._write(document)

    def _mark_of(self, document: dict[str, Any]) -> str | None:
        mark: str | None = self._release_in(document).get("mark")
        return mark

    def _release_in(self, document: dict[str, Any]) -> dict[str, Any]:
        for release in document["releases"]:
            if release["number"] == self._number and release["state"] == "reserved":
                found: dict[str, Any] = release
                return found
        raise InputError(
            f"The ledger {self._file.path} has no open reservation {self._number!r}; nothing was "
            "asked."
        )
