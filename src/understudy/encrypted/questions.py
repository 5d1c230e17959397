"""What a question costs on encrypted items: worked out alike by the aggregator and the service."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from understudy.data.marginals import Marginal, describe
from understudy.encrypted.plans import EncryptionPlan, Item
from understudy.errors import InputError
from understudy.federation.noise_shares import check_scale
from understudy.privacy.budget import Budget
from understudy.privacy.domain import Domain
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise, describe_noise, gaussian_scale, laplace_scale
from understudy.privacy.questions import LedgerLine, Measure, Question
from understudy.privacy.sum_sensitivity import Block, Part
from understudy.privacy.sums import Sum

NOISE_PROVIDERS = {
    1: "the whole of it by the aggregator and again by the service",
    2: "half of it by the aggregator and half by the service",
}
"""How noise is added, by how many shares of it are enough."""


@dataclass(frozen=True, kw_only=True)
class PairScores(Question):
    """How much the columns of each pair of a plan depend on each other, with noise: n R by each
    owner's own rows, added up.
    """

    budget: Budget

    def check(self, domain: Domain) -> None:
        """Refuse a price of nothing."""
        if not self.budget.amount > 0:
            raise InputError("Scores cannot be had for nothing; give them a share of the budget.")

    def scale(self, plan: EncryptionPlan) -> float:
        """The scale of the noise, in steps: a row moves all scores, each as the plan says."""
        pairs = len(plan.pairs)
        if self.budget.currency == "epsilon":
            return laplace_scale(pairs * plan.score_move, self.budget.amount)
        moved = math.nextafter(math.sqrt(pairs) * plan.score_move * (1 + 1e-12), math.inf)
        return gaussian_scale(moved, self.budget.amount)


EncryptedQuestion = Measure | Sum | PairScores
"""What can be asked about a plan."""


@dataclass(frozen=True, kw_only=True)
class PricedItems:
    """The items that a question is about, and the noise of each."""

    items: tuple[Item, ...]
    scales: tuple[float, ...]
    lines: tuple[LedgerLine, ...]
    blocks: Mapping[Part, Block]
    """Of sums: their grids."""

    @property
    def ciphertexts(self) -> int:
        """How many ciphertexts hold the items."""
        return sum(item.ciphertexts for item in self.items)

    def split(self, numbers: Sequence[int]) -> Iterator[tuple[Item, float, Sequence[int]]]:
        """Each item with its noise and its part of numbers that stand one after the other."""
        start = 0
        for item, scale in zip(self.items, self.scales, strict=True):
            yield item, scale, numbers[start : start + item.ciphertexts]
            start += item.ciphertexts


def price_question(
    plan: EncryptionPlan, question: EncryptedQuestion, ledger: Ledger, noise: Noise, enough: int
) -> PricedItems:
    """The items of a question and the noise that it needs; refuses what is not in the plan."""
    question.check(plan.domain)
    blocks: Mapping[Part, Block] = {}
    items: list[Item]
    scales: list[float]
    lines: Iterable[LedgerLine]
    if isinstance(question, PairScores):
        items, scales = [plan.score_item], [question.scale(plan)]
        noise_words = (
            f"{describe_noise(question.budget.currency, scales[0])}, {NOISE_PROVIDERS[enough]}"
        )
        what = f"dependence of {len(plan.pairs):,} pairs of columns"
        lines = [(what, question.budget, noise_words)]
    elif isinstance(question, Measure):
        items = [plan.items[_table_number(plan, axes)] for axes in question.marginals]
        scales = question.scales(ledger)
        lines = question.ledger_lines(scales, NOISE_PROVIDERS[enough])
    else:
        place = plan.find_sum(question)
        planned = plan.blocks(place)
        blocks = {part: planned[part] for part in question.costs}
        numbers = plan.sum_items(place)
        items = [plan.items[numbers[part]] for part in blocks]
        told = question.scales(blocks)
        scales = [told[part] for part in blocks]
        lines = question.ledger_lines(blocks, told, NOISE_PROVIDERS[enough])
    for item, scale in zip(items, scales, strict=True):
        check_scale(noise, scale, question.budget.currency)
        if scale > item.max_scale:
            raise InputError(
                f"So small a budget needs more noise than the plan has room for in {item.name}; "
                "raise epsilon or ask for less."
            )
    return PricedItems(items=tuple(items), scales=tuple(scales), lines=tuple(lines), blocks=blocks)


def _table_number(plan: EncryptionPlan, axes: Marginal) -> int:
    if tuple(axes) not in plan.tables:
        raise InputError(
            f"The table of {describe(axes)} is not in the plan that owners uploaded for; ask for "
            "what it has."
        )
    return plan.tables.index(tuple(axes))
