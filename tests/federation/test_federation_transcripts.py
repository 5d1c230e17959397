"""What holders are asked, with which noise, at which price, and what comes of it (see
tests/transcripts.py).
"""

from __future__ import annotations

from typing import Any

import pytest
from federated_runs import IDENTITIES, PEERS
from memory_holders import SCHEMA, rows, split

from transcripts import RecordedNoise, compare, digest, record
from understudy import MST, Adaptive, Independent, PrivBayes
from understudy.federation import Holder, HolderPolicy, federate

METHODS: dict[str, Any] = {
    "independent": Independent(epsilon=2.0),
    "privbayes": PrivBayes(epsilon=4.0, degree=1),
    "privbayes-delta": PrivBayes(epsilon=4.0, degree=1, delta=1e-6, neighbours="replace"),
    "adaptive": Adaptive.fast(epsilon=4.0, delta=1e-6, max_cells=20_000),
    "mst": MST(epsilon=4.0),
}
TERMS: dict[str, dict[str, Any]] = {
    "secure": {"way": "secure"},
    "dropouts": {"way": "secure", "dropouts": 1, "colluders": 0},
    "statistics": {"way": "statistics"},
    "voting": {"way": "voting"},
    "models": {"way": "models"},
}


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        (name, terms)
        for name in METHODS
        for terms in TERMS
        if terms != "statistics" or name.startswith("privbayes")
    ],
)
def test_what_holders_are_asked(name: str, terms: str) -> None:
    noises: list[RecordedNoise] = []
    method, parts = METHODS[name], split(rows(600, 7), "equal", 3)
    with record() as noise:
        holders = []
        for place, (identity, part) in enumerate(zip(IDENTITIES, parts, strict=True)):
            policy = HolderPolicy(
                allowance=100.0, delta=0.5, colluders=0, neighbours=method.neighbours
            )
            own = RecordedNoise(place)
            holders.append(
                Holder(identity.name, part, policy, identity=identity, peers=PEERS, noise=own)
            )
            noises.append(own)
        model = federate(holders, SCHEMA, method, noise=noise, **TERMS[terms])
    found = model.to_dict()
    noise.lines.sort()  # holders work at the same time, and their debits are among these
    lines = [line for one in (noise, *noises) for line in one.lines]
    lines += [f"{part}: {digest(found[part])}" for part in sorted(found)]
    compare(f"federated-{name}-{terms}", lines)
