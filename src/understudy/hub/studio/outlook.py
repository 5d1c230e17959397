"""What a budget buys, in numbers that move with epsilon: from the schema and a guess of the number
of rows, which are public. No row is read.
"""

from __future__ import annotations

from dataclasses import dataclass

from understudy.data.forms import Form, lacks
from understudy.data.interview import Unit
from understudy.errors import UnderstudyError
from understudy.hub.studio.choices import Choices
from understudy.privacy.budget import DEFAULT_DELTA
from understudy.privacy.identifiers import is_identifier
from understudy.privacy.plan import (
    DiscoveryPlan,
    Plan,
    PlannedRounds,
    PlannedTable,
    plan,
    plan_discovery,
)
from understudy.privacy.wording import state_guarantee
from understudy.release.preflight import describe_outlook


@dataclass(frozen=True, kw_only=True)
class ReleaseOutlook:
    """What to expect of a release.

    Attributes
    ----------
    promise
        The guarantee in words.
    problem
        Why there is nothing to expect; empty where there is.
    tables
        One noisy table per column: cells, noise and expected error.
    rounds
        What the usual method would get.
    discovery
        What discovery would find, where columns are open; empty where none is.
    stops
        Whether a release would stop after the count of rows.
    """

    promise: str = ""
    problem: str = ""
    tables: tuple[PlannedTable, ...] = ()
    rounds: PlannedRounds | None = None
    discovery: str = ""
    stops: bool = False

    @property
    def error(self) -> float | None:
        """The expected error of a column by itself, on average; None where columns are open."""
        if not self.tables:
            return None
        return sum(table.error for table in self.tables) / len(self.tables)


def expect(form: Form, unit: Unit, choices: Choices) -> ReleaseOutlook:
    """What the choices would buy, from public facts alone."""
    try:
        choices.check()
        if any(lacks(entry) for entry in form.entries.values()):
            return _expect_discovery(form, unit, choices)
        found: Plan = plan(
            form.to_schema(),
            choices.about_rows,
            choices.epsilon,
            choices.delta,
            max_rows_per_person=unit.max_rows_per_person,
        )
    except UnderstudyError as error:
        return ReleaseOutlook(problem=str(error))
    return ReleaseOutlook(
        promise=_promise(choices, unit, choices.delta), tables=found.tables, rounds=found.rounds
    )


def _expect_discovery(form: Form, unit: Unit, choices: Choices) -> ReleaseOutlook:
    asked = [
        name for name, entry in form.entries.items() if lacks(entry) and not is_identifier(name)
    ]
    found: DiscoveryPlan = plan_discovery(
        max(len(asked), 1),
        choices.about_rows,
        choices.epsilon,
        choices.delta,
        max_rows_per_person=unit.max_rows_per_person,
    )
    said = f"Columns are open: {found.describe()}."
    return ReleaseOutlook(
        promise=_promise(choices, unit, choices.delta or DEFAULT_DELTA),
        rounds=found.rounds,
        discovery=f"{said} {describe_outlook(found.outlook)}.",
        stops=found.stops,
    )


def _promise(choices: Choices, unit: Unit, delta: float) -> str:
    protected = "row"
    change = "adding or removing any one row"
    if unit.person is not None:
        protected = "person"
        change = (
            f"adding or removing all rows of any one person (at most {unit.max_rows_per_person:,})"
        )
    return state_guarantee(choices.epsilon, delta, change, protected)


def price_of(form: Form, choices: Choices) -> tuple[float, float]:
    """The (epsilon, delta) that a release debits: to discover words takes a delta."""
    some_open = any(lacks(entry) for entry in form.entries.values())
    if some_open and not choices.delta:
        return choices.epsilon, DEFAULT_DELTA
    return choices.epsilon, choices.delta
