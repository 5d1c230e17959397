"""Runs of the whole protocol of encrypted sums in which one party knows its own noise."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, Literal

import numpy as np

from understudy.auditing.blackbox import Features
from understudy.auditing.collusion import OWNERS
from understudy.data.encoding import Coded
from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.encrypted.curator import EncryptedCurator
from understudy.encrypted.paillier import PrivateKey
from understudy.encrypted.plans import EncryptionPlan, Item
from understudy.encrypted.service import CryptoService, ServicePolicy
from understudy.encrypted.session import EncryptedSession, Store
from understudy.encrypted.uploads import Upload, make_upload
from understudy.federation import MemoryLink
from understudy.federation.identity import Identity
from understudy.privacy.budget import Budget
from understudy.privacy.mechanisms import ExactCounts

ColludingParty = Literal["aggregator", "service"]
COLLUDING_PARTIES: tuple[ColludingParty, ...] = ("aggregator", "service")


class SilentSession(EncryptedSession):
    """An aggregator that adds no noise: as one that knows its own takes it off."""

    def draw_share(self, item: Item, scale: float) -> ExactCounts:
        """None."""
        return np.zeros(item.cells, dtype=np.int64)


class SilentService(CryptoService):
    """A service that adds no noise: as one that knows its own takes it off."""

    def draw_share(self, session: Any, item: Item, scale: float) -> ExactCounts:
        """None."""
        return np.zeros(item.cells, dtype=np.int64)


def run_cells(
    party: ColludingParty, epsilon: float, colluders: int, cells: int, rows: int
) -> Features:
    """A real answer, less all that a party and the first owner know: the last owner's cells, each
    with this many rows and the other party's noise.
    """
    plan, identities, known = _make_plan(epsilon, cells), _make_identities(), 3
    uploads = [
        _upload(epsilon, cells, name, number)
        for name, number in zip(OWNERS, (known, rows), strict=True)
    ]
    certificates = {name: one.certificate for name, one in identities.items()}
    make_service: type[CryptoService] = CryptoService
    make_session: type[EncryptedSession] = SilentSession
    if party == "service":
        make_service, make_session = SilentService, EncryptedSession
    service = make_service(
        "service", plan, _make_key(), certificates, policy=ServicePolicy(colluders=0)
    )
    store = Store(plan, uploads, certificates)
    with make_session(MemoryLink(service), store, epsilon=epsilon, colluders=colluders) as session:
        [found] = EncryptedCurator(session).measure([marginal("a")], Budget(epsilon))
    return (found.counts - known).astype(np.float64).reshape(-1, 1)


@cache
def _make_key() -> PrivateKey:
    return PrivateKey.generate()


@cache
def _make_identities() -> dict[str, Identity]:
    return {name: Identity.new(name) for name in OWNERS}


@lru_cache(maxsize=8)
def _make_plan(epsilon: float, cells: int) -> EncryptionPlan:
    values = list(range(cells))
    return EncryptionPlan(
        schema=Schema.from_dict({"attributes": {"a": {"kind": "categorical", "values": values}}}),
        key=_make_key().public,
        owners=OWNERS,
        epsilon=epsilon,
        max_rows=10 * cells,
        tables=(marginal("a"),),
    )


@lru_cache(maxsize=16)
def _upload(epsilon: float, cells: int, owner: str, rows: int) -> Upload:
    """An owner's rows, encrypted once, as many sessions use them: all noise is drawn later."""
    plan = _make_plan(epsilon, cells)
    codes = np.repeat(np.arange(cells, dtype=np.uint32), rows)
    coded = Coded(plan.schema, {"a": codes}, len(codes), ())
    return make_upload(plan, owner, coded, _make_identities()[owner])
