"""The steps of graphical models: compiled where there is much to do, plain elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.machine.plain_first import PlainFirst
from understudy.models.graphical import plain

Floats = NDArray[np.float64]


def elimination_steps(candidates: int, attributes: int) -> Any:
    """The module that eliminates this many attributes for this many candidates."""
    return _KERNELS.kernels_for(candidates * plain.elimination_seconds(attributes)) or plain


def sum_by_place(table: Floats, index: NDArray[np.int32], size: int) -> Floats:
    """The sum of the cells that fall into each place."""
    sums: Floats = _table_steps(table.size).sum_by_place(table, index, size)
    return sums


def scale_by_place(table: Floats, index: NDArray[np.int32], ratio: Floats) -> None:
    """Multiply every cell by the ratio of its place."""
    _table_steps(table.size).scale_by_place(table, index, ratio)


def _table_steps(cells: int) -> Any:
    return _KERNELS.kernels_for(plain.table_seconds(cells)) or plain


def _load_kernels() -> Any:
    from understudy.models.graphical import kernels

    return kernels


_KERNELS = PlainFirst(_load_kernels, Path(__file__).with_name("kernels.py"), compiling=2.0)
