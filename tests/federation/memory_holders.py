"""Holders in one process, with identities of their own, and links that misbehave."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from understudy.data.encoding import Coded
from understudy.data.schema import Schema
from understudy.federation import Holder, HolderGone, HolderPolicy, MemoryLink
from understudy.federation.identity import Identity
from understudy.federation.messages import Message

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "studies"))

from splits import split

__all__ = ["SCHEMA", "FailingLink", "five", "holders_of", "rows", "split"]

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "a": {"kind": "categorical", "values": ["x", "y"]},
            "b": {"kind": "categorical", "values": ["p", "q", "r"]},
            "c": {"kind": "categorical", "values": [1, 2, 3, 4]},
        }
    }
)


def rows(number: int, seed: int = 0) -> Coded:
    """Rows in which b depends on a, and c on b."""
    rng = np.random.default_rng(seed)
    a = (rng.random(number) < 0.3).astype(np.uint8)
    b = np.where(rng.random(number) < 0.8, a, rng.integers(0, 3, number)).astype(np.uint8)
    c = np.where(rng.random(number) < 0.8, b, rng.integers(0, 4, number)).astype(np.uint8)
    return Coded(SCHEMA, {"a": a, "b": b, "c": c}, number, ())


def holders_of(parts: Sequence[Coded], **more: Any) -> list[Holder]:
    """A holder for each part of the rows, all of whom have pinned each other, and fear nobody
    unless told to.
    """
    identities = [Identity.new(f"h{place}") for place in range(len(parts))]
    peers = {identity.name: identity.certificate for identity in identities}
    files = more.pop("ledger_files", [more.pop("ledger_file", None)] * len(parts))
    others = {name: more.pop(name) for name in ("log", "noise") if name in more}
    policy = HolderPolicy(**({"allowance": 1e6, "delta": 0.5, "colluders": 0} | more))
    return [
        Holder(
            identity.name,
            part,
            replace(policy, ledger_file=file),
            identity=identity,
            peers=peers,
            **others,
        )
        for identity, part, file in zip(identities, parts, files, strict=True)
    ]


def five(number: int = 2000, **more: Any) -> list[Holder]:
    """Five holders."""
    return holders_of([rows(number, seed) for seed in range(5)], **more)


class FailingLink(MemoryLink):
    """A link that fails at a message of some kind: no answer, garbage, or whatever ``instead``
    makes of it.
    """

    def __init__(
        self,
        holder: Holder,
        kind: str,
        instead: Callable[[bytes], bytes] | None = None,
        what: str | None = None,
        heard_first: bool = False,
    ) -> None:
        super().__init__(holder)
        self.kind, self.instead, self.what, self.heard_first = kind, instead, what, heard_first
        self.dead = False

    def ask(self, message: bytes) -> bytes:
        """Carry the message unless it is the one."""
        asked = Message.from_bytes(message)
        wanted = asked.kind == self.kind and self.what in (None, asked.content.get("what"))
        if self.dead or wanted:
            if self.instead is not None:
                return self.instead(message)
            if self.heard_first:
                super().ask(message)
            self.dead = True
            raise HolderGone(f"The holder {self.name} does not answer.")
        return super().ask(message)
