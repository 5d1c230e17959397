"""Cuboids are let go of when there are too many, but never one that the question at hand needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from examples import schema_of
from understudy.counting import cuboids
from understudy.counting.cuboids import Cuboid, CuboidCounter, MergedValues
from understudy.counting.memory import MemoryCounter
from understudy.counting.rollups import Room
from understudy.data.bits import Bits
from understudy.data.marginals import marginal
from understudy.errors import InputError
from understudy.privacy.answering import merge_schema


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
    assert [sorted(names) for _, names in counter._held] == [["B", "C"]], (
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


A_IN_TWO = {"A": np.array([1, 0, 0, 1])}


def merged_counter(source: FewGroups) -> tuple[CuboidCounter, CuboidCounter]:
    """A counter, and the same rows with four values of A merged into two."""
    counter = CuboidCounter(source)
    return counter, counter.merge_values(
        MergedValues(merge_schema(source.schema, A_IN_TWO), A_IN_TWO)
    )


@pytest.mark.parametrize("most_groups", [16, 10**6])
def test_merged_values_are_counted_as_in_memory(most_groups: int) -> None:
    source = FewGroups()
    source.most_groups = most_groups
    counter, merged = merged_counter(source)
    codes = {**source.codes, "A": A_IN_TWO["A"][source.codes["A"]].astype(np.uint8)}
    memory = MemoryCounter(codes, dict.fromkeys("ABCD", ()), dict.fromkeys("ABCD", 4) | {"A": 2})
    wanted = [marginal("A", "B"), marginal("D", "A"), marginal("C", "D"), marginal("A"), marginal()]
    for found, expected in zip(merged.count(wanted), memory.count(wanted), strict=True):
        assert found.tolist() == expected.tolist()
    [whole] = counter.count([marginal("A")])  # nothing that was merged is taken for the rows
    assert whole.tolist() == np.bincount(source.codes["A"]).tolist()
    held = [one for (owner, _), one in merged._held.items() if owner is merged]
    assert max(one.distinct_rows or 0 for one in held) <= 2 * 4**3


def test_merged_values_share_the_room_with_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    source = FewGroups()
    monkeypatch.setattr(cuboids, "Room", lambda: Room(16 * (2 + 4)))
    monkeypatch.setattr(CuboidCounter, "_bytes_a_row", lambda _: 1)
    counter, merged = merged_counter(source)
    counter.count([marginal("A", "B")])
    merged.count([marginal("A", "B")])
    assert [owner for owner, _ in counter._held] == [merged], "there is no room for both"
    assert merged._room is counter._room
    assert counter._room.left == 16 * (2 + 4) - 8 * (2 + 4)  # two values of A by four of B
    assert [plan.tables for plan in merged.plans] == [1, 1]


def test_merged_values_have_no_bits_and_no_sums() -> None:
    source = FewGroups()
    _, merged = merged_counter(source)
    with pytest.raises(InputError, match="merged values"):
        merged.summer()
    with pytest.raises(InputError, match="merged values"):
        merged.in_bits(Bits(source.schema))


def test_a_table_without_rows_has_merged_values_too() -> None:
    source = FewGroups()
    source.rows = 0
    source.codes = {name: codes[:0] for name, codes in source.codes.items()}
    _, merged = merged_counter(source)
    assert [table.tolist() for table in merged.count([marginal("A")])] == [[0, 0]]
