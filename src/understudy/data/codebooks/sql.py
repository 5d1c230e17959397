"""SQL: what CREATE TABLE says of its columns, by types, NOT NULL, ENUM and CHECK."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from understudy.data.codebooks.facts import CodebookRequest, Facts, Found, as_number, next_value
from understudy.errors import InputError

_DIALECTS = (None, "postgres", "mysql", "sqlite", "tsql", "oracle", "snowflake", "bigquery")
_KINDS = (
    ("boolean", r"BOOLEAN|BOOL|BIT"),
    ("integer", r"U?(TINY|SMALL|MEDIUM|BIG|HUGE)?INT(EGER|\d+)?|(SMALL|BIG)?SERIAL|YEAR"),
    ("real", r"FLOAT\d*|DOUBLE( PRECISION)?|U?DECIMAL|REAL|NUMERIC|NUMBER|(SMALL)?MONEY"),
    ("datetime", r"DATETIME2?|TIMESTAMP(_?\w+)?|TIMESTAMPTZ|SMALLDATETIME"),
    ("date", r"DATE(32)?"),
    ("identifier", r"UUID|UNIQUEIDENTIFIER"),
    ("categorical", r"(N?VAR)?N?CHAR2?|BPCHAR|NVARCHAR|NAME|TEXT|ENUM\d*|SET|VARCHAR2"),
    ("text", r"(TINY|MEDIUM|LONG)?TEXT|N?CLOB|XML|JSONB?|(TINY|MEDIUM|LONG)?BLOB|BYTEA"),
    ("time", r"TIME(TZ)?"),
    ("text", r"(VAR)?BINARY|INTERVAL|ARRAY|GEOMETRY|INET"),
)
_WHOLE_DECIMALS = re.compile(r"(DECIMAL|NUMERIC|NUMBER)")


@dataclass
class _DeclaredColumn:
    name: str
    kind: str | None = None
    required: bool = False
    unique: bool = False
    decimals: int | None = None
    low: Any = None
    high: Any = None
    values: list[Any] = field(default_factory=list)


MAX_SQL = 1 << 22
"""Characters; parsing takes long, and a dump of a whole database holds rows."""


def read_sql(text: str, asked: CodebookRequest) -> Found:
    """What a CREATE TABLE says of its columns."""
    if len(text) > MAX_SQL:
        raise asked.bad(f"is larger than {MAX_SQL >> 20} MB; give its CREATE TABLE alone")
    exp, statements = _parse(text, asked)
    tables = [
        (statement.this.this.name, statement.this)
        for statement in statements
        if isinstance(statement, exp.Create)
        and statement.kind == "TABLE"
        and isinstance(statement.this, exp.Schema)
    ]
    if not tables:
        raise asked.bad("holds no CREATE TABLE that can be read; is it SQL of a common dialect?")
    schema = asked.pick(tables, "name the table's file too, or give one CREATE TABLE alone")
    enums = _enums(text)
    columns: dict[str, _DeclaredColumn] = {}
    for definition in schema.find_all(exp.ColumnDef):
        column = _read_column(definition, enums, exp)
        columns[column.name.casefold()] = column
    asked.check_count(len(columns))
    for check in schema.find_all(exp.CheckColumnConstraint):
        for condition in _all_of(check.this, exp):
            _apply(condition, columns, exp)
    for key in schema.find_all(exp.PrimaryKey, exp.UniqueColumnConstraint):
        names = [part.name for part in key.find_all(exp.Identifier)]
        if len(names) == 1 and names[0].casefold() in columns:
            columns[names[0].casefold()].unique = True
    return Found(facts=[_facts(column) for column in columns.values()])


def _parse(text: str, asked: CodebookRequest) -> tuple[Any, list[Any]]:
    try:
        import sqlglot
        from sqlglot import exp
    except ImportError as error:
        raise InputError(
            "Reading SQL needs the package sqlglot; pip install 'understudy[codebooks]'."
        ) from error
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    for dialect in _DIALECTS:
        try:
            statements = [one for one in sqlglot.parse(text, read=dialect) if one is not None]
        except RecursionError as error:
            raise asked.bad("is nested too deeply to be a codebook") from error
        except sqlglot.errors.SqlglotError:
            continue
        if any(isinstance(one, exp.Create) and one.kind == "TABLE" for one in statements):
            return exp, statements
    return exp, []


def _enums(text: str) -> dict[str, list[str]]:
    """The types that CREATE TYPE ... AS ENUM makes."""
    found = re.finditer(
        r"CREATE\s+TYPE\s+([\w.\"]+)\s+AS\s+ENUM\s*\(((?:\s*'(?:[^']|'')*'\s*,?)*)\s*\)",
        text,
        re.IGNORECASE,
    )
    return {
        match[1].replace('"', "").rsplit(".", 1)[-1].casefold(): [
            value.replace("''", "'") for value in re.findall(r"'((?:[^']|'')*)'", match[2])
        ]
        for match in found
    }


def _read_column(definition: Any, enums: dict[str, list[str]], exp: Any) -> _DeclaredColumn:
    column = _DeclaredColumn(definition.name)
    kind = definition.args.get("kind")
    if kind is not None:
        _read_type(column, kind, enums, exp)
    unique = (
        exp.PrimaryKeyColumnConstraint,
        exp.UniqueColumnConstraint,
        exp.AutoIncrementColumnConstraint,
    )
    for constraint in definition.args.get("constraints") or ():
        given = constraint.args.get("kind")
        if isinstance(given, exp.NotNullColumnConstraint) and not given.args.get("allow_null"):
            column.required = True
        elif isinstance(given, unique):
            column.unique = True
    return column


def _read_type(column: _DeclaredColumn, kind: Any, enums: dict[str, list[str]], exp: Any) -> None:
    written = kind.sql().upper()
    name = written.split("(")[0].strip().rsplit(".", 1)[-1].strip('"')
    if name.casefold() in enums:
        column.kind, column.values = "categorical", enums[name.casefold()]
        return
    column.kind = next((k for k, types in _KINDS if re.fullmatch(types, name)), None)
    sizes = [as_number(part.name) for part in kind.expressions if hasattr(part, "name")]
    if re.fullmatch(r"ENUM\d*|SET", name):
        column.values = [part.name for part in kind.find_all(exp.Literal)]
    elif _WHOLE_DECIMALS.fullmatch(name) and sizes:
        _read_decimal(column, [size for size in sizes if isinstance(size, int)])
    elif column.kind == "integer" and name in ("UTINYINT", "USMALLINT"):
        column.low = 0


def _read_decimal(column: _DeclaredColumn, sizes: list[int]) -> None:
    """NUMERIC(5) holds whole numbers, NUMERIC(5, 2) numbers with two decimals."""
    if len(sizes) == 1 or (len(sizes) == 2 and sizes[1] == 0):
        column.kind = "integer"
    elif len(sizes) == 2 and 0 < sizes[1] <= 12:
        column.decimals = sizes[1]


# --------------------------------------------------------------------------- conditions


def _all_of(condition: Any, exp: Any) -> Iterator[Any]:
    """The conditions that must all hold."""
    waiting = [condition]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.Paren):
            waiting.append(one.this)
        elif isinstance(one, exp.And):
            waiting += [one.expression, one.this]
        else:
            yield one


def _apply(condition: Any, columns: dict[str, _DeclaredColumn], exp: Any) -> None:
    """Note what a condition on a single column says; others are left aside."""
    if isinstance(condition, exp.Or):
        _apply_alternatives(condition, columns, exp)
        return
    subject = condition.args.get("this")
    column = _column(subject, columns, exp)
    if isinstance(condition, exp.Between) and column is not None:
        column.low = _literal(condition.args["low"], exp)
        column.high = _literal(condition.args["high"], exp)
    elif isinstance(condition, exp.In) and column is not None:
        values = [_literal(value, exp) for value in condition.expressions]
        if values and None not in values:
            column.values = values
    elif isinstance(condition, exp.GT | exp.GTE | exp.LT | exp.LTE):
        _apply_comparison(condition, column, columns, exp)


def _apply_comparison(
    condition: Any, column: _DeclaredColumn | None, columns: dict[str, _DeclaredColumn], exp: Any
) -> None:
    upper = isinstance(condition, exp.LT | exp.LTE)
    value = _literal(condition.expression, exp)
    if column is None:  # 0 <= age
        column, upper = _column(condition.expression, columns, exp), not upper
        value = _literal(condition.this, exp)
    if column is None or value is None:
        return
    if isinstance(condition, exp.LT | exp.GT):
        value = next_value(column.kind, value, upper=upper)
    if upper:
        column.high = value
    else:
        column.low = value


def _apply_alternatives(condition: Any, columns: dict[str, _DeclaredColumn], exp: Any) -> None:
    """``sex = 'F' OR sex = 'M'`` lists values."""
    equals = list(condition.flatten())
    if not all(isinstance(one, exp.EQ) for one in equals):
        return
    found = {id(column): column for one in equals if (column := _column(one.this, columns, exp))}
    values = [_literal(one.expression, exp) for one in equals]
    if len(found) == 1 and None not in values:
        next(iter(found.values())).values = values


def _column(node: Any, columns: dict[str, _DeclaredColumn], exp: Any) -> _DeclaredColumn | None:
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    if isinstance(node, exp.Column):
        return columns.get(node.name.casefold())
    return None


def _literal(node: Any, exp: Any) -> Any:
    """The number or text that a node is, or ``None``."""
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    if isinstance(node, exp.Neg):
        number = _literal(node.this, exp)
        if isinstance(number, int | float):
            return -number
        return None
    if not isinstance(node, exp.Literal):
        return None
    if node.is_string:
        return node.this
    return as_number(node.this)


def _facts(column: _DeclaredColumn) -> Facts:
    kind = column.kind
    if column.unique:
        kind = "identifier"
    return Facts(
        name=column.name,
        kind=kind,
        low=column.low,
        high=column.high,
        values=tuple(column.values),
        missing=not column.required,
        decimals=column.decimals,
    )
