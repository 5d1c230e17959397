"""Exact sums of rows inside an engine: the same whole numbers as
:class:`understudy.counting.sums.MemorySummer` finds, in one pass over the rows where they are.

Cells become numbers of steps by the expressions that make codes of them
(:mod:`understudy.engines.encoding`). From there on all numbers are whole and all operations are
exact, or are those of IEEE 754 in the same order as in memory: multiplications, roots and quotients
that shorten a row, and distances.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.counting.directions import DIRECTION_STEPS
from understudy.counting.sums import ExactSums, Summation, Term
from understudy.data.cells import absent_code
from understudy.data.marginals import Axis
from understudy.data.schema import Attribute, Schema
from understudy.data.value_classes import GridValues
from understudy.engines.coded_cells import open_coded_query
from understudy.engines.dialects import Dialect
from understudy.engines.encoding import CellCode, Raw
from understudy.engines.extended import fold_codes
from understudy.engines.rows import EngineTable, explain_change, make_batches
from understudy.errors import InputError

SUMS_AT_A_TIME = 400
"""Sums in one query."""

MAX_CENTRES = 4_096
"""Centres of all groups and features that are written out in a query."""

MAX_COEFFICIENTS = 4_096
"""Of directions, in the text of one query."""


class EngineSummer:
    """Sums over rows inside an engine.

    Parameters
    ----------
    table
        The rows.
    schema
        How their cells are coded.
    person, most
        Which column says whose row it is, and how many rows of each person count.
    rows
        How many rows there are at most.
    """

    def __init__(
        self, table: EngineTable, schema: Schema, person: str | None, most: int, rows: int
    ) -> None:
        self._table = table
        self._schema = schema
        self._person = person
        self._most = most
        self._rows = rows
        self._asked: tuple[bool, list[Attribute]] | None = None
        self._copy = ""

    def check(self, summation: Summation) -> None:
        """Refuse more centres than a query can hold."""
        if len(summation.centres) * len(summation.terms) > MAX_CENTRES:
            raise InputError(
                f"Rows inside an engine are summed about {MAX_CENTRES:,} centres at most; take "
                "fewer groups."
            )
        if summation.directions is not None:
            used = int(np.count_nonzero(summation.directions.matrix))
            if used > MAX_COEFFICIENTS:
                raise InputError(
                    f"Rows inside an engine are seen along directions of {MAX_COEFFICIENTS:,} "
                    "numbers at most, all together; take fewer columns, or read the table into "
                    "memory."
                )

    def sum(self, summation: Summation) -> ExactSums:
        """Exact sums."""
        coding = _Coding(summation, self._schema, self._table, self._person)
        with self._open_coded(coding) as relation:
            return _Query(coding, relation, self._table, self._rows).sum()

    @contextmanager
    def _open_coded(self, coding: _Coding) -> Iterator[str]:
        """What stands after FROM for the coded cells.

        Cells that are asked about a second time are copied, so that files are read no third time.
        """
        asked = coding.summation.complete, [cell.attribute for cell in coding.cells]
        again, self._asked = asked == self._asked, asked
        if again and self._copy:
            yield self._copy
            return
        self._drop_copy()
        limits = self._person, self._most
        complete = coding.summation.complete
        with open_coded_query(self._table, coding.cells, *limits, complete) as query:
            if again:
                self._copy = f"understudy_sums_{secrets.token_hex(4)}"
                self._table.engine.keep(self._copy, query)
                self._table.engine.check_unchanged()
                yield self._copy
            else:
                yield f"({query}{self._table.engine.dialect.fence}) coded"
                self._table.engine.check_unchanged()

    def _drop_copy(self) -> None:
        if self._copy:
            self._table.engine.drop(self._copy)
            self._copy = ""


class _Coding:
    """The cells that a summation needs, each once, and where they stand."""

    def __init__(
        self, summation: Summation, schema: Schema, table: EngineTable, person: str | None
    ) -> None:
        self.summation = summation
        self.schema = schema
        self._person = person
        self.cells: list[CellCode] = []
        self._places: dict[Attribute, int] = {}
        attributes = [term.attribute for term in summation.terms]
        for attribute in [*attributes, *(schema[axis.attribute] for axis in summation.by)]:
            if attribute not in self._places:
                place = self._places[attribute] = len(self.cells)
                raw = table.raw(attribute.name)
                placed = Raw(raw.name, raw.kind, f"c{place}")
                self.cells.append(CellCode(attribute, placed, table.engine.dialect, place))

    def place(self, attribute: Attribute) -> int:
        """Where the code of an attribute stands: e<place>."""
        return self._places[attribute]

    def is_left_out(self, place: int) -> bool:
        """Whether rows without that cell's number are left out before."""
        without_persons = self._person is None
        return self.summation.complete and without_persons and self.cells[place].steps is not None

    def fold_axis(self, axis: Axis) -> NDArray[np.int64]:
        """For each code that the engine has for an attribute, the one at the axis' level."""
        attribute = self.schema[axis.attribute]
        codes = np.append(fold_codes(attribute), absent_code(attribute)).astype(np.int64)
        if axis.level:
            return attribute.generalisations[axis.level - 1].astype(np.int64)[codes]
        return codes


