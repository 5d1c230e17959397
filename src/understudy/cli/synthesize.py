"""``understudy synthesize``: from a sensitive table to a synthetic one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.checks import check_distinct
from understudy.cli.ledger_options import NO_LEDGER_FILE, LedgerOptions, uses_ledger
from understudy.cli.methods import make_synthesizer, method_command
from understudy.cli.options import (
    DOMAIN,
    READING_OPTIONS,
    WRITING_OPTIONS,
    CountedBy,
    Delta,
    DiscoveryShare,
    Epsilon,
    KeepGoing,
    MaxRowsPerPerson,
    MethodNeighbour,
    OptionalRowsAnywhere,
    Out,
    Partitions,
    Person,
    Quiet,
    RowsOption,
    SafeForSpreadsheets,
    SchemaFile,
    Seed,
    relation_of,
)
from understudy.cli.reading import reads_files
from understudy.cli.root import examples
from understudy.cli.synthesis import Inputs, Outputs, run_synthesis
from understudy.cli.talk import Talk
from understudy.cli.unread_columns import takes_unread_columns
from understudy.errors import InputError

_OTHER_ROWS = "Reports of persons, and images"
"""A heading of the help page."""


@method_command(
    epilog=examples(
        "# a budget of 1 pays for everything, finding out the domain included",
        "understudy synthesize patients.csv --epsilon 1 -o synthetic.csv",
        "# with what is public in a schema, the whole budget goes to the rows",
        "understudy synthesize patients.parquet --schema patients.json -o out.parquet",
        "# keep the model, to draw more rows later, and a report to send along",
        "understudy synthesize patients.csv --model m.json --report r.html -o out.csv",
        "# columns that are never read: identifiers, and free text",
        "understudy synthesize visits.csv --identifier visit --text notes -o out.csv",
        "# for somebody who will predict a column from the others",
        "understudy synthesize patients.csv --target readmitted -o out.csv",
        "# just the tables that you name",
        "understudy synthesize patients.csv --method marginals --marginal age,sex",
        "# rows that stay in a database",
        "understudy synthesize 'postgresql://me@db/d?table=patients' --schema s.json",
        "# from reports that persons randomised themselves",
        "understudy synthesize --reports tables.json -o synthetic.csv",
        "# images, with their labels",
        "understudy synthesize digits.idx.gz --labels labels.idx.gz --method gaussian",
        "# as many rows as you like, in a folder of Parquet files",
        "understudy synthesize big.parquet --rows 1e9 --partitions 500 -o rows/",
    ),
)
@reads_files
@takes_unread_columns
@uses_ledger
def synthesize(
    table: OptionalRowsAnywhere = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    output: Out = "-",
    schema: SchemaFile = None,
    unread: Any = None,
    neighbours: MethodNeighbour = None,
    person: Person = None,
    max_rows_per_person: MaxRowsPerPerson = 1,
    rows: RowsOption = None,
    discovery: DiscoveryShare = None,
    keep_going: KeepGoing = False,
    refinement: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the budget for what lies inside bins (default 0.1); 0 for none.",
            rich_help_panel=DOMAIN,
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the released model here.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write a report of the release here (HTML)."),
    ] = None,
    title: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="The name of the data set, for the report.",
            rich_help_panel=WRITING_OPTIONS,
        ),
    ] = "",
    contact: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Whom to ask about it, for the report.",
            rich_help_panel=WRITING_OPTIONS,
        ),
    ] = "",
    reports: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead of a table: what `understudy local collect` made of persons' reports.",
            rich_help_panel=_OTHER_ROWS,
        ),
    ] = None,
    shuffled: Annotated[
        float | None,
        typer.Option(
            metavar="DELTA",
            help="With --reports: also state the guarantee of shuffled reports, at this delta.",
            rich_help_panel=_OTHER_ROWS,
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With images in an IDX file: the file of their labels.",
            rich_help_panel=_OTHER_ROWS,
        ),
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --labels: how many labels there can be (default 10).",
            rich_help_panel=_OTHER_ROWS,
        ),
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With images: also write a contact sheet here (PNG).",
            rich_help_panel=_OTHER_ROWS,
        ),
    ] = None,
    ledger: LedgerOptions = NO_LEDGER_FILE,
    reading: Any = None,
    seed: Seed = None,
    partitions: Partitions = None,
    safe_for_spreadsheets: SafeForSpreadsheets = False,
    engine: CountedBy = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Write the rows to a new table there: postgresql://... or spark://...",
            rich_help_panel=WRITING_OPTIONS,
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            metavar="",
            help="Say how an engine counted the rows (for you only).",
            rich_help_panel=READING_OPTIONS,
        ),
    ] = False,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Make a private synthetic table out of a sensitive one."""
    from understudy.cli.images import ImagePaths, synthesize_images
    from understudy.data.image_files import is_images

    talk = Talk(quiet)
    outputs = Outputs(
        output=output,
        to=to,
        rows=rows,
        seed=seed,
        model=model,
        report=report,
        title=title,
        contact=contact,
        partitions=partitions,
        safe_for_spreadsheets=safe_for_spreadsheets,
    )
    if reports is not None:
        _check_reports_alone(table, schema, ledger.path, engine)
        synthesize_from_reports(reports, options, outputs, shuffled=shuffled, talk=talk)
        return
    if table is None:
        raise InputError("Name the sensitive table, or give the tables of a survey by --reports.")
    if shuffled is not None:
        raise InputError("--shuffled is about reports of persons; give it with --reports.")
    method = make_synthesizer(
        options,
        epsilon=epsilon,
        delta=delta,
        neighbours=relation_of(neighbours),
        discovery=discovery,
        keep_going=keep_going,
        refinement=refinement,
        person=person,
        max_rows_per_person=max_rows_per_person,
    )
    books = ledger.open(talk)
    if is_images(str(table)):
        paths = ImagePaths(
            images=str(table),
            labels=labels,
            classes=classes,
            output=output,
            sheet=sheet,
            model=model,
            rows=rows,
            seed=seed,
        )
        synthesize_images(method, paths, ledger=books, talk=talk)
        return
    if labels is not None or classes is not None or sheet is not None:
        raise InputError("--labels, --classes and --sheet are for images: IDX files or pictures.")
    run_synthesis(
        method,
        Inputs(
            table=str(table),
            schema=schema,
            unread=unread or {},
            engine=None if engine is None else engine.value,
            reading=reading or {},
        ),
        outputs,
        ledger=books,
        talk=talk,
        explain=explain,
    )


