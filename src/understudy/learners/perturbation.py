"""Logistic loss, minimised privately: output perturbation and objective perturbation.

Notation: F(w) = sum over rows of log(1 + exp(-y w.x)) + strength / 2 |w|^2, with y = -1 or 1. The
public bounds of a row x, intercept included, are |x|_1 <= L1 and |x|_2 <= L2, so the gradient of a
row's loss has at most these norms, and its second derivative is at most L2^2 / 4 in the direction
of x. Nothing here is divided by the number of rows, which may be private. A person has up to M
rows; under "replace" a row that changes is one that goes and one that comes.

**No minimiser is exact.** Whatever the solver returns is taken only once the norm of the gradient
there is *proved* to be at most TOLERANCE * L2, the rounding errors of the computation included
(:func:`bound_gradient`). F is strongly convex, so it lies within TOLERANCE * L2 / strength of the
minimiser. Which one of these many points it is may depend on anything; noise covers all of them.
Rounding takes less than half of TOLERANCE for 2^31 rows, more than a table can hold, so no number
of rows is refused: a refusal at a certain number would tell that there are as many.

**Output perturbation.** Let F' = F + one row's loss. At the minimiser w' of F' the gradient of F is
that row's, of norm at most L2; by strong convexity |w - w'| <= L2 / strength. M rows make it M
times that, and under replace twice. Add 2 TOLERANCE L2 / strength for the approximation. The point
is put on a grid of integers, which adds less than 1 per coordinate, so sqrt(d) in all; then it gets
exact integer noise: Laplace for epsilon (an L1 distance is at most sqrt(d) times an L2 one),
Gaussian for rho.

**Objective perturbation.** b.w is added to F, with independent Laplace noise in b. Take first
exact arithmetic, b continuous, and the exact minimiser w. Given w, b = -grad F(w) is known, so the
density at w is that of b times det of the Hessian of F at w. One row more changes grad F(w) by at
most L1 in the L1 norm: a factor of at most exp(L1 / scale). It adds l'' x x' to a Hessian H that is
at least the strength: the determinant grows by a factor 1 + l'' x'H^-1 x, between 1 and 1 + L2^2 /
(4 strength). Hence epsilon = M (L1 / scale + log(1 + L2^2 / (4 strength))); under replace the first
part is twice as much, the second is not, since one determinant's growth is the other's loss and
each is at least that of the rows in common.

What is computed differs from that ideal point by little, always. Discrete Laplace noise is a
difference of two geometric variables, which are exponential ones rounded down to the grid h, so it
is within h of continuous Laplace noise drawn along with it. The minimiser for that b is within
sqrt(d) h / strength of the ideal one, and the point found within TOLERANCE L2 / strength of that.
So the ideal point can be thought of as being there, unseen, at a known distance r. The point found
is put on a grid and gets discrete Laplace noise for which a distance of r costs epsilon_c. For any
outcome o,

    P(o | D) <= e^epsilon_c E[noise(o) about the ideal point of D]
             <= e^(epsilon_c + epsilon) E[noise(o) about the ideal point of D']
             <= e^(2 epsilon_c + epsilon) P(o | D'),

so two times epsilon_c is set aside, and the guarantee holds for what is computed.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import MAX_CHOICE_SCALE, Noise, gaussian_scale, laplace_scale

Perturbed = Literal["objective", "output"]
CoefficientVector = NDArray[np.float64]

TOLERANCE = 2.0**-17
"""The norm of the gradient at a point that is taken for the minimiser, as a share of L2."""

COVER_SHARE = 1 / 64
"""Of objective perturbation: the share of epsilon that covers rounding."""

CURVATURE_SHARE = 0.5
"""Of objective perturbation: the most of epsilon that curvature may take; the regulariser grows
until it does not.
"""

OUTPUT_NOISE = 0.1
"""Of output perturbation: the regulariser grows until the noise in a coefficient has this scale."""

MAX_SEARCH_STEPS = 200

TERMS_AT_A_TIME = 1 << 16
"""This many terms of a sum are Python numbers at a time."""

LEAST_STRENGTH = 1e-3
"""A weaker regulariser would leave Newton's method on thin ice."""

