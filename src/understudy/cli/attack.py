"""``understudy attack`` and ``understudy membership``: what synthetic rows tell about a person."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from understudy.cli.checks import check_distinct, frame_at
from understudy.cli.methods import make_synthesizer, method_command
from understudy.cli.options import (
    Delta,
    Epsilon,
    MethodNeighbour,
    Neighbour,
    QuietResult,
    Relation,
    SensitiveTable,
    names_between,
    relation_of,
)
from understudy.cli.reading import reads_files
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk, grid_of, print_json, print_sentence, safe
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.attacks import Attack, Attacks, Promise
    from understudy.data.schema import Schema
    from understudy.data.tables import Table
    from understudy.models.model import Model

_COLOURS = {
    "look at this": "red",
    "within the promise": "yellow",
    "nothing seen": "green",
    "not judged": "dim",
}

OwnersSchema = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="Schema file; without one it is read off the rows, for you alone.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON.")]


def quasi_identifiers_option(**settings: Any) -> Any:
    """What others may know, for commands that attack."""
    told = "Attributes that others may know of a person."
    return typer.Option("--quasi-identifiers", metavar="A,B,C", help=told, **settings)


def secret_option(**settings: Any) -> Any:
    """What nobody should learn, for commands that attack."""
    return typer.Option(metavar="NAME", help="The attribute that nobody should learn.", **settings)


@app.command(
    epilog=examples(
        "# set some rows aside beforehand: the holdout",
        "understudy attack used.csv synthetic.csv --holdout holdout.csv --model model.json",
        "understudy attack used.csv synthetic.csv --holdout holdout.csv --epsilon 1 "
        "--quasi-identifiers age,ward --secret smoker",
    )
)
@reads_files
def attack(
    real: Annotated[
        Path,
        typer.Argument(metavar="REAL", help="The rows that the synthetic table was made from."),
    ],
    synthetic: Annotated[Path, typer.Argument(metavar="SYNTHETIC", help="The synthetic table.")],
    holdout: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Rows set aside at random, not used: without them little can be judged.",
        ),
    ] = None,
    quasi_identifiers: Annotated[str, quasi_identifiers_option()] = "",
    secret: Annotated[str | None, secret_option()] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The released model: its schema and guarantee are used."),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="The guarantee of the synthetic table, without --model."
        ),
    ] = None,
    delta: Annotated[float, typer.Option(metavar="NUMBER", help="Goes with --epsilon.")] = 0.0,
    neighbours: Neighbour = Relation.add_remove,
    schema: OwnersSchema = None,
    seed: Annotated[
        int, typer.Option(metavar="N", help="For the samples that are taken of large tables.")
    ] = 0,
    reading: Any = None,
    as_json: AsJson = False,
    quiet: QuietResult = False,
) -> None:
    """Attack a synthetic table, for you and not for release. Status 1 if something needs a look."""
    from understudy.attacks import Promise
    from understudy.data.schema import Schema
    from understudy.models.model import Model

    for table in (real, synthetic):  # which may be one file: copies are a control
        check_distinct(table, holdout, model, schema)
    talk = Talk(quiet)
    public = None
    if schema is not None:
        public = Schema.load(schema)
    promise = None
    if model is not None:
        if epsilon is not None or delta:
            raise InputError(
                "The model says what was spent; leave out --epsilon and --delta, or --model."
            )
        released = Model.load(model)
        public = public or released.schema
        promise = promise_of(released, talk)
    elif epsilon is not None:
        promise = Promise(epsilon, delta, relation_of(neighbours) or "add_remove")
    elif delta:
        raise InputError("--delta goes with --epsilon; give both, or neither.")
    known = adversary_of(holdout, quasi_identifiers, secret, reading)
    result = run_attacks(
        frame_at(real, reading), synthetic, public, talk, promise=promise, seed=seed, **known
    )
    if as_json:
        print_json(result.to_dict())
    else:
        rows = f"{result.rows['real']:,} real, {result.rows['synthetic']:,} synthetic"
        if result.rows["holdout"]:
            held = f", {result.rows['holdout']:,} held out"
        else:
            held = ", no holdout"
        _show(f"Attacks ({rows}{held})", result.attacks)
        for sentence in result.notes:
            talk.note(sentence)
        talk.say("Passing is no guarantee: other attacks may do better. The guarantee is epsilon.")
    if result.verdict == "look at this":
        raise typer.Exit(1)


class Knowledge(Enum):
    """What the adversary knows, by name."""

    rows = "rows"
    population = "population"


@method_command(
    epilog=examples(
        "understudy membership patients.csv --schema patients.json --epsilon 1",
        "# quick and rough",
        "understudy membership patients.csv --targets 2 --shadows 30",
    ),
)
@reads_files
def membership(
    table: SensitiveTable,
    schema: OwnersSchema = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    neighbours: MethodNeighbour = None,
    targets: Annotated[
        int,
        typer.Option(
            metavar="N", help="People to attack: those with the rarest values, and as many others."
        ),
    ] = 6,
    shadows: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Fits with and without each of them to learn from, and as many to judge.",
        ),
    ] = 100,
    rows: Annotated[
        int, typer.Option(metavar="N", help="Rows of the tables that are fitted, at most.")
    ] = 1000,
    knows: Annotated[
        Knowledge,
        typer.Option(
            metavar="WHAT",
            help="The adversary knows all other rows (rows) or only such people (population).",
        ),
    ] = Knowledge.rows,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Makes the game repeatable, with seeded noise; else real noise."
        ),
    ] = None,
    reading: Any = None,
    as_json: AsJson = False,
    quiet: QuietResult = False,
    **options: Any,
) -> None:
    """Play the membership game with shadow models: was this person in the table? For you, not for
    release.
    """
    from understudy.attacks import GameRules
    from understudy.attacks import membership as play
    from understudy.data.streams import check_seed

    talk = Talk(quiet)
    check_seed(seed)
    with talk.working("attacking") as progress:
        result = play(
            make_synthesizer(
                options, epsilon=epsilon, delta=delta, neighbours=relation_of(neighbours)
            ),
            frame_at(table, reading),
            schema,
            GameRules(targets=targets, shadows=shadows, rows=rows, knows=knows.value),
            seed=seed,
            progress=progress,
        )
    if as_json:
        print_json(result.to_dict())
    else:
        assert result.control is not None
        _show(
            f"Membership ({result.shadows} shadow models a side)", (result.attack, result.control)
        )
        talk.say(
            "The copies are the control: real rows handed out as they are, which the attack must "
            "see."
        )
    if result.attack.verdict == "look at this":
        raise typer.Exit(1)


def run_attacks(
    real: Table | Path, synthetic: Path, schema: Schema | Path | None, talk: Talk, **options: Any
) -> Attacks:
    """Attack, and show how far it is."""
    from understudy.attacks import attack

    with talk.working("attacking") as progress:
        return attack(real, synthetic, schema, progress=progress, **options)


def adversary_of(
    holdout: Path | None, quasi_identifiers: str, secret: str | None, reading: Any
) -> dict[str, Any]:
    """Whom an attack is judged by, what others may know, and what they should not learn."""
    others = None
    if holdout is not None:
        others = frame_at(holdout, reading)
    known = names_between(quasi_identifiers)
    return {"holdout": others, "quasi_identifiers": known, "secret": secret}


def promise_of(released: Model, talk: Talk) -> Promise | None:
    """The guarantee of a model; the user is told where there is none, and why."""
    from understudy.attacks import Promise

    promise = Promise.of(released.ledger)
    if promise is None:
        if released.ledger.private:
            why = "it read nothing"
        else:
            why = "its noise was seeded"
        talk.say(f"The model makes no promise: {why}.")
    return promise


def _show(title: str, attacks: Sequence[Attack]) -> None:
    console = Console(highlight=False)
    grid = grid_of(title, "attack", "#measured", "#beside", "#epsilon allows", "verdict")
    for found in attacks:
        numbers = (_number(value) for value in (found.measured, found.beside, found.allowed))
        colour = _COLOURS[found.verdict]
        grid.add_row(safe(found.name), *numbers, f"[{colour}]{found.verdict}[/]")
    console.print("For you, not for release: this tells of private rows.", style="bold")
    console.print(grid)
    for found in attacks:
        print_sentence(console, f"{found.name}: {found.found} {found.promised}")


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3f}"
