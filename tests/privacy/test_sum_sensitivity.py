"""By how much one row moves sums: every pair of neighbouring rows of small domains, in integers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from transcripts import compare, show
from understudy import Schema
from understudy.counting.directions import DIRECTION_STEPS, Directions
from understudy.counting.sums import ExactSums, MemorySummer, Summation, shorten
from understudy.data.encoding import encode
from understudy.data.marginals import marginal
from understudy.data.tables import Column, Table
from understudy.privacy.budget import Budget
from understudy.privacy.domain import Domain
from understudy.privacy.features import Indicator, Number
from understudy.privacy.sum_sensitivity import find_blocks
from understudy.privacy.sums import Sum

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "x": {"kind": "integer", "min": -3, "max": 2, "missing": True},
            "y": {"kind": "integer", "min": 1, "max": 4, "missing": True},
            "c": {"kind": "categorical", "values": ["a", "b", "c"]},
            "g": {"kind": "categorical", "values": ["u", "v"]},
        }
    }
)
X, Y = Number("x"), Number("y")
HOT = [Indicator("c", (0,)), Indicator("c", (1,)), Indicator("c", (2,))]

QUESTIONS = {
    "one number": {"features": [X]},
    "two numbers": {"features": [X, Y]},
    "centred": {"features": [Number("x", centre=-1), Number("y", centre=3)]},
    "one hot": {"features": HOT},
    "number and one hot": {"features": [Y, *HOT]},
    "overlapping indicators": {"features": [*HOT[:2], Indicator("c", (1, 2))]},
    "by group": {"features": [X, Y, HOT[0]], "by": marginal("g")},
    "nearest": {"features": [X, Y], "nearest": [[-3.0, 1.0], [2.0, 4.0]]},
    "centres of groups": {
        "features": [X, Y],
        "by": marginal("g"),
        "centres": np.array([[-3.0, 1.0], [1.0, 3.0]]),
    },
    "centres of one hot": {"features": HOT[:2], "by": marginal("g"), "centres": np.ones((2, 2))},
    "missing at the centre": {"features": [X, Y], "missing": "centre"},
    "ball": {"features": [X, Y], "ball": 0.75},
    "ball of one hot": {"features": [Y, *HOT], "ball": 0.9},
    "ball by group": {"features": [X, HOT[0]], "ball": 0.8, "by": marginal("g")},
    "ball about centres": {
        "features": [X, Y],
        "by": marginal("g"),
        "centres": np.array([[-3.0, 1.0], [1.0, 3.0]]),
        "ball": 0.6,
    },
    "ball larger than a number": {"features": [X, Y, *HOT], "ball": 1.6},
    "ball larger than a number, by group": {"features": [X, Y], "ball": 1.2, "by": marginal("g")},
    "along directions": {
        "features": [X, Y, HOT[0]],
        "ball": 0.7,
        "directions": np.array([[0.6, 0.8, 0.0], [-0.5, 0.5, 0.7]]),
    },
    "along a direction, about centres, together": {
        "features": [X, Y],
        "by": marginal("g"),
        "centres": np.array([[-3.0, 1.0], [1.0, 3.0]]),
        "ball": 0.9,
        "directions": np.array([[0.6, -0.8]]),
        "missing": "centre",
        "pooled": True,
    },
    "about centres, together": {
        "features": [X, Y],
        "by": marginal("g"),
        "nearest": [[-3.0, 1.0], [2.0, 4.0]],
        "centres": np.array([[[-3.0, 1.0], [1.0, 3.0]], [[0.0, 2.0], [2.0, 2.0]]]),
        "ball": 1.1,
        "pooled": True,
    },
}


def every_row() -> Table:
    """One row of each kind that there is; an empty cell is a missing number."""
    rows = list(itertools.product(["-3", "1", "99", ""], ["1", "4", ""], "abc", "uv"))
    columns = {}
    for name, cells in zip("xycg", zip(*rows, strict=True), strict=True):
        words = tuple(dict.fromkeys(cells))
        codes = np.array([words.index(cell) for cell in cells], dtype=np.uint32)
        columns[name] = Column("text", codes, words)
    return Table(columns)


def sum_each(summation: Summation) -> list[ExactSums]:
    """What each row adds by itself."""
    table = every_row()
    coded = encode(table, SCHEMA)
    found = []
    for place in range(table.rows):
        one = Table(
            {
                name: Column("text", column.values[place : place + 1], column.words)
                for name, column in table.columns.items()
            }
        )
        codes = {name: codes[place : place + 1] for name, codes in coded.codes.items()}
        found.append(MemorySummer(SCHEMA, codes, one).sum(summation))
    return found


@pytest.mark.parametrize("moments", ["none", "squares", "products"])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_row_moves_sums_further_than_claimed(name, neighbours, moments):
    question = Sum(budget=Budget(1.0), moments=moments, **QUESTIONS[name])
    question.check(Domain(SCHEMA))
    summation = question.summation(Domain(SCHEMA))
    blocks = find_blocks(summation, neighbours)
    each = sum_each(summation)
    for part, block in blocks.items():
        lines = np.array(
            [(one.counts[:, None] if part == "counts" else getattr(one, part)) for one in each]
        )
        magnitudes = np.array(block.magnitudes)
        assert (np.abs(lines) <= magnitudes).all()
        vectors = lines.reshape(len(each), -1)
        if neighbours == "replace":
            vectors = (vectors[:, None] - vectors[None]).reshape(-1, vectors.shape[1])
        vectors = np.unique(np.abs(vectors), axis=0)
        l1, l2 = _farthest(vectors, np.tile(magnitudes, len(each[0].counts)))
        assert l1 <= block.l1
        assert l2 <= block.l2_squared
        if summation.radius is None and part != "counts":
            assert block.l1 <= 2 * l1  # not far from what a row does
        if block.grid is None:
            assert int(vectors.sum(axis=1).max()) <= block.l1_steps
            assert int((vectors * vectors).sum(axis=1).max()) <= Fraction(block.l2_steps) ** 2


@pytest.mark.parametrize(("neighbours", "farthest"), [("add_remove", 1), ("replace", 4)])
def test_rows_in_a_ball_are_at_most_its_diameter_apart(neighbours, farthest):
    """Two rows at opposite ends are; more noise than for that would be for nothing."""
    question = Sum(budget=Budget(1.0), moments="none", features=[X, Y], ball=0.9)
    block = find_blocks(question.summation(Domain(SCHEMA)), neighbours)["sums"]
    assert block.l2_squared == farthest


def _farthest(vectors, magnitudes):
    """The largest L1 norm and squared L2 norm, in units of the magnitudes, exactly."""
    common = math.lcm(*magnitudes.tolist())
    wide = vectors * (common // magnitudes)
    l1, l2 = wide.sum(axis=1).max(), (wide * wide).sum(axis=1).max()
    return Fraction(int(l1), common), Fraction(int(l2), common**2)


@pytest.mark.parametrize("name", QUESTIONS)
def test_on_a_common_grid_no_row_moves_steps_further_than_claimed(name):
    """Sums of many rows are rounded down, and one row more moves them by its share and one."""
    question = Sum(budget=Budget(1.0), moments="products", **QUESTIONS[name])
    summation = question.summation(Domain(SCHEMA))
    each = sum_each(summation)
    rng = np.random.default_rng(7)
    for steps in (5, 1 << 20):
        for part, block in find_blocks(summation, "add_remove").items():
            block = block.on_grid(steps)
            lines = [
                one.counts[:, None] if part == "counts" else getattr(one, part) for one in each
            ]
            base = sum(lines[place] for place in rng.integers(len(each), size=40))
            before = block.to_grid(base)
            for line in lines:
                moved = np.abs(block.to_grid(base + line) - before)
                assert moved.sum() <= block.l1_steps
                assert int((moved * moved).sum()) <= block.l2_steps**2


@pytest.mark.parametrize("steps", [None, 5])
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_person_moves_sums_further_than_claimed(name, steps):
    """A person's rows may all be the one that moves sums the most."""
    question = Sum(budget=Budget(1.0), moments="products", **QUESTIONS[name])
    summation = question.summation(Domain(SCHEMA))
    each = sum_each(summation)
    for part, block in find_blocks(summation, "add_remove", 3).items():
        if steps is not None:
            block = block.on_grid(steps)
        for one in each:
            line = one.counts[:, None] if part == "counts" else getattr(one, part)
            moved = np.abs(block.to_grid(3 * line))
            assert moved.sum() <= block.l1_steps
            assert int((moved * moved).sum()) <= Fraction(block.l2_steps) ** 2


