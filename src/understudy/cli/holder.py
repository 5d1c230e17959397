"""``understudy holder``: rows that stay at home, and answer an analyst whom nobody needs to
trust.
"""

from __future__ import annotations

from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.checks import check_distinct
from understudy.cli.ledger_options import LedgerOptions
from understudy.cli.options import (
    Neighbour,
    NewRows,
    Quiet,
    Relation,
    SameTable,
    Wait,
    relation_of,
)
from understudy.cli.reading import reads_files
from understudy.cli.root import app, examples
from understudy.cli.serving import say_listening
from understudy.cli.talk import Talk
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.federation.identity import Identity, Parties
    from understudy.privacy.ledger import LedgerFile

holder_app = typer.Typer(
    help="Hold rows that never leave home, and answer an analyst with noise.",
    epilog=examples(
        "understudy holder cert north",
        "understudy holder serve --table north.csv --schema s.json --allowance 2 \\",
        "    --cert north.pem --peers parties.toml",
    ),
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.add_typer(holder_app, name="holder")

Cert = Annotated[
    Path,
    typer.Option("--cert", metavar="FILE", help="Your certificate, by understudy holder cert."),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="The key that goes with it; the same name with .key when not given.",
    ),
]


def check_extra() -> None:
    """Certificates, servers and clients come with an extra."""
    needed = ("cryptography", "fastapi", "httpx", "uvicorn")
    lacking = [name for name in needed if find_spec(name) is None]
    if lacking:
        raise InputError(
            f"Many holders together need {', '.join(lacking)}; install it by `pip install "
            "understudy[federation]`."
        )


def identity_of(cert: Path, key: Path | None) -> Identity:
    """A party from its two files."""
    from understudy.federation.identity import Identity

    return Identity.load(cert, key if key is not None else cert.with_suffix(".key"))


@holder_app.command(
    "cert",
    epilog=examples(
        "# a holder, or an analyst: both make theirs this way",
        "understudy holder cert north-hospital",
    ),
)
def cert(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Your name, as the others will see it.")
    ],
    folder: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the two files go.")
    ] = Path(),
    days: Annotated[int, typer.Option(metavar="N", help="For how many days it is good.")] = 825,
    quiet: Quiet = False,
) -> None:
    """Make your certificate, for all to see, and its key, for you alone."""
    check_extra()
    from understudy.federation.identity import Identity

    shown, key = folder / f"{name}.pem", folder / f"{name}.key"
    identity = Identity.new(name, days).save(shown, key)
    talk = Talk(quiet)
    talk.say(f"Certificate: {shown}. Send it to everybody who takes part.")
    talk.say(f"Key: {key}. It stays on this machine; never send it to anybody.")
    talk.say("Fingerprint, to compare over the telephone before the others pin it:")
    for half in (identity.certificate.fingerprint[:39], identity.certificate.fingerprint[40:]):
        talk.say(f"  {half}")


