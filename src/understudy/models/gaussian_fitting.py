"""Gaussians fitted to noisy moments: post-processing of released values.

Noise makes a covariance of few rows useless long before it makes the mean of all covariances so.
So the covariance of a cell is drawn towards what all cells share, by as much as its own noise
explains of the difference; then the nearest matrix that is a covariance takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis
from understudy.data.schema import Attribute, Quantity
from understudy.models.gaussians import Floats, Gaussians
from understudy.models.network import Node
from understudy.models.parameters import project_counts

MIN_CELL_ROWS = 1.0
"""A cell counts at least this many rows, so that noise in a count divides nothing by 0."""


def repair_covariance(matrix: Floats, least: float = 0.0) -> Floats:
    """The nearest covariance with the same trace: eigenvalues are clipped at ``least``, and what
    that adds is taken off the others alike, as far as they have it.

    Where eigenvalues are clipped and no more, all the noise above 0 stays and the variances grow.
    With eigenvalues of 0, some columns would be sums of others to the last digit, which no
    regression survives: so what noise hides is not taken for 0.

    Examples
    --------
    >>> repair_covariance(np.array([[2.0, 0.0], [0.0, -1.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    total = max(float(values.sum()) - least * len(values), 0.0)
    repaired = least + project_counts(values - least, total)
    return np.asarray((vectors * repaired) @ vectors.T)


def factor_covariance(matrix: Floats) -> Floats:
    """A lower triangular F with F F' equal to a covariance, which may be singular."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    upper = np.linalg.qr(root.T, mode="r")
    signs = np.where(np.diag(upper) < 0, -1.0, 1.0)
    return np.ascontiguousarray((signs[:, None] * upper).T)


def shrink_means(means: Floats, counts: Floats, deviation: Floats) -> Floats:
    """Means of cells drawn towards their mean, by as much as noise explains of the differences.

    The differences are taken apart into directions (singular vectors). Noise alone gives each a
    square of about its variance times the longer side of the matrix; what a direction has beyond
    that is kept.

    Parameters
    ----------
    means
        A line for each cell.
    counts
        The rows of each cell.
    deviation
        The standard deviation of the noise in the sum of each coordinate.
    """
    if len(means) < 2:
        return means
    rows = np.maximum(counts, MIN_CELL_ROWS)[:, None]
    overall = (means * rows).sum(axis=0) / rows.sum()
    left, sizes, right = np.linalg.svd(np.sqrt(rows) * (means - overall), full_matrices=False)
    noise = float((deviation**2 / rows).mean()) * max(means.shape)
    kept = np.maximum(1 - noise / np.maximum(sizes**2, 1e-300), 0.0)
    return np.asarray(overall + (left * (sizes * kept)) @ right / np.sqrt(rows))


def shrink_covariances(covariances: Floats, noise: Floats, shared: Floats) -> Floats:
    """Covariances of cells drawn towards the one that they share.

    Parameters
    ----------
    covariances
        A matrix for each cell.
    noise
        The variance of the noise in an entry of each.
    shared
        What they are drawn to.
    """
    found = np.empty_like(covariances)
    for place, matrix in enumerate(covariances):
        difference = float(((matrix - shared) ** 2).mean())
        share = min(float(noise[place]) / max(difference, 1e-300), 1.0)
        found[place] = (1 - share) * matrix + share * shared
    return found


def mix_by_noise(one: Floats, one_noise: float, other: Floats, other_noise: float) -> Floats:
    """Two estimates of one thing, weighted by how sure they are (variances of their noise)."""
    total = one_noise + other_noise
    if total <= 0:
        return one
    return np.asarray((one * other_noise + other * one_noise) / total)


def correlations(covariance: Floats) -> Floats:
    """The correlations of a noisy covariance, between -1 and 1; 0 where a variance is not above
    0.
    """
    variances = np.diag(covariance)
    known = variances > 0
    scale = np.where(known, 1 / np.sqrt(np.where(known, variances, 1.0)), 0.0)
    found = np.clip(covariance * scale[:, None] * scale[None, :], -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


def link_blocks(correlation: Floats, threshold: float) -> tuple[tuple[int, ...], ...]:
    """Blocks of columns by average linkage: the two blocks whose columns correlate most on average
    (in size) are joined, as long as that is above the threshold.

    Examples
    --------
    >>> link_blocks(np.array([[1, 0.9, 0], [0.9, 1, 0.1], [0, 0.1, 1]]), 0.5)
    ((0, 1), (2,))
    """
    blocks: list[tuple[int, ...]] = [(place,) for place in range(len(correlation))]
    near = np.abs(correlation)
    while len(blocks) > 1:
        pairs = [
            (float(near[np.ix_(one, other)].mean()), first, second)
            for first, one in enumerate(blocks)
            for second, other in enumerate(blocks[:first])
        ]
        closest, first, second = max(pairs)
        if closest <= threshold:
            break
        joined = tuple(sorted(blocks[first] + blocks[second]))
        kept = [block for place, block in enumerate(blocks) if place not in (first, second)]
        blocks = [*kept, joined]
    return tuple(sorted(blocks))


def block_mask(blocks: Sequence[Sequence[int]], size: int) -> NDArray[np.bool_]:
    """Which entries of a matrix lie inside a block."""
    mask = np.zeros((size, size), dtype=bool)
    for block in blocks:
        mask[np.ix_(block, block)] = True
    return mask


# ----------------------------------------------- what the network says of numeric columns


def column_nodes(
    gaussians: Gaussians, attributes: Sequence[Attribute], missing: Floats, noise: Floats
) -> list[Node]:
    """A node for each numeric column: how many rows of each code of the label fall into each bin,
    by the Gaussians.

    Parameters
    ----------
    gaussians
        The Gaussians.
    attributes
        The numeric columns, in the order of the Gaussians'.
    missing
        The share of missing cells: a line for each code of the label, a column for each of the
        columns.
    noise
        The standard deviation of the noise in a cell's sum of each column, in scaled units.
    """
    means, deviations = gaussians.column_means(), gaussians.column_deviations()
    nodes = []
    for place, attribute in enumerate(attributes):
        assert isinstance(attribute, Quantity)
        low, high = gaussians.lower[place], gaussians.upper[place]
        edges = np.array(attribute.edges[1:-1], dtype=np.float64) - half_step(attribute)
        scaled = 2 * (edges - low) / (high - low) - 1
        # What lies beyond the bounds is clipped to them.
        below = np.where(scaled <= -1, 0.0, np.where(scaled > 1, 1.0, np.nan))
        ends = _shares_below(scaled, below, means[:, place], deviations[:, place])
        shares = np.diff(np.column_stack([np.zeros(len(ends)), ends, np.ones(len(ends))]))
        counts = gaussians.weights @ np.maximum(shares, 0.0)
        if attribute.missing is not None:
            rows = gaussians.weights.sum(axis=1)
            counts *= (1 - missing[:, place])[:, None]
            counts = np.column_stack([counts, rows * missing[:, place]])
        parents: tuple[Axis, ...] = ()
        if gaussians.label is not None:
            parents = (Axis(gaussians.label),)
        else:
            counts = counts[0]
        deviation = _equivalent_deviation(scaled, float(noise[place]))
        nodes.append(Node(attribute.name, parents, counts, deviation))
    return nodes


def _equivalent_deviation(edges: Floats, noise: float) -> float:
    """The noise in each bin, were bins measured, at which the column's mean would be as uncertain
    as it is: independent noise t in bins at v_b has the deviation t sqrt(sum of (v_b - mean)^2) in
    the sum of all values.
    """
    ends = np.concatenate([[-1.0], np.clip(edges, -1.0, 1.0), [1.0]])
    middles = (ends[:-1] + ends[1:]) / 2
    spread = math.sqrt(float(((middles - middles.mean()) ** 2).sum()))
    if spread == 0:
        return noise
    return noise / spread


def half_step(attribute: Quantity) -> float:
    """Half the distance between two values of a column: numbers are rounded to the nearest."""
    if attribute.step is not None:
        return attribute.step / 2
    if attribute.whole:
        return 0.5
    return 10.0**-attribute.places / 2


def _shares_below(edges: Floats, clipped: Floats, means: Floats, deviations: Floats) -> Floats:
    """The share of each cell's Gaussian below each edge."""
    found = np.tile(clipped, (len(means), 1))
    for cell, (mean, deviation) in enumerate(zip(means, deviations, strict=True)):
        for place in np.flatnonzero(np.isnan(clipped)):
            distance = edges[place] - mean
            if deviation > 0:
                distance /= deviation * math.sqrt(2)
                found[cell, place] = (1 + math.erf(distance)) / 2
            else:
                found[cell, place] = float(distance > 0)
    return found
