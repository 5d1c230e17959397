"""The command line: ``understudy ...``.

Results go to files or to standard output, all else to standard error, so that it pipes. A mistake of the user's ends
in one sentence and exit status 2.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from understudy.errors import InputError, UnderstudyError

app = typer.Typer(
    name="understudy",
    help="Turn a table that is too sensitive to share into a synthetic one, with differential privacy.",
    epilog="Start with: understudy demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks print local variables: private rows among them
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
ledger_app = typer.Typer(
    help="Keep an allowance that all releases of one table share.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.add_typer(ledger_app, name="ledger")


class Method(Enum):
    """Synthesizers by name."""

    independent = "independent"
    random = "random"


class Relation(Enum):
    """Neighbour relations by name."""

    add_remove = "add_remove"
    replace = "replace"


# ---- options that several commands share

Epsilon = Annotated[
    float, typer.Option(help="Privacy budget of the release; smaller is more private.", show_default=True)
]
Delta = Annotated[float, typer.Option(help="0: pure differential privacy; above 0: Gaussian noise, more accurate.")]
Neighbour = Annotated[
    Relation, typer.Option(help="Protect the presence of a row (add_remove) or its values (replace).")
]
SchemaFile = Annotated[Path | None, typer.Option("--schema", help="Schema file; without one the domain is discovered.")]
LedgerPath = Annotated[Path | None, typer.Option("--ledger", help="The table's ledger file (see understudy ledger).")]
Rows = Annotated[int | None, typer.Option(help="Synthetic rows; as many as the original when not given.")]
Seed = Annotated[int | None, typer.Option(help="Makes the sampling (never the noise) repeatable.")]
Out = Annotated[str, typer.Option("-o", "--output", help="CSV or Parquet file, by its suffix; - for standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary; errors only.")]


# --------------------------------------------------------------------------- commands


@app.command(
    epilog="Examples:\n\n"
    "  understudy synthesize patients.csv --epsilon 1 -o synthetic.csv\n\n"
    "  understudy synthesize patients.parquet --schema patients.json --model model.json -o synthetic.parquet\n\n"
    "  understudy synthesize patients.csv --schema patients.json --ledger patients.ledger | head"
)
def synthesize(
    table: Annotated[Path, typer.Argument(help="The sensitive table: CSV or Parquet.")],
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    output: Out = "-",
    schema: SchemaFile = None,
    method: Annotated[Method, typer.Option(help="How to synthesize.")] = Method.independent,
    neighbours: Neighbour = Relation.add_remove,
    rows: Rows = None,
    model: Annotated[Path | None, typer.Option(help="Also write the released model here.")] = None,
    report: Annotated[Path | None, typer.Option(help="Also write a report of the release here (HTML).")] = None,
    ledger: LedgerPath = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Make a private synthetic table out of a sensitive one."""
    _run_synthesis(
        table,
        _synthesizer(method, epsilon, delta, neighbours),
        schema=schema,
        output=output,
        rows=rows,
        model=model,
        report=report,
        ledger=ledger,
        seed=seed,
        talk=_Talk(quiet),
    )


@app.command(
    name="schema",
    epilog="Examples:\n\n"
    "  understudy schema patients.csv --epsilon 0.1 -o patients.json     discover the domain, at a price\n\n"
    "  understudy schema patients.csv --blank -o patients.json           kinds only, free: fill in the rest yourself",
)
def schema_command(
    table: Annotated[Path, typer.Argument(help="The sensitive table: CSV or Parquet.")],
    output: Annotated[str, typer.Option("-o", "--output", help="Schema file; - for standard output.")] = "-",
    epsilon: Epsilon = 0.1,
    delta: Annotated[float, typer.Option(help="Needed only where there are categories to discover.")] = 1e-9,
    neighbours: Neighbour = Relation.add_remove,
    blank: Annotated[bool, typer.Option("--blank", help="Spend nothing: names and kinds only.")] = False,
    ledger: LedgerPath = None,
    quiet: Quiet = False,
) -> None:
    """Draft a schema, to be read and edited: domain discovery at a price, or a blank form for nothing."""
    from understudy.curator.discovery import discover, needs_delta
    from understudy.curator.ledger import Ledger, LedgerFile
    from understudy.files import writable_file, write_json
    from understudy.tables import read_table

    talk = _Talk(quiet)
    if output != "-":
        writable_file(output, "schema")
    book = Ledger(epsilon, delta, _relation(neighbours), threshold_delta=delta)
    rows = read_table(table)
    if blank:
        document = _blank_schema(rows)
        talk.say(
            "Nothing was spent. Replace every null by a public bound or list of values (not one read off the data)."
        )
    else:
        if needs_delta(rows) and not delta:
            raise InputError("There are categories to discover, which needs a --delta above 0, such as 1e-9.")
        if not needs_delta(rows):
            book = Ledger(epsilon, 0.0, _relation(neighbours))
        file = LedgerFile(ledger) if ledger is not None else None
        number = file.reserve("schema", book.epsilon, book.delta, book.neighbours) if file is not None else None
        document = discover(rows, book, book.budget, book.delta).to_dict()
        if file is not None and number is not None:
            file.settle(number, book)
        talk.say(book.statement())
        talk.say(
            "Taken as public: column names, their kinds, and how dates are written. Read it and edit it before use."
        )
    if output == "-":
        import json

        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        write_json(output, document, "schema", indent=2)
        talk.say(f"Schema: {output}")