MAX_TILT = 2.0**24
"""The largest scale of the noise in a gradient."""

UNIT = 2.0**-53
"""The largest relative error of a rounded number."""

SAFE = 1 + 1e-9
"""What is computed in floating point about a guarantee is made worse by this factor."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Private rows as vectors within public norms, and a label of -1 or 1 for each."""

    features: CoefficientVector
    labels: CoefficientVector
    l1: float
    l2: float

    @property
    def dimensions(self) -> int:
        """How many features there are, the intercept included."""
        return self.features.shape[1]


@dataclass(frozen=True, kw_only=True)
class PerturbationPlan:
    """What is done for a price: public, made before a row is read."""

    how: Perturbed
    strength: float
    """Of the regulariser."""
    tilt_step: float = 0.0
    tilt_scale: float = 0.0
    """The grid of b, and the scale of the noise on it; 0: nothing is added to the objective."""
    step: float
    """The grid of the coefficients."""
    scale: float
    """Of the noise on that grid."""
    gaussian: bool = False

    def describe(self) -> str:
        """The mechanism, as ledgers have it."""
        law = "discrete Laplace"
        if self.gaussian:
            law = "discrete Gaussian"
        if self.how == "output":
            noise = f"{law}, scale {self.scale * self.step:.6g} on coefficients"
        else:
            noise = f"{law}, scale {self.tilt_scale * self.tilt_step:.6g} on the gradient"
        return f"{self.how} perturbation, regulariser {self.strength:.6g}, {noise}"


def plan_output(rows: Rows, budget: Budget, ledger: Ledger, strength: float) -> PerturbationPlan:
    """How output perturbation spends a budget; ``strength`` is the least that is asked for."""
    _check_currency(budget)
    dimensions = rows.dimensions
    moved = _count_moved_rows(ledger) * rows.l2
    root = math.sqrt(dimensions) * SAFE
    if budget.currency == "epsilon":
        natural = root * moved / (OUTPUT_NOISE * budget.amount)
    else:
        natural = moved / (OUTPUT_NOISE * math.sqrt(2 * budget.amount))
    strength = max(strength, natural, LEAST_STRENGTH)
    distance = (moved + 2 * TOLERANCE * rows.l2) / strength * SAFE
    step = _power_of_two(distance / (1 << 20))
    if budget.currency == "epsilon":
        apart = math.ceil(root * distance / step) + dimensions
        scale = laplace_scale(apart, budget.amount)
    else:
        scale = gaussian_scale(distance / step + root, budget.amount)
    _check_scale(scale)
    return PerturbationPlan(
        how="output",
        strength=strength,
        step=step,
        scale=scale,
        gaussian=budget.currency == "rho",
    )


def plan_objective(rows: Rows, budget: Budget, ledger: Ledger, strength: float) -> PerturbationPlan:
    """How objective perturbation spends a budget.

    It is a mechanism of pure epsilon: for a price in rho, epsilon = sqrt(2 rho) is that price.
    """
    _check_currency(budget)
    epsilon = budget.amount
    if budget.currency == "rho":
        epsilon = math.sqrt(2 * budget.amount)
    epsilon /= SAFE
    cover = COVER_SHARE / 2 * epsilon
    rest = epsilon - 2 * cover
    persons_rows = ledger.max_rows_per_person
    steepest = min(CURVATURE_SHARE * rest / persons_rows, 100.0)
    curvature = rows.l2**2 / 4
    strength = max(strength, curvature / math.expm1(steepest) * SAFE, LEAST_STRENGTH)
    left = rest - persons_rows * math.log1p(curvature / strength) * SAFE
    noise = _count_moved_rows(ledger) * rows.l1 / left * SAFE
    tilt_step = _power_of_two(noise / 2.0**40)
    root = math.sqrt(rows.dimensions) * SAFE
    distance = (root * tilt_step + TOLERANCE * rows.l2) / strength * SAFE
    step = _power_of_two(distance)
    apart = math.ceil(root * distance / step) + rows.dimensions
    scale = laplace_scale(apart, cover)
    _check_scale(max(scale, noise / MAX_TILT * MAX_CHOICE_SCALE))
    return PerturbationPlan(
        how="objective",
        strength=strength,
        tilt_step=tilt_step,
        tilt_scale=noise / tilt_step,
        step=step,
        scale=scale,
    )


