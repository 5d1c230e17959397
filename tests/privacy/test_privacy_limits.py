"""Limits: the last value that is allowed is taken, and the next one is refused.

Limits are written out here, not taken from the code: proofs rest on some of them, and users on all.
"""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from limits import above, assert_limits, below
from understudy import BudgetError, InputError, Ledger, Schema
from understudy.data.marginals import Axis
from understudy.privacy.budget import Budget, check_delta, check_epsilon, exact
from understudy.privacy.domain import Domain
from understudy.privacy.exact_noise import exact_gaussian_scale, exact_scale, polya
from understudy.privacy.features import Indicator, Number, put_on_grid
from understudy.privacy.group_privacy import check_members
from understudy.privacy.ledger.entries import (
    Entry,
    check_max_rows_per_person,
    is_wording,
    list_questions,
)
from understudy.privacy.linear import LinearQueries, QueryMatrix
from understudy.privacy.mechanisms import gaussian_scale, laplace_scale, table_scale
from understudy.privacy.questions import Draw, Measure
from understudy.privacy.ranks import ChooseRank
from understudy.privacy.renyi import check_order, epsilon_at, find_multiplier, rho_at, round_rate
from understudy.privacy.scores import check_rows
from understudy.privacy.sums import Sum
from understudy.privacy.vectors import VectorSum
from understudy.privacy.wording import format_factor, judge_guarantee

TINY = 5e-324


SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "age": {"kind": "integer", "min": 0, "max": 100},
            "income": {"kind": "real", "min": -1, "max": 1},
            "sex": {"kind": "categorical", "values": ["f", "m"]},
            "rooms": {"kind": "categorical", "values": [0, 32766, 32767]},
        }
    }
)
DOMAIN = Domain(SCHEMA)
MANY = Domain(
    Schema.from_dict(
        {"attributes": {"code": {"kind": "integer", "min": 0, "max": 2000, "bins": 2001}}}
    )
)


def ask_sum(**options):
    return Sum(**{"features": [Number("income")], "budget": Budget(1.0), **options}).check(DOMAIN)


def sum_in_ball(ball, unit):
    ask_sum(features=[Number("income", unit=unit)], ball=ball)


def sum_features(number):
    indicators = [Indicator("code", (code,)) for code in range(number)]
    Sum(features=indicators, budget=Budget(1.0)).check(MANY)


def bounded(**options):
    return put_on_grid(Number("income", **options), SCHEMA)


def vectors(clip=1.0, **options):
    function = SimpleNamespace(check=lambda schema: None)
    asked = {"budget": Budget(0.1, "rho"), **options}
    return VectorSum(function=function, clip=clip, **asked).check(DOMAIN)


def matrix(*values):
    size = len(values)
    return QueryMatrix(size, 1, np.arange(size), np.zeros(size, np.int64), np.array(values))


def linear(amount):
    axes = (Axis("sex"),)
    asked = QueryMatrix.counting(np.array([0, 1]), 2)
    LinearQueries(axes=axes, matrix=asked, budget=Budget(amount), text="t").check(DOMAIN)


def rank(candidates=2, level=0.5, shift=0.0, amount=1.0):
    places = np.zeros(2, dtype=np.int64)
    ChooseRank(
        axes=(Axis("sex"),),
        places=places,
        candidates=candidates,
        groups=places,
        groups_size=1,
        level=level,
        shift=shift,
        budget=Budget(amount),
        text="t",
    ).check(DOMAIN)


def draw(draws=1, amount=1.0):
    Draw(axes=(Axis("sex"),), draws=draws, budget=Budget(amount)).check(DOMAIN)


def measure(*weights, amount=1.0):
    tables = [(Axis("sex"),), (Axis("age"),)]
    Measure(marginals=tables, budget=Budget(amount), weights=weights or None).check(DOMAIN)


def directions(*lines):
    features = [Number("income"), Number("age")]
    asked = np.array(lines, dtype=np.float64)
    Sum(features=features, budget=Budget(1.0), ball=1.0, directions=asked).check(DOMAIN)


