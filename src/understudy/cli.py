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


def _examples(*lines: str) -> str:
    """The end of a help page: commands to copy. Paragraphs, since typer may join the lines of one."""
    from rich.markup import escape

    heading = "Example" if len([line for line in lines if not line.startswith("#")]) == 1 else "Examples"
    shown = [f"[dim]{escape(line)}[/]" if line.startswith("#") else f"[cyan]{escape(line)}[/]" for line in lines]
    return "\n\n".join([f"[bold]{heading}[/]", *shown])


app = typer.Typer(
    name="understudy",
    help="Turn a table that is too sensitive to share into a synthetic one, with differential privacy.",
    epilog=_examples(
        "understudy demo",
        "understudy synthesize patients.csv --epsilon 1 -o synthetic.csv",
        "understudy COMMAND --help",
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # its tracebacks print local variables: private rows among them
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
ledger_app = typer.Typer(
    help="Keep an allowance that all releases of one table share.",
    epilog=_examples(
        "understudy ledger create patients.ledger --epsilon 3",
        "understudy synthesize patients.csv --ledger patients.ledger -o synthetic.csv",
        "understudy ledger show patients.ledger",
    ),
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.add_typer(ledger_app, name="ledger")


class Method(Enum):
    """Synthesizers by name."""

    privbayes = "privbayes"
    correlated = "correlated"
    independent = "independent"
    random = "random"


class Score(Enum):
    """Scores of attribute-parent pairs by name."""

    auto = "auto"
    mutual_information = "I"
    assignment = "F"
    dependence = "R"


class Encoding(Enum):
    """Encodings of PrivBayes by name."""

    auto = "auto"
    hierarchical = "hierarchical"
    vanilla = "vanilla"
    binary = "binary"
    gray = "gray"


class Conditioning(Enum):
    """Ways to draw rows that fit a condition, by name."""

    exact = "exact"
    rejection = "rejection"
    weighting = "weighting"


class Subject(Enum):
    """What can be audited, by name."""

    privbayes = "privbayes"
    independent = "independent"
    doors = "doors"
    controls = "controls"


class Relation(Enum):
    """Neighbour relations by name."""

    add_remove = "add_remove"
    replace = "replace"


# ---- options that several commands share

Epsilon = Annotated[
    float,
    typer.Option(metavar="NUMBER", help="Privacy budget of the release; smaller is more private."),
]
Delta = Annotated[
    float,
    typer.Option(
        metavar="NUMBER", help="0: pure differential privacy; above 0: Gaussian noise, better for many columns."
    ),
]
Neighbour = Annotated[
    Relation,
    typer.Option(metavar="RELATION", help="Protect the presence of a row (add_remove) or its values (replace)."),
]
Person = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column that tells whose row it is: all rows of a person are protected."),
]
RowsPerPerson = Annotated[
    int,
    typer.Option("--rows-per-person", metavar="M", help="Rows of a person that count, at most; noise grows with it."),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option("--schema", metavar="FILE", help="Schema file; without one the domain is discovered."),
]
LedgerPath = Annotated[
    Path | None,
    typer.Option("--ledger", metavar="FILE", help="The table's ledger file (see understudy ledger)."),
]
Rows = Annotated[
    int | None,
    typer.Option(metavar="N", help="Synthetic rows; as many as the original when not given."),
]
Seed = Annotated[
    int | None,
    typer.Option(metavar="N", help="Makes the sampling (never the noise) repeatable."),
]
Out = Annotated[
    str,
    typer.Option("-o", "--output", metavar="FILE", help="CSV or Parquet, by its suffix; - for standard output."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar="", help="No progress, no summary; errors only.")]
SensitiveTable = Annotated[Path, typer.Argument(metavar="TABLE", help="The sensitive table: CSV or Parquet.")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A released model.")]


def _version(wanted: bool) -> None:
    if wanted:
        from understudy import __version__

        typer.echo(f"understudy {__version__}")
        raise typer.Exit()


@app.callback()
def _understudy(
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Options that stand before a command."""


_NETWORK: Any = {"rich_help_panel": "Options of privbayes and correlated"}


# --------------------------------------------------------------------------- commands


@app.command(
    epilog=_examples(
        "# a budget of 1 pays for everything, finding out the domain included",
        "understudy synthesize patients.csv --epsilon 1 -o synthetic.csv",
        "# with what is public in a schema, the whole budget goes to the rows",
        "understudy synthesize patients.parquet --schema patients.json -o out.parquet",
        "# keep the model, to draw more rows later, and a report to send along",
        "understudy synthesize patients.csv --model m.json --report r.html -o out.csv",
    )
)
def synthesize(
    table: SensitiveTable,
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    output: Out = "-",
    schema: SchemaFile = None,
    method: Annotated[
        Method,
        typer.Option(
            metavar="METHOD",
            help="privbayes: how columns depend on each other, by a network; correlated: the same with --degree "
            "parents each; independent: every column by itself; random: types only, free.",
        ),
    ] = Method.privbayes,
    neighbours: Neighbour = Relation.add_remove,
    person: Person = None,
    rows_per_person: RowsPerPerson = 1,
    rows: Rows = None,
    discovery: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the budget for the domain when there is no schema.")
    ] = 0.1,
    model: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the released model here.")] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a report of the release here (HTML).")
    ] = None,
    ledger: LedgerPath = None,
    seed: Seed = None,
    degree: Annotated[
        int | None,
        typer.Option(metavar="K", help="Parents of each attribute; as many as are useful when not given.", **_NETWORK),
    ] = None,
    score: Annotated[Score, typer.Option(metavar="SCORE", help="auto, I, F or R.", **_NETWORK)] = Score.auto,
    encoding: Annotated[
        Encoding,
        typer.Option(metavar="ENCODING", help="auto, hierarchical, vanilla, binary or gray.", **_NETWORK),
    ] = Encoding.auto,
    beta: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Share of the budget for the network's structure.", **_NETWORK)
    ] = None,
    theta: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="How useful a table must be to be considered.", **_NETWORK)
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="PrivBayes as published, to the letter (neighbours: replace).", **_NETWORK)
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Make a private synthetic table out of a sensitive one."""
    network = {"degree": degree, "score": score.value, "encoding": encoding.value, "beta": beta, "theta": theta}
    _run_synthesis(
        table,
        _synthesizer(
            method,
            epsilon,
            delta,
            neighbours,
            discovery,
            person=person,
            max_rows_per_person=rows_per_person,
            paper=paper,
            **network,
        ),
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
    epilog=_examples(
        "# discover the domain, at a price",
        "understudy schema patients.csv --epsilon 0.1 -o patients.json",
        "# kinds only, free: fill in the rest yourself",
        "understudy schema patients.csv --blank -o patients.json",
    ),
)
def schema_command(
    table: SensitiveTable,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Schema file; - for standard output.")
    ] = "-",
    epsilon: Epsilon = 0.1,
    delta: Annotated[
        float, typer.Option(metavar="NUMBER", help="Needed only where there are categories to discover.")
    ] = 1e-9,
    neighbours: Neighbour = Relation.add_remove,
    person: Person = None,
    rows_per_person: RowsPerPerson = 1,
    blank: Annotated[bool, typer.Option("--blank", metavar="", help="Spend nothing: names and kinds only.")] = False,
    ledger: LedgerPath = None,
    quiet: Quiet = False,
) -> None:
    """Draft a schema, to be read and edited: domain discovery at a price, or a blank form for nothing."""
    from understudy.curator.contributions import bounded
    from understudy.curator.discovery import discover, needs_delta
    from understudy.curator.ledger import Ledger, LedgerFile
    from understudy.files import writable_file, write_json
    from understudy.tables import read_table

    talk = _Talk(quiet)
    _check_distinct(table, output, ledger)
    if output != "-":
        writable_file(output, "schema")
    _check_ledger(ledger)
    unit: dict[str, Any] = {"rows_per_person": rows_per_person, "unit": "row" if person is None else "person"}
    book = Ledger(epsilon, delta, _relation(neighbours), threshold_delta=delta, **unit)
    with talk.working("reading"):
        rows = read_table(table)
    if blank:
        document = _blank_schema(rows, person)
        talk.say(
            "Nothing was spent. Replace every null by a public bound or list of values (not one read off the data)."
        )
    else:
        left_out = None
        if person is not None:
            rows, left_out = bounded(rows, person, rows_per_person)
        if needs_delta(rows, person) and not delta:
            raise InputError("There are categories to discover, which needs a --delta above 0, such as 1e-9.")
        if not needs_delta(rows, person):
            book = Ledger(epsilon, 0.0, _relation(neighbours), **unit)
        file = LedgerFile(ledger) if ledger is not None else None
        number = None
        if file is not None:
            number = file.reserve("schema", book.epsilon, book.delta, book.neighbours, book.unit)
        document = discover(rows, book, book.budget, book.delta, person=person).to_dict()
        if file is not None and number is not None:
            file.settle(number, book)
        if left_out:
            talk.note(str(left_out))
        talk.say(book.statement())
        talk.say(
            "Taken as public: column names, their kinds, and how dates and truth values are written. "
            "Read it and edit it before use."
        )
    if output == "-":
        import json

        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        write_json(output, document, "schema", indent=2)
        talk.say(f"Schema: {output}")


@app.command(
    epilog=_examples(
        "understudy sample patients.model.json --rows 1000 --seed 1 -o more.csv",
        "# only women from 30 to 40",
        "understudy sample patients.model.json --given sex=Female --given age=30..40",
    )
)
def sample(
    model: ModelFile,
    output: Out = "-",
    rows: Rows = None,
    seed: Seed = None,
    given: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Only such rows: a value, low..high, this|that, missing; repeatable."),
    ] = None,
    how: Annotated[Conditioning, typer.Option(help="How to draw rows that fit --given.")] = Conditioning.exact,
    quiet: Quiet = False,
) -> None:
    """Draw rows from a model: costs nothing, as often as you like."""
    from understudy.conditions import given_from_text
    from understudy.model import Model

    talk = _Talk(quiet)
    _check_output(output)
    released = Model.load(model)
    conditions = {"given": given_from_text(given, released.schema), "method": how.value} if given else {}
    _write_rows(released, output, rows, seed, talk, **conditions)


@app.command(
    epilog=_examples(
        "understudy query m.json \"count where age >= 44 and sex = 'Female'\"",
        'understudy query m.json "share where smoker = true" "mean age"',
    )
)
def query(
    model: ModelFile,
    queries: Annotated[
        list[str], typer.Argument(metavar="QUERY...", help="count, share or mean NAME, then: where CONDITION.")
    ],
    as_json: Annotated[bool, typer.Option("--json", metavar="", help="Print JSON.")] = False,
) -> None:
    """Answer queries from a model, with error bars: exact, without drawing rows and without spending anything."""
    from understudy.model import Model

    released = Model.load(model)
    answers = [released.query(text) for text in queries]
    if as_json:
        import json

        sys.stdout.write(json.dumps([answer.to_dict() for answer in answers], indent=2, ensure_ascii=False) + "\n")
        return
    console = Console(highlight=False)
    for answer in answers:
        label = f"{answer.query}: " if len(answers) > 1 else ""
        _print(console, f"{label}{answer!r}")


@app.command(
    epilog=_examples("understudy show patients.model.json", "understudy show patients.model.json --plot network.svg")
)
def show(
    model: ModelFile,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a picture of the network here (SVG).")
    ] = None,
) -> None:
    """Show what a model holds: attributes, network, ledger."""
    from understudy.files import writable_file
    from understudy.model import Model
    from understudy.networks.drawing import tree

    _check_distinct(model, plot)
    if plot is not None:
        writable_file(plot, "picture")
    released = Model.load(model)
    ledger = released.ledger
    console = Console()
    rows = "unknown" if released.rows is None else f"{released.rows:,}"
    console.print(f"[bold]{_safe(model)}[/]: method {_safe(released.method['name'])}, rows of the original: {rows}")
    console.print(_safe(ledger.statement()), style=None if ledger.private else "bold red")
    grid = _grid("Attributes", "attribute", "kind", "#codes", "#levels", "values")
    for attribute in released.schema:
        codes = str(attribute.size) if attribute.modelled else ""
        levels = str(len(attribute.sizes_by_level())) if attribute.modelled else ""
        grid.add_row(_safe(attribute.name), attribute.kind, codes, levels, _safe(_domain(attribute)))
    console.print(grid)
    if released.network.degree:
        console.print("Network", style="bold")
        console.print(tree(released.network), markup=False, highlight=False, no_wrap=True, overflow="ellipsis")
        if any(axis.level for node in released.network for axis in node.parents):
            console.print("^1, ^2, …: the parent in coarser groups, so many levels up", style="dim")
    grid = _grid("Ledger", "question", "mechanism", f"#{ledger.currency}", "#delta")
    for entry in ledger.entries:
        grid.add_row(_safe(entry.question), _safe(entry.mechanism), f"{entry.amount:.4g}", f"{entry.delta:.2g}")
    epsilon, delta = ledger.spent()
    unit = "" if ledger.currency == "epsilon" else "epsilon "
    grid.add_section()
    protected = f"neighbours: {ledger.neighbours}"
    if ledger.unit == "person":
        protected += f", up to {ledger.rows_per_person:,} rows of a person"
    grid.add_row("together", protected, f"{unit}{epsilon:.6g}", f"{delta:.2g}")
    console.print(grid)
    if plot is not None:
        released.plot(plot)
        _Talk(False).say(f"Picture: {plot}")


def _domain(attribute: Any) -> str:
    """What an attribute can be, in a few words."""
    from understudy.schema import Identifier, Quantity, Text

    if isinstance(attribute, Identifier):
        return "made anew"
    if isinstance(attribute, Text):
        return "left out" if attribute.replacement is None else f"always {attribute.replacement}"
    if isinstance(attribute, Quantity):
        last = attribute.edges[-1] - 1 if attribute.whole else attribute.edges[-1]
        missing = "" if attribute.missing is None else ", missing"
        return f"{attribute.write(attribute.edges[0])} to {attribute.write(last)}{missing}"
    labels = [attribute.label(code) for code in range(min(attribute.size, 5))]
    return ", ".join(labels) + (", …" if attribute.size > 5 else "")


def _grid(title: str, *headings: str) -> Any:
    """A table for the screen; columns whose heading starts with # hold numbers."""
    from rich.box import ROUNDED
    from rich.table import Table as Grid

    grid = Grid(title=title, title_justify="left", title_style="bold", box=ROUNDED)
    for heading in headings:
        number = heading.startswith("#")
        grid.add_column(heading.lstrip("#"), justify="right" if number else "left", no_wrap=number, overflow="fold")
    return grid


@app.command(epilog=_examples("understudy plan --schema patients.json --rows 50000 --epsilon 1"))
def plan(
    schema: Annotated[Path, typer.Option(metavar="FILE", help="Schema file.")],
    rows: Annotated[int, typer.Option(metavar="N", help="About how many rows the table has (a public guess).")],
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    neighbours: Neighbour = Relation.add_remove,
    rows_per_person: RowsPerPerson = 1,
) -> None:
    """Tell what a budget buys before any of it is spent, from public facts alone."""
    from understudy.plan import plan as make_plan
    from understudy.schema import Schema

    planned = make_plan(Schema.load(schema), rows, epsilon, delta, _relation(neighbours), rows_per_person)
    console = Console()
    console.print(
        f"epsilon {epsilon:g}" + (f", delta {delta:g} (rho {planned.budget.amount:.4g})" if delta else "")
        + f", {neighbours.value}, about {rows:,} rows. Nothing was read, nothing was spent."
    )  # fmt: skip
    grid = _grid("Method independent", "attribute", "#cells", "#noise per cell (rows)", "#expected error")
    for table in planned.tables:
        grid.add_row(_safe(table.attribute), str(table.cells), f"±{table.deviation:.3g}", f"{table.error:.3f}")
    console.print(grid)
    console.print("Error: total variation distance, 0 (equal) to 1; an upper estimate.", style="dim")
    if planned.network is not None:
        network = planned.network
        console.print(
            f"\nMethod privbayes: noise of ±{network.deviation:.3g} rows per cell. Tables of up to {network.cells:,} "
            f"cells are worth measuring (theta {network.theta:g}), which leaves {network.degree} "
            f"parent{'' if network.degree == 1 else 's'} to an attribute of {network.typical_size} values. "
            f"Expected error of a table of {network.cells:,} cells: {network.error:.3f}."
        )


@app.command(
    epilog=_examples(
        "understudy audit privbayes --epsilon 1 --plot audit.svg",
        "# methods that are broken on purpose: does the audit see it?",
        "understudy audit controls",
    )
)
def audit(
    subject: Annotated[
        Subject,
        typer.Argument(
            metavar="SUBJECT",
            help="privbayes or independent: whole fits; doors: the questions that they are made of; controls: methods "
            "that are broken on purpose.",
        ),
    ],
    epsilon: Annotated[float, typer.Option(metavar="NUMBER", help="The claim (controls bring their own).")] = 1.0,
    runs: Annotated[
        int, typer.Option(metavar="N", help="Runs on each table where the loss cannot be computed exactly.")
    ] = 2000,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a picture here (SVG).")] = None,
    quiet: Quiet = False,
) -> None:
    """Try to break the guarantee: what is lost on worst-case neighbours, beside what is claimed. Status 1 if it is."""
    from understudy.audit import audit as run_audit
    from understudy.audit.findings import number
    from understudy.files import writable_file

    if plot is not None:
        writable_file(plot, "picture")
    talk = _Talk(quiet)
    with talk.working("auditing") as progress:
        result = run_audit(
            subject.value, epsilon, runs=runs, told=lambda finding: progress(f"auditing: {finding.subject}", 0, -1)
        )
    grid = _grid(f"Audit of {subject.value}", "subject", "neighbours", "test", "unit", "#claimed", "#measured", "")
    for finding in result.details:
        colour = "red" if finding.verdict == "broken" else "green"
        numbers = (number(finding.claimed), number(finding.measured), f"[{colour}]{finding.verdict}[/]")
        grid.add_row(finding.subject, finding.pair, finding.test, finding.unit, *numbers)
    Console().print(grid)
    what = "In units of their claims, at least" if subject is Subject.controls else "Measured"
    typer.echo(
        f"Claimed {number(result.claimed)}. {what} {number(result.measured)}: {result.verdict} "
        f"(bounds from runs hold with {result.confidence:.1%} confidence)."
    )
    if plot is not None:
        result.plot(plot)
        talk.say(f"Picture: {plot}")
    if not result.passed:
        raise typer.Exit(1)


@app.command(epilog=_examples("understudy demo -o demo-output"))
def demo(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder for the results.")] = Path(
        "demo-output"
    ),
    epsilon: Epsilon = 1.0,
    quiet: Quiet = False,
) -> None:
    """See it work: a real survey on affairs goes in, a private synthetic one comes out."""
    from understudy.demo import demo_frame, demo_schema
    from understudy.frames import as_table

    talk = _Talk(quiet)
    synthesizer = _synthesizer(Method.privbayes, epsilon, 0.0, Relation.add_remove)
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
        synthesizer,
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
    # From a checkout the command is not on the path: show the one that was typed.
    command = "understudy" if shutil.which("understudy") else os.path.relpath(sys.argv[0])
    talk.say("What to do next:")
    talk.say(f"  open {output / 'report.html'} in a browser, and compare survey.csv with synthetic.csv")
    talk.say(f"  {command} show {output / 'model.json'}")
    talk.say(f"  {command} sample {output / 'model.json'} --rows 1000 -o more.csv")
    talk.say(f"  {command} synthesize YOUR.csv --epsilon 1 -o synthetic.csv")


