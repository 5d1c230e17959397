"""The hub as an aggregator: its certificate, and the crypto services that its operator trusts.

Data sets name a service; what the name means, the operator says. So nobody who registers a data set
can have the hub's worker connect to a place of their choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.errors import InputError
from understudy.federation.client import HttpLink
from understudy.federation.identity import Identity, Party, read_party

AGGREGATOR, SERVICES = "aggregator", "services"
"""The two tables of a worker's settings."""

SERVICE_PATIENCE = 120.0
"""Seconds that a service may take for one answer."""


@dataclass(frozen=True, kw_only=True)
class Aggregator:
    """Who the hub is to crypto services, and which of these it knows."""

    identity: Identity | None = None
    services: Mapping[str, Party] = field(default_factory=dict)

    def open_link(self, service: str) -> HttpLink:
        """The way to a service."""
        if self.identity is None:
            raise InputError("The worker's settings have no [aggregator], the hub's certificate.")
        if service not in self.services:
            raise InputError(f"The worker's settings do not name the crypto service {service!r}.")
        return HttpLink(self.services[service], self.identity, SERVICE_PATIENCE)


def read_aggregator(document: Mapping[str, Any], path: Path) -> Aggregator:
    """Read ``[aggregator]`` and ``[services]`` of a worker's settings.

    Paths are beside the file, or absolute::

        [aggregator]
        certificate = "hub.pem"
        key = "hub.key"

        [services.tables]
        address = "csp.example.org:8450"
        certificate = "service.pem"
    """
    own = document.get(AGGREGATOR)
    identity = None
    if own is not None:
        if not isinstance(own, Mapping) or set(own) != {"certificate", "key"}:
            raise InputError(f"The [aggregator] in {path} has a certificate and a key.")
        identity = Identity.load(
            path.parent / str(own["certificate"]), path.parent / str(own["key"])
        )
    listed = document.get(SERVICES, {})
    if not isinstance(listed, Mapping) or not all(isinstance(one, dict) for one in listed.values()):
        raise InputError(
            f"The [services] in {path} have a table each, with address and certificate."
        )
    services = {
        name: read_party({"name": name, **entry}, "service", path) for name, entry in listed.items()
    }
    return Aggregator(identity=identity, services=services)
