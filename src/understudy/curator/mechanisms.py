"""Noise and choice: the only randomness between private counts and the world.

Counts are integers and get integer noise (discrete Laplace, discrete Gaussian) from OpenDP, which draws from the
operating system and computes exactly; there is no floating-point noise and no seed. :class:`SeededNoise` is for tests
and studies: it draws from NumPy, is repeatable, and marks every ledger and model that it touches as not private.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.curator.budget import Budget, Currency, Neighbours

Counts = NDArray[np.int64]
Rule = Literal["exponential", "permute_and_flip"]


class Noise(Protocol):
    """Where noise comes from."""

    private: bool

    def laplace(self, counts: Counts, scale: float) -> Counts:
        """Add discrete Laplace noise: P(k) is proportional to exp(-|k| / scale)."""

    def gaussian(self, counts: Counts, scale: float) -> Counts:
        """Add discrete Gaussian noise: P(k) is proportional to exp(-k^2 / (2 scale^2))."""

    def choose(self, scores: NDArray[np.float64], scale: float, rule: Rule) -> int:
        """Choose a place at random, high scores more often.

        "exponential": P(i) is proportional to exp(scores[i] / scale). "permute_and_flip": go through the places in
        random order and stop at each with probability exp((scores[i] - best) / scale).
        """


class SystemNoise:
    """Exact noise from OpenDP and the operating system."""

    private = True

    def laplace(self, counts: Counts, scale: float) -> Counts:
        """Add discrete Laplace noise."""
        return _vector(_laplace(scale), counts)

    def gaussian(self, counts: Counts, scale: float) -> Counts:
        """Add discrete Gaussian noise."""
        return _vector(_gaussian(scale), counts)

    def choose(self, scores: NDArray[np.float64], scale: float, rule: Rule) -> int:
        """Choose a place at random."""
        if not np.isfinite(scores).all():
            raise ValueError("scores must be finite")
        return int(_noisy_max(scale, rule)(scores.tolist()))


class SeededNoise:
    """Repeatable noise of the same distributions, for tests and studies. It protects nobody."""

    private = False

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def laplace(self, counts: Counts, scale: float) -> Counts:
        """Add discrete Laplace noise."""
        success = -math.expm1(-1 / scale)
        draws = self._rng.geometric(success, (2, *counts.shape))
        return counts + draws[0] - draws[1]

    def gaussian(self, counts: Counts, scale: float) -> Counts:
        """Add a rounded Gaussian: close enough to the discrete one for a study."""
        return counts + np.rint(self._rng.normal(0.0, scale, counts.shape)).astype(np.int64)

    def choose(self, scores: NDArray[np.float64], scale: float, rule: Rule) -> int:
        """Choose a place at random."""
        if rule == "exponential":
            return int(np.argmax(scores / scale + self._rng.gumbel(size=len(scores))))
        # Permute-and-flip is the maximum of scores with exponential noise.
        return int(np.argmax(scores / scale + self._rng.exponential(size=len(scores))))


# --------------------------------------------------------------------------- calibration


def laplace_scale(sensitivity: int, epsilon: float) -> float:
    """The smallest scale at which OpenDP vouches for epsilon-DP at the given L1 sensitivity."""
    return _smallest(sensitivity / epsilon, lambda scale: float(_laplace(scale).map(sensitivity)) <= epsilon)


def gaussian_scale(sensitivity: float, rho: float) -> float:
    """The smallest scale at which OpenDP vouches for rho-zCDP at the given L2 sensitivity."""
    start = sensitivity / math.sqrt(2 * rho)
    return _smallest(start, lambda scale: float(_gaussian(scale).map(sensitivity)) <= rho)


def cells_touched(neighbours: Neighbours) -> int:
    """How many counts of a table one row changes, each by one: its own cell, and under replace also the one it left."""
    return 1 if neighbours == "add_remove" else 2


def table_scale(cost: Budget, neighbours: Neighbours, rows_per_person: int = 1) -> float:
    """The scale of the noise in each cell of a table that costs ``cost``: Laplace for epsilon, Gaussian for rho.

    Where a person has up to M rows, a table is as far from its neighbour as M single rows carry it. All of them may lie
    in one cell, so both the L1 and the L2 distance are M times those of one row.
    """
    cells = cells_touched(neighbours)
    if cost.currency == "epsilon":
        return laplace_scale(rows_per_person * cells, cost.amount)
    one_row = 1.0 if cells == 1 else math.nextafter(math.sqrt(cells), math.inf)
    return gaussian_scale(rows_per_person * one_row, cost.amount)


def mean_noise(cost: Budget, neighbours: Neighbours, rows_per_person: int = 1) -> float:
    """The average size of the noise in each cell of a table that costs ``cost``."""
    scale = table_scale(cost, neighbours, rows_per_person)
    return scale if cost.currency == "epsilon" else scale * math.sqrt(2 / math.pi)


SCORE_GRID = 1 << 20
"""Scores are rounded to this fraction of their sensitivity before a choice, see :func:`gridded`."""


def gridded(
    scores: NDArray[np.float64], sensitivity: float, offsets: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Scores, with public offsets added, as whole multiples of sensitivity / SCORE_GRID.

    A score is computed in floating point, so its last digits may break the bound that was proved for real numbers.
    Rounding to a grid that is coarse against those digits and fine against the sensitivity gives integers that differ
    by at most SCORE_GRID + 2 between neighbours: SCORE_GRID for the score itself, one for the rounding, and one for
    errors of the computation. Offsets are rounded by themselves and bounded, so that the sum is exact.
    """
    whole = np.rint(scores * (SCORE_GRID / sensitivity))
    if offsets is None:
        return whole
    return whole + np.clip(np.rint(offsets * (SCORE_GRID / sensitivity)), -(2.0**51), 2.0**51)


