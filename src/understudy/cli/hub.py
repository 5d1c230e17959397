"""``understudy hub``: the data hub, its accounts, its trail and its backups."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.root import app, examples
from understudy.cli.talk import Talk, grid_of, print_sentence, safe
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.hub.opening import Hub

hub_app = typer.Typer(
    help="Share data sets with others, each with its budget, its rules and its trail.",
    epilog=examples(
        "understudy hub demo",
        "understudy hub serve --data hub-data",
        "# beside the data, at the owner's",
        "understudy hub agent agent.toml",
        "understudy hub verify trail.json",
    ),
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.add_typer(hub_app, name="hub")

DataFolder = Annotated[
    Path,
    typer.Option("--data", metavar="FOLDER", help="Where the database and the vault are."),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        envvar="UNDERSTUDY_HUB_DATABASE",
        help="PostgreSQL, instead of a file in the folder.",
    ),
]
KeysFile = Annotated[
    Path | None,
    typer.Option(
        "--keys",
        metavar="FILE",
        help="The hub's keys, kept apart from its data; else the environment's, or the default.",
    ),
]
Sources = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="What the worker knows (TOML): [sources], names and the URLs they stand for; "
        "[aggregator] and [services], for encrypted uploads.",
    ),
]
DEFAULT_FOLDER = Path("hub-data")


@hub_app.command(
    epilog=examples(
        "understudy hub serve",
        "# behind a proxy that has the certificate",
        "understudy hub serve --address https://hub.example.org --proxy 127.0.0.1",
    )
)
def serve(
    data: DataFolder = DEFAULT_FOLDER,
    database: DatabaseUrl = None,
    keys: KeysFile = None,
    host: Annotated[str, typer.Option(metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", help="Where to listen.")] = 8000,
    address: Annotated[
        str | None,
        typer.Option(metavar="URL", help="How people reach it, if not at host and port."),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="A proxy whose word on callers' addresses counts."),
    ] = None,
    worker: Annotated[
        bool, typer.Option(help="Whether this process computes jobs on stored rows as well.")
    ] = True,
    sources: Sources = None,
) -> None:
    """Run a hub: pages and API."""
    check_packages()
    from understudy.hub.oidc import read_provider
    from understudy.hub.opening import open_hub
    from understudy.hub.web.serving import HubServer, bind_socket, make_first_link
    from understudy.hub.web.state import Site

    talk = Talk(False)
    address = check_address(address or f"http://{host}:{port}")
    if host not in ("127.0.0.1", "::1", "localhost") and not address.startswith("https://"):
        talk.say(
            "Others can reach this hub, and without TLS they can read along; put a proxy with a "
            "certificate before it, and give its https:// URL as --address."
        )
    bind_socket(host, port).close()  # a place that is taken must not leave a new hub behind
    hub = open_hub(data, database=database, keys=keys, create=True)
    site = Site(opened=hub, address=address, provider=read_provider())
    server = HubServer(site, host, port, tuple(proxy or ()))

    def begin() -> None:
        talk.say(f"The hub is open at {address}")
        link = make_first_link(site)
        if link is not None:
            talk.say(
                f"It has no accounts yet. This link makes its first administrator, once: {link}"
            )
        talk.say("Ctrl-C ends it.")

    with run_worker(data, database, keys, worker, sources):
        server.run(begin)
    hub.close()


@contextmanager
def run_worker(
    data: Path, database: str | None, keys: Path | None, wanted: bool, sources: Path | None = None
) -> Iterator[None]:
    """A process beside this one that computes, so that pages stay quick while it does."""
    if not wanted:
        yield
        return
    command = [sys.executable, "-m", "understudy", "hub", "worker", "--data", str(data)]
    if keys is not None:
        command += ["--keys", str(keys)]
    if sources is not None:
        command += ["--sources", str(sources)]
    environment = dict(os.environ)
    if database is not None:
        # Not on the command line, where others on the machine could read its password.
        environment["UNDERSTUDY_HUB_DATABASE"] = database
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()


@hub_app.command(epilog=examples("understudy hub worker --data hub-data"))
def worker(
    data: DataFolder = DEFAULT_FOLDER,
    database: DatabaseUrl = None,
    keys: KeysFile = None,
    sources: Sources = None,
) -> None:
    """Compute jobs on rows that the hub stores or reaches by URL, or on encrypted uploads."""
    with open_existing_hub(data, database, keys) as hub:
        from understudy.hub.worker import Worker, load_worker_settings

        Worker(hub, load_worker_settings(sources)).run(stop_on_signal())


@hub_app.command(epilog=examples("understudy hub agent agent.toml"))
def agent(
    settings: Annotated[
        Path, typer.Argument(metavar="SETTINGS", help="TOML: the hub, the data, the policy.")
    ],
    once: Annotated[
        bool, typer.Option("--once", metavar="", help="Do what waits, then end.")
    ] = False,
) -> None:
    """Compute approved jobs beside the data; only what may be released leaves."""
    check_packages()
    from understudy.hub.agent import Agent
    from understudy.hub.agent_settings import load_settings

    loaded = load_settings(settings)
    if loaded.federating is not None:
        from understudy.hub.agent_federation import FederatedAgent

        FederatedAgent(loaded, notify=Talk(False).say).run(stop_on_signal())
        return
    made = Agent(loaded, notify=Talk(False).say)
    if not once:
        made.run(stop_on_signal())
        return
    made.resume()
    while made.step():
        pass


def stop_on_signal() -> threading.Event:
    """Set when the process is asked to end."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop


