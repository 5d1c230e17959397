"""``understudy plan``: what a budget buys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from understudy.cli.options import (
    Delta,
    Epsilon,
    MaxRowsPerPerson,
    Neighbour,
    Relation,
    relation_of,
)
from understudy.cli.root import app, examples
from understudy.cli.talk import grid_of, safe
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.privacy.budget import Budget
    from understudy.privacy.plan import DiscoveryPlan, Plan, PlannedRounds

DEFAULT_DELTA = 1e-9


@app.command(
    epilog=examples(
        "understudy plan --schema patients.json --rows 50000 --epsilon 1",
        "# without a schema: what can be discovered",
        "understudy plan --columns 15 --rows 50000 --epsilon 1",
    )
)
def plan(
    rows: Annotated[
        int, typer.Option(metavar="N", help="About how many rows the table has (a public guess).")
    ],
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Schema file; or give --columns.")
    ] = None,
    columns: Annotated[
        int | None,
        typer.Option(metavar="N", help="How many columns a table without a schema has."),
    ] = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    neighbours: Neighbour = Relation.add_remove,
    max_rows_per_person: MaxRowsPerPerson = 1,
    discovery: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Share of the budget for the domain; else by need."),
    ] = None,
) -> None:
    """Tell what a budget buys before any of it is spent, from public facts alone."""
    from understudy.data.schema import Schema
    from understudy.privacy.plan import plan as make_plan
    from understudy.privacy.plan import plan_discovery

    if (schema is None) == (columns is None):
        raise InputError("Give either --schema or, without one, the number of --columns.")
    console = Console()
    facts = rows, epsilon, delta, relation_of(neighbours), max_rows_per_person
    if schema is None:
        assert columns is not None
        found = plan_discovery(columns, *facts, discovery)
        _print_budget(console, found.budget, delta or DEFAULT_DELTA, epsilon, neighbours, rows)
        _print_discovery(console, found)
        return
    planned = make_plan(Schema.load(schema), *facts)
    _print_budget(console, planned.budget, delta, epsilon, neighbours, rows)
    _print_tables(console, planned)


def _print_budget(
    console: Console,
    budget: Budget,
    delta: float,
    epsilon: float,
    neighbours: Relation,
    rows: int,
) -> None:
    with_delta = ""
    if delta:
        with_delta = f", delta {delta:g} ({budget.currency} {budget.amount:.4g})"
    console.print(
        f"epsilon {epsilon:g}{with_delta}, {neighbours.value}, about {rows:,} rows. "
        "Nothing was read, nothing was spent."
    )


def _print_discovery(console: Console, found: DiscoveryPlan) -> None:
    from understudy.release.preflight import REMEDIES, describe_outlook

    console.print(f"Without a schema, {found.describe()}.")
    console.print(f"{describe_outlook(found.outlook)}.")
    if found.stops:
        console.print(f"A release would stop after the count of rows: {REMEDIES}.")
    _print_rounds(console, found.rounds)


def _print_rounds(console: Console, rounds: PlannedRounds | None) -> None:
    if rounds is None:
        return
    from understudy.privacy.plan import HOLDOUT_SHARE

    console.print(
        f"\nMethod adaptive: about {rounds.tables:,} tables with noise of "
        f"±{rounds.deviation:.3g} rows per cell. Tables of up to {rounds.cells:,} cells are worth "
        f"measuring; {HOLDOUT_SHARE:.0%} of the budget tells how wrong the model is. "
        f"Expected error of a table of {rounds.cells:,} cells: {rounds.error:.3f}."
    )


def _print_tables(console: Console, planned: Plan) -> None:
    grid = grid_of(
        "Method independent", "attribute", "#cells", "#noise per cell (rows)", "#expected error"
    )
    for table in planned.tables:
        grid.add_row(
            safe(table.attribute),
            str(table.cells),
            safe(f"±{table.deviation:.3g}"),
            f"{table.error:.3f}",
        )
    console.print(grid)
    console.print(
        "Error: total variation distance, 0 (equal) to 1; an upper estimate.", style="dim"
    )
    _print_rounds(console, planned.rounds)
    if planned.network is not None:
        network = planned.network
        parents = "parents"
        if network.degree == 1:
            parents = "parent"
        console.print(
            f"\nMethod privbayes: noise of ±{network.deviation:.3g} rows per cell. Tables of up to "
            f"{network.cells:,} cells are worth measuring (theta {network.theta:g}), which leaves "
            f"{network.degree} {parents} to an attribute of {network.typical_size} values. "
            f"Expected error of a table of {network.cells:,} cells: {network.error:.3f}."
        )
