"""Rows inside an engine: coded there once, then grouped as often as a curator asks."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.counting.column_checks import MAX_ROWS
from understudy.counting.cuboids import Cuboid
from understudy.counting.sums import Summer
from understudy.data.cells import Outside, absent_code
from understudy.data.schema import Attribute, Schema
from understudy.engines import Engine, EngineError
from understudy.engines.coded_cells import open_coded_query
from understudy.engines.encoding import CellCode, Raw
from understudy.engines.extended import fold_codes, outside
from understudy.engines.persons import whose
from understudy.errors import InputError
from understudy.privacy.contributions import LeftOut, Spellings

SAMPLE_ROWS = 1 << 14
"""This many rows are looked at to tell whether equal ones are worth collapsing."""

COLUMNS_AT_A_TIME = 60
"""Spark takes up to 64 columns in grouping sets."""


class EngineTable:
    """A table inside an engine, before it is coded."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def source(self) -> str:
        """What to call the table in messages."""
        return self.engine.source

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(self.engine.types)

    def check_person(self, person: str) -> None:
        """Refuse a column that cannot tell persons apart."""
        if person not in self.engine.types:
            raise InputError(
                f"{self.source} has no column {person!r} to tell persons apart by; check the name."
            )
        kind = self.raw(person).kind
        if kind not in ("integer", "real", "text"):
            raise InputError(
                f"{self.source}, column {person!r} holds {kind} values, which do not tell persons "
                "apart; name a column of numbers or text."
            )

    def spellings(self, person: str) -> Spellings:
        """How many persons the column tells apart, and how many if spelling mattered less."""
        raw = self.raw(person)
        if raw.kind != "text":
            return Spellings(0, 0, person)
        owner = whose(self.engine.dialect, raw)
        alike = f"lower(trim({owner}))"
        counts = f"count(DISTINCT {owner}), count(DISTINCT {alike})"
        found = self.engine.numbers(f"SELECT {counts} FROM {self.engine.relation}")
        persons, folded_persons = (int(column[0]) for column in found)
        return Spellings(persons, folded_persons, person)

    def raw(self, name: str) -> Raw:
        """A column, cast to its kind."""
        engine = self.engine
        type_name, kind = engine.types[name]
        if not kind:
            raise InputError(
                f"{self.source}, column {name!r} is of type {type_name}, which has no place in a "
                "table of values; cast it in a view, or make it a text in the schema."
            )
        return Raw(name, kind, engine.dialect.cast(engine.dialect.quote_name(name), kind))

    def encode(self, schema: Schema, person: str | None = None, most: int = 1) -> EngineRows:
        """The rows as codes, at most ``most`` of each person; the columns must be those of the
        schema.
        """
        schema = schema.order_as(self.names, self.source)
        if not schema.modelled:
            raise InputError(
                f"{self.source} has no column to model: the schema holds only identifiers and text."
            )
        return EngineRows(self, schema, person, most)

    def read(self, cells: Sequence[CellCode], person: str | None = None) -> str:
        """The columns that are needed, cast to their kinds, and the numbers and datetimes read off
        texts.
        """
        parts = [f"{self.raw(cell.raw.name).sql} AS c{cell.place}" for cell in cells]
        if person is not None:
            parts.append(f"{whose(self.engine.dialect, self.raw(person))} AS p")
        inner = f"SELECT {', '.join(parts)} FROM {self.engine.relation}"
        read = [f"{cell.read} AS n{cell.place}" for cell in cells if cell.read]
        if read:
            return f"SELECT *, {', '.join(read)} FROM ({inner}) q"
        return inner

    def learn_words(self, cells: Sequence[CellCode]) -> None:
        """Look at the distinct texts of the columns where they matter, many columns in one pass."""
        looked_at = [cell for cell in cells if cell.looked_at]
        for some in make_batches(looked_at, COLUMNS_AT_A_TIME):
            words = ", ".join(
                f"CASE WHEN {cell.looked_at} THEN {cell.key} END AS w{cell.place}" for cell in some
            )
            names = ", ".join(f"w{cell.place}" for cell in some)
            sets = ", ".join(f"(w{cell.place})" for cell in some)
            query = f"SELECT {words} FROM ({self.read(some)}) r"
            for batch in self.engine.texts(
                f"SELECT {names} FROM ({query}) t GROUP BY GROUPING SETS ({sets})"
            ):
                for cell, column in zip(some, zip(*batch, strict=True), strict=True):
                    cell.learn([word for word in column if word is not None])

    def check_rows(self, rows: int) -> None:
        """Refuse more rows than can be counted."""
        if rows > MAX_ROWS:
            raise InputError(
                f"{self.source} has more than {MAX_ROWS:,} rows, which are more than can be "
                "counted."
            )


