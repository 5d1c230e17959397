"""``understudy show``: what a model holds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from understudy.cli.checks import check_distinct
from understudy.cli.options import ModelFile
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk, grid_of, safe

if TYPE_CHECKING:
    from understudy.models.model import Model
    from understudy.privacy.ledger import Ledger

MAX_LINES = 1000
"""Of any list on the screen; the file holds all of it."""

MAX_LISTED_QUESTIONS = 40
"""Of a ledger that is listed; questions of a longer one are summed up."""


@app.command(
    epilog=examples(
        "understudy show patients.model.json",
        "understudy show patients.model.json --plot network.svg",
        "# the noisy conditional probabilities that rows are drawn by",
        "understudy show patients.model.json --tables",
    )
)
def show(
    model: ModelFile,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write a picture of the network here (SVG)."),
    ] = None,
    tables: Annotated[
        bool,
        typer.Option("--tables", help="Also print the table of each attribute, given its parents."),
    ] = False,
    every_question: Annotated[
        bool,
        typer.Option("--ledger", help="List each question of a long ledger, not their sums."),
    ] = False,
) -> None:
    """Show what a model holds: attributes, network, ledger."""
    from understudy.data.files import writable_file
    from understudy.models.model import Model

    check_distinct(model, plot)
    if plot is not None:
        writable_file(plot, "picture")
    released = Model.load(model)
    if plot is not None:  # before anything is printed: whoever reads that may stop at any line
        released.plot(plot)
        Talk(False).say(f"Picture: {plot}")
    console = Console()
    _print_heading(console, model, released)
    _print_attributes(console, released)
    if released.schema.constraints:
        _print_constraints(console, released.schema.constraints.texts())
    if released.gaussians is not None:
        console.print(f"[bold]Gaussians[/]: {safe(str(released.gaussians))}")
    if released.generator is not None:
        console.print(f"[bold]Generator[/]: {safe(str(released.generator))}")
    if released.network.degree:
        _print_network(console, released)
    if tables:
        _print_tables(console, released)
    _print_ledger(console, released.ledger, every_question=every_question)


def _print_heading(console: Console, path: Path, released: Model) -> None:
    rows = "unknown"
    if released.rows is not None:
        rows = f"{released.rows:,}"
    method = released.method["name"]
    console.print(f"[bold]{safe(path)}[/]: method {safe(method)}, rows of the original: {rows}")
    ledger = released.ledger
    console.print(safe(ledger.statement()), style=None if ledger.private else "bold red")


def _print_attributes(console: Console, released: Model) -> None:
    grid = grid_of("Attributes", "attribute", "kind", "#codes", "#levels", "values")
    for attribute in released.schema.attributes[:MAX_LINES]:
        codes, levels = "", ""
        if attribute.modelled:
            codes, levels = str(attribute.size), str(len(attribute.sizes_by_level()))
        grid.add_row(safe(attribute.name), attribute.kind, codes, levels, safe(_domain(attribute)))
    console.print(grid)
    _print_rest(console, len(released.schema))


def _print_network(console: Console, released: Model) -> None:
    from understudy.models.drawing import tree

    console.print("Network", style="bold")
    console.print(
        tree(released.network, MAX_LINES),
        markup=False,
        highlight=False,
        no_wrap=True,
        overflow="ellipsis",
    )
    _print_rest(console, len(released.network))
    if any(axis.level for node in released.network for axis in node.parents):
        console.print("^1, ^2, …: the parent in coarser groups, this many levels up", style="dim")


def _print_ledger(console: Console, ledger: Ledger, *, every_question: bool) -> None:
    """The questions of a release, or their sums where they are many, and what all cost."""
    grid = grid_of("Ledger", "question", "mechanism", f"#{ledger.currency}", "#delta")
    lines = [
        (entry.question, entry.mechanism, entry.amount, entry.delta) for entry in ledger.entries
    ]
    is_summary = len(lines) > MAX_LISTED_QUESTIONS and not every_question
    if is_summary:
        lines = _sum_up(ledger.entries)
    for question, mechanism, amount, cost_in_delta in lines[:MAX_LINES]:
        grid.add_row(safe(question), safe(mechanism), f"{amount:.4g}", f"{cost_in_delta:.2g}")
    epsilon, delta = ledger.spent()
    together = f"epsilon {epsilon:.6g}"
    if ledger.currency == "epsilon":
        together = f"{epsilon:.6g}"
    protected = f"neighbours: {ledger.neighbours}"
    if ledger.unit == "person":
        protected += f", up to {ledger.max_rows_per_person:,} rows of a person"
    grid.add_section()
    grid.add_row("together", protected, together, f"{delta:.2g}")
    if ledger.currency == "gdp":
        grid.add_row("by zCDP", "", f"epsilon {ledger.spent_by_zcdp():.6g}", f"{delta:.2g}")
    console.print(grid)
    if is_summary:
        console.print(
            f"{len(ledger.entries):,} questions, summed up; --ledger lists each.", style="dim"
        )
    _print_rest(console, len(lines))


def _sum_up(entries: Iterable[Any]) -> list[tuple[str, str, float, float]]:
    """One line for all questions of a kind that were answered the same way, in the order of their
    first.
    """
    alike: dict[tuple[str, str], list[Any]] = {}
    for entry in entries:
        mechanism = entry.mechanism.partition(", scale")[0]
        alike.setdefault((_sort_of(entry.question), mechanism), []).append(entry)
    found = []
    for (sort, mechanism), some in alike.items():
        question = some[0].question
        if len(some) > 1:
            question = f"{sort}: {len(some):,} questions"
        amounts, deltas = [entry.amount for entry in some], [entry.delta for entry in some]
        found.append((question, mechanism, math.fsum(amounts), math.fsum(deltas)))
    return found


def _sort_of(question: str) -> str:
    """What a question asks for, whatever the column."""
    sort, of, asked = question.partition(" of ")
    if sort == "table" and of:
        columns = asked.count(" x ") + 1
        return f"table of {columns} column{'s'[: columns > 1]}"
    return sort.partition(" among ")[0]


MAX_VALUES_ABREAST = 12
"""Values of an attribute beside each other; of more, the likeliest."""

UNBOUNDED_WIDTH = 10_000
"""Of a table, to see how wide it would like to be."""


def _print_tables(console: Console, model: Any) -> None:
    """Pr[attribute | parents], a line for each configuration of the parents; where that is wider
    than the screen, a line for each value.
    """
    from understudy.models.conditionals import conditional_lines

    left = MAX_LINES
    for node in model.network:
        values, lines = conditional_lines(node, model.network_schema, MAX_VALUES_ABREAST, left)
        parents = [f"{axis.attribute}^{axis.level}".removesuffix("^0") for axis in node.parents]
        told = " | ".join(part for part in (node.attribute, ", ".join(parents)) if part)
        title, named = safe(f"Pr[{told}]"), [*map(safe, parents)]
        grid = grid_of(title, *named, *(f"#{safe(value)}" for value in values))
        for configuration, chances in lines:
            grid.add_row(*map(safe, configuration), *(f"{chance:.4g}" for chance in chances))
        wide = console.options.update(width=UNBOUNDED_WIDTH)
        if console.measure(grid, options=wide).maximum > console.width:
            grid = grid_of(title, *named, safe(node.attribute), "#probability")
            for configuration, chances in lines:
                for value, chance in zip(values, chances, strict=True):
                    grid.add_row(*map(safe, configuration), safe(value), f"{chance:.4g}")
        console.print(grid)
        known = node.conditional.shape[-1]
        if len(values) < known:
            console.print(f"The {len(values)} likeliest of {known:,} values.", style="dim")
        left -= len(lines)
        if left <= 0:
            console.print(
                f"The first {MAX_LINES:,} lines of the tables; the file holds all.", style="dim"
            )
            return


def _print_constraints(console: Console, texts: list[str]) -> None:
    console.print("Constraints, which every synthetic row keeps", style="bold")
    for text in texts[:MAX_LINES]:
        console.print(f"  {safe(text)}", highlight=False)
    _print_rest(console, len(texts))


def _print_rest(console: Console, count: int) -> None:
    if count > MAX_LINES:
        console.print(f"The first {MAX_LINES:,} of {count:,}; the file holds all.", style="dim")


def _domain(attribute: Any) -> str:
    """What an attribute can be, in a few words."""
    from understudy.data.schema import Computed, Identifier, Quantity, Text

    if isinstance(attribute, Computed):
        return "computed"
    if isinstance(attribute, Identifier):
        return "generated"
    if isinstance(attribute, Text):
        return attribute.instead
    if isinstance(attribute, Quantity):
        if attribute.whole:
            last = attribute.edges[-1] - 1
        else:
            last = attribute.edges[-1]
        if attribute.missing is None:
            missing = ""
        else:
            missing = ", missing"
        return f"{attribute.write(attribute.edges[0])} to {attribute.write(last)}{missing}"
    labels = [attribute.label(code) for code in range(min(attribute.size, 5))]
    return ", ".join(labels) + (", …" if attribute.size > 5 else "")
