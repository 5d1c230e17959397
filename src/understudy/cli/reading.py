"""The options that say how a file is to be read, for every command that reads one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.option_groups import take_group
from understudy.cli.options import READING_OPTIONS

if TYPE_CHECKING:
    from understudy.data.read_options import Reading

_HEADER = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        metavar="",
        help="The first line of a CSV file holds names (needed by default), or is a row.",
        show_default=False,
        rich_help_panel=READING_OPTIONS,
    ),
]
_ENCODING = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Of a text file: latin-1, cp1252, utf-16; by its byte order mark, else UTF-8.",
        rich_help_panel=READING_OPTIONS,
    ),
]
_QUOTE = Annotated[
    str,
    typer.Option(
        metavar="SIGN",
        help="Around values of a CSV file that hold delimiters.",
        rich_help_panel=READING_OPTIONS,
    ),
]
_MISSING_MARKS = Annotated[
    str | None,
    typer.Option(
        metavar="MARKS",
        help='Texts that stand for a missing value in all columns, such as "n/a,-99".',
        rich_help_panel=READING_OPTIONS,
    ),
]
_TABLE_NAME = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Table of a database, or sheet of a workbook.",
        rich_help_panel=READING_OPTIONS,
    ),
]
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "header": (_HEADER, None),
    "encoding": (_ENCODING, None),
    "quote": (_QUOTE, '"'),
    "missing_marks": (_MISSING_MARKS, None),
    "table_name": (_TABLE_NAME, None),
}


def _collect_reading(options: dict[str, Any]) -> Reading:
    marks = options.pop("missing_marks")
    if marks is None:
        return {**options, "missing_marks": ()}  # type: ignore[typeddict-item]
    listed = tuple(mark.strip() for mark in marks.split(",") if mark.strip())
    return {**options, "missing_marks": listed}  # type: ignore[typeddict-item]


reads_files = take_group("reading", _OPTIONS, _collect_reading)
"""Let a command take these options, and have them as ``reading``."""