class EngineRows:
    """Coded rows inside an engine.

    The copy holds small integers: the codes of the extended attributes (see
    :mod:`understudy.engines.encoding`), one column an attribute. Where equal rows are many, it
    holds each once, with the number of times that it occurs.
    """

    def __init__(self, table: EngineTable, schema: Schema, person: str | None, most: int) -> None:
        self.engine = table.engine
        self.source = table.source
        self.schema = schema
        self.cells = [
            CellCode(
                attribute,
                _place_column(table.raw(attribute.name), place),
                self.engine.dialect,
                place,
            )
            for place, attribute in enumerate(schema.modelled)
        ]
        self._places = {attribute.name: place for place, attribute in enumerate(schema.modelled)}
        # What cannot be read counts as a missing value does.
        self._folded = [
            np.append(fold_codes(attribute), np.uint32(absent_code(attribute)))
            for attribute in schema.modelled
        ]
        self._table, self._limits = table, (person, most)
        self._weighted = False
        # So that no table of the user's bears the name of one of ours.
        self._tag = secrets.token_hex(4)
        self._copy(table, person, most)

    # ---- the coded copy

    def _copy(self, table: EngineTable, person: str | None, most: int) -> None:
        engine = self.engine
        names = ", ".join(f"e{cell.place}" for cell in self.cells)
        with open_coded_query(table, self.cells, person, most) as query:
            engine.keep(self._make_name("coded"), query)
        engine.check_unchanged()
        (self.rows,) = self._one(f"SELECT count(*) FROM {self._make_name('coded')}")
        self.left_out = self._count_left_out(table.read(self.cells, person), person, most)
        table.check_rows(self.rows)
        self.distinct = self.rows
        self._collapse(names)
        self.outside = self._outside()

    def _count_left_out(self, inner: str, person: str | None, most: int) -> LeftOut | None:
        if person is None:
            return None
        every, known = self._one(f"SELECT count(*), count(p) FROM ({inner}) r")
        if known < self.rows:
            raise explain_change(self.source)
        return LeftOut(known - self.rows, every - known, person, most)

    def _collapse(self, names: str) -> None:
        """Keep equal rows once, with a weight, where that leaves at most half of them; a sample is
        asked first.
        """
        coded, grouped = self._make_name("coded"), self._make_name("grouped")
        if self.rows > 2 * SAMPLE_ROWS:
            share = SAMPLE_ROWS / self.rows
            sample = (
                f"SELECT count(*) AS n FROM {coded} WHERE {self.engine.dialect.random} < "
                f"{share!r} GROUP BY {names}"
            )
            once = "CASE WHEN n = 1 THEN 1 ELSE 0 END"
            twice = "CASE WHEN n = 2 THEN 1 ELSE 0 END"
            found, singles, pairs = self._one(
                f"SELECT count(*), CAST(COALESCE(sum({once}), 0) AS BIGINT), "
                f"CAST(COALESCE(sum({twice}), 0) AS BIGINT) FROM ({sample}) s"
            )
            # Chao's estimate, as in understudy.counting.memory.
            if found + singles * (singles - 1) / (2 * (pairs + 1)) > self.rows / 2:
                return
        self.engine.keep(grouped, f"SELECT {names}, count(*) AS w FROM {coded} GROUP BY {names}")
        self._weighted = True
        self.distinct, total = self._one(
            f"SELECT count(*), CAST(COALESCE(sum(w), 0) AS BIGINT) FROM {grouped}"
        )
        if total != self.rows:
            raise explain_change(self.source)
        self.engine.drop(coded)

    def _outside(self) -> tuple[Outside, ...]:
        found: list[Outside] = []
        sets = [(attribute.name,) for attribute in self.schema.modelled]
        counted = [
            found
            for some in make_batches(sets, COLUMNS_AT_A_TIME)
            for found in self._group_codes(some)
        ]
        for attribute, cell, (codes, weights) in zip(
            self.schema.modelled, self.cells, counted, strict=True
        ):
            counts = np.bincount(codes[0], weights=weights, minlength=cell.codes).astype(np.int64)
            found.extend(outside(attribute, counts))
        return tuple(found)

    # ---- counting

    @property
    def most_groups(self) -> int:
        """How many groups are worth fetching at once."""
        return self.engine.most_groups

    def group(self, sets: Sequence[tuple[str, ...]]) -> list[Cuboid]:
        """A cuboid for each set of attributes, in one pass over the rows."""
        cuboids = []
        for names, (codes, weights) in zip(sets, self._group_codes(sets), strict=True):
            for i, name in enumerate(names):  # one by one, as they may be large
                narrow = np.min_scalar_type(self.schema[name].size - 1)
                codes[i] = self._folded[self._places[name]].astype(narrow)[codes[i]]
            cuboids.append(Cuboid(dict(zip(names, codes, strict=True)), weights))
        return cuboids

    def missing_cells(self) -> NDArray[np.int64]:
        """How many rows have 0, 1, 2, ... missing cells."""
        cells = [cell for cell, a in self._pair_modelled() if a.missing is not None]
        found = np.zeros(len(cells) + 1, dtype=np.int64)
        if not cells or self.rows == 0:
            found[0] = self.rows
            return found
        absent = " + ".join(
            f"CASE WHEN e{cell.place} = {cell.missing} THEN 1 ELSE 0 END" for cell in cells
        )
        relation = self._make_name("grouped" if self._weighted else "coded")
        weight = "sum(w)" if self._weighted else "count(*)"
        numbers, weights = self.engine.numbers(
            f"SELECT CAST(m AS INTEGER) AS m, CAST({weight} AS INTEGER) AS n FROM "
            f"(SELECT {absent} AS m{', w' if self._weighted else ''} FROM {relation}) t GROUP BY m",
            many=True,
        )
        np.add.at(found, np.asarray(numbers, dtype=np.int64), np.asarray(weights, dtype=np.int64))
        if int(found.sum()) != self.rows:
            raise explain_change(self.source)
        return found

    def _pair_modelled(self) -> Iterator[tuple[CellCode, Attribute]]:
        return zip(self.cells, self.schema.modelled, strict=True)

    def _group_codes(
        self, sets: Sequence[tuple[str, ...]]
    ) -> list[tuple[list[NDArray[Any]], NDArray[Any]]]:
        """Extended codes and weights, for each set."""
        if self.rows == 0:  # an answer without rows does not tell its columns everywhere
            nothing = np.zeros(0, dtype=np.int64)
            return [([nothing] * len(names), nothing) for names in sets]
        used = sorted({self._places[name] for names in sets for name in names})
        if len(sets) > 1 and len(used) > COLUMNS_AT_A_TIME:
            half = len(sets) // 2
            return self._group_codes(sets[:half]) + self._group_codes(sets[half:])
        if len(sets) == 1:
            answers = [self._group_one(sets[0], used)]
        else:
            answers = self._group_several(sets, used)
        for _, weights in answers:
            if int(weights.sum(dtype=np.int64)) != self.rows:
                raise explain_change(self.source)
        return answers

    def _group_one(
        self, names: Sequence[str], used: Sequence[int]
    ) -> tuple[list[NDArray[Any]], NDArray[Any]]:
        relation, weight = self._weigh()
        wanted = [f"e{self._places[name]}" for name in names]
        grouping = ""
        if wanted:
            grouping = f" GROUP BY {', '.join(wanted)}"
        if self._weighted and len(used) == len(self.cells):  # these groups are there already
            weight, grouping = "CAST(w AS INTEGER)", ""
        columns = ", ".join([*wanted, f"{weight} AS w"])
        *codes, weights = self.engine.numbers(
            f"SELECT {columns} FROM {relation}{grouping}", many=True
        )
        return codes, weights

    def _group_several(
        self, sets: Sequence[tuple[str, ...]], used: Sequence[int]
    ) -> list[tuple[list[NDArray[Any]], NDArray[Any]]]:
        relation, weight = self._weigh()
        wanted = [", ".join(f"e{self._places[name]}" for name in names) for names in sets]
        columns = ", ".join(
            f"COALESCE(CAST(e{place} AS {self._choose_signed_type(place)}), -1) AS e{place}"
            for place in used
        )
        grouping = ", ".join(f"({names})" for names in wanted)
        *every, weights = self.engine.numbers(
            f"SELECT {columns}, {weight} AS w FROM {relation} GROUP BY GROUPING SETS ({grouping})",
            many=True,
        )
        by_place = dict(zip(used, every, strict=True))
        return [self._part(by_place, weights, names) for names in sets]

    def _weigh(self) -> tuple[str, str]:
        """Where the codes stand, and how many rows a group has; all together at most MAX_ROWS."""
        if self._weighted:
            return self._make_name("grouped"), "CAST(sum(w) AS INTEGER)"
        return self._make_name("coded"), "CAST(count(*) AS INTEGER)"

    def _choose_signed_type(self, place: int) -> str:
        """A type that holds the codes of a column, and -1."""
        if self.cells[place].codes <= 1 << 15:
            return "SMALLINT"
        return "INTEGER"

    def _part(
        self, every: Mapping[int, NDArray[Any]], weights: NDArray[Any], names: Sequence[str]
    ) -> tuple[list[NDArray[Any]], NDArray[Any]]:
        """The answer to one of several grouping sets: where just its columns have codes."""
        mine = [self._places[name] for name in names]
        here = np.ones(len(weights), dtype=bool)
        for place, column in every.items():
            here &= (column >= 0) == (place in mine)
        return [every[place][here] for place in mine], weights[here]

    def summer(self) -> Summer:
        """What sums over the rows."""
        from understudy.engines.sums import EngineSummer  # sums are made of coded cells

        return EngineSummer(self._table, self.schema, *self._limits, self.rows)

    def explain(self) -> list[str]:
        """How the rows were coded, in sentences for the owner."""
        kept = f"{self.rows:,} rows coded inside {self.engine.dialect.name}"
        if self._weighted:
            kept += f", kept as {self.distinct:,} different ones with their numbers"
        return [kept]

    def _make_name(self, name: str) -> str:
        return f"understudy_{name}_{self._tag}"

    def _one(self, query: str) -> list[int]:
        return [int(column[0]) for column in self.engine.numbers(query)]


def explain_change(source: str) -> EngineError:
    """What to say when a count does not add up."""
    return EngineError(
        f"{source} changed while it was being read; try again when nobody writes to it."
    )


def make_batches(items: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    """Some of the items at a time."""
    for first in range(0, len(items), most):
        yield items[first : first + most]


def _place_column(raw: Raw, place: int) -> Raw:
    return Raw(raw.name, raw.kind, f"c{place}")
