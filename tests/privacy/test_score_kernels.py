"""The kernels of the scores: exact or nearly so for all tables, in steps that no row decides."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from examples import coded
from understudy import InputError, Ledger
from understudy.counting.column_checks import MAX_ROWS
from understudy.counting.memory import MAX_COUNTED_CELLS
from understudy.data.encoding import Coded
from understudy.data.marginals import Marginal, marginal
from understudy.privacy import score_kernels
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import SCORE_GRID, round_to_grid
from understudy.privacy.scores import Information, Misfit, score_named

Table = np.ndarray[Any, Any]
PAIR = marginal("x", "p")


@dataclass(frozen=True)
class Given:
    """A counter that was told its one table: of any number of rows."""

    table: Table

    @property
    def rows(self) -> int:
        return int(self.table.sum())

    def size(self, axis: Any) -> int:
        return int(self.table.shape[axis.attribute == "p"])

    def count_flat(self, marginals: list[Marginal]) -> tuple[Table, Table]:
        return self.table.ravel(), np.array([0, self.table.size])


def evaluated(name: str, table: Table, neighbours: Any = "replace") -> float:
    counter: Any = Given(table)
    return float(score_named(name).evaluate(counter, [PAIR], neighbours)[0])


# --------------------------------------------------------------------------- score F: its values


def kernel_mass(table: Table) -> int:
    """2 n F by the kernel."""
    return kernel_masses([table])[0]


def kernel_masses(tables: Sequence[Table], threads: int = 1) -> list[int]:
    """The same of many tables at once."""
    offsets = np.cumsum([0, *(table.size for table in tables)])
    flat = np.concatenate([table.ravel() for table in tables]).astype(np.int64)
    found: list[int] = score_kernels.assignment_masses(flat, offsets, threads).tolist()
    return found


@cache
def all_sides(width: int) -> Table:
    """Every way to put each value of the parents on one of two sides."""
    return np.array(list(itertools.product((0, 1), repeat=width)))


def over_all_assignments(table: Table) -> int:
    """2 n F by its definition."""
    n = int(table.sum())
    sides = all_sides(table.shape[1])
    k0, k1 = (1 - sides) @ table[0], sides @ table[1]
    return -int((np.maximum(n - 2 * k0, 0) + np.maximum(n - 2 * k1, 0)).min())


def over_all_sums(table: Table) -> int:
    """2 n F from every K0 that can be, and the most of K1 that goes with it."""
    best = {0: 0}
    for zeros, ones in table.T.tolist():
        after: dict[int, int] = {}
        for k0, k1 in best.items():
            after[k0 + zeros] = max(after.get(k0 + zeros, 0), k1)
            after[k0] = max(after.get(k0, 0), k1 + ones)
        best = after
    n = int(table.sum())
    return -min(max(n - 2 * k0, 0) + max(n - 2 * k1, 0) for k0, k1 in best.items())


def random_table(rng: np.random.Generator, width: int, largest: int) -> Table:
    """Counts of all sizes, many equal or zero, one value of the child more common or not."""
    table = rng.integers(0, rng.integers(1, largest + 1), (2, width))
    table[rng.random(table.shape) < rng.random()] = 0
    table[rng.integers(2)] *= rng.integers(1, 5)
    even = rng.random(width) < 0.2
    table[1, even] = table[0, even]
    return table


def test_score_f_is_the_best_of_all_assignments() -> None:
    rng = np.random.default_rng(1)
    tables = [random_table(rng, int(rng.integers(1, 10)), 30) for _ in range(1500)]
    for first in range(0, len(tables), 100):  # each call waits for its threads
        some = tables[first : first + 100]
        assert kernel_masses(some) == [over_all_assignments(table) for table in some]


def test_score_f_is_the_best_over_all_sums_of_larger_tables() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        table = random_table(rng, int(rng.integers(10, 65)), 60)
        assert kernel_mass(table) == over_all_sums(table), table


def test_score_f_of_many_tables_at_once() -> None:
    rng = np.random.default_rng(3)
    tables = [random_table(rng, int(rng.integers(1, 9)), 20) for _ in range(40)]
    for threads in (1, 3):
        assert kernel_masses(tables, threads) == [over_all_assignments(table) for table in tables]


def test_score_f_of_counts_beyond_two_to_the_thirtieth() -> None:
    """Even on both sides, so that the programme's range is short: two billion rows take no time."""
    half = MAX_ROWS // 2
    for table in ([[half, 0], [0, half]], [[half, 1], [half - 3, 2]], [[1, half - 9], [half, 8]]):
        assert kernel_mass(np.array(table)) == over_all_assignments(np.array(table))


