"""How files are to be read: what their owner may say about them."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import TypedDict

from understudy.errors import InputError


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What the owner says about a file, or about several of one kind.

    Parameters
    ----------
    header
        Whether the first line of a CSV file, or the first row of a sheet, holds the names.
        ``False``: it is a row, and the columns are called ``column_1``, ``column_2`` and so on.
        ``None``: it must hold names, and is refused if it looks like a row.
    encoding
        How a text file is encoded: "latin-1", "cp1252", "utf-16" and so on. ``None``: by its byte
        order mark; without one, each line that is UTF-8 is read as UTF-8, and each other line as
        Windows-1252.
    quote
        What stands around a value that holds delimiters, in a CSV file.
    missing_marks
        Texts or numbers that stand for a missing value in every column: "unknown", "-99".
    table_name
        Which table of a database, or sheet of a workbook, where it holds several.
    """

    header: bool | None = None
    encoding: str | None = None
    quote: str = '"'
    missing_marks: tuple[str, ...] = ()
    table_name: str | None = None

    def __post_init__(self) -> None:
        if self.header not in (None, True, False):
            raise InputError(f"header must be True, False or None, not {self.header!r}.")
        if self.encoding is not None:
            _check_encoding(self.encoding)
        usable = isinstance(self.quote, str) and len(self.quote) == 1 and self.quote.isascii()
        if not usable or self.quote.isalnum() or self.quote in ",;\t|\r\n ":
            raise InputError(f"quote must be a single sign such as \" or ', not {self.quote!r}.")
        if isinstance(self.missing_marks, str):
            raise InputError(
                f'missing_marks must be a list of texts, such as ["n/a"], not '
                f"{self.missing_marks!r}."
            )
        marks = tuple(str(mark) for mark in self.missing_marks)
        object.__setattr__(self, "missing_marks", marks)


class Reading(TypedDict, total=False):
    """The fields of :class:`ReadOptions`, as arguments by name."""

    header: bool | None
    encoding: str | None
    quote: str
    missing_marks: tuple[str, ...]
    table_name: str | None


def _check_encoding(name: str) -> None:
    try:
        "".encode(name)
        codecs.getincrementaldecoder(name)
    except (LookupError, TypeError, ValueError):
        raise InputError(
            f"The encoding {name!r} is unknown; use utf-8, latin-1, cp1252 or utf-16, say."
        ) from None
