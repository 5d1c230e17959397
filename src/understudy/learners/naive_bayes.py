"""Naive Bayes: within a class, columns are taken to be independent.

:class:`CategoricalNB` asks for one noisy table per column, of the classes and the column's values.
:class:`GaussianNB` asks for the sums and the sums of squares of the features, by class. The number
of rows of a class is private too and comes with noise, so no sensitivity here is one of a mean or
a variance: a sum is bounded by its public bounds, whatever the class sizes are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.columns import Column
from understudy.data.marginals import Axis, Marginal
from understudy.data.schema import Attribute, Category, Schema
from understudy.errors import InputError
from understudy.learners.asking import Asked
from understudy.learners.design import Design, Matrix
from understudy.learners.estimator import Classifier
from understudy.privacy.sums import Noisy

from sklearn.base import ClassifierMixin  # isort: skip
from sklearn.utils.validation import check_is_fitted, validate_data  # isort: skip

MAX_CATEGORIES = 10_000

MIN_CLASS_VARIANCE = 1e-6
"""Of a scaled feature within a class."""


class _NaiveBayes(ClassifierMixin, Classifier):
    """What both have in common: the joint log-likelihood decides."""

    @abstractmethod
    def _joint_log_likelihood(self, X: Any) -> Matrix:  # noqa: N803
        """The logarithm of P(class) P(row | class), a column per class."""

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The most likely class of each row."""
        return self._label(self._joint_log_likelihood(X).argmax(axis=1))

    def predict_joint_log_proba(self, X: Any) -> Matrix:  # noqa: N803
        """The logarithm of P(class) P(row | class), a column per class."""
        return self._joint_log_likelihood(X)

    def predict_log_proba(self, X: Any) -> Matrix:  # noqa: N803
        """The logarithms of the probabilities of the classes."""
        joint = self._joint_log_likelihood(X)
        logs: Matrix = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        return logs

    def predict_proba(self, X: Any) -> Matrix:  # noqa: N803
        """The probabilities of the classes, a column each."""
        return np.exp(self.predict_log_proba(X))


@dataclass(eq=False, repr=False)
class GaussianNB(_NaiveBayes):
    """Naive Bayes with a normal distribution for each feature within each class.

    A class's mean and variance are pulled towards those of all rows by as much as noise alone could
    have moved them: with little budget the prediction tends to the most frequent class instead of
    to chance.

    Parameters
    ----------
    epsilon, delta
        What a fit may cost; with a delta the noise is Gaussian, else Laplace.
    bounds
        Public bounds of the features, ``(lower, upper)``: a number or one per column for each.
    classes
        The public list of classes, or "observed": then those in y are taken as public.
    ledger
        A :class:`understudy.Ledger` that several learners share, or the owner's ledger file.
        Without one every fit has a budget of its own, and fits of the same rows add up.
    noise
        Where noise comes from; anything but the default is for tests and studies.

    Examples
    --------
    >>> import numpy as np
    >>> from understudy.learners import GaussianNB
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 5000)
    >>> X = rng.normal(size=(5000, 2)) + 2 * y[:, None]
    >>> model = GaussianNB(epsilon=1.0, bounds=(-6, 8), classes=[0, 1]).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    _: KW_ONLY
    bounds: Any = None

    def _design_of_arrays(self, names: Sequence[str]) -> Design:
        return Design.from_bounds(names, self.bounds)

    def _learn(self, asked: Asked) -> None:
        design = asked.design
        answer = asked.curator.sum(
            design.questions(),
            asked.budget,
            moments="squares",
            by=asked.by_class,
            missing="centre",
            shares={"counts": 1.0, "sums": len(design) ** 0.5, "moments": len(design) ** 0.5},
        )
        assert answer.counts is not None
        assert answer.sums is not None
        assert answer.moments is not None
        classes = len(self.classes_)  # a group of rows without a class is left out
        counts = np.maximum(answer.counts.values[:classes], float(answer.counts.deviation))
        counts = np.maximum(counts, 1.0)
        sums = _scale(answer.sums, design.units, classes)
        squares = _scale(answer.moments, design.units**2, classes)
        estimates = _Estimates(counts, sums, squares)
        self.class_count_ = counts
        self.theta_ = estimates.means()
        self.var_ = estimates.variances()

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        by_class = len(self.classes_), len(self.design_)
        return {"class_count_": by_class[:1], "theta_": by_class, "var_": by_class}

    def _complete(self) -> None:
        if self.class_count_.min() <= 0 or self.var_.min() <= 0:
            raise InputError("a count or a variance of it is not above 0")
        self.class_prior_ = self.class_count_ / self.class_count_.sum()

    def _joint_log_likelihood(self, X: Any) -> Matrix:  # noqa: N803
        return gaussian_likelihood(self._scale(X), self.class_prior_, self.theta_, self.var_)


def gaussian_likelihood(rows: Matrix, priors: Matrix, means: Matrix, variances: Matrix) -> Matrix:
    """The logarithm of each row's density in each class, times the prior of the class."""
    joint = np.empty((len(rows), len(priors)))
    for place, (prior, mean, variance) in enumerate(zip(priors, means, variances, strict=True)):
        distance = ((rows - mean) ** 2 / variance).sum(axis=1)
        joint[:, place] = np.log(prior) - 0.5 * (distance + np.log(2 * np.pi * variance).sum())
    return joint


