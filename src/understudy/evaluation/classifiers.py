"""The learners that real and synthetic tables are compared with, by name, with the settings of
their libraries.

The thesis' twelve classifiers, the paper's support vector machine (hinge loss, C = 1) and logistic
regression. Each entry makes a fresh learner from a seed. They expect numbers of similar size:
scaled quantities, one-hot categories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from understudy.errors import InputError

Classifying = Any
"""A scikit-learn estimator."""


def _xgboost(seed: int) -> Classifying:
    from xgboost import XGBClassifier

    return XGBClassifier(random_state=seed, n_jobs=1, verbosity=0)


def _cart(seed: int) -> Classifying:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=seed)


def _neighbours(seed: int) -> Classifying:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier()


def _linear_svc(seed: int) -> Classifying:
    from sklearn.svm import LinearSVC

    return LinearSVC(random_state=seed)


def _svc(seed: int) -> Classifying:
    from sklearn.svm import SVC

    return SVC(random_state=seed, cache_size=500)


def _forest(seed: int) -> Classifying:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=seed, n_jobs=2)


def _perceptron(seed: int) -> Classifying:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(random_state=seed)


def _adaboost(seed: int) -> Classifying:
    from sklearn.ensemble import AdaBoostClassifier

    return AdaBoostClassifier(random_state=seed)


def _make_boosting(seed: int) -> Classifying:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(random_state=seed)


def _bayes(seed: int) -> Classifying:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB()


def _linear_discriminant(seed: int) -> Classifying:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis()


def _quadratic_discriminant(seed: int) -> Classifying:
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    # One-hot columns of a category sum to 1, so a class's covariance has no inverse without a
    # little of this.
    return QuadraticDiscriminantAnalysis(reg_param=1e-3)


def _hinge(seed: int) -> Classifying:
    from sklearn.svm import LinearSVC

    return LinearSVC(loss="hinge", C=1.0, random_state=seed)


def _logistic(seed: int) -> Classifying:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=500)


CLASSIFIERS: dict[str, Callable[[int], Classifying]] = {
    "XGBoost": _xgboost,
    "CART": _cart,
    "KNN": _neighbours,
    "linear SVC": _linear_svc,
    "SVC": _svc,
    "random forest": _forest,
    "MLP": _perceptron,
    "AdaBoost": _adaboost,
    "gradient boosting": _make_boosting,
    "Gaussian NB": _bayes,
    "LDA": _linear_discriminant,
    "QDA": _quadratic_discriminant,
    "SVM": _hinge,
    "logistic regression": _logistic,
}
"""All that can be asked for; "SVM" is the paper's."""

THESIS = tuple(CLASSIFIERS)[:12]
FAST = ("XGBoost", "CART", "SVM", "Gaussian NB", "logistic regression")
"""Trained in seconds on tens of thousands of rows."""

CHEAP = ("CART", "Gaussian NB", "KNN", "LDA")
"""Trained as fast on hundreds of classes: not one model a class."""


def for_classes(learner: Classifying, classes: int) -> Classifying:
    """The learner, set for this many classes.

    A hinge machine for a class against the rest says "the rest" everywhere, and equally loudly,
    unless the class has most of some neighbourhood: the loudest of them tells nothing. So there is
    one for each two classes, and they vote.
    """
    from sklearn.multiclass import OneVsOneClassifier

    if classes > 2 and getattr(learner, "loss", None) == "hinge":
        return OneVsOneClassifier(learner)
    return learner


@contextmanager
def one_thread() -> Iterator[None]:
    """Learners that share rows out among threads wait for each other, busily, where other programs
    use the processors.

    Measured on two busy processors, XGBoost on 36,000 rows took 17 s of processor time in two
    threads and 2.4 s in one.
    """
    import sklearn.cluster  # noqa: F401  (only what is loaded can be told)
    import xgboost  # noqa: F401
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1):
        yield


def choose_classifiers(learners: str | Sequence[str]) -> tuple[str, ...]:
    """The names asked for: "fast", "thesis", "all", one name, or several.

    Examples
    --------
    >>> choose_classifiers("CART")
    ('CART',)
    """
    groups = {"fast": FAST, "thesis": THESIS, "all": tuple(CLASSIFIERS)}
    if isinstance(learners, str):
        learners = groups.get(learners, (learners,))
    if not learners:
        raise InputError(
            f"No learner is named; known are {', '.join(CLASSIFIERS)}, and the groups "
            f"{', '.join(groups)}."
        )
    for name in learners:
        if name not in CLASSIFIERS:
            raise InputError(
                f"There is no learner {name!r}; known are {', '.join(CLASSIFIERS)}, and the groups "
                f"{', '.join(groups)}."
            )
    return tuple(dict.fromkeys(learners))
