"""Whole releases: what is asked, with which noise, at which price, what the owner is told, and what
comes of it (see tests/transcripts.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from transcripts import compare, digest, record, show
from understudy import MST, Adaptive, Independent, Schema, Table
from understudy.data.forms import Form
from understudy.data.tables import Column
from understudy.errors import UnderstudyError
from understudy.synthesizers.random import Random

WORDS = {"kind": "categorical", "values": None}
AGE = {"kind": "integer", "min": 0, "max": 120}
KNOWN: dict[str, Any] = {
    "age": AGE,
    "sex": {"kind": "categorical", "values": ["f", "m"]},
    "ward": {"kind": "categorical", "values": ["x", "y", "z"]},
    "score": {"kind": "integer", "min": 0, "max": 999},
    "rating": {"kind": "integer", "min": 1, "max": 9},
    "warmth": {"kind": "real", "min": 30, "max": 45, "decimals": 1},
    "seen": {"kind": "date", "min": "2019-01-01", "max": "2021-12-31"},
    "smoker": {"kind": "boolean", "missing": True},
    "patient_id": {"kind": "identifier"},
}
DAYS = [f"2020-{month:02}-{day:02}" for month in range(1, 13) for day in (1, 8, 15, 22, 28)]
OPEN = {"kind": None}
FORM = Form(KNOWN | {"ward": OPEN, "score": OPEN, "rating": OPEN})


def table(rows: int) -> Table:
    """Some columns, and whose rows they are: three of each person, which are alike."""
    rng = np.random.default_rng(8)
    persons = -(-rows // 3)

    def column(kind: Any, values: Any, *words: str) -> Column:
        return Column(kind, np.repeat(values, 3)[:rows], *((words,) if words else ()))

    return Table(
        {
            "age": column("integer", rng.integers(18, 90, persons)),
            "sex": column("text", rng.integers(0, 2, persons), "f", "m"),
            "ward": column("text", rng.choice(3, persons, p=[0.7, 0.2, 0.1]), "x", "y", "z"),
            "score": column("integer", rng.integers(0, 40, persons) * 5),
            "rating": column("integer", rng.choice([1, 2, 3, 9], persons)),
            "warmth": column("real", rng.integers(360, 401, persons) / 10),
            "seen": column("text", rng.integers(0, 60, persons), *DAYS),
            "smoker": column("text", rng.integers(0, 3, persons), "yes", "no", ""),
            "patient_id": column("integer", np.arange(persons)),
        }
    )


ONE = Independent(epsilon=8.0)
RUNS: dict[str, tuple[Any, int, Any]] = {
    "discovered": (ONE, 3000, None),
    "discovered-delta": (MST(epsilon=6.0, delta=1e-6), 3000, None),
    "discovered-replace": (replace(ONE, neighbours="replace"), 3000, None),
    "discovered-share": (replace(ONE, discovery=0.5), 3000, None),
    "discovered-for-persons": (
        replace(ONE, person="patient_id", max_rows_per_person=2), 3000, None,
    ),
    "discovered-by-a-method-that-asks-nothing": (Random(epsilon=2.0), 3000, None),
    "form": (ONE, 3000, FORM),
    "form-of-words": (ONE, 3000, Form(KNOWN | {"ward": WORDS, "sex": WORDS})),
    "schema": (ONE, 900, Schema.from_dict({"attributes": KNOWN})),
    "schema-delta": (
        Adaptive.fast(epsilon=3.0, delta=1e-6), 900, Schema.from_dict({"attributes": KNOWN}),
    ),
    "schema-refined": (replace(ONE, refinement=0.25), 900, Schema.from_dict({"attributes": KNOWN})),
    "schema-not-refined": (
        replace(ONE, refinement=0.0), 900, Schema.from_dict({"attributes": KNOWN}),
    ),
    "nothing-asked": (Random(), 900, Schema.from_dict({"attributes": KNOWN})),
    "too-few-rows": (replace(ONE, epsilon=0.5), 60, None),
    "too-few-rows-all-the-same": (replace(ONE, epsilon=0.5, keep_going=True), 60, None),
    "wrong-name": (Independent(epsilon=1.0, person="nobody"), 60, None),
    "unit-and-relation": (
        replace(ONE, person="patient_id", neighbours="replace"), 60, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_what_a_release_asks_tells_and_finds(name: str) -> None:
    method, rows, schema = RUNS[name]
    told: list[str] = []
    with record() as noise:
        try:
            model = method.fit(table(rows), schema, noise=noise, notify=told.append)
        except UnderstudyError as error:
            found = [f"refused: {error}"]
        else:
            found = _lines_of(model)
    compare(f"release-{name}", [*noise.lines, *(f"note: {note}" for note in told), *found])


def _lines_of(model: Any) -> list[str]:
    ledger, document = model.ledger, model.to_dict()
    return [
        f"ledger: {ledger.epsilon:g}, delta {ledger.delta:g}, {ledger.neighbours}, "
        f"{ledger.currency}, {ledger.unit}, {ledger.max_rows_per_person} rows, "
        f"thresholds {ledger.threshold_delta:g}, order {ledger.order}",
        f"spent: {show(ledger.spent())}, left {show(ledger.left.amount)}",
        f"public: {', '.join(ledger.taken_as_public)}",
        *(f"{each.name}: {show(each.to_dict())}" for each in model.schema.attributes),
        *(f"{part}: {digest(document[part])}" for part in sorted(document)),
    ]
