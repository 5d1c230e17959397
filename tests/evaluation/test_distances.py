"""Marginals, columns, range queries and pairs against values computed by hand or by other
libraries.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.evaluation.columns import column_comparisons, kolmogorov_smirnov, kullback_leibler
from understudy.evaluation.comparison import Comparison, compare_tables
from understudy.evaluation.marginals import distance_by_chance, marginals_by_order, total_variation
from understudy.evaluation.pairs import correlation, pairs
from understudy.evaluation.ranges import SANITY, range_errors


def coded_table(**columns: list[int]) -> Table:
    return Table(
        {
            name: Column("integer", np.array(values, dtype=np.int64))
            for name, values in columns.items()
        }
    )


def categories(**sizes: int) -> Schema:
    return Schema.from_dict(
        {
            "attributes": {
                name: {"kind": "categorical", "values": list(range(size))}
                for name, size in sizes.items()
            }
        }
    )


def random_table(rows: int, seed: int, **sizes: int) -> Table:
    rng = np.random.default_rng(seed)
    return coded_table(
        **{name: rng.integers(size, size=rows).tolist() for name, size in sizes.items()}
    )


# --------------------------------------------------------------------------- marginals


def test_marginals_by_hand() -> None:
    real = coded_table(a=[0, 0, 1, 1], b=[0, 1, 0, 1])
    synthetic = coded_table(a=[0, 0], b=[0, 0])
    tables = compare_tables(real, synthetic, categories(a=2, b=2))
    single = marginals_by_order(tables, 1)
    assert (single.mean, single.largest, single.measured, single.of) == (0.5, 0.5, 2, 2)
    pair = marginals_by_order(tables, 2)
    assert pair.mean == pytest.approx(0.75)
    assert [(error.name, error.distance) for error in pair.worst] == [("a x b", 0.75)]


def test_the_worst_come_first_and_a_sample_says_so() -> None:
    sizes = dict.fromkeys("abcdefgh", 3)
    tables = compare_tables(
        random_table(50, 0, **sizes), random_table(50, 1, **sizes), categories(**sizes)
    )
    everything = marginals_by_order(tables, 3, max_marginals=None)
    sample = marginals_by_order(tables, 3, max_marginals=20, seed=1)
    distances = [error.distance for error in everything.worst]
    assert len(distances) == 10
    assert distances == sorted(distances, reverse=True)
    assert distances[0] == everything.largest > everything.mean
    assert (everything.measured, everything.of, sample.measured, sample.of) == (56, 56, 20, 56)
    assert sample.largest <= everything.largest


def test_marginals_of_more_attributes_than_there_are_are_refused() -> None:
    tables = compare_tables(coded_table(a=[0]), coded_table(a=[0]), categories(a=2))
    with pytest.raises(InputError, match="no marginals of 2 attributes in a table of 1"):
        marginals_by_order(tables, 2)


def test_tables_too_large_to_hold_are_measured_by_their_occupied_cells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = {"a": 7, "b": 5, "c": 6}
    tables = compare_tables(
        random_table(80, 0, **sizes), random_table(70, 1, **sizes), categories(**sizes)
    )
    wanted = [marginal(*names) for names in itertools.combinations(sizes, 2)] + [marginal(*sizes)]
    dense = total_variation(tables.real.coded, tables.synthetic.coded, wanted)
    monkeypatch.setattr("understudy.evaluation.marginals.CELLS_AT_A_TIME", 30)
    assert total_variation(tables.real.coded, tables.synthetic.coded, wanted) == pytest.approx(
        dense, abs=1e-12
    )


def test_distance_by_chance_is_what_two_samples_show() -> None:
    rng = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    drawn = [
        np.abs(rng.multinomial(400, shares) / 400 - rng.multinomial(900, shares) / 900).sum() / 2
        for _ in range(4000)
    ]
    assert distance_by_chance(shares, 400, 900) == pytest.approx(np.mean(drawn), rel=0.03)


# --------------------------------------------------------------------------- columns


def test_a_column_by_hand() -> None:
    schema = Schema.from_dict(
        {"attributes": {"x": {"kind": "integer", "min": 0, "max": 5, "bins": 3, "missing": True}}}
    )
    gone = np.array([0, 0, 0, 1], dtype=np.uint8)
    real = Table({"x": Column("integer", np.array([0, 2, 3, 0]), missing=gone)})
    synthetic = Table({"x": Column("integer", np.array([1, 1, 2, 3]))})
    (column,) = column_comparisons(compare_tables(real, synthetic, schema))
    assert column.labels == ("0 to 1", "2 to 3", "4 to 5")
    assert column.edges == (0, 2, 4, 6)
    assert (column.real, column.real_missing) == ((0.25, 0.5, 0.0), 0.25)
    assert (column.synthetic, column.synthetic_missing) == ((0.5, 0.5, 0.0), 0.0)
    assert column.total_variation == pytest.approx(0.25)
    assert column.kolmogorov_smirnov == pytest.approx(
        1 / 3
    )  # at 1: one of three values, two of four at or below
    p, q = np.array([1.5, 2.5, 0.5, 1.5]) / 6, np.array([2.5, 2.5, 0.5, 0.5]) / 6
    assert column.kullback_leibler == pytest.approx(np.sum(p * np.log2(p / q)))
    assert column.real_summary["mean"] == pytest.approx(5 / 3)
    assert column.synthetic_summary["median"] == 1.5


def test_values_that_occur_on_one_side_only_are_named() -> None:
    (column,) = column_comparisons(
        compare_tables(coded_table(a=[0, 1]), coded_table(a=[1, 2]), categories(a=4))
    )
    assert (column.only_real, column.only_synthetic) == (("0",), ("2",))
    assert column.kolmogorov_smirnov is None
    assert math.isfinite(column.kullback_leibler)


def test_kolmogorov_smirnov_is_scipy_s() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(2)
    left, right = np.round(rng.normal(size=300), 1), np.round(rng.normal(0.3, 2, size=200), 1)
    assert kolmogorov_smirnov(np.sort(left), np.sort(right)) == pytest.approx(
        stats.ks_2samp(left, right).statistic
    )
    assert kolmogorov_smirnov(left[:0], right) is None


@given(st.lists(st.integers(0, 50), min_size=2, max_size=8))
def test_divergence_from_itself_is_nil_and_never_below(counts: list[int]) -> None:
    here = np.array(counts)
    assert kullback_leibler(here, here) == pytest.approx(0, abs=1e-12)
    assert kullback_leibler(here, here[::-1]) >= -1e-12


# --------------------------------------------------------------------------- range queries


def test_range_queries_by_brute_force() -> None:
    schema = Schema.from_dict(
        {
            "attributes": {
                "x": {"kind": "integer", "min": 0, "max": 9, "bins": 10},
                "a": {"kind": "categorical", "values": [0, 1, 2]},
            }
        }
    )
    real, synthetic = random_table(40, 0, x=10, a=3), random_table(60, 1, x=10, a=3)
    found = range_errors(compare_tables(real, synthetic, schema), queries=300, seed=3)
    assert found.queries == 300
    assert found.sanity == SANITY
    for query in found.worst:
        assert query.relative_error == pytest.approx(
            abs(query.synthetic - query.real) / max(query.real, SANITY)
        )
        for side, share in ((real, query.real), (synthetic, query.synthetic)):
            assert share == pytest.approx(_answer(side, query.question))
    errors = [query.relative_error for query in found.worst]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] >= found.mean_relative >= 0


def _answer(table: Table, question: str) -> float:
    inside = np.ones(table.rows, dtype=bool)
    for part in question.split(" and "):
        if " from " in part:
            name, bounds = part.split(" from ")
            low, high = map(int, bounds.split(" up to "))
            wanted = list(range(low, high + 1))
        else:
            name, values = part.split(" is ")
            wanted = list(map(int, values.split(" or ")))
        inside &= np.isin(table.columns[name].values, wanted)
    return float(inside.mean())


# --------------------------------------------------------------------------- pairs


def test_information_by_hand() -> None:
    real = coded_table(a=[0, 0, 1, 1], b=[0, 0, 1, 1], c=[0, 1, 0, 1])
    synthetic = coded_table(a=[0, 0, 1, 1], b=[0, 1, 0, 1], c=[0, 0, 0, 0])
    found = pairs(compare_tables(real, synthetic, categories(a=2, b=2, c=3)))
    assert found.information_real.tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert found.information_synthetic.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert found.information_difference[0, 1] == -1
    assert found.ordered == ("a", "b")  # c has three values without an order
    assert found.correlation_real.tolist() == [[1, 1], [1, 1]]
    assert found.correlation_difference[0, 1] == -1


def test_information_is_scikit_learn_s() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    real = random_table(200, 0, a=5, b=3)
    found = pairs(compare_tables(real, real, categories(a=5, b=3)))
    nats = metrics.mutual_info_score(real.columns["a"].values, real.columns["b"].values)
    assert found.information_real[0, 1] == pytest.approx(nats / math.log(2))


def test_correlations_leave_out_rows_where_a_value_is_missing() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.normal(1000, 1, size=(100, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.2], [0, 0, 1]])
    assert correlation(numbers) == pytest.approx(np.corrcoef(numbers.T))
    numbers[::7, 0] = np.nan
    numbers[3::11, 2] = np.nan
    for i, j in itertools.combinations(range(3), 2):
        both = ~np.isnan(numbers[:, [i, j]]).any(axis=1)
        assert correlation(numbers)[i, j] == pytest.approx(
            np.corrcoef(numbers[both][:, [i, j]].T)[0, 1]
        )


def test_correlation_with_a_constant_is_undefined() -> None:
    numbers = np.column_stack([np.arange(5.0), np.full(5, 3.0), np.full(5, np.nan)])
    found = correlation(numbers)
    assert found[0, 0] == pytest.approx(1)
    assert np.isnan(found[0, 1:]).all()


def test_correlation_of_no_rows_is_undefined_and_silent(recwarn: pytest.WarningsRecorder) -> None:
    assert np.isnan(correlation(np.empty((0, 2)))).all()
    assert np.isnan(correlation(np.column_stack([np.arange(3.0), np.full(3, np.nan)]))[:, 1]).all()
    correlation(np.array([[1e300, 1.0], [2e300, 2.0]]))
    assert len(recwarn) == 0


# --------------------------------------------------------------------------- invariances


@pytest.fixture
def itself() -> Comparison:
    sizes = {"a": 4, "b": 2, "c": 3}
    one = random_table(60, 5, **sizes)
    return compare_tables(one, one, categories(**sizes))


def test_a_table_does_not_differ_from_itself(itself: Comparison) -> None:
    for order in (1, 2, 3):
        assert marginals_by_order(itself, order).largest == 0
    assert range_errors(itself, queries=50).mean_relative == 0
    for column in column_comparisons(itself):
        assert column.total_variation == 0
        assert column.kullback_leibler == pytest.approx(0, abs=1e-12)
    found = pairs(itself)
    assert not found.information_difference.any()
    assert not found.correlation_difference.any()


def test_repeated_and_reordered_rows_change_nothing(itself: Comparison) -> None:
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.permutation(60), rng.permutation(60)])
    twice = Table(
        {name: Column("integer", c.values[rows]) for name, c in itself.real.table.columns.items()}
    )
    tables = compare_tables(itself.real.table, twice, itself.schema)
    assert marginals_by_order(tables, 3).largest == pytest.approx(0, abs=1e-12)
    assert np.abs(pairs(tables).information_difference).max() < 1e-12
