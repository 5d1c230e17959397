"""Secrets by which accounts are known: one-time links, sessions, API tokens.

They are handed out once and stored as hashes.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from understudy.errors import InputError
from understudy.hub import tables, trail
from understudy.hub.accounts import (
    User,
    add_user,
    check_display,
    count_users,
    find_user,
    read_user,
    set_password,
)
from understudy.hub.database import Transaction
from understudy.hub.errors import NotFound
from understudy.hub.names import new_id

SESSION_LASTS = dt.timedelta(hours=12)
SESSION_IDLE = dt.timedelta(hours=2)
SESSION_SEEN_EVERY = dt.timedelta(minutes=5)
"""How exactly it is known when a session was last used; most pages cost no write."""

LINK_LASTS = dt.timedelta(days=7)
DEAD_LINK = "This link was used or is too old; ask an administrator of the hub for a new one."
MAX_TOKENS_PER_USER = 20
TOKEN_PREFIX = "ush_"


@dataclass(frozen=True, kw_only=True)
class Token:
    """An API token, without its secret."""

    id: str
    label: str
    created: dt.datetime
    used: dt.datetime | None
    expires: dt.datetime | None


def hash_secret(secret: str) -> str:
    """What is stored of a random secret: it has 256 bits, so that a plain hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


# --------------------------------------------------------------------------- one-time links


def make_link(c: Transaction, *, actor: str, user: str | None) -> str:
    """The secret of a one-time link: it sets the password of an account, or, on a hub without
    accounts, makes the first one.
    """
    secret = secrets.token_urlsafe(32)
    purpose = "invitation"
    if user is None:
        purpose = "first_run"
    values = {
        "hash": hash_secret(secret),
        "purpose": purpose,
        "user": user,
        "expires_at": c.now + LINK_LASTS,
    }
    c.execute(sa.insert(tables.links).values(values))
    about = "hub"
    if user is not None:
        about = f"user:{user}"
    trail.append(c, actor, "invite", about, {})
    return secret


def find_link(c: Transaction, secret: str) -> User | None:
    """Whom a link is for; ``None`` where it makes the first account."""
    row = _valid_link(c, secret)
    if row.user is None:
        return None
    return find_user(c, row.user)


def use_link(c: Transaction, secret: str, name: str, display: str, password_hash: str) -> User:
    """Use a link up: set the password of its account, or make the first account."""
    row = _valid_link(c, secret)
    used = sa.update(tables.links).where(
        tables.links.c.hash == row.hash, tables.links.c.used_at.is_(None)
    )
    if c.execute(used.values(used_at=c.now)).rowcount != 1:
        raise NotFound(DEAD_LINK)
    if row.user is not None:
        set_password(c, row.user, row.user, password_hash)
        return find_user(c, row.user)
    if count_users(c):
        raise NotFound(DEAD_LINK)
    return add_user(
        c,
        actor="hub",
        name=name,
        display=display,
        password_hash=password_hash,
        administrator=True,
    )


def _valid_link(c: Transaction, secret: str) -> Any:
    query = sa.select(tables.links).where(tables.links.c.hash == hash_secret(secret))
    row = c.execute(query).first()
    if row is None or row.used_at is not None or row.expires_at <= c.now:
        raise NotFound(DEAD_LINK)
    return row


# --------------------------------------------------------------------------- sessions


def start_session(c: Transaction, user: str) -> str:
    """The secret of a new session, for the cookie."""
    secret = secrets.token_urlsafe(32)
    values = {
        "hash": hash_secret(secret),
        "user": user,
        "created_at": c.now,
        "seen_at": c.now,
        "expires_at": c.now + SESSION_LASTS,
    }
    c.execute(sa.insert(tables.sessions).values(values))
    c.execute(sa.delete(tables.sessions).where(tables.sessions.c.expires_at < c.now))
    trail.append(c, user, "sign in", f"user:{user}", {})
    return secret


