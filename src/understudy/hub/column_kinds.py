"""Kinds of columns that the hub's tables have."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from understudy.hub.amounts import read_amount, write_amount


class Amount(sa.types.TypeDecorator[Fraction]):
    """An exact amount, as decimal digits."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Fraction | None, dialect: Any) -> str | None:
        """To digits."""
        return None if value is None else write_amount(value)

    def process_result_value(self, value: str | None, dialect: Any) -> Fraction | None:
        """From digits."""
        return None if value is None else read_amount(value)


class Time(sa.types.TypeDecorator[dt.datetime]):
    """A moment in UTC."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Any) -> dt.datetime | None:
        """To UTC; a moment without a zone is a mistake of ours."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without a time zone")
        value = value.astimezone(dt.UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: dt.datetime | None, dialect: Any) -> dt.datetime | None:
        """From UTC, to UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


def id_column() -> sa.Column[str]:
    """The key of a table: random text."""
    return sa.Column("id", sa.Text, primary_key=True)


def link_column(
    table: str, name: str, *, null: bool = False, index: bool = False
) -> sa.Column[str]:
    """The key of a row of another table."""
    return sa.Column(name, sa.Text, sa.ForeignKey(f"{table}.id"), nullable=null, index=index)


def text_column(name: str, default: str | None = "", *, null: bool = False) -> sa.Column[str]:
    """A text, empty unless it is given."""
    return sa.Column(name, sa.Text, nullable=null, server_default=None if null else default)


def amount_column(name: str, *, null: bool = False) -> sa.Column[Fraction]:
    """An exact amount of privacy, 0 unless it is given."""
    return sa.Column(name, Amount, nullable=null, server_default=None if null else "0")


def time_column(name: str, *, null: bool = False) -> sa.Column[dt.datetime]:
    """A moment in UTC."""
    return sa.Column(name, Time, nullable=null)


def json_column(name: str, default: str = "{}") -> sa.Column[Any]:
    """A document."""
    return sa.Column(name, sa.JSON, nullable=False, server_default=default)


def flag_column(name: str, *, default: bool = False) -> sa.Column[bool]:
    """Yes or no."""
    return sa.Column(
        name,
        sa.Boolean(create_constraint=False),
        nullable=False,
        server_default=sa.true() if default else sa.false(),
    )


def count_column(name: str) -> sa.Column[int]:
    """How many, 0 at first."""
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0")


def number_column() -> sa.Column[int]:
    """A key that counts up."""
    # SQLite counts up only in a column of its own type INTEGER.
    kind = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return sa.Column("number", kind, primary_key=True, autoincrement=True)