def fit_perturbed(rows: Rows, plan: PerturbationPlan, noise: Noise) -> CoefficientVector:
    """The coefficients, once they are paid for."""
    zeros = np.zeros(rows.dimensions, dtype=np.int64)
    tilt: CoefficientVector = zeros.astype(np.float64)
    if plan.tilt_scale:
        tilt = _to_floats(noise.laplace(zeros, plan.tilt_scale), plan.tilt_step)
    found = minimise(rows, plan.strength, tilt)
    on_grid = np.rint(found / plan.step).astype(np.int64)
    if plan.gaussian:
        return _to_floats(noise.gaussian(on_grid, plan.scale), plan.step)
    return _to_floats(noise.laplace(on_grid, plan.scale), plan.step)


def _check_currency(budget: Budget) -> None:
    """Coefficients are put on a grid from real numbers, and what is perturbed before has no
    Gaussian noise: the price of neither is known in GDP.
    """
    if budget.currency == "gdp":
        raise InputError("A fit by perturbation has no price in GDP; keep a ledger in rho.")


def _check_scale(scale: float) -> None:
    if scale > MAX_CHOICE_SCALE:
        raise InputError(
            "The budget is too small for a logistic regression: nothing but noise would be left; "
            "give it more."
        )


def _to_floats(integers: NDArray[np.int64], step: float) -> CoefficientVector:
    found: CoefficientVector = integers.astype(np.float64) * step
    return found


# --------------------------------------------------------------------------- the minimiser


def minimise(rows: Rows, strength: float, tilt: CoefficientVector) -> CoefficientVector:
    """A point at which the gradient of F(w) + tilt.w is proved to be small: Newton's method."""
    point = np.zeros(rows.dimensions)
    enough = TOLERANCE * rows.l2
    for _ in range(MAX_SEARCH_STEPS):
        gradient, hessian = _derivatives(rows, point, strength, tilt)
        is_near = np.linalg.norm(gradient) < 4 * enough
        if is_near:
            gradient = sum_gradient(rows, point, strength, tilt)
            length = float(np.linalg.norm(gradient))
            if length + bound_rounding(rows, point, strength, tilt) <= enough / SAFE:
                return point
        direction: CoefficientVector = np.linalg.solve(hessian, gradient).astype(np.float64)
        if is_near:
            point = point - direction
        else:
            point = _step(rows, point, strength, tilt, direction)
    raise ArithmeticError("Newton's method did not come to rest on a strongly convex function")


def bound_gradient(
    rows: Rows, point: CoefficientVector, strength: float, tilt: CoefficientVector
) -> float:
    """A number that the norm of the gradient of F(w) + tilt.w cannot exceed."""
    found = float(np.linalg.norm(sum_gradient(rows, point, strength, tilt)))
    return (found + bound_rounding(rows, point, strength, tilt)) * SAFE


def sum_gradient(
    rows: Rows, point: CoefficientVector, strength: float, tilt: CoefficientVector
) -> CoefficientVector:
    """The gradient of F(w) + tilt.w: its sums over rows are exact but for one last rounding."""
    pulls = _pulls(rows, _products(rows.features, point))
    columns = [
        _sum_products(feature, pulls) + strength * weight + slope
        for feature, slope, weight in zip(rows.features.T, tilt, point, strict=True)
    ]
    return np.array(columns)


def _sum_products(feature: CoefficientVector, pulls: CoefficientVector) -> float:
    """The exact sum of the products, rounded once."""
    starts = range(0, len(pulls), TERMS_AT_A_TIME)
    chunks = (
        (feature[i : i + TERMS_AT_A_TIME] * pulls[i : i + TERMS_AT_A_TIME]).tolist() for i in starts
    )
    return math.fsum(itertools.chain.from_iterable(chunks))


