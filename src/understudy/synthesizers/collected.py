"""Tables that were collected before anybody asked: one model of all of them.

Where tables cost nothing there is no budget to split, nothing to hold back for, and no choice to
pay for. Tables come from one estimate, in which noise is shrunk already; all that limits the model
is the size of its cliques. So it takes up the tables that it gets most wrong, round after round,
until no further one fits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import marginal
from understudy.models.graphical import Group
from understudy.models.graphical.learner import GraphicalLearner
from understudy.models.parameters import project_counts
from understudy.privacy.budget import Budget
from understudy.release.callbacks import Progress

DEFAULT_MAX_CELLS = 250_000
"""Of all cliques together, where the user says nothing."""

MAX_CANDIDATE_CELLS = 1 << 22
"""Of all candidates together: pairs come first."""

FIRST_SHARE = 0.1
ROUNDS_TO_ALL_CELLS = 10
"""From the beginning the cliques may have this share of their cells, and all after this many rounds
in which nothing fitted into less."""

LEAST_MISFIT = 1e-3
"""A table is taken up where the model has a larger share of the rows in wrong cells."""

ROUND_SWEEPS = 5


def fit_collected(
    learner: GraphicalLearner,
    groups: Sequence[Group],
    budget: Budget,
    max_cells: int | None,
    progress: Progress,
) -> None:
    """Fit a model to all tables of some groups, as far as its cliques stay small.

    Parameters
    ----------
    learner
        With a curator whose tables cost nothing.
    groups
        Of two attributes or more.
    budget
        What questions say that they cost; it is not debited.
    max_cells
        The most cells that the cliques have together.
    progress
        Called while learning.
    """
    _take(learner, [(name,) for name in learner.sizes], budget)
    left = _CandidateGroups(learner, groups, budget)
    most = float(max_cells or DEFAULT_MAX_CELLS)
    allowed = FIRST_SHARE * most
    while True:
        progress("fitting tables", len(learner.fit.groups), len(learner.fit.groups) + len(left))
        selected = left.select(max(allowed, learner.fit.cells) * (1 + 1e-9))
        if selected:
            _take(learner, selected, budget)
        elif allowed < most:
            allowed = min(allowed * FIRST_SHARE ** (-1 / ROUNDS_TO_ALL_CELLS), most)
        else:
            return


def _take(learner: GraphicalLearner, groups: list[Group], budget: Budget) -> None:
    """Take tables up; they cost nothing."""
    learner.measure(groups, budget.equally(len(groups)))
    learner.refit(ROUND_SWEEPS)


class _CandidateGroups:
    """Groups that the model may take up, with their tables."""

    def __init__(self, learner: GraphicalLearner, groups: Sequence[Group], budget: Budget) -> None:
        self.learner = learner
        self.groups: list[Group] = []
        cells = 0
        for group in sorted(groups, key=lambda one: (len(one), learner.cells(one))):
            cells += learner.cells(group)
            if cells > MAX_CANDIDATE_CELLS:
                break
            self.groups.append(group)
        self.marginals = [marginal(*group) for group in self.groups]
        rows = learner.rows
        self.tables = [
            project_counts(found.counts.astype(np.float64), rows) / rows
            for found in learner.curator.measure(self.marginals, budget)
        ]

    def __len__(self) -> int:
        return len(self.groups)

    def select(self, max_cells: float) -> list[Group]:
        """The groups that the model gets most wrong, no two with an attribute in common, such that
        the cliques stay small. What the model has is left out for good.
        """
        self._keep([not self.learner.is_settled(group) for group in self.groups])
        if not self.groups:
            return []
        misfits = self._find_misfits()
        self._keep((misfits > 0).tolist())
        misfits = misfits[misfits > 0]
        cells = self.learner.fit.cells_with_each(self.groups)
        selected: list[Group] = []
        used: set[str] = set()
        for place in np.argsort(-misfits, kind="stable").tolist():
            group = self.groups[place]
            if cells[place] > max_cells or used.intersection(group):
                continue
            if self.learner.fit.cells_with([*selected, group]) <= max_cells:
                selected.append(group)
                used.update(group)
        return selected

    def _find_misfits(self) -> NDArray[np.float64]:
        """By what share of the rows the model differs from each table, beyond what it differs by
        chance, as it is counted in rows that are drawn from it.
        """
        rows = self.learner.rows
        found = []
        expected = self.learner.estimate_tables(self.marginals)
        for table, counts in zip(self.tables, expected, strict=True):
            shares = counts / rows
            chance = 0.5 * math.sqrt(2 / math.pi / rows) * float(np.sqrt(shares).sum())
            found.append(0.5 * float(np.abs(table - shares).sum()) - chance - LEAST_MISFIT)
        return np.array(found)

    def _keep(self, kept: Sequence[bool]) -> None:
        places = [place for place, keep in enumerate(kept) if keep]
        self.groups = [self.groups[place] for place in places]
        self.marginals = [self.marginals[place] for place in places]
        self.tables = [self.tables[place] for place in places]
