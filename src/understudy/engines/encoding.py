"""Values to codes inside an engine: the same codes as :func:`understudy.data.encoding.encode`
gives, cell by cell.

Numbers, dates and truth values become codes by SQL expressions. Of texts, the distinct ones are
fetched and handed to the very encoder that works in memory; what it says goes back as a lookup
table. Only numbers and datetimes written out as text in a common way (see
:mod:`understudy.engines.spellings`), of which there may be as many as rows, are read by the engine
itself.

The codes are those of the *extended* attribute (:mod:`understudy.engines.extended`).
"""

from __future__ import annotations

import contextlib
import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.data.cells import (
    CellEncoder,
    missing_number,
)
from understudy.data.inside import DAY_SECONDS
from understudy.data.nearest import cut_between_values, whole_cuts
from understudy.data.schema import Attribute, Category, Quantity
from understudy.data.tables import Column
from understudy.data.time_formats import EPOCH
from understudy.data.value_classes import (
    GridClasses,
    GridValues,
    MonthDayClasses,
    WeekdayClasses,
    find_scale,
)
from understudy.engines.dialects import Dialect
from understudy.engines.extended import extend_attribute
from understudy.engines.spellings import plain_moment, plain_number

LISTED_KEYS = 64
"""Lookups of up to this many keys are written out in the query, where the engine has a way to."""

FIRST_DAY = (dt.datetime.min - EPOCH).days
LAST_DAY = (dt.datetime.max - EPOCH).days
"""Of the calendar, in days since 1970."""

_LINEAR_BINS = 8
_MANY_BINS = 500
"""Beyond as many, planning a comparison with each edge takes longer than counting those reached."""
_COUNTED_BINS = 64


@dataclass(frozen=True)
class Raw:
    """A column inside an engine: what kind of values it holds and how SQL names it, once cast to
    its kind.
    """

    name: str
    kind: str
    sql: str


