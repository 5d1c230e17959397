"""Tables that were collected before: adaptive fits all of them, and pays for nothing."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from understudy import Adaptive, Schema
from understudy.data.encoding import Coded
from understudy.encrypted.plans import list_tables
from understudy.errors import InputError
from understudy.models.joint.curator import EstimatedCurator, estimate_tables
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.release.callbacks import no_progress

SCHEMA = Schema.from_dict({"attributes": {name: {"kind": "boolean"} for name in "abcd"}})
ROWS = 20_000


@pytest.fixture(scope="module")
def curator() -> CentralCurator:
    """Rows in which a little of each column is that of the one before."""
    rng = np.random.default_rng(1)
    codes = {"a": rng.integers(0, 2, ROWS).astype(np.uint8)}
    for before, name in ("ab", "bc", "cd"):
        fresh = rng.integers(0, 2, ROWS).astype(np.uint8)
        codes[name] = np.where(rng.random(ROWS) < 0.1, codes[before], fresh)
    coded = Coded(schema=SCHEMA, codes=codes, rows=ROWS, outside=())
    return CentralCurator(coded, Ledger(0.25))


@pytest.fixture(scope="module")
def collected(curator: CentralCurator) -> EstimatedCurator:
    """Tables with noise of the operating system's: about 40 rows in a cell."""
    return estimate_tables(curator, list_tables(SCHEMA, 2), Budget(0.24))


def test_tables_of_one_estimate_agree_and_cost_nothing(collected: EstimatedCurator) -> None:
    assert collected.ledger.left.amount == pytest.approx(0.01, abs=1e-9)
    first, second = (collected.estimate.table(pair) for pair in ("ab", "bc"))
    np.testing.assert_allclose(first.sum(axis=0), second.sum(axis=1), atol=1e-9)


def test_the_model_follows_every_table_and_weighs_no_price(
    collected: EstimatedCurator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stops where a model that is counted in as many rows differs by chance: by 0.007 on
    average, and by more than 0.03 practically never.
    """

    def weigh(cost: Budget) -> float:
        raise AssertionError("there is no price to weigh noise against")

    monkeypatch.setattr(collected, "mean_noise", weigh)
    monkeypatch.setattr(collected, "choice_noise", weigh)
    lines = len(collected.ledger.entries)
    model = Adaptive(epsilon=0.25).learn(collected, Budget(0.25), no_progress)
    assert len(collected.ledger.entries) == lines
    for pair in ("ab", "bc", "cd", "ac", "bd", "ad"):
        shares = np.asarray(model.marginal(*pair).table)
        apart = np.abs(shares / shares.sum() - collected.estimate.table(pair)).sum() / 2
        assert apart < 0.03, pair


def test_cliques_stay_within_the_cells_that_the_user_allows(collected: EstimatedCurator) -> None:
    method = Adaptive(epsilon=0.25, max_cells=8)
    model = method.learn(collected, Budget(0.25), no_progress)
    assert max(node.table.size for node in model.network.nodes) == 4


def test_without_scipy_nothing_is_paid(
    curator: CentralCurator, collected: EstimatedCurator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    lines = len(curator.ledger.entries)
    with pytest.raises(InputError, match="needs SciPy"):
        estimate_tables(curator, list_tables(SCHEMA, 2), curator.ledger.left)
    assert len(curator.ledger.entries) == lines
