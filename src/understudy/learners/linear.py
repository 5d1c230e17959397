"""Linear regression from noisy second moments: one release of moments serves every regression.

With x and y about a released centre, the coefficients solve (sum of x x' + penalty I) w = sum of
x y. The noise in the moments would be amplified wherever the rows hardly vary, so the penalty is at
least as large as the noise is known to be: a public number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from understudy.data.columns import Column
from understudy.data.schema import Attribute, Schema
from understudy.errors import InputError
from understudy.learners.asking import (
    Asked,
    nearest_psd,
    release_scatter,
    target_feature,
)
from understudy.learners.design import (
    Design,
    Matrix,
    check_bounds,
    numbers_column,
    quantity,
)
from understudy.learners.estimator import Learner
from understudy.learners.values import check_positive, check_row_norm, numbers_of

from sklearn.base import RegressorMixin  # isort: skip

BALL = 0.6
"""By default rows are shortened to this share of sqrt(d): about the length of a row that is uniform
between its bounds.
"""

TARGET_SHARE = 0.1
"""The share of the budget for the mean of the target, on which every prediction rests."""

LEAST_PENALTY = 1e-6
"""So that there is a solution however little the rows vary."""

NOISE_PENALTY = 0.5
"""The penalty is at least this times the size of the noise in the moments."""


@dataclass(eq=False, repr=False)
class _LinearModel(RegressorMixin, Learner):
    """What both regressions share."""

    _: KW_ONLY
    bounds: Any = None
    target_bounds: Any = None
    row_norm: float | None = None
    supervised = True

    def _penalty(self) -> float:
        """What is asked for beside what noise needs."""
        return 0.0

    def _check_parameters(self) -> None:
        check_row_norm(self.row_norm)

    def _design_of_arrays(self, names: Sequence[str]) -> Design:
        return Design.from_bounds(names, self.bounds)

    def _target_of_array(self, name: str, y: Any) -> tuple[Attribute, Column]:
        if self.target_bounds is None:
            raise InputError(
                "A regression needs public bounds of the target, target_bounds=(lower, upper): "
                "bounds that are read off the rows would tell about them."
            )
        lower, upper = check_bounds(self.target_bounds, 1)
        column = numbers_column(numbers_of(y))
        return quantity(name, float(lower[0]), float(upper[0])), column

    def _learn(self, asked: Asked) -> None:
        """The mean of the target by itself, then second moments of everything."""
        target = self._target
        first, rest = asked.budget.split(TARGET_SHARE, 1 - TARGET_SHARE)
        answer = asked.curator.sum(
            Design((target,)).questions(),
            first,
            missing="centre",
            shares={"counts": 0.3, "sums": 0.7},
        )
        assert answer.counts is not None
        assert answer.sums is not None
        rows = max(float(answer.counts.values), 1.0)
        middle = float(np.clip(answer.sums.values[0] / target.unit / rows, -1.0, 1.0))
        together = Design((*asked.design.features, target))
        ball = self.row_norm or BALL * together.longest(2)
        scatter = release_scatter(asked, together, rest, rows, ball)
        covariance = nearest_psd(scatter.covariance)
        penalty = max(self._penalty(), NOISE_PENALTY * scatter.noise_norm, LEAST_PENALTY)
        squares = covariance[:-1, :-1] + penalty * np.eye(len(asked.design))
        weights = np.linalg.solve(squares, covariance[:-1, -1])
        self.coefficients_ = weights  # of scaled features, for a scaled target
        self.offset_ = np.array(middle - scatter.mean[:-1] @ weights)

    def _set_target(self, schema: Schema, target: str | None) -> None:
        assert target is not None
        self._target = target_feature(schema[target])

    def check_target(self, schema: Schema, target: str | None) -> None:
        """A regression needs a target that is a number."""
        super().check_target(schema, target)
        assert target is not None
        target_feature(schema[target])

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"coefficients_": (len(self.design_),), "offset_": ()}

    def _complete(self) -> None:
        middle, unit = self._target.middle, self._target.unit
        self.coef_ = self.coefficients_ * unit / self.design_.units
        self.intercept_ = float(middle + unit * self.offset_ - self.coef_ @ self.design_.middles)

    def predict(self, X: Any) -> Matrix:  # noqa: N803
        """The expected target of each row."""
        scaled = self._scale(X) @ self.coefficients_ + self.offset_
        found: Matrix = self._target.middle + self._target.unit * scaled
        return found


@dataclass(eq=False, repr=False)
class LinearRegression(_LinearModel):
    """Linear regression.

    Parameters
    ----------
    epsilon, delta
        What a fit may cost; with a delta the noise is Gaussian, which takes far less of it here.
    bounds
        Public bounds of the features, ``(lower, upper)``: a number or one per column for each.
    target_bounds
        Public bounds of the target.
    row_norm
        A row of features and target, each scaled so that it lies between -1 and 1, is shortened to
        this length about the centre; by default 0.6 times the root of the number of columns.
        Smaller means less noise, and more rows that count less.
    ledger, noise
        As for :class:`understudy.learners.GaussianNB`.

    Examples
    --------
    >>> import numpy as np
    >>> from understudy.learners import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, size=(20_000, 2))
    >>> y = 3 * X[:, 0] - X[:, 1] + rng.normal(size=20_000)
    >>> model = LinearRegression(epsilon=1.0, bounds=(0, 10), target_bounds=(-15, 35)).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """


@dataclass(eq=False, repr=False)
class Ridge(_LinearModel):
    """Linear regression with a penalty on large coefficients.

    Parameters
    ----------
    alpha
        The penalty, of scaled features; where the noise needs a larger one, that is taken.
    epsilon, delta, bounds, target_bounds, row_norm, ledger, noise
        As for :class:`LinearRegression`.
    """

    alpha: float = 1.0
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 0.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("alpha", self.alpha)

    def _penalty(self) -> float:
        return float(self.alpha)
