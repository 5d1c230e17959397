"""Gaussians of images, in the frequencies of a public cosine transform.

Images of one kind are smooth: what tells them apart lies in the low frequencies of their cosine
transform, which is public and the same for all images. In a hundred of these instead of hundreds of
pixels, noise in a matrix of products is several times smaller, and means need not be squeezed into
a few principal components. Four questions:

1. where all images are on average;
2. the means of the labels, about that;
3. products of the differences from the *released* means, all labels together. Of its eigenvalues
   those that rise above the noise are kept, less what the noise has added to them; the others share
   what is left of the trace.
4. for each label the products along the directions that were kept. They are drawn towards the
   shared ones by as much as noise explains of the difference.

Lengths that rows are clipped to, the shares of the budget and the number of frequencies are public
constants. They were chosen on images of handwritten digits; figures on the same digits profit from
that choice, which nobody has paid for there.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from understudy.data.marginals import marginal
from understudy.data.schema import Category, Quantity, Schema
from understudy.models.gaussian_fitting import factor_covariance, shrink_covariances
from understudy.models.gaussians import Floats, Gaussians
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.privacy.features import Number
from understudy.release.callbacks import Progress

BOUND = 8.0
"""Public bound of a coefficient, for pixels from 0 to 1."""

LENGTH = 9.0
DISTANCE = 6.0
"""Lengths that images are clipped to, as they are and as differences from a mean."""

INSIDE = 0.8
"""The share of DISTANCE along the directions that are kept."""

IMAGE_SHARES = {"location": 0.06, "means": 0.24, "shared": 0.4, "covariances": 0.3}


@dataclass(frozen=True, kw_only=True)
class FrequencyColumns:
    """The columns of the lowest frequencies of images of one size.

    Parameters
    ----------
    height, width
        The size of the images.
    count
        How many frequencies there are, lowest first.
    """

    height: int
    width: int
    count: int

    @property
    def places(self) -> list[tuple[int, int]]:
        """The frequencies: how many half waves down and across."""
        every = [(i, j) for i in range(self.height) for j in range(self.width)]
        size = {(i, j): (i / self.height) ** 2 + (j / self.width) ** 2 for i, j in every}
        return sorted(every, key=lambda place: (size[place], place))[: self.count]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns; each says which size of image it belongs to."""
        size = f"{self.height}x{self.width}"
        return tuple(f"frequency_{i}_{j}_of_{size}" for i, j in self.places)

    def basis(self) -> Floats:
        """A line for each frequency, as long as an image has pixels; they are orthonormal."""
        down, across = _cosines(self.height), _cosines(self.width)
        return np.array([np.outer(down[i], across[j]).ravel() for i, j in self.places])

    @classmethod
    def of(cls, schema: Schema) -> FrequencyColumns | None:
        """The frequencies that a table holds, or none where it holds other things."""
        numeric = [one.name for one in schema.modelled if isinstance(one, Quantity)]
        pattern = r"frequency_\d{1,4}_\d{1,4}_of_(\d{1,4})x(\d{1,4})"
        matched = re.fullmatch(pattern, numeric[0]) if numeric else None
        if matched is None or len(numeric) > int(matched[1]) * int(matched[2]):
            return None
        found = cls(height=int(matched[1]), width=int(matched[2]), count=len(numeric))
        return found if list(found.names) == numeric else None


def _cosines(length: int) -> Floats:
    places = np.arange(length) + 0.5
    lines = np.array([np.cos(np.pi * places * k / length) for k in range(length)])
    return lines / np.linalg.norm(lines, axis=1, keepdims=True)


def learn_frequencies(
    curator: Curator, label: Category | None, counts: Floats, budget: Budget, progress: Progress
) -> tuple[Gaussians, Floats]:
    """Ask, and fit a Gaussian for each label; also the deviation of the noise in each sum."""
    names = [one.name for one in curator.schema.modelled if isinstance(one, Quantity)]
    parts = dict(zip(IMAGE_SHARES, budget.split(*IMAGE_SHARES.values()), strict=True))
    asking = _ImageQuestions(curator, names, label, np.maximum(counts.ravel(), 1.0))
    progress("measuring moments", 0, 4)
    centre = asking.locate(parts["location"])
    progress("measuring moments", 1, 4)
    means, noise = asking.measure_means(centre, parts["means"])
    progress("measuring moments", 2, 4)
    shared, kept = asking.measure_shared(means, parts["shared"])
    progress("measuring moments", 3, 4)
    matrices = asking.measure_covariances(means, shared, kept, parts["covariances"])
    progress("measuring moments", 4, 4)
    width, labels = len(names), len(asking.rows)
    gaussians = Gaussians(
        columns=tuple(names),
        label=None if label is None else label.name,
        lower=np.full(width, -BOUND),
        upper=np.full(width, BOUND),
        weights=np.diag(asking.rows)[:labels],
        means=means / BOUND,
        factors=np.array([factor_covariance(matrix / BOUND**2) for matrix in matrices]),
        basis=None,
        centre=np.zeros(width),
    )
    return gaussians, np.full(width, noise / BOUND)


