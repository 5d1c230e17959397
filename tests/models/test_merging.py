"""Rare values are merged while relations are learned, and told apart again in the model."""

from __future__ import annotations

import numpy as np
import pytest

from understudy import Schema, Table
from understudy.data.encoding import Coded, encode
from understudy.data.marginals import Axis, marginal
from understudy.data.tables import Column
from understudy.models.graphical.learner import GraphicalLearner
from understudy.models.graphical.merging import (
    merge_all_but,
    merge_neighbours,
    merge_rare,
    spread_values,
)
from understudy.models.network import Node
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers.adaptive import Adaptive


def test_values_below_the_threshold_share_the_last_code_by_their_counts() -> None:
    merged = merge_rare(np.array([50.0, 1.0, 30.0, 3.0, -2.0]), 10.0)
    assert merged.codes.tolist() == [0, 2, 1, 2, 2]
    assert merged.values == 3
    assert merged.shares.tolist()[0] == 1.0
    assert merged.shares[[1, 3, 4]].sum() == pytest.approx(1.0)
    assert merged.shares[3] > merged.shares[1] > merged.shares[4] == 0.0
    assert merged.sum(np.arange(5.0)).tolist() == [0.0, 2.0, 8.0]


def test_where_all_values_are_rare_the_largest_stays_by_itself() -> None:
    assert merge_rare(np.array([1.0, 4.0, 2.0]), 10.0).codes.tolist() == [1, 0, 1]


def test_neighbours_are_merged_until_each_has_its_quota() -> None:
    counts = np.array([10.0, 20.0, 30.0, 40.0, 5.0, 3.0])
    merged = merge_neighbours(counts, 25.0, ordered=6)
    assert merged.codes.tolist() == [0, 0, 1, 2, 2, 2]  # too little is left at the end
    assert merged.shares == pytest.approx([1 / 3, 2 / 3, 1.0, 40 / 48, 5 / 48, 3 / 48])
    assert merged.sum(counts).tolist() == [30.0, 30.0, 48.0]


def test_values_without_an_order_stay_by_themselves() -> None:
    merged = merge_neighbours(np.array([5.0, 5.0, 5.0, 9.0]), 8.0, ordered=3)
    assert merged.codes.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("counts", "codes"),
    [
        ([100, 0, 0, 0], [0, 1, 1, 1]),
        ([0, 0, 0, 100], [0, 0, 0, 1]),
        ([0, 100, 0, 0], [0, 0, 1, 1]),
        ([0, 0, 0, 0], [0, 1, 1, 1]),
        ([1, 1], [0, 1]),
    ],
)
@pytest.mark.parametrize("quota", [50.0, 1e9])
def test_at_least_two_values_are_left(counts: list[int], codes: list[int], quota: float) -> None:
    merged = merge_neighbours(np.array(counts, dtype=np.float64), quota, ordered=len(counts))
    assert merged.codes.tolist() == codes
    assert np.bincount(merged.codes, merged.shares) == pytest.approx([1.0, 1.0])


def test_all_but_the_most_frequent_values_are_merged() -> None:
    counts = np.array([50.0, 1.0, 30.0, 3.0, 40.0])
    assert merge_all_but(counts, 3).codes.tolist() == [0, 2, 2, 2, 1]
    assert merge_all_but(counts, 2).codes.tolist() == [0, 1, 1, 1, 1]
    for enough in (5, 6, 100):
        assert merge_all_but(counts, enough).values == 5


def test_a_spread_node_keeps_its_counts_and_depends_on_nothing_within_a_code() -> None:
    merged = {"x": merge_rare(np.array([50.0, 1.0, 30.0, 3.0]), 10.0)}
    joint = np.array([[5.0, 1.0], [2.0, 7.0], [4.0, 4.0]])  # merged x by y
    child = spread_values(Node("y", (Axis("x"),), joint), merged)
    parent = spread_values(Node("x", (Axis("y"),), joint.T), merged)
    assert child.table.shape == (4, 2)
    assert parent.table.shape == (2, 4)
    assert child.table.sum() == pytest.approx(joint.sum())
    assert np.allclose(child.table, parent.table.T)
    assert np.allclose(child.table[1] / child.table[1].sum(), [0.5, 0.5])


def make_large(rows: int = 6000) -> tuple[Table, Schema]:
    """A column of 400 values, a few of them frequent, that determines one of 4."""
    rng = np.random.default_rng(2)
    weights = 1 / np.arange(1, 401) ** 1.2
    fine = rng.choice(400, rows, p=weights / weights.sum())
    columns = {"fine": fine, "coarse": fine % 4, "other": rng.integers(0, 3, rows)}
    sizes = {"fine": 400, "coarse": 4, "other": 3}
    schema = Schema.from_dict(
        {
            "attributes": {
                name: {"kind": "categorical", "values": list(range(size))}
                for name, size in sizes.items()
            }
        }
    )
    return Table({name: Column("integer", column) for name, column in columns.items()}), schema