@holder_app.command(
    "serve",
    epilog=examples(
        "understudy holder serve --table north.csv --schema s.json --allowance 2 \\",
        "    --cert north.pem --peers parties.toml --listen 0.0.0.0:8443",
    ),
)
@reads_files
def serve(
    table: Annotated[
        Path, typer.Option(metavar="FILE", help="Your rows: CSV or Parquet. They never leave.")
    ],
    schema: Annotated[
        Path, typer.Option(metavar="FILE", help="The schema that all parties agreed on.")
    ],
    cert: Cert,
    peers: Annotated[
        Path,
        typer.Option(metavar="FILE", help="All holders, and the analysts whom you answer (TOML)."),
    ],
    allowance: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="Epsilon of all that you will ever answer; starts the ledger."
        ),
    ] = None,
    delta: Annotated[
        float, typer.Option(metavar="NUMBER", help="Delta of all that you will ever answer.")
    ] = 0.0,
    neighbours: Neighbour = Relation.add_remove,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen.")
    ] = "127.0.0.1:8443",
    key: KeyFile = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Your ledger, kept for ever; the table's name with .ledger when not given.",
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What was asked and answered; the table's name with .log when not given.",
        ),
    ] = None,
    colluders: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Other holders whom you fear to pry, or to be in league with the analyst: sums "
            "that guard against "
            "fewer are refused.",
        ),
    ] = 1,
    session_share: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="The largest share of your allowance, from 0 to 1, that one release may take.",
        ),
    ] = 0.5,
    analyst_share: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="The largest share of it that one analyst may take, over all releases; all "
            "analysts have the same share when not given.",
        ),
    ] = None,
    same_table: SameTable = False,
    new_rows: NewRows = False,
    wait: Wait = 30.0,
    reading: Any = None,
    quiet: Quiet = False,
) -> None:
    """Answer analysts until stopped; decide for yourself, by your own ledger."""
    check_extra()
    from understudy.data.schema import Schema
    from understudy.federation.allowance import check_share
    from understudy.federation.holder import Holder, HolderPolicy
    from understudy.federation.identity import Parties
    from understudy.federation.opening import open_rows
    from understudy.federation.server import (
        AuditLog,
        answer_until_stopped,
        make_holder_app,
        make_server,
        open_listener,
    )

    talk = Talk(quiet)
    if ledger is not None:
        book = ledger
    else:
        book = table.with_suffix(".ledger")
    if log is not None:
        journal = log
    else:
        journal = table.with_suffix(".log")
    check_distinct(table, schema, cert, key, peers, book, journal)
    identity = identity_of(cert, key)
    parties = Parties.load(peers)
    check_parties(identity, parties, peers)
    analysts = [party.certificate for party in parties.analysts]
    of_session = check_share("--session-share", session_share)
    of_analyst = Fraction(1, len(analysts))
    if analyst_share is not None:
        of_analyst = check_share("--analyst-share", analyst_share)
    listener = open_listener(listen)
    with talk.working("reading"):
        coded, source = open_rows(table, Schema.load(schema), notify=talk.note, **(reading or {}))
    open_holder_ledger(book, allowance, delta, relation_of(neighbours))
    ledger_file = LedgerOptions(
        path=book, same_table=same_table, new_rows=new_rows, wait=wait
    ).open(talk)
    assert ledger_file is not None
    ledger_file.adopt_table(source.fingerprint(ledger_file.key()))
    holder = Holder(
        identity.name,
        coded,
        HolderPolicy(
            ledger_file=ledger_file,
            colluders=colluders,
            session_share=of_session,
            analyst_share=of_analyst,
        ),
        identity=identity,
        peers={party.name: party.certificate for party in parties.holders},
        log=AuditLog(journal, ledger_file.left, talk.say),
    )
    say_listening(talk, identity.name, listener, analysts, ledger_file, book=book, journal=journal)
    allowed = ledger_file.read()["allowance"]["epsilon"]
    talk.say(
        f"Of epsilon {allowed:g} in all, one release may take {of_session * allowed:.4g} at most "
        f"and one analyst {of_analyst * allowed:.4g} (--session-share, --analyst-share)."
    )
    app = make_holder_app(holder, analysts)
    answer_until_stopped(make_server(app, identity, analysts), listener)
    talk.say(f"{identity.name} has stopped.")


def check_parties(identity: Identity, parties: Parties, path: Path) -> None:
    """The list knows this holder by this certificate, and somebody who may ask."""
    mine = next((party for party in parties.holders if party.name == identity.name), None)
    if mine is None:
        raise InputError(
            f"{path} does not name the holder {identity.name}, whose certificate this is; add it."
        )
    if mine.certificate != identity.certificate:
        raise InputError(
            f"{path} has another certificate for {identity.name} than the one of --cert; bring "
            "them together."
        )
    if not parties.analysts:
        raise InputError(f"{path} names no analyst whom to answer; add one under [[analyst]].")


def open_holder_ledger(
    path: Path, allowance: float | None, delta: float, neighbours: Any
) -> LedgerFile:
    """The holder's ledger: started once, then never changed."""
    from understudy.privacy.ledger import LedgerFile

    if not path.exists():
        if allowance is None:
            raise InputError(f"There is no ledger at {path} yet; start it by --allowance EPSILON.")
        return LedgerFile.create(path, allowance, delta, neighbours)
    book = LedgerFile(path)
    kept = book.read()
    granted = kept["allowance"]["epsilon"], kept["allowance"]["delta"], kept["neighbours"]
    if allowance is not None and (allowance, delta, neighbours) != granted:
        raise InputError(
            f"The ledger {path} was started with epsilon {granted[0]:g}, delta {granted[1]:g} and "
            "neighbours "
            f"{granted[2]}, which stays so; leave out --allowance to go on with it."
        )
    return book