LIMITS = {
    "epsilon": (check_epsilon, [1e-12, 1], [0, -1.0, below(1e-12), math.inf, math.nan, True, "1"]),
    "delta": (check_delta, [0, 1e-300, below(1.0)], [1.0, below(1e-300), -1e-9, math.nan, False]),
    "weights of a split": (
        lambda weights: Budget(1.0).split(*weights),
        [(0.0, 1.0), (1.0,)],
        [(), (0.0, 0.0), (-1.0, 2.0), (math.inf, 1.0), (math.nan, 1.0)],
    ),
    "rows per person": (check_max_rows_per_person, [1, 10**6], [0, 10**6 + 1, True, 1.0]),
    "members of a group": (check_members, [1, 10**9], [0, 10**9 + 1, True, 2.0]),
    "length of a text": (lambda length: is_wording("x" * length), [0, 10**5], [10**5 + 1]),
    "order": (check_order, [2, 512], [1, 513, 2.0, True]),
    "sampling rate": (round_rate, [2.0**-32, 1.0], [below(2.0**-32), above(1.0), 0.0, math.nan]),
    "rows for scores": (check_rows, [0, (1 << 31) - 1], [1 << 31]),
    "scale of noise": (
        exact_scale,
        [TINY, 2.0**52],
        [0.0, -1.0, above(2.0**52), math.inf, math.nan],
    ),
    "scale of Gaussian noise": (exact_gaussian_scale, [2.0**50], [above(2.0**50)]),
    "scale of a share": (
        lambda scale: polya(1, scale, Fraction(1, 2)),
        [2.0**24],
        [above(2.0**24)],
    ),
    "share of noise": (lambda share: polya(1, 2.0, Fraction(share)), [1], [0, 1.5, -1]),
    "scale of a table": (
        lambda scale: table_scale(Budget(1 / scale), "add_remove"),
        [2.0**50 * (1 - 1e-12)],
        [2.0**50 * (1 + 1e-12)],
    ),
    "clip of vectors": (vectors, [1e-6, 1e6], [below(1e-6), above(1e6), math.nan]),
    "price of vectors": (lambda amount: vectors(budget=Budget(amount, "rho")), [TINY], [0.0]),
    "vectors in epsilon": (
        lambda currency: vectors(budget=Budget(0.1, currency)),
        ["rho", "gdp"],
        ["epsilon"],
    ),
    "features": (sum_features, [1, 2000], [0, 2001]),
    "ball": (
        lambda ball: sum_in_ball(ball, unit=1e-3 if ball > 1 else 1e5),
        [1e-6, 1e6],
        [below(1e-6), above(1e6), math.nan, 0.0],
    ),
    "ball of an indicator": (
        lambda ball: ask_sum(features=[Indicator("sex", (0,))], ball=ball),
        [0.1, 2.0**15],
        [2.0**15 + 1, 1e6],
    ),
    "shares": (
        lambda share: ask_sum(moments="squares", shares={"sums": 1.0, "moments": share}),
        [1e-6, 1e6],
        [below(1e-6), above(1e6), 0.0, -1.0, math.nan],
    ),
    "points": (
        lambda number: ask_sum(nearest=[(0.0,)] * number),
        [1, 10_000],
        [0, 10_001],
    ),
    "directions": (
        lambda lines: directions(*lines),
        [[(1.0, 0.0)], [(1.0, 0.0), (0.0, -1.0)]],
        [[], [(1.0,)], [(above(1.0), 0.0)], [(math.nan, 0.0)], [(1.0, 0.0)] * 3],
    ),
    "stretch of directions": (
        lambda lines: Sum(
            features=[Indicator("code", (code,)) for code in range(60)],
            budget=Budget(1.0),
            ball=0.02,
            directions=lines,
        ).check(MANY),
        [np.eye(60)],  # 2^45 steps, squared and added up
        [np.ones((60, 60))],  # and 60^2 times as many
    ),
    "bounds": (
        lambda bound: bounded(lower=0.0, upper=bound, step=bound / 8),
        [1e30, 1e-29],
        [above(1e30), math.inf, math.nan, 0.0, -1.0],
    ),
    "unit": (
        lambda unit: bounded(unit=unit),
        [1e-30, 1e30],
        [below(1e-30), above(1e30), 0.0, math.nan],
    ),
    "step": (lambda step: bounded(step=step), [1.0], [0.0, below(1e-30), math.inf, math.nan]),
    "centre": (lambda centre: bounded(centre=centre), [-1.0, 1.0], [below(-1.0), above(1.0)]),
    "centre outside of the bounds": (
        lambda centre: bounded(lower=0.5, upper=1.0, centre=centre),
        [0.0, 0.5],
        [0.25],
    ),
    "steps to one side": (
        lambda step: bounded(step=step),
        [1 / 32767],
        [1 / 32768],
    ),
    "reach of a row": (matrix, [1 << 30, -(1 << 30)], [(1 << 30) + 1]),
    "reach of a row over all queries": (
        lambda value: matrix(1 << 29, value),
        [1 << 29, -(1 << 29)],
        [(1 << 29) + 1, -(1 << 29) - 1],
    ),
    "price of linear queries": (linear, [TINY], [0.0, -1.0, math.nan]),
    "candidates of a rank": (rank, [1], [0]),
    "level of a rank": (lambda level: rank(level=level), [0.0, 1.0], [-TINY, above(1.0)]),
    "shift of a rank": (lambda shift: rank(shift=shift), [-1.0, 0.0], [math.inf, math.nan]),
    "price of a rank": (lambda amount: rank(amount=amount), [TINY], [0.0, math.nan]),
    "draws": (draw, [1], [0]),
    "price of draws": (lambda amount: draw(amount=amount), [TINY], [0.0, math.nan]),
    "price of tables": (lambda amount: measure(amount=amount), [1e-300], [0.0, math.nan]),
    "share of a table": (
        lambda weight: measure(1.0, weight, amount=1e-300),
        [1.0, 1e-9],
        [1e-40],
    ),
    "weights of tables": (
        lambda weight: measure(1.0, weight),
        [1e-9, 2.0**53],
        [0.0, -1.0, above(2.0**53), math.nan],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_the_last_value_is_taken_and_the_next_is_not(name):
    assert_limits(*LIMITS[name])


def test_a_ledger_spends_its_last_digit_and_nothing_beyond():
    """Of the amount, and of the delta that is kept for thresholds."""
    ledger = Ledger(1.0, delta=1e-9)
    ledger.debit("a", Budget(0.75), "m", 4e-10)
    with pytest.raises(BudgetError):
        ledger.debit("b", Budget(above(0.25)), "m")
    with pytest.raises(BudgetError):
        ledger.debit("c", Budget(0.25), "m", 6.0000001e-10)
    ledger.debit("d", Budget(0.25), "m", 6e-10)
    assert [entry.question for entry in ledger.entries] == ["a", "d"]
    assert ledger.spent() == (1.0, 1e-9)
    ledger.debit("e", Budget(0.0), "m")
    for amount, delta in [(-TINY, 0.0), (math.nan, 0.0), (0.0, -TINY), (0.0, math.nan)]:
        with pytest.raises(BudgetError):
            ledger.debit("f", Budget(amount), "m", delta)


def test_of_a_ledger_delta_no_more_is_kept_than_there_is():
    Ledger(1.0, delta=1e-9, threshold_delta=4e-10, stop_delta=6e-10)
    with pytest.raises(InputError, match="more than all of delta"):
        Ledger(1.0, delta=1e-9, threshold_delta=4e-10, stop_delta=6.0000001e-10)


def test_a_thousand_questions_are_listed_and_the_rest_is_summed_up():
    entries = [Entry(f"q{number}", 0.001, 0.0, "laplace, scale 2") for number in range(1001)]
    assert "further" not in list_questions(entries[:1000])
    told = list_questions(entries)
    assert len(told["entries"]) == 1000
    assert told["further"][0] | {"delta": "0"} == {
        "mechanism": "laplace", "questions": 1, "amount": str(exact(0.001)), "delta": "0",
    }  # fmt: skip
    long = [Entry("x" * 49_996, 0.001, 0.0, "test") for _ in range(2)]
    assert "further" not in list_questions(long)
    assert len(list_questions([Entry("xx" * 25_000, 0.001, 0.0, "t"), *long])["entries"]) == 1


def test_divergences_are_rounded_up_by_a_billionth():
    """And what is bought back by them is never more than was asked for."""
    plain = 0.01 * 8 + math.log1p(-1 / 8) - math.log(1e-9 * 8) / 7
    assert epsilon_at(8, 0.01, 1e-9) == pytest.approx(plain * (1 + 1e-9), rel=1e-13)
    for order in (2, 8, 512):
        for epsilon in (0.5, 3.0, 40.0):
            rho = rho_at(order, epsilon, 1e-9)
            if rho:
                assert epsilon * (1 - 1e-8) < epsilon_at(order, rho, 1e-9) <= epsilon
    assert rho_at(2, 0.5, 1e-9) == 0.0


def test_no_multiplier_is_found_for_nothing():
    for rho in (0.0, -1.0, math.nan):
        with pytest.raises(InputError):
            find_multiplier(8, 0.01, rho)


def test_the_words_for_a_promise_change_at_these_epsilons():
    assert judge_guarantee(2.0) == ""
    assert judge_guarantee(above(2.0)) == "That is a weak promise."
    assert judge_guarantee(below(8.0)) == "That is a weak promise."
    assert "next to nothing about any one row" in judge_guarantee(8.0)
    assert format_factor(20.0) == "485,165,196"
    assert format_factor(above(20.0)) == "10^9"
    assert format_factor(1e6) == "10^434295"
    assert format_factor(above(1e6)) == "e^1000000.0000000001"


def test_a_row_that_is_replaced_moves_two_cells_rounded_up() -> None:
    root = above(math.sqrt(2))
    for amount in (0.3, 2.0):
        rho = Budget(amount, "rho")
        assert table_scale(rho, "replace") == gaussian_scale(root, amount)
        assert table_scale(rho, "add_remove", 3) == gaussian_scale(3.0, amount)
        assert table_scale(Budget(amount), "replace") == laplace_scale(2, amount)
        assert table_scale(Budget(amount), "add_remove", 3) == laplace_scale(3, amount)


def test_sums_are_no_more_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum for each feature, direction or pair, in each group; and all values of all columns."""

    def check(features: int, **options: object) -> None:
        columns = [Number("elsewhere") for _ in range(features)]
        question = Sum(features=columns, budget=Budget(1.0), **options)
        question._check_size(DOMAIN)

    monkeypatch.setattr("understudy.privacy.sums.MAX_SUMS", 12)
    by = {"by": (Axis("sex"),)}
    assert_limits(check, [12], [13])
    assert_limits(lambda number: check(number, **by), [6], [7])
    assert_limits(lambda number: check(number, moments="squares", **by), [6], [7])
    assert_limits(lambda number: check(number, moments="products"), [4], [5])
    assert_limits(lambda number: check(number, moments="products", **by), [3], [4])
    lines = {"moments": "products", "ball": 1.0}
    assert_limits(lambda lower: check(9, directions=np.eye(9)[:lower], **lines), [4], [5])
    for values, fits in [(4, True), (5, False)]:
        rooms = [Indicator("rooms", (0,)) for _ in range(values)]
        assert DOMAIN.sizes[Axis("rooms")] == 3
        question = Sum(features=rooms, budget=Budget(1.0))
        if fits:
            question._check_size(DOMAIN)
        else:
            with pytest.raises(InputError, match="more values than can be listed"):
                question._check_size(DOMAIN)
