"""The function of a question, by its name."""

from __future__ import annotations

from understudy.asking.counts import Counts, LabelCounts, ShareOfRows
from understudy.asking.functions import NO_GROUPS, Function, Priced
from understudy.asking.moments import Mean, SumOfNumbers, Variance
from understudy.asking.quantiles import Extreme, Quantile
from understudy.errors import InputError

QUESTION_CLASSES: dict[str, type[Function]] = {
    "count": Counts,
    "labels": LabelCounts,
    "share": ShareOfRows,
    "sum": SumOfNumbers,
    "mean": Mean,
    "variance": Variance,
    "std": Variance,
    "median": Quantile,
    "quantile": Quantile,
    "min": Extreme,
    "max": Extreme,
}


def prepare(priced: Priced) -> Function:
    """The function of a question; refuses one whose groups or bounds are not public."""
    for group in priced.query.groups:
        if not group.cells:
            name = group.attribute.name
            raise InputError(f"Grouping by {name!r} {NO_GROUPS.format(name=name)}.")
    return QUESTION_CLASSES[priced.query.kind](priced)