@ledger_app.command("create", epilog=_examples("understudy ledger create patients.ledger --epsilon 3 --delta 1e-6"))
def ledger_create(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The ledger file to start.")],
    epsilon: Annotated[float, typer.Option(metavar="NUMBER", help="Allowance of all releases together.")],
    delta: Annotated[float, typer.Option(metavar="NUMBER", help="Allowance of all releases together.")] = 0.0,
    neighbours: Neighbour = Relation.add_remove,
    per_person: Annotated[
        bool,
        typer.Option("--per-person", metavar="", help="For releases with --person or --rows-per-person above 1."),
    ] = False,
) -> None:
    """Start the ledger of a table."""
    from understudy.curator.ledger import LedgerFile

    LedgerFile.create(file, epsilon, delta, _relation(neighbours), "person" if per_person else "row")
    _Talk(False).say(
        f"Ledger: {file}, allowance epsilon {epsilon:g}, delta {delta:g}. Give it to every release: --ledger {file}"
    )


@ledger_app.command("show", epilog=_examples("understudy ledger show patients.ledger"))
def ledger_show(file: Annotated[Path, typer.Argument(metavar="FILE", help="A ledger file.")]) -> None:
    """Show what was released and what is left."""
    from understudy.curator.ledger import LedgerFile

    book = LedgerFile(file)
    document = book.read()
    grid = _grid("Releases", "when", "release", "#epsilon", "#delta", "state")
    for release in document["releases"]:
        grid.add_row(
            _safe(release.get("at", "")),
            _safe(release.get("release", "")),
            f"{release['epsilon']:g}",
            f"{release['delta']:g}",
            _safe(release.get("state", "")),
        )
    grid.add_section()
    allowance, left = document["allowance"], book.left()
    for what, (epsilon, delta) in {"left": left, "allowance": (allowance["epsilon"], allowance["delta"])}.items():
        kept_for = f"neighbours: {document['neighbours']}" + (
            ", per person" if document.get("unit") == "person" else ""
        )
        grid.add_row(what, kept_for, f"{epsilon:g}", f"{delta:g}", "")
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
    _check_ledger(ledger)
    if rows is not None and not 0 <= rows <= MOST_ROWS:
        raise InputError(f"The number of rows must be a whole number from 0 to {MOST_ROWS:,}, not {rows!r}.")
    if seed is not None and seed < 0:
        raise InputError(f"The seed must be a whole number at or above 0, not {seed!r}.")
    public = Schema.load(schema) if schema is not None else None
    if synthesizer.name == "random" and rows is None and synthesizer.neighbours == "add_remove":
        raise InputError("The random method measures nothing, not even the number of rows; say how many by --rows.")
    with talk.working("reading"):
        unread = [a.name for a in public if not a.modelled] if public is not None else []
        skip = [name for name in unread if name != synthesizer.person]
        private = read_table(table, skip)
    notes: list[str] = []
    with talk.working("learning") as progress:
        released = synthesizer.fit(private, public, ledger=ledger, notify=notes.append, progress=progress)
    for sentence in notes:  # only now: a run that is refused says why, and nothing else
        talk.note(sentence)
    # The budget is spent: the model goes first, so that a pipe that closes early does not lose it.
    if model is not None:
        released.save(model)
    if report is not None:
        write_report(released, report)
    _write_rows(released, output, rows, seed, talk)
    talk.say(released.ledger.statement())
    if public is None:
        talk.say("Taken as public: column names, their kinds, and how dates and truth values are written.")
        _say_undiscovered(released, talk)
    for what, path in (
        ("Synthetic table", None if output == "-" else output),
        ("Model", model),
        ("Report", report),
    ):
        if path is not None:
            talk.say(f"{what}: {path}")


