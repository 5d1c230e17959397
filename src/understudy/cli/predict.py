"""``understudy predict``: what a trained model says of rows."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.checks import check_distinct, check_output
from understudy.cli.options import Out, Quiet
from understudy.cli.reading import reads_files
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk
from understudy.errors import InputError


@app.command(
    epilog=examples(
        "understudy predict model.json new.csv -o predicted.csv",
        "# how well it does on rows that it was not trained on",
        "understudy predict model.json held-out.csv --score",
    )
)
@reads_files
def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model file, made by understudy learn.")
    ],
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The rows: CSV, Parquet, ...")],
    output: Out = "-",
    score: Annotated[
        bool,
        typer.Option(
            "--score", metavar="", help="Say how well it predicts these rows instead (not private)."
        ),
    ] = False,
    quiet: Quiet = False,
    reading: Any = None,
) -> None:
    """Predict a column of a table by a trained model: costs nothing."""
    talk = Talk(quiet)
    try:
        import understudy.compression  # noqa: F401 - its projections have names in model files
        from understudy.learners import TrainedModel
    except ImportError as error:
        raise InputError(str(error)) from error

    trained = TrainedModel.load(model)
    if score:
        found = trained.score(table, **(reading or {}))
        for name, value in found.items():
            print(f"{name}: {value:,.6g}")
        talk.say("Exact numbers of these rows, for your eyes: no noise protects them.")
        return
    check_output(output)
    check_distinct(model, table, output)
    predicted = trained.predict(table, **(reading or {}))
    if output != "-":
        predicted.write(output)
        talk.say(f"Predictions: {output}")
        return
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "rows.csv"
        predicted.write(whole)
        with whole.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
