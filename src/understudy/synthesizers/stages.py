"""The stages of a release of numbers, each an object of its own: outliers, normalisation, model,
generation, privacy report.

Every parameter of a stage is public, or what it finds is paid for: nothing is read off the rows for
free, as scalers and outlier detectors do that are fitted to them. The model is
:class:`understudy.synthesizers.gaussian_cells.GaussianCells`. The last stage reports and no more:
to draw again until a table passes a test would tell something about the rows with every try.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.data.marginals import marginal
from understudy.data.schema import Quantity, Schema
from understudy.models.gaussian_fitting import half_step
from understudy.models.gaussians import Floats
from understudy.models.model import Model
from understudy.models.parameters import project_counts
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator, Measurement
from understudy.privacy.features import Number


@dataclass(frozen=True, kw_only=True)
class Outliers:
    """The first stage: numbers are clipped to bounds.

    Parameters
    ----------
    quantile
        0 clips to the bounds of the schema, which are public. Above 0, a noisy histogram of each
        column is paid for, and numbers are clipped to the bins between this quantile and one minus
        it.

    Examples
    --------
    >>> Outliers(quantile=0.01).asks
    True
    """

    quantile: float = 0.0

    @property
    def asks(self) -> bool:
        """Whether bounds are paid for."""
        return self.quantile > 0

    def find_bounds(
        self, curator: Curator, columns: Sequence[Quantity], budget: Budget | None
    ) -> Normalisation:
        """The bounds of each column; without a budget those of the schema."""
        names = tuple(column.name for column in columns)
        bounds = [public_bounds(column) for column in columns]
        if self.asks and budget is not None:
            tables = curator.measure([marginal(name) for name in names], budget)
            bounds = [
                self._narrow(column, *found)
                for column, found in zip(columns, zip(bounds, tables, strict=True), strict=True)
            ]
        lower, upper = np.array(bounds, dtype=np.float64).T
        steps = np.array([2 * half_step(column) for column in columns])
        return Normalisation(
            names=names, lower=lower, upper=upper, number_of_values=(upper - lower) / steps + 1
        )

    def _narrow(
        self, column: Quantity, bounds: tuple[float, float], table: Measurement
    ) -> tuple[float, float]:
        """The ends of the bins that hold all but the quantiles at both ends."""
        counts = table.counts[: column.bins].astype(np.float64)
        shares = np.cumsum(project_counts(counts, max(float(counts.sum()), 1.0)))
        shares /= shares[-1]
        first = int(np.searchsorted(shares, self.quantile, side="right"))
        last = int(np.searchsorted(shares, 1 - self.quantile))
        lower = max(column.edges[first], bounds[0])
        upper = min(column.edges[max(first, last) + 1], bounds[1])
        if not lower < upper:
            return bounds
        return lower, upper


@dataclass(frozen=True, kw_only=True, eq=False)
class Normalisation:
    """The second stage: numbers between bounds become numbers between -1 and 1.

    Parameters
    ----------
    names
        The columns.
    lower, upper
        The bounds of each: public, or found at a price by :class:`Outliers`.
    number_of_values
        How many values of each column's grid lie between them.
    """

    names: tuple[str, ...]
    lower: Floats
    upper: Floats
    number_of_values: Floats

    @property
    def middle(self) -> Floats:
        """What becomes 0."""
        return (self.lower + self.upper) / 2

    @property
    def half(self) -> Floats:
        """What becomes 1, from there."""
        return (self.upper - self.lower) / 2

    def scale(self, numbers: Floats) -> Floats:
        """Numbers of the columns, clipped, between -1 and 1."""
        return np.asarray((np.clip(numbers, self.lower, self.upper) - self.middle) / self.half)

    def restore(self, scaled: Floats) -> Floats:
        """The numbers that scaled ones stand for."""
        return np.asarray(self.middle + np.clip(scaled, -1, 1) * self.half)

    def features(self, centre: Floats, unit: Floats) -> list[Number]:
        """The columns as features to sum, less a centre and in units that are given scaled."""
        places = zip(
            self.names,
            self.lower.tolist(),
            self.upper.tolist(),
            self.restore(centre).tolist(),
            (unit * self.half).tolist(),
            strict=True,
        )
        return [
            Number(name, lower=low, upper=high, centre=middle, unit=one)
            for name, low, high, middle, one in places
        ]


@dataclass(frozen=True, kw_only=True)
class Generation:
    """The fourth stage: rows from a model, which costs nothing.

    Parameters
    ----------
    rows
        How many; by default as many as the noisy counts say.
    seed
        Makes the rows repeatable.
    """

    rows: int | None = None
    seed: int | None = None

    def generate(self, model: Model) -> Any:
        """The synthetic table, of the library that the model names; numbers lie on their grid."""
        return model.sample(self.rows, self.seed)


@dataclass(frozen=True, kw_only=True)
class PrivacyReport:
    """The fifth stage: what the release cost, and what was taken as public.

    It is a report. It reads no row, and nothing is accepted, rejected or repeated by it:
    differential privacy is a property of how a table was made, which no test of one table can show.
    """

    statement: str
    epsilon: float
    delta: float
    questions: tuple[tuple[str, str, float], ...]
    """Each question, its mechanism, and its price in the currency of the ledger."""
    taken_as_public: tuple[str, ...]

    @classmethod
    def of(cls, model: Model) -> PrivacyReport:
        """The report of a model."""
        ledger = model.ledger
        epsilon, delta = ledger.spent()
        questions = tuple(
            (entry.question, entry.mechanism, entry.amount) for entry in ledger.entries
        )
        return cls(
            statement=ledger.statement(),
            epsilon=epsilon,
            delta=delta,
            questions=questions,
            taken_as_public=model.taken_as_public,
        )

    def __str__(self) -> str:
        lines = [self.statement]
        lines += [f"- {question}: {mechanism}" for question, mechanism, _ in self.questions]
        lines += [f"- taken as public: {fact}" for fact in self.taken_as_public]
        return "\n".join(lines)


def numeric_columns(schema: Schema) -> list[Quantity]:
    """The columns of numbers that can vary."""
    found = [attribute for attribute in schema.modelled if isinstance(attribute, Quantity)]
    return [column for column in found if _varies(column)]


def _varies(column: Quantity) -> bool:
    lower, upper = public_bounds(column)
    return lower < upper


def public_bounds(column: Quantity) -> tuple[float, float]:
    """The bounds of the schema: the least and the greatest value that there can be."""
    if column.whole:
        return float(column.edges[0]), float(column.edges[-1] - 1)
    return float(column.edges[0]), float(column.edges[-1])
