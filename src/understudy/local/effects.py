"""What reports tell: effects, and one estimate of all tables from them.

A question about a joint index tells all effects of its columns, a parity of columns with two values
tells one. Each is told with a variance that is known before anybody answers, up to the share of
persons who are asked.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy.errors import InputError
from understudy.local.collected import Collected, EstimatedShares
from understudy.models.joint.effects import AxisNames, Effect, average_effects, effects_of_table
from understudy.models.joint.tables import JointEstimate


def estimate_jointly(collected: Collected) -> JointEstimate:
    """One estimate of all tables, from all reports."""
    sizes = {a.name: a.size for a in collected.plan.schema.modelled if a.size > 1}
    return JointEstimate(sizes, pool_effects(collected), _find_sampling_part(collected))


def pool_effects(collected: Collected) -> dict[AxisNames, Effect]:
    """Every effect that was asked about, from all questions that tell it."""
    order = {a.name: place for place, a in enumerate(collected.plan.schema.modelled)}
    numbers = range(len(collected.plan.questions))
    return average_effects(
        told
        for number in numbers
        if (estimate := collected.estimate(number)) is not None
        for told in _effects_of(estimate, order)
    )


def _effects_of(
    estimate: EstimatedShares, order: dict[str, int]
) -> Iterator[tuple[AxisNames, Effect]]:
    if estimate.question.odd is not None:
        yield _parity(estimate, order)
        return
    table = estimate.shares.reshape(estimate.question.sizes)
    # Estimated shares add up to 1, so that the variance of all cells lies in all directions but
    # one.
    variance = float(estimate.deviations @ estimate.deviations) / (table.size - 1)
    yield from effects_of_table(estimate.question.columns, table, variance, order)


def _parity(estimate: EstimatedShares, order: dict[str, int]) -> tuple[AxisNames, Effect]:
    """The effect of a parity: its mean c, of a table with signs s over 2^k cells, is that of c s /
    2^k, whose one direction has a variance of that of c over 2^k.
    """
    question = estimate.question
    if set(question.sizes) != {2}:
        raise InputError(
            f"The question {question} is about a column with more than two codes, whose parities "
            "no table can be made of; ask for the joint index."
        )
    signs = 1.0 - 2.0 * question.parity_table()
    mean = estimate.shares[0] - estimate.shares[1]
    # Both shares have the same noise with opposite signs, so their difference has 4 times the
    # variance of either.
    variance = 4 * float(estimate.deviations[0] ** 2)
    signs = signs.transpose(np.argsort([order[name] for name in question.columns]))
    part = tuple(sorted(question.columns, key=order.__getitem__))
    return part, Effect(shares=mean * signs / signs.size, variance=variance / signs.size)


def _find_sampling_part(collected: Collected) -> float:
    noise, sampling = 0.0, 0.0
    for number in range(len(collected.plan.questions)):
        estimate = collected.estimate(number)
        if estimate is not None:
            noise += estimate.reports * float(estimate.noise_variances.sum())
            sampling += estimate.reports * float(estimate.sampling_variances.sum())
    return sampling / (noise + sampling)