class _Scaled:
    """Sums of scaled features, and the standard deviation of their noise."""

    def __init__(self, values: Matrix, deviation: Matrix) -> None:
        self.values = values
        self.deviation = deviation


def _scale(noisy: Noisy, units: Matrix, classes: int) -> _Scaled:
    return _Scaled(noisy.values[:classes] / units, noisy.deviation / units)


class _Estimates:
    """Means and variances by class, pulled towards those of all rows where noise says so."""

    def __init__(self, counts: Matrix, sums: _Scaled, squares: _Scaled) -> None:
        self._counts = counts[:, None]
        self._sums = sums
        self._squares = squares

    def means(self) -> Matrix:
        """The mean of each feature in each class, scaled."""
        means = np.clip(self._sums.values / self._counts, -1.0, 1.0)
        pooled = np.clip(self._sums.values.sum(axis=0) / self._counts.sum(), -1.0, 1.0)
        return _pull(means, pooled, self._sums.deviation / self._counts)

    def variances(self) -> Matrix:
        """The variance of each feature in each class, scaled."""
        everywhere = np.clip(self._sums.values.sum(axis=0) / self._counts.sum(), -1.0, 1.0)
        pooled = self._squares.values.sum(axis=0) / self._counts.sum() - everywhere**2
        means = np.clip(self._sums.values / self._counts, -1.0, 1.0)
        variances = self._squares.values / self._counts - means**2
        noise = self._squares.deviation / self._counts
        least = np.maximum(noise, MIN_CLASS_VARIANCE)
        pooled = np.clip(pooled, MIN_CLASS_VARIANCE, 1.0)
        return np.clip(_pull(np.clip(variances, 0.0, 1.0), pooled, noise), least, 1.0)


def _pull(values: Matrix, pooled: Matrix, noise: Matrix) -> Matrix:
    """Values that differ from the pooled one by no more than noise become it: the positive part of
    a James-Stein estimate.
    """
    apart = values - pooled
    keep = np.maximum(1 - noise**2 / np.maximum(apart**2, 1e-300), 0.0)
    return pooled + keep * apart


