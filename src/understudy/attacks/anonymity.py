"""k-anonymity, l-diversity and t-closeness of the synthetic table, beside those of the real one.

These are properties of a table, made for tables of real people in coarse groups. They are not
promises: rows that were drawn from a private model belong to nobody, so a synthetic row that is the
only one of its kind exposes no one, and differential privacy needs none of the three. They are here
for readers whose rules ask for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.classes import EquivalenceClasses, find_classes
from understudy.anonymity.measures import (
    count_distinct,
    entropy_diversity,
    ordered_distance,
    total_variation,
)
from understudy.attacks.rows import has_order
from understudy.attacks.verdicts import Attack
from understudy.data.encoding import Coded

SMALL = 5
"""Groups of fewer rows are counted as small."""

_PROMISED = (
    "Epsilon promises nothing about it and does not need it: this is a property of these rows, "
    "which belong to nobody, and no promise."
)


def k_anonymity(real: Coded, synthetic: Coded, quasi_identifiers: Sequence[str]) -> Attack:
    """The smallest group of rows that agree on the quasi-identifiers."""
    sizes, beside = (_group_sizes(table, quasi_identifiers) for table in (synthetic, real))
    small, small_beside = (
        float(found[found < SMALL].sum() / found.sum()) for found in (sizes, beside)
    )
    smallest, smallest_beside = int(sizes.min()), int(beside.min())
    return Attack(
        "k-anonymity",
        f"The smallest group of synthetic rows with the same {', '.join(quasi_identifiers)} has "
        f"{_rows(smallest)} (real table: {_rows(smallest_beside)}); {small:.1%} of the rows are in "
        f"groups of fewer than {SMALL} (real table: {small_beside:.1%}).",
        "rows in the smallest group",
        smallest,
        smallest_beside,
        None,
        _PROMISED,
        "not judged",
        figures={
            "groups": len(sizes),
            "groups_real": len(beside),
            f"share_below_{SMALL}": small,
            f"share_below_{SMALL}_real": small_beside,
        },
    )


def l_diversity(
    real: Coded, synthetic: Coded, quasi_identifiers: Sequence[str], secret: str
) -> Attack:
    """The fewest values of the secret in a group: distinct ones, and as many as the entropy is
    worth.
    """
    (distinct, entropy), (distinct_beside, entropy_beside) = (
        _diversity(table, quasi_identifiers, secret) for table in (synthetic, real)
    )
    return Attack(
        "l-diversity",
        f"The least diverse group of synthetic rows has {distinct} value{'s' * (distinct != 1)} of "
        f"{secret} (real "
        f"table: {distinct_beside}); by entropy {entropy:.2f} (real table: {entropy_beside:.2f}).",
        f"distinct values of {secret} in a group",
        distinct,
        distinct_beside,
        None,
        _PROMISED,
        "not judged",
        figures={"entropy": entropy, "entropy_real": entropy_beside, "secret": secret},
    )


def t_closeness(
    real: Coded, synthetic: Coded, quasi_identifiers: Sequence[str], secret: str
) -> Attack:
    """The largest distance between the secret's distribution in a group and in the whole table.

    Categories: total variation. Ordered values: the earth mover's distance, where moving all rows
    from one end of the range to the other is a distance of 1 (Li, Li and Venkatasubramanian 2007);
    missing values lie at the far end.
    """
    farthest, beside = (_closeness(table, quasi_identifiers, secret) for table in (synthetic, real))
    if has_order(real.schema[secret]):
        measure = "earth mover's distance"
    else:
        measure = "total variation"
    return Attack(
        "t-closeness",
        f"In the group of synthetic rows that differs most, {secret} is {farthest:.3f} away from "
        f"its distribution in the whole table ({measure}; real table: {beside:.3f}).",
        f"largest distance of {secret} in a group",
        farthest,
        beside,
        None,
        _PROMISED,
        "not judged",
        figures={"measure": measure, "secret": secret},
    )


def _find_classes(table: Coded, names: Sequence[str]) -> EquivalenceClasses:
    return find_classes(
        [table.codes[name] for name in names], [table.schema[name].size for name in names]
    )


def _group_sizes(table: Coded, names: Sequence[str]) -> NDArray[np.int64]:
    return _find_classes(table, names).sizes


def _diversity(table: Coded, names: Sequence[str], secret: str) -> tuple[int, float]:
    blocks = list(_tabulate(table, names, secret))
    distinct = min(int(count_distinct(counts).min()) for counts in blocks)
    return distinct, min(float(entropy_diversity(counts).min()) for counts in blocks)


def _closeness(table: Coded, names: Sequence[str], secret: str) -> float:
    attribute = table.schema[secret]
    overall = np.bincount(table.codes[secret], minlength=attribute.size) / table.rows
    measure = total_variation
    if has_order(attribute):
        measure = ordered_distance
    return max(float(measure(counts, overall).max()) for counts in _tabulate(table, names, secret))


def _tabulate(table: Coded, names: Sequence[str], secret: str) -> Iterator[NDArray[np.int64]]:
    classes = _find_classes(table, names)
    return classes.tabulate(table.codes[secret], table.schema[secret].size)


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"
