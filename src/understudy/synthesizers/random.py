"""Random: rows of the right types and nothing else (DataSynthesizer's random mode).

Every attribute is uniform over its domain. No private row is asked about, so with a schema it costs
nothing; without one the whole budget goes to discovering the domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.models.model import Model
from understudy.models.network import Network, Node
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.release.callbacks import Progress
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.registry import register


@register("random", summary="columns and types", cost="nothing")
@dataclass(frozen=True, kw_only=True)
class Random(Synthesizer):
    """Uniform over the domain, attribute by attribute; for trying out software, not for analysis.

    Examples
    --------
    >>> from understudy import Schema
    >>> sex = {"kind": "categorical", "values": ["f", "m"]}
    >>> schema = Schema.from_dict({"attributes": {"sex": sex}})
    >>> from understudy.data.tables import Column, Table
    >>> table = Table({"sex": Column("text", np.array([0, 1, 1]), ("f", "m"))})
    >>> Random().fit(table, schema).sample(2, seed=0).rows
    2
    """

    asks: ClassVar[bool] = False
    epsilon: float = 0.0

    def _check_epsilon(self) -> None:
        if self.epsilon != 0:
            super()._check_epsilon()

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """Nothing is learned."""
        nodes = [Node(a.name, (), np.ones(a.size)) for a in curator.schema.modelled]
        return Model(
            self.parameters(), curator.schema, Network(tuple(nodes)), curator.ledger, curator.rows
        )