class CellCode:
    """The extended code of a cell of one column, as SQL.

    Where texts must be looked at one by one, ``looked_at`` is the query's part that gives them;
    :meth:`learn` takes the distinct ones, and ``lookup`` then says which codes they have.

    Parameters
    ----------
    attribute
        What the column is, by the schema.
    raw
        The column.
    dialect
        The SQL of the engine.
    place
        Numbers the column; names of things that belong to it end in it.
    """

    def __init__(self, attribute: Attribute, raw: Raw, dialect: Dialect, place: int) -> None:
        self.attribute = extend_attribute(attribute)
        self.raw = raw
        self.dialect = dialect
        self.place = place
        self.lookup: dict[Any, int] = {}
        self.key = ""
        """What is looked up, in SQL; empty where nothing is."""
        self.key_kind = "text"
        self.looked_at = ""
        """The condition under which a key must be among those learned; empty where all keys are
        known beforehand.
        """
        self.read = ""
        """A number or datetime that the engine reads off a text, NULL where it cannot; it is named
        ``n<place>``.
        """
        if isinstance(self.attribute, Quantity):
            self._sql = self._quantity()
        else:
            self._sql = self._category()

    @property
    def sql(self) -> str:
        """The code; what the lookup gives stands there as ``found``."""
        return self._sql.replace(_FOUND, self.found)

    @property
    def steps(self) -> tuple[str, str] | None:
        """Of a number on a grid, in a column of numbers: its steps above the lower bound, and the
        condition under which it is missing or cannot be read. None for any other cell.
        """
        attribute, raw = self.attribute, self.raw
        if not isinstance(attribute, GridValues) or attribute.is_moment:
            return None
        if raw.kind not in ("integer", "real"):
            return None
        real = raw.sql
        if raw.kind == "integer":
            real = self.dialect.cast(raw.sql, "real")
        absent = [self._null()]
        mark = missing_number(attribute)
        if not math.isnan(mark):
            absent.append(f"{real} = {self.dialect.number(mark, 'real')}")
        return self._steps(attribute, self._whole(real, raw.kind)), " OR ".join(absent)

    @property
    def joined(self) -> bool:
        """Whether the lookup is a table to be joined, named ``l<place>``; a small one may be part
        of the expression.
        """
        if not self.lookup:
            return False
        # Keys that were learned are private; others stand in the schema.
        hidden = bool(self.looked_at) and self.dialect.logs_queries
        return hidden or self.dialect.looked_up is None or len(self.lookup) > LISTED_KEYS

    @property
    def found(self) -> str:
        """What the lookup gives, in SQL."""
        if self.joined:
            return f"l{self.place}.code"
        if not self.lookup:
            return "NULL"
        assert self.dialect.looked_up is not None
        keys = [self.dialect.key(key, self.key_kind) for key in self.lookup]
        return self.dialect.looked_up(self.key, keys, list(self.lookup.values()))

    @property
    def codes(self) -> int:
        """How many codes there are, that of what cannot be read included."""
        return self.attribute.size + 1

    @property
    def unreadable(self) -> int:
        """The code of what cannot be read as the schema says: a text in a column of numbers."""
        return self.attribute.size

    def learn(self, keys: Sequence[str]) -> None:
        """Find the codes of some distinct texts, by the encoder that works in memory.

        However many there are: to refuse a table with one text too many would tell of a row. Those
        that mean nothing are not kept.
        """
        if not keys:
            return
        unknown = self.unreadable
        if isinstance(self.attribute, Category):
            unknown = self.attribute.outside
        found = zip(keys, self._encode_values(keys), strict=True)
        self.lookup.update((word, code) for word, code in found if code != unknown)

    # ---- quantities

    def _quantity(self) -> str:
        attribute, raw = self.attribute, self.raw
        assert isinstance(attribute, Quantity)
        if raw.kind in ("integer", "real") and not attribute.is_moment:
            return self._case(self._null(), self._numbers(raw.sql, raw.kind))
        if raw.kind in ("date", "datetime") and attribute.kind in ("date", "datetime"):
            return self._case(self._null(), self._moments(attribute, raw.sql, raw.kind))
        if raw.kind not in ("text", "integer", "real"):
            return self._case(self._null(), str(self.unreadable))
        if attribute.is_moment:
            return self._read_moments(attribute)
        return self._read_numbers(attribute)

    def _numbers(self, value: str, kind: str) -> str:
        """The code of a number that is there."""
        attribute = self.attribute
        assert isinstance(attribute, Quantity)
        if isinstance(attribute, GridValues):
            code = self._steps(attribute, self._whole(self.dialect.cast(value, "real"), kind))
        elif isinstance(attribute, GridClasses):
            code = self._grids(attribute, self._whole(self.dialect.cast(value, "real"), kind))
        elif kind == "integer" and attribute.whole:
            cuts = [self.dialect.number(cut, kind) for cut in whole_cuts(attribute)[1:-1]]
            code = self._bins(value, cuts)
        else:
            if kind != "real":
                value = self.dialect.cast(value, "real")
            edges = [f"'{float(cut)!r}'" for cut in cut_between_values(attribute)[1:-1]]
            code = self._write_typed_bins(value, edges, "real")
        mark = missing_number(attribute)
        if not math.isnan(mark):  # a number may stand for "missing": -99, say
            if kind == "real":
                as_real = value
            else:
                as_real = self.dialect.cast(value, "real")
            code = (
                f"CASE WHEN {as_real} = {self.dialect.number(mark, 'real')} THEN "
                f"{self.missing} ELSE {code} END"
            )
        return code

    def _whole(self, value: str, kind: str) -> str:
        """A real, rounded where the attribute has whole numbers only; as
        :func:`understudy.data.nearest.round_to_whole` does it.
        """
        assert isinstance(self.attribute, Quantity)
        if kind != "real" or not self.attribute.whole:
            return value
        half = self.dialect.number(0.5, "real")
        one, none = (self.dialect.number(number, "real") for number in (1.0, 0.0))
        above = f"CASE WHEN {value} - floor({value}) >= {half} THEN {one} ELSE {none} END"
        return f"(floor({value}) + {above})"

    def _moments(self, attribute: Quantity, value: str, kind: str) -> str:
        """The code of a date or datetime that is there."""
        if isinstance(attribute, WeekdayClasses):
            code = self.dialect.weekday(value)
        elif isinstance(attribute, MonthDayClasses):
            code = self.dialect.month_day(value)
        elif isinstance(attribute, GridClasses):
            code = self._grids(attribute, self._epoch(_whole_calendar(attribute), value, kind))
        elif isinstance(attribute, GridValues):
            code = self._steps(attribute, self._epoch(attribute, value, kind))
        else:
            edges, compared = self._texts_of_moments(kind, whole_cuts(attribute)[1:-1])
            code = self._write_typed_bins(value, edges, compared)
        mark = missing_number(attribute)
        if math.isnan(mark):
            return code
        # A datetime is that date, or that second, if it lies between its beginning and its end.
        between = self._write_moments(kind, [mark, mark + 1])
        conditions = [f"{value} >= {between[0]}", *(f"{value} < {end}" for end in between[1:])]
        return f"CASE WHEN {' AND '.join(conditions)} THEN {self.missing} ELSE {code} END"

    def _read_numbers(self, attribute: Quantity) -> str:
        number = plain_number(attribute.format or "", self.raw.sql, self.dialect)
        return self._read(number, self._numbers(f"n{self.place}", "real"))

    def _read_moments(self, attribute: Quantity) -> str:
        moment = ""
        if self.raw.kind == "text" and self.dialect.reads_moments and attribute.kind != "time":
            moment = plain_moment(attribute.format or "", self.raw.sql, self.dialect)
        if not moment:
            return self._read("", "")
        return self._read(moment, self._moments(attribute, f"n{self.place}", "datetime"))

    def _read(self, value: str, code: str) -> str:
        """What the engine can read itself, by ``code``; the rest by the lookup."""
        self.key = self._word()
        self.looked_at = f"NOT ({self._null()})"
        known = f"COALESCE({_FOUND}, {self.unreadable})"
        if value:
            self.read = value
            self.looked_at += f" AND n{self.place} IS NULL"
            known = f"CASE WHEN n{self.place} IS NOT NULL THEN {code} ELSE {known} END"
        return self._case(self._null(), known)

    def _write_moments(self, kind: str, moments: Sequence[float]) -> list[str]:
        """Numbers of the attribute's unit as dates or datetimes."""
        texts, compared = self._texts_of_moments(kind, moments)
        return [self.dialect.cast(text, compared) for text in texts]

    def _texts_of_moments(self, kind: str, moments: Sequence[float]) -> tuple[list[str], str]:
        """Numbers of the attribute's unit as texts, and the kind that these are compared as; those
        beyond the calendar hold nothing back.
        """
        if self.attribute.kind == "date":
            unit = dt.timedelta(days=1)
        else:
            unit = dt.timedelta(seconds=1)
        if kind == self.attribute.kind == "date":
            compared = "date"
        else:
            compared = "datetime"
        texts = []
        for number in moments:
            with contextlib.suppress(OverflowError):
                moment = EPOCH + int(number) * unit
                if compared == "date":
                    texts.append(f"'{moment.date().isoformat()}'")
                else:
                    texts.append(f"'{moment.isoformat(sep=' ')}'")
        return texts, compared

    def _grids(self, attribute: GridClasses, value: str) -> str:
        """Which of some grids a number lies on, as :meth:`GridClasses.code` tells it."""
        cases = [f"WHEN {value} = {self.dialect.number(0.0, 'real')} THEN 0"]
        for place, step in enumerate(attribute.steps):
            number, divides = find_scale(step)
            factor = self.dialect.number(number, "real")
            on_grid = f"floor({value} * {factor} + {self.dialect.number(0.5, 'real')}) / {factor}"
            if divides:
                on_grid = f"floor({value} / {factor}) * {factor}"
            cases.append(f"WHEN {on_grid} = {value} THEN {place + 1}")
        return f"CASE {' '.join(cases)} ELSE {len(attribute.steps) + 1} END"

    def _steps(self, attribute: GridValues, value: str) -> str:
        """How many steps above the lower bound a clipped number is, as :meth:`GridValues.code`
        tells it.
        """
        lower, upper, step, half, lowest = (
            self.dialect.number(number, "real")
            for number in (
                attribute.lower,
                attribute.upper,
                attribute.grid_step,
                0.5,
                attribute.lowest,
            )
        )
        clipped = (
            f"CASE WHEN {value} < {lower} THEN {lower} WHEN {value} > {upper} THEN {upper} "
            f"ELSE {value} END"
        )
        return f"(floor(({clipped}) / {step} + {half}) - {lowest})"

    def _epoch(self, attribute: GridValues, value: str, kind: str) -> str:
        """A date or datetime as a number of the attribute's unit, clipped to its bounds already:
        engines have dates that are infinite, and no numbers for them.
        """
        unit = 1
        if attribute.kind == "datetime":
            unit = DAY_SECONDS
        first, last = FIRST_DAY * unit, (LAST_DAY + 1) * unit - 1
        lower, upper = max(attribute.lower, first), min(attribute.upper, last)
        if not first <= lower <= upper <= last:  # no date lies between the bounds
            return self.dialect.number(attribute.lower, "real")
        between = self._write_moments(kind, [math.floor(lower), math.ceil(upper)])
        real = self.dialect.cast
        if kind == "date":
            number = real(self.dialect.days(value), "real")
            number = f"{number} * {self.dialect.number(unit, 'real')}"
        else:
            number = real(self.dialect.epoch(value), "real")
            if unit == 1:
                number = real(
                    f"floor({number} / {self.dialect.number(DAY_SECONDS, 'real')})", "real"
                )
        return (
            f"CASE WHEN {value} <= {between[0]} THEN {self.dialect.number(lower, 'real')} WHEN "
            f"{value} >= {between[1]} THEN {self.dialect.number(upper, 'real')} ELSE {number} END"
        )

    def _bins(self, value: str, edges: Sequence[str], first: int = 0) -> str:
        """Which stretch between the edges a value lies in: half of them at a time, the last few one
        by one.
        """
        if len(edges) <= _LINEAR_BINS:
            if not edges:
                return str(first)
            cases = " ".join(
                f"WHEN {value} < {edge} THEN {first + i}" for i, edge in enumerate(edges)
            )
            return f"CASE {cases} ELSE {first + len(edges)} END"
        middle = len(edges) // 2
        below = self._bins(value, edges[:middle], first)
        above = self._bins(value, edges[middle + 1 :], first + middle + 1)
        return f"CASE WHEN {value} < {edges[middle]} THEN {below} ELSE {above} END"

    def _write_typed_bins(self, value: str, edges: Sequence[str], kind: str) -> str:
        """The same with edges that are texts of a kind."""
        if self.dialect.count_reached is not None and len(edges) > _MANY_BINS:
            return self._count_bins(value, edges, kind)
        return self._bins(value, [self.dialect.cast(edge, kind) for edge in edges])

    def _count_bins(self, value: str, edges: Sequence[str], kind: str, first: int = 0) -> str:
        """The same where there are many of them: the last ones at once."""
        assert self.dialect.count_reached is not None
        if len(edges) <= _COUNTED_BINS:
            reached = self.dialect.count_reached(value, edges, self.dialect.types[kind])
            return f"({first} + {reached})"
        middle = len(edges) // 2
        below = self._count_bins(value, edges[:middle], kind, first)
        above = self._count_bins(value, edges[middle + 1 :], kind, first + middle + 1)
        edge = self.dialect.cast(edges[middle], kind)
        return f"CASE WHEN {value} < {edge} THEN {below} ELSE {above} END"

    # ---- categories

    def _category(self) -> str:
        attribute, raw = self.attribute, self.raw
        assert isinstance(attribute, Category)
        if raw.kind == "boolean":
            false, true = self._encode_values([False, True])
            return self._case(self._null(), f"CASE WHEN {raw.sql} THEN {true} ELSE {false} END")
        marks = {_number(value) for value in (*attribute.domain, attribute.missing)}
        # Beyond 2^53 several integers are the same real: there, they are told apart by how they are
        # written.
        exact = raw.kind == "real" or all(
            abs(mark) < 2.0**53 for mark in marks if math.isfinite(mark)
        )
        if raw.kind in ("integer", "real") and exact:
            # A number has a code if it is one of the values, or the mark for missing.
            numbers = sorted(mark for mark in marks if not math.isnan(mark))
            self.key = (
                f"({raw.sql if raw.kind == 'real' else self.dialect.cast(raw.sql, 'real')} + 0)"
            )
            self.key_kind = "real"
            self.lookup = dict(zip(numbers, self._encode_values(numbers), strict=True))
        else:
            self.key = self._word()
            self.looked_at = f"NOT ({self._null()})"
        return self._case(self._null(), f"COALESCE({_FOUND}, {attribute.outside})")

    # ---- parts

    @property
    def missing(self) -> int:
        """The code for missing."""
        return self.attribute.values_size

    def _case(self, absent: str, code: str) -> str:
        return f"CASE WHEN {absent} THEN {self.missing} ELSE {code} END"

    def _null(self) -> str:
        value = self.raw.sql
        if self.raw.kind == "text":
            return f"{value} IS NULL OR {value} = ''"
        if self.raw.kind == "real":
            return f"{value} IS NULL OR {value} = {self.dialect.cast(_NAN, 'real')}"
        return f"{value} IS NULL"

    def _word(self) -> str:
        """The value as text, written as the encoder in memory writes it."""
        value, cast = self.raw.sql, self.dialect.cast
        if self.raw.kind == "text":
            return value
        if self.raw.kind == "datetime":
            moment = cast(self.dialect.seconds(value), "text")
            return f"replace({moment}, ' 00:00:00', '')"
        if self.raw.kind == "real":  # dates written as numbers: 20200131, say
            whole = (
                f"{self.dialect.whole(value)} AND abs({value}) < "
                f"{self.dialect.number(2.0**53, 'real')}"
            )
            return (
                f"CASE WHEN {whole} THEN {cast(cast(value, 'integer'), 'text')} ELSE 'a "
                "fraction' END"
            )
        return cast(value, "text")

    def _encode_values(self, values: Sequence[Any]) -> list[int]:
        """The codes of some values, by the encoder that works in memory."""
        if not values:
            return []
        if isinstance(values[0], str):
            column = Column("text", np.arange(len(values), dtype=np.uint32), tuple(values))
        else:
            column = Column("boolean" if isinstance(values[0], bool) else "real", np.array(values))
        encoder = CellEncoder(self.attribute, column)
        codes = encoder.codes()
        listed: list[int] = np.where(encoder.unreadable, self.unreadable, codes).tolist()
        return listed


_NAN = "'NaN'"
_FOUND = "<found>"


def _number(value: Any) -> float:
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _whole_calendar(attribute: GridClasses) -> GridValues:
    """The same column with the ends of the calendar as its bounds."""
    unit = 1
    if attribute.kind == "datetime":
        unit = DAY_SECONDS
    return GridValues(
        attribute.name,
        attribute.kind,
        lower=FIRST_DAY * unit,
        upper=(LAST_DAY + 1) * unit - 1,
    )
