"""The accountant: exact divergences of sampled noise, and how they turn into epsilon."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from understudy.errors import BudgetError, InputError
from understudy.privacy.budget import Budget, epsilon_of
from understudy.privacy.ledger import Ledger
from understudy.privacy.renyi import (
    best_order,
    bound_sampled_divergence,
    epsilon_at,
    find_multiplier,
    orders,
    rho_at,
    round_rate,
)


def discrete_divergence(order: int, rate: float, scale: float, shift: np.ndarray) -> float:
    """By summing over all whole numbers that matter, both ways round; the larger one."""
    reach = int(12 * scale + 4 * np.abs(shift).max())
    axis = np.arange(-reach, reach + 1)
    grid = np.array(list(itertools.product(axis, repeat=len(shift))), dtype=float)
    p = np.exp(-(grid**2).sum(1) / (2 * scale**2))
    moved = np.exp(-((grid - shift) ** 2).sum(1) / (2 * scale**2))
    p, moved = p / p.sum(), moved / p.sum()
    mixed = (1 - rate) * p + rate * moved
    there = np.log(((mixed / p) ** order * p).sum()) / (order - 1)
    back = np.log(((p / mixed) ** order * mixed).sum()) / (order - 1)
    return float(max(there, back))


@pytest.mark.parametrize("order", [2, 3, 5])
@pytest.mark.parametrize("rate", [0.05, 0.4, 1.0])
def test_the_divergence_of_discrete_noise_is_what_the_formula_says(order, rate):
    for shift, scale in (([2], 1.5), ([1, 2], 2.5), ([3, 0], 2.0)):
        length = math.sqrt(sum(s * s for s in shift))
        exact = discrete_divergence(order, rate, scale, np.array(shift))
        assert bound_sampled_divergence(order, rate, scale / length) == pytest.approx(
            exact, rel=1e-5
        )


def test_a_shorter_vector_loses_less():
    assert bound_sampled_divergence(8, 0.1, 2.0) > bound_sampled_divergence(8, 0.1, 2.5)


@pytest.mark.parametrize(("epsilon", "steps"), [(0.2, 2000), (1.0, 2000), (10.0, 300)])
def test_dp_accounting_agrees(epsilon, steps):
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    delta, rate = 1e-5, 128 / 8000
    order = best_order(epsilon, delta, rate, steps, 1.0)
    multiplier = find_multiplier(order, rate, rho_at(order, epsilon, delta) / steps)
    event = accounting.SelfComposedDpEvent(
        accounting.PoissonSampledDpEvent(rate, accounting.GaussianDpEvent(multiplier)), steps
    )
    at_order, by_loss = RdpAccountant([order]), PLDAccountant()
    at_order.compose(event)
    by_loss.compose(event)
    assert at_order.get_epsilon(delta) == pytest.approx(epsilon, rel=1e-4)
    assert at_order.get_epsilon(delta) <= epsilon * (1 + 1e-9)
    # The tighter accountant finds less, but not much: nothing is given away, and little is lost.
    assert 0.7 * epsilon < by_loss.get_epsilon(delta) <= epsilon


def test_the_conversion_is_never_below_the_tight_one():
    for order in (2, 7, 40):
        for rho in (0.01, 0.3):
            assert epsilon_at(order, rho, 1e-6) >= epsilon_of(rho, 1e-6) - 1e-9
    for order in orders():
        amount = rho_at(order, 1.0, 1e-6)
        if amount:
            assert epsilon_at(order, amount, 1e-6) <= 1.0
    assert rho_at(2, 0.01, 1e-9) == 0.0


def test_a_budget_that_buys_no_step_is_refused():
    with pytest.raises(InputError, match="The budget buys no step"):
        best_order(1e-6, 1e-12, 0.5, 1_000_000, 1.0)
    with pytest.raises(InputError, match="The budget buys no step"):
        find_multiplier(4, 0.5, 0.0)


def test_rates_are_multiples_of_one_word():
    assert float(round_rate(0.25)) == 0.25
    assert round_rate(0.3) <= 0.3
    for rate in (0.0, -1.0, 1.5, math.nan):
        with pytest.raises(InputError, match="sampling rate"):
            round_rate(rate)


# --------------------------------------------------------------------------- the ledger


def test_a_ledger_at_an_order_promises_no_more_than_it_was_given():
    ledger = Ledger(1.0, 1e-5, currency="rho", order=18)
    assert ledger.budget.amount == rho_at(18, 1.0, 1e-5)
    ledger.debit("half", Budget(ledger.budget.amount / 2, "rho"), "noise")
    spent, delta = ledger.spent()
    # Of sampled noise a rho means something at the ledger's order alone.
    assert spent == pytest.approx(epsilon_at(18, ledger.budget.amount / 2, 1e-5))
    assert delta == 1e-5
    with pytest.raises(BudgetError, match="nothing was asked"):
        ledger.debit("too much", Budget(ledger.budget.amount, "rho"), "noise")


def test_a_ledger_at_an_order_comes_back_from_a_file():
    ledger = Ledger(1.0, 1e-5, currency="rho", order=18)
    ledger.debit("all", ledger.budget, "noise")
    again = Ledger.from_dict(ledger.to_dict())
    assert (again.order, again.budget, again.spent()) == (18, ledger.budget, ledger.spent())
    for order in (1, 2.5, True, 10_000):
        with pytest.raises(InputError, match="order must be a whole number"):
            Ledger.from_dict({**ledger.to_dict(), "order": order})


def test_a_group_is_promised_nothing_that_only_zcdp_gives():
    ledger = Ledger(0.5, 1e-6, currency="rho", order=20)
    ledger.debit("all", ledger.budget, "noise")
    assert ledger.for_group(3).epsilon == 1.5  # that of (epsilon, delta), not k^2 rho


def test_an_order_needs_a_delta():
    with pytest.raises(InputError, match="needs a delta"):
        Ledger(1.0, order=4)


@pytest.mark.parametrize("multiplier", [0.02, 0.06, 0.5, 3.0])
@pytest.mark.parametrize("rate", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("order", [2, 3, 12])
def test_divergences_are_rounded_up_by_a_billionth(
    order: int, rate: float, multiplier: float
) -> None:
    """Against fifty digits."""
    with localcontext(prec=50):
        q, square = Fraction(rate), 2 * Decimal(multiplier) ** 2
        exact = Decimal(0)
        for k in range(order + 1):
            weight = math.comb(order, k) * (1 - q) ** (order - k) * q**k
            moment = (k * (k - 1) / square).exp()
            exact += Decimal(weight.numerator) / Decimal(weight.denominator) * moment
        exact = exact.ln() / (order - 1)
        rounded = Decimal(bound_sampled_divergence(order, rate, multiplier)) / exact - 1
    assert float(rounded) == pytest.approx(1e-9, rel=1e-2)


def test_every_order_up_to_512_may_be_tried_small_ones_all() -> None:
    tried = list(orders())
    assert tried[:8] == list(range(2, 10))
    assert tried[-1] <= 512 < tried[-1] * 2**0.125
    assert all(one < other <= max(one + 1, one * 2**0.125) for one, other in pairwise(tried))


def test_the_multiplier_is_the_smallest_to_six_digits() -> None:
    for rho in (1e-8, 0.01, 3.0):
        found = find_multiplier(8, 0.05, rho)
        assert bound_sampled_divergence(8, 0.05, found) <= 8 * rho
        assert bound_sampled_divergence(8, 0.05, found / (1 + 1e-6)) > 8 * rho
    largest = bound_sampled_divergence(8, 0.05, 1e6) / 8
    assert find_multiplier(8, 0.05, largest) == pytest.approx(1e6)
    with pytest.raises(InputError, match="buys no step"):
        find_multiplier(8, 0.05, largest * (1 - 1e-9))
