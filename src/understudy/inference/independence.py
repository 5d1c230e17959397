"""Tests of independence that know how the rows were made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from understudy.data.tables import Table
from understudy.errors import InputError
from understudy.evaluation.inference import chi_squared_of, spearman_of
from understudy.inference.repetitions import observe, repeat_release
from understudy.inference.statistics import find_column
from understudy.models.model import Model

Test = Literal["pearson", "spearman"]


@dataclass(frozen=True, kw_only=True)
class Independence:
    """A test of independence: its statistic on synthetic rows, and how likely one as large is where
    the columns are independent.
    """

    statistic: float
    p: float


def independence_test(
    model: Model,
    one: str,
    other: str,
    *,
    test: Test = "pearson",
    repetitions: int = 99,
    seed: int = 0,
) -> Independence:
    """Test whether two columns depend on each other among the people behind the release.

    The release is repeated on rows in which one column is shuffled, so that nothing depends on it.
    The p-value is the share of repetitions, and of the release itself, whose statistic is as large.

    Parameters
    ----------
    model
        The released model.
    one, other
        The columns.
    test
        "pearson" (chi-squared, values as categories) or "spearman" (rank correlation, numbers).
    repetitions
        How often the release is repeated; the p-value is a multiple of 1 / (repetitions + 1).
    seed
        Makes the test repeatable.
    """
    if test not in get_args(Test):
        raise InputError(f"test must be one of {', '.join(get_args(Test))}, not {test!r}.")
    statistic = {"pearson": chi_squared_of, "spearman": spearman_of}[test]
    found = abs(statistic(observe(model, seed=seed), one, other))
    repeated = repeat_release(model, repetitions, seed=seed, change=shuffle_column(one))
    null = [abs(statistic(table, one, other)) for table in repeated]
    larger = sum(value >= found for value in null)
    return Independence(statistic=found, p=(1 + larger) / (1 + repetitions))


def shuffle_column(name: str) -> Callable[[Table, np.random.Generator], Table]:
    """What makes a column independent of all others, for :func:`repeat_release`."""

    def shuffle(table: Table, rng: np.random.Generator) -> Table:
        order = rng.permutation(table.rows)
        columns = {**table.columns, name: find_column(table, name).take(order)}
        return replace(table, columns=columns)

    return shuffle
