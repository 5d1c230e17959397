"""Answers from noisy tables that are known already: nothing more is asked of anybody.

Tables that holders sent once, or that were opened from encrypted uploads, are public. What lies in
one of them is read off it, and scores are those of its counts, repaired.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.counting.column_checks import MAX_ROWS
from understudy.data.bits import Bits
from understudy.data.marginals import Axis, Marginal, sum_onto
from understudy.errors import InputError
from understudy.federation.curator import FederatedCurator
from understudy.models.parameters import estimate_rows, project_counts, round_to_total
from understudy.privacy.curator import Curator, Measurement
from understudy.privacy.questions import Choose, Measure, Question


class TablesCurator(Curator):
    """A curator that was told some tables and asks nothing more: its answers are post-processing of
    these.

    Parameters
    ----------
    curator
        Who measured the tables.
    tables
        What was measured; every marginal that is asked for later must lie in one of them.
    """

    def __init__(self, curator: FederatedCurator, tables: Sequence[Measurement]) -> None:
        super().__init__(curator.domain, curator.ledger)
        self._curator = curator
        self._tables = {frozenset(table.marginal): table for table in tables}
        if curator.rows is None:
            total = estimate_rows(tables)
        else:
            total = float(curator.rows)
        self._counter = TablesCounter(
            self._tables,
            {a.name: a.size for a in self.schema.modelled},
            min(max(total, 1.0), float(MAX_ROWS)),  # many holders may have more than can be scored
        )

    @property
    def rows(self) -> int | None:
        """The number of rows where it is public (neighbours: replace), else ``None``."""
        return self._curator.rows

    def _answer(self, question: Question) -> Any:
        """Answer from the tables; nothing is debited, since they are public."""
        match question:
            case Measure():
                return [self._read(axes) for axes in question.marginals]
            case Choose():
                return self._choose(question)
        return self._curator.answer(question)

    def _read(self, axes: Marginal) -> Measurement:
        """A table, read off the smallest of those that were measured and hold it."""
        home = _find_home(self._tables, axes)
        counts, summed = sum_onto(home.counts, home.marginal, axes)
        return Measurement(axes, counts, "gaussian", home.deviation * math.sqrt(summed))

    def _choose(self, question: Choose) -> int:
        """The candidate with the best score by the noisy tables."""
        scores = question.named_score.evaluate(self._counter, question.candidates)
        if question.offsets is not None:
            scores = scores + question.offsets
        return int(np.argmax(scores))

    def toss(self, places: int) -> int:
        """A place drawn uniformly."""
        return self._curator.toss(places)

    def in_bits(self, bits: Bits) -> TablesCurator:
        """Tables of attributes are not tables of their bits."""
        raise InputError(
            "Structure from tables takes attributes as they are, not their bits; use encoding "
            "vanilla."
        )


@dataclass(frozen=True)
class TablesCounter:
    """Counts as noisy tables have them, repaired: what scores are computed from where no rows are
    at hand.
    """

    tables: Mapping[frozenset[Axis], Measurement]
    sizes: Mapping[str, int]
    total: float

    @property
    def rows(self) -> int:
        """The number of rows, or an estimate."""
        return round(self.total)

    def size(self, axis: Axis) -> int:
        """How many values an attribute has."""
        return self.sizes[axis.attribute]

    def count(self, marginals: Sequence[Marginal]) -> list[NDArray[np.int64]]:
        """One table per marginal."""
        return [self._count(axes) for axes in marginals]

    def count_flat(
        self, marginals: Sequence[Marginal]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same tables one after the other, and where each starts."""
        tables = [self._count(axes).ravel() for axes in marginals]
        ends = np.cumsum([0, *(table.size for table in tables)])
        return np.concatenate(tables), ends.astype(np.int64)

    def _count(self, axes: Marginal) -> NDArray[np.int64]:
        home = _find_home(self.tables, axes)
        counts = round_to_total(project_counts(home.counts, self.total))
        return sum_onto(counts, home.marginal, axes)[0]


def _find_home(tables: Mapping[frozenset[Axis], Measurement], axes: Marginal) -> Measurement:
    """The smallest table that holds the axes."""
    exact = tables.get(frozenset(axes))
    if exact is not None:
        return exact
    holding = [table for held, table in tables.items() if held.issuperset(axes)]
    if not holding:
        raise InputError("That table lies in none of those that were asked for.")
    return min(holding, key=lambda table: table.counts.size)
