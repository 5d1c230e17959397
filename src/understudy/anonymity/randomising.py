"""Post-randomisation (PRAM): each category becomes another one by a public matrix of chances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.hierarchies import MISSING_LABEL
from understudy.anonymity.microdata import read_microdata
from understudy.anonymity.suppression import check_names
from understudy.data.columns import Column, Table
from understudy.data.frames import Frame, as_table
from understudy.errors import InputError

Floats = NDArray[np.float64]


def post_randomise(
    table: Frame, name: str, chances: Floats | float, *, seed: int | None = None
) -> tuple[Table, Floats]:
    """Change the values of a column by chance; gives the table and the matrix that was used.

    Parameters
    ----------
    table
        A table, a frame or the path of a file.
    name
        The column.
    chances
        One line per distinct value in sorted order (missing last): the chances that it becomes each
        of them. Or one number: the chance that a value stays; else it is drawn again from the
        column's own distribution, so that frequencies are kept on average (invariant PRAM).
    seed
        To repeat it; not for data that is published.

    Notes
    -----
    With one number the matrix is made from the private frequencies, and is as private as the table:
    publish it only where that may be told.
    """
    read, _ = as_table(table)
    check_names(read, [name])
    values = read_microdata(read, (name,))[name]
    matrix = _make_matrix(chances, values.shares)
    rng = np.random.default_rng(seed)
    limits = np.cumsum(matrix, axis=1)
    limits[:, -1] = 1.0
    drawn = rng.random(read.rows)
    places = (drawn[:, None] >= limits[values.codes]).sum(axis=1)
    missing = None
    if values.names[-1] == MISSING_LABEL:
        missing = (places == values.size - 1).astype(np.uint8)
    column = Column("text", places, values.names, missing, read.columns[name].mark)
    return replace(read, columns={**read.columns, name: column}), matrix


def _make_matrix(chances: Floats | float, shares: Floats) -> Floats:
    size = len(shares)
    if isinstance(chances, int | float):
        if not 0 <= chances <= 1:
            raise InputError(f"The chance to stay must be from 0 to 1, not {chances!r}.")
        return chances * np.eye(size) + (1 - chances) * np.tile(shares, (size, 1))
    matrix = np.asarray(chances, dtype=np.float64)
    if matrix.shape != (size, size):
        raise InputError(
            f"The column has {size} values, so the chances must be {size} lines of {size}, not "
            f"{' x '.join(map(str, matrix.shape))}."
        )
    if not (matrix >= 0).all() or not np.allclose(matrix.sum(axis=1), 1):
        raise InputError("Chances must not be negative, and those of each line must sum to 1.")
    return matrix