def _say_undiscovered(released: Any, talk: _Talk) -> None:
    """A column whose values all stayed below the threshold comes out as text; nobody should have to wonder why."""
    names = [attribute.name for attribute in released.schema if attribute.kind == "text"]
    if names:
        talk.say(
            f"No value of {', '.join(names)} is frequent enough to be told from the noise, so every row has [text] "
            f"there; list the values in a schema (understudy schema --blank), or give more budget."
        )


def _synthesizer(
    method: Method,
    epsilon: float,
    delta: float,
    neighbours: Relation,
    discovery: float = 0.1,
    *,
    person: str | None = None,
    max_rows_per_person: int = 1,
    paper: bool = False,
    **network: Any,
) -> Any:
    from understudy.curator.budget import check_delta, check_epsilon
    from understudy.synthesizers.independent import Independent
    from understudy.synthesizers.privbayes import PrivBayes
    from understudy.synthesizers.random import Random

    common: dict[str, Any] = {
        "epsilon": check_epsilon(epsilon),
        "delta": check_delta(delta),
        "discovery": discovery,
        "person": person,
        "max_rows_per_person": max_rows_per_person,
    }
    given = {name: value for name, value in network.items() if value not in (None, "auto")}
    if method in (Method.independent, Method.random):
        if given or paper:
            option = next(iter(given), "paper")
            raise InputError(f"--{option} goes with the methods privbayes and correlated, not with {method.value}.")
        simple: Any = Independent if method is Method.independent else Random
        return simple(neighbours=_relation(neighbours), **common)
    if method is Method.correlated:
        given.setdefault("degree", 2)
    if paper:
        return PrivBayes.paper(**common, **given)
    return PrivBayes(neighbours=_relation(neighbours), **common, **given)


