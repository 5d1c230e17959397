"""Amounts of privacy: how a guarantee turns into a budget, and how a budget is split without losing
or making any.

Three currencies. *epsilon*: pure differential privacy, composed by addition. Where the guarantee
has a delta, *rho*: zero-concentrated differential privacy (zCDP), composed by addition too, and
converted to (epsilon, delta) once, at the end, by OpenDP's conversion; or *gdp*, which is exact for
Gaussian noise that one place adds (:mod:`understudy.privacy.gaussian_privacy`).

Sums are exact. An amount is read as the decimal number that it is written as, parts of a split are
rounded down to 15 digits, and comparisons are made in rational arithmetic: three debits of 0.1 fit
an allowance of 0.3, and no split adds up to more than the whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, Inexact, InvalidOperation, Overflow
from fractions import Fraction
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any, Literal

from understudy.errors import InputError

Currency = Literal["epsilon", "rho", "gdp"]
Neighbours = Literal["replace", "add_remove"]

DEFAULT_DELTA = 1e-9
"""The delta of a run that needs one (categories to discover) and was given none."""


SMALLEST_EPSILON = 1e-12


@lru_cache(maxsize=1 << 12)
def exact(amount: float) -> Fraction:
    """The decimal number that ``amount`` is written as."""
    return Fraction(repr(float(amount)))


def round_down(amount: Fraction) -> float:
    """The largest number of 15 digits that is not above ``amount``."""
    context = Context(prec=15, rounding=ROUND_FLOOR)
    number = float(context.divide(Decimal(amount.numerator), Decimal(amount.denominator)))
    # The smallest floats have fewer digits than 15: half of the very smallest would be rounded up.
    if exact(number) > amount:
        number = math.nextafter(number, -math.inf)
    return number


def round_up(amount: Fraction) -> float:
    """A number that is not below ``amount``, nor above it by more than its last digit."""
    number = float(amount)
    while exact(number) < amount:
        number = math.nextafter(number, math.inf)
    return number


@dataclass(frozen=True)
class Budget:
    """An amount of privacy that a question may cost.

    Examples
    --------
    >>> structure, parameters = Budget(1.0, "epsilon").split(0.3, 0.7)
    >>> structure
    Budget(amount=0.3, currency='epsilon')
    """

    amount: float
    currency: Currency = "epsilon"

    def split(self, *weights: float) -> tuple[Budget, ...]:
        """Parts in proportion to the weights; together they are never more than the whole."""
        if not weights or any(not math.isfinite(w) or w < 0 for w in weights) or sum(weights) <= 0:
            raise ValueError("weights must be finite, not negative and not all zero")
        whole, total = exact(self.amount), sum(map(exact, weights))
        return tuple(Budget(round_down(whole * exact(w) / total), self.currency) for w in weights)

    def plus(self, other: Budget) -> Budget:
        """Two amounts of one currency together."""
        if other.currency != self.currency:
            raise ValueError("amounts of two currencies do not add up")
        return Budget(round_down(exact(self.amount) + exact(other.amount)), self.currency)

    def equally(self, parts: int) -> tuple[Budget, ...]:
        """``parts`` equal parts."""
        return self.split(*([1.0] * parts))


# --------------------------------------------------------------------------- guarantees


def check_epsilon(epsilon: Any) -> float:
    """Return epsilon as a float if it can be one."""
    if (
        isinstance(epsilon, bool)
        or not isinstance(epsilon, int | float)
        or not math.isfinite(epsilon)
        or epsilon <= 0
    ):
        raise InputError(
            f"epsilon must be a finite number above 0, not {epsilon!r}; 1 is a common choice."
        )
    if epsilon < SMALLEST_EPSILON:
        raise InputError(
            f"epsilon must be at least {SMALLEST_EPSILON:g}, not {epsilon!r}; less teaches nothing."
        )
    return float(epsilon)


def check_delta(delta: Any) -> float:
    """Return delta as a float if it can be one."""
    if (
        isinstance(delta, bool)
        or not isinstance(delta, int | float)
        or not (delta == 0 or 1e-300 <= delta < 1)
    ):
        raise InputError(
            f"delta must be at least 0 and below 1, not {delta!r}; choose it far below one over "
            "the number of rows."
        )
    return float(delta)


def check_part_of_delta(part: Any) -> float:
    """Return a part of a delta as a float if it can be one: of the smallest delta that there is, a
    part is smaller still.
    """
    if isinstance(part, bool) or not isinstance(part, int | float) or not 0 <= part < 1:
        raise InputError(f"A part of delta must be at least 0 and below 1, not {part!r}.")
    return float(part)


def check_neighbours(neighbours: Any) -> Neighbours:
    """Return the neighbour relation if it is one."""
    if neighbours not in ("replace", "add_remove"):
        raise InputError(f"neighbours must be replace or add_remove, not {neighbours!r}.")
    relation: Neighbours = neighbours
    return relation


@lru_cache(maxsize=1 << 12)  # 3 ms each, and a ledger asks for the same ones again and again
def epsilon_of(rho: float, delta: float) -> float:
    """The smallest epsilon for which rho-zCDP is known to imply (epsilon, delta)-DP."""
    if rho == 0:
        return 0.0
    dp = opendp()
    # A Gaussian of scale 1 is rho-zCDP at L2 distance sqrt(2 rho): a carrier for OpenDP's
    # conversion.
    distance = math.nextafter(math.sqrt(2 * rho), math.inf)
    try:
        epsilon: float = dp.c.make_fix_delta(_carrier(), delta).map(distance)[0]
    except dp.OpenDPException as error:
        raise InputError(
            "Accounting with a delta does not reach to an epsilon that large, which would protect "
            "nobody; lower it."
        ) from error
    return epsilon


@cache
def opendp() -> Any:
    """The parts of OpenDP that are used, under the names of its prelude.

    The prelude itself would load every library of data frames and learners that happens to be
    installed.
    """
    from opendp import combinators, domains, measurements, measures, metrics, mod

    mod.enable_features("contrib")
    named = {
        name: value
        for module in (mod, domains, measures, metrics)
        for name, value in vars(module).items()
    }
    return SimpleNamespace(**named | {"m": measurements, "c": combinators})


@cache
def _carrier() -> Any:
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    return dp.c.make_zCDP_to_approxDP(space >> dp.m.then_gaussian(scale=1.0))


@cache
def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho (to 12 digits) for which rho-zCDP implies (epsilon, delta)-DP."""
    allowed, refused = _bracket_rho(epsilon, delta)
    low, high = 0.0, 1.0
    while high <= allowed or epsilon_of(high, delta) <= epsilon:
        low, high = high, high * 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if middle < refused and (middle <= allowed or epsilon_of(middle, delta) <= epsilon):
            low = middle
        else:
            high = middle
    return round_down(Fraction(low))


