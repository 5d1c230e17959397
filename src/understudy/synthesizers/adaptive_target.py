"""What `adaptive` does for a column that is to be predicted, the target.

What each other column tells of the target by itself is most of what can be predicted, so each is
measured together with it before anything is selected. Three things follow from what was released by
then, so that they cost nothing:

- *Values* are merged, neighbours with neighbours, until a cell of such a table has more rows than
  noise. A learner that sees sixteen bins of noise finds less than one that sees four of signal.
- *The share* of the budget that goes to these tables: nearly all of it where rows are few, since
  no larger table could be told from noise; less where they are clear.
- *Which tables* may still be selected: the rounds look for what the model has most wrong, and that
  may be how columns depend on each other that tell nothing of the target. Tables of several
  others are looked at only where each of these was seen to tell something.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Quantity
from understudy.models.graphical import Group
from understudy.models.graphical.learner import GraphicalLearner
from understudy.models.graphical.merging import Merged, merge_all_but, merge_neighbours
from understudy.models.parameters import project_counts
from understudy.privacy.budget import Budget
from understudy.synthesizers.adaptive_budget import MEAN_OF_DEVIATION

CELL_DEVIATIONS = 2.0
"""Values are merged until a cell has about as many rows as this many deviations of its noise."""

CLEAR_PAIRS = 0.1
"""A table with the target is clear where its noise is no more than this share of the rows."""

MIN_TARGET_SHARE, MAX_TARGET_SHARE = 0.3, 0.9
"""The least and the most, of what is left after single attributes, that goes to tables of the
target and one other."""

TELLING_DEVIATIONS = 2.0
"""An attribute tells something of the target where their table is further from that of unrelated
ones than chance would bring it, by this many deviations."""


def merge_for_target(learner: GraphicalLearner, target: str, budget: Budget) -> GraphicalLearner:
    """The learner with values merged that a table of the target and another attribute could not
    tell apart.

    Parameters
    ----------
    learner
        With single attributes measured.
    target
        The attribute that is to be predicted.
    budget
        What all tables with the target could have.
    """
    others = [name for name in learner.sizes if name != target]
    noise = learner.curator.mean_noise(budget.equally(len(others))[0]) / MEAN_OF_DEVIATION
    quota = CELL_DEVIATIONS * noise
    merged = {target: _merge(learner, target, quota)}
    quota *= merged[target].values
    return learner.merge_values(merged | {name: _merge(learner, name, quota) for name in others})


def _merge(learner: GraphicalLearner, name: str, quota: float) -> Merged:
    """Values merged until each has that many rows, or, of words, would have on average."""
    counts = learner.pool.table((name,))
    attribute = learner.curator.schema[name]
    if isinstance(attribute, Quantity):
        return merge_neighbours(counts, quota, ordered=attribute.bins)
    return merge_all_but(counts, max(2, int(learner.rows / quota)))


def measure_pairs(learner: GraphicalLearner, pairs: Sequence[Group], budget: Budget) -> Budget:
    """Measure tables of the target and one other; returns what is left."""
    noise = learner.curator.mean_noise(budget.equally(len(pairs))[0])
    cells = sum(learner.cells(pair) for pair in pairs) / len(pairs)
    share = noise * cells / (CLEAR_PAIRS * learner.rows)
    if budget.currency != "epsilon":  # there noise falls with the root of the price
        share = share**2
    share = min(max(share, MIN_TARGET_SHARE), MAX_TARGET_SHARE)
    now, rest = budget.split(share, 1 - share)
    learner.measure(pairs, now.equally(len(pairs)))
    return rest


def keep_telling(
    learner: GraphicalLearner, pairs: Sequence[Group], groups: Sequence[Group]
) -> list[Group]:
    """The pairs, and of all groups those in which every attribute tells something of the target."""
    telling = {name for pair in pairs if _tells(learner, pair) for name in pair}
    return [group for group in groups if group in pairs or telling.issuperset(group)]


def _tells(learner: GraphicalLearner, pair: Group) -> bool:
    """Whether a pair's table differs from that of unrelated attributes by more than chance.

    Without what its margins tell, a table of f degrees of freedom holds noise, whose squares add
    up to f times its variance, and what rows vary by: with shares p and q of the two attributes'
    values, about n (1 - sum p^2) (1 - sum q^2). Both vary by the root of 2 / f.
    """
    pool, rows = learner.pool, learner.rows
    first, second = (project_counts(pool.table((name,)), rows) / rows for name in pair)
    apart = _centre(pool.table(pair) - rows * np.outer(first, second))
    freedom = (len(first) - 1) * (len(second) - 1)
    chance = freedom / pool.precision(pair)
    chance += rows * float((1 - (first**2).sum()) * (1 - (second**2).sum()))
    return float((apart**2).sum()) > chance * (1 + TELLING_DEVIATIONS * math.sqrt(2 / freedom))


def _centre(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """A table without what its margins tell."""
    rows = table - table.mean(axis=1, keepdims=True)
    return np.asarray(rows - rows.mean(axis=0, keepdims=True))
