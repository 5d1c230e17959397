"""Which groupings to ask of an engine: few passes over the rows, and answers that fit into memory.

Everything that is decided here is decided from public facts (the sizes of domains) and from the
number of rows that an engine holds, which never shows in what is released.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

SETS_AT_A_TIME = 8
"""Up to this many groupings are asked for in one query (grouping sets): one pass over the rows
serves all of them.
"""


@dataclass(frozen=True)
class GroupingPlan:
    """Sets of attributes to group the rows by, query by query."""

    queries: tuple[tuple[frozenset[str], ...], ...]
    tables: int
    """How many sets of attributes were asked for; all of them can be summed from these."""

    def explain(self) -> str:
        """The plan in a sentence."""
        sets = [" x ".join(sorted(attributes)) for query in self.queries for attributes in query]
        queries = f"{len(self.queries)} quer{'y' if len(self.queries) == 1 else 'ies'}"
        return f"{self.tables:,} sets of columns counted by {queries}, grouped by {'; '.join(sets)}"


def plan_groupings(
    wanted: Collection[frozenset[str]], sizes: Mapping[str, int], distinct: int, most: int
) -> GroupingPlan:
    """Groupings that hold all the wanted sets of attributes, none of more than ``most`` groups if
    that can be.

    Parameters
    ----------
    wanted
        Sets of attributes that tables are needed of.
    sizes
        How many codes each attribute has.
    distinct
        How many distinct rows there are at most.
    most
        How many groups may be fetched by one query; a wanted set that has more all the same is
        fetched by itself.
    """
    everything = frozenset(sizes)
    if groups(everything, sizes, distinct) <= most:
        return GroupingPlan(((everything,),), len(wanted))
    waiting = sorted(wanted, key=lambda names: (-groups(names, sizes, distinct), sorted(names)))
    sets: list[frozenset[str]] = []
    while waiting:
        grouping, waiting = _grow(waiting[0], waiting[1:], sizes, distinct, most)
        sets.append(grouping)
    queries: list[tuple[frozenset[str], ...]] = []
    room = 0
    for names in sets:
        size = groups(names, sizes, distinct)
        if queries and size <= room and len(queries[-1]) < SETS_AT_A_TIME:
            queries[-1] += (names,)
            room -= size
        else:
            queries.append((names,))
            room = most - size
    return GroupingPlan(tuple(queries), len(wanted))


def groups(names: Collection[str], sizes: Mapping[str, int], distinct: int) -> int:
    """How many groups there can be at most."""
    return min(math.prod(sizes[name] for name in names), distinct)


def _grow(
    seed: frozenset[str],
    waiting: list[frozenset[str]],
    sizes: Mapping[str, int],
    distinct: int,
    most: int,
) -> tuple[frozenset[str], list[frozenset[str]]]:
    """A grouping that takes in, one by one, the attributes that let it hold most of the waiting
    sets.
    """
    grouping = seed
    while True:
        waiting = [names for names in waiting if not names <= grouping]
        gains: dict[str, int] = {}
        for names in waiting:
            lacking = names - grouping
            if len(lacking) == 1:
                (name,) = lacking
                gains[name] = gains.get(name, 0) + 1
        # Where no single attribute completes a set, any that some set needs brings one nearer.
        for names in waiting:
            for name in names - grouping:
                gains.setdefault(name, 0)
        fitting = [name for name in gains if groups(grouping | {name}, sizes, distinct) <= most]
        if not fitting:
            return grouping, waiting
        best = min(fitting, key=lambda name: (-gains[name], sizes[name], name))
        grouping = grouping | {best}
