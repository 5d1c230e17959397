"""``understudy federate``: one synthetic table from the rows of many holders."""

from __future__ import annotations

from contextlib import ExitStack
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.checks import check_distinct, check_output
from understudy.cli.holder import Cert, Key, check_extra, identity_of
from understudy.cli.methods import make_synthesizer, method_command
from understudy.cli.options import (
    Delta,
    Epsilon,
    MethodNeighbour,
    Out,
    Quiet,
    Rows,
    Seed,
    relation_of,
)
from understudy.cli.root import examples
from understudy.cli.sample import write_rows
from understudy.cli.talk import Talk
from understudy.errors import InputError


class Way(Enum):
    """Ways to work together, by name."""

    secure = "secure"
    statistics = "statistics"
    voting = "voting"
    models = "models"


class Structure(Enum):
    """Where a network comes from, by name."""

    choices = "choices"
    tables = "tables"


@method_command(
    curator="federated",
    epilog=examples(
        "# each holder runs understudy holder serve; see there",
        "understudy federate --holders parties.toml --schema s.json --cert me.pem -o synthetic.csv",
        "# goes on when one of four holders or more falls silent",
        "understudy federate --holders parties.toml --schema s.json --cert me.pem --dropouts 1 -o "
        "out.csv",
    ),
)
def federate(
    holders: Annotated[
        Path,
        typer.Option(metavar="FILE", help="The holders: names, addresses, certificates (TOML)."),
    ],
    schema: Annotated[
        Path, typer.Option(metavar="FILE", help="The schema that all parties agreed on.")
    ],
    cert: Cert,
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    way: Annotated[
        Way,
        typer.Option(
            metavar="WAY",
            help="secure: holders add up under masks, as accurate as one trusted curator; "
            "statistics: each sends noisy "
            "tables once; voting: holders vote on the network; models: each sends a model of its "
            "own.",
        ),
    ] = Way.secure,
    structure: Annotated[
        Structure,
        typer.Option(
            metavar="SOURCE",
            help="Where the network comes from (secure, privbayes): choices, or tables where "
            "holders differ in kind.",
        ),
    ] = Structure.choices,
    neighbours: MethodNeighbour = None,
    dropouts: Annotated[
        int, typer.Option(metavar="N", help="Holders that may fall silent on the way.")
    ] = 0,
    colluders: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Holders that may pry, or be in league with you, without breaking the guarantee "
            "of secure sums. 0 is "
            "more accurate, and the holders have to trust each other.",
        ),
    ] = 1,
    output: Out = "-",
    rows: Rows = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the released model here.")
    ] = None,
    key: Key = None,
    patience: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long to wait for each answer.")
    ] = 60.0,
    seed: Seed = None,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Make one private synthetic table out of the rows of many holders, none of whom shows a
    row.
    """
    check_extra()
    from understudy.data.files import writable_file
    from understudy.data.schema import Schema
    from understudy.federation.client import HttpLink
    from understudy.federation.identity import Parties
    from understudy.federation.ways import federate as learned_together
    from understudy.models.model import MAX_ROWS_PER_SAMPLE

    talk = Talk(quiet)
    check_output(output)
    check_distinct(output, model, schema, holders, cert, key)
    if model is not None:
        writable_file(model, "model")
    if rows is not None and not 0 <= rows <= MAX_ROWS_PER_SAMPLE:
        raise InputError(
            f"The number of rows must be a whole number from 0 to {MAX_ROWS_PER_SAMPLE:,}, not "
            f"{rows!r}."
        )
    if seed is not None and seed < 0:
        raise InputError(f"The seed must be a whole number at or above 0, not {seed!r}.")
    if not 0 < patience < float("inf"):
        raise InputError(f"--patience must be a number of seconds above 0, not {patience!r}.")
    identity = identity_of(cert, key)
    parties = Parties.load(holders)
    public = Schema.load(schema)
    if way is Way.statistics or structure is Structure.tables:
        options["method"] = options["method"] or "privbayes"  # no other method learns from tables
    synthesizer = make_synthesizer(
        options, "federated", epsilon=epsilon, delta=delta, neighbours=relation_of(neighbours)
    )
    with ExitStack() as lines:
        links = [HttpLink(holder, identity, patience) for holder in parties.holders]
        for link in links:
            lines.callback(link.close)
        with talk.working(f"asking {len(links)} holders") as progress:
            released: Any = learned_together(
                links,
                public,
                synthesizer,
                way.value,
                dropouts=dropouts,
                colluders=colluders,
                structure=structure.value,
                progress=progress,
                notify=talk.say,
            )
    # The budget is spent: the model goes first, so that a pipe that closes early does not lose it.
    if model is not None:
        released.save(model)
    write_rows(released, output, released.rows if rows is None else rows, seed, talk)
    talk.say(released.ledger.statement())
    for what, path in (("Synthetic table", None if output == "-" else output), ("Model", model)):
        if path is not None:
            talk.say(f"{what}: {path}")
