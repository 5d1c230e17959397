"""Amounts of privacy in the database: exact decimals, added up without rounding."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from functools import lru_cache
from typing import Any

from understudy.errors import InputError
from understudy.privacy.budget import check_delta, check_epsilon, exact, round_down, round_up

_EXACT = Context(prec=5000, Emin=-999_999, Emax=999_999, traps=[Inexact])
"""Room for any sum of numbers as programs write them; rounding would be an error."""

MAX_EPSILON = 1e6
"""No budget has more: it would protect nobody."""


@dataclass(frozen=True)
class Price:
    """An exact (epsilon, delta).

    Examples
    --------
    >>> Price.of(0.1) + Price.of(0.2) == Price.of(0.3)
    True
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    @classmethod
    def of(cls, epsilon: Any, delta: Any = 0.0) -> Price:
        """The price that two plain numbers name."""
        epsilon, delta = check_epsilon(epsilon), check_delta(delta)
        if epsilon > MAX_EPSILON:
            raise InputError(f"epsilon must be at most {MAX_EPSILON:g}, not {epsilon:g}.")
        return cls(exact(epsilon), exact(delta))

    def __add__(self, other: Price) -> Price:
        return Price(self.epsilon + other.epsilon, self.delta + other.delta)

    def __sub__(self, other: Price) -> Price:
        return Price(self.epsilon - other.epsilon, self.delta - other.delta)

    def __neg__(self) -> Price:
        return Price(-self.epsilon, -self.delta)

    def fits(self, left: Price) -> bool:
        """Whether there is enough left for it, of both."""
        return self.epsilon <= left.epsilon and self.delta <= left.delta

    @property
    def is_free(self) -> bool:
        """Whether it costs nothing."""
        return self.epsilon == 0 and self.delta == 0

    def numbers(self) -> tuple[float, float]:
        """Both as plain numbers, never more than they are: for what is left."""
        return round_down(self.epsilon), round_down(self.delta)

    def numbers_up(self) -> tuple[float, float]:
        """Both as plain numbers, never less than they are: for what was spent."""
        return round_up(self.epsilon), round_up(self.delta)

    def __str__(self) -> str:
        epsilon, delta = self.numbers()
        if delta == 0:
            return f"epsilon {epsilon:g}"
        return f"epsilon {epsilon:g} and delta {delta:g}"


FREE_OF_CHARGE = Price()


def write_amount(amount: Fraction) -> str:
    """The decimal digits of an amount, all of them."""
    number = _EXACT.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    return f"{number.normalize(_EXACT):f}"


@lru_cache(maxsize=1 << 12)
def read_amount(text: str) -> Fraction:
    """The amount that the digits stand for."""
    return Fraction(text)
