"""k-means by DPLloyd: in each round, noisy counts and sums of the rows nearest to each centre.

The number of rounds is fixed before the first one, from public and released numbers alone. In a
round a row is in one group, where it adds 1 to a count and its vector to a sum; counts and sums
share the round's budget, and the rounds share the whole (they are not each given all of it).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.learners.asking import Asked, count_rows, release_centre
from understudy.learners.design import Design, Matrix
from understudy.learners.estimator import Learner
from understudy.learners.values import check_row_norm
from understudy.privacy.budget import Budget
from understudy.privacy.sums import MAX_SUMS

from sklearn.base import ClusterMixin, TransformerMixin  # isort: skip

BALL = 0.6
"""By default rows of many columns are shortened to this share of sqrt(d), about their mean."""

MAX_BOX_COLUMNS = 8
"""Rows of up to this many columns are not shortened at all."""

ROW_COUNT_SHARE = 0.05
"""The share of the budget for the number of rows."""

ROUND_COUNTS_SHARE = 0.2
"""The share of a round for its counts."""

MAX_ROUNDS = 7
BEARABLE_NOISE = 0.45
"""There are as many rounds as leave the noise in a centre below this share of a row's length."""

MAX_RANDOM_STATE = 2**63 - 1

TRIES = 32
"""Of the starting points: the draw whose two closest points lie farthest apart."""


@dataclass(eq=False, repr=False)
class KMeans(ClusterMixin, TransformerMixin, Learner):
    """k-means clustering.

    After a fit there are centres, and no labels of the fitted rows: these would tell about each of
    them. ``predict`` gives labels to whoever has the rows.

    Parameters
    ----------
    n_clusters
        How many clusters.
    epsilon, delta
        What a fit may cost; with a delta the noise is Gaussian, which is far less in many columns.
    bounds
        Public bounds of the features, ``(lower, upper)``: a number or one per column for each.
    max_iter
        How many rounds; by default as many as the noise bears, up to 7.
    row_norm
        A row, scaled so that each feature lies between -1 and 1, is shortened to this length about
        the mean of all rows; by default 0.6 times the root of the number of columns where these are
        more than 8, else nothing is.
    random_state
        A seed for the starting points, which are drawn without a look at the rows; never for noise.
    ledger, noise
        As for :class:`understudy.learners.GaussianNB`.

    Examples
    --------
    >>> import numpy as np
    >>> from understudy.learners import KMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[-5, 0], [5, 0]], 1000, axis=0) + rng.normal(size=(2000, 2))
    >>> model = KMeans(2, epsilon=1.0, bounds=(-10, 10)).fit(X)
    >>> model.cluster_centers_.shape
    (2, 2)
    """

    n_clusters: int = 8
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 0.0
    bounds: Any = None
    max_iter: int | None = None
    row_norm: float | None = None
    random_state: int | None = None

    def _check_parameters(self) -> None:
        _check_whole("n_clusters", self.n_clusters, 1, 10_000)
        if self.max_iter is not None:
            _check_whole("max_iter", self.max_iter, 1, 1_000)
        if self.random_state is not None:
            _check_whole("random_state", self.random_state, 0, MAX_RANDOM_STATE)
        check_row_norm(self.row_norm)

    def _design_of_arrays(self, names: Sequence[str]) -> Design:
        return Design.from_bounds(names, self.bounds)

    def _check_design(self, design: Design) -> None:
        super()._check_design(design)
        if self.n_clusters * len(design) > MAX_SUMS:
            raise InputError(
                f"{self.n_clusters:,} clusters of {len(design):,} features are more than "
                f"{MAX_SUMS:,} sums; take fewer clusters or columns."
            )

    def _learn(self, asked: Asked) -> None:
        first, rest = asked.budget.split(ROW_COUNT_SHARE, 1 - ROW_COUNT_SHARE)
        lloyd = _Lloyd(asked, count_rows(asked, asked.design, first), self.row_norm)
        rest = lloyd.find_centre(rest)
        rounds = self.max_iter or lloyd.bearable_rounds(self.n_clusters, rest)
        rng = np.random.default_rng(self.random_state)
        centres = lloyd.start(self.n_clusters, rng)
        for price in rest.equally(rounds):
            centres = lloyd.move(centres, price)
        self.n_iter_ = rounds
        self.centres_ = centres  # scaled

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"centres_": (self.n_clusters, len(self.design_))}

    def _complete(self) -> None:
        self.cluster_centers_ = self.centres_ * self.design_.units + self.design_.middles

    def predict(self, X: Any) -> NDArray[np.int32]:  # noqa: N803
        """The nearest centre of each row, where every feature counts by its bounds."""
        return self.transform(X).argmin(axis=1).astype(np.int32)

    def transform(self, X: Any) -> Matrix:  # noqa: N803
        """The distance of each row from each centre, of scaled features."""
        scaled = self._scale(X)
        apart = [np.linalg.norm(scaled - centre, axis=1) for centre in self.centres_]
        return np.column_stack(apart)

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int32]:  # noqa: N803
        """Fit, and label the fitted rows: the labels are not private, the centres are."""
        return self.fit(X).predict(X)


