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
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Marginal, marginal
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.models.graphical import Group
from understudy.models.graphical.learner import GraphicalLearner
from understudy.models.model import Model
from understudy.models.query.intervals import HeldTable, calibrate, holdout_marginals
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.privacy.questions import Choose
from understudy.release.callbacks import Progress
from understudy.synthesizers import AuditedGuarantee, Synthesizer
from understudy.synthesizers.independent import learn_rows_only
from understudy.synthesizers.parameters import (
    ColumnGroups,
    ColumnName,
    Number,
    Optional,
    Share,
    WholeNumber,
    parameter,
)
from understudy.synthesizers.registry import register

SWEEPS = 5
LAST_SWEEPS = 50
"""How often the fit walks through its cliques after a round, and after the last one."""

MAX_CANDIDATES = 2_500
"""Where there are more, each round looks at this many of them, drawn at random."""

MAX_GROUPS = 50_000
"""Where there would be more groups of three attributes, only pairs are considered."""

ATTRIBUTES_PER_SELECTION = 16
WIDE = 64
WIDE_ATTRIBUTES_PER_SELECTION = 4
"""A round selects one marginal for each of this many attributes, and at least one; in a wide table
more, since a look at all candidates costs far more than a choice.
"""

LEAST_CELLS, MOST_CELLS = 250_000, 4_000_000
CELLS_PER_SIGNAL = 12.0
"""By default the cliques have this many cells for each time that the noise of a table goes into the
rows, within these bounds."""

FIRST_CELLS_SHARE = 0.1
"""From the beginning the cliques may have this share of their cells; the rest comes with the
budget spent."""

ONE_WAY_WORTH = 3.2
"""What a table of several attributes is taken to be worth; larger leaves less for single ones
(:meth:`Adaptive._find_one_way_share`)."""

MAX_OTHERS = 30
"""In wider tables a pair is worth more than to its own columns: others hang on it."""

MAX_ONE_WAY_SHARE = 0.65
"""Where single attributes should have more than this share of the budget, they get all of it."""

VISIBLE_SHARE = 0.5
"""No table is looked for where even one that puts this share of the rows elsewhere than the model
does would not stand out."""

STANDING_OUT = 0.2
"""A table must exceed its handicap by this many times the noise that the largest of all candidates
has in a choice."""

KNOWN_NOISE = 0.3
"""The handicap of a table for the noise in its attributes, in units of that noise."""

PATIENCE = 3.0
"""How much more a round costs after one in which nothing stood out."""

LARGE_DOMAIN = 200
RARE = 2.0
"""Of attributes with this many values or more, those are merged while relations are learned that
have fewer rows than this many deviations of their noise, where that halves the values."""

HOLDOUT_TABLES = 8
"""How many tables the holdout has at most."""

