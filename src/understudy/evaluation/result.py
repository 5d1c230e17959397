"""What an evaluation found: plain values, each of them derived from private rows and for the
owner's eyes only.
"""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.data.looks import html_table

Floats = NDArray[np.float64]
Grade = Literal["good", "fair", "poor", "unknown"]
"""Unknown is what too few rows leave open."""

State = Literal["kept", "absent", "replaced", "constant", "empty"]


@dataclass(frozen=True)
class TableShapes:
    """What the two tables are.

    Attributes
    ----------
    real, synthetic
        What the tables are called.
    real_rows, synthetic_rows
        How many rows they have.
    columns
        The columns that are compared.
    left_out
        Columns that are not: identifiers and text.
    notes
        Sentences about values outside the schema's domain, table by table.
    replaced
        Columns of free text that became one and the same text, or nothing.
    real_outside, synthetic_outside
        Per column that has any, the share of rows whose value is outside the schema's domain.
    """

    real: str
    synthetic: str
    real_rows: int
    synthetic_rows: int
    columns: tuple[str, ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]
    real_outside: Mapping[str, float] = field(default_factory=dict)
    synthetic_outside: Mapping[str, float] = field(default_factory=dict)
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True)
class MarginalError:
    """How far apart one marginal is: the total variation distance, 0 (equal) to 1 (nothing
    shared).
    """

    attributes: tuple[str, ...]
    distance: float

    @property
    def name(self) -> str:
        """``age x education``."""
        return " x ".join(self.attributes)


@dataclass(frozen=True)
class MarginalErrors:
    """The marginals of this many attributes.

    Attributes
    ----------
    order
        How many attributes each has.
    measured, of
        How many marginals were measured, of how many there are; a uniform sample where not all
        were.
    mean, largest
        Of the total variation distances.
    by_chance
        What the mean would be, at least, between the real table and a fresh sample of as many
        people as the synthetic table has rows from the same population: less than this cannot be
        hoped for. Of large sparse tables it is more, for nobody knows the cells that no real row
        fell into.
    worst
        The ten largest, largest first.
    """

    order: int
    measured: int
    of: int
    mean: float
    largest: float
    by_chance: float
    worst: tuple[MarginalError, ...]


@dataclass(frozen=True)
class RangeQuery:
    """One question "how many rows have ...": the share of rows in both tables."""

    question: str
    real: float
    synthetic: float
    relative_error: float


@dataclass(frozen=True)
class RangeErrors:
    """Errors of random range queries.

    Attributes
    ----------
    queries
        How many were asked.
    sanity
        The share of rows below which a relative error is taken relative to this share instead.
    mean_absolute
        Mean difference of the two shares.
    mean_relative, median_relative
        Of the differences divided by the real share or by ``sanity``, whichever is larger.
    worst
        The ten with the largest relative error, largest first.
    by_chance, absolute_by_chance
        What ``median_relative`` and ``mean_absolute`` would be, about, for a fresh sample of as
        many people as the synthetic table has rows.
    """

    queries: int
    sanity: float
    mean_absolute: float
    mean_relative: float
    median_relative: float
    worst: tuple[RangeQuery, ...]
    by_chance: float = 0.0
    absolute_by_chance: float = 0.0


@dataclass(frozen=True)
class ColumnComparison:
    """One column in both tables.

    Attributes
    ----------
    name, kind
        The attribute and its kind in the schema.
    ordered
        Whether its values have an order.
    labels
        What each bin or category is called.
    edges
        For numbers and dates (as days or seconds since 1970) the edges of the bins, one more than
        there are labels.
    real, synthetic
        The share of rows in each bin or category; together with the share of missing values they
        sum to 1.
    real_missing, synthetic_missing
        The share of rows without a value.
    total_variation
        Half the sum of the absolute differences of the shares, missing values counted as one more
        category.
    kolmogorov_smirnov
        The largest difference of the two cumulative distributions of the values that are there (not
        binned); ``None`` where they have no order.
    kolmogorov_smirnov_binned
        The same at the edges of bins alone: those of the schema, or of the model, where there is
        one. What ``kolmogorov_smirnov`` has beyond that lies inside bins.
    kullback_leibler
        Of the real shares from the synthetic ones, in bits, after half a row is added to every bin
        or category (missing included, where the schema allows it) on both sides.
    only_real, only_synthetic
        Labels that occur in one table alone.
    real_summary, synthetic_summary
        For numbers: mean, deviation, min, quartiles and max; empty for categories.
    state
        What became of the column: "kept", or lost: "absent" from the synthetic table, "replaced"
        by values that no real row has, "constant" where the real one is not, "empty".
    not_real
        The share of synthetic rows whose value falls where no real one does.
    real_outside
        The share of real rows whose value the schema, or the model, has no place for.
    step
        The coarsest grid that nine of ten real numbers (other than 0) lie on, such as 100; ``None``
        where there is none, or where numbers take few values.
    real_on_step, synthetic_on_step
        The share of numbers other than 0 that lie on it.
    """

    name: str
    kind: str
    ordered: bool
    labels: tuple[str, ...]
    edges: tuple[float, ...] | None
    real: tuple[float, ...]
    synthetic: tuple[float, ...]
    real_missing: float
    synthetic_missing: float
    total_variation: float
    kolmogorov_smirnov: float | None
    kullback_leibler: float
    only_real: tuple[str, ...]
    only_synthetic: tuple[str, ...]
    real_summary: Mapping[str, float]
    synthetic_summary: Mapping[str, float]
    kolmogorov_smirnov_binned: float | None = None
    state: State = "kept"
    not_real: float = 0.0
    real_outside: float = 0.0
    step: float | None = None
    real_on_step: float = 0.0
    synthetic_on_step: float = 0.0

    @property
    def lost(self) -> bool:
        """Whether nothing of the column is left that could be used."""
        return self.state != "kept"


