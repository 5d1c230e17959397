"""What a negative control is, and what several of them are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.auditing.blackbox import Features, tell_apart
from understudy.auditing.bounds import CONFIDENCE
from understudy.auditing.findings import Finding

Simulate = Callable[[bool, int, np.random.Generator], Features]
"""Outcomes of many runs: on the table (False) or on its neighbour (True)."""


@dataclass(frozen=True)
class Control:
    """A method to be audited, broken or sound on purpose.

    Attributes
    ----------
    name
        What is done.
    source
        Who did it: "thesis", "Aalborg", "book" with the number in the notes, or a tool.
    pair
        The neighbouring inputs on which it shows.
    claimed
        The epsilon that it claims.
    simulate, exact
        How it is audited: one of the two.
    broken
        Whether the audit must flag it.
    unit
        What the claim is in: "epsilon", "rho", "delta", or "bias" for an estimate that is wrong.
    least
        For one that wastes its budget instead of breaking its promise: the share of the claim that
        the right version loses.
    """

    name: str
    source: str
    pair: str
    claimed: float
    simulate: Simulate | None = None
    exact: Callable[[], float] | None = None
    broken: bool = True
    unit: str = "epsilon"
    least: float = 0.0

    @property
    def test(self) -> str:
        """The kind of test."""
        if self.simulate is not None:
            return "runs"
        return "exact"

    def finding(
        self, runs: int, confidence: float = CONFIDENCE, seed: int | None = None
    ) -> Finding:
        """What the audit finds."""
        about = (self.name, self.pair, self.test, self.claimed)
        if self.simulate is None:
            assert self.exact is not None
            return Finding(*about, self.exact(), self.unit, source=self.source, least=self.least)
        rng = np.random.default_rng(seed)
        found = tell_apart(
            self.simulate(False, runs, rng), self.simulate(True, runs, rng), confidence
        )
        return Finding(
            *about, found.epsilon, self.unit, confidence, self.source, found.epsilon_limit
        )


# --------------------------------------------------------------------------- building blocks


def draw_laplace(
    rng: np.random.Generator, scale: float, shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Discrete Laplace noise."""
    success = -math.expm1(-1 / scale)
    return (rng.geometric(success, shape) - rng.geometric(success, shape)).astype(np.float64)


def noisy_table(
    counts: Sequence[float],
    other: Sequence[float],
    scale: float,
    change: Callable[..., Features] | None = None,
) -> Simulate:
    """Counts with noise of a scale; ``change`` makes something else of counts and noise."""

    def simulate(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
        exact = np.array(other if neighbour else counts, dtype=np.float64)
        noise = draw_laplace(rng, scale, (runs, len(exact)))
        if change is None:
            return exact + noise
        return change(exact, noise)

    return simulate


def simulate_exact_release(value: float, other: float, scale: float) -> Simulate:
    """A noisy count beside a value that is released as it is."""

    def simulate(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
        noisy = draw_laplace(rng, scale, (runs,)) + 40
        return np.column_stack([noisy, np.full(runs, other if neighbour else value)])

    return simulate
