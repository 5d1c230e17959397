"""Column by column: shares of cells, distances, missing values, and what was lost."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Quantity, Schema
from understudy.evaluation.cells import FEW_VALUES
from understudy.evaluation.comparison import Comparison, Side, is_ordered
from understudy.evaluation.grades import MIN_ROWS
from understudy.evaluation.marginals import half_distance
from understudy.evaluation.original import Originals
from understudy.evaluation.result import ColumnComparison, ColumnState, MissingRows

DIVERGENCE_SMOOTHING = 0.5
"""Rows added to every bin or category before the Kullback-Leibler divergence is taken: without, it
is infinite as soon as a real value never occurs in the synthetic table."""

CONSTANT_SHARE, VARIED_SHARE = 0.999, 0.95
"""A column is lost as constant where one value has this many synthetic rows, and none this many
real ones.
"""

MAX_REPLACED = 0.5
"""Of the rows: where more hold a value that no real row has, such as "other", a column is lost."""

NUMBER_GRIDS = tuple(unit * 10.0**power for power in range(6, -7, -1) for unit in (5, 1))
"""Grids that numbers may lie on, the coarsest first."""

STEP_SHARE = 0.9
MAX_GRID_STEPS = 1e9
"""Beyond this many steps, floats no longer tell whether a number lies on a grid."""


def column_comparisons(
    tables: Comparison, bins: Schema | None = None, outside: Mapping[str, float] | None = None
) -> tuple[ColumnComparison, ...]:
    """Every column of both tables.

    Parameters
    ----------
    tables
        The tables.
    bins
        The schema whose bins distances by bin are measured at; by default the tables' own cells.
    outside
        Per column the share of real rows that this schema has no place for.
    """
    return tuple(
        _column(tables, attribute, bins, (outside or {}).get(attribute.name, 0.0))
        for attribute in tables.schema.modelled
    )


def _column(
    tables: Comparison, attribute: Attribute, bins: Schema | None, outside: float
) -> ColumnComparison:
    counts = [np.bincount(side.codes(attribute.name), minlength=attribute.size) for side in tables]
    shares = [count / side.rows for count, side in zip(counts, tables, strict=True)]
    size = attribute.values_size
    missing = [float(share[size]) if attribute.missing is not None else 0.0 for share in shares]
    if isinstance(tables, Originals):
        missing = list(tables.missing[attribute.name])
    labels = tuple(attribute.label(code) for code in range(size))
    if is_ordered(attribute):
        values = [_values(side, attribute) for side in tables]
    else:
        values = []
    quantity = isinstance(attribute, Quantity)
    distances = _distances(attribute, values, bins)
    step, *on_step = _grid(values) if quantity else (None, 0.0, 0.0)
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
        kolmogorov_smirnov=distances[0],
        kolmogorov_smirnov_binned=distances[1],
        kullback_leibler=kullback_leibler(counts[0], counts[1]),
        only_real=_only(labels, counts[0], counts[1]),
        only_synthetic=_only(labels, counts[1], counts[0]),
        real_summary=_summary(values[0]) if quantity else {},
        synthetic_summary=_summary(values[1]) if quantity else {},
        state=_state(tables, attribute, shares),
        not_real=float(shares[1][:size][counts[0][:size] == 0].sum()),
        real_outside=outside,
        step=step,
        real_on_step=on_step[0],
        synthetic_on_step=on_step[1],
        beyond=_beyond(*values) if quantity else 0.0,
        cut_off=_beyond(*reversed(values)) if quantity else 0.0,
    )


def _state(
    tables: Comparison, attribute: Attribute, shares: list[NDArray[np.float64]]
) -> ColumnState:
    """Whether the column is there at all, in values that real rows have, more than one of them."""
    size = attribute.values_size
    real, synthetic = (share[:size] for share in shares)
    if isinstance(tables, Originals) and attribute.name in tables.absent:
        return "absent"
    if not real.sum() or tables.synthetic.rows < MIN_ROWS:
        return "kept"  # there was nothing to lose, or nothing can be told
    if not synthetic.sum():
        return "empty"
    if not synthetic[real > 0].sum():
        return "replaced"
    if synthetic[real == 0].sum() > MAX_REPLACED:
        return "mostly replaced"
    if shares[1].max() >= CONSTANT_SHARE and shares[0].max() <= VARIED_SHARE:
        return "constant"
    return "kept"


def _values(side: Side, attribute: Attribute) -> NDArray[np.float64]:
    """The values that are there, in order: numbers as they stand, not their bins."""
    if isinstance(attribute, Quantity):
        numbers = side.numbers(attribute)
        return np.sort(numbers[~np.isnan(numbers)])
    codes = side.codes(attribute.name)
    return np.sort(codes[codes < attribute.values_size]).astype(np.float64)


def _distances(
    attribute: Attribute, values: list[NDArray[np.float64]], bins: Schema | None
) -> tuple[float | None, float | None]:
    """Kolmogorov-Smirnov by value and by bin; 1 where the synthetic column holds no number."""
    if not values or not len(values[0]):
        return None, None
    if not len(values[1]):
        return 1.0, 1.0
    by_value = kolmogorov_smirnov(values[0], values[1])
    if not isinstance(attribute, Quantity):
        return by_value, by_value
    edges = attribute.edges
    if bins is not None and attribute.name in bins:
        said = bins[attribute.name]
        if isinstance(said, Quantity) and said.kind in (attribute.kind, "integer", "real"):
            edges = said.edges
    below = [np.searchsorted(each, edges, side="left") / len(each) for each in values]
    return by_value, float(np.abs(below[0] - below[1]).max())


def _beyond(real: NDArray[np.float64], synthetic: NDArray[np.float64]) -> float:
    """The share of the second of two sorted samples that lies outside the range of the first."""
    if not len(real) or not len(synthetic):
        return 0.0
    inside = np.searchsorted(synthetic, real[-1], "right") - np.searchsorted(synthetic, real[0])
    return 1 - float(inside) / len(synthetic)


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
    real: NDArray[Any], synthetic: NDArray[Any], smoothing: float = DIVERGENCE_SMOOTHING
) -> float:
    """Divergence of the real distribution from the synthetic one in bits, ``smoothing`` rows added
    to every cell.
    """
    p, q = (counts + smoothing for counts in (real, synthetic))
    p, q = p / p.sum(), q / q.sum()
    return float(np.sum(p * np.log2(p / q)))


def _only(labels: tuple[str, ...], here: NDArray[Any], there: NDArray[Any]) -> tuple[str, ...]:
    return tuple(label for code, label in enumerate(labels) if here[code] and not there[code])


def _grid(values: list[NDArray[np.float64]]) -> tuple[float | None, float, float]:
    """The coarsest grid that real numbers lie on, and the shares of both tables that do."""
    real, synthetic = (each[each != 0] for each in values)
    if len(np.unique(real)) <= FEW_VALUES:
        return None, 0.0, 0.0
    largest = float(np.abs(real).max())
    for step in itertools.takewhile(lambda step: largest / step < MAX_GRID_STEPS, NUMBER_GRIDS):
        if on_grid(real, step) >= STEP_SHARE:
            return step, on_grid(real, step), on_grid(synthetic, step)
    return None, 0.0, 0.0


def on_grid(values: NDArray[np.float64], step: float) -> float:
    """The share of numbers that are multiples of a step; of none, none is off it."""
    if not len(values):
        return 1.0
    steps = values / step
    return float(np.mean(np.abs(steps - np.rint(steps)) <= 1e-6 + 1e-12 * np.abs(steps)))


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


def missing_rows(tables: Originals) -> MissingRows | None:
    """How many cells of a row are missing; ``None`` where never more than one is."""
    most = max(int(side.max(initial=0)) for side in tables.missing_cells)
    if most < 2:
        return None
    shares = [np.bincount(side, minlength=most + 1) / len(side) for side in tables.missing_cells]
    with_more = [share[::-1].cumsum()[::-1] for share in shares]
    gaps = np.abs(with_more[0] - with_more[1])
    gaps[:2] = -1.0  # single cells are told column by column
    return MissingRows(tuple(shares[0].tolist()), tuple(shares[1].tolist()), int(gaps.argmax()))