ANNEALING = 2.0
"""How much more a round costs after one that changed the model by no more than noise."""


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
        The column that somebody will predict from the others: only marginals that hold it are
        measured.
    order
        The most attributes that a measured marginal has.
    max_cells
        The most cells that the cliques of the model have together: larger is more accurate, slower,
        and makes larger model files. By default as many as rows and budget can pay for, from
        250,000 to 4 million.
    rounds
        How many rounds there would be, for each attribute, if all cost the same.
    one_way_share
        The share of the budget that goes to the one-way marginals; several times as much where
        there would be too much noise in them.
    selection_share
        The share of a round that goes to the selection.
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
        2.0, Number(above=0, high=100), "Rounds for each column, if all cost the same."
    )
    one_way_share: float = parameter(
        0.05, Share(), "Share of the budget for tables of single columns.", option=None
    )
    selection_share: float = parameter(
        0.1, Share(), "Share of a round for selecting what to measure.", option=None
    )
    penalty: float = parameter(
        1.0,
        Number(low=0, high=1000),
        "Handicap of a table, in units of its expected noise.",
        option=None,
    )
    holdout: float = parameter(
        0.05,
        Number(low=0, below=1),
        "Share of the budget for tables that tell how wrong the model is.",
        option=None,
    )

    @classmethod
    def fast(cls, **parameters: Any) -> Adaptive:
        """A tenth of the cells and half of the rounds: several times faster, a little less
        accurate.
        """
        return cls(**{"max_cells": 25_000, "rounds": 1.0} | parameters)

    @property
    def named(self) -> frozenset[str]:
        """The target and the columns of the workload."""
        names = {name for group in self.workload for name in group}
        if self.target is not None:
            names.add(self.target)
        return frozenset(names)

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
        groups = self._find_groups(learner)
        progress("measuring attributes", 0, 1)
        held_out = self._find_holdout(curator.schema)
        if held_out:
            holdout_budget, budget = budget.split(self.holdout, 1 - self.holdout)
        rest = self._measure_one_way(learner, budget, alone=not groups)
        found = False
        if rest.amount > 0:
            learner = learner.merge_rare_values(LARGE_DOMAIN, RARE)
            groups = self._find_groups(learner)
            learner.refit(SWEEPS)
        if groups:
            max_cells = self._find_max_cells(learner, budget)
            rounds = _Rounds(self, learner, groups, rest, max_cells)
            while rounds.begin(progress):
                selection = rounds.select()
                rounds.measure(selection)
                rounds.estimate()
                rounds.anneal(selection)
            found = rounds.found
        if held_out and not found:  # single attributes are all there is, and nothing to hold out
            learner.measure_again(holdout_budget)
        learner.refit(LAST_SWEEPS)
        progress("measuring tables", 1, 1)
        model = learner.model(self.parameters())
        if not held_out or not found:
            return model
        held = [
            HeldTable(marginal=one.marginal, counts=one.counts, deviation=one.deviation)
            for one in curator.measure(held_out, holdout_budget)
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

    def _find_groups(self, learner: GraphicalLearner) -> list[Group]:
        """All groups that may be measured: two attributes or more, within the workload, not too
        large.
        """
        names = list(learner.sizes)
        order = self.order
        while order > 2 and sum(math.comb(len(names), k) for k in range(2, order + 1)) > MAX_GROUPS:
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
        ]

    def _find_max_cells(self, learner: GraphicalLearner, budget: Budget) -> float:
        """How many cells the cliques may have: as many as the rows, as released, are worth against
        the noise of one table that had all of the budget.
        """
        if self.max_cells is not None:
            return self.max_cells
        noise = learner.curator.mean_noise(budget)
        if noise <= 0:  # reports, which were paid for before
            return LEAST_CELLS
        return min(max(CELLS_PER_SIGNAL * learner.rows / noise, LEAST_CELLS), MOST_CELLS)

    def _measure_one_way(self, learner: GraphicalLearner, budget: Budget, alone: bool) -> Budget:
        """Measure single attributes, and again where there is too much noise; returns what is
        left.
        """
        singles: list[Group] = [(name,) for name in learner.sizes]
        if alone:
            learner.measure(singles, budget.equally(len(singles)))
            learner.refit(SWEEPS)
            return Budget(0.0, budget.currency)
        first, rest = budget.split(self.one_way_share, 1 - self.one_way_share)
        learner.measure(singles, first.equally(len(singles)))
        share = self._find_one_way_share(learner, budget)
        if share >= MAX_ONE_WAY_SHARE:
            learner.measure(singles, rest.equally(len(singles)))
            rest = Budget(0.0, budget.currency)
        elif share > self.one_way_share:
            again, rest = rest.split(share - self.one_way_share, 1 - share)
            learner.measure(singles, again.equally(len(singles)))
        learner.refit(SWEEPS)
        return rest

    def _find_one_way_share(self, learner: GraphicalLearner, budget: Budget) -> float:
        """The share of the budget at which one more table of several attributes is worth as much as
        less noise in single ones. It follows from the number of rows, as released, and the budget.

        Let k be the part of the rows by which noise moves the table of one attribute, if all of the
        budget went to single ones; at a share f it is k / sqrt(f) in rho, and k / f in epsilon. A
        small part s more of the budget lowers it by k s / (2 f^1.5) or k s / f^2. That helps every
        table of three attributes, three times. A pair for the same price helps those that hold it,
        6 / (d (d - 1)) of all, and those that hang on it. Where both help alike, at the usual price
        of a round, s = 1 / (2 d), f is as below; ``ONE_WAY_WORTH`` stands for what a pair brings.
        """
        each = budget.equally(len(learner.sizes))[0]
        cells = statistics.fmean(learner.sizes.values())
        noise = learner.curator.mean_noise(each) * cells / learner.rows
        balance = noise * min(len(learner.sizes) - 1, MAX_OTHERS) / ONE_WAY_WORTH
        if budget.currency == "rho":
            return float(balance ** (2 / 3))
        return math.sqrt(2 * balance)


