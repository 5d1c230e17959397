"""What learners learn: the same as without privacy where noise is nothing, and less with less."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import linear_model, naive_bayes
from sklearn.decomposition import PCA as ExactPCA

from understudy import Ledger, Schema, make_holders
from understudy.data.encoding import encode
from understudy.data.frames import as_table
from understudy.errors import InputError
from understudy.federation.learning import federate_learner
from understudy.learners import (
    PCA,
    CategoricalNB,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    Ridge,
    TrainedModel,
    learn,
)
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import SeededNoise

NO_NOISE = 1e13

pandas = pytest.importorskip("pandas")


def _rows(rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 3)) * [1, 2, 10]
    margin = 2 * X[:, 0] - X[:, 1] + 0.1 * X[:, 2]
    return X, margin, margin + rng.logistic(size=rows) * 0.5 > 0.3


BOUNDS = ([-1, -2, -10], [1, 2, 10])


# --------------------------------------------------------------------------- against exact learners


def test_the_toy_example_of_naive_bayes():
    """Four of ten patients missed their appointment. Young: 1 of 4 and 1 of 6, of medium income: 2
    and 1, female: 2 and 2. The counts are those of the worked example.
    """
    young = [1, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    medium = [1, 1, 0, 0, 1, 0, 0, 0, 0, 0]
    female = [1, 1, 0, 0, 1, 1, 0, 0, 0, 0]
    missed = [True] * 4 + [False] * 6
    model = CategoricalNB(NO_NOISE, categories=2, classes=[False, True], alpha=0)
    model.fit(np.column_stack([young, medium, female]), missed)
    joint = np.exp(model.predict_joint_log_proba([[1, 1, 1]]))[0]
    assert joint[1] == pytest.approx(0.025)
    assert joint[0] == pytest.approx(0.6 / 108)  # 0.005556
    assert model.predict([[1, 1, 1]]).tolist() == [True]


def test_naive_bayes_without_noise_is_scikit_learns():
    X, _, y = _rows()
    ours = GaussianNB(NO_NOISE, bounds=BOUNDS, classes=[False, True]).fit(X, y)
    exact = naive_bayes.GaussianNB(var_smoothing=0).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), exact.predict_proba(X), atol=2e-3)


def test_linear_regression_without_noise_is_scikit_learns():
    X, margin, _ = _rows()
    ours = LinearRegression(NO_NOISE, bounds=BOUNDS, target_bounds=(-6, 6), row_norm=4)
    ours.fit(X, margin)
    exact = linear_model.LinearRegression().fit(X, margin)
    np.testing.assert_allclose(ours.coef_, exact.coef_, atol=2e-3)
    np.testing.assert_allclose(ours.predict(X), exact.predict(X), atol=0.02)


def test_ridge_pulls_coefficients_towards_zero():
    X, margin, _ = _rows()
    norms = [
        np.linalg.norm(
            Ridge(alpha, epsilon=NO_NOISE, bounds=BOUNDS, target_bounds=(-6, 6))
            .fit(X, margin)
            .coef_
        )
        for alpha in (1e-3, 300, 1e5)
    ]
    assert norms[0] > norms[1] > norms[2]


def test_pca_without_noise_is_scikit_learns():
    X, _, _ = _rows()
    ours = PCA(2, epsilon=NO_NOISE, bounds=BOUNDS, row_norm=4).fit(X)
    exact = ExactPCA(2).fit(X)
    np.testing.assert_allclose(
        np.abs((ours.components_ * exact.components_).sum(axis=1)), 1, atol=1e-3
    )
    np.testing.assert_allclose(ours.explained_variance_, exact.explained_variance_, rtol=1e-2)
    back = ours.inverse_transform(ours.transform(X))
    assert np.linalg.norm(back - X) < 0.5 * np.linalg.norm(X - X.mean(axis=0))


@pytest.mark.parametrize("solver", ["objective", "output"])
def test_perturbation_without_noise_is_scikit_learns(solver):
    X, _, y = _rows()
    ours = LogisticRegression(
        NO_NOISE, bounds=BOUNDS, classes=[False, True], solver=solver, row_norm=9
    ).fit(X, y)
    scaled = np.column_stack([np.ones(len(X)), X / BOUNDS[1]])
    exact = linear_model.LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8).fit(scaled, y)
    np.testing.assert_allclose(ours.coefficients_, exact.coef_, atol=1e-3)


def test_moments_come_close_to_the_logistic_regression():
    X, _, y = _rows(20_000)
    ours = LogisticRegression(1.0, bounds=BOUNDS, classes=[False, True], solver="moments")
    exact = linear_model.LogisticRegression().fit(X, y)
    assert ours.fit(X, y).score(X, y) > exact.score(X, y) - 0.02


@pytest.mark.parametrize("solver", ["objective", "output", "moments"])
def test_many_classes(solver):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 6000)
    X = np.array([[-3, 0], [3, 0], [0, 4]])[y] + rng.normal(size=(6000, 2))
    names = np.array(["a", "b", "c"])
    model = LogisticRegression(3.0, bounds=(-8, 8), classes=["a", "b", "c"], solver=solver)
    model.fit(X, names[y])
    assert model.score(X, names[y]) > 0.8
    assert model.predict_proba(X).shape == (6000, 3)


def test_k_means_finds_clusters_and_keeps_no_labels():
    rng = np.random.default_rng(3)
    places = np.array([[-6, -6], [6, -6], [0, 6]])
    X = places[rng.integers(0, 3, 6000)] + rng.normal(size=(6000, 2))
    found = []
    for seed in range(5):
        noise = SeededNoise(seed)
        model = KMeans(3, epsilon=2.0, bounds=(-10, 10), random_state=seed, noise=noise).fit(X)
        assert not hasattr(model, "labels_")
        apart = np.linalg.norm(model.cluster_centers_[:, None] - places, axis=2)
        found.append(apart.min(axis=0).max() < 1)
    assert sum(found) >= 3  # DPLloyd may start badly; never in most of five starts here


def test_centres_are_told_in_the_units_of_the_features():
    """Bounds need not lie about 0."""
    X = np.array([[12.0, 110.0]] * 50 + [[18.0, 190.0]] * 50)
    model = KMeans(
        2, epsilon=NO_NOISE, bounds=([10, 100], [20, 200]), random_state=0, noise=SeededNoise(0)
    ).fit(X)
    centres = model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])]
    np.testing.assert_allclose(centres, [[12, 110], [18, 190]], rtol=0.02)


# --------------------------------------------------------------------------- curators

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "age": {"kind": "integer", "min": 0, "max": 99, "missing": True},
            "dose": {"kind": "real", "min": 0, "max": 10, "bins": 10},
            "ward": {"kind": "categorical", "values": ["north", "south"]},
            "sick": {"kind": "boolean"},
        }
    }
)


def _frame(rows=3000, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, rows)
    ward = rng.choice(["north", "south"], rows)
    dose = np.round(rng.uniform(0, 10, rows), 2)
    margin = (age - 50) / 15 + 1.5 * (ward == "south") + (dose - 5) / 5
    return pandas.DataFrame(
        {
            "age": age,
            "dose": dose,
            "ward": ward,
            "sick": margin + rng.logistic(size=rows) * 0.3 > 0.7,
        }
    )


ASKING = [
    (GaussianNB, {}, "sick"),
    (CategoricalNB, {}, "sick"),
    (LogisticRegression, {"solver": "moments"}, "sick"),
    (LinearRegression, {}, "dose"),
    (Ridge, {}, "dose"),
    (KMeans, {"n_clusters": 2, "random_state": 0}, None),
    (PCA, {"n_components": 2}, None),
]


@pytest.mark.parametrize(("kind", "options", "target"), ASKING, ids=lambda one: str(one)[-30:])
def test_an_engine_gives_the_same_answers_as_memory(kind, options, target, tmp_path):
    """The same noise goes to the same sums, wherever they were added up."""
    path = tmp_path / "t.csv"
    _frame().to_csv(path, index=False)
    models = []
    for engine in ("memory", "duckdb"):
        learner = kind(epsilon=1.0, noise=SeededNoise(5), **options)
        models.append(learn(learner, path, SCHEMA, target=target, engine=engine))
    one, other = (model.learner.list_released() for model in models)
    for name, numbers in one.items():
        np.testing.assert_array_equal(numbers, other[name])


def test_perturbation_in_an_engine_is_refused_and_costs_nothing(tmp_path):
    from understudy import LedgerFile

    path = tmp_path / "t.csv"
    _frame().to_csv(path, index=False)
    file = LedgerFile.create(tmp_path / "t.ledger", epsilon=1.0)
    with pytest.raises(InputError, match="moments"):
        learn(
            LogisticRegression(1.0, ledger=tmp_path / "t.ledger"),
            path,
            SCHEMA,
            target="sick",
            engine="duckdb",
        )
    assert file.left() == (1.0, 0.0)


@pytest.mark.parametrize(("kind", "options", "target"), ASKING, ids=lambda one: str(one)[-30:])
def test_holders_who_trust_nobody_train_a_model(kind, options, target):
    frame = _frame()
    parts = {name: frame.iloc[i::3] for i, name in enumerate(("a", "b", "c"))}
    holders = make_holders(parts, SCHEMA, allowance=2.0)
    model = federate_learner(holders, SCHEMA, kind(epsilon=2.0, **options), target)
    assert model.ledger.spent()[0] <= 2.0
    if target == "sick":
        assert model.score(_frame(seed=9))["accuracy"] > 0.75


def test_perturbation_over_several_holders_is_refused():
    holders = make_holders({"a": _frame(50), "b": _frame(50)}, SCHEMA, allowance=1.0)
    with pytest.raises(InputError, match="moments"):
        federate_learner(holders, SCHEMA, LogisticRegression(1.0), "sick")


def test_a_curator_can_be_asked_by_several_learners_in_turn():
    coded = encode(as_table(_frame())[0], SCHEMA)
    ledger = Ledger(1.0)
    curator = CentralCurator(coded, ledger)
    half = ledger.left.equally(2)
    GaussianNB().fit_curator(curator, "sick", budget=half[0])
    model = LogisticRegression().fit_curator(curator, "sick", budget=half[1], coded=coded)
    assert model.classes_.tolist() == [False, True]
    assert ledger.spent()[0] == pytest.approx(1.0)


# --------------------------------------------------------------------------- less budget


def test_little_budget_tends_to_the_most_frequent_class_not_to_chance():
    X, _, y = _rows(4000)
    rare = np.flatnonzero(y)[:400]
    keep = np.concatenate([np.flatnonzero(~y), rare])
    scores = [
        GaussianNB(0.02, bounds=BOUNDS, classes=[False, True], noise=SeededNoise(seed))
        .fit(X[keep], y[keep])
        .score(X[keep], y[keep])
        for seed in range(40)
    ]
    assert np.mean(scores) > 0.7


# --------------------------------------------------------------------------- model files


@pytest.mark.parametrize(("kind", "options", "target"), ASKING, ids=lambda one: str(one)[-30:])
def test_a_model_file_predicts_what_the_learner_does(kind, options, target, tmp_path):
    frame = _frame()
    trained = learn(kind(epsilon=1.0, **options), frame, SCHEMA, target=target)
    trained.save(tmp_path / "m.json")
    loaded = TrainedModel.load(tmp_path / "m.json")
    assert loaded.to_dict() == trained.to_dict()
    one, other = trained.predict(frame), loaded.predict(frame)
    assert one.names == other.names
    for name in one.names:
        np.testing.assert_array_equal(one.columns[name].values, other.columns[name].values)


@pytest.mark.parametrize(("kind", "options", "target"), ASKING, ids=lambda one: str(one)[-30:])
def test_a_table_without_rows_has_no_predictions_and_their_columns(kind, options, target):
    frame = _frame(300)
    trained = learn(kind(epsilon=1.0, **options), frame, SCHEMA, target=target)
    some, none = trained.predict(frame), trained.predict(frame.iloc[:0])
    assert none.rows == 0
    assert {name: column.kind for name, column in none.columns.items()} == {
        name: column.kind for name, column in some.columns.items()
    }


def _document():
    trained = learn(LogisticRegression(1.0), _frame(200), SCHEMA, target="sick")
    return trained.to_dict()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"understudy_learner": 2}, "format"),
        ({"learner": "forest"}, "no learner"),
        ({"learner": None}, "by which learner"),
        ({"parameters": {"C": 1}}, "parameters"),
        ({"target": "nobody"}, "nobody"),
        ({"target": 3}, "target"),
        ({"target": None}, "target"),
        ({"target": "dose"}, "categories"),
        ({"released": {"coefficients_": [[1, 2]]}}, "coefficients_"),
        ({"released": {"coefficients_": [["x"] * 5]}}, "coefficients_"),
        ({"released": {}}, "released"),
        ({"schema": {}}, "schema"),
        ({"ledger": {}}, "ledger"),
    ],
    ids=str,
)
def test_a_model_file_is_checked(change, words):
    document = _document() | change
    with pytest.raises(InputError, match=words):
        TrainedModel.from_dict(document)


def test_a_synthesizers_model_is_not_one_that_predicts():
    with pytest.raises(InputError, match="understudy learn"):
        TrainedModel.from_dict({"understudy_model": 1})


def test_rows_without_a_target_are_not_scored(tmp_path):
    frame = _frame()
    trained = learn(LinearRegression(1.0), frame, SCHEMA, target="dose")
    whole = trained.score(frame)
    assert set(whole) == {"rows", "R2", "mean squared error"}
    assert whole["rows"] == len(frame)
    unknown = frame.astype({"dose": object})
    unknown.loc[:4, "dose"] = None
    unknown.loc[5:8, "dose"] = "a lot"
    assert trained.score(unknown) == trained.score(frame[9:])
    with pytest.raises(InputError, match="no column 'dose'"):
        trained.score(frame.drop(columns="dose"))
    with pytest.raises(InputError, match="no column 'age'"):
        trained.predict(frame.drop(columns="age"))


@pytest.mark.parametrize(
    ("learner", "target", "words"),
    [
        (LogisticRegression(1.0), None, "name it"),
        (LogisticRegression(1.0), "dose", "classifier needs"),
        (LogisticRegression(1.0), "nobody", "no attribute"),
        (LinearRegression(1.0), "ward", "not a number"),
        (KMeans(2), "ward", "leave out the target"),
        (GaussianNB(0.0), "sick", "epsilon"),
        (GaussianNB(1.0, ledger=Ledger(1.0)), "sick", "in memory"),
    ],
    ids=lambda one: str(one)[:30],
)
def test_what_does_not_go_together_is_refused_before_anything_is_spent(learner, target, words):
    with pytest.raises(InputError, match=words):
        learn(learner, _frame(20), SCHEMA, target=target)


def test_a_target_with_one_value_is_refused():
    entries = SCHEMA.to_dict()["attributes"]
    entries["sick"] = {"kind": "categorical", "values": ["yes"]}
    schema = Schema.from_dict({"attributes": entries})
    with pytest.raises(InputError, match="1 possible values"):
        learn(LogisticRegression(1.0), _frame(20), schema, target="sick")
