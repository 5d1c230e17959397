"""How far forged reports can move an estimate, whatever they say.

A report speaks for a value or does not. Of n reports to a question, let m be forged, and let r be
the share of the honest ones that speak for a value. The estimated share of the value is
(c / n - q) / (p - q), where c reports speak for it. With a of the forged ones among them,
c / n = r + (m / n) (a / m - r): so the estimate differs from that of the honest reports alone by
(m / n) |a / m - r| / (p - q), which is at most (m / n) / (p - q), since a / m and r lie between 0
and 1. (Where a report speaks for a value, against it or not at all, as in Hadamard response, twice
that.) The factor 1 / (p - q) is the price of privacy: at a small epsilon an honest report says
little, and a forged one as much as 1 / (p - q) persons could.

Honest persons draw their question; forgers choose. If they all answer one question they are a
larger part of its reports. That shows in how many reports each question has, which is known up to
chance: :func:`find_crowded_questions` finds it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from understudy.errors import InputError
from understudy.local.collected import Collected, level_weights
from understudy.local.randomisers import CategoricalRandomiser, HadamardResponse
from understudy.local.randomisers.base import SupportRandomiser

CROWDED_DEVIATIONS = 6.0
"""How many standard deviations above its mean the number of reports to a question is suspicious:
by chance in less than one of 10^8 questions.
"""


@dataclass(frozen=True, kw_only=True)
class PoisonBound:
    """How far forged reports can move the estimated share of any answer to a question."""

    question: int
    drawn: float
    """Where forgers draw their question and level as all others do."""
    chosen: float
    """Where all of them answer this question, at the level that counts most."""


def bound_poisoning(collected: Collected, share: float) -> list[PoisonBound]:
    """The bound for each question that was answered.

    It compares the estimate (by inverse variance) with that of the honest reports alone at the same
    weights.

    Parameters
    ----------
    collected
        What was counted.
    share
        Which part of the reports may be forged.
    """
    if not 0 <= share < 1:
        raise InputError(f"The share of forged reports must be from 0 to below 1, not {share:g}.")
    forged = share * collected.reports
    bounds = []
    for place, question in enumerate(collected.plan.questions):
        levels = list(collected.levels_of(place))
        if not levels:
            continue
        randomisers = [question.randomisers[level] for level, _ in levels]
        reports = [tally.reports for _, tally in levels]
        weights = level_weights(randomisers, reports, "inverse_variance")
        pulls = [
            weight * pull_of_one(randomiser)
            for weight, randomiser in zip(weights, randomisers, strict=True)
        ]
        bounds.append(
            PoisonBound(
                question=place,
                drawn=float(share * sum(pulls)),
                chosen=_concentrate(forged, pulls, reports),
            )
        )
    return bounds


def pull_of_one(randomiser: CategoricalRandomiser) -> float:
    """The most by which one report can move an estimated count, against any other report."""
    one = np.zeros(randomiser.size, dtype=np.int64)
    one[0] = 1
    none = np.zeros_like(one)
    slope = randomiser.estimate(one, 1)[0] - randomiser.estimate(none, 1)[0]
    if isinstance(randomiser, SupportRandomiser):
        return float(slope)
    if isinstance(randomiser, HadamardResponse):
        return float(2 * slope)  # a report adds 1 to a tally, or takes 1 away
    return math.inf


def _concentrate(forged: float, pulls: list[float], reports: list[int]) -> float:
    """The largest move by forgers who choose the level: first where a report pulls most."""
    moved = 0.0
    by_pull = sorted(zip(pulls, reports, strict=True), key=lambda one: -one[0] / one[1])
    for pull, count in by_pull:
        here = min(forged, count)
        moved += pull * here / count
        forged -= here
    return float(moved)


def find_crowded_questions(collected: Collected) -> list[int]:
    """Questions with more reports than drawing them gives, by far more than chance does."""
    plan = collected.plan
    crowded = []
    for wave in range(1, plan.wave + 1):
        places = [place for place, one in enumerate(plan.questions) if one.wave == wave]
        counts = {
            place: sum(tally.reports for _, tally in collected.levels_of(place)) for place in places
        }
        whole, weights = sum(counts.values()), sum(plan.questions[place].weight for place in places)
        for place in places:
            chance = plan.questions[place].weight / weights if weights else 0.0
            spread = math.sqrt(whole * chance * (1 - chance))
            if counts[place] > whole * chance + CROWDED_DEVIATIONS * spread + 1:
                crowded.append(place)
    return crowded
