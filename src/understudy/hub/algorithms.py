"""Algorithms that providers offer: signed packages, in the hub for owners to allow."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import sqlalchemy as sa

from understudy.errors import InputError
from understudy.hub import trail
from understudy.hub.access import read_subject
from understudy.hub.database import Transaction
from understudy.hub.errors import Conflict, NotFound, Refused
from understudy.hub.foreign.packages import check_signature, digest_of, read_package
from understudy.hub.names import new_id
from understudy.hub.pages import ListPage, PageOf, read_page
from understudy.hub.tables import algorithms

MAX_OFFERED = 100
"""Packages of one provider."""


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """A package that is offered; its bytes are read by :func:`read_data`."""

    id: str
    provider: str
    name: str
    version: str
    summary: str
    digest: str
    public_key: str
    signature: str
    state: str
    created_at: dt.datetime


_COLUMNS = tuple(algorithms.c[name] for name in Algorithm.__dataclass_fields__)


def offer(c: Transaction, provider: str, data: bytes, public_key: str, signature: str) -> Algorithm:
    """Offer a package; it is looked into and its signature checked, and nothing in it is run.

    The first key that a provider signs with is theirs from then on: another one is refused, so that
    who gets hold of an account cannot replace what owners have come to trust.
    """
    if not read_subject(c, provider).active:
        raise Refused("Your account is not active yet; its approval is up to an administrator.")
    public_key, signature = public_key.strip().lower(), signature.strip().lower()
    check_signature(data, signature, public_key)
    package = read_package(data)
    theirs = algorithms.c.provider == provider
    keys = {row["public_key"] for row in c.rows(sa.select(algorithms.c.public_key).where(theirs))}
    if keys and public_key not in keys:
        raise Refused("You have signed with another key before; sign with that one.")
    digest = digest_of(data)
    same = (algorithms.c.name == package.name) & (algorithms.c.version == package.version)
    known = c.first(sa.select(*_COLUMNS).where(same))
    if known is not None:
        if (known["provider"], known["digest"]) == (provider, digest):
            return Algorithm(**known)
        raise Conflict(
            f"There is a package {package.name} {package.version} already; give yours another "
            "name or version."
        )
    if len(c.rows(sa.select(algorithms.c.id).where(theirs))) >= MAX_OFFERED:
        raise InputError(f"A provider offers at most {MAX_OFFERED} packages.")
    name = new_id()
    c.execute(
        sa.insert(algorithms).values(
            id=name,
            provider=provider,
            name=package.name,
            version=package.version,
            summary=package.summary,
            digest=digest,
            public_key=public_key,
            signature=signature,
            package=data,
            created_at=c.now,
        )
    )
    details = {"name": package.name, "version": package.version, "digest": digest}
    trail.append(c, provider, "offer algorithm", name, details)
    return read(c, digest)


def withdraw(c: Transaction, provider: str, algorithm: str) -> Algorithm:
    """Offer a package no more; what it has made stays."""
    row = c.first(sa.select(*_COLUMNS).where(algorithms.c.id == algorithm))
    if row is None or row["provider"] != provider:
        raise NotFound("There is no such algorithm.")
    if row["state"] != "withdrawn":
        here = algorithms.c.id == algorithm
        c.execute(sa.update(algorithms).where(here).values(state="withdrawn"))
        trail.append(c, provider, "withdraw algorithm", algorithm, {"digest": row["digest"]})
    return read(c, row["digest"])


def list_offered(c: Transaction, page: PageOf | None = None) -> ListPage[Algorithm]:
    """What is offered, by name and version."""
    query = sa.select(*_COLUMNS).where(algorithms.c.state == "offered")
    query = query.order_by(algorithms.c.name, algorithms.c.version)
    return read_page(c, query, page or PageOf(), lambda row: Algorithm(**row))


def read(c: Transaction, digest: str) -> Algorithm:
    """The package of a digest."""
    row = c.first(sa.select(*_COLUMNS).where(algorithms.c.digest == digest))
    if row is None:
        raise NotFound("There is no such algorithm.")
    return Algorithm(**row)


def read_data(c: Transaction, digest: str) -> bytes:
    """The bytes of a package that is offered; who runs it checks its signature again."""
    offered = (algorithms.c.digest == digest) & (algorithms.c.state == "offered")
    data = c.value(sa.select(algorithms.c.package).where(offered))
    if data is None:
        raise NotFound("There is no such algorithm, or its provider has withdrawn it.")
    return bytes(data)


def list_methods(c: Transaction, digest: str) -> tuple[str, ...]:
    """The methods that a package names in its entry points; a package's own name is another."""
    if digest not in _METHODS:
        _METHODS[digest] = tuple(read_package(read_data(c, digest)).modules)
    return _METHODS[digest]


_METHODS: dict[str, tuple[str, ...]] = {}
"""By digest: a package never changes."""
