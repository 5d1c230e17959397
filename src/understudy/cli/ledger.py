"""``understudy ledger``: an allowance that all releases of a table share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.options import Neighbour, Relation, relation_of
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk, grid_of, safe

ledger_app = typer.Typer(
    help="Keep an allowance that all releases of one table share.",
    epilog=examples(
        "understudy ledger create patients.ledger --epsilon 3",
        "understudy synthesize patients.csv --ledger patients.ledger -o synthetic.csv",
        "understudy ledger show patients.ledger",
    ),
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.add_typer(ledger_app, name="ledger")


@ledger_app.command(
    "create", epilog=examples("understudy ledger create patients.ledger --epsilon 3 --delta 1e-6")
)
def ledger_create(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The ledger file to start.")],
    epsilon: Annotated[
        float, typer.Option(metavar="NUMBER", help="Allowance of all releases together.")
    ],
    delta: Annotated[
        float, typer.Option(metavar="NUMBER", help="Allowance of all releases together.")
    ] = 0.0,
    neighbours: Neighbour = Relation.add_remove,
    per_person: Annotated[
        bool,
        typer.Option(
            "--per-person",
            metavar="",
            help="For releases with --person or --max-rows-per-person above 1.",
        ),
    ] = False,
) -> None:
    """Start the ledger of a table."""
    from understudy.privacy.ledger import LedgerFile

    LedgerFile.create(
        file, epsilon, delta, relation_of(neighbours), "person" if per_person else "row"
    )
    talk = Talk(False)
    talk.say(
        f"Ledger: {file}, allowance epsilon {epsilon:g}, delta {delta:g}. Give it to every "
        f"release: --ledger {file}"
    )
    talk.say(_describe_needed_delta(delta))


def _describe_needed_delta(allowance: float) -> str:
    """What delta the next release will need, and whether this ledger has it."""
    from understudy.privacy.budget import DEFAULT_DELTA

    needs = (
        "The next release needs no delta where a schema lists the values of all columns of words; "
        f"without a schema it needs {DEFAULT_DELTA:g}, or the --delta that you give it"
    )
    if allowance < DEFAULT_DELTA:
        return (
            f"{needs}. This ledger has {allowance:g}, so give every release a schema; for others "
            f"create one with --delta {DEFAULT_DELTA:g} per release."
        )
    return (
        f"{needs}. This ledger has enough for {int(allowance / DEFAULT_DELTA + 1e-9):,} of these."
    )


@ledger_app.command("show", epilog=examples("understudy ledger show patients.ledger"))
def ledger_show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A ledger file.")],
) -> None:
    """Show what was released and what is left."""
    from understudy.privacy.ledger import LedgerFile

    book = LedgerFile(file)
    document = book.read()
    grid = grid_of("Releases", "when", "release", "#epsilon", "#delta", "state")
    for release in document["releases"]:
        grid.add_row(
            safe(release.get("at", "")),
            safe(release.get("release", "")),
            f"{release['epsilon']:g}",
            f"{release['delta']:g}",
            safe(release.get("state", "")),
        )
    grid.add_section()
    allowance, left = document["allowance"], book.left()
    for what, (epsilon, delta) in {
        "left": left,
        "allowance": (allowance["epsilon"], allowance["delta"]),
    }.items():
        kept_for = f"neighbours: {document['neighbours']}" + (
            ", per person" if document.get("unit") == "person" else ""
        )
        grid.add_row(what, kept_for, f"{epsilon:g}", f"{delta:g}", "")
    Console().print(grid)
