"""The rows of a release, wherever they are: in memory, or inside an engine.

Whether rows are in memory or in an engine is decided here, once; everything after works with a
:class:`Source`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Protocol, Unpack

from understudy.counting.columns import Columns, MemoryColumns
from understudy.counting.cuboids import CuboidCounter
from understudy.data.encoding import Coded, Outside, encode
from understudy.data.frames import Frame, Library
from understudy.data.marginals import Axis
from understudy.data.read_options import Reading
from understudy.data.rules import Rules
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.data.violations import Violation, find_violations
from understudy.engines.columns import EngineColumns
from understudy.engines.fingerprints import engine_fingerprint
from understudy.engines.later_rows import LaterRows
from understudy.engines.rows import EngineTable
from understudy.engines.sources import open_rows
from understudy.models.rule_tables import table_of
from understudy.privacy.contributions import (
    LeftOut,
    Spellings,
    limit_rows_per_person,
    person_column,
    spellings,
)
from understudy.privacy.fingerprints import fingerprint
from understudy.release.callbacks import OutsideNote


class Source(Protocol):
    """The rows of a release, of which at most a given number of each person count."""

    library: Library
    """Whose data frame the rows came in."""

    @property
    def columns(self) -> Columns:
        """What domain discovery sees of the rows."""

    def fingerprint(self, key: bytes) -> str:
        """A keyed fingerprint, which tells one table from another to whoever has the key."""

    def spellings(self) -> Spellings | None:
        """How many persons there are, and how many if spelling mattered less; None without
        persons.
        """

    def describe_left_out(self) -> str | None:
        """Which rows do not count, once they were counted; None where all do."""

    def order(self, schema: Schema) -> Schema:
        """The schema in the order of the columns, which must be the same."""

    def code(self, schema: Schema) -> tuple[Coded | CuboidCounter, list[str]]:
        """The rows as codes of the schema, and what their owner should know about it."""

    def open(self, schema: Schema) -> tuple[Coded | CuboidCounter, list[str]]:
        """The same for questions of any kind: an engine may wait with codes for the first that
        needs them, and has nothing to tell until then.
        """


@contextmanager
def open_source(
    frame: Frame,
    *,
    engine: str | None = None,
    skip: Sequence[str] = (),
    person: str | None = None,
    max_rows_per_person: int = 1,
    notify: Callable[[str], None],
    **reading: Unpack[Reading],
) -> Iterator[Source]:
    """The rows of whatever the user names; what was opened is closed at the end.

    Parameters
    ----------
    frame, engine, skip, notify, reading
        As for :func:`understudy.engines.sources.open_rows`.
    person, max_rows_per_person
        Which column says whose row it is, and how many rows of each person count.
    """
    with open_rows(frame, engine, notify, skip=skip, **reading) as (rows, library):
        if isinstance(rows, Table):
            yield MemorySource(rows, library, person, max_rows_per_person)
        else:
            yield EngineSource(rows, library, person, max_rows_per_person)


class MemorySource:
    """Rows in memory."""

    def __init__(
        self, table: Table, library: Library, person: str | None, max_rows_per_person: int
    ) -> None:
        if person is not None:
            person_column(table, person)  # refuses a column that cannot tell persons apart
        self.library = library
        self._table = table
        self._person = person
        self._max_rows_per_person = max_rows_per_person

    @property
    def columns(self) -> Columns:
        """The columns of the rows that count."""
        return MemoryColumns(self._counting[0])

    def fingerprint(self, key: bytes) -> str:
        """Of all rows, those that do not count included."""
        return fingerprint(self._table, key)

    def spellings(self) -> Spellings | None:
        """Of the persons' column."""
        if self._person is None:
            return None
        return spellings(self._table, self._person)

    def describe_left_out(self) -> str | None:
        """Which rows do not count."""
        left_out = self._counting[1]
        if left_out:
            return str(left_out)
        return None

    def order(self, schema: Schema) -> Schema:
        """The schema in the order of the columns."""
        return schema.order_as(self._table.names, self._table.source)

    def code(self, schema: Schema) -> tuple[Coded, list[str]]:
        """Code the rows that count."""
        table = self._counting[0]
        coded = encode(table, schema)
        found: list[Outside | Violation] = [*coded.outside, *find_violations(table, coded)]
        return coded, _notes(coded.rows, self.describe_left_out(), found)

    def open(self, schema: Schema) -> tuple[Coded, list[str]]:
        """Code the rows that count."""
        return self.code(schema)

    @cached_property
    def _counting(self) -> tuple[Table, LeftOut | None]:
        """The rows of each person that count, drawn once, and what was left out."""
        if self._person is None:
            return self._table, None
        return limit_rows_per_person(self._table, self._person, self._max_rows_per_person)


class EngineSource:
    """Rows inside an engine, which are counted where they are."""

    def __init__(
        self, table: EngineTable, library: Library, person: str | None, max_rows_per_person: int
    ) -> None:
        if person is not None:
            table.check_person(person)
        self.library = library
        self._table = table
        self._person = person
        self._max_rows_per_person = max_rows_per_person
        self._columns = EngineColumns(table, person, max_rows_per_person)

    @property
    def columns(self) -> Columns:
        """The columns of the rows that count."""
        return self._columns

    def fingerprint(self, key: bytes) -> str:
        """Of all rows, those that do not count included."""
        return engine_fingerprint(self._table, key)

    def spellings(self) -> Spellings | None:
        """Of the persons' column."""
        if self._person is None:
            return None
        return self._table.spellings(self._person)

    def describe_left_out(self) -> str | None:
        """Which rows do not count; known once the columns were counted."""
        left_out = self._columns.left_out
        if left_out:
            return str(left_out)
        return None

    def order(self, schema: Schema) -> Schema:
        """The schema in the order of the columns."""
        return schema.order_as(self._table.names, self._table.source)

    def code(self, schema: Schema) -> tuple[CuboidCounter, list[str]]:
        """Code the rows that count, inside the engine."""
        coded = self._table.encode(schema, self._person, self._max_rows_per_person)
        left_out = None
        if coded.left_out:
            left_out = str(coded.left_out)
        counter = CuboidCounter(coded)
        broken = count_violations(counter, coded.schema)
        return counter, _notes(coded.rows, left_out, [*coded.outside, *broken])

    def open(self, schema: Schema) -> tuple[CuboidCounter, list[str]]:
        """Code the rows when a table is counted; at once where rows of persons are to be left
        out.
        """
        if self._person is not None:
            return self.code(schema)
        return CuboidCounter(LaterRows(self._table, schema)), []


def count_violations(counter: CuboidCounter, schema: Schema) -> list[Violation]:
    """How many rows in an engine break each constraint as far as their codes tell."""
    if schema.constraints is None:
        return []
    found = []
    for rule in schema.constraints.rules:
        allowed = table_of(Rules([rule], schema))
        if allowed is not None:
            [counts] = counter.count([tuple(Axis(name) for name in allowed.names)])
            broken = int(counts[~allowed.allowed].sum())
            found += [Violation(rule.text, broken, at_least=True)] if broken else []
    return found


def _notes(rows: int, left_out: str | None, found: Iterable[Outside | Violation]) -> list[str]:
    """What the owner should know about coded rows. That there are none is no error: a refusal would
    tell everybody that nobody is in the table.
    """
    notes: list[str] = []
    if rows == 0:
        notes.append("There are no rows, so what comes out is noise alone.")
    for one in found:
        if isinstance(one, Outside):
            notes.append(OutsideNote(one))
        else:
            notes.append(str(one))
    if left_out is None:
        return notes
    return [left_out, *notes]
