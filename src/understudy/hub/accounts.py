"""Who may use the hub: accounts, one-time links, sessions and API tokens.

Secrets are handed out once and stored as hashes. Functions take a connection inside a transaction,
but the slow ones (passwords) take the database, so that no lock is held while a hash is computed.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from understudy.errors import InputError
from understudy.hub import tables, trail
from understudy.hub.database import Database, Transaction
from understudy.hub.errors import NotFound, Refused
from understudy.hub.names import new_id
from understudy.hub.passwords import Passwords

SESSION_LASTS = dt.timedelta(hours=12)
SESSION_IDLE = dt.timedelta(hours=2)
SEEN_EVERY = dt.timedelta(minutes=5)
"""How exactly it is known when a session was last used; most pages cost no write."""

LINK_LASTS = dt.timedelta(days=7)
WINDOW = dt.timedelta(minutes=15)
"""The time over which attempts to sign in are counted, and for which an account is locked."""

MAX_FAILURES = 10
"""Wrong passwords for one name within the window before it is locked."""

MAX_ATTEMPTS_PER_ADDRESS = 100
NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{1,63}")
MAX_DISPLAY = 120
MAX_TOKENS = 20
TOKEN_PREFIX = "ush_"
WRONG = (
    "The name or the password is wrong, or the account is locked for a while after many attempts."
)


@dataclass(frozen=True, kw_only=True)
class User:
    """An account, without its secrets."""

    id: str
    name: str
    display: str
    administrator: bool
    active: bool
    created: dt.datetime
    has_password: bool


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who somebody is, in the words of an identity provider."""

    provider: str
    subject: str
    name: str
    display: str

    @property
    def key(self) -> str:
        """What an account is found by: the name of the provider has no blank."""
        return f"{self.provider} {self.subject}"


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


# --------------------------------------------------------------------------- accounts


def count_users(c: Transaction) -> int:
    """How many accounts there are."""
    return c.execute(sa.select(sa.func.count()).select_from(tables.users)).scalar_one()


def find_user(c: Transaction, user: str) -> User:
    """The account of this id."""
    row = c.execute(sa.select(tables.users).where(tables.users.c.id == user)).first()
    if row is None:
        raise NotFound("There is no such account.")
    return _user(row)


def find_by_name(c: Transaction, name: str) -> User:
    """The account of this name."""
    query = sa.select(tables.users).where(tables.users.c.name == name.strip().lower())
    row = c.execute(query).first()
    if row is None:
        raise NotFound(f"There is no account named {name!r}.")
    return _user(row)


def list_users(c: Transaction, page: int = 1, size: int = 50) -> tuple[list[User], int]:
    """One page of the accounts by name, and how many there are."""
    query = sa.select(tables.users).order_by(tables.users.c.name)
    rows = c.execute(query.limit(size).offset((page - 1) * size))
    return [_user(row) for row in rows], count_users(c)


def add_user(
    c: Transaction,
    *,
    actor: str,
    name: str,
    display: str = "",
    password_hash: str | None = None,
    administrator: bool = False,
    identity: Identity | None = None,
) -> User:
    """A new account; who adds it has been checked.

    Parameters
    ----------
    actor
        The id of the account that adds it, or ``"hub"``.
    name
        What is typed to sign in.
    display
        How others see it; the name where empty.
    """
    name = name.strip().lower()
    if not NAME.fullmatch(name):
        raise InputError(
            "A name to sign in has 2 to 64 letters, digits, or any of . _ @ + -, such as an e-mail "
            "address; choose another."
        )
    display = _check_display(display or name)
    taken = sa.select(tables.users.c.id).where(tables.users.c.name == name)
    if c.execute(taken).first() is not None:
        raise InputError(f"The name {name} is taken; choose another.")
    values: dict[str, Any] = {
        "id": new_id(),
        "name": name,
        "display_name": display,
        "password_hash": password_hash,
        "is_admin": administrator,
        "state": "active",
        "created_at": c.now,
    }
    if identity is not None:
        values["oidc_subject"] = identity.key
    c.execute(sa.insert(tables.users).values(values))
    trail.append(
        c,
        actor,
        "add account",
        f"user:{values['id']}",
        {"name": name, "administrator": administrator},
    )
    return find_user(c, values["id"])


