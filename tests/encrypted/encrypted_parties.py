"""Owners, an aggregator and a service in one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from understudy.data.encoding import Coded
from understudy.data.schema import Schema
from understudy.encrypted import paillier
from understudy.encrypted.paillier import PrivateKey
from understudy.encrypted.plans import EncryptionPlan, list_tables
from understudy.encrypted.service import CryptoService, ServicePolicy
from understudy.encrypted.session import Store
from understudy.encrypted.uploads import Upload, make_upload
from understudy.federation import MemoryLink
from understudy.federation.identity import Identity

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "a": {"kind": "categorical", "values": ["x", "y"]},
            "b": {"kind": "categorical", "values": ["p", "q", "r"]},
            "c": {"kind": "categorical", "values": [1, 2, 3, 4]},
        }
    }
)


@cache
def _make_key(bits: int) -> PrivateKey:
    return PrivateKey.generate(bits)


def private_key() -> PrivateKey:
    """One key for all tests of a file, of the fewest bits that are allowed just now: making one
    takes a while.
    """
    return _make_key(paillier.MIN_BITS)


def draw_rows(number: int, seed: int = 0) -> Coded:
    """Rows in which b depends on a, and c on b."""
    rng = np.random.default_rng(seed)
    a = (rng.random(number) < 0.3).astype(np.uint8)
    b = np.where(rng.random(number) < 0.8, a, rng.integers(0, 3, number)).astype(np.uint8)
    c = np.where(rng.random(number) < 0.8, b, rng.integers(0, 4, number)).astype(np.uint8)
    return Coded(SCHEMA, {"a": a, "b": b, "c": c}, number, ())


@dataclass
class Parties:
    """Everybody who takes part."""

    plan: EncryptionPlan
    identities: dict[str, Identity]
    uploads: list[Upload]
    service: CryptoService

    @property
    def certificates(self) -> dict[str, Any]:
        return {name: one.certificate for name, one in self.identities.items()}

    @property
    def store(self) -> Store:
        return Store(self.plan, self.uploads, self.certificates)

    @property
    def link(self) -> MemoryLink:
        return MemoryLink(self.service)


def gather(parts: Sequence[Coded], schema: Schema = SCHEMA, **more: Any) -> Parties:
    """Owners of these rows, who have uploaded, and a service of its own for them."""
    key = more.pop("key", None) or private_key()
    service = {name: more.pop(name) for name in ("policy", "log", "noise") if name in more}
    names = [f"o{place}" for place in range(len(parts))]
    identities = {name: Identity.new(name) for name in names}
    settings: dict[str, Any] = {
        "epsilon": 100.0,
        "max_rows": 100_000,
        "tables": list_tables(schema, 2),
    }
    plan = EncryptionPlan(schema=schema, key=key.public, owners=tuple(names), **(settings | more))
    uploads = [
        make_upload(plan, name, part, identities[name])
        for name, part in zip(names, parts, strict=True)
    ]
    certificates = {name: one.certificate for name, one in identities.items()}
    policy = service.pop("policy", ServicePolicy(colluders=0))
    served = CryptoService("csp", plan, key, certificates, policy=policy, **service)
    return Parties(plan, identities, uploads, served)
