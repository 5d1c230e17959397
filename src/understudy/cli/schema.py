"""``understudy schema``: a draft of what is public about a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.checks import NO_LEDGER, check_distinct
from understudy.cli.ledger_options import NO_LEDGER_FILE, LedgerOptions, uses_ledger
from understudy.cli.options import (
    CountedBy,
    Epsilon,
    MaxRowsPerPerson,
    Neighbour,
    Person,
    Quiet,
    Relation,
    relation_of,
)
from understudy.cli.public_facts import Wanted, print_vocabularies, write_schema
from understudy.cli.reading import reads_files
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk, print_json
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.privacy.ledger import LedgerFile


TableOfColumns = Annotated[
    str | None,
    typer.Argument(
        metavar="TABLE",
        help="The sensitive table: a CSV or Parquet file, a folder or pattern of them, or a table "
        "elsewhere. May be left out where a codebook names the columns.",
        show_default=False,
    ),
]
Codebooks = Annotated[
    list[Path] | None,
    typer.Option(
        "--from",
        metavar="CODEBOOK",
        help="What is public, from a data package, CSVW, JSON Schema, DDI, SQL, value labels or a "
        "table of names and values; may be given several times.",
    ),
]
CodebookFormat = Annotated[
    str | None,
    typer.Option(
        "--codebook-format", metavar="FORMAT", help="Format of the codebook; told by its content."
    ),
]
Labels = Annotated[
    bool,
    typer.Option(
        "--labels", metavar="", help="The table holds the labels of values, not their codes."
    ),
]
Interactive = Annotated[
    bool,
    typer.Option("--interactive", "-i", metavar="", help="Ask for what is public; spend nothing."),
]
Vocabularies = Annotated[
    bool,
    typer.Option("--vocabularies", metavar="", help="List the public vocabularies, and stop."),
]


@app.command(
    name="schema",
    epilog=examples(
        "# answer questions about the columns, in the terminal",
        "understudy schema patients.csv --interactive -o patients.json",
        "# what a codebook says",
        "understudy schema patients.csv --from codebook.xml -o patients.json",
        "# discover the domain, at a price",
        "understudy schema patients.csv --epsilon 0.1 -o patients.json",
        "# names only, free: fill in the rest yourself",
        "understudy schema patients.csv --blank -o patients.json",
        "# rows that stay in a database",
        "understudy schema 'postgresql://me@db/d?table=patients' -o patients.json",
    ),
)
@reads_files
@uses_ledger
def schema_command(
    table: TableOfColumns = None,
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
    max_rows_per_person: MaxRowsPerPerson = 1,
    blank: Annotated[
        bool, typer.Option("--blank", metavar="", help="Spend nothing: names only.")
    ] = False,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", metavar="", help="Go on where there are too few rows."),
    ] = False,
    codebook: Codebooks = None,
    codebook_format: CodebookFormat = None,
    labels: Labels = False,
    interactive: Interactive = False,
    vocabularies: Vocabularies = False,
    ledger: LedgerOptions = NO_LEDGER_FILE,
    reading: Any = None,
    engine: CountedBy = None,
    quiet: Quiet = False,
) -> None:
    """Draft a schema, to be read and edited: from a codebook, from your answers or as a blank form
    for nothing, or by domain discovery at a price.
    """
    from understudy.data.files import write_json

    talk = Talk(quiet)
    if vocabularies:
        print_vocabularies()
        return
    _check_files(table, output, codebook, ledger.path)
    if codebook or interactive or blank:
        if ledger.path is not None:
            raise InputError("Public facts cost nothing: --ledger does not go with them.")
        wanted = Wanted(
            table=table,
            codebooks=codebook or (),
            codebook_format=codebook_format,
            labels=labels,
            interactive=interactive,
            reading=reading,
            output=output,
        )
        write_schema(wanted, talk)
        return
    assert table is not None
    if not delta:
        raise InputError("Discovering words needs a --delta above 0, such as 1e-9.")
    unit: dict[str, Any] = {
        "max_rows_per_person": max_rows_per_person,
        "unit": "row" if person is None else "person",
    }
    file = ledger.open(talk)
    document = _discover(
        Discovering(
            table=table,
            person=person,
            reading={**reading, "engine": None if engine is None else engine.value},
            guarantee=(epsilon, delta, relation_of(neighbours)),
            unit=unit,
            keep_going=keep_going,
        ),
        file,
        talk,
    )
    if output == "-":
        print_json(document)
    else:
        write_json(output, document, "schema", indent=2)
        talk.say(f"Schema: {output}")


def _check_files(
    table: str | None, output: str, codebook: list[Path] | None, ledger: Path | None
) -> None:
    """Files are named for one thing each, and the schema can be written."""
    from understudy.data.files import writable_file
    from understudy.engines.urls import is_url

    if table is None and not codebook:
        raise InputError("Name a table, or a codebook by --from; understudy schema --help.")
    check_distinct(None if is_url(table or "") else table, output, ledger)
    if output != "-":
        writable_file(output, "schema")


@dataclass(frozen=True, kw_only=True)
class Discovering:
    """A table whose domain is to be discovered, and for how much."""

    table: str
    person: str | None
    reading: dict[str, Any]
    guarantee: tuple[float, float, Any]
    """Epsilon, delta and the neighbour relation."""
    unit: dict[str, Any]
    keep_going: bool


def _discover(wanted: Discovering, file: LedgerFile | None, talk: Talk) -> dict[str, Any]:
    """Discover the domain at a price; the schema as it stands in a file."""
    from understudy.data.schema import check_columns
    from understudy.privacy.discovery import Discovery
    from understudy.privacy.discovery_draft import Draft
    from understudy.privacy.ledger import Ledger
    from understudy.privacy.wording import list_public
    from understudy.release.preflight import (
        DRAFT_REMEDIES,
        check_outlook,
        check_present,
        describe_left_out,
        name_empty,
    )
    from understudy.release.reservations import reserve
    from understudy.release.sources import open_source

    if file is not None:
        file.read()  # one that is missing or damaged is found before a row is
    epsilon, delta, neighbours = wanted.guarantee
    book = Ledger.for_discovery(epsilon, delta, neighbours, **wanted.unit)
    book.taken_as_public = list_public(schema_given=False, neighbours=book.neighbours)
    notes: list[str] = []
    with (
        talk.working("reading"),
        open_source(
            wanted.table,
            person=wanted.person,
            max_rows_per_person=book.max_rows_per_person,
            notify=notes.append,
            **wanted.reading,
        ) as source,
    ):
        fingerprint = None
        if file is not None:
            fingerprint = source.fingerprint(file.key())
            file.check_table(fingerprint)
        draft = Draft(source.columns, wanted.person)
        check_columns(draft.asked and draft.names, draft.source)
        if found := source.spellings():
            talk.note(str(found))
        with reserve(file, "schema", book, fingerprint, notes.append):
            discovery = Discovery(draft, book, book.budget, book.threshold_delta)
            terms: dict[str, Any] = {"keep_going": wanted.keep_going, "remedies": DRAFT_REMEDIES}
            check_outlook(discovery.count_rows(), discovery, **terms)
            check_present(discovery.count_present(), discovery, **terms)
            discovered = discovery.find()
        notes += describe_left_out(discovery)
        if discovered.empty:
            notes.append(name_empty(discovered))
        if left_out := source.describe_left_out():
            notes.append(left_out)
    for sentence in notes:
        talk.note(sentence)
    talk.say(book.statement())
    if file is None:
        talk.say(NO_LEDGER)
    talk.say("Read the schema and edit it before use.")
    return discovered.schema.to_dict()
