"""Who may use the hub: accounts, what is vouched for about them, and who administers the site."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from understudy.errors import InputError
from understudy.hub import tables, trail
from understudy.hub.database import Transaction
from understudy.hub.errors import NotFound, Refused
from understudy.hub.names import new_id

NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{1,63}")
MAX_DISPLAY = 120
MAX_ATTRIBUTES_PER_USER = 20
MAX_ATTRIBUTE = 100
"""Letters of the name of an attribute, and of its value."""


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
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ProvidedIdentity:
    """Who somebody is, in the words of an identity provider."""

    provider: str
    subject: str
    name: str
    display: str

    @property
    def key(self) -> str:
        """What an account is found by: the name of the provider has no blank."""
        return f"{self.provider} {self.subject}"


def count_users(c: Transaction) -> int:
    """How many accounts there are."""
    return c.execute(sa.select(sa.func.count()).select_from(tables.users)).scalar_one()


def find_user(c: Transaction, user: str) -> User:
    """The account of this id."""
    row = c.execute(sa.select(tables.users).where(tables.users.c.id == user)).first()
    if row is None:
        raise NotFound("There is no such account.")
    return read_user(row)


def find_by_name(c: Transaction, name: str) -> User:
    """The account of this name."""
    query = sa.select(tables.users).where(tables.users.c.name == name.strip().lower())
    row = c.execute(query).first()
    if row is None:
        raise NotFound(f"There is no account named {name!r}.")
    return read_user(row)


def list_users(c: Transaction, page: int = 1, size: int = 50) -> tuple[list[User], int]:
    """One page of the accounts by name, and how many there are."""
    query = sa.select(tables.users).order_by(tables.users.c.name)
    rows = c.execute(query.limit(size).offset((page - 1) * size))
    return [read_user(row) for row in rows], count_users(c)


def add_user(
    c: Transaction,
    *,
    actor: str,
    name: str,
    display: str = "",
    password_hash: str | None = None,
    administrator: bool = False,
    identity: ProvidedIdentity | None = None,
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
    display = check_display(display or name)
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
    attributes: Mapping[str, str] | None = None,
) -> User:
    """Close or open an account, give or take the role of administrator, or say what is vouched for
    about it: roles of data sets may ask for attributes.
    """
    require_administrator(actor)
    if active is not None:
        set_active(c, actor.id, user, active)
    found = find_user(c, user)
    if administrator is not None and administrator != found.administrator:
        if found.administrator and found.active:
            _keep_an_administrator(c)
        change = {"is_admin": administrator}
        c.execute(sa.update(tables.users).where(tables.users.c.id == user).values(change))
        trail.append(c, actor.id, "change account", f"user:{user}", change)
    if attributes is not None and attributes != found.attributes:
        vouched = {"attributes": check_attributes(attributes)}
        c.execute(sa.update(tables.users).where(tables.users.c.id == user).values(vouched))
        trail.append(c, actor.id, "change account", f"user:{user}", vouched)
    return find_user(c, user)


def check_attributes(attributes: Mapping[str, str]) -> dict[str, str]:
    """Refuse attributes that are no short texts."""
    if len(attributes) > MAX_ATTRIBUTES_PER_USER:
        raise InputError(f"An account has at most {MAX_ATTRIBUTES_PER_USER} attributes.")
    for text in (*attributes, *attributes.values()):
        if not 0 < len(text) <= MAX_ATTRIBUTE or not text.isprintable() or text != text.strip():
            raise InputError(
                f"An attribute has a name and a value of 1 to {MAX_ATTRIBUTE} printable characters."
            )
    return dict(attributes)


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


def end_sessions(c: Transaction, user: str) -> None:
    """Sign an account out everywhere."""
    c.execute(sa.delete(tables.sessions).where(tables.sessions.c.user == user))


def check_display(display: str) -> str:
    """A name that others see, with single blanks."""
    display = " ".join(display.split())
    if len(display) > MAX_DISPLAY or not display.isprintable():
        raise InputError(f"A name to show has at most {MAX_DISPLAY} printable characters.")
    return display


def read_user(row: Any) -> User:
    """An account from its row."""
    return User(
        id=row.id,
        name=row.name,
        display=row.display_name or row.name,
        administrator=bool(row.is_admin),
        active=row.state == "active",
        created=row.created_at,
        has_password=row.password_hash is not None,
        attributes=row.attributes or {},
    )