@app.command(epilog="Example:\n\n  understudy sample patients.model.json --rows 1000 --seed 1 -o more.csv")
def sample(
    model: Annotated[Path, typer.Argument(help="A released model.")],
    output: Out = "-",
    rows: Rows = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Draw rows from a model: costs nothing, as often as you like."""
    from understudy.model import Model

    talk = _Talk(quiet)
    _check_output(output)
    released = Model.load(model)
    _write_rows(released, output, rows, seed, talk)


@app.command(epilog="Example:\n\n  understudy show patients.model.json")
def show(model: Annotated[Path, typer.Argument(help="A released model.")]) -> None:
    """Show what a model holds: attributes, network, ledger."""
    from rich.table import Table as Grid

    from understudy.model import Model

    released = Model.load(model)
    console = Console(soft_wrap=False)
    rows = "unknown" if released.rows is None else f"{released.rows:,}"
    console.print(f"[bold]{_safe(model)}[/]: {_safe(released.method['name'])}, rows of the original: {rows}")
    console.print(_safe(released.ledger.statement()), style=None if released.ledger.private else "bold red")
    grid = Grid("attribute", "kind", "codes", "levels", "values", title="Attributes", title_justify="left")
    for attribute in released.schema:
        if attribute.modelled:
            labels = [attribute.label(code) for code in range(min(attribute.size, 4))]
            shown = ", ".join(labels) + (", …" if attribute.size > 4 else "")
            levels = str(len(attribute.sizes_by_level()))
            grid.add_row(_safe(attribute.name), attribute.kind, str(attribute.size), levels, _safe(shown))
        else:
            grid.add_row(_safe(attribute.name), attribute.kind, "", "", "never read")
    console.print(grid)
    ledger = released.ledger
    grid = Grid("question", "mechanism", ledger.currency, "delta", title="Ledger", title_justify="left")
    for entry in ledger.entries:
        grid.add_row(_safe(entry.question), _safe(entry.mechanism), f"{entry.amount:.4g}", f"{entry.delta:.2g}")
    epsilon, delta = ledger.spent()
    grid.add_section()
    grid.add_row(f"together ({ledger.neighbours})", "", f"epsilon {epsilon:.6g}", f"{delta:.2g}")
    console.print(grid)


@app.command(epilog="Example:\n\n  understudy plan --schema patients.json --rows 50000 --epsilon 1")
def plan(
    schema: Annotated[Path, typer.Option(help="Schema file.")],
    rows: Annotated[int, typer.Option(help="About how many rows the table has (a public guess).")],
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    neighbours: Neighbour = Relation.add_remove,
) -> None:
    """Tell what a budget buys before any of it is spent, from public facts alone."""
    from rich.table import Table as Grid

    from understudy.plan import plan as make_plan
    from understudy.schema import Schema

    planned = make_plan(Schema.load(schema), rows, epsilon, delta, _relation(neighbours))
    console = Console()
    console.print(
        f"epsilon {epsilon:g}" + (f", delta {delta:g} (rho {planned.budget.amount:.4g})" if delta else "")
        + f", {neighbours.value}, about {rows:,} rows. Nothing was read, nothing was spent."
    )  # fmt: skip
    grid = Grid(
        "attribute",
        "cells",
        "noise per cell (rows)",
        "expected error",
        title="Independent",
        title_justify="left",
    )
    for table in planned.tables:
        grid.add_row(_safe(table.attribute), str(table.cells), f"±{table.deviation:.3g}", f"{table.error:.3f}")
    console.print(grid)
    console.print("Error: total variation distance, 0 (equal) to 1; an upper estimate.", style="dim")


@app.command(epilog="Example:\n\n  understudy demo -o demo-output")
def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the results.")] = Path("demo-output"),
    epsilon: Epsilon = 1.0,
    quiet: Quiet = False,
) -> None:
    """See it work: a real survey on affairs goes in, a private synthetic one comes out."""
    from understudy.demo import demo_frame, demo_schema
    from understudy.frames import as_table

    talk = _Talk(quiet)
    talk.say("The survey: 6,366 married women on their marriage and affairs (Fair 1978), from the package statsmodels.")
    with talk.working("reading the survey"):
        survey, _ = as_table(demo_frame())
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {output} cannot be made ({error.strerror}); choose another.") from error
    survey.write(output / "survey.csv")
    demo_schema().save(output / "schema.json")
    _run_synthesis(
        output / "survey.csv",
        _synthesizer(Method.independent, epsilon, 0.0, Relation.add_remove),
        schema=output / "schema.json",
        output=str(output / "synthetic.csv"),
        rows=None,
        model=output / "model.json",
        report=output / "report.html",
        ledger=None,
        seed=None,
        talk=talk,
    )
    talk.say("")
    talk.say("What to do next:")
    talk.say(f"  open {output / 'report.html'} in a browser, and compare survey.csv with synthetic.csv")
    talk.say(f"  understudy show {output / 'model.json'}")
    talk.say(f"  understudy sample {output / 'model.json'} --rows 1000 -o more.csv")
    talk.say("  understudy synthesize YOUR.csv --epsilon 1 -o synthetic.csv")


@ledger_app.command("create", epilog="Example:\n\n  understudy ledger create patients.ledger --epsilon 3 --delta 1e-6")
def ledger_create(
    file: Annotated[Path, typer.Argument(help="The ledger file to start.")],
    epsilon: Annotated[float, typer.Option(help="Allowance of all releases together.")],
    delta: Annotated[float, typer.Option(help="Allowance of all releases together.")] = 0.0,
    neighbours: Neighbour = Relation.add_remove,
) -> None:
    """Start the ledger of a table."""
    from understudy.curator.ledger import LedgerFile

    LedgerFile.create(file, epsilon, delta, _relation(neighbours))
    _Talk(False).say(
        f"Ledger: {file}, allowance epsilon {epsilon:g}, delta {delta:g}. Give it to every release by --ledger."
    )


@ledger_app.command("show", epilog="Example:\n\n  understudy ledger show patients.ledger")
def ledger_show(file: Annotated[Path, typer.Argument(help="A ledger file.")]) -> None:
    """Show what was released and what is left."""
    from rich.table import Table as Grid

    from understudy.curator.ledger import LedgerFile

    book = LedgerFile(file)
    document = book.read()
    grid = Grid(
        "when",
        "release",
        "epsilon",
        "delta",
        "state",
        title=f"Releases ({document['neighbours']})",
        title_justify="left",
    )
    for release in document["releases"]:
        grid.add_row(
            _safe(release["at"]),
            _safe(release["release"]),
            f"{release['epsilon']:g}",
            f"{release['delta']:g}",
            _safe(release["state"]),
        )
    grid.add_section()
    allowance, left = document["allowance"], book.left()
    grid.add_row(
        "",
        "left of the allowance",
        f"{left[0]:g} of {allowance['epsilon']:g}",
        f"{left[1]:g} of {allowance['delta']:g}",
        "",
    )
    Console().print(grid)


# --------------------------------------------------------------------------- the main job


def _run_synthesis(
    table: Path,
    synthesizer: Any,
    *,
    schema: Path | None,
    output: str,
    rows: int | None,
    model: Path | None,
    report: Path | None,
    ledger: Path | None,
    seed: int | None,
    talk: _Talk,
) -> None:
    """Check everything that can be checked, then read, learn, draw and write; files appear only at the end."""
    from understudy.files import writable_file
    from understudy.model import MOST_ROWS
    from understudy.report import write_report
    from understudy.schema import Schema
    from understudy.tables import read_table

    _check_output(output)
    _check_distinct(table, output, model, report, ledger, schema)
    for place, what in ((model, "model"), (report, "report")):
        if place is not None:
            writable_file(place, what)
    if rows is not None and not 0 <= rows <= MOST_ROWS:
        raise InputError(f"The number of rows must be a whole number from 0 to {MOST_ROWS:,}, not {rows!r}.")
    if seed is not None and seed < 0:
        raise InputError(f"The seed must be a whole number at or above 0, not {seed!r}.")
    public = Schema.load(schema) if schema is not None else None
    if synthesizer.name == "random" and rows is None and synthesizer.neighbours == "add_remove":
        raise InputError("The random method measures nothing, not even the number of rows; say how many by --rows.")
    with talk.working("reading"):
        skip = [a.name for a in public if not a.modelled] if public is not None else []
        private = read_table(table, skip)
    with talk.working("learning") as progress:
        released = synthesizer.fit(private, public, ledger=ledger, notify=talk.note, progress=progress)
    _write_rows(released, output, rows, seed, talk)
    if model is not None:
        released.save(model)
    if report is not None:
        write_report(released, report)
    talk.say(released.ledger.statement())
    if public is None:
        talk.say("Taken as public: column names, their kinds, and how dates are written.")
    for what, path in (
        ("Synthetic table", None if output == "-" else output),
        ("Model", model),
        ("Report", report),
    ):
        if path is not None:
            talk.say(f"{what}: {path}")


def _synthesizer(method: Method, epsilon: float, delta: float, neighbours: Relation) -> Any:
    from understudy.curator.budget import check_delta, check_epsilon
    from understudy.synthesizers.independent import Independent
    from understudy.synthesizers.random import Random

    kinds: dict[Method, Any] = {Method.independent: Independent, Method.random: Random}
    return kinds[method](epsilon=check_epsilon(epsilon), delta=check_delta(delta), neighbours=_relation(neighbours))


def _relation(neighbours: Relation) -> Any:
    return neighbours.value


def _write_rows(released: Any, output: str, rows: int | None, seed: int | None, talk: _Talk) -> None:
    wanted = rows if rows is not None else released.rows
    with talk.working("writing rows", wanted) as progress:

        def drawn(count: int) -> None:
            progress("writing rows", count, -1)

        if output != "-":
            released.write(output, rows, seed, drawn)
            return
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder) / "rows.csv"
            released.write(whole, rows, seed, drawn)
            with whole.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
                sys.stdout.buffer.flush()


def _check_output(output: str) -> None:
    from understudy.files import writable_file
    from understudy.tables import table_suffix

    if output != "-":
        table_suffix(output)
        writable_file(output, "table")


def _check_distinct(*paths: Path | str | None) -> None:
    seen: set[Path] = set()
    for path in paths:
        if path is None or path == "-":
            continue
        place = Path(path).resolve()
        if place in seen:
            raise InputError(f"{path} is named for two things at once; give each file a name of its own.")
        seen.add(place)


def _blank_schema(rows: Any) -> dict[str, Any]:
    from understudy.curator.discovery import drafted_kinds

    forms: dict[str, dict[str, Any]] = {
        "integer": {"min": None, "max": None, "bins": 16},
        "real": {"min": None, "max": None, "bins": 16},
        "date": {"min": None, "max": None, "bins": 16},
        "datetime": {"min": None, "max": None, "bins": 16},
        "categorical": {"values": None},
        "boolean": {},
        "identifier": {},
    }
    kinds = drafted_kinds(rows)
    return {"attributes": {name: {"kind": kind, **forms[kind]} for name, kind in kinds.items()}}


# --------------------------------------------------------------------------- talking


class _Talk:
    """What is said on standard error: progress, notes for the owner, a summary."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False)

    def say(self, sentence: str) -> None:
        if not self.quiet:
            self.console.print(sentence, markup=False, soft_wrap=True)

    def note(self, sentence: str) -> None:
        """Something about the private rows, for the owner who sits at this screen."""
        self.say(f"note (for you, not for release): {sentence}")

    @contextmanager
    def working(self, what: str, steps: int | None = None) -> Iterator[Any]:
        """A progress bar with elapsed time, on a terminal; it goes away when done."""
        from rich.progress import (
            BarColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        silent = self.quiet or not self.console.is_terminal
        with Progress(*columns, console=self.console, transient=True, disable=silent) as bar:
            task = bar.add_task(what, total=steps)

            def progress(stage: str, done: int, of: int) -> None:
                if of < 0:
                    bar.update(task, description=stage, advance=done)
                else:
                    bar.update(task, description=stage, completed=done, total=of)

            started = time.monotonic()
            yield progress
        if not silent and time.monotonic() - started > 1:
            self.console.print(f"{what}: {time.monotonic() - started:.1f} s", style="dim")


def _safe(text: Any) -> str:
    """Text from a file, shown as it is: no markup, no control characters that could play tricks with a terminal."""
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else "�" for c in str(text)))


def main() -> None:
    """Run the command line; a mistake of the user's ends in one sentence and exit status 2."""
    try:
        app(standalone_mode=True)
    except UnderstudyError as error:
        Console(stderr=True, highlight=False).print(f"understudy: {error}", markup=False, soft_wrap=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of the pipe (head, say) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        sys.stderr.write(
            "understudy: there is not enough memory for this table; use fewer columns or a larger machine.\n"
        )
        sys.exit(2)


if __name__ == "__main__":
    main()