def _relation(neighbours: Relation) -> Any:
    return neighbours.value


def _write_rows(released: Any, output: str, rows: int | None, seed: int | None, talk: _Talk, **conditions: Any) -> None:
    wanted = rows if rows is not None else released.rows
    with talk.working("writing rows", wanted) as progress:

        def drawn(count: int) -> None:
            progress("writing rows", count, -1)

        if output != "-":
            released.write(output, rows, seed, drawn, **conditions)
            return
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder) / "rows.csv"
            released.write(whole, rows, seed, drawn, **conditions)
            try:
                with whole.open("rb") as file:
                    shutil.copyfileobj(file, sys.stdout.buffer)
                    sys.stdout.buffer.flush()
            except BrokenPipeError:
                # The reader of the pipe (head, say) has seen enough.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            except OSError as error:
                raise InputError(f"The rows cannot be written to standard output ({error.strerror}).") from error


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


def _check_ledger(ledger: Path | None) -> None:
    """A ledger that is missing or damaged is found before a row is read."""
    from understudy.curator.ledger import LedgerFile

    if ledger is not None:
        LedgerFile(ledger).read()


def _blank_schema(rows: Any, person: str | None = None) -> dict[str, Any]:
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
    kinds = drafted_kinds(rows, person)
    return {"attributes": {name: {"kind": kind, **forms[kind]} for name, kind in kinds.items()}}


