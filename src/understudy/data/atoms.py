"""What rules about single rows are made of: alternatives, each a list of atoms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from understudy.data.expressions import Inequality, Linear

MISSING = -1
"""Stands for the code of "missing", the last one, in :class:`Among`: how many bins a quantity has
may change.
"""


@dataclass(frozen=True)
class Among:
    """The code is one of some: for categories, and for "missing"."""

    name: str
    codes: frozenset[int]


@dataclass(frozen=True)
class Within:
    """The value of a quantity lies between two numbers, both included; missing does not."""

    name: str
    low: float
    high: float


@dataclass(frozen=True)
class Below:
    """An inequality between sums of columns; it holds where one of them is missing."""

    comparison: Inequality
    form: Linear
    """What must be at or below (strict: below) zero."""


RuleAtom = Among | Within | Below


@dataclass(frozen=True)
class Rule:
    """What must hold in every row."""

    text: str
    """The rule as people write it."""
    alternatives: tuple[tuple[RuleAtom, ...], ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that it is about."""
        found: dict[str, None] = {}
        for atom in (atom for alternative in self.alternatives for atom in alternative):
            if isinstance(atom, Below):
                found.update(dict.fromkeys(atom.form.terms))
            else:
                found[atom.name] = None
        return tuple(found)
