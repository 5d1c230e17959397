"""MST chooses a spanning tree of the pairs that depend on each other."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from understudy import Ledger, Schema, Table
from understudy.data.encoding import Coded, encode
from understudy.data.tables import Column
from understudy.evaluation.marginals import marginal_errors
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers.mst import MST

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
    monkeypatch.setattr("understudy.synthesizers.mst.MAX_CLIQUE_CELLS", 8)
    model = MST(epsilon=1.0).fit(chain(50), schema(), noise=SeededNoise(0))
    questions = [entry.question for entry in model.ledger.entries]
    assert questions == [f"table of {name}" for name in NAMES] * 2


class Watched(CentralCurator):
    """Remembers what was asked, and chooses as it is told."""

    def __init__(self, coded: Coded, seed: int) -> None:
        super().__init__(coded, Ledger(1e9), SeededNoise(seed))
        self.rng = np.random.default_rng(seed)
        self.asked: list[list[frozenset[str]]] = []
        self.chosen: list[frozenset[str]] = []

    def choose(self, candidates: Any, *rest: Any, **more: Any) -> int:
        """Any of the candidates, whatever the rows say."""
        super().choose(candidates, *rest, **more)
        place = int(self.rng.integers(len(candidates)))
        self.asked.append([frozenset(axis.attribute for axis in axes) for axes in candidates])
        self.chosen.append(self.asked[-1][place])
        return place


def parts_joined_by(edges: list[frozenset[str]], names: str) -> list[set[str]]:
    """The parts of a graph, found by walking through it."""
    parts: list[set[str]] = []
    for name in names:
        if any(name in part for part in parts):
            continue
        part, ahead = {name}, [name]
        while ahead:
            here = ahead.pop()
            reached = set().union(*(edge for edge in edges if here in edge)) - part
            part |= reached
            ahead += reached
        parts.append(part)
    return parts


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_chosen_candidates_join_two_parts_and_a_tree_comes_of_it(seed: int) -> None:
    names = "abcdefgh"
    rng = np.random.default_rng(seed)
    described = {name: {"kind": "integer", "min": 0, "max": 1, "bins": 2} for name in names}
    columns = {name: Column("integer", rng.integers(0, 2, 60)) for name in names}
    known = Schema.from_dict({"attributes": described})
    curator = Watched(encode(Table(columns), known), seed)
    MST(epsilon=1.0).learn(curator, curator.ledger.budget, lambda *_: None)
    assert len(curator.chosen) == len(names) - 1
    for step, candidates in enumerate(curator.asked):
        parts = parts_joined_by(curator.chosen[:step], names)
        between = {
            frozenset(pair)
            for pair in itertools.combinations(names, 2)
            if not any(part.issuperset(pair) for part in parts)
        }
        assert set(candidates) == between  # all that joins two parts, and nothing else
        assert len(candidates) == len(between)
    assert parts_joined_by(curator.chosen, names) == [set(names)]
