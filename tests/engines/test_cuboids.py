"""Cuboids are let go of when there are too many, but never one that the question at hand needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from examples import schema_of
from understudy.counting import cuboids
from understudy.counting.cuboids import Cuboid, CuboidCounter
from understudy.counting.memory import MemoryCounter
from understudy.counting.rollups import Room
from understudy.data.marginals import marginal


class FewGroups:
    """Rows of four attributes, of which two can be fetched at once."""

    schema = schema_of(**{name: {"kind": "categorical", "values": list("abcd")} for name in "ABCD"})
    rows = 500
    distinct = 500
    most_groups = 16

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.codes = {name: rng.integers(0, 4, self.rows).astype(np.uint8) for name in "ABCD"}
        self.asked: list[list[str]] = []

    def group(self, sets: Sequence[tuple[str, ...]]) -> list[Cuboid]:
        self.asked.append(["".join(names) for names in sets])
        found = []
        for names in sets:
            rows, weights = np.unique(
                [self.codes[name] for name in names], axis=1, return_counts=True
            )
            found.append(Cuboid(dict(zip(names, rows, strict=True)), weights))
        return found

    def explain(self) -> list[str]:
        return []


def test_no_more_is_held_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuboids of one question are fetched and counted one after the other where they do not fit
    side by side.
    """
    source = FewGroups()
    room = 16 * (2 + 4)  # one cuboid: two codes and a weight a group
    monkeypatch.setattr(cuboids, "Room", lambda: Room(room))
    monkeypatch.setattr(CuboidCounter, "_bytes_a_row", lambda _: 1)
    counter = CuboidCounter(source)
    memory = MemoryCounter(source.codes, dict.fromkeys("ABCD", ()), dict.fromkeys("ABCD", 4))
    counter.count([marginal("A", "B")])
    wanted = [marginal("A", "B"), marginal("C", "D"), marginal(), marginal("D", "B"), marginal("C")]
    for found, expected in zip(counter.count(wanted), memory.count(wanted), strict=True):
        assert found.tolist() == expected.tolist()
        assert counter._room.left == 0
    counter.count([marginal("B", "C")])
    assert [sorted(names) for names in counter._held] == [["B", "C"]], (
        "the others were to be let go of"
    )
    assert source.asked == [["AB"], ["BD"], ["CD"], ["BC"]]


def test_rows_that_take_half_of_the_room_are_not_fetched_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = FewGroups()
    source.most_groups = 10**6
    monkeypatch.setattr(
        cuboids, "Room", lambda: Room(2 * 16 * (4 + 4))
    )  # 16 groups of four codes and a weight
    counter = CuboidCounter(source)
    counter.count([marginal("A", "B"), marginal("C", "D")])
    assert source.asked == [["AB"], ["CD"]]
