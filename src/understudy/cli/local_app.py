"""``understudy local`` itself: what its commands add themselves to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.root import app, examples

local_app = typer.Typer(
    help="Ask persons who trust nobody: each answer is randomised before it leaves their device.",
    epilog=examples(
        "understudy local plan survey.json --epsilon 2 --persons 20000 -o plan.json",
        "# on each person's device",
        "understudy local answer plan.json < person.json > report.jsonl",
        "# for persons without a shell",
        "understudy local page plan.json -o survey.html",
        "understudy local collect plan.json reports/ -o tables.json",
        "understudy synthesize --reports tables.json -o synthetic.csv",
    ),
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.add_typer(local_app, name="local")

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="The plan of the survey.")]
