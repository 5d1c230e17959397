"""``understudy studio``: a file, its interview and its release in a browser on this machine."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.ledger_options import LedgerOptions
from understudy.cli.options import LedgerPath, NewRows, SameTable, SchemaFile, SensitiveTable
from understudy.cli.reading import reads_files
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk
from understudy.errors import InputError


@app.command(
    epilog=examples(
        "understudy studio patients.csv",
        "# with a ledger, and what a codebook says already",
        "understudy studio patients.csv --schema draft.json --ledger patients.ledger",
    )
)
@reads_files
def studio(
    table: SensitiveTable,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="Where everything goes; beside the table when not given.",
        ),
    ] = None,
    schema: SchemaFile = None,
    ledger: LedgerPath = None,
    same_table: SameTable = False,
    new_rows: NewRows = False,
    no_browser: Annotated[
        bool,
        typer.Option("--no-browser", metavar="", help="Print the link, and do not open a browser."),
    ] = False,
    reading: Any = None,
) -> None:
    """Describe a table, choose a budget and release it, in a browser on this machine alone."""
    _check_packages()
    from understudy.data.files import read_json
    from understudy.data.forms import Form
    from understudy.hub.studio.choices import Places
    from understudy.hub.studio.serving import StudioServer
    from understudy.hub.studio.session import Studio

    talk = Talk(False)
    book = LedgerOptions(path=ledger, same_table=same_table, new_rows=new_rows).open(talk)
    known = None
    if schema is not None:
        known = Form.from_dict(read_json(schema, "schema"), f"The schema {schema}").check()
    folder = output or table.with_name(f"{table.name.partition('.')[0]}-studio")
    places = Places(table=str(table), folder=folder, ledger=ledger, reading=reading or {})
    server = StudioServer(Studio(places, known, book.accept if book else None))

    def begin(link: str) -> None:
        talk.say(f"The studio is open, on this machine alone: {link}")
        talk.say("The link works once. Ctrl-C ends the studio; answers are kept.")
        if not no_browser:
            import webbrowser

            webbrowser.open(link)

    server.run(begin)


def _check_packages() -> None:
    """The studio's pages need what the hub needs."""
    for module in ("fastapi", "jinja2", "multipart", "uvicorn"):
        if find_spec(module) is None:
            raise InputError('The studio needs more packages: pip install "understudy[hub]".')
