"""MST chooses a spanning tree of the pairs that depend on each other."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from understudy import Schema, Table
from understudy.curator.mechanisms import SeededNoise
from understudy.evaluation.marginals import marginal_errors
from understudy.synthesizers.mst import MST
from understudy.tables import Column

NAMES = "abcde"


def schema(bins: int = 3) -> Schema:
    return Schema.from_dict(
        {"attributes": {n: {"kind": "integer", "min": 0, "max": 2, "bins": bins} for n in NAMES}}
    )


def chain(rows: int = 3000) -> Table:
    """Each attribute is the one before it, three times out of four."""
    rng = np.random.default_rng(1)
    columns = {"a": rng.integers(0, 3, rows)}
    for before, name in itertools.pairwise(NAMES):
        columns[name] = np.where(rng.random(rows) < 0.75, columns[before], rng.integers(0, 3, rows))
    return Table(
        {name: Column("integer", column.astype(np.int64)) for name, column in columns.items()}
    )


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_it_finds_the_chain(neighbours: Any, delta: float) -> None:
    model = MST(epsilon=3.0, delta=delta, neighbours=neighbours).fit(
        chain(), schema(), noise=SeededNoise(0)
    )
    questions = [entry.question for entry in model.ledger.entries]
    assert questions[:5] == [f"table of {name}" for name in NAMES]
    assert [question.split(" by ")[1] for question in questions[5:9]] == ["score misfit"] * 4
    assert sorted(questions[9:]) == [f"table of {a} x {b}" for a, b in itertools.pairwise(NAMES)]
    assert model.network.degree == 1
    assert model.ledger.spent()[0] == pytest.approx(3.0)
    errors = marginal_errors(chain(), model.sample(3000, seed=1), schema(), 2)
    assert max(errors.values()) < 0.06


def test_tables_with_nothing_to_join() -> None:
    for bins, kept in ((1, "abcde"), (3, "a")):
        whole = schema(bins).to_dict()["attributes"]
        known = Schema.from_dict(
            {"attributes": {n: a if n in kept else {"kind": "text"} for n, a in whole.items()}}
        )
        model = MST(epsilon=1.0).fit(chain(50), known, noise=SeededNoise(0))
        assert model.ledger.spent()[0] == pytest.approx(1.0)
        assert model.network.degree == 0


def test_two_attributes_leave_no_choice() -> None:
    whole = schema().to_dict()["attributes"]
    known = Schema.from_dict(
        {"attributes": {n: a if n in "ab" else {"kind": "text"} for n, a in whole.items()}}
    )
    model = MST(epsilon=1.0).fit(chain(), known, noise=SeededNoise(0))
    assert [entry.question for entry in model.ledger.entries] == [
        "table of a",
        "table of b",
        "table of a x b",
    ]
    assert model.ledger.spent()[0] == pytest.approx(1.0)


def test_pairs_that_are_too_large_are_not_considered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.synthesizers.mst.MOST_CELLS", 8)
    model = MST(epsilon=1.0).fit(chain(50), schema(), noise=SeededNoise(0))
    questions = [entry.question for entry in model.ledger.entries]
    assert questions == [f"table of {name}" for name in NAMES] * 2
