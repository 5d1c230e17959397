"""``understudy sample``: rows from a model."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.checks import check_output
from understudy.cli.options import (
    ModelFile,
    Out,
    Partitions,
    Quiet,
    RowsOption,
    SafeForSpreadsheets,
    Seed,
)
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk
from understudy.errors import InputError


class Conditioning(Enum):
    """Ways to draw rows that fit a condition, by name."""

    exact = "exact"
    rejection = "rejection"
    weighting = "weighting"


@app.command(
    epilog=examples(
        "understudy sample patients.model.json --rows 1000 --seed 1 -o more.csv",
        "# only women from 30 to 40",
        "understudy sample patients.model.json --given sex=Female --given age=30..40",
        "# a thousand million rows, in as many Parquet files as you like",
        "understudy sample m.json --rows 1e9 --seed 1 --partitions 500 -o rows/",
    )
)
def sample(
    model: ModelFile,
    output: Out = "-",
    rows: RowsOption = None,
    seed: Seed = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Only such rows: a value, low..high, this|that, missing; repeatable.",
        ),
    ] = None,
    how: Annotated[
        Conditioning, typer.Option(help="How to draw rows that fit --given.")
    ] = Conditioning.exact,
    partitions: Partitions = None,
    safe_for_spreadsheets: SafeForSpreadsheets = False,
    quiet: Quiet = False,
) -> None:
    """Draw rows from a model: costs nothing, as often as you like."""
    from understudy.models.model import Model
    from understudy.models.query.conditions import parse_conditions

    talk = Talk(quiet)
    if partitions is not None:
        output = folder_of(output)
    check_output(output, safe_for_spreadsheets)
    released = Model.load(model)
    how_written = {"partitions": partitions, "safe_for_spreadsheets": safe_for_spreadsheets}
    if given:
        conditions = {"given": parse_conditions(given, released.schema), "method": how.value}
    else:
        conditions = {}
    write_rows(released, output, rows, seed, talk, **how_written, **conditions)


def folder_of(output: str) -> str:
    """The folder that partitions go to: it may be named without a slash at its end."""
    from understudy.data.partitions import names_folder

    if output == "-":
        raise InputError("Partitions are files in a folder; name one, like -o rows/.")
    if names_folder(output):
        return output
    return f"{output}/"


def write_rows(
    released: Any, output: str, rows: int | None, seed: int | None, talk: Talk, **conditions: Any
) -> None:
    """Draw rows into a file, into a folder, or to standard output."""
    if rows is not None:
        wanted = rows
    else:
        wanted = released.draws or released.rows
    with talk.working("writing rows", wanted) as progress:

        def report(count: int) -> None:
            progress("writing rows", count, -1)

        if output != "-":
            released.write(output, rows, seed, report, **conditions)
            return
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder) / "rows.csv"
            released.write(whole, rows, seed, report, **conditions)
            try:
                with whole.open("rb") as file:
                    shutil.copyfileobj(file, sys.stdout.buffer)
                    sys.stdout.buffer.flush()
            except BrokenPipeError:
                # The reader of the pipe (head, say) has seen enough.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            except OSError as error:
                raise InputError(
                    f"The rows cannot be written to standard output ({error.strerror})."
                ) from error