class _Lloyd:
    """The rounds of one fit, on scaled features."""

    def __init__(self, asked: Asked, rows: float, row_norm: float | None) -> None:
        self._asked = asked
        self._design = asked.design
        self._rows = rows
        self._ball = row_norm
        if row_norm is None and len(self._design.columns) > MAX_BOX_COLUMNS:
            self._ball = BALL * self._design.longest(2)
        self._centre = np.zeros(len(self._design))

    def find_centre(self, budget: Budget) -> Budget:
        """Find where rows that are shortened are centred; the rest of the budget."""
        if self._ball is None:
            return budget
        centre = release_centre(self._asked, self._design, budget, self._rows, self._ball)
        self._centre = centre.place
        return centre.left

    @property
    def _reach(self) -> float:
        """The largest length of a row."""
        return self._ball or self._design.longest(2)

    def bearable_rounds(self, clusters: int, budget: Budget) -> int:
        """As many as leave the noise in a centre bearable, were all clusters equally large."""
        columns, amount = len(self._design), (1 - ROUND_COUNTS_SHARE) * budget.amount
        per_cluster = self._rows / clusters
        for rounds in range(MAX_ROUNDS, 1, -1):
            if budget.currency == "epsilon":
                spread = math.sqrt(self._design.longest(1)) * self._reach
                deviation = math.sqrt(2) * spread * rounds / amount
            else:
                deviation = self._reach * math.sqrt(rounds / (2 * amount))
            if deviation * math.sqrt(columns) / per_cluster <= BEARABLE_NOISE * self._reach:
                return rounds
        return 1

    def start(self, clusters: int, rng: np.random.Generator) -> Matrix:
        """Points well apart from each other: the best of some draws."""
        draws = [self._draw(clusters, rng) for _ in range(TRIES)]
        return max(draws, key=_closest)

    def _draw(self, clusters: int, rng: np.random.Generator) -> Matrix:
        columns = len(self._design)
        if self._ball is None:
            return rng.uniform(-1.0, 1.0, (clusters, columns)) * 0.7
        directions = rng.normal(size=(clusters, columns))
        if clusters <= columns:
            directions = np.linalg.qr(directions.T)[0].T
        lengths = np.linalg.norm(directions, axis=1, keepdims=True)
        points: Matrix = self._centre + self._ball / 2 * directions / lengths
        return points

    def move(self, centres: Matrix, price: Budget) -> Matrix:
        """One round: each centre goes to the noisy mean of its rows, where it has any."""
        design = self._design
        points = centres * design.units + design.middles
        answer = self._asked.curator.sum(
            design.questions(self._centre),
            price,
            nearest=points.tolist(),
            ball=self._ball,
            missing="centre",
            shares={"counts": ROUND_COUNTS_SHARE, "sums": 1 - ROUND_COUNTS_SHARE},
        )
        assert answer.counts is not None
        assert answer.sums is not None
        middle = (answer.centres - design.middles) / design.units
        counts, least = answer.counts.values, 2 * float(answer.counts.deviation)
        means = answer.sums.values / design.units / np.maximum(counts, 1.0)[:, None] + middle
        found = np.where((counts > least)[:, None], means, centres)
        return np.clip(found, -1.0, 1.0)


def _closest(points: Matrix) -> float:
    """How far apart the two closest of some points are."""
    if len(points) < 2:
        return 0.0
    squares = (points**2).sum(axis=1)
    distances = squares[:, None] + squares[None] - 2 * points @ points.T
    np.fill_diagonal(distances, np.inf)
    return float(distances.min())


def _check_whole(name: str, value: Any, least: int, most: int) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        raise InputError(
            f"{name} must be a whole number from {least:,} to {most:,}, not {value!r}."
        )
