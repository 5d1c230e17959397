"""Where `adaptive` has nothing to select: one table of all attributes, nearly exact."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from understudy.data.marginals import marginal
from understudy.models.graphical.learner import GraphicalLearner
from understudy.models.measurements import MeasuredTable, Measurements
from understudy.models.model import Model
from understudy.models.parameters import estimate_rows, project_counts
from understudy.privacy.budget import Budget
from understudy.synthesizers.marginals import chain_nodes, with_constants

MAX_WHOLE_TABLE_CELLS = 1 << 20
"""The most cells of a table of all attributes."""

MOST_NOISE = 0.1
"""The share of the rows that noise may move in it.

In a table of three attributes it then moves a hundredth or less, since noise of many cells is
summed."""


def pays_for_all(learner: GraphicalLearner, budget: Budget) -> bool:
    """Whether a table of all attributes together would be nearly exact, by rows as released."""
    if not learner.curator.any_table or budget.amount <= 0:
        return False
    cells = math.prod(learner.sizes.values())
    noise = learner.curator.mean_noise(budget)
    return cells <= MAX_WHOLE_TABLE_CELLS and 0 < noise * cells <= MOST_NOISE * learner.rows


def learn_all(learner: GraphicalLearner, budget: Budget, method: Mapping[str, Any]) -> Model:
    """The model of one table of all attributes."""
    curator = learner.curator
    names = tuple(learner.sizes)
    [measured] = curator.measure([marginal(*names)], budget)
    rows, known = learner.rows, curator.rows
    if known is None:
        rows = estimate_rows([measured])
        known = round(rows)
    nodes = chain_nodes(names, project_counts(measured.counts, rows), measured.deviation)
    tables = (*learner.measured, MeasuredTable(names, measured.deviation))
    return Model(
        method,
        curator.schema,
        with_constants(nodes, curator.schema, rows),
        curator.ledger,
        known,
        measurements=Measurements(tables=tables),
    )
