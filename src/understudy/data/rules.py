"""Rules about single rows: where they hold, and whether bins leave them any room.

A rule is a list of *alternatives*, each a list of *atoms*; it holds in a row where all atoms of
some alternative do. That is enough for every kind of constraint: an inequality is one atom, "when A
then B" is "not A, or B", and a list of allowed combinations is one alternative for each.

A row's codes say only in which bins its values lie. :meth:`Rules.place` looks for values inside the
bins that make all rules hold. For one rule the search is exact: the corner of the box that suits it
best decides. For several rules that share columns, bounds are first carried from rule to rule until
nothing moves; the lowest (or highest) values that are left then keep every system of rules in which
each bounds one column from below (or above) by the others, such as ``a <= b``, ``a + b <= c`` and
``b <= 0.8 * d`` together. What no corner satisfies counts as impossible.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.atoms import Among, Atom, Below, Rule, Within
from understudy.data.grids import Grid
from understudy.data.schema import Schema

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]
MAX_SWEEPS = 64
"""How often bounds are carried from rule to rule."""

MAX_TABLE = 1 << 22
"""Cells of a table in which a rule is looked up."""


@dataclass
class _Boxes:
    """Bounds of the values of some rows, and their codes."""

    codes: Mapping[str, NDArray[Any]]
    low: dict[str, Numbers]
    high: dict[str, Numbers]

    def taken(self, rows: NDArray[np.intp]) -> _Boxes:
        return _Boxes(
            {name: codes[rows] for name, codes in self.codes.items()},
            {name: bound[rows] for name, bound in self.low.items()},
            {name: bound[rows] for name, bound in self.high.items()},
        )


class Rules:
    """Rules over the columns of a schema.

    Parameters
    ----------
    rules
        The rules.
    schema
        What the columns are.
    """

    def __init__(self, rules: Sequence[Rule], schema: Schema) -> None:
        self.schema = schema
        self.names = tuple(dict.fromkeys(name for rule in rules for name in rule.names))
        self.grids = {name: Grid(schema[name]) for name in self.names}
        self.rules = tuple(self._by_codes(rule) for rule in rules)
        self._tables = [self._table(rule) for rule in self.rules]

    def __bool__(self) -> bool:
        return bool(self.rules)

    def only(self, rules: Sequence[Rule]) -> Rules:
        """Some of the rules."""
        return Rules(rules, self.schema)

    @cached_property
    def groups(self) -> tuple[Rules, ...]:
        """The rules in groups that share no column whose codes leave a choice of values: values are
        drawn for each group by itself.
        """
        groups: list[list[Rule]] = []
        for rule in self.rules:
            near = [group for group in groups if self._touch(rule, group)]
            groups = [group for group in groups if group not in near]
            groups.append([*(other for group in near for other in group), rule])
        return tuple(self.only(group) for group in groups)

    def _touch(self, rule: Rule, group: Iterable[Rule]) -> bool:
        loose = set(self.loose)
        return any(loose & set(rule.names) & set(other.names) for other in group)

    @cached_property
    def loose(self) -> tuple[str, ...]:
        """The columns in which some code stands for more than one value."""
        return tuple(name for name, grid in self.grids.items() if not grid.is_exact)

    # ---- rules that codes alone decide

    def _by_codes(self, rule: Rule) -> Rule:
        """The rule with codes in place of values where each code stands for one value."""
        found = [tuple(map(self._atom_by_codes, atoms)) for atoms in rule.alternatives]
        return Rule(rule.text, tuple(found))

    def _atom_by_codes(self, atom: Atom) -> Atom:
        if not isinstance(atom, Within) or not self.grids[atom.name].is_exact:
            return atom
        values = self.grids[atom.name].lowest
        fits = np.flatnonzero((values >= atom.low) & (values <= atom.high))
        return Among(atom.name, frozenset(fits.tolist()))

    def _table(self, rule: Rule) -> Mask | None:
        """Which codes a rule allows, where they decide and are not too many: a list of thousands of
        combinations is looked up, not tried one by one.
        """
        shape = [self.schema[name].size for name in rule.names]
        atoms = [atom for alternative in rule.alternatives for atom in alternative]
        if math.prod(shape) > MAX_TABLE or not all(isinstance(atom, Among) for atom in atoms):
            return None
        table = np.zeros(shape, dtype=bool)
        for alternative in rule.alternatives:
            sides = [np.ones(size, dtype=bool) for size in shape]
            for atom in alternative:
                assert isinstance(atom, Among)
                sides[rule.names.index(atom.name)] &= self._fitting(atom)
            table[np.ix_(*sides)] = True
        return table

    def _fitting(self, atom: Among) -> Mask:
        fits = np.zeros(self.schema[atom.name].size, dtype=bool)
        fits[list(atom.codes)] = True
        return fits

    # ---- values

    def holds(self, values: Mapping[str, Numbers], codes: Mapping[str, NDArray[Any]]) -> Mask:
        """Where all rules hold.

        Parameters
        ----------
        values
            For each column its numbers (anything where it is missing or no number).
        codes
            For each column its codes.
        """
        held = np.ones(len(next(iter(codes.values()))), dtype=bool)
        for place in range(len(self.rules)):
            held &= self.holds_one(place, values, codes)
        return held

    def holds_one(
        self, place: int, values: Mapping[str, Numbers], codes: Mapping[str, NDArray[Any]]
    ) -> Mask:
        """Where the rule at a place in the list holds."""
        rule, table = self.rules[place], self._tables[place]
        if table is not None:
            listed: Mask = table[tuple(codes[name] for name in rule.names)]
            return listed
        found = np.zeros(len(next(iter(codes.values()))), dtype=bool)
        for alternative in rule.alternatives:
            held = np.ones(len(found), dtype=bool)
            for atom in alternative:
                held &= self._atom_holds(atom, values, codes)
            found |= held
        return found

    def _atom_holds(
        self, atom: Atom, values: Mapping[str, Numbers], codes: Mapping[str, NDArray[Any]]
    ) -> Mask:
        if isinstance(atom, Among):
            return self._among(atom, codes)
        if isinstance(atom, Within):
            inside = (values[atom.name] >= atom.low) & (values[atom.name] <= atom.high)
            return inside & ~self._missing(atom.name, codes)
        return atom.comparison.holds(values) | self._any_missing(atom, codes)

    def _among(self, atom: Among, codes: Mapping[str, NDArray[Any]]) -> Mask:
        found: Mask = self._fitting(atom)[codes[atom.name]]
        return found

    def _missing(self, name: str, codes: Mapping[str, NDArray[Any]]) -> Mask:
        found: Mask = codes[name] >= self.schema[name].values_size
        return found

    def _any_missing(self, atom: Below, codes: Mapping[str, NDArray[Any]]) -> Mask:
        found = np.zeros(len(next(iter(codes.values()))), dtype=bool)
        for name in atom.form.terms:
            found |= self._missing(name, codes)
        return found

    # ---- codes

    def place(self, codes: Mapping[str, NDArray[Any]]) -> tuple[Mask, dict[str, Numbers]]:
        """Look for values that make all rules hold in rows with given codes.

        Returns
        -------
        Where there are any, and for each column such values.
        """
        whole = self.boxes(codes)
        values = {name: bound.copy() for name, bound in whole.low.items()}
        found = self.holds(values, codes)
        if not self.loose:
            return found, values
        for backwards in (False, True):
            for corner in ("low", "high", "best"):
                left = np.flatnonzero(~found)
                if not len(left):
                    return found, values
                boxes = whole.taken(left)
                possible, active = self.confine(boxes, backwards)
                point = self._corner(boxes, active, corner)
                good = possible & self.holds(point, boxes.codes) & self.fits(point, boxes.codes)
                for name, numbers in point.items():
                    values[name][left[good]] = numbers[good]
                found[left[good]] = True
        return found, values

    def fits(self, values: Mapping[str, Numbers], codes: Mapping[str, NDArray[Any]]) -> Mask:
        """Where all values lie in their bins: bounds that were carried too far leave them."""
        found = np.ones(len(next(iter(codes.values()))), dtype=bool)
        for name in self.loose:
            low, high = self.grids[name].lowest[codes[name]], self.grids[name].highest[codes[name]]
            inside = (values[name] >= low) & (values[name] <= high)
            found &= inside | self._missing(name, codes)
        return found

    def boxes(self, codes: Mapping[str, NDArray[Any]]) -> _Boxes:
        """The bounds that codes give."""
        return _Boxes(
            {name: codes[name] for name in self.names},
            {name: grid.lowest[codes[name]] for name, grid in self.grids.items()},
            {name: grid.highest[codes[name]] for name, grid in self.grids.items()},
        )

    def confine(self, boxes: _Boxes, backwards: bool) -> tuple[Mask, list[tuple[Below, Mask]]]:
        """Settle each rule on an alternative that is possible, and narrow the boxes by it.

        Returns
        -------
        Where an alternative was found for each rule, and the inequalities with the rows that they
        are needed in.
        """
        rows = len(next(iter(boxes.codes.values())))
        possible = np.ones(rows, dtype=bool)
        active: list[tuple[Below, Mask]] = []
        for rule in self.rules:
            open_rows = ~self._certain(rule, boxes)
            alternatives = rule.alternatives[::-1] if backwards else rule.alternatives
            for alternative in alternatives:
                taken = open_rows & self._is_possible(alternative, boxes)
                if not taken.any():
                    continue
                open_rows &= ~taken
                for atom in alternative:
                    if isinstance(atom, Within):
                        self._narrow(atom, boxes, taken)
                    elif isinstance(atom, Below):
                        active.append((atom, taken & ~self._any_missing(atom, boxes.codes)))
            possible &= ~open_rows
            self._carry(boxes, active)
        return possible, active

    def _certain(self, rule: Rule, boxes: _Boxes) -> Mask:
        """Where some alternative holds whatever the values are."""
        found = np.zeros(len(next(iter(boxes.codes.values()))), dtype=bool)
        for alternative in rule.alternatives:
            held = np.ones(len(found), dtype=bool)
            for atom in alternative:
                held &= self._atom_certain(atom, boxes)
            found |= held
        return found

    def _atom_certain(self, atom: Atom, boxes: _Boxes) -> Mask:
        if isinstance(atom, Among):
            return self._among(atom, boxes.codes)
        if isinstance(atom, Within):
            low, high = boxes.low[atom.name], boxes.high[atom.name]
            return (low >= atom.low) & (high <= atom.high)
        worst = {
            name: boxes.high[name] if weight > 0 else boxes.low[name]
            for name, weight in atom.form.terms.items()
        }
        return atom.comparison.holds(worst) | self._any_missing(atom, boxes.codes)

    def _is_possible(self, alternative: Sequence[Atom], boxes: _Boxes) -> Mask:
        rows = len(next(iter(boxes.codes.values())))
        found = np.ones(rows, dtype=bool)
        low, high = dict(boxes.low), dict(boxes.high)
        for atom in alternative:
            if isinstance(atom, Among):
                found &= self._among(atom, boxes.codes)
            elif isinstance(atom, Within):
                grid = self.grids[atom.name]
                low[atom.name] = _raised(grid, low[atom.name], np.full(rows, atom.low))
                high[atom.name] = _lowered(
                    grid, low[atom.name], high[atom.name], np.full(rows, atom.high)
                )
                found &= low[atom.name] <= high[atom.name]
        for atom in alternative:
            if isinstance(atom, Below):
                best = {
                    name: low[name] if weight > 0 else high[name]
                    for name, weight in atom.form.terms.items()
                }
                found &= atom.comparison.holds(best) | self._any_missing(atom, boxes.codes)
        return found

    def _narrow(self, atom: Within, boxes: _Boxes, rows: Mask) -> None:
        grid, name = self.grids[atom.name], atom.name
        low = _raised(grid, boxes.low[name], np.full(len(rows), atom.low))
        high = _lowered(grid, low, boxes.high[name], np.full(len(rows), atom.high))
        boxes.low[name] = np.where(rows, low, boxes.low[name])
        boxes.high[name] = np.where(rows, high, boxes.high[name])

    def _carry(self, boxes: _Boxes, active: Sequence[tuple[Below, Mask]]) -> None:
        """Narrow the boxes by inequalities until nothing moves."""
        for _ in range(MAX_SWEEPS):
            moved = False
            for atom, rows in active:
                for name in atom.form.terms:
                    moved |= self._carry_to(name, atom, rows, boxes)
            if not moved:
                return

    def _carry_to(self, name: str, atom: Below, rows: Mask, boxes: _Boxes) -> bool:
        """Narrow the bounds of one column by those of the others in an inequality."""
        grid, strict = self.grids[name], atom.comparison.strict
        weight = atom.form.terms[name]
        rest = np.full(len(rows), -atom.form.constant)
        for other, factor in atom.form.terms.items():
            if other != name:
                rest = rest - factor * (boxes.low if factor > 0 else boxes.high)[other]
        bound = rest / weight
        low, high = boxes.low[name], boxes.high[name]
        if weight > 0:
            found = _lowered(grid, low, high, bound, strict)
            changed = rows & (found < high)
            boxes.high[name] = np.where(changed, found, high)
        else:
            found = _raised(grid, low, bound, strict)
            changed = rows & (found > low)
            boxes.low[name] = np.where(changed, found, low)
        # A box that is empty stays so: there is no sense in moving its ends any further.
        return bool((changed & (boxes.low[name] <= boxes.high[name])).any())

    def _corner(
        self, boxes: _Boxes, active: Sequence[tuple[Below, Mask]], corner: str
    ) -> dict[str, Numbers]:
        if corner == "low":
            return dict(boxes.low)
        if corner == "high":
            return dict(boxes.high)
        point = dict(boxes.low)
        for name in self.loose:
            pull = np.zeros(len(boxes.low[name]))
            for atom, rows in active:
                pull += np.where(rows, np.sign(atom.form.terms.get(name, 0.0)), 0.0)
            point[name] = np.where(pull >= 0, boxes.low[name], boxes.high[name])
            boxes.low[name], boxes.high[name] = point[name], point[name]
            self._carry(boxes, active)
        return point

    def draw_one_by_one(
        self, boxes: _Boxes, active: Sequence[tuple[Below, Mask]], rng: np.random.Generator
    ) -> dict[str, Numbers]:
        """Draw column after column inside what the ones before leave of its bounds."""
        point = dict(boxes.low)
        for name in self.loose:
            point[name] = self.grids[name].draw_between(boxes.low[name], boxes.high[name], rng)
            boxes.low[name], boxes.high[name] = point[name], point[name]
            self._carry(boxes, active)
        return point


def _raised(grid: Grid, low: Numbers, bound: Numbers, strict: bool = False) -> Numbers:
    """A lower bound, moved up to the grid where another one asks for it."""
    enough = low > bound if strict else low >= bound
    return np.where(enough, low, np.maximum(low, grid.up(bound, strict)))


def _lowered(
    grid: Grid, low: Numbers, high: Numbers, bound: Numbers, strict: bool = False
) -> Numbers:
    """An upper bound, moved down to the grid where another one asks for it.

    The lower end of a bin is a value of it even where it is not on the grid.
    """
    enough = high < bound if strict else high <= bound
    lower = grid.down(bound, strict)
    reachable = low < bound if strict else low <= bound
    lower = np.where(reachable, np.maximum(lower, low), lower)
    return np.where(enough, high, np.minimum(high, lower))
