"""Naive Bayes from local reports (after Yilmaz, Al-Rubaie and Chang 2019).

Each person sends one report: the class, or the joint index of the class and one feature, drawn at
random on her device (:class:`LocalCategoricalNB`); or, for numbers, a vector that is 0 but for the
place of her class, where it has a feature or its square (:class:`LocalGaussianNB`). Noisy counts
below 0 are not set to 1 one by one, which biases them; tables are moved to the nearest possible
one, and how a feature depends on the class is shrunk by what noise alone would show.

``fit(X, y)`` stands for the devices of all persons: it randomises every row by itself, and learns
from the reports alone. A survey that is collected elsewhere is learned by ``fit_collected``.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Category, Schema
from understudy.errors import InputError
from understudy.local.answering import answer_for_all
from understudy.local.collected import Collected, ReportTally
from understudy.local.effects import pool_effects
from understudy.local.plans import CollectionPlan
from understudy.local.questions import LocalQuestion
from understudy.local.randomisers import (
    CategoricalRandomiser,
    DirectEncoding,
    Duchi,
    HadamardResponse,
    MeanRandomiser,
    OptimalHashing,
    OptimalUnary,
    Piecewise,
    SubsetSelection,
    SymmetricUnary,
    ThresholdHistogram,
    best_randomiser,
)
from understudy.models.joint.effects import Effect, find_effect
from understudy.models.parameters import project_counts

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "Naive Bayes from reports needs scikit-learn 1.6 or later; install it by `pip install "
        "understudy[learners]`."
    ) from error

Matrix = NDArray[np.float64]

PROTOCOLS: dict[str, type[CategoricalRandomiser]] = {
    "direct": DirectEncoding,
    "hadamard": HadamardResponse,
    "hashing": OptimalHashing,
    "oue": OptimalUnary,
    "subset": SubsetSelection,
    "sue": SymmetricUnary,
    "the": ThresholdHistogram,
}
"""Ways to report a class or a joint index; "best" takes that of the smallest variance. SHE is not
among them: its reports have no bounds, so that one forged report would outweigh all others."""

MIN_REPORTED_VARIANCE = 1e-3
"""Of a feature within a class, on the scale from -1 to 1."""

CLASS = "class"


class _LocalNaiveBayes(ClassifierMixin, BaseEstimator):
    """What both have in common: the joint log-likelihood decides."""

    classes: Any
    projection: Any

    def _check_classes(self) -> NDArray[Any]:
        if self.classes is None or len(self.classes) < 2:
            raise InputError(
                "A classifier needs the public list of two classes or more, classes=[...]; a list "
                "that is read off the rows would tell about them."
            )
        return np.unique(np.asarray(self.classes))

    def _encode_classes(self, y: Any) -> NDArray[np.int64]:
        """The place of each class; one that is not listed counts as the last, on the person's own
        device: a refusal would tell that somebody has it.
        """
        labels, last = np.asarray(y), len(self.classes_) - 1
        places = np.minimum(np.searchsorted(self.classes_, labels), last)
        return np.where(self.classes_[places] == labels, places, last).astype(np.int64)

    def _project(self, X: Matrix) -> Matrix:  # noqa: N803
        if self.projection is None:
            return X
        matrix = np.asarray(self.projection, dtype=np.float64)
        if matrix.ndim != 2 or len(matrix) != X.shape[1]:
            raise InputError(f"The projection must have a line for each of {X.shape[1]} columns.")
        return np.asarray(X @ matrix, dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @abstractmethod
    def _joint_log_likelihood(self, X: Matrix) -> Matrix:  # noqa: N803
        """The log-likelihood of each class, for every row."""

    def predict_joint_log_proba(self, X: Any) -> Matrix:  # noqa: N803
        """The logarithm of P(class) P(row | class), a column per class."""
        check_is_fitted(self)
        X = validate_data(  # noqa: N806
            self, X, dtype=np.float64, ensure_all_finite=False, reset=False
        )
        return self._joint_log_likelihood(self._project(X))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The most likely class of each row."""
        found: NDArray[Any] = self.classes_[self.predict_joint_log_proba(X).argmax(axis=1)]
        return found

    def predict_proba(self, X: Any) -> Matrix:  # noqa: N803
        """The probabilities of the classes, a column each."""
        joint = self.predict_joint_log_proba(X)
        return np.asarray(np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)))


