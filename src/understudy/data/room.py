"""Whether bins leave rules any room: a search for values inside the bins that make all rules hold.

A row's codes say only in which bins its values lie: a box. The search settles the rules one after
the other on an alternative that the box leaves possible, narrows the box by it, and goes back where
that leads nowhere. In the box that is left, the inequalities of the chosen alternatives carry
bounds from column to column until nothing moves. For one rule that is exact: the corner of the box
that suits it best decides. For several that share columns, the lowest (or highest) values that are
left keep every system of inequalities in which each bounds one column from below (or above) by the
others, such as ``a <= b``, ``a + b <= c`` and ``b <= 0.8 * d`` together. What no corner satisfies
counts as impossible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.atoms import Among, Below, Rule, RuleAtom, Within
from understudy.data.grids import ValueGrid
from understudy.data.rules import Mask, Numbers, Rules

MAX_SWEEPS = 64
"""How often bounds are carried from rule to rule."""

MAX_BRANCHES = 10_000
"""Of one search: rows that are not settled by then count as impossible."""

NamedCodes = Mapping[str, NDArray[Any]]


@dataclass
class Boxes:
    """Bounds of the values of some rows, their codes, and the inequalities that they must keep.

    Attributes
    ----------
    rows
        Which rows they are.
    active
        Inequalities, each with the rows that it is needed in: where no column of it is missing.
    """

    rules: Rules
    rows: NDArray[np.intp]
    codes: dict[str, NDArray[Any]]
    low: dict[str, Numbers]
    high: dict[str, Numbers]
    active: list[tuple[Below, Mask]]

    @classmethod
    def of(cls, rules: Rules, codes: NamedCodes) -> Boxes:
        """The bounds that codes give."""
        return cls(
            rules,
            np.arange(len(next(iter(codes.values())))),
            {name: codes[name] for name in rules.names},
            {name: grid.lowest[codes[name]] for name, grid in rules.grids.items()},
            {name: grid.highest[codes[name]] for name, grid in rules.grids.items()},
            [],
        )

    def take(self, rows: Mask) -> Boxes:
        """Those of some rows, which can be narrowed by themselves."""
        return Boxes(
            self.rules,
            self.rows[rows],
            {name: codes[rows] for name, codes in self.codes.items()},
            {name: bound[rows] for name, bound in self.low.items()},
            {name: bound[rows] for name, bound in self.high.items()},
            [(atom, needed[rows]) for atom, needed in self.active],
        )

    # ---- alternatives

    def certain(self, rule: Rule) -> Mask:
        """Where some alternative of a rule holds whatever the values are."""
        found = np.zeros(len(self.rows), dtype=bool)
        for alternative in rule.alternatives:
            held = np.ones(len(found), dtype=bool)
            for atom in alternative:
                held &= self._atom_certain(atom)
            found |= held
        return found

    def _atom_certain(self, atom: RuleAtom) -> Mask:
        if isinstance(atom, Among):
            return self.rules.among(atom, self.codes)
        if isinstance(atom, Within):
            found: Mask = (self.low[atom.name] >= atom.low) & (self.high[atom.name] <= atom.high)
            return found
        worst = {
            name: self.high[name] if weight > 0 else self.low[name]
            for name, weight in atom.form.terms.items()
        }
        return atom.comparison.holds(worst) | self.rules.any_missing(atom, self.codes)

    def possible(self, alternative: Sequence[RuleAtom]) -> Mask:
        """Where the bounds leave an alternative some values."""
        found = np.ones(len(self.rows), dtype=bool)
        low, high = dict(self.low), dict(self.high)
        for atom in alternative:
            if isinstance(atom, Among):
                found &= self.rules.among(atom, self.codes)
            elif isinstance(atom, Within):
                low[atom.name], high[atom.name] = self._narrow_bounds(atom, low, high)
                found &= low[atom.name] <= high[atom.name]
        for atom in alternative:
            if isinstance(atom, Below):
                best = {
                    name: low[name] if weight > 0 else high[name]
                    for name, weight in atom.form.terms.items()
                }
                found &= atom.comparison.holds(best) | self.rules.any_missing(atom, self.codes)
        return found

    def choose(self, alternative: Sequence[RuleAtom]) -> None:
        """Narrow the bounds by an alternative."""
        for atom in alternative:
            if isinstance(atom, Within):
                self.low[atom.name], self.high[atom.name] = self._narrow_bounds(
                    atom, self.low, self.high
                )
            elif isinstance(atom, Below):
                self.active.append((atom, ~self.rules.any_missing(atom, self.codes)))
        self.carry()

    def _narrow_bounds(
        self, atom: Within, low: Mapping[str, Numbers], high: Mapping[str, Numbers]
    ) -> tuple[Numbers, Numbers]:
        grid, name, rows = self.rules.grids[atom.name], atom.name, len(self.rows)
        lower = _raise_bound(grid, low[name], np.full(rows, atom.low))
        return lower, _lower_bound(grid, lower, high[name], np.full(rows, atom.high))

    # ---- inequalities

    def carry(self) -> None:
        """Narrow the bounds by the inequalities until nothing moves."""
        for _ in range(MAX_SWEEPS):
            moved = False
            for atom, needed in self.active:
                for name in atom.form.terms:
                    moved |= self._carry_to(name, atom, needed)
            if not moved:
                return

    def _carry_to(self, name: str, atom: Below, needed: Mask) -> bool:
        """Narrow the bounds of one column by those of the others in an inequality."""
        grid, strict = self.rules.grids[name], atom.comparison.strict
        weight = atom.form.terms[name]
        rest = np.full(len(needed), -atom.form.constant)
        for other, factor in atom.form.terms.items():
            if other != name:
                rest = rest - factor * (self.low if factor > 0 else self.high)[other]
        bound = rest / weight
        low, high = self.low[name], self.high[name]
        if weight > 0:
            found = _lower_bound(grid, low, high, bound, strict)
            changed = needed & (found < high)
            self.high[name] = np.where(changed, found, high)
        else:
            found = _raise_bound(grid, low, bound, strict)
            changed = needed & (found > low)
            self.low[name] = np.where(changed, found, low)
        # A box that is empty stays so: there is no sense in moving its ends any further.
        return bool((changed & (self.low[name] <= self.high[name])).any())

    # ---- values

    def fix(self, name: str, values: Numbers) -> None:
        """Settle a column, and carry that to the others."""
        self.low[name], self.high[name] = values, values
        self.carry()


Visit = Callable[[Boxes], Iterator[dict[str, Numbers]]]
"""Proposes values for all columns, inside boxes that it may change."""


def search(rules: Rules, codes: NamedCodes, visit: Visit) -> tuple[Mask, dict[str, Numbers]]:
    """Look for values that make all rules hold in rows with given codes.

    Parameters
    ----------
    rules
        The rules.
    codes
        For each column that they name the codes of the rows.
    visit
        What proposes values once all rules are settled.

    Returns
    -------
    Where values were found, and these.
    """
    whole = Boxes.of(rules, codes)
    found = _Search(rules, visit, whole)
    found.settle(whole, 0)
    return found.settled, found.values


def place(rules: Rules, codes: NamedCodes) -> tuple[Mask, dict[str, Numbers]]:
    """Whether the bins of rows leave all rules room, and values that show it."""
    lowest = {name: grid.lowest[codes[name]] for name, grid in rules.grids.items()}
    settled = rules.holds(lowest, codes)
    left = np.flatnonzero(~settled)
    if not rules.loose or not len(left):
        return settled, lowest
    found, values = search(rules, {name: codes[name][left] for name in rules.names}, _corners)
    settled[left] = found
    for name, numbers in values.items():
        lowest[name][left[found]] = numbers[found]
    return settled, lowest


def _corners(boxes: Boxes) -> Iterator[dict[str, Numbers]]:
    """The lowest values, the highest ones, and each where most inequalities want it."""
    yield dict(boxes.low)
    yield dict(boxes.high)
    point = dict(boxes.low)
    for name in boxes.rules.loose:
        pull = np.zeros(len(boxes.rows))
        for atom, needed in boxes.active:
            pull += np.where(needed, np.sign(atom.form.terms.get(name, 0.0)), 0.0)
        point[name] = np.where(pull >= 0, boxes.low[name], boxes.high[name])
        boxes.fix(name, point[name])
    yield point


class _Search:
    """Goes through the alternatives of rule after rule, with all rows at once that take the same
    way.
    """

    def __init__(self, rules: Rules, visit: Visit, whole: Boxes) -> None:
        self._all = rules
        # What leaves no choice narrows the boxes before anything is chosen.
        self._rules = sorted(rules.rules, key=lambda rule: len(rule.alternatives))
        self._visit = visit
        self._branches = 0
        self.settled = np.zeros(len(whole.rows), dtype=bool)
        self.values = {name: bound.copy() for name, bound in whole.low.items()}

    def settle(self, boxes: Boxes, depth: int) -> None:
        """Settle the rules from one on, for the rows of some boxes."""
        self._branches += 1
        if not len(boxes.rows) or self._branches > MAX_BRANCHES:
            return
        if depth == len(self._rules):
            self._check(boxes)
            return
        rule = self._rules[depth]
        if len(rule.alternatives) > 1:
            certain = boxes.certain(rule)
            self.settle(boxes.take(certain), depth + 1)
            boxes = boxes.take(~certain)
        for alternative in rule.alternatives:
            taken = boxes.possible(alternative) & ~self.settled[boxes.rows]
            if taken.any():
                chosen = boxes.take(taken)
                chosen.choose(alternative)
                self.settle(chosen, depth + 1)

    def _check(self, boxes: Boxes) -> None:
        """Try what is proposed; values must keep the rules and lie in their bins."""
        for point in self._visit(boxes):
            good = self._all.holds(point, boxes.codes) & self._all.fits(point, boxes.codes)
            good &= ~self.settled[boxes.rows]
            rows = boxes.rows[good]
            for name, numbers in point.items():
                self.values[name][rows] = numbers[good]
            self.settled[rows] = True
            if self.settled[boxes.rows].all():
                return


def _raise_bound(grid: ValueGrid, low: Numbers, bound: Numbers, strict: bool = False) -> Numbers:
    """A lower bound, moved up to the grid where another one asks for it."""
    enough = low > bound if strict else low >= bound
    return np.where(enough, low, np.maximum(low, grid.up(bound, strict)))


def _lower_bound(
    grid: ValueGrid, low: Numbers, high: Numbers, bound: Numbers, strict: bool = False
) -> Numbers:
    """An upper bound, moved down to the grid where another one asks for it.

    The lower end of a bin is a value of it even where it is not on the grid.
    """
    enough = high < bound if strict else high <= bound
    lower = grid.down(bound, strict)
    reachable = low < bound if strict else low <= bound
    lower = np.where(reachable, np.maximum(lower, low), lower)
    return np.where(enough, high, np.minimum(high, lower))
