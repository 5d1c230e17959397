"""``understudy query``: answers from a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from understudy.cli.options import ModelFile
from understudy.cli.root import app, examples
from understudy.cli.talk import grid_of, print_json, print_sentence, safe

if TYPE_CHECKING:
    from understudy.models.query.functions import GroupedAnswer


@app.command(
    epilog=examples(
        "understudy query m.json \"count where age >= 44 and sex = 'Female'\"",
        'understudy query m.json "share where smoker = true" "mean age"',
        'understudy query m.json "median age group by sex" "histogram age"',
    )
)
def query(
    model: ModelFile,
    queries: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY...",
            help="count, share, sum NAME, mean NAME, median NAME, ..., then: where CONDITION, "
            "group by NAME.",
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
    from understudy.models.query.functions import GroupedAnswer

    released = Model.load(model)
    answers = [released.query(text) for text in queries]
    if as_json:
        print_json([answer.to_dict() for answer in answers])
        return
    console = Console(highlight=False)
    for answer in answers:
        if isinstance(answer, GroupedAnswer):
            console.print(_make_grid(answer))
            continue
        label = ""
        if len(answers) > 1:
            label = f"{answer.query}: "
        print_sentence(console, f"{label}{answer!r}")
        if parts:
            console.print(f"  {answer.describe_parts()}")


def _make_grid(answer: GroupedAnswer) -> Any:
    """The answers of all groups, line by line."""
    from understudy.models.query.functions import show_answer

    grid = grid_of(answer.query, *(answer.group_by or ("condition",)), "#answer")
    for group, found in zip(answer.groups, answer.answers, strict=True):
        grid.add_row(*map(safe, group), safe(show_answer(found)))
    return grid