def _bracket_rho(epsilon: float, delta: float) -> tuple[float, float]:
    """A rho that is allowed and one that is not, close to each other.

    OpenDP's conversion takes a millisecond. The secant method, from where the simple bound epsilon
    = rho + 2 sqrt(rho ln(1 / delta)) meets epsilon, spares most of the calls of a bisection.
    """
    allowed, refused = 0.0, math.inf
    weight = -math.log(delta)
    rho = (math.sqrt(weight + epsilon) - math.sqrt(weight)) ** 2
    slope = 1 + math.sqrt(weight / rho)
    last = None
    for _ in range(12):
        try:
            off = epsilon_of(rho, delta) - epsilon
        except InputError:  # beyond what OpenDP converts; the bisection will tell
            break
        if off <= 0:
            allowed = max(allowed, rho)
        else:
            refused = min(refused, rho)
        if last is not None and last[0] != rho and last[1] != off:
            slope = (off - last[1]) / (rho - last[0])
        last = rho, off
        # A little further than to where epsilon is met, so that it is passed.
        rho -= off / slope + math.copysign(2e-13 * rho, off)
        if refused <= allowed * (1 + 1e-12) or not 0 < rho < math.inf:
            break
    return allowed, refused


_EXACT = Context(prec=1000, traps=[Inexact, Overflow, InvalidOperation])
"""Holds the sum of any floats to its last digit, and refuses what would not be exact."""


def total(amounts: Sequence[float]) -> Fraction:
    """The exact sum of the decimal numbers that the amounts are written as."""
    found = Decimal(0)
    for amount in amounts:
        found = _EXACT.add(found, Decimal(repr(float(amount))))
    return Fraction(found)
