"""Tables that share attributes, made to agree on them.

Two noisy tables that both hold an attribute tell its distribution twice, differently. The best
guess from both is their average, weighted by how sure each is; each table is then moved to the
agreed margins by the smallest change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis
from understudy.data.schema import Schema
from understudy.models.parameters import Repair, repair_counts
from understudy.privacy.curator import Measurement

CONSISTENCY_ROUNDS = 10


def make_consistent(
    measurements: Sequence[Measurement],
    schema: Schema,
    rows: float,
    repair: Repair,
    target: str | None = None,
) -> list[NDArray[np.float64]]:
    """The measured tables, repaired, with the same one-way margins wherever they share an
    attribute.

    Given a target, tables that hold it agree exactly on the target alone: see
    :func:`_repair_by_target`.
    """
    margins = {
        name: repair_counts(margin, rows, repair)
        for name, margin in _average_margins(measurements).items()
    }
    return [
        _repair_by_target(measurement, margins, schema, repair, target)
        if target is not None and Axis(target) in measurement.marginal
        else _move_to_margins(measurement, margins, schema, rows, repair)
        for measurement in measurements
    ]


def pool_margins(measurements: Sequence[Measurement], schema: Schema) -> list[Measurement]:
    """The measured tables, each moved to the margins that all of them tell together; nothing is
    repaired yet.

    Where some tables are used and others not, this lets the others tell what they know.
    """
    margins = _average_margins(measurements)
    found = []
    for measurement in measurements:
        wanted = [
            _generalise(margins[axis.attribute], axis, schema) for axis in measurement.marginal
        ]
        found.append(
            replace(
                measurement,
                counts=np.rint(_shift_to_margins(measurement.counts, wanted)).astype(np.int64),
            )
        )
    return found


def _average_margins(measurements: Sequence[Measurement]) -> dict[str, NDArray[np.float64]]:
    """For each attribute measured at its finest level, its margin from all tables that hold it."""
    sums: dict[str, NDArray[np.float64]] = {}
    weights: dict[str, float] = {}
    for measurement in measurements:
        for place, axis in enumerate(measurement.marginal):
            if axis.level:
                continue
            others = tuple(i for i in range(measurement.counts.ndim) if i != place)
            margin = measurement.counts.sum(axis=others)
            weight = len(margin) / (measurement.counts.size * max(measurement.deviation, 1e-9) ** 2)
            sums[axis.attribute] = sums.get(axis.attribute, np.zeros(len(margin))) + weight * margin
            weights[axis.attribute] = weights.get(axis.attribute, 0.0) + weight
    return {name: total / weights[name] for name, total in sums.items()}


def _move_to_margins(
    measurement: Measurement,
    margins: dict[str, NDArray[np.float64]],
    schema: Schema,
    rows: float,
    repair: Repair,
) -> NDArray[np.float64]:
    wanted = [_generalise(margins[axis.attribute], axis, schema) for axis in measurement.marginal]
    table = repair_counts(_shift_to_margins(measurement.counts, wanted), rows, repair)
    # Repairing moved the margins again; scaling rows and columns in turn brings them back and keeps
    # zeros.
    for _ in range(CONSISTENCY_ROUNDS):
        for place, margin in enumerate(wanted):
            others = tuple(i for i in range(table.ndim) if i != place)
            now = table.sum(axis=others)
            factor = np.divide(margin, now, out=np.zeros_like(margin), where=now > 0)
            table = table * np.expand_dims(factor, others)
    return _with_margins(table, wanted)


def _shift_to_margins(
    counts: NDArray[Any], wanted: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """The nearest table that has the wanted margins, negative counts or not."""
    table = counts.astype(np.float64)
    for place, margin in enumerate(wanted):
        others = tuple(i for i in range(table.ndim) if i != place)
        gap = (margin - table.sum(axis=others)) * len(margin) / table.size
        table = table + np.expand_dims(gap, others)
    return table


def _repair_by_target(
    measurement: Measurement,
    margins: dict[str, NDArray[np.float64]],
    schema: Schema,
    repair: Repair,
    target: str,
) -> NDArray[np.float64]:
    """A table repaired for each value of the target by itself.

    Repaired as one, a rare value of the target loses most of its counts to the noise of the common
    ones; and scaling to the margins afterwards makes much of the few counts that survived in rare
    values of the other attributes. Either blurs what tells the target's values apart.
    """
    wanted = [_generalise(margins[axis.attribute], axis, schema) for axis in measurement.marginal]
    table = _shift_to_margins(measurement.counts, wanted)
    place = measurement.marginal.index(Axis(target))
    slices = zip(np.moveaxis(table, place, 0), wanted[place], strict=True)
    return np.moveaxis(
        np.stack([repair_counts(part, total, repair) for part, total in slices]), 0, place
    )


def _with_margins(
    table: NDArray[np.float64], wanted: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """A table near the given one that has the wanted margins exactly (Altschuler, Weed and Rigollet
    2017).

    Scaling alone does not get there where repairing left no cell to scale. So slices that hold too
    much are scaled down, and what all sides then lack, which is the same total, is added as if they
    were independent.
    """
    sides = [tuple(i for i in range(table.ndim) if i != place) for place in range(table.ndim)]
    for margin, others in zip(wanted, sides, strict=True):
        now = table.sum(axis=others)
        factor = np.divide(margin, now, out=np.ones_like(margin), where=now > margin)
        table = table * np.expand_dims(factor, others)
    lacking = [
        np.maximum(m - table.sum(axis=others), 0.0) for m, others in zip(wanted, sides, strict=True)
    ]
    total = max((float(side.sum()) for side in lacking), default=0.0)
    if total <= 0:
        return table
    extra = np.full(table.shape, total)
    for side, others in zip(lacking, sides, strict=True):
        extra = extra * np.expand_dims(side / total, others)
    return table + extra


def _generalise(margin: NDArray[np.float64], axis: Axis, schema: Schema) -> NDArray[np.float64]:
    if axis.level == 0:
        return margin
    coarse = schema[axis.attribute].generalisations[axis.level - 1]
    return np.bincount(coarse, weights=margin).astype(np.float64)