def bound_rounding(
    rows: Rows, point: CoefficientVector, strength: float, tilt: CoefficientVector
) -> float:
    """The largest distance of :func:`sum_gradient` from the gradient.

    A product s = wx comes from :func:`_products` and is off by UNIT |s| and (d UNIT)^2 L2 |w|. The
    sigmoid moves by at most a quarter of the second, and by less than UNIT for the first, since |s|
    times its slope is below 1/4. Computing it takes less than 8 UNIT. So a row's pull is off by
    less than 10 UNIT and that, and the vector that it adds by L2 times as much; its products with
    the features round by UNIT L2 in all. Sums are exact (:func:`math.fsum`) but for the last
    rounding, which like that of adding the regulariser and the tilt is UNIT times what is added.
    So rounding does not grow with w but for its regulariser, and with the rows as n UNIT L2 does.
    """
    number, dimensions = rows.features.shape
    size = float(np.linalg.norm(point))
    off_row = 12 * UNIT + (dimensions * UNIT) ** 2 * rows.l2 * size
    largest = number * rows.l2 + strength * size + float(np.linalg.norm(tilt))
    return (number * rows.l2 * off_row + 4 * UNIT * largest) * SAFE


def _products(features: CoefficientVector, point: CoefficientVector) -> CoefficientVector:
    """w.x of each row as if in twice the precision: what every product and every sum rounds off is
    found exactly and added up (Ogita, Rump and Oishi 2005, algorithm Dot2).
    """
    found = np.zeros(len(features))
    rest = np.zeros(len(features))
    for feature, weight in zip(features.T, point.tolist(), strict=True):
        product = feature * weight
        high, low = _halves(feature)
        weight_high, weight_low = _halves(np.float64(weight))
        rounded_off = low * weight_low - (
            ((product - high * weight_high) - low * weight_high) - high * weight_low
        )
        total = found + product
        part = total - found
        rest += rounded_off + ((found - (total - part)) + (product - part))
        found = total
    exact: CoefficientVector = found + rest
    return exact


def _halves(numbers: Any) -> tuple[Any, Any]:
    """Numbers as sums of two of half the digits (Veltkamp)."""
    large = numbers * (2.0**27 + 1)
    high = large - (large - numbers)
    return high, numbers - high


def _pulls(rows: Rows, products: CoefficientVector) -> CoefficientVector:
    """The derivative of each row's loss by w.x."""
    signed = rows.labels * products
    # exp of a large number is infinite, and 1 / infinity the right answer
    with np.errstate(over="ignore"):
        return -rows.labels / (1 + np.exp(signed))


def _derivatives(
    rows: Rows, point: CoefficientVector, strength: float, tilt: CoefficientVector
) -> tuple[CoefficientVector, NDArray[np.float64]]:
    pulls = _pulls(rows, rows.features @ point)
    gradient = rows.features.T @ pulls + strength * point + tilt
    steepness = np.abs(pulls) * (1 - np.abs(pulls))
    hessian = (rows.features.T * steepness) @ rows.features
    return gradient, hessian + strength * np.eye(len(point))


def _step(
    rows: Rows,
    point: CoefficientVector,
    strength: float,
    tilt: CoefficientVector,
    direction: CoefficientVector,
) -> CoefficientVector:
    """A step that does not lead upwards: the whole one of Newton's, or a part of it."""

    def value(at: CoefficientVector) -> float:
        losses = np.logaddexp(0, -rows.labels * (rows.features @ at))
        return float(losses.sum() + strength / 2 * at @ at + tilt @ at)

    here = value(point)
    slack = 1e-12 * (1 + abs(here))
    length = 1.0
    while value(point - length * direction) > here + slack and length > 2.0**-40:
        length /= 2
    return point - length * direction


def _count_moved_rows(ledger: Ledger) -> int:
    """How many rows come or go between neighbours."""
    if ledger.neighbours == "replace":
        return 2
    return ledger.max_rows_per_person


def _power_of_two(number: float) -> float:
    """The largest power of two that is not above a number."""
    return 2.0 ** math.floor(math.log2(number))