class _ImageQuestions:
    """The questions, in the units of the coefficients."""

    def __init__(
        self, curator: Curator, names: list[str], label: Category | None, rows: Floats
    ) -> None:
        self.curator, self.names, self.rows = curator, names, rows
        self.by = () if label is None else marginal(label.name)

    def _features(self) -> list[Number]:
        return [Number(name, -BOUND, BOUND, unit=1.0) for name in self.names]

    def locate(self, budget: Budget) -> Floats:
        """The mean of all images."""
        answer = self.curator.sum(self._features(), budget, ball=LENGTH, missing="centre")
        assert answer.sums is not None
        return np.asarray(answer.sums.values / self.rows.sum())

    def measure_means(self, centre: Floats, budget: Budget) -> tuple[Floats, float]:
        """The mean of each label."""
        about = np.tile(centre, (len(self.rows), 1))
        answer = self.curator.sum(
            self._features(),
            budget,
            by=self.by,
            centres=about.reshape(self._shape(len(self.names))),
            ball=DISTANCE,
            missing="centre",
        )
        assert answer.sums is not None
        sums = answer.sums.values.reshape(len(self.rows), -1)
        return about + sums / self.rows[:, None], float(np.max(answer.sums.deviation))

    def _shape(self, *last: int) -> tuple[int, ...]:
        if self.by:
            return (len(self.rows), *last)
        return last

    def measure_shared(self, means: Floats, budget: Budget) -> tuple[Floats, Floats]:
        """What the labels' covariances have in common, and the directions in which it is above
        the noise.
        """
        answer = self.curator.sum(
            self._features(),
            budget,
            by=self.by,
            centres=means.reshape(self._shape(len(self.names))),
            ball=DISTANCE,
            missing="centre",
            moments="products",
            shares={"moments": 1.0},
            pooled=bool(self.by),
        )
        assert answer.moments is not None
        total, width = self.rows.sum(), len(self.names)
        matrix = answer.moments.values.reshape(width, width) / total
        noise = float(np.max(answer.moments.deviation)) / total
        return denoise(matrix, noise)

    def measure_covariances(
        self, means: Floats, shared: Floats, kept: Floats, budget: Budget
    ) -> list[Floats]:
        """The covariance of each label."""
        answer = self.curator.sum(
            self._features(),
            budget,
            by=self.by,
            centres=means.reshape(self._shape(len(self.names))),
            ball=INSIDE * DISTANCE,
            missing="centre",
            moments="products",
            shares={"moments": 1.0},
            directions=kept,
        )
        assert answer.moments is not None
        size = len(kept)
        own = answer.moments.values.reshape(len(self.rows), size, size)
        own = own / self.rows[:, None, None]
        noise = (float(np.max(answer.moments.deviation)) / self.rows) ** 2
        inside = kept @ shared @ kept.T
        drawn = shrink_covariances(own, noise, inside)
        return [shared + kept.T @ (matrix - inside) @ kept for matrix in drawn]


def denoise(matrix: Floats, noise: float) -> tuple[Floats, Floats]:
    """A covariance without what noise has added, and the directions that rise above the noise.

    The eigenvalues of symmetric noise reach to e = 2 sqrt(width) times its deviation, and an
    eigenvalue v that stands out is lifted by about (e / 2)^2 / v.
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    edge = 2 * math.sqrt(len(matrix)) * noise
    number = min(max(int((values > edge).sum()), 2), len(values))
    lifted = np.maximum(values[:number], 1e-12)
    lowered = np.maximum(lifted - (edge / 2) ** 2 / lifted, 0.0)
    rest = max(float(np.trace(matrix)) - float(lowered.sum()), 0.0)
    spread = np.full(len(values), rest / max(len(values) - number, 1))
    spread[:number] = lowered
    directions = np.ascontiguousarray(vectors[:, :number].T)
    return np.asarray((vectors * spread) @ vectors.T), directions
