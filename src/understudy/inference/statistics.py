"""What can be estimated: functions of a table that know how much each row weighs in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.tables import Column, Table
from understudy.errors import InputError

Statistic = Callable[[Table], float]
"""What is estimated, as a function of a table."""

Floats = NDArray[np.float64]

MAX_LOGISTIC_STEPS = 50


@dataclass(frozen=True, kw_only=True)
class ColumnStatistic:
    """A statistic of a few columns, with its *influence function*: by how much it changes, times
    the number of rows, for each row that is added. Among the rows themselves that has the mean 0.
    """

    columns: tuple[str, ...]
    value: Callable[[Table], float]
    influence: Callable[[Table], Floats]
    """For each row of a table; 0 for rows that are left out."""

    def __call__(self, table: Table) -> float:
        """The statistic."""
        return self.value(table)


def mean(column: str) -> ColumnStatistic:
    """The mean of a column of numbers; missing ones are left out."""

    def influence(table: Table) -> Floats:
        return _centre(_numbers(table, column))

    return ColumnStatistic(
        columns=(column,),
        value=lambda table: float(np.nanmean(_numbers(table, column))),
        influence=influence,
    )


def proportion(column: str, value: Any) -> ColumnStatistic:
    """The share of rows with a value."""

    def influence(table: Table) -> Floats:
        return _centre(_holds(table, column, value).astype(np.float64))

    return ColumnStatistic(
        columns=(column,),
        value=lambda table: float(_holds(table, column, value).mean()),
        influence=influence,
    )


def difference(column: str, by: str, values: tuple[Any, Any]) -> ColumnStatistic:
    """The mean of a column where ``by`` has the first value, less that where it has the second."""

    def statistic(table: Table) -> float:
        numbers = _numbers(table, column)
        first, second = (_mean_where(numbers, _holds(table, by, value)) for value in values)
        return first - second

    def influence(table: Table) -> Floats:
        numbers = _numbers(table, column)
        first, second = (
            _centre(np.where(_holds(table, by, value), numbers, np.nan)) for value in values
        )
        return first - second

    return ColumnStatistic(columns=(column, by), value=statistic, influence=influence)


def coefficient(
    target: str, predictors: Sequence[str], of: str, *, logistic: Any = None
) -> ColumnStatistic:
    """The coefficient of one predictor in a linear regression with a constant, or in a logistic
    one.

    Parameters
    ----------
    target, predictors
        Columns of numbers; rows that miss one are left out.
    of
        Which predictor.
    logistic
        For a logistic regression: the value of the target whose probability is explained.
    """
    if of not in predictors:
        raise InputError(f"{of!r} is none of the predictors {', '.join(map(repr, predictors))}.")
    place = 1 + list(predictors).index(of)

    def design_of(table: Table) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        inputs = [_numbers(table, name) for name in predictors]
        if logistic is None:
            wanted = _numbers(table, target)
        else:
            wanted = _holds(table, target, logistic).astype(np.float64)
        design = np.column_stack([np.ones(len(wanted)), *inputs])
        there = np.isfinite(design).all(axis=1) & np.isfinite(wanted)
        return design, wanted, there

    def solve(design: Floats, wanted: Floats) -> Floats:
        if logistic is None:
            return _least_squares(design, wanted)
        return _most_likely(design, wanted)

    def statistic(table: Table) -> float:
        design, wanted, there = design_of(table)
        return float(solve(design[there], wanted[there])[place])

    def influence(table: Table) -> Floats:
        """Of an estimate that solves sum x (y - f(x b)) = 0: A^-1 x (y - f(x b)), where A is the
        mean of x x' f'(x b).
        """
        design, wanted, there = design_of(table)
        inputs, outcome = design[there], wanted[there]
        expected = inputs @ solve(inputs, outcome)
        slopes = np.ones(len(expected))
        if logistic is not None:
            expected = 1 / (1 + np.exp(-np.clip(expected, -30, 30)))
            slopes = expected * (1 - expected)
        curvature = (inputs * slopes[:, None]).T @ inputs / len(wanted)
        direction = np.linalg.pinv(curvature)[place]
        found = np.zeros(len(wanted))
        found[there] = (inputs @ direction) * (outcome - expected)
        return found

    return ColumnStatistic(columns=(target, *predictors), value=statistic, influence=influence)


def _centre(numbers: Floats) -> Floats:
    """Influences on the mean of those that are there."""
    there = np.isfinite(numbers)
    found = np.zeros(len(numbers))
    if there.any():
        found[there] = (numbers[there] - numbers[there].mean()) / there.mean()
    return found


def _least_squares(design: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.lstsq(design, wanted, rcond=None)[0], dtype=np.float64)


def _most_likely(design: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logistic regression by Newton's method, on scaled predictors, with a trace of a penalty so
    that it ends where rows can be parted.
    """
    scale = np.abs(design).max(axis=0)
    scaled = design / np.where(scale > 0, scale, 1)
    weights: NDArray[Any] = np.zeros(scaled.shape[1])
    penalty = 1e-6 * len(wanted) * np.eye(len(weights))
    for _ in range(MAX_LOGISTIC_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(scaled @ weights, -30, 30)))
        slope = scaled.T @ (wanted - chance) - penalty @ weights
        curvature = (scaled * (chance * (1 - chance))[:, None]).T @ scaled + penalty
        step = np.linalg.solve(curvature, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-9:
            break
    found: NDArray[np.float64] = weights / np.where(scale > 0, scale, 1)
    return found


def _numbers(table: Table, name: str) -> NDArray[np.float64]:
    column = find_column(table, name)
    if column.kind == "text":
        raise InputError(f"The column {name!r} holds texts, not numbers.")
    numbers = np.asarray(column.values, dtype=np.float64).copy()
    if column.missing is not None:
        numbers[column.missing != 0] = np.nan
    return numbers


def _holds(table: Table, name: str, value: Any) -> NDArray[np.bool_]:
    column = find_column(table, name)
    if column.kind != "text":
        return np.asarray(column.values == value) & _present(column)
    if value not in column.words:
        return np.zeros(len(column.values), dtype=np.bool_)
    return np.asarray(column.values == column.words.index(value)) & _present(column)


def _present(column: Column) -> NDArray[np.bool_]:
    if column.missing is None:
        return np.ones(len(column.values), dtype=np.bool_)
    return np.asarray(column.missing == 0)


def _mean_where(numbers: NDArray[np.float64], rows: NDArray[np.bool_]) -> float:
    if not (rows & np.isfinite(numbers)).any():
        return math.nan
    return float(np.nanmean(numbers[rows]))


def find_column(table: Table, name: str) -> Column:
    """A column by its name, or a sentence that says which there are."""
    if name not in table.columns:
        raise InputError(f"There is no column {name!r}; known are {', '.join(table.columns)}.")
    return table.columns[name]
