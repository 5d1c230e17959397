"""Linear queries over a table: their sensitivity, by search and by hand, and their noise."""

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
from understudy.data.marginals import marginal
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.linear import LinearQueries, QueryMatrix
from understudy.privacy.mechanisms import SeededNoise, gaussian_scale


def matrix_of(dense: Any) -> QueryMatrix:
    dense = np.array(dense, dtype=np.int64)
    rows, columns = np.nonzero(dense)
    return QueryMatrix(*dense.shape, rows, columns, dense[rows, columns])


def searched(dense: Any, neighbours: str) -> tuple[int, int]:
    """The largest distances over all neighbouring tables of up to three rows."""
    dense = np.array(dense, dtype=np.int64)
    cells = dense.shape[1]
    most = [0, 0]
    for rows in range(3):
        for body in itertools.combinations_with_replacement(range(cells), rows):
            table = np.bincount(body, minlength=cells).astype(np.int64)
            for here, there in itertools.product(range(cells), repeat=2):
                one, other = table.copy(), table.copy()
                other[there] += 1
                if neighbours == "replace":
                    one[here] += 1
                apart = dense @ one - dense @ other
                most = [max(most[0], np.abs(apart).sum()), max(most[1], (apart**2).sum())]
    return int(most[0]), int(most[1])


MATRICES = st.integers(1, 3).flatmap(
    lambda queries: st.lists(
        st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=queries, max_size=queries
    )
)


@given(dense=MATRICES, neighbours=st.sampled_from(["add_remove", "replace"]))
@settings(max_examples=60, deadline=None)
def test_the_distances_are_those_of_a_search(dense: Any, neighbours: Any) -> None:
    assert matrix_of(dense).distances(neighbours) == searched(dense, neighbours)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("power", [20, 29, 30, 31, 32, 33, 40])
def test_large_numbers_do_not_wrap_around(power: int, neighbours: Any) -> None:
    """2^32 squared is 0 in 64 bits; noise for a sensitivity of 0 would protect nobody."""
    numbers = (2**power, -(2**power), 3)
    if power > 30:
        with pytest.raises(InputError, match="a difference from a public number"):
            matrix_of([numbers])
        return
    matrix = matrix_of([numbers])
    farthest = 2**power * (1 + (neighbours == "replace"))
    assert matrix.distances(neighbours) == (farthest, farthest**2)


def test_many_columns_have_a_bound_that_is_not_below_the_distances() -> None:
    rng = np.random.default_rng(0)
    signed = rng.integers(-5, 6, (600, 40))
    for dense in (signed, np.abs(signed)):
        matrix = matrix_of(dense)
        assert matrix._distinct_columns() is None
        apart = dense[:, :, None] - dense[:, None, :]
        l1, l2_squared = matrix.distances("replace")
        assert l1 >= np.abs(apart).sum(axis=0).max()
        assert l2_squared >= (apart**2).sum(axis=0).max()
        longest = np.abs(dense).sum(axis=0).max(), (dense**2).sum(axis=0).max()
        factor = 4 if dense.min() < 0 else 2
        assert (l1, l2_squared) == (2 * longest[0], factor * longest[1])


def test_few_distinct_columns_are_compared_however_many_cells_there_are() -> None:
    """Up to 512 queries, and as many numbers as fit into memory."""
    for queries, cells, compared in [
        (512, 8, True),
        (513, 8, False),
        (512, 1 << 13, True),
        (512, (1 << 13) + 1, False),
    ]:
        matrix = QueryMatrix.counting(np.zeros(cells, dtype=np.int64), queries)
        assert (matrix._distinct_columns() is not None) == compared
    for queries, compared in [(128, True), (129, False)]:  # 128^2 columns of 128 are 2^21 numbers
        matrix = QueryMatrix.counting(np.arange(queries), queries)
        assert (matrix._distinct_columns() is not None) == compared


def test_a_count_moves_by_one_under_both_relations() -> None:
    matrix = QueryMatrix.counting(np.array([0, -1, 0]), 1)
    assert matrix.distances("add_remove") == matrix.distances("replace") == (1, 1)


