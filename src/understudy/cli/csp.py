"""``understudy csp``: encrypted tables, and the crypto service that holds the key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.checks import check_distinct
from understudy.cli.holder import Cert, KeyFile, check_extra, identity_of
from understudy.cli.ledger_options import NO_LEDGER_FILE, LedgerOptions, uses_ledger
from understudy.cli.options import (
    Neighbour,
    Quiet,
    Relation,
)
from understudy.cli.reading import reads_files
from understudy.cli.root import app, examples
from understudy.cli.serving import say_listening
from understudy.cli.talk import Talk
from understudy.errors import InputError

csp_app = typer.Typer(
    help="Upload encrypted tables once, or hold the key to sums of them (crypto service).",
    epilog=examples(
        "understudy csp key service",
        "understudy csp plan --schema s.json --public-key service.json --peers parties.toml \\",
        "    -o p.json",
        "understudy csp encrypt north.csv --plan p.json --cert north.pem -o uploads/north.json",
        "understudy csp serve --plan p.json --private-key service.secret --cert service.pem \\",
        "    --peers parties.toml",
    ),
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.add_typer(csp_app, name="csp")

PlanOption = Annotated[
    Path, typer.Option("--plan", metavar="FILE", help="The plan of all parties.")
]
Peers = Annotated[
    Path,
    typer.Option("--peers", metavar="FILE", help="Owners, service and aggregators (TOML)."),
]
OutFile = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where it goes.")]


@csp_app.command("key", epilog=examples("understudy csp key service"))
def csp_key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the two files are called.")],
    folder: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the two files go.")
    ] = Path(),
    bits: Annotated[int, typer.Option(metavar="N", help="Bits of the modulus.")] = 2048,
    quiet: Quiet = False,
) -> None:
    """Make the service's key: a public part for everybody, a secret one for the service."""
    check_extra()
    from understudy.data.files import writable_file
    from understudy.encrypted.paillier import PrivateKey
    from understudy.federation.identity import check_name

    public, secret = folder / f"{check_name(name)}.json", folder / f"{name}.secret"
    if writable_file(public, "public key").exists():
        raise InputError(f"There is a file at {public} already; choose another name.")
    key = PrivateKey.generate(bits)
    key.save(secret)
    key.public.save(public)
    talk = Talk(quiet)
    talk.say(f"Public key: {public}. It goes into the plan, for everybody to see.")
    talk.say(f"Secret key: {secret}. It stays on the machine of the service.")
    talk.say(f"Fingerprint of the public key: {key.public.fingerprint[:32]}")


@csp_app.command(
    "plan",
    epilog=examples(
        "# all single columns and all pairs; the service will tell epsilon 2 at most, ever",
        "understudy csp plan --schema s.json --public-key service.json --peers parties.toml \\",
        "    --allowance 2 -o plan.json",
    ),
)
def csp_plan(
    schema: Annotated[
        Path, typer.Option(metavar="FILE", help="The schema that all parties agreed on.")
    ],
    public_key: Annotated[
        Path, typer.Option(metavar="FILE", help="The service's public key, by csp key.")
    ],
    peers: Peers,
    output: OutFile,
    allowance: Annotated[
        float, typer.Option(metavar="NUMBER", help="Epsilon of all that is ever told.")
    ] = 1.0,
    delta: Annotated[
        float, typer.Option(metavar="NUMBER", help="Delta of all that is ever told.")
    ] = 0.0,
    neighbours: Neighbour = Relation.add_remove,
    order: Annotated[
        int, typer.Option(metavar="N", help="Tables of up to this many columns are uploaded.")
    ] = 2,
    max_rows: Annotated[
        int, typer.Option(metavar="N", help="The most rows of all owners together; public.")
    ] = 1_000_000,
    quiet: Quiet = False,
) -> None:
    """Write down what owners upload: which tables, for whom, and how much may ever be told."""
    check_extra()
    from understudy.data.schema import Schema
    from understudy.encrypted.paillier import PublicKey
    from understudy.encrypted.plans import EncryptionPlan, list_tables
    from understudy.federation.identity import Parties

    check_distinct(schema, public_key, peers, output)
    if not 1 <= order <= 4:
        raise InputError(f"--order must be a whole number from 1 to 4, not {order!r}.")
    public = Schema.load(schema)
    plan = EncryptionPlan(
        schema=public,
        key=PublicKey.load(public_key),
        owners=tuple(sorted(party.name for party in Parties.load(peers).owners)),
        epsilon=allowance,
        delta=delta,
        neighbours=neighbours.value,
        max_rows=max_rows,
        tables=list_tables(public, order),
        scores=order > 1 and sum(one.size > 1 for one in public.modelled) > 1,
    )
    plan.save(output)
    numbers = sum(item.cells for item in plan.items)
    ciphertexts = sum(item.ciphertexts for item in plan.items)
    talk = Talk(quiet)
    talk.say(
        f"{len(plan.tables):,} tables, {numbers:,} numbers in {ciphertexts:,} ciphertexts of each "
        f"of {len(plan.owners)} owners; {output}."
    )
    talk.say(f"Compare this over the telephone: {plan.digest.hex()[:32]}")


