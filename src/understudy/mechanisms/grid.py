"""Numbers on a grid: noise is drawn in whole numbers, so what it is added to must be whole, too.

A float is a rational number, so the division by the grid's step is exact here, and so is rounding:
no digit is lost on the way and none can tell anything.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.mechanisms.base import sensitivity_as_fraction
from understudy.privacy.mechanisms import SCORE_GRID

Integers = NDArray[np.int64]

FARTHEST_POINT = 1 << 60
"""Values farther from 0 than this many steps are moved there: noise can still be added to them."""


def grid_step(sensitivity: float, size: int = 1) -> Fraction:
    """The step of the grid for ``size`` numbers: small against the sensitivity."""
    return sensitivity_as_fraction(sensitivity) / (SCORE_GRID * size)


def count_moved_steps(size: int = 1) -> int:
    """How many steps, in all, numbers of an L1 sensitivity of SCORE_GRID * size steps can move.

    Each number may move by one step more by rounding and by another through errors of the
    computation, as long as these stay below half a step, a two-millionth of the sensitivity.
    """
    return (SCORE_GRID + 2) * size


def put_on_grid(value: Any, step: Fraction, size: int = 1) -> Integers:
    """How many steps each number is from 0, rounded to the nearest; moved in from beyond
    FARTHEST, which brings no two numbers farther apart.
    """
    numbers = check_numbers(value, size)
    steps = [math.floor(number / step + Fraction(1, 2)) for number in numbers]
    return np.array(
        [min(max(each, -FARTHEST_POINT), FARTHEST_POINT) for each in steps], dtype=np.int64
    )


def take_off_grid(steps: Integers, step: Fraction) -> NDArray[np.float64]:
    """The numbers this many steps from 0, as the nearest floats."""
    return np.array([float(int(each) * step) for each in steps], dtype=np.float64)


def check_numbers(value: Any, size: int = 1) -> list[Fraction]:
    """The numbers of a value, exactly, if they are numbers and as many as they should be."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf" or array.size != size or array.ndim > 1:
        raise InputError(
            f"This mechanism releases {size:,} {'number' if size == 1 else 'numbers'} (its size), "
            f"but was given {array.size:,} {_kind_of(array)}."
        )
    if not np.isfinite(array.astype(np.float64)).all():
        raise InputError(
            "A value is not a finite number; a function that may return such has no sensitivity: "
            "clip its inputs to public bounds."
        )
    return [Fraction(number) for number in array.ravel().tolist()]


def check_counts(value: Any) -> Integers:
    """Whole numbers of any shape, if they are whole."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu" or not array.size:
        raise InputError(
            f"Counts are whole numbers of an integer type, but {array.size:,} {_kind_of(array)} "
            "came; for other numbers take Laplace, Gaussian or Vector."
        )
    counts: Integers = np.clip(array, -FARTHEST_POINT, FARTHEST_POINT).astype(np.int64)
    return counts


def _kind_of(array: NDArray[Any]) -> str:
    """What an array holds, for a sentence."""
    kinds = {"i": "whole number", "u": "whole number", "f": "decimal number", "b": "truth value"}
    kind = kinds.get(array.dtype.kind, "text or other object")
    if array.size == 1:
        return kind
    return f"{kind}s"