@dataclass(kw_only=True)
class _Selection:
    """What a round selected."""

    groups: list[Group]
    costs: list[Budget]
    expected: list[NDArray[np.float64]]
    """The groups' tables by the model before the round."""
    noise: float
    """The average size of the noise in a cell of theirs."""


class _Rounds:
    """The rounds: what is left of the budget, and what the next round may cost.

    In a wide table each round selects several groups that have no attribute in common: what is
    learned of one says little about the others.
    """

    def __init__(
        self,
        method: Adaptive,
        learner: GraphicalLearner,
        groups: list[Group],
        budget: Budget,
        max_cells: float,
    ) -> None:
        self.method = method
        self.max_cells = max_cells
        self.learner = learner
        self.groups = groups
        self.marginals = [marginal(*group) for group in groups]
        self.cells = np.array([learner.cells(group) for group in groups], dtype=np.float64)
        self.members = _number_members(list(learner.sizes), groups)
        self.clique_cells = np.zeros(len(groups))
        """How many cells the cliques would have with a group, when last looked at."""
        self.whole = budget
        self.left = budget
        self.step = budget.amount / max(method.rounds * len(learner.sizes), 1.0)
        per_selection = ATTRIBUTES_PER_SELECTION
        if len(learner.sizes) >= WIDE:
            per_selection = WIDE_ATTRIBUTES_PER_SELECTION
        self.selections = max(1, len(learner.sizes) // per_selection)
        # Public: which candidates a round looks at where there are too many.
        self.rng = np.random.default_rng(0)
        self.places = np.zeros(0, dtype=np.int64)
        self.found = False
        """Whether any table stood out."""
        self.smallest: Group = (min(learner.sizes, key=learner.sizes.__getitem__),)

    def begin(self, progress: Progress) -> bool:
        """Find the candidates of the next round; False where the budget is spent."""
        while self.left.amount > 0:
            spent = 1 - self.left.amount / self.whole.amount
            progress("measuring tables", round(1000 * spent), 1000)
            now = self._take_step()
            self.selecting, self.measuring = self._split(now)
            self.noise = self.learner.curator.mean_noise(self.measuring)
            self.places = self._find_candidates()
            if len(self.places) and self._could_stand_out():
                return True
            if self.left.amount > 0:  # too small a step for any table: nothing was asked yet
                self.left = self.left.plus(now)
                self.step *= 2
            else:
                self.learner.measure_again(now)
        return False

    def select(self) -> _Selection:
        """Choose the groups on which the model and the rows differ most, after their handicaps.

        One candidate stands for none: a single attribute, of which all is known. It is chosen where
        no table differs from the model by more than its own noise and that of the choice.
        """
        learner = self.learner
        candidates = [self.groups[place] for place in self.places]
        members = self.members[self.places]
        none = len(candidates)
        marginals = [*(self.marginals[place] for place in self.places), marginal(*self.smallest)]
        expected = learner.expected(marginals)
        question = Choose(
            candidates=marginals,
            score="misfit",
            budget=self.selecting,
            offsets=np.append(-self._handicaps(), self._standing_out(none)),
            estimates=expected,
        )
        question.check(learner.curator.domain)
        chosen: list[int] = []
        costs: list[Budget] = []
        left = np.arange(none)
        while len(left):
            asked = np.append(left, none)
            found = int(asked[learner.curator.answer(question.narrow(asked, self.selecting))])
            together = math.inf
            if found < none:
                together = learner.fit.cells_with([candidates[i] for i in (*chosen, found)])
            if together > self._max_cells_now():  # none, or each fits by itself, but not all
                self.left = self.left.plus(self.measuring)
                break
            chosen.append(found)
            costs.append(self.measuring)
            shared = np.isin(members[left], members[found][members[found] >= 0])
            left = left[~shared.any(axis=1)]
            if len(chosen) == self.selections or self.left.amount < 2 * self.step:
                break
            self.selecting, self.measuring = self._split(self._take_step())
        return _Selection(
            groups=[candidates[i] for i in chosen],
            costs=costs,
            expected=[expected[i] for i in chosen],
            noise=self.noise,
        )

    def measure(self, selection: _Selection) -> None:
        """Ask for the tables of the selected groups."""
        if selection.groups:
            self.learner.measure(selection.groups, selection.costs)
            self.found = True

    def estimate(self) -> None:
        """Fit the model to everything measured so far."""
        self.learner.refit(SWEEPS)

    def anneal(self, selection: _Selection) -> None:
        """Let later rounds cost more where this one changed the model by no more than noise."""
        learner = self.learner
        if not selection.groups:
            self._be_patient()
        for group, before in zip(selection.groups, selection.expected, strict=True):
            change = np.abs(learner.fit.marginal(group) * learner.rows - before).sum()
            if change <= selection.noise * learner.cells(group):
                self.step *= ANNEALING ** (1 / self.selections)

    def _be_patient(self) -> None:
        """Nothing stood out: look again at a higher price, or spend the rest on what is known."""
        self.step *= PATIENCE
        if self.step > self.left.amount:
            self.learner.measure_again(self.left)
            self.left = Budget(0.0, self.left.currency)

    def _standing_out(self, candidates: int) -> float:
        """By how many rows the best of some candidates may stand out by chance."""
        noise = self.learner.curator.choice_noise(self.selecting)
        return STANDING_OUT * noise * math.log(candidates + 1)

    def _could_stand_out(self) -> bool:
        """Whether a table that differs much from the model would be chosen."""
        noise = self.learner.curator.choice_noise(self.selecting)
        needed = float(self._handicaps().min()) + STANDING_OUT * noise
        return needed <= VISIBLE_SHARE * self.learner.rows

    def _handicaps(self) -> NDArray[np.float64]:
        """For each candidate how far rows and model may be apart by noise alone: that of measuring
        it, and that in what is known of its attributes, which single ones would lower as well.
        """
        known = [self.learner.one_way_noise(name) for name in self.learner.sizes]
        inside = np.append(known, 0.0)[self.members[self.places]].sum(axis=1)
        measuring = self.noise * self.cells[self.places]
        return np.asarray(self.method.penalty * measuring + KNOWN_NOISE * inside)

    def _take_step(self) -> Budget:
        """The budget of one selection and its table; too little for another one goes along."""
        if self.left.amount < 2 * self.step:
            now, self.left = self.left, Budget(0.0, self.left.currency)
            return now
        share = self.step / self.left.amount
        now, self.left = self.left.split(share, 1 - share)
        return now

    def _split(self, step: Budget) -> tuple[Budget, ...]:
        """The parts of a step for selecting and for measuring."""
        return step.split(self.method.selection_share, 1 - self.method.selection_share)

    def _find_candidates(self) -> NDArray[np.int64]:
        """The groups that could be measured now: noise leaves something to see, cliques stay
        small, and the table would tell something new.
        """
        max_cells = self._max_cells_now()
        visible = self.noise * self.cells <= self.learner.rows
        places = np.flatnonzero(visible & (self.clique_cells <= 2 * max_cells))
        max_candidates = MAX_CANDIDATES * self.selections
        if len(places) > max_candidates:
            places = np.sort(self.rng.choice(places, max_candidates, replace=False))
        # A table that tells nothing new may still differ most, and would be selected for ever.
        told = [self.learner.is_settled(self.groups[place]) for place in places]
        places = places[~np.array(told, dtype=np.bool_)]
        groups = [self.groups[place] for place in places]
        self.clique_cells[places] = self.learner.fit.cells_with_each(groups)
        return places[self.clique_cells[places] <= max_cells]

    def _max_cells_now(self) -> float:
        """How many cells all cliques may have now: more as the budget is spent."""
        spent = 1 - self.left.amount / self.whole.amount
        allowed = self.max_cells * max(spent, FIRST_CELLS_SHARE)
        return max(allowed, self.learner.fit.cells) * (1 + 1e-9)


def _number_members(names: Sequence[str], groups: Sequence[Group]) -> NDArray[np.int64]:
    """For each group the numbers of its attributes; -1 where it has fewer than others."""
    number = {name: place for place, name in enumerate(names)}
    longest = max(map(len, groups))
    rows = [[number[name] for name in group] + [-1] * (longest - len(group)) for group in groups]
    return np.array(rows, dtype=np.int64)