def _check_reports_alone(
    table: str | None, schema: Path | None, ledger: Path | None, engine: Any
) -> None:
    """Reports bring their schema and their books; no table goes with them."""
    others = {"TABLE": table, "--schema": schema, "--ledger": ledger, "--engine": engine}
    for name, value in others.items():
        if value is not None:
            raise InputError(
                f"{name} does not go with --reports: the tables of a survey hold its plan, and "
                "each person has paid already."
            )


def synthesize_from_reports(
    reports: Path,
    options: Mapping[str, Any],
    outputs: Outputs,
    *,
    shuffled: float | None,
    talk: Talk,
) -> None:
    """From the tables of a survey to synthetic rows."""
    from understudy.local.collected import Collected
    from understudy.local.release import local_epsilon, suit_reports, synthesize_reports
    from understudy.synthesizers.registry import find_method

    outputs.check()
    check_distinct(reports, outputs.place, outputs.model, outputs.report)
    collected = Collected.load(reports)
    shared = {"epsilon": local_epsilon(collected), "neighbours": "replace", "refinement": 0.0}
    method = make_synthesizer(dict(options), "local", **shared)
    given = {name.replace("_", "-") for name, value in options.items() if value is not None}
    suited = {
        parameter.name: suit_reports(find_method(method.name))[parameter.name]
        for parameter in find_method(method.name).parameters
        if parameter.name in suit_reports(find_method(method.name))
        and parameter.option not in given
    }
    with talk.working("estimating and learning") as progress:
        released = synthesize_reports(
            collected, replace(method, **suited), shuffled=shuffled, progress=progress
        )
    outputs.write(released, talk)
    talk.say(released.ledger.statement())
    outputs.say_places(talk)
