"""The columns of a table inside an engine, for domain discovery: counted there, in one pass over
the rows.

What is counted is what :class:`understudy.counting.columns.MemoryColumns` counts, so the same noise
gives the same schema. Typed columns have the kind of their type. The columns of a CSV file are
texts; their kinds are told from all values, and the texts read as numbers, by the very queries that
read the file into memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from understudy.counting.columns import SPELLINGS, ColumnCounts, ColumnKind, Edges
from understudy.data.schema import Quantity
from understudy.data.tables import MARKS, csv_format, csv_kinds, csv_number, found_anywhere
from understudy.engines.encoding import MOST_WORDS, CellCode, Raw, folded
from understudy.engines.persons import bounded, whose
from understudy.engines.rows import COLUMNS_AT_A_TIME, EngineTable, batched, changed
from understudy.errors import InputError
from understudy.privacy.contributions import LeftOut
from understudy.privacy.discovery import is_identifier


class EngineColumns:
    """The columns of a table inside an engine, with at most ``most`` rows of each person."""

    def __init__(self, table: EngineTable, person: str | None = None, most: int = 1) -> None:
        self.source = table.source
        self.left_out: LeftOut | None = None
        """What does not count; known once values are counted."""
        self._table = table
        self._engine = table.engine
        self._person = person
        self._most = most

    # ---- kinds

    @cached_property
    def kinds(self) -> Mapping[str, ColumnKind]:
        """Of each column, in order."""
        kinds, relation = self._types(), self._engine.relation
        texts = [
            name
            for name, kind in kinds.items()
            if kind == "text" and not is_identifier(name, self._person)
        ]
        conditions: dict[tuple[str, tuple[str, str] | None], str] = {("", None): "TRUE"}
        for name in texts:
            value = self._table.raw(name).sql
            conditions[name, None] = f"{value} <> ''"
            for spelling in SPELLINGS:
                false, true = (self._engine.dialect.literal(word) for word in spelling)
                conditions[name, spelling] = f"{value} <> '' AND {value} NOT IN ({false}, {true})"
        found = found_anywhere(self._one, relation, conditions)
        if ("", None) not in found:
            raise InputError(f"{self.source} has no rows; nothing can be learned from it.")
        kinds |= {name: "empty" for name in texts if (name, None) not in found}
        spellings = {
            name: next((s for s in SPELLINGS if (name, s) not in found), None) for name in texts
        }
        if self._engine.csv:
            moments = [name for name, kind in kinds.items() if kind == "datetime"]
        else:
            moments = []
        forms = csv_format(self._one, relation, moments)
        self._engine.check_unchanged()
        return {
            name: ColumnKind(
                kind, None if kind == "empty" else spellings.get(name), forms.get(name, "")
            )
            for name, kind in kinds.items()
        }

    def _types(self) -> dict[str, str]:
        if self._engine.csv:
            return csv_kinds(self._one, self._engine.relation, self._table.names)
        kinds = {}
        for name, (_, kind) in self._engine.types.items():
            # A type that has no place here is refused by name, unless nothing is asked about the
            # column.
            kinds[name] = kind or (
                "text" if is_identifier(name, self._person) else self._table.raw(name).kind
            )
        return kinds

    # ---- counts

    def counted(self, asked: Mapping[str, Edges | None]) -> Mapping[str, ColumnCounts]:
        """Count the values of some columns: those of up to sixty in one pass."""
        self._try_reading(asked)
        cells = [
            self._cell(place, name, edges) for place, (name, edges) in enumerate(asked.items())
        ]
        query = self._rows(cells)
        text = self._engine.dialect.types["text"]
        for some in batched(cells, COLUMNS_AT_A_TIME):
            columns = ", ".join(f"CAST({cell.name} AS {text}) AS {cell.name}" for cell in some)
            sets = ", ".join(f"({cell.name})" for cell in some)
            grouped = (
                f"SELECT {columns}, CAST(count(*) AS {text}) AS n FROM ({query}) t GROUP BY "
                f"GROUPING SETS ({sets})"
            )
            for batch in self._engine.texts(grouped):
                *values, numbers = zip(*batch, strict=True)
                for cell, column in zip(some, values, strict=True):
                    # In the answer to one grouping set, the columns of all others are NULL.
                    cell.take(
                        {
                            value: int(n or 0)
                            for value, n in zip(column, numbers, strict=True)
                            if value is not None
                        }
                    )
        self._engine.check_unchanged()
        totals = {cell.found.total() for cell in cells}
        if len(totals) != 1:
            raise changed(self.source)
        rows = totals.pop()
        self._table.check_rows(rows)
        if self._person is not None:
            self.left_out = self._left_out(self._person, rows)
        return {cell.column: cell.counts() for cell in cells}

    def _try_reading(self, asked: Mapping[str, Edges | None]) -> None:
        """Look at texts of a CSV file as the coding will: what it refuses must be refused before
        anything is paid.
        """
        if not self._engine.csv:
            return
        cells = []
        for place, (name, edges) in enumerate(asked.items()):
            if edges:
                column = self.kinds[name]
                attribute = Quantity(
                    name, column.kind, "", tuple(edges), format=column.format or None
                )
                raw = Raw(name, "text", f"c{place}")
                cells.append(CellCode(attribute, raw, self._engine.dialect, self.source, place))
        self._table.learn_words(cells)

    def _cell(self, place: int, name: str, edges: Edges | None) -> _Cell:
        raw, kind = self._table.raw(name), self.kinds[name].kind
        if edges is None:
            return _Texts(place, name, raw, self.source)
        if not edges:
            return _Presence(place, name, raw)
        return (_Written if self._engine.csv else _Number)(
            place, name, raw, kind, edges, self._table
        )

    def _rows(self, cells: Sequence[_Cell]) -> str:
        """The rows that count, as what is counted of them."""
        inner = [part for cell in cells for part in cell.read()]
        if self._person is not None:
            inner.append(f"{whose(self._engine.dialect, self._table.raw(self._person))} AS p")
        parts = [f"{cell.sql()} AS {cell.name}" for cell in cells]
        source = f"(SELECT {', '.join(inner)} FROM {self._engine.relation}) r"
        if self._person is None:
            return f"SELECT {', '.join(parts)} FROM {source}"
        texts = [cell.name for cell in cells if isinstance(cell, _Texts)]
        query = f"SELECT {', '.join(parts)}, p FROM {source}"
        return bounded(
            self._engine.dialect, query, [cell.name for cell in cells], self._most, texts
        )

    def _left_out(self, person: str, kept: int) -> LeftOut:
        owner = whose(self._engine.dialect, self._table.raw(person))
        every, known = self._one(f"SELECT count(*), count({owner}) FROM {self._engine.relation}")
        if known < kept:
            raise changed(self.source)
        return LeftOut(known - kept, every - known, person, self._most)

    def _one(self, query: str) -> list[int]:
        return [int(column[0]) for column in self._engine.numbers(query)]


# ------------------------------------------- what is counted of a cell


class _Cell(ABC):
    """What is counted of a cell of one column: a text, or a code that says where it belongs; never
    NULL.
    """

    def __init__(self, place: int, column: str, raw: Raw) -> None:
        self.place = place
        self.column = column
        self.raw = raw
        self.name = f"e{place}"
        self.found: Counter[str] = Counter()

    def read(self) -> list[str]:
        """What is read off the table."""
        return [f"{self.raw.sql} AS c{self.place}"]

    @abstractmethod
    def sql(self) -> str:
        """What is counted, given that."""

    def take(self, found: Mapping[str, int]) -> None:
        """Note how often some of it occurs."""
        self.found.update(found)

    @abstractmethod
    def counts(self) -> ColumnCounts:
        """All that was noted."""


class _Texts(_Cell):
    """Each text by itself; an empty one is a missing one."""

    def __init__(self, place: int, column: str, raw: Raw, source: str) -> None:
        super().__init__(place, column, raw)
        self.source = source

    def sql(self) -> str:
        return f"COALESCE(c{self.place}, '')"

    def take(self, found: Mapping[str, int]) -> None:
        super().take(found)
        if len(self.found) > MOST_WORDS:
            raise InputError(
                f"{self.source}, column {self.column!r} holds more than {MOST_WORDS:,} different "
                "texts, too many to "
                f"discover categories; give a schema that says what it is."
            )

    def counts(self) -> ColumnCounts:
        words = sorted(word for word in self.found if word)
        counts = np.array([self.found[word] for word in words], dtype=np.int64)
        return ColumnCounts(counts, _missing([self.found[""]]), words)


class _Presence(_Cell):
    """Whether there is a value."""

    def sql(self) -> str:
        if self.raw.kind == "text":
            there = f"c{self.place} <> ''"
        else:
            there = f"c{self.place} IS NOT NULL"
        return f"CASE WHEN {there} THEN 0 ELSE 1 END"

    def counts(self) -> ColumnCounts:
        return ColumnCounts(np.zeros(0, dtype=np.int64), _missing([self.found["1"]]))


class _Number(_Cell):
    """The cell between two edges that a value lies in."""

    def __init__(
        self, place: int, column: str, raw: Raw, kind: str, edges: Edges, table: EngineTable
    ) -> None:
        super().__init__(place, column, raw)
        self.kind = kind
        # Where values are missing, that has a code of its own, the last.
        self.attribute = Quantity(column, self.coded_kind, "", tuple(edges))
        held = Raw(column, self.coded_kind, f"c{place}")
        self.code = CellCode(self.attribute, held, table.engine.dialect, table.source, place)

    @property
    def coded_kind(self) -> str:
        """The kind of what is read off the table."""
        return self.kind

    def sql(self) -> str:
        return self.code.sql

    def counts(self) -> ColumnCounts:
        fold = folded(self.attribute)
        cells = self.attribute.bins
        found = np.zeros(cells + len(MARKS), dtype=np.int64)
        for code, count in self.found.items():
            beyond = max(0, int(code) - len(fold) + 1)  # another mark than the first
            found[fold[int(code) - beyond] + beyond] += count
        return ColumnCounts(found[:cells], _missing(found[cells:]))


class _Written(_Number):
    """The same in a CSV file, where it also matters how a missing value is written."""

    @property
    def coded_kind(self) -> str:
        if self.kind == "real":
            return "real"
        return "integer"

    def read(self) -> list[str]:
        number, mark = csv_number(self.column, self.kind)
        return [f"{number} AS c{self.place}", f"{mark} AS m{self.place}"]

    def sql(self) -> str:
        mark = f"m{self.place}"
        return (
            f"CASE WHEN {mark} > 1 THEN {self.code.missing - 1} + {mark} ELSE {self.code.sql} END"
        )


def _missing(found: Sequence[int] | np.ndarray) -> np.ndarray:
    """Counts of the marks for missing values, of which only the first ones may be given."""
    counts = np.zeros(len(MARKS), dtype=np.int64)
    counts[: len(found)] = found
    return counts
