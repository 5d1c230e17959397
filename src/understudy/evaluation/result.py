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
from understudy.evaluation.fitness import GradedFinding, Verdict
from understudy.evaluation.model_results import (
    Clustering,
    LearningTask,
    NetworkQuality,
    Propensity,
    TestAgreement,
)

Floats = NDArray[np.float64]

ColumnState = Literal["kept", "absent", "replaced", "mostly replaced", "constant", "empty"]


@dataclass(frozen=True)
class OwnValues:
    """A column in which nearly every real row has a value of its own, and synthetic ones have not.

    Attributes
    ----------
    name
        The column.
    real_shared, shared
        The share of real, and of synthetic, rows whose value another row has, too.
    held
        The share of synthetic rows that hold the value of a real one.
    kind
        "text", or "integer".
    """

    name: str
    real_shared: float
    shared: float
    held: float
    kind: str


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
    own_values
        Columns that tell real rows apart, whatever they are called, and synthetic ones do not.
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
    own_values: tuple[OwnValues, ...] = ()


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
    related
        How many marginals hold a relation of their columns that stands out from chance.
    related_mean, independent_mean
        The mean distance of those, and what it would be for independent columns, each with the real
        distribution.
    """

    order: int
    measured: int
    of: int
    mean: float
    largest: float
    by_chance: float
    worst: tuple[MarginalError, ...]
    related: int = 0
    related_mean: float = 0.0
    independent_mean: float = 0.0


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
        by values that no real row has, "mostly replaced", "constant" where the real one is not,
        "empty".
    not_real
        The share of synthetic rows whose value falls where no real one does.
    real_outside
        The share of real rows whose value the schema, or the model, has no place for.
    step
        The coarsest grid that nine of ten real numbers (other than 0) lie on, such as 100; ``None``
        where there is none, or where numbers take few values.
    real_on_step, synthetic_on_step
        The share of numbers other than 0 that lie on it.
    beyond
        The share of synthetic numbers that are smaller, or larger, than every real one.
    cut_off
        The share of real numbers that are smaller, or larger, than every synthetic one.
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
    state: ColumnState = "kept"
    not_real: float = 0.0
    real_outside: float = 0.0
    step: float | None = None
    real_on_step: float = 0.0
    synthetic_on_step: float = 0.0
    beyond: float = 0.0
    cut_off: float = 0.0

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
class BrokenRule:
    """A rule that (nearly) all real rows keep.

    Attributes
    ----------
    text
        ``start <= end``, ``total = a + b`` or ``town -> region``.
    constraint
        What stands in the "constraints" of a schema for it.
    real, synthetic
        The share of rows that break it, of those in which all its values are there.
    """

    text: str
    constraint: Mapping[str, str]
    real: float
    synthetic: float


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
    rules
        Rules that real rows keep, those broken in most synthetic rows first.
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
    rules: tuple[BrokenRule, ...] = ()
    verdict: Verdict = field(default_factory=Verdict)

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