def change_user(
    c: Transaction,
    actor: User,
    user: str,
    *,
    active: bool | None = None,
    administrator: bool | None = None,
) -> User:
    """Close or open an account, give or take the role of administrator."""
    require_administrator(actor)
    if active is not None:
        set_active(c, actor.id, user, active)
    found = find_user(c, user)
    if administrator is not None and administrator != found.administrator:
        if found.administrator:
            _keep_an_administrator(c)
        change = {"is_admin": administrator}
        c.execute(sa.update(tables.users).where(tables.users.c.id == user).values(change))
        trail.append(c, actor.id, "change account", f"user:{user}", change)
    return find_user(c, user)


def set_active(c: Transaction, actor: str, user: str, active: bool) -> None:
    """Close or open an account; who does it has been checked."""
    found = find_user(c, user)
    if found.active == active:
        return
    if found.administrator and not active:
        _keep_an_administrator(c)
    state = "active" if active else "disabled"
    c.execute(sa.update(tables.users).where(tables.users.c.id == user).values(state=state))
    if not active:
        end_sessions(c, user)
    trail.append(c, actor, "change account", f"user:{user}", {"state": state})


def _keep_an_administrator(c: Transaction) -> None:
    users = tables.users.c
    query = sa.select(sa.func.count()).where(users.is_admin.is_(True), users.state == "active")
    if c.execute(query).scalar_one() <= 1:
        raise InputError("This is the last administrator; make another one first.")


def require_administrator(user: User) -> None:
    """Refuse whoever is not one."""
    if not user.administrator or not user.active:
        raise Refused("Only an administrator of this hub may do this.")


def set_password(c: Transaction, actor: str, user: str, password_hash: str) -> None:
    """Store a new password; all sessions of the account end, its tokens stay."""
    changes = {"password_hash": password_hash}
    c.execute(sa.update(tables.users).where(tables.users.c.id == user).values(changes))
    end_sessions(c, user)
    trail.append(c, actor, "change password", f"user:{user}", {})


def change_password(
    db: Database, passwords: Passwords, user: User, old: str, new: str, address: str = ""
) -> None:
    """Change one's own password; the old one is asked for, and guesses at it count."""
    if sign_in(db, passwords, user.name, old, address) is None:
        raise Refused("The present password is wrong.")
    hashed = passwords.hash(new)
    with db.transaction() as c:
        set_password(c, user.id, user.id, hashed)


def _check_display(display: str) -> str:
    display = " ".join(display.split())
    if len(display) > MAX_DISPLAY or not display.isprintable():
        raise InputError(f"A name to show has at most {MAX_DISPLAY} printable characters.")
    return display


def _user(row: Any) -> User:
    return User(
        id=row.id,
        name=row.name,
        display=row.display_name or row.name,
        administrator=bool(row.is_admin),
        active=row.state == "active",
        created=row.created_at,
        has_password=row.password_hash is not None,
    )


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


DEAD_LINK = "This link was used or is too old; ask an administrator of the hub for a new one."


def _valid_link(c: Transaction, secret: str) -> Any:
    query = sa.select(tables.links).where(tables.links.c.hash == hash_secret(secret))
    row = c.execute(query).first()
    if row is None or row.used_at is not None or row.expires_at <= c.now:
        raise NotFound(DEAD_LINK)
    return row


# --------------------------------------------------------------------------- signing in


