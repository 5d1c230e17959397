"""Where a database or a cluster is, by its URL; and what a message may repeat of that.

Whoever pastes a URL may paste a password along, where one is expected or where none is. So a URL is
taken apart strictly, what does not fit is refused without being repeated, and messages leave out
the options.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from understudy.errors import InputError

_FORMS = {
    "postgresql": "postgresql://user@host/database?table=NAME",
    "spark": "spark://host:port?table=NAME",
}
_OPTIONS = {
    # Of libpq's options those that say how to connect; none holds a secret, or is an argument of
    # psycopg's own.
    "postgresql": (
        *("sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout", "target_session_attrs"),
        *("service", "passfile"),
    ),
    "spark": (),
}
_URL = re.compile(r"(?:([^/?#@]*)@)?([^/?#@]*)(?:/([^?#@]*))?(?:\?([^#@]*))?")
_SERVER = re.compile(r"(?:\[([^\]]*)\]|([^:\[\]]*))(?::([0-9]+))?")


@dataclass(frozen=True)
class Place:
    """A table of a database or a cluster, by its URL."""

    scheme: str
    """``postgresql`` or ``spark``"""
    server: str
    """The host, with or without its port; or several, with commas between them."""
    user: str
    database: str
    table: str
    options: Mapping[str, str]

    def __str__(self) -> str:
        """The place for messages: without the options."""
        if self.user:
            user = f"{self.user}@"
        else:
            user = ""
        if self.database:
            database = f"/{self.database}"
        else:
            database = ""
        return f"{self.scheme}://{user}{self.server}{database}"

    def parameters(self) -> dict[str, str]:
        """What libpq needs to connect."""
        hosts, ports = zip(
            *(_host_and_port(server) for server in self.server.split(",")), strict=True
        )
        named = {"host": ",".join(hosts), "user": self.user, "dbname": self.database}
        if any(ports):
            named["port"] = ",".join(ports)
        else:
            named["port"] = ""
        return {**self.options, **{name: value for name, value in named.items() if value}}


def _host_and_port(server: str) -> tuple[str, str]:
    found = _SERVER.fullmatch(server)
    assert found is not None
    bracketed, plain, port = found.groups()
    return unquote(bracketed or plain), port or ""


def is_url(name: str) -> bool:
    """Whether a name is that of a database or a cluster, not of a file."""
    return "://" in name


def place_of(url: str) -> Place:
    """Take a URL apart; one that does not name a table, or holds a password or an unknown option,
    is refused.
    """
    scheme, _, rest = url.partition("://")
    scheme = scheme.strip().lower()
    if scheme == "postgres":
        scheme = "postgresql"
    if scheme not in _FORMS:
        if re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme):
            kind = f"A URL that begins with {scheme}://"
        else:
            kind = "Such a URL"
        raise InputError(f"{kind} is no place for rows; give {' or '.join(_FORMS.values())}.")
    found = _URL.fullmatch(rest)
    if found is None or not all(_SERVER.fullmatch(server) for server in found[2].split(",")):
        raise InputError(
            f"The {scheme}:// URL cannot be read; write {_FORMS[scheme]}, with %40 for @ and %23 "
            "for # inside of a "
            f"name, a port that is a number, and no password."
        )
    user, server, database, query = (part or "" for part in found.groups())
    user, database = unquote(user), unquote(database)
    options = dict(parse_qsl(query, keep_blank_values=True))
    if ":" in user or any("password" in name.lower() for name in options):
        raise InputError(
            "A password does not belong into a URL, where others can read it; set PGPASSWORD or "
            "use a password file."
        )
    table = options.pop("table", "")
    place = Place(scheme, server, user, database, table, options)
    if scheme == "spark" and (user or database):
        raise InputError(f"A spark:// URL has neither a user nor a path; write {_FORMS[scheme]}.")
    # Not by name: a piece of a secret may stand there.
    if not options.keys() <= set(_OPTIONS[scheme]):
        known = ", ".join(("table", *_OPTIONS[scheme]))
        raise InputError(f"{place} has an option that is not for a URL; known there are {known}.")
    if not table:
        raise InputError(f"{place} does not say which table; add ?table=NAME to it.")
    return place
