"""``understudy schema``: a draft of what is public about a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.checks import check_distinct, check_ledger
from understudy.cli.options import (
    CountedBy,
    Epsilon,
    LedgerPath,
    Neighbour,
    Person,
    Quiet,
    Relation,
    RowsAnywhere,
    RowsPerPerson,
    relation_of,
)
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk, print_json
from understudy.errors import InputError, UnderstudyError

if TYPE_CHECKING:
    from understudy.counting.columns import Columns
    from understudy.curator.contributions import LeftOut
    from understudy.curator.ledger import Ledger


@app.command(
    name="schema",
    epilog=examples(
        "# discover the domain, at a price",
        "understudy schema patients.csv --epsilon 0.1 -o patients.json",
        "# kinds only, free: fill in the rest yourself",
        "understudy schema patients.csv --blank -o patients.json",
        "# rows that stay in a database",
        "understudy schema 'postgresql://me@db/d?table=patients' -o patients.json",
    ),
)
def schema_command(
    table: RowsAnywhere,
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="FILE", help="Schema file; - for standard output."),
    ] = "-",
    epsilon: Epsilon = 0.1,
    delta: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="Needed only where there are categories to discover."),
    ] = 1e-9,
    neighbours: Neighbour = Relation.add_remove,
    person: Person = None,
    rows_per_person: RowsPerPerson = 1,
    blank: Annotated[
        bool, typer.Option("--blank", metavar="", help="Spend nothing: names and kinds only.")
    ] = False,
    ledger: LedgerPath = None,
    engine: CountedBy = None,
    quiet: Quiet = False,
) -> None:
    """Draft a schema, to be read and edited: domain discovery at a price, or a blank form for nothing."""
    from understudy.curator.ledger import Ledger
    from understudy.engines.sources import opened
    from understudy.engines.urls import is_url
    from understudy.files import writable_file, write_json

    talk = Talk(quiet)
    check_distinct(None if is_url(table) else table, output, ledger)
    if output != "-":
        writable_file(output, "schema")
    check_ledger(ledger)
    unit: dict[str, Any] = {
        "rows_per_person": rows_per_person,
        "unit": "row" if person is None else "person",
    }
    book = Ledger(epsilon, delta, relation_of(neighbours), threshold_delta=delta, **unit)
    notes: list[str] = []
    with (
        talk.working("reading"),
        opened(table, None if engine is None else engine.value, notes.append) as (rows, _),
    ):
        columns, left_out = _columns(rows, person, rows_per_person)
        if blank:
            document = _blank_schema(columns, person)
        else:
            book = _needed(book, columns, person)
            document = _discovered(columns, book, ledger, person)
            notes += [str(left_out())] if left_out() else []
    for sentence in notes:
        talk.note(sentence)
    if blank:
        talk.say(
            "Nothing was spent. Replace every null by a public bound or list of values (not one read off the data)."
        )
    else:
        talk.say(book.statement())
        talk.say(
            "Taken as public: column names, their kinds, and how dates and truth values are written. "
            "Read it and edit it before use."
        )
    if output == "-":
        print_json(document)
    else:
        write_json(output, document, "schema", indent=2)
        talk.say(f"Schema: {output}")


def _columns(
    rows: Any, person: str | None, most: int
) -> tuple[Columns, Callable[[], LeftOut | None]]:
    """What discovery sees of the rows, and what will tell, once they are counted, which of them were left out."""
    from understudy.counting.columns import MemoryColumns
    from understudy.curator.contributions import bounded
    from understudy.engines.columns import EngineColumns
    from understudy.tables import Table

    if isinstance(rows, Table):
        kept, left_out = bounded(rows, person, most) if person is not None else (rows, None)
        return MemoryColumns(kept), lambda: left_out
    if person is not None:
        rows.check_person(person)
    columns = EngineColumns(rows, person, most)
    return columns, lambda: columns.left_out


def _needed(book: Ledger, columns: Columns, person: str | None) -> Ledger:
    """The book without a delta, where none is needed."""
    from understudy.curator.discovery import needs_delta

    if not needs_delta(columns, person):
        return replace(book, delta=0.0, threshold_delta=0.0)
    if not book.delta:
        raise InputError(
            "There are categories to discover, which needs a --delta above 0, such as 1e-9."
        )
    return book


def _discovered(
    columns: Columns, book: Ledger, ledger: Path | None, person: str | None
) -> dict[str, Any]:
    """The schema, paid for in the book and, where there is one, in the ledger's file."""
    from understudy.curator.discovery import discover
    from understudy.curator.ledger import LedgerFile

    if ledger is None:
        return discover(columns, book, book.budget, book.delta, person=person).to_dict()
    file = LedgerFile(ledger)
    number = file.reserve("schema", book.epsilon, book.delta, book.neighbours, book.unit)
    try:
        document = discover(columns, book, book.budget, book.delta, person=person).to_dict()
    except UnderstudyError:  # refused: what was asked until then is in the book
        file.settle(number, book)
        raise
    file.settle(number, book)
    return document


def _blank_schema(columns: Columns, person: str | None = None) -> dict[str, Any]:
    from understudy.curator.discovery import drafted_kinds

    forms: dict[str, dict[str, Any]] = {
        "integer": {"min": None, "max": None, "bins": 16},
        "real": {"min": None, "max": None, "bins": 16},
        "date": {"min": None, "max": None, "bins": 16},
        "datetime": {"min": None, "max": None, "bins": 16},
        "categorical": {"values": None},
        "boolean": {},
        "identifier": {},
    }
    kinds = drafted_kinds(columns, person)
    return {"attributes": {name: {"kind": kind, **forms[kind]} for name, kind in kinds.items()}}
