"""Column by column: shares of bins and categories, distances, missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Quantity
from understudy.evaluation.comparison import Comparison, Side, is_ordered
from understudy.evaluation.marginals import half_distance
from understudy.evaluation.result import ColumnComparison

SMOOTHING = 0.5
"""Rows added to every bin or category before the Kullback-Leibler divergence is taken: without, it
is infinite as soon as a real value never occurs in the synthetic table."""


def column_comparisons(tables: Comparison) -> tuple[ColumnComparison, ...]:
    """Every column of both tables."""
    return tuple(_column(tables, attribute) for attribute in tables.schema.modelled)


def _column(tables: Comparison, attribute: Attribute) -> ColumnComparison:
    counts = [np.bincount(side.codes(attribute.name), minlength=attribute.size) for side in tables]
    shares = [count / side.rows for count, side in zip(counts, tables, strict=True)]
    size = attribute.values_size
    missing = [float(share[size]) if attribute.missing is not None else 0.0 for share in shares]
    labels = tuple(attribute.label(code) for code in range(size))
    if is_ordered(attribute):
        values = [_values(side, attribute) for side in tables]
    else:
        values = []
    quantity = isinstance(attribute, Quantity)
    return ColumnComparison(
        name=attribute.name,
        kind=attribute.kind,
        ordered=is_ordered(attribute),
        labels=labels,
        edges=attribute.edges if isinstance(attribute, Quantity) else None,
        real=tuple(shares[0][:size].tolist()),
        synthetic=tuple(shares[1][:size].tolist()),
        real_missing=missing[0],
        synthetic_missing=missing[1],
        total_variation=half_distance(*shares),
        kolmogorov_smirnov=kolmogorov_smirnov(values[0], values[1]) if values else None,
        kullback_leibler=kullback_leibler(counts[0], counts[1]),
        only_real=_only(labels, counts[0], counts[1]),
        only_synthetic=_only(labels, counts[1], counts[0]),
        real_summary=_summary(values[0]) if quantity else {},
        synthetic_summary=_summary(values[1]) if quantity else {},
    )


def _values(side: Side, attribute: Attribute) -> NDArray[np.float64]:
    """The values that are there, in order: numbers as they stand, not their bins."""
    if isinstance(attribute, Quantity):
        numbers = side.numbers(attribute)
        return np.sort(numbers[~np.isnan(numbers)])
    codes = side.codes(attribute.name)
    return np.sort(codes[codes < attribute.values_size]).astype(np.float64)


def kolmogorov_smirnov(left: NDArray[np.float64], right: NDArray[np.float64]) -> float | None:
    """The largest difference of the distribution functions of two sorted samples; None where one is
    empty.
    """
    if not len(left) or not len(right):
        return None
    everywhere = np.concatenate([left, right])
    below = [
        np.searchsorted(values, everywhere, side="right") / len(values) for values in (left, right)
    ]
    return float(np.abs(below[0] - below[1]).max())


def kullback_leibler(
    real: NDArray[Any], synthetic: NDArray[Any], smoothing: float = SMOOTHING
) -> float:
    """Divergence of the real distribution from the synthetic one in bits, ``smoothing`` rows added
    to every cell.
    """
    p, q = (counts + smoothing for counts in (real, synthetic))
    p, q = p / p.sum(), q / q.sum()
    return float(np.sum(p * np.log2(p / q)))


def _only(labels: tuple[str, ...], here: NDArray[Any], there: NDArray[Any]) -> tuple[str, ...]:
    return tuple(label for code, label in enumerate(labels) if here[code] and not there[code])


def _summary(values: NDArray[np.float64]) -> dict[str, float]:
    if not len(values):
        return {}
    low, first, median, third, high = np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist()
    with np.errstate(over="ignore", invalid="ignore"):  # squares of the largest numbers: undefined
        mean, deviation = float(values.mean()), float(values.std())
    return {
        "mean": mean,
        "deviation": deviation,
        "min": low,
        "quartile": first,
        "median": median,
        "third_quartile": third,
        "max": high,
    }
