"""What `adaptive` does for a column that is to be predicted."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from understudy import Adaptive, Schema, Table
from understudy.data.encoding import encode
from understudy.data.tables import Column
from understudy.models.graphical.learner import GraphicalLearner
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers.adaptive_target import (
    MAX_TARGET_SHARE,
    MIN_TARGET_SHARE,
    keep_telling,
    measure_pairs,
    merge_for_target,
)

WORDS: dict[str, Any] = {"kind": "categorical"}
SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "number": {"kind": "integer", "min": 0, "max": 15, "bins": 16, "missing": "?"},
            "word": WORDS | {"values": list(range(12))},
            "other": WORDS | {"values": [0, 1, 2]},
            "flip": WORDS | {"values": [0, 1]},
            "label": WORDS | {"values": [0, 1]},
        }
    }
)


def make_rows(rows: int) -> Table:
    """Two columns tell the label, ``other`` and ``flip`` do not; these two are the same coin."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, rows)
    coin = rng.integers(0, 2, rows)
    return Table(
        {
            "number": Column("integer", np.clip(5 * label + rng.integers(0, 11, rows), 0, 15)),
            "word": Column("integer", (6 * label + rng.integers(0, 8, rows)) % 12),
            "other": Column("integer", coin * 2),
            "flip": Column("integer", coin),
            "label": Column("integer", label),
        }
    )


def make_learner(rows: int, delta: float = 0.0) -> GraphicalLearner:
    """One that knows single columns."""
    ledger = Ledger(1000.0, delta)
    learner = GraphicalLearner(
        CentralCurator(encode(make_rows(rows), SCHEMA), ledger, SeededNoise(0))
    )
    singles = [(name,) for name in learner.sizes]
    learner.measure(singles, Budget(100.0, ledger.left.currency).equally(len(singles)))
    return learner


def pairs_of(learner: GraphicalLearner) -> list[tuple[str, ...]]:
    return [(name, "label") for name in learner.sizes if name != "label"]


def test_values_are_merged_until_a_cell_has_more_rows_than_noise() -> None:
    """Noise of deviation 5.7 in each of four tables: 11 rows in a cell, 23 in a value."""
    merged = merge_for_target(make_learner(100), "label", Budget(1.0))
    assert merged.sizes["label"] == 2
    assert merged.sizes["flip"] == 2
    assert merged.sizes["word"] == 4  # 100 rows
    assert 3 <= merged.sizes["number"] <= 5  # missing stays by itself
    codes = merged._merged["number"].codes
    assert (np.diff(codes) >= 0).all()  # neighbours
    assert np.count_nonzero(codes == codes[-1]) == 1


def test_where_rows_are_many_no_value_is_merged() -> None:
    learner = make_learner(50_000)
    merged = merge_for_target(learner, "label", Budget(1.0))
    assert {name: size for name, size in merged.sizes.items() if name != "number"} == {
        name: size for name, size in learner.sizes.items() if name != "number"
    }


def test_a_target_of_many_values_is_merged_as_well() -> None:
    assert merge_for_target(make_learner(100), "word", Budget(1.0)).sizes["word"] < 12


@pytest.mark.parametrize(("rows", "share"), [(100, MAX_TARGET_SHARE), (50_000, MIN_TARGET_SHARE)])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_few_rows_leave_little_for_larger_tables(rows: int, share: float, delta: float) -> None:
    learner = make_learner(rows, delta)
    budget = Budget(0.5, learner.curator.ledger.left.currency)
    left = measure_pairs(learner, pairs_of(learner), budget)
    assert left.amount == pytest.approx(0.5 * (1 - share))


def test_a_share_between_makes_the_tables_clear() -> None:
    """In epsilon, half of the budget brings twice the noise."""
    learner = make_learner(3_000)
    spent = [
        amount - measure_pairs(learner, pairs_of(learner), Budget(amount)).amount
        for amount in (0.5, 0.6)
    ]
    assert MIN_TARGET_SHARE * 0.6 < spent[0] < MAX_TARGET_SHARE * 0.5
    assert spent[0] == pytest.approx(spent[1], rel=0.01)


def test_tables_of_columns_that_tell_nothing_of_the_target_are_not_looked_at() -> None:
    learner = make_learner(3_000)
    pairs = pairs_of(learner)
    learner.measure(pairs, Budget(4.0).equally(len(pairs)))
    others = [name for name in learner.sizes if name != "label"]
    triples = [(*two, "label") for two in combinations(others, 2)]
    assert keep_telling(learner, pairs, [*pairs, *triples]) == [
        *pairs,
        ("number", "word", "label"),
    ]


def test_columns_that_depend_on_each_other_alone_are_not_selected() -> None:
    """The same coin twice is what a model of pairs with the label has most wrong."""
    table = make_rows(3_000)
    model = Adaptive(epsilon=4.0, target="label").fit(table, SCHEMA, noise=SeededNoise(1))
    assert model.measurements is not None
    measured = [set(one.attributes) for one in model.measurements.tables]
    assert {"other", "flip", "label"} not in measured
    assert {"number", "label"} in measured


def rate(rows: int) -> tuple[Table, Schema]:
    """Ratings of which nearly all are one where the label is 0, and any where it is 1."""
    rng = np.random.default_rng(1)
    label = (rng.random(rows) < 0.35).astype(np.int64)
    columns = {"label": Column("integer", label)}
    entries = {"label": WORDS | {"values": [0, 1]}}
    for place in range(8):
        any_rating = rng.integers(1, 11, rows)
        rating = np.where((label == 1) | (rng.random(rows) < 0.08), any_rating, 1)
        columns[f"rating{place}"] = Column("integer", rating)
        entries[f"rating{place}"] = WORDS | {"values": list(range(1, 11))}
    return Table(columns), Schema.from_dict({"attributes": entries})


def test_noise_takes_no_value_away_from_a_class() -> None:
    """A tenth of the rows of a class, 20 of them, against noise of 18: where one in six such cells
    came out empty, a classifier took the value for a sure sign of the other class.
    """
    table, schema = rate(600)
    label = table.columns["label"].values
    lost = 0
    for seed in range(6):
        method = Adaptive(epsilon=1.0, delta=1e-9, target="label")
        model = method.fit(table, schema, noise=SeededNoise(seed))
        made = encode(model.sample(20_000, seed=1), schema).codes
        for place in range(8):
            real = (table.columns[f"rating{place}"].values[label == 1] == 1).mean()
            drawn = (made[f"rating{place}"][made["label"] == 1] == 0).mean()
            lost += drawn < real / 10
    assert lost == 0
