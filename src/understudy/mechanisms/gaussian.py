"""Gaussian noise: the least that buys (epsilon, delta), at any epsilon.

Balle and Wang (2018) give the exact delta of *continuous* Gaussian noise. Ours is discrete. How far
the two are apart is worked out here, and paid for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.mechanisms.additive import AdditiveMechanism, one_or_all
from understudy.mechanisms.base import (
    check_sensitivity,
    check_size,
    choose_noise,
    sensitivity_as_fraction,
)
from understudy.mechanisms.grid import put_on_grid, take_off_grid
from understudy.privacy.budget import check_delta, exact, round_up
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import MAX_CHOICE_SCALE, SCORE_GRID, Noise

Floats = NDArray[np.float64]

TAIL_SHARE = 2.0**-40
"""The share of delta that pays for noise so far out that discrete and continuous noise differ."""

SMALLEST_MULTIPLIER = 1e-18
"""A search ends here where every positive number is large enough."""


@dataclass(frozen=True, kw_only=True)
class GaussianMechanism(AdditiveMechanism):
    """Gaussian noise for numbers, at (epsilon, delta) for any epsilon.

    The noise is discrete Gaussian on a grid of step sensitivity / (2^20 r), where r is
    the root of ``size``, rounded up; rounding, and
    errors of the caller's sums below half a step, move each number by at most two steps, which the
    noise allows for. Its width is that of :func:`gaussian_multiplier`.

    In a ledger that counts in epsilon a release costs epsilon and delta, which add up. In one that
    counts in rho it costs rho = 1 / (2 multiplier^2), which composes far better: there ask for the
    whole budget's (epsilon, delta) in the ledger, and make mechanisms by :meth:`for_rho`.

    Parameters
    ----------
    epsilon, delta
        What one release costs in a ledger that counts in epsilon.
    sensitivity
        The L2 sensitivity: how far apart (Euclidean distance) the numbers of neighbours can be.
    size
        How many numbers are released at once.
    multiplier
        The width of the noise over the sensitivity, where it is known; see :meth:`for_rho`.

    Examples
    --------
    >>> noise = GaussianMechanism(epsilon=1.0, delta=1e-5)
    >>> round(noise.deviation, 3)  # the classical formula asks for 4.845
    3.731
    >>> round(GaussianMechanism(epsilon=10.0, delta=1e-5).deviation, 3)  # and does not hold here
    0.5
    """

    delta: float = 0.0
    sensitivity: float = 1.0
    size: int = 1
    multiplier: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not check_delta(self.delta):
            raise InputError("Gaussian noise needs a delta above 0; Laplace noise needs none.")
        check_sensitivity(self.sensitivity)
        check_size(self.size)
        if not self.multiplier:
            needed = gaussian_multiplier(self.epsilon, self.delta, self.size)
            object.__setattr__(self, "multiplier", needed)
        elif not self._is_wide_enough():
            raise InputError(
                f"Noise of {self.multiplier!r} sensitivities costs more than epsilon "
                f"{self.epsilon:g} and delta {self.delta:g}; leave the multiplier out, or make the "
                "mechanism by GaussianMechanism.for_rho."
            )
        if self.scale > MAX_CHOICE_SCALE:
            raise InputError(
                f"Noise for epsilon {self.epsilon:g} and delta {self.delta:g} at this size is too "
                "wide to be drawn; give it more budget."
            )

    def _is_wide_enough(self) -> bool:
        """Whether a width that was given is worth the price that is stated."""
        given = self.multiplier
        if not isinstance(given, int | float) or not 0 < given < math.inf:
            return False
        return _delta_at(given, self.epsilon, self.delta, self.size) <= self.delta

    @classmethod
    def for_rho(
        cls, rho: float, delta: float, *, sensitivity: float = 1.0, size: int = 1
    ) -> GaussianMechanism:
        """The one that costs ``rho`` in a ledger that counts in rho; ``delta`` says at which its
        epsilon is stated.

        Examples
        --------
        >>> noise = GaussianMechanism.for_rho(0.1, delta=1e-6)
        >>> noise.rho <= 0.1, round(noise.deviation, 3), round(noise.epsilon, 2)
        (True, 2.236, 1.99)
        """
        if isinstance(rho, bool) or not isinstance(rho, int | float) or not 1e-15 <= rho <= 1e6:
            raise InputError(f"rho must be a number from 1e-15 to 1e6, not {rho!r}.")
        if not check_delta(delta):
            raise InputError("Gaussian noise needs a delta above 0; Laplace noise needs none.")
        multiplier = math.sqrt(1 / (2 * rho))
        while exact(_rho(multiplier)) > exact(rho):
            multiplier = math.nextafter(multiplier, math.inf)
        epsilon = _epsilon_at(multiplier, delta, check_size(size))
        return cls(
            epsilon=epsilon,
            delta=delta,
            sensitivity=sensitivity,
            size=size,
            multiplier=multiplier,
        )

    @property
    def rho(self) -> float:
        """What one release costs in zCDP: that of discrete Gaussian noise (Canonne, Kamath and
        Steinke 2020), rounding included.
        """
        return _rho(self.multiplier)

    @cached_property
    def step(self) -> Fraction:
        """The step of the grid."""
        return sensitivity_as_fraction(self.sensitivity) / (SCORE_GRID * _root(self.size))

    @cached_property
    def reach(self) -> int:
        """How many steps (L2) neighbours can lie apart: each of ``size`` numbers moves by two steps
        more, which is 2 sqrt(size) in all.
        """
        return (SCORE_GRID + 2) * _root(self.size)

    @property
    def scale(self) -> float:
        """The scale of the noise, in steps of the grid."""
        return math.nextafter(self.multiplier * self.reach, math.inf)

    def log_pmf(self, steps: NDArray[Any]) -> Floats:
        """The log-probability of noise of this many steps."""
        # At scales this large the sum of the weights is the integral, to all digits of a float.
        whole = math.log(self.scale) + 0.5 * math.log(2 * math.pi)
        sizes = np.asarray(steps, dtype=np.float64)
        return np.asarray(-((sizes / self.scale) ** 2) / 2 - whole, dtype=np.float64)

    @property
    def variance(self) -> float:
        """Of the noise in each number."""
        return (self.scale * float(self.step)) ** 2

    def describe(self) -> str:
        """As it stands in a ledger."""
        return (
            f"Gaussian, sensitivity {self.sensitivity:.6g}, scale {self.deviation:.6g}, on a grid "
            f"of {float(self.step):.6g}"
        )

    def release(
        self, value: Any, ledger: Ledger, question: str, *, noise: Noise | None = None
    ) -> Any:
        """A number, or an array of ``size`` of them, with noise in each.

        Parameters
        ----------
        value
            The exact number or numbers.
        ledger
            What is debited first.
        question
            What was asked, in a few words.
        noise
            Where noise comes from; anything but the default is for tests and studies.
        """
        steps = put_on_grid(value, self.step, self.size)
        self.debit(ledger, question)
        noisy = choose_noise(noise, ledger).gaussian(steps, self.scale)
        return one_or_all(take_off_grid(noisy, self.step), value)


def _root(size: int) -> int:
    """The least whole number that is no less than the root of the size."""
    return math.isqrt(size - 1) + 1


def _rho(multiplier: float) -> float:
    return round_up(1 / (2 * Fraction(multiplier) ** 2))


# --------------------------------------------------------------------------- calibration


@lru_cache(maxsize=1024)
def gaussian_multiplier(epsilon: float, delta: float, size: int = 1) -> float:
    """The width of the noise, over the L2 sensitivity, that is enough for (epsilon, delta).

    That of continuous noise (Balle and Wang 2018), and as much more as discrete noise needs at
    2^20 steps to the sensitivity: some ten digits agree.

    *Proof.* Let p be the probabilities of discrete Gaussian noise of scale s, and r those of
    continuous noise of the same scale rounded to whole numbers, each in d = ``size`` independent
    coordinates. With U uniform in [-1/2, 1/2] and T = sum of exp(-k^2 / (2 s^2)), one coordinate
    has r(k) / p(k) = c E[exp(-U^2 / (2 s^2)) cosh(k U / s^2)], where
    c = T / (s sqrt(2 pi)) lies between 1 and 1 + 3 exp(-2 pi^2 s^2), by Poisson's summation. So
    (a) p <= r / (1 - 1 / (24 s^2)) everywhere, as E[U^2] = 1/12 and cosh is at least 1; and
    (b) r <= p c sinh(t / (2 s)) / (t / (2 s)) wherever |k| <= t s.
    Take logarithms times d, and call them a and b. Adding an integer shift and rounding is
    rounding after adding it: r is the continuous mechanism and something done to its answer, and so
    keeps (epsilon', delta'). Let S be any set of answers, x and x' neighbours, and A the answers
    within t s of x' in every coordinate. Then P(S and A) <= e^a R(S and A) <= e^a (e^epsilon'
    R'(S and A) + delta') <= e^(a + b + epsilon') P'(S) + e^a delta'. What is not in A has
    probability of at most 2 d exp(-(t - reach / s)^2 / 2), since discrete Gaussian noise is
    sub-Gaussian. So epsilon = epsilon' + a + b and delta = e^a delta' + that. t is chosen such
    that the last summand is 2^-40 of delta.

    Examples
    --------
    >>> round(gaussian_multiplier(1.0, 1e-5), 4)
    3.7306
    """
    return bracket(lambda width: _delta_at(width, epsilon, delta, size) > delta)[1]


def _epsilon_at(multiplier: float, delta: float, size: int) -> float:
    """The epsilon of noise of this width at a delta."""
    return bracket(lambda epsilon: _delta_at(multiplier, epsilon, delta, size) > delta)[1]


def bracket(is_too_small: Callable[[float], bool]) -> tuple[float, float]:
    """The last number that is too small, and the first that is not, to twelve digits."""
    low, high = 0.0, 1.0
    while is_too_small(high):
        low, high = high, 2 * high
    while high - low > max(1e-12 * high, SMALLEST_MULTIPLIER):
        middle = (low + high) / 2
        if is_too_small(middle):
            low = middle
        else:
            high = middle
    return low, high


def _delta_at(multiplier: float, epsilon: float, delta: float, size: int) -> float:
    """An upper bound on the delta of discrete noise at epsilon, with a tail for ``delta``."""
    scale = multiplier * SCORE_GRID * _root(size)
    far = math.sqrt(2 * math.log(2 * size / (TAIL_SHARE * delta))) + 1 / multiplier
    half = far / (2 * scale)
    if scale < 2 or half > 1:
        return 1.0
    narrower = -size * math.log1p(-1 / (24 * scale**2))
    # log(sinh(h) / h) <= h^2 / 6; c is 1 to the last digit of a float for scales above 2.
    wider = size * (half**2 / 6 + 1e-16)
    left = epsilon - narrower - wider
    if left <= 0:
        return 1.0
    return math.exp(narrower) * continuous_delta(multiplier, left) + TAIL_SHARE * delta


def continuous_delta(multiplier: float, epsilon: float) -> float:
    """The delta of continuous Gaussian noise at epsilon (Balle and Wang 2018, theorem 8), and what
    rounding may have taken from it.

    It is Phi(a) - e^epsilon Phi(b) with a = 1 / (2 m) - epsilon m and b = -1 / (2 m) - epsilon m.

    Examples
    --------
    >>> round(continuous_delta(1.0, 1.0), 6)
    0.126937
    """
    first = log_normal_cdf(0.5 / multiplier - epsilon * multiplier)
    second = log_normal_cdf(-0.5 / multiplier - epsilon * multiplier)
    difference = epsilon + second - first
    # Each summand has a relative error of some 1e-15.
    error = 4e-15 * (1 + epsilon + abs(first) + abs(second))
    return math.exp(first) * (-math.expm1(min(difference, 0.0)) + error)


def log_normal_cdf(x: float) -> float:
    """Log Phi(x), to nearly all digits.

    Examples
    --------
    >>> round(log_normal_cdf(0.0), 6), round(log_normal_cdf(-40.0), 4)
    (-0.693147, -804.6084)
    """
    if x > -20:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2)))
    # The asymptotic series alternates; at 20 its eighth term is below 1e-14 of the first.
    term, series, square = 1.0, 1.0, x * x
    for order in range(1, 9):
        term *= -(2 * order - 1) / square
        series += term
    return -square / 2 - math.log(-x) - 0.5 * math.log(2 * math.pi) + math.log(series)
