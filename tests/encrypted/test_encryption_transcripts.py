"""What is asked of encrypted tables, with whose noise, at which price, and what comes of it (see
tests/transcripts.py). Keys, masks and blinding are drawn anew each time, and leave no trace in it.
"""

from __future__ import annotations

from typing import Any

import pytest
from encrypted_parties import SCHEMA, draw_rows, gather

from transcripts import RecordedNoise, compare, digest, record, show
from understudy import MST, Adaptive, Independent, Marginals
from understudy.encrypted.plans import list_tables
from understudy.encrypted.service import ServicePolicy
from understudy.encrypted.ways import federate_encrypted
from understudy.errors import UnderstudyError
from understudy.privacy.budget import Budget
from understudy.privacy.features import Indicator, Number
from understudy.privacy.sums import Sum

pytestmark = pytest.mark.usefixtures("small_keys")

ROWS = [draw_rows(400, seed) for seed in range(2)]
SUMS = (
    Sum(features=[Indicator("a", (1,)), Number("c")], budget=Budget(1.0)),
    Sum(features=[Number("c", centre=2.0)], budget=Budget(1.0), moments="squares", ball=2.0),
)
PLANS: dict[str, dict[str, Any]] = {
    "pairs": {},
    "replace": {"neighbours": "replace", "scores": True, "tables": list_tables(SCHEMA, 3)},
    "delta": {"delta": 1e-3, "scores": True, "tables": list_tables(SCHEMA, 3), "sums": SUMS},
    "sums": {"sums": SUMS, "tables": list_tables(SCHEMA, 1)},
}
METHODS: dict[str, Any] = {
    "independent": Independent(epsilon=2.0),
    "marginals": Marginals(epsilon=2.0, neighbours="replace"),
    "mst": MST(epsilon=4.0),
    "mst-replace": MST(epsilon=4.0, neighbours="replace"),
    "adaptive": Adaptive.fast(epsilon=4.0, delta=1e-6),
    "adaptive-replace": Adaptive.fast(epsilon=4.0, neighbours="replace"),
    "mst-delta": MST(epsilon=4.0, delta=1e-6),
}


@pytest.mark.parametrize(
    ("plan", "method", "colluders"),
    [
        ("pairs", "independent", 0),
        ("pairs", "independent", 1),
        ("replace", "marginals", 1),
        ("replace", "mst-replace", 0),
        ("replace", "adaptive-replace", 1),
        ("delta", "adaptive", 1),
        ("delta", "mst-delta", 0),
        ("sums", "independent", 1),
        ("sums", "mst", 1),
        ("pairs", "marginals", 0),
    ],
)
def test_what_is_asked_of_encrypted_tables(plan: str, method: str, colluders: int) -> None:
    told: list[str] = []
    with record(1) as noise:
        served = RecordedNoise(2)
        parties = gather(
            ROWS, noise=served, policy=ServicePolicy(colluders=colluders), **PLANS[plan]
        )
        items = [
            f"{item.number} {item.name}: {item.cells} cells, up to {item.largest}, noise up to "
            f"{show(item.max_scale)}, {item.packing.slot_bits} bits, {item.ciphertexts} ciphertexts"
            for item in parties.plan.items
        ]
        try:
            model = federate_encrypted(
                parties.link,
                parties.store,
                METHODS[method],
                colluders=colluders,
                noise=noise,
                notify=told.append,
            )
        except UnderstudyError as error:
            found = [f"refused: {error}"]
        else:
            document = model.to_dict()
            found = [f"{part}: {digest(document[part])}" for part in sorted(document)]
    lines = [*items, *noise.lines, "service:", *served.lines, *told, *found]
    compare(f"encrypted-{plan}-{method}-{colluders}", lines)
