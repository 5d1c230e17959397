"""The structure of a PrivBayes network: attribute-parent pairs, found by private choices.

Algorithms 2 and 4 of the paper, and the search of the default mode, which considers every parent
set with larger tables at a handicap.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis, Marginal
from understudy.data.schema import Category, Quantity
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.privacy.mechanisms import mean_noise
from understudy.privacy.scores import Information
from understudy.release.callbacks import Progress
from understudy.synthesizers.parent_sets import (
    MAX_PARENT_SETS,
    AllParentSets,
    MaximalParentSets,
    Sizes,
    affordable_degree,
    subsets,
    surely_too_many,
    too_many,
)

if TYPE_CHECKING:
    from understudy.synthesizers.privbayes import PrivBayes

ChildAndParents = tuple[str, Marginal]
"""An attribute and its parents."""

MAX_FAMILY_CELLS = 1 << 24
"""Tables of more cells than this are not considered."""

MAX_FAMILIES = 250_000
MAX_FINE_FAMILIES = 50_000
MAX_COARSE_FAMILIES = 10_000
"""How many families of attributes the default search scores: of two values each, as they are, and
generalised.
"""


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
        if self.fixed and method.degree is None:
            self.degree = self._useful_degree()
        if not self.fixed:
            self.bound = min(self._useful_cells(), MAX_FAMILY_CELLS)
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

    # ---- theta-usefulness

    def _choose_theta(self) -> float:
        """The given one, or what measured best: less where larger tables have a handicap anyway."""
        if self.method.theta is not None:
            return self.method.theta
        if self.handicapped:
            return 1.0
        return 3.0

    def _useful_degree(self) -> int:
        """The largest k for which tables of k + 1 attributes, even the largest, are theta-useful
        (lemma 4.8), or 0.
        """
        d = len(self.attributes)
        largest = sorted((levels[0] for levels in self.sizes.values()), reverse=True)
        for k in range(d - 1, 0, -1):
            cells = math.prod(largest[: k + 1])
            if cells <= MAX_FAMILY_CELLS and self.rows / cells >= self.theta * self._noise(d - k):
                return k
        return 0

    def _useful_cells(self) -> float:
        """The largest number of cells for which a table is theta-useful (section 5.2)."""
        return self.rows / (self.theta * self._noise(len(self.attributes)))

    def _noise(self, tables: int) -> float:
        """The average size of the noise in a cell when the parameters' budget is split over this
        many tables.
        """
        cost = self.parameters.equally(max(tables, 1))[0]
        return mean_noise(cost, self.curator.neighbours, self.curator.ledger.rows_per_person)

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

    # ---- algorithms 2 and 4

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
        candidates_of = _CandidateParents(self)
        for step, budget in enumerate(steps):
            progress("learning the network", step, len(steps))
            candidates = candidates_of.candidates([child for child, _ in pairs], left)
            if len(candidates) == 1 and not self.method.to_the_letter:
                self.parameters = self.parameters.plus(budget)  # no choice, no cost: for tables
            place = self.curator.choose(
                candidates, self._score(), budget, candidates_of.offsets(left), self.method.rule
            )
            chosen = candidates[place]
            pairs.append((chosen[0].attribute, chosen[1:]))
            left.remove(chosen[0].attribute)
        return pairs

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

    @property
    def handicap_unit(self) -> float:
        """What each cell of a candidate's table takes off its score: half of its noise, times the
        penalty.
        """
        unit = self.method.penalty * self._noise(len(self.attributes)) / 2
        # Under add_remove score I is in other units, which go by the number of rows; about is good
        # enough here.
        if self._score() == "I" and self.curator.neighbours == "add_remove":
            return unit / Information.unit(self.rows)
        return unit


class _CandidateParents:
    """The candidates of each step, grown as the network grows."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.maximal = MaximalParentSets(search.sizes)
        self.of_child: dict[str, list[Marginal]] = {}
        self.handicaps: dict[str, list[float]] = {}
        if search.handicapped:
            finest = {name: levels[:1] for name, levels in search.sizes.items()}
            smallest = min(levels[0] for levels in finest.values())
            self.every = AllParentSets(
                search.sizes,
                search.bound / smallest,
                affordable_degree(finest, search.bound, MAX_FINE_FAMILIES),
                affordable_degree(search.sizes, search.bound, MAX_COARSE_FAMILIES),
            )

    def candidates(self, placed: list[str], left: list[str]) -> list[Marginal]:
        """Attribute-parent pairs, the attribute's axis first."""
        search = self.search
        if search.fixed:
            assert search.degree is not None
            if search.target is None:
                sets = subsets(placed, search.degree)
            else:
                sets = [
                    (Axis(search.target), *more) for more in subsets(placed[1:], search.degree - 1)
                ]
            return [(axis, *parents) for axis in map(Axis, left) for parents in sets]
        if search.handicapped:
            return self._all(placed, left)
        pairs: list[Marginal] = []
        for child in left:
            pairs += self._maximal(child, placed)
            if len(pairs) > MAX_PARENT_SETS:
                raise too_many()
        return pairs

    def _must(self, child: str) -> Axis | None:
        """The parent that an attribute must have: the target, unless a table with it would be too
        large.
        """
        search = self.search
        if (
            search.target is None
            or search.sizes[child][0] * search.sizes[search.target][0] > search.bound
        ):
            return None
        return Axis(search.target)

    def _maximal(self, child: str, placed: list[str]) -> list[Marginal]:
        must = self._must(child)
        found = self.maximal(placed, self.search.bound / self.search.sizes[child][0])
        sets = [parents for parents in found if not must or must in parents]
        axis = Axis(child)
        return [(axis, *parents) for parents in sets] or [(axis,)]

    def _all(self, placed: list[str], left: list[str]) -> list[Marginal]:
        search = self.search
        unit = search.handicap_unit
        if not self.of_child:
            alone = {child for child in left if self._must(child) is None}
            self.of_child = {child: [(Axis(child),)] if child in alone else [] for child in left}
            self.handicaps = {
                child: [unit * search.sizes[child][0]] if child in alone else [] for child in left
            }
        grown = self.every.add_attribute(placed[-1])
        for child in left:
            size, axis = search.sizes[child][0], Axis(child)
            room = search.bound / size
            must = self._must(child)
            mine = [
                (parents, cells)
                for parents, cells in grown
                if cells <= room and (not must or must in parents)
            ]
            self.of_child[child] += [(axis, *parents) for parents, _ in mine]
            self.handicaps[child] += [unit * size * cells for _, cells in mine]
        if sum(len(self.of_child[child]) for child in left) > MAX_PARENT_SETS:
            raise too_many()
        return [pair for child in left for pair in self.of_child[child]]

    def offsets(self, left: list[str]) -> NDArray[np.float64] | None:
        """What is taken off the candidates' scores, in the same order: public, so it costs
        nothing.
        """
        if not self.search.handicapped:
            return None
        return -np.array([handicap for child in left for handicap in self.handicaps[child]])
