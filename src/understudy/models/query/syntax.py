"""What a query says: a function, of which rows, in which groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute
from understudy.models.query.subsets import Subset

QueryKind = Literal[
    "count",
    "share",
    "labels",
    "sum",
    "mean",
    "variance",
    "std",
    "median",
    "quantile",
    "min",
    "max",
]
"""What is asked for; "labels" are counts of several conditions at once."""


@dataclass(frozen=True)
class Atom:
    """A condition on one attribute."""

    subset: Subset

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """Itself."""
        return (self,)

    def truth(self, atoms: Mapping[Atom, NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Where it holds, looked up."""
        return atoms[self]


@dataclass(frozen=True)
class Compound:
    """All of some conditions (``and``), or any (``or``), or, with one part, its opposite
    (``not``).
    """

    word: Literal["and", "or", "not"]
    parts: tuple[Condition, ...]

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The conditions on single attributes that it is made of."""
        return tuple(atom for part in self.parts for atom in part.atoms)

    def truth(self, atoms: Mapping[Atom, NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Where it holds, given where its atoms do (arrays that broadcast)."""
        found = self.parts[0].truth(atoms)
        if self.word == "not":
            return ~found
        for part in self.parts[1:]:
            if self.word == "and":
                found = found & part.truth(atoms)
            else:
                found = found | part.truth(atoms)
        return found


Condition = Atom | Compound


def both(one: Condition | None, other: Condition) -> Condition:
    """Two conditions at once; without the first, the second."""
    if one is None:
        return other
    return Compound("and", (one, other))


@dataclass(frozen=True)
class QueryGroup:
    """An attribute by which rows are grouped.

    Attributes
    ----------
    attribute
        The attribute.
    labels, cells
        What the groups are called, and which values are in each; no value is in two. Empty where
        nobody said which groups there are.
    """

    attribute: Attribute
    labels: tuple[str, ...]
    cells: tuple[Subset, ...]


@dataclass(frozen=True)
class Label:
    """One of several conditions that are counted at once, with the words it is written in."""

    text: str
    condition: Condition


@dataclass(frozen=True, kw_only=True)
class Query:
    """What is asked for.

    Attributes
    ----------
    kind
        The function.
    attribute
        Of which attribute, where the function needs one.
    condition
        Of which rows; ``None``: of all.
    groups
        In which groups, if any.
    level
        Of a quantile: how large a share of the rows lies below it.
    bounds
        Public bounds of the attribute as the query gives them, in its unit; values beyond count as
        the nearer bound.
    labels, max_labels
        Of labels: the conditions, and how many of them count for one row at most.
    """

    kind: QueryKind
    attribute: Attribute | None = None
    condition: Condition | None = None
    groups: tuple[QueryGroup, ...] = ()
    level: float = 0.5
    bounds: tuple[float, float] | None = None
    labels: tuple[Label, ...] = ()
    max_labels: int = 0

    @property
    def names(self) -> set[str]:
        """The attributes that it is about, those of groups included."""
        found = {atom.subset.attribute.name for atom in self.atoms}
        found |= {group.attribute.name for group in self.groups}
        if self.attribute is not None:
            found.add(self.attribute.name)
        return found

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """All conditions on single attributes in it, those of groups left out."""
        found: tuple[Atom, ...] = ()
        if self.condition is not None:
            found = self.condition.atoms
        for label in self.labels:
            found += label.condition.atoms
        return found