def test_disjoint_classes_move_two_counts_when_a_row_is_replaced() -> None:
    matrix = QueryMatrix.counting(np.array([0, 1, 2]), 3)
    assert matrix.distances("add_remove") == (1, 1)
    assert matrix.distances("replace") == (2, 2)


def test_two_numbers_that_add_up_move_together_by_one_unit() -> None:
    steps = np.arange(5)
    matrix = QueryMatrix.weighing(np.zeros(5, dtype=np.int64), 1, np.stack([steps, 4 - steps]))
    assert matrix.distances("add_remove") == (4, 16)
    assert matrix.distances("replace") == (8, 32)


def test_answers_are_exact_but_for_the_noise() -> None:
    rows = coded(500)
    table = np.bincount(rows.codes["b"], minlength=rows.schema["b"].size)
    dense = np.arange(2 * len(table)).reshape(2, -1)
    question = LinearQueries(
        axes=marginal("b"), matrix=matrix_of(dense), budget=Budget(1e6), text="two sums"
    )
    curator = CentralCurator(rows, Ledger(1e6), SeededNoise(0))
    answers, scale = curator.answer(question)
    assert np.array_equal(answers, dense @ table)
    assert scale < 1e-3
    [entry] = curator.ledger.entries
    assert (entry.question, entry.amount) == ("two sums", 1e6)


@pytest.mark.parametrize(
    ("guarantee", "expected"),
    [
        ({}, 2.0),
        ({"neighbours": "replace"}, 4.0),
        ({"max_rows_per_person": 3}, 6.0),
    ],
)
def test_laplace_noise_is_of_the_l1_distance(guarantee: Any, expected: float) -> None:
    question = LinearQueries(
        axes=(), matrix=matrix_of([[2, 0, 1], [0, 2, 1]]), budget=Budget(1.0), text=""
    )
    assert question.scale(Ledger(1.0, **guarantee)) == pytest.approx(expected)


def test_gaussian_noise_is_of_the_l2_distance() -> None:
    ledger = Ledger(1.0, 1e-6, currency="rho")
    budget = Budget(0.5, "rho")
    question = LinearQueries(axes=(), matrix=matrix_of([[1, 0], [1, 1]]), budget=budget, text="")
    assert question.scale(ledger) == pytest.approx(math.sqrt(2))
    ledger = Ledger(1.0, 1e-6, currency="rho", max_rows_per_person=3)
    assert question.scale(ledger) == pytest.approx(3 * math.sqrt(2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"matrix": matrix_of([[1, 0, 1]])}, "column per cell"),
        ({"budget": Budget(0.0)}, "for nothing"),
        ({"axes": marginal("nobody")}, "no attribute"),
    ],
)
def test_what_cannot_be_answered_is_refused_and_free(changes: Any, message: str) -> None:
    rows = coded(50)
    axes = marginal(next(a.name for a in rows.schema if a.size == 2))
    curator = CentralCurator(rows, Ledger(1.0), SeededNoise(0))
    given = {"axes": axes, "matrix": matrix_of([[1, 0]]), "budget": Budget(1.0), "text": "q"}
    with pytest.raises(InputError, match=message):
        curator.answer(LinearQueries(**{**given, **changes}))
    assert curator.ledger.entries == []


@pytest.mark.parametrize(
    ("classes", "neighbours", "distance"),
    [
        ([0, 1, 2], "add_remove", 1.0),
        ([0, 1, 2], "replace", math.nextafter(math.sqrt(2), math.inf)),
    ],
)
def test_a_root_is_rounded_up_and_a_whole_distance_is_not(
    classes: list[int], neighbours: Any, distance: float
) -> None:
    question = LinearQueries(
        axes=marginal("c"),
        matrix=QueryMatrix.counting(np.array(classes), 3),
        budget=Budget(0.3, "rho"),
        text="t",
    )
    for rows in (1, 3)[: 2 if neighbours == "add_remove" else 1]:
        ledger = Ledger(1.0, 1e-6, neighbours, "rho", max_rows_per_person=rows)
        assert question.scale(ledger) == gaussian_scale(rows * distance, 0.3)
    assert gaussian_scale(distance, 0.3) != gaussian_scale(math.nextafter(distance, 9), 0.3)
    assert gaussian_scale(distance, 0.3) != gaussian_scale(math.nextafter(distance, 0), 0.3)
