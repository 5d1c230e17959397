"""Attribute inference: guess a secret of somebody whose other attributes are known.

The adversary looks up the synthetic rows closest to what is known of a person and lets them vote on
the secret. That works for everybody, in the table or not, as far as the secret depends on the rest:
it is what statistics are for, and no breach. What concerns the people in the table is how much
better it works for them than for a holdout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.attacks.closest import POOL, SAMPLE
from understudy.attacks.promise import Promise
from understudy.attacks.rows import distances, sample_rows
from understudy.attacks.verdicts import Attack, HoldoutComparison, share_deviation
from understudy.data.encoding import Coded
from understudy.release.callbacks import Progress


def attribute_inference(
    real: Coded,
    synthetic: Coded,
    holdout: Coded | None,
    known: Sequence[str],
    secret: str,
    promise: Promise | None,
    rng: np.random.Generator,
    progress: Progress,
) -> Attack:
    """The share of people in the table whose secret is guessed right, against that share in the
    holdout.
    """
    pool = sample_rows(synthetic, POOL, rng)
    members = sample_rows(real, SAMPLE // 2, rng)
    others = None
    if holdout is not None:
        others = sample_rows(holdout, SAMPLE // 2, rng)
    steps = members.rows + (0 if others is None else others.rows)

    def report(row: int) -> None:
        progress("attacking: attribute inference", row, steps)

    right = _right_guesses(members, pool, known, secret, report)
    share = float(right.mean())
    commonest = int(np.bincount(pool.codes[secret]).argmax())
    blind = float((members.codes[secret] == commonest).mean())
    found = (
        f"Knowing {_list_names(known)}, {secret} is guessed right for {share:.1%} of "
        f"{members.rows:,} people in the table"
    )
    always = f"always guessing {real.schema[secret].label(commonest)!r} is right for {blind:.1%}"
    unit = f"share of right guesses of {secret}"
    figures = {
        "members": members.rows,
        "commonest_value": blind,
        "known": list(known),
        "secret": secret,
    }
    if others is None:
        alone = (
            f"{found}; {always}. Without a holdout it cannot be told how much of that is "
            "statistics and how much is about these people."
        )
        return Attack.without_comparison("attribute inference", alone, unit, share, figures)
    outside = _right_guesses(others, pool, known, secret, lambda row: report(members.rows + row))
    beside = float(outside.mean())
    compared = HoldoutComparison(
        inside=share,
        outside=beside,
        deviations=(share_deviation(share, members.rows), share_deviation(beside, others.rows)),
        promise=promise,
    )
    return compared.attack(
        "attribute inference",
        f"{found}, for {beside:.1%} of {others.rows:,} in the holdout (chance: ± "
        f"{2 * compared.deviation:.1%}); {always}.",
        unit,
        f"At {promise} the share in the table is at most {compared.allowed or 0:.3f} where it is "
        f"at most {compared.outside_at_most:.3f} outside it. What is guessed right about people "
        "outside is statistics, which no epsilon forbids.",
        {**figures, "holdout": others.rows},
    )


def _right_guesses(
    people: Coded, pool: Coded, known: Sequence[str], secret: str, progress: Callable[[int], None]
) -> NDArray[np.bool_]:
    """For each of the people, whether the synthetic rows closest to them vote for their secret."""
    secrets, size = pool.codes[secret], pool.schema[secret].size
    # Less than a vote: it only breaks ties.
    overall = np.bincount(secrets, minlength=size) / (pool.rows + 1)
    right = np.empty(people.rows, dtype=bool)
    for row, away in enumerate(distances(people, pool, known)):
        votes = np.bincount(secrets[away == away.min()], minlength=size) + overall
        right[row] = votes.argmax() == people.codes[secret][row]
        if row % 100 == 0:
            progress(row)
    return right


def _list_names(names: Sequence[str]) -> str:
    if len(names) > 4:
        return f"{len(names)} other attributes"
    return ", ".join(names)
