"""``understudy schema``: a draft of what is public about a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.checks import NO_LEDGER, check_distinct, open_ledger
from understudy.cli.options import (
    CountedBy,
    Epsilon,
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
from understudy.cli.reading import reads_files
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk, print_json
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.privacy.discovery import Draft


@app.command(
    name="schema",
    epilog=examples(
        "# discover the domain, at a price",
        "understudy schema patients.csv --epsilon 0.1 -o patients.json",
        "# names only, free: fill in the rest yourself",
        "understudy schema patients.csv --blank -o patients.json",
        "# rows that stay in a database",
        "understudy schema 'postgresql://me@db/d?table=patients' -o patients.json",
    ),
)
@reads_files
def schema_command(
    table: RowsAnywhere,
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="FILE", help="Schema file; - for standard output."),
    ] = "-",
    epsilon: Epsilon = 0.1,
    delta: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="Chance that a rare word is named; far below 1/rows."),
    ] = 1e-9,
    neighbours: Neighbour = Relation.add_remove,
    person: Person = None,
    rows_per_person: RowsPerPerson = 1,
    blank: Annotated[
        bool, typer.Option("--blank", metavar="", help="Spend nothing: names only.")
    ] = False,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", metavar="", help="Go on where there are too few rows."),
    ] = False,
    ledger: LedgerPath = None,
    same_table: SameTable = False,
    new_rows: NewRows = False,
    wait: Wait = 30.0,
    reading: Any = None,
    engine: CountedBy = None,
    quiet: Quiet = False,
) -> None:
    """Draft a schema, to be read and edited: domain discovery at a price, or a blank form for
    nothing.
    """
    from understudy.data.files import writable_file, write_json
    from understudy.data.schema import check_columns
    from understudy.engines.urls import is_url
    from understudy.privacy.budget import DEFAULT_DELTA
    from understudy.privacy.discovery import Discovery, Draft
    from understudy.privacy.ledger import Ledger
    from understudy.privacy.wording import list_public
    from understudy.release.preflight import check_outlook, name_empty
    from understudy.release.reservations import reserve
    from understudy.release.sources import open_source

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
    if not delta and not blank:
        raise InputError("Discovering words needs a --delta above 0, such as 1e-9.")
    book = Ledger(
        epsilon,
        delta or DEFAULT_DELTA,
        relation_of(neighbours),
        "rho",
        (delta or DEFAULT_DELTA) / 2,
        **unit,
    )
    book.taken_as_public = list_public(schema_given=False, neighbours=book.neighbours)
    notes: list[str] = []
    with (
        talk.working("reading"),
        open_source(
            table,
            engine=None if engine is None else engine.value,
            person=person,
            max_rows_per_person=rows_per_person,
            notify=notes.append,
            **reading,
        ) as source,
    ):
        fingerprint = None
        if file is not None and not blank:
            fingerprint = source.fingerprint(file.key())
            file.check_table(fingerprint)
        draft = Draft(source.columns, person)
        if blank:
            document = _blank_schema(draft)
        else:
            check_columns(draft.asked and draft.names, draft.source)
            if found := source.spellings():
                talk.note(str(found))
            with reserve(file, "schema", book, fingerprint, notes.append):
                discovery = Discovery(draft, book, book.budget, book.threshold_delta)
                check_outlook(discovery.count_rows(), draft, book, keep_going=keep_going)
                discovered = discovery.find()
                document = discovered.schema.to_dict()
            if discovered.empty:
                notes.append(name_empty(discovered))
            if left_out := source.left_out():
                notes.append(left_out)
    for sentence in notes:
        talk.note(sentence)
    if blank:
        talk.say(
            "Nothing was spent. Replace every null by a public bound or list of values (not one "
            "read off the data)."
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


def _blank_schema(draft: Draft) -> dict[str, Any]:
    """Names alone: what a column holds is private, even its kind."""
    attributes: dict[str, dict[str, Any]] = {name: {"kind": None} for name in draft.names}
    attributes |= {name: {"kind": "identifier"} for name in draft.identifiers}
    return {"attributes": {name: attributes[name] for name in draft.names}}
