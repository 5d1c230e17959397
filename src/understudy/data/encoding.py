"""Values to small integer codes, and codes back to values.

Encoding is total: once a column has the kind that the schema says, every value gets a code, so that
nothing about the run tells whether some row held an unexpected one. Values outside the domain count
at its edge; how many there were is told to the owner (:class:`Outside`) and to nobody else.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import (
    BOOLEAN_VALUES,
    EPOCH,
    Attribute,
    Category,
    Identifier,
    Quantity,
    Schema,
    Text,
)
from understudy.data.streams import draw_uniforms
from understudy.data.tables import MARKS, Column, Table
from understudy.data.value_classes import ValueClasses
from understudy.errors import InputError

Codes = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True)
class Outside:
    """Values of a column that its domain does not hold. For the owner's eyes only."""

    column: str
    count: int
    counted_as: str
    remedy: str

    def __str__(self) -> str:
        if self.count != 1:
            plural = "s"
        else:
            plural = ""
        found = f"{self.column}: {self.count:,} value{plural} outside the domain"
        return f"{found} counted as {self.counted_as}; {self.remedy}"


@dataclass(frozen=True)
class Coded:
    """The rows of a table as codes: as private as the table itself."""

    schema: Schema
    codes: Mapping[str, Codes]
    rows: int
    outside: tuple[Outside, ...]


def encode(table: Table, schema: Schema) -> Coded:
    """Turn a table into codes; its columns must be those of the schema, in any order."""
    schema = schema.ordered_as(table.names, table.source)
    if not schema.modelled:
        raise InputError(
            f"{table.source} has no column to model: the schema holds only identifiers and text."
        )
    codes: dict[str, Codes] = {}
    outside: list[Outside] = []
    for attribute in schema.modelled:
        encoder = _Encoder(attribute, table.columns[attribute.name], table.source)
        codes[attribute.name] = encoder.codes()
        outside.extend(encoder.outside)
    return Coded(schema, codes, table.rows, tuple(outside))


