"""The prices of discovery and what they buy, each by its closed form and at its bounds."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from understudy.privacy import discovery_budget as prices
from understudy.privacy.budget import Budget
from understudy.privacy.discovery_budget import Outlook, Protection
from understudy.privacy.mechanisms import SCORE_GRID

ROWS = Protection(neighbours="add_remove")
PERSONS = Protection(neighbours="add_remove", max_rows_per_person=3)
REPLACE = Protection(neighbours="replace")
PROTECTIONS = pytest.mark.parametrize("protection", [ROWS, PERSONS, REPLACE])


def amount(cost: Budget) -> object:
    return pytest.approx(cost.amount, rel=1e-9)


# ---- what one row changes, and what that costs


@pytest.mark.parametrize(
    ("protection", "epsilon_share"), [(ROWS, 1.0), (PERSONS, 1 / 3), (REPLACE, 0.5)]
)
def test_a_row_changes_log_odds_by_its_share_of_the_price(
    protection: Protection, epsilon_share: float
) -> None:
    """A choice of epsilon has log-odds that a person moves by epsilon, by half of it where scores
    may move either way.
    """
    grid = SCORE_GRID / (SCORE_GRID + 2)
    assert protection.strength(Budget(0.7)) == pytest.approx(0.7 * epsilon_share * grid)
    rho = Budget(0.02, "rho")
    assert protection.strength(rho) == pytest.approx(math.sqrt(0.16) * epsilon_share * grid)


@PROTECTIONS
@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_a_price_buys_its_strength(protection: Protection, currency: str) -> None:
    price = protection.price(0.125, Budget(9.0, currency))  # type: ignore[arg-type]
    assert price.currency == currency
    assert protection.strength(price) == pytest.approx(0.125)


@pytest.mark.parametrize(("protection", "factor"), [(ROWS, 1.0), (PERSONS, 3.0), (REPLACE, 2.0)])
def test_a_count_has_the_deviation_that_was_paid_for(protection: Protection, factor: float) -> None:
    """Laplace noise of scale b has deviation b sqrt(2); under rho a count of sensitivity s has
    deviation s / sqrt(2 rho), where replacing a row moves two counts by one each.
    """
    assert protection.histogram_price(50.0, Budget(1.0)).amount == pytest.approx(
        factor * math.sqrt(2) / 50, rel=1e-6
    )
    apart = math.sqrt(2) if protection is REPLACE else factor
    assert protection.histogram_price(50.0, Budget(1.0, "rho")).amount == pytest.approx(
        apart**2 / 2 / 50**2, rel=1e-6
    )


# ---- shares of what is left


def test_a_price_is_what_is_wanted_or_an_equal_part_of_the_share() -> None:
    left = Budget(2.0, "rho")
    assert prices.limit_price(Budget(0.01, "rho"), left, 0.5, 4) == Budget(0.01, "rho")
    assert prices.limit_price(Budget(0.9, "rho"), left, 0.5, 4) == Budget(0.25, "rho")


def test_what_is_left_is_never_below_nothing() -> None:
    assert prices.subtract(Budget(1.0), Budget(0.25)) == Budget(0.75)
    assert prices.subtract(Budget(1.0), Budget(0.25), 3) == Budget(0.25)
    assert prices.subtract(Budget(1.0), Budget(0.25), 5) == Budget(0.0)


def test_counts_of_rows_and_of_cells() -> None:
    whole = Budget(2.0)
    assert prices.price_count(whole).amount == pytest.approx(2 * prices.COUNT_SHARE)
    wanted = ROWS.histogram_price(prices.PRESENT_DEVIATION * 1000, whole)
    assert prices.present_price(ROWS, whole, 1000, 1).amount == amount(wanted)
    shared = prices.present_price(ROWS, whole, 10, 4).amount
    assert shared == pytest.approx(2 * prices.PRESENT_SHARE / 4)
    assert prices.present_price(ROWS, whole, -5.0, 4) == prices.present_price(ROWS, whole, 1, 4)


def test_choices_get_the_strength_that_they_need_within_their_share() -> None:
    left = Budget(3.0)
    enough = prices.choice_price(ROWS, left, 10_000, (200.0, 0.1), 2)
    assert 10_000 * ROWS.strength(enough) == pytest.approx(200.0)
    scarce = prices.choice_price(ROWS, left, 0.0, (200.0, 0.1), 2)
    assert scarce.amount == pytest.approx(0.3 / 2)
    wanted = prices.choice_price(ROWS, Budget(1e4), 0.5, (200.0, 0.1), 2)
    assert ROWS.strength(wanted) == pytest.approx(200.0)  # as for one row


def test_kinds_get_what_they_need_and_certainty_where_that_is_cheap() -> None:
    left = Budget(1.0)
    cheap = prices.kinds_price(ROWS, left, 1e6, 5)
    assert 1e6 * ROWS.strength(cheap) == pytest.approx(prices.CERTAIN_KINDS_STRENGTH)
    some = prices.kinds_price(ROWS, left, 3000, 5)
    assert 3000 * ROWS.strength(some) == pytest.approx(prices.KINDS_STRENGTH)
    scarce = prices.kinds_price(ROWS, left, 10, 5)
    assert scarce.amount == pytest.approx(prices.KINDS_SHARE / 5)
    alone = prices.kinds_price(ROWS, Budget(1e4), -3.0, 1)
    assert ROWS.strength(alone) == pytest.approx(prices.CERTAIN_KINDS_STRENGTH)  # as for one row


def test_where_not_all_kinds_can_have_what_they_need_those_that_need_little_do() -> None:
    """One column wants 60 / 1000, the other two want 60 / 100 and share the rest of a fifth."""
    given = prices.kinds_prices(ROWS, Budget(1.0), [100.0, 1000.0, 100.0])
    need = ROWS.price(prices.KINDS_STRENGTH / 1000, Budget(1.0))
    assert given[1].amount == amount(need)
    for place in (0, 2):
        assert given[place].amount == pytest.approx((prices.KINDS_SHARE - need.amount) / 2)


# ---- words


def test_noise_beyond_its_tail_is_as_rare_as_it_should_be() -> None:
    at = prices.noise_tail(20.0, "epsilon", 1e-6)
    assert math.exp(-at / 20.0) == pytest.approx(1e-6)
    at = prices.noise_tail(20.0, "rho", 1e-6)
    assert NormalDist().cdf(-(at - 1) / 20.0) == pytest.approx(1e-6)
    assert prices.noise_tail(20.0, "rho", 0.9) == pytest.approx(1.0)


def test_a_word_of_one_person_is_named_with_the_probability_that_is_paid_for() -> None:
    cost, delta = Budget(0.5), 1e-6
    assert prices.rows_to_be_seen(ROWS, cost, delta) == pytest.approx(
        2 + math.log(1e6) / 0.5, rel=1e-6
    )
    assert prices.rows_to_be_seen(PERSONS, cost, delta) == pytest.approx(
        6 + 3 * math.log(3e6) / 0.5, rel=1e-6
    )


def test_words_are_topped_up_in_parts_until_they_are_seen() -> None:
    whole, cost, delta = Budget(2.0), Budget(0.01), 1e-6
    most = 2.0 * prices.MAX_TOP_UP / 4
    little = prices.top_up_words(ROWS, whole, cost, delta, 100.0, 4)
    assert little.amount == pytest.approx(most)
    assert prices.top_up_words(ROWS, whole, cost, delta, 1e9, 4) == Budget(0.0)
    for parts in range(1, prices.TOP_UPS + 1):
        raised = Budget(cost.amount + most * parts / prices.TOP_UPS)
        rows = prices.rows_to_be_seen(ROWS, raised, delta) / prices.ENOUGH_FOR_CATEGORIES
        more = prices.top_up_words(ROWS, whole, cost, delta, rows * (1 + 1e-9), 4)
        assert more.amount == pytest.approx(most * parts / prices.TOP_UPS)


def test_a_second_look_costs_what_rare_words_need() -> None:
    most, delta = Budget(0.5), 1e-6
    assert prices.rare_words_price(ROWS, most, delta, 10.0) == most
    for parts in (1, 4, prices.TOP_UPS):
        price = Budget(0.5 * parts / prices.TOP_UPS)
        rows = prices.rows_to_be_seen(ROWS, price, delta) / prices.ENOUGH_FOR_RARE
        found = prices.rare_words_price(ROWS, most, delta, rows * (1 + 1e-9))
        assert found.amount == pytest.approx(price.amount)


# ---- what to expect


def outlook(**changes: float) -> Outlook:
    facts = {"rows": 1000.0, "columns": 4, "category_rows": 100.0, "strength": 90.0} | changes
    nothing = Budget(0.0)
    unspent = {"top_up": nothing, "second_look": nothing, "numbers": nothing}
    return Outlook(budget=Budget(1.0), **unspent, **facts)  # type: ignore[arg-type]


def test_ranges_and_categories_are_found_from_their_bounds_on() -> None:
    assert outlook(strength=2 * prices.MIN_STRENGTH).range_rows == 500
    assert outlook(strength=prices.MIN_STRENGTH).finds_ranges
    assert not outlook(strength=math.nextafter(prices.MIN_STRENGTH, 0)).finds_ranges
    most = prices.MAX_CATEGORY_SHARE * 1000
    assert outlook(category_rows=most).finds_categories
    assert not outlook(category_rows=math.nextafter(most, 2000)).finds_categories


@PROTECTIONS
def test_what_is_foreseen_is_what_is_left_for_words(protection: Protection) -> None:
    """Kinds, then ranges, and of the rest five parts for each column of words, one for others."""
    budget, columns, rows, delta = Budget(1.0), 6, 2000.0, 1e-6
    seen = prices.foresee(protection, budget, delta, columns, rows)
    assert (seen.rows, seen.columns, seen.budget, seen.top_up) == (rows, 6, budget, Budget(0.0))
    kinds = prices.kinds_price(protection, budget, rows, columns)
    left = prices.subtract(budget, kinds, columns)
    share = prices.RANGES_SHARE_BESIDE_WORDS
    ranges = prices.choice_price(protection, left, rows, (prices.RANGES_STRENGTH, share), columns)
    left = prices.subtract(left, ranges, columns)
    cost = Budget(left.amount * 5 / (3 * 5 + 3))
    assert seen.category_rows == pytest.approx(
        prices.rows_to_be_seen(protection, cost, delta / 3), rel=1e-9
    )
    strongest = Budget(prices.KINDS_SHARE / columns)
    assert seen.strength == pytest.approx(rows * protection.strength(strongest))


def test_one_column_is_foreseen_as_one_of_words() -> None:
    seen = prices.foresee(ROWS, Budget(1.0), 1e-6, 1, 1e7)
    kinds = prices.kinds_price(ROWS, Budget(1.0), 1e7, 1)
    left = prices.subtract(Budget(1.0), kinds)
    need = (prices.RANGES_STRENGTH, prices.RANGES_SHARE_BESIDE_WORDS)
    left = prices.subtract(left, prices.choice_price(ROWS, left, 1e7, need, 1))
    cost = Budget(left.amount * 5 / 5.5)
    assert seen.category_rows == pytest.approx(prices.rows_to_be_seen(ROWS, cost, 1e-6))


def test_discovery_takes_the_smallest_share_that_will_do() -> None:
    whole, delta, columns = Budget(2.0), 1e-6, 6
    for share in prices.DISCOVERY_SHARES:
        part = prices.subtract(Budget(2.0 * share), prices.price_count(whole))
        rows = 1.0
        while True:
            seen = prices.foresee(ROWS, part, delta, columns, rows)
            if seen.category_rows <= prices.ENOUGH_FOR_CATEGORIES * rows:
                break
            rows *= 1.02
        by_need = prices.foresee_by_need(ROWS, whole, delta, columns, rows)
        assert by_need.budget.amount == amount(part)
        assert by_need.top_up == Budget(0.0)
    few = prices.foresee_by_need(ROWS, whole, delta, columns, 200.0)
    assert few.budget.amount == amount(part)
    assert few.top_up.amount == pytest.approx(2.0 * prices.MAX_TOP_UP / columns * 3)
    alone = prices.foresee(ROWS, part, delta, columns, 200.0)
    assert few.category_rows < alone.category_rows / 2
