"""Options that name columns which are never read: identifiers and free text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.option_groups import take_group
from understudy.cli.options import DOMAIN
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.data.forms import Form
    from understudy.data.schema import Schema

_IDENTIFIER = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of identifiers: never read, numbered in synthetic rows; repeatable.",
        rich_help_panel=DOMAIN,
    ),
]
_TEXT = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        # The backslash keeps rich from taking the brackets for a style.
        help=r"Column of free text: never read, \[text] in synthetic rows; repeatable.",
        rich_help_panel=DOMAIN,
    ),
]
_OPTIONS: dict[str, tuple[Any, Any]] = {"identifier": (_IDENTIFIER, None), "text": (_TEXT, None)}

Unread = Mapping[str, str]
"""The kind of each column that is named."""


def _collect(options: dict[str, Any]) -> Unread:
    named: dict[str, str] = {}
    for kind, columns in options.items():
        for column in columns or ():
            if named.setdefault(column, kind) != kind:
                raise InputError(
                    f"{column!r} is named as an identifier and as free text; say one of them."
                )
    return named


takes_unread_columns = take_group("unread", _OPTIONS, _collect)
"""Let a command take these options, and have them as ``unread``."""


def load_public_facts(schema: Path | None, unread: Unread) -> Schema | Form | None:
    """What is public about a table: a schema file, and the columns that are never read."""
    from understudy.data.forms import Form, load_facts
    from understudy.data.schema import Schema

    facts: Schema | Form | None = None
    if schema is not None:
        facts = load_facts(schema)
    if not unread:
        return facts
    if isinstance(facts, Schema):
        raise InputError(
            f"The schema {schema} describes every column that is used; say there what "
            f"{', '.join(unread)} holds, instead of --identifier or --text."
        )
    named = {column: {"kind": kind} for column, kind in unread.items()}
    if facts is None:
        return Form(named, "The command line")
    return Form({**facts.entries, **named}, facts.source, facts.other)
