"""Principal components of a noisy second-moment matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from understudy.errors import InputError
from understudy.learners.asking import Asked, count_rows, nearest_psd, release_scatter
from understudy.learners.design import Design, Matrix
from understudy.learners.estimator import Learner
from understudy.learners.values import check_row_norm

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin  # isort: skip
from sklearn.utils.validation import check_is_fitted  # isort: skip

BALL = 0.6
"""By default rows are shortened to this share of sqrt(d), about their mean."""

ROW_COUNT_SHARE = 0.05
"""The share of the budget for the number of rows."""


@dataclass(eq=False, repr=False)
class Projector(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Learner):
    """What learners share that find a projection of shortened rows."""

    n_components: int | None = None
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 0.0
    bounds: Any = None
    row_norm: float | None = None

    def _check_parameters(self) -> None:
        check_row_norm(self.row_norm)

    def _design_of_arrays(self, names: Sequence[str]) -> Design:
        return Design.from_bounds(names, self.bounds)

    def _ball(self, design: Design) -> float:
        """The length that rows are shortened to."""
        return self.row_norm or BALL * design.longest(2)


@dataclass(eq=False, repr=False)
class PCA(Projector):
    """Principal component analysis.

    Parameters
    ----------
    n_components
        How many components; by default all.
    epsilon, delta
        What a fit may cost; with a delta the noise is Gaussian, which is far less in many columns.
    bounds
        Public bounds of the features, ``(lower, upper)``: a number or one per column for each.
    row_norm
        A row, scaled so that each feature lies between -1 and 1, is shortened to this length about
        the mean; by default 0.6 times the root of the number of columns.
    ledger, noise
        As for :class:`understudy.learners.GaussianNB`.

    Examples
    --------
    >>> import numpy as np
    >>> from understudy.learners import PCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 1)) @ [[1.0, 1.0]] + 0.1 * rng.normal(size=(5000, 2))
    >>> model = PCA(1, epsilon=1.0, bounds=(-4, 4)).fit(X)
    >>> bool(abs(model.components_[0] @ [0.7, 0.7]) > 0.95)
    True
    """

    def _check_parameters(self) -> None:
        number = self.n_components
        whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if number is not None and (not whole or number < 1):
            raise InputError(f"n_components must be a whole number of at least 1, not {number!r}.")
        super()._check_parameters()

    def _check_design(self, design: Design) -> None:
        super()._check_design(design)
        number = self.n_components or len(design)
        if number > len(design):
            raise InputError(
                f"There are {len(design):,} features, so there are no {number:,} components."
            )

    def _learn(self, asked: Asked) -> None:
        design = asked.design
        number = self.n_components or len(design)
        first, rest = asked.budget.split(ROW_COUNT_SHARE, 1 - ROW_COUNT_SHARE)
        rows = count_rows(asked, design, first)
        scatter = release_scatter(asked, design, rest, rows, self._ball(design))
        covariance = scatter.covariance / rows * np.outer(design.units, design.units)
        covariance = nearest_psd(covariance)
        values, vectors = np.linalg.eigh(covariance)
        values, vectors = values[::-1], vectors[:, ::-1]
        # the largest entry of a component is positive, so that signs do not flip at random
        largest = np.abs(vectors).argmax(axis=0)
        signs = np.sign(vectors[largest, np.arange(len(design))])
        self.components_ = (vectors * signs).T[:number]
        self.explained_variance_ = np.maximum(values[:number], 0.0)
        self.total_variance_ = np.array(np.maximum(values, 0.0).sum())
        self.mean_ = scatter.mean * design.units + design.middles

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        columns = len(self.design_)
        number = self.n_components or columns
        return {
            "components_": (number, columns),
            "explained_variance_": (number,),
            "total_variance_": (),
            "mean_": (columns,),
        }

    def _complete(self) -> None:
        total = max(float(self.total_variance_), 1e-300)
        self.explained_variance_ratio_ = self.explained_variance_ / total
        self.n_components_ = len(self.components_)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def transform(self, X: Any) -> Matrix:  # noqa: N803
        """The coordinates of each row; what is not a number counts as the middle of its bounds."""
        rows = self._scale(X) * self.design_.units + self.design_.middles
        found: Matrix = (rows - self.mean_) @ self.components_.T
        return found

    def inverse_transform(self, X: Any) -> Matrix:  # noqa: N803
        """Rows from coordinates."""
        check_is_fitted(self)
        rows: Matrix = np.asarray(X, dtype=np.float64) @ self.components_ + self.mean_
        return rows
