"""A fit without rows, before the one that is paid for.

A learner asks several questions, one after the other. If a late one were refused because its share
of a very small budget buys nothing, the early ones would have been paid for in vain. So every
question is put first to a curator that has no rows, checks prices as any curator does, and answers
with public numbers: once as if there were no rows, once as if there were very many. Learners ask
more questions the more rows they are told of, so what lies between costs no more.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from understudy.data.bits import Bits
from understudy.privacy.curator import Curator, Measurement
from understudy.privacy.domain import Domain
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import distribution_of
from understudy.privacy.questions import Measure, Question
from understudy.privacy.sums import PARTS, Sum, Sums, read_sums

NUMBERS_OF_ROWS = (0, 1 << 40)
"""As if there were this many rows."""


def rehearsal_curators(curator: Curator) -> list[Curator]:
    """Curators of the same public domain, with the same prices and without a row."""
    ledger = copy.copy(curator.ledger)
    return [
        Rehearsal(curator.domain, ledger, rows, adaptive_sums=curator.adaptive_sums)
        for rows in NUMBERS_OF_ROWS
    ]


class Rehearsal(Curator):
    """Checks questions and prices, and answers with public numbers.

    Parameters
    ----------
    domain, ledger
        What can be asked for, and what may be spent.
    counted
        As if there were this many rows.
    adaptive_sums
        Whether the curator that it stands for sums about centres that were released before.
    """

    def __init__(
        self, domain: Domain, ledger: Ledger, counted: int, *, adaptive_sums: bool = True
    ) -> None:
        super().__init__(domain, ledger)
        self._counted = counted
        self.adaptive_sums = adaptive_sums

    @property
    def rows(self) -> int | None:
        """As many as are made believe, where that is public."""
        if self.neighbours == "replace":
            return self._counted
        return None

    def in_bits(self, bits: Bits) -> Curator:
        """Nobody asks."""
        raise NotImplementedError("learners do not ask for bits")

    def _answer(self, question: Question) -> Any:
        """Public numbers of the right shape."""
        match question:
            case Measure():
                return self._measure(question)
            case Sum():
                return self._sum(question)
        raise TypeError(f"a rehearsal does not answer {type(question).__name__}")

    def _measure(self, question: Measure) -> list[Measurement]:
        distribution = distribution_of(question.budget.currency)
        return [
            Measurement(axes, np.full(self.domain.shape(axes), self._counted), distribution, scale)
            for axes, scale in zip(question.marginals, question.scales(self.ledger), strict=True)
        ]

    def _sum(self, question: Sum) -> Sums:
        """Counts of that many rows, all at their centres."""
        blocks = question.blocks(self.domain, self.neighbours, self.ledger.max_rows_per_person)
        scales = question.scales(blocks)
        groups = int(np.prod(question.group_shape(self.domain), dtype=np.int64))
        filling = dict.fromkeys(PARTS, 0) | {"counts": self._counted}
        noisy = {
            part: np.full((groups, len(block.magnitudes)), filling[part], dtype=np.int64)
            for part, block in blocks.items()
        }
        return read_sums(question, self.domain, noisy, blocks, scales)
