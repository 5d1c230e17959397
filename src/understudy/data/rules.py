"""Rules about single rows, and where they hold.

A rule is a list of *alternatives*, each a list of *atoms*; it holds in a row where all atoms of
some alternative do. That is enough for every kind of constraint: an inequality is one atom, "when A
then B" is "not A, or B", and a list of allowed combinations is one alternative for each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.atoms import Among, Below, Rule, RuleAtom, Within
from understudy.data.grids import ValueGrid
from understudy.data.schema import Schema

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]
MAX_TABLE = 1 << 22
"""Cells of a table in which a rule is looked up."""


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
        self.grids = {name: ValueGrid(schema[name]) for name in self.names}
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

    def _atom_by_codes(self, atom: RuleAtom) -> RuleAtom:
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
                sides[rule.names.index(atom.name)] &= self._fit_atom(atom)
            table[np.ix_(*sides)] = True
        return table

    def _fit_atom(self, atom: Among) -> Mask:
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
        self, atom: RuleAtom, values: Mapping[str, Numbers], codes: Mapping[str, NDArray[Any]]
    ) -> Mask:
        if isinstance(atom, Among):
            return self.among(atom, codes)
        if isinstance(atom, Within):
            inside = (values[atom.name] >= atom.low) & (values[atom.name] <= atom.high)
            return inside & ~self._missing(atom.name, codes)
        return atom.comparison.holds(values) | self.any_missing(atom, codes)

    def among(self, atom: Among, codes: Mapping[str, NDArray[Any]]) -> Mask:
        """Where the code is one of those of an atom."""
        found: Mask = self._fit_atom(atom)[codes[atom.name]]
        return found

    def _missing(self, name: str, codes: Mapping[str, NDArray[Any]]) -> Mask:
        found: Mask = codes[name] >= self.schema[name].values_size
        return found

    def any_missing(self, atom: Below, codes: Mapping[str, NDArray[Any]]) -> Mask:
        """Where a column of an inequality is missing."""
        found = np.zeros(len(next(iter(codes.values()))), dtype=bool)
        for name in atom.form.terms:
            found |= self._missing(name, codes)
        return found

    def fits(self, values: Mapping[str, Numbers], codes: Mapping[str, NDArray[Any]]) -> Mask:
        """Where all values lie in their bins: bounds that were carried too far leave them."""
        found = np.ones(len(next(iter(codes.values()))), dtype=bool)
        for name in self.loose:
            low, high = self.grids[name].lowest[codes[name]], self.grids[name].highest[codes[name]]
            inside = (values[name] >= low) & (values[name] <= high)
            found &= inside | self._missing(name, codes)
        return found
