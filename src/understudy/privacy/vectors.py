"""The question ``vectors``: a noisy sum, over a random sample of the rows, of clipped vectors.

A public function (:mod:`understudy.counting.row_functions`) gives each row a vector: the gradient
of a network whose weights are released, random features. Each row is sampled by itself, with
operating-system randomness; its vector is shortened to a public length, put on a grid of whole
numbers and added; the sum gets exact discrete Gaussian noise. One answer to gradients is one step
of DP-SGD, and the price of all steps is booked before the first one
(:meth:`understudy.privacy.curator.Curator.prepay`).

**Sensitivity.** A row's vector on the grid is a function of that row and of public values. The
products of dense networks are added up in a fixed order by operations that IEEE 754 rounds exactly;
libraries (BLAS, torch) are given one row at a time, always at the same place of the memory. So
nothing is assumed of how a library rounds in one shape or another: no other row is within its
reach. On the grid a vector is put by itself, in a buffer of its own; its length is at most
VECTOR_STEPS steps, whatever floating point does (:func:`put_on_grid`), and whole numbers are added
up exactly.
One row more or less moves the exact sum by its vector if it is sampled and not at all if it is not,
which is what :func:`understudy.privacy.renyi.bound_sampled_divergence` prices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.counting.row_functions import RowFunction, RowMatrix, Singles, make_aligned
from understudy.errors import InputError
from understudy.privacy.budget import Budget, exact, round_up
from understudy.privacy.domain import Domain
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import (
    MAX_CHOICE_SCALE,
    ExactCounts,
    Noise,
    add_noise,
    describe_noise,
    gaussian_scale,
)
from understudy.privacy.questions import LedgerLine, Question
from understudy.privacy.renyi import find_multiplier, round_rate

VECTOR_STEPS = 1 << 16
"""The largest length of a row's vector, in steps: the root of its number of coordinates must be far
below, or little is left of it.
"""

ADDED_TOGETHER = 256
"""Vectors that are added up in single precision: exactly, up to 2^24 / VECTOR_STEPS of them."""

MAX_SINGLE = 1 << 20
"""With more coordinates, lengths are computed in double precision."""

MAX_CLIP = 1e6
MIN_CLIP = 1e-6


@dataclass(frozen=True, kw_only=True)
class VectorSum(Question):
    """A noisy sum of clipped vectors over a Poisson sample of the rows.

    Parameters
    ----------
    function
        What gives each row its vector.
    budget
        The price of one answer, in rho; for samples, at the order of the ledger.
    clip
        Vectors longer than this are shortened to it.
    rate
        The probability with which each row is in the sample; 1 takes all rows.
    """

    function: RowFunction
    budget: Budget
    clip: float
    rate: float = 1.0

    def check(self, domain: Domain) -> None:
        """Refuse what does not fit the schema, and what has no price."""
        self.function.check(domain.schema)
        if not MIN_CLIP <= self.clip <= MAX_CLIP:
            raise InputError(
                f"The length that vectors are clipped to must lie between {MIN_CLIP:g} and "
                f"{MAX_CLIP:,g}, not {self.clip!r}."
            )
        round_rate(self.rate)
        if self.budget.currency == "epsilon":
            raise InputError("Clipped vectors have Gaussian noise, which needs a delta above 0.")
        if not self.budget.amount > 0:
            raise InputError("Vectors cannot be summed for nothing; give them more budget.")

    @property
    def exact_rate(self) -> Fraction:
        """The probability with which rows are really sampled."""
        return round_rate(self.rate)

    @property
    def step(self) -> float:
        """The step of the grid, in the units of the vectors."""
        return self.clip / VECTOR_STEPS

    def scale(self, ledger: Ledger) -> float:
        """The scale of the noise, in steps; refuses a ledger that cannot price the question."""
        if ledger.neighbours != "add_remove" or ledger.max_rows_per_person > 1:
            raise InputError(
                "Sums of clipped vectors protect one row that is added or removed: neighbours "
                "add_remove, and one row per person."
            )
        rho = self.budget.amount
        if self.exact_rate == 1:
            scale = gaussian_scale(float(VECTOR_STEPS), rho)
        elif ledger.order is None:
            raise InputError("A sample of the rows needs a ledger that is kept at an order.")
        else:
            scale = VECTOR_STEPS * find_multiplier(ledger.order, float(self.exact_rate), rho)
        if scale > MAX_CHOICE_SCALE:
            raise InputError("The budget buys no step: the noise would be too large to be drawn.")
        return scale

    def price(self, answers: int) -> Budget:
        """What some answers cost together."""
        return Budget(round_up(exact(self.budget.amount) * answers), self.budget.currency)

    def ledger_line(self, scale: float, answers: int = 1, how: str = "") -> LedgerLine:
        """The line of some answers."""
        what = f"{self.function.describe()}, clipped to length {self.clip:g}"
        sample = "all rows"
        if self.exact_rate < 1:
            sample = f"a Poisson sample of rate {float(self.exact_rate):.6g}"
        times = "1 sum"
        if answers > 1:
            times = f"{answers:,} sums"
        mechanism = (
            f"{describe_noise(self.budget.currency)}, {scale / VECTOR_STEPS:.6g} times the length"
        )
        if how:
            mechanism = f"{mechanism}, {how}"
        return f"{times} of {what}, over {sample}", self.price(answers), mechanism

    @property
    def terms(self) -> tuple[float, float, float]:
        """What makes two questions cost the same, whatever their functions are."""
        return self.budget.amount, self.clip, self.rate


@dataclass(frozen=True, kw_only=True)
class NoisyVector:
    """The answer: a noisy sum and the deviation of the noise in each of its numbers."""

    values: NDArray[np.float64]
    deviation: float


def sum_vectors(question: VectorSum, rows: RowMatrix, noise: Noise, scale: float) -> ExactCounts:
    """The noisy sum, in steps; it must be paid for already."""
    sample = noise.sample(rows.rows, question.exact_rate)
    exact_values = exact_sum(question.function, rows, sample, question.clip)
    return add_noise(noise, exact_values, question.budget.currency, scale)


def exact_sum(
    function: RowFunction, rows: RowMatrix, sample: NDArray[np.int64], clip: float
) -> ExactCounts:
    """The sum of the sampled rows' vectors on the grid: exact, and private."""
    total = np.zeros(function.width, dtype=np.int64)
    vector = make_aligned(function.width)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows counts as 0
        for start in range(0, len(sample), ADDED_TOGETHER):
            steps = np.zeros(function.width, dtype=np.float32)
            for found in function.vectors(rows.take(sample[start : start + ADDED_TOGETHER])):
                vector[:] = found
                steps += put_on_grid(vector, clip)
            total += steps.astype(np.int64)
    return total


def put_on_grid(vector: Singles, clip: float) -> Singles:
    """A vector clipped to a length and rounded towards 0, in steps, in its place: it is not longer
    than VECTOR_STEPS steps.

    A vector that is not finite counts as 0. Its length is computed in floating point, so what is
    divided by is an upper bound of it: a sum of d squares of numbers with 24 binary digits is off
    by a share of at most (d + 1) / 2^24, in whatever order they are added, as long as that is far
    below 1; a few more for the root, the quotient and the product make (d + 16) / 2^24, with 1 / 10
    to spare. Rounding towards 0 makes no vector longer.

    Returns
    -------
    Whole numbers, of at most VECTOR_STEPS each, as floats that hold them exactly.
    """
    slack, squares = 1.1 * (vector.size + 16) / 2**24, vector
    if vector.size > MAX_SINGLE:
        slack, squares = 2.0**-20, vector.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        length = math.sqrt(np.dot(squares, squares)) * (1 + slack)
    if not math.isfinite(length):
        return np.zeros_like(vector)
    vector *= np.float32(VECTOR_STEPS / max(length, clip * (1 + slack)))
    return np.trunc(vector, out=vector)
