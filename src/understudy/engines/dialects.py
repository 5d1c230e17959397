"""How the engines write what is needed of SQL: a few types, literals and functions; all else is the
same in all three.

The code of a cell must come out the same to the last case whichever engine works it out. That is
why the SQL is written here, in full sight, and not by a translator whose rounding, trimming and
casting differ from engine to engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Dialect:
    """The SQL of one engine."""

    name: str
    types: Mapping[str, str]
    """The type that a column of each kind is cast to before anything else."""
    code_types: tuple[tuple[int, str], ...]
    """Types for codes, narrowest first, each with the number of codes that it holds."""
    matches: Callable[[str, str], str]
    """Whether all of a text matches a pattern."""
    whole: Callable[[str], str]
    """Whether a number has no fraction."""
    try_cast: Callable[[str, str], str]
    """A cast that is only made where it is known to succeed."""
    seconds: Callable[[str], str]
    """A datetime cut to whole seconds."""
    weekday: Callable[[str], str]
    """The weekday of a date or datetime; Monday is 0."""
    month_day: Callable[[str], str]
    """The day of the month of a date or datetime; the first is 0."""
    days: Callable[[str], str]
    """The days from 1970 to a date."""
    epoch: Callable[[str], str]
    """The whole seconds from 1970 to a datetime."""
    wide: str
    """Whole numbers of which a sum does not overflow."""
    hexadecimal: Callable[[str], str]
    """A text of eight hexadecimal digits as a number."""
    random: str
    collation: str
    """The one in which texts are equal only if they are so byte by byte."""
    looked_up: Callable[[str, Sequence[str], Sequence[int]], str] | None = None
    """A key looked up among a few keys and their codes, where that is faster than a join; NULL if
    it is not there.
    """
    count_reached: Callable[[str, Sequence[str], str], str] | None = None
    """How many edges, given as texts and their type, are not above a value; where that takes less
    time to plan than a comparison with each.
    """
    logs_queries: bool = False
    """Whether the engine is known to write queries where others read them: private texts must not
    stand in one.
    """
    quote: str = '"'
    fence: str = ""
    """What ends a query inside another so that its columns are worked out once, not wherever they
    are used.
    """
    escapes: bool = False
    """Whether a backslash in a literal means something."""
    reads_moments: bool = True
    """Whether ``try_cast`` gives NULL, not an error, for a text that is no date."""

    def quote_name(self, name: str) -> str:
        """A name as SQL writes it."""
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def literal(self, text: str) -> str:
        """A text as SQL writes it."""
        if self.escapes:
            return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        return "'" + text.replace("'", "''") + "'"

    def number(self, value: float, kind: str) -> str:
        """A number that a column of the kind is compared with: read from its shortest text, which
        is exact.
        """
        if kind == "integer":
            return str(int(value))
        return f"CAST('{float(value)!r}' AS {self.types['real']})"

    def key(self, value: Any, kind: str) -> str:
        """A key of a lookup: a text, or a number."""
        if kind == "text":
            return self.literal(value)
        return self.number(value, kind)

    def code_type(self, codes: int) -> str:
        """The narrowest type for this many codes."""
        return next(name for most, name in self.code_types if codes <= most)

    def cast(self, value: str, kind: str) -> str:
        """A value as the kind.

        A text is compared byte by byte from then on. In the collation of its column, "male" and
        "MALE" may be the same: one row that is spelled otherwise could then change how all others
        are read, and two persons become one.
        """
        cast = f"CAST({value} AS {self.types[kind]})"
        if kind == "text":
            return f"({cast} COLLATE {self.collation})"
        return cast


DUCKDB = Dialect(
    name="DuckDB",
    types={
        "integer": "BIGINT",
        "real": "DOUBLE",
        "boolean": "BOOLEAN",
        "date": "DATE",
        "datetime": "TIMESTAMP",
        "text": "VARCHAR",
    },
    code_types=((1 << 8, "UTINYINT"), (1 << 16, "USMALLINT"), (1 << 32, "UINTEGER")),
    matches=lambda value, pattern: f"regexp_full_match({value}, '{pattern}')",
    whole=lambda value: f"{value} = floor({value})",
    try_cast=lambda value, kind: f"TRY_CAST({value} AS {kind})",
    seconds=lambda value: f"date_trunc('second', {value})",
    weekday=lambda value: f"(isodow({value}) - 1)",
    month_day=lambda value: f"(day({value}) - 1)",
    days=lambda value: f"({value} - DATE '1970-01-01')",
    epoch=lambda value: f"epoch(date_trunc('second', {value}))",
    wide="HUGEINT",
    hexadecimal=lambda value: f"CAST(concat('0x', {value}) AS BIGINT)",
    random="random()",
    collation="C",
    looked_up=lambda key, keys, codes: f"map([{', '.join(keys)}], {list(codes)})[{key}]",
    count_reached=lambda value, edges, kind: (
        f"len(list_filter(CAST([{', '.join(edges)}] AS {kind}[]), lambda edge: edge <= {value}))"
    ),
)

POSTGRES = Dialect(
    name="PostgreSQL",
    types={
        "integer": "BIGINT",
        "real": "DOUBLE PRECISION",
        "boolean": "BOOLEAN",
        "date": "DATE",
        "datetime": "TIMESTAMP",
        "text": "TEXT",
    },
    code_types=((1 << 15, "SMALLINT"), (1 << 31, "INTEGER")),
    matches=lambda value, pattern: f"({value} ~ '^({pattern})$')",
    whole=lambda value: f"{value} = floor({value})",
    try_cast=lambda value, kind: f"CAST({value} AS {kind})",
    seconds=lambda value: f"date_trunc('second', {value})",
    weekday=lambda value: f"(CAST(extract(isodow FROM {value}) AS INTEGER) - 1)",
    month_day=lambda value: f"(CAST(extract(day FROM {value}) AS INTEGER) - 1)",
    days=lambda value: f"({value} - DATE '1970-01-01')",
    epoch=lambda value: f"extract(epoch FROM date_trunc('second', {value}))",
    wide="NUMERIC",
    # A string of 32 bits, made longer by zeros in front, is not negative.
    hexadecimal=lambda value: f"CAST(CAST(concat('x00000000', {value}) AS bit(64)) AS BIGINT)",
    random="random()",
    collation='"C"',
    fence=" OFFSET 0",
    reads_moments=False,
)

SPARK = Dialect(
    name="Spark",
    types={
        "integer": "BIGINT",
        "real": "DOUBLE",
        "boolean": "BOOLEAN",
        "date": "DATE",
        "datetime": "TIMESTAMP_NTZ",
        "text": "STRING",
    },
    code_types=((1 << 7, "TINYINT"), (1 << 15, "SMALLINT"), (1 << 31, "INT")),
    # In Java $ also matches before a last line break; \z does not.
    matches=lambda value, pattern: f"({value} RLIKE '^({pattern})\\\\z')",
    whole=lambda value: (
        f"{value} = rint({value})"
    ),  # floor makes a BIGINT there, which infinity does not fit
    try_cast=lambda value, kind: f"TRY_CAST({value} AS {kind})",
    seconds=lambda value: f"date_trunc('SECOND', {value})",
    weekday=lambda value: f"weekday({value})",
    month_day=lambda value: f"(day({value}) - 1)",
    days=lambda value: f"datediff({value}, DATE '1970-01-01')",
    epoch=lambda value: (
        f"timestampdiff(SECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', date_trunc('SECOND', {value}))"
    ),
    wide="DECIMAL(38, 0)",
    hexadecimal=lambda value: f"CAST(conv({value}, 16, 10) AS BIGINT)",
    random="rand()",
    collation="UTF8_BINARY",
    looked_up=lambda key, keys, codes: (
        f"element_at(map_from_arrays(array({', '.join(keys)}), "
        f"array({', '.join(map(str, codes))})), {key})"
    ),
    logs_queries=True,
    quote="`",
    escapes=True,
)
