"""PCA, DCA and MDR that read the rows: no guarantee whatsoever, and they say so.

The projection is an exact function of everybody's rows. It serves to compare with, and for tables
that are public.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from understudy.compression.projections import (
    Matrix,
    Projection,
    between_classes,
    project_dca,
    project_mdr,
    project_pca,
    reconstruct,
)
from understudy.errors import InputError

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "understudy.compression needs scikit-learn 1.6 or later; install it by `pip install "
        "understudy[learners]`."
    ) from error


class NotPrivateWarning(UserWarning):
    """Something was fitted that has no guarantee."""


@dataclass(eq=False, repr=False)
class _Exact(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What the three share."""

    n_components: int | None = None

    @abstractmethod
    def _project(self, rows: Matrix, y: Any, number: int) -> Projection:
        """The projection of centred rows."""

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 - scikit-learn's name
        """Find the projection. The rows are read as they are: nothing about this is private."""
        warnings.warn(
            f"{type(self).__name__} has no privacy guarantee: its projection is an exact function "
            f"of the rows. {type(self).__name__.replace('Exact', 'Private')} has one.",
            NotPrivateWarning,
            stacklevel=2,
        )
        rows = np.asarray(
            validate_data(self, X, dtype=np.float64, ensure_min_samples=2), dtype=np.float64
        )
        number = check_components(self.n_components, rows.shape[1])
        self.mean_ = rows.mean(axis=0)
        found = self._project(rows - self.mean_, y, number)
        self.components_ = found.components
        self.values_ = found.values
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Matrix:  # noqa: N803
        """The coordinates of each row: still somebody's."""
        check_is_fitted(self)
        rows = np.asarray(validate_data(self, X, dtype=np.float64, reset=False))
        found: Matrix = (rows - self.mean_) @ self.components_.T
        return found

    def inverse_transform(self, X: Any) -> Matrix:  # noqa: N803
        """Rows from coordinates, by least squares: what an attacker would reconstruct."""
        check_is_fitted(self)
        return reconstruct(np.asarray(X, dtype=np.float64), self.components_) + self.mean_


@dataclass(eq=False, repr=False)
class ExactPCA(_Exact):
    """Principal components of exact rows; no guarantee.

    Parameters
    ----------
    n_components
        How many components; by default all.
    """

    def _project(self, rows: Matrix, y: Any, number: int) -> Projection:
        return project_pca(rows.T @ rows, number)


@dataclass(eq=False, repr=False)
class ExactDCA(_Exact):
    """Discriminant components of exact rows: what tells classes apart; no guarantee.

    Parameters
    ----------
    n_components
        How many components; by default all.
    rho, rho_signal
        The ridges rho and rho'; by default 0.02 times the largest eigenvalue of the scatter within
        classes, and a tenth of that.

    Examples
    --------
    >>> import numpy as np, warnings
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> X = rng.normal(size=(500, 3)) * [5, 1, 1] + np.outer(y, [0, 3, 0])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     dca = ExactDCA(1).fit(X, y)
    >>> int(np.abs(dca.components_[0]).argmax())
    1
    """

    _: KW_ONLY
    rho: float | None = None
    rho_signal: float | None = None

    def _project(self, rows: Matrix, y: Any, number: int) -> Projection:
        between = between_labels(rows, y)
        return project_dca(between, rows.T @ rows - between, number, self.rho, self.rho_signal)

    def __sklearn_tags__(self) -> Any:
        """Labels are needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@dataclass(eq=False, repr=False)
class ExactMDR(_Exact):
    """What tells utility labels apart and privacy labels not, of exact rows; no guarantee.

    Parameters
    ----------
    n_components
        How many components; by default all.
    rho
        The ridge; by default 0.02 times the largest eigenvalue of the scatter of the means of
        privacy classes.
    """

    _: KW_ONLY
    rho: float | None = None

    def _project(self, rows: Matrix, y: Any, number: int) -> Projection:
        utility, privacy = split_labels(y)
        return project_mdr(
            between_labels(rows, utility), between_labels(rows, privacy), number, self.rho
        )

    def __sklearn_tags__(self) -> Any:
        """Labels are needed, two for each row."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


def check_components(number: Any, features: int) -> int:
    """How many components; refuses what is none."""
    if number is None:
        return features
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not whole or not 1 <= number <= features:
        raise InputError(
            "The number of components (n_components) must be a whole number from 1 to "
            f"{features:,}, the number of features, not {number!r}."
        )
    return int(number)


def split_labels(y: Any) -> tuple[Any, Any]:
    """Utility and privacy labels, two for each row."""
    labels = np.asarray(y)
    if y is None or labels.ndim != 2 or labels.shape[1] != 2:
        raise InputError("y must have two labels for each row: utility, then privacy.")
    return labels[:, 0], labels[:, 1]


def between_labels(rows: Matrix, labels: Any) -> Matrix:
    """S_B of centred rows."""
    if labels is None or len(labels) != len(rows):
        raise InputError("There must be a label for each row of X.")
    check_classification_targets(labels)
    classes, places = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InputError("The labels are all the same; there must be two classes or more.")
    sums = np.zeros((len(classes), rows.shape[1]))
    np.add.at(sums, places.ravel(), rows)
    return between_classes(np.bincount(places.ravel()).astype(np.float64), sums)
