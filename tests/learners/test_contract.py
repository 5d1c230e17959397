"""scikit-learn's contract, and where privacy does not let a learner keep it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import StackingClassifier
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from understudy import Ledger, LedgerFile
from understudy.errors import BudgetError, InputError
from understudy.learners import (
    PCA,
    CategoricalNB,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    Ridge,
)
from understudy.privacy.mechanisms import SeededNoise

NO_NOISE = 1e13
"""At this epsilon the noise is 0 but for an unheard-of chance."""

BOUNDS = {"bounds": (-20, 20)}
CLASSES = {"classes": "observed"}
TARGETS = {"target_bounds": (-500, 500)}

LEARNERS = [
    GaussianNB(NO_NOISE, **BOUNDS, **CLASSES),
    CategoricalNB(NO_NOISE, categories=10, **CLASSES),
    LogisticRegression(NO_NOISE, **BOUNDS, **CLASSES),
    LogisticRegression(NO_NOISE, solver="output", **BOUNDS, **CLASSES),
    LogisticRegression(NO_NOISE, solver="moments", **BOUNDS, **CLASSES),
    LinearRegression(NO_NOISE, **BOUNDS, **TARGETS),
    Ridge(epsilon=NO_NOISE, **BOUNDS, **TARGETS),
    KMeans(3, epsilon=NO_NOISE, random_state=0, **BOUNDS),
    PCA(epsilon=NO_NOISE, **BOUNDS),
]

EXCEPTIONS = {
    "check_dtype_object": "columns of objects are refused by their type; which cell is odd is "
    "private",
    "check_supervised_y_no_nan": "a target that is no number counts as the centre: a refusal would "
    "tell that some row has one",
    "check_clustering": "labels of the fitted rows are not kept: they would tell about each",
    "check_fit_idempotent": "a fit draws noise",
}
"""The checks that a learner fails on purpose, and why; docs/learning.md says the same."""


def _name(learner):
    return f"{type(learner).__name__}-{getattr(learner, 'solver', '')}".rstrip("-")


@pytest.mark.thorough
@pytest.mark.parametrize("learner", LEARNERS, ids=_name)
def test_learners_pass_scikit_learns_checks_but_for_named_exceptions(learner):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(learner, on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed <= set(EXCEPTIONS)
    assert sum(result["status"] == "passed" for result in results) >= 35


def _blobs(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    return rng.normal(size=(rows, 2)) + 3 * y[:, None] - 1.5, y


# --------------------------------------------------------------------------- the ledger


def test_learners_share_a_ledger_until_it_is_empty():
    X, y = _blobs()
    ledger = Ledger(1.0)
    common = {"bounds": (-6, 6), "classes": [0, 1], "ledger": ledger}
    GaussianNB(0.5, **common).fit(X, y)
    LogisticRegression(0.5, **common).fit(X, y)
    assert ledger.spent()[0] == pytest.approx(1.0)
    entries = len(ledger.entries)
    with pytest.raises(BudgetError, match="nothing was asked"):
        GaussianNB(0.5, **common).fit(X, y)
    assert len(ledger.entries) == entries


def test_clones_spend_from_the_same_ledger():
    X, y = _blobs()
    ledger = Ledger(1.0)
    learner = GaussianNB(0.25, bounds=(-6, 6), classes=[0, 1], ledger=ledger)
    assert clone(learner).ledger is ledger
    cross_val_score(learner, X, y, cv=4)
    assert ledger.spent()[0] == pytest.approx(1.0)


def test_a_ledger_in_memory_does_not_travel():
    import copy
    import pickle

    learner = GaussianNB(0.25, bounds=(-6, 6), classes=[0, 1], ledger=Ledger(1.0))
    with pytest.raises(InputError, match="ledger file"):
        pickle.dumps(learner)
    with pytest.raises(InputError, match="ledger file"):
        copy.deepcopy(learner)


def test_a_fit_is_reserved_in_the_owners_file(tmp_path):
    X, _ = _blobs()
    file = LedgerFile.create(tmp_path / "t.ledger", epsilon=1.0)
    learner = KMeans(2, epsilon=0.75, bounds=(-6, 6), ledger=tmp_path / "t.ledger").fit(X)
    assert file.left() == (0.25, 0.0)
    with pytest.raises(BudgetError):
        learner.fit(X)
    assert file.left() == (0.25, 0.0)
    with pytest.raises(InputError, match="kept for another table"):
        learner.set_params(epsilon=0.1).fit(X + 1)


def test_a_ledger_in_rho_is_debited_what_the_epsilon_would_have_bought():
    X, y = _blobs()
    ledger = Ledger(1.0, 1e-6, currency="rho")
    LinearRegression(1.0, bounds=(-6, 6), target_bounds=(0, 1), ledger=ledger).fit(X, y)
    assert ledger.spent()[0] == pytest.approx(1.0)


def test_everything_that_is_public_stands_in_the_ledger():
    X, y = _blobs()
    model = GaussianNB(1.0, bounds=(-6, 6), classes="observed").fit(X, y)
    assert "which classes there are" in model.ledger_.taken_as_public
    assert "the bounds of the features" in model.ledger_.statement()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("learner", LEARNERS, ids=_name)
def test_a_fit_costs_its_epsilon_and_no_more(learner, delta):
    X, y = _blobs(60)
    fitted = clone(learner).set_params(epsilon=0.7, delta=delta).fit(X, y)
    spent, spent_delta = fitted.ledger_.spent()
    assert 0.69 <= spent <= 0.7
    assert spent_delta == delta
    assert fitted.ledger_.entries


def test_one_ledger_line_per_question_names_the_mechanism():
    X, y = _blobs(60)
    model = LogisticRegression(1.0, bounds=(-6, 6), classes=[0, 1]).fit(X, y)
    [line] = model.ledger_.entries
    assert line.question == "logistic regression"
    assert "objective perturbation" in line.mechanism


# --------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("learner", [*LEARNERS[:1], *LEARNERS[2:]], ids=_name)
@pytest.mark.parametrize(
    "bounds",
    [None, (0, 0), (5, 1), (0, np.inf), (np.nan, 1), "narrow", (0, 1, 2), ([0, 0, 0], 1)],
    ids=str,
)
def test_bounds_are_mandatory_and_checked_before_anything_is_spent(learner, bounds):
    X, y = _blobs(20)
    ledger = Ledger(1.0)
    refused = clone(learner).set_params(bounds=bounds, epsilon=1.0, ledger=ledger)
    with pytest.raises(InputError, match="bounds"):
        refused.fit(X, y)
    assert not ledger.entries


@pytest.mark.parametrize("learner", LEARNERS[:5], ids=_name)
@pytest.mark.parametrize("classes", [None, [], [0], [0, 0], "all", 3, [[0], [1]]], ids=str)
def test_classes_are_mandatory(learner, classes):
    X, y = _blobs(20)
    ledger = Ledger(1.0)
    refused = clone(learner).set_params(classes=classes, epsilon=1.0, ledger=ledger)
    with pytest.raises(InputError, match="classes"):
        refused.fit(X, y)
    assert not ledger.entries


BAD = [
    (GaussianNB(0.0, **BOUNDS, **CLASSES), "epsilon"),
    (GaussianNB(1.0, 2.0, **BOUNDS, **CLASSES), "delta"),
    (CategoricalNB(1.0, **CLASSES), "categories"),
    (CategoricalNB(1.0, categories=2.5, **CLASSES), "categories"),
    (CategoricalNB(1.0, categories=3, alpha=-1, **CLASSES), "alpha"),
    (LogisticRegression(1.0, solver="lbfgs", **BOUNDS, **CLASSES), "solver"),
    (LogisticRegression(1.0, C=0, **BOUNDS, **CLASSES), "C must be"),
    (LogisticRegression(1.0, C="much", **BOUNDS, **CLASSES), "C must be"),
    (LogisticRegression(1.0, C=True, **BOUNDS, **CLASSES), "C must be"),
    (LogisticRegression(1.0, row_norm=-1, **BOUNDS, **CLASSES), "row_norm"),
    (LogisticRegression(1e-9, **BOUNDS, **CLASSES), "too small"),
    (LinearRegression(1.0, **BOUNDS), "target_bounds"),
    (LinearRegression(1.0, target_bounds=(1, 1), **BOUNDS), "bounds"),
    (Ridge(-1.0, **BOUNDS, **TARGETS), "alpha"),
    (KMeans(0, **BOUNDS), "n_clusters"),
    (KMeans(2, max_iter=0, **BOUNDS), "max_iter"),
    (KMeans(2, random_state=-1, **BOUNDS), "random_state"),
    (KMeans(2, random_state=0.5, **BOUNDS), "random_state"),
    (KMeans(2, random_state={"a": 1}, **BOUNDS), "random_state"),
    (PCA(0, **BOUNDS), "n_components"),
    (PCA(9, **BOUNDS), "components"),
    (KMeans(2, epsilon=1e-13, **BOUNDS), "epsilon must be at least"),
]


@pytest.mark.parametrize(("learner", "words"), BAD, ids=lambda one: str(one)[:40])
def test_parameters_that_make_no_sense_cost_nothing(learner, words, tmp_path):
    X, y = _blobs(20)
    LedgerFile.create(tmp_path / "t.ledger", epsilon=1.0)
    learner = clone(learner).set_params(ledger=tmp_path / "t.ledger")
    with pytest.raises(InputError, match=words):
        learner.fit(X, y)
    assert LedgerFile(tmp_path / "t.ledger").left() == (1.0, 0.0)


def test_a_column_of_text_is_refused_by_its_type():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    with pytest.raises(ValueError, match=r"Column 1 of X is of type .*, not a number"):
        GaussianNB(1.0, bounds=(0, 1), classes=[0, 1]).fit(frame, [0, 1])


@pytest.mark.parametrize("learner", LEARNERS, ids=_name)
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 1e300])
def test_no_cell_decides_whether_a_fit_is_refused(learner, odd):
    X, y = _blobs(30)
    X[3, 1] = odd
    if learner.supervised and "target_bounds" in learner.get_params():
        y = y.astype(float)
        y[4] = odd
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(learner).set_params(epsilon=1.0)
        if "classes" in fitted.get_params():
            fitted.set_params(classes=[0, 1])
            y = y.astype(object)
            y[5] = "no such class"
        fitted.fit(X, y)
    for name, value in vars(fitted).items():
        if name.endswith("_") and isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.isfinite(value).all()


@pytest.mark.parametrize("step", [StandardScaler(), MinMaxScaler(), SimpleImputer()], ids=repr)
def test_a_pipeline_that_learns_from_private_rows_for_free_is_refused(step):
    X, y = _blobs()
    ledger = Ledger(1.0)
    learner = GaussianNB(1.0, bounds=(-3, 3), classes=[0, 1], ledger=ledger)
    with pytest.raises(InputError, match="learns from the private rows"):
        make_pipeline(step, learner).fit(X, y)
    with pytest.raises(InputError, match="learns from the private rows"):
        cross_val_score(make_pipeline(step, learner), X, y, cv=2, error_score="raise")
    assert not ledger.entries


CHOOSERS = {
    "grid": lambda learner: GridSearchCV(learner, {"epsilon": [0.1, 0.2]}, cv=2),
    "random": lambda learner: RandomizedSearchCV(learner, {"epsilon": [0.1, 0.2]}, n_iter=1, cv=2),
    "features": lambda learner: SequentialFeatureSelector(learner, n_features_to_select=1, cv=2),
    "calibration": lambda learner: CalibratedClassifierCV(learner, cv=2),
    "stacking": lambda learner: StackingClassifier([("learner", learner)], cv=2),
    "inside": lambda learner: GridSearchCV(
        make_pipeline(learner), {"gaussiannb__epsilon": [0.1, 0.2]}, cv=2
    ),
}


@pytest.mark.parametrize("chooser", CHOOSERS.values(), ids=CHOOSERS)
def test_a_choice_by_exact_scores_of_private_rows_is_refused(chooser):
    """Every fit would be paid for, and the choice between them would not."""
    X, y = _blobs(80)
    ledger = Ledger(1.0)
    learner = GaussianNB(0.1, bounds=(-3, 3), classes=[0, 1], ledger=ledger)
    search = chooser(learner)
    if "error_score" in search.get_params():
        search.set_params(error_score="raise")
    with pytest.raises((InputError, ValueError), match="would decide by exact scores of private"):
        search.fit(X, y)
    assert not ledger.entries


def test_on_public_rows_parameters_can_be_searched_for():
    X, y = _blobs(80)
    learner = GaussianNB(1.0, bounds=(-3, 3), classes=[0, 1], noise=SeededNoise(0))
    search = GridSearchCV(learner, {"epsilon": [0.01, 100.0]}, cv=2).fit(X, y)
    assert search.best_params_ == {"epsilon": 100.0}
    assert not search.best_estimator_.ledger_.private


@pytest.mark.parametrize(("delta", "smallest"), [(0.0, 1e-12), (1e-6, 1e-9)])
@pytest.mark.parametrize("learner", LEARNERS, ids=_name)
def test_a_very_small_budget_is_served_or_refused_before_it_is_booked(learner, delta, smallest):
    X, y = _blobs(60)
    for epsilon in (smallest, 1e-7, 1e-4):
        ledger = Ledger(1.0, delta, currency="rho" if delta else "epsilon")
        small = clone(learner).set_params(epsilon=epsilon, ledger=ledger)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if _is_refused(small, X, y):
                assert not ledger.entries
                assert epsilon < 1e-4
            else:
                assert ledger.spent()[0] <= epsilon


def _is_refused(learner, X, y):
    try:
        learner.fit(X, y)
    except InputError:
        return True
    return False


@pytest.mark.parametrize("learner", LEARNERS, ids=_name)
def test_the_type_of_a_list_does_not_depend_on_one_cell(learner):
    """One odd cell, or one row of another length, counts as missing; nobody is told of it."""
    X, y = _blobs(30)
    learner = clone(learner)
    if "classes" in learner.get_params():
        learner.set_params(classes=[0, 1])
    for odd in ("a secret", None, [1, 2], 10**400, 1j):
        rows, targets = X.tolist(), y.tolist()
        rows[3][1], targets[4] = odd, odd
        one = clone(learner).fit(rows, targets)
        rows[3][1], targets[4] = np.nan, None
        other = clone(learner).fit(rows, targets)
        for name in one._shapes():
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-4)
    rows = X.tolist()
    rows[5], rows[6], rows[7] = [1.0], [1.0, 2.0, 3.0], 4.0
    clone(learner).fit(rows, y.tolist())


def test_a_pipeline_in_a_pipeline_is_looked_through():
    X, y = _blobs()
    ledger = Ledger(1.0)
    learner = GaussianNB(1.0, bounds=(-3, 3), classes=[0, 1], ledger=ledger)
    components = PCA(1, epsilon=1.0, bounds=(-3, 3), ledger=ledger)
    scaler = StandardScaler()
    line = LinearRegression(1.0, bounds=(-3, 3), target_bounds=(-3, 3), ledger=ledger)
    for whole in (
        make_pipeline(scaler, make_pipeline(learner)),
        make_pipeline(make_pipeline(scaler), learner),
        make_pipeline(scaler, OneVsRestClassifier(learner)),
        make_pipeline(scaler, components, DummyClassifier()),
        TransformedTargetRegressor(line, transformer=scaler),
    ):
        with pytest.raises(InputError, match="learns from the private rows"):
            whole.fit(X, y)
    assert not ledger.entries
    halve = FunctionTransformer(lambda rows: rows / 2)
    free = [clone(step).set_params(ledger=None) for step in (components, learner)]
    make_pipeline(make_pipeline(halve, free[0]), make_pipeline(free[1])).fit(X, y)


def test_a_text_among_the_targets_is_missing_and_not_told():
    X, y = _blobs(30)
    line = LinearRegression(1.0, bounds=(-3, 3), target_bounds=(-3, 3))
    odd = y.astype(object)
    for cell in ("a secret", None, 10**400, [1], 1j):
        odd[3] = cell
        line.fit(X, odd)
    with pytest.raises(ValueError, match="type <U8") as refused:
        line.fit(X, np.array(["a secret"] * len(y)))
    assert "secret" not in str(refused.value)
    odd[3] = [1]  # cannot even be looked up
    GaussianNB(1.0, bounds=(-3, 3), classes=[0, 1]).fit(X, odd)


def test_a_pipeline_of_public_and_of_private_steps_is_fine():
    X, y = _blobs()
    halve = FunctionTransformer(lambda rows: rows / 2)
    learner = GaussianNB(10.0, bounds=(-3, 3), classes=[0, 1])
    assert make_pipeline(halve, learner).fit(X, y).score(X, y) > 0.9
    turned = make_pipeline(halve, PCA(1, epsilon=10.0, bounds=(-3, 3)), clone(learner))
    assert turned.fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(
    "learner",
    [
        LinearRegression(1.0, bounds=(0, 1), target_bounds=(0, 1), row_norm=1e-9),
        LogisticRegression(bounds=(0, 1), classes=[0, 1], solver="moments", row_norm=1e9),
        KMeans(2, bounds=(0, 1), row_norm=0.001),
        KMeans(10_000, bounds=(0, 1)),
        PCA(3_000, bounds=(0, 1)),
        GaussianNB(bounds=(0, 1), classes=[0, 1]),
    ],
    ids=_name,
)
def test_what_cannot_be_asked_for_is_refused_before_a_ledger_file_is(learner, tmp_path):
    """A release that ends after its first question has cost all of its price."""
    book = LedgerFile.create(tmp_path / "t.ledger", epsilon=5.0)
    columns = 2
    if learner.get_params().get("row_norm") is None:
        columns = 2_100
    rows = np.random.default_rng(0).random((4, columns))
    with pytest.raises(InputError, match=r"row_norm must be|features"):
        clone(learner).set_params(ledger=book).fit(rows, [0, 1, 0, 1])
    assert book.left() == (5.0, 0.0)
    assert book.read()["releases"] == []
