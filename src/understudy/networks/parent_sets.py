"""Which parents may an attribute have? Decided from the public schema and a public bound on cells, never from rows.

A parent set is a tuple of axes: attributes, each at a generalisation level. Its *cells* are the product of their sizes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from understudy.errors import InputError
from understudy.marginals import Axis, Marginal

Sizes = Mapping[str, Sequence[int]]
"""For each attribute the number of codes at level 0, 1, ..., as far as levels may be used."""

MOST_SETS = 2_000_000
"""More parent sets than this are refused: their scores would not fit into memory."""


def subsets(attributes: Sequence[str], degree: int) -> list[Marginal]:
    """All sets of ``degree`` attributes, or of all attributes where there are fewer (algorithm 2)."""
    picked = itertools.combinations(attributes, min(degree, len(attributes)))
    return [tuple(Axis(name) for name in names) for names in picked]


@dataclass
class MaximalParentSets:
    """Algorithms 5 and 6: sets that cannot be made larger, or finer, without exceeding the bound.

    With one level an attribute this is algorithm 5. Results are remembered: attributes are taken newest first, so that a
    network that has grown by one attribute reuses all that was found before.
    """

    sizes: Sizes
    _found: dict[tuple[tuple[str, ...], int], tuple[Marginal, ...]] = field(default_factory=dict, repr=False)

    def __call__(self, attributes: Sequence[str], bound: float) -> tuple[Marginal, ...]:
        """The maximal parent sets within ``attributes`` of at most ``bound`` cells; none where even that is below 1."""
        # Cells are whole numbers, so only the whole part of the bound matters; that makes for many more hits.
        return self._sets(tuple(attributes), int(bound) if bound >= 1 else 0)

    def _sets(self, attributes: tuple[str, ...], bound: int) -> tuple[Marginal, ...]:
        if bound < 1:
            return ()
        if not attributes:
            return ((),)
        key = (attributes, bound)
        if key in self._found:
            return self._found[key]
        *earlier, newest = attributes
        rest = tuple(earlier)
        chosen: list[Marginal] = []
        used: set[Marginal] = set()
        for level, size in enumerate(self.sizes[newest]):  # finest first
            for others in self._sets(rest, bound // size):
                if others not in used:  # else the same set stands already with a finer version of the newest
                    used.add(others)
                    chosen.append((*others, Axis(newest, level)))
        chosen.extend(others for others in self._sets(rest, bound) if others not in used)
        if len(chosen) > MOST_SETS:
            raise too_many()
        self._found[key] = tuple(chosen)
        return self._found[key]


def all_parent_sets(earlier: Sequence[Marginal], newest: str, sizes: Sizes, bound: float, degree: int) -> list[Marginal]:
    """The sets of at most ``bound`` cells and ``degree`` attributes that hold ``newest``, given all that do not."""
    cells = {Axis(name, level): size for name, levels in sizes.items() for level, size in enumerate(levels)}
    grown: list[Marginal] = []
    for parents in earlier:
        if len(parents) >= degree:
            continue
        product = 1
        for axis in parents:
            product *= cells[axis]
        for level, size in enumerate(sizes[newest]):
            if product * size <= bound:
                grown.append((*parents, Axis(newest, level)))
    if len(grown) > MOST_SETS:
        raise too_many()
    return grown


def too_many() -> InputError:
    """What to say when there are more parent sets than can be enumerated."""
    return InputError(
        f"There are more than {MOST_SETS:,} parent sets to choose from; give a smaller degree, fewer columns or fewer bins."
    )
