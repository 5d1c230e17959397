"""Adaptive: measure what the model gets most wrong, fit it, and look again.

After AIM (McKenna, Mullins, Sheldon, Miklau; VLDB 2022). First the one-way marginals are measured.
Then, in rounds, the method *selects* the marginal on which the model and the rows differ most, by a
private choice with a handicap for the noise that measuring it would bring; *measures* it;
*estimates* the model of the largest entropy that fits everything measured so far
(:mod:`understudy.models.graphical`); and *anneals*: where a round changed the model by no more than
noise, later rounds cost more and bring less noise. Marginals are selected such that the model's
cliques stay small enough to compute with.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from understudy.data.marginals import Marginal
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.models.graphical import Group
from understudy.models.graphical.learner import GraphicalLearner
from understudy.models.model import Model
from understudy.models.query.intervals import HeldTable, calibrate, holdout_marginals
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.release.callbacks import Progress
from understudy.synthesizers import AuditedGuarantee, Synthesizer
from understudy.synthesizers.adaptive_budget import (
    MEAN_OF_DEVIATION,
    MOST_CELLS,
    OneWayWorth,
    find_max_cells,
)
from understudy.synthesizers.adaptive_rounds import ROUND_SWEEPS, Limits, Rounds
from understudy.synthesizers.adaptive_target import (
    keep_telling,
    measure_pairs,
    merge_for_target,
)
from understudy.synthesizers.adaptive_whole import learn_all, pays_for_all
from understudy.synthesizers.collected import fit_collected
from understudy.synthesizers.independent import learn_rows_only
from understudy.synthesizers.parameters import (
    ColumnGroups,
    ColumnName,
    Optional,
    Proportion,
    RealNumber,
    WholeNumber,
    parameter,
)
from understudy.synthesizers.registry import register

LAST_SWEEPS = 50
"""How often the fit walks through its cliques after the last round."""

DESCENT_STEPS = 25
"""How many steps the fit takes at last towards all tables together."""

FIRST_LOOK = 0.3
"""Of what single attributes get at first, this share is divided equally, and tells how to divide
the rest."""

MAX_ONE_WAY_SHARE = 0.65
"""Where single attributes should have more than this share of the budget, they get all of it."""

MAX_SHRUNK_CELLS = 256
"""With a target, tables are shrunk at last where none has more cells than this."""

FAST_CELLS = 25_000
"""The most cells with ``--fast``. Who asks for fewer wants a small model; else one table of all
attributes is faster than rounds, where rows and budget pay for it, whatever its cells."""

MAX_SELECTABLE_GROUPS = 50_000
"""Where there would be more groups of so many attributes, only smaller ones are considered."""

MAX_LARGER_ORDER = 4
LARGER_NOISE = 0.05
MAX_LARGER_CELLS = 5_000
"""Groups of more than ``order`` attributes, up to this many, are considered where noise would move
no more than this share of the rows in a table of the first round, and the table has no more cells
than that."""

RARE = 1.0
"""While relations are learned, the values of an attribute are merged that have fewer rows than this
many deviations of the noise in a table of the first round ..."""

COARSE = 8.0
LEAST_VALUES = 8
"""... and neighbouring ones, where values are in order, until they have this many: about one in
each cell of a table with another attribute. Where rows are even over values, this many are left:
if noise hides those, too, there is no table to look for."""

HOLDOUT_TABLES = 8
"""How many tables the holdout has at most."""


@register(
    "adaptive",
    summary="whatever its model gets most wrong, in rounds",
    cost="many small questions",
    curators=("central", "federated", "local", "encrypted"),
    presets={"fast": "Several times faster, a little less accurate."},
)
@dataclass(frozen=True, kw_only=True)
class Adaptive(Synthesizer):
    """Measures what the model gets most wrong, in rounds.

    Parameters
    ----------
    workload
        Groups of attribute names on which the rows should be accurate, such as
        ``[("age", "education", "income")]``; only marginals within a group are measured. By default
        all.
    target
        The column that somebody will predict from the others: each of them is measured together
        with it before anything is selected; then only marginals are that hold it and columns that
        were seen to tell something of it.
    order
        The most attributes that a measured marginal has; one more, or all, where rows and budget
        pay for such a table nearly without noise.
    max_cells
        The most cells that the cliques of the model have together: larger is more accurate, slower,
        and makes larger model files. By default as many as rows and budget can pay for, from
        250,000 to 4 million. From 25,000 on, a nearly exact table of all attributes may have more.
    rounds
        How many rounds there would be, for each attribute, if all cost the same.
    one_way_share
        The share of the budget that goes to the one-way marginals; several times as much where
        there would be too much noise in them. An attribute gets more of it the more rows noise
        moves in it.
    selection_share
        The share of a round that goes to the selection; up to a quarter where tables are small.
    penalty
        The handicap of a marginal: this times its expected noise. It is public, so it costs
        nothing.
    holdout
        The share of the budget that goes to a few tables that are not fitted: they tell how wrong
        the model is, for the error bars of its answers. 0 keeps none, and neither does a workload
        or a target; error bars are then those of a model of unknown quality.

    See Also
    --------
    understudy.synthesizers.Synthesizer : the parameters that all methods share.

    Examples
    --------
    >>> method = Adaptive(epsilon=1.0, delta=1e-9)
    >>> model = method.fit("patients.csv", "schema.json")   # doctest: +SKIP
    """

    wants_delta: ClassVar[bool] = True

    workload: Sequence[Sequence[str]] = parameter(
        (), ColumnGroups(2), "Columns to be accurate together; repeatable."
    )
    target: str | None = parameter(
        None,
        Optional(ColumnName()),
        "A column to be predicted: accuracy goes to how others tell it.",
    )
    order: int = parameter(3, WholeNumber(2, 6), "The most columns that a measured table has.")
    max_cells: int | None = parameter(
        None,
        Optional(WholeNumber(1, 1 << 26)),
        "The most cells of the model; more is slower and better.",
    )
    rounds: float = parameter(
        2.0, RealNumber(above=0, high=100), "Rounds for each column, if all cost the same."
    )
    one_way_share: float = parameter(
        0.05, Proportion(), "Share of the budget for tables of single columns.", option=None
    )
    selection_share: float = parameter(
        0.1, Proportion(), "Share of a round for selecting what to measure.", option=None
    )
    penalty: float = parameter(
        1.0,
        RealNumber(low=0, high=1000),
        "Handicap of a table, in units of its expected noise.",
        option=None,
    )
    holdout: float = parameter(
        0.05,
        RealNumber(low=0, below=1),
        "Share of the budget for tables that tell how wrong the model is.",
        option=None,
    )

    @classmethod
    def fast(cls, **parameters: Any) -> Adaptive:
        """A tenth of the cells and half of the rounds: several times faster, a little less
        accurate.
        """
        return cls(**{"max_cells": FAST_CELLS, "rounds": 1.0} | parameters)

    @property
    def named(self) -> frozenset[str]:
        """The target and the columns of the workload."""
        names = {name for group in self.workload for name in group}
        if self.target is not None:
            names.add(self.target)
        return frozenset(names)

    @property
    def restricted(self) -> bool:
        """Whether something is asked for other than all relations, as well as rows and budget
        allow.
        """
        small = self.max_cells is not None and self.max_cells < FAST_CELLS
        return bool(self.workload) or self.target is not None or small

    def check(self, schema: Schema) -> None:
        """The columns that the parameters name must be modelled."""
        for name in sorted(self.named):
            if not schema[name].modelled:  # the schema says itself when there is no such column
                raise InputError(
                    f"{name!r} is of kind {schema[name].kind} and never read; no table can hold it."
                )

    @classmethod
    def audit_settings(cls, audited: AuditedGuarantee) -> dict[str, Synthesizer]:
        """Pure, and with a delta under replace."""
        plain = cls(epsilon=audited.epsilon)
        other = replace(plain, neighbours="replace", delta=audited.delta)
        return {cls.name: plain, f"{cls.name}, replace, {audited.delta_name}": other}

    # ---- the method

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """One-way marginals, then rounds: select, measure, estimate, anneal."""
        self.check(curator.schema)  # a discovered domain is known only now
        learner = GraphicalLearner(curator)
        if not learner.sizes:
            return learn_rows_only(self, curator, budget, progress)
        if curator.free_tables:
            return self._learn_collected(learner, curator, budget, progress)
        progress("measuring attributes", 0, 1)
        held_out = self._find_holdout(curator.schema)
        holdout_budget, budget = self._set_aside(held_out, budget)
        groups = self._find_groups(learner)
        rest = self._measure_one_way(learner, budget, alone=not groups)
        if groups and not self.restricted and pays_for_all(learner, rest.plus(holdout_budget)):
            return learn_all(learner, rest.plus(holdout_budget), self.parameters())
        found = False
        if groups and rest.amount > 0:
            learner = self._merge_values(learner, rest)
            groups = self._find_groups(learner, self._find_larger_cells(learner, rest))
            groups, rest = self._measure_with_target(learner, groups, rest)
            learner.refit(ROUND_SWEEPS)
        if groups:
            rounds = Rounds(learner, groups, self._find_limits(learner, budget, rest))
            while rounds.begin(progress):
                selection = rounds.select()
                rounds.measure(selection)
                rounds.estimate()
                rounds.anneal(selection)
            found = rounds.found
        if held_out and not found:  # single attributes are all there is: no table to hold out
            OneWayWorth(learner).measure(holdout_budget)
            held_out = []
        self._polish(learner)
        progress("measuring tables", 1, 1)
        return self._calibrate(learner, curator, held_out, holdout_budget)

    def _learn_collected(
        self, learner: GraphicalLearner, curator: Curator, budget: Budget, progress: Progress
    ) -> Model:
        """A model of tables that were paid for when they were collected: nothing is selected."""
        fit_collected(learner, self._find_groups(learner), budget, self.max_cells, progress)
        learner.refit(LAST_SWEEPS)
        return self._calibrate(learner, curator, self._find_holdout(curator.schema), budget)

    def _set_aside(self, held_out: list[Marginal], budget: Budget) -> tuple[Budget, ...]:
        """What tables cost that are not fitted, and what is left beside them."""
        if not held_out:
            return Budget(0.0, budget.currency), budget
        return budget.split(self.holdout, 1 - self.holdout)

    def _polish(self, learner: GraphicalLearner) -> None:
        """The last fit: nothing is measured any more, so it takes its time.

        With a target no value is left without any rows of a class because of noise: a classifier
        would take that for certain. Large tables are another matter: most of their cells are empty.
        """
        largest = max(learner.cells(group) for group in learner.fit.groups)
        if self.target is not None and largest <= MAX_SHRUNK_CELLS:
            learner.shrink_tables()
            learner.refit(LAST_SWEEPS)
            return
        learner.shrink_singles()
        learner.refit(LAST_SWEEPS)
        learner.descend(DESCENT_STEPS)

    def _calibrate(
        self, learner: GraphicalLearner, curator: Curator, held_out: list[Marginal], budget: Budget
    ) -> Model:
        """The model, with error bars as wide as tables that it was not fitted to ask for.

        The curator is the one with all values: the learner's may have merged the rare ones.
        """
        model = learner.model(self.parameters())
        if not held_out:
            return model
        held = [
            HeldTable(marginal=one.marginal, counts=one.counts, deviation=one.deviation)
            for one in curator.measure(held_out, budget)
        ]
        measured = replace(
            model.measurements, holdout=calibrate(model, held, learner.one_way_excess())
        )
        return replace(model, measurements=measured)

    def _find_holdout(self, schema: Schema) -> list[Marginal]:
        """A few tables that are measured and never fitted.

        They say how wrong the model is where nothing was measured, for the error bars of answers.
        """
        if self.holdout <= 0 or self.workload or self.target is not None:
            return []
        sizes = {a.name: a.sizes_by_level() for a in schema.modelled if a.size > 1}
        return holdout_marginals(sizes, HOLDOUT_TABLES)

    def _find_larger_cells(self, learner: GraphicalLearner, left: Budget) -> float:
        """The most cells of a table of more than ``order`` attributes: nearly exact in the first
        round.
        """
        if self.target is not None or self.order < 3:
            return 0.0
        noise = MEAN_OF_DEVIATION * self._find_noise(learner, left)
        if noise <= 0:  # reports, which were paid for before
            return 0.0
        return min(LARGER_NOISE * learner.rows / noise, MAX_LARGER_CELLS)

    def _find_groups(self, learner: GraphicalLearner, larger_cells: float = 0.0) -> list[Group]:
        """All groups that may be measured: two attributes or more, within the workload, not too
        large.

        Parameters
        ----------
        learner
            Whose attributes.
        larger_cells
            Groups of more than ``order`` attributes have no more cells than that.
        """
        names = list(learner.sizes)
        order = self.order
        if larger_cells >= min(learner.sizes.values()) ** (order + 1):
            order = max(order, MAX_LARGER_ORDER)
        while (
            order > 2
            and sum(math.comb(len(names), k) for k in range(2, order + 1)) > MAX_SELECTABLE_GROUPS
        ):
            order -= 1
        wholes = [set(group) for group in self.workload] or [set(names)]
        found: dict[Group, None] = {}
        for whole in wholes:
            inside = [name for name in names if name in whole]
            for k in range(2, order + 1):
                found.update(dict.fromkeys(itertools.combinations(inside, k)))
        return [
            group
            for group in found
            if (self.target is None or self.target in group)
            and learner.cells(group) <= (self.max_cells or MOST_CELLS)
            and (len(group) <= self.order or learner.cells(group) <= larger_cells)
        ]

    def _find_limits(self, learner: GraphicalLearner, whole: Budget, left: Budget) -> Limits:
        """What the rounds may use."""
        return Limits(
            budget=left,
            max_cells=self.max_cells or find_max_cells(learner, whole),
            rounds=self.rounds,
            selection_share=self.selection_share,
            penalty=self.penalty,
            weigh_one_way=self.target is None,
        )

    def _find_noise(self, learner: GraphicalLearner, left: Budget) -> float:
        """The deviation of the noise in a table of the first round."""
        steps = max(self.rounds * len(learner.sizes), 1.0)
        step, _ = left.split(1 - self.selection_share, steps - 1 + self.selection_share)
        return learner.curator.mean_noise(step) / MEAN_OF_DEVIATION

    def _measure_one_way(self, learner: GraphicalLearner, budget: Budget, alone: bool) -> Budget:
        """Measure single attributes, and again where there is too much noise; returns what is
        left.
        """
        singles: list[Group] = [(name,) for name in learner.sizes]
        if alone:
            learner.measure(singles, budget.equally(len(singles)))
            learner.refit(ROUND_SWEEPS)
            return Budget(0.0, budget.currency)
        first, rest = budget.split(self.one_way_share, 1 - self.one_way_share)
        look = FIRST_LOOK
        if budget.currency == "epsilon":  # two tables tell less than one for the price of both
            look = 1.0
        equal, by_worth = first.split(look, 1 - look)
        learner.measure(singles, equal.equally(len(singles)))
        worth, share = OneWayWorth(learner), 0.0
        if by_worth.amount > 0:
            worth.measure(by_worth)
            worth.refresh()
        if self.target is None:
            share = worth.first_share(budget, self.one_way_share, self.rounds)
        if share >= MAX_ONE_WAY_SHARE:
            worth.measure(rest)
            rest = Budget(0.0, budget.currency)
        elif share > self.one_way_share:
            again, rest = rest.split(share - self.one_way_share, 1 - share)
            worth.measure(again)
        learner.refit(ROUND_SWEEPS)
        return rest

    def _merge_values(self, learner: GraphicalLearner, budget: Budget) -> GraphicalLearner:
        """The learner without values that tables of several attributes could not tell apart."""
        if self.target is not None:
            return merge_for_target(learner, self.target, budget)
        noise = self._find_noise(learner, budget)
        quota = min(COARSE * noise, learner.rows / LEAST_VALUES)
        return learner.merge_rare_values(RARE * noise, quota)

    def _measure_with_target(
        self, learner: GraphicalLearner, groups: list[Group], budget: Budget
    ) -> tuple[list[Group], Budget]:
        """Measure each attribute together with the target, if there is one; returns the groups that
        may still be selected, and what is left.
        """
        pairs = [group for group in groups if len(group) == 2]
        if self.target is None or not pairs:
            return groups, budget
        rest = measure_pairs(learner, pairs, budget)
        return keep_telling(learner, pairs, groups), rest
