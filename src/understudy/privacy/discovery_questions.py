"""The two questions of discovery: a noisy histogram, and a choice among domains by their counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.bins import NoisyCells
from understudy.privacy.budget import Budget
from understudy.privacy.discovery_budget import Protection, noise_tail
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import (
    Noise,
    add_noise,
    choice_scale,
    describe_noise,
    round_to_grid,
    table_scale,
)

FALSE_ALARM = 0.01
"""Probability that noise alone makes some cell of a histogram look occupied."""

MARK_FALSE_ALARM = 0.05
"""The same of marks for missing values: whoever looks closer counts them again, while the rows of
one that was not seen become numbers.
"""

PUBLIC_FALSE_ALARMS = 0.3
"""Words of a public list that noise alone makes look as if they occurred, on average: a model finds
next to no rows for them.
"""

FAR_FALSE_ALARM = 1e-4
"""The same of cells far from the rest, where an empty one does more harm."""


@dataclass(frozen=True)
class NoisyHistogram:
    """Noisy counts, and what their noise is."""

    counts: NDArray[np.int64]
    scale: float
    currency: str

    def stands_out(self, cells: int, false_alarm: float = FALSE_ALARM) -> float:
        """Counts above this are, with probability 1 - ``false_alarm``, not noise alone in any of
        some cells.
        """
        return noise_tail(self.scale, self.currency, false_alarm / max(cells, 1))

    def cells(self, edges: NDArray[np.float64], counts: NDArray[np.int64]) -> NoisyCells:
        """Some of the counts, as those of stretches between edges."""
        return NoisyCells(
            edges=edges,
            counts=counts,
            deviation=self.deviation,
            stands_out=self.stands_out(len(counts)),
        )

    @property
    def deviation(self) -> float:
        """Of the noise in each count, about."""
        if self.currency == "epsilon":
            return self.scale * 2**0.5
        return self.scale


class Asker:
    """Puts questions about single columns: debits first, then answers."""

    def __init__(self, ledger: Ledger, noise: Noise) -> None:
        self.ledger = ledger
        self.noise = noise
        self.protection = Protection(
            neighbours=ledger.neighbours, max_rows_per_person=ledger.max_rows_per_person
        )

    def histogram(
        self, question: str, counts: Sequence[int] | NDArray[np.int64], cost: Budget, delta: float
    ) -> NoisyHistogram:
        """Noisy counts of cells, of which one row is in at most one."""
        scale = table_scale(cost, self.ledger.neighbours, self.ledger.max_rows_per_person)
        self.ledger.debit(question, cost, describe_noise(cost.currency, scale), delta)
        exact_counts = np.array(counts, dtype=np.int64)
        noisy = add_noise(self.noise, exact_counts, cost.currency, scale)
        return NoisyHistogram(noisy, scale, cost.currency)

    def choose(
        self,
        question: str,
        counts: Sequence[int] | NDArray[np.int64],
        log_odds: NDArray[np.float64],
        cost: Budget,
    ) -> int:
        """The place of one of several domains, by how many cells belong to each.

        A row adds one cell of the column: each count grows by one or stays. So the scores have
        sensitivity 1 and are monotone under add_remove. Under replace one row leaves and another
        comes: a count may fall by one while another grows by one, so the scores have sensitivity 1
        and are not monotone. A person's M rows change each count by at most M, all in the same
        direction under add_remove.

        Parameters
        ----------
        question
            What is asked, for the ledger.
        counts
            How many cells belong to each domain.
        log_odds
            What speaks for each domain beforehand; from public values.
        cost
            The price.
        """
        loss = self.ledger.allow_loss(cost)
        scale = choice_scale(loss.amount, loss.currency, monotone=self.protection.monotone)
        self.ledger.debit(question, cost, "exponential, by counts")
        most = float(self.ledger.max_rows_per_person)
        offsets = log_odds / self.protection.strength(loss)
        scores = round_to_grid(np.array(counts, dtype=np.float64), most, offsets)
        return self.noise.choose(scores, scale, "exponential")
