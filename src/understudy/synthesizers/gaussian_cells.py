"""Gaussians of cells, learned from noisy sums: the third stage of a release of numbers.

Four questions, each about what the one before has told:

1. *Where the numbers are*: noisy sums and squares of each column. What follows is measured from
   there, in units of about the deviation of each column.
2. *Cells and their means*: the rows of each value of the label, or those that each of some points
   is the nearest to, which Lloyd's rounds have moved (DPLloyd). A row falls into one cell by public
   values alone, so that all cells together cost what one does.
3. *What all cells share*: products of differences from the *released* means, which are shorter than
   the numbers themselves and so need less noise. They tell the few directions in which many columns
   vary (principal components), or the blocks of columns that depend on each other.
4. *Covariances*: products in these directions, or inside these blocks, for each cell.

What is released is then made into covariances by :mod:`understudy.models.gaussian_fitting`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from understudy.models.gaussian_fitting import (
    block_mask,
    correlations,
    factor_covariance,
    link_blocks,
    mix_by_noise,
    repair_covariance,
    shrink_covariances,
)
from understudy.models.gaussians import Floats, Gaussians
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.release.callbacks import Progress
from understudy.synthesizers.gaussian_location import Location, LocationCells
from understudy.synthesizers.stages import Normalisation

LINKED_CORRELATION = 0.2
"""Columns are put into one block while their correlations are above this on average, or above what
noise alone would give.
"""

PRIOR_NOISE = 0.25
"""How sure it is that a column has the variance 1 in its unit, as the variance of a measurement."""

MAX_FLOOR = 0.25
"""A variance is not taken to be below what noise hides of it, or this, in units."""

MAX_DIRECTIONS = 64
WIDE_COLUMNS = 48
"""With more columns than this, Gaussians are over principal components."""


@dataclass(frozen=True, kw_only=True)
class CellShares:
    """How the budget is split over the questions."""

    location: float
    cells: float
    means: float
    shared: float
    covariances: float


NARROW_SHARES = CellShares(location=0.1, cells=0.2, means=0.4, shared=0.2, covariances=0.3)
WIDE_SHARES = CellShares(location=0.06, cells=0.1, means=0.06, shared=0.36, covariances=0.52)


@dataclass(frozen=True, kw_only=True)
class GaussianCells:
    """A Gaussian for each cell.

    Parameters
    ----------
    clusters
        How many points rows are nearest to, within each value of the label; 1: none.
    rounds
        How often Lloyd's rounds move the points.
    blocks
        Which columns depend on each other, by their places; ``None``: as a noisy correlation
        matrix has it.
    directions
        In how many principal components the Gaussians are; ``None``: as many as rise above the
        noise where columns are many, and the columns themselves where they are few; 0: the columns
        themselves.
    """

    clusters: int = 1
    rounds: int = 3
    blocks: tuple[tuple[int, ...], ...] | None = None
    directions: int | None = None

    def is_wide(self, columns: int) -> bool:
        """Whether the Gaussians are over principal components."""
        if self.directions is None:
            return columns > WIDE_COLUMNS and self.blocks is None
        return 0 < self.directions < columns

    def learn(
        self,
        curator: Curator,
        normalisation: Normalisation,
        cells: LocationCells,
        present: Floats,
        budget: Budget,
        progress: Progress,
    ) -> tuple[Gaussians, Floats]:
        """Ask, and fit.

        Parameters
        ----------
        curator
            Whom to ask.
        normalisation
            The columns and their bounds.
        cells
            The cells by label, with noisy counts.
        present
            The share of cells of the table that hold a number: a line for each code of the label, a
            column for each of the columns.
        budget
            What may be spent.
        progress
            Called while learning.

        Returns
        -------
        The Gaussians, and the deviation of the noise in each column's sum over a cell (scaled).
        """
        wide = self.is_wide(len(normalisation.names))
        location = Location(curator, normalisation, present, wide=wide)
        return _CellQuestions(self, location).run(cells, budget, progress)


class _CellQuestions:
    """One run of the questions."""

    def __init__(self, settings: GaussianCells, location: Location) -> None:
        self.settings, self.location = settings, location

    def run(
        self, cells: LocationCells, budget: Budget, progress: Progress
    ) -> tuple[Gaussians, Floats]:
        shares = WIDE_SHARES if self.location.wide else NARROW_SHARES
        clustered = self.settings.clusters > 1
        location, lloyd, means, shared, covariances = budget.split(
            shares.location,
            shares.cells * clustered,
            shares.means,
            shares.shared,
            shares.covariances,
        )
        steps = 4 + clustered
        progress("measuring moments", 0, steps)
        self.location.locate(location, cells)
        if clustered:
            cells = self.location.cluster(
                cells, self.settings.clusters, self.settings.rounds, lloyd
            )
        progress("measuring moments", steps - 3, steps)
        origins, noise = self.location.measure_means(cells, means)
        progress("measuring moments", steps - 2, steps)
        if self.location.wide:
            gaussians = self._in_directions(cells, origins, shared, covariances)
        else:
            gaussians = self._in_blocks(cells, origins, shared, covariances)
        progress("measuring moments", steps, steps)
        return gaussians, noise

    # ---- covariances

    def _products(
        self,
        cells: LocationCells,
        origins: Floats,
        budget: Budget,
        length: float,
        *,
        pooled: bool = False,
        directions: Floats | None = None,
    ) -> tuple[Floats, float]:
        """Sums of products of differences from the means, for each cell or for all together, and
        the deviation of their noise; all in units.
        """
        width, units = self.location.width, self.location.column_units()
        if directions is not None:
            width, units = len(directions), np.ones(len(directions))
        answer = self.location.curator.sum(
            self.location.features(),
            budget,
            by=cells.by,
            nearest=self.location.points(cells),
            centres=self.location.in_columns(origins).reshape(
                *self.location.group_shape(cells), self.location.width
            ),
            ball=self.location.reach(width) * length,
            missing="centre",
            moments="products",
            shares={"moments": 1.0},
            directions=directions,
            pooled=pooled,
        )
        assert answer.moments is not None
        both = np.outer(units, units)
        deviation = float(np.max(answer.moments.deviation / both))
        return answer.moments.values.reshape(-1, width, width) / both, deviation

    def _length_within(self, cells: LocationCells, origins: Floats) -> float:
        """How long differences from the means are on average: what the means do not explain."""
        shares = cells.rows / cells.rows.sum()
        middle = shares @ origins
        between = float(shares @ ((origins - middle) ** 2).sum(axis=1))
        return math.sqrt(max(self.location.length**2 - between, 0.25 * self.location.length**2))

    def _in_directions(
        self, cells: LocationCells, origins: Floats, shared: Budget, covariances: Budget
    ) -> Gaussians:
        """Gaussians over principal components of what all cells share."""
        length = self._length_within(cells, origins)
        [pooled], deviation = self._products(cells, origins, shared, length, pooled=True)
        total = cells.rows.sum()
        values, vectors = np.linalg.eigh(pooled / total)
        values, vectors = values[::-1], vectors[:, ::-1]
        number = self._count_directions(values, deviation / total)
        directions = np.ascontiguousarray(vectors[:, :number].T)
        length = math.sqrt(max(float(np.maximum(values[:number], 0).sum()), 0.01 * length**2))
        found, deviation = self._products(
            cells, origins, covariances, length, directions=directions
        )
        fitted = self._fit(found, deviation, cells, None)
        middle = (cells.rows / cells.rows.sum()) @ origins
        return self._gaussians(cells, origins - middle, fitted, directions, middle)

    def _count_directions(self, values: Floats, deviation: float) -> int:
        """As many as were asked for, or as many as have a variance above what noise alone has: the
        largest eigenvalue of symmetric noise is about 2 sqrt(width) times its deviation.
        """
        if self.settings.directions is not None:
            return self.settings.directions
        above = int((values > 2 * math.sqrt(self.location.width) * deviation).sum())
        return min(max(above, 2), MAX_DIRECTIONS, self.location.width)

    def _in_blocks(
        self, cells: LocationCells, origins: Floats, shared: Budget, covariances: Budget
    ) -> Gaussians:
        """Gaussians over the columns, in blocks that do not depend on each other."""
        total = cells.rows.sum()
        prior, prior_noise = np.eye(self.location.width), PRIOR_NOISE
        blocks = self.settings.blocks
        if blocks is None:
            length = self._length_within(cells, origins)
            [pooled], deviation = self._products(cells, origins, shared, length, pooled=True)
            noise = deviation / total
            blocks = link_blocks(correlations(pooled / total), max(LINKED_CORRELATION, 2 * noise))
            # Columns have about the variance 1, being in units, and no covariance.
            prior = mix_by_noise(pooled / total, noise**2, prior, prior_noise)
            prior_noise = 1 / (1 / noise**2 + 1 / prior_noise)
        else:
            covariances = covariances.plus(shared)
        matrices = np.zeros((cells.number, self.location.width, self.location.width))
        parts = covariances.split(*(float(len(block)) for block in blocks))
        for block, part in zip(blocks, parts, strict=True):
            inside = np.ix_(block, block)
            size = max(float(np.trace(prior[inside])), 0.25 * len(block))
            lines = np.eye(self.location.width)[list(block)]
            found, deviation = self._products(
                cells, origins, part, math.sqrt(size), directions=lines
            )
            own = prior[inside], prior_noise
            for matrix, own_part in zip(
                matrices, self._fit(found, deviation, cells, own), strict=True
            ):
                matrix[inside] = own_part
        mask = block_mask(blocks, self.location.width)
        return self._gaussians(cells, origins, matrices * mask, None, np.zeros(self.location.width))

    def _fit(
        self,
        moments: Floats,
        deviation: float,
        cells: LocationCells,
        prior: tuple[Floats, float] | None,
    ) -> Floats:
        """Covariances of the cells, in units."""
        rows, total = cells.rows, cells.rows.sum()
        shared = moments.sum(axis=0) / total
        noise = cells.number * (deviation / total) ** 2
        least = 0.0  # directions were chosen for their variance
        if prior is not None:
            shared = mix_by_noise(shared, noise, prior[0], prior[1])
            least = min(math.sqrt(noise), MAX_FLOOR)
        matrices = moments / rows[:, None, None]
        found = shrink_covariances(matrices, (deviation / rows) ** 2, shared)
        return np.array([repair_covariance(matrix, least) for matrix in found])

    def _gaussians(
        self,
        cells: LocationCells,
        origins: Floats,
        covariances: Floats,
        directions: Floats | None,
        middle: Floats,
    ) -> Gaussians:
        """The Gaussians in scaled numbers."""
        if directions is None:
            means = origins * self.location.unit + self.location.centre
            spread = self.location.unit[:, None] * self.location.unit[None, :]
            factors = [factor_covariance(matrix * spread) for matrix in covariances]
            basis, centre = None, np.zeros(self.location.width)
        else:
            basis, means, factors = _widen(directions, origins, covariances)
            centre = self.location.centre + middle
        return Gaussians(
            columns=self.location.normalisation.names,
            label=cells.by[0].attribute if cells.by else None,
            lower=self.location.normalisation.lower,
            upper=self.location.normalisation.upper,
            weights=cells.weights(),
            means=means,
            factors=np.array(factors),
            basis=basis,
            centre=centre,
        )


def _widen(
    directions: Floats, origins: Floats, covariances: Floats
) -> tuple[Floats, Floats, list[Floats]]:
    """A basis that holds the means of the cells, too: the directions, then what is left of the
    means outside them.
    """
    inside = origins @ directions.T
    outside = origins - inside @ directions
    _, sizes, further = np.linalg.svd(outside, full_matrices=False)
    kept = further[sizes > 1e-9 * max(float(np.abs(origins).max()), 1e-9)]
    basis = np.vstack([directions, kept])[: directions.shape[1]]
    means = origins @ basis.T
    size = len(basis)
    factors = []
    for matrix in covariances:
        factor = np.zeros((size, size))
        factor[: len(matrix), : len(matrix)] = factor_covariance(matrix)
        factors.append(factor)
    return basis, means, factors
