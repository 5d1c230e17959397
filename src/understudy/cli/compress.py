"""``understudy compress``: project rows so that one label is kept and another lost."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.checks import NO_LEDGER, check_distinct, check_output
from understudy.cli.ledger_options import NO_LEDGER_FILE, LedgerOptions, uses_ledger
from understudy.cli.options import Delta, Epsilon, Quiet
from understudy.cli.reading import reads_files
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.data.tables import Table
    from understudy.learners import TrainedModel


class Projecting(StrEnum):
    """Projections by name."""

    pca = "pca"
    dca = "dca"
    mdr = "mdr"


@app.command(
    epilog=examples(
        "understudy compress adult.csv --schema a.json --method dca --utility income --privacy sex "
        "\\",
        "    --components 2 --delta 1e-6 -o projection.json",
        "# what an attacker finds out from projected rows, for your eyes",
        "understudy compress adult.csv --schema a.json --method mdr --utility income --privacy sex "
        "\\",
        "    --components 2 --attack -o projection.json",
    )
)
@reads_files
@uses_ledger
def compress(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="The rows: CSV, Parquet, ...")],
    schema: Annotated[
        Path, typer.Option(metavar="FILE", help="What is public: bounds and categories.")
    ],
    method: Annotated[Projecting, typer.Option(help="How to project.")] = Projecting.dca,
    utility: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The label to keep (dca, mdr).")
    ] = None,
    privacy: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The label to lose (mdr); left out of X.")
    ] = None,
    components: Annotated[
        int | None, typer.Option(metavar="K", help="How many dimensions; by default all.")
    ] = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    row_norm: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Rows are shortened to this length; see the docs."),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The projection (JSON).")
    ] = Path("projection.json"),
    rows: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the projected rows: they are NOT private."),
    ] = None,
    attack: Annotated[
        bool,
        typer.Option("--attack", metavar="", help="Attack the projected rows (not private)."),
    ] = False,
    ledger: LedgerOptions = NO_LEDGER_FILE,
    reading: Any = None,
    quiet: Quiet = False,
) -> None:
    """Find a projection of a sensitive table, privately: keep a utility label, lose a privacy
    label.
    """
    from understudy.data.files import writable_file

    try:
        from understudy.compression import PrivateDCA, PrivateMDR, PrivatePCA
        from understudy.learners import learn
    except ImportError as error:
        raise InputError(str(error)) from error

    talk = Talk(quiet)
    writable_file(output, "projection")
    if rows is not None:
        check_output(str(rows))
    check_distinct(table, schema, output, rows, ledger.path)
    shared: dict[str, Any] = {
        "n_components": components,
        "epsilon": epsilon,
        "delta": delta,
        "row_norm": row_norm,
        "privacy": privacy,
    }
    target = utility
    learner: Any
    if method is Projecting.pca:
        learner, target = PrivatePCA(utility=utility, **shared), None
    elif utility is None:
        raise InputError(f"--method {method.value} needs --utility COLUMN, the label to keep.")
    elif method is Projecting.dca:
        learner = PrivateDCA(**shared)
    else:
        learner = PrivateMDR(**shared)
    books = ledger.open(talk)
    if books is not None:
        books.read()
        learner.set_params(ledger=books)
    notes: list[str] = []
    with talk.working("reading and projecting"):
        trained = learn(
            learner, str(table), schema, target=target, notify=notes.append, **(reading or {})
        )
    trained.save(output)
    talk.notes(notes)
    talk.say(trained.ledger.statement())
    if books is None:
        talk.say(NO_LEDGER)
    talk.say(f"Projection: {output}")
    if rows is not None:
        trained.predict(str(table), **(reading or {})).write(rows)
        talk.say(f"Projected rows: {rows}. They are somebody's rows; no guarantee holds for them.")
    if attack:
        _attack(trained, table, privacy, talk, reading or {})


def _attack(
    trained: TrainedModel, path: Path, privacy: str | None, talk: Talk, reading: Any
) -> None:
    """Attack one half of the rows with the other; exact, for the owner's eyes."""
    import numpy as np

    from understudy.compression.attacks import attack_attribute, attack_reconstruction
    from understudy.data.tables import read_table

    whole = read_table(path, **reading)
    features = np.nan_to_num(trained.learner.design_.read(whole, trained.schema))
    half = np.random.default_rng(0).permutation(len(features)) % 2 == 0
    near = attack_reconstruction(trained.learner, features[half], features[~half])
    print(
        f"reconstruction: rows come within {near.learned:,.4g} on average "
        f"(of {near.baseline:,.4g} to the mean; least squares {near.least_squares:,.4g})"
    )
    for name in (trained.target, privacy):
        if name is None:
            continue
        codes = _codes(trained, whole, name)
        told = attack_attribute(
            trained.learner, features[half], codes[half], features[~half], codes[~half]
        )
        print(
            f"{name}: guessed right for {told.from_coordinates:.1%} from projected rows, "
            f"{told.from_rows:.1%} from rows, {told.baseline:.1%} without either"
        )
    talk.say("Exact numbers of these rows, for your eyes: no noise protects them.")


def _codes(trained: TrainedModel, whole: Table, name: str) -> Any:
    from understudy.data.cells import CellEncoder

    if name not in whole.columns:
        raise InputError(f"{whole.source} has no column {name!r} to attack.")
    return CellEncoder(trained.schema[name], whole.columns[name]).codes()
