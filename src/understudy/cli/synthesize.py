"""``understudy synthesize``: from a sensitive table to a synthetic one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.checks import NO_LEDGER, check_distinct, check_output, open_ledger
from understudy.cli.methods import make_synthesizer, method_command
from understudy.cli.options import (
    CountedBy,
    Delta,
    Epsilon,
    HeaderLine,
    LedgerPath,
    MethodNeighbour,
    NewRows,
    Out,
    Partitions,
    Person,
    Quiet,
    Rows,
    RowsAnywhere,
    RowsPerPerson,
    SafeForSpreadsheets,
    SameTable,
    SchemaFile,
    Seed,
    Wait,
    relation_of,
)
from understudy.cli.root import examples
from understudy.cli.sample import folder_of, write_rows
from understudy.cli.talk import Talk
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.privacy.ledger import LedgerFile


@method_command(
    epilog=examples(
        "# a budget of 1 pays for everything, finding out the domain included",
        "understudy synthesize patients.csv --epsilon 1 -o synthetic.csv",
        "# with what is public in a schema, the whole budget goes to the rows",
        "understudy synthesize patients.parquet --schema patients.json -o out.parquet",
        "# keep the model, to draw more rows later, and a report to send along",
        "understudy synthesize patients.csv --model m.json --report r.html -o out.csv",
        "# for somebody who will predict a column from the others",
        "understudy synthesize patients.csv --target readmitted -o out.csv",
        "# just the tables that you name",
        "understudy synthesize patients.csv --method marginals --marginal age,sex",
        "# rows that stay in a database",
        "understudy synthesize 'postgresql://me@db/d?table=patients' --schema s.json",
        "# as many rows as you like, in a folder of Parquet files",
        "understudy synthesize big.parquet --rows 1e9 --partitions 500 -o rows/",
    ),
)
def synthesize(
    table: RowsAnywhere,
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    output: Out = "-",
    schema: SchemaFile = None,
    neighbours: MethodNeighbour = None,
    person: Person = None,
    rows_per_person: RowsPerPerson = 1,
    rows: Rows = None,
    discovery: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Share of the budget for the domain when there is no schema."
        ),
    ] = 0.1,
    refinement: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Share of the budget for what lies inside bins; 0 for none."
        ),
    ] = 0.1,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the released model here.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write a report of the release here (HTML)."),
    ] = None,
    ledger: LedgerPath = None,
    same_table: SameTable = False,
    new_rows: NewRows = False,
    wait: Wait = 30.0,
    header: HeaderLine = None,
    seed: Seed = None,
    partitions: Partitions = None,
    safe_for_spreadsheets: SafeForSpreadsheets = False,
    engine: CountedBy = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Write the rows to a new table there: postgresql://... or spark://...",
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", metavar="", help="Say how an engine counted the rows (for you only)."
        ),
    ] = False,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Make a private synthetic table out of a sensitive one."""
    talk = Talk(quiet)
    run_synthesis(
        table,
        make_synthesizer(
            options,
            epsilon=epsilon,
            delta=delta,
            neighbours=relation_of(neighbours),
            discovery=discovery,
            refinement=refinement,
            person=person,
            max_rows_per_person=rows_per_person,
        ),
        schema=schema,
        output=output,
        rows=rows,
        model=model,
        report=report,
        ledger=open_ledger(ledger, talk, same_table=same_table, new_rows=new_rows, wait=wait),
        seed=seed,
        talk=talk,
        header=header,
        engine=None if engine is None else engine.value,
        to=to,
        explain=explain,
        partitions=partitions,
        safe_for_spreadsheets=safe_for_spreadsheets,
    )


