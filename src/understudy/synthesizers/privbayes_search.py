"""The structure of a PrivBayes network: attribute-parent pairs, found by private choices.

The loop that the paper (:mod:`understudy.synthesizers.privbayes_paper`) and the default
(:mod:`understudy.synthesizers.privbayes_handicaps`) have in common, and which of them decides what.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from understudy.data.marginals import Axis, Marginal
from understudy.data.schema import Category, Quantity
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.privacy.mechanisms import mean_noise
from understudy.privacy.scores import Information
from understudy.release.callbacks import Progress
from understudy.synthesizers.parent_sets import (
    MAX_FAMILY_CELLS,
    MAX_PARENT_SETS,
    Sizes,
    affordable_degree,
    surely_too_many,
    too_many,
)
from understudy.synthesizers.privbayes_handicaps import HandicappedParents
from understudy.synthesizers.privbayes_paper import (
    FixedParents,
    MaximalParents,
    find_useful_cells,
    find_useful_degree,
)

if TYPE_CHECKING:
    from understudy.synthesizers.privbayes import PrivBayes

ChildAndParents = tuple[str, Marginal]
"""An attribute and its parents."""

MAX_FAMILIES = 250_000
"""How many families of attributes of two values each the default search scores."""


class Search:
    """Which attribute-parent pairs, under which bound, with which part of the budget."""

    def __init__(
        self,
        method: PrivBayes,
        curator: Curator,
        attributes: Sequence[str],
        rows: float,
        budget: Budget,
    ) -> None:
        self.method = method
        self.curator = curator
        self.attributes = list(attributes)
        self.sizes = self._sizes()
        self.rows = rows
        self.binary = all(sizes[0] == 2 for sizes in self.sizes.values())
        structure, self.parameters = budget.split(method.beta, 1 - method.beta)
        self.fixed = method.tables == "fixed" or (
            method.tables == "auto"
            and (method.degree is not None or (self.binary and method.to_the_letter))
        )
        # Algorithm 1 derives the tables of the first k attributes, algorithm 3 measures all tables.
        self.derive = self.fixed or not method.to_the_letter
        self.handicapped = not self.fixed and (
            method.candidates == "all" or (method.candidates == "auto" and not self.binary)
        )
        self.theta = self._choose_theta()
        self.degree = method.degree
        self.bound = math.inf
        facts = self.sizes, rows, self.theta, self._noise
        if self.fixed and method.degree is None:
            self.degree = find_useful_degree(*facts)
        if not self.fixed:
            self.bound = min(find_useful_cells(*facts), MAX_FAMILY_CELLS)
        if self.binary and not self.fixed and not method.to_the_letter:
            most = affordable_degree(self.sizes, self.bound, MAX_FAMILIES, cumulative=False)
            self.bound = min(self.bound, 2.0 ** (most + 1))
        if self._no_choice():
            structure, self.parameters = budget.split(0.0, 1.0)
        elif self._too_many_sets():
            raise too_many()
        self.structure = structure

    def _sizes(self) -> Sizes:
        """The sizes at each level that a parent may have: one level only without hierarchical
        encoding.
        """
        schema = self.curator.schema
        encoding = self.method.encoding
        if encoding == "auto":
            natural = any(
                isinstance(a, Quantity) or (isinstance(a, Category) and a.taxonomy)
                for a in schema.modelled
            )
            if natural:
                encoding = "hierarchical"
            else:
                encoding = "vanilla"
        deep = encoding == "hierarchical"
        return {
            name: schema[name].sizes_by_level() if deep else (schema[name].size,)
            for name in self.attributes
        }

    def _choose_theta(self) -> float:
        """The given one, or what measured best: less where larger tables have a handicap anyway."""
        if self.method.theta is not None:
            return self.method.theta
        if self.handicapped:
            return 1.0
        return 3.0

    def _noise(self, tables: int) -> float:
        """The average size of the noise in a cell when the parameters' budget is split over this
        many tables.
        """
        cost = self.parameters.equally(max(tables, 1))[0]
        return mean_noise(cost, self.curator.neighbours, self.curator.ledger.max_rows_per_person)

    def _no_parents(self) -> bool:
        if len(self.attributes) < 2 or self.degree == 0:
            return True
        pairs = itertools.permutations(self.sizes.values(), 2)
        return min(child[0] * min(parent) for child, parent in pairs) > self.bound

    @property
    def target(self) -> str | None:
        """What every other attribute has as a parent; one with a single value tells nothing and
        needs none.
        """
        if self.method.target in self.sizes:
            return self.method.target
        return None

    def _no_choice(self) -> bool:
        """Whether the network is known beforehand."""
        return self._no_parents() or (self.target is not None and self.fixed and self.degree == 1)

    def _too_many_sets(self) -> bool:
        """Told before the first choice; the default search has a smaller bound or degree
        instead.
        """
        if self.fixed:
            assert self.degree is not None
            return math.comb(len(self.attributes) - 1, self.degree) > MAX_PARENT_SETS
        return not self.handicapped and surely_too_many(self.sizes, self.bound)

    # ---- the loop

    def greedy_bayes(self, progress: Progress) -> list[ChildAndParents]:
        """Grow the network: the first attribute is the target or drawn, each other one is chosen
        with its parents.
        """
        if self._no_parents():
            return [(name, ()) for name in self.attributes]
        left = list(self.attributes)
        first = self.target or left[self.curator.toss(len(left))]
        left.remove(first)
        pairs: list[ChildAndParents] = [(first, ())]
        if self._no_choice():
            return pairs + [(name, (Axis(first),)) for name in left]
        steps = self.structure.equally(len(left))
        parents = self._choose_candidates()
        for step, budget in enumerate(steps):
            progress("learning the network", step, len(steps))
            candidates = parents.find([child for child, _ in pairs], left)
            if len(candidates) == 1 and not self.method.to_the_letter:
                self.parameters = self.parameters.plus(budget)  # no choice, no cost: for tables
            place = self.curator.choose(
                candidates, self._score(), budget, parents.offsets(left), self.method.rule
            )
            chosen = candidates[place]
            pairs.append((chosen[0].attribute, chosen[1:]))
            left.remove(chosen[0].attribute)
        return pairs

    def _choose_candidates(self) -> FixedParents | MaximalParents | HandicappedParents:
        """Which parents are considered for an attribute."""
        if self.fixed:
            assert self.degree is not None
            return FixedParents(self.degree, self.target)
        if self.handicapped:
            unit = self._find_handicap_unit
            return HandicappedParents(self.sizes, self.bound, self.target, unit)
        return MaximalParents(self.sizes, self.bound, self.target)

    def _score(self) -> str:
        score = self.method.score
        if score == "auto":
            if self.binary:
                score = "F"
            else:
                score = "R"
        if score == "R" and self.method.to_the_letter:
            return "R of the paper"
        return score

    def _find_handicap_unit(self) -> float:
        """What each cell of a candidate's table takes off its score: half of its noise, times the
        penalty.
        """
        unit = self.method.penalty * self._noise(len(self.attributes)) / 2
        # Under add_remove score I is in other units, which go by the number of rows; about is good
        # enough here.
        if self._score() == "I" and self.curator.neighbours == "add_remove":
            return unit / Information.unit(self.rows)
        return unit
