"""Linkage: find people in the synthetic table by quasi-identifiers, and believe the row that is
found.

Looked for are people whom the quasi-identifiers single out. A person counts as linked when exactly
one synthetic row has the same combination; the score is then the share of the row's other
attributes that are right about the person (of the secret alone, if one was named), and 0 for people
who are not linked. Synthetic rows hit some combinations by chance, so the same is done for people
in a holdout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.attacks.promise import Promise
from understudy.attacks.rows import Ints, groups
from understudy.attacks.verdicts import Attack, HoldoutComparison
from understudy.data.encoding import Coded

Floats = NDArray[np.float64]


def linkage(
    real: Coded,
    synthetic: Coded,
    holdout: Coded | None,
    quasi_identifiers: Sequence[str],
    secret: str | None,
    promise: Promise | None,
) -> Attack:
    """How much linking unique people by their quasi-identifiers tells, against the same in a
    holdout.
    """
    if holdout is None:
        parts = [real]
    else:
        parts = [real, holdout]
    (in_synthetic, *in_parts), count = groups([synthetic, *parts], quasi_identifiers)
    # Unique in both parts together: whether somebody is singled out must not depend on the part
    # that they are in.
    people = np.bincount(np.concatenate(in_parts), minlength=count)
    if secret:
        learned = [secret]
    else:
        learned = [a.name for a in real.schema.modelled if a.name not in quasi_identifiers]
    match = _only_row(in_synthetic, count)
    links = [
        _links(part, synthetic, np.flatnonzero(people[found] == 1), match[found], learned)
        for part, found in zip(parts, in_parts, strict=True)
    ]
    ours = links[0]
    sentence = (
        f"{', '.join(quasi_identifiers)} single out {len(ours) / real.rows:.1%} of the table's "
        f"rows; {_link_rows(ours):.1%} of those meet exactly one synthetic row"
        + (f", and {_what(secret)} right for {_right(ours):.1%}" if _link_rows(ours) else "")
    )
    unit = "mean share of attributes learned by linking"
    if len(ours):
        share = float(np.maximum(ours, 0).mean())
    else:
        share = 0.0
    figures = {
        "unique_people": len(ours),
        "unique": len(ours) / real.rows,
        "linked": _link_rows(ours),
        "right_where_linked": _right(ours),
    }
    if holdout is None or not all(map(len, links)):
        if holdout is None:
            why = "Without a holdout"
        else:
            why = "Without unique people in both parts"
        alone = f"{sentence}. {why} it cannot be told how much of that is chance."
        return Attack.without_comparison("linkage", alone, unit, share, figures)
    theirs = links[1]
    compared = HoldoutComparison(
        inside=share,
        outside=float(np.maximum(theirs, 0).mean()),
        deviations=(_deviation(np.maximum(ours, 0)), _deviation(np.maximum(theirs, 0))),
        promise=promise,
    )
    return compared.attack(
        "linkage",
        f"{sentence}. In the holdout {_link_rows(theirs):.1%} of such people are linked, and "
        f"{_what(secret)} right for {_right(theirs):.1%}. All in all linking tells {share:.2%} "
        f"about people in the table, {compared.outside:.2%} about others (chance: ± "
        f"{2 * compared.deviation:.2%}).",
        unit,
        f"At {promise} linking tells at most {compared.allowed or 0:.2%} about people in the "
        f"table where it tells at most {compared.outside_at_most:.2%} about others.",
        {
            **figures,
            "unique_people_in_holdout": len(theirs),
            "linked_in_holdout": _link_rows(theirs),
            "right_where_linked_in_holdout": _right(theirs),
        },
    )


def _only_row(found: Ints, count: int) -> Ints:
    """For each group the one synthetic row in it; -1 where there is none or more than one."""
    match = np.full(count, -1, dtype=np.int64)
    match[found] = np.arange(len(found))
    match[np.bincount(found, minlength=count) != 1] = -1
    return match


def _links(
    people: Coded, synthetic: Coded, alone: Ints, match: Ints, learned: Sequence[str]
) -> Floats:
    """For each unique person the share of attributes that their match has right; -1 for those who
    are not linked.
    """
    place = match[alone]
    linked = place >= 0
    scores = np.full(len(alone), -1.0)
    if not learned:  # nothing is left to learn but that the combination occurs
        scores[linked] = 1.0
        return scores
    right = [
        people.codes[name][alone[linked]] == synthetic.codes[name][place[linked]]
        for name in learned
    ]
    scores[linked] = np.mean(right, axis=0)
    return scores


def _link_rows(scores: Floats) -> float:
    if len(scores):
        return float((scores >= 0).mean())
    return 0.0


def _right(scores: Floats) -> float:
    linked = scores[scores >= 0]
    if len(linked):
        return float(linked.mean())
    return 0.0


def _what(secret: str | None) -> str:
    if secret is None:
        return "its other attributes are"
    return f"its {secret} is"


def _deviation(scores: Floats) -> float:
    """Of the mean; never 0, since one person more could always have been linked."""
    spread = float(((scores - scores.mean()) ** 2).sum()) + 1
    return math.sqrt(spread) / len(scores)
