"""Accounts, tokens and algorithms by the API."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from fastapi import APIRouter

from understudy.errors import InputError
from understudy.hub import accounts, agents, algorithms, credentials
from understudy.hub.accounts import User
from understudy.hub.pages import ListPage, PageOf
from understudy.hub.web.documents import (
    AlgorithmSent,
    Id,
    Listing,
    NameSent,
    PageNumber,
    TokenSent,
    UserChange,
    UserSent,
    write_time,
)
from understudy.hub.web.viewer import Bearer, TheHub

router = APIRouter()


@router.get("/me", tags=["people"])
def read_me(user: Bearer) -> dict[str, Any]:
    """Whose token this is."""
    return write_user(user)


@router.get("/tokens", tags=["people"])
def list_tokens(hub: TheHub, user: Bearer) -> list[dict[str, Any]]:
    """One's own tokens, without their secrets."""
    with hub.db.reading() as c:
        return [
            {
                "id": token.id,
                "label": token.label,
                "created_at": write_time(token.created),
                "expires_at": write_time(token.expires),
            }
            for token in credentials.list_tokens(c, user.id)
        ]


@router.post("/tokens", status_code=201, tags=["people"])
def add_token(hub: TheHub, user: Bearer, sent: TokenSent) -> dict[str, Any]:
    """A new token; its secret is in this answer and nowhere else."""
    with hub.db.transaction() as c:
        token, secret = credentials.add_token(c, user, sent.label, sent.days)
    return {"id": token.id, "secret": secret}


@router.delete("/tokens/{token}", tags=["people"])
def revoke_token(hub: TheHub, user: Bearer, token: Id) -> dict[str, str]:
    """Make a token of one's own useless."""
    with hub.db.transaction() as c:
        credentials.revoke_token(c, user, token)
    return {"state": "revoked"}


@router.get("/users", tags=["people"])
def list_users(hub: TheHub, user: Bearer, page: PageNumber = 1) -> Listing:
    """All accounts; for administrators."""
    accounts.require_administrator(user)
    with hub.db.reading() as c:
        found, total = accounts.list_users(c, page)
    listed = ListPage(items=tuple(found), number=page, size=50, total=total)
    return Listing.of(listed, [write_user(one) for one in found])


@router.post("/users", status_code=201, tags=["people"])
def add_user(hub: TheHub, user: Bearer, sent: UserSent) -> dict[str, Any]:
    """A new account, and the one-time link that sets its password; for administrators."""
    accounts.require_administrator(user)
    with hub.db.transaction() as c:
        made = accounts.add_user(
            c,
            actor=user.id,
            name=sent.name,
            display=sent.display,
            administrator=sent.administrator,
        )
        secret = credentials.make_link(c, actor=user.id, user=made.id)
    return write_user(made) | {"link": f"{hub.address}/link/{secret}"}


@router.patch("/users/{other}", tags=["people"])
def change_user(hub: TheHub, user: Bearer, other: Id, sent: UserChange) -> dict[str, Any]:
    """Close or open an account, give or take the role of administrator, or set its attributes; for
    administrators.
    """
    with hub.db.transaction() as c:
        changed = accounts.change_user(
            c,
            user,
            other,
            active=sent.active,
            administrator=sent.administrator,
            attributes=sent.attributes,
        )
    return write_user(changed)


@router.post("/users/{other}/link", status_code=201, tags=["people"])
def make_link(hub: TheHub, user: Bearer, other: Id) -> dict[str, str]:
    """A new one-time link for an account; for administrators."""
    accounts.require_administrator(user)
    with hub.db.transaction() as c:
        accounts.find_user(c, other)
        secret = credentials.make_link(c, actor=user.id, user=other)
    return {"link": f"{hub.address}/link/{secret}"}


@router.get("/agents", tags=["owners"])
def list_agents(hub: TheHub, user: Bearer) -> list[dict[str, Any]]:
    """One's own agents."""
    with hub.db.reading() as c:
        return [
            {"id": agent.id, "name": agent.name, "seen_at": write_time(agent.seen_at)}
            for agent in agents.list_agents(c, user.id)
        ]


@router.post("/agents", status_code=201, tags=["owners"])
def add_agent(hub: TheHub, user: Bearer, sent: NameSent) -> dict[str, str]:
    """A new agent; its secret is in this answer and nowhere else."""
    with hub.db.transaction() as c:
        agent, secret = agents.create(c, user.id, sent.name)
    return {"id": agent.id, "name": agent.name, "secret": secret}


@router.delete("/agents/{agent}", tags=["owners"])
def revoke_agent(hub: TheHub, user: Bearer, agent: Id) -> dict[str, str]:
    """Shut an agent out."""
    with hub.db.transaction() as c:
        agents.revoke(c, user.id, agent)
    return {"state": "revoked"}


@router.get("/algorithms", tags=["algorithms"])
def list_algorithms(hub: TheHub, user: Bearer, page: PageNumber = 1) -> Listing:
    """What is offered."""
    with hub.db.reading() as c:
        found = algorithms.list_offered(c, PageOf(number=page))
    return Listing.of(found, [write_algorithm(one) for one in found.items])


@router.post("/algorithms", status_code=201, tags=["algorithms"])
def offer_algorithm(hub: TheHub, user: Bearer, sent: AlgorithmSent) -> dict[str, Any]:
    """Offer a signed package."""
    try:
        package = base64.b64decode(sent.package, validate=True)
    except (binascii.Error, ValueError):
        raise InputError("The package must be in base64; encode its bytes.") from None
    with hub.db.transaction() as c:
        made = algorithms.offer(c, user.id, package, sent.public_key, sent.signature)
    return write_algorithm(made)


@router.delete("/algorithms/{algorithm}", tags=["algorithms"])
def withdraw_algorithm(hub: TheHub, user: Bearer, algorithm: Id) -> dict[str, str]:
    """Offer it no more."""
    with hub.db.transaction() as c:
        algorithms.withdraw(c, user.id, algorithm)
    return {"state": "withdrawn"}


def write_user(user: User) -> dict[str, Any]:
    """An account, without its secrets."""
    return {
        "id": user.id,
        "name": user.name,
        "display": user.display,
        "administrator": user.administrator,
        "active": user.active,
        "attributes": dict(user.attributes),
        "created_at": write_time(user.created),
    }


def write_algorithm(algorithm: Any) -> dict[str, Any]:
    """An algorithm, without its package."""
    names = ("id", "name", "version", "summary", "digest", "public_key", "provider")
    return {name: getattr(algorithm, name) for name in names} | {
        "created_at": write_time(algorithm.created_at)
    }
