"""Schemas from public facts: codebooks, and the answers of an interview. Nothing is spent."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.cli.talk import Talk, grid_of, print_json, safe
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.data.codebooks import Codebook
    from understudy.data.forms import ColumnFacts, Form
    from understudy.data.read_options import Reading


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the command line asks for."""

    table: str | None
    codebooks: Sequence[Path]
    codebook_format: str | None
    labels: bool
    interactive: bool
    reading: Reading
    output: str


def write_schema(wanted: Wanted, talk: Talk) -> None:
    """Write a schema, or a draft of one, from codebooks and answers."""
    from understudy.data.files import write_json
    from understudy.data.forms import Form, describe_open
    from understudy.data.read_options import join_reading
    from understudy.data.schema import READING

    books = _read_codebooks(wanted)
    reading = join_reading(_dialect(books), wanted.reading)
    columns = None
    if wanted.table is not None:
        columns = _columns(wanted.table, reading)
    form = _join(books, columns, talk)
    if said := {name: text for name, text in reading.items() if name in READING}:
        form = Form(form.entries, form.source, {**form.other, "reading": said})
    options: list[str] = []
    if wanted.interactive:
        from understudy.cli.interview import hold_interview

        form, options = hold_interview(form, columns or {}, wanted, talk)
    else:
        form = _name_identifiers(form)
    lacking = form.open_facts()
    if not lacking:
        form.to_schema()  # whatever is wrong with it is found before it is written
    if wanted.output == "-":
        print_json(form.to_dict())
    else:
        write_json(wanted.output, form.to_dict(), "schema", indent=2)
    talk.say("Nothing was spent: no row was looked at.")
    if lacking:
        talk.say(f"Still open (null in the schema): {describe_open(lacking)}.")
        talk.say(f"To answer just these: {_next_interview(wanted)}")
    else:
        talk.say(f"Next: {_next_release(wanted, options)}")
    if wanted.output != "-":
        talk.say(f"Schema: {wanted.output}")


def print_vocabularies() -> None:
    """A table of the public vocabularies."""
    from rich.console import Console

    from understudy.data.vocabularies import list_vocabularies

    grid = grid_of(
        'Public vocabularies, for {"kind": "categorical", "vocabulary": NAME}',
        "name",
        "values",
        "from",
    )
    for name, vocabulary in list_vocabularies().items():
        grid.add_row(safe(name), safe(vocabulary.title), safe(vocabulary.package))
    Console().print(grid)


def _dialect(books: Sequence[Codebook]) -> dict[str, str]:
    """How the codebooks say that the table's file is written; the first has the last word."""
    reading: dict[str, str] = {}
    for book in reversed(books):
        reading |= book.form.reading
    return reading


def _columns(table: str, reading: Reading) -> dict[str, str | None]:
    from understudy.data.schema import check_columns
    from understudy.engines.headers import read_columns

    columns = read_columns(table, **reading)
    check_columns(tuple(columns), f"The table {table}")
    return columns


def _read_codebooks(wanted: Wanted) -> list[Codebook]:
    from understudy.data.codebooks import read_codebook

    books = []
    for path in wanted.codebooks:
        book = read_codebook(
            path, format=wanted.codebook_format, table=wanted.table, labels=wanted.labels
        )
        same = wanted.output != "-" and Path(wanted.output).resolve() == path.resolve()
        if same and book.format != "understudy":
            raise InputError(f"{path} is the codebook; write the schema to a file of another name.")
        books.append(book)
    return books


def _join(books: Sequence[Codebook], columns: Mapping[str, str | None] | None, talk: Talk) -> Form:
    """What the codebooks say together; the first has the last word."""
    from understudy.data.forms import Form

    for book in books:
        for note in book.notes:
            talk.say(note)
    if columns is None:
        form = books[0].form
        books = books[1:]
    else:
        form = Form({name: {"kind": None} for name in columns})
    for book in books:
        strangers = book.form.strangers(tuple(form.entries))
        if strangers:
            talk.say(
                f"{book.form.source} describes columns that are not in the table, left out: "
                f"{', '.join(strangers[:6])}{' ...' if len(strangers) > 6 else ''}."
            )
        form = form.fill_from(book.form)
    return form.check()


def _name_identifiers(form: Form) -> Form:
    """Of columns that no codebook describes, names tell identifiers, and nothing else.

    The type of a column may have been told from its cells by whoever wrote the file, so it decides
    nothing here; the interview shows it.
    """
    from understudy.data.forms import Form
    from understudy.privacy.identifiers import is_identifier, make_identifier

    named: dict[str, ColumnFacts] = {
        name: make_identifier(name).to_dict() for name in form.entries if is_identifier(name)
    }
    return form.fill_from(Form(named))


def _next_interview(wanted: Wanted) -> str:
    table, output = wanted.table or "TABLE", wanted.output
    if output == "-":
        output = "schema.json"
    asked = _quote_command(table, "--from", output)
    return f"understudy schema {asked} --interactive -o {_quote_command(output)}"


def _next_release(wanted: Wanted, options: Sequence[str]) -> str:
    output = wanted.output
    if output == "-":
        output = "schema.json"
    words = ["understudy", "synthesize", wanted.table or "TABLE", "--schema", output, *options]
    return f"{_quote_command(*words)} --epsilon 1 -o synthetic.csv"


def _quote_command(*words: str) -> str:
    return shlex.join(words)