# --------------------------------------------------------------------------- talking


class _Talk:
    """What is said on standard error: progress, notes for the owner, a summary."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False)

    def say(self, sentence: str) -> None:
        if not self.quiet:
            _print(self.console, sentence)

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


def _print(console: Console, sentence: str) -> None:
    """A sentence, wrapped between words on a terminal and left whole in a file."""
    console.print(_printable(sentence), markup=False, soft_wrap=not console.is_terminal)


def _printable(text: Any) -> str:
    """Text from a file without control characters, which could play tricks with a terminal."""
    return "".join(c if c.isprintable() else "�" for c in str(text))


def _safe(text: Any) -> str:
    """Text from a file for a table on the screen: no control characters, and no markup."""
    from rich.markup import escape

    return escape(_printable(text))


def main() -> None:
    """Run the command line; a mistake of the user's ends in one sentence and exit status 2."""
    try:
        app(standalone_mode=True)
    except UnderstudyError as error:
        _complain(str(error))
    except OSError as error:  # whatever the checks did not foresee: a name too long, a disk that went away
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"{where}{error.strerror or error}.")
    except MemoryError:
        _complain("There is not enough memory for this table; use fewer columns or a larger machine.")


def _complain(sentence: str) -> None:
    _print(Console(stderr=True, highlight=False), f"understudy: {sentence}")
    sys.exit(2)


if __name__ == "__main__":
    main()
