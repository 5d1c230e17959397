"""Prices in Gaussian differential privacy: exact for tables, never too low for choices."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from understudy import Adaptive, Schema, Table
from understudy.auditing.profiles import joint_epsilon
from understudy.data.encoding import encode
from understudy.data.marginals import marginal
from understudy.data.tables import Column
from understudy.errors import BudgetError, InputError
from understudy.federation.noise_shares import ShareNoise
from understudy.privacy.budget import Budget, epsilon_of, exact, rho_of
from understudy.privacy.central import CentralCurator
from understudy.privacy.discovery_questions import Asker
from understudy.privacy.gaussian_privacy import (
    MAX_EXACT_EPSILON,
    gdp_epsilon_of,
    gdp_of,
    lone_loss,
    smooth_loss,
)
from understudy.privacy.ledger import MAX_STOPS, Ledger
from understudy.privacy.mechanisms import SCORE_GRID, SystemNoise, add_noise, choice_scale

GUARANTEES = [(0.01, 1e-9), (0.1, 1e-9), (1.0, 1e-9), (1.0, 1e-5), (10.0, 1e-9), (30.0, 1e-12)]


def delta_of(mu, epsilon):
    """Balle and Wang 2018, in floating point."""
    return norm.sf(epsilon / mu - mu / 2) - np.exp(epsilon) * norm.sf(epsilon / mu + mu / 2)


def coin(epsilon: float, centre: float) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of two outcomes whose losses lie epsilon apart."""
    first = [1 / (1 + math.exp(-(centre + half))) for half in (epsilon / 2, -epsilon / 2)]
    return tuple(np.array([one, 1 - one]) for one in first)


# --------------------------------------------------------------------------- conversion


@pytest.mark.parametrize(("epsilon", "delta"), GUARANTEES)
def test_an_amount_of_gdp_keeps_its_guarantee_and_wastes_nothing(epsilon, delta):
    mu = math.sqrt(2 * gdp_of(epsilon, delta))
    assert delta_of(mu, epsilon) == pytest.approx(delta, rel=1e-6)
    assert delta_of(mu * (1 - 1e-6), epsilon) < delta < delta_of(mu * (1 + 1e-6), epsilon)
    assert 1.02 < gdp_of(epsilon, delta) / rho_of(epsilon, delta) < 1.2


@pytest.mark.parametrize(("epsilon", "delta"), GUARANTEES)
def test_the_way_back_is_never_below(epsilon, delta):
    amount = gdp_of(epsilon, delta)
    assert gdp_epsilon_of(amount, delta) == pytest.approx(epsilon, rel=1e-9)
    assert gdp_epsilon_of(amount * 1.001, delta) > epsilon
    for share in (0.01, 0.5):
        back = gdp_epsilon_of(amount * share, delta)
        assert gdp_of(back, delta) >= amount * share * (1 - 1e-10)
        assert back < epsilon_of(amount * share, delta)


def test_a_large_epsilon_is_converted_by_zcdp():
    epsilon = 2 * MAX_EXACT_EPSILON
    assert gdp_of(epsilon, 1e-9) == rho_of(epsilon, 1e-9)
    assert gdp_epsilon_of(rho_of(epsilon, 1e-9), 1e-9) == pytest.approx(epsilon)
    assert gdp_epsilon_of(0.0, 1e-9) == 0


def test_dp_accounting_agrees():
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant

    mu = math.sqrt(2 * gdp_of(1.0, 1e-6))
    accountant = PLDAccountant()
    accountant.compose(accounting.GaussianDpEvent(2 / mu), 4)  # four tables, a quarter each
    assert accountant.get_epsilon(1e-6) == pytest.approx(1.0, abs=1e-3)


# --------------------------------------------------------------------------- choices


def excess(loss: float, amount: float, rest: float, centre: float) -> float:
    """By how much a choice before a rest of Gaussians exceeds the Gaussian that pays for both."""
    epsilon = math.sqrt(8 * loss)
    p, q = coin(epsilon, centre)
    whole = math.sqrt(2 * (amount + rest))
    at = np.linspace(-5, 5, 201) * whole
    if rest:
        mixed = sum(
            p[i] * delta_of(math.sqrt(2 * rest), at - math.log(p[i] / q[i])) for i in (0, 1)
        )
    else:
        mixed = np.maximum(p[0] - np.exp(at) * q[0], 0) + np.maximum(p[1] - np.exp(at) * q[1], 0)
    return float((mixed - delta_of(whole, at)).max())


CENTRES = (0.0, 0.1, -0.5, 1.0, 2.5)


