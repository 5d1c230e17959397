"""``understudy audit``: try to break the guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperArgument, TyperCommand

from understudy.cli.options import Quiet
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk, grid_of, safe


class _AuditCommand(TyperCommand):
    """Names the methods that can be audited once somebody asks: they take a second to import."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help page, with the names that the audit knows."""
        from understudy.synthesizers.registry import methods

        audited = [name for name, one in methods().items() if one.kind.asks and not one.defaults]
        for parameter in self.params:
            if isinstance(parameter, TyperArgument) and parameter.help:
                parameter.help = parameter.help.replace("METHODS", ", ".join(audited))
        super().format_help(ctx, formatter)


@app.command(
    cls=_AuditCommand,
    epilog=examples(
        "understudy audit privbayes --epsilon 1 --plot audit.svg",
        "# methods that are broken on purpose: does the audit see it?",
        "understudy audit controls",
    ),
)
def audit(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="SUBJECT",
            help="Whole fits of a method (METHODS); doors: the questions that they are made of; "
            "discovery: runs without a schema; mechanisms: noise and choices for questions of your "
            "own; ask: questions to the rows; learners; local: randomisers; collusion: a party of "
            "encrypted sums with all owners but one; controls: methods that are broken on purpose.",
        ),
    ],
    epsilon: Annotated[
        float, typer.Option(metavar="NUMBER", help="The claim (controls bring their own).")
    ] = 1.0,
    runs: Annotated[
        int,
        typer.Option(
            metavar="N", help="Runs on each table where the loss cannot be computed exactly."
        ),
    ] = 2000,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a picture here (SVG).")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Try to break the guarantee: what is lost on worst-case neighbours, beside what is claimed.
    Status 1 if it is.
    """
    from understudy.auditing import audit as run_audit
    from understudy.auditing.findings import number
    from understudy.data.files import writable_file

    if plot is not None:
        writable_file(plot, "picture")
    talk = Talk(quiet)
    with talk.working("auditing") as progress:
        result = run_audit(
            subject,
            epsilon,
            runs=runs,
            notify=lambda finding: progress(f"auditing: {finding.subject}", 0, -1),
        )
    grid = grid_of(
        f"Audit of {subject}", "subject", "neighbours", "test", "unit", "#claimed", "#measured", ""
    )
    for finding in result.details:
        colour = {"kept": "green", "broken": "red"}.get(finding.verdict, "yellow")
        numbers = (
            safe(number(finding.claimed)),
            safe(number(finding.measured)),
            f"[{colour}]{finding.verdict}[/]",
        )
        grid.add_row(finding.subject, finding.pair, finding.test, finding.unit, *numbers)
    Console().print(grid)
    if subject == "controls":
        what = "In units of their claims, at least"
    else:
        what = "Measured"
    typer.echo(
        f"Claimed {number(result.claimed)}. {what} {number(result.measured)}: {result.verdict} "
        f"(bounds from runs hold with {result.confidence:.1%} confidence)."
    )
    mu = result.largest("mu")
    if mu is not None:
        typer.echo(
            f"In mu, where all noise is Gaussian: claimed {number(mu.claimed)}, measured "
            f"{number(mu.measured)} ({mu.subject})."
        )
    if plot is not None:
        result.plot(plot)
        talk.say(f"Picture: {plot}")
    if not result.passed:
        raise typer.Exit(1)
