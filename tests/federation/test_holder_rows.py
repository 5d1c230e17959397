"""A holder's rows: counted one by one, so that one row does not decide how long an answer takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from examples import coded, small_schema
from understudy import InputError, Ledger, PrivBayes, federate
from understudy.counting.column_checks import MAX_ROWS
from understudy.data.marginals import marginal
from understudy.federation.holder import Holder, HolderPolicy
from understudy.federation.holder_rows import HolderRows
from understudy.federation.known_tables import TablesCurator
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.curator import Measurement
from understudy.privacy.domain import Domain
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.vectors import VectorSum


def test_a_holder_does_not_collapse_equal_rows_and_counts_the_same() -> None:
    rows = coded(1000)
    own = HolderRows(rows, Ledger(1.0), SeededNoise(0))
    central = CentralCurator(rows, Ledger(1.0), SeededNoise(0))
    # Whether that is done goes by how many rows differ: at the limit one row decides it.
    assert central._rows.counter.distinct_rows is not None  # type: ignore[attr-defined]
    assert own._rows.counter.distinct_rows is None  # type: ignore[attr-defined]
    tables = [marginal("a", "b"), marginal("c")]
    for mine, theirs in zip(
        own._rows.counter.count(tables), central._rows.counter.count(tables), strict=True
    ):
        assert (mine == theirs).all()


def test_a_holder_s_own_model_is_learned_without_collapsing_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One row at the limit would make the first answer several times as long."""
    made: list[CentralCurator] = []

    class Noted(CentralCurator):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            made.append(self)

    monkeypatch.setattr("understudy.federation.holder_session.CentralCurator", Noted)
    schema = small_schema()
    holder = Holder("h", coded(1000), HolderPolicy(allowance=1.0, ways=("models",)))
    method = PrivBayes(epsilon=1.0, degree=1, encoding="gray")
    federate([holder], schema, method, "models", colluders=0)
    assert len(made) == 2  # the rows as they are, and as bits
    for curator in made:
        assert curator._rows.counter.distinct_rows is None  # type: ignore[attr-defined]


def test_more_rows_than_scores_are_right_for_are_scaled_where_all_is_public() -> None:
    """Many holders may have more together: released tables are scaled to what can be scored."""
    schema: Any = small_schema()
    together = 40 * MAX_ROWS
    dependent = np.array([[together // 2, 0, 0], [0, together // 2, 0]])
    alike = np.full((2, 8), together // 16)
    measured = [
        Measurement(marginal("a", "b"), dependent, "gaussian", 1.0),
        Measurement(marginal("a", "c"), alike, "gaussian", 1.0),
    ]
    asker: Any = SimpleNamespace(
        schema=schema,
        domain=Domain(schema),
        ledger=Ledger(1.0, neighbours="replace"),
        rows=together,
    )
    curator = TablesCurator(asker, measured)
    for score in ("R", "I", "F"):
        for candidates in ([("a", "b"), ("a", "c")], [("a", "c"), ("a", "b")]):
            place = curator.choose([marginal(*pair) for pair in candidates], score, Budget(1.0))
            assert candidates[place] == ("a", "b")


@pytest.mark.parametrize(
    "changes", [{"clip": 0.0}, {"clip": 1e7}, {"rate": 0.0}, {"budget": Budget(0.0, "rho")}]
)
def test_vectors_that_cannot_be_summed_are_refused_before_anything_is_debited(
    changes: dict[str, Any],
) -> None:
    ledger = Ledger(1.0, 1e-6, "add_remove", "rho")
    function: Any = SimpleNamespace(check=lambda schema: None, width=3)
    question = VectorSum(
        function=function, **({"clip": 1.0, "rate": 1.0, "budget": Budget(0.1, "rho")} | changes)
    )
    with pytest.raises(InputError):
        HolderRows(coded(10), ledger, SeededNoise(0)).sum_vectors(question)
    assert ledger.entries == []
