"""How columns depend on each other, two by two: mutual information of all, correlations of those
that have an order.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Marginal, marginal
from understudy.data.schema import Attribute, Quantity
from understudy.evaluation.comparison import Comparison, Side, is_ordered
from understudy.evaluation.result import Pairs
from understudy.privacy.scores import SCORES


def pairs(tables: Comparison) -> Pairs:
    """Mutual information and correlation matrices of both tables."""
    ordered = list_ranked(tables)
    correlations = [correlation(numbers_of(side, ordered)) for side in tables]
    return Pairs(
        tables.schema.names,
        information(tables.real, tables.schema.names),
        information(tables.synthetic, tables.schema.names),
        tuple(attribute.name for attribute in ordered),
        *correlations,
    )


def information(side: Side, names: tuple[str, ...]) -> NDArray[np.float64]:
    """Mutual information of all pairs in bits, entropies on the diagonal; "missing" is a value like
    any other.
    """
    matrix = np.zeros((len(names), len(names)))
    places = list(itertools.combinations(range(len(names)), 2))
    if places:
        bits = mutual_information(side, [marginal(names[i], names[j]) for i, j in places])
        for (i, j), found in zip(places, bits, strict=True):
            matrix[i, j] = matrix[j, i] = found
    for i, name in enumerate(names):
        shares = np.bincount(side.codes(name)) / side.rows
        held = shares[shares > 0]
        matrix[i, i] = abs(np.sum(held * np.log2(held)))
    return matrix


def mutual_information(side: Side, marginals: list[Marginal]) -> NDArray[np.float64]:
    """Mutual information, in bits, of the first axis of each marginal and its other ones."""
    return np.maximum(SCORES["I"].evaluate(side.counter, marginals) / side.rows, 0.0)


def list_ranked(tables: Comparison) -> list[Attribute]:
    """The columns that have an order; two values always have one."""
    return [
        attribute
        for attribute in tables.schema.modelled
        if is_ordered(attribute) or attribute.values_size == 2
    ]


def numbers_of(side: Side, attributes: list[Attribute]) -> NDArray[np.float64]:
    """One column each: values of quantities, codes of categories, ``nan`` where missing."""
    numbers = np.empty((side.rows, len(attributes)))
    for place, attribute in enumerate(attributes):
        if isinstance(attribute, Quantity):
            numbers[:, place] = side.numbers(attribute)
        else:
            codes = side.codes(attribute.name)
            numbers[:, place] = np.where(codes < attribute.values_size, codes, np.nan)
    return numbers


def correlation(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson's correlations, each over the rows where both values are there; ``nan`` where one is
    constant.
    """
    there = ~np.isnan(numbers)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        present = there.astype(np.float64)
        middle = np.where(there, numbers, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
        centred = np.where(there, numbers - middle, 0.0)
        rows = present.T @ present
        # Mean of column i over the rows where column j is there too.
        means = centred.T @ present / rows
        squares = (centred**2).T @ present / rows
        variances = np.maximum(squares - means**2, 0.0)
        variances[variances <= 1e-12 * squares.max(initial=0, where=np.isfinite(squares))] = np.nan
        covariance = centred.T @ centred / rows - means * means.T
        return np.clip(covariance / np.sqrt(variances * variances.T), -1.0, 1.0)