def sign_in(
    db: Database, passwords: Passwords, name: str, password: str, address: str = ""
) -> User | None:
    """The account, if name and password belong together and neither was tried too often.

    The attempt is counted before the password is looked at, so that many at once are counted too.
    Whatever the reason, the answer to a failure is the same and takes as long.
    """
    name = name.strip().lower()[:64]
    with db.transaction() as c:
        allowed = _count_attempt(c, name, address)
        row = c.execute(sa.select(tables.users).where(tables.users.c.name == name)).first()
        stored = None
        if row is not None and row.state == "active":
            stored = row.password_hash
    if not allowed:
        stored = None
    if not passwords.verify(stored, password) or row is None:
        return None
    with db.transaction() as c:
        c.execute(sa.delete(tables.attempts).where(tables.attempts.c.key == f"name:{name}"))
        user = find_user(c, row.id)
    if not user.active:
        return None
    return user


def sign_in_by(c: Transaction, identity: Identity) -> User:
    """The account of somebody whom an identity provider vouches for; a new one the first time."""
    query = sa.select(tables.users).where(tables.users.c.oidc_subject == identity.key)
    row = c.execute(query).first()
    if row is not None:
        user = _user(row)
        if not user.active:
            raise Refused("This account is closed; ask an administrator of the hub.")
        return user
    return add_user(c, actor="hub", name=identity.name, display=identity.display, identity=identity)


def _count_attempt(c: Transaction, name: str, address: str) -> bool:
    """Enter an attempt; whether there were few enough before it."""
    attempts = tables.attempts
    since = c.now - WINDOW
    c.execute(sa.delete(attempts).where(attempts.c.at < since))
    allowed = True
    limits = [(f"name:{name}", MAX_FAILURES)]
    if address:
        limits.append((f"address:{address}", MAX_ATTEMPTS_PER_ADDRESS))
    for key, most in limits:
        counted = sa.select(sa.func.count()).where(attempts.c.key == key, attempts.c.at >= since)
        allowed = allowed and c.execute(counted).scalar_one() < most
        c.execute(sa.insert(attempts).values(key=key, at=c.now))
    return allowed


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


def find_session(c: Transaction, secret: str) -> tuple[User, bool] | None:
    """Whose session it is, and whether its use is to be noted; nobody's where it is over."""
    query = (
        sa.select(tables.users, tables.sessions.c.seen_at, tables.sessions.c.expires_at)
        .join(tables.sessions, tables.sessions.c.user == tables.users.c.id)
        .where(tables.sessions.c.hash == hash_secret(secret))
    )
    row = c.execute(query).first()
    moment = c.now
    if row is None or row.state != "active":
        return None
    if row.expires_at <= moment or row.seen_at + SESSION_IDLE <= moment:
        return None
    return _user(row), row.seen_at + SEEN_EVERY <= moment


def note_session(c: Transaction, secret: str) -> None:
    """Enter that a session is in use."""
    found = tables.sessions.c.hash == hash_secret(secret)
    c.execute(sa.update(tables.sessions).where(found).values(seen_at=c.now))


def end_session(c: Transaction, secret: str) -> None:
    """Sign out."""
    c.execute(sa.delete(tables.sessions).where(tables.sessions.c.hash == hash_secret(secret)))


def end_sessions(c: Transaction, user: str) -> None:
    """Sign an account out everywhere."""
    c.execute(sa.delete(tables.sessions).where(tables.sessions.c.user == user))


# --------------------------------------------------------------------------- API tokens


def add_token(c: Transaction, user: User, label: str, days: int | None = 90) -> tuple[Token, str]:
    """A new API token, and its secret, which is shown once."""
    label = _check_display(label or "token")
    if days is not None and not 1 <= days <= 3660:
        raise InputError("A token lasts 1 to 3,660 days.")
    if len(list_tokens(c, user.id)) >= MAX_TOKENS:
        raise InputError(f"There are {MAX_TOKENS} tokens already; revoke one first.")
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
    return _user(row)