class LocalCategoricalNB(_LocalNaiveBayes):
    """Naive Bayes for columns of codes, from one report per person.

    Parameters
    ----------
    epsilon
        What a report costs.
    categories
        How many codes each column has: public, a number or one per column.
    classes
        The public list of classes.
    protocol
        How a class or a joint index is reported: "best" (that of the smallest variance), "direct",
        "sue", "oue", "the", "hashing", "subset" or "hadamard".
    bins
        Numbers instead of codes: how many bins of equal width between ``bounds`` each feature gets.
    bounds
        The announced bounds of the features, for bins: (lower, upper), numbers or one per column.
    projection
        A public matrix that is applied to the features on each device, before they are cut into
        bins: of principal or discriminant components that are known from elsewhere.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 20_000)
    >>> X = np.column_stack([(y + (rng.random(20_000) < 0.1)) % 2, rng.integers(0, 3, 20_000)])
    >>> model = LocalCategoricalNB(epsilon=2.0, categories=[2, 3], classes=[0, 1]).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        categories: Any = None,
        classes: Any = None,
        protocol: str = "best",
        bins: int | None = None,
        bounds: Any = None,
        projection: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.categories = categories
        self.classes = classes
        self.protocol = protocol
        self.bins = bins
        self.bounds = bounds
        self.projection = projection

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Randomise each row by itself, once, and learn from the reports."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite=False)  # noqa: N806
        self.classes_ = self._check_classes()
        codes = self._cut(self._project(X))
        plan = self.plan(codes.shape[1])
        answers = {CLASS: self._encode_classes(y)}
        answers |= {f"feature {place}": column for place, column in enumerate(codes.T)}
        tallies = {}
        for batch in answer_for_all(plan, answers):
            randomiser = plan.questions[batch.question].randomisers[batch.level]
            tallies[batch.question, batch.level] = ReportTally.of(randomiser, batch.answers)
        return self.fit_collected(Collected(plan=plan, tallies=tallies))

    def plan(self, columns: int) -> CollectionPlan:
        """Who is asked what: the class, or the class and one feature, equally often."""
        self.classes_ = self._check_classes()
        sizes = self._sizes(columns)
        classes = len(self.classes_)
        names = [f"feature {place}" for place in range(columns)]
        attributes = [Category(CLASS, "categorical", None, tuple(range(classes)))]
        attributes += [
            Category(name, "categorical", None, tuple(range(size)))
            for name, size in zip(names, sizes, strict=True)
        ]
        questions = [self._ask((CLASS,), (classes,))]
        questions += [
            self._ask((CLASS, name), (classes, size))
            for name, size in zip(names, sizes, strict=True)
        ]
        return CollectionPlan(
            schema=Schema(tuple(attributes)),
            epsilons=(float(self.epsilon),),
            questions=tuple(questions),
        )

    def fit_collected(self, collected: Collected) -> Self:
        """Learn from the reports of a survey by :meth:`plan`."""
        self.classes_ = self._check_classes()
        effects = pool_effects(collected)
        names = [a.name for a in collected.plan.schema.modelled if a.name != CLASS]
        classes = len(self.classes_)
        self.class_prior_ = _shares_of(effects.get((CLASS,)), classes)
        self.feature_prob_ = [
            self._conditional(effects, name, collected.plan.schema[name].size) for name in names
        ]
        self.n_features_in_ = getattr(self, "n_features_in_", len(names))
        return self

    def _conditional(self, effects: Any, name: str, size: int) -> Matrix:
        """P(value | class): independent, but for what stands out of the noise."""
        alone = effects.get((name,))
        if alone is not None:
            alone = _shrink(alone)
        shares = _shares_of(alone, size)
        table = np.outer(self.class_prior_, shares)
        told = effects.get((CLASS, name))
        if told is not None:
            apart = Effect(shares=told.shares - find_effect(table, (0, 1)), variance=told.variance)
            table = table + _shrink(apart).shares
        table = project_counts(table, 1.0) + 1e-3 * np.outer(self.class_prior_ + 1e-9, shares)
        return np.asarray(table / table.sum(axis=1, keepdims=True))

    def _ask(self, columns: tuple[str, ...], sizes: tuple[int, ...]) -> LocalQuestion:
        size = int(np.prod(sizes))
        if self.protocol == "best":
            randomiser = best_randomiser(size, float(self.epsilon))
        elif self.protocol in PROTOCOLS:
            randomiser = PROTOCOLS[self.protocol](size=size, epsilon=float(self.epsilon))
        else:
            known = ", ".join(["best", *PROTOCOLS])
            raise InputError(f"There is no protocol {self.protocol!r}; known are {known}.")
        return LocalQuestion(columns=columns, sizes=sizes, randomisers=(randomiser,))

    def _sizes(self, columns: int) -> list[int]:
        if self.bins is not None:
            return [int(self.bins)] * columns
        if self.categories is None:
            raise InputError(
                "LocalCategoricalNB needs the public number of codes of each column, "
                "categories=[...], or bins and bounds for numbers."
            )
        sizes = np.broadcast_to(np.asarray(self.categories, dtype=np.int64), columns)
        if sizes.min() < 2:
            raise InputError("Each column must have two codes or more; leave constant ones out.")
        return [int(size) for size in sizes]

    def _cut(self, X: Matrix) -> NDArray[np.int64]:  # noqa: N803
        """The codes of the features: as they are, or by bins of equal width; in the middle where
        there is no number.
        """
        sizes = np.array(self._sizes(X.shape[1]))
        places = X
        if self.bins is not None:
            lower, upper = _bounds_of(self.bounds, X.shape[1])
            places = np.floor((X - lower) / (upper - lower) * self.bins)
        places = np.where(np.isnan(places), sizes // 2, places)
        return np.clip(places, 0, sizes - 1).astype(np.int64)

    def _joint_log_likelihood(self, X: Matrix) -> Matrix:  # noqa: N803
        joint = np.tile(np.log(self.class_prior_ + 1e-300), (len(X), 1))
        for column, shares in zip(self._cut(X).T, self.feature_prob_, strict=True):
            joint = joint + np.log(shares[:, column] + 1e-300).T
        return joint


class LocalGaussianNB(_LocalNaiveBayes):
    """Naive Bayes with a normal distribution for each feature within each class, from one report
    per person.

    A fifth of the persons report their class. The others draw a feature and one of two groups: the
    first reports the feature, the second its square, both moved to the scale from -1 to 1, at the
    place of the class in a vector of zeros, all places of which are randomised.

    Parameters
    ----------
    epsilon
        What a report costs.
    bounds
        The announced bounds of the features: (lower, upper), numbers or one per column.
    classes
        The public list of classes.
    protocol
        How vectors are reported: "duchi" or "piecewise".
    projection
        A public matrix that is applied to the features first.
    """

    class_share = 0.2

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        bounds: Any = None,
        classes: Any = None,
        protocol: str = "duchi",
        projection: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes
        self.protocol = protocol
        self.projection = projection

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Randomise each row by itself, once, and learn from the reports."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite=False)  # noqa: N806
        self.classes_ = self._check_classes()
        scaled = self._scale(self._project(X))
        places = self._encode_classes(y)
        # Which question a person draws has nothing to do with her answer.
        rng = np.random.default_rng()
        drawn = rng.random(len(scaled)) < self.class_share
        prior = best_randomiser(len(self.classes_), float(self.epsilon))
        counted = prior.estimate(prior.tally(prior.perturb(places[drawn])), int(drawn.sum()))
        self.class_prior_ = np.maximum(project_counts(counted, 1.0 * max(drawn.sum(), 1)), 1.0)
        self.class_prior_ = self.class_prior_ / self.class_prior_.sum()
        asked = rng.integers(0, 2 * scaled.shape[1], len(scaled))
        self.theta_ = np.zeros((len(self.classes_), scaled.shape[1]))
        self.var_ = np.ones_like(self.theta_)
        for feature in range(scaled.shape[1]):
            groups = [~drawn & (asked == 2 * feature + group) for group in (0, 1)]
            first = self._means(scaled[groups[0], feature], places[groups[0]])
            second = self._means(scaled[groups[1], feature] ** 2, places[groups[1]])
            means = np.clip(first / self.class_prior_, -1.0, 1.0)
            squares = np.clip(second / self.class_prior_, 0.0, 1.0)
            self.theta_[:, feature] = means
            self.var_[:, feature] = np.clip(squares - means**2, MIN_REPORTED_VARIANCE, 1.0)
        return self

    def _means(self, values: Matrix, places: NDArray[np.int64]) -> Matrix:
        """The mean, over all persons of a group, of their vectors."""
        vectors = np.zeros((len(values), len(self.classes_)))
        vectors[np.arange(len(values)), places] = values
        randomiser = self._randomiser()
        tally = randomiser.tally(randomiser.perturb(vectors))
        return np.nan_to_num(np.asarray(randomiser.estimate(tally, len(values))))

    def _randomiser(self) -> MeanRandomiser:
        kinds: dict[str, type[MeanRandomiser]] = {"duchi": Duchi, "piecewise": Piecewise}
        if self.protocol not in kinds:
            raise InputError(f"There is no protocol {self.protocol!r}; known are duchi, piecewise.")
        return kinds[self.protocol](epsilon=float(self.epsilon), dimensions=len(self.classes_))

    def _scale(self, X: Matrix) -> Matrix:  # noqa: N803
        lower, upper = _bounds_of(self.bounds, X.shape[1])
        scaled = np.clip(2 * (X - lower) / (upper - lower) - 1, -1.0, 1.0)
        return np.nan_to_num(scaled, nan=0.0)  # in the middle where there is no number

    def _joint_log_likelihood(self, X: Matrix) -> Matrix:  # noqa: N803
        from understudy.learners.naive_bayes import gaussian_likelihood

        return gaussian_likelihood(self._scale(X), self.class_prior_, self.theta_, self.var_)


def find_discriminant_components(
    X: Any,  # noqa: N803
    y: Any,
    components: int,
    ridge: float = 1e-3,
) -> Matrix:
    """The directions of *public* rows that tell classes apart best (discriminant component
    analysis): a projection for the learners here.

    Generalised eigenvectors of the scatter between classes and that of all rows, with a ridge
    relative to the latter. The rows must be public: nothing here is randomised.

    Parameters
    ----------
    X, y
        Public features and classes.
    components
        How many directions.
    ridge
        What is added to the scatter of all rows, in units of its mean.
    """
    from scipy.linalg import eigh

    rows, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    centred = rows - rows.mean(axis=0)
    whole = centred.T @ centred
    between = np.zeros_like(whole)
    for label in np.unique(labels):
        mean = centred[labels == label].mean(axis=0)
        between += int((labels == label).sum()) * np.outer(mean, mean)
    whole += ridge * float(np.trace(whole)) / len(whole) * np.eye(len(whole))
    _, vectors = eigh(between, whole)
    return np.asarray(vectors[:, ::-1][:, :components], dtype=np.float64)


def _shrink(effect: Effect) -> Effect:
    """The positive part of a James-Stein estimate: nothing, where noise explains all of it."""
    energy = float((effect.shares**2).sum())
    kept = max(1 - effect.freedom * effect.variance / max(energy, 1e-300), 0.0)
    return Effect(shares=kept * effect.shares, variance=effect.variance)


def _shares_of(effect: Effect | None, size: int) -> Matrix:
    """The shares of single values, nearest to what was told; even ones where nothing was."""
    even = np.full(size, 1 / size)
    if effect is None:
        return even
    return project_counts(even + effect.shares, 1.0)


def _bounds_of(bounds: Any, columns: int) -> tuple[Matrix, Matrix]:
    if bounds is None:
        raise InputError("Numbers need announced bounds, bounds=(lower, upper).")
    lower, upper = (
        np.broadcast_to(np.asarray(bound, dtype=np.float64), columns) for bound in bounds
    )
    if not (lower < upper).all():
        raise InputError("Each lower bound must be below the upper one.")
    return lower, upper
