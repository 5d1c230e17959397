"""Signing in: by a password, with limits on guesses, or by the word of an identity provider.

Guesses are counted by name and origin. After a few wrong passwords from one origin, each further
one is looked at only after a pause that doubles, so that nobody elsewhere keeps the true person
out. Many wrong passwords for one name from many origins together close it to origins from which
that person never signed in; a known one stays open. What remains: who shares an address with the
person, or guesses from many while she is at a new place, can keep her waiting for a quarter of an
hour; a one-time link of an administrator's, or an identity provider, lets her in all the same.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import ipaddress

import sqlalchemy as sa

from understudy.hub import tables
from understudy.hub.accounts import (
    ProvidedIdentity,
    User,
    add_user,
    find_user,
    read_user,
    set_password,
)
from understudy.hub.database import Database, Transaction
from understudy.hub.errors import Refused
from understudy.hub.passwords import Passwords

FREE_FAILURES = 5
"""Wrong passwords for a name from one origin within a day before pauses begin."""

DAY = dt.timedelta(days=1)
WINDOW = dt.timedelta(minutes=15)
"""The longest pause, and the time over which attempts from everywhere are counted."""

MAX_FAILURES_PER_NAME = 100
"""From all origins within the window, before a name is closed to origins that are new to it."""

MAX_ATTEMPTS_PER_ORIGIN = 100
ORIGIN_LASTS = dt.timedelta(days=90)
"""How long it is known that somebody signed in from an origin."""

WRONG = (
    "The name or the password is wrong, or too many wrong ones were tried; then wait a while "
    "before the next."
)


def sign_in(
    db: Database, passwords: Passwords, name: str, password: str, address: str = ""
) -> User | None:
    """The account, if name and password belong together and neither was tried too often.

    The attempt is counted before the password is looked at, so that many at once are counted too.
    Whatever the reason, the answer to a failure is the same and takes as long.
    """
    name = name.strip().lower()[:64]
    with db.transaction() as c:
        origin = hash_origin(c, address)
        allowed = count_attempt(c, name, origin)
        row = c.execute(sa.select(tables.users).where(tables.users.c.name == name)).first()
        stored = None
        if row is not None and row.state == "active":
            stored = row.password_hash
    if not allowed:
        stored = None
    if not passwords.verify(stored, password) or row is None:
        return None
    with db.transaction() as c:
        forget_failures(c, name, origin)
        user = find_user(c, row.id)
    if not user.active:
        return None
    return user


def sign_in_by(c: Transaction, identity: ProvidedIdentity) -> User:
    """The account of somebody whom an identity provider vouches for; a new one the first time."""
    query = sa.select(tables.users).where(tables.users.c.oidc_subject == identity.key)
    row = c.execute(query).first()
    if row is not None:
        user = read_user(row)
        if not user.active:
            raise Refused("This account is closed; ask an administrator of the hub.")
        return user
    return add_user(c, actor="hub", name=identity.name, display=identity.display, identity=identity)


def change_password(
    db: Database, passwords: Passwords, user: User, old: str, new: str, address: str = ""
) -> None:
    """Change one's own password; the old one is asked for, and guesses at it count."""
    if sign_in(db, passwords, user.name, old, address) is None:
        raise Refused("The present password is wrong.")
    hashed = passwords.hash(new)
    with db.transaction() as c:
        set_password(c, user.id, user.id, hashed)


def hash_origin(c: Transaction, address: str) -> str:
    """Where somebody signs in from, in a form that the database alone does not tell."""
    message = f"understudy origin\0{_find_network(address)}".encode()
    return hmac.new(c.trail_key, message, hashlib.sha256).hexdigest()[:32]


def _find_network(address: str) -> str:
    """All addresses of one household in version 6 are one. A socket of version 6 writes those of
    version 4 as ``::ffff:192.0.2.1``, which are no household.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


def count_attempt(c: Transaction, name: str, origin: str) -> bool:
    """Enter an attempt as a failure, unless it comes too soon; whether it may be looked at."""
    attempts = tables.attempts.c
    failed = attempts.succeeded.is_(False)
    old = (failed & (attempts.at < c.now - DAY)) | (attempts.at < c.now - ORIGIN_LASTS)
    c.execute(sa.delete(tables.attempts).where(old | (attempts.at > c.now + WINDOW)))
    pair, of_name, of_origin = _keys(name, origin)
    if c.now < _read_pause(c, pair):
        return False
    known = sa.select(attempts.number).where(attempts.key == pair, attempts.succeeded)
    is_known = c.first(known) is not None
    allowed = is_known or _count(c, of_name) < MAX_FAILURES_PER_NAME
    allowed = allowed and _count(c, of_origin) < MAX_ATTEMPTS_PER_ORIGIN
    keys = [pair, of_origin]
    if not is_known:
        keys.append(of_name)
    for key in keys:
        c.execute(sa.insert(tables.attempts).values(key=key, at=c.now, succeeded=False))
    return allowed


def forget_failures(c: Transaction, name: str, origin: str) -> None:
    """The password was right: this origin is known from now on."""
    pair, *_ = _keys(name, origin)
    c.execute(sa.delete(tables.attempts).where(tables.attempts.c.key == pair))
    c.execute(sa.insert(tables.attempts).values(key=pair, at=c.now, succeeded=True))


def _keys(name: str, origin: str) -> tuple[str, str, str]:
    return f"pair:{origin}:{name}", f"name:{name}", f"origin:{origin}"


def _read_pause(c: Transaction, pair: str) -> dt.datetime:
    """Until when nothing from this origin is looked at."""
    attempts = tables.attempts.c
    failures = sa.select(sa.func.count(), sa.func.max(attempts.at))
    mine = failures.where(attempts.key == pair, attempts.succeeded.is_(False))
    count, last = tuple(c.execute(mine).one())
    if count < FREE_FAILURES:
        return c.now
    pause = min(2.0 ** min(count - FREE_FAILURES, 30), WINDOW.total_seconds())
    return min(last, c.now) + dt.timedelta(seconds=pause)


def _count(c: Transaction, key: str) -> int:
    attempts = tables.attempts.c
    recent = sa.select(sa.func.count()).where(attempts.key == key, attempts.at >= c.now - WINDOW)
    return int(c.value(recent))