def choice_scale(amount: float, currency: Currency) -> float:
    """The scale, for gridded scores, at which a choice costs ``amount``.

    The exponential mechanism at exp(score / scale) is epsilon-DP with epsilon = 2 sensitivity / scale, and
    epsilon^2 / 8-zCDP (Cesar and Rogers 2021); permute-and-flip is epsilon-DP at the same scale (McKenna and Sheldon
    2020).
    """
    epsilon = amount if currency == "epsilon" else math.sqrt(8 * amount)
    scale = 2 * (SCORE_GRID + 2) / epsilon
    return math.nextafter(scale * (1 + 1e-12), math.inf)


def _smallest(start: float, enough: Any) -> float:
    scale = start
    step = math.ulp(start)
    while not enough(scale):
        scale += step
        step *= 2
    return scale


# --------------------------------------------------------------------------- OpenDP


def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


@lru_cache(maxsize=256)
def _laplace(scale: float) -> Any:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return space >> dp.m.then_laplace(scale=scale)


@lru_cache(maxsize=256)
def _gaussian(scale: float) -> Any:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    return space >> dp.m.then_gaussian(scale=scale)


@lru_cache(maxsize=256)
def _noisy_max(scale: float, rule: Rule) -> Any:
    """OpenDP's noisy maximum: exponential noise (permute-and-flip) or Gumbel noise (the exponential mechanism)."""
    dp = _opendp()
    measure = dp.max_divergence() if rule == "permute_and_flip" else dp.zero_concentrated_divergence()
    domain = dp.vector_domain(dp.atom_domain(T="f64", nan=False))
    return dp.m.make_noisy_max(domain, dp.linf_distance(T="f64", monotonic=False), measure, scale=scale)


def _vector(measurement: Any, counts: Counts) -> Counts:
    """One call for the whole table: a call a cell would be a hundred times slower."""
    noisy = measurement(counts.ravel().tolist())
    return np.array(noisy, dtype=np.int64).reshape(counts.shape)