@dataclass(frozen=True)
class _Query:
    """The SQL of a summation, from the inside out, each level a query of the one before."""

    coding: _Coding
    relation: str
    table: EngineTable
    rows: int

    @property
    def summation(self) -> Summation:
        return self.coding.summation

    @property
    def dialect(self) -> Dialect:
        return self.table.engine.dialect

    def sum(self) -> ExactSums:
        """Ask, some sums at a time."""
        shape = [
            self.coding.schema[axis.attribute].sizes_by_level()[axis.level]
            for axis in self.summation.by
        ]
        if self.summation.nearest is not None:
            shape.append(len(self.summation.nearest.points))
        if self.summation.pooled:
            shape = []
        groups = math.prod(shape)
        products = [f"v{i}" for i in range(self.summation.width)]
        products += [f"v{i} * v{j}" for i, j in self.summation.pairs]
        found = np.zeros((groups, len(products)), dtype=np.int64)
        counts = np.zeros(groups, dtype=np.int64)
        first = 0
        for some in make_batches(products, SUMS_AT_A_TIME):
            counts = self._ask(some, shape, found[:, first : first + len(some)])
            first += len(some)
        terms = self.summation.width
        return ExactSums(counts, found[:, :terms].copy(), found[:, terms:].copy())

    def _ask(
        self, products: Sequence[str], shape: Sequence[int], found: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Fill in some sums; returns how many rows each group has."""
        group_names = [f"g{place}" for place in range(len(shape))]
        sums = ["count(*) AS n", *(self._total(product, i) for i, product in enumerate(products))]
        query = f"SELECT {', '.join([*group_names, *sums])} FROM {self._shorten_sql()}"
        if group_names:
            query += f" GROUP BY {', '.join(group_names)}"
        columns = [
            np.asarray(column, dtype=np.int64)
            for column in self.table.engine.numbers(query, many=bool(group_names))
        ]
        cells = np.zeros(len(columns[-1]), dtype=np.int64)
        codes = columns[: len(shape)]
        for place, size in enumerate(shape):
            code = codes[place]
            if place < len(self.summation.by):
                code = self.coding.fold_axis(self.summation.by[place])[code]
            cells = cells * size + code
        counted, *totals = columns[len(shape) :]
        if int(counted.sum()) > self.rows:
            raise explain_change(self.table.source)
        counts = np.zeros(len(found), dtype=np.int64)
        np.add.at(counts, cells, counted)
        for place, total in enumerate(totals):
            np.add.at(found[:, place], cells, total)
        return counts

    def _total(self, product: str, place: int) -> str:
        """A sum of whole numbers, exactly.

        In floating point where all rows together stay below 2^53, as then every partial sum is
        exact, in whatever order; else in whole numbers of the engine, which do not overflow.
        """
        largest = 1
        for name in product.split(" * "):
            least, greatest = self._ranges()[int(name[1:])]
            largest *= max(-least, greatest, 1)
        if largest * max(self.rows, 1) >= 1 << 53:
            product = f"CAST({product} AS {self.dialect.wide})"
        return f"CAST(COALESCE(sum({product}), 0) AS BIGINT) AS s{place}"

    def _ranges(self) -> list[tuple[int, int]]:
        radius = self.summation.radius
        if radius is None:
            return self.summation.ranges
        return [(-radius, radius)] * self.summation.width

    # ---- levels

    def _values(self) -> str:
        """The terms as v0, v1, ..., and groups; rows that do not count are left out."""
        terms = [self._term(term) for term in self.summation.terms]
        columns = [f"{value} AS v{i}" for i, (value, _) in enumerate(terms)]
        if self.summation.centres and not self.summation.complete:
            columns += [f"{missing} AS m{i}" for i, (_, missing) in enumerate(terms)]
        for place, axis in enumerate(self.summation.by):
            cell = self.coding.place(self.coding.schema[axis.attribute])
            columns.append(f"e{cell} AS g{place}")
        query = f"SELECT {', '.join(columns)} FROM {self.relation}"
        if self.summation.complete:
            missing = {condition for _, condition in terms if condition != "FALSE"}
            if missing:
                query += f" WHERE NOT ({' OR '.join(sorted(missing))})"
        return f"({query}{self.dialect.fence}) terms"

    def _term(self, term: Term) -> tuple[str, str]:
        """The number of a term, 0 where it is missing, and the condition that it is."""
        place = self.coding.place(term.attribute)
        real = self.dialect.types["real"]
        if isinstance(term.attribute, GridValues):
            missing = f"e{place} >= {term.attribute.values_size}"
            value = f"CAST(e{place} AS {real}) + {self._real(term.offset)}"
            if self.coding.is_left_out(place):
                missing = "FALSE"  # such rows are not there
        else:
            by_code = self._numbers_by_code(term)
            missing = _among(place, [code for code, number in by_code if number is None])
            value = _cases(place, [(code, number or 0) for code, number in by_code], real)
        if self.summation.complete or missing == "FALSE":
            return value, missing
        return f"CASE WHEN {missing} THEN {self._real(0)} ELSE {value} END", missing

    def _numbers_by_code(self, term: Term) -> list[tuple[int, int | None]]:
        """For each code of the engine's, the number."""
        folded = self.coding.fold_axis(Axis(term.attribute.name))
        return [(code, term.values[own]) for code, own in enumerate(folded.tolist())]

    def _group_sql(self) -> str:
        """With the nearest point, if there are some, as the last group."""
        nearest = self.summation.nearest
        if nearest is None:
            return self._values()
        distances = []
        for place, point in enumerate(nearest.points):
            parts = [
                f"(v{i} - {self._real(centre)}) * {self._real(weight)}"
                for i, (centre, weight) in enumerate(zip(point, nearest.weights, strict=True))
            ]
            distances.append(f"{' + '.join(f'({p}) * ({p})' for p in parts)} AS d{place}")
        query = f"SELECT *, {', '.join(distances)} FROM {self._values()}{self.dialect.fence}"
        points = range(len(nearest.points))
        least = f"least({', '.join(f'd{place}' for place in points)})"
        if len(points) == 1:
            least = "d0"
        closest = f"SELECT *, {least} AS d FROM ({query}) distances{self.dialect.fence}"
        cases = " ".join(f"WHEN d{place} = d THEN {place}" for place in points)
        group = f"g{len(self.summation.by)}"
        chosen = f"SELECT *, CASE {cases} END AS {group} FROM ({closest}) closest"
        return f"({chosen}{self.dialect.fence}) groups"

    def _centre_sql(self) -> str:
        """With each group's centres taken off."""
        if not self.summation.centres:
            return self._group_sql()
        flat = self._flat_group()
        columns = self._group_columns()
        lines = list(zip(*self.summation.centres, strict=True))
        for place, centres in enumerate(lines):
            cases = " ".join(
                f"WHEN {group} THEN {self._real(centre)}" for group, centre in enumerate(centres)
            )
            value = f"v{place} - CASE g {cases} END"
            if not self.summation.complete:
                value = f"CASE WHEN m{place} THEN {self._real(0)} ELSE {value} END"
            columns.append(f"{value} AS v{place}")
        numbered = f"SELECT *, {flat} AS g FROM {self._group_sql()}"
        query = f"SELECT {', '.join(columns)} FROM ({numbered}{self.dialect.fence}) numbered"
        return f"({query}{self.dialect.fence}) centred"

    def _flat_group(self) -> str:
        """The number of a row's group."""
        flat = "0"
        for place, axis in enumerate(self.summation.by):
            folded = self.coding.fold_axis(axis)
            cases = " ".join(f"WHEN {code} THEN {own}" for code, own in enumerate(folded.tolist()))
            size = int(folded.max()) + 1
            flat = f"({flat}) * {size} + CASE g{place} {cases} END"
        if self.summation.nearest is not None:
            points = len(self.summation.nearest.points)
            flat = f"({flat}) * {points} + g{len(self.summation.by)}"
        return flat

    def _direct_sql(self) -> str:
        """With the components along directions instead of the terms."""
        directions = self.summation.directions
        if directions is None:
            return self._centre_sql()
        columns = self._group_columns()
        for line, numbers in enumerate(directions.lines):
            parts = [f"v{i} * {self._real(number)}" for i, number in enumerate(numbers) if number]
            total = " + ".join(parts) or self._real(0)
            halves_up = f"floor(({total}) / {self._real(DIRECTION_STEPS)} + {self._real(0.5)})"
            columns.append(f"CAST({halves_up} AS {self.dialect.types['real']}) AS w{line}")
        query = f"SELECT {', '.join(columns)} FROM {self._centre_sql()}{self.dialect.fence}"
        names = [f"w{line} AS v{line}" for line in range(len(directions.lines))]
        renamed = ", ".join([*self._group_columns(), *names])
        return f"(SELECT {renamed} FROM ({query}) along{self.dialect.fence}) directed"

    def _shorten_sql(self) -> str:
        """With rows that are too long shortened to the radius."""
        radius = self.summation.radius
        if radius is None:
            return self._centre_sql()
        places = range(self.summation.width)
        squares = " + ".join(f"v{place} * v{place}" for place in places)
        measured = f"SELECT *, {squares} AS q FROM {self._direct_sql()}{self.dialect.fence}"
        factor = (
            f"CASE WHEN q > {self._real(radius**2)} THEN "
            f"{self._real(self.summation.shrink)} / sqrt(q) ELSE {self._real(1)} END"
        )
        factored = f"SELECT *, {factor} AS f FROM ({measured}) measured{self.dialect.fence}"
        columns = self._group_columns()
        real = self.dialect.types["real"]
        columns += [
            f"CAST(sign(v{place}) * floor(abs(v{place}) * f) AS {real}) AS v{place}"
            for place in places
        ]
        query = f"SELECT {', '.join(columns)} FROM ({factored}) factored"
        return f"({query}{self.dialect.fence}) shortened"

    def _group_columns(self) -> list[str]:
        groups = len(self.summation.by) + (self.summation.nearest is not None)
        return [f"g{place}" for place in range(groups)]

    def _real(self, number: float) -> str:
        return self.dialect.number(number, "real")


def _among(place: int, codes: Sequence[int]) -> str:
    if not codes:
        return "FALSE"
    return f"e{place} IN ({', '.join(map(str, codes))})"


def _cases(place: int, numbers: Sequence[tuple[int, int]], real: str) -> str:
    """The number of a code: those that are not 0 are listed."""
    by_number: dict[int, list[int]] = {}
    for code, number in numbers:
        by_number.setdefault(number, []).append(code)
    by_number.pop(0, None)
    if not by_number:
        return f"CAST(0 AS {real})"
    cases = " ".join(
        f"WHEN {_among(place, codes)} THEN {number}" for number, codes in by_number.items()
    )
    return f"CAST(CASE {cases} ELSE 0 END AS {real})"
