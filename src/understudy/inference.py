"""Inference from synthetic rows that knows how they were made.

An interval or a p-value that treats synthetic rows as real ones knows by what chance people came
into a table. It does not know the noise of the release, nor what the method did with it. Here the
whole way is repeated (a *parametric bootstrap*): rows are drawn from the released model as if they
were the real ones, the same method is run on them with the same budget, and rows are drawn from
what it learned. How an estimate scatters in these repetitions is how it scatters about the truth.
All of it is post-processing of the model: it costs nothing.

It assumes that the method does to the true distribution about what it does to the model's. What the
model has lost for good, such as a dependence that the noise hid, no repetition brings back: there
intervals are about the model.

>>> from understudy import inference
>>> inference.estimate(model, inference.mean("age"))                    # doctest: +SKIP
>>> inference.independence_test(model, "smoker", "sex").p               # doctest: +SKIP
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.evaluation.inference import chi_squared_of, spearman_of
from understudy.models.model import Model
from understudy.privacy.budget import epsilon_of
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.registry import find_method

Statistic = Callable[[Table], float]
"""What is estimated, as a function of a table."""

Test = Literal["pearson", "spearman"]

MAX_LOGISTIC_STEPS = 50

_ASKED_BY_METHODS = ("table of", "choice among", "draws", "rows drawn")
"""How the questions of methods begin, in a ledger; the others are about the domain."""


# --------------------------------------------------------------------------- repetitions


def repeat_release(
    model: Model,
    repetitions: int,
    *,
    seed: int = 0,
    change: Callable[[Table, np.random.Generator], Table] | None = None,
) -> Iterator[Table]:
    """Synthetic tables from repetitions of the release, with the model in the place of the truth.

    Parameters
    ----------
    model
        The released model.
    repetitions
        How many tables.
    seed
        Makes them repeatable.
    change
        What is done to the rows in the place of the real ones, such as to make a hypothesis true.
    """
    if isinstance(repetitions, bool) or not isinstance(repetitions, int) or repetitions < 1:
        raise InputError(f"The number of repetitions must be 1 or more, not {repetitions!r}.")
    rows = _rows(model)
    method = _same_method(model)
    plain = replace(model, library="table")
    rng = np.random.default_rng(seed)
    for _ in range(repetitions):
        drawn = plain.sample(rows, seed=_new_seed(rng), spread="independent")
        if change is not None:
            drawn = change(drawn, rng)
        noise = SeededNoise(_new_seed(rng))
        fitted = method.fit(drawn, model.schema, noise=noise, notify=lambda _: None)
        yield fitted.sample(rows, seed=_new_seed(rng))


def _same_method(model: Model) -> Synthesizer:
    """The method of the model, with the part of the budget that was its own.

    What discovery and refinement spent is in the schema, which stays as it is.
    """
    told = dict(model.method)
    known = find_method(told.pop("name"))
    names = {parameter.name for parameter in known.parameters}
    shared = ("epsilon", "delta", "neighbours", "max_rows_per_person")
    given = {name: told[name] for name in (*shared, *names) if name in told}
    ledger = model.ledger
    whole = sum(entry.amount for entry in ledger.entries)
    own = sum(e.amount for e in ledger.entries if e.question.startswith(_ASKED_BY_METHODS))
    if 0 < own < whole:
        if ledger.currency == "epsilon":
            given["epsilon"] = given["epsilon"] * own / whole
        else:
            given["epsilon"] = epsilon_of(own, given["delta"])
    return known.make(**given, refinement=0.0)


def _rows(model: Model) -> int:
    if not model.rows:
        raise InputError(
            "This model does not know how many rows the original has, so nothing can be inferred."
        )
    return model.rows


def _new_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1 << 31))


# --------------------------------------------------------------------------- estimates


@dataclass(frozen=True, kw_only=True)
class Inference:
    """An estimate with what can be said about its error.

    Attributes
    ----------
    value
        The estimate, without the bias that repetitions show.
    deviation
        One standard deviation: sampling, noise and method together.
    low, high
        An interval of 95 %.
    p
        Of the hypothesis that the true value is ``null``: how likely an estimate at least as far
        from it would be.
    null
        That value.
    """

    value: float
    deviation: float
    low: float
    high: float
    p: float
    null: float


def estimate(
    model: Model,
    statistic: Statistic,
    *,
    null: float = 0.0,
    repetitions: int = 50,
    seed: int = 0,
) -> Inference:
    """Estimate a statistic of the people that the real rows were drawn from.

    Parameters
    ----------
    model
        The released model.
    statistic
        A function of a table, such as :func:`mean`, :func:`proportion`, :func:`difference` or
        :func:`coefficient` give it.
    null
        The value that a p-value is given for.
    repetitions
        How often the release is repeated; at least 10.
    seed
        Makes the estimate repeatable.
    """
    if repetitions < 10:
        raise InputError(f"An interval needs at least 10 repetitions, not {repetitions}.")
    found = statistic(_observed(model, seed))
    repeated = np.array([statistic(t) for t in repeat_release(model, repetitions, seed=seed)])
    deviation = float(repeated.std(ddof=1))
    value = found - (float(repeated.mean()) - found)
    return _infer(value, deviation * math.sqrt(1 + 1 / repetitions), null, repetitions - 1)


def combine(estimates: Sequence[float], variances: Sequence[float], null: float = 0.0) -> Inference:
    """Combine one statistic over tables of :func:`repeat_release`'s kind (Rubin's rules).

    For tables that each follow from a *plausible model*, drawn given the release, such as several
    noise-aware ones. Tables that are drawn from one and the same model know nothing of its noise:
    for those use :func:`estimate`.

    Parameters
    ----------
    estimates
        What each table gives.
    variances
        The usual squared standard error in each table.
    """
    count = len(estimates)
    if count < 2 or len(variances) != count:
        raise InputError("Combining takes two tables or more, with a variance for each estimate.")
    between = float(np.var(estimates, ddof=1)) * (1 + 1 / count)
    within = float(np.mean(variances))
    total = between + within
    freedom = math.inf
    if between > 0:
        freedom = (count - 1) * (total / between) ** 2
    return _infer(float(np.mean(estimates)), math.sqrt(total), null, freedom)


def _infer(value: float, deviation: float, null: float, freedom: float) -> Inference:
    from scipy.special import stdtr, stdtrit

    freedom = min(freedom, 1e6)
    half = float(stdtrit(freedom, 0.975)) * deviation
    p = 1.0
    if deviation > 0:
        p = 2 * float(stdtr(freedom, -abs(value - null) / deviation))
    elif value != null:
        p = 0.0
    return Inference(
        value=value, deviation=deviation, low=value - half, high=value + half, p=p, null=null
    )


def _observed(model: Model, seed: int) -> Table:
    table: Table = replace(model, library="table").sample(_rows(model), seed=seed)
    return table


# --------------------------------------------------------------------------- statistics


def mean(column: str) -> Statistic:
    """The mean of a column of numbers; missing ones are left out."""
    return lambda table: float(np.nanmean(_numbers(table, column)))


def proportion(column: str, value: Any) -> Statistic:
    """The share of rows with a value."""
    return lambda table: float(_holds(table, column, value).mean())


def difference(column: str, by: str, values: tuple[Any, Any]) -> Statistic:
    """The mean of a column where ``by`` has the first value, less that where it has the second."""

    def statistic(table: Table) -> float:
        numbers = _numbers(table, column)
        first, second = (_mean_where(numbers, _holds(table, by, value)) for value in values)
        return first - second

    return statistic


def coefficient(
    target: str, predictors: Sequence[str], of: str, *, logistic: Any = None
) -> Statistic:
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

    def statistic(table: Table) -> float:
        inputs = [_numbers(table, name) for name in predictors]
        if logistic is None:
            wanted = _numbers(table, target)
        else:
            wanted = _holds(table, target, logistic).astype(np.float64)
        design = np.column_stack([np.ones(len(wanted)), *inputs])
        there = np.isfinite(design).all(axis=1) & np.isfinite(wanted)
        solve = _least_squares if logistic is None else _most_likely
        return float(solve(design[there], wanted[there])[1 + list(predictors).index(of)])

    return statistic


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
    column = _column(table, name)
    if column.kind == "text":
        raise InputError(f"The column {name!r} holds texts, not numbers.")
    numbers = np.asarray(column.values, dtype=np.float64).copy()
    if column.missing is not None:
        numbers[column.missing != 0] = np.nan
    return numbers


def _holds(table: Table, name: str, value: Any) -> NDArray[np.bool_]:
    column = _column(table, name)
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


def _column(table: Table, name: str) -> Column:
    if name not in table.columns:
        raise InputError(f"There is no column {name!r}; known are {', '.join(table.columns)}.")
    return table.columns[name]


# --------------------------------------------------------------------------- tests


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
    found = abs(statistic(_observed(model, seed), one, other))
    repeated = repeat_release(model, repetitions, seed=seed, change=shuffle_column(one))
    null = [abs(statistic(table, one, other)) for table in repeated]
    larger = sum(value >= found for value in null)
    return Independence(statistic=found, p=(1 + larger) / (1 + repetitions))


def shuffle_column(name: str) -> Callable[[Table, np.random.Generator], Table]:
    """What makes a column independent of all others, for :func:`repeat_release`."""

    def shuffle(table: Table, rng: np.random.Generator) -> Table:
        order = rng.permutation(table.rows)
        columns = {**table.columns, name: _reorder(_column(table, name), order)}
        return replace(table, columns=columns)

    return shuffle


def _reorder(column: Column, order: NDArray[Any]) -> Column:
    missing = column.missing
    if missing is not None:
        missing = missing[order]
    return replace(column, values=column.values[order], missing=missing)