@pytest.mark.parametrize("amount", [1e-4, 0.02, 0.5, 6.0])
@pytest.mark.parametrize("times", [1.01, 1.2, 2.0, 5.0, 40.0])
def test_a_choice_before_a_rest_costs_no_more_than_its_price(amount, times):
    left = amount * times
    loss = float(smooth_loss(exact(amount), exact(left)))
    assert loss == pytest.approx(amount * (1 - 1 / times))
    for centre in CENTRES:
        assert excess(loss, amount, left - amount, centre) < 1e-14


def test_the_price_of_a_choice_before_a_rest_is_not_that_of_zcdp():
    assert excess(0.02, 0.02, 0.03, 0.0) > 1e-4


@pytest.mark.parametrize("amount", [1e-4, 0.02, 0.5, 6.0])
def test_a_lone_choice_costs_no_more_than_its_price(amount):
    loss = lone_loss(amount)
    for centre in CENTRES:
        assert excess(loss, amount, 0.0, centre) < 1e-14
    assert excess(loss * 1.001, amount, 0.0, 0.0) > 0  # and hardly less


def test_a_small_lone_choice_costs_half_pi_times_its_rho():
    assert lone_loss(1e-8) / 1e-8 == pytest.approx(2 / math.pi, rel=1e-6)
    assert lone_loss(0.0) == 0


def test_no_loss_is_smoothed_by_nothing():
    assert smooth_loss(Fraction(1), Fraction(1)) == 0
    assert smooth_loss(Fraction(2), Fraction(1)) == 0
    assert smooth_loss(Fraction(0), Fraction(1)) == 0
    assert smooth_loss(Fraction(100), Fraction(10**9)) < 6  # proved no further


def test_the_exact_epsilon_of_a_choice_and_a_table_is_that_of_dp_accounting():
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution as pld

    p, q = coin(0.4, 0.0)
    both = pld.from_two_probability_mass_functions(
        dict(enumerate(np.log(q))), dict(enumerate(np.log(p))), value_discretization_interval=1e-4
    ).compose(pld.from_gaussian_mechanism(1 / 0.3, value_discretization_interval=1e-4))
    found = joint_epsilon(0.09, [(np.log(p), np.log(q))], 1e-5)
    assert found == pytest.approx(both.get_epsilon_for_delta(1e-5), abs=2e-3)
    assert joint_epsilon(0.09, [], 1e-5) == pytest.approx(gdp_epsilon_of(0.045, 1e-5), rel=1e-9)


# --------------------------------------------------------------------------- in a ledger


def test_a_ledger_in_gdp_keeps_both_figures():
    ledger = Ledger(1.0, 1e-9, currency="gdp")
    assert ledger.budget.amount == gdp_of(1.0, 1e-9)
    ledger.debit("a table", ledger.budget, "rounded Gaussian")
    assert ledger.spent() == ledger.promise() == (1.0, 1e-9)
    assert ledger.spent_by_zcdp() == epsilon_of(gdp_of(1.0, 1e-9), 1e-9) > 1.05
    document = ledger.to_dict()
    assert document["currency"] == "gdp"
    assert document["spent_by_zcdp"] == {"epsilon": ledger.spent_by_zcdp()}
    assert Ledger.from_dict(document).to_dict() == document


def test_what_a_choice_may_lose_follows_from_what_is_left():
    ledger = Ledger(1.0, 1e-9, currency="gdp")
    tenth, rest = ledger.budget.split(0.1, 0.9)
    assert ledger.allow_loss(tenth).amount == pytest.approx(0.9 * tenth.amount)
    ledger.debit("tables", rest, "rounded Gaussian")
    alone = ledger.allow_loss(ledger.left)
    assert alone == Budget(pytest.approx(2 / math.pi * tenth.amount, rel=1e-3), "rho")
    draws = ledger.allow_loss(ledger.left, parts=50)  # each of them has a fiftieth of the price
    assert draws == Budget(pytest.approx(2 / math.pi * tenth.amount, rel=1e-3), "rho")
    assert Ledger(1.0, 1e-9, currency="rho").allow_loss(Budget(0.1, "rho")) == Budget(0.1, "rho")


def test_a_part_that_was_spent_is_told_by_zcdp():
    """In GDP a choice was priced by what could have followed; if nothing does, that is no price."""
    ledger = Ledger(1.0, 1e-9, currency="gdp")
    part = ledger.budget.equally(2)[0]
    ledger.debit("a choice", part, "exponential")
    assert ledger.spent()[0] == epsilon_of(part.amount, 1e-9) > gdp_epsilon_of(part.amount, 1e-9)


def test_a_stop_in_gdp_is_told_by_zcdp():
    ledger = Ledger.for_discovery(1.0, 1e-6, currency="gdp")
    part = ledger.budget.equally(10)[0]
    ledger.debit("a choice", part, "exponential")
    ledger.stop(part)
    assert ledger.stopped_at is not None
    price = ledger.stopped_at.amount
    assert part.amount <= price < 1.12 * part.amount
    assert ledger.promise() == (epsilon_of(price, 1e-6 / 8 / MAX_STOPS), 1e-6)


