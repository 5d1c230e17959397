"""The columns of a table inside an engine, for domain discovery: their distinct words, and how
often each occurs.

The engine groups the rows; what the words mean is decided by the code that decides it in memory
(:class:`understudy.counting.partition.Tally`), so the same noise gives the same schema. The type of
a column says only how its values are written as words.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from understudy.counting.partition import Tally
from understudy.data.words import write_moment, write_number
from understudy.engines.dialects import Dialect
from understudy.engines.encoding import Raw
from understudy.engines.persons import limit_rows_per_person, whose
from understudy.engines.rows import COLUMNS_AT_A_TIME, EngineTable, explain_change, make_batches
from understudy.privacy.contributions import LeftOut


class EngineColumns:
    """The columns of a table inside an engine, with at most ``most`` rows of each person."""

    def __init__(self, table: EngineTable, person: str | None = None, most: int = 1) -> None:
        self.source = table.source
        self.names: Sequence[str] = table.names
        self.left_out: LeftOut | None = None
        """What does not count; known once words are counted."""
        self._table = table
        self._engine = table.engine
        self._person = person
        self._most = most

    def count(self, tallies: Mapping[str, Tally]) -> None:
        """Count the words of some columns: those of up to sixty in one pass."""
        columns = [
            _EngineColumn(place, self._table.raw(name), tally)
            for place, (name, tally) in enumerate(tallies.items())
        ]
        query = self._rows(columns)
        text = self._engine.dialect.types["text"]
        for some in make_batches(columns, COLUMNS_AT_A_TIME):
            names = ", ".join(column.name for column in some)
            sets = ", ".join(f"({column.name})" for column in some)
            grouped = (
                f"SELECT {names}, CAST(count(*) AS {text}) AS n FROM ({query}) t GROUP BY "
                f"GROUPING SETS ({sets})"
            )
            for batch in self._engine.texts(grouped):
                *words, numbers = zip(*batch, strict=True)
                counts = [int(number or 0) for number in numbers]
                for column, found in zip(some, words, strict=True):
                    column.take(found, counts)
        self._engine.check_unchanged()
        totals = {column.tally.rows for column in columns}
        if len(totals) != 1:
            raise explain_change(self.source)
        rows = totals.pop()
        self._table.check_rows(rows)
        if self._person is not None:
            self.left_out = self._count_left_out(self._person, rows)

    def _rows(self, columns: Sequence[_EngineColumn]) -> str:
        """The rows that count, as the texts of their cells."""
        dialect = self._engine.dialect
        inner = [f"{column.sql(dialect)} AS {column.name}" for column in columns]
        if self._person is None:
            return f"SELECT {', '.join(inner)} FROM {self._engine.relation}"
        inner.append(f"{whose(dialect, self._table.raw(self._person))} AS p")
        query = f"SELECT {', '.join(inner)} FROM {self._engine.relation}"
        names = [column.name for column in columns]
        return limit_rows_per_person(dialect, query, names, self._most, names)

    def _count_left_out(self, person: str, kept: int) -> LeftOut:
        owner = whose(self._engine.dialect, self._table.raw(person))
        query = f"SELECT count(*), count({owner}) FROM {self._engine.relation}"
        every, known = (int(column[0]) for column in self._engine.numbers(query))
        if known < kept:
            raise explain_change(self.source)
        return LeftOut(known - kept, every - known, person, self._most)


class _EngineColumn:
    """One column, whose distinct texts are turned into words."""

    def __init__(self, place: int, raw: Raw, tally: Tally) -> None:
        self.name = f"e{place}"
        self.raw = raw
        self.tally = tally

    def sql(self, dialect: Dialect) -> str:
        """The text of a cell, never NULL: in the answer to one grouping set, the columns of all
        others are.

        Values of one word have one text: in texts that come in several batches a word would else
        be counted in parts, and a part that is too small is not kept, so that one row could change
        the count of its word by several.
        """
        value = self.raw.sql
        if self.raw.kind == "datetime":
            value = dialect.seconds(value)
        elif self.raw.kind == "real":  # zero has a sign, and a word only one
            value = f"CASE WHEN {value} = 0 THEN {dialect.number(0, 'real')} ELSE {value} END"
        return f"COALESCE(CAST({value} AS {dialect.types['text']}), '')"

    def take(self, found: Sequence[str | None], counts: Sequence[int]) -> None:
        """Count some distinct texts."""
        words: dict[str, int] = {}
        for text, count in zip(found, counts, strict=True):
            if text is not None:
                word = _word(text, self.raw.kind)
                words[word] = words.get(word, 0) + count
        if words:
            self.tally.add(words.keys(), words.values())


def _word(text: str, kind: str) -> str:
    """The word that memory has for a value that an engine wrote as text."""
    if kind == "text" or not text:
        return text
    if kind == "boolean":
        return str(text.casefold() in ("true", "t", "1"))
    if kind == "integer":
        return str(int(text))
    if kind == "real":
        return write_number(float(text))
    return _moment(text)


def _moment(text: str) -> str:
    try:
        return write_moment(dt.datetime.fromisoformat(text))
    except ValueError:  # beyond the calendar
        return text
