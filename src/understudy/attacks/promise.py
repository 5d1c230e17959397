"""What epsilon promises about an attack: numbers to put beside what an attack finds.

Differential privacy bounds what can be learned from *one person's taking part*. What a whole
population gives away ("smokers cough") is not bounded, and should not be: it is what the table is
for. So each bound here is on a difference, between people who are in the table and people who are
not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from understudy.privacy.budget import Neighbours, check_delta, check_epsilon, check_neighbours
from understudy.privacy.ledger import Ledger

_LARGEST = 700.0
"""exp of more overflows; such an epsilon promises nothing anyway."""


@dataclass(frozen=True)
class Promise:
    """A guarantee, as bounds on what attacks can reach.

    Parameters
    ----------
    epsilon, delta
        The guarantee of the release.
    neighbours
        Which tables count as neighbours: "add_remove" (one row more or less) or "replace" (one row
        changed).

    Examples
    --------
    >>> round(Promise(1.0).advantage, 3)
    0.462
    """

    epsilon: float
    delta: float = 0.0
    neighbours: Neighbours = "add_remove"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "delta", check_delta(self.delta))
        check_neighbours(self.neighbours)

    @classmethod
    def of(cls, ledger: Ledger) -> Promise | None:
        """What was spent, as a promise; none where noise was seeded or nothing was read."""
        epsilon, delta = ledger.spent()
        if not ledger.private or not epsilon:
            return None
        return cls(epsilon, delta, ledger.neighbours)

    @property
    def advantage(self) -> float:
        """The largest advantage in the membership game: true less false alarms of any test for one
        person's row.

        From p <= exp(epsilon) q + delta and the same for the complements (Kairouz, Oh and Viswanath
        2015).
        """
        odds = math.exp(-self.epsilon)
        return min(1.0, (1 - odds + 2 * self.delta * odds) / (1 + odds))

    @property
    def accuracy(self) -> float:
        """The largest share of right guesses in that game, where both answers are equally likely
        beforehand.
        """
        return (1 + self.advantage) / 2

    @property
    def exchanged(self) -> Promise:
        """The guarantee when one person takes another's place, which a comparison with a holdout
        amounts to.

        Under "replace" that is the guarantee itself; under "add_remove" one row leaves and one
        comes: two steps.
        """
        if self.neighbours == "replace":
            return self
        delta = min(self.delta * (1 + math.exp(min(self.epsilon, _LARGEST))), 1 - 1e-9)
        return Promise(2 * self.epsilon, delta, "replace")

    def most(self, share: float) -> float:
        """The largest share of hits among people in the table, where it is ``share`` among people
        who are not.

        Examples
        --------
        >>> round(Promise(0.1, neighbours="replace").most(0.5), 3)
        0.548
        """
        step = self.exchanged
        ratio = math.exp(min(step.epsilon, _LARGEST))
        return max(0.0, min(1.0, ratio * share + step.delta, 1 - (1 - share - step.delta) / ratio))

    def nearer(self, rows: int, holdout: int) -> float:
        """The largest expected share of synthetic rows whose closest record is in the table, not in
        the holdout.

        Both come from the same population and have this many rows. The chance that the closest
        record of all is a certain row of the table is at most exp(epsilon) times the chance, plus
        delta, when that row has changed places with a certain one of the holdout, which is the
        chance that the latter is the closest. Averaged over the holdout and summed over the table,
        share <= rows / holdout * exp(epsilon) (1 - share) + rows * delta.

        Examples
        --------
        >>> round(Promise(1.0, neighbours="replace").nearer(1000, 1000), 3)
        0.731
        """
        step = self.exchanged
        odds = math.exp(-step.epsilon) * holdout / rows
        return min(1.0, (1 + rows * step.delta * odds) / (1 + odds))

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g}" + (f", delta {self.delta:g}" if self.delta else "")
