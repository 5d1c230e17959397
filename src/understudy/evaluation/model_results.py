"""What models and tests made of both tables: plain values, for the owner's eyes only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LearnerScores:
    """One learner, trained and tested three ways; each has the scores that the task names.

    Attributes
    ----------
    learner
        Its name.
    synthetic_to_real
        Trained on the synthetic table, tested on real rows that were kept apart.
    real_to_real
        Trained on the other real rows, tested on the same.
    real_to_synthetic
        Trained on the other real rows, tested on synthetic ones: the reverse.
    """

    learner: str
    synthetic_to_real: Mapping[str, float]
    real_to_real: Mapping[str, float]
    real_to_synthetic: Mapping[str, float]


@dataclass(frozen=True)
class LearningTask:
    """How well a column can be learned from the others.

    Attributes
    ----------
    target
        The column.
    task
        "classification" or "regression".
    measures
        The names of the scores, the chief one first: "accuracy" and "f1" (macro-averaged), or "r2"
        and "mse".
    majority
        The scores, on the real test rows, of always saying what is commonest (or, in regression,
        the mean) in the real training rows.
    train_rows, test_rows, synthetic_rows
        How many real rows were trained on, real rows tested on, synthetic rows trained on.
    learners
        One entry each.
    notes
        What was done differently from usual, in sentences.
    """

    target: str
    task: Literal["classification", "regression"]
    measures: tuple[str, ...]
    majority: Mapping[str, float]
    train_rows: int
    test_rows: int
    synthetic_rows: int
    learners: tuple[LearnerScores, ...]
    notes: tuple[str, ...] = ()

    @property
    def floor(self) -> str:
        """What ``majority`` always says, in a word or two."""
        if self.task == "classification":
            return "commonest"
        return "the mean"


@dataclass(frozen=True)
class Clustering:
    """K-means centres found in the synthetic table, tried on real rows.

    Attributes
    ----------
    clusters
        How many centres.
    cost_one
        Mean squared distance of the real rows from their mean: what one centre costs.
    cost_real, cost_synthetic
        Mean squared distance of the real rows from the nearest of the centres that were found in
        the real, in the synthetic table.
    rand, information
        How far the two sets of centres group the real rows alike: adjusted Rand index and
        normalised mutual information, 1 where they agree, about 0 where they have nothing to do
        with each other.
    """

    clusters: int
    cost_one: float
    cost_real: float
    cost_synthetic: float
    rand: float
    information: float


@dataclass(frozen=True)
class PairTest:
    """A test of independence of two columns, made in both tables."""

    attributes: tuple[str, str]
    real_statistic: float
    synthetic_statistic: float
    real_p: float
    synthetic_p: float


@dataclass(frozen=True)
class TestAgreement:
    """Whether a test comes to the same verdict in both tables, over all pairs of columns that it
    fits.

    Of the larger table as many rows are tested, drawn at random, as the smaller has: a test of more
    rows sees more.

    Attributes
    ----------
    test
        "Pearson's chi-squared" or "Spearman's rank correlation".
    level
        A p-value below this counts as a dependence found.
    pairs
        How many pairs were tested.
    both, neither
        In how many both tables showed a dependence, or neither.
    missed
        In how many only the real one did.
    false_alarms
        In how many only the synthetic one did.
    disagreements
        Up to ten pairs on which the verdicts differ, those furthest apart first.
    by_chance
        The share of pairs on which two samples of the real rows differ: each as large as the
        synthetic table, or half of the real one where that is less.
    """

    __test__ = False  # not for pytest

    test: str
    level: float
    pairs: int
    both: int
    neither: int
    missed: int
    false_alarms: int
    disagreements: tuple[PairTest, ...]
    by_chance: float = 0.0


@dataclass(frozen=True)
class Propensity:
    """Whether a classifier can tell real rows from synthetic ones.

    Attributes
    ----------
    rows
        How many rows of both tables together were looked at.
    auc
        Area under the curve of gradient-boosted trees that see bins and categories, on rows they
        were not trained on: 0.5 cannot tell, 1 always can; ``nan`` where there are too few rows to
        train and to test on.
    auc_values
        The same where they see numbers as they stand: round numbers, say, may give the real rows
        away.
    giveaways
        The columns that the trees of ``auc`` made most use of, with their share in it.
    giveaways_values
        Those of ``auc_values``.
    pmse, expected
        Mean squared distance of the fitted propensities of a logistic regression from the synthetic
        share, and what it would be on average if both tables came from one population.
    """

    rows: int
    auc: float
    auc_values: float
    giveaways: tuple[tuple[str, float], ...]
    pmse: float
    expected: float
    giveaways_values: tuple[tuple[str, float], ...] = ()

    @property
    def ratio(self) -> float:
        """``pmse / expected``: 1 where the tables cannot be told apart by the columns one at a
        time.
        """
        if self.expected > 0:
            return self.pmse / self.expected
        return math.nan


@dataclass(frozen=True)
class NodeInformation:
    """Mutual information of an attribute and its parents, in bits, in both tables."""

    attribute: str
    parents: tuple[str, ...]
    real: float
    synthetic: float


@dataclass(frozen=True)
class NetworkQuality:
    """How much of the dependence between columns the model's network holds.

    Attributes
    ----------
    real, synthetic
        The sum over all attributes of the mutual information with their parents, in bits.
    nodes
        Its terms.
    """

    real: float
    synthetic: float
    nodes: tuple[NodeInformation, ...]
