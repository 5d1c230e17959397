"""``understudy schema``: a draft of what is public about a table."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from understudy.cli.checks import check_distinct, check_ledger
from understudy.cli.options import (
    Epsilon,
    LedgerPath,
    Neighbour,
    Person,
    Quiet,
    Relation,
    RowsPerPerson,
    SensitiveTable,
    relation_of,
)
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk
from understudy.errors import InputError


@app.command(
    name="schema",
    epilog=examples(
        "# discover the domain, at a price",
        "understudy schema patients.csv --epsilon 0.1 -o patients.json",
        "# kinds only, free: fill in the rest yourself",
        "understudy schema patients.csv --blank -o patients.json",
    ),
)
def schema_command(
    table: SensitiveTable,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Schema file; - for standard output.")
    ] = "-",
    epsilon: Epsilon = 0.1,
    delta: Annotated[
        float, typer.Option(metavar="NUMBER", help="Needed only where there are categories to discover.")
    ] = 1e-9,
    neighbours: Neighbour = Relation.add_remove,
    person: Person = None,
    rows_per_person: RowsPerPerson = 1,
    blank: Annotated[bool, typer.Option("--blank", metavar="", help="Spend nothing: names and kinds only.")] = False,
    ledger: LedgerPath = None,
    quiet: Quiet = False,
) -> None:
    """Draft a schema, to be read and edited: domain discovery at a price, or a blank form for nothing."""
    from understudy.curator.contributions import bounded
    from understudy.curator.discovery import discover, needs_delta
    from understudy.curator.ledger import Ledger, LedgerFile
    from understudy.files import writable_file, write_json
    from understudy.tables import read_table

    talk = Talk(quiet)
    check_distinct(table, output, ledger)
    if output != "-":
        writable_file(output, "schema")
    check_ledger(ledger)
    unit: dict[str, Any] = {"rows_per_person": rows_per_person, "unit": "row" if person is None else "person"}
    book = Ledger(epsilon, delta, relation_of(neighbours), threshold_delta=delta, **unit)
    with talk.working("reading"):
        rows = read_table(table)
    if blank:
        document = _blank_schema(rows, person)
        talk.say(
            "Nothing was spent. Replace every null by a public bound or list of values (not one read off the data)."
        )
    else:
        left_out = None
        if person is not None:
            rows, left_out = bounded(rows, person, rows_per_person)
        if needs_delta(rows, person) and not delta:
            raise InputError("There are categories to discover, which needs a --delta above 0, such as 1e-9.")
        if not needs_delta(rows, person):
            book = Ledger(epsilon, 0.0, relation_of(neighbours), **unit)
        file = LedgerFile(ledger) if ledger is not None else None
        number = None
        if file is not None:
            number = file.reserve("schema", book.epsilon, book.delta, book.neighbours, book.unit)
        document = discover(rows, book, book.budget, book.delta, person=person).to_dict()
        if file is not None and number is not None:
            file.settle(number, book)
        if left_out:
            talk.note(str(left_out))
        talk.say(book.statement())
        talk.say(
            "Taken as public: column names, their kinds, and how dates and truth values are written. "
            "Read it and edit it before use."
        )
    if output == "-":
        import json

        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        write_json(output, document, "schema", indent=2)
        talk.say(f"Schema: {output}")


def _blank_schema(rows: Any, person: str | None = None) -> dict[str, Any]:
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
    kinds = drafted_kinds(rows, person)
    return {"attributes": {name: {"kind": kind, **forms[kind]} for name, kind in kinds.items()}}
