"""What noise, choices and releases cost, in every currency and relation (see tests/transcripts.py).

Tests elsewhere prove bounds; here no figure moves unseen, to six digits.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

from transcripts import compare, list_defaults, show
from understudy import Ledger
from understudy.data.cells import CellEncoder
from understudy.data.frames import as_table
from understudy.data.schema import Schema
from understudy.errors import UnderstudyError
from understudy.privacy.budget import Budget, epsilon_of, rho_of
from understudy.privacy.discovery_budget import (
    Protection,
    choice_price,
    foresee,
    foresee_by_need,
    frequent_numbers_price,
    grids_prices,
    kinds_prices,
    noise_tail,
    present_price,
    price_count,
    price_groups,
    price_second_looks,
    ranges_prices,
    rare_words_price,
    rows_to_be_seen,
    top_up_words,
)
from understudy.privacy.gaussian_privacy import gdp_epsilon_of, gdp_of, lone_loss, smooth_loss
from understudy.privacy.group_privacy import group_promise
from understudy.privacy.mechanisms import (
    choice_scale,
    draw_smoothing,
    mean_integer_noise,
    mean_noise,
    table_scale,
)
from understudy.privacy.ranks import rank_scale, rank_sensitivity
from understudy.privacy.renyi import best_order, epsilon_at, find_multiplier, rho_at
from understudy.privacy.scores import SCORES

AMOUNTS = (0.03, 0.5, 4.0)
CURRENCIES: tuple[Any, ...] = ("epsilon", "rho", "gdp")
RELATIONS: tuple[Any, ...] = ("add_remove", "replace")
BUDGETS = [Budget(a, currency) for currency in CURRENCIES for a in AMOUNTS]


def test_scales_of_noise() -> None:
    lines = []
    for budget, relation, rows in itertools.product(BUDGETS, RELATIONS, (1, 3)):
        figures: list[Any] = [
            call(budget, relation, rows) for call in (table_scale, mean_noise, mean_integer_noise)
        ]
        if budget.currency != "gdp":
            figures.append(rank_scale(budget, relation, 1))
            figures.append(rank_scale(budget, relation, 5))
            figures += [choice_scale(budget.amount, budget.currency, monotone=m) for m in (0, 1)]
            figures += [float(draw_smoothing(budget, n, relation, rows)) for n in (1, 50)]
        lines.append(f"{budget}, {relation}, {rows} rows: {show(figures)}")
    for name, score in SCORES.items():
        for relation, binary in itertools.product(RELATIONS, (False, True)):
            rows = 1000 if relation == "replace" else None
            told = show(score.sensitivity(relation, rows, binary))
            lines.append(f"{name}, {relation}, binary {binary}: {told}")
    lines += [
        f"rank {level}, {relation}: {show(rank_sensitivity(level, relation))}"
        for level, relation in itertools.product((0.0, 0.3, 0.9), RELATIONS)
    ]
    compare("scales", lines)


def test_conversions() -> None:
    lines = []
    for epsilon, delta in itertools.product((0.1, 1.0, 8.0), (1e-9, 1e-3)):
        lines.append(
            f"({epsilon}, {delta}): {show([rho_of(epsilon, delta), gdp_of(epsilon, delta)])}, "
            f"{show([epsilon_of(epsilon, delta), gdp_epsilon_of(epsilon, delta)])}, "
            f"{show([rho_at(order, epsilon, delta) for order in (2, 8, 64)])}, "
            f"{show([epsilon_at(order, epsilon, delta) for order in (2, 8, 64)])}, "
            f"best {best_order(epsilon, delta, 0.1, 100, 0.5)}"
        )
        for members in (1, 2, 30):
            lines.append(f"  {members}: {group_promise(epsilon, delta, members, 'x', 'row')}")
    for order, rate, rho in itertools.product((2, 9), (0.02, 0.5, 1.0), (0.001, 1.0)):
        lines.append(f"{order}, {rate}, {rho}: {show(find_multiplier(order, rate, rho))}")
    for amount, left in itertools.product((0.01, 1.0), (0.5, 4.0, 20.0)):
        loss = float(smooth_loss(Fraction(amount), Fraction(left)))
        lines.append(f"{amount} of {left}: {show([loss, lone_loss(amount)])}")
    compare("conversions", lines)


def test_prices_of_discovery() -> None:
    lines = []
    for budget, relation, rows in itertools.product(BUDGETS, RELATIONS, (1, 3)):
        hides = Protection(neighbours=relation, max_rows_per_person=rows)
        lines.append(f"{budget}, {relation}, {rows} rows per person")
        lines.append(
            "  "
            + show(
                [
                    hides.strength(budget),
                    hides.histogram_price(5.0, budget).amount,
                    hides.price(0.01, budget).amount,
                    choice_price(hides, budget, 500.0, (60.0, 0.2), 3).amount,
                    present_price(hides, budget, 500.0, 4).amount,
                    [each.amount for each in kinds_prices(hides, budget, [50.0, 400.0, 900.0])],
                    price_count(budget).amount,
                    price_second_looks(budget).amount,
                    rows_to_be_seen(hides, budget, 1e-9),
                    top_up_words(hides, budget, budget, 1e-9, 900.0, 3).amount,
                    rare_words_price(hides, budget, 1e-9, 900.0).amount,
                ]
            )
        )
        for look, people in itertools.product((foresee, foresee_by_need), (300.0, 40_000.0)):
            outlook = look(hides, budget, 1e-9, 7, people)
            told = [outlook.budget.amount, outlook.top_up.amount, outlook.second_look.amount]
            told += [outlook.category_rows, outlook.strength, outlook.range_rows]
            lines.append(f"  {show(told)}, {outlook.finds_ranges}, {outlook.finds_categories}")
    lines += [show(noise_tail(7.0, currency, p)) for currency in CURRENCIES for p in (1e-9, 0.9)]
    compare("discovery-prices", lines)


def test_prices_of_identifiers_and_numbers() -> None:
    """Some columns have few telling cells, and not all can have what they need."""
    lines = []
    for budget, rows in itertools.product(BUDGETS[1::3], (1, 3)):
        hides = Protection(neighbours="add_remove", max_rows_per_person=rows)
        lines.append(f"{budget}, {rows} rows per person")
        for people in (300.0, 40_000.0):
            telling = [people * share for share in (0.01, 0.3, 1.0)]
            ranges = [ranges_prices(hides, budget, people, share, telling) for share in (0.25, 0.5)]
            told = [
                [each.amount for each in grids_prices(hides, budget, telling)],
                [[each.amount for each in prices] for prices in ranges],
                [frequent_numbers_price(hides, budget, 1e-9, people, n).amount for n in (1, 9)],
                foresee_by_need(hides, budget, 1e-9, 7, people).numbers.amount,
            ]
            lines.append(f"  {people:g}: {show(told)}")
        lines.append(f"  groups {show([price_groups(budget, n).amount for n in (1, 3, 4, 30)])}")
    compare("prices-of-numbers", lines)


LEDGERS: dict[str, dict[str, Any]] = {
    "pure": {"epsilon": 2.0},
    "pure with a delta": {"epsilon": 2.0, "delta": 1e-6},
    "replace": {"epsilon": 2.0, "neighbours": "replace"},
    "rho": {"epsilon": 2.0, "delta": 1e-6, "currency": "rho"},
    "rho, thresholds": {
        "epsilon": 2.0, "delta": 1e-6, "currency": "rho", "threshold_delta": 4e-7,
        "stop_delta": 1e-7,
    },
    "gdp": {"epsilon": 2.0, "delta": 1e-6, "currency": "gdp", "max_rows_per_person": 3},
    "order": {"epsilon": 2.0, "delta": 1e-6, "currency": "rho", "order": 9, "unit": "person"},
}  # fmt: skip


def test_what_ledgers_say() -> None:
    lines = []
    for name, facts in LEDGERS.items():
        for stop in (False, True):
            ledger = Ledger(**facts)
            first, second, rest = ledger.budget.split(0.25, 0.25, 0.5)
            ledger.debit("one", first, "m, scale 2")
            ledger.debit_all([("two", second, "m"), ("three", Budget(0.0, second.currency), "n")])
            try:
                if stop:
                    ledger.stop(first.plus(second))
                told = f"promise {show(ledger.promise())}"
            except UnderstudyError as error:
                told = f"refused: {error}"
            lines += [
                f"{name}, stop {stop}: budget {show(ledger.budget.amount)}, left "
                f"{show(ledger.left.amount)}, spent {show(ledger.spent())}, {told}",
                f"  loss {show(ledger.allow_loss(rest, 1).amount)}, "
                f"{show(ledger.allow_loss(rest, 9).amount)}, group of 4: {ledger.for_group(4)}",
                f"  {ledger.statement()}",
                f"  {show(ledger.to_dict())}",
            ]
    for currency in ("rho", "gdp"):
        found = Ledger.for_discovery(1.0, 1e-6, "add_remove", currency)
        lines.append(show([found.threshold_delta, found.stop_delta, found.budget.amount]))
    compare("ledgers", lines)


CELLS: list[Any] = [
    "", " ", "0", "-0", "007", "5", "5.0", "5.4", "5.5", "5.6", "-3", "120", "121", "1e2", "1e400",
    "NA", "nan", "inf", "abc", " a ", "a", "A", "b", "other", "true", "TRUE", "yes", "no", "1",
    "2020-02-29", "2021-02-29", "1969-12-31", "2020-01-01 12:30", "2020-01-01T12:30:59", "12:30",
    "24:00", "31.12.2020", "99999999999999999999", "0.049", "0.05", "0.051", "1,5", "<5", None,
]  # fmt: skip
COLUMNS: dict[str, dict[str, Any]] = {
    "integer": {"kind": "integer", "min": 0, "max": 120, "bins": 12},
    "integer, missing": {"kind": "integer", "min": -5, "max": 5, "missing": True},
    "listed": {"kind": "integer", "values": [0, 5, 7, 120]},
    "real": {"kind": "real", "min": 0, "max": 10, "bins": 20, "missing": True},
    "tenths": {"kind": "real", "min": 0, "max": 1, "decimals": 1},
    "category": {"kind": "categorical", "values": ["a", "b"], "other": "rest", "missing": True},
    "closed category": {"kind": "categorical", "values": ["a", "b", "5"]},
    "boolean": {"kind": "boolean", "missing": True},
    "date": {"kind": "date", "min": "1960-01-01", "max": "2021-12-31", "missing": True},
    "time": {"kind": "time", "min": "00:00", "max": "23:59"},
    "datetime": {"kind": "datetime", "min": "1960-01-01", "max": "2021-12-31"},
    "written": {"kind": "date", "min": "2020-01-01", "max": "2021-12-31", "format": "%d.%m.%Y"},
}


def test_codes_of_cells() -> None:
    """Of odd texts, in columns of every kind."""
    import pandas as pd

    [column] = as_table(pd.DataFrame({"x": CELLS}))[0].columns.values()
    lines = []
    for name, facts in COLUMNS.items():
        attribute = Schema.from_dict({"attributes": {"x": facts}})["x"]
        encoder = CellEncoder(attribute, column)
        lines.append(f"{name}, {attribute.size} codes: {encoder.codes().tolist()}")
        lines.append(f"  unreadable {encoder.unreadable.nonzero()[0].tolist()}")
    compare("codes-of-cells", lines)


MODULES = (
    *("budget", "central", "curator", "discovery", "features", "ledger", "ledger.entries"),
    *("linear", "mechanisms", "questions", "ranks", "refinement", "renyi", "scores", "sums"),
    *("vectors", "sum_sensitivity", "exact_noise", "discovery_values", "discovery_budget"),
    *("discovery_words", "discovery_numbers"),
)


def test_defaults() -> None:
    modules = [f"understudy.privacy.{name}" for name in MODULES]
    modules += ["understudy.release.pipeline", "understudy.release.sources"]
    compare("defaults-of-privacy", list_defaults(*modules))
