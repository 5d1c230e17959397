"""PCA, DCA and MDR over noisy sums: the projection is differentially private.

Rows are scaled by public bounds so that each feature lies between -1 and 1, and shortened to a
public length about the middle of the bounds. A curator then tells noisy counts and sums by class
and, for DCA, noisy second moments. All else is post-processing: so the same objects are fitted to
rows in memory, in an engine, of several holders, or to encrypted uploads.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from understudy.compression.exact import check_components, split_labels
from understudy.compression.projections import (
    Matrix,
    Projection,
    between_classes,
    choose_ridges,
    project_dca,
    project_mdr,
    reconstruct,
    scatter_of,
)
from understudy.data.columns import Column
from understudy.data.marginals import Axis, Marginal
from understudy.data.schema import Attribute, Category, Schema
from understudy.errors import InputError
from understudy.learners.asking import Asked, class_labels, nearest_psd
from understudy.learners.design import Design
from understudy.learners.estimator import Classifier
from understudy.learners.pca import PCA, Projector
from understudy.learners.training import register_learner
from understudy.learners.values import check_classes
from understudy.privacy.budget import Budget
from understudy.privacy.sums import Sums

from sklearn.utils.validation import check_is_fitted  # isort: skip

MOMENTS_SHARE = 0.6
"""The share of the budget for second moments; the rest is for counts and sums of classes."""


@dataclass(eq=False, repr=False)
class PrivatePCA(PCA):
    """Principal components of noisy second moments: :class:`understudy.learners.PCA`.

    Parameters
    ----------
    utility, privacy
        Columns of labels, which are left out where a curator's table is fitted.
    """

    _: KW_ONLY
    utility: str | None = None
    privacy: str | None = None

    def _design_of_schema(self, schema: Schema, target: str | None) -> Design:
        return leave_out(super()._design_of_schema(schema, target), self.utility, self.privacy)


def leave_out(design: Design, *columns: str | None) -> Design:
    """A design without the features of some columns."""
    kept = tuple(one for one in design.features if one.column not in columns)
    if not kept:
        raise InputError("There is no column beside the labels; nothing is left to project.")
    return Design(kept)


@dataclass(frozen=True)
class ClassSums:
    """Noisy counts and sums of scaled rows, by class, and the noise's deviation in a sum."""

    counts: Matrix
    sums: Matrix
    deviation: float

    @classmethod
    def read(cls, answer: Sums, design: Design) -> ClassSums:
        """From a curator's answer; the axes of groups stay."""
        assert answer.counts is not None
        assert answer.sums is not None
        least = max(float(np.max(answer.counts.deviation)), 1.0)
        return cls(
            np.maximum(answer.counts.values, least),
            answer.sums.values / design.units,
            float((answer.sums.deviation / design.units).max()),
        )

    def between(self) -> Matrix:
        """S_B without what noise alone adds to it, and with no negative eigenvalue."""
        biased = between_classes(self.counts, self.sums)
        # The mean of a class has noise of variance deviation^2 / N_l^2 in each feature, N_l times
        # which stands on the diagonal; the mean of all takes one such part off.
        noise = self.deviation**2 * (
            float((1 / self.counts).sum()) - len(self.counts) / float(self.counts.sum())
        )
        return nearest_psd(biased - noise * np.eye(biased.shape[0]))

    def over(self, axis: int) -> ClassSums:
        """Classes added up along one of two labels."""
        joined = self.counts.shape[axis]
        return ClassSums(
            self.counts.sum(axis=axis), self.sums.sum(axis=axis), self.deviation * joined**0.5
        )


@dataclass(eq=False, repr=False)
class _Compressor(Projector, Classifier):
    """What the private ones share."""

    _: KW_ONLY
    privacy: str | None = None

    def _design_of_schema(self, schema: Schema, target: str | None) -> Design:
        """All columns but the labels."""
        return leave_out(super()._design_of_schema(schema, target), self.privacy)

    def _check_design(self, design: Design) -> None:
        super()._check_design(design)
        check_components(self.n_components, len(design))

    def _ask_classes(self, asked: Asked, by: Marginal, budget: Budget) -> Sums:
        """Noisy counts and sums of shortened rows, for each cell of the labels."""
        return asked.curator.sum(
            asked.design.questions(),
            budget,
            by=by,
            ball=self._ball(asked.design),
            missing="centre",
            shares={"counts": 1.0, "sums": float(len(asked.design)) ** 0.5},
        )

    def _keep(self, projection: Projection, mean: Matrix) -> None:
        self.components_ = projection.components
        self.values_ = projection.values
        self.mean_ = np.clip(mean, -1.0, 1.0)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        columns = len(self.design_)
        number = check_components(self.n_components, columns)
        return {"components_": (number, columns), "values_": (number,), "mean_": (columns,)}

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Matrix:  # noqa: N803
        """The coordinates of each row: the projection is private, the rows are still somebody's."""
        found: Matrix = (self._scale(X) - self.mean_) @ self.components_.T
        return found

    def inverse_transform(self, X: Any) -> Matrix:  # noqa: N803
        """Rows from coordinates, by least squares: what an attacker would reconstruct."""
        check_is_fitted(self)
        scaled = reconstruct(np.asarray(X, dtype=np.float64), self.components_) + self.mean_
        rows: Matrix = scaled * self.design_.units + self.design_.middles
        return rows


