"""``understudy schema``: a draft of what is public about a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.checks import NO_LEDGER, check_distinct, open_ledger
from understudy.cli.options import (
    CountedBy,
    Epsilon,
    HeaderLine,
    LedgerPath,
    Neighbour,
    NewRows,
    Person,
    Quiet,
    Relation,
    RowsAnywhere,
    RowsPerPerson,
    SameTable,
    Wait,
    relation_of,
)
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk, print_json
from understudy.errors import InputError, UnderstudyError

if TYPE_CHECKING:
    from understudy.counting.columns import Columns
    from understudy.curator.contributions import LeftOut
    from understudy.curator.ledger import Ledger, LedgerFile


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
    same_table: SameTable = False,
    new_rows: NewRows = False,
    wait: Wait = 30.0,
    header: HeaderLine = None,
    engine: CountedBy = None,
    quiet: Quiet = False,
) -> None:
    """Draft a schema, to be read and edited: domain discovery at a price, or a blank form for nothing."""
    from understudy.curator.ledger import Ledger
    from understudy.curator.wording import list_public
    from understudy.engines.sources import opened
    from understudy.engines.urls import is_url
    from understudy.files import writable_file, write_json
    from understudy.synthesizers import fingerprint_of, spellings_of

    talk = Talk(quiet)
    check_distinct(None if is_url(table) else table, output, ledger)
    if output != "-":
        writable_file(output, "schema")
    file = open_ledger(ledger, talk, same_table=same_table, new_rows=new_rows, wait=wait)
    if file is not None:
        file.read()  # one that is missing or damaged is found before a row is
    unit: dict[str, Any] = {
        "rows_per_person": rows_per_person,
        "unit": "row" if person is None else "person",
    }
    book = Ledger(epsilon, delta, relation_of(neighbours), threshold_delta=delta, **unit)
    book.taken_as_public = list_public(schema_given=False, neighbours=book.neighbours)
    notes: list[str] = []
    with (
        talk.working("reading"),
        opened(table, None if engine is None else engine.value, notes.append, header=header) as (
            rows,
            _,
        ),
    ):
        mark = None
        if file is not None and not blank:
            mark = fingerprint_of(rows, file.key())
            file.check_table(mark)
        columns, left_out = _columns(rows, person, rows_per_person)
        if blank:
            document = _blank_schema(columns, person)
        else:
            book = _needed(book, columns, person)
            if person is not None and (found := spellings_of(rows, person)):
                talk.note(str(found))
            document = _discovered(columns, book, file, mark, person)
            notes += [str(left_out())] if left_out() else []
    for sentence in notes:
        talk.note(sentence)
    if blank:
        talk.say(
            "Nothing was spent. Replace every null by a public bound or list of values (not one read off the data)."
        )
    else:
        talk.say(book.statement())
        if file is None:
            talk.say(NO_LEDGER)
        talk.say("Read the schema and edit it before use.")
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
    columns: Columns,
    book: Ledger,
    file: LedgerFile | None,
    mark: str | None,
    person: str | None,
) -> dict[str, Any]:
    """The schema, paid for in the book and, where there is one, in the ledger's file."""
    from understudy.curator.discovery import discover

    if file is None:
        return discover(columns, book, book.budget, book.delta, person=person).to_dict()
    price = book.epsilon, book.delta, book.neighbours, book.unit
    number = file.reserve("schema", *price, table=mark)
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