@pytest.mark.parametrize("size", [1, 2, 3, 40, 700])
def test_shortened_rows_are_never_longer_than_the_radius(size):
    """On whole numbers, exactly, rows barely too long included."""
    rng = np.random.default_rng(size)
    radius = 1 << 14
    scales = radius / math.sqrt(size) * np.geomspace(0.999, 60, 400)[:, None]
    values = np.rint(rng.normal(size=(400, size)) * scales)
    values[0] = 0
    if size > 1:
        values[1, :2] = [radius, 1]
    short = shorten(values, Summation(terms=(), radius=radius)).astype(object)
    assert max((short * short).sum(axis=1)) <= radius**2
    assert (np.abs(short) <= np.abs(values)).all()
    kept = (values * values).sum(axis=1) <= radius**2
    assert kept.any()
    assert (short[kept] == values[kept]).all()


def test_what_a_row_adds_along_directions_is_its_own():
    """To the bit, wherever the row stands: matrix products of floats would not promise that."""
    rng = np.random.default_rng(5)
    lines = np.linalg.qr(rng.normal(size=(300, 300)))[0][:40]
    directions = Directions.of(lines)
    values = rng.integers(-30_000, 30_000, size=(257, 300)).astype(np.float64)
    together = directions.along(values)
    exact = (values.astype(object) @ directions.matrix.T.astype(object)).astype(np.float64)
    assert (together == np.floor(exact / DIRECTION_STEPS + 0.5)).all()
    for place in (0, 1, 128, 255, 256):
        assert (directions.along(values[place : place + 1]) == together[place]).all()
    assert np.abs(together - values @ lines.T).max() < 40


def test_sensitivities_are_as_they_were() -> None:
    """To the last digit: what the search above bounds from below is not raised unseen."""
    domain, lines = Domain(SCHEMA), []
    shares = {"counts": 1.0, "sums": 1.0, "moments": 1.0}
    protected = [("add_remove", 1), ("replace", 1), ("add_remove", 3)]
    for name, options in QUESTIONS.items():
        for moments, (neighbours, rows) in itertools.product(("squares", "products"), protected):
            question = Sum(budget=Budget(1.0), moments=moments, shares=shares, **options)
            lines.append(f"{name}, {moments}, {neighbours}, {rows}")
            for part, block in question.blocks(domain, neighbours, rows).items():
                scales = [block.scale(Budget(1.0)), block.scale(Budget(0.5, "rho"))]
                lines.append(
                    f"  {part}: {block.l1}, {block.l2_squared}, {block.moved} moved, "
                    f"{block.steps} steps, scales {show(scales)}"
                )
    compare("sensitivities-of-sums", lines)
