"""The rounds of `adaptive`: what to select next, at what price, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import marginal
from understudy.models.graphical import Group
from understudy.models.graphical.learner import GraphicalLearner
from understudy.privacy.budget import Budget
from understudy.privacy.questions import Choose
from understudy.release.callbacks import Progress
from understudy.synthesizers.adaptive_budget import OneWayWorth

ROUND_SWEEPS = 5
"""How often the fit walks through its cliques after a round."""

MAX_ROUND_CANDIDATES = 2_500
"""Where there are more, each round looks at all pairs, and at larger tables drawn at random until
they are this many."""

ATTRIBUTES_PER_SELECTION = 16
MANY_ATTRIBUTES = 64
WIDE_ATTRIBUTES_PER_SELECTION = 4
"""A round selects one marginal for each of this many attributes, and at least one; in a wide table
more, since a look at all candidates costs far more than a choice.
"""

CELLS_PER_CHOICE = 0.9
"""The noise of a choice does as much harm as that of this many cells of a table."""

FIRST_CELLS_SHARE = 0.1
"""From the beginning the cliques may have this share of their cells; the rest comes with the
budget spent."""

STRONG_SHARE = 0.75
"""A table is looked for if one would be selected on which rows and model differ by this share of
the rows, as they do where one column nearly tells another."""

LUCK_OF_OTHERS = 0.25
"""Of n candidates that do not differ the luckiest looks as if it did, by ln(n) times the noise of a
choice. But where one differs much, many do, such as each larger table that holds it: one stands out
where it differs by this share of that."""

PATIENCE = 3.0
"""How much more a round costs after one in which nothing stood out."""

ANNEALING = 2.0
"""How much more a round costs after one that changed the model by no more than noise."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What all rounds together may use, and how a round divides its part."""

    budget: Budget
    max_cells: float
    rounds: float
    selection_share: float
    """At least; small tables are selected with more care."""
    penalty: float
    weigh_one_way: bool = True
    """Whether single attributes may get a round's budget where they are worth more than tables."""


@dataclass(kw_only=True)
class Selection:
    """What a round selected."""

    groups: list[Group]
    costs: list[Budget]
    expected: list[NDArray[np.float64]]
    """The groups' tables by the model before the round."""
    noise: float
    """The average size of the noise in a cell of theirs."""


