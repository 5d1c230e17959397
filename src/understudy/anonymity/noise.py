"""Noise of a public distribution on single cells, and what can be told of the column afterwards.

Each cell keeps a noisy version of its own value. That is not differential privacy of a release:
noise that hides one value well must be as wide as the whole range, and then little is left. What
survives is the distribution, which :func:`reconstruct_distribution` estimates from the noisy cells
(Agrawal and Srikant 2000; Agrawal and Aggarwal 2001).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.suppression import check_names
from understudy.data.columns import Column, Table
from understudy.data.frames import Frame, as_table
from understudy.errors import InputError

Floats = NDArray[np.float64]
NoiseForm = Literal["gaussian", "uniform"]

MAX_NOISE_ROUNDS = 500
CLOSE_ENOUGH = 1e-6
"""Rounds end when no share changes by more."""


def add_noise(
    table: Frame, name: str, width: float, *, shape: NoiseForm = "gaussian", seed: int | None = None
) -> Table:
    """Add noise to each number of a column.

    Parameters
    ----------
    table
        A table, a frame or the path of a file.
    name
        The column.
    width
        The standard deviation of Gaussian noise; half the width of uniform noise.
    shape
        "gaussian" or "uniform".
    seed
        To repeat it; not for data that is published.
    """
    read, numbers = _read_numbers(table, name)
    return _with_numbers(read, name, numbers + _draw(len(numbers), width, shape, seed))


def multiply_noise(
    table: Frame, name: str, width: float, *, shape: NoiseForm = "gaussian", seed: int | None = None
) -> Table:
    """Multiply each number of a column by 1 plus noise; see :func:`add_noise`."""
    read, numbers = _read_numbers(table, name)
    return _with_numbers(read, name, numbers * (1 + _draw(len(numbers), width, shape, seed)))


def reconstruct_distribution(
    noisy: Floats, edges: Floats, width: float, *, shape: NoiseForm = "gaussian"
) -> Floats:
    """The shares of the original values in some bins, from values to which noise was added.

    Expectation maximisation over the bins, which finds the most likely shares.

    Parameters
    ----------
    noisy
        The values with noise.
    edges
        The edges of the bins, public.
    width, shape
        The noise, public.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ages = np.where(rng.random(20_000) < 0.7, 20.5, 60.5)
    >>> noisy = ages + rng.normal(0, 10, len(ages))
    >>> reconstruct_distribution(noisy, np.array([0.0, 40.0, 80.0]), 10.0).round(1)
    array([0.7, 0.3])
    """
    noisy = np.asarray(noisy, dtype=np.float64)
    edges = np.asarray(edges, dtype=np.float64)
    if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise InputError("The edges of bins must rise, and there must be at least two.")
    _check_noise(width, shape)
    # The likelihood of a noisy value if the original lay anywhere in a bin with equal chance.
    likelihood = np.diff(_cumulative(noisy[:, None] - edges[None, ::-1], width, shape), axis=1)
    likelihood = np.maximum(likelihood[:, ::-1] / np.diff(edges), 1e-300)
    shares = np.full(len(edges) - 1, 1 / (len(edges) - 1))
    for _ in range(MAX_NOISE_ROUNDS):
        joint = likelihood * shares
        improved = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        done = np.abs(improved - shares).max() < CLOSE_ENOUGH
        shares = improved
        if done:
            break
    return shares


def _cumulative(points: Floats, width: float, shape: NoiseForm) -> Floats:
    """The distribution function of the noise."""
    if shape == "uniform":
        return np.clip((points + width) / (2 * width), 0.0, 1.0)
    from scipy.special import ndtr

    return np.asarray(ndtr(points / width))


def _draw(count: int, width: float, shape: NoiseForm, seed: int | None) -> Floats:
    _check_noise(width, shape)
    rng = np.random.default_rng(seed)
    if shape == "uniform":
        return rng.uniform(-width, width, count)
    return rng.normal(0.0, width, count)


def _check_noise(width: float, shape: str) -> None:
    if shape not in ("gaussian", "uniform"):
        raise InputError(f"The shape {shape!r} is unknown; use gaussian or uniform.")
    if not (np.isfinite(width) and width > 0):
        raise InputError(f"The noise must have a width above 0, not {width!r}.")


def _read_numbers(table: Frame, name: str) -> tuple[Table, Floats]:
    read, _ = as_table(table)
    check_names(read, [name])
    column = read.columns[name]
    if column.kind not in ("integer", "real"):
        raise InputError(f"The column {name!r} holds no numbers, so no noise can be added to it.")
    return read, column.values.astype(np.float64)


def _with_numbers(table: Table, name: str, numbers: Floats) -> Table:
    """The table with other numbers; a column of integers stays one."""
    old = table.columns[name]
    if old.kind == "integer":
        column = Column("integer", np.rint(numbers).astype(np.int64), missing=old.missing)
    else:
        column = Column("real", numbers, missing=old.missing)
    return replace(table, columns={**table.columns, name: replace(column, mark=old.mark)})