def run_synthesis(
    table: str | Path,
    synthesizer: Any,
    *,
    schema: Path | None,
    output: str,
    rows: int | None,
    model: Path | None,
    report: Path | None,
    ledger: LedgerFile | None,
    seed: int | None,
    talk: Talk,
    engine: str | None = None,
    to: str | None = None,
    explain: bool = False,
    partitions: int | None = None,
    header: bool | None = None,
    safe_for_spreadsheets: bool = False,
) -> None:
    """Check everything that can be checked, then read, learn, draw and write; files appear only at
    the end.
    """
    from understudy.data.files import writable_file
    from understudy.data.schema import Schema
    from understudy.engines.urls import is_url
    from understudy.models.model import MOST_ROWS
    from understudy.release.callbacks import ASKING
    from understudy.release.targets import check_target, write_to
    from understudy.reports.release import write_report

    if to is not None and safe_for_spreadsheets:
        raise InputError("--safe-for-spreadsheets is for CSV files; it does not go with --to.")
    if to is not None and (output != "-" or partitions is not None):
        raise InputError("The rows go to one place: give -o or --to, not both.")
    if partitions is not None:
        output = folder_of(output)
    check_output(output, safe_for_spreadsheets)
    table = str(table)
    book = None
    if ledger is not None:
        book = ledger.path
    check_distinct(None if is_url(table) else table, output, model, report, book, schema)
    if to is not None:
        check_target(to)
    for place, what in ((model, "model"), (report, "report")):
        if place is not None:
            writable_file(place, what)
    if ledger is not None:
        ledger.read()  # one that is missing or damaged is found before a row is
    if rows is not None and not 0 <= rows <= MOST_ROWS:
        raise InputError(
            f"The number of rows must be a whole number from 0 to {MOST_ROWS:,}, not {rows!r}."
        )
    if seed is not None and seed < 0:
        raise InputError(f"The seed must be a whole number at or above 0, not {seed!r}.")
    public = None
    if schema is not None:
        public = Schema.load(schema)
    if synthesizer.name == "random" and rows is None and synthesizer.neighbours == "add_remove":
        raise InputError(
            "The random method measures nothing, not even the number of rows; say how many by "
            "--rows."
        )
    notes: list[str] = []
    plan = None
    if explain:
        plan = notes.append

    def say_notes() -> None:
        while notes:
            talk.note(notes.pop(0))

    with talk.working("reading and learning") as show:

        def progress(stage: str, done: int, steps: int) -> None:
            if stage == ASKING:  # not before: a run that is refused says why, and nothing else
                say_notes()
            else:
                show(stage, done, steps)

        released = synthesizer.fit(
            table,
            public,
            ledger=ledger,
            notify=notes.append,
            progress=progress,
            engine=engine,
            explain=plan,
            header=header,
        )
    say_notes()
    # The budget is spent: the model goes first, so that a pipe that closes early does not lose it.
    if model is not None:
        released.save(model)
    if report is not None:
        write_report(released, report)
    if to is None:
        how_written = {"partitions": partitions, "safe_for_spreadsheets": safe_for_spreadsheets}
        write_rows(released, output, rows, seed, talk, **how_written)
    else:
        with talk.working("writing rows") as progress:
            write_to(released, to, rows, seed, lambda count: progress("writing rows", count, -1))
    talk.say(released.ledger.statement())
    if ledger is None:
        talk.say(NO_LEDGER)
    if public is None:
        _say_undiscovered(released, talk)
    for what, path in (
        ("Synthetic table", to or (None if output == "-" else output)),
        ("Model", model),
        ("Report", report),
    ):
        if path is not None:
            talk.say(f"{what}: {path}")


def unmodelled(schema: Any) -> list[str]:
    """The columns of which no value matters."""
    return [attribute.name for attribute in schema if not attribute.modelled]


def _say_undiscovered(released: Any, talk: Talk) -> None:
    """A column whose values all stayed below the threshold comes out as text; nobody should have to
    wonder why.
    """
    names = [attribute.name for attribute in released.schema if attribute.kind == "text"]
    if names:
        talk.say(
            f"No value of {', '.join(names)} is frequent enough to be told from the noise, so "
            "every row has [text] "
            f"there; list the values in a schema (understudy schema --blank), or give more budget."
        )