@hub_app.command(epilog=examples("understudy hub user add bob@example.org --data hub-data"))
def user(
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="add, link, close, open or list.")
    ],
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The name to sign in with.")
    ] = None,
    data: DataFolder = DEFAULT_FOLDER,
    database: DatabaseUrl = None,
    keys: KeysFile = None,
    display: Annotated[
        str, typer.Option(metavar="TEXT", help="The full name, as others see it.")
    ] = "",
    administrator: Annotated[
        bool, typer.Option("--administrator", metavar="", help="Make it an administrator.")
    ] = False,
    address: Annotated[
        str, typer.Option(metavar="URL", help="How people reach the hub.")
    ] = "http://127.0.0.1:8000",
) -> None:
    """Add an account, make a new one-time link for it, close or open it, or list all."""
    check_packages()
    from understudy.hub import accounts, credentials
    from understudy.hub.opening import open_hub

    actions = ("add", "link", "close", "open", "list")
    if action not in actions:
        raise InputError(f"The action must be one of {', '.join(actions)}, not {action!r}.")
    if name is None and action != "list":
        raise InputError(f"Say whose account: understudy hub user {action} NAME.")
    hub = open_hub(data, database=database, keys=keys)
    if action == "list":
        _list_users(hub)
        return
    assert name is not None
    with hub.db.transaction() as c:
        if action == "add":
            found = accounts.add_user(
                c, actor="operator", name=name, display=display, administrator=administrator
            )
        else:
            found = accounts.find_by_name(c, name)
        if action in ("add", "link"):
            secret = credentials.make_link(c, actor="operator", user=found.id)
            typer.echo(f"{check_address(address)}/link/{secret}")
        else:
            accounts.set_active(c, "operator", found.id, action == "open")
    hub.close()


def _list_users(hub: Hub) -> None:
    from rich.console import Console

    from understudy.hub import accounts

    grid = grid_of("Accounts", "name", "shown as", "role of the site", "state")
    with hub.db.reading() as c:
        page, total = 1, 1
        while (page - 1) * 50 < total:
            found, total = accounts.list_users(c, page)
            for one in found:
                role = "administrator" if one.administrator else "user"
                state = "active" if one.active else "closed"
                grid.add_row(safe(one.name), safe(one.display), role, state)
            page += 1
    Console(highlight=False).print(grid)
    hub.close()


@hub_app.command(
    epilog=examples(
        "understudy hub verify trail.json",
        "# with heads of releases that you kept",
        "understudy hub verify trail.json --release release/use.json",
        "# the operator, with the key",
        "understudy hub verify --data hub-data",
    )
)
def verify(
    export: Annotated[
        Path | None,
        typer.Argument(metavar="[TRAIL]", help="A trail that was downloaded from a hub."),
    ] = None,
    release: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A release's use.json: its head must be in the trail. May be given several times.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FOLDER", help="A hub's folder, instead of a download."),
    ] = None,
    database: DatabaseUrl = None,
    keys: KeysFile = None,
) -> None:
    """Check that no entry of a trail was changed, dropped or moved; exit status 1 if one was."""
    from rich.console import Console

    from understudy.data.files import read_json
    from understudy.hub import trail

    heads = [_read_head(read_json(path, "release"), path) for path in release or ()]
    if (export is None) == (data is None and database is None):
        raise InputError("Give either a downloaded trail or a hub's --data folder.")
    if export is not None:
        verdict = trail.verify(read_json(export, "trail"), heads=heads)
    else:
        from understudy.hub.opening import open_hub

        hub = open_hub(data or DEFAULT_FOLDER, database=database, keys=keys)
        verdict = trail.verify(hub.db, key=hub.keys.trail, heads=heads)
        hub.close()
    console = Console(highlight=False)
    for finding in verdict.findings:
        print_sentence(console, finding)
    if not verdict:
        raise typer.Exit(1)
    checked = "every link of the chain"
    if verdict.signed:
        checked += " and every signature"
    if verdict.heads:
        checked += f", and the heads of {verdict.heads} releases"
    print_sentence(console, f"The trail is whole: {verdict.entries:,} entries, {checked}.")


def _read_head(document: Any, path: Path) -> Any:
    from understudy.hub import trail

    try:
        return trail.read_head_document(document["trail"])
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{path} is not the use.json of a release; it has no head.") from None


@contextmanager
def open_existing_hub(data: Path, database: str | None, keys: Path | None) -> Iterator[Hub]:
    """A hub that there is, where its packages are; closed in the end."""
    check_packages()
    from understudy.hub.opening import open_hub

    hub = open_hub(data, database=database, keys=keys)
    try:
        yield hub
    finally:
        hub.close()


def check_packages() -> None:
    """The hub needs more than the core."""
    for module in ("fastapi", "jinja2", "sqlalchemy", "alembic", "argon2", "multipart", "uvicorn"):
        if find_spec(module) is None:
            raise InputError('The hub needs more packages: pip install "understudy[hub]".')


def check_address(address: str) -> str:
    """An address without its last slash."""
    address = address.rstrip("/")
    if not address.startswith(("http://", "https://")) or " " in address:
        raise InputError(f"The address must begin with https:// or http://, not {address!r}.")
    return address


from understudy.cli import hub_care, hub_deliver, hub_demo, hub_sign  # noqa: E402, F401 - commands
