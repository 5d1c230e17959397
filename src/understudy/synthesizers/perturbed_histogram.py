"""Perturbed histogram (Wasserman and Zhou 2010): one noisy table over all attributes together.

Every cell of the joint domain gets noise, empty ones too; negative counts are repaired, and any
number of rows can be drawn from what is left. It keeps every dependence there is, and is the method
of choice for two to five small attributes; beyond that there are more cells than rows, and the
noise of the empty ones wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.models.model import Model
from understudy.models.parameters import Repair, estimate_rows, repair_counts
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.release.callbacks import Progress
from understudy.synthesizers import AuditedGuarantee, Synthesizer
from understudy.synthesizers.marginals import chain_nodes, check_cells, joint_names, with_constants
from understudy.synthesizers.parameters import repair_parameter
from understudy.synthesizers.registry import register


@register(
    "perturbed-histogram",
    summary="few columns, all their relations",
    cost="one noisy table of all columns",
)
@dataclass(frozen=True, kw_only=True)
class PerturbedHistogram(Synthesizer):
    """One noisy joint table.

    Parameters
    ----------
    repair
        How noisy counts become counts that could be real: "project" (the nearest such table) or
        "clip" (negative ones to 0, then scaled, as Wasserman and Zhou do).

    See Also
    --------
    understudy.synthesizers.Synthesizer : the parameters that all methods share.
    """

    only_measures: ClassVar[bool] = True
    repair: Repair = repair_parameter()

    def check(self, schema: Schema) -> None:
        """The joint domain must be small enough for a table."""
        check_cells(joint_names(schema), schema)

    @classmethod
    def audit_settings(cls, audited: AuditedGuarantee) -> dict[str, Synthesizer]:
        """Persons are left to other methods that ask for one table."""
        settings = super().audit_settings(audited)
        return {name: setting for name, setting in settings.items() if setting.person is None}

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """One table."""
        # Refinement may have cut bins since the release checked the schema.
        self.check(curator.schema)
        names = joint_names(curator.schema)
        progress("measuring the table", 0, 1)
        [measured] = curator.measure([marginal(*names)], budget)
        if curator.rows is None:
            rows = estimate_rows([measured])
        else:
            rows = float(curator.rows)
        table = repair_counts(measured.counts, rows, self.repair)
        progress("measuring the table", 1, 1)
        network = with_constants(
            chain_nodes(names, table, measured.deviation), curator.schema, rows
        )
        return Model(self.parameters(), curator.schema, network, curator.ledger, round(rows))
