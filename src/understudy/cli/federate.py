"""``understudy federate``: one synthetic table from the rows of many holders."""

from __future__ import annotations

from contextlib import ExitStack
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from understudy.cli.checks import check_distinct, check_output
from understudy.cli.holder import Cert, KeyFile, check_extra, identity_of
from understudy.cli.methods import make_synthesizer, method_command
from understudy.cli.options import (
    Delta,
    Epsilon,
    MethodNeighbour,
    Out,
    Quiet,
    RowsOption,
    Seed,
    relation_of,
)
from understudy.cli.root import examples
from understudy.cli.sample import write_rows
from understudy.cli.talk import Talk
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.encrypted.session import Store
    from understudy.federation.identity import Parties, Party
    from understudy.federation.ways import WayName as HoldersWay
    from understudy.synthesizers.registry import CuratorKind


class Way(Enum):
    """Ways to work together, by name."""

    secure = "secure"
    statistics = "statistics"
    voting = "voting"
    models = "models"
    encrypted = "encrypted"


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
        "# from uploads of owners who are offline; see understudy csp",
        "understudy federate --way encrypted --plan plan.json --uploads uploads/ \\",
        "    --holders parties.toml --cert hub.pem -o synthetic.csv",
    ),
)
def federate(
    holders: Annotated[
        Path,
        typer.Option(metavar="FILE", help="The holders: names, addresses, certificates (TOML)."),
    ],
    cert: Cert,
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The schema that all parties agreed on; a plan has its own."
        ),
    ] = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    way: Annotated[
        Way,
        typer.Option(
            metavar="WAY",
            help="secure: holders add up under masks, as accurate as one trusted curator; "
            "statistics: each sends noisy "
            "tables once; voting: holders vote on the network; models: each sends a model of its "
            "own; encrypted: from uploads of owners who are offline, with a crypto service.",
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
            "of secure sums. 0 is more accurate, and the holders have to trust each other.",
        ),
    ] = 1,
    plan: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The plan of the uploads (encrypted).")
    ] = None,
    uploads: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The uploads of all owners of the plan (encrypted)."),
    ] = None,
    output: Out = "-",
    rows: RowsOption = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the released model here.")
    ] = None,
    key: KeyFile = None,
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
    from understudy.data.streams import check_seed
    from understudy.encrypted.ways import federate_encrypted as learn_from_uploads
    from understudy.federation.client import HttpLink
    from understudy.federation.identity import Parties
    from understudy.federation.ways import federate as learned_together
    from understudy.models.documents import check_wanted_rows

    talk = Talk(quiet)
    check_output(output)
    check_distinct(output, model, schema, holders, cert, key, plan)
    check_plan_given(way, schema, plan, uploads)
    if model is not None:
        writable_file(model, "model")
    if rows is not None:
        check_wanted_rows(rows)
    check_seed(seed)
    if not 0 < patience < float("inf"):
        raise InputError(f"--patience must be a number of seconds above 0, not {patience!r}.")
    identity = identity_of(cert, key)
    parties = Parties.load(holders)
    if way is Way.statistics or structure is Structure.tables:
        options["method"] = options["method"] or "privbayes"  # no other method learns from tables
    gathered = None
    relation = relation_of(neighbours)
    if plan is not None and uploads is not None:
        gathered = open_uploads(plan, uploads, parties)
        relation = relation or gathered[0].plan.neighbours
    synthesizer = make_synthesizer(
        options, curator_of(way), epsilon=epsilon, delta=delta, neighbours=relation
    )
    released: Any
    with ExitStack() as lines:
        if gathered is not None:
            store, service = gathered
            link = HttpLink(service, identity, patience)
            lines.callback(link.close)
            with talk.working(f"asking {service.name}") as progress:
                released = learn_from_uploads(
                    link,
                    store,
                    synthesizer,
                    colluders=colluders,
                    progress=progress,
                    notify=talk.say,
                )
        else:
            assert schema is not None
            if not parties.holders:
                raise InputError(f"{holders} names no holder; add one under [[holder]].")
            public = Schema.load(schema)
            links = [HttpLink(holder, identity, patience) for holder in parties.holders]
            for link in links:
                lines.callback(link.close)
            with talk.working(f"asking {len(links)} holders") as progress:
                released = learned_together(
                    links,
                    public,
                    synthesizer,
                    cast("HoldersWay", way.value),
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


def curator_of(way: Way) -> CuratorKind:
    """The kind of curator that methods ask in a way."""
    if way is Way.encrypted:
        return "encrypted"
    return "federated"


def check_plan_given(
    way: Way, schema: Path | None, plan: Path | None, uploads: Path | None
) -> None:
    """A plan and uploads go with the way encrypted, a schema with all others."""
    if way is Way.encrypted:
        if plan is None or uploads is None:
            raise InputError("--way encrypted needs --plan FILE and --uploads FOLDER.")
        if schema is not None:
            raise InputError("A plan has its own schema; leave --schema out.")
        return
    if plan is not None or uploads is not None:
        raise InputError("--plan and --uploads go with --way encrypted.")
    if schema is None:
        raise InputError("--schema FILE is missing: the schema that all parties agreed on.")


def open_uploads(plan: Path, uploads: Path, parties: Parties) -> tuple[Store, Party]:
    """The uploads of a folder, checked, and the service to ask about them."""
    from understudy.encrypted.plans import EncryptionPlan
    from understudy.encrypted.session import Store
    from understudy.encrypted.uploads import Upload

    if len(parties.services) != 1:
        raise InputError("The list of parties must name one [[service]], with its address.")
    agreed = EncryptionPlan.load(plan)
    if not uploads.is_dir():
        raise InputError(f"There is no folder {uploads} with uploads; gather them there first.")
    found = [Upload.load(path, agreed) for path in sorted(uploads.glob("*.json"))]
    owners = {party.name: party.certificate for party in parties.owners}
    return Store(agreed, found, owners), parties.services[0]
