"""``understudy query``: answers from a model."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.options import ModelFile
from understudy.cli.root import app, examples
from understudy.cli.talk import print_json, print_sentence


@app.command(
    epilog=examples(
        "understudy query m.json \"count where age >= 44 and sex = 'Female'\"",
        'understudy query m.json "share where smoker = true" "mean age"',
    )
)
def query(
    model: ModelFile,
    queries: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY...", help="count, share or mean NAME, then: where CONDITION."
        ),
    ],
    parts: Annotated[
        bool,
        typer.Option("--parts", metavar="", help="Say what the error bar is made of."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", metavar="", help="Print JSON.")] = False,
) -> None:
    """Answer queries from a model, with error bars: exact, without drawing rows and without
    spending anything.
    """
    from understudy.models.model import Model

    released = Model.load(model)
    answers = [released.query(text) for text in queries]
    if as_json:
        print_json([answer.to_dict() for answer in answers])
        return
    console = Console(highlight=False)
    for answer in answers:
        if len(answers) > 1:
            label = f"{answer.query}: "
        else:
            label = ""
        print_sentence(console, f"{label}{answer!r}")
        if parts:
            console.print(f"  {answer.describe_parts()}")