class Rounds:
    """The rounds: what is left of the budget, and what the next round may cost.

    In a wide table each round selects several groups that have no attribute in common: what is
    learned of one says little about the others.
    """

    def __init__(self, learner: GraphicalLearner, groups: list[Group], limits: Limits) -> None:
        self.limits = limits
        self.learner = learner
        self.groups = groups
        self.marginals = [marginal(*group) for group in groups]
        self.cells = np.array([learner.cells(group) for group in groups], dtype=np.float64)
        self.members = _number_members(list(learner.sizes), groups)
        self.clique_cells = np.zeros(len(groups))
        """How many cells the cliques would have with a group, when last looked at."""
        self.one_way = OneWayWorth(learner)
        self.selection_share = max(limits.selection_share, find_selection_share(self.cells))
        self.left = limits.budget
        self.step = limits.budget.amount / max(limits.rounds * len(learner.sizes), 1.0)
        per_selection = ATTRIBUTES_PER_SELECTION
        if len(learner.sizes) >= MANY_ATTRIBUTES:
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
            spent = 1 - self.left.amount / self.limits.budget.amount
            progress("measuring tables", round(1000 * spent), 1000)
            now = self._take_step()
            self.selecting, self.measuring = self._split(now)
            self.noise = self.learner.curator.mean_noise(self.measuring)
            self.places = self._find_candidates()
            if len(self.places) and self._could_stand_out():
                return True
            if self.left.amount <= 0:
                self._measure_known(now)
                break
            if len(self.places) and self._prefers_one_way():
                self._measure_one_way(now)
            else:  # too small a step for any table: nothing was asked yet
                self.left = self.left.plus(now)
                self.step *= 2
        return False

    def select(self) -> Selection:
        """Choose the groups on which the model and the rows differ most, after their handicaps.

        One candidate stands for none: a single attribute, of which the model has what is known. It
        is chosen where no table differs from the model by more than its handicap.
        """
        learner = self.learner
        candidates = [self.groups[place] for place in self.places]
        members = self.members[self.places]
        none = len(candidates)
        marginals = [*(self.marginals[place] for place in self.places), marginal(*self.smallest)]
        expected = learner.estimate_tables(marginals)
        question = Choose(
            candidates=marginals,
            score="misfit",
            budget=self.selecting,
            offsets=np.append(-self._handicaps(), 0.0),
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
        return Selection(
            groups=[candidates[i] for i in chosen],
            costs=costs,
            expected=[expected[i] for i in chosen],
            noise=self.noise,
        )

    def measure(self, selection: Selection) -> None:
        """Ask for the tables of the selected groups."""
        if selection.groups:
            self.learner.measure(selection.groups, selection.costs)
            self.found = True

    def estimate(self) -> None:
        """Fit the model to everything measured so far."""
        self.learner.refit(ROUND_SWEEPS)
        self.one_way.refresh()

    def anneal(self, selection: Selection) -> None:
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
        if self._prefers_one_way() and self.left.amount >= self.measuring.amount:
            # In a wide table several at once: each round looks at all pairs, which takes time.
            prices = max(1, len(self.learner.sizes) // ATTRIBUTES_PER_SELECTION)
            share = min(prices * self.measuring.amount / self.left.amount, 1.0)
            now, self.left = self.left.split(share, 1 - share)
            self._measure_one_way(now)
            return
        self.step *= PATIENCE
        if self.step > self.left.amount:
            self._measure_known(self.left)
            self.left = Budget(0.0, self.left.currency)

    def _measure_one_way(self, cost: Budget) -> None:
        """Single attributes are worth more than any table: they get what one would cost."""
        self.one_way.measure(cost)
        self.estimate()

    def _measure_known(self, cost: Budget) -> None:
        """Spend the last part of the budget on what the model consists of."""
        if self.found:
            self.learner.measure_again(cost)
        else:
            self.one_way.measure(cost)

    def _prefers_one_way(self) -> bool:
        """Whether single attributes are worth more than the noise of the smallest table: else it is
        noise that hides all tables.

        In epsilon, precision grows with the square of the price, so that a table measured in ten
        parts has ten times the variance: single attributes wait for a step that doubles what is
        known of them.
        """
        if not self.limits.weigh_one_way:
            return False
        cost = self.selecting.plus(self.measuring)
        if cost.currency == "epsilon" and not self.one_way.doubles(cost):
            return False
        return self.one_way.rows(cost) > float(self.noise * self.cells[self.places].min())

    def _could_stand_out(self) -> bool:
        """Whether a table that differs much from the model would be chosen: after its handicap, and
        against what noise makes of all others, where single attributes would get the price.
        """
        beaten = float(self._handicaps().min())
        if self.limits.weigh_one_way:
            others = LUCK_OF_OTHERS * math.log(len(self.places))
            beaten += others * self.learner.curator.choice_noise(self.selecting)
        return beaten <= STRONG_SHARE * self.learner.rows

    def _handicaps(self) -> NDArray[np.float64]:
        """For each candidate how far rows and model may be apart without it being worth its price:
        by the noise of measuring it, and by what single attributes would gain instead.
        """
        cells = self.cells[self.places]
        if not self.limits.weigh_one_way:
            return self.limits.penalty * self.noise * cells
        one_way = self.one_way.rows_beside(self.measuring, self.members[self.places], cells)
        return np.asarray(self.limits.penalty * self.noise * cells + one_way)

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
        return step.split(self.selection_share, 1 - self.selection_share)

    def _find_candidates(self) -> NDArray[np.int64]:
        """The groups that could be measured now: noise leaves something to see, cliques stay
        small, and the table would tell something new.
        """
        max_cells = self._max_cells_now()
        visible = self.noise * self.cells <= self.learner.rows
        places = np.flatnonzero(visible & (self.clique_cells <= 2 * max_cells))
        max_candidates = MAX_ROUND_CANDIDATES * self.selections
        if len(places) > max_candidates:
            places = self._draw_candidates(places, max_candidates)
        # A table that tells nothing new may still differ most, and would be selected for ever.
        told = [self.learner.is_settled(self.groups[place]) for place in places]
        places = places[~np.array(told, dtype=np.bool_)]
        groups = [self.groups[place] for place in places]
        self.clique_cells[places] = self.learner.fit.cells_with_each(groups)
        return places[self.clique_cells[places] <= max_cells]

    def _draw_candidates(self, places: NDArray[np.int64], number: int) -> NDArray[np.int64]:
        """So many of the groups, at random: all pairs, or as many of them, before larger ones."""
        pairs = (self.members[places] >= 0).sum(axis=1) == 2
        drawn = self.rng.permutation(len(places))
        drawn = drawn[np.argsort(~pairs[drawn], kind="stable")][:number]
        return np.sort(places[drawn])

    def _max_cells_now(self) -> float:
        """How many cells all cliques may have now: more as the budget is spent."""
        spent = 1 - self.left.amount / self.limits.budget.amount
        allowed = self.limits.max_cells * max(spent, FIRST_CELLS_SHARE)
        return max(allowed, self.learner.fit.cells_with(())) * (1 + 1e-9)


def find_selection_share(cells: NDArray[np.float64]) -> float:
    """The share of a round that its selection should have, by the cells of the candidates.

    Noise falls with the root of a price. So a choice does harm like c / sqrt(share), and a table of
    n cells like n / sqrt(1 - share): least together where share / (1 - share) is (c / n)^(2/3).
    """
    usual = math.exp(float(np.log(cells).mean()))
    return 1 / (1 + (usual / CELLS_PER_CHOICE) ** (2 / 3))


def _number_members(names: Sequence[str], groups: Sequence[Group]) -> NDArray[np.int64]:
    """For each group the numbers of its attributes; -1 where it has fewer than others."""
    number = {name: place for place, name in enumerate(names)}
    longest = max(map(len, groups))
    rows = [[number[name] for name in group] + [-1] * (longest - len(group)) for group in groups]
    return np.array(rows, dtype=np.int64)
