"""Distance to the closest record: whether synthetic rows lie closer to the table than to others
like it.

If the synthetic rows tell about the population alone, the closest record of a synthetic row is as
likely to be in a holdout (people of the same population who were not used) as in the table, row for
row. Copies are counted in the same way: some rows come out equal by chance, as often to the holdout
as to the table.

The test shuffles who is in which part. Synthetic rows that share their closest record stand or fall
together, so the usual binomial test, which takes them one by one, would cry wolf; so would the
normal distribution, where one record is the closest to most of them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from understudy.attacks.promise import Promise
from understudy.attacks.rows import (
    UNIT_DISTANCE,
    distances,
    groups,
    join_rows,
    look_copied,
    pick_rows,
    sample_rows,
)
from understudy.attacks.verdicts import (
    FALSE_FINDING_RATE,
    SHUFFLES,
    Attack,
    give_verdict,
    rank_among_shuffled,
)
from understudy.data.encoding import Coded
from understudy.release.callbacks import Progress

Floats = NDArray[np.float64]

SAMPLE = 5000
"""This many rows are attacked one by one, at most."""

POOL = 100_000
"""Among this many rows the closest is looked for, at most."""

_PROMISED = (
    "At {promise} the expected share is at most {allowed:.3f}, however the synthetic rows were "
    "made: one person can "
    "draw them only so far."
)
_NO_EPSILON = "No epsilon was given, so nothing is promised."
_COPIED = (
    " Copies, by all appearance: a new person equals a real row about as often as two real "
    "rows are equal."
)
_NO_HOLDOUT = (
    "Without a holdout there is nothing to compare with: give rows of people who were not used."
)


def closest_record(
    real: Coded,
    synthetic: Coded,
    holdout: Coded | None,
    promise: Promise | None,
    rng: np.random.Generator,
    progress: Progress,
    sample: int = SAMPLE,
) -> Attack:
    """The share of synthetic rows whose closest record is in the table, against its share of all
    records.
    """
    names = [attribute.name for attribute in real.schema.modelled]
    looked_at = sample_rows(synthetic, sample, rng)
    if holdout is None:
        return _distances_only(real, looked_at, names, rng, progress)
    ours, theirs = sample_rows(real, POOL // 2, rng), sample_rows(holdout, POOL // 2, rng)
    pool, rows = join_rows(ours, theirs), ours.rows
    pairs = [
        rng.choice(part.rows, min(rows, theirs.rows), replace=False) for part in (ours, theirs)
    ]
    weights = np.zeros(pool.rows)
    to_real, to_holdout = np.empty(looked_at.rows), np.empty(looked_at.rows)
    for row, away in enumerate(distances(looked_at, pool, names)):
        tied = np.flatnonzero(away == away.min())
        weights[tied] += 1 / len(tied)
        # Among more rows the closest is closer: distances are compared on as many of both.
        to_real[row], to_holdout[row] = away[pairs[0]].min(), away[rows + pairs[1]].min()
        if row % 100 == 0:
            progress("attacking: closest record", row, looked_at.rows)
    share, deviation = nearer_share(weights, rows)
    chance = rows / pool.rows
    shuffled = shuffle_shares(weights, rows, rng)
    p_value = rank_among_shuffled(share, shuffled)
    allowed = None
    if promise is not None:
        allowed = promise.nearer(rows, theirs.rows)
    middle, beside = (float(np.median(found)) / UNIT_DISTANCE for found in (to_real, to_holdout))
    return Attack(
        "closest record",
        f"{share:.1%} of {looked_at.rows:,} synthetic rows have their closest record in the table "
        "and not in the "
        f"holdout (chance: {chance:.1%} ± {2 * deviation:.1%}); the median distance is "
        f"{middle:.2f} attributes to "
        f"{len(pairs[0]):,} rows of the table, {beside:.2f} to as many of the holdout.",
        "share of synthetic rows closer to the table",
        share,
        chance,
        allowed,
        _word_promise(promise, allowed),
        give_verdict(p_value, share - _reach(shuffled, chance), allowed),
        p_value,
        {
            "deviation": deviation,
            "median_distance_to_real": middle,
            "median_distance_to_holdout": beside,
            "synthetic_rows": looked_at.rows,
            "real_rows": rows,
            "holdout_rows": theirs.rows,
        },
    )


def exact_copies(
    real: Coded,
    synthetic: Coded,
    holdout: Coded | None,
    promise: Promise | None,
    rng: np.random.Generator,
) -> Attack:
    """Synthetic rows that equal a record in all codes: how many of the records are in the table."""
    names = [attribute.name for attribute in real.schema.modelled]
    if holdout is None:
        return _copies_only(real, synthetic, names)
    (in_real, in_holdout, in_synthetic), count = groups([real, holdout, synthetic], names)
    copies, ours, theirs = (
        np.bincount(g, minlength=count) for g in (in_synthetic, in_real, in_holdout)
    )
    weights = copies / np.maximum(ours + theirs, 1)
    unit = "share of copies that are of the table's rows"
    # Among more rows there are more equal ones: those that were hit are counted on as many rows of
    # both.
    pairs = min(real.rows, holdout.rows)
    of_real, of_holdout = (
        float(np.isin(in_synthetic, rng.choice(part, pairs, replace=False)).mean())
        for part in (in_real, in_holdout)
    )
    figures = {
        "copies_of_real": of_real,
        "copies_of_holdout": of_holdout,
        "rows_of_each_part": pairs,
    }
    chance = real.rows / (real.rows + holdout.rows)
    allowed = None
    if promise is not None:
        allowed = promise.nearer(real.rows, holdout.rows)
    found = (
        f"{of_real:.2%} of the synthetic rows equal one of {pairs:,} rows of the table (after "
        "binning), "
        f"{of_holdout:.2%} one of as many of the holdout"
    )
    if not copies[(ours > 0) | (theirs > 0)].any():
        return Attack(
            "exact copies",
            f"{found}.",
            unit,
            None,
            chance,
            allowed,
            _word_promise(promise, allowed),
            "nothing seen",
            1.0,
            figures,
        )
    of_records = np.concatenate([weights[in_real], weights[in_holdout]])
    share, deviation = nearer_share(of_records, real.rows)
    shuffled = shuffle_shares(of_records, real.rows, rng)
    p_value = rank_among_shuffled(share, shuffled)
    are_copies = look_copied(in_synthetic, in_real)
    return Attack(
        "exact copies",
        f"{found}; of the copies, {share:.1%} are the table's (chance: {chance:.1%} ± "
        f"{2 * deviation:.1%})."
        f"{_COPIED if are_copies else ''}",
        unit,
        share,
        chance,
        allowed,
        _word_promise(promise, allowed),
        "look at this"
        if are_copies
        else give_verdict(p_value, share - _reach(shuffled, chance), allowed),
        p_value,
        {"deviation": deviation, **figures},
    )


def nearer_share(weights: Floats, rows: int) -> tuple[float, float]:
    """The share of all weight that lies on the first ``rows`` records, and its deviation when
    records are shuffled.

    A record weighs as much as the synthetic rows that it is the closest to (with equals, they
    share). The deviation is that of a sample of records without replacement.

    Examples
    --------
    >>> nearer_share(np.array([1.0, 1.0, 1.0, 1.0]), 2)
    (0.5, 0.0)
    """
    records, total = len(weights), float(weights.sum())
    spread = float(((weights - weights.mean()) ** 2).sum())
    deviation = math.sqrt(rows * (records - rows) / (records * (records - 1)) * spread) / total
    return float(weights[:rows].sum()) / total, deviation


def shuffle_shares(weights: Floats, rows: int, rng: np.random.Generator) -> Floats:
    """The shares that :func:`nearer_share` gives when the records are shuffled, again and again.

    Records of the same weight are alike: it is enough to draw how many of them are among the first
    ``rows``.
    """
    values, counts = np.unique(weights, return_counts=True)
    shares = np.empty(SHUFFLES)
    step = max(1, 1_000_000 // len(values))  # this many at a time: the draws take space
    for start in range(0, SHUFFLES, step):
        drawn = rng.multivariate_hypergeometric(
            counts, rows, min(step, SHUFFLES - start), method="marginals"
        )
        shares[start : start + step] = drawn @ values
    return shares / float(weights.sum())


def _reach(shuffled: Floats, chance: float) -> float:
    """How far chance may carry the share, at the level of the tests."""
    return float(np.quantile(shuffled, 1 - FALSE_FINDING_RATE)) - chance


def _word_promise(promise: Promise | None, allowed: float | None) -> str:
    if promise is None:
        return _NO_EPSILON
    return _PROMISED.format(promise=promise, allowed=allowed)


# --------------------------------------------------------------------------- without a holdout


def _distances_only(
    real: Coded, looked_at: Coded, names: list[str], rng: np.random.Generator, progress: Progress
) -> Attack:
    pool = sample_rows(real, POOL, rng)
    own = np.sort(rng.choice(pool.rows, min(pool.rows, looked_at.rows), replace=False))
    steps = looked_at.rows + len(own)
    to_real, between = np.empty(looked_at.rows), np.empty(len(own))
    for row, away in enumerate(distances(looked_at, pool, names)):
        to_real[row] = away.min()
        if row % 100 == 0:
            progress("attacking: closest record", row, steps)
    for row, away in enumerate(distances(pick_rows(pool, own), pool, names)):
        away[own[row]] = np.iinfo(np.int32).max  # the row itself
        if pool.rows > 1:
            between[row] = away.min()
        else:
            between[row] = np.nan
        if row % 100 == 0:
            progress("attacking: closest record", looked_at.rows + row, steps)
    middle, beside = (
        float(np.median(to_real)) / UNIT_DISTANCE,
        float(np.median(between)) / UNIT_DISTANCE,
    )
    lone = pool.rows == 1
    if lone:
        compared = ""
    else:
        compared = f", and {beside:.2f} from one real row to the next"
    return Attack(
        "closest record",
        f"The median distance from {looked_at.rows:,} synthetic rows to the closest real one is "
        f"{middle:.2f} "
        f"attributes{compared}. {_NO_HOLDOUT}",
        "median distance in attributes",
        middle,
        None if lone else beside,
        None,
        "Epsilon bounds the difference between the table and a holdout, not the distances "
        "themselves.",
        "not judged",
        figures={"synthetic_rows": looked_at.rows, "real_rows": pool.rows},
    )


def _copies_only(real: Coded, synthetic: Coded, names: list[str]) -> Attack:
    (in_real, in_synthetic), count = groups([real, synthetic], names)
    ours = np.bincount(in_real, minlength=count)
    copies = float((ours[in_synthetic] > 0).mean())
    alike = float((ours[in_real] > 1).mean())
    are_copies = look_copied(in_synthetic, in_real)
    return Attack(
        "exact copies",
        f"{copies:.2%} of the synthetic rows equal a real one (after binning); {alike:.2%} of the "
        "real rows equal "
        f"another real one.{_COPIED if are_copies else f' {_NO_HOLDOUT}'}",
        "share of rows that equal a real one",
        copies,
        alike,
        None,
        "Epsilon bounds the difference between the table and a holdout, not the number of equal "
        "rows.",
        "look at this" if are_copies else "not judged",
    )
