"""Sums over several holders' rows: which grid they are added on, and with how much noise.

Each holder sums its own rows exactly, rounds the sums down to whole steps and adds its share of the
noise. A row lies with one holder, so it moves the sum of all by as much as it moves that holder's:
the sensitivities are those of one table (:mod:`understudy.privacy.sum_sensitivity`). Shares of
noise can be drawn up to a scale only, and sums are read modulo 2^64: so the grid is as fine as the
budget allows, which everybody works out alike from the question.
"""

from __future__ import annotations

from collections.abc import Mapping

from understudy.errors import InputError
from understudy.federation.noise_shares import MAX_SHARE_SCALE
from understudy.privacy.budget import Budget, Currency
from understudy.privacy.domain import Domain
from understudy.privacy.exact_noise import MAX_SHARED_SCALE
from understudy.privacy.ledger import Ledger
from understudy.privacy.sum_sensitivity import Block, Part
from understudy.privacy.sums import Sum

MAX_SUM_STEPS: dict[Currency, int] = {"epsilon": 1 << 10, "rho": 1 << 20}
"""Steps of a magnitude. Of 2^31 rows, sums are below 2^51. Shares of Laplace noise take the longer
to draw the larger they are, and a thousand steps add a thousandth to the noise.
"""

MAX_SCALE: dict[Currency, int] = {"epsilon": MAX_SHARED_SCALE, "rho": MAX_SHARE_SCALE}
"""Of shares of noise."""

MIN_SUM_STEPS = 1 << 3
"""Fewer, and rounding would add much to the noise that is needed."""


def coarsen_blocks(question: Sum, domain: Domain, ledger: Ledger) -> dict[Part, Block]:
    """The blocks of a question on grids that shares of noise can be drawn on; refuses a budget that
    is too small for any.
    """
    blocks = question.blocks(domain, ledger.neighbours, ledger.max_rows_per_person)
    costs = question.costs
    return {part: _coarsen(block, costs[part]) for part, block in blocks.items()}


def count_numbers(question: Sum, domain: Domain, blocks: Mapping[Part, Block]) -> dict[Part, int]:
    """How many numbers each part has, over all groups."""
    groups = 1
    for size in question.group_shape(domain):
        groups *= size
    return {part: groups * len(block.magnitudes) for part, block in blocks.items()}


def _coarsen(block: Block, cost: Budget) -> Block:
    steps, largest = MAX_SUM_STEPS[cost.currency], MAX_SCALE[cost.currency]
    if block.steps <= steps and block.scale(cost) <= largest:
        return block
    while steps >= MIN_SUM_STEPS:
        coarse = block.on_grid(steps)
        if coarse.scale(cost) <= largest:
            return coarse
        steps //= 2
    raise InputError("So small a budget needs more noise than holders can draw; raise epsilon.")
