"""``understudy hub collect`` and ``deliver``: encrypted uploads of owners who then go offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli.hub import check_address, check_packages, hub_app
from understudy.cli.options import Quiet
from understudy.cli.root import examples
from understudy.cli.talk import Talk

if TYPE_CHECKING:
    from understudy.hub.client import Client

Address = Annotated[str, typer.Option(metavar="URL", help="Where the hub is.")]
DatasetId = Annotated[str, typer.Option(metavar="ID", help="The data set's id at the hub.")]
LOCAL = "http://127.0.0.1:8000"


@hub_app.command(
    epilog=examples(
        "# your API token is read from UNDERSTUDY_HUB_TOKEN",
        "understudy hub collect --plan plan.json --peers parties.toml --dataset ID \\",
        "    --address https://hub.example.org",
    )
)
def collect(
    plan: Annotated[Path, typer.Option(metavar="FILE", help="The plan, by csp plan.")],
    peers: Annotated[
        Path, typer.Option(metavar="FILE", help="Owners and service with certificates (TOML).")
    ],
    dataset: DatasetId,
    address: Address = LOCAL,
    quiet: Quiet = False,
) -> None:
    """Give a data set of encrypted uploads its plan, once; you manage the data set."""
    check_packages()
    from understudy.encrypted.plans import EncryptionPlan
    from understudy.errors import InputError
    from understudy.federation.identity import Parties

    agreed, parties = EncryptionPlan.load(plan), Parties.load(peers)
    if len(parties.services) != 1:
        raise InputError("The list of parties must name one [[service]], with its address.")
    owners = {party.name: party.certificate.pem for party in parties.owners}
    with open_client(address) as hub:
        hub.set_plan(dataset, agreed.to_dict(), owners, parties.services[0].name)
    talk = Talk(quiet)
    talk.say(f"The hub collects uploads of {', '.join(agreed.owners)} for this plan.")
    talk.say(f"Compare this over the telephone: {agreed.digest.hex()[:32]}")


@hub_app.command(
    epilog=examples(
        "# your API token is read from UNDERSTUDY_HUB_TOKEN",
        "understudy hub deliver upload.json --dataset ID --address https://hub.example.org",
    )
)
def deliver(
    upload: Annotated[
        Path, typer.Argument(metavar="UPLOAD", help="Your encrypted file, by csp encrypt.")
    ],
    dataset: DatasetId,
    address: Address = LOCAL,
    quiet: Quiet = False,
) -> None:
    """Deliver your encrypted tables to a hub; afterwards you may go offline."""
    check_packages()
    from understudy.data.files import existing_file

    path = existing_file(upload, "upload")
    with open_client(address) as hub:
        made = hub.deliver(dataset, path)
    Talk(quiet).say(f"The hub has the upload of {made['owner']}; you may go offline.")


def open_client(address: str) -> Client:
    """The hub, with the token of the environment."""
    from understudy.hub.client import Client

    return Client(check_address(address))