# --------------------------------------------------------------------------- score F: its steps


def steps_of(table: Table, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many cells of the programme are visited."""
    visits: list[int] = []

    def line(values: Table) -> int:
        visits.append(values.size)
        return int(max((int(value) - i for i, value in enumerate(values)), default=-(1 << 40)))

    def larger(out: Table, stay: Table, move: Table, gain: int) -> None:
        visits.append(out.size)
        out[:] = np.maximum(stay, move + gain)

    with monkeypatch.context() as patch:
        patch.setattr(score_kernels, "_most_above_line", line)
        patch.setattr(score_kernels, "_take_larger", larger)
        excess = int(table[0].sum() - table[1].sum())
        common, rare = table if excess >= 0 else table[::-1]
        room = np.empty((2, abs(excess) // 2 + 1), np.int32)
        found = score_kernels._collect_most.py_func(common, rare, abs(excess), room)
    assert found - table.sum() == kernel_mass(table)
    return sum(visits)


def steps_with_a_way_out(table: Table, monkeypatch: pytest.MonkeyPatch) -> int:
    """A broken variant: no search where no side has too much with each value where it has more."""
    better = table[0] >= table[1]
    kept, other = table[0][better].sum(), table[1][~better].sum()
    if 2 * max(kept, other) <= table.sum():
        return 0
    return steps_of(table, monkeypatch)


Steps = Callable[[Table, pytest.MonkeyPatch], int]


def most_steps_of_a_row(steps: Steps, table: Table, monkeypatch: pytest.MonkeyPatch) -> int:
    """By how much one more row changes the steps, at most."""
    here = steps(table, monkeypatch)
    changes = []
    for cell in range(table.size):
        more = table.copy()
        more.flat[cell] += 1
        changes.append(abs(steps(more, monkeypatch) - here))
    return max(changes)


def tables_at_a_threshold() -> list[Table]:
    """Where one row once began or ended the search: an even value, a determined child."""
    even = np.array([[300, 60, 60, 60, 60, 60], [300, 5, 5, 5, 5, 5]])
    determined = np.array([[400, 300, 200, 100], [0, 0, 0, 0]])
    rng = np.random.default_rng(4)
    return [even, determined, *(random_table(rng, 6, 200) for _ in range(10))]


def test_one_row_changes_the_steps_of_score_f_by_a_few_for_each_parent_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for table in tables_at_a_threshold():
        most = most_steps_of_a_row(steps_of, table, monkeypatch)
        assert most <= 3 * table.shape[1], table


def test_a_way_out_early_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    even = tables_at_a_threshold()[0]
    assert most_steps_of_a_row(steps_with_a_way_out, even, monkeypatch) > 20 * even.shape[1]


def test_the_knapsack_lies_alike_in_memory_whatever_the_counts() -> None:
    page, line, number = 4096, 64, 4
    excesses = [*range(5_000), 10**6, 10**6 + 1, MAX_ROWS]
    rooms = [score_kernels.knapsack_room(excess) for excess in excesses]
    assert all(room > excess // 2 for room, excess in zip(rooms, excesses, strict=True))
    (place,) = {number * room % page for room in rooms}
    assert place % line == 0
    assert 1024 <= place <= page - 1024  # stores into one row do not hold up reads of the other


# --------------------------------------------------------------------------- score I: its error

getcontext().prec = 60


def kinds_of_cells(table: Table) -> Iterator[tuple[int, int, int, int]]:
    """Count, child's and parent's total, and how many cells have these: few of millions."""
    of_cell, counts = pd.factorize(table.ravel())  # quicker than to sort millions
    children, of_child = np.unique(table.sum(axis=1), return_inverse=True)
    parents, of_parent = np.unique(table.sum(axis=0), return_inverse=True)
    shape = (len(counts), len(children), len(parents))
    of_margins = of_child[:, None] * len(parents) + of_parent
    places = of_cell.reshape(table.shape) * (len(children) * len(parents)) + of_margins
    times = np.bincount(places.ravel(), minlength=int(np.prod(shape))).reshape(shape)
    for c, x, p in np.argwhere(times):
        yield int(counts[c]), int(children[x]), int(parents[p]), int(times[c, x, p])


def exact_bits(table: Table) -> Decimal:
    """n I in bits, to some 50 digits."""
    n = int(table.sum())
    logarithms = (
        many * count * (Decimal(n * count) / Decimal(child * parent)).ln()
        for count, child, parent, many in kinds_of_cells(table)
        if count
    )
    return sum(logarithms, Decimal(0)) / Decimal(2).ln()


def exact_unit(rows: int) -> Decimal:
    return (Decimal(rows + 1).ln() + 1) / Decimal(2).ln()


def blocks(side: int, inside: int, outside: int, width: int) -> Table:
    """A square table: ``inside`` rows per cell in blocks on its diagonal, else ``outside``."""
    block = np.arange(side) // width
    return np.where(block[:, None] == block, inside, outside).astype(np.int64)


HUGE = {
    "2,003,038,208 rows": lambda: blocks(2048, 488_000, 1, 2),
    "1,995,571,200 rows": lambda: blocks(2048, 90_300, 300, 4),
    "2,045,265,920 rows": lambda: blocks(4096, 970_000, 7, 1)[::2],
}
"""Made where they are used: every process that collects tests imports this file."""


def in_steps(error: Decimal, unit: Decimal) -> float:
    return float(abs(error) / unit * SCORE_GRID)


@pytest.mark.parametrize("name", HUGE)
def test_information_of_two_billion_rows_is_far_within_a_step_of_the_grid(name: str) -> None:
    table = HUGE[name]()
    rows = int(table.sum())
    assert f"{rows:,} rows" == name
    assert 1_900_000_000 < rows <= MAX_ROWS
    bits, unit = exact_bits(table), exact_unit(rows)
    found = Decimal(evaluated("I", table))
    assert abs(found - bits) <= 25 * rows * Decimal(2) ** -53  # as the kernel's docstring proves
    assert in_steps(found - bits, unit) < 0.1
    # In the units of add_remove, and as the grid has it
    whole = round_to_grid(np.array([evaluated("I", table, "add_remove")]), 1.0)[0]
    assert abs(Decimal(whole) - bits / unit * SCORE_GRID) < Decimal(
        "0.8"
    )  # half of it for rounding


def test_a_plain_sum_would_be_off_by_many_steps() -> None:
    """The positive control: what the tables above are made for."""
    table = HUGE["2,003,038,208 rows"]()
    n = float(table.sum())
    ratios = n * table / (table.sum(axis=1, keepdims=True) * table.sum(axis=0).astype(float))
    plain = np.cumsum((table * np.log2(ratios)).ravel())[-1]
    assert in_steps(Decimal(float(plain)) - exact_bits(table), exact_unit(int(n))) > 1000


@pytest.mark.parametrize("shape", [(1, 7), (7, 1), (2, 2), (3, 50), (40, 3), (17, 33)])
def test_information_of_random_tables_keeps_the_proved_error(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape)
    for largest in (1, 3, 1000, MAX_ROWS // (shape[0] * shape[1])):
        table = rng.integers(0, largest, shape, endpoint=True)
        table[rng.random(shape) < rng.random()] = 0
        rows = int(table.sum())
        found = Decimal(evaluated("I", table))
        assert abs(found - exact_bits(table)) <= 25 * rows * Decimal(2) ** -53


def test_the_logarithm_is_within_its_bound_on_both_sides_of_one() -> None:
    logarithm = score_kernels._log2_near_one
    numbers = np.linspace(0.5**0.5, 2**0.5, 400).tolist()
    numbers += [1.0, np.nextafter(1, 0), np.nextafter(1, 2), 1 + 2**-30, 1 - 2**-30]
    for number in numbers:
        exact = Decimal(float(number)).ln() / Decimal(2).ln()
        assert abs(Decimal(float(logarithm(number))) - exact) <= 6 * abs(exact) * Decimal(2) ** -53


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("rows", [2, 3, 1000, 10**6, MAX_ROWS])
def test_the_sensitivity_of_information_is_right_in_all_its_digits(rows: int, binary: bool) -> None:
    n, log = Decimal(rows), lambda number: Decimal(number).ln() / Decimal(2).ln()
    bound = log(n) + (n - 1) * log(n / (n - 1))
    if not binary:
        bound = max(bound, 2 * log((n + 1) / 2) + (n - 1) * log((n + 1) / (n - 1)))
    found = Decimal(score_named("I").sensitivity("replace", rows, binary))
    assert abs(found / bound - 1) < Decimal(2) ** -50


def test_the_error_of_information_is_below_a_step_for_all_that_can_be_counted() -> None:
    """The last line of the proof in decision 005, where rows and cells are at their limits."""
    u, most = 2.0**-53, np.log2(MAX_COUNTED_CELLS) / 2
    error = MAX_ROWS * u * (25 + 4 * most)  # the sum; then unit (twice), quotient and product
    assert error / Information.unit(MAX_ROWS) * SCORE_GRID < 0.65


# ------------------------------------------------------------------ R and misfit at the limits


AT_THE_LIMIT: dict[str, Callable[[], Table]] = {
    "halves": lambda: np.array([[MAX_ROWS // 2, 0], [0, MAX_ROWS - MAX_ROWS // 2]]),
    "one cell": lambda: np.array([[0, 0, MAX_ROWS]]),
    "one row apart": lambda: np.array([[MAX_ROWS - 1, 0], [0, 1]]),
    "blocks": lambda: blocks(2048, 488_000, 1, 2),
    "diagonal": lambda: blocks(64, 30_000_000, 40_000, 1),
}


@pytest.mark.parametrize("name", AT_THE_LIMIT)
def test_dependence_is_exact_up_to_the_most_rows(name: str) -> None:
    table = AT_THE_LIMIT[name]()
    n = int(table.sum())
    assert n <= MAX_ROWS
    offsets, children = np.array([0, table.size]), np.array([len(table)])
    [found] = score_kernels.dependence_masses(table.ravel(), offsets, children, n)
    exact = sum(
        many * abs(n * count - child * parent)
        for count, child, parent, many in kinds_of_cells(table)
    )
    assert int(found) == exact
    step = 2.0 / SCORE_GRID
    assert abs(Decimal(evaluated("R", table)) - Decimal(exact) / (2 * n)) < Decimal(step) / 4


def test_misfit_is_exact_up_to_the_most_rows() -> None:
    table = blocks(2048, 488_000, 1, 2)
    estimate = np.full(table.shape, 511.25)
    counter: Any = Given(table)
    [found] = Misfit().evaluate(counter, [PAIR], estimates=[estimate])
    quarters = int(np.abs(4 * table - 2045).sum())
    assert Decimal(found) == Decimal(quarters) / 4


@pytest.mark.parametrize("name", ["R", "I", "F"])
def test_more_rows_than_scores_are_right_for_are_refused(name: str) -> None:
    table = np.array([[MAX_ROWS, 0], [0, 1]])
    with pytest.raises(InputError, match=r"up to 2,147,483,647 rows; take a sample"):
        evaluated(name, table)


def test_a_curator_refuses_too_many_rows_before_a_debit() -> None:
    few = coded(10)
    ledger = Ledger(1.0)
    with pytest.raises(InputError, match="up to 2,147,483,647 rows"):
        CentralCurator(Coded(few.schema, few.codes, 2_200_000_000, ()), ledger)
    assert ledger.entries == []
