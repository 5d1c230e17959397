"""Smoothed histogram (Wasserman and Zhou 2010): no noise is added, the drawing itself is private.

The same number of made-up rows is added to every cell of the joint domain, and a few rows are drawn
from the result. What is released is these rows; how many there are is part of the guarantee (see
:func:`understudy.privacy.mechanisms.draw_smoothing` for the proof), since each of them tells a
little. Twice the rows take twice the smoothing: a sample as large as the table would be little but
smoothing.

The model holds the rows as they were drawn. Drawing that many from it gives exactly these cells
again; any other number is drawn from them, which costs nothing and tells nothing new.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.models.chunks import CHUNK
from understudy.models.model import Model
from understudy.models.parameters import estimate_rows
from understudy.privacy.budget import Budget, Currency, Neighbours
from understudy.privacy.curator import Curator
from understudy.privacy.mechanisms import draw_smoothing
from understudy.privacy.plan import sampling_error
from understudy.release.callbacks import Progress
from understudy.synthesizers import AuditedGuarantee, Synthesizer
from understudy.synthesizers.marginals import chain_nodes, check_cells, joint_names, with_constants
from understudy.synthesizers.parameters import Optional, WholeNumber, parameter
from understudy.synthesizers.registry import register

MAX_ROWS_IN_ORDER = CHUNK
"""A model gives this many rows back in one piece, cell by cell as they were drawn."""

ROWS_SHARE = 0.01
"""The share of the budget that goes to the number of rows where that is private and decides how
many are drawn.
"""


@register(
    "smoothed-histogram",
    summary="few columns, all their relations",
    cost="a few rows, drawn privately",
)
@dataclass(frozen=True, kw_only=True)
class SmoothedHistogram(Synthesizer):
    """Rows drawn from a smoothed joint table.

    Parameters
    ----------
    draws
        How many rows are drawn and released: public, so it must not be taken from the table unless
        its number of rows is public. By default the number at which the errors of drawing few and
        of smoothing much are least together; where the number of rows is private, a hundredth of
        the budget goes to it for that.

    See Also
    --------
    understudy.synthesizers.Synthesizer : the parameters that all methods share.
    """

    # Draws tell most where there is nothing else to draw.
    audit_rows: ClassVar[int | None] = 1
    draws: int | None = parameter(
        None,
        Optional(WholeNumber(1, MAX_ROWS_IN_ORDER)),
        "Rows to draw privately; fewer cost less each.",
    )

    def check(self, schema: Schema) -> None:
        """The joint domain must be small enough for a table."""
        check_cells(joint_names(schema), schema)

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """Some rows."""
        # Refinement may have cut bins since the release checked the schema.
        self.check(curator.schema)
        names = joint_names(curator.schema)
        cells = int(np.prod([curator.schema[name].size for name in names]))
        draws, rows = self.draws, curator.rows
        progress("drawing rows", 0, 1)
        if draws is None:
            if rows is None:
                share, budget = budget.split(ROWS_SHARE, 1 - ROWS_SHARE)
                rows = round(estimate_rows(curator.measure([()], share)))
            draws = best_draws(
                rows, cells, budget, curator.neighbours, curator.ledger.max_rows_per_person
            )
        drawn = curator.draw(marginal(*names), draws, budget)
        progress("drawing rows", 1, 1)
        network = with_constants(chain_nodes(names, drawn, 0.0), curator.schema, float(draws))
        told: dict[str, Any] = {**self.parameters(), "draws": draws}
        return Model(told, curator.schema, network, curator.ledger, rows)

    @property
    def accounting(self) -> Currency:
        """Rho: draws that nothing follows cost more in GDP."""
        return "rho"

    @classmethod
    def audit_settings(cls, audited: AuditedGuarantee) -> dict[str, Synthesizer]:
        """The default, and a few draws, which tell most each."""
        plain = cls(epsilon=audited.epsilon)
        few = replace(plain, draws=5)
        name = f"{cls.name}, 5 draws"
        return {
            cls.name: plain,
            name: few,
            f"{name}, replace": replace(few, neighbours="replace"),
            f"{name}, {audited.delta_name}": replace(few, delta=audited.delta),
            f"{name}, {audited.person_name}": audited.for_persons(few),
        }


def best_draws(
    rows: int,
    cells: int,
    budget: Budget,
    neighbours: Neighbours = "add_remove",
    max_rows_per_person: int = 1,
) -> int:
    """The number of draws at which the expected error of the joint table is least, by a bound.

    k draws miss the smoothed table by the error of drawing, which falls with k; that misses the
    real one by at most the share of made-up rows in it, which grows with k.
    """
    choices = np.unique(
        np.geomspace(1, min(max(rows, 1), MAX_ROWS_IN_ORDER), 200).astype(int)
    ).tolist()

    def error(draws: int) -> float:
        added = cells * float(draw_smoothing(budget, draws, neighbours, max_rows_per_person))
        return sampling_error(cells, draws) + added / (rows + added)

    return min(choices, key=error)
