"""Each check of a learner refuses what it is there for: those that no other test meets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import InputError, LedgerFile, Schema
from understudy.learners import (
    PCA,
    CategoricalNB,
    GaussianNB,
    KMeans,
    LinearRegression,
    TrainedModel,
    learn,
)
from understudy.learners.asking import (
    CENTRE_SHARE,
    MAX_CENTRE_NOISE,
    class_labels,
    release_centre,
    target_feature,
)
from understudy.learners.design import Design
from understudy.learners.naive_bayes import _pull, gaussian_likelihood
from understudy.learners.training import DiscoveryTerms, learner_name
from understudy.privacy.budget import Budget
from understudy.privacy.mechanisms import SeededNoise

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "age": {"kind": "integer", "min": 0, "max": 100},
            "same": {"kind": "integer", "min": 7, "max": 7},
            "note": {"kind": "text"},
        }
    }
)


class Nameless(GaussianNB):
    """A learner that is not registered."""


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a target of one number": (lambda: target_feature(SCHEMA["same"]), "nothing to learn"),
    "classes of a number": (lambda: class_labels(SCHEMA["age"]), "a classifier needs categories"),
    "no column beside the target": (
        lambda: Design.from_schema(Schema((SCHEMA["age"],)), "age"),
        "no column to learn from",
    ),
    "a target of free text": (
        lambda: LinearRegression(1.0).check_target(SCHEMA, "note"),
        "it is never read",
    ),
    "a learner without a name": (lambda: learner_name(Nameless()), "has no name"),
    "a file that is no model": (
        lambda: TrainedModel.from_dict({"a": 1}),
        "not a model that predicts",
    ),
    **{
        f"discovery for {share!r}": (
            lambda share=share: DiscoveryTerms(share=share),
            "a share between 0 and 1",
        )
        for share in (0.0, 1.0, -1, True)
    },
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(what: str) -> None:
    act, sentence = REFUSED[what]
    with pytest.raises(InputError, match=sentence):
        act()


def test_seeded_noise_does_not_belong_into_a_ledger_file(tmp_path: Path) -> None:
    file = LedgerFile.create(tmp_path / "t.ledger", 10.0)
    learner = KMeans(2, epsilon=1.0, bounds=(0, 1), ledger=file, noise=SeededNoise(0))
    with pytest.raises(InputError, match="Seeded noise protects nobody"):
        learner.fit(np.random.default_rng(0).random((30, 2)))
    assert file.left() == (10.0, 0.0)


@pytest.mark.parametrize(
    ("learner", "name", "sentence"),
    [
        (GaussianNB(1.0, bounds=(0, 1), classes=[0, 1]), "var_", "not above 0"),
        (CategoricalNB(1.0, categories=3, classes=[0, 1]), "category_count_", "below 0"),
        (CategoricalNB(1.0, categories=3, classes=[0, 1]), "class_count_", "below 0"),
    ],
)
def test_a_forged_count_is_refused(learner: Any, name: str, sentence: str) -> None:
    rng = np.random.default_rng(0)
    learner.set_params(noise=SeededNoise(0)).fit(rng.integers(0, 2, (200, 2)), np.arange(200) % 2)
    forged = getattr(learner, name)
    if isinstance(forged, list):
        forged = forged[0]
    forged.flat[0] = -1.0
    with pytest.raises(InputError, match=sentence):
        learner._complete()


@pytest.mark.parametrize("ball", [0.25, 4.0])
@pytest.mark.parametrize("budget", [Budget(1.0), Budget(0.5, "rho")], ids=["epsilon", "rho"])
def test_rows_are_centred_at_their_mean_from_enough_rows_on(budget: Budget, ball: float) -> None:
    """The noise of the mean, in all columns together, is then a known share of the ball."""
    design = Design.from_schema(Schema((SCHEMA["age"],)), None)
    first = budget.split(CENTRE_SHARE, 1 - CENTRE_SHARE)[0].amount
    deviation = math.sqrt(2) / first
    if budget.currency == "rho":
        deviation = math.sqrt(1 / (2 * first))
    enough = deviation / (MAX_CENTRE_NOISE * ball)

    class Curator:
        adaptive_sums = True

        def sum(self, *_: Any, **__: Any) -> Any:
            return SimpleNamespace(sums=SimpleNamespace(values=np.array([100.0])))

    asked: Any = SimpleNamespace(curator=Curator())
    few = release_centre(asked, design, budget, 0.99 * enough, ball)
    many = release_centre(asked, design, budget, enough, ball)
    assert (few.is_mean, few.left) == (False, budget)
    assert (many.is_mean, many.left.currency) == (True, budget.currency)
    assert many.left.amount == pytest.approx(budget.amount * (1 - CENTRE_SHARE))


def test_clusters_are_predicted_and_components_worked_out() -> None:
    schema = Schema((SCHEMA["age"], replace(SCHEMA["age"], name="years")))
    frame = pd.DataFrame({"age": np.arange(100), "years": np.arange(100)})
    clusters = learn(KMeans(2, epsilon=50.0, noise=SeededNoise(0)), frame, schema)
    assert list(clusters.predict(frame).columns) == ["cluster"]
    components = learn(PCA(2, epsilon=50.0, noise=SeededNoise(0)), frame, schema)
    assert list(components.predict(frame).columns) == ["component 1", "component 2"]


def test_a_likelihood_is_the_density_of_its_class_times_the_prior() -> None:
    rows = np.array([[0.5, -1.0], [2.0, 0.0]])
    priors, means = np.array([0.25, 0.75]), np.array([[0.0, 0.0], [1.0, -1.0]])
    variances = np.array([[1.0, 4.0], [0.25, 1.0]])
    found = gaussian_likelihood(rows, priors, means, variances)
    for (row, place), value in np.ndenumerate(found):
        densities = [
            NormalDist(mean, variance**0.5).pdf(number)
            for number, mean, variance in zip(
                rows[row], means[place], variances[place], strict=True
            )
        ]
        assert value == pytest.approx(math.log(priors[place] * math.prod(densities)))


def test_values_within_the_noise_become_the_pooled_one() -> None:
    """And others are drawn towards it, the less the farther away they are."""
    values, noise = np.array([5.0, 6.0, 7.0, 3.0, 15.0]), np.full(5, 1.0)
    pulled = _pull(values, np.full(5, 5.0), noise)
    assert pulled.tolist() == [5.0, 5.0, 6.5, 3.5, pytest.approx(14.9)]
