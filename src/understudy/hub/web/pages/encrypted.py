"""The page of encrypted uploads: what owners agreed on, and who has delivered."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from understudy.errors import InputError
from understudy.hub import datasets
from understudy.hub.access import read_object, read_subject
from understudy.hub.accounts import User
from understudy.hub.encrypted import collecting
from understudy.hub.encrypted.collecting import Collection, Delivery
from understudy.hub.errors import NotFound
from understudy.hub.names import ENCRYPTED, MANAGE
from understudy.hub.policy import Operation, judge
from understudy.hub.web.documents import Id
from understudy.hub.web.forms import SentForm
from understudy.hub.web.problems import status_on_page
from understudy.hub.web.rendering import go_to, render
from understudy.hub.web.state import Site
from understudy.hub.web.viewer import TheHub, Viewer

router = APIRouter()


@router.get("/datasets/{dataset}/uploads")
def show_uploads(request: Request, hub: TheHub, viewer: Viewer, dataset: Id) -> Response:
    """The plan, its owners, and which of them have delivered."""
    return _page(request, hub, viewer, dataset)


@router.post("/datasets/{dataset}/uploads")
def deliver(request: Request, hub: TheHub, viewer: Viewer, dataset: Id, form: SentForm) -> Response:
    """Deliver a file that an owner has made; larger ones go by the command."""
    try:
        content = form.files.get("upload", b"")
        if not content:
            raise InputError("The upload is missing; choose the file that csp encrypt wrote.")
        collecting.deliver(hub.opened, viewer.id, dataset, content)
    except InputError as error:
        return _page(request, hub, viewer, dataset, status_on_page(error), problem=str(error))
    return go_to(f"/datasets/{dataset}/uploads", said="delivered")


@router.post("/datasets/{dataset}/plan")
def set_plan(
    request: Request, hub: TheHub, viewer: Viewer, dataset: Id, form: SentForm
) -> Response:
    """Give the data set its plan."""
    try:
        document = form.json_file("plan", "The plan")
        service = form.text("service", "The crypto service", most=64)
        certificates = split_certificates(
            form.text("certificates", "The certificates", most=1_000_000)
        )
        with hub.db.transaction() as c:
            collecting.set_plan(c, viewer.id, dataset, document, certificates, service)
    except InputError as error:
        values = {"problem": str(error), "typed": form.list_typed()}
        return _page(request, hub, viewer, dataset, status_on_page(error), **values)
    return go_to(f"/datasets/{dataset}/uploads", said="changed")


def split_certificates(text: str) -> dict[str, str]:
    """Certificates that were pasted one after the other, by the names that they hold."""
    from understudy.federation.identity import Certificate

    end = "-----END CERTIFICATE-----"
    pieces = [piece + end for piece in text.split(end) if piece.strip()]
    found = [
        Certificate.from_pem(piece, f"Number {place} of the texts")
        for place, piece in enumerate(pieces, 1)
    ]
    return {one.name: one.pem for one in found}


def _page(
    request: Request, hub: Site, viewer: User, dataset: str, status: int = 200, **values: Any
) -> Response:
    with hub.db.reading() as c:
        found = datasets.show(c, viewer.id, dataset)
        agreed, delivered = collecting.show_collection(c, viewer.id, dataset)
        subject, thing = read_subject(c, viewer.id), read_object(c, dataset)
    if found.mode != ENCRYPTED:
        raise NotFound("There are no encrypted uploads of this data set.")
    values.setdefault("typed", {})
    return render(
        request,
        "uploads.html",
        status,
        title=f"Encrypted uploads of {found.name}",
        dataset=found,
        agreed=agreed,
        owners=list_owners(agreed, delivered),
        manages=bool(judge(subject, Operation(name=MANAGE), thing)),
        address=hub.address,
        **values,
    )


def list_owners(agreed: Collection | None, delivered: list[Delivery]) -> list[dict[str, Any]]:
    """Each owner, with what it has delivered."""
    if agreed is None:
        return []
    here = {one.owner: one for one in delivered}
    return [
        {"name": name, "fingerprint": one.fingerprint, "delivery": here.get(name)}
        for name, one in sorted(agreed.owners.items())
    ]
