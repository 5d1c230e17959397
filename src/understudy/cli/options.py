"""Options that several commands share."""

from __future__ import annotations

import csv
from decimal import Decimal, InvalidOperation
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer


class Relation(Enum):
    """Neighbour relations by name."""

    add_remove = "add_remove"
    replace = "replace"


class EngineName(Enum):
    """Who counts the rows of files, by name."""

    memory = "memory"
    duckdb = "duckdb"
    spark = "spark"


PROTECTION = "Who is protected"
DOMAIN = "What columns hold"
READING_OPTIONS = "How the table is read"
WRITING_OPTIONS = "What is written"
LEDGER_OPTIONS = "The table's ledger"
"""Headings of a help page, below the options that most people need."""


Epsilon = Annotated[
    float,
    typer.Option(metavar="NUMBER", help="Privacy budget of the release; smaller is more private."),
]
Delta = Annotated[
    float,
    typer.Option(
        metavar="NUMBER",
        help="0: pure differential privacy; above 0: Gaussian noise, better for many columns.",
    ),
]
Neighbour = Annotated[
    Relation,
    typer.Option(
        metavar="RELATION",
        help="Protect the presence of a row (add_remove) or its values (replace).",
        rich_help_panel=PROTECTION,
    ),
]
MethodNeighbour = Annotated[
    Relation | None,
    typer.Option(
        metavar="RELATION",
        help="Protect the presence of a row (add_remove, the default) or its values (replace).",
        rich_help_panel=PROTECTION,
    ),
]
Person = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that tells whose row it is: all rows of a person are protected.",
        rich_help_panel=PROTECTION,
    ),
]
MaxRowsPerPerson = Annotated[
    int,
    typer.Option(
        "--max-rows-per-person",
        metavar="M",
        help="Rows of a person that count, at most; noise grows with it.",
        rich_help_panel=PROTECTION,
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema", metavar="FILE", help="Schema file; without one the domain is discovered."
    ),
]
LedgerPath = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="The table's ledger file (see understudy ledger).",
        rich_help_panel=LEDGER_OPTIONS,
    ),
]

SameTable = Annotated[
    bool,
    typer.Option(
        "--same-table",
        metavar="",
        help="The ledger's table in another form: other columns or format, the same rows.",
        rich_help_panel=LEDGER_OPTIONS,
    ),
]
NewRows = Annotated[
    bool,
    typer.Option(
        "--new-rows",
        metavar="",
        help="The ledger's table with rows added, removed or changed; releases still add up.",
        rich_help_panel=LEDGER_OPTIONS,
    ),
]
Wait = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        help="How long to wait for a ledger that another run holds.",
        rich_help_panel=LEDGER_OPTIONS,
    ),
]


def _whole_number(text: str) -> int:
    """A whole number as a person writes it: 100000000, 100_000_000 or 1e8."""
    try:
        number = Decimal(text)
        if number.is_finite() and abs(number) < 10**18 and number == int(number):
            return int(number)
    except InvalidOperation:
        pass
    raise typer.BadParameter(f"{text!r} is not a whole number like 1000 or 1e8.")


RowsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        parser=_whole_number,
        help="Synthetic rows (1e8 will do); as many as the original when not given.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(metavar="N", help="Makes the sampling (never the noise) repeatable."),
]
Out = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="CSV or Parquet, by its suffix; folder/ for many Parquet files; - for standard "
        "output.",
    ),
]
Partitions = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Parquet files in the folder of -o; of about a million rows each when not given.",
        rich_help_panel=WRITING_OPTIONS,
        min=1,
    ),
]
SafeForSpreadsheets = Annotated[
    bool,
    typer.Option(
        "--safe-for-spreadsheets",
        metavar="",
        help="CSV only: an apostrophe before texts that a spreadsheet would run as formulas.",
        rich_help_panel=WRITING_OPTIONS,
    ),
]
CountedBy = Annotated[
    EngineName | None,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="Who counts: memory, duckdb or spark; by default memory, where files fit.",
        rich_help_panel=READING_OPTIONS,
    ),
]
RowsAnywhere = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="The sensitive table: a CSV or Parquet file, a folder or pattern of them, or a table "
        "elsewhere (postgresql://user@host/database?table=NAME, spark://host:port?table=NAME).",
    ),
]
OptionalRowsAnywhere = Annotated[
    str | None,
    typer.Argument(
        metavar="[TABLE]",
        help="The sensitive table: a CSV or Parquet file, a folder or pattern of them, or a table "
        "elsewhere (postgresql://user@host/database?table=NAME, spark://host:port?table=NAME).",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", metavar="", help="No progress, no summary; errors only.")
]
QuietResult = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", metavar="", help="No progress, no notes; only what was found, and errors."
    ),
]
SensitiveTable = Annotated[
    Path, typer.Argument(metavar="TABLE", help="The sensitive table: CSV or Parquet.")
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A released model.")]


def names_between(text: str) -> list[str]:
    """Names between commas; one that holds a comma itself stands in quotes."""
    return [
        name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip()
    ]


def relation_of(neighbours: Relation | None) -> Any:
    """The relation as the library names it; ``None`` where the method's own is to be used."""
    if neighbours is None:
        return None
    return neighbours.value


DiscoveryShare = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Share of the budget for the domain without a schema; by need if not given.",
        rich_help_panel=DOMAIN,
    ),
]
KeepGoing = Annotated[
    bool,
    typer.Option(
        "--keep-going",
        metavar="",
        help="Go on where the domain cannot be discovered, or not that of every column.",
        rich_help_panel=DOMAIN,
    ),
]