def test_currencies_do_not_mix():
    ledger = Ledger(1.0, 1e-9, currency="gdp")
    with pytest.raises(BudgetError, match="counts in gdp"):
        ledger.debit("a table", Budget(1e-6, "rho"), "discrete Gaussian")
    with pytest.raises(InputError, match="delta above 0"):
        Ledger(1.0, 0.0, currency="gdp")
    with pytest.raises(InputError, match="order"):
        Ledger(1.0, 1e-9, currency="gdp", order=8)


def test_a_group_has_as_many_times_mu():
    ledger = Ledger(0.5, 1e-6, currency="gdp")
    ledger.debit("a table", ledger.budget, "rounded Gaussian")
    mu = math.sqrt(2 * gdp_of(0.5, 1e-6))
    promise = ledger.for_group(4)
    assert delta_of(4 * mu, promise.epsilon) == pytest.approx(1e-6, rel=1e-6)


# --------------------------------------------------------------------------- at a curator


class Spy(SystemNoise):
    """Remembers what reaches the noise."""

    def __init__(self):
        self.seen = []

    def gaussian(self, counts, scale):
        raise AssertionError("discrete noise has no price in GDP")

    def rounded_gaussian(self, counts, scale):
        self.seen.append(("rounded", scale))
        return super().rounded_gaussian(counts, scale)

    def choose(self, scores, scale, rule):
        self.seen.append((rule, scale))
        return super().choose(scores, scale, rule)


def test_a_curator_in_gdp_rounds_noise_and_smooths_choices():
    schema = Schema.from_dict(
        {"attributes": {name: {"kind": "categorical", "values": ["x", "y"]} for name in "abc"}}
    )
    table = Table({name: Column("text", np.array([0, 1, 1]), ("x", "y")) for name in "abc"})
    spy = Spy()
    curator = CentralCurator(encode(table, schema), Ledger(1.0, 1e-9, currency="gdp"), spy)
    pairs = [marginal("a", "b"), marginal("b", "c")]
    fifth, rest = curator.ledger.budget.split(0.2, 0.8)
    curator.choose(pairs, "R", fifth)
    curator.measure(pairs[:1], rest)
    (rule, choice), (kind, scale) = spy.seen
    assert (rule, kind) == ("exponential", "rounded")
    assert choice == pytest.approx(choice_scale(0.8 * fifth.amount, "rho"))
    assert scale == pytest.approx(1 / math.sqrt(2 * rest.amount))
    told = [entry.mechanism.partition(",")[0] for entry in curator.ledger.entries]
    assert told == ["exponential", "rounded Gaussian"]


@pytest.mark.parametrize(("neighbours", "reach"), [("add_remove", 1), ("replace", 2)])
def test_choices_of_discovery_are_paid_by_what_is_left(neighbours, reach):
    """The log-odds that one row moves, against what may be lost before a rest, or alone."""
    ledger, spy = Ledger(1.0, 1e-9, neighbours, "gdp"), Spy()
    asker = Asker(ledger, spy)
    for cost in ledger.budget.split(0.2, 0.3, 0.5):
        left = ledger.left.amount
        asker.choose("kind of x", [3, 5], np.zeros(2), cost)
        epsilon = reach * SCORE_GRID / spy.seen[-1][1]
        lone = 2 * norm.ppf(1 / (1 + math.exp(-epsilon / 2))) ** 2
        smoothed = cost.amount * (1 - cost.amount / left)
        assert epsilon**2 / 8 <= smoothed or lone <= cost.amount
        assert max(smoothed / (epsilon**2 / 8), cost.amount / lone) == pytest.approx(1, rel=1e-4)


def test_a_synthesizer_counts_in_gdp_and_one_of_many_holders_does_not():
    assert Adaptive(epsilon=1.0, delta=1e-9).accounting == "gdp"
    terms = Ledger(1.0, 1e-9, currency="rho")
    with pytest.raises(TypeError, match="not rounded"):
        add_noise(ShareNoise(2, SystemNoise()), np.zeros(1, np.int64), "gdp", 1.0)
    assert terms.budget.amount == rho_of(1.0, 1e-9)


def test_a_lone_choice_has_a_price_at_any_budget():
    """Its odds are then so small that one less them rounds to one."""
    losses = [lone_loss(amount) for amount in (6.0, 60.0, 600.0, 6e4)]
    assert losses == sorted(losses)
    assert all(loss > amount for loss, amount in zip(losses[1:3], (60.0, 600.0), strict=True))