@dataclass(eq=False, repr=False)
class CategoricalNB(_NaiveBayes):
    """Naive Bayes for columns of categories, one noisy table of classes and values per column.

    Parameters
    ----------
    epsilon, delta
        What a fit may cost; with a delta the noise is Gaussian, else Laplace.
    categories
        How many categories each column of X has: public, a number or one per column. The cells are
        0, 1, 2, ...; one that lies outside counts as the nearest.
    classes
        The public list of classes, or "observed": then those in y are taken as public.
    alpha
        What is added to each count, so that nothing is impossible.
    ledger, noise
        As for :class:`GaussianNB`.

    Examples
    --------
    >>> import numpy as np
    >>> from understudy.learners import CategoricalNB
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 5000)
    >>> X = np.column_stack([(y + (rng.random(5000) < 0.1)) % 2, rng.integers(0, 3, 5000)])
    >>> model = CategoricalNB(epsilon=1.0, categories=[2, 3], classes=[0, 1]).fit(X, y)
    >>> bool(model.score(X, y) > 0.85)
    True
    """

    _: KW_ONLY
    categories: Any = None
    alpha: float = 1.0

    def _check_parameters(self) -> None:
        if not isinstance(self.alpha, int | float) or not 0 <= self.alpha < 1e9:
            raise InputError(f"alpha must be a number at or above 0, not {self.alpha!r}.")

    def _check_design(self, design: Design) -> None:
        """Tables are counted, not sums."""

    def _design_of_arrays(self, names: Sequence[str]) -> Design:
        sizes = check_categories(self.categories, len(names))
        return Design.of_codes(zip(names, sizes, strict=True))

    def _design_of_schema(self, schema: Schema, target: str | None) -> Design:
        """Every column by its codes; numbers by their bins."""
        attributes = [attribute for attribute in schema.modelled if attribute.name != target]
        return Design.of_codes((attribute.name, attribute.size) for attribute in attributes)

    def _attribute(self, name: str, lower: float, upper: float) -> Attribute:
        return Category(name, "categorical", None, tuple(range(int(upper) + 1)))

    def _column(self, numbers: Matrix) -> Column:
        last = np.iinfo(np.int32).max
        return Column("integer", np.nan_to_num(numbers, posinf=last).clip(0, last).astype(np.int64))

    def _learn(self, asked: Asked) -> None:
        """One table per column; each counts the classes, too, and these counts are averaged."""
        columns = list(asked.design.columns)
        assert asked.target is not None
        tables: list[Marginal] = [(Axis(asked.target), Axis(name)) for name in columns]
        measured = asked.curator.measure(tables, asked.budget)
        classes = len(self.classes_)
        totals = np.mean([table.counts[:classes].sum(axis=1) for table in measured], axis=0)
        self.class_count_ = np.maximum(totals, 0.0)
        counts = [np.maximum(table.counts[:classes], 0).astype(np.float64) for table in measured]
        self.category_count_ = np.concatenate(counts, axis=1)

    def _sizes(self) -> list[int]:
        """How many values each column has."""
        return [int(feature.upper) + 1 for feature in self.design_.features]

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        classes = len(self.classes_)
        return {"class_count_": (classes,), "category_count_": (classes, sum(self._sizes()))}

    def _complete(self) -> None:
        if min(self.class_count_.min(), self.category_count_.min()) < 0:
            raise InputError("a count of it is below 0")
        self.class_prior_ = _shares(self.class_count_, self.alpha)
        tables = np.split(self.category_count_, np.cumsum(self._sizes())[:-1], axis=1)
        self.feature_prob_ = [_shares(table, self.alpha) for table in tables]

    def _joint_log_likelihood(self, X: Any) -> Matrix:  # noqa: N803
        check_is_fitted(self)
        X = validate_data(  # noqa: N806
            self, X, dtype=np.float64, ensure_all_finite=False, reset=False
        )
        with np.errstate(divide="ignore"):  # without alpha, some things are impossible
            joint = np.tile(np.log(self.class_prior_), (len(X), 1))
            for column, shares in zip(X.T, self.feature_prob_, strict=True):
                codes = np.clip(np.nan_to_num(column), 0, shares.shape[1] - 1).astype(np.int64)
                joint += np.log(shares[:, codes]).T
        return joint


def check_categories(categories: Any, columns: int) -> list[int]:
    """How many categories each column has; refuses what are no numbers of categories."""
    if categories is None:
        raise InputError(
            "CategoricalNB needs the public number of categories of each column, categories=[...]: "
            "one that is read off the rows would tell about them."
        )
    try:
        sizes = np.broadcast_to(np.asarray(categories, dtype=np.float64), columns)
    except (TypeError, ValueError):
        sizes = np.array([np.nan])
    if not all(1 <= size <= MAX_CATEGORIES and size == int(size) for size in np.nan_to_num(sizes)):
        raise InputError(
            f"categories must be a whole number from 1 to {MAX_CATEGORIES:,}, or one per column "
            f"({columns:,}), not {categories!r}."
        )
    return [int(size) for size in sizes]


def _shares(counts: Matrix, alpha: float) -> Matrix:
    """Counts as probabilities along the last axis; where there is nothing, all are equal."""
    smoothed = counts + alpha
    totals = smoothed.sum(axis=-1, keepdims=True)
    even = np.full_like(smoothed, 1 / smoothed.shape[-1])
    return np.divide(smoothed, totals, out=even, where=totals > 0)