def test_merged_codes_are_counted_as_sums_of_the_codes() -> None:
    table, schema = make_large(500)
    coded: Coded = encode(table, schema)
    curator = CentralCurator(coded, Ledger(1e6), SeededNoise(0))
    codes = np.minimum(np.arange(400), 5)
    merged = curator.merge_values({"fine": codes})
    assert merged.ledger is curator.ledger
    [exact] = merged._rows.counter.count([marginal("fine", "coarse")])
    wanted = np.zeros((6, 4))
    np.add.at(wanted, (codes[coded.codes["fine"]], coded.codes["coarse"]), 1)
    assert exact.tolist() == wanted.tolist()
    merged.measure([marginal("fine")], Budget(1.0))
    assert len(curator.ledger.entries) == 1


def test_single_columns_are_measured_with_all_values_also_where_some_are_merged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("understudy.models.graphical.learner.LARGE_DOMAIN", 1000)
    table, schema = make_large(2000)
    curator = CentralCurator(encode(table, schema), Ledger(1e6), SeededNoise(0))
    singles = [("fine",), ("coarse",), ("other",)]
    learner = GraphicalLearner(curator)
    learner.measure(singles, Budget(3.0).equally(3))
    merged = learner.merge_rare_values(20.0, 0.0)
    assert merged.sizes["fine"] < 100
    before = learner.one_way_noise("fine")
    assert merged.one_way_noise("fine") == before
    merged.measure([*singles, ("fine", "coarse")], Budget(4e4).equally(4))
    assert [one.attributes for one in merged.measured[3:]] == [*singles, ("fine", "coarse")]
    assert merged.one_way_noise("fine") < before / 100
    merged.refit(50)
    exact = np.bincount(encode(table, schema).codes["fine"], minlength=400)
    model = merged.model({})
    drawn = encode(model.sample(2000, seed=1), schema).codes["fine"]
    # Within the merged code shares are those of the second, nearly exact table.
    assert np.abs(np.bincount(drawn, minlength=400) - exact).sum() < 0.1 * 2000


def test_neighbours_are_merged_where_values_are_in_order() -> None:
    """Words are merged where they are rare alone: none is next to another."""
    rng = np.random.default_rng(0)
    drawn = {name: rng.integers(0, 10, 1000) for name in ("number", "word")}
    words = tuple(f"w{place}" for place in range(10))
    table = Table(
        {
            "number": Column("integer", drawn["number"]),
            "word": Column("text", drawn["word"].astype(np.uint8), words),
        }
    )
    entries = {
        "number": {"kind": "integer", "min": 0, "max": 9, "bins": 10},
        "word": {"kind": "categorical", "values": list(words)},
    }
    schema = Schema.from_dict({"attributes": entries})
    learner = GraphicalLearner(CentralCurator(encode(table, schema), Ledger(1e6), SeededNoise(0)))
    learner.measure([("number",), ("word",)], Budget(1e4).equally(2))
    assert learner.merge_rare_values(20.0, 0.0) is learner
    merged = learner.merge_rare_values(20.0, 150.0)
    assert merged.sizes == {"number": 5, "word": 10}
    assert merged._merged["number"].codes.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert merged.cells(("number", "word")) == 50
    assert merged.fit.cells_with([("number", "word")]) == pytest.approx(100)  # so many in the model


def test_values_of_a_large_column_are_rare_within_two_deviations_of_its_own_noise() -> None:
    table, schema = make_large(2000)
    learner = GraphicalLearner(CentralCurator(encode(table, schema), Ledger(1e6), SeededNoise(0)))
    learner.measure([("fine",), ("coarse",), ("other",)], Budget(0.3).equally(3))
    merged = learner.merge_rare_values(0.0, 0.0)
    assert merged.sizes["fine"] < 60  # far more of 400 empty values exceed 0
    assert merged.one_way_noise("fine") < learner.one_way_noise("fine")


def test_a_column_of_many_values_keeps_what_it_determines() -> None:
    table, schema = make_large()
    model = Adaptive(epsilon=2.0, delta=1e-6).fit(table, schema, noise=SeededNoise(0))
    drawn = encode(model.sample(6000, seed=1), schema).codes
    assert (drawn["fine"] % 4 == drawn["coarse"]).mean() > 0.6
    assert model.schema["fine"].size == 400
    assert len(np.unique(drawn["fine"])) > 100
