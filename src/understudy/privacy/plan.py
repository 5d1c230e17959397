"""What a budget buys, from public facts alone: no row is read and nothing is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass

from understudy.data.looks import html_table
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.privacy.budget import (
    DEFAULT_DELTA,
    Budget,
    Neighbours,
    check_delta,
    check_epsilon,
)
from understudy.privacy.discovery_budget import (
    COUNT_SHARE,
    Outlook,
    Protection,
    foresee,
    foresee_by_need,
    price_count,
    subtract,
)
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import mean_noise, table_scale


@dataclass(frozen=True)
class PlannedTable:
    """What to expect of one noisy one-way table."""

    attribute: str
    cells: int
    deviation: float
    """Standard deviation of the noise in a cell, in rows."""
    error: float
    """Expected total variation distance to the real table; an upper estimate, since repairing the
    table lowers it.
    """


@dataclass(frozen=True)
class PlannedNetwork:
    """What to expect of a network, by theta-usefulness: the counts of a table against its noise."""

    theta: float
    cells: int
    """The largest table whose average count is theta times its average noise."""
    degree: int
    """How many parents that leaves to an attribute of typical size."""
    typical_size: int
    deviation: float
    error: float
    """Expected total variation distance of such a table; an upper estimate."""


@dataclass(frozen=True)
class PlannedRounds:
    """What to expect of the tables that :class:`Adaptive` selects in its rounds."""

    tables: int
    """About how many there are, if all cost the same."""
    deviation: float
    """Standard deviation of the noise in a cell, in rows."""
    cells: int
    """The largest table whose average count is theta times its average noise."""
    error: float
    """Expected total variation distance of such a table; an upper estimate."""


@dataclass(frozen=True)
class Plan:
    """What a budget buys."""

    rows: int
    budget: Budget
    tables: tuple[PlannedTable, ...]
    network: PlannedNetwork | None
    """What :class:`PrivBayes` would get; ``None`` where there is only one attribute."""
    rounds: PlannedRounds | None = None
    """What :class:`Adaptive` would get; ``None`` where there is only one attribute."""

    def _repr_html_(self) -> str:
        """What to expect of each column, for notebooks."""
        rows = [
            (table.attribute, f"{table.cells:,}", f"±{table.deviation:.3g}", f"{table.error:.3f}")
            for table in self.tables
        ]
        title = f"Plan: {self.budget.currency} {self.budget.amount:.4g}, about {self.rows:,} rows"
        return html_table(title, ("column", "cells", "noise (rows)", "expected error"), rows)


@dataclass(frozen=True)
class DiscoveryPlan:
    """What discovery can find where there is no schema."""

    budget: Budget
    """That of the whole release."""
    outlook: Outlook
    rounds: PlannedRounds | None
    """What :class:`Adaptive` would get of the rest."""

    @property
    def share(self) -> float:
        """The share of the budget that discovery takes, second looks at words not included."""
        asked = self.outlook.budget.amount + self.outlook.top_up.amount
        return asked / self.budget.amount + COUNT_SHARE

    @property
    def second_share(self) -> float:
        """The share that second looks at words may take beyond that."""
        return self.outlook.second_look.amount / self.budget.amount

    @property
    def numbers_share(self) -> float:
        """The share that numbers which many rows share may take beyond that."""
        return self.outlook.numbers.amount / self.budget.amount

    def describe(self) -> str:
        """What discovery takes of the budget."""
        said = f"discovery takes {self.share:.0%} of the budget"
        if self.second_share:
            said += f", and up to {self.second_share:.0%} more where rare words have no name yet"
        if self.numbers_share:
            said += f", and up to {self.numbers_share:.1%} where numbers lie on no grid"
        return said

    @property
    def stops(self) -> bool:
        """Whether a release would stop after the count of rows."""
        return not (self.outlook.finds_ranges and self.outlook.finds_categories)


def plan(
    schema: Schema,
    rows: int,
    epsilon: float,
    delta: float = 0.0,
    neighbours: Neighbours = "add_remove",
    max_rows_per_person: int = 1,
) -> Plan:
    """What :class:`Independent`, :class:`PrivBayes` and :class:`Adaptive` would get for the budget
    on a table of about ``rows`` rows.
    """
    _check_whole(rows, "rows")
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    most = max_rows_per_person
    ledger = Ledger(
        epsilon, delta, neighbours, "gdp" if delta else "epsilon", max_rows_per_person=most
    )
    asked = [attribute for attribute in schema.modelled if attribute.size > 1]
    if not asked:
        raise InputError(
            "There is nothing to plan: no attribute of the schema has more than one value."
        )
    cost = ledger.budget.equally(len(asked))[0]
    deviation, mean_size = noise_of(cost, neighbours, most)
    tables = tuple(
        PlannedTable(
            attribute.name,
            attribute.size,
            deviation,
            # Half the noise of all cells, and the error of drawing that many rows.
            min(
                1.0, attribute.size * mean_size / (2 * rows) + sampling_error(attribute.size, rows)
            ),
        )
        for attribute in asked
    )
    network = _network([a.size for a in asked], rows, ledger.budget, neighbours, most)
    rounds = _rounds(len(asked), rows, ledger.budget, neighbours, most)
    return Plan(rows, ledger.budget, tables, network, rounds)


def plan_discovery(
    columns: int,
    rows: int,
    epsilon: float,
    delta: float = DEFAULT_DELTA,
    neighbours: Neighbours = "add_remove",
    max_rows_per_person: int = 1,
    discovery: float | None = None,
) -> DiscoveryPlan:
    """What a release without a schema can find in a table of about ``rows`` rows.

    Parameters
    ----------
    columns
        How many there are, identifiers not counted.
    rows
        About how many there are: a public guess.
    epsilon, delta, neighbours, max_rows_per_person, discovery
        As for the release.
    """
    _check_whole(rows, "rows")
    _check_whole(columns, "columns")
    epsilon, delta = check_epsilon(epsilon), check_delta(delta) or DEFAULT_DELTA
    most = max_rows_per_person
    ledger = Ledger.for_discovery(epsilon, delta, neighbours, "gdp", max_rows_per_person=most)
    protection = Protection(neighbours=neighbours, max_rows_per_person=most)
    facts = ledger.threshold_delta, columns, float(rows)
    if discovery is None:
        outlook = foresee_by_need(protection, ledger.budget, *facts)
    else:
        share = Budget(ledger.budget.amount * discovery, ledger.currency)
        outlook = foresee(protection, subtract(share, price_count(ledger.budget)), *facts)
    left = subtract(ledger.budget, price_count(ledger.budget))
    for part in (outlook.budget, outlook.top_up, outlook.second_look):
        left = subtract(left, part)
    return DiscoveryPlan(ledger.budget, outlook, _rounds(columns, rows, left, neighbours, most))


def _check_whole(number: int, what: str) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InputError(
            f"The number of {what} to plan for must be a whole number above 0, not {number!r}."
        )


ROUNDS_PER_ATTRIBUTE, ONE_WAY_SHARE, SELECTION_SHARE, HOLDOUT_SHARE = 2.0, 0.05, 0.1, 0.05
"""As :class:`Adaptive` has them by default."""


def _rounds(
    attributes: int, rows: int, budget: Budget, neighbours: Neighbours, most: int
) -> PlannedRounds | None:
    if attributes < 2:
        return None
    tables = round(ROUNDS_PER_ATTRIBUTE * attributes)
    for_rounds = (1 - HOLDOUT_SHARE) * (1 - ONE_WAY_SHARE) * (1 - SELECTION_SHARE)
    each = budget.amount * for_rounds / tables
    deviation, mean_size = noise_of(Budget(each, budget.currency), neighbours, most)
    cells = max(1, int(rows / (PAPER_THETA * max(mean_size, 1e-9))))
    error = min(1.0, cells * mean_size / (2 * rows) + sampling_error(cells, rows))
    return PlannedRounds(tables, deviation, cells, error)


PAPER_BETA, PAPER_THETA = 0.3, 4.0


def _network(
    sizes: list[int], rows: int, budget: Budget, neighbours: Neighbours, most: int
) -> PlannedNetwork | None:
    if len(sizes) < 2:
        return None
    _, parameters = budget.split(PAPER_BETA, 1 - PAPER_BETA)
    deviation, mean_size = noise_of(parameters.equally(len(sizes))[0], neighbours, most)
    cells = int(rows / (PAPER_THETA * max(mean_size, 1e-9)))
    typical = sorted(sizes)[len(sizes) // 2]
    degree = 0
    while degree + 1 < len(sizes) and typical ** (degree + 2) <= cells:
        degree += 1
    error = min(1.0, cells * mean_size / (2 * rows) + sampling_error(cells, rows))
    return PlannedNetwork(PAPER_THETA, cells, degree, typical, deviation, error)


def noise_of(
    cost: Budget, neighbours: Neighbours, max_rows_per_person: int = 1
) -> tuple[float, float]:
    """Standard deviation and mean size of the noise in a cell of a table that costs ``cost``."""
    scale = table_scale(cost, neighbours, max_rows_per_person)
    if cost.currency != "epsilon":
        return scale, mean_noise(cost, neighbours, max_rows_per_person)
    p = math.exp(-1 / scale)
    return math.sqrt(2 * p) / (1 - p), 2 * p / (1 - p * p)


def sampling_error(cells: int, rows: int) -> float:
    """Expected total variation distance of a sample of ``rows`` rows from a table of this many
    cells (at most).
    """
    return 0.5 * math.sqrt(2 / math.pi) * math.sqrt(max(cells - 1, 0) / rows)