@csp_app.command(
    "encrypt",
    epilog=examples(
        "understudy csp encrypt north.csv --plan plan.json --cert north.pem -o uploads/north.json",
    ),
)
@reads_files
@uses_ledger
def csp_encrypt(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="Your rows: CSV or Parquet. They never leave.")
    ],
    plan: PlanOption,
    cert: Cert,
    output: OutFile,
    key: KeyFile = None,
    ledger: LedgerOptions = NO_LEDGER_FILE,
    reading: Any = None,
    quiet: Quiet = False,
) -> None:
    """Encrypt the tables of a plan, once; afterwards you may go offline."""
    check_extra()
    from understudy.data.files import writable_file
    from understudy.encrypted.plans import EncryptionPlan
    from understudy.encrypted.uploads import make_upload
    from understudy.federation.opening import open_rows
    from understudy.privacy.ledger import Ledger
    from understudy.release.reservations import reserve

    talk = Talk(quiet)
    check_distinct(table, plan, cert, key, output, ledger.path)
    identity = identity_of(cert, key)
    agreed = EncryptionPlan.load(plan)
    if identity.name not in agreed.owners:
        raise InputError(f"The plan does not name {identity.name} among its owners.")
    if writable_file(output, "upload").exists():
        raise InputError(
            f"There is a file at {output} already, and a plan takes one upload of each owner."
        )
    book = ledger.open(talk)
    with talk.working("reading"):
        coded, source = open_rows(table, agreed.schema, notify=talk.note, **(reading or {}))
    price = Ledger(agreed.epsilon, agreed.delta, agreed.neighbours, currency=agreed.currency)
    fingerprint = None
    if book is not None:
        fingerprint = source.fingerprint(book.key())
    with reserve(book, f"upload for the plan {agreed.digest.hex()[:16]}", price, fingerprint):
        price.debit(
            "all that the service may tell of the upload", price.budget, "by its own ledger"
        )
        with talk.working("encrypting") as progress:
            upload = make_upload(agreed, identity.name, coded, identity, progress)
        upload.save(output, agreed)
    talk.say(f"Upload: {output}. Give it to the aggregator; without the service it says nothing.")
    talk.say(
        f"The service may tell epsilon {agreed.epsilon:g}, delta {agreed.delta:g} of it, in all."
    )


@csp_app.command(
    "serve",
    epilog=examples(
        "understudy csp serve --plan plan.json --private-key service.secret --cert service.pem \\",
        "    --peers parties.toml --listen 0.0.0.0:8450",
    ),
)
def csp_serve(
    plan: PlanOption,
    private_key: Annotated[
        Path, typer.Option(metavar="FILE", help="The service's secret key, by csp key.")
    ],
    cert: Cert,
    peers: Peers,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen.")
    ] = "127.0.0.1:8450",
    key: KeyFile = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Your ledger; the plan's name with .ledger when not given."
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What was asked and answered; the plan's name with .log when not given.",
        ),
    ] = None,
    colluders: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="1: refuse noise that would not hold against aggregator or service; 0: accept.",
        ),
    ] = 1,
    session_share: Annotated[
        float,
        typer.Option(metavar="SHARE", help="The share of the allowance that a release may take."),
    ] = 1.0,
    quiet: Quiet = False,
) -> None:
    """Hold the key: decrypt blinded sums, add noise, keep a ledger and a log."""
    check_extra()
    from understudy.encrypted.paillier import PrivateKey
    from understudy.encrypted.plans import EncryptionPlan
    from understudy.encrypted.service import CryptoService, ServicePolicy
    from understudy.federation.allowance import check_share
    from understudy.federation.identity import Parties
    from understudy.federation.server import (
        AuditLog,
        answer_until_stopped,
        make_holder_app,
        make_server,
        open_listener,
    )
    from understudy.privacy.ledger import LedgerFile

    talk = Talk(quiet)
    book = ledger or plan.with_suffix(".ledger")
    journal = log or plan.with_suffix(".log")
    check_distinct(plan, private_key, cert, key, peers, book, journal)
    identity = identity_of(cert, key)
    parties = Parties.load(peers)
    if identity.name not in [party.name for party in parties.services]:
        raise InputError(f"{peers} does not name the service {identity.name}; add it.")
    if not parties.analysts:
        raise InputError(f"{peers} names no aggregator to answer; add one under [[analyst]].")
    analysts = [party.certificate for party in parties.analysts]
    agreed = EncryptionPlan.load(plan)
    secret = PrivateKey.load(private_key)
    of_session = check_share("--session-share", session_share)
    listener = open_listener(listen)
    if not book.exists():
        LedgerFile.create(book, agreed.epsilon, agreed.delta, agreed.neighbours)
    ledger_file = LedgerFile(book)
    service = CryptoService(
        identity.name,
        agreed,
        secret,
        {party.name: party.certificate for party in parties.owners},
        policy=ServicePolicy(
            ledger_file=ledger_file, colluders=colluders, session_share=of_session
        ),
        log=AuditLog(journal, ledger_file.left, talk.say),
    )
    say_listening(talk, identity.name, listener, analysts, ledger_file, book=book, journal=journal)
    app = make_holder_app(service, analysts)
    answer_until_stopped(make_server(app, identity, analysts), listener)
    talk.say(f"{identity.name} has stopped.")