@dataclass(frozen=True)
class MissingRows:
    """How many cells of a row are missing, in both tables.

    Attributes
    ----------
    real, synthetic
        The share of rows with 0, 1, 2, ... missing cells.
    cells
        Where the shares of rows with this many missing cells, or more, differ most.
    """

    real: tuple[float, ...]
    synthetic: tuple[float, ...]
    cells: int

    @property
    def with_more(self) -> tuple[float, float]:
        """The share of rows with ``cells`` missing cells or more, real and synthetic."""
        return sum(self.real[self.cells :]), sum(self.synthetic[self.cells :])


@dataclass(frozen=True)
class Pairs:
    """How columns depend on each other, two by two, in both tables.

    Attributes
    ----------
    names
        The columns, in the order of the rows and columns of the information matrices.
    information_real, information_synthetic
        Mutual information in bits; on the diagonal the entropy of each column.
    ordered
        The columns that have an order (numbers, dates, ordered and two-valued categories): those of
        the correlation matrices.
    correlation_real, correlation_synthetic
        Pearson's correlation coefficient over the rows where both values are there; ``nan`` where
        one is constant.
    """

    names: tuple[str, ...]
    information_real: Floats
    information_synthetic: Floats
    ordered: tuple[str, ...]
    correlation_real: Floats
    correlation_synthetic: Floats

    @property
    def information_difference(self) -> Floats:
        """Synthetic less real: below 0 where a dependence was lost."""
        return self.information_synthetic - self.information_real

    @property
    def correlation_difference(self) -> Floats:
        """Synthetic less real."""
        return self.correlation_synthetic - self.correlation_real


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


@dataclass(frozen=True)
class GradedFinding:
    """One finding in a plain sentence, with a grade; ``subject`` names the part of the evaluation
    it sums up.
    """

    subject: str
    grade: Grade
    sentence: str


@dataclass(frozen=True)
class Use:
    """Something that a synthetic table may serve for.

    Attributes
    ----------
    name
        What it is.
    fit
        Whether the table is fit for it; ``None`` where too few rows leave that open.
    rule
        What it takes.
    because
        What speaks against it; empty where nothing does.
    """

    name: str
    fit: bool | None
    rule: str
    because: str = ""


@dataclass(frozen=True)
class Verdict:
    """What the synthetic table is fit for, and what not, by stated rules."""

    uses: tuple[Use, ...] = ()

    @property
    def fit_for(self) -> tuple[str, ...]:
        """What it can be used for."""
        return tuple(use.name for use in self.uses if use.fit)

    @property
    def not_for(self) -> tuple[str, ...]:
        """What it must not be used for."""
        return tuple(use.name for use in self.uses if use.fit is False)

    @property
    def undecided(self) -> tuple[str, ...]:
        """What there are too few rows to tell about."""
        return tuple(use.name for use in self.uses if use.fit is None)

    @property
    def sentence(self) -> str:
        """``Fit for: software tests, exploring. Not for: ...``."""
        parts = [f"Fit for: {', '.join(self.fit_for) or 'nothing'}."]
        if self.undecided:
            parts.append(f"Too few rows to tell: {', '.join(self.undecided)}.")
        if self.not_for:
            parts.append(f"Not for: {', '.join(self.not_for)}.")
        return " ".join(parts)


@dataclass(frozen=True)
class Evaluation:
    """How close a synthetic table is to the real one. For the owner's eyes: it was computed from
    private rows.

    Attributes
    ----------
    shape
        What the tables are.
    marginals
        Per order, how far marginals are apart.
    ranges
        Errors of random range queries.
    columns
        Column by column.
    pairs
        Mutual information and correlations.
    learning
        Per target, what classifiers or regressions trained on synthetic rows are worth on real
        ones.
    clustering
        K-means.
    inference
        Whether tests of independence come to the same verdicts.
    propensity
        Whether real and synthetic rows can be told apart.
    network
        Mutual information along the model's network; ``None`` without a model.
    findings
        What it comes to, in sentences, the worst first.
    seed
        What made samples and splits repeatable.
    missing_rows
        How many cells of a row are missing; ``None`` where never more than one is.
    verdict
        What the synthetic table is fit for.
    """

    shape: TableShapes
    marginals: tuple[MarginalErrors, ...]
    ranges: RangeErrors
    columns: tuple[ColumnComparison, ...]
    pairs: Pairs
    learning: tuple[LearningTask, ...]
    clustering: Clustering
    inference: tuple[TestAgreement, ...]
    propensity: Propensity
    network: NetworkQuality | None
    findings: tuple[GradedFinding, ...]
    seed: int
    missing_rows: MissingRows | None = None
    verdict: Verdict = Verdict()

    def _repr_html_(self) -> str:
        """The verdict, and why, for the owner's notebook."""
        findings = [(finding.grade, finding.sentence) for finding in self.findings]
        return (
            "<div><b>For the owner only, not for release.</b><br>"
            f"{html.escape(self.verdict.sentence)}"
            f"{html_table('Why, the worst first', ('grade', 'finding'), findings, longest=400)}"
            "</div>"
        )

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain JSON values; what is undefined becomes ``None``."""
        plain = _plain(dataclasses.asdict(self))
        plain["pairs"]["information_difference"] = _plain(self.pairs.information_difference)
        plain["pairs"]["correlation_difference"] = _plain(self.pairs.correlation_difference)
        plain["propensity"]["ratio"] = _plain(self.propensity.ratio)
        plain["verdict"]["sentence"] = self.verdict.sentence
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return None
    return value
