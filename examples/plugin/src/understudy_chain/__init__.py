"""Chain: each column depends on the one before it, in the order of the table."""

from dataclasses import dataclass

from understudy import Model, Synthesizer
from understudy.data.marginals import marginal
from understudy.models.parameters import estimate_rows, repair_counts
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.release.callbacks import Progress
from understudy.synthesizers.marginals import chain_nodes, with_constants
from understudy.synthesizers.parameters import WholeNumber, parameter
from understudy.synthesizers.registry import register


@register(
    "chain",
    summary="how each column depends on the one before it",
    cost="one noisy table per pair of neighbouring columns",
    curators=("central", "federated"),
)
@dataclass(frozen=True, kw_only=True)
class Chain(Synthesizer):
    """A table for each column and the ``length`` columns before it."""

    length: int = parameter(1, WholeNumber(1, 3), "How many columns before it one depends on.")

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """Ask for the tables, then make a network of them, column by column."""
        names = [column.name for column in curator.schema.modelled if column.size > 1]
        width = min(self.length + 1, len(names))
        groups = [tuple(names[i : i + width]) for i in range(len(names) - width + 1)] or [()]
        measured = curator.measure([marginal(*group) for group in groups], budget)
        rows = estimate_rows(measured) if curator.rows is None else float(curator.rows)
        nodes = []
        for group, table in zip(groups, measured, strict=True):
            counts = repair_counts(table.counts, rows, "project")
            nodes += chain_nodes(group, counts, table.deviation, {node.attribute for node in nodes})
        network = with_constants(nodes, curator.schema, rows)
        return Model(self.parameters(), curator.schema, network, curator.ledger, round(rows))
