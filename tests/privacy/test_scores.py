"""One row moves scores within a range of twice the declared sensitivity: all small tables, and many
larger ones.

A choice sees differences of scores only, and its candidates can be any tables of the same rows: so
what counts is the range between the largest fall and the largest rise, over all tables of this many
rows.
"""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy import InputError
from understudy.counting.memory import MemoryCounter
from understudy.data.marginals import marginal
from understudy.privacy.scores import score_named

PAIR = marginal("x", "p")


def score_of(name: str, table: tuple[tuple[int, ...], ...], neighbours: Any = "replace") -> float:
    """The score of a contingency table (a row for each value of X) by way of a counter."""
    counts = np.array(table)
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    x, p = np.unravel_index(cells, counts.shape)
    codes = {"x": x.astype(np.uint8), "p": p.astype(np.uint8)}
    counter = MemoryCounter(codes, {}, {"x": counts.shape[0], "p": counts.shape[1]})
    return float(score_named(name).evaluate(counter, [PAIR], neighbours)[0])


def plain(name: str, table: Any, neighbours: str = "replace") -> float:
    """The scores by their definitions in DESIGN.md, times n; I over log(n + 1) + log e where n is
    private.
    """
    joint = np.array(table, dtype=float)
    n = joint.sum()
    if n == 0:
        return 0.0
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / n
    if name == "R":
        return float(np.abs(joint - product).sum() / 2)
    if name == "I":
        there = joint > 0
        unit = math.log2(n + 1) + math.log2(math.e) if neighbours == "add_remove" else 1.0
        return float((joint[there] * np.log2(joint[there] / product[there])).sum() / unit)
    best = -math.inf
    for sides in itertools.product((0, 1), repeat=joint.shape[1]):
        collected = [0.0, 0.0]
        for parent, side in enumerate(sides):
            collected[side] += joint[side, parent]
        best = max(best, -(max(n / 2 - collected[0], 0) + max(n / 2 - collected[1], 0)))
    return best


plain_cached = cache(plain)


def tables(rows: int, shape: tuple[int, int]) -> list[tuple[tuple[int, ...], ...]]:
    """All contingency tables of this many rows."""
    cells = shape[0] * shape[1]
    found = []
    for bars in itertools.combinations(range(rows + cells - 1), cells - 1):
        edges = (-1, *bars, rows + cells - 1)
        counts = [b - a - 1 for a, b in itertools.pairwise(edges)]
        found.append(
            tuple(tuple(counts[i * shape[1] : (i + 1) * shape[1]]) for i in range(shape[0]))
        )
    return found


def with_one_more(table: Any, cell: tuple[int, int], step: int = 1) -> Any:
    changed = [list(row) for row in table]
    changed[cell[0]][cell[1]] += step
    return tuple(map(tuple, changed))


def half_range(name: str, rows: int, shape: tuple[int, int], neighbours: str) -> float:
    """Half of the range in which one row moves the score of tables with this many rows."""
    cells = list(itertools.product(range(shape[0]), range(shape[1])))
    changes = [0.0]
    for table in tables(rows, shape):
        here = plain_cached(name, table, neighbours)
        if neighbours == "add_remove":
            changed = [with_one_more(table, cell) for cell in cells]
        else:
            changed = [
                with_one_more(with_one_more(table, gone, -1), come)
                for gone, come in itertools.permutations(cells, 2)
                if table[gone[0]][gone[1]]
            ]
        changes += [plain_cached(name, other, neighbours) - here for other in changed]
    return (max(changes) - min(changes)) / 2


@pytest.mark.parametrize("name", ["R", "I", "F"])
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2)])
def test_scores_are_what_their_definitions_say(name: str, shape: tuple[int, int]) -> None:
    if name == "F" and shape[0] > 2:
        pytest.skip("F is for two values")
    for table in tables(4, shape)[::9]:
        for neighbours in ("replace", "add_remove"):
            assert score_of(name, table, neighbours) == pytest.approx(
                plain(name, table, neighbours), abs=1e-9
            )


