"""Scores I, F and R: what the compiled kernels give, and how far one row can move them.

``test_scores.py`` checks definitions in plain Python. Here all small tables are scored by the
kernels themselves, at once, and every pair of neighbours is looked at.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import coded
from understudy import InputError, Ledger
from understudy.counting.memory import MemoryCounter
from understudy.data.encoding import Coded
from understudy.data.marginals import Axis, Marginal, marginal
from understudy.data.schema import Schema
from understudy.privacy import score_kernels
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.scores import Information, score_named

Tables = np.ndarray[Any, Any]
Shape = tuple[int, int]


def all_tables(rows: int, cells: int) -> Tables:
    """Every way to spread the rows over the cells, a line each."""
    found = []
    for bars in itertools.combinations(range(rows + cells - 1), cells - 1):
        edges = (-1, *bars, rows + cells - 1)
        found.append([b - a - 1 for a, b in itertools.pairwise(edges)])
    return np.array(found, dtype=np.int64)


def scored(name: str, tables: Tables, child: int, rows: int, neighbours: str = "replace") -> Any:
    """The kernels' scores of many tables of the same shape, the child's side first."""
    flat, offsets = tables.ravel(), np.arange(len(tables) + 1) * tables.shape[1]
    children = np.full(len(tables), child)
    if name == "F":
        return score_kernels.assignment_masses(flat, offsets, 1) / 2
    if name == "I":
        unit = Information.unit(max(rows, 1)) if neighbours == "add_remove" else 1.0
        return score_kernels.information_bits(flat, offsets, children, max(rows, 1)) / unit
    return score_kernels.dependence_masses(flat, offsets, children, max(rows, 1)) / (
        2 * max(rows, 1)
    )


def changes(name: str, rows: int, shape: Shape, neighbours: str) -> tuple[float, float]:
    """How far one row can lower and raise the score of tables that have this many rows."""
    cells = shape[0] * shape[1]
    unit = (rows + 2) ** np.arange(cells)  # a table's number: its counts as digits
    tables = all_tables(rows, cells)
    here = scored(name, tables, shape[0], rows, neighbours)
    others = all_tables(rows + 1, cells) if neighbours == "add_remove" else tables
    there = (
        scored(name, others, shape[0], rows + 1, neighbours) if neighbours == "add_remove" else here
    )
    order = np.argsort(others @ unit)
    numbers = (others @ unit)[order]
    lowest = highest = 0.0
    for come in range(cells):
        for gone in [None] if neighbours == "add_remove" else range(cells):
            able = np.ones(len(tables), dtype=bool) if gone is None else tables[:, gone] > 0
            wanted = (tables @ unit)[able] + unit[come] - (0 if gone is None else unit[gone])
            found = order[np.searchsorted(numbers, wanted)]
            lowest = min(lowest, float((there[found] - here[able]).min(initial=0.0)))
            highest = max(highest, float((there[found] - here[able]).max(initial=0.0)))
    return lowest, highest


def largest_change(name: str, rows: int, shape: Shape, neighbours: str) -> float:
    lowest, highest = changes(name, rows, shape, neighbours)
    return max(-lowest, highest)


# --------------------------------------------------------------------------- sensitivities

SMALL = [
    (shape, rows)
    for shape, most in (((2, 2), 8), ((2, 3), 6), ((3, 2), 6), ((3, 3), 5))
    for rows in range(1, most + 1)
]


@pytest.mark.parametrize(("shape", "rows"), SMALL)
def test_information_under_replace_attains_its_bound_and_never_passes_it(
    shape: Shape, rows: int
) -> None:
    binary = 2 in shape
    bound = score_named("I").sensitivity("replace", rows, binary)
    change = largest_change("I", rows, shape, "replace")
    assert change <= bound + 1e-9
    # With one row nothing is ever known; the general bound is attained where (n + 1) / 2 is a whole
    # number.
    if rows > 1 and (binary or rows % 2 == 1):
        assert change == pytest.approx(bound)


@pytest.mark.parametrize(("shape", "rows"), SMALL)
def test_information_under_add_remove_keeps_its_bound_of_one_and_comes_near_it(
    shape: Shape, rows: int
) -> None:
    lowest, highest = changes("I", rows, shape, "add_remove")
    assert score_named("I").sensitivity("add_remove", None, 2 in shape) == 1
    assert lowest >= -1
    # A row in a category of its own, beside rows that are all alike, brings g(n) bits.
    g = math.log2(rows + 1) + rows * math.log2((rows + 1) / rows)
    assert highest == pytest.approx(g / Information.unit(rows + 1))
    assert highest <= 1


@pytest.mark.parametrize("rows", range(13))
def test_information_of_few_rows_falls_by_less_than_one(rows: int) -> None:
    """The part of the proof that is a matter of arithmetic: the two terms of the fall for n below
    12, as they are.
    """

    def g(t: float) -> float:
        return (t + 1) * math.log2(t + 1) - (t * math.log2(t) if t else 0.0)

    unit, next_unit = Information.unit(rows), Information.unit(rows + 1)
    most = rows * math.log2(max(rows, 1))
    assert (2 * g(rows / 2) - g(rows)) / next_unit + most * (1 / unit - 1 / next_unit) < 1


def test_information_of_many_rows_rises_and_falls_by_nearly_one() -> None:
    """So the bound is not loose where it matters: the worst tables of a million rows."""
    rows = 1_000_000
    up = np.array([[0, 0, 0, rows], [1, 0, 0, rows]])
    down = np.array([[0, rows // 2, rows // 2, 0], [1, rows // 2, rows // 2, 0]])
    for tables, change in ((up, 0.99), (down, -0.85)):
        before = scored("I", tables[:1], 2, rows, "add_remove")
        after = scored("I", tables[1:], 2, rows + 1, "add_remove")
        assert abs(change) <= abs((after - before)[0]) <= 1
        assert np.sign(after - before) == np.sign(change)


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (2, 4)])
def test_assignment_attains_its_range_and_never_passes_it(shape: Shape) -> None:
    replaced = [changes("F", rows, shape, "replace") for rows in range(1, 7)]
    assert (min(low for low, _ in replaced), max(high for _, high in replaced)) == (-1, 1)
    assert score_named("F").sensitivity("replace", 6, True) == 1
    added = [changes("F", rows, shape, "add_remove") for rows in range(1, 7)]
    assert (min(low for low, _ in added), max(high for _, high in added)) == (-1, 0.5)
    assert score_named("F").sensitivity("add_remove", None, True) == 0.75


@pytest.mark.parametrize(("shape", "rows"), SMALL)
def test_dependence_keeps_the_bound_of_the_paper(shape: Shape, rows: int) -> None:
    assert largest_change("R", rows, shape, "replace") <= score_named("R of the paper").sensitivity(
        "replace", rows, False
    )
    change = largest_change("R", rows, shape, "add_remove")
    assert change == pytest.approx(2 * rows / (rows + 1))
    assert change < score_named("R of the paper").sensitivity("add_remove", None, False)


@pytest.mark.parametrize("name", ["I", "F", "R", "R of the paper"])
@pytest.mark.parametrize("rows", [0, 1])
def test_sensitivities_of_hardly_any_rows_are_finite_and_positive(name: str, rows: int) -> None:
    for binary in (True, False):
        assert 0 < score_named(name).sensitivity("replace", rows, binary) < 10


def test_the_tables_of_lemma_4_1_differ_by_the_whole_sensitivity() -> None:
    """One of n rows moves away from all others: mutual information from 0 to its bound."""
    for rows in (2, 10, 1000, 100_000):
        tables = np.array([[0, 0, 0, rows], [1, 0, 0, rows - 1]])
        before, after = scored("I", tables, 2, rows)
        assert before == 0
        assert after == pytest.approx(score_named("I").sensitivity("replace", rows, True))


@st.composite
def neighbouring(draw: st.DrawFn) -> tuple[Tables, Tables, Tables, Shape]:
    shape = draw(st.tuples(st.integers(2, 4), st.integers(2, 8)))
    cells = shape[0] * shape[1]
    count = st.one_of(st.just(0), st.integers(0, 3), st.integers(0, 5000))
    table = np.array(draw(st.lists(count, min_size=cells, max_size=cells)), dtype=np.int64)
    come, gone = draw(st.permutations(range(cells)))[:2]
    table[gone] += 1
    step = np.eye(cells, dtype=np.int64)
    return table, table + step[come], table + step[come] - step[gone], shape


@settings(max_examples=60)
@given(case=neighbouring())
def test_larger_neighbouring_tables_keep_every_bound(case: Any) -> None:
    table, more, replaced, shape = case
    rows = int(table.sum())
    for name in ["I", "R", "R of the paper", *(["F"] if shape[0] == 2 else [])]:
        score = score_named(name)
        [here] = scored(name, table[None], shape[0], rows, "add_remove")
        [after] = scored(name, more[None], shape[0], rows + 1, "add_remove")
        lowest, highest = {"I": (-1, 1), "F": (-1, 0.5)}.get(name, (-2, 2))
        assert lowest - 1e-9 <= after - here <= highest + 1e-9
        assert highest - lowest <= 2 * score.sensitivity("add_remove", None, shape[0] == 2)
        [here] = scored(name, table[None], shape[0], rows)
        [moved] = scored(name, replaced[None], shape[0], rows)
        assert abs(moved - here) <= score.sensitivity("replace", rows, shape[0] == 2) * (1 + 1e-9)


# --------------------------------------------------------------------------- values


def random_rows(rng: Any, rows: int, sizes: dict[str, int]) -> dict[str, Any]:
    common = rng.random(rows)
    return {
        name: np.minimum((common * 0.6 + rng.random(rows) * 0.4) * size, size - 1).astype(np.uint8)
        for name, size in sizes.items()
    }


def joint(codes: dict[str, Any], sizes: dict[str, int], axes: Any) -> Any:
    """The table of a candidate: a row for each value of the child, a column for each configuration
    of the parents.
    """
    table = np.zeros([sizes[axis.attribute] for axis in axes])
    np.add.at(table, tuple(codes[axis.attribute] for axis in axes), 1)
    return table.reshape(table.shape[0], -1)


def by_definition(name: str, table: Any) -> float:
    n = table.sum()
    product = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    if name == "R":
        return float(np.abs(table - product).sum() / 2)
    if name == "I":
        there = table > 0
        return float((table[there] * np.log2(table[there] / product[there])).sum())
    sides = np.array(list(itertools.product((0, 1), repeat=table.shape[1])))
    k0, k1 = (1 - sides) @ table[0], sides @ table[1]
    return float(-(np.maximum(n / 2 - k0, 0) + np.maximum(n / 2 - k1, 0)).min())


@pytest.mark.parametrize("name", ["I", "F", "R"])
@pytest.mark.parametrize("rows", [1, 2, 7, 60, 501])
@pytest.mark.parametrize("seed", [0, 1])
def test_scores_of_random_rows_are_those_of_their_definitions(
    name: str, rows: int, seed: int
) -> None:
    rng = np.random.default_rng([seed, rows])
    sizes = {"a": 2, "b": 2, "c": 2, "d": 2, "e": 3, "f": 5}
    codes = random_rows(rng, rows, sizes)
    counter = MemoryCounter(codes, {}, sizes)
    candidates = [
        marginal("a"),
        marginal("a", "b"),
        marginal("b", "a", "c", "d"),
        marginal("c", "e"),
        marginal("d", "e", "b"),
    ]
    if name != "F":
        candidates += [marginal("e", "f"), marginal("f", "a", "e")]
    found = score_named(name).evaluate(counter, candidates)
    wanted = [by_definition(name, joint(codes, sizes, axes)) for axes in candidates]
    assert found.tolist() == pytest.approx(wanted, abs=1e-9)


@settings(max_examples=60)
@given(
    zeros=st.lists(st.integers(0, 12), min_size=1, max_size=8),
    ones=st.lists(st.integers(0, 12), min_size=8, max_size=8),
)
def test_the_dynamic_programme_finds_the_best_of_all_assignments(
    zeros: list[int], ones: list[int]
) -> None:
    table = np.array([zeros, ones[: len(zeros)]], dtype=np.int64)
    rows = int(table.sum())
    [found] = scored("F", table.reshape(1, -1), 2, rows)
    assert found == (by_definition("F", table.astype(float)) if rows else 0)


def test_a_level_of_a_taxonomy_is_scored_as_the_merged_table() -> None:
    rng = np.random.default_rng(3)
    sizes = {"x": 2, "p": 4}
    codes = random_rows(rng, 200, sizes)
    halves = np.array([0, 0, 1, 1], dtype=np.uint32)
    counter = MemoryCounter(codes, {"p": (halves,)}, sizes)
    merged = joint({"x": codes["x"], "p": halves[codes["p"]]}, {"x": 2, "p": 2}, marginal("x", "p"))
    for name in ("I", "F", "R"):
        found = score_named(name).evaluate(counter, [(Axis("x"), Axis("p", 1))])
        assert found[0] == pytest.approx(by_definition(name, merged))


def test_assignment_refuses_a_child_of_three_values_before_a_debit() -> None:
    curator = CentralCurator(coded(50), Ledger(1.0), SeededNoise(0))
    with pytest.raises(InputError, match="two values"):
        curator.choose([marginal("a", "b"), marginal("b", "a")], "F", Budget(0.5))
    assert curator.ledger.entries == []
    curator.choose([marginal("a", "b"), marginal("a", "c")], "F", Budget(0.5))
    assert len(curator.ledger.entries) == 1


@pytest.mark.parametrize("others", [[], [marginal("x", "p")]])
@pytest.mark.parametrize("counts", [(10, 1, 1), (4, 4, 4)])
def test_assignment_refuses_a_child_of_one_value_whatever_the_counts_are(
    others: list[Marginal], counts: tuple[int, ...]
) -> None:
    """Such a table has no halves, and whether the kernel failed depended on the exact counts."""
    schema = Schema.from_dict(
        {
            "attributes": {
                "one": {"kind": "categorical", "values": ["only"]},
                "x": {"kind": "categorical", "values": [0, 1]},
                "p": {"kind": "categorical", "values": [0, 1, 2]},
            }
        }
    )
    p = np.repeat(np.arange(3, dtype=np.uint8), counts)
    rows = Coded(schema, {"one": 0 * p, "x": (p > 0).astype(np.uint8), "p": p}, len(p), ())
    curator = CentralCurator(rows, Ledger(1.0), SeededNoise(0))
    candidates = [*others, marginal("one", "p"), marginal("one", "p", "x")]
    with pytest.raises(InputError, match="two values"):
        curator.choose(candidates, "F", Budget(0.5))
    assert curator.ledger.entries == []
    with pytest.raises(InputError, match="two values"):
        score_named("F").evaluate(curator._rows.counter, candidates)
