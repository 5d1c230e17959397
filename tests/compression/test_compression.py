"""Projections: what they keep and lose, with and without a guarantee."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA as SklearnPCA

from understudy.compression import (
    ExactDCA,
    ExactMDR,
    ExactPCA,
    NotPrivateWarning,
    PrivateDCA,
    PrivateMDR,
    PrivatePCA,
)
from understudy.compression.attacks import attack_attribute, attack_reconstruction
from understudy.compression.projections import between_classes, project_dca
from understudy.errors import InputError
from understudy.privacy.ledger import Ledger

BOUNDS = (-8, 8)
CLASSES = [0, 1]


def rows(number: int = 4000, seed: int = 0):
    """Feature 0 has the most scatter, feature 1 tells the utility label, feature 2 the privacy
    label, feature 3 both.
    """
    rng = np.random.default_rng(seed)
    utility, privacy = rng.integers(0, 2, (2, number))
    X = rng.normal(size=(number, 5)) * [2.5, 1, 1, 1, 1]
    X += np.outer(utility, [0, 3, 0, 2, 0]) + np.outer(privacy, [0, 0, 3, 2, 0])
    return np.clip(X, -8, 8), np.column_stack([utility, privacy])


@pytest.fixture(scope="module")
def made():
    return rows()


def fit_exact(kind, *arguments, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return kind(**parameters).fit(*arguments)


@pytest.mark.parametrize("kind", [ExactPCA, ExactDCA, ExactMDR])
def test_exact_ones_say_that_they_are_not_private(kind, made):
    X, y = made
    labels = y if kind is ExactMDR else y[:, 0]
    with pytest.warns(NotPrivateWarning, match="no privacy guarantee"):
        kind(2).fit(X, labels)


def test_exact_pca_is_scikit_learns(made):
    X, _ = made
    ours = fit_exact(ExactPCA, X, n_components=3)
    theirs = SklearnPCA(3).fit(X)
    assert np.abs(np.abs(ours.components_) - np.abs(theirs.components_)).max() < 1e-8
    assert (
        np.abs(
            ours.inverse_transform(ours.transform(X))
            - theirs.inverse_transform(theirs.transform(X))
        ).max()
        < 1e-8
    )


def test_between_and_within_add_up_to_the_scatter(made):
    """S = S_B + S_W, with S_B = sum N_l mu_l mu_l' - N mu mu' (the bracket that is often wrong)."""
    X, y = made
    labels = y[:, 0] * 2 + y[:, 1]
    sums = np.array([X[labels == one].sum(axis=0) for one in range(4)])
    between = between_classes(np.bincount(labels).astype(float), sums)
    within = sum(
        (part - part.mean(axis=0)).T @ (part - part.mean(axis=0))
        for part in (X[labels == one] for one in range(4))
    )
    centred = X - X.mean(axis=0)
    assert np.abs(between + within - centred.T @ centred).max() < 1e-6


def test_dca_finds_the_generalised_eigenvectors(made):
    rng = np.random.default_rng(0)
    a, b = (m @ m.T for m in rng.normal(size=(2, 6, 6)))
    found = project_dca(a, b, 6, rho=0.5, rho_signal=0.1)
    left = (a + 0.1 * np.eye(6)) @ found.components.T
    right = (b + 0.5 * np.eye(6)) @ found.components.T
    assert np.abs(left - right * (found.values - 1)).max() < 1e-8


@pytest.mark.parametrize("kind", ["exact", "private"])
def test_dca_keeps_the_utility_label(kind, made):
    X, y = made
    if kind == "exact":
        dca = fit_exact(ExactDCA, X, y[:, 0], n_components=1)
    else:
        dca = PrivateDCA(1, epsilon=3.0, bounds=BOUNDS, classes=CLASSES).fit(X, y[:, 0])
    weights = np.abs(dca.components_[0])
    assert weights[1] > 2 * max(weights[0], weights[4])


@pytest.mark.parametrize("kind", ["exact", "private"])
def test_mdr_loses_the_privacy_label(kind, made):
    """DCA takes feature 3 as well, which tells both; MDR leaves it."""
    X, y = made
    if kind == "exact":
        mdr = fit_exact(ExactMDR, X, y, n_components=1)
    else:
        mdr = PrivateMDR(
            1, epsilon=3.0, bounds=BOUNDS, classes=CLASSES, privacy_classes=CLASSES
        ).fit(X, y)
    told = [
        attack_attribute(mdr, X[:2000], label[:2000], X[2000:], label[2000:]).from_coordinates
        for label in y.T
    ]
    assert told[0] > 0.85
    assert told[1] < 0.65


def test_private_ones_pay_before_they_look(made):
    X, y = made
    for learner, labels in (
        (PrivatePCA(2, epsilon=0.5, bounds=BOUNDS), None),
        (PrivateDCA(2, epsilon=0.5, bounds=BOUNDS, classes=CLASSES), y[:, 0]),
        (
            PrivateMDR(2, epsilon=0.5, bounds=BOUNDS, classes=CLASSES, privacy_classes=CLASSES),
            y,
        ),
    ):
        ledger = Ledger(1.0)
        clone(learner).set_params(ledger=ledger).fit(X, labels)
        assert 0.49 < ledger.spent()[0] <= 0.5


def test_private_ones_converge_to_the_exact_ones(made):
    """With very much budget the projection is that of scaled rows."""
    X, y = made
    private = PrivateDCA(
        1, epsilon=1e7, bounds=BOUNDS, classes=CLASSES, row_norm=100.0, rho=10.0
    ).fit(X, y[:, 0])
    exact = fit_exact(ExactDCA, X / 8, y[:, 0], n_components=1, rho=10.0, rho_signal=1.0)
    assert abs(private.components_[0] @ exact.components_[0]) > 0.9999


def test_bounds_and_classes_are_not_read_off_the_rows(made):
    X, y = made
    with pytest.raises(InputError, match="bounds"):
        PrivateDCA(1, classes=CLASSES).fit(X, y[:, 0])
    with pytest.raises(InputError, match="classes"):
        PrivateDCA(1, bounds=BOUNDS).fit(X, y[:, 0])
    with pytest.raises(InputError, match="two labels"):
        PrivateMDR(1, bounds=BOUNDS, classes=CLASSES, privacy_classes=CLASSES).fit(X, y[:, 0])


@pytest.mark.parametrize("number", [0, 6, 1.5, True])
def test_components_that_are_none_are_refused(made, number):
    X, y = made
    with pytest.raises(InputError, match="n_components"):
        fit_exact(ExactDCA, X, y[:, 0], n_components=number)
    with pytest.raises(InputError, match="n_components"):
        PrivateDCA(number, bounds=BOUNDS, classes=CLASSES).fit(X, y[:, 0])


def test_reconstruction_gets_better_with_dimensions(made):
    X, _ = made
    found = [
        attack_reconstruction(fit_exact(ExactPCA, X, n_components=k), X[:2000], X[2000:])
        for k in (1, 4, 5)
    ]
    assert found[0].least_squares > found[1].least_squares > found[2].least_squares
    assert found[2].least_squares < 1e-6
    assert found[0].least_squares < found[0].baseline


@pytest.mark.parametrize(("known", "attacked"), [(0, 3), (3, 0), (0, 0)])
def test_rows_are_not_attacked_without_others(made, known, attacked):
    X, _ = made
    fitted = fit_exact(ExactPCA, X)
    with pytest.raises(InputError, match="take more rows"):
        attack_reconstruction(fitted, X[:known], X[:attacked])
    attack_reconstruction(fitted, X[:1], X[:1])


def test_private_inverse_transform_is_in_the_units_of_the_columns(made):
    X, y = made
    whole = PrivateDCA(epsilon=1e5, bounds=BOUNDS, classes=CLASSES, row_norm=100.0).fit(X, y[:, 0])
    assert np.abs(whole.inverse_transform(whole.transform(X)) - X).max() < 1e-6
