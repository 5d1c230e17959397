"""A release for its owner: anonymised, attacked, and beside one with differential privacy."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from understudy.anonymity.checking import group_rows, settle_roles
from understudy.anonymity.comparison import GuaranteeComparison, compare_releases
from understudy.anonymity.disclosure import (
    Disclosure,
    attack_groups,
    difference_releases,
    intersect_releases,
)
from understudy.anonymity.microdata import Microdata, read_microdata
from understudy.anonymity.publishing import Anonymised, GroupingOptions, MethodName, anonymise
from understudy.anonymity.requirement import Requirement
from understudy.anonymity.roles import Roles
from understudy.data.columns import Table
from understudy.data.frames import Frame, as_table
from understudy.data.schema import Schema
from understudy.errors import InputError

EPSILON = 1.0
REVIEW_DELTA = 1e-9


@dataclass(frozen=True, kw_only=True)
class Review:
    """An anonymised table with all that its owner should see before it leaves.

    Attributes
    ----------
    release
        The anonymised table.
    attacks
        What each attack learns from the table as it is, and from the anonymised one.
    together
        What two anonymised tables tell together.
    comparison
        The release beside one with differential privacy, where it was asked for.
    """

    release: Anonymised
    attacks: tuple[tuple[Disclosure, Disclosure], ...]
    together: tuple[Disclosure, ...]
    comparison: GuaranteeComparison | None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        release = self.release
        return {
            "method": release.method,
            "before": release.before.to_dict(),
            "after": release.after.to_dict(),
            "loss": asdict(release.loss),
            "levels": dict(release.levels),
            "suppressed": release.suppressed,
            "notes": list(release.notes),
            "attacks": [
                {"before": before.to_dict(), "after": after.to_dict()}
                for before, after in self.attacks
            ],
            "together": [found.to_dict() for found in self.together],
            "comparison": None if self.comparison is None else asdict(self.comparison),
        }

    def say_comparison(self) -> list[str]:
        """What several releases tell, and what differential privacy would, in sentences."""
        sentences = [found.sentence for found in self.together]
        found = self.comparison
        if found is None:
            return sentences
        if found.baseline is not None:
            assert found.anonymised.guessed is not None
            assert found.private.guessed is not None
            sentences.append(
                f"The sensitive value is guessed right for {found.baseline:.1%} of people without "
                f"any release, {found.anonymised.guessed:.1%} with the anonymised table and "
                f"{found.private.guessed:.1%} with synthetic rows at epsilon {found.epsilon:g}."
            )
        sentences.append(
            f"Pairs of columns are {found.anonymised.pair_error:.3f} away from the real table in "
            f"the anonymised one and {found.private.pair_error:.3f} in the synthetic one."
        )
        return sentences


def review_release(
    table: Frame,
    roles: Roles | None = None,
    requirement: Requirement | None = None,
    *,
    compare: bool = False,
    **grouping: Unpack[GroupingOptions],
) -> Review:
    """Anonymise a table, attack the result, and compare it with a release at epsilon 1.

    Parameters
    ----------
    table, roles, requirement
        As for :func:`understudy.anonymity.anonymise`.
    compare
        Whether to make a release with differential privacy beside it.
    grouping
        ``schema``, ``method``, ``hierarchies`` and ``max_suppressed``, as there.
    """
    schema = grouping.get("schema")
    if isinstance(schema, str | Path):
        schema = Schema.load(schema)
        grouping["schema"] = schema
    read, _ = as_table(table)
    release = anonymise(read, roles, requirement, **grouping)
    roles = settle_roles(roles, schema)
    names = (*roles.quasi_identifiers, *roles.sensitive)
    microdata = read_microdata(read, names, schema, grouping.get("hierarchies"))
    comparison = None
    if compare:
        comparison = _compare(read, microdata, release, schema)
    return Review(
        release=release,
        attacks=_attack(microdata, release),
        together=_put_together(read, microdata, release, schema),
        comparison=comparison,
    )


def _attack(table: Microdata, release: Anonymised) -> tuple[tuple[Disclosure, Disclosure], ...]:
    roles = release.roles
    if not roles.sensitive:
        return ()
    plain = group_rows(table, roles.quasi_identifiers).of_row
    secret = roles.sensitive[0]
    before = attack_groups(table, plain, secret)
    return tuple(zip(before, attack_groups(table, release.groups, secret), strict=True))


def _put_together(
    read: Table, table: Microdata, release: Anonymised, schema: Schema | None
) -> tuple[Disclosure, ...]:
    """A second release of the same rows by another method, and one before somebody joined."""
    roles = release.roles
    if not roles.sensitive:
        return ()
    secret = roles.sensitive[0]
    other: MethodName = "relaxed"
    if release.method == "relaxed":
        other = "mondrian"
    second = anonymise(read, roles, release.after.requirement, schema=schema, method=other)
    counts = np.bincount(table[secret].codes, minlength=table[secret].size)
    after = dict(zip(table[secret].names, counts.tolist(), strict=True))
    last = table[secret].names[int(table[secret].codes[-1])]
    before = {**after, last: after[last] - 1}
    return (
        intersect_releases(table, release.groups, second.groups, secret),
        difference_releases(before, after, secret),
    )


def _compare(
    read: Table, microdata: Microdata, release: Anonymised, schema: Schema | None
) -> GuaranteeComparison:
    from understudy.synthesizers.adaptive import Adaptive

    kept = {name: read.columns[name] for name in read.names if name in microdata.columns}
    if schema is not None:
        schema = Schema(tuple(attribute for attribute in schema if attribute.name in kept))
    method = Adaptive(epsilon=EPSILON, delta=REVIEW_DELTA)
    try:
        model = method.fit(Table(kept, read.source), schema)
    except InputError as error:
        raise InputError(
            f"No release with differential privacy to compare with: {error}"
        ) from error
    private = model.sample(read.rows, seed=0)
    return compare_releases(read, microdata, release, private, epsilon=EPSILON, delta=REVIEW_DELTA)
