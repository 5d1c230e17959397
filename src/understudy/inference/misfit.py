"""What a model may have lost of a statistic: dependences that no measured table told.

A statistic moves, to first order, by the mean of its influence function over the rows. That is a
function of the statistic's columns, as a count with conditions is, so the model's own errors
(:mod:`understudy.models.query.intervals`) say by how much rows and model may differ in it. Noise is
not counted here: repetitions of the release have it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from understudy.data.encoding import encode
from understudy.inference.repetitions import observe
from understudy.inference.statistics import ColumnStatistic
from understudy.models.model import Model
from understudy.models.query.intervals import Parts

MAX_STATISTIC_CELLS = 100_000
"""Of the table of a statistic's columns; of a larger one nothing is said."""


def misfit_variance(model: Model, statistic: object, seed: int = 0) -> float:
    """The variance that misfit adds to a statistic; 0 for one that does not tell its columns.

    Parameters
    ----------
    model
        The released model.
    statistic
        What is estimated.
    seed
        Of the rows that influences are computed on.
    """
    if not isinstance(statistic, ColumnStatistic) or not model.rows:
        return 0.0
    modelled = {attribute.name: attribute.size for attribute in model.schema.modelled}
    names = [name for name in dict.fromkeys(statistic.columns) if modelled.get(name, 1) > 1]
    sizes = [modelled[name] for name in names]
    if len(names) < 2 or math.prod(sizes) > MAX_STATISTIC_CELLS:
        return 0.0
    influences, shares = _cell_influences(model, statistic, names, sizes, seed)
    told = model.errors.by_effects(influences, [np.eye(size) for size in sizes], names)
    if told is None:
        drawn = model.errors.misfit(influences, shares, names)
        told = Parts(noise=0.0, misfit=model.rows * drawn)
    scaled = model.errors.scale(replace(told, known=0.0).times(1 / model.rows))
    return scaled.misfit


def find_unmeasured(model: Model, statistic: object) -> tuple[tuple[str, str], ...]:
    """Pairs of a statistic's columns that no measured table holds together."""
    if not isinstance(statistic, ColumnStatistic):
        return ()
    modelled = {attribute.name for attribute in model.schema.modelled}
    names = [name for name in dict.fromkeys(statistic.columns) if name in modelled]
    pairs = itertools.combinations(names, 2)
    return tuple(pair for pair in pairs if not model.errors.is_measured(pair))


def _cell_influences(
    model: Model, statistic: ColumnStatistic, names: list[str], sizes: list[int], seed: int
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """The mean influence of rows in each cell, and how rows share the codes of each column."""
    table = observe(model, seed=seed)
    codes = encode(table, model.schema).codes
    places = np.ravel_multi_index([np.asarray(codes[name]) for name in names], sizes)
    cells = math.prod(sizes)
    sums = np.bincount(places, weights=statistic.influence(table), minlength=cells)
    counts = np.bincount(places, minlength=cells)
    means = np.divide(sums, counts, out=np.zeros(cells), where=counts > 0)
    shares = [
        np.bincount(np.asarray(codes[name]), minlength=size) / table.rows
        for name, size in zip(names, sizes, strict=True)
    ]
    return means.reshape(sizes), shares
