"""The options that say how a file is to be read, for every command that reads one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from understudy.data.read_options import Reading

Command = Callable[..., None]

_HEADER = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        metavar="",
        help="The first line of a CSV file holds names (needed by default), or is a row.",
        show_default=False,
    ),
]
_ENCODING = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Of a text file: latin-1, cp1252, utf-16; by its byte order mark, else UTF-8.",
    ),
]
_QUOTE = Annotated[
    str, typer.Option(metavar="SIGN", help="Around values of a CSV file that hold delimiters.")
]
_MISSING_MARKS = Annotated[
    str | None,
    typer.Option(
        metavar="MARKS",
        help='Texts that stand for a missing value in all columns, such as "n/a,-99".',
    ),
]
_TABLE_NAME = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Table of a database, or sheet of a workbook."),
]
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "header": (_HEADER, None),
    "encoding": (_ENCODING, None),
    "quote": (_QUOTE, '"'),
    "missing_marks": (_MISSING_MARKS, None),
    "table_name": (_TABLE_NAME, None),
}


def reads_files(command: Command) -> Command:
    """Let a command take these options, and have them as ``reading``."""
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if parameter.name == "reading":
            parameters.extend(
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
                )
                for name, (annotation, default) in _OPTIONS.items()
            )
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            parameters.append(parameter)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        options = {name: given.pop(name) for name in _OPTIONS}
        command(**given, reading=_collect_reading(options))

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del run.__wrapped__  # or typer would look at the command behind it
    return run


def _collect_reading(options: dict[str, Any]) -> Reading:
    marks = options.pop("missing_marks")
    if marks is None:
        return {**options, "missing_marks": ()}  # type: ignore[typeddict-item]
    listed = tuple(mark.strip() for mark in marks.split(",") if mark.strip())
    return {**options, "missing_marks": listed}  # type: ignore[typeddict-item]
