"""Cuboids are let go of when there are too many, but never one that the question at hand needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from examples import schema_of
from understudy.counting import cuboids
from understudy.counting.cuboids import Cuboid, CuboidCounter
from understudy.counting.memory import MemoryCounter
from understudy.marginals import marginal


class FewGroups:
    """Rows of four attributes, of which two can be fetched at once."""

    schema = schema_of(**{name: {"kind": "categorical", "values": list("abcd")} for name in "ABCD"})
    rows = 500
    distinct = 500
    most_groups = 16

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.codes = {name: rng.integers(0, 4, self.rows).astype(np.uint8) for name in "ABCD"}

    def grouped(self, sets: Sequence[tuple[str, ...]]) -> list[Cuboid]:
        found = []
        for names in sets:
            rows, weights = np.unique([self.codes[name] for name in names], axis=1, return_counts=True)
            found.append(Cuboid(dict(zip(names, rows, strict=True)), weights))
        return found

    def explained(self) -> list[str]:
        return []


def test_what_is_held_already_is_not_forgotten_while_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuboids, "KEPT_ROWS", 2)
    source = FewGroups()
    counter = CuboidCounter(source)
    memory = MemoryCounter(source.codes, dict.fromkeys("ABCD", ()), dict.fromkeys("ABCD", 4))
    counter.count([marginal("A", "B")])
    wanted = [marginal("A", "B"), marginal("C", "D"), marginal()]
    for found, expected in zip(counter.count(wanted), memory.count(wanted), strict=True):
        assert found.tolist() == expected.tolist()
    counter.count([marginal("B", "C")])
    assert [sorted(names) for names in counter._held] == [["B", "C"]], "the others were to be let go of"
