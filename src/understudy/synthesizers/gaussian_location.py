"""Where numbers lie: noisy means of columns, and of cells of rows.

The first questions of :mod:`understudy.synthesizers.gaussian_cells`: what follows them is measured
about what they tell, in units that they tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.data.marginals import Marginal, marginal
from understudy.models.gaussian_fitting import MIN_CELL_ROWS, shrink_means
from understudy.models.gaussians import Floats
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.privacy.features import Number
from understudy.synthesizers.stages import Normalisation

PRIOR_MEAN, PRIOR_VARIANCE = 0.25, 0.1
"""Of a column between -1 and 1, before anything is known: the variance of its mean about 0, and its
own variance. A column of k values has 1 / k more: one of two values is all at the ends.
"""

LEAST_DEVIATION = 0.05
"""No unit is smaller: else noise about where a column lies would decide how long rows are."""

WIDE_REACH = 1.25
"""Rows of many columns are shortened to this many times their average length (root mean square)."""


@dataclass(frozen=True, kw_only=True)
class LocationCells:
    """Which rows belong together, by public or released values alone.

    Parameters
    ----------
    by
        The label, or nothing.
    labels
        How many codes it has.
    points
        Points that rows are nearest to, within each code (scaled); ``None``: one cell for each
        code.
    counts
        How many rows are in each cell: a line for each code of the label.
    """

    by: Marginal
    labels: int
    points: Floats | None
    counts: Floats

    @property
    def number(self) -> int:
        """How many cells there are."""
        return self.counts.size

    @property
    def rows(self) -> Floats:
        """The rows of each cell, never less than one."""
        return np.maximum(self.counts.ravel(), MIN_CELL_ROWS)

    def weights(self) -> Floats:
        """How many rows of each code of the label are in each cell."""
        weights = np.zeros((self.labels, self.number))
        per_label = self.number // self.labels
        for code in range(self.labels):
            own = slice(code * per_label, (code + 1) * per_label)
            weights[code, own] = np.maximum(self.counts[code], 0.0)
        return weights


class Location:
    """Where the columns and the cells are, as far as it is released.

    Parameters
    ----------
    curator
        Whom to ask.
    normalisation
        The columns and their bounds.
    present
        The share of numbers that are not missing, by label and column.
    wide
        Whether columns are many, and all in one unit.
    """

    def __init__(
        self, curator: Curator, normalisation: Normalisation, present: Floats, *, wide: bool
    ) -> None:
        self.curator, self.normalisation, self.present = curator, normalisation, present
        self.wide = wide
        self.width = len(normalisation.names)
        self.centre = np.zeros(self.width)
        self.unit = np.ones(self.width)
        self.likely = PRIOR_VARIANCE + 1 / normalisation.number_of_values
        self.length = math.sqrt(float(self.likely.sum()))
        """How long rows are on average, in units, about the centre."""

    def reach(self, width: int) -> float:
        """To how many times their average length rows are shortened: two deviations more, of the
        squared length of a Gaussian of this many columns.
        """
        if self.wide:
            return WIDE_REACH
        return math.sqrt(1 + 2 * math.sqrt(2 / width))

    def features(self) -> list[Number]:
        """The columns about the centre, in units."""
        return self.normalisation.features(self.centre, self.unit)

    # ---- where the numbers are

    def locate(self, budget: Budget, cells: LocationCells) -> None:
        """Means and variances of the columns, drawn towards what is likely of any column by as much
        as noise asks for.
        """
        answer = self.curator.sum(
            self.features(),
            budget,
            moments="squares",
            missing="centre",
            shares={"sums": 3.0, "moments": 1.0},
        )
        assert answer.sums is not None
        assert answer.moments is not None
        half = self.normalisation.half
        weight = cells.counts.sum(axis=1)
        rows = max(float(weight.sum()), MIN_CELL_ROWS) * self._present_share(weight)
        means = answer.sums.values / half / rows
        noise = (answer.sums.deviation / half / rows) ** 2
        means = np.clip(means * PRIOR_MEAN / (PRIOR_MEAN + noise), -1, 1)
        squares = answer.moments.values / half**2 / rows
        noise = (answer.moments.deviation / half**2 / rows) ** 2
        kept = self.likely**2 / (self.likely**2 + noise)
        variances = kept * (squares - means**2) + (1 - kept) * self.likely
        variances = np.clip(variances, LEAST_DEVIATION**2, 1.0)
        self.centre = means
        if self.wide:  # pixels and the like: one unit for all
            self.length = math.sqrt(float(variances.sum()))
        else:
            self.unit = np.sqrt(variances)
            self.length = math.sqrt(self.width)

    def _present_share(self, weight: Floats) -> Floats:
        """The share of numbers that are there, by column."""
        rows = np.maximum(weight, 0.0)[:, None]
        return np.maximum((self.present * rows).sum(axis=0) / max(rows.sum(), MIN_CELL_ROWS), 0.01)

    # ---- cells

    def cluster(
        self, cells: LocationCells, clusters: int, rounds: int, budget: Budget
    ) -> LocationCells:
        """Lloyd's rounds: rows to the nearest point, points to the noisy means of their rows."""
        points = first_points(clusters, self.width)
        *shares, last = budget.equally(rounds + 1)
        for share in shares:
            answer = self.curator.sum(
                self.features(),
                share,
                nearest=self.in_columns(points).tolist(),
                ball=self.reach(self.width) * self.length,
                missing="centre",
                shares={"counts": 1.0, "sums": 3.0},
            )
            assert answer.sums is not None
            assert answer.counts is not None
            counts = answer.counts.values
            sums = answer.sums.values / self.column_units()
            # A point with fewer rows than the noise has stays where it is.
            moved = counts > 2 * float(np.max(answer.counts.deviation))
            means = sums / np.maximum(counts, MIN_CELL_ROWS)[:, None]
            limit = (1 / self.unit)[None]
            points = np.where(moved[:, None], np.clip(means, -2 * limit, 2 * limit), points)
        counted = self.curator.sum(
            self.features(),
            last,
            by=cells.by,
            nearest=self.in_columns(points).tolist(),
            ball=self.reach(self.width) * self.length,
            missing="centre",
            shares={"counts": 1.0},
        )
        assert counted.counts is not None
        found = np.maximum(counted.counts.values.reshape(cells.labels, len(points)), 0.0)
        # What is known of the labels counts more than the sum over points.
        known = np.maximum(cells.counts, 0.0)
        found *= known / np.maximum(found.sum(axis=1, keepdims=True), MIN_CELL_ROWS)
        return replace(cells, points=points, counts=found)

    def column_units(self) -> Floats:
        """What counts as 1, in the units of the columns."""
        return self.unit * self.normalisation.half

    def in_columns(self, points: Floats) -> Floats:
        """Points in the units of the columns."""
        middle = self.normalisation.restore(self.centre)
        return np.asarray(middle + points * self.column_units())

    def points(self, cells: LocationCells) -> list[list[float]] | None:
        """The points of the cells, as a question has them."""
        if cells.points is None:
            return None
        found: list[list[float]] = self.in_columns(cells.points).tolist()
        return found

    def group_shape(self, cells: LocationCells) -> tuple[int, ...]:
        """The shape of the groups of a question."""
        shape: tuple[int, ...] = ()
        if cells.by:
            shape = (cells.labels,)
        if cells.points is not None:
            shape = (*shape, len(cells.points))
        return shape

    # ---- means

    def measure_means(self, cells: LocationCells, budget: Budget) -> tuple[Floats, Floats]:
        """The mean of each cell (in units, about the centre), and the noise in a cell's sums
        (scaled).
        """
        answer = self.curator.sum(
            self.features(),
            budget,
            by=cells.by,
            nearest=self.points(cells),
            ball=self.reach(self.width) * self.length,
            missing="centre",
        )
        assert answer.sums is not None
        units = self.column_units()
        sums = answer.sums.values.reshape(cells.number, self.width) / units
        deviation = answer.sums.deviation / units
        present = np.repeat(self.present, cells.number // cells.labels, axis=0)
        rows = cells.rows[:, None] * np.maximum(present, 0.01)
        means = shrink_means(sums / rows, cells.rows, deviation)
        low, high = (-1 - self.centre) / self.unit, (1 - self.centre) / self.unit
        return np.clip(means, low, high), deviation * self.unit


def first_points(number: int, width: int) -> Floats:
    """Where Lloyd's rounds begin: points of a public sequence that fills the cube evenly (Weyl's),
    one deviation about the centre to each side.
    """
    steps = np.sqrt(np.array(_primes(width), dtype=np.float64)) % 1
    places = (np.arange(1, number + 1)[:, None] * steps) % 1
    return np.asarray(2 * places - 1)


def _primes(number: int) -> Sequence[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < number:
        if all(candidate % prime for prime in found if prime * prime <= candidate):
            found.append(candidate)
        candidate += 1
    return found


def label_marginal(label: str | None) -> Marginal:
    """The marginal that cells are made by."""
    if label is None:
        return ()
    return marginal(label)
