"""Distances and groups, against the slow and obvious way."""

from __future__ import annotations

import numpy as np
import pytest
from people import SCHEMA, coded, people

from examples import words
from understudy.attacks.rows import (
    UNIT_DISTANCE,
    distances,
    groups,
    join_rows,
    pick_rows,
    sample_rows,
)
from understudy.data.encoding import encode
from understudy.data.schema import Schema
from understudy.data.tables import Table


def test_distances_are_differing_categories_and_shares_of_ranges() -> None:
    these, pool = coded(people(20, 1)), coded(people(50, 2))
    for row, away in enumerate(distances(these, pool, SCHEMA.names)):
        for other in range(50):
            a, b = (
                {n: int(c.codes[n][i]) for n in SCHEMA.names}
                for c, i in ((these, row), (pool, other))
            )
            expected = sum(UNIT_DISTANCE for name in ("town", "ill") if a[name] != b[name])
            for name, last in (("age", 19), ("grade", 2), ("weight", 14)):
                gone = (a[name] == 15) != (b[name] == 15) and name == "weight"
                expected += (
                    UNIT_DISTANCE if gone else abs(a[name] - b[name]) * UNIT_DISTANCE // last
                )
            assert away[other] == expected


def test_groups_are_equal_rows_across_tables() -> None:
    one, other = coded(people(300, 1)), coded(people(200, 2))
    names = ["grade", "ill", "town"]
    (first, second), count = groups([one, other], names)
    rows = [
        tuple(int(part.codes[n][i]) for n in names)
        for part in (one, other)
        for i in range(part.rows)
    ]
    numbers = [*first.tolist(), *second.tolist()]
    assert len(set(zip(rows, numbers, strict=True))) == len(set(rows)) == len(set(numbers)) == count


def test_groups_over_more_cells_than_a_number_can_count() -> None:
    names = [f"c{place}" for place in range(80)]
    schema = Schema.from_dict(
        {"attributes": {n: {"kind": "categorical", "values": ["a", "b", "c"]} for n in names}}
    )
    table = encode(
        Table({n: words("a", "b", "a", "c" if n == "c79" else "a") for n in names}), schema
    )
    (found,), count = groups([table], names)
    assert count == 3
    assert found[0] == found[2]
    assert len({found[0], found[1], found[3]}) == 3


@pytest.mark.parametrize("most", [5, 100])
def test_some_rows_are_rows_of_the_table(most: int) -> None:
    table = coded(people(50, 3))
    kept = sample_rows(table, most, np.random.default_rng(1))
    assert kept.rows == min(most, 50)
    both = join_rows(kept, pick_rows(table, np.arange(3)))
    assert both.rows == kept.rows + 3
    (inside, whole), count = groups([both, table], SCHEMA.names)
    assert set(inside) <= set(whole)
    assert count <= 50