_SESSION = (  # each page asks it: made once
    sa.select(tables.users, tables.sessions.c.seen_at, tables.sessions.c.expires_at)
    .join(tables.sessions, tables.sessions.c.user == tables.users.c.id)
    .where(tables.sessions.c.hash == sa.bindparam("hash"))
)


def find_session(c: Transaction, secret: str) -> tuple[User, bool] | None:
    """Whose session it is, and whether its use is to be noted; nobody's where it is over."""
    row = c.execute(_SESSION, {"hash": hash_secret(secret)}).first()
    moment = c.now
    if row is None or row.state != "active":
        return None
    if row.expires_at <= moment or row.seen_at + SESSION_IDLE <= moment:
        return None
    return read_user(row), row.seen_at + SESSION_SEEN_EVERY <= moment


def note_session(c: Transaction, secret: str) -> None:
    """Enter that a session is in use."""
    found = tables.sessions.c.hash == hash_secret(secret)
    c.execute(sa.update(tables.sessions).where(found).values(seen_at=c.now))


def end_session(c: Transaction, secret: str) -> None:
    """Sign out."""
    c.execute(sa.delete(tables.sessions).where(tables.sessions.c.hash == hash_secret(secret)))


# --------------------------------------------------------------------------- API tokens


def add_token(c: Transaction, user: User, label: str, days: int | None = 90) -> tuple[Token, str]:
    """A new API token, and its secret, which is shown once."""
    label = check_display(label or "token")
    if days is not None and not 1 <= days <= 3660:
        raise InputError("A token lasts 1 to 3,660 days.")
    if len(list_tokens(c, user.id)) >= MAX_TOKENS_PER_USER:
        raise InputError(f"There are {MAX_TOKENS_PER_USER} tokens already; revoke one first.")
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    expires = None
    if days is not None:
        expires = c.now + dt.timedelta(days=days)
    values: dict[str, Any] = {
        "id": new_id(),
        "user": user.id,
        "name": label,
        "hash": hash_secret(secret),
        "created_at": c.now,
        "expires_at": expires,
    }
    c.execute(sa.insert(tables.tokens).values(values))
    trail.append(c, user.id, "add token", f"user:{user.id}", {"token": values["id"]})
    token = Token(id=values["id"], label=label, created=c.now, used=None, expires=expires)
    return token, secret


def list_tokens(c: Transaction, user: str) -> list[Token]:
    """The tokens of an account that are not revoked."""
    tokens = tables.tokens.c
    query = sa.select(tables.tokens).where(tokens.user == user, tokens.revoked_at.is_(None))
    return [
        Token(
            id=row.id,
            label=row.name,
            created=row.created_at,
            used=row.used_at,
            expires=row.expires_at,
        )
        for row in c.execute(query.order_by(tokens.created_at))
    ]


def revoke_token(c: Transaction, user: User, token: str) -> None:
    """Make a token of one's own useless, at once."""
    tokens = tables.tokens.c
    mine = sa.and_(tokens.id == token, tokens.user == user.id, tokens.revoked_at.is_(None))
    if c.execute(sa.update(tables.tokens).where(mine).values(revoked_at=c.now)).rowcount != 1:
        raise NotFound("There is no such token.")
    trail.append(c, user.id, "revoke token", f"user:{user.id}", {"token": token})


def find_token(c: Transaction, secret: str) -> User | None:
    """Whose token it is; nobody's where it is revoked, too old or made up."""
    if not secret.startswith(TOKEN_PREFIX) or len(secret) > 200:
        return None
    query = (
        sa.select(tables.users, tables.tokens.c.expires_at)
        .join(tables.tokens, tables.tokens.c.user == tables.users.c.id)
        .where(tables.tokens.c.hash == hash_secret(secret), tables.tokens.c.revoked_at.is_(None))
    )
    row = c.execute(query).first()
    if row is None or row.state != "active":
        return None
    if row.expires_at is not None and row.expires_at <= c.now:
        return None
    return read_user(row)
