"""What all mechanisms have in common: a price, which is debited before anything is drawn."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from understudy.errors import InputError
from understudy.privacy.budget import Budget, Currency, check_epsilon, exact, round_up
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import MAX_CHOICE_SCALE, Noise, SystemNoise

MAX_NUMBERS_AT_ONCE = 1_000_000
"""How many numbers a mechanism may release at once."""


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """A way to answer with noise. It knows its price, and what it writes into a ledger.

    Parameters
    ----------
    epsilon
        What one release costs.
    """

    epsilon: float

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    @property
    def delta(self) -> float:
        """The delta that one release costs beside epsilon; 0 for pure differential privacy."""
        return 0.0

    @property
    def rho(self) -> float:
        """What one release costs in zCDP: epsilon-DP is epsilon^2 / 2-zCDP (Bun and Steinke
        2016).
        """
        return round_up(exact(self.epsilon) ** 2 / 2)

    def price(self, currency: Currency) -> tuple[Budget, float]:
        """What one release costs in a ledger's currency, and the delta beside it."""
        if currency == "epsilon":
            return Budget(self.epsilon, currency), self.delta
        if currency == "gdp":
            raise InputError("A mechanism by itself has no price in GDP; keep a ledger in rho.")
        return Budget(self.rho, currency), 0.0

    @abstractmethod
    def describe(self) -> str:
        """The mechanism and its parameters, as they stand in a ledger."""

    def debit(self, ledger: Ledger, question: str) -> None:
        """Write a release into a ledger, which refuses what costs more than is left."""
        if not isinstance(ledger, Ledger):
            raise InputError(
                f"A mechanism needs a ledger to debit, not {type(ledger).__name__}: "
                "Ledger(epsilon=1.0) starts one."
            )
        if not isinstance(question, str) or not question:
            raise InputError("Say in a few words what is asked; that stands in the ledger.")
        self.check_ledger(ledger)
        cost, delta = self.price(ledger.currency)
        ledger.debit(question, cost, self.describe(), delta)

    def check_ledger(self, ledger: Ledger) -> None:  # noqa: B027 (most mechanisms take both)
        """Refuse a ledger whose neighbours the mechanism does not protect."""


def choose_noise(noise: Noise | None, ledger: Ledger) -> Noise:
    """The operating system's noise, unless a test or a study has brought its own, which the ledger
    then says.
    """
    if noise is None:
        return SystemNoise()
    if not noise.private:
        ledger.private = False
    return noise


# --------------------------------------------------------------------------- parameters


def check_sensitivity(sensitivity: Any) -> float:
    """Return a sensitivity if it can be one."""
    if (
        isinstance(sensitivity, bool)
        or not isinstance(sensitivity, int | float)
        or not math.isfinite(sensitivity)
        or not 1e-100 <= sensitivity <= 1e100
    ):
        raise InputError(
            f"sensitivity must be a finite number above 0, not {sensitivity!r}: the most that the "
            "value can change between neighbours, from public bounds."
        )
    return sensitivity


def check_whole_sensitivity(sensitivity: Any) -> int:
    """Return a sensitivity of whole numbers if it can be one."""
    check_sensitivity(sensitivity)
    if not isinstance(sensitivity, int) or sensitivity > 1 << 40:
        raise InputError(
            f"The sensitivity of counts is a whole number, not {sensitivity!r}; for other numbers "
            "take Laplace, Gaussian or Vector."
        )
    return sensitivity


def check_size(size: Any) -> int:
    """Return a number of values if it can be one."""
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MAX_NUMBERS_AT_ONCE:
        raise InputError(
            f"size must be a whole number from 1 to {MAX_NUMBERS_AT_ONCE:,}, not {size!r}."
        )
    return size


def sensitivity_as_fraction(sensitivity: float) -> Fraction:
    """The number that a sensitivity is written as, or the float that it is, whichever is larger."""
    return max(Fraction(sensitivity), exact(sensitivity))


def check_scale(scale: float, epsilon: float) -> None:
    """Refuse noise that is too wide to be drawn."""
    if scale > MAX_CHOICE_SCALE:
        raise InputError(
            f"Noise for epsilon {epsilon:g} at this sensitivity and size is too wide to be drawn; "
            "give it more budget."
        )


def check_monotone(ledger: Ledger) -> None:
    """Monotone scores go with neighbours add_remove: a replaced row may lift one and lower
    another.
    """
    if ledger.neighbours != "add_remove":
        raise InputError(
            "Scores are monotone where rows are added or removed, not where they are replaced; "
            "leave monotone out, or keep the ledger under neighbours add_remove."
        )
