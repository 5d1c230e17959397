"""Naive Bayes from one report per person."""

import numpy as np
import pytest
from sklearn.base import clone

from understudy.errors import InputError
from understudy.local.naive_bayes import (
    PROTOCOLS,
    LocalCategoricalNB,
    LocalGaussianNB,
    find_discriminant_components,
)

ROWS = 20_000


def made_up(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A column that tells the class nine times out of ten, and one that tells nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, ROWS)
    telling = np.where(rng.random(ROWS) < 0.9, y, 1 - y)
    return np.column_stack([telling, rng.integers(0, 3, ROWS)]), y


@pytest.mark.parametrize("protocol", ["best", *PROTOCOLS])
def test_every_protocol_learns(protocol: str) -> None:
    """Some 6,700 reports about the telling column at epsilon 2: the difference of its shares
    between classes, 0.8, has a deviation below 0.06 with any protocol, so that failing takes more
    than ten deviations.
    """
    X, y = made_up()
    model = LocalCategoricalNB(epsilon=2.0, categories=[2, 3], classes=[0, 1], protocol=protocol)
    assert model.fit(X, y).score(X, y) > 0.85
    np.testing.assert_allclose(model.predict_proba(X[:5]).sum(axis=1), 1.0)


def test_one_report_per_person_at_full_epsilon() -> None:
    model = LocalCategoricalNB(epsilon=1.5, categories=[2, 3], classes=["no", "yes"])
    plan = model.plan(2)
    assert plan.epsilons == (1.5,)
    assert [question.columns for question in plan.questions] == [
        ("class",),
        ("class", "feature 0"),
        ("class", "feature 1"),
    ]
    assert all(r.epsilon <= 1.5 for q in plan.questions for r in q.randomisers)


def test_scikit_learns_contract() -> None:
    model = clone(LocalCategoricalNB(epsilon=3.0, categories=2, classes=[0, 1]))
    assert model.get_params()["epsilon"] == 3.0
    assert clone(LocalGaussianNB(epsilon=2.0)).epsilon == 2.0


@pytest.mark.parametrize("protocol", ["duchi", "piecewise"])
def test_normal_distributions_in_two_groups(protocol: str) -> None:
    """Means of plus and minus a half and variances of 0.16, on the scale of the bounds, told by
    some 80,000 reports each at epsilon 4: the variances have a deviation of about 0.02. Were one
    0.04 and the other 0.28, six deviations off, 77 % would still be right; exactly known, 89 %.
    """
    rng = np.random.default_rng(1)
    rows = 10 * ROWS
    y = rng.integers(0, 2, rows)
    X = (rng.normal(0, 0.8, rows) + np.where(y == 1, 1.0, -1.0))[:, None]
    model = LocalGaussianNB(epsilon=4.0, bounds=(-2, 2), classes=[0, 1], protocol=protocol)
    assert model.fit(X, y).score(X, y) > 0.7


def test_a_public_projection_comes_first() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, ROWS)
    X = rng.normal(size=(ROWS, 5))
    X[:, 2] += 4 * y
    projection = find_discriminant_components(X[:500], y[:500], 1)
    assert np.abs(projection[:, 0]).argmax() == 2
    scores = X @ projection
    model = LocalCategoricalNB(
        epsilon=2.0,
        bins=4,
        bounds=(scores[:500].min(), scores[:500].max()),
        classes=[0, 1],
        projection=projection,
    )
    assert model.fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"classes": None}, "public list"),
        ({"categories": None}, "number of codes"),
        ({"protocol": "rappor"}, "no protocol"),
        ({"categories": 1}, "two codes or more"),
    ],
)
def test_what_is_missing_is_named(given: dict[str, object], message: str) -> None:
    X, y = made_up()
    parameters = {"epsilon": 1.0, "categories": [2, 3], "classes": [0, 1], **given}
    with pytest.raises(InputError, match=message):
        LocalCategoricalNB(**parameters).fit(X, y)
