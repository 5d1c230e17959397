"""K-means: how well centres that were found in the synthetic table serve the real rows."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Quantity
from understudy.evaluation.comparison import Comparison, Side
from understudy.evaluation.learning import features_of, flag_count
from understudy.evaluation.model_results import Clustering

CLUSTERS = 2
CLUSTERING_STARTS = 10
MAX_CLUSTERING_ROWS = 20_000


def clustering(tables: Comparison, clusters: int = CLUSTERS, seed: int = 0) -> Clustering:
    """Cluster both tables and try both sets of centres on the real rows.

    Numbers are scaled to [0, 1] by the range of the real ones, and rows of different category are
    at squared distance 1, so that every column can weigh alike. At most ``MAX_CLUSTERING_ROWS``
    rows of each table are taken, a uniform sample.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    rng = np.random.default_rng(seed)
    ends = _ends(tables.real)
    real, synthetic = (_points(side, ends, rng) for side in tables)
    costs, groups = [], []
    for points in (real, synthetic):
        count = min(clusters, len(np.unique(points, axis=0)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = KMeans(count, n_init=CLUSTERING_STARTS, random_state=seed).fit(points)
        distances = found.transform(real)
        groups.append(distances.argmin(axis=1))
        costs.append(float((distances.min(axis=1) ** 2).mean()))
    return Clustering(
        clusters=clusters,
        cost_one=float(((real - real.mean(axis=0)) ** 2).sum(axis=1).mean()),
        cost_real=costs[0],
        cost_synthetic=costs[1],
        rand=float(adjusted_rand_score(*groups)),
        information=float(normalized_mutual_info_score(*groups)),
    )


Floats = NDArray[np.float64]


def _ends(real: Side) -> tuple[Floats, Floats]:
    """The least and the largest real value of each quantity; 0 and 1 where there is none."""
    attributes = real.coded.schema.modelled
    quantities = [attribute for attribute in attributes if isinstance(attribute, Quantity)]
    held = [real.numbers(quantity) for quantity in quantities]
    held = [numbers[~np.isnan(numbers)] for numbers in held]
    low = np.array([numbers.min() if len(numbers) else 0.0 for numbers in held])
    high = np.array([numbers.max() if len(numbers) else 1.0 for numbers in held])
    return low, np.where(high > low, high, low + 1)


def _points(
    side: Side, ends: tuple[Floats, Floats], rng: np.random.Generator
) -> NDArray[np.float32]:
    attributes = side.coded.schema.modelled
    numbers, flags = features_of(side, attributes)
    low, high = ends
    with np.errstate(over="ignore"):
        scaled = np.nan_to_num(np.clip((numbers - low) / (high - low), 0.0, 1.0), nan=0.5)
    # A category of two values has one column of flags, one of more values two that differ.
    weights = np.array([weight for attribute in attributes for weight in _flag_weights(attribute)])
    points = np.hstack([scaled, flags * weights]).astype(np.float32)
    if not points.shape[1]:  # columns that never vary: all rows lie in one point
        points = np.zeros((side.rows, 1), np.float32)
    if side.rows <= MAX_CLUSTERING_ROWS:
        return points
    return points[rng.choice(side.rows, MAX_CLUSTERING_ROWS, replace=False)]


def _flag_weights(attribute: Attribute) -> list[float]:
    count = flag_count(attribute)
    if count < 2:
        return [1.0] * count
    return [math.sqrt(0.5)] * count
