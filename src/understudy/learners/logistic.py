"""Logistic regression, by perturbation of rows in memory, or by moments from any curator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.data.cells import CellEncoder
from understudy.errors import InputError
from understudy.learners.asking import Asked, nearest_psd, release_centre
from understudy.learners.design import Design, Matrix
from understudy.learners.estimator import Classifier
from understudy.learners.perturbation import (
    SAFE,
    Rows,
    fit_perturbed,
    plan_objective,
    plan_output,
)
from understudy.learners.values import check_positive, check_row_norm

from sklearn.base import ClassifierMixin  # isort: skip

Solver = Literal["objective", "output", "moments"]
SOLVERS = ("objective", "output", "moments")

ROW_NORM = 2 / 3
"""By default rows are shortened to this share of the largest norm that the bounds allow."""

SURROGATE_RADIUS = 3.0
"""The quadratic that stands for the logistic loss in "moments" is the best one for margins from
minus this to this.
"""

CLASS_COUNTS_SHARE, SUMS_SHARE = 0.05, 0.35
"""Of "moments": the share of the budget for counts of the classes, and of what is left once rows
are centred the share for sums by class.
"""

NOISE_PENALTY = 0.5
"""Of "moments": the regulariser is at least this times the noise in a sum."""

MOMENTS_BALL = 0.5
"""Of "moments": rows are shortened to this share of sqrt(d), about their released mean."""


@dataclass(eq=False, repr=False)
class LogisticRegression(ClassifierMixin, Classifier):
    """Logistic regression.

    Parameters
    ----------
    epsilon, delta
        What a fit may cost.
    bounds
        Public bounds of the features, ``(lower, upper)``: a number or one per column for each.
    classes
        The public list of classes, or "observed": then those in y are taken as public. With more
        than two, each is told from all others, for an equal share of the budget.
    solver
        "objective": a random linear term is added to the loss before it is minimised; the most
        accurate one without a delta. "output": the minimiser itself gets noise. Both read rows in
        memory, and both are proved for the minimiser that is found, not only for the exact one
        (:mod:`understudy.learners.perturbation`). "moments": asks for sums and second moments
        alone and minimises a quadratic that is close to the loss, so that it runs on every curator:
        engines and federations too.
    C
        The inverse of the least strength of the regulariser, as in scikit-learn; perturbation
        needs a certain strength for its proof and takes at least that.
    row_norm
        A row, scaled so that each feature lies between -1 and 1 and with a 1 for the intercept, is
        shortened to this L1 norm; by default two thirds of the largest there can be. Of "moments"
        it is an L2 norm about the mean. Smaller means less noise, and more rows that count less.
    ledger, noise
        As for :class:`understudy.learners.GaussianNB`.

    Examples
    --------
    >>> import numpy as np
    >>> from understudy.learners import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(5000, 2))
    >>> y = X @ [1, -2] > 0
    >>> model = LogisticRegression(epsilon=1.0, bounds=(-1, 1), classes=[False, True]).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _: KW_ONLY
    bounds: Any = None
    solver: Solver = "objective"
    C: float = 1.0
    row_norm: float | None = None

    @property
    def needs_rows(self) -> bool:
        """Whether the solver reads rows in memory."""
        return self.solver != "moments"

    def _check_parameters(self) -> None:
        if self.solver not in SOLVERS:
            raise InputError(f"solver must be one of {', '.join(SOLVERS)}, not {self.solver!r}.")
        check_positive("C", self.C)
        if self.solver == "moments":
            check_row_norm(self.row_norm)
        elif self.row_norm is not None:
            check_positive("row_norm", self.row_norm)

    def _check_design(self, design: Design) -> None:
        if self.solver == "moments":
            super()._check_design(design)

    def _design_of_arrays(self, names: Sequence[str]) -> Design:
        return Design.from_bounds(names, self.bounds)

    def _learn(self, asked: Asked) -> None:
        if self.solver == "moments":
            weights = self._by_moments(asked)
        else:
            weights = self._by_perturbation(asked)
        self.coefficients_ = weights  # of scaled features; the intercept first

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"coefficients_": (self._lines, len(self.design_) + 1)}

    def _complete(self) -> None:
        self.coef_ = self.coefficients_[:, 1:] / self.design_.units
        self.intercept_ = self.coefficients_[:, 0] - self.coef_ @ self.design_.middles

    @property
    def _lines(self) -> int:
        """How many functions are learned: one for two classes, else one per class."""
        if len(self.classes_) == 2:
            return 1
        return len(self.classes_)

    # ---- perturbation

    def _by_perturbation(self, asked: Asked) -> Matrix:
        """Pay for all functions first, then look at the rows."""
        table, design = asked.table, asked.design
        largest = design.longest(1) + 1
        l1 = min(self.row_norm or ROW_NORM * largest, largest)
        l2 = min(l1, (design.longest(1) + 1) ** 0.5)
        empty = Rows(
            features=np.zeros((0, len(design) + 1)),
            labels=np.zeros(0),
            l1=l1 * SAFE,
            l2=l2 * SAFE,
        )
        make_plan = plan_objective if self.solver == "objective" else plan_output
        ledger = asked.curator.ledger
        if not asked.noise_source.private:
            ledger.private = False
        prices = asked.budget.equally(self._lines)
        plans = [make_plan(empty, price, ledger, 1 / self.C) for price in prices]
        ledger.debit_all(
            (self._ledger_line(line), price, plan.describe())
            for line, (price, plan) in enumerate(zip(prices, plans, strict=True))
        )
        scaled = design.scale(design.read(table, asked.schema))
        features = shorten_rows(np.column_stack([np.ones(len(scaled)), scaled]), l1)
        assert asked.target is not None
        target = CellEncoder(asked.target_attribute, table.columns[asked.target]).codes()
        known = target < len(self.classes_)  # rows without a class do not count
        found = []
        for line, plan in enumerate(plans):
            labels = np.where(target == self._positive(line), 1.0, -1.0)
            rows = replace(empty, features=features[known], labels=labels[known])
            found.append(fit_perturbed(rows, plan, asked.noise_source))
        return np.array(found)

    def _ledger_line(self, line: int) -> str:
        if self._lines == 1:
            return "logistic regression"
        return f"logistic regression of class {line + 1} of {self._lines}"

    def _positive(self, line: int) -> int:
        """The code of the class that a function tells from the others."""
        if self._lines == 1:
            return 1
        return line

    # ---- moments

    def _by_moments(self, asked: Asked) -> Matrix:
        """The minimiser of a quadratic surrogate of the loss, from released moments.

        log(1 + exp(-s)) is near a - s / 2 + b s^2, so the sum of all losses near n a - v.w / 2 + b
        w'Mw with v = sum of y x and M = sum of x x'. The linear part is by class, the quadratic one
        is not, and serves all classes.
        """
        design, curator = asked.design, asked.curator
        first, rest = asked.budget.split(CLASS_COUNTS_SHARE, 1 - CLASS_COUNTS_SHARE)
        [measured] = curator.measure([asked.by_class], first)
        counts = np.maximum(measured.counts[: len(self.classes_)], 1.0)
        ball = self.row_norm or max(MOMENTS_BALL * design.longest(2), 1.0)
        centre = release_centre(asked, design, rest, float(counts.sum()), ball)
        second, third = centre.left.split(SUMS_SHARE, 1 - SUMS_SHARE)
        features = design.questions(centre.place)
        linear = curator.sum(features, second, by=asked.by_class, ball=ball, missing="centre")
        quadratic = curator.sum(
            features,
            third,
            moments="products",
            ball=ball,
            missing="centre",
            shares={"moments": 1.0},
        )
        assert linear.sums is not None
        assert quadratic.moments is not None
        classes = len(self.classes_)
        by_class = np.column_stack([counts, linear.sums.values[:classes] / design.units])
        units = np.outer(design.units, design.units)
        moments = np.zeros((len(design) + 1, len(design) + 1))
        moments[0] = moments[:, 0] = by_class.sum(axis=0)
        moments[1:, 1:] = quadratic.moments.values / units
        deviation = float((quadratic.moments.deviation / units).max())
        curvature = surrogate_curvature()
        strength = max(
            1 / self.C,
            deviation * len(moments) ** 0.5 * curvature,
            NOISE_PENALTY * float((linear.sums.deviation / design.units).max()),
        )
        hessian = 2 * curvature * nearest_psd(moments) + strength * np.eye(len(moments))
        found = []
        for line in range(self._lines):
            signs = np.where(np.arange(classes) == self._positive(line), 1.0, -1.0)
            weights = np.linalg.solve(hessian, 0.5 * signs @ by_class)
            middles = (linear.centres - design.middles) / design.units
            weights[0] -= weights[1:] @ middles
            found.append(weights)
        return np.array(found)

    # ---- predicting

    def decision_function(self, X: Any) -> Matrix:  # noqa: N803
        """How far each row is on the side of a class: one number, or one per class."""
        scaled = self._scale(X)
        found: Matrix = scaled @ self.coefficients_[:, 1:].T + self.coefficients_[:, 0]
        if found.shape[1] == 1:
            return found[:, 0]
        return found

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The most likely class of each row."""
        margin = self.decision_function(X)
        if margin.ndim == 1:
            return self._label((margin > 0).astype(np.int64))
        return self._label(margin.argmax(axis=1))

    def predict_proba(self, X: Any) -> Matrix:  # noqa: N803
        """The probabilities of the classes, a column each."""
        margin = np.clip(self.decision_function(X), -700.0, 700.0)
        likely = 1 / (1 + np.exp(-margin))
        if likely.ndim == 1:
            return np.column_stack([1 - likely, likely])
        totals = likely.sum(axis=1, keepdims=True)
        shares: Matrix = likely / totals
        return shares


def shorten_rows(rows: Matrix, norm: float) -> Matrix:
    """Rows whose L1 norm is at most a number, up to rounding: longer ones are scaled down."""
    lengths = np.abs(rows).sum(axis=1)
    factors = np.minimum(1.0, norm / np.maximum(lengths, 1e-300))
    shortened: Matrix = rows * factors[:, None]
    return shortened


def surrogate_curvature() -> float:
    """The coefficient of s^2 in the quadratic that fits log(1 + exp(-s)) best at Chebyshev points
    up to the radius; that of s is exactly -1/2, since log(1 + exp(-s)) + s / 2 is even.
    """
    angles = np.pi * (np.arange(200) + 0.5) / 200
    points = SURROGATE_RADIUS * np.cos(angles)
    even = np.logaddexp(0, -points) + points / 2
    return float(np.polynomial.polynomial.polyfit(points, even, 2)[2])
