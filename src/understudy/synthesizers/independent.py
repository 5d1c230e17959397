"""Independent: every attribute by itself (DataSynthesizer's independent attribute mode).

The budget is split evenly over the attributes, each gets one noisy histogram, and rows are drawn
from the histograms as if attributes had nothing to do with each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from understudy.data.marginals import marginal
from understudy.models.model import Model
from understudy.models.network import Network, Node
from understudy.models.parameters import Repair, estimate_rows, repair_counts
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator, Measurement
from understudy.release.callbacks import Progress
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.parameters import repair_parameter
from understudy.synthesizers.registry import register


@register(
    "independent",
    summary="every column's distribution",
    cost="one noisy histogram per column",
    curators=("central", "federated", "local", "encrypted"),
)
@dataclass(frozen=True, kw_only=True)
class Independent(Synthesizer):
    """Noisy one-way marginals.

    Parameters
    ----------
    repair
        How noisy counts become counts that could be real: "project" (the nearest such table) or
        "clip" (negative ones to 0, then scaled, as the seeds of this method do).

    See Also
    --------
    understudy.synthesizers.Synthesizer : the parameters that all methods share.
    """

    only_measures: ClassVar[bool] = True
    repair: Repair = repair_parameter()

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """One histogram an attribute."""
        # An attribute with one value has nothing to tell; where all are so, only the number of rows
        # is asked for.
        asked = [marginal(a.name) for a in curator.schema.modelled if a.size > 1] or [()]
        progress("measuring histograms", 0, len(asked))
        measurements = curator.measure(asked, budget)
        progress("measuring histograms", len(asked), len(asked))
        if curator.rows is None:
            rows = estimate_rows(measurements)
        else:
            rows = float(curator.rows)
        by_name = {m.marginal[0].attribute: m for m in measurements if m.marginal}
        nodes = [self._node(a.name, by_name.get(a.name), rows) for a in curator.schema.modelled]
        return Model(
            self.parameters(), curator.schema, Network(tuple(nodes)), curator.ledger, round(rows)
        )

    def _node(self, name: str, measured: Measurement | None, rows: float) -> Node:
        if measured is None:
            return Node(name, (), np.array([rows]))
        return Node(name, (), repair_counts(measured.counts, rows, self.repair), measured.deviation)


def learn_rows_only(
    method: Synthesizer, curator: Curator, budget: Budget, progress: Progress
) -> Model:
    """The model where every attribute has one value: only the number of rows can be learned."""
    learned = Independent(epsilon=method.epsilon).learn(curator, budget, progress)
    return replace(learned, method=method.parameters())
