"""What an adversary's alarms show: how likely chance alone gives them, and what is sure of them."""

from __future__ import annotations

import math

import numpy as np

from understudy.attacks.features import Floats
from understudy.attacks.verdicts import FALSE_FINDING_RATE, SHUFFLES, rank_among_shuffled


def chance_by_shuffling(
    alarms: Floats, rng: np.random.Generator, shuffles: int = SHUFFLES
) -> float:
    """How often chance alone gives such advantages, on average over the targets or on one of them.

    ``alarms`` holds those of each target on the fits without any target's row, with the first
    one's, and so on. If no row made a difference, all fits would be alike, so shuffling them is an
    exact test, with however few of them.
    """
    targets, groups, fits = alarms.shape
    lines = alarms.reshape(targets, -1)
    found = np.array(
        [alarms[target, target + 1].mean() - alarms[target, 0].mean() for target in range(targets)]
    )
    shuffled = np.empty((shuffles, targets))
    for start in range(0, shuffles, 100):  # a hundred at a time: the orders of many fits take space
        places = np.tile(np.arange(groups * fits), (min(100, shuffles - start), 1))
        order = rng.permuted(places, axis=1).reshape(-1, groups, fits)
        for target, line in enumerate(lines):
            advantage = line[order[:, target + 1]].mean(axis=1) - line[order[:, 0]].mean(axis=1)
            shuffled[start : start + len(order), target] = advantage
    average = rank_among_shuffled(float(found.mean()), shuffled.mean(axis=1))
    single = rank_among_shuffled(float(found.max()), shuffled.max(axis=1))
    return min(1.0, 2 * min(average, single))


def bound_advantage(alarms: Floats) -> tuple[float, float]:
    """What the average advantage surely is, by alarms as in :func:`chance_by_shuffling`, and its
    standard deviation.

    One fit with an alarm and one without are added on either side (Agresti and Caffo 2000): where
    all fits agree, the next one still may not. The confidence is about 99.5 %, by Student's
    distribution.
    """
    from scipy.special import stdtrit

    targets, _, fits = alarms.shape
    added = np.tile([1.0, 0.0], (targets, 1))
    with_row = np.concatenate([alarms[np.arange(targets), np.arange(targets) + 1], added], axis=1)
    without = np.concatenate([alarms[:, 0], added], axis=1)
    # Fits without a row serve all targets: their alarms are averaged fit by fit. Those with one are
    # independent.
    spread = with_row.var(axis=1).sum() / targets**2 + without.mean(axis=0).var()
    deviation = math.sqrt(float(spread) / (fits + 2))
    reach = float(stdtrit(fits - 1, 1 - FALSE_FINDING_RATE / 2)) * deviation
    return float(with_row.mean() - without.mean()) - reach, deviation
