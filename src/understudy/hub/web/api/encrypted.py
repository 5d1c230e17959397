"""Encrypted uploads by the API: the plan of a data set, and what its owners deliver."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from understudy.hub.accounts import User
from understudy.hub.encrypted import collecting
from understudy.hub.encrypted.collecting import Collection, Delivery
from understudy.hub.web.documents import Id, Name, Sent, write_time
from understudy.hub.web.state import Site
from understudy.hub.web.viewer import Bearer, TheHub

router = APIRouter()


class PlanSent(Sent):
    """What owners agreed on."""

    plan: dict[str, Any] = Field(description="As understudy csp plan writes it.")
    owners: dict[Name, Annotated[str, Field(max_length=20_000)]] = Field(
        description="The owners' certificates (PEM), by name.", max_length=1000
    )
    service: Name = Field(description="The crypto service, as the hub's operator calls it.")


@router.get("/datasets/{dataset}/plan", tags=["encrypted uploads"])
def show_plan(hub: TheHub, user: Bearer, dataset: Id) -> dict[str, Any]:
    """The plan of a data set of encrypted uploads, and who has delivered."""
    with hub.db.reading() as c:
        agreed, delivered = collecting.show_collection(c, user.id, dataset)
    return write_collection(agreed, delivered)


@router.put("/datasets/{dataset}/plan", tags=["encrypted uploads"])
def set_plan(hub: TheHub, user: Bearer, dataset: Id, sent: PlanSent) -> dict[str, Any]:
    """Give a data set of encrypted uploads its plan, once."""
    with hub.db.transaction() as c:
        agreed = collecting.set_plan(c, user.id, dataset, sent.plan, sent.owners, sent.service)
        delivered = collecting.list_deliveries(c, dataset)
    return write_collection(agreed, delivered)


@router.post(
    "/datasets/{dataset}/uploads",
    tags=["encrypted uploads"],
    openapi_extra={
        "requestBody": {
            "content": {"application/json": {"schema": {"type": "object"}}},
            "required": True,
        }
    },
)
async def deliver(request: Request, hub: TheHub, user: Bearer, dataset: Id) -> dict[str, Any]:
    """Deliver an owner's upload; the same one again changes nothing."""
    most = await run_in_threadpool(_find_limit, hub, user, dataset)
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            raise HTTPException(413, f"An upload for this plan has at most {most:,} bytes.")
    made = await run_in_threadpool(collecting.deliver, hub.opened, user.id, dataset, bytes(content))
    return write_delivery(made)


def _find_limit(hub: Site, user: User, dataset: str) -> int:
    with hub.db.reading() as c:
        return collecting.find_for_delivery(c, user.id, dataset).max_bytes


def write_collection(agreed: Collection | None, delivered: list[Delivery]) -> dict[str, Any]:
    """A plan and its deliveries."""
    if agreed is None:
        return {"plan": None, "deliveries": []}
    return {
        "plan": agreed.plan.to_dict(),
        "digest": agreed.plan.digest.hex(),
        "service": agreed.service,
        "owners": {name: one.pem for name, one in agreed.owners.items()},
        "deliveries": [write_delivery(one) for one in delivered],
    }


def write_delivery(one: Delivery) -> dict[str, Any]:
    """A delivery."""
    return {"owner": one.owner, "upload": one.digest, "delivered_at": write_time(one.created_at)}
