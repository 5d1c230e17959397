"""Columns that are mostly zero: few cells tell their range and their step."""

from __future__ import annotations

import numpy as np

from understudy import Table
from understudy.counting.partition import ends_of
from understudy.counting.spacings import spacings_of
from understudy.data.attributes import Quantity
from understudy.data.formats import Format
from understudy.data.tables import Column
from understudy.privacy.budget import Budget
from understudy.privacy.discovery import Discovery
from understudy.privacy.discovery_budget import Protection, ranges_prices
from understudy.privacy.discovery_draft import Draft
from understudy.privacy.discovery_scores import grid_odds, simple_ranges
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise

ROWS = 8000


def fees() -> Table:
    """Sixteen columns, of which one has a fee of some twenty in 7 % of the rows."""
    rng = np.random.default_rng(1)
    amounts = np.round(rng.lognormal(3, 1, ROWS), 2)
    fee = np.where(rng.random(ROWS) < 0.07, amounts, 0.0)
    others = {f"q{place}": Column("integer", rng.integers(1, 8, ROWS)) for place in range(15)}
    return Table({"fee": Column("real", fee), **others})


def test_few_amounts_beside_zeros_keep_their_size() -> None:
    tops, table = [], fees()
    for seed in range(6):
        ledger = Ledger.for_discovery(1.0, 1e-9)
        facts = Draft(table), ledger, ledger.budget, ledger.threshold_delta
        run = Discovery(*facts, SeededNoise(seed), share=None)
        run.count_rows()
        run.count_present()
        found = run.find().schema["fee"]
        assert isinstance(found, Quantity)
        tops.append(found.edges[-1])
        assert "cells of fee but zeros" in [entry.question for entry in ledger.entries]
        spent = sum(entry.amount for entry in ledger.entries)
        assert spent <= run.price.amount * (1 + 1e-9)
    # At equal prices for all columns, none in twenty reached 30.
    assert sum(30 <= top <= 400 for top in tops) >= 2


def test_a_range_that_few_cells_tell_gets_more_and_all_together_their_share() -> None:
    protection, left = Protection(neighbours="add_remove"), Budget(0.01, "rho")
    alike = ranges_prices(protection, left, 5000.0, 0.5, [5000.0] * 10)
    assert len({price.amount for price in alike}) == 1
    prices = ranges_prices(protection, left, 5000.0, 0.5, [5000.0] * 9 + [400.0])
    assert prices[-1].amount > 1.2 * prices[0].amount
    assert sum(price.amount for price in prices) <= 0.005


def test_simple_ranges_begin_at_zero_and_favour_the_narrow() -> None:
    for kind, step in (("integer", 1.0), ("real", 0.01)):
        ends = ends_of(kind)
        places, odds = simple_ranges(kind, ends, 40.0, step)
        assert (ends.edges[ends.lows[places]] == 0).all()
        assert (ends.widths[places] >= 1.5 * step).all()
        assert 20 < len(places) < 70
        order = np.argsort(ends.widths[places])
        assert (np.diff(odds[order]) <= 0).all()


def debts() -> Table:
    """Fourteen columns, of which one has a debt of some hundreds in a tenth of the rows, and one
    days in hospital in a fifteenth.
    """
    rng = np.random.default_rng(1)
    rows = 4500
    amounts = np.round(rng.lognormal(5, 1, rows)).astype(np.int64)
    debt = np.where(rng.random(rows) < 0.1, amounts, 0)
    days = np.where(rng.random(rows) < 0.07, rng.geometric(0.15, rows), 0)
    others = {f"q{place}": Column("integer", rng.integers(1, 8, rows)) for place in range(12)}
    return Table({"debt": Column("integer", debt), "days": Column("integer", days), **others})


def test_whole_amounts_beside_zeros_are_not_one_value() -> None:
    tops, table = [], debts()
    for seed in range(6):
        ledger = Ledger.for_discovery(1.0, 1e-9)
        facts = Draft(table), ledger, ledger.budget, ledger.threshold_delta
        run = Discovery(*facts, SeededNoise(seed), share=None)
        run.count_rows()
        run.count_present()
        schema = run.find().schema
        debt, days = schema["debt"], schema["days"]
        assert isinstance(debt, Quantity)
        assert isinstance(days, Quantity)
        tops.append(debt.edges[-1])
        # Where range and step are a guess, still something lies beside zero.
        assert min(debt.size, days.size) > 1
        assert debt.step in (None, 1)
    # Odds that outweighed all debts chose ranges up to one or two in each of twenty.
    assert sum(100 <= top <= 20_001 for top in tops) >= 4


def test_odds_of_simple_ranges_do_not_outweigh_the_cells_that_tell() -> None:
    for kind, step in (("integer", 1.0), ("real", 0.01)):
        ends = ends_of(kind)
        for evidence in (10.0, 20.0, 40.0):
            places, odds = simple_ranges(kind, ends, evidence, step)
            tops = ends.edges[ends.highs[places]] - (kind == "integer")
            least = np.flatnonzero(tops == tops.min())[0]
            wide = np.flatnonzero(tops == 1000)[0]
            # All lie up to a thousand, and a tenth of them close to zero.
            assert evidence + odds[wide] > 0.1 * evidence + odds[least]


def test_with_little_evidence_a_grid_is_coarse_rather_than_any() -> None:
    form = Format("real")
    odds = grid_odds(form, 10.0)
    steps = [spacing.step for spacing in spacings_of(form) if not spacing.notation]
    favoured = dict(zip(steps, odds, strict=False))
    assert favoured[1.0] - favoured[1e-4] > 5
    # Half of the cells outweigh it.
    assert favoured[1.0] - favoured[0.01] < 10
