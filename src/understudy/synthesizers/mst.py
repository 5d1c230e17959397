"""MST: a tree of pairs (McKenna, Miklau, Sheldon 2021, which won NIST's contest in another form).

A third of the budget measures every attribute by itself. A third grows a spanning tree: pair by
pair, a private choice takes one that joins two parts of the tree, preferring those whose rows
differ most from what independent attributes would have. The last third measures the tree's pairs.
The model of the largest entropy that fits all tables (:mod:`understudy.models.graphical`) then is
that tree.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from understudy.data.marginals import marginal
from understudy.models.graphical import Group
from understudy.models.graphical.learner import GraphicalLearner
from understudy.models.model import Model
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.release.callbacks import Progress
from understudy.synthesizers import AuditedGuarantee, Synthesizer
from understudy.synthesizers.independent import learn_rows_only
from understudy.synthesizers.registry import register

TREE_SWEEPS = 50

MAX_CLIQUE_CELLS = 1 << 20
"""Pairs of attributes with larger tables are not considered: noise would be all that is in them."""


@register(
    "mst",
    summary="a tree of pairs",
    cost="a choice and a noisy table per column",
    curators=("central", "federated", "local", "encrypted"),
)
@dataclass(frozen=True, kw_only=True)
class MST(Synthesizer):
    """A spanning tree of the pairs that depend on each other most.

    See Also
    --------
    understudy.synthesizers.Synthesizer : the parameters that all methods share.
    """

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """Attributes, tree, pairs."""
        learner = GraphicalLearner(curator)
        if not learner.sizes:
            return learn_rows_only(self, curator, budget, progress)
        singles: list[Group] = [(name,) for name in learner.sizes]
        if len(singles) == 1:
            learner.measure(singles, [budget])
        else:
            attributes, tree, pairs = budget.equally(3)
            if len(singles) == 2:
                pairs = pairs.plus(tree)  # no choice, no cost
            learner.measure(singles, attributes.equally(len(singles)))
            learner.refit(TREE_SWEEPS)
            chosen = self._tree(learner, tree, progress)
            groups = chosen or singles
            learner.measure(groups, pairs.equally(len(groups)))
        learner.refit(TREE_SWEEPS)
        progress("choosing pairs", 1, 1)
        return learner.model(self.parameters())

    @classmethod
    def audit_settings(cls, audited: AuditedGuarantee) -> dict[str, Synthesizer]:
        """Pure, and with a delta."""
        plain = cls(epsilon=audited.epsilon)
        return {
            cls.name: plain,
            f"{cls.name}, {audited.delta_name}": replace(plain, delta=audited.delta),
        }

    def _tree(self, learner: GraphicalLearner, budget: Budget, progress: Progress) -> list[Group]:
        """Kruskal's algorithm by private choices."""
        shares = {name: learner.fit.marginal((name,)) for name in learner.sizes}
        part = {name: place for place, name in enumerate(learner.sizes)}
        steps = budget.equally(len(part) - 1)
        chosen: list[Group] = []
        for step, cost in enumerate(steps):
            progress("choosing pairs", step, len(steps))
            pairs = [
                pair
                for pair in itertools.combinations(part, 2)
                if part[pair[0]] != part[pair[1]] and learner.cells(pair) <= MAX_CLIQUE_CELLS
            ]
            if not pairs:  # what is left stays by itself
                break
            independent = [learner.rows * np.multiply.outer(shares[a], shares[b]) for a, b in pairs]
            place = learner.curator.choose(
                [marginal(*pair) for pair in pairs], "misfit", cost, estimates=independent
            )
            chosen.append(pairs[place])
            joined, gone = (part[name] for name in pairs[place])
            part = {name: joined if mine == gone else mine for name, mine in part.items()}
        return chosen