@pytest.mark.parametrize(
    ("name", "neighbours", "reached"),
    [
        ("R", "replace", 0.6),
        ("R", "add_remove", 0.6),
        ("F", "replace", 1.0),
        ("F", "add_remove", 1.0),
        ("I", "replace", 1.0),
        ("I", "add_remove", 0.6),
    ],
)
@pytest.mark.parametrize("shape", [(2, 2), (2, 3)])
def test_no_neighbouring_small_tables_differ_by_more_than_the_sensitivity(
    name: str, neighbours: Any, reached: float, shape: tuple[int, int]
) -> None:
    closest = 0.0
    for rows in range(1, 6 if shape == (2, 3) else 8):
        bound = score_named(name).sensitivity(
            neighbours, rows if neighbours == "replace" else None, True
        )
        change = half_range(name, rows, shape, neighbours)
        assert change <= bound + 1e-9, rows
        closest = max(closest, change / bound)
    assert (
        closest >= reached - 1e-9
    )  # a bound far above what happens would waste budget, or the search be broken


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_the_general_bound_of_information_holds_where_nothing_is_binary(rows: int) -> None:
    bound = score_named("I").sensitivity("replace", rows, False)
    assert half_range("I", rows, (3, 3), "replace") <= bound + 1e-9


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_dependence_keeps_its_bound_on_three_by_three_tables(rows: int) -> None:
    for neighbours in ("replace", "add_remove"):
        bound = score_named("R").sensitivity(neighbours, rows, False)  # type: ignore[arg-type]
        assert half_range("R", rows, (3, 3), neighbours) <= bound + 1e-9


@st.composite
def neighbouring(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    shape = draw(st.tuples(st.integers(2, 4), st.integers(2, 5)))
    skewed = st.one_of(st.just(0), st.integers(0, 3), st.integers(0, 200))
    table = draw(
        st.lists(
            st.lists(skewed, min_size=shape[1], max_size=shape[1]),
            min_size=shape[0],
            max_size=shape[0],
        )
    )
    table[0][0] += 1
    cell = draw(st.tuples(st.integers(0, shape[0] - 1), st.integers(0, shape[1] - 1)))
    return table, with_one_more(table, cell), with_one_more(with_one_more(table, (0, 0), -1), cell)


RANGES = {"R": (-2.0, 2.0), "I": (-1.0, 1.0), "F": (-1.0, 0.5)}
"""How far a row that is added can move a score."""


@settings(max_examples=12)
@given(pair=neighbouring())
def test_no_neighbouring_larger_tables_differ_by_more_than_the_sensitivity(pair: Any) -> None:
    table, more, replaced = pair
    rows = sum(map(sum, table))
    for name in ("R", "I") + (("F",) if len(table) == 2 else ()):
        score = score_named(name)
        binary = len(table) == 2 or len(table[0]) == 2
        here, there = (
            score_of(name, tuple(map(tuple, one)), "add_remove") for one in (table, more)
        )
        lowest, highest = RANGES[name]
        assert lowest - 1e-9 <= there - here <= highest + 1e-9
        assert highest - lowest <= 2 * score.sensitivity("add_remove", None, binary)
        here, there = (score_of(name, tuple(map(tuple, one))) for one in (table, replaced))
        assert abs(here - there) <= score.sensitivity("replace", rows, binary) + 1e-9


@pytest.mark.parametrize("rows", [2, 3, 10])
def test_the_bound_of_dependence_is_as_proved_from_two_rows_on(rows: int) -> None:
    assert score_named("R").sensitivity("replace", rows, False) == 3 * (1 - 1 / rows)


def test_the_bound_of_the_paper_is_never_below_ours() -> None:
    for rows in range(1, 50):
        ours = score_named("R").sensitivity("replace", rows, False)
        assert ours <= score_named("R of the paper").sensitivity("replace", rows, False)


@pytest.mark.parametrize("name", ["R", "I"])
def test_under_replace_the_number_of_rows_must_be_given(name: str) -> None:
    with pytest.raises(ValueError, match="rows is public"):
        score_named(name).sensitivity("replace", None, True)


def test_an_unknown_score_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"no score 'Z'; known are .*R"):
        score_named("Z")


def test_an_empty_table_scores_nothing() -> None:
    for name in ("R", "I"):
        assert score_of(name, ((0, 0), (0, 0))) == 0
