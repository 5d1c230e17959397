"""``understudy plan``: what a budget buys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.options import Delta, Epsilon, Neighbour, Relation, RowsPerPerson, relation_of
from understudy.cli.root import app, examples
from understudy.cli.talk import grid_of, safe


@app.command(epilog=examples("understudy plan --schema patients.json --rows 50000 --epsilon 1"))
def plan(
    schema: Annotated[Path, typer.Option(metavar="FILE", help="Schema file.")],
    rows: Annotated[
        int, typer.Option(metavar="N", help="About how many rows the table has (a public guess).")
    ],
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    neighbours: Neighbour = Relation.add_remove,
    rows_per_person: RowsPerPerson = 1,
) -> None:
    """Tell what a budget buys before any of it is spent, from public facts alone."""
    from understudy.data.schema import Schema
    from understudy.privacy.plan import plan as make_plan

    planned = make_plan(
        Schema.load(schema), rows, epsilon, delta, relation_of(neighbours), rows_per_person
    )
    console = Console()
    console.print(
        "epsilon "
        f"{epsilon:g}" + (f", delta {delta:g} (rho "
                                  f"{planned.budget.amount:.4g})" if delta else "")
        + f", {neighbours.value}, about {rows:,} rows. Nothing was read, nothing was spent."
    )  # fmt: skip
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
    if planned.network is not None:
        network = planned.network
        console.print(
            f"\nMethod privbayes: noise of ±{network.deviation:.3g} rows per cell. Tables of up to "
            f"{network.cells:,} "
            f"cells are worth measuring (theta {network.theta:g}), which leaves {network.degree} "
            f"parent{'' if network.degree == 1 else 's'} to an attribute of {network.typical_size} "
            "values. "
            f"Expected error of a table of {network.cells:,} cells: {network.error:.3f}."
        )
