"""Engines that hold rows: files larger than memory (DuckDB), databases (PostgreSQL) and clusters
(Spark).

An engine groups rows and counts the groups, or sums whole numbers over them; nothing else is asked
of it, so everything behind the curator is the same wherever the rows are.
:mod:`understudy.engines.sources` finds the engine for what a user names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from understudy.engines.dialects import Dialect
from understudy.errors import UnderstudyError

TEXTS_AT_A_TIME = 1 << 16


class EngineError(UnderstudyError):
    """An engine did not do what it was asked: gone, out of space, no rights, or its table
    changed.
    """


class Engine(Protocol):
    """A connection to whatever holds the rows, and to one table there."""

    dialect: Dialect
    source: str
    """What to call the table in messages."""
    relation: str
    """What stands after FROM to name the table."""
    types: Mapping[str, tuple[str, str]]
    """For each column its type as the engine names it, and the kind of values that it holds; empty
    if not known here
    """
    csv: bool
    """Whether the columns are those of CSV files: texts, of which all values together tell what
    they stand for.
    """
    most_groups: int
    """How many groups are worth fetching at once."""

    def numbers(self, query: str, *, many: bool = False) -> list[NDArray[Any]]:
        """The columns of an answer that holds whole numbers only, none of them missing; ``many`` of
        them, maybe.
        """

    def texts(self, query: str) -> Iterator[Sequence[tuple[str | None, ...]]]:
        """The rows of an answer that holds texts, some at a time."""

    def keep(self, name: str, query: str) -> None:
        """Store an answer inside the engine, where only this connection sees it."""

    def drop(self, name: str) -> None:
        """Forget a stored answer."""

    def lookup(self, name: str, keys: Sequence[Any], kind: str, codes: Sequence[int]) -> None:
        """Store keys (texts or reals) with their codes, as columns ``key`` and ``code``."""

    def check_unchanged(self) -> None:
        """Refuse to go on when the table is known to have changed since it was opened."""

    def close(self) -> None:
        """Let go of the connection and of everything stored."""