@dataclass(eq=False, repr=False)
class PrivateDCA(_Compressor):
    """Discriminant components of noisy sums: what tells classes apart.

    Parameters
    ----------
    n_components
        How many components; by default all.
    epsilon, delta
        What a fit may cost; with a delta the noise is Gaussian, which is far less in many columns.
    bounds
        Public bounds of the features, ``(lower, upper)``: a number or one per column for each.
    classes
        The public list of classes, or "observed".
    row_norm
        A scaled row is shortened to this length; by default 0.6 times the root of the number of
        columns.
    privacy
        A column that is left out where a curator's table is fitted.
    rho, rho_signal
        The ridges rho and rho'. By default rho is 0.02 times the largest eigenvalue of the scatter
        within classes and as much again as its noise, rho' a tenth of that.
    ledger, noise
        As for :class:`understudy.learners.GaussianNB`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 5000)
    >>> X = rng.normal(size=(5000, 3)) * [3, 1, 1] + np.outer(y, [0, 3, 0])
    >>> dca = PrivateDCA(1, epsilon=2.0, bounds=(-9, 9), classes=[0, 1]).fit(X, y)
    >>> int(np.abs(dca.components_[0]).argmax())
    1
    """

    _: KW_ONLY
    rho: float | None = None
    rho_signal: float | None = None

    def _learn(self, asked: Asked) -> None:
        design = asked.design
        number = check_components(self.n_components, len(design))
        by_class, rest = asked.budget.split(1 - MOMENTS_SHARE, MOMENTS_SHARE)
        answer = self._ask_classes(asked, asked.by_class, by_class)
        everybody = ClassSums.read(answer, design)
        moments = asked.curator.sum(
            design.questions(),
            rest,
            moments="products",
            ball=self._ball(design),
            missing="centre",
            shares={"moments": 1.0},
        ).moments
        assert moments is not None
        units = np.outer(design.units, design.units)
        total = everybody.sums.sum(axis=0)
        rows = float(everybody.counts.sum())
        classes = len(self.classes_)  # rows without a class do not tell classes apart
        named = ClassSums(everybody.counts[:classes], everybody.sums[:classes], everybody.deviation)
        between = named.between()
        scatter = scatter_of(rows, total, moments.values / units)
        within = nearest_psd(scatter - between)
        rho = self.rho
        if rho is None:
            noise = 2 * float((moments.deviation / units).max()) * len(design) ** 0.5
            rho = choose_ridges(within, None, None)[0] + noise
        self._keep(project_dca(between, within, number, rho, self.rho_signal), total / rows)


@dataclass(eq=False, repr=False)
class PrivateMDR(_Compressor):
    """What tells utility labels apart and privacy labels not, from noisy sums.

    Parameters
    ----------
    n_components, epsilon, delta, bounds, row_norm, ledger, noise
        As for :class:`PrivateDCA`.
    classes
        The public list of utility classes.
    privacy_classes
        The public list of privacy classes.
    privacy
        The column of privacy labels, where a curator's table is fitted; ``fit`` takes them as the
        second column of y.
    rho
        The ridge; by default as for :class:`PrivateDCA`.
    """

    _: KW_ONLY
    privacy_classes: Any = None
    rho: float | None = None

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Learn from private rows; y has two labels for each, utility and privacy."""
        pair = split_labels(y)
        lists = [check_classes(listed) for listed in (self.classes, self.privacy_classes)]
        codes = [_codes(labels, listed) for labels, listed in zip(pair, lists, strict=True)]
        self._sizes = len(lists[0]), len(lists[1])
        joint = codes[0] * self._sizes[1] + codes[1]
        fitted: Self = super().fit(X, joint)
        return fitted

    def _target_of_array(self, name: str, y: Any) -> tuple[Attribute, Column]:
        """Both labels in one code."""
        cells = self._sizes[0] * self._sizes[1]
        self._labels = np.arange(cells)
        attribute = Category(name, "categorical", None, tuple(range(cells)))
        return attribute, Column("integer", np.asarray(y, dtype=np.int64))

    def check_target(self, schema: Schema, target: str | None) -> None:
        """There must be a column of privacy labels, too."""
        if self.privacy is None or self.privacy == target:
            raise InputError(
                "MDR needs a column of privacy labels other than the utility's; name it as privacy."
            )
        class_labels(schema[self.privacy])
        super().check_target(schema, target)

    def _learn(self, asked: Asked) -> None:
        design = asked.design
        number = check_components(self.n_components, len(design))
        by = asked.by_class
        if self.privacy is not None and self.privacy in asked.schema:
            by = (*by, Axis(self.privacy))
        cells = ClassSums.read(self._ask_classes(asked, by, asked.budget), design)
        if len(by) == 1:
            cells = ClassSums(
                cells.counts.reshape(self._sizes),
                cells.sums.reshape(*self._sizes, -1),
                cells.deviation,
            )
        utility, privacy = cells.over(1), cells.over(0)
        total, rows = utility.sums.sum(axis=0), float(utility.counts.sum())
        against = privacy.between()
        rho = self.rho
        if rho is None:
            noise = privacy.deviation**2 * len(design) * float((1 / privacy.counts).sum())
            rho = choose_ridges(against, None, None)[0] + noise
        self._keep(project_mdr(utility.between(), against, number, rho), total / rows)


def _codes(labels: Any, classes: Any) -> Any:
    """The place of each label; of one that is not listed, the last."""
    order = {label: place for place, label in enumerate(classes.tolist())}
    last = len(classes) - 1
    return np.array([order.get(label, last) for label in labels.tolist()], dtype=np.int64)


register_learner("private-pca", PrivatePCA)
register_learner("dca", PrivateDCA)
register_learner("mdr", PrivateMDR)
