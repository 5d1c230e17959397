"""What somebody learns from an anonymised table who knows the quasi-identifiers of a person.

The attacks that the literature raised against k-anonymity, l-diversity and t-closeness, run by the
owner on the real table: homogeneity, background knowledge, skewness, linkage, and two releases put
side by side. Each gives the share of people it works on. All of this is for the owner's eyes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.classes import EquivalenceClasses
from understudy.anonymity.microdata import ColumnValues, Microdata

Ints = NDArray[np.int64]

NEARLY_SURE = 0.9
"""A belief from which on somebody acts on it."""


@dataclass(frozen=True, kw_only=True)
class Disclosure:
    """What one attack learns.

    Attributes
    ----------
    attack
        Its name.
    learned
        The share of people it works on.
    sentence
        What that means, in a sentence.
    figures
        Everything else that was counted.
    """

    attack: str
    learned: float
    sentence: str
    figures: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain JSON values."""
        return asdict(self)


def attack_groups(table: Microdata, groups: Ints, sensitive: str) -> list[Disclosure]:
    """All attacks on one release that need nothing but the groups.

    Parameters
    ----------
    table
        The real rows.
    groups
        The group of each row, -1 where it was left out.
    sensitive
        The column that the attacker wants to know.
    """
    kept = np.flatnonzero(groups >= 0)
    classes = EquivalenceClasses(
        np.unique(groups[kept], return_inverse=True)[1].astype(np.int64),
        len(np.unique(groups[kept])),
    )
    values = table[sensitive]
    counts = np.concatenate([*classes.tabulate(values.codes[kept], values.size)])
    return [
        link_rows(classes, table.rows),
        find_homogeneity(classes, counts, values, table.rows),
        use_background(classes, counts, values, table.rows),
        find_skewness(classes, counts, values, values.codes[kept], table.rows),
    ]


def link_rows(classes: EquivalenceClasses, rows: int) -> Disclosure:
    """Who looks a person up by her quasi-identifiers finds her group, and guesses which row is
    hers.
    """
    chance = classes.count / rows  # the mean of 1 / size over rows
    alone = float(classes.sizes[classes.sizes == 1].sum() / rows)
    return Disclosure(
        attack="linkage",
        learned=chance,
        sentence=f"Who knows somebody's quasi-identifiers picks her row with a chance of "
        f"{chance:.1%}; {alone:.1%} of people are alone in their group.",
        figures={"alone": alone, "smallest_group": int(classes.sizes.min())},
    )


def find_homogeneity(
    classes: EquivalenceClasses, counts: Ints, values: ColumnValues, rows: int
) -> Disclosure:
    """Where all rows of a group share the value, it is learned without knowing which row is
    whose.
    """
    same = (counts > 0).sum(axis=1) == 1
    share = float(classes.sizes[same].sum() / rows)
    return Disclosure(
        attack="homogeneity",
        learned=share,
        sentence=f"For {share:.1%} of people everybody in the group has the same {values.name}: "
        "it is learned for certain.",
        figures={"groups": int(same.sum())},
    )


def use_background(
    classes: EquivalenceClasses, counts: Ints, values: ColumnValues, rows: int
) -> Disclosure:
    """Who can rule out one value (a heart disease is rare in young women) learns the value where a
    group holds only two.
    """
    few = (counts > 0).sum(axis=1) <= 2
    share = float(classes.sizes[few].sum() / rows)
    return Disclosure(
        attack="background knowledge",
        learned=share,
        sentence=f"For {share:.1%} of people, who can rule out one value of {values.name} knows "
        "the true one.",
        figures={"groups": int(few.sum())},
    )


def find_skewness(
    classes: EquivalenceClasses, counts: Ints, values: ColumnValues, codes: Ints, rows: int
) -> Disclosure:
    """Where a value is far more frequent in a group than in the table, the belief in it grows."""
    shares = counts / classes.sizes[:, None]
    after = shares[classes.of_row, codes]
    before = values.shares[codes]
    sure = (after >= NEARLY_SURE) & (before < NEARLY_SURE)
    doubled = after >= 2 * before
    share = float(sure.sum() / rows)
    return Disclosure(
        attack="skewness",
        learned=share,
        sentence=f"For {share:.1%} of people the belief in their true {values.name} rises to "
        f"{NEARLY_SURE:.0%} or more, for {float(doubled.sum() / rows):.1%} it doubles.",
        figures={
            "doubled": float(doubled.sum() / rows),
            "largest_gain": float((after / before).max(initial=0.0)),
        },
    )


def intersect_releases(table: Microdata, first: Ints, second: Ints, sensitive: str) -> Disclosure:
    """Two releases of the same rows, grouped differently: a person's value must be in both of her
    groups (Ganta, Kasiviswanathan and Smith 2008).

    Parameters
    ----------
    table
        The real rows.
    first, second
        The group of each row in either release, -1 where it was left out.
    sensitive
        The column that the attacker wants to know.
    """
    values = table[sensitive]
    both = np.flatnonzero((first >= 0) & (second >= 0))
    held = [_find_held_values(groups, values) for groups in (first, second)]
    certain = 0
    for start in range(0, len(both), 65_536):
        rows = both[start : start + 65_536]
        possible = held[0][first[rows]] & held[1][second[rows]]
        certain += int((possible.sum(axis=1) == 1).sum())
    alone = [float(_certain_alone(groups, values) / table.rows) for groups in (first, second)]
    share = certain / table.rows
    return Disclosure(
        attack="two releases",
        learned=share,
        sentence=f"Put side by side, two releases tell the {values.name} of {share:.1%} of people "
        f"for certain; alone they tell it of {alone[0]:.1%} and {alone[1]:.1%}.",
        figures={"first_alone": alone[0], "second_alone": alone[1]},
    )


def difference_releases(
    before: Mapping[str, int], after: Mapping[str, int], sensitive: str
) -> Disclosure:
    """A person joins between two releases: the counts of the sensitive values differ by hers.

    Parameters
    ----------
    before, after
        How often each value is published before and after she joined.
    sensitive
        The column.
    """
    gained = [value for value in after if after[value] > before.get(value, 0)]
    certain = len(gained) == 1 and sum(after.values()) == sum(before.values()) + 1
    value = ""
    if certain:
        (value,) = gained
        sentence = (
            f"One person joined between two releases, and exactly one more row has {sensitive} = "
            f"{value}: that is hers, whatever k, l and t are."
        )
    else:
        sentence = f"The counts of {sensitive} do not tell who joined between the two releases."
    return Disclosure(
        attack="differencing",
        learned=float(certain),
        sentence=sentence,
        figures={"value": value},
    )


def _find_held_values(groups: Ints, values: ColumnValues) -> NDArray[np.bool_]:
    held = np.zeros((int(groups.max(initial=-1)) + 1, values.size), dtype=bool)
    kept = groups >= 0
    held[groups[kept], values.codes[kept]] = True
    return held


def _certain_alone(groups: Ints, values: ColumnValues) -> int:
    held = _find_held_values(groups, values).sum(axis=1)
    kept = groups >= 0
    return int((held[groups[kept]] == 1).sum())
