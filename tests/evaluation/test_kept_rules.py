"""Rules that real rows keep are found, told where synthetic rows break them, and can be pasted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.evaluation import Evaluation, evaluate
from understudy.evaluation.formulas import find_formulas
from understudy.evaluation.grades import grade_marginals, lost_relations
from understudy.evaluation.kept import keeps_rule
from understudy.evaluation.marginals import marginals_by_order
from understudy.evaluation.original import compare_originals
from understudy.evaluation.rules import (
    BrokenRule,
    broken_rules,
    find_rules,
    write_constraints,
)
from understudy.reports.owner import owner_report

pytest.importorskip("xgboost")

TOWNS = ("Aarhus", "Odense", "Skive", "Vejle")
REGION_OF = np.array([0, 1, 0, 1])
ROWS = 2000


def orders(rows: int, seed: int, *, shuffled: bool = False) -> Table:
    """Orders of which each row keeps six rules; shuffled, the same columns without any."""
    rng = np.random.default_rng(seed)
    price = np.round(rng.lognormal(3, 0.6, rows), 2)
    amount = rng.integers(1, 20, rows)
    paid, owed = rng.poisson(3, rows), rng.poisson(2, rows)
    start = 18000 + rng.integers(0, 700, rows)
    days = rng.integers(0, 300, rows)
    town = rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])
    income = np.round(rng.lognormal(10, 0.5, rows))
    columns = {
        "start date": Column("date", start),
        "end": Column("date", start + days),
        "price": Column("real", price),
        "amount": Column("integer", amount),
        "total": Column("real", np.round(price * amount, 2)),
        "paid": Column("integer", paid),
        "owed": Column("integer", owed),
        "due": Column("integer", paid + owed),
        "town": Column("text", town, TOWNS),
        "region": Column("text", REGION_OF[town], ("Mid", "South")),
        "age": Column("integer", rng.integers(18, 90, rows)),
        "income": Column("real", income),
        "spent": Column("real", np.round(income * rng.beta(2, 3, rows))),
    }
    if shuffled:
        columns = {
            name: replace(column, values=rng.permutation(column.values))
            for name, column in columns.items()
        }
    return Table(columns)


def rules_of(real: Table, synthetic: Table) -> Mapping[str, BrokenRule]:
    return {rule.text: rule for rule in find_rules(compare_originals(real, synthetic))}


@pytest.fixture(scope="module")
def shuffled() -> Evaluation:
    return evaluate(orders(ROWS, 0), orders(ROWS, 1, shuffled=True))


def test_orders_sums_products_and_dependencies_are_found(shuffled: Evaluation) -> None:
    assert {rule.text for rule in shuffled.rules} == {
        '"start date" <= end',
        "total = price * amount",
        "due = paid + owed",
        "town -> region",
        "spent < income",
    }
    assert all(rule.real == 0 for rule in shuffled.rules)
    shares = [rule.synthetic for rule in shuffled.rules]
    assert shares == sorted(shares, reverse=True)
    assert min(shares) > 0.1


def test_rules_that_are_kept_are_not_complained_about() -> None:
    found = rules_of(orders(ROWS, 0), orders(ROWS, 1))
    assert len(found) == 5
    assert all(rule.synthetic == 0 for rule in found.values())
    assert broken_rules(tuple(found.values())) == ()


def test_broken_rules_are_told_with_what_to_paste(shuffled: Evaluation) -> None:
    told = next(each for each in shuffled.findings if each.subject == "rules")
    assert told.grade == "poor"
    assert told.sentence.startswith("5 of 5 rules that (nearly) all real rows keep are broken in")
    assert "exact numbers" in shuffled.verdict.not_for
    line = write_constraints(shuffled.rules)
    entries = json.loads("{" + line + "}")["constraints"]
    dates = {"kind": "date", "min": "2019-01-01", "max": "2030-12-31"}
    number = {"kind": "integer", "min": 0, "max": 100000}
    names = ("amount", "paid", "owed", "age", "price", "income", "spent")
    schema = Schema.from_dict(
        {
            "attributes": {
                "start date": dates,
                "end": dates,
                **dict.fromkeys(names, number),
                "total": {"kind": "real", "decimals": 2},
                "due": {"kind": "integer"},
                "town": {"kind": "categorical", "values": list(TOWNS)},
                "region": {"kind": "categorical", "values": ["Mid", "South"]},
            },
            "constraints": entries,
        }
    )
    assert len(schema.constraints.entries) == 5
    page = owner_report(shuffled)
    assert '<section id="rules">' in page
    assert "total = price * amount" in page
    assert "&quot;inequality&quot;: &quot;spent &lt; income&quot;" in page


def test_what_says_nothing_is_no_rule() -> None:
    """Ages lie below incomes, and zeros add up, whatever the other columns hold."""
    rng = np.random.default_rng(0)
    rare = [np.where(rng.random(ROWS) < 0.004, rng.integers(1, 9, ROWS), 0) for _ in range(3)]
    table = Table(
        {
            "age": Column("integer", rng.integers(18, 90, ROWS)),
            "income": Column("integer", rng.integers(10_000, 90_000, ROWS)),
            **{f"rare{i}": Column("integer", values) for i, values in enumerate(rare)},
            "code": Column("text", np.arange(ROWS) // 4, tuple(map(str, range(ROWS // 4)))),
            "flag": Column("text", (rng.random(ROWS) < 0.02).astype(int), ("no", "yes")),
            "other": Column("text", rng.integers(0, 2, ROWS), ("no", "yes")),
        }
    )
    assert rules_of(table, table) == {}


@pytest.mark.parametrize(
    ("broken", "apart", "rows", "kept"),
    [
        (0.0, 0.5, 1000, True),
        (0.0, 0.5, 30, False),  # few rows: by chance
        (0.0, 0.01, 10_000, False),  # hardly anything breaks it
        (0.009, 0.03, 10_000, False),  # shuffled columns break it hardly more often
        (0.009, 0.3, 10_000, True),
        (0.02, 0.9, 10_000, False),
    ],
)
def test_a_rule_says_more_than_its_columns(
    broken: float, apart: float, rows: int, kept: bool
) -> None:
    assert keeps_rule(broken, apart, rows) is kept


def test_of_values_that_one_row_has_nothing_follows() -> None:
    rng = np.random.default_rng(0)
    table = Table(
        {
            "weight": Column("integer", rng.permutation(300)),
            "ill": Column("text", rng.integers(0, 2, 300), ("no", "yes")),
        }
    )
    assert rules_of(table, table) == {}


def test_a_product_that_is_wrong_wherever_it_is_not_zero_is_none() -> None:
    rng = np.random.default_rng(0)
    price = np.where(rng.random(ROWS) < 0.03, rng.integers(1, 50, ROWS), 0)
    amount = rng.integers(2, 9, ROWS)
    due = price * amount
    due[np.flatnonzero(due)[:15]] += 1
    table = {"price": price, "amount": amount, "due": due}
    made = Table({name: Column("integer", values) for name, values in table.items()})
    assert "due = price * amount" not in rules_of(made, made)


def test_one_order_in_a_hundred_may_be_an_exception() -> None:
    rng = np.random.default_rng(0)
    low = rng.integers(0, 1000, ROWS)
    high = low + rng.integers(0, 500, ROWS)
    for wrong, known in ((10, True), (60, False)):
        swapped = high.copy()
        swapped[:wrong] = low[:wrong] - 1
        table = Table({"low": Column("integer", low), "high": Column("integer", swapped)})
        found = rules_of(table, table)
        assert ("low <= high" in found) is known
        assert broken_rules(tuple(found.values())) == ()  # real rows break it as often
        if known:
            assert found["low <= high"].real == pytest.approx(wrong / ROWS)


def test_of_a_chain_only_neighbours_are_named_and_copies_once() -> None:
    rng = np.random.default_rng(0)
    one = rng.integers(0, 1000, ROWS)
    two = one + rng.integers(0, 500, ROWS)
    three = two + rng.integers(0, 500, ROWS)
    table = Table(
        {
            "three": Column("integer", three),
            "one": Column("integer", one),
            "two": Column("integer", two),
            "copy": Column("real", one.astype(float)),
        }
    )
    assert set(rules_of(table, table)) == {"one <= two", "two <= three", "copy = one"}


def test_missing_values_and_values_that_no_real_row_has_break_no_rule() -> None:
    rng = np.random.default_rng(0)
    low, high = rng.integers(0, 500, ROWS), rng.integers(500, 900, ROWS) - 300
    high = np.maximum(low, high)
    gone = (rng.random(ROWS) < 0.5).astype(np.uint8)
    town = rng.integers(0, 4, ROWS)
    real = Table(
        {
            "low": Column("integer", low),
            "high": Column("integer", high),
            "town": Column("text", town, TOWNS),
            "region": Column("text", REGION_OF[town], ("Mid", "South")),
            "zip": Column("integer", 100 * town + 1000),
        }
    )
    made = Table(
        {
            "low": Column("integer", np.where(gone, 9999, low), missing=gone),
            "high": Column("integer", high),
            "town": Column("text", np.where(gone, 4, town), (*TOWNS, "other")),
            "region": Column(
                "text", np.where(gone, np.arange(ROWS) % 2, REGION_OF[town]), ("Mid", "South")
            ),
            "zip": Column("integer", np.where(gone, 1250, 100 * town + 1000)),
        }
    )
    found = rules_of(real, made)
    assert found["low <= high"].synthetic == 0
    assert found["town -> region"].synthetic == 0
    assert found["town -> zip"].synthetic == 0
    by_zip = [name for name in real.names if name != "town"]
    narrowed = [Table({name: table.columns[name] for name in by_zip}) for table in (real, made)]
    assert rules_of(*narrowed)["zip -> region"].synthetic == 0


# --------------------------------------------------------------------------- relations


def test_a_table_without_its_relations_is_not_fit_for_exploring(shuffled: Evaluation) -> None:
    two_way = next(errors for errors in shuffled.marginals if errors.order == 2)
    assert two_way.mean < 0.15  # the distance alone would let it pass
    use = next(use for use in shuffled.verdict.uses if use.name == "exploring")
    assert use.fit is False
    assert use.because.startswith("Relations are lost: tables of two related columns differ by")


def test_where_nothing_is_related_nothing_is_lost() -> None:
    tables = compare_originals(orders(ROWS, 0, shuffled=True), orders(ROWS, 1, shuffled=True))
    errors = marginals_by_order(tables, 2)
    assert errors.related == 0
    assert not lost_relations(errors)
    assert grade_marginals(errors) == "good"


def test_half_a_relation_is_not_lost() -> None:
    real = orders(ROWS, 0)
    parts = orders(ROWS, 1), orders(ROWS, 2, shuffled=True)
    kept = np.arange(ROWS) % 2 == 0
    half = Table(
        {
            name: replace(
                column, values=np.where(kept, column.values, parts[1].columns[name].values)
            )
            for name, column in parts[0].columns.items()
        }
    )
    errors = marginals_by_order(compare_originals(real, half), 2)
    assert 0 < errors.related < errors.of
    assert errors.related_mean < 0.7 * errors.independent_mean
    assert not lost_relations(errors)


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_a_sum_of_up_to_four_columns_is_found(parts: int) -> None:
    rng = np.random.default_rng(parts)
    numbers = {f"part{i}": rng.integers(0, 50, 500).astype(np.float64) for i in range(parts)}
    numbers["total"] = np.sum(list(numbers.values()), axis=0)
    [(names, rule)] = find_formulas(numbers, numbers, dict.fromkeys(numbers, "number"))
    assert names[0] == "total"
    assert rule.text == "total = " + " + ".join(f"part{i}" for i in range(parts))
