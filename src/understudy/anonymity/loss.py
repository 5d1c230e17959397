"""Information loss: what generalisation and suppression cost whoever analyses the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.anonymity.classes import EquivalenceClasses
from understudy.anonymity.measures import count_distinct
from understudy.anonymity.microdata import Microdata


@dataclass(frozen=True, kw_only=True)
class InformationLoss:
    """What an anonymised table has lost.

    Attributes
    ----------
    generalisation
        The mean share of its column's range (or of its values) that a cell of a quasi-identifier
        could stand for: 0 nothing lost, 1 nothing left (normalised certainty penalty). Suppressed
        rows count as 1.
    by_column
        The same, column by column.
    discernibility
        For each row the number of rows that it can no longer be told from, summed; a suppressed row
        counts as all.
    class_size
        The mean size of a class.
    suppressed
        The share of rows that are left out.
    """

    generalisation: float
    by_column: Mapping[str, float]
    discernibility: float
    class_size: float
    suppressed: float


def lose_locally(
    table: Microdata, names: Sequence[str], classes: EquivalenceClasses
) -> InformationLoss:
    """The loss of groups that are written as ranges and sets."""
    by_column = {}
    for name in names:
        values = table[name]
        codes = values.codes[classes.order]
        if values.numbers is not None or values.ordered:
            low = np.minimum.reduceat(codes, classes.starts)
            high = np.maximum.reduceat(codes, classes.starts)
            wide = values.positions[high] - values.positions[low]
        else:
            distinct = np.concatenate(
                [count_distinct(counts) for counts in classes.tabulate(values.codes, values.size)]
            )
            wide = (distinct - 1) / max(values.size - 1, 1)
        by_column[name] = float((wide * classes.sizes).sum() / table.rows)
    return _make_loss(by_column, classes, table.rows, 0)


def lose_globally(
    table: Microdata, levels: Mapping[str, int], classes: EquivalenceClasses, suppressed: int
) -> InformationLoss:
    """The loss of columns that are raised to levels of their hierarchies, where ``classes`` are
    those of the rows that stay and ``table`` holds all rows.
    """
    by_column = {}
    for name, height in levels.items():
        values = table[name]
        cost = float(values.shares @ values.hierarchy.losses[height])
        share = suppressed / table.rows
        by_column[name] = cost * (1 - share) + share
    return _make_loss(by_column, classes, table.rows, suppressed)


def _make_loss(
    by_column: dict[str, float], classes: EquivalenceClasses, rows: int, suppressed: int
) -> InformationLoss:
    sizes = classes.sizes.astype(np.float64)
    return InformationLoss(
        generalisation=sum(by_column.values()) / max(len(by_column), 1),
        by_column=by_column,
        discernibility=float((sizes**2).sum()) + float(suppressed) * rows,
        class_size=float(sizes.mean()) if len(sizes) else 0.0,
        suppressed=suppressed / rows,
    )
