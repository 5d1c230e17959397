"""Runs of the whole protocol of encrypted sums in which one party knows its own noise."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np

from understudy.auditing.blackbox import Features
from understudy.auditing.collusion import OWNERS
from understudy.data.encoding import Coded
from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.encrypted.curator import EncryptedCurator
from understudy.encrypted.paillier import PrivateKey
from understudy.encrypted.plans import Item, Plan
from understudy.encrypted.service import CryptoService, ServicePolicy
from understudy.encrypted.session import EncryptedSession, Store
from understudy.encrypted.uploads import make_upload
from understudy.federation import MemoryLink
from understudy.federation.identity import Identity
from understudy.privacy.budget import Budget
from understudy.privacy.mechanisms import Counts

Party = Literal["aggregator", "service"]
PARTIES: tuple[Party, ...] = ("aggregator", "service")


class SilentSession(EncryptedSession):
    """An aggregator that adds no noise: as one that knows its own takes it off."""

    def draw_share(self, item: Item, scale: float) -> Counts:
        """None."""
        return np.zeros(item.cells, dtype=np.int64)


class SilentService(CryptoService):
    """A service that adds no noise: as one that knows its own takes it off."""

    def draw_share(self, session: Any, item: Item, scale: float) -> Counts:
        """None."""
        return np.zeros(item.cells, dtype=np.int64)


def run_cells(party: Party, epsilon: float, colluders: int, cells: int, rows: int) -> Features:
    """A real answer, less all that a party and the first owner know: the last owner's cells, each
    with this many rows and the other party's noise.
    """
    values = list(range(cells))
    schema = Schema.from_dict({"attributes": {"a": {"kind": "categorical", "values": values}}})
    key = _make_key()
    plan = Plan(
        schema=schema,
        key=key.public,
        owners=OWNERS,
        epsilon=epsilon,
        max_rows=10 * cells,
        tables=(marginal("a"),),
    )
    identities = {name: Identity.new(name) for name in OWNERS}
    known = 3
    uploads = [
        make_upload(plan, name, _repeat_cells(schema, cells, number), identities[name])
        for name, number in zip(OWNERS, (known, rows), strict=True)
    ]
    certificates = {name: one.certificate for name, one in identities.items()}
    make_service: type[CryptoService] = CryptoService
    make_session: type[EncryptedSession] = SilentSession
    if party == "service":
        make_service, make_session = SilentService, EncryptedSession
    service = make_service("service", plan, key, certificates, policy=ServicePolicy(colluders=0))
    store = Store(plan, uploads, certificates)
    with make_session(MemoryLink(service), store, epsilon=epsilon, colluders=colluders) as session:
        [found] = EncryptedCurator(session).measure([marginal("a")], Budget(epsilon))
    return (found.counts - known).astype(np.float64).reshape(-1, 1)


def _repeat_cells(schema: Schema, cells: int, rows: int) -> Coded:
    codes = np.repeat(np.arange(cells, dtype=np.uint32), rows)
    return Coded(schema, {"a": codes}, len(codes), ())


@cache
def _make_key() -> PrivateKey:
    return PrivateKey.generate()
