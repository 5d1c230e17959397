"""Curators that cheat, run through the doors that record."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.auditing.doors import exact_loss
from understudy.auditing.neighbours import Pair
from understudy.data.encoding import encode
from understudy.data.marginals import Marginal, marginal
from understudy.data.tables import Table
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.curator import Measurement
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise
from understudy.privacy.questions import Measure


class SpendsTwice(CentralCurator):
    """Measures everything twice and writes it down once."""

    def measure(
        self, marginals: Sequence[Marginal], budget: Budget, weights: Sequence[float] | None = None
    ) -> list[Measurement]:
        """Ask twice, and book once."""
        first = super().measure(marginals, budget, weights)
        self.ledger.entries.clear()
        super().measure(marginals, budget, weights)
        return first


class SplitsOverFewer(CentralCurator):
    """Gives each table what it would get if there were one table fewer."""

    def measure(
        self, marginals: Sequence[Marginal], budget: Budget, weights: Sequence[float] | None = None
    ) -> list[Measurement]:
        """Ask for the last table by itself."""
        measured = super().measure(marginals[:-1], budget, weights)
        self.ledger.entries.clear()
        return [
            *measured,
            *super().measure(marginals[-1:], budget.equally(len(marginals) - 1)[0], weights),
        ]


class _HalfTheNoise(Measure):
    """Tables with half of the noise that they need."""

    def scales(self, ledger: Ledger) -> list[float]:
        return [scale / 2 for scale in super().scales(ledger)]


class OneCellOfTwo(CentralCurator):
    """Under replace a row changes two cells; the noise is for one."""

    def measure(
        self, marginals: Sequence[Marginal], budget: Budget, weights: Sequence[float] | None = None
    ) -> list[Measurement]:
        """Ask with half of the noise."""
        question = _HalfTheNoise(marginals=marginals, budget=budget, weights=weights)
        measured: list[Measurement] = self.answer(question)
        return measured


def curator_loss(make: type[CentralCurator], pair: Pair, epsilon: float = 1.0) -> float:
    """The exact loss of one histogram an attribute, asked of a curator."""

    def run(table: Table, noise: Noise) -> None:
        assert pair.schema is not None
        curator = make(
            encode(table, pair.schema), Ledger(epsilon, neighbours=pair.neighbours), noise
        )
        curator.measure([marginal(name) for name in pair.schema.names], Budget(epsilon))

    return exact_loss(run, pair).epsilon
