"""A release that ends before its end is never charged less than it may have told."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy import BudgetError, InputError, Ledger, LedgerFile
from understudy.privacy.budget import Budget, Currency, epsilon_of, exact, round_up, total
from understudy.privacy.ledger import MAX_STOPS

NORMAL = NormalDist()


def asked(ledger: Ledger, parts: list[float]) -> Budget:
    """Debit parts of the budget; what they add up to, at least."""
    for part in parts:
        ledger.debit("q", Budget(float(f"{ledger.budget.amount * part:.12g}"), ledger.currency), "")
    return Budget(round_up(total([entry.amount for entry in ledger.entries])), ledger.currency)


PARTS = st.lists(st.floats(1e-6, 0.15), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(PARTS, st.floats(0.01, 20.0))
def test_in_pure_epsilon_a_stop_costs_what_was_asked(parts: list[float], epsilon: float) -> None:
    ledger = Ledger(epsilon, 1e-6)
    ledger.stop(asked(ledger, parts))
    charged = ledger.promise()
    assert exact(charged[0]) >= total([entry.amount for entry in ledger.entries])
    assert charged[0] <= ledger.epsilon
    assert charged[0] == pytest.approx(sum(entry.amount for entry in ledger.entries))


@settings(max_examples=60, deadline=None)
@given(PARTS, st.sampled_from([0.1, 1.0, 4.0]), st.sampled_from([1e-9, 1e-5, 1e-2]))
def test_under_zcdp_a_stop_is_never_below_its_questions(
    parts: list[float], epsilon: float, delta: float
) -> None:
    ledger = Ledger.for_discovery(epsilon, delta)
    price = asked(ledger, parts)
    ledger.stop(price)
    charged = ledger.promise()
    assert charged[0] <= epsilon
    assert charged[0] >= min(epsilon, epsilon_of(price.amount, ledger.stop_delta / MAX_STOPS))
    assert charged[0] >= ledger.spent()[0]
    assert charged[1] == delta
    parts_of_delta = total([ledger.conversion_delta, ledger.threshold_delta, ledger.stop_delta])
    assert parts_of_delta <= exact(delta)


@pytest.mark.parametrize("currency", ["rho", "gdp"])
def test_prices_of_stops_are_few(currency: Currency) -> None:
    """A part of delta is kept for each: prices that follow from noisy counts must not be more."""
    found = set()
    for part in np.geomspace(1e-6, 1.0, 500).tolist():
        ledger = Ledger.for_discovery(1.0, 1e-6, currency=currency)
        ledger.debit("q", Budget(ledger.budget.amount * part * (1 - 1e-9), currency), "")
        price = Budget(ledger.budget.amount * part, currency)
        ledger.stop(price)
        assert ledger.stopped_at is not None
        assert price.amount <= ledger.stopped_at.amount <= ledger.budget.amount
        assert ledger.stopped_at.amount <= max(price.amount / 0.8999, ledger.budget.amount / 700)
        found.add(ledger.promise())
    assert 40 < len(found) <= MAX_STOPS


def test_a_dearer_stop_costs_more() -> None:
    charged = []
    for part in (0.003, 0.1, 0.35):
        ledger = Ledger.for_discovery(1.0, 1e-9)
        ledger.stop(asked(ledger, [part]))
        charged.append(ledger.promise()[0])
    assert charged == sorted(set(charged))
    assert charged[0] < 0.1


@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_a_stop_below_what_was_asked_is_refused(currency: Currency) -> None:
    ledger = Ledger(1.0, 1e-6, currency=currency)
    asked(ledger, [0.5])
    for price in (Budget(ledger.budget.amount * 0.4, currency), Budget(0.0, currency)):
        with pytest.raises(ValueError, match="more was asked"):
            ledger.stop(price)
    assert ledger.promise() == (1.0, 1e-6)


def test_without_a_part_of_delta_kept_for_it_a_stop_gives_nothing_back() -> None:
    ledger = Ledger(1.0, 1e-6, currency="rho")
    ledger.stop(asked(ledger, [0.1]))
    assert ledger.promise() == (1.0, 1e-6)


@pytest.mark.parametrize("currency", ["epsilon", "rho", "gdp"])
def test_after_a_stop_nothing_is_asked(currency: Currency) -> None:
    """What it costs was told by then."""
    ledger = Ledger.for_discovery(1.0, 1e-6, currency=currency)
    ledger.stop(asked(ledger, [0.1]))
    promise = ledger.promise()
    with pytest.raises(BudgetError, match="after the release was stopped"):
        asked(ledger, [0.1])
    assert ledger.promise() == promise


def test_a_stop_before_any_question_is_free() -> None:
    ledger = Ledger.for_discovery(1.0, 1e-6)
    ledger.stop(Budget(0.0, "rho"))
    assert ledger.promise() == (0.0, 0.0)


def test_delta_kept_for_stops_and_thresholds_is_within_delta() -> None:
    with pytest.raises(InputError, match="thresholds and stops"):
        Ledger(1.0, 1e-6, currency="rho", threshold_delta=6e-7, stop_delta=5e-7)
    ledger = Ledger.for_discovery(1.0, 1e-6)
    assert Ledger.from_dict(ledger.to_dict()) == ledger


# --------------------------------------------------------------------------- what may be told


def excess(mean: float, epsilon: float, low: float, high: float) -> float:
    """By how much N(mean, 1) exceeds e^epsilon N(0, 1) between two ends."""
    # The log-ratio is mean y - mean^2 / 2: above epsilon from here on, or up to here.
    turn = epsilon / mean + mean / 2
    if mean > 0:
        low = max(low, turn)
    else:
        high = min(high, turn)
    if high <= low:
        return 0.0

    def held(at: float) -> float:
        return NORMAL.cdf(high - at) - NORMAL.cdf(low - at)

    return max(held(mean) - math.exp(epsilon) * held(0.0), 0.0)


class TwoSteps:
    """A count with Gaussian noise, a stop where it is below a line, and else the rest of rho."""

    def __init__(self, rho: float, share: float, sign: int, line: float) -> None:
        self.count = sign * math.sqrt(2 * share * rho)
        self.rest = math.sqrt(2 * (1 - share) * rho)
        self.line = line
        self.stops = NORMAL.cdf(line - self.count)

    def told(self, epsilon_at_stop: float, epsilon_at_end: float) -> float:
        """By how much the one neighbour exceeds e^epsilon of the other, over all outcomes."""
        at_stop = excess(self.count, epsilon_at_stop, -math.inf, self.line)
        answers = np.linspace(self.line, max(self.line, self.count) + 9, 4001)
        weights = np.exp(-((answers - self.count) ** 2) / 2) / math.sqrt(2 * math.pi)
        losses = self.count * answers - self.count**2 / 2
        rest = [excess(self.rest, epsilon_at_end - loss, *EVERYWHERE) for loss in losses]
        return at_stop + float(np.trapezoid(weights * np.array(rest), answers))

    def charged(self, at_stop: float, at_end: float) -> float:
        """The delta that is charged, on average over the two ends."""
        return self.stops * at_stop + (1 - self.stops) * at_end


EVERYWHERE = (-math.inf, math.inf)
LINES = (-2.0, -1.0, 0.0, 1.0, 2.0)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("share", [0.003, 0.35])
def test_releases_after_a_stop_add_up(share: float, sign: int, line: float) -> None:
    """Releases add up if what p exceeds e^epsilon(end) q by is no more than the delta charged, on
    average over the ends (see :meth:`Ledger.stop`).
    """
    ledger = Ledger.for_discovery(1.0, 1e-3)
    ledger.stop(asked(ledger, [share]))
    epsilon, delta = ledger.promise()
    steps = TwoSteps(ledger.budget.amount, share, sign, line)
    words = ledger.threshold_delta * (1 - steps.stops)
    assert steps.told(epsilon, ledger.epsilon) + words <= steps.charged(delta, ledger.delta)


def tight_epsilon(mean: float, delta: float) -> float:
    """The epsilon at which Gaussian noise has a delta, by itself and exactly."""
    low, high = 0.0, 50.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if excess(mean, middle, *EVERYWHERE) > delta:
            low = middle
        else:
            high = middle
    return high


def test_one_delta_for_each_end_by_itself_would_not_add_up() -> None:
    """With a conversion as tight as can be, a stop that is charged the delta of its own conversion
    tells more than is charged.
    """
    rho, share, delta = 0.05, 0.35, 1e-3
    epsilons = [tight_epsilon(math.sqrt(2 * part * rho), delta) for part in (share, 1.0)]
    worst = 0.0
    for line in LINES:
        steps = TwoSteps(rho, share, -1, line)
        worst = max(worst, steps.told(*epsilons) / steps.charged(delta, delta))
    assert worst > 1.2


# --------------------------------------------------------------------------- on the books


def test_a_ledger_file_after_a_stop(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 2.0, 3e-6)
    spent = []
    for part in (0.003, 0.2):
        ledger = Ledger.for_discovery(1.0, 1e-6)
        number = book.reserve("schema", 1.0, 1e-6, "add_remove")
        assert book.left()[0] < 1.0 + 1e-9  # the whole price, until it is settled
        ledger.stop(asked(ledger, [part]))
        book.settle(number, ledger)
        spent.append(ledger.promise())
        with pytest.raises(InputError, match="no open reservation"):
            book.settle(number, ledger)
    found = [(release["epsilon"], release["delta"]) for release in book.read()["releases"]]
    assert found == spent
    left = book.left()
    assert exact(left[0]) <= exact(2.0) - total([epsilon for epsilon, _ in spent])
    assert left[1] == pytest.approx(1e-6)
    assert all(release["state"] == "settled" for release in book.read()["releases"])
