"""An evaluation made up by hand, with something in every part of it."""

from __future__ import annotations

import numpy as np

from understudy.attacks import Attack, Attacks, Promise
from understudy.evaluation.fitness import GradedFinding
from understudy.evaluation.model_results import (
    Clustering,
    LearnerScores,
    LearningTask,
    NetworkQuality,
    NodeInformation,
    PairTest,
    Propensity,
    TestAgreement,
)
from understudy.evaluation.result import (
    ColumnComparison,
    Evaluation,
    MarginalError,
    MarginalErrors,
    Pairs,
    RangeErrors,
    RangeQuery,
    TableShapes,
)


def evaluation(names: tuple[str, ...] = ("age", "sex", "town"), label: str = "value") -> Evaluation:
    """Columns of three kinds by turns: many bins, two values with missing ones, many categories."""
    return Evaluation(
        shape=TableShapes(
            "real.csv", "synthetic.csv", 1000, 900, names, ("id",), (f"{label} lies outside.",)
        ),
        marginals=tuple(_errors(order, names) for order in (1, 2)),
        ranges=RangeErrors(
            50, 0.001, 0.01, 0.2, 0.05, (RangeQuery(f"{names[0]} = {label}", 0.2, 0.1, 0.5),)
        ),
        columns=tuple(_column(name, place, label) for place, name in enumerate(names)),
        pairs=_pairs(names),
        learning=(_classification(names[1], label), _regression(names[0])),
        clustering=Clustering(4, 2.0, 0.9, 1.1, 0.7, 0.6),
        inference=(
            TestAgreement(
                "Pearson's chi-squared",
                0.05,
                3,
                1,
                1,
                1,
                0,
                (PairTest(names[:2], 9.0, 1.0, 0.01, 0.4),),
            ),
        ),
        propensity=Propensity(1900, 0.61, 0.9, ((names[0], 0.6), (names[1], 0.51)), 0.01, 0.005),
        network=NetworkQuality(0.5, 0.4, (NodeInformation(names[1], names[:1], 0.5, 0.4),)),
        findings=(
            GradedFinding("marginals", "good", f"Tables of two columns of {label} differ by 2%."),
            GradedFinding("ranges", "fair", "Counts are off by 3%."),
            GradedFinding("clustering", "fair", "Groups are alike."),
            GradedFinding("learning", "poor", f"What is learned about {names[1]} is of no use."),
        ),
        seed=0,
    )


def _errors(order: int, names: tuple[str, ...]) -> MarginalErrors:
    worst = tuple(
        MarginalError(names[i : i + order], 0.1 / (i + 1)) for i in range(len(names) - order + 1)
    )
    return MarginalErrors(order, len(worst), len(worst), 0.05, 0.1, 0.01, worst)


def _column(name: str, place: int, label: str) -> ColumnComparison:
    bins = (20, 2, 30)[place % 3]
    rng = np.random.default_rng(place)
    missing = 0.1 if place % 3 == 1 else 0.0
    real, synthetic = (
        tuple(((1 - missing) * rng.dirichlet(np.ones(bins))).tolist()) for _ in range(2)
    )
    quantity = place % 3 == 0
    summary = {"mean": 3.0, "max": 9.0} if quantity else {}
    return ColumnComparison(
        name,
        "integer" if quantity else "categorical",
        quantity,
        tuple(f"{label} {i}" for i in range(bins)),
        tuple(range(bins + 1)) if quantity else None,
        real,
        synthetic,
        missing,
        missing / 2,
        0.25,
        0.2 if quantity else None,
        0.1,
        (f"{label} 0",),
        (),
        summary,
        summary,
    )


def _pairs(names: tuple[str, ...]) -> Pairs:
    rng = np.random.default_rng(0)
    information, correlation = (
        (lambda m: (m + m.T) / 2)(rng.random((len(names), len(names)))) for _ in range(2)
    )
    return Pairs(names, information, information * 0.8, names, correlation, -correlation)


def _classification(target: str, label: str) -> LearningTask:
    scores = {"accuracy": 0.8, "f1": 0.7}
    worse = {"accuracy": 0.7, "f1": 0.5}
    learners = tuple(
        LearnerScores(name, worse, scores, scores) for name in ("logistic regression", label)
    )
    return LearningTask(
        target,
        "classification",
        ("accuracy", "f1"),
        worse,
        700,
        300,
        900,
        learners,
        (f"Note {label}.",),
    )


def _regression(target: str) -> LearningTask:
    learner = LearnerScores(
        "linear regression",
        {"r2": -30.0, "mse": 9.0},
        {"r2": 0.5, "mse": 1.0},
        {"r2": 0.4, "mse": 1.0},
    )
    return LearningTask(
        target, "regression", ("r2", "mse"), {"r2": 0.0, "mse": 3.0}, 700, 300, 900, (learner,)
    )


def attacks(label: str = "value") -> Attacks:
    """Attacks with each verdict, and one that is a mere figure."""
    promised = f"At epsilon 1 no more than {label}."
    return Attacks(
        (
            Attack(
                f"closest {label}",
                "51% are closer.",
                "share closer",
                0.51,
                0.5,
                0.88,
                promised,
                "nothing seen",
                0.4,
            ),
            Attack(
                "linkage",
                f"Linked by {label}.",
                "share linked",
                0.7,
                0.5,
                0.88,
                promised,
                "within the promise",
                0.001,
            ),
            Attack(
                "copies",
                "All are copies.",
                "share of copies",
                1.0,
                0.5,
                None,
                "Nothing.",
                "look at this",
                0.0,
            ),
            Attack(
                "k-anonymity",
                "The smallest group has 1 row.",
                "rows",
                1,
                3,
                None,
                "Nothing at all.",
                "not judged",
            ),
        ),
        Promise(1.0),
        {"real": 1000, "synthetic": 900, "holdout": 100},
        (f"{label} was left out.",),
    )