def quantity_values(attribute: Quantity, table: Table) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The values of a quantity in its unit, not cut into bins, and where they are missing: as
    private as the table.
    """
    encoder = _Encoder(attribute, table.columns[attribute.name], table.source)
    absent = encoder.absent()
    if encoder.column.kind == "empty":
        return np.zeros(table.rows), absent
    return encoder.numbers(attribute, absent), absent


class _Encoder:
    """Encodes one column.

    The code of a cell is a function of that cell and the schema alone. Where it depended on other
    cells (on the kind that the whole column looks like, say), one row could change the codes of
    thousands: no noise would be enough.
    """

    def __init__(self, attribute: Attribute, column: Column, source: str) -> None:
        self.attribute = attribute
        if column.raw is not None:
            self.column = column.raw
        else:
            self.column = column
        self.source = source
        self.outside: list[Outside] = []

    def codes(self) -> Codes:
        attribute, column = self.attribute, self.column
        absent = self.absent()
        if column.kind == "empty":
            found = np.zeros(len(column), dtype=np.int64)
        elif isinstance(attribute, Quantity):
            found = self.bins(attribute, self.numbers(attribute, absent), absent)
        else:
            assert isinstance(attribute, Category)
            found = self.categories(attribute, absent)
        if absent.any():
            found = self.with_missing(found, absent)
        return found.astype(np.min_scalar_type(attribute.size - 1), copy=False)

    def absent(self) -> NDArray[np.bool_]:
        column = self.column
        if column.missing is None:
            return np.zeros(len(column), dtype=bool)
        return column.missing > 0

    def with_missing(self, found: NDArray[Any], absent: NDArray[np.bool_]) -> NDArray[Any]:
        attribute = self.attribute
        if attribute.missing is not None:
            return np.where(absent, attribute.values_size, found)
        if isinstance(attribute, Category):
            instead = attribute.outside
        else:
            instead = 0
        self.report(int(absent.sum()), instead, 'allow "missing" in the schema to keep them apart')
        return np.where(absent, instead, found)

    # ---- quantities

    def numbers(self, attribute: Quantity, absent: NDArray[np.bool_]) -> NDArray[Any]:
        column = self.column
        if attribute.kind in ("date", "datetime"):
            numbers = self.moments(attribute, absent)
        elif column.kind in ("integer", "real"):
            numbers = column.values
            if attribute.missing:  # a number may stand for "missing": -99, say
                absent |= numbers == _number(attribute.missing)
        elif column.kind == "text":
            numbers = self.parsed(absent, lambda word: self.number_of(attribute, word))
        else:
            raise self.wrong_kind(attribute.kind, f"{column.kind} values")
        if numbers.dtype.kind == "f":
            absent |= np.isnan(numbers)
            if attribute.whole:
                # Infinite values are whole enough: they count at the edge.
                broken = (numbers != np.floor(numbers)) & ~absent
                if broken.any():
                    raise self.wrong_kind(attribute.kind, f"{numbers[broken][0]:g}")
        return numbers

    def parsed(
        self, absent: NDArray[np.bool_], parse: Callable[[str], float | None]
    ) -> NDArray[np.float64]:
        """Each distinct text by itself; None stands for missing."""
        words, places = self.words()
        needed = np.bincount(places[~absent], minlength=len(words)) > 0
        found = [parse(word.strip()) if needed[place] else None for place, word in enumerate(words)]
        absent |= np.array([number is None for number in found], dtype=bool)[places]
        return np.array([0.0 if number is None else number for number in found], dtype=np.float64)[
            places
        ]

    def number_of(self, attribute: Quantity, word: str) -> float | None:
        if word == attribute.missing or word in MARKS:
            return None
        if _NUMBER.fullmatch(word):
            number = float(word)
        else:
            number = float("nan")
        if np.isnan(number):
            raise self.wrong_kind(attribute.kind, word)
        if attribute.missing and number == _number(attribute.missing):
            return None
        return number

    def moments(self, attribute: Quantity, absent: NDArray[np.bool_]) -> NDArray[Any]:
        column = self.column
        if column.kind == "text" or (
            column.kind in ("integer", "real") and attribute.format
        ):  # 20200131, say
            return self.parsed(absent, lambda word: self.moment_of(attribute, word)).astype(
                np.int64
            )
        if column.kind == attribute.kind:
            return column.values
        if (column.kind, attribute.kind) == ("date", "datetime"):
            return column.values * 86400
        if (column.kind, attribute.kind) == ("datetime", "date"):
            return column.values // 86400
        raise self.wrong_kind(attribute.kind, f"{column.kind} values")

    def moment_of(self, attribute: Quantity, word: str) -> float | None:
        if word == attribute.missing or word in MARKS:
            return None
        form = attribute.format
        try:
            moment = _moment(word, form)
        except ValueError:
            raise self.wrong_kind(
                attribute.kind + (f" written {form}" if form else ""), word
            ) from None
        since = moment.replace(tzinfo=None) - EPOCH
        if attribute.kind == "date":
            return since.days
        return since.days * 86400 + since.seconds

    def bins(
        self, attribute: Quantity, numbers: NDArray[Any], absent: NDArray[np.bool_]
    ) -> NDArray[Any]:
        if isinstance(attribute, ValueClasses):
            return attribute.code(numbers)
        edges = np.array(attribute.edges, dtype=np.int64 if attribute.whole else np.float64)
        low = (numbers < edges[0]) & ~absent
        high = ((numbers >= edges[-1]) if attribute.whole else (numbers > edges[-1])) & ~absent
        remedy = "if the public bounds are wider than the schema says, fix it"
        self.report(int(low.sum()), 0, remedy)
        self.report(int(high.sum()), attribute.bins - 1, remedy)
        return np.searchsorted(edges[1:-1], numbers, side="right")

    # ---- categories

    def categories(self, attribute: Category, absent: NDArray[np.bool_]) -> NDArray[Any]:
        if self.column.kind in ("integer", "real") and all(
            np.isnan(_number(value)) for value in attribute.domain
        ):
            raise self.wrong_kind(
                f"{attribute.kind} with the values {attribute.label(0)!r}, ...", "numbers only"
            )
        words, places = self.words()
        code_of = _category_codes(attribute)
        by_word = np.array([code_of(word) for word in words], dtype=np.int64)
        found = by_word[places]
        absent |= found == _MISSING
        unknown = (found == _OUTSIDE) & ~absent
        if unknown.any():
            self.report(int(unknown.sum()), attribute.outside, self.category_remedy(attribute))
        return np.where(found < 0, attribute.outside, found)

    def words(self) -> tuple[Sequence[str], NDArray[Any]]:
        """The distinct values as text, and where in them each row's value stands.

        A number is written the same whatever type its column has: adding a missing value makes
        integers real in pandas.
        """
        column = self.column
        if column.kind == "text":
            return column.words, column.values
        distinct, places = np.unique(column.values, return_inverse=True)
        if column.kind in ("integer", "real"):
            return [_written(number) for number in distinct.tolist()], places
        if column.kind == "boolean":
            return [str(bool(value)) for value in distinct], places
        return [Quantity("", column.kind).write(value) for value in distinct.tolist()], places

    @staticmethod
    def category_remedy(attribute: Category) -> str:
        if attribute.other is not None:
            return 'list them under "values" in the schema to keep them apart'
        return 'list them under "values" or name an "other" in the schema'

    # ---- messages

    def report(self, count: int, code: int, remedy: str) -> None:
        if count:
            self.outside.append(
                Outside(self.attribute.name, count, self.attribute.label(code), remedy)
            )

    def wrong_kind(self, kind: str, found: str) -> InputError:
        return InputError(
            f"{self.source}, column {self.attribute.name!r}: the schema says {kind}, but the "
            f"column holds {found!r}; "
            f"fix the value or the schema."
        )


_OUTSIDE, _MISSING = -1, -2
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
_WHOLE_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")


def _moment(word: str, form: str | None) -> dt.datetime:
    """Read a point in time.

    A data frame that mixes types holds points in time as objects, which have no format: they come
    as ISO 8601.
    """
    if not form:
        return dt.datetime.fromisoformat(word)
    try:
        return dt.datetime.strptime(word, form)
    except ValueError:
        if _WHOLE_MOMENT.match(word) is None:
            raise
        return dt.datetime.fromisoformat(word)


def _category_codes(attribute: Category) -> Callable[[str], int]:
    """What turns a text into a code: by itself, without spaces around it, as a truth value, as a
    number.
    """
    domain = attribute.domain
    numeric = not isinstance(domain[0], str)
    if numeric:
        by_word = {}
    else:
        by_word = {str(value): code for code, value in enumerate(domain)}
    by_truth = {
        word.casefold(): code
        for word, code in by_word.items()
        if word.casefold() in ("true", "false")
    }
    if attribute.kind == "boolean":
        by_truth = {"false": 0, "true": 1} | {
            str(value).casefold(): code for code, value in enumerate(domain)
        }
    by_number: dict[float, int] = {}
    for code, value in enumerate(domain):
        number = _number(value)
        if not np.isnan(number):
            by_number.setdefault(number, code)

    def code_of(word: str) -> int:
        if word in by_word:
            return by_word[word]
        bare = word.strip()
        if (
            bare in ("", attribute.missing)
            or word == attribute.missing
            or (numeric and bare in MARKS)
        ):
            return _MISSING
        if bare in by_word:
            return by_word[bare]
        if bare.casefold() in by_truth:
            return by_truth[bare.casefold()]
        if _NUMBER.fullmatch(bare):
            number = float(bare)
        else:
            number = float("nan")
        if attribute.missing and number == _number(attribute.missing):
            return _MISSING
        return by_number.get(number, _OUTSIDE)

    return code_of


def _written(number: float) -> str:
    if np.isfinite(number) and number == int(number):
        return str(int(number))
    return repr(number)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (ValueError, OverflowError):
        return float("nan")


# --------------------------------------------------------------------------- back to values


def decode(
    codes: Mapping[str, NDArray[Any]],
    schema: Schema,
    rng: np.random.Generator,
    rows: int,
    first: int = 0,
) -> Table:
    """Turn codes back into a table with the columns of the schema.

    A bin yields a value drawn from what is known of its inside
    (:mod:`understudy.data.inside`), uniformly where that is nothing.

    Parameters
    ----------
    codes
        For each modelled attribute one code a row.
    schema
        What the codes mean.
    rng
        Randomness for the values inside bins.
    rows
        How many rows there are.
    first
        The number of the first row, for identifiers.
    """
    columns: dict[str, Column] = {}
    for attribute in schema:
        if isinstance(attribute, Identifier):
            columns[attribute.name] = _identifiers(attribute, first, rows)
        elif isinstance(attribute, Text):
            if attribute.replacement is not None:
                columns[attribute.name] = Column(
                    "text", np.zeros(rows, dtype=np.uint8), (attribute.replacement,)
                )
        elif isinstance(attribute, Quantity):
            columns[attribute.name] = _decoded_quantity(attribute, codes[attribute.name], rng)
        elif isinstance(attribute, Category):
            columns[attribute.name] = _decoded_category(attribute, codes[attribute.name])
    return Table(columns, "The synthetic table")


def _identifiers(attribute: Identifier, first: int, rows: int) -> Column:
    numbers = np.arange(first + 1, first + rows + 1, dtype=np.int64)
    if attribute.pattern is None:
        return Column("integer", numbers)
    width = attribute.pattern.count("#")
    before, after = attribute.pattern.split("#" * width)
    words = tuple(f"{before}{number:0{width}d}{after}" for number in numbers)
    return Column("text", np.arange(rows, dtype=np.uint32), words)


def _decoded_quantity(attribute: Quantity, codes: NDArray[Any], rng: np.random.Generator) -> Column:
    if attribute.refined:
        values: NDArray[Any] = attribute.inside.draw(codes, rng)
    else:
        values = _drawn_evenly(attribute, codes, rng)
    kind = attribute.kind
    if kind == "real" and values.dtype.kind == "i":
        kind = "integer"  # multiples of a whole step are written without a point
    column = Column(kind, values, mark=attribute.missing or "", format=attribute.format or "")
    return _with_missing(column, attribute, codes)


def _drawn_evenly(
    attribute: Quantity, codes: NDArray[Any], rng: np.random.Generator
) -> NDArray[Any]:
    """Values where nothing is known of the inside of bins: all of a bin are equally likely."""
    # "missing" gets a bin of its own here, so that one lookup serves all rows.
    edges = np.array([*attribute.edges, attribute.edges[-1]], dtype=np.float64)
    low, width = edges[:-1], np.diff(edges)
    if attribute.whole and width[: attribute.bins].max() == 1:
        return low.astype(np.int64)[codes]
    if attribute.whole:
        # Both parts are whole and below 2^53, so the sum is exact and stays below the next edge.
        return low.astype(np.int64)[codes] + (draw_uniforms(rng, len(codes)) * width[codes]).astype(
            np.int64
        )
    unit = float(10**attribute.places)
    inside = low[codes] + draw_uniforms(rng, len(codes)) * width[codes]
    # Rounding, here or in the sum above, must not carry a value over an edge of its bin.
    below = np.nextafter(edges[1:], -np.inf)
    return np.clip(np.floor(inside * unit) / unit, low[codes], below[codes])


def _decoded_category(attribute: Category, codes: NDArray[Any]) -> Column:
    domain = attribute.domain
    if attribute.kind == "boolean" and domain == BOOLEAN_VALUES:
        column = Column("boolean", codes == 1, mark=attribute.missing or "")
    elif isinstance(domain[0], str):
        # The word for "missing" is never looked at; it keeps the code in range.
        words = tuple(str(value) for value in domain) + (
            ("",) if attribute.missing is not None else ()
        )
        column = Column("text", codes, words, mark=attribute.missing or "")
    else:
        whole = all(isinstance(value, int) for value in domain)
        numbers = np.array([*domain, 0], dtype=np.int64 if whole else np.float64)
        column = Column(
            "integer" if whole else "real", numbers[codes], mark=attribute.missing or ""
        )
    return _with_missing(column, attribute, codes)


def _with_missing(column: Column, attribute: Attribute, codes: NDArray[Any]) -> Column:
    # Also where no row happens to be without a value: the type of a column in a frame depends on
    # it.
    if attribute.missing is None:
        return column
    return replace(column, missing=(codes == attribute.values_size).astype(np.uint8))
