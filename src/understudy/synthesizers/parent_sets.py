"""Which parents may an attribute have? Decided from the public schema and a public bound on cells,
never from rows.

A parent set is a tuple of axes: attributes, each at a generalisation level. Its *cells* are the
product of their sizes.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from understudy.data.marginals import Axis, Marginal
from understudy.errors import InputError

Sizes = Mapping[str, Sequence[int]]
"""For each attribute the number of codes at level 0, 1, ..., as far as levels may be used."""

MAX_PARENT_SETS = 2_000_000
"""More parent sets than this are refused: their scores would not fit into memory."""

MAX_FAMILY_CELLS = 1 << 24
"""Tables of more cells than this are not considered."""


def subsets(attributes: Sequence[str], degree: int) -> list[Marginal]:
    """All sets of ``degree`` attributes, or of all attributes where there are fewer
    (algorithm 2).
    """
    picked = itertools.combinations(attributes, min(degree, len(attributes)))
    return [tuple(Axis(name) for name in names) for names in picked]


@dataclass
class MaximalParentSets:
    """Algorithms 5 and 6: sets that cannot be made larger, or finer, without exceeding the bound.

    With one level an attribute this is algorithm 5. Results are remembered: attributes are taken
    newest first, so that a network that has grown by one attribute reuses all that was found
    before.
    """

    sizes: Sizes
    _found: dict[tuple[tuple[str, ...], int], tuple[Marginal, ...]] = field(
        default_factory=dict, repr=False
    )

    def __call__(self, attributes: Sequence[str], bound: float) -> tuple[Marginal, ...]:
        """The maximal parent sets within ``attributes`` of at most ``bound`` cells; none where even
        that is below 1.
        """
        # Cells are whole numbers, so only the whole part of the bound matters; that makes for many
        # more hits.
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
                # Else the same set stands already with a finer version of the newest.
                if others not in used:
                    used.add(others)
                    chosen.append((*others, Axis(newest, level)))
        chosen.extend(others for others in self._sets(rest, bound) if others not in used)
        if len(chosen) > MAX_PARENT_SETS:
            raise too_many()
        self._found[key] = tuple(chosen)
        return self._found[key]


@dataclass
class AllParentSets:
    """Every set within the bound, grown attribute by attribute.

    Attributes
    ----------
    sizes
        For each attribute the number of codes at each level that may be used.
    bound
        The most cells that a set may have.
    degree
        The most attributes that a set may have.
    coarse_degree
        The most attributes that a set may have which holds one above level 0: there are very many
        of those.
    """

    sizes: Sizes
    bound: float
    degree: int
    coarse_degree: int
    _sets: list[tuple[Marginal, int, bool]] = field(
        default_factory=lambda: [((), 1, False)], repr=False
    )

    def add_attribute(self, newest: str) -> list[tuple[Marginal, int]]:
        """Make an attribute available: the sets that hold it, with their cells."""
        fresh: list[tuple[Marginal, int, bool]] = []
        for level, size in enumerate(self.sizes[newest]):
            axis = Axis(newest, level)
            for parents, cells, coarse in self._sets:
                coarser = coarse or level > 0
                if cells * size <= self.bound and len(parents) < (
                    self.coarse_degree if coarser else self.degree
                ):
                    fresh.append(((*parents, axis), cells * size, coarser))
        self._sets += fresh
        if len(self._sets) > MAX_PARENT_SETS:
            raise too_many()
        return [(parents, cells) for parents, cells, _ in fresh]


def affordable_degree(sizes: Sizes, bound: float, most: int, *, cumulative: bool = True) -> int:
    """The largest number of parents, at least 1, for which at most ``most`` families of parents and
    child are scored.

    Every family within the bound is scored once in the whole search, whatever the order of
    attributes, so this is the work ahead, known from public facts before a row is touched.
    ``cumulative`` counts smaller families too.
    """
    # ways[m]: for each number of cells, how many families of m attributes have it.
    ways: list[dict[int, int]] = [{1: 1}]
    total = 0
    names = list(sizes)
    for members in range(1, len(names) + 1):
        ways = _families(sizes, names, members, bound)
        count = sum(ways[members].values())
        if cumulative:
            total = total + count
        else:
            total = count
        if members > 2 and (total > most or count == 0):
            return members - 2
    return max(len(names) - 1, 1)


def _families(
    sizes: Sizes, names: Sequence[str], members: int, bound: float
) -> list[dict[int, int]]:
    ways: list[dict[int, int]] = [{1: 1}, *({} for _ in range(members))]
    for name in names:
        for held in range(members - 1, -1, -1):
            more = ways[held + 1]
            for cells, count in ways[held].items():
                for size in sizes[name]:
                    if cells * size <= bound:
                        more[cells * size] = more.get(cells * size, 0) + count
    return ways


def surely_too_many(sizes: Sizes, bound: float) -> bool:
    """Whether there will be too many maximal sets for the last attribute: counted from below,
    without listing any.
    """
    finest = sorted(levels[0] for levels in sizes.values())
    coarsest = sorted(min(levels) for levels in sizes.values())
    # Every k attributes at their finest lie in a maximal set, and one of m attributes holds C(m, k)
    # of those.
    k = _how_many(finest[::-1], bound / finest[-1])
    m = max(_how_many(coarsest, bound / finest[0]), k)
    return math.comb(len(finest) - 1, k) // math.comb(m, k) > MAX_PARENT_SETS


def _how_many(sizes: Sequence[int], room: float) -> int:
    """How many of the sizes, from the first on, have a product within the room."""
    products = itertools.accumulate(sizes, operator.mul)
    return sum(1 for _ in itertools.takewhile(lambda cells: cells <= room, products))


def too_many() -> InputError:
    """What to say when there are more parent sets than can be enumerated."""
    return InputError(
        f"There are over {MAX_PARENT_SETS:,} parent sets to choose from; give a smaller degree, "
        f"fewer columns or fewer bins."
    )
